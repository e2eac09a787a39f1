"""A program that begins a run again and again, and dies before each of its operations on files.

``python crash_points.py LOG STATE OUT SETTINGS`` makes ``OUT/<n>``: the state after a begin that
was killed just before operation n; the last one was not killed. Each begin is a process of its own.
It is forked from this one, which has imported everything and has no thread, and it ends without
clean-up, as after SIGKILL.
"""

import gc
import json
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from graphtide.config.settings import RunSettings, load_settings
from graphtide.pipeline.opening import open_files
from torture import faults


def main() -> None:
    """Make the states."""
    log, state, out = map(Path, sys.argv[1:4])
    settings = load_settings(json.loads(sys.argv[4]))
    gc.freeze()  # or each child would copy, for its collections, what is imported
    status, number = faults.CRASHED, 0
    while status == faults.CRASHED:
        copy = out / f"{number:03d}"
        shutil.copytree(state, copy)
        child = os.fork()
        if child == 0:
            _begin(log, copy, settings, number)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        number += 1
    sys.exit(status)


def _begin(log: Path, state: Path, settings: RunSettings, last: int) -> None:
    faults.install({"kind": "crash", "paths": [str(state)], "at": last, "seed": last})
    with open_files(str(log), str(state), settings, 50):
        os._exit(0)


if __name__ == "__main__":
    main()
