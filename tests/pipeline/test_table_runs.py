"""Runs of a table of versions: resumed as it grows, from a plan that outlives its commits."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import graphtide_here, run_here
from documented import ROOT, shell_lines
from graphtide.config.settings import RunSettings
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.quarantine import Quarantine
from graphtide.pipeline.ingest import run
from graphtide.pipeline.log_watch import LogWatch
from graphtide.pipeline.replay import PastGraphs
from graphtide.pipeline.requeue import requeue
from graphtide.pipeline.run_summary import RunSummary
from graphtide.pipeline.verify import verify_state

deltalake = pytest.importorskip("deltalake", reason="deltalake writes the tables")

FEED = {"delta.enableChangeDataFeed": "true"}


def append(table: Path, first: int, count: int = 7) -> None:
    """Edges of a star; the second vertex of each is its number."""
    ends = range(first, first + count)
    rows = {"src": pa.array([0] * count, pa.int64()), "dst": pa.array(ends, pa.int64())}
    deltalake.write_deltalake(table, pa.table(rows), mode="append", configuration=FEED)


def edges_of(state: Path) -> set[tuple[int, int]]:
    columns = PastGraphs(StateDirectory(str(state))).after_newest().edges()
    return set(zip(columns["src"].tolist(), columns["dst"].tolist(), strict=True))


def rows_of(table: Path) -> set[tuple[int, int]]:
    rows = deltalake.DeltaTable(table).to_pyarrow_table().to_pylist()
    return {(row["src"], row["dst"]) for row in rows}


def test_a_run_goes_on_with_new_versions_after_older_commits_were_cleaned_up(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    table, state = tmp_path / "table", tmp_path / "state"
    settings = run_settings(batch_rows=3, analytics=[])

    def go_on(state: Path = state) -> RunSummary:
        return run(str(table), str(state), settings)

    append(table, 0)
    append(table, 20)
    deltalake.DeltaTable(table).delete("dst < 3")
    first = go_on()
    assert first.rows == 17
    assert edges_of(state) == rows_of(table)
    assert go_on().rows == 0, "there is nothing new"

    deltalake.DeltaTable(table).create_checkpoint()
    deltalake.DeltaTable(table).optimize.compact()
    deltalake.DeltaTable(table).update({"dst": "dst + 1"})
    append(table, 50)
    fresh = go_on(tmp_path / "fresh")
    for version in (0, 1):
        (table / f"_delta_log/{version:020}.json").unlink()
    # The plan ends with the version that is the first one of the commits, and has those before.
    second = go_on()
    assert edges_of(state) == rows_of(table)
    assert second.state_hash == fresh.state_hash
    assert [each.source for each in second.reports] == [
        each.source for each in fresh.reports[len(first.reports) :]
    ]
    assert verify_state(StateDirectory(str(state))).is_whole


def test_new_versions_are_noticed_by_a_run_that_follows(tmp_path: Path) -> None:
    append(tmp_path, 0)
    log = UpdateLog(str(tmp_path))
    known = {path.name for path in log.paths()}

    def never(_told: object) -> None:
        raise AssertionError

    watch = LogWatch(log, known, never, never)
    assert watch.look() is None
    append(tmp_path, 10, count=2)
    deltalake.DeltaTable(tmp_path).optimize.compact()
    deltalake.DeltaTable(tmp_path).delete("dst = 11")
    found = watch.look()
    assert found is not None
    assert [(file.name.split("/")[1:3], file.rows) for file in found.files] == [
        (["1", "insert.0"], 2),
        (["3", "feed-delete.0"], 1),
        (["3", "feed-insert.0"], 0),
    ]
    assert watch.look() is None


def test_mended_rows_are_not_put_into_the_folder_of_a_table(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    table, state = tmp_path / "table", tmp_path / "state"
    rows = pa.table({"src": pa.array([1, None], pa.int64()), "dst": pa.array([2, 3], pa.int64())})
    deltalake.write_deltalake(table, rows)
    run(str(table), str(state), run_settings(bad_rows="quarantine", analytics=[]))
    directory = StateDirectory(str(state))
    (path,) = Quarantine(directory).waiting().values()
    left_out = pq.read_table(path)
    assert left_out["file"][0].as_py().startswith("_table/0/insert.0/part-")
    there = set(table.rglob("*"))
    mended = left_out.set_column(left_out.schema.get_field_index("src"), "src", pa.array([9]))
    pq.write_table(mended, path)
    (done,) = requeue(directory)
    assert not done.is_in_log
    assert set(table.rglob("*")) == there
    assert pq.read_table(str(done.path)).select(["src", "dst"]).to_pylist() == [
        {"src": 9, "dst": 3}
    ]


def test_the_commands_of_the_page_run_as_they_are_printed(scheduler: str, tmp_path: Path) -> None:
    """Each state of its own table, of few versions; none waits for more: `test_schedule.py`."""
    for first in (0, 20, 40):
        append(tmp_path / "TABLE", first)
    rows = []
    for name, *rest in shell_lines(ROOT / "docs" / "tables.md"):
        words = [word.replace("@v120", "@v1") for word in rest if word != "--follow"]
        if name == "inspect":
            done = graphtide_here(name, *words, cwd=tmp_path)
            assert "version" in done.stdout
        else:
            state = "STATE-of-1" if "TABLE@v1" in words else "STATE"
            words = [word.replace("STATE", state) for word in words]
            done = run_here(scheduler, *words, "--json", cwd=tmp_path)
            rows.append(json.loads(done.stdout)["rows_applied"])
        assert done.returncode == 0, done.stderr
    assert rows == [21, 21, 0]
