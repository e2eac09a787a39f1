"""Which rings lie in the memory of this machine, as its processes have them open."""

import os
from pathlib import Path

#: Processes that are started from here on inherit it, so that tests of others are told apart.
_MARK = f"GRAPHTIDE_TESTS={os.getpid()}"
os.environ["GRAPHTIDE_TESTS"] = str(os.getpid())


def memory_files() -> set[tuple[int, str]]:
    """``(process, name)`` of each memory file of ours in this process and those it has started."""
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return {
        (int(folder.name), name)
        for folder in folders
        if _is_ours(folder)
        for name in _open_files(folder)
        if name.startswith("/memfd:graphtide-")
    }


def _is_ours(process: Path) -> bool:
    if int(process.name) == os.getpid():
        return True
    try:
        return _MARK in (process / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False


def _open_files(process: Path) -> list[str]:
    names = []
    try:
        for link in (process / "fd").iterdir():
            try:
                names.append(os.readlink(link))
            except OSError:
                continue  # closed meanwhile
    except OSError:
        pass  # it has ended
    return names
