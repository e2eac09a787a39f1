"""Faults in the process of a command, at its n-th operation on files.

Operations are what Python's audit events tell of changes of files (to open one for writing, to
rename, remove, mkdir, rmdir, truncate), and ``fsync``, before which lies what Arrow has written.
Counted are those on some paths: a state, a log. Left out is ``running.json``, which is written by
the clock.

=============  ===================================================================================
fault          at its operation
=============  ===================================================================================
``count``      none: when the command ends, the number of operations is in this file
``crash``      the process ends as after SIGKILL; what Arrow was writing may be half there
``power``      likewise, and then the power fails: ``<state>.after`` is what is on the disk
``refuse``     it fails with an ``errno``, and so do all that follow, but removals
``clock``      the wall clock of the process jumps by so many seconds
``largest``    from the start: no file becomes larger than so many ``bytes``
``readonly``   from the start: the first path is mounted read-only
=============  ===================================================================================
"""

import atexit
import ctypes
import os
import random
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .power_loss import Journal, torn

#: Exit status of a process that crashed as it was asked to.
CRASHED = 77

_REMOVALS = ("os.remove", "os.rmdir")
_CHANGES = ("os.rename", "os.mkdir", "os.truncate", *_REMOVALS)


def install(fault: dict[str, Any]) -> "Operations | None":
    """Prepare a fault in this process; gives what counts operations, where it is at one of them.

    Parameters
    ----------
    fault
        ``kind``, ``paths`` that count, the number of the operation ``at``, ``seed``; ``file`` of
        ``count``, ``errno`` of ``refuse``, ``seconds`` of ``clock``.
    """
    if fault["kind"] == "largest":
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault["bytes"], fault["bytes"]))
    elif fault["kind"] == "readonly":
        _mount_read_only(fault["paths"][0])
    else:
        return Operations(fault)
    return None


class Operations:
    """Counts operations and does what is asked at one of them."""

    def __init__(self, fault: dict[str, Any]) -> None:
        self._fault = fault
        self._paths = tuple(map(os.path.realpath, fault["paths"]))
        self._at = fault.get("at", -1)
        self._done = 0
        self._draw = random.Random(fault.get("seed"))
        self._lock = threading.RLock()
        #: In here, operations are our own.
        self._inside = threading.local()
        self._journal: Journal | None = None
        if fault["kind"] == "power":
            root = Path(self._paths[0])
            self._journal = Journal(root, root.with_name(root.name + ".kept"))
        if fault["kind"] == "count":
            atexit.register(self.write_count)
        self._fsync = os.fsync
        os.fsync = self._synced
        sys.addaudithook(self._heard)

    def write_count(self) -> None:
        """Write down how many there were, where that is what is asked for."""
        Path(self._fault["file"]).write_text(str(self._done))

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        is_change = event in _CHANGES or (event == "open" and _writes(arguments))
        if not is_change or getattr(self._inside, "yes", False):
            return
        path = _path(arguments, -1 if event == "os.remove" or event == "os.rmdir" else None)
        self._before(event, path, arguments)

    def _synced(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self._before("fsync", path, ())
        self._fsync(descriptor)
        if self._journal is not None:
            with self._lock:
                self._by_us(lambda journal: journal.synced(Path(path)))

    def _before(self, event: str, path: str, arguments: tuple[Any, ...]) -> None:
        if not path.startswith(self._paths) or "running.json" in path:
            return
        # Where the process is about to end, other threads wait here for that.
        with self._lock:
            number, self._done = self._done, self._done + 1
            if number >= self._at >= 0:
                self._strike(event, path, is_first=number == self._at)
            if event in _REMOVALS:
                self._by_us(lambda journal: journal.removed(Path(path)))
            elif event == "os.rename":
                self._by_us(lambda journal: journal.removed(Path(_path(arguments[1:], None))))

    def _by_us(self, do: Callable[[Journal], None]) -> None:
        if self._journal is not None:
            self._inside.yes = True
            try:
                do(self._journal)
            finally:
                self._inside.yes = False

    def _strike(self, event: str, path: str, *, is_first: bool) -> None:
        match self._fault["kind"]:
            case "crash":
                self._inside.yes = True
                if event == "fsync" and Path(path).is_file():
                    Path(path).write_bytes(torn(Path(path).read_bytes(), self._draw))
                os._exit(CRASHED)
            case "power":
                root = Path(self._paths[0])
                self._by_us(lambda j: j.lose_power(self._draw, root.with_name("after")))
                os._exit(CRASHED)
            case "refuse" if event not in _REMOVALS:
                number = self._fault["errno"]
                raise OSError(number, os.strerror(number), path)
            case "clock" if is_first:
                jump(self._fault["seconds"])


def _writes(arguments: tuple[Any, ...]) -> bool:
    return bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _path(arguments: tuple[Any, ...], folder: int | None) -> str:
    """The path of an operation, which may be relative to an open folder: the last argument."""
    path = os.fsdecode(arguments[0]) if not isinstance(arguments[0], int) else ""
    if folder is not None and arguments[folder] != -1:
        path = os.path.join(os.readlink(f"/proc/self/fd/{arguments[folder]}"), path)
    return os.path.abspath(path)


def _mount_read_only(path: str) -> None:
    """For this process and those that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, new_user = 0x20000, 0x10000000
    private, bind, remount, read_only = 0x40000 | 0x4000, 0x1000, 0x20, 0x1
    name = os.fsencode(path)
    steps = [
        libc.unshare(new_mounts | (new_user if os.getuid() else 0)),
        libc.mount(b"none", b"/", None, private, None),
        libc.mount(name, name, None, bind, None),
        libc.mount(None, name, None, remount | bind | read_only, None),
    ]
    if any(steps):
        msg = f"this machine lets nobody mount: {os.strerror(ctypes.get_errno())}"
        raise RuntimeError(msg)


def jump(seconds: float, put: Callable[[object, str, object], None] = setattr) -> None:
    """Set the wall clock of this process, wherever a module has taken it."""
    true = time.time

    def jumped() -> float:
        return true() + seconds

    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if value is true:
                put(module, name, jumped)
