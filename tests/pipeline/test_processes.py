"""Processes that share work end with the one that they work for, whatever ends it."""

import operator
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import ctrl_c_is_heard
from graphtide.flows.processes import run_in_processes
from graphtide.gpu_core.errors import GraphtideError
from graphtide.pipeline.workers import stopped_workers
from waiting import PATIENCE, wait_until
from worker_jobs import die, stop

HELPERS = Path(__file__).parents[1] / "helpers"
PARENT = """
import sys
from pathlib import Path
from graphtide.flows.processes import run_in_processes
from worker_jobs import tell_and_wait
if __name__ == "__main__":
    run_in_processes(tell_and_wait, [(Path(sys.argv[1]),)] * 4)
"""


def is_alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_answers_come_in_order() -> None:
    assert run_in_processes(operator.mul, [(7, n) for n in range(5)]) == [0, 7, 14, 21, 28]


def test_an_error_is_the_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        run_in_processes(divmod, [(1, 1), (1, 0), (1, 2)])


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(GraphtideError, match="a process was killed at its work"):
        run_in_processes(die, [(1,), (2,)])


def test_a_process_that_is_stopped_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sooner than for users."""
    monkeypatch.setattr(stopped_workers, "STOPPED_SECONDS", 0.5)
    with pytest.raises(GraphtideError, match="a process was killed at its work, or stopped"):
        run_in_processes(stop, [(1,), (2,)])


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_they_end_with_their_parent(way: signal.Signals, tmp_path: Path) -> None:
    script, told = tmp_path / "parent.py", tmp_path / "told"
    script.write_text(PARENT)
    told.mkdir()
    with ctrl_c_is_heard():
        parent = subprocess.Popen(
            [sys.executable, script, told],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(HELPERS)},
            start_new_session=True,
        )
    count = min(4, len(os.sched_getaffinity(0)))
    wait_until(lambda: len(list(told.iterdir())) == count)
    # As a terminal does it: to every process of the group.
    (os.killpg if way == signal.SIGINT else os.kill)(parent.pid, way)
    _, words = parent.communicate(timeout=PATIENCE)
    assert parent.returncode != 0
    assert words.count("Traceback") <= 1, "children print theirs"
    wait_until(lambda: not any(is_alive(int(path.name)) for path in told.iterdir()))
