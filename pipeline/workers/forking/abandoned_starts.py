"""No traceback of a child whose parent ended, or gave it up, while it was being started.

Imported by the fork server; children inherit it. A child unpickles what it is to do, which names
semaphores of its parent. If the parent ends meanwhile, or gives up that start, the semaphores are
gone, or nothing comes. Python would print that as a traceback, after the last words of a command
that was told to end. All other errors are printed as they are.

Not here: children that have begun with what they are to do; the system ends them
(``ends_with_parent.py``).
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
