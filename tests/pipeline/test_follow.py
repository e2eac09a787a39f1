"""A log that grows while a run follows it, and workers that are killed beside it."""

import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.errors import SettingsError, UpdateLogError
from graphtide.io.log.file_errors import EmptyLogError
from graphtide.io.log.paths.log_paths import LogPath
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline import log_watch
from graphtide.pipeline.ingest import run
from graphtide.pipeline.log_watch import Follow, LogWatch
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.run_summary import RunSummary
from small_log import BATCH_ROWS, ROWS, expected_hash, results_below, write_file

BATCHES_A_FILE = ROWS // BATCH_ROWS

#: What is done while a run goes on: each step is taken when the run is up to date again.
Steps = Iterator[None]


def appear(log: Path, number: int) -> None:
    """A file is written elsewhere, and renamed into place."""
    write_file(log.parent / "staged", number)
    name = f"{number:04d}.parquet"
    os.rename(log.parent / "staged" / name, log / name)


def follow_through(
    log: Path,
    state: Path,
    settings: RunSettings,
    steps: Callable[[], Steps],
    recoveries: set[int] | None = None,
) -> RunSummary:
    """Follow a log; each time that the run waits, take the next step, and at last stop it."""
    follow, going = Follow(), steps()

    def look(progress: Progress) -> None:
        if recoveries is not None and progress.picture is not None:
            recoveries.add(progress.picture.recoveries)
        is_known = len(list(log.glob("*.parquet"))) * BATCHES_A_FILE == progress.batches_done
        if progress.stage == "waiting" and is_known:
            kept = newest_checkpoint(StateDirectory(str(state)))
            assert kept is not None
            size = progress.num_vertices, progress.num_edges
            assert size == (kept.manifest["num_vertices"], kept.manifest["num_edges"])
            # Nothing comes after it, for as long as the run waits.
            assert progress.picture is not None
            assert progress.picture.arena_edges == progress.num_edges
            try:
                next(going)
            except StopIteration:
                follow.stop()

    return run(str(log), str(state), settings, look, follow)


def check_whole(summary: RunSummary, files: int) -> None:
    """Nothing is lost, and nothing is there twice."""
    assert summary.state_hash == expected_hash(files)
    assert [report.batch_id for report in summary.reports] == list(range(files * BATCHES_A_FILE))
    assert summary.rows == files * ROWS
    sources = [(report.source.file, report.source.first_row) for report in summary.reports]
    assert len(set(sources)) == len(sources)


def kill_a_worker(settings_workers: int) -> None:
    """Kill one of the worker processes of this process's cluster; they are numbered as started."""
    workers = [
        child for helper in psutil.Process().children() for child in helper.children(recursive=True)
    ]
    os.kill(workers[settings_workers % len(workers)].pid, signal.SIGKILL)


def test_the_rate_is_that_of_the_time_in_which_there_was_something_to_do(tmp_path: Path) -> None:
    settings = {"workers": 1, "batch_rows": BATCH_ROWS, "dashboard": False, "analytics": []}
    follow, rates = Follow(), []
    waited: list[float] = []

    def look(progress: Progress) -> None:
        if progress.stage != "waiting":
            return
        rates.append(progress.rows_per_second)
        waited.append(time.monotonic())
        if len(rates) == 40:
            follow.stop()

    (tmp_path / "log").mkdir()
    appear(tmp_path / "log", 0)
    state = str(tmp_path / "state")
    summary = run(str(tmp_path / "log"), state, load_settings(settings), look, follow)
    assert rates[-1] > rates[0] / 2
    assert summary.rows / summary.ingest_seconds > rates[0] / 2
    assert summary.seconds - summary.ingest_seconds < waited[-1] - waited[0]


def test_a_log_grows_while_workers_are_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    # The run begins with a log in which there is nothing yet.
    log.mkdir()
    settings = load_settings(
        {"workers": 1, "batch_rows": BATCH_ROWS, "dashboard": False, "analytics": []}
    )

    def steps() -> Steps:
        for number in (1, 2):
            # While the batches of the file are applied, or about to be.
            appear(log, number)
            kill_a_worker(number)
            yield
        appear(log, 3)
        appear(log, 4)
        yield
        # With nothing to do.
        for worker in range(2):
            kill_a_worker(worker)
        appear(log, 5)
        yield

    appear(log, 0)
    recoveries: set[int] = set()
    summary = follow_through(log, tmp_path / "state", settings, steps, recoveries)
    check_whole(summary, 6)
    assert max(recoveries) >= 2
    # What it kept is what a later run goes on from: with nothing.
    later = run(str(log), str(tmp_path / "state"), settings)
    assert later.nothing_to_do
    assert later.state_hash == expected_hash(6)


def test_a_log_without_a_file_is_waited_for_until_the_run_is_stopped(tmp_path: Path) -> None:
    log, state = tmp_path / "log", tmp_path / "state"
    log.mkdir()
    follow, stages = Follow(), []

    def look(progress: Progress) -> None:
        stages.append(progress.stage)
        follow.stop()

    with pytest.raises(EmptyLogError, match="stopped before the log had a file"):
        run(str(log), str(state), load_settings({}), look, follow)
    assert stages == ["waiting"]
    assert not state.exists()


def test_the_first_times_of_a_log_that_is_followed_ask_for_a_run_of_their_own(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    """The graph of a log without rows has no unit of time yet."""
    log, state = tmp_path / "log", str(tmp_path / "state")
    log.mkdir()
    none: list[int] = []
    pq.write_table(pa.table({"src": none, "dst": none}), log / "a.parquet")
    times = {"type": [7], "ts": pa.array([5], pa.timestamp("s"))}
    pq.write_table(pa.table({"src": [1], "dst": [2], **times}), tmp_path / "b.parquet")
    settings = run_settings(records="semantic", analytics=[])

    follow = Follow()

    def look(progress: Progress) -> None:
        if progress.stage == "waiting" and not (log / "b.parquet").exists():
            os.rename(tmp_path / "b.parquet", log / "b.parquet")
        elif progress.batches_done:
            follow.stop()

    with pytest.raises(UpdateLogError, match=r"b\.parquet is the first .* run the same command"):
        run(str(log), state, settings, look, follow)
    assert run(str(log), state, settings).num_edges == 1


def test_a_file_appears_and_is_kept_before_the_next_one(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    """Each time that a run is up to date, its checkpoint and its results are on the disk."""
    log, state = tmp_path / "log", StateDirectory(str(tmp_path / "state"))
    log.mkdir()
    appear(log, 0)
    seen: list[tuple[int, int]] = []

    def steps() -> Steps:
        for number in (1, 2):
            seen.append((state.checkpoint_ids()[-1], state.result_ids()[-1]))
            appear(log, number)
            yield
        seen.append((state.checkpoint_ids()[-1], state.result_ids()[-1]))

    check_whole(follow_through(log, state.path, run_settings(), steps), 3)
    assert seen == [(n * BATCHES_A_FILE - 1, n * BATCHES_A_FILE - 1) for n in (1, 2, 3)]


def test_a_file_that_appears_during_a_look_is_taken_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the moments fall: planned twice, it would end the run."""
    log = tmp_path / "log"
    log.mkdir()
    appear(log, 0)
    listed, numbers = UpdateLog.paths, iter(range(1, 4))

    def paths(self: UpdateLog, known: Collection[str] | None = None) -> list[LogPath]:
        found = listed(self, known)
        for number in numbers:
            appear(log, number)
            break
        return found

    monkeypatch.setattr(UpdateLog, "paths", paths)
    failed: list[UpdateLogError] = []
    watch = LogWatch(UpdateLog(str(log)), set(), lambda _listing: None, failed.append)
    looks = [watch.look() for _ in range(6)]
    names = [file.name for look in looks if look is not None for file in look.files]
    assert names == [f"{number:04d}.parquet" for number in range(4)]


def test_a_run_begins_before_its_log_has_a_file(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    log = tmp_path / "log"
    log.mkdir()

    class WithAFileMeanwhile(Follow):
        def sleep(self, seconds: float) -> None:
            appear(log, 0)

    follow = WithAFileMeanwhile()

    def look(progress: Progress) -> None:
        # Before it has a file, it waits, too.
        if progress.stage == "waiting" and progress.batches_done:
            follow.stop()

    summary = run(str(log), str(tmp_path / "state"), run_settings(), look, follow)
    check_whole(summary, 1)


def test_a_run_that_is_stopped_keeps_what_it_has_begun(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    log = tmp_path / "log"
    log.mkdir()
    for number in range(3):
        appear(log, number)
    follow = Follow()

    def look(progress: Progress) -> None:
        if progress.batches_done >= 5:
            follow.stop()

    state = str(tmp_path / "state")
    settings = run_settings(window=4)
    summary = run(str(log), state, settings, look, follow)
    assert 5 <= summary.batches_applied < 3 * BATCHES_A_FILE
    assert summary.watermark == summary.batches_applied - 1
    again = run(str(log), state, settings)
    assert again.batches_applied == 3 * BATCHES_A_FILE - summary.batches_applied
    assert again.state_hash == expected_hash(3)


def test_wrong_lines_of_a_file_that_appears_are_left_out_as_of_one_that_was_there(
    tmp_path: Path, run_settings: Callable[..., RunSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_watch, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(log_watch, "PATIENCE_SECONDS", 0.1)
    log, follow = tmp_path / "log", Follow()
    log.mkdir()
    lines = '{"src": 1, "dst": 2}\n{"src": 2, "dst": "three"}\n{"src": 3, "dst": 4}\n'
    (log / "0.jsonl").write_text(lines)

    def look(progress: Progress) -> None:
        is_waiting, done = progress.stage == "waiting", progress.batches_done
        if is_waiting and done == 1 and not (log / "1.jsonl").exists():
            (log / "1.jsonl").write_text(lines)
        if is_waiting and done == 2:
            follow.stop()

    settings = run_settings(bad_rows="quarantine", batch_rows=10)
    summary = run(str(log), str(tmp_path / "state"), settings, look, follow)
    assert [each.quarantined for each in summary.reports] == [1, 1]
    assert (summary.num_vertices, summary.num_edges) == (4, 2)


def test_a_name_that_comes_before_others_ends_the_run_and_keeps_what_is_there(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    log, state = tmp_path / "log", tmp_path / "state"
    log.mkdir()
    appear(log, 4)

    def steps() -> Steps:
        appear(log, 3)
        yield
        pytest.fail("the run went on")

    with pytest.raises(UpdateLogError, match=r"0003\.parquet is new in the log but comes before"):
        follow_through(log, state, run_settings(), steps)
    assert StateDirectory(str(state)).checkpoint_ids() == [BATCHES_A_FILE - 1]


def test_a_log_in_the_order_of_a_column_cannot_be_followed(tmp_path: Path) -> None:
    settings = load_settings({"order_by": "ts"})
    with pytest.raises(SettingsError, match="order_by is for a log that is whole"):
        run(str(tmp_path), str(tmp_path / "state"), settings, None, Follow())
    assert not (tmp_path / "state").exists()


def test_a_run_that_is_stopped_has_the_results_of_the_last_batch(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    """Its checkpoint is there by then: they were taken for computed."""
    log = tmp_path / "log"
    log.mkdir()
    appear(log, 0)
    settings = run_settings(
        analytics=["clustering:7", "pagerank:1", "core_number:2"], columns_every=100,
    )  # fmt: skip
    follow_through(log, tmp_path / "followed", settings, lambda: iter(()))
    run(str(log), str(tmp_path / "plain"), settings)
    found = results_below(tmp_path / "followed")
    for name in ("clustering", "pagerank", "core_number"):
        assert f"batch={BATCHES_A_FILE - 1:012d}/{name}.parquet" in found
    assert found == results_below(tmp_path / "plain")
    # So has one that is stopped before there is anything to apply.
    run(str(log), str(tmp_path / "later"), run_settings(analytics=[]))
    follow_through(log, tmp_path / "later", settings, lambda: iter(()))
    files = {name for name in found if name.endswith(".parquet")}
    assert files == {n for n in results_below(tmp_path / "later") if n.endswith(".parquet")}


def test_a_stop_wakes_all_who_wait_also_from_a_handler_of_signals() -> None:
    follow = Follow()
    before = signal.signal(signal.SIGUSR1, lambda *_: follow.stop())
    waiting = threading.Thread(target=follow.sleep, args=(600,))
    waiting.start()
    try:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        follow.sleep(600)
    finally:
        signal.signal(signal.SIGUSR1, before)
    waiting.join(60)
    assert follow.is_stopped
    assert not waiting.is_alive()
    follow.sleep(600)
