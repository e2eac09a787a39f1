"""Folders for compiled code, which is executed: only where no other user can write.

Only a folder that this user made, in another one that this user made, and that no other user may
write to, is used. Light: it is there before NumPy and Numba are.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def trusted_folder(name: str) -> Path | None:
    """Return the folder of a name, made where there is none; None where none can be had.

    It is in ``$XDG_CACHE_HOME/graphtide``, by default ``~/.cache/graphtide``, or else in the
    folder of temporary files.
    """
    for base in _bases():
        folder = base / name
        with suppress(OSError):
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_own(base):
                # Older versions made it as the umask says.
                base.chmod(0o700)
                folder.mkdir(mode=0o700, exist_ok=True)
                if _is_own(folder) and not folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    return folder
    return None


def _bases() -> Iterator[Path]:
    """Folders that may hold compiled code, the best first."""
    with suppress(RuntimeError):  # there is no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "graphtide"
    yield Path(tempfile.gettempdir()) / f"graphtide-{os.getuid()}"


def _is_own(folder: Path) -> bool:
    """Whether this user made a folder, which is no link to another."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
