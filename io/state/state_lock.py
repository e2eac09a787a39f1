"""The lock of a state directory: one run writes at a time; others can see which.

It is a ``flock`` on a file: the kernel releases it when the process is gone, however it went. A run
writes its name into the file and removes it at its end. So a file with a name in it is of a run
that goes on, or of one that was killed; which of them, the lock shows.

Not here: what is locked, and until when (``directory.py``).
"""

import fcntl
import os
import socket
from pathlib import Path

from ...gpu_core.errors import StateError
from ..durable import make_folder

#: Name of the file in the state directory.
LOCK = "lock"

#: Times that a folder may go between making it and opening the file in it.
_ATTEMPTS = 100

#: Bytes of a name that are read.
_NAME_BYTES = 200


class StateInUseError(StateError):
    """Another run writes into the state."""


def take_lock(folder: Path) -> int:
    """Lock a state directory, which is made where there is none; gives the file's descriptor.

    Raises
    ------
    StateError
        Another run has it, or the folder cannot be written or locked.
    """
    path = folder / LOCK
    attempts = 0
    while True:
        attempts += 1
        try:
            make_folder(folder)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            # Another run may just have removed the folder that it had made; some file systems,
            # such as /proc, say the same for ever.
            if isinstance(error, FileNotFoundError) and attempts < _ATTEMPTS:
                continue
            msg = f"state {folder} cannot be written ({error.strerror}); give another --state"
            raise StateError(msg) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            name = os.pread(descriptor, _NAME_BYTES, 0).decode(errors="replace").strip()
            os.close(descriptor)
            if not isinstance(error, BlockingIOError):
                msg = f"state {folder} cannot be locked ({error.strerror}); use a local disk"
                raise StateError(msg) from error
            msg = (
                f"state {folder} is in use by {name or 'another process'}; wait until it ends, or "
                f"stop it"
            )
            raise StateInUseError(msg) from None
        # Another run may have removed the file since it was opened: then a new one counts.
        if is_lock_of(descriptor, folder):
            _write_name(descriptor, folder)
            return descriptor
        os.close(descriptor)


def is_lock_of(descriptor: int, folder: Path) -> bool:
    """Whether a lock that was taken is that of the folder which is there under this name now."""
    try:
        return os.path.samestat(os.stat(folder / LOCK), os.fstat(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return False


def _write_name(descriptor: int, folder: Path) -> None:
    """Say in the locked file whose it is; a disk without room for that has none for a run."""
    name = f"process {os.getpid()} on {socket.gethostname()}\n"
    try:
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, name.encode(), 0)
    except OSError as error:
        os.close(descriptor)
        msg = f"state {folder} cannot be written ({error.strerror}); make room, then run again"
        raise StateError(msg) from error


def release_lock(descriptor: int) -> None:
    """Take the name out of the file, and release the lock."""
    os.truncate(descriptor, 0)
    os.close(descriptor)


def lock_holder(folder: Path) -> str | None:
    """Name of the run that has the lock; None where no run goes on. Looks only."""
    try:
        with (folder / LOCK).open("r", encoding="utf-8") as file:
            name = file.read().strip()
            # Only where a name is left is the lock tried, which others would meet.
            if not name:
                return None
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return name
    return None
