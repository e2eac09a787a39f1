"""The rows of a graph in the directions that it stores, as algorithms take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...choices import check_weight
from ...errors import SettingsError
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


def is_weighted(reader: Reader, weight: str | None) -> bool:
    """Whether edges count by their weights; weights that are not there are refused."""
    check_weight(weight)
    if weight is None:
        return False
    if not reader.kind.record.has_weight:
        msg = "weight='weight' needs weights, but the graph's records are simple; use weight=None, "
        msg += "or make the graph with records='weighted' or 'semantic'"
        raise SettingsError(msg)
    return True
