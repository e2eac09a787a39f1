"""The files of a run, as its loop writes them."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from actor_copies import computed_result
from graphtide import BatchReport, DynamicGraph
from graphtide.config.settings import load_settings
from graphtide.gpu_core.errors import StateError, UpdateLogError
from graphtide.io.log.file_errors import EmptyLogError
from graphtide.io.log.log_listing import listing_of
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import written_results
from graphtide.pipeline.graph_worker.batch_results import BatchResults
from graphtide.pipeline.graph_worker.batches import AppliedBatch
from graphtide.pipeline.graph_worker.pinned import Copy
from graphtide.pipeline.opening import open_files
from small_log import BATCH_ROWS, write_file


def copy_of(batch_id: int, graph: DynamicGraph) -> Copy:
    counts = {
        **dict.fromkeys(BatchReport._fields, 0),
        "seconds": {},
        "effects": None,
        "source": None,
    }
    report = BatchReport(**{**counts, "batch_id": batch_id})
    batches = [AppliedBatch(report, "", {})]
    return Copy(graph.checkpoint_arrays(), batches, graph.state_hash(), 0, 0, {"ring": 1})


def test_results_that_come_before_an_earlier_checkpoint_are_told_by_the_next_one(
    tmp_path: Path,
) -> None:
    """A checkpoint is copied while batches go on, and these may have results first."""
    log, state = tmp_path / "log", tmp_path / "state"
    write_file(log, 0)
    write_file(log, 1)
    graph = DynamicGraph(engine="host")
    arrays = graph.checkpoint_arrays()
    settings = load_settings({"analytics": ["pagerank"]})
    with open_files(str(log), str(state), settings, BATCH_ROWS) as files:
        for batch_id in range(2):
            found = computed_result(
                files.result_requests(["pagerank"], 1, is_last=True)["pagerank"], graph.pagerank()
            )
            files.write_results(batch_id, BatchResults({"pagerank": found}, None, 0.5))
        for batch_id in range(2):
            files.write_checkpoint(batch_id, copy_of(batch_id, graph), arrays)
        # A run that follows a log may see millions of files.
        assert {name for name, _ in files.log._read.files} == {"0000.parquet"}
        last = files.log.batches - 1
        files.write_checkpoint(last, copy_of(last, graph), arrays)
        assert {name for name, _ in files.log._read.files} == {"0001.parquet"}
    assert written_results(StateDirectory(state)) == {0: ["pagerank"], 1: ["pagerank"]}
    newest = newest_checkpoint(StateDirectory(state))
    assert newest is not None
    # Of all batches, not of those since the checkpoint before.
    assert newest.manifest["handover"] == {"ring": 3}


def test_text_that_grew_after_it_was_read_is_not_kept_as_applied(tmp_path: Path) -> None:
    """It was still being written; the next run plans it anew."""
    log, state = tmp_path / "log", StateDirectory(tmp_path / "state")
    log.mkdir()
    (log / "0.csv").write_text("src,dst\n1,2\n3,4")
    graph = DynamicGraph(engine="host")
    with open_files(str(log), str(state.path), load_settings({}), BATCH_ROWS) as files:
        with (log / "0.csv").open("a") as file:
            file.write("5\n")
        with pytest.raises(UpdateLogError, match=r"0\.csv has 17 bytes, but had 15 when it was p"):
            files.write_checkpoint(0, copy_of(0, graph), graph.checkpoint_arrays())
    assert state.checkpoint_ids() == []
    with open_files(str(log), str(state.path), load_settings({}), BATCH_ROWS) as files:
        files.write_checkpoint(0, copy_of(0, graph), graph.checkpoint_arrays())
    assert state.checkpoint_ids() == [0]


def test_text_that_grew_is_not_kept_by_a_batch_of_rows_of_another_file(tmp_path: Path) -> None:
    """Where rows are sorted, a batch has rows of several files."""
    log, state = tmp_path / "log", StateDirectory(tmp_path / "state")
    log.mkdir()
    (log / "0.csv").write_text("src,dst,ts\n1,2,10\n3,4,30\n")
    (log / "1.csv").write_text("src,dst,ts\n5,6,20\n")
    graph = DynamicGraph(engine="host")
    settings = load_settings({"order_by": "ts", "order_within": 20})
    with open_files(str(log), str(state.path), settings, BATCH_ROWS) as files:
        assert files.log.planned(0)[0].file == "0.csv"
        with (log / "1.csv").open("a") as file:
            file.write("7,8,40\n")
        with pytest.raises(UpdateLogError, match=r"1\.csv has 25 bytes, but had 18 when it was p"):
            files.write_checkpoint(0, copy_of(0, graph), graph.checkpoint_arrays())
    with open_files(str(log), str(state.path), settings, BATCH_ROWS) as files:
        assert files.log.rows_before(files.log.batches) == 4


def test_a_run_that_follows_leaves_text_that_is_being_written_for_later(tmp_path: Path) -> None:
    log, state = tmp_path / "log", tmp_path / "state"
    log.mkdir()

    def opened() -> list[str]:
        with open_files(str(log), str(state), load_settings({}), BATCH_ROWS, follows=True) as files:
            return sorted(files.log.names())

    def write(number: int, seconds_ago: float) -> None:
        (log / f"{number}.csv").write_text("src,dst\n1,2\n")
        then = time.time() - seconds_ago
        os.utime(log / f"{number}.csv", (then, then))

    write(0, 0)
    with pytest.raises(EmptyLogError, match=r"0\.csv was written to just now"):
        opened()
    assert not state.exists()
    for number, seconds_ago in enumerate([60, -60, 0, 60]):
        write(number, seconds_ago)
    assert opened() == ["0.csv", "1.csv"]
    # Planned, but not applied: it may have been taken too early.
    write(1, 0)
    with pytest.raises(EmptyLogError, match=r"1\.csv was written to just now"):
        opened()
    write(1, 60)
    write(2, 60)
    assert opened() == ["0.csv", "1.csv", "2.csv", "3.csv"]


def test_nothing_is_written_into_a_state_that_has_come_to_the_place_of_the_locked_one(
    tmp_path: Path,
) -> None:
    """As where a backup is put back while a run still follows the log."""
    log, state, backup = tmp_path / "log", tmp_path / "state", tmp_path / "backup"
    write_file(log, 0)
    graph = DynamicGraph(engine="host")
    settings = load_settings({"analytics": ["pagerank"]})
    with open_files(str(log), str(backup), settings, BATCH_ROWS):
        pass
    with open_files(str(log), str(state), settings, BATCH_ROWS) as files:
        state.rename(tmp_path / "elsewhere")
        backup.rename(state)
        before = contents(state)
        found = computed_result(
            files.result_requests(["pagerank"], 1, is_last=True)["pagerank"], graph.pagerank()
        )
        write_file(log, 1)
        added = listing_of(replace(files.log.update_log, planned=frozenset(files.log.names())))
        for write in (
            lambda: files.write_results(0, BatchResults({"pagerank": found}, None, 0.5)),
            lambda: files.write_checkpoint(0, copy_of(0, graph), graph.checkpoint_arrays()),
            lambda: files.log.extend(added),
        ):
            with pytest.raises(StateError, match="was moved, emptied or replaced"):
                write()
    assert contents(state) == before


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("addresses", "note"),
    [
        (("b", "c"), "the log now goes on with {0}/c"),
        (("d",), "the log has moved from {0}/b; its planned files are the same"),
        (("d", "c"), "the log has moved from {0}/b; its planned files are the same"),
        (("b",), None),
    ],
)
def test_an_address_that_is_added_is_no_log_that_has_moved(
    tmp_path: Path, addresses: tuple[str, ...], note: str | None
) -> None:
    for number, name in enumerate("bc"):
        write_file(tmp_path / name, number)
    shutil.copytree(tmp_path / "b", tmp_path / "d")
    notes = []
    for names in (("b",), addresses):
        log = tuple(str(tmp_path / name) for name in names)
        with open_files(log, str(tmp_path / "state"), load_settings({}), BATCH_ROWS) as files:
            notes = [each for each in files.notes if "the log" in each]
    assert notes == ([] if note is None else [note.format(tmp_path)])


def test_a_partition_that_is_not_taken_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "log" / "op=delete" / "weight=3"
    folder.mkdir(parents=True)
    write_file(folder, 0)
    with open_files(
        str(tmp_path / "log"), str(tmp_path / "state"), load_settings({}), BATCH_ROWS
    ) as files:
        notes = [each for each in files.notes if each.startswith("partition")]
    assert notes == ["partition op: files have a column of that name, which is taken instead"]
