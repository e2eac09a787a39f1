"""A program that begins a run again and again, and dies before each of its operations on files.

``python crash_points.py LOG STATE OUT SETTINGS`` makes ``OUT/<n>``: the state after a begin that
was killed just before operation n; the last one was not killed. Each begin is a process of its own.
It is forked from this one, which has imported everything and has no thread, and it ends without
clean-up, as after SIGKILL.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from graphtide.config.settings import load_settings
from graphtide.pipeline.opening import open_files

#: What changes a file system, as Python's audit events call it.
_CHANGES = frozenset({"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"})

KILLED = 9


def main() -> None:
    """Make the states."""
    log, state, out = map(Path, sys.argv[1:4])
    overrides = json.loads(sys.argv[4])
    status, number = KILLED, 0
    while status == KILLED:
        copy = out / f"{number:03d}"
        shutil.copytree(state, copy)
        child = os.fork()
        if child == 0:
            _begin(log, copy, overrides, number)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        number += 1
    sys.exit(status)


def _begin(log: Path, state: Path, overrides: dict[str, object], last: int) -> None:
    settings = load_settings(overrides)
    done = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal done
        is_change = event in _CHANGES or (event == "open" and _writes(arguments))
        if is_change and done == last:
            os._exit(KILLED)
        done += is_change

    sys.addaudithook(count)
    with open_files(str(log), str(state), settings, 50):
        os._exit(0)


def _writes(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2]
    assert isinstance(flags, int)
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


if __name__ == "__main__":
    main()
