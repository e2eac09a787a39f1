"""Net effect of rows whose ids are no int64, in the keys of their ids.

What rows come to depends on which of their ids are the same, and on their order alone. So names are
numbered first, in the order of their keys (`names/distinct.py`); the rows are converted in these
narrow numbers, and the lists that come of it are turned into keys. They travel with the names
themselves, which the graph compares with those that it knows (`names/table.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...id_kinds import hash_bits
from ...names.distinct import BatchNames, number_names
from ...names.user_ids import id_column, text_of_name
from ..bad_rows import BadRowsError, refuse_masked_rows
from ..lengths import check_lengths
from ..rows import check_loops, name_of_row, valid_flags

Int64s = npt.NDArray[np.int64]

#: Lists of ids of an `UpdateBatch`.
IDS = (
    "put_rows", "put_indices", "delete_rows", "delete_indices", "put_vertices", "delete_vertices",
)  # fmt: skip


def unsigned_rows(src: Any, dst: Any, columns: dict[str, Any]) -> tuple[Int64s, Int64s]:
    """Keys of unsigned ids; adds to ``columns`` what is known of them: nothing."""
    valid = columns.get("dst_valid")
    row_name = columns.get("row_name") or name_of_row
    if valid is not None:
        check_lengths(src, dst=dst, dst_valid=valid)
        # What stands under a null may be anything.
        valid = valid_flags(valid, row_name)
        refuse_masked_rows("dst", dst, valid, row_name)
        dst = np.where(valid, dst, np.zeros_like(dst))
    columns["bounds"] = None
    _refuse_negative("src", src, row_name)
    _refuse_negative("dst", dst, row_name)
    return id_column("uint64", "src", src), id_column("uint64", "dst", dst)


def _refuse_negative(name: str, ids: Any, row_name: Callable[[int], str]) -> None:
    numbers = np.asarray(ids)
    if numbers.dtype.kind == "i" and numbers.size and numbers.min() < 0:
        cure = "with ids='uint64' they are from 0 on"
        raise BadRowsError(numbers < 0, row_name, lambda at: f"{name} is {numbers[at]}; {cure}")


def number_rows(
    src: Any, dst: Any, ids: str, columns: dict[str, Any], *, refuse_loops: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], BatchNames]:
    """Number the end points of rows; adds to ``columns`` what is known of the numbers.

    Parameters
    ----------
    src, dst
        Names of the end points, or columns of them.
    ids
        Kind of the ids.
    columns
        As of ``UpdateBatch.of_rows``.
    refuse_loops
        Whether a row with two equal names is an error, which names it.
    """
    src, dst = id_column(ids, "src", src), id_column(ids, "dst", dst)
    valid = columns.get("dst_valid")
    check_lengths(src, dst=dst, dst_valid=valid)
    if valid is not None:
        valid = valid_flags(valid)
        dst = replace(dst, valid=valid if dst.valid is None else dst.valid & valid)
    numbered = number_names(src, dst, hash_bits(ids))
    sources, targets, names = numbered
    if refuse_loops:
        loops = sources == targets if valid is None else (sources == targets) & valid
        check_loops(
            loops,
            columns.get("row_name") or name_of_row,
            lambda at: text_of_name(ids, names.strings[sources[at]]),
        )
    last = max(names.keys.size - 1, 0)
    columns["bounds"] = 0, last, 0, last
    return sources, targets, names


def in_keys(effect: dict[str, Any], names: BatchNames) -> dict[str, Any]:
    """Fields of an `UpdateBatch` with ids that are numbers of names, in keys."""
    return {**effect, **{name: names.keys[effect[name]] for name in IDS}, "names": names}
