"""Origin of the rows of a table, by which messages name them."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RowOrigin:
    """Where the rows of a table come from."""

    #: Name of the file, as the user would open it.
    file: str
    #: Position of the first row in it.
    first_row: int = 0
    #: Names the row at an offset, where the rows are not a run of one file.
    name_of_row: Callable[[int], str] | None = None

    def row(self, offset: int) -> str:
        """Name of the row at an offset in the table."""
        if self.name_of_row is not None:
            return self.name_of_row(offset)
        return f"{self.file}, row {self.first_row + offset}"

    def names(self, text: str) -> bool:
        """Whether a message says already where it is about, and the file need not be added."""
        return self.name_of_row is not None or text.startswith(f"{self.file}, ")
