"""The rows of a graph in the directions that it stores, as algorithms take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...rows import Adjacencies

if TYPE_CHECKING:
    from ...engine import Reader


def adjacencies_of(reader: Reader, *, weighted: bool = False) -> Adjacencies:
    """Rows of out- and, where they are stored, of in-neighbors; valid until the next batch."""
    out = reader.rows("out", weighted=weighted)
    if not reader.kind.directed:
        return Adjacencies(out, out)
    into = reader.rows("in", weighted=weighted) if reader.kind.has_reverse else None
    return Adjacencies(out, into)
