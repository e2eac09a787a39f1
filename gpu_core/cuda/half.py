"""One half of a batch on the device: its entries for one direction, as kernels take them.

How halves come about: `halves.py`. What the kernels make of one: ``kernels/rows.cuh``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from ..host.plan import PUT
from .batch_facts import HALVES
from .packed_arguments import address, packer

if TYPE_CHECKING:
    from .device import Array

_HALF: Final = packer(
    "rows", "indptr", "row_count", "columns", "kinds", "source", "clear", "max_rows", "kind",
    "puts", "deletes",
)  # fmt: skip


_DIRECTIONS: Final = {name: packer("direction")(n) for n, name in enumerate(("out", "in"))}
_ENTRIES: Final = packer("entries")


class Halves(NamedTuple):
    """The halves of a batch that have something, as its launches are written from them."""

    #: Each with its direction. They hold the memory that is named by address below.
    each: tuple[tuple[str, Half], ...]
    #: As `batch_facts.HALVES`.
    packed: bytes


@dataclass(eq=False)
class Half:
    """Entries for one direction, grouped by row and sorted by (column, kind); device arrays."""

    #: uint32[max_rows]: vertex of each row, distinct; of which ``row_count`` are in use.
    rows: Array
    #: uint32[max_rows + 1]: where each row's entries begin.
    indptr: Array
    #: uint32[1]
    row_count: Array
    #: Rows at most, known to the host.
    max_rows: int
    #: uint32[entries]: column of each entry.
    columns: Array
    #: uint32[entries]: number of the row of each entry; may be empty where no other half is made of
    #: this one.
    entry_rows: Array
    #: uint8[entries]: `MENTION`, `DELETE` or `PUT`; `None` where all are ``kind``.
    kinds: Array | None
    #: -1 where ``kinds`` says it.
    kind: int
    #: uint32[entries]: number of the put that an entry comes from; `None` where that is the entry's
    #: own number, or where puts carry nothing.
    source: Array | None
    #: uint8[max_rows]: the row's vertex is deleted, all its old entries go; `None`: no row's is.
    clear: Array | None
    entries: int
    #: ``Half`` of the kernels, packed, but for the half's number, its last field.
    argument: bytes = field(init=False)

    def __post_init__(self) -> None:
        mixed = self.kinds is not None
        self.argument = _HALF(
            address(self.rows), address(self.indptr), address(self.row_count),
            address(self.columns), address(self.kinds), address(self.source), address(self.clear),
            self.max_rows, self.kind, mixed or self.kind == PUT, mixed or self.kind != PUT,
        )  # fmt: skip


def pack_halves(halves: list[tuple[str, Half]]) -> Halves:
    """Pack halves of a batch, each with its direction; those without rows are left out."""
    each = tuple([(direction, half) for direction, half in halves if half.max_rows])
    packed = [_DIRECTIONS[name] + half.argument + _ENTRIES(half.entries) for name, half in each]
    return Halves(each, b"".join(packed).ljust(HALVES.itemsize, b"\0"))
