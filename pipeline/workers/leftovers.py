"""Leftovers on the machine of a run whose processes were all killed; the next run removes them.

Python's multiprocessing makes files that a process of its own removes, unless that is killed, too:
semaphores in ``/dev/shm``, and a folder ``pymp-…`` of temporary files. The run lists its own in
``STATE/leftovers.json``, and takes the list away at its end. The next run of the state removes what
is in a list that it finds. A file is removed only if it is surely of that run: it has the name, the
inode and the owner in the list, and the process that listed it is gone, by its number, its start
and the start of the machine.

Memory files are gone with their processes (``memory_files.py``). Dask removes folders of killed
workers itself, when another cluster has the same temporary directory.
"""

import multiprocessing.util
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...io.hashed_json import DamagedJsonError, read_json, write_json
from ...io.process_identity import process_identity

_NAME = "leftovers.json"

#: Beginnings of the names that multiprocessing gives; nothing else is removed.
_SEMAPHORE, _FOLDER = "sem.mp-", "pymp-"


class Leftovers:
    """The list of one run.

    Parameters
    ----------
    state
        Folder of the state, which the run has locked.
    """

    def __init__(self, state: Path) -> None:
        self._path = state / _NAME
        self._files: dict[str, int] = {}

    def note(self) -> None:
        """List what this process has by now; processes that it starts later bring more."""
        found = [*_mapped_semaphores(), Path(multiprocessing.util.get_temp_dir())]
        before = dict(self._files)
        for path in found:
            with suppress(OSError):
                self._files[str(path)] = path.stat().st_ino
        if self._files != before:
            write_json(self._path, {**process_identity(os.getpid()), "files": self._files})

    def forget(self) -> None:
        """Take the list away: the run ends, and removes all that itself."""
        self._path.unlink(missing_ok=True)


def remove_left_behind(state: Path) -> None:
    """Remove what a killed run has listed; the caller has locked the state."""
    path = state / _NAME
    try:
        listed = read_json(path, must_have_hash=True)
        owner = {name: listed[name] for name in ("pid", "start", "boot")}
        if process_identity(owner["pid"]) == owner:
            return  # a program that goes on after its run
        for name, inode in listed["files"].items():
            _remove(Path(name), inode)
    except FileNotFoundError:
        return
    except (DamagedJsonError, KeyError, TypeError, AttributeError):
        pass  # nothing in it is sure
    path.unlink(missing_ok=True)


def _remove(path: Path, inode: Any) -> None:
    with suppress(OSError):
        found = path.lstat()
        if found.st_ino != inode or found.st_uid != os.geteuid():
            return
        if path.name.startswith(_FOLDER):
            shutil.rmtree(path, ignore_errors=True)
        elif path.name.startswith(_SEMAPHORE):
            path.unlink()


def _mapped_semaphores() -> list[Path]:
    """Semaphores of multiprocessing that this process has open.

    The system gives their inodes; it maps them before they have their names.
    """
    with suppress(OSError):
        lines = Path("/proc/self/maps").read_text().splitlines()
        # Range, rights, offset, device, inode, path.
        inodes = {int(line.split(maxsplit=5)[4]) for line in lines if "/dev/shm/sem." in line}
        with os.scandir("/dev/shm") as entries:
            return [
                Path(entry.path)
                for entry in entries
                if entry.name.startswith(_SEMAPHORE) and entry.inode() in inodes
            ]
    return []
