"""Compilation of the launch writers ahead, in parts, by idle processes.

At first use Numba needs 15 s of one core for `launched_batch.start_batch` and all that it calls, on
the graph worker, which the run waits for. The CPU workers are idle until then, so each compiles a
part. What takes half a second and more is a part of its own, beside the one that calls it: a
function that two processes need is compiled once, and the other one waits
(``jit/shared_cache.py``).
"""

import threading
from contextlib import suppress
from typing import Any, Final

import numba

from ...image.free_runs import demand_fits
from ..device.sorting.sorting import write_sort
from .deltas import delta_launches as deltas
from .facts import FACTS
from .launched_batch import finish_batch, start_batch
from .pages import page_launches as pages
from .rows import row_launches as rows

_WORDS: Final = numba.int64[::1]
_NUMBER: Final = numba.int64
_FLAG: Final = numba.boolean
_FACTS: Final = numba.from_dtype(FACTS)
_DELTAS: Final = _FACTS.typeof("deltas").typeof("each")
_KEYS: Final = numba.typeof(deltas.SortKeys(0, 0, 0, False, False, 0, 0, 0, 0))
_PLANS: Final = numba.int64[:, ::1]

_WHOLE: Final = (_NUMBER, numba.typeof(b""), _NUMBER, _NUMBER, _NUMBER, _FLAG)
_STEPS: Final = (_WORDS, _FACTS, _WORDS, _NUMBER, _NUMBER)
_DELTA: Final = (_WORDS, _FACTS, _WORDS, _KEYS, _WORDS)

#: Functions and what they are called with. First those that call the others, then the longest.
PARTS: Final[tuple[tuple[Any, tuple[Any, ...]], ...]] = (
    (rows.write_rows, (_WORDS, _FACTS, _NUMBER, _NUMBER)),
    (deltas.write_deltas, _STEPS),
    (pages.write_pages, _STEPS),
    (rows.plans_of, (_FACTS.typeof("call"), _DELTAS, _PLANS, _NUMBER)),
    (deltas.write_packing, (*_DELTA, _FLAG, _NUMBER)),
    (deltas.reserve_sort, (_FACTS, _KEYS, _NUMBER, _FLAG, _WORDS, _NUMBER)),
    (finish_batch, (_NUMBER,)),
    (deltas.write_mapping, _STEPS),
    (rows.write_planning, (_WORDS, _FACTS, _PLANS)),
    (rows.write_committing, (_WORDS, _FACTS, _PLANS, _NUMBER, _NUMBER, _NUMBER)),
    (write_sort, (_WORDS, _WORDS, _WORDS, _NUMBER, _NUMBER)),
    (rows.write_whole, (_WORDS, _FACTS, _PLANS, _NUMBER, _NUMBER)),
    (demand_fits, (_WORDS, _NUMBER, _NUMBER, _WORDS)),
    (deltas.write_grouping, (*_DELTA, _NUMBER)),
    (deltas.write_unpacking, (*_DELTA, _FLAG, _NUMBER)),
    (pages.plans_of, (_FACTS, _WORDS, _PLANS, _NUMBER)),
)


def begin_whole() -> None:
    """Begin to compile the whole, or to load it, in a thread: NVRTC, beside it, leaves it the lock.

    An error is met again, and raised, by the first batch.
    """
    whole: Any = start_batch

    def work() -> None:
        with suppress(Exception):
            whole.compile(_WHOLE)

    threading.Thread(target=work, name="graphtide-writers", daemon=True).start()
