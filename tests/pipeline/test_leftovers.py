"""Files of multiprocessing that killed runs leave: removed by the next run, and no others."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from graphtide.pipeline.workers.leftovers import Leftovers, remove_left_behind
from waiting import PATIENCE

#: Makes a semaphore and a temporary folder, lists them, and waits.
PROGRAM = """
import sys
from multiprocessing import get_context
from pathlib import Path
from graphtide.pipeline.workers.leftovers import Leftovers
lock = get_context("forkserver").Lock()
leftovers = Leftovers(Path(sys.argv[1]))
leftovers.note()
print("listed", flush=True)
sys.stdin.read(1)
leftovers.forget()
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has listed what it made."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "listed\n"
    yield process
    kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    """With the process that would tidy up behind it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def listed(state: Path) -> list[Path]:
    return [Path(name) for name in json.loads((state / "leftovers.json").read_text())["files"]]


def test_what_a_killed_run_left_is_removed(tmp_path: Path, run: subprocess.Popen[str]) -> None:
    files = listed(tmp_path)
    kinds = sorted(path.name.split("-")[0] for path in files)
    assert kinds == ["pymp", "sem.mp"]
    remove_left_behind(tmp_path)
    assert all(path.exists() for path in files), "the run goes on"
    assert listed(tmp_path) == files
    kill(run)
    assert all(path.exists() for path in files), "nothing else removes them"
    remove_left_behind(tmp_path)
    assert not any(path.exists() for path in files)
    assert not list(tmp_path.iterdir())


def test_what_may_be_of_others_is_left_alone(tmp_path: Path, run: subprocess.Popen[str]) -> None:
    """A list that names files of this process: by names that were given again, or by damage."""
    kill(run)
    ours = Leftovers(tmp_path / "ours")
    (tmp_path / "ours").mkdir()
    lock = get_context("forkserver").Lock()
    ours.note()
    files = listed(tmp_path / "ours")
    assert any("sem.mp-" in path.name for path in files)
    remove_left_behind(tmp_path / "ours")
    assert all(path.exists() for path in files)
    values = json.loads((tmp_path / "leftovers.json").read_text())
    for changed in (
        {**values, "files": {str(path): path.stat().st_ino for path in files}},
        {"files": 7},
        [],
    ):
        (tmp_path / "leftovers.json").write_text(json.dumps(changed))
        remove_left_behind(tmp_path)
        assert all(path.exists() for path in files)
        assert not (tmp_path / "leftovers.json").exists()
    del lock
    # Another file under a name that was ours.
    (tmp_path / "pymp-other").mkdir()
    from graphtide.io.hashed_json import write_json

    del values["sha256"]
    write_json(tmp_path / "leftovers.json", {**values, "files": {str(tmp_path / "pymp-other"): 1}})
    remove_left_behind(tmp_path)
    assert (tmp_path / "pymp-other").exists()


def test_a_run_that_ends_leaves_no_list(tmp_path: Path, run: subprocess.Popen[str]) -> None:
    files = listed(tmp_path)
    run.communicate("\n", timeout=PATIENCE)
    assert run.returncode == 0
    assert not any(path.exists() for path in files)
    assert not list(tmp_path.iterdir())
