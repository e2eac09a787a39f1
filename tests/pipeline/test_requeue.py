"""Rows and files that were left out, corrected by a user: they come back once, and last."""

import io
import shutil
import uuid
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from commands import fails, graphtide_here
from graphtide import StateError
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.quarantine import Quarantine
from graphtide.pipeline.replay import PastGraphs
from graphtide.pipeline.requeue import requeue
from graphtide.pipeline.verify import verify_state
from left_out_rows import BATCH_ROWS, KIND, mended, write_bad_file, write_edges
from made_state import apply_log
from small_log import files_below


def test_mended_rows_come_back_at_the_end_of_the_log(places: tuple[Path, Path]) -> None:
    log, state = places
    write_bad_file(log)
    (log / "00.parquet").write_bytes(b"no Parquet at all")
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    directory = StateDirectory(state)
    before = files_below(log)
    assert [bool(each.fault) for each in requeue(directory)] == [True] * 3
    assert files_below(log) == before

    def filled_in(rows: Any) -> Any:
        """One row is given up, the others are mended."""
        rows = rows[rows.row != 2]
        return rows.assign(src=rows.src.fillna(40), dst=rows.dst + 1, weight=3.0, op="add")

    mended(state, 0, filled_in)
    # An older pandas has no type for texts; of a column of none, it writes that there is no type.
    mended(state, 1, lambda rows: rows[:0].astype(object))
    write_edges(log, "00.parquet", 60)
    first, second, third = requeue(directory)
    assert (first.rows, second.rows, third.rows) == (2, 0, 8)
    assert not any(each.fault for each in (first, second, third))
    assert requeue(directory) == []
    write_edges(log, "1.parquet", 200)
    apply_log(log, state, 1, **KIND)
    graph = PastGraphs(directory).after_newest()
    edges = [(1, 2), (8, 9), (40, 3), (3, 5), (60, 61), (200, 201)]
    assert [graph.has_edge(*edge) for edge in edges] == [False, *[True] * 5]
    assert verify_state(directory).is_whole


@pytest.mark.parametrize(
    ("ids", "first", "second", "kind"),
    [
        ("string", "ann", "bob", pa.string()),
        ("uuid", str(uuid.UUID(int=1)), str(uuid.UUID(int=2**127)), pa.string()),
        ("uint64", 1, 2**64 - 1, pa.uint64()),
    ],
)
def test_rows_of_every_kind_of_ids_come_back(
    places: tuple[Path, Path], ids: str, first: str | int, second: str | int, kind: pa.DataType
) -> None:
    log, state = places
    log.mkdir()
    src = pa.array([first, None, None], kind)
    rows = {"op": ["insert", "upsert", "upsert"], "src": src, "dst": pa.array([second] * 3, kind)}
    write_log_file(str(log / "0.parquet"), pa.table(rows).slice(1))
    apply_log(log, state, 1, bad_rows="quarantine", ids=ids, batch_rows=BATCH_ROWS)
    # All of a column null, pandas writes it without a type.
    mended(state, 0, lambda found: found.assign(src=None))
    (found,) = requeue(StateDirectory(state))
    assert "src is null" in found.fault or "op 'upsert'" in found.fault
    mended(state, 0, lambda found: found.assign(op="insert", src=src[:1].to_pandas()[0]))
    (found,) = requeue(StateDirectory(state))
    assert found.rows == 2, found.fault
    apply_log(log, state, 1, ids=ids, batch_rows=BATCH_ROWS)
    assert PastGraphs(StateDirectory(state)).after_newest().has_edge(first, second)


def test_a_file_that_a_run_would_leave_out_again_is_not_taken_in(places: tuple[Path, Path]) -> None:
    """Its times are none of those that the state has."""
    log, state = places
    write_edges(log, "0.parquet", 1)
    times = pa.array([1, 2], pa.timestamp("us", "UTC"))
    write_log_file(str(log / "1.parquet"), pa.table({"src": [1, 2], "dst": [3, 4], "ts": times}))
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    before = files_below(log)
    (found,) = requeue(StateDirectory(state))
    assert "times are" in found.fault
    assert files_below(log) == before
    write_edges(log, "1.parquet", 60)
    (found,) = requeue(StateDirectory(state))
    assert found.rows == 8


@pytest.mark.parametrize("column", [pa.array([10], pa.timestamp("us")), pa.array([10])])
def test_rows_of_a_batch_that_a_run_would_leave_out_again_are_not_taken_in(
    places: tuple[Path, Path], column: pa.Array
) -> None:
    """Mended with times without a zone, or with numbers, where those of the state have a zone."""
    log, state = places
    zoned = pa.array([10], pa.timestamp("us", "UTC"))
    columns = {"op": ["upsert"], "src": [1], "dst": [2], "ts": zoned}
    log.mkdir()
    write_log_file(str(log / "0.parquet"), pa.table(columns))
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    before = files_below(log)
    times = column.to_pandas()
    mended(state, 0, lambda rows: rows.assign(op="insert", ts=times))
    (found,) = requeue(StateDirectory(state))
    assert "times are" in found.fault
    assert files_below(log) == before
    mended(state, 0, lambda rows: rows.assign(ts=zoned.to_pandas()))
    (found,) = requeue(StateDirectory(state))
    assert found.rows == 1, found.fault
    apply_log(log, state, 1, **KIND)
    assert PastGraphs(StateDirectory(state)).after_newest().has_edge(1, 2)


@pytest.mark.parametrize("column", ["src", "ts", "score"])
def test_numbers_that_pandas_has_rounded_are_not_taken_in(
    places: tuple[Path, Path], column: str
) -> None:
    """Beside a null it makes floats of them, and so another vertex, time or score."""
    log, state = places
    log.mkdir()
    large = 2**53 + 1
    rows = {"op": ["x", "x"], "src": [large, 3], "dst": [1, 2], "ts": [large, 3]}
    table = pa.table(rows | {"score": [large, 3]})
    write_log_file(str(log / "0.parquet"), table)
    kind = {"records": "semantic", "properties": {"score": "int64"}, "batch_rows": BATCH_ROWS}
    apply_log(log, state, 1, bad_rows="quarantine", **kind)

    def opened_with_pandas(found: Any) -> Any:
        rounded = found[column].astype("float64")
        return found.assign(op="insert", **{column: rounded})

    mended(state, 0, opened_with_pandas)
    (found,) = requeue(StateDirectory(state))
    assert found.path is None
    assert f"{column} is" in found.fault


def test_a_correction_that_is_none_is_told_and_may_be_made_again(places: tuple[Path, Path]) -> None:
    """Of texts, as an editor of tables writes them; of a file that is no longer Parquet."""
    log, state = places
    write_bad_file(log)
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    directory = StateDirectory(state)
    quarantine = Quarantine(directory)
    path = quarantine.waiting()[0]
    kept = path.read_bytes()

    def as_texts(src: list[str], rows: Any) -> Any:
        return rows.assign(src=src, dst="1", weight="2.5", op="add")

    for src, fault in (
        (["4", "5", "six"], f"{path}, row 2: src is 'six', which is no int64; correct it there"),
        (["4", "5", str(2**63)], f"row 2: src is '{2**63}', which is no int64"),
        (["4", "5", "6"], None),
    ):
        path.write_bytes(kept)
        mended(state, 0, partial(as_texts, src))
        found = requeue(directory)[0]
        assert (fault or "") in found.fault
        assert bool(found.fault) == bool(fault)
    path = quarantine.waiting()[1]
    path.write_bytes(b"src,dst\n1,2\n")
    [found] = requeue(directory)
    assert f"{path} cannot be read" in found.fault
    assert "write it as Parquet, or remove it to leave its rows out for good" in found.fault
    (quarantine.path / "files.json").write_text("{}")
    with pytest.raises(StateError, match=r"files\.json is damaged .*; restore it, or start over"):
        requeue(directory)


def test_what_is_gone_for_good_can_be_given_up(places: tuple[Path, Path]) -> None:
    """Else each call ends with an error for ever, though nobody can mend it."""
    log, state = places
    write_bad_file(log)
    (log / "00.parquet").write_bytes(b"no Parquet at all")
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    (log / "00.parquet").unlink()
    done = graphtide_here("requeue", state)
    assert done.returncode == 1
    assert "--forget 'batch 0'" in done.stderr
    fails(graphtide_here("requeue", state, "--forget", "0.parquet"), 1, "0.parquet", "00.parquet")
    options = ["--forget", "batch 0", "--forget", "batch 1", "--forget", "00.parquet"]
    done = graphtide_here("requeue", state, *options)
    assert done.returncode == 0, done.stderr
    assert "file 00.parquet: it stays left out" in done.stdout
    assert requeue(StateDirectory(state)) == []
    # A file of this name is none of the log, whenever it comes.
    write_edges(log, "00.parquet", 60)
    apply_log(log, state, 1, **KIND)
    assert 60 not in PastGraphs(StateDirectory(state)).after_newest()


def test_rows_beyond_the_newest_checkpoint_are_left_to_the_next_run(
    places: tuple[Path, Path],
) -> None:
    """As after a run that was killed: it applies them again, and finds the bad ones again."""
    log, state = places
    write_bad_file(log)
    apply_log(log, state, 1, bad_rows="quarantine", keep_checkpoints="all", **KIND)
    directory = StateDirectory(state)
    assert [each.what for each in requeue(directory)] == ["batch 0", "batch 1"]
    for batch_id in (1, 2):
        shutil.rmtree(directory.checkpoint(batch_id))
    assert [each.what for each in requeue(directory)] == ["batch 0"]


def test_a_requeue_tells_what_is_taken_in_and_how_to_go_on(tmp_path: Path) -> None:
    """As commands that can be copied, whatever folders are called."""
    log, state = tmp_path / "my log", tmp_path / "my state"
    write_bad_file(log)
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    status = graphtide_here("status", "my state", cwd=tmp_path).stdout
    assert "quarantine 2 batches and files to be corrected\n" in status
    done = graphtide_here("requeue", "my state", cwd=tmp_path)
    words = ["graphtide requeue 'my state'; or, ", "requeue 'my state' --forget 'batch 0'"]
    assert (done.returncode, *(each in done.stderr for each in words)) == (1, True, True)
    mended(state, 0, lambda rows: rows.assign(src=1, dst=2, weight=3.0, op="add"))
    mended(state, 1, lambda rows: rows[:0])
    done = graphtide_here("requeue", "my state", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, path, second, following = done.stdout.splitlines()
    assert first == "requeued   batch 0, 3 rows"
    assert Path(path.strip()).parent == log
    assert second == "done       batch 1: no row is left of it"
    assert following == f"next       graphtide run '{log}' --state 'my state'"
    done = graphtide_here("requeue", "my state", cwd=tmp_path)
    assert done.stdout == "nothing to do: no row or file is left out\n"


def test_a_requeue_that_was_killed_takes_nothing_in_twice(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the new file and the mark that it is there."""
    log, state = places
    write_bad_file(log)
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    mended(state, 0, lambda rows: rows.assign(src=1, dst=2, weight=1.0, ts=1, op="add"))
    mended(state, 1, lambda rows: rows[:0])
    directory = StateDirectory(state)
    with monkeypatch.context() as patch:
        patch.setattr(Quarantine, "end", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            requeue(directory)
    there = files_below(log)
    assert len(there) == 2
    write_edges(log, "1.parquet", 100)
    requeue(directory)
    assert len(files_below(log)) == 3
    assert Quarantine(directory).waiting() == {}


def test_rows_do_not_come_back_with_the_values_of_a_folder(places: tuple[Path, Path]) -> None:
    """The last file of the log is in folders that say what the rows left out do not."""
    log, state = places
    ends = {"src": [1, 2, 9], "dst": pa.array([2, 3, None], pa.int64())}
    for name in ("a", "score=2.5/weight=7"):
        (log / name).mkdir(parents=True)
    pq.write_table(pa.table({**ends, "op": ["insert", "bogus", "bogus"]}), log / "a" / "0.parquet")
    pq.write_table(pa.table({"src": [5], "dst": [6]}), log / "score=2.5" / "weight=7" / "0.parquet")
    kind = {"records": "weighted", "properties": {"score": "float64"}, "engine": "host"}
    apply_log(log, state, 10, bad_rows="quarantine", **kind)
    mended(state, 0, lambda rows: rows.assign(op="insert"))
    [taken] = requeue(StateDirectory(state))
    assert (taken.rows, taken.fault) == (2, "")
    assert "score=2.5" in str(taken.path)
    apply_log(log, state, 10, **kind)
    graph = PastGraphs(StateDirectory(state)).after_newest()
    edges = graph.edges()
    weights = zip(edges.src.tolist(), edges.properties["weight"].tolist(), strict=True)
    assert dict(weights) == {1: 1.0, 2: 1.0, 5: 7.0}
    np.testing.assert_array_equal(edges.properties["score"], [np.nan, np.nan, 2.5])
    assert graph.has_vertices([9]).tolist() == [True]


@pytest.mark.parametrize("address", ["op=delete", "op=delete/*.parquet"])
def test_rows_that_insert_do_not_come_back_as_deletes_of_the_last_address(
    places: tuple[Path, Path], address: str
) -> None:
    """The folder ``op=delete`` is around the address, and not in the names of its files."""
    log, state = places
    for folder in ("a", "op=delete"):
        (log / folder).mkdir(parents=True)
    pq.write_table(pa.table({"src": [1, 2, None], "dst": [2, 3, 4]}), log / "a" / "0.parquet")
    pq.write_table(pa.table({"src": [1], "dst": [2]}), log / "op=delete" / "0.parquet")
    addresses = (str(log / "a"), str(log / address))
    apply_log(addresses, state, 10, bad_rows="quarantine")
    mended(state, 0, lambda rows: rows.assign(src=2))
    [taken] = requeue(StateDirectory(state))
    if not taken.is_in_log:
        shutil.move(str(taken.path), log / "op=delete")
    apply_log(addresses, state, 10)
    edges = PastGraphs(StateDirectory(state)).after_newest().edges()
    assert list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)) == [(2, 3), (2, 4)]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_rows_with_a_property_called_row_come_back_with_it(
    places: tuple[Path, Path], form: str
) -> None:
    """Beside the column ``row`` of the quarantine no tool could read the file."""
    log, state = places
    log.mkdir()
    lines = "src,dst,row,reason\n1,2,0.5,1\n,4,1.5,2\n5,6,2.5,3\n"
    if form == "csv":
        (log / "0.csv").write_text(f"{lines}7,x,3.5,4\n")
    else:
        pq.write_table(csv.read_csv(io.BytesIO(lines.encode())), log / "0.parquet")
    kind = {"properties": {"row": "float64", "reason": "int64"}}
    apply_log(log, state, 10, bad_rows="quarantine", **kind)
    mended(state, 0, lambda rows: rows[rows["row (log)"] == 1].assign(src=3, dst=4))
    [taken] = requeue(StateDirectory(state))
    assert (taken.rows, taken.fault) == (1, "")
    apply_log(log, state, 10, **kind)
    edges = PastGraphs(StateDirectory(state)).after_newest().edges()
    assert edges.src.tolist() == [1, 3, 5]
    assert edges.properties["row"].tolist() == [0.5, 1.5, 2.5]
    assert edges.properties["reason"].tolist() == [1, 2, 3]


def test_rows_of_a_mapped_log_come_back_under_its_names(places: tuple[Path, Path]) -> None:
    log, state = places
    log.mkdir()
    ids = pa.array([1, None, 3], pa.int64())
    columns = {"from": ids, "to": [4, 5, 6], "amount": [1.0, 2.0, 3.0]}
    write_log_file(str(log / "part.2.parquet"), pa.table(columns))
    kind = {
        "columns": {"src": "from", "dst": "to", "weight": "amount"},
        "bad_rows": "quarantine", "batch_rows": 4,
    }  # fmt: skip
    apply_log(log, state, 1, **kind)
    mended(state, 0, lambda rows: rows.assign(src=2))
    (found,) = requeue(StateDirectory(state))
    assert Path(found.path or "").name.startswith("part.2_requeued-batch-0-")
    write_log_file(str(log / "part.10.parquet"), pa.table(columns).slice(0, 1))
    apply_log(log, state, 1, **kind)
    assert PastGraphs(StateDirectory(state)).after_newest().num_edges == 3


@pytest.mark.parametrize("later", ["export1.csv", "export-2.csv", "export (3).csv"])
def test_rows_of_a_file_without_a_number_come_before_the_next_one(
    places: tuple[Path, Path], later: str
) -> None:
    log, state = places
    log.mkdir()
    (log / "export.csv").write_text("src,dst\n1,4\n,5\n3,6\n")
    apply_log(log, state, 1, bad_rows="quarantine")
    mended(state, 0, lambda rows: rows.assign(src=2))
    (found,) = requeue(StateDirectory(state))
    assert (found.fault, found.is_in_log) == ("", True)
    # By the next run, and by the one after it.
    apply_log(log, state, 1, bad_rows="quarantine")
    (log / later).write_text("src,dst\n7,8\n")
    apply_log(log, state, 1, bad_rows="quarantine")
    assert PastGraphs(StateDirectory(state)).after_newest().num_edges == 4


def test_rows_of_an_ordered_log_can_be_given_up_alone(places: tuple[Path, Path]) -> None:
    """Else its state says for ever that rows are to be corrected, which nobody can take in."""
    log, state = places
    log.mkdir(exist_ok=True)
    for name, op in (("0.parquet", "upsert"), ("1.parquet", "insert"), ("2.parquet", "upsert")):
        rows = {"src": [1, 2], "dst": [2, 3], "op": ["insert", op]}
        times = [int(name[0]), int(name[0])]
        write_log_file(str(log / name), pa.table({**rows, "ts": times}))
    (log / "3.parquet").write_bytes(b"no Parquet at all")
    options = ["--order-by", "ts", "--bad-rows", "quarantine", "--analytics", "none"]
    done = graphtide_here("run", log, "--state", state, *options)
    assert "write corrected ones to a later file of the log, then" in " ".join(done.stdout.split())
    mended(state, 0, lambda rows: rows.assign(op="insert"))
    mended(state, 2, lambda rows: rows[:0])
    before = files_below(log)
    done = graphtide_here("requeue", state)
    assert done.returncode == 1
    assert " ".join(done.stdout.split()).count("order of ts") == 2, "corrected or not"
    assert "batch 2: no row is left of it" in done.stdout
    assert "--forget 'batch 0'" in done.stderr
    done = graphtide_here("requeue", state, "--forget", "batch 0", "--forget", "3.parquet")
    assert done.returncode == 0, done.stderr
    assert requeue(StateDirectory(state)) == []
    assert files_below(log) == before
