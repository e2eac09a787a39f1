"""The index of a text file: how its lines are read, and where its blocks of whole lines lie.

Not here: how it is made of a file (``text_scan.py``), and where a state keeps it
(``io/state/text_indexes.py``).
"""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..log.file_errors import UnusableFileError

#: Bytes of a block, but for the end of its last line; read ahead in a file that is not local.
BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class TextBlock:
    """A run of whole lines."""

    number: int
    first_row: int
    rows: int
    #: Number of its first line in the file, from 1.
    first_line: int
    #: Where it begins in the text, and its bytes.
    offset: int
    nbytes: int
    crc: int


@dataclass(frozen=True)
class TextIndex:
    """Contents of a text file, by position."""

    #: Bytes of the file as it is stored.
    size: int
    #: Fingerprint by its file system: finds a change without reading the file.
    stamp: str
    fingerprint: str
    rows: int
    #: ``(name, type)`` of each column; types are what values look like.
    columns: tuple[tuple[str, str], ...]
    #: What is between two fields of CSV.
    delimiter: str
    #: All, or those that are needed for a batch.
    blocks: tuple[TextBlock, ...]
    #: Whether white space around fields of CSV does not belong to them, if they are names.
    is_padded: bool = True
    #: What is wrong with JSON lines, as sentences: see `JsonColumns.faults`.
    faults: tuple[tuple[str, str], ...] = ()

    def check(self, names: Collection[str]) -> None:
        """Refuse lines that are no objects, or have values of other types in some columns.

        Raises
        ------
        UnusableFileError
            There are such.
        """
        for name, fault in self.faults:
            if not name or name in names:
                raise UnusableFileError(fault)

    def part(self, first_row: int, rows: int) -> "TextIndex":
        """The index with the blocks that hold these rows alone."""
        firsts = [block.first_row for block in self.blocks]
        start = max(bisect_right(firsts, first_row) - 1, 0)
        end = bisect_right(firsts, first_row + max(rows, 1) - 1)
        return replace(self, blocks=self.blocks[start:end])

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TextIndex":
        """Rebuild an index from what `to_json` gave; errors as of a dictionary that is another."""
        return cls(
            **{
                **values,
                "columns": tuple((str(name), str(kind)) for name, kind in values["columns"]),
                "blocks": tuple(TextBlock(**block) for block in values["blocks"]),
                "faults": tuple((str(name), str(why)) for name, why in values.get("faults", ())),
            }
        )
