"""What is shown of a log: its files in order, their columns, rows, operations and times."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fails, graphtide_here, write_log
from graphtide import DynamicGraph
from graphtide.io.log.columns.column_types import op_bytes
from graphtide.io.log.log_inspection import inspect_log
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.operations import Operations
from graphtide.io.log.update_log import UpdateLog

OPS = {
    "numbers": pa.array([1, -1, 1], pa.int8()),
    "bytes": op_bytes(np.array([1, -1, 1], np.int8)),
    "text": pa.array(["insert", "delete", "insert"]),
    "dictionary": pa.array(["insert", "delete", "insert"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", OPS)
def test_operations_are_counted_however_they_are_written(tmp_path: Path, kind: str) -> None:
    table = pa.table({"op": OPS[kind], "src": [1, 2, 3], "dst": [2, 3, 4]})
    write_log_file(str(tmp_path / "a.parquet"), table, row_group_rows=2)
    (facts,) = inspect_log(UpdateLog(str(tmp_path)))
    assert facts.operations == {"insert": 2, "delete": 1}
    assert facts.rows == 3
    assert facts.columns[0] == ("op", str(OPS[kind].type))
    assert (facts.first_time, facts.last_time) == (None, None)


@pytest.mark.parametrize(
    ("ops", "shown"),
    [
        (pa.array(["null", None, None]), {"delete": 1, "null": 2}),
        (pa.array([5, 1, None], pa.int8()), {"5": 1, "insert": 1, "null": 1}),
    ],
)
def test_operations_that_a_run_refuses_are_not_counted_as_words_of_the_log(
    tmp_path: Path, ops: pa.Array, shown: dict[str, int]
) -> None:
    pq.write_table(pa.table({"op": ops, "src": [1] * 3, "dst": [2] * 3}), tmp_path / "a.parquet")
    words = Operations(insert=("5",), delete=("null",))
    (facts,) = inspect_log(UpdateLog(str(tmp_path), operations=words))
    assert facts.operations == shown


def test_times_are_those_of_all_row_groups(tmp_path: Path) -> None:
    when = pa.array([30_000, None, 10_000, 20_000], pa.timestamp("ms", "UTC"))
    table = pa.table({"src": [1] * 4, "dst": [2] * 4, "when": when})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    pq.write_table(table.slice(1, 1), tmp_path / "b.parquet")
    facts, without = inspect_log(UpdateLog(str(tmp_path), {"ts": "when"}))
    assert facts.operations == {"insert": 4}
    assert (facts.first_time, facts.last_time) == (
        "1970-01-01 00:00:10.000Z",
        "1970-01-01 00:00:30.000Z",
    )
    assert without.first_time is None


@pytest.mark.parametrize(
    ("times", "ends"),
    [
        (pa.array([30, None, -10]), ("-10", "30")),
        (pa.array([2.5, None, 0.5]), ("0.5", "2.5")),
        (pa.array(["b", None, "a"]), ("a", "b")),
        (pa.array([1, None, 0], pa.date32()), ("1970-01-01", "1970-01-02")),
        (pa.array([True, None, False]), (None, None)),
    ],
)
def test_times_of_any_type_with_an_order_are_shown(
    tmp_path: Path, times: pa.Array, ends: tuple[str | None, str | None]
) -> None:
    """Those that a run refuses, too."""
    pq.write_table(pa.table({"src": [1] * 3, "dst": [2] * 3, "ts": times}), tmp_path / "a.parquet")
    (facts,) = inspect_log(UpdateLog(str(tmp_path)))
    assert (facts.first_time, facts.last_time) == ends


def test_times_that_no_line_has_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,dst,ts\n1,2,\n2,3,\n")
    (facts,) = inspect_log(UpdateLog(str(tmp_path)))
    assert (facts.rows, facts.first_time) == (2, None)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_operations_and_times_may_all_stand_in_the_path(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "op=delete" / "ts=2026-01-31"
    folder.mkdir(parents=True)
    if name == "a.parquet":
        pq.write_table(pa.table({"src": [1, 2], "dst": [2, 3]}), folder / name)
    else:
        lines = ("src,dst\n1,2\n2,3\n", '{"src":1,"dst":2}\n{"src":2,"dst":3}\n')
        (folder / name).write_text(lines[name != "a.csv"])
    (facts,) = inspect_log(UpdateLog(str(tmp_path)))
    assert facts.operations == {"delete": 2}
    assert (facts.first_time or "")[:10] == "2026-01-31"


def test_a_log_is_shown_in_the_order_in_which_it_is_read(tmp_path: Path) -> None:
    names = [f"part.{number}.parquet" for number in range(12)]
    write_log(tmp_path / "log", {name: {"src": [1], "dst": [2]} for name in names})
    write_log(tmp_path / "log", {names[3]: {"op": [-1, 7], "src": [1, 1], "dst": [2, 3]}})
    done = graphtide_here("inspect", "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = [line.split() for line in done.stdout.splitlines()[-12:]]
    assert [cells[-1] for cells in table] == names
    assert table[3][:3] == ["2", "0", "1"]
    flat = " ".join(done.stdout.split())
    assert "files 12, in the order" in flat
    assert "rows 13: 11 insert, 1 delete, 1 7" in flat
    assert "src int64, dst int64 (in part.0.parquet and 10 others)" in flat
    assert "op int64, src int64, dst int64 (in part.3.parquet)" in flat
    done = graphtide_here("inspect", "log", "--json", cwd=tmp_path)
    assert [file["name"] for file in json.loads(done.stdout)["files"]] == names


def test_a_log_that_a_run_would_refuse_is_shown_and_then_refused(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"payer": [1, 2], "dst": [2, 3]}})
    done = graphtide_here("inspect", "log", cwd=tmp_path)
    fails(done, 1, "no column src")
    assert "payer int64, dst int64" in done.stdout
    done = graphtide_here("inspect", "log", "--set", "columns.src=payer", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    fails(graphtide_here("inspect", "none", cwd=tmp_path), 1, "there is no log none")


def test_words_of_op_that_a_run_refuses_are_noted_with_the_settings_that_name_them(
    tmp_path: Path,
) -> None:
    ops = {"op": ["c", "u", "insert", "c", None], "src": [1] * 5, "dst": [2] * 5}
    write_log(tmp_path / "log", {"a.parquet": ops})
    note = "note op is neither insert nor delete in"
    for flags, told in (
        (
            [],
            f"{note} 4 rows (c, u, null): a run ends there, or with --bad-rows quarantine leaves ",
        ),
        (
            ["--set", "op_insert=[c,u]"],
            f"{note} 1 row (null): a run ends there, or with --bad-rows quarantine leaves it ",
        ),
    ):
        done = graphtide_here("inspect", "log", *flags, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert told in " ".join(done.stdout.split())


def test_a_log_whose_rows_have_no_such_order_is_shown_and_then_refused(tmp_path: Path) -> None:
    """As a run of it would be."""
    first, second = ({"src": [1, 2], "dst": [2, 3], "ts": times} for times in ([5, 7], [6, 8]))
    write_log(tmp_path / "log", {"a.parquet": first, "b.parquet": second})
    for options, words in (
        (["--order-by", "when"], ["a.parquet: there is no column when, which order_by names"]),
        (["--order-by", "ts"], ["b.parquet, row 0", "ts"]),
        (["--order-by", "ts", "--set", "order_within=5m"], ["order_within: '5m' is not allowed"]),
    ):
        done = graphtide_here("inspect", "log", *options, cwd=tmp_path)
        fails(done, 2 if "order_within" in words[0] else 1, *words)
        assert f"order      by {options[1]}" in done.stdout
    enough = ["--order-by", "ts", "--set", "order_within=1"]
    done = graphtide_here("inspect", "log", *enough, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "order      by ts, within 1\n" in done.stdout


def test_a_column_that_would_be_read_in_small_letters_is_told(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"Op": [-1], "src": [1], "dst": [2]}})
    fails(graphtide_here("inspect", "log", cwd=tmp_path), 1, "--set columns.op=Op; if not, rename")
    done = graphtide_here("inspect", "log", "--set", "columns.op=Op", cwd=tmp_path)
    assert "rows 1: 1 delete" in " ".join(done.stdout.split())


def test_a_partition_that_files_have_a_column_of_is_told(tmp_path: Path) -> None:
    for name, columns in (("a", {"op": [1]}), ("b", {})):
        write_log(
            tmp_path / "log" / "op=delete", {f"{name}.parquet": {**columns, "src": [1], "dst": [2]}}
        )
    done = graphtide_here("inspect", "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    flat = " ".join(done.stdout.split())
    assert "partition op: 1 value, delete" in flat
    assert "note partition op: files have a column of that name, which is taken instead" in flat
    assert "rows 2: 1 insert, 1 delete" in flat
    done = graphtide_here("inspect", "log", "--json", cwd=tmp_path)
    hidden = [file["hidden_partitions"] for file in json.loads(done.stdout)["files"]]
    assert hidden == [["op"], []]


def test_a_replay_refuses_what_cannot_be_meant(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"src": [1], "dst": [2]}})
    files = ("--edges", "x.csv", "--vertices", "./x.csv")
    done = graphtide_here("replay", "log", "--to", 0, *files, cwd=tmp_path)
    fails(done, 2, "edges and vertices are both to be written to x.csv")
    assert not (tmp_path / "x.csv").exists()
    empty = pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())})
    pq.write_table(empty, tmp_path / "log" / "a.parquet")
    fails(graphtide_here("replay", "log", "--to", 0, cwd=tmp_path), 2, "log has no rows")


def test_a_replay_says_that_weights_are_rounded(tmp_path: Path) -> None:
    rows = {"src": [1, 2], "dst": [2, 3], "weight": [0.5, 2.0**24 + 1]}
    write_log(tmp_path / "log", {"a.parquet": rows})
    replay = ("replay", "log", "--to", 0, "--records", "weighted")
    assert "1 of 2 rows are rounded to float32" in graphtide_here(*replay, cwd=tmp_path).stdout
    exact = graphtide_here(*replay, "--weights", "float64", cwd=tmp_path)
    assert "rounded" not in exact.stdout


def test_a_log_is_inspected_with_the_flags_of_its_run(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"src": ["ann", "bob"], "dst": ["bob", "eve"]}})
    fails(graphtide_here("inspect", "log", cwd=tmp_path), 1, "--ids string takes names")
    done = graphtide_here("inspect", "log", "--ids", "string", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = graphtide_here(
        "inspect", "log", "--ids", "string", "--records", "semantic", cwd=tmp_path
    )
    fails(done, 1, "no column ts, which semantic records need")


def test_times_of_a_type_without_an_order_are_refused_and_not_unexpected(tmp_path: Path) -> None:
    """Arrow has no smallest one of these."""
    for kind in (pa.duration("s"), pa.list_(pa.int64())):
        times = pa.array([None, None], kind)
        write_log(tmp_path / "log", {"a.parquet": {"src": [1, 2], "dst": [2, 3], "ts": times}})
        assert graphtide_here("inspect", "log", cwd=tmp_path).returncode == 0
        done = graphtide_here("inspect", "log", "--records", "semantic", cwd=tmp_path)
        fails(done, 1, "column ts is of type")


def test_decimal_commas_are_named_before_a_run_meets_them(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for name in ("1.csv", "2.csv", "3.csv"):
        weights = ("0.5", "2") if name == "1.csv" else ("2", "0,5")
        rows = "".join(f"{at};{at + 1};{weight}\n" for at, weight in enumerate(weights))
        (tmp_path / "log" / name).write_text(f"src;dst;weight\n{rows}")
    done = graphtide_here("inspect", "log", cwd=tmp_path)
    note = (
        "log/2.csv, line 3: weight is '0,5', which is no number in a log; write a point, or use "
        "graphtide import"
    )
    only = "; this concerns only runs that read the column"
    assert f"note {note} (and so in 1 other file){only} rows" in " ".join(done.stdout.split())
    files = json.loads(graphtide_here("inspect", "log", "--json", cwd=tmp_path).stdout)["files"]
    assert [each["wrong_number"] and each["wrong_number"][-6:] for each in files] == [
        None, "import", "import"
    ]  # fmt: skip


def test_a_line_that_no_run_can_read_is_named_whatever_runs_read(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("src,dst,comment\n1,2,0.5\n2,3,1.5\n3,4,5,6\n")
    shown = " ".join(graphtide_here("inspect", "log.csv", cwd=tmp_path).stdout.split())
    assert "line 4 has 4 of the 3 fields" in shown
    assert "only runs that read" not in shown


@pytest.mark.parametrize(
    ("zone", "shown"),
    [("Europe/Berlin", "23:14:00+0100"), ("UTC", "22:14:00Z"), (None, "22:14:00")],
)
def test_times_of_whole_seconds_have_no_fraction(
    tmp_path: Path, zone: str | None, shown: str
) -> None:
    times = pa.array([1_700_000_000_000_000, 1_700_000_040_000_000], pa.timestamp("us", zone))
    write_log(tmp_path / "log", {"a.parquet": {"src": [1, 2], "dst": [2, 3], "ts": times}})
    *_, last = graphtide_here("inspect", "log", cwd=tmp_path).stdout.splitlines()
    assert last.endswith(f" 2023-11-14 {shown}  a.parquet")


def test_versions_of_a_table_are_shown(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake writes the table")
    feed = {"delta.enableChangeDataFeed": "true"}
    rows = pa.table({"src": [1, 2], "dst": [2, 3]})
    deltalake.write_deltalake(tmp_path, rows, configuration=feed)
    deltalake.DeltaTable(tmp_path).delete("src = 1")
    deltalake.DeltaTable(tmp_path).optimize.compact()
    deltalake.write_deltalake(tmp_path, rows, mode="append")
    found = [
        (each.version, each.change, each.operations)
        for each in inspect_log(UpdateLog(str(tmp_path)))
    ]
    assert found == [
        (0, "insert", {"insert": 2}),
        (1, "feed-delete", {"delete": 1}),
        (1, "feed-insert", {"insert": 0}),
        (2, "insert", {"insert": 2}),
    ]
    shown = graphtide_here("inspect", tmp_path).stdout
    assert "versions   0 … 2 of a table" in shown.replace("\u00a0", " ")


def test_a_file_beside_its_packed_copy_is_told(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {"a.parquet": {"src": [1], "dst": [2]}})
    (tmp_path / "log/a.csv").write_text("src,dst\n1,2\n")
    done = graphtide_here("inspect", "log", cwd=tmp_path)
    assert "note a.csv and a.parquet differ by their endings" in " ".join(done.stdout.split())


def test_times_in_a_zone_that_is_unknown_are_shown_and_refused_by_file(tmp_path: Path) -> None:
    times = pa.array([1_700_000_000], pa.timestamp("ms", "Mars/Base"))
    write_log(tmp_path / "log", {"a.parquet": {"src": [1], "dst": [2], "ts": times}})
    (facts,) = inspect_log(UpdateLog(str(tmp_path / "log")))
    assert facts.last_time == "1970-01-20 16:13:20.000Z"
    for command in ("inspect", "replay"):
        last = [] if command == "inspect" else ["--to", 0]
        done = graphtide_here(command, "log", "--records", "semantic", *last, cwd=tmp_path)
        fails(done, 1, "a.parquet: column ts is of type timestamp[ms, tz=Mars/Base]; its time zone")


def test_what_a_graph_of_a_log_needs_follows_from_its_inserts(tmp_path: Path) -> None:
    src, dst = np.random.default_rng(1).integers(0, 1 << 20, (2, 40_000))
    kept = {"few": 10_000, "all": 40_000}
    for name, count in kept.items():
        write_log_file(
            str(tmp_path / name / "a.parquet"), pa.table({"src": src[:count], "dst": dst[:count]})
        )
    deletes = pa.table({"op": np.full(40_000, -1, np.int8), "src": src, "dst": dst})
    write_log_file(str(tmp_path / "mixed" / "a.parquet"), pa.table({"src": src, "dst": dst}))
    write_log_file(str(tmp_path / "mixed" / "b.parquet"), deletes)

    def needs(name: str, *options: str) -> dict[str, int]:
        done = graphtide_here("inspect", name, "--json", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found: dict[str, int] = json.loads(done.stdout)["needs"]
        return found

    options = ("--set", "engine=host", "--set", "max_arena_bytes=64MiB")
    few, every = needs("few", *options), needs("all", *options)
    assert needs("mixed", *options) == every
    memory = DynamicGraph.from_edges(src, dst, engine="host").memory()
    # What is needed whatever the log has is not of the limit.
    taken = memory.graph_bytes - memory.regions["free-run trees"]
    assert 0 < few["arena_likely"] < every["arena_likely"] <= every["arena_at_most"]
    assert taken <= every["arena_at_most"] < 4 * taken
    assert 48 << 20 < every["arena_limit"] <= 64 << 20
    assert needs("all", "--set", "engine=host")["arena_limit"] != every["arena_limit"]
    assert 0 < few["checkpoint_likely"] < every["checkpoint_likely"] <= every["checkpoint_at_most"]
    assert every["properties_at_most"] == 0


def test_files_without_checksums_and_values_of_paths_are_counted(tmp_path: Path) -> None:
    table = pa.table({"src": [1, 2], "dst": [2, 3]})

    def shown(*words: str) -> str:
        done = graphtide_here("inspect", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for day in (1, 2):
        write_log_file(str(tmp_path / f"log/day={day}/a.parquet"), table)
    assert "pages      with checksums\n" in shown("log")
    pq.write_table(table, tmp_path / "log/day=2/b.parquet")
    text = shown("log")
    assert "pages      without checksums in 1 file: day=2/b.parquet, …\n" in text
    assert "partition  day: 2 values, 1 … 2\n" in text
    assert "rows       6" in text
    assert "pages      without checksums: damage to them cannot" in shown("log/day=2/b.parquet")
    (tmp_path / "log/day=1/a.parquet").unlink()
    assert "partition  day: 1 value, 2\n" in shown("log")
