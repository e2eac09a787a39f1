"""Suppresses tracebacks of child processes whose parent ended, or gave up, during their start.

Imported by the fork server; children inherit it. A child unpickles its task, which refers to
semaphores of its parent. If the parent ends meanwhile, or gives up that start, the semaphores are
gone, or no data comes. Python would print a traceback for that, after the last output of a command
that was stopped. All other errors are printed as usual.

Not here: children that have started; the system ends them (``ends_with_parent.py``).
"""

import sys
from types import TracebackType

#: The error, and the module that it is raised in: a semaphore that is gone; a pipe that was closed.
_GIVEN_UP = {
    (FileNotFoundError, "multiprocessing.synchronize"),
    (EOFError, "multiprocessing.spawn"),
}

_print_error = sys.excepthook


def _print_unless_given_up(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    frame = trace
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = "" if frame is None else frame.tb_frame.f_globals.get("__name__")
    if (kind, module) not in _GIVEN_UP:
        _print_error(kind, error, trace)


sys.excepthook = _print_unless_given_up
