"""What batches were read from is kept with the state, and compared with what is read again."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.config.settings import RunSettings
from graphtide.flows.commands.status import Status
from graphtide.gpu_core.errors import StateError, UpdateLogError
from graphtide.io.hashed_json import write_json
from graphtide.io.log.log_listing import LogFile, listing_of
from graphtide.io.log.plan import BatchPlan
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.parquet.page_checks import ChunkSum
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.read_record import ReadRecord
from graphtide.io.state.state_settings import StateSettings
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from small_log import BATCH_ROWS, BATCHES, FILES, ROWS, expected_hash, rows_of

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")

#: Batches of one file.
EACH = ROWS // BATCH_ROWS


@pytest.fixture
def bare_log(tmp_path: Path) -> Path:
    """The small log, without checksums; each file is one row group."""
    log = tmp_path / "log"
    log.mkdir()
    for number in range(FILES):
        pq.write_table(
            pa.table(rows_of(number)),
            log / f"{number:04d}.parquet",
            use_dictionary=False,
            compression="none",
        )
    return log


def change_last_dst(file: Path) -> None:
    """Change the last value of a file that is neither packed nor compressed."""
    chunk = pq.read_metadata(file).row_group(0).column(2)
    content = bytearray(file.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size - 8] ^= 1
    file.write_bytes(content)


def drop_checkpoints(state: StateDirectory, first: int) -> None:
    for batch_id in state.checkpoint_ids():
        if batch_id >= first:
            shutil.rmtree(state.checkpoint(batch_id))


def test_a_replay_that_reads_other_bytes_is_refused(
    bare_log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    state = StateDirectory(tmp_path / "state")
    summary = run(str(bare_log), str(state.path), run_settings(checkpoint_every=EACH))
    assert summary.state_hash == expected_hash()
    drop_checkpoints(state, EACH)
    before = [file.fingerprint for file in listing_of(UpdateLog(str(bare_log))).files]
    change_last_dst(bare_log / "0002.parquet")
    assert [file.fingerprint for file in listing_of(UpdateLog(str(bare_log))).files] == before
    with pytest.raises(UpdateLogError, match=r"0002\.parquet has changed .* put the file back"):
        run(str(bare_log), str(state.path), run_settings(checkpoint_every=EACH))
    # What comes before that file is applied again.
    assert state.checkpoint_ids()[-1] == 2 * EACH - 1
    change_last_dst(bare_log / "0002.parquet")
    summary = run(str(bare_log), str(state.path), run_settings())
    assert summary.state_hash == expected_hash()


def test_a_file_that_changes_when_a_part_of_it_is_applied_is_refused(
    bare_log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    state = StateDirectory(tmp_path / "state")
    # In the middle of the second file.
    boundary = EACH + EACH // 2

    def stop(progress: Progress) -> None:
        # The loop that calls this has the checkpoint written, so it is not waited for here.
        if progress.batches_done > boundary and state.checkpoint_ids():
            raise KeyboardInterrupt

    settings = run_settings(checkpoint_every=boundary)
    with pytest.raises(KeyboardInterrupt):
        run(str(bare_log), str(state.path), settings, stop)
    # It may have got to the next one before it was stopped.
    drop_checkpoints(state, boundary)
    assert state.checkpoint_ids() == [boundary - 1]
    change_last_dst(bare_log / "0001.parquet")
    with pytest.raises(UpdateLogError, match=r"0001\.parquet has changed"):
        run(str(bare_log), str(state.path), settings)
    assert state.checkpoint_ids() == [boundary - 1]
    change_last_dst(bare_log / "0001.parquet")
    assert run(str(bare_log), str(state.path), run_settings()).state_hash == expected_hash()


def test_the_status_names_files_without_checksums(
    bare_log: Path, log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    state = StateDirectory(tmp_path / "state")
    # Fixtures share a folder: these files are written over the others.
    assert all(file.has_checksums for file in listing_of(UpdateLog(str(log))).files)
    run(str(log), str(state.path), run_settings())
    assert Status(state).values()["files_without_page_checksums"] == []
    assert not any("checksums" in text for text in Status(state).lines())
    pq.write_table(pa.table(rows_of(9)), log / "0009.parquet")
    run(str(log), str(state.path), run_settings())
    assert Status(state).values()["files_without_page_checksums"] == ["0009.parquet"]
    assert any("1 file without checksums" in text for text in Status(state).lines())
    (damaged,) = state.path.glob(f"read/*-{BATCHES + EACH - 1:012d}.json")
    damaged.write_text("{}")
    assert any(f"{damaged} is damaged" in note for note in Status(state).values()["damage"])


def made(path: Path) -> StateDirectory:
    state = StateDirectory(path)
    with state.lock():
        state.create_or_open(StateSettings({}, "/log", {}, None))
    return state


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    state = made(tmp_path / "s")
    first, second = ReadRecord(), ReadRecord()
    first.add("a", "f", {0: ChunkSum(5, True), 1: ChunkSum(6, True)})
    first.add("a", "g", {0: ChunkSum(7, True)})
    first.write(state, 0, 3)
    second.add("a", "f", {1: ChunkSum(6, True), 2: ChunkSum(8, False)})
    second.write(state, 4, 4)
    record = ReadRecord.of_state(state)
    assert record.known("a", "f", [0, 2, 9]) == {0: 5, 2: 8}
    assert record.known("a", "g", [0, 1]) == {0: 7}
    assert record.known("b", "f", [0]) == {}
    assert record.unchecked_files == ["a"]
    assert ReadRecord.of_state(state, 4).known("a", "f", [0, 1]) == {1: 6}
    third = ReadRecord()
    third.add("a", "f", {3: ChunkSum(9, True)})
    third.write(state, 5, 6)
    assert ReadRecord.of_state(state).unchecked_files == ["a"], "whatever is read of it later"
    assert ReadRecord.of_state(state, 7).files == {}


def test_a_record_takes_what_another_has_of_one_file_and_forgets_it_alone() -> None:
    first, second = ReadRecord(), ReadRecord()
    for name in ("a", "b"):
        first.add(name, "f", {0: ChunkSum(5, True)})
        second.add(name, "f", {1: ChunkSum(6, False)})
    first.update(second, of="a")
    assert first.known("a", "f", [0, 1]) == {0: 5, 1: 6}
    assert first.known("b", "f", [0, 1]) == {0: 5}
    assert first.unchecked_files == ["a"]
    first.drop("a")
    assert first.known("a", "f", [0, 1]) == {}
    assert first.known("b", "f", [0, 1]) == {0: 5}


@pytest.mark.parametrize("values", ["[]", "{}", '{"files": [{"file": "a"}]}', '{"files": [3]}'])
def test_a_damaged_record(tmp_path: Path, values: str) -> None:
    state = made(tmp_path / "s")
    ReadRecord().write(state, 0, 3)
    (path,) = state.path.glob("read/*.json")
    path.write_text(values)
    with pytest.raises(StateError, match=r"000000000003\.json is damaged \(.*; restore it"):
        ReadRecord.of_state(state)
    if values != "[]":
        # Of another version, which wrote its hash as well.
        write_json(path, json.loads(values))
        with pytest.raises(StateError, match=r"000000000003\.json is damaged \(\w+Error.*remove"):
            ReadRecord.of_state(state)


def test_rows_of_the_plan_are_those_of_the_footer() -> None:
    def file(rows: int) -> LogFile:
        return LogFile("a.parquet", 1, "f", rows, (rows,))

    plan = BatchPlan().extended([file(10)], 4)
    values: list[dict[str, Any]] = plan.to_json()
    assert plan.extended([file(10)], 4) == plan
    values[0]["rows"] = 9
    with pytest.raises(StateError, match=r"a\.parquet has 10 rows, but the plan .* says 9"):
        BatchPlan.from_json(values, "the plan").extended([file(10)], 4)
