"""The lock of a state directory: one run at a time, also after one that was killed."""

import os
import signal
import subprocess
import sys

import pytest

from graphtide import StateError
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.state_lock import lock_holder
from small_state import made


def test_one_run_at_a_time(tmp_path):
    state = made(tmp_path / "s")
    with (
        state.lock(),
        pytest.raises(StateError, match=f"in use by process {os.getpid()} "),
        StateDirectory(state.path).lock(),
    ):
        pass
    with state.lock():
        pass


def test_a_folder_that_cannot_be_made_is_refused():
    with pytest.raises(StateError, match="state /proc/x cannot be written"):
        StateDirectory("/proc/x").lock().__enter__()


def test_a_file_in_the_place_of_the_locked_folder_is_told_as_a_folder_is(tmp_path):
    state = StateDirectory(tmp_path / "state")
    with state.lock():
        state.path.rename(tmp_path / "elsewhere")
        state.path.write_text("not a folder")
        with pytest.raises(StateError, match="was moved, emptied or replaced"):
            state.check_lock()
    # And the lock is given back.
    with StateDirectory(tmp_path / "elsewhere").lock():
        pass


@pytest.mark.parametrize("change", ["moved", "emptied", "replaced"])
def test_a_folder_that_comes_to_the_place_of_the_locked_one_is_left_as_it_is(tmp_path, change):
    other = made(tmp_path / "other")
    state = StateDirectory(tmp_path / "state")
    with state.lock():
        state.check_lock()
        if change == "emptied":
            (state.path / "lock").unlink()
        else:
            state.path.rename(tmp_path / "elsewhere")
        if change == "replaced":
            other.path.rename(state.path)
        with pytest.raises(StateError, match=r"state was moved, emptied or replaced while a run"):
            state.check_lock()
        if change != "moved":
            # A run that goes on there, and has made no state yet.
            (state.path / "graphtide.json").unlink(missing_ok=True)
            (state.path / "lock").write_text("process 7")
    assert state.path.exists() == (change != "moved")
    if change != "moved":
        assert (state.path / "lock").read_text() == "process 7"


def test_a_killed_run_gives_the_lock_back_and_its_leftovers_go(tmp_path):
    state = made(tmp_path / "s")
    script = (
        "import sys, time\n"
        "from graphtide.io.state.directory import StateDirectory\n"
        "with StateDirectory(sys.argv[1]).lock():\n"
        "    print('locked', flush=True)\n"
        "    time.sleep(100)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", script, str(state.path)], stdout=subprocess.PIPE, text=True
    )
    with run:
        assert run.stdout.readline() == "locked\n"
        with pytest.raises(StateError, match=f"in use by process {run.pid} "), state.lock():
            pass
        run.send_signal(signal.SIGKILL)
    assert (state.path / "lock").read_text().startswith(f"process {run.pid} ")
    assert lock_holder(state.path) is None
    half = state.path / "checkpoints" / "batch=000000000003.tmp"
    half.mkdir(parents=True)
    (half / "edges.parquet").write_bytes(b"x")
    torn = state.results(1) / "pagerank.parquet.tmp"
    torn.parent.mkdir(parents=True)
    torn.write_bytes(b"x")
    with state.lock():
        assert not half.exists()
        assert not torn.exists()


def test_a_run_that_makes_no_state_leaves_no_folder(tmp_path):
    state = StateDirectory(tmp_path / "s")
    with pytest.raises(ZeroDivisionError), state.lock():
        raise ZeroDivisionError
    assert not state.path.exists()
    state.path.mkdir()
    with state.lock():
        pass
    assert list(state.path.iterdir()) == []
