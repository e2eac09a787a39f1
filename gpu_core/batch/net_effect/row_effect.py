"""Check rows with ids of any kind and compute their net effect: the fields of an `UpdateBatch`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BatchError
from ...id_kinds import are_names, form_of
from ...kind import RowMeaning
from ...times import INTEGERS, time_unit_named, times_of
from ..rows import GivenRows, checked_rows
from .named_rows import in_keys, number_rows, unsigned_rows
from .net_effect import net_effect


def effect_of_rows(
    op: Any,
    src: Any,
    dst: Any,
    meaning: RowMeaning,
    *,
    dense: bool = False,
    offset_type: type[np.int64 | np.uint32] = np.int64,
    time_unit: str | None = None,
    numbered: bool = False,
    **columns: Any,
) -> dict[str, Any]:
    """Check rows and compute their net effect; arguments of `GivenRows` and `net_effect`.

    ``numbered``: leave ids that are names as numbers of these, below 2^32, in place of keys.
    """
    names = None
    if are_names(meaning.ids):
        refuse_loops = meaning.self_loops == "reject"
        src, dst, names = number_rows(src, dst, meaning.ids, columns, refuse_loops=refuse_loops)
    elif form_of(meaning.ids) == "uint64":
        src, dst = unsigned_rows(src, dst, columns)
    rows = checked_rows(GivenRows(op, src, dst, **columns), meaning)
    effect = net_effect(rows, meaning, dense=dense or numbered, offset_type=offset_type)
    if names is not None:
        effect = {**effect, "names": names} if numbered else in_keys(effect, names)
    if form_of(meaning.ids) not in ("any", "dense"):
        effect["ids"] = meaning.ids
    if meaning.record.has_times and effect["put_indices"].size:
        effect["time_unit"] = _unit_of(columns["ts"], time_unit)
    return effect


def _unit_of(ts: Any, time_unit: str | None) -> str:
    """Name of the unit of times, from their type or from the caller."""
    _, found = times_of(ts)
    unit = found if time_unit is None else time_unit_named(time_unit)
    is_other = found.resolution != unit.resolution or (found.zone and not unit.zone)
    if found != INTEGERS and is_other:
        shown = found if found.zone else found.dtype
        msg = f"ts is of type {shown}, but time_unit is {unit}; leave time_unit out"
        raise BatchError(msg)
    return str(unit)
