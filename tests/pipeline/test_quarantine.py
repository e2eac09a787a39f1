"""Rows and files that break the log's contract: left out, kept with the reason, the same always."""

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fails, graphtide_here
from graphtide import UpdateLogError
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.kind import row_meaning
from graphtide.gpu_core.report import BatchSource
from graphtide.io.log.bad_rows import RowsToRead
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.plan import PlannedBatch
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state import quarantine
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.quarantine import Quarantine
from graphtide.io.state.reports import read_reports
from graphtide.pipeline.ingest import run
from graphtide.pipeline.opening import open_files
from graphtide.pipeline.replay import PastGraphs
from graphtide.pipeline.requeue import requeue
from graphtide.pipeline.tasks import load_batch
from graphtide.pipeline.verify import verify_state
from left_out_rows import (
    BATCH_ROWS,
    KIND,
    ROWS,
    mended,
    quarantined,
    reports_of,
    write_bad_file,
    write_edges,
)
from made_state import apply_log
from small_log import files_below
from torture.power_loss import Journal


def test_bad_rows_are_left_out_and_kept_with_their_reasons(places: tuple[Path, Path]) -> None:
    log, state = places
    write_bad_file(log)
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    wanted = [(row, reason) for row, (*_, reason) in enumerate(ROWS) if reason]
    found = quarantined(state)
    assert [(file, row) for file, row, _ in found] == [("0.parquet", row) for row, _ in wanted]
    for (_, _, text), (_, reason) in zip(found, wanted, strict=True):
        assert text.startswith(reason)
    assert reports_of(state) == [(4, 3), (4, 4), (2, 0)]
    for report in read_reports(StateDirectory(state)):
        fates = ("dropped", "overridden", "missing", "inserted", "updated", "deleted")
        assert report.rows == report.quarantined + sum(getattr(report, each) for each in fates)
    kept = pq.read_table(Quarantine(StateDirectory(state)).waiting()[0], partitioning=None)
    assert kept["op"].to_pylist() == ["insert", "upsert", "insert"]
    past = PastGraphs(StateDirectory(state))
    assert past.after(0).num_edges == 1
    assert past.after_newest().has_edge(8, 9)
    assert verify_state(StateDirectory(state)).is_whole
    kind = ("--records", "semantic", "--batch-rows", BATCH_ROWS, "--engine", "host", "--to", 2)
    done = graphtide_here("replay", log, *kind, "--set", "bad_rows=quarantine")
    assert done.returncode == 0, done.stderr
    assert past.after_newest().state_hash() in done.stdout
    assert "7 quarantined (left out)" in " ".join(done.stdout.split())
    fails(graphtide_here("replay", log, *kind), 1, "row 2: op 'upsert' is unknown")


def test_rows_that_are_left_out_have_no_part_in_the_times_of_a_batch(tmp_path: Path) -> None:
    src, ts = pa.array([1, 2, None, 4]), pa.array([5, 6, 900, -(2**63)], pa.timestamp("us"))
    table = pa.table({"src": src, "dst": [2, 3, 4, 5], "ts": ts})
    write_log_file(str(tmp_path / "0.parquet"), table)
    batch = PlannedBatch(0, "0.parquet", 0, 4)
    log = UpdateLog(str(tmp_path), records="semantic")
    rows = RowsToRead(log, batch, None, quarantine=True)
    loaded = load_batch(rows, row_meaning(records="semantic"))
    assert loaded.left_out is not None
    assert loaded.left_out.rows == 2
    assert loaded.source == BatchSource("0.parquet", 0, 4, 5, 6, "timestamp[us]")


def test_a_dense_id_beyond_all_graphs_is_left_out(tmp_path: Path) -> None:
    """In a batch of the graph it would stop the run."""
    write_log_file(str(tmp_path / "0.parquet"), pa.table({"src": [1, 2**31, 3], "dst": [2, 3, 4]}))
    log = UpdateLog(str(tmp_path), ids="dense")
    rows = RowsToRead(log, PlannedBatch(0, "0.parquet", 0, 3), None, quarantine=True)
    loaded = load_batch(rows, row_meaning(ids="dense"))
    assert loaded.left_out is not None
    [reason] = loaded.left_out.table["reason"].to_pylist()
    assert reason.startswith("id 2147483648 cannot be a vertex index (0 … 2147483647)")


def test_a_run_halts_at_them_unless_told_otherwise_and_remembers_what_it_was_told(
    places: tuple[Path, Path],
) -> None:
    log, state = places
    write_edges(log, "0.parquet", 0)
    apply_log(log, state, 1, **KIND)
    write_bad_file(log, "1.parquet")
    with pytest.raises(UpdateLogError, match=r"1.parquet, row \d: "):
        apply_log(log, state, 1, **KIND)
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    write_bad_file(log, "2.parquet")
    apply_log(log, state, 1, **KIND)
    assert len(quarantined(state)) == 14
    write_bad_file(log, "3.parquet")
    with pytest.raises(UpdateLogError, match=r"3.parquet, row \d: "):
        apply_log(log, state, 1, bad_rows="halt", **KIND)
    assert verify_state(StateDirectory(state)).is_whole, "what was left out before still is"


def test_rows_that_cannot_be_read_are_left_out_with_their_batch_also_once_they_can(
    places: tuple[Path, Path],
) -> None:
    log, state = places
    write_edges(log, "0.parquet", 0, row_group_rows=4)
    path = log / "0.parquet"
    whole = path.read_bytes()
    chunk = pq.read_metadata(path).row_group(1).column(0)
    at = chunk.data_page_offset + chunk.total_compressed_size - 1
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    ((file, row, reason),) = quarantined(state)
    assert (file, row) == ("0.parquet", 4)
    assert "rows 4 to 7 cannot be read" in reason
    assert reports_of(state) == [(4, 0), (4, 4)]
    assert verify_state(StateDirectory(state)).is_whole
    path.write_bytes(whole)
    proof = verify_state(StateDirectory(state))
    assert proof.is_whole, proof


def test_a_file_that_is_no_log_is_left_out_as_a_whole_and_stays_so(
    places: tuple[Path, Path],
) -> None:
    log, state = places
    write_edges(log, "0.parquet", 0)
    (log / "1.parquet").write_bytes(b"no Parquet at all")
    pq.write_table(pa.table({"from": [1], "to": [2]}), log / "2.parquet")
    write_edges(log, "3.parquet", 100)
    with pytest.raises(UpdateLogError, match=r"1.parquet is not a Parquet file"):
        apply_log(log, state, 1, **KIND)
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    files = Quarantine(StateDirectory(state)).files()
    assert [each.name for each in files] == ["1.parquet", "2.parquet"]
    assert "there is no column src" in files[1].reason
    write_edges(log, "1.parquet", 50)
    apply_log(log, state, 1, **KIND)
    assert reports_of(state) == [(4, 0)] * 4
    assert verify_state(StateDirectory(state)).is_whole


def test_where_no_file_is_a_log_the_settings_are_wrong(places: tuple[Path, Path]) -> None:
    log, state = places
    log.mkdir()
    pq.write_table(pa.table({"from": [1], "to": [2]}), log / "0.parquet")
    with pytest.raises(UpdateLogError, match="there is no column src"):
        apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    assert not state.exists()


def test_rows_of_batches_beyond_the_newest_checkpoint_are_dropped(
    places: tuple[Path, Path],
) -> None:
    """A run that was killed between the files of a checkpoint, and a log that is mended then."""
    log, state = places
    write_edges(log, "0.parquet", 0)
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    whole = files_below(state)
    write_bad_file(log, "1.parquet")
    apply_log(log, state, 10, **KIND)
    assert sorted(Quarantine(StateDirectory(state)).waiting()) == [2, 3]
    for path in (state / "checkpoints").iterdir():
        if path.name > f"batch={1:012d}":
            (path / "manifest.json").unlink()
    with open_files(str(log), str(state), load_settings(KIND), BATCH_ROWS):
        pass
    assert quarantined(state) == []
    assert not any("quarantine" in name for name in whole)


def test_dropped_rows_do_not_come_back_with_a_power_cut(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that was mended meanwhile has good rows there, which would be taken in twice."""
    log, state = places
    write_bad_file(log)
    apply_log(log, state, 1, bad_rows="quarantine", **KIND)
    left_out = Quarantine(StateDirectory(state))
    (_, first), (_, second) = left_out.waiting().items()
    left_out.end(0)
    journal = Journal(state, state.with_name("kept"))
    for path in (left_out.path / "done" / first.name, second):
        journal.removed(path)
    monkeypatch.setattr(quarantine, "sync", journal.synced)
    left_out.drop_from(0)
    for seed in range(20):
        after = state.with_name("after")
        journal.lose_power(random.Random(seed), after)
        assert not [*after.rglob("batch=*0[01].parquet")]


def test_a_run_on_a_cluster_leaves_out_the_same(
    places: tuple[Path, Path], run_settings: Callable[..., RunSettings], tmp_path: Path
) -> None:
    log, state = places
    write_edges(log, "0.parquet", 0)
    write_bad_file(log, "1.parquet")
    settings = run_settings(**KIND, bad_rows="quarantine", engine="host", checkpoint_every=2)
    summary = run(str(log), str(state), settings)
    assert summary.rows == 18
    assert sum(report.quarantined for report in summary.reports) == 7
    assert any("left out: 7 rows against the log's contract" in note for note in summary.notes)
    apply_log(log, tmp_path / "twin", 1, bad_rows="quarantine", **KIND)
    assert quarantined(state) == quarantined(tmp_path / "twin")
    assert reports_of(state) == reports_of(tmp_path / "twin")
    assert verify_state(StateDirectory(state)).is_whole


#: Lines of a file, and what is wrong with the wrong ones among them.
LINES = {
    "csv": [
        ("1,2,0.5", None),
        ("3,x,0.5", "dst is 'x', which is no integer"),
        ("5", "has 1 of the 3 fields"),
        ("6,7,16777217", "amount is '16777217', which does not fit into float32"),
        ('8,"9,0.5', "has a quote that does not end"),
        ("10,11,0.25", None),
    ],
    "jsonl": [
        ('{"src":1,"dst":2,"amount":0.5}', None),
        ('{"src":3,"dst":"x","amount":0.5}', "dst is a string, not a number"),
        ('{"src":5', "cannot be read"),
        ('{"src":6,"dst":7,"amount":16777217}', "amount is 16777217, which does not fit into"),
        ("[8]", "cannot be read"),
        ('{"src":10,"dst":11,"amount":0.25}', None),
    ],
}


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_lines_that_are_no_rows_are_left_out_one_by_one_and_can_be_corrected(
    places: tuple[Path, Path], form: str
) -> None:
    """A block of 4 MiB was left out for one of them, and could not be taken in again."""
    log, state = places
    log.mkdir()
    good, last = LINES[form][0][0], LINES[form][-1][0]
    # Behind the lines by which types are told.
    lines = [*(["src,dst,amount"] if form == "csv" else []), *[good] * 1000]
    lines += [line for line, _ in LINES[form]] + [last] * 4
    (log / f"a.{form}").write_text("\n".join(lines))
    kind = {"properties": {"amount": "float32"}, "batch_rows": 500}
    with pytest.raises(UpdateLogError, match=f"a.{form}"):
        apply_log(log, state, 1, **kind)
    apply_log(log, state, 1, bad_rows="quarantine", **kind)
    wanted = [(1000 + at, why) for at, (_, why) in enumerate(LINES[form]) if why]
    found = quarantined(state)
    assert [(file, row) for file, row, _ in found] == [(f"a.{form}", row) for row, _ in wanted]
    assert all(why in text for (_, _, text), (_, why) in zip(found, wanted, strict=True)), found
    assert reports_of(state) == [(500, 0), (500, 0), (10, 4)]
    directory = StateDirectory(state)
    past = PastGraphs(directory).after_newest()
    assert past.has_edge(1, 2)
    assert past.has_edge(10, 11)
    assert past.num_edges == 2
    assert verify_state(directory).is_whole
    (kept,) = Quarantine(directory).waiting().values()
    assert pq.read_table(kept, partitioning=None)["text of the line"].to_pylist() == [
        line for line, why in LINES[form] if why
    ]
    (refused,) = requeue(directory)
    assert "dst is 'x'" in refused.fault
    mended(state, 2, lambda rows: rows.assign(dst=["4", None, "7", None]))
    (refused,) = requeue(directory)
    assert "amount is '16777217'" in refused.fault
    mended(state, 2, lambda rows: rows.assign(amount=["1.5", None, "16777216", None]))
    (refused,) = requeue(directory)
    assert "src is null" in refused.fault, "a line that cannot be taken apart has no columns"
    mended(state, 2, lambda rows: rows.assign(src=[3, 5, 6, 8], dst=[4, 6, 7, 9]))
    (taken,) = requeue(directory)
    assert taken.rows == 4, taken.fault
    apply_log(log, state, 1, **kind)
    assert PastGraphs(directory).after_newest().num_edges == 6
    assert verify_state(directory).is_whole


def test_wrong_lines_have_the_columns_of_their_folders(places: tuple[Path, Path]) -> None:
    """A null would be refused where a type has none, and taken for an amount that is not known."""
    log, state = places
    at = "2026-01-03T10:00:00Z"
    for op, lines in (("insert", ["1,2", "3,x", "5,6", "7,8"]), ("delete", ["1,2", "5", "9,9"])):
        folder = log / f"day={len(op)}{op[0]}" / f"op={op}" / "amount=9.5" / f"ts={at}"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("\n".join(["src,dst", *lines]))
    kind = {"properties": {"amount": "float64"}, "records": "semantic"}
    apply_log(log, state, 1, bad_rows="quarantine", **kind)
    directory = StateDirectory(state)
    for batch_id, (op, dst) in enumerate([("delete", 6), ("insert", "4")]):
        kept = pq.read_table(Quarantine(directory).waiting()[batch_id], partitioning=None)
        assert (kept["op"].to_pylist(), kept["amount"].to_pylist()) == ([op], [9.5])
        assert [str(each) for each in kept["ts"].to_pylist()] == ["2026-01-03 10:00:00+00:00"]
        mended(state, batch_id, lambda rows, dst=dst: rows.assign(src=rows.src.fillna(5), dst=dst))
    assert [each.fault for each in requeue(directory)] == ["", ""]
    apply_log(log, state, 1, **kind)
    graph = PastGraphs(directory).after_newest()
    assert [graph.has_edge(*edge) for edge in [(1, 2), (3, 4), (5, 6), (7, 8)]] == [
        True,
        True,
        False,
        True,
    ]
    assert graph.edge_values(3, 4) == {"amount": 9.5}


def test_a_batch_has_wrong_lines_and_bad_rows_in_their_order(places: tuple[Path, Path]) -> None:
    log, state = places
    log.mkdir()
    lines = ["op,src,dst", *["insert,1,2"] * 1000]
    lines += ["upsert,3,4", "insert,x,4", "insert,,5", "insert,6,7", "upsert,1,y"]
    (log / "a.csv").write_text("\n".join(lines))
    apply_log(log, state, 1, bad_rows="quarantine", batch_rows=2000)
    assert [row for _, row, _ in quarantined(state)] == [1000, 1001, 1002, 1004]
    (kept,) = Quarantine(StateDirectory(state)).waiting().values()
    table = pq.read_table(kept, partitioning=None)
    assert table["src"].to_pylist() == ["3", "x", None, "1"]
    assert table["dst"].to_pylist() == ["4", "4", "5", "y"]
    assert PastGraphs(StateDirectory(state)).after_newest().num_edges == 2


def test_times_may_come_with_a_later_run(places: tuple[Path, Path]) -> None:
    log, state = places
    log.mkdir()
    (log / "0.csv").write_text("src,dst,ts\n")
    (log / "1.csv").write_text("src,dst,ts\n1,,\n")
    kind = {"records": "semantic", "time_window": "7d", "batch_rows": 10}
    apply_log(log, state, 1, **kind)
    (log / "2.csv").write_text("src,dst,ts\n1,2,2024-01-01T00:00:00Z\n")
    apply_log(log, state, 1, **kind)
    assert PastGraphs(StateDirectory(state)).after_newest().time_unit == "timestamp[us, tz=UTC]"
    (log / "3.csv").write_text("src,dst,ts\n")
    apply_log(log, state, 1, **kind)
    (log / "4.csv").write_text("src,dst,ts\n1,2,5\n")
    with pytest.raises(UpdateLogError, match="times are"):
        apply_log(log, state, 1, **kind)
    assert verify_state(StateDirectory(state)).is_whole
