"""Makes the system kill this process, and those that it forks, when its parent dies.

Imported by the fork server, before anything else. A pipe would tell the server that its parent is
gone, but only when no worker holds the other end, and a stopped worker (SIGSTOP) holds it for ever.
The system kills stopped processes, too.

"""

import ctypes
import os
import signal

from .fork_server import LASTING_PARENT

#: From ``linux/prctl.h``.
_PR_SET_PDEATHSIG = 1

_library = ctypes.CDLL(None, use_errno=True)


def end_with_parent() -> None:
    """Have this process killed when the thread that started it ends.

    That thread lasts as long as its process (``fork_server.py``); the server itself has only one.
    """
    _library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _after_fork(server: int) -> None:
    # Not in what workers fork: their threads come and go.
    if os.getppid() == server:
        end_with_parent()
        if os.getppid() != server:
            os._exit(1)


if os.environ.pop(LASTING_PARENT, None):
    end_with_parent()
    _server = os.getpid()
    os.register_at_fork(after_in_child=lambda: _after_fork(_server))
