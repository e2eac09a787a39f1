"""Names of the files of a log: the number of an address, and the path of the file within it.

The name is the path alone for files of the first address, and ``2//`` and the path for those of the
second, and so on: no path has two slashes in a row, so an address that is added changes no name.
"""

from typing import NamedTuple

from .log_order import natural_key


class FileName(NamedTuple):
    """The name of a file, taken apart."""

    #: Which of the addresses of the log it is below, from 0.
    address: int
    #: Its path within what is there.
    within: str

    @classmethod
    def of(cls, name: str) -> "FileName":
        """Take a name apart."""
        number, _, within = name.rpartition("//")
        return cls(int(number) - 1 if number else 0, within)

    def __str__(self) -> str:
        return f"{self.address + 1}//{self.within}" if self.address else self.within


def order_key(name: str) -> tuple[object, ...]:
    """Sort key of the name of a file in its log: by address, then natural order."""
    address, within = FileName.of(name)
    return address, natural_key(within)
