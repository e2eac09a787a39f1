"""``graphtide run`` on a schedule: when runs begin, how they are stopped, and two on one state."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

import pytest

from commands import ENVIRONMENT, PROGRAM, fails, graphtide_here
from graphtide.flows.commands import schedule
from graphtide.flows.commands.schedule import Schedule, stopped_in_order, when_free
from graphtide.gpu_core.errors import SettingsError
from graphtide.io.state.state_lock import StateInUseError
from graphtide.pipeline.log_watch import Follow
from small_log import ROWS, write_file
from waiting import PATIENCE, wait_until


class Clock(Follow):
    """Time that passes while somebody sleeps, and the clock on the wall, which may be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wall: str = "2026-03-01 12:03") -> None:
        super().__init__(waits=False)
        self.passed = 0.0
        self._wall = datetime.fromisoformat(wall).timestamp()
        #: Seconds since the beginning -> by how much the clock is set then.
        self.is_set: dict[float, float] = {}
        monkeypatch.setattr(schedule.time, "time", lambda: self.wall)
        monkeypatch.setattr(schedule.time, "monotonic", lambda: self.passed)

    @property
    def wall(self) -> float:
        set_by = (seconds for when, seconds in self.is_set.items() if when <= self.passed)
        return self._wall + self.passed + sum(set_by)

    def sleep(self, seconds: float) -> None:
        self.passed += seconds

    def begun(self, wanted: Schedule, runs: int, takes: float = 0.0) -> Iterator[float]:
        """Seconds after which so many runs begin that take so long."""
        for _ in islice(wanted.runs(self), runs):
            yield self.passed
            self.passed += takes

    def shown(self, cron: str, runs: int) -> list[str]:
        """What the clock shows when so many runs begin."""
        begun = self.begun(Schedule(cron=cron), runs)
        return [f"{datetime.fromtimestamp(self.wall):%d %H:%M}" for _ in begun]


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as there:
        there.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


def test_runs_begin_so_often_or_as_soon_as_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    often = Schedule(every="10m")
    assert [*Clock(monkeypatch).begun(often, 4, takes=60)] == [0, 600, 1200, 1800]
    assert [*Clock(monkeypatch).begun(often, 4, takes=700)] == [0, 700, 1400, 2100]
    # What a long run has missed is not made up for.
    clock, begun = Clock(monkeypatch), []
    for _, takes in zip(islice(often.runs(clock), 4), (1300, 10, 10, 10), strict=True):
        begun.append(clock.passed)
        clock.passed += takes
    assert begun == [0, 1300, 1900, 2500]


def test_runs_begin_at_the_times_of_a_cron_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Clock(monkeypatch).shown("*/10 * * * *", 2) == ["01 12:10", "01 12:20"]


@pytest.mark.parametrize(
    ("now", "cron", "shown"),
    [
        ("2026-03-28 22:00", "0 9 * * *", ["29 09:00", "30 09:00"]),
        ("2026-10-24 22:00", "0 9 * * *", ["25 09:00", "26 09:00"]),
        # There is no such time on the 29th, and there are two on the 25th.
        ("2026-03-28 22:00", "30 2 * * *", ["29 03:00", "30 02:30"]),
        ("2026-10-24 22:00", "30 2 * * *", ["25 02:30", "26 02:30"]),
        ("2026-10-25 02:20", "*/30 * * * *", ["25 02:30", "25 02:00", "25 02:30", "25 03:00"]),
    ],
)
@pytest.mark.usefixtures("in_berlin")
def test_times_are_those_of_the_clock_after_it_was_put_forward_or_back_in_between(
    now: str, cron: str, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Clock(monkeypatch, now).shown(cron, len(shown)) == shown


@pytest.mark.usefixtures("in_berlin")
def test_a_run_is_not_begun_again_for_a_time_of_the_hour_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the second of two hours, the time of the first one has gone by."""
    clock = Clock(monkeypatch, "2026-10-25 02:10")
    clock.passed = 3600
    assert clock.shown("30 2 * * *", 1) == ["26 02:30"]


def test_a_clock_that_is_set_counts_for_times_and_not_for_spans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seconds in (-5 * 86400, 2 * 86400):
        clock = Clock(monkeypatch)
        clock.is_set = {100: seconds}
        assert [*clock.begun(Schedule(every="10m"), 3)] == [0, 600, 1200]

    clock = Clock(monkeypatch, "2026-03-09 12:00")
    clock.is_set = {100: -5 * 86400}
    assert clock.shown("0 13 * * *", 2) == ["04 13:00", "05 13:00"]
    clock = Clock(monkeypatch, "2026-03-09 12:00")
    # As after a suspension, whose time does not count for sleeps.
    clock.is_set = {100: 6000}
    (passed,) = clock.begun(Schedule(cron="0 13 * * *"), 1)
    assert passed <= 130, "the run is as late as the clock was"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"every": "10m", "follow": True}, "exclude each other"),
        ({"every": "often"}, "--every often is not allowed"),
        ({"every": "-5s"}, "--every -5s is not allowed"),
        ({"cron": "61 * * * *"}, r"is no cron expression \(bad minute\)"),
        ({"cron": "0 0 31 2 *"}, r"is no cron expression \(bad day-of-month\)"),
        ({"cron": "daily"}, "is no cron expression"),
        # Others have seconds before the minutes, or years after the days.
        ({"cron": "0 3 * * * *"}, "write five fields"),
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


def test_a_run_that_waits_for_another_one_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_use() -> None:
        msg = "state x is in use by process 1; wait until it ends, or stop it"
        raise StateInUseError(msg)

    clock = Clock(monkeypatch)
    monkeypatch.setattr(clock, "sleep", lambda _: clock.stop())
    with pytest.raises(StateInUseError, match="in use by process 1"):
        when_free(in_use, clock, wait=True)


def test_what_a_process_ignores_does_not_stop_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a command in the background of a script, which Ctrl-C is not meant for."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        clock = Clock(monkeypatch)
        with stopped_in_order(clock, report=False):
            signal.raise_signal(signal.SIGINT)
            assert not clock.is_stopped
            signal.raise_signal(signal.SIGTERM)
            assert clock.is_stopped
            # The next one is for whoever had it before.
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


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
