"""``graphtide run`` on a schedule: when runs begin, how they are stopped, and two on one state."""

import re
import signal
import subprocess
from pathlib import Path

import pytest

from commands import ENVIRONMENT, PROGRAM, fails, graphtide_here
from graphtide.flows.commands import schedule
from graphtide.flows.commands.schedule import Schedule
from graphtide.gpu_core.errors import SettingsError
from graphtide.pipeline.log_watch import Follow
from small_log import ROWS, write_file
from waiting import PATIENCE, wait_until


class Clock(Follow):
    """Time that passes while somebody sleeps; stopped after so many sleeps."""

    def __init__(self, sleeps: int) -> None:
        super().__init__(waits=False)
        self.now = 1_000_000.0
        self._left = sleeps

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._left -= 1
        if self._left < 0:
            self.stop()


def begun(wanted: Schedule, monkeypatch: pytest.MonkeyPatch, takes: float) -> list[float]:
    """Seconds after which four runs begin that take so long."""
    clock = Clock(sleeps=3)
    first = clock.now
    monkeypatch.setattr(schedule.time, "time", lambda: clock.now)
    times = []
    for _ in wanted.runs(clock):
        times.append(clock.now - first)
        if len(times) == 4:
            break
        clock.now += takes
    return times


def test_runs_begin_so_often_or_as_soon_as_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert begun(Schedule(every="10m"), monkeypatch, takes=60) == [0, 600, 1200, 1800]
    assert begun(Schedule(every="10m"), monkeypatch, takes=700) == [0, 700, 1400, 2100]


def test_runs_begin_at_the_times_of_a_cron_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Schedule(cron="*/10 * * * *")
    clock = Clock(sleeps=2)
    from datetime import datetime

    clock.now = datetime(2026, 3, 1, 12, 3).timestamp()
    monkeypatch.setattr(schedule.time, "time", lambda: clock.now)
    monkeypatch.setattr(schedule, "_now", lambda: datetime.fromtimestamp(clock.now).astimezone())
    times = [datetime.fromtimestamp(clock.now).strftime("%H:%M") for _ in wanted.runs(clock)]
    assert times == ["12:10", "12:20"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"every": "10m", "follow": True}, "exclude each other"),
        ({"every": "often"}, "--every often is not allowed"),
        ({"every": "-5s"}, "--every -5s is not allowed"),
        ({"cron": "61 * * * *"}, "is no cron expression"),
        ({"cron": "daily"}, "is no cron expression"),
    ],
)
def test_what_cannot_be_meant_is_refused(flags: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        Schedule(**flags)  # type: ignore[arg-type]


def test_a_run_follows_until_a_signal_and_others_wait_for_it(log: Path, tmp_path: Path) -> None:
    """SIGTERM ends it with status 0; a second run leaves at once, and a third one waits."""
    run = [*PROGRAM, "run", "log", "--state", "state", "--workers", "1", "--analytics", "none",
           "--set", "dashboard=false"]  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*run, "--follow"], cwd=tmp_path, env=ENVIRONMENT, **pipes) as first:
        checkpoints = tmp_path / "state" / "checkpoints"
        wait_until(lambda: checkpoints.exists() and len(list(checkpoints.iterdir())) > 0)
        fails(graphtide_here("run", "log", "--state", "state", cwd=tmp_path), 1, "is in use by")
        with subprocess.Popen([*run, "--wait"], cwd=tmp_path, env=ENVIRONMENT, **pipes) as third:
            assert third.stderr is not None
            assert "is in use by process" in third.stderr.readline()
            write_file(log, 3)
            wait_until(lambda: rows_applied(tmp_path) == 4 * ROWS)
            first.send_signal(signal.SIGTERM)
            output, errors = first.communicate(timeout=PATIENCE)
            assert first.returncode == 0, errors
            assert "stopping, with the batches that are being applied" in errors
            assert "4 batches" in output
            output, errors = third.communicate(timeout=PATIENCE)
            assert third.returncode == 0, errors
            assert re.search(r"applied +nothing", output), output


def test_a_run_that_waits_for_its_first_file_is_stopped_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").mkdir()
    monkeypatch.setattr(Follow, "sleep", lambda *_: signal.raise_signal(signal.SIGTERM))
    # Nobody is there: it has not come so far.
    run = ["run", "log", "--state", "state", "--follow", "--scheduler", "127.0.0.1:1"]
    done = graphtide_here(*run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "applied    nothing: stopped before the log had a file\n"


def rows_applied(folder: Path) -> int:
    import json

    done = graphtide_here("status", "state", "--json", cwd=folder)
    return int(json.loads(done.stdout)["rows_applied"])
