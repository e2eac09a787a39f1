"""Kernels of the host engine that take longest to compile, for idle workers to compile ahead.

Where they were never compiled, those of an update take Numba 12 s of one core, one after another,
on the worker that everybody waits for. Here are the larger ones, with all that they call, and the
one that the hash of a checkpoint needs on the client, so that other processes compile them
meanwhile; what one has saved, the others load
(``jit/shared_cache.py``). None of their types depends on the kind of graph.
"""

from typing import Any, Final

import numba
import numpy as np

from ..copies import rows_in_order
from ..image.fields import Shape
from ..image.free_runs import take_runs
from ..jit.arrays import readonly
from .memory.rooms import Rooms
from .queries.export import ExportedRows, copy_rows
from .update.commit import rewrite_rows
from .update.deltas import Delta
from .update.parallel_sort import merge_range
from .update.plan import PlannedRows, plan_rows
from .update.rows.entries import Properties
from .update.rows.settled import merge_settled

_NUMBER: Final = numba.int64
_INT64: Final = numba.int64[::1]
_UINT64: Final = numba.uint64[::1]
_WORDS: Final = numba.uint32[::1]


def _named(kind: type[Any], *dtypes: type[np.generic], writable: bool) -> Any:
    """Numba's type of a named tuple of arrays."""
    arrays = [np.empty(0, dtype) for dtype in dtypes]
    return numba.typeof(kind(*(arrays if writable else map(readonly, arrays))))


_WORD, _FLAG = np.uint32, np.bool_
_SHAPE: Final = numba.typeof(Shape(*[0] * len(Shape._fields)))
_DELTA: Final = _named(Delta, _WORD, np.int64, _WORD, np.uint8, _WORD, _FLAG, writable=False)
_ROOMS: Final = _named(Rooms, np.int64, np.int64, np.uint64, writable=True)
_PLAN: Final = _named(PlannedRows, _WORD, _WORD, _FLAG, _WORD, _WORD, _WORD, _WORD, writable=True)
_PROPERTIES: Final = _named(Properties, _WORD, _WORD, np.int64, np.int64, _FLAG, writable=False)
_EXPORTED: Final = _named(
    ExportedRows, np.int64, _WORD, _WORD, _WORD, np.int64, np.int64, writable=True
)
_READ_WORDS: Final = numba.typeof(readonly(np.empty(0, np.uint32)))
_ROWS: Final = (_NUMBER, _NUMBER, _WORDS, _SHAPE)

#: Kernels and what they are called with, those first that a graph worker comes to last.
PARTS: Final[tuple[tuple[Any, tuple[Any, ...]], ...]] = (
    (
        copy_rows,
        (*_ROWS, _WORDS, _WORDS, numba.boolean, _EXPORTED),
    ),
    (
        rows_in_order.copy_rows,
        (
            _NUMBER,
            _NUMBER,
            _INT64,
            _READ_WORDS,
            _WORDS,
            _NUMBER,
            _INT64,
            numba.int32[::1],
            _INT64,
        ),
    ),
    (merge_range, (_NUMBER, _NUMBER, _UINT64, _UINT64, _UINT64)),
    (rewrite_rows, (*_ROWS, _DELTA, _PLAN, _WORDS, _PROPERTIES)),
    (merge_settled, (*_ROWS, _DELTA, _ROOMS, _WORDS, _PROPERTIES)),
    (take_runs, (_WORDS, _INT64, _INT64, numba.int64[:, ::1], _NUMBER, _INT64)),
    (plan_rows, (*_ROWS, _DELTA, _PLAN)),
)
