"""Compilation of the launch writers ahead, in parts, by idle processes.

At first use Numba needs 15 s of one core for `context.start_batch` and all that it calls, on the
graph worker, which the run waits for. The CPU workers are idle until then, so each compiles a part.
A part that two processes need is compiled once (``jit/shared_cache.py``).
"""

import threading
from contextlib import suppress
from typing import Any, Final

import numba

from ...jit.shared_cache import is_saved
from .context import finish_batch, start_batch
from .deltas.delta_launches import write_deltas, write_mapping
from .facts import FACTS
from .pages.page_launches import write_pages
from .rows.row_launches import write_rows

_WORDS: Final = numba.int64[::1]
_NUMBER: Final = numba.int64
_FACTS: Final = numba.from_dtype(FACTS)

#: Functions and what they are called with, the longest to compile first.
PARTS: Final[tuple[tuple[Any, tuple[Any, ...]], ...]] = (
    (write_rows, (_WORDS, _FACTS, _NUMBER, _NUMBER)),
    (write_deltas, (_WORDS, _FACTS, _WORDS, _NUMBER, _NUMBER)),
    (write_pages, (_WORDS, _FACTS, _WORDS, _NUMBER, _NUMBER)),
    (write_mapping, (_WORDS, _FACTS, _WORDS, _NUMBER, _NUMBER)),
    (finish_batch, (_NUMBER,)),
)


_WHOLE: Final = (_NUMBER, numba.typeof(b""), _NUMBER, _NUMBER, _NUMBER, _NUMBER, numba.boolean)


def begin_whole() -> None:
    """Begin to compile the whole, or to load it, in a thread: NVRTC, beside it, leaves it the lock.

    An error is met again, and told, by the first batch.
    """
    whole: Any = start_batch

    def work() -> None:
        with suppress(Exception):
            whole.compile(_WHOLE)

    threading.Thread(target=work, name="graphtide-writers", daemon=True).start()


def compile_part(number: int) -> None:
    """Compile a part for all processes, unless that was done; nothing beyond the last one."""
    for function, signature in PARTS[number : number + 1]:
        if not is_saved(function):
            function.compile(signature)
