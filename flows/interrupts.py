"""Handling of Ctrl-C.

=======================  ==========================================================================
while                    Ctrl-C
=======================  ==========================================================================
the program is imported  ends the process at once: nothing was begun
a command goes on        raises KeyboardInterrupt, so that the command ends in order
a command ends so        ends the process at once: workers end with it, and what is applied is kept
=======================  ==========================================================================

The exit status is 130 in each case. A process that ignores Ctrl-C, as one in the background of a
shell does, goes on ignoring it.
"""

import atexit
import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Exit status of a command that Ctrl-C has ended.
STATUS = 130

#: Functions out of which no error comes: finalisers, Dask's callback of the garbage collector, and
#: Python's callbacks for objects that are gone, of imports among them.
_IGNORES_ERRORS = {
    "__del__", "_gc_callback", "_get_module_lock.<locals>.cb",
    "WeakKeyDictionary.__init__.<locals>.remove", "WeakSet.__init__.<locals>._remove",
    "WeakValueDictionary.__init__.<locals>.remove",
}  # fmt: skip
_PUT_OFF_SECONDS = 0.02


def end_at_once_until_a_command_begins() -> None:
    """Have Ctrl-C end this process from now on, but where `raised_once` says otherwise."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
        # Last of all, before Python takes its handlers away and the signal would count as the end.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def raised_once() -> Iterator[None]:
    """Have the first Ctrl-C raise KeyboardInterrupt, and the next one end the process."""
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before not in (signal.default_int_handler, _end_at_once):
        yield
        return
    signal.signal(signal.SIGINT, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def put_off(number: int, frame: FrameType | None) -> bool:
    """Whether a handler is to do nothing now, as it is called again in a moment.

    What is raised while garbage is looked for, or an object is finalized, is printed by Python and
    ignored: the signal would be lost. Dask has such a callback, and so have imports.
    """
    while frame is not None and not _IGNORES_ERRORS & {
        frame.f_code.co_name, frame.f_code.co_qualname
    }:  # fmt: skip
        frame = frame.f_back
    if frame is None:
        return False
    again = threading.Timer(_PUT_OFF_SECONDS, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()
    return True


def _raise(number: int, frame: FrameType | None) -> None:
    if put_off(number, frame):
        return
    signal.signal(signal.SIGINT, _end_at_once)
    # What threads of Dask log while they are stopped would only confuse the user.
    logging.disable(logging.CRITICAL)
    raise KeyboardInterrupt


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"graphtide: stopped at once\n")
    os._exit(STATUS)
