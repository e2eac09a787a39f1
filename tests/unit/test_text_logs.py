"""Logs of CSV and JSON lines: the same rows as in Parquet, whoever reads them, in any run."""

import gzip
import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import UpdateLogError
from graphtide.gpu_core.batch.rows import row_meaning
from graphtide.io.log.conversion import convert_table
from graphtide.io.log.operations import USUAL, Operations
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.text_indexes import read_indexes, write_indexes
from graphtide.io.text import text_files

ROWS = 1000


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 1 << 10)


@pytest.fixture
def frame() -> pd.DataFrame:
    times = pd.Timestamp("2026-01-01") + pd.to_timedelta(range(ROWS), unit="ms")
    return pd.DataFrame(
        {
            "op": ["Insert", "-"] * (ROWS // 2),
            "src": range(ROWS),
            "dst": pd.array([None if row % 7 == 3 else row + 1 for row in range(ROWS)], "Int64"),
            "weight": [None if row % 7 == 3 else row / 4 for row in range(ROWS)],
            "ts": times,
            "note": ["a b"] * ROWS,
        }
    )


def write(frame: pd.DataFrame, path: Path) -> None:
    if ".csv" in path.name:
        text = frame.to_csv(index=False)
    else:
        text = frame.to_json(orient="records", lines=True, date_format="iso", date_unit="us")
    data = text.encode()
    if path.suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as file:
            file.write(data)
    else:
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


NAMES = ["a.csv", "a.csv.gz", "a.csv.zst", "a.jsonl", "a.json.gz", "a.ndjson.zst"]


@pytest.mark.parametrize("name", NAMES)
def test_every_run_of_rows_is_that_of_the_frame(
    tmp_path: Path, frame: pd.DataFrame, name: str
) -> None:
    write(frame, tmp_path / name)
    listing = UpdateLog(str(tmp_path), records="semantic").listing()
    assert listing.files[0].rows == ROWS
    assert len(listing.files[0].row_group_rows) > 10
    assert listing.time_unit == "timestamp[us]"
    # In no order, as workers take them: packed files are read on or from the beginning.
    for first, rows in [(0, ROWS), (990, 10), (100, 333), (433, 2), (0, 0), (5, 1), (600, 300)]:
        log = UpdateLog(str(tmp_path), records="semantic", indexes=listing.indexes).for_rows(
            [(name, first, rows)]
        )
        table = log.read(name, first, rows, listing.files[0].fingerprint)
        wanted = frame.iloc[first : first + rows]
        assert table["src"].to_pylist() == wanted.src.tolist()
        assert table["dst"].to_pylist() == [None if x is pd.NA else x for x in wanted.dst]
        assert table["ts"].to_pylist() == [t.to_pydatetime() for t in wanted.ts]
        assert table["weight"].to_pandas().equals(wanted.weight.reset_index(drop=True))
        assert table["op"].to_pylist() == wanted.op.tolist()


def test_a_file_is_indexed_once_and_anew_when_it_has_changed(
    tmp_path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(frame, tmp_path / "a.csv")
    listing = UpdateLog(str(tmp_path)).listing()
    log = UpdateLog(str(tmp_path), indexes=listing.indexes)
    with monkeypatch.context() as patched:
        patched.setattr(text_files, "_scan", None)
        assert log.listing().files == listing.files
    data = (tmp_path / "a.csv").read_bytes()
    (tmp_path / "a.csv").write_bytes(data.replace(b"\nInsert,998,", b"\nInsert,997,"))
    assert log.listing().files[0].fingerprint != listing.files[0].fingerprint


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize(
    "times",
    [
        ["2020-01-01T00:00:00Z"],
        ["2020-01-01T02:00:00+02:00", "2019-12-31T19:00:00-05:00", "2020-01-01T00:00:00Z"],
        ["2020-01-01T00:00:00.000Z", "2020-01-01T01:00:00+01:00"],
    ],
)
def test_times_with_zones_are_those_of_their_text(
    tmp_path: Path, name: str, times: list[str]
) -> None:
    write(pd.DataFrame({"src": 1, "dst": range(len(times)), "ts": times}), tmp_path / name)
    log = UpdateLog(str(tmp_path), records="semantic")
    found = log.for_rows([(name, 0, len(times))]).read(name, 0, len(times))["ts"]
    assert found.type == pa.timestamp("us", "UTC")
    assert found.to_pandas().tolist() == [pd.Timestamp("2020-01-01", tz="UTC")] * len(times)


def test_indexes_wait_for_no_disk_and_one_that_a_power_cut_damaged_is_left_out(
    tmp_path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").mkdir()
    for name in "abc":
        write(frame, tmp_path / "log" / f"{name}.csv")
    indexes = UpdateLog(str(tmp_path / "log")).listing().indexes
    state = StateDirectory(tmp_path / "state")
    (state.path / "text").mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", None)  # called for each of 10,000 files it takes a minute
    write_indexes(state, indexes, {})
    assert read_indexes(state) == indexes
    damaged = min((state.path / "text").iterdir())
    damaged.write_bytes(bytes(damaged.stat().st_size))
    found = read_indexes(state)
    assert len(found) == 2
    assert found.items() <= indexes.items()


def test_bytes_that_changed_behind_the_same_size_and_time_are_refused(
    tmp_path: Path, frame: pd.DataFrame
) -> None:
    write(frame, tmp_path / "a.csv")
    listing = UpdateLog(str(tmp_path)).listing()
    before = os.stat(tmp_path / "a.csv")
    data = (tmp_path / "a.csv").read_bytes()
    (tmp_path / "a.csv").write_bytes(data.replace(b"\nInsert,998,", b"\nInsert,997,"))
    os.utime(tmp_path / "a.csv", ns=(before.st_atime_ns, before.st_mtime_ns))
    log = UpdateLog(str(tmp_path), indexes=listing.indexes)
    assert log.read("a.csv", 0, 10).num_rows == 10
    with pytest.raises(UpdateLogError, match=r"a\.csv has changed since it was planned"):
        log.read("a.csv", 990, 10)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "1,2\n3,4\n", "has no header"),
        ("a.csv", "src,dst\n1,2\n1,x\n", "column dst is of type string"),
        ("a.csv", "src,dst\n" + "1,2\n" * 1500 + "1,x\n", "line 1502: dst is 'x'"),
        ("a.csv", "src,dst\n1,2\n1\n", "line 3 has 1 of the 2 fields"),
        ("a.csv", 'src,dst,note\n1,2,"a\nb"\n', "line 2 has a quote that does not end"),
        ("a.csv", "", "is empty"),
        ("a.csv", "payer,dst\n1,2\n", "there is no column src"),
        ("a.jsonl", '{"src":1,"dst":2}\n{"src":1,\n"dst":2}\n', "line 2 cannot be read"),
        ("a.jsonl", '{"src":1,"dst":2} {"src":1,"dst":2}\n', "line 1 cannot be read"),
        ("a.jsonl", '{"src":1,"dst":2}\n{"src":"x","dst":2}\n', "from line 2 on also of type"),
        ("a.csv.gz", "src,dst\n", "cannot be read"),
    ],
)
def test_what_is_no_log_is_refused_by_file_and_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match=rf"{name}.*{message}"):
        log.read(name, 0, log.files()[0].rows)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("2024-02-30", "is '2024-02-30', which is no time; correct the line"),
        ("2024-02-28T10:00:00Z", "which has a zone, where times of this file have none; write"),
    ],
)
def test_a_day_that_is_not_there_is_told_from_a_zone(
    tmp_path: Path, last: str, message: str
) -> None:
    (tmp_path / "a.csv").write_text("src,dst,ts\n" + "1,2,2024-02-28\n" * 1500 + f"1,2,{last}\n")
    log = UpdateLog(str(tmp_path), records="semantic")
    with pytest.raises(UpdateLogError, match=rf"line 1502: ts .*{message}"):
        log.read("a.csv", 0, log.files()[0].rows)


def with_field(field: str, at: int, count: int, column: str, usual: str) -> str:
    """Text of a file where one field of a column is another than all the others."""
    lines = [dict.fromkeys(("src", "dst", "weight", "type", "ts"), "1") for _ in range(count)]
    for row, line in enumerate(lines):
        line[column] = field if row == at else usual
    return "".join(",".join(line) + "\n" for line in [lines[0], *(each.values() for each in lines)])


@pytest.mark.parametrize(
    ("column", "usual", "field", "why"),
    [
        ("src", "7", "abc", "which is no integer; correct the line, or give --ids string if ids"),
        ("src", "7", "1.0", "which is no integer"),
        ("dst", "7", "nan", "which is no integer"),
        ("dst", "7", "0x10", "which is no integer"),
        ("weight", "0.5", "N/A", "which is no number"),
        ("weight", "1", "2020-01-01", "which is no number"),
        ("type", "1", "2.5", "which is no integer"),
        ("ts", "5", "n/a", "which is no integer"),
        ("ts", "5", "7.5", "which is no integer"),
        ("ts", "5", "2020-01-01", "which is no integer"),
        ("ts", "2020-01-01", "n/a", "which is no time"),
        ("ts", "2020-01-01", "5", "which is no time"),
        ("ts", "2020-01-01", "2021-01-01T00:00:00Z", "which has a zone, where times"),
        ("ts", "2020-01-01T00:00:00Z", "2021-01-01", "which has no zone, where times"),
    ],
)
@pytest.mark.parametrize(("at", "count"), [(0, 3), (500, 1200), (1100, 1200)])
def test_one_wrong_field_costs_its_line_wherever_it_stands(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    column: str,
    usual: str,
    field: str,
    why: str,
    at: int,
    count: int,
) -> None:
    """Among the first 1,000 lines it made its whole column text, and the file none of a log."""
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 1 << 16)  # those lines are in its first block
    (tmp_path / "a.csv").write_text(with_field(field, at, count, column, usual))
    log = UpdateLog(str(tmp_path), records="semantic")
    assert log.files()[0].rows == count
    with pytest.raises(
        UpdateLogError, match=rf"a\.csv, line {at + 2}: {column} is '{field}', {why}"
    ):
        log.read("a.csv", 0, count)
    found = log.read_checked("a.csv", 0, count, sifts=True)
    assert [(each.row, each.number) for each in found.wrong] == [(at, at + 2)]
    assert found.table.num_rows == count - 1


def test_one_wrong_field_in_a_column_of_the_users_own_costs_its_line(tmp_path: Path) -> None:
    lines = ["src,dst,amount,channel", *["1,2,0.5,3"] * 8, "1,2,N/A,3", "1,2,1,3.5"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), own={"amount": "float64", "channel": "int16"})
    found = log.read_checked("a.csv", 0, log.files()[0].rows, sifts=True)
    assert [each.reason.partition(";")[0] for each in found.wrong] == [
        ": amount is 'N/A', which is no number",
        ": channel is '3.5', which is no integer",
    ]


@pytest.mark.parametrize(
    ("ids", "other", "message"),
    [
        # Half of them, and somewhat more: neither is wrong for sure.
        (["1", "x"], "0.5", "column src is of type string"),
        (["1", "x", "2", "y", "3"], "0.5", "column src is of type string"),
        (["1.0", "2", "3.0"], "0.5", "column src is of type double"),
        (["1"], "a\n1,2,b\n1,2,0.5", "column weight is of type string"),
    ],
)
def test_a_column_without_a_clear_majority_is_refused_as_a_whole(
    tmp_path: Path, ids: list[str], other: str, message: str
) -> None:
    lines = ["src,dst,weight", *[f"{each},2,{other}" for each in ids]]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(UpdateLogError, match=message):
        UpdateLog(str(tmp_path), records="weighted").files()


def test_names_that_mostly_look_like_numbers_are_text(tmp_path: Path) -> None:
    names = ["007", "7", "1.0", "1e3", "2020-01-01", *["5"] * 20, "x"]
    (tmp_path / "a.csv").write_text("\n".join(["src,dst", *[f"{name},1" for name in names]]))
    log = UpdateLog(str(tmp_path), ids="string")
    assert log.read("a.csv", 0, log.files()[0].rows)["src"].to_pylist() == names


def test_few_weights_with_a_fraction_are_no_wrong_ones(tmp_path: Path) -> None:
    weights = [*["1"] * 50, "0.5", *["1"] * 50]
    lines = ["src,dst,weight,other", *[f"1,2,{each},{each}" for each in weights]]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="weighted")
    assert log.read("a.csv", 50, 1)["weight"].to_pylist() == [0.5]
    (index,) = log.listing().indexes.values()
    assert dict(index.columns)["other"] == "double"


def test_one_zone_in_json_lines_costs_its_line_wherever_a_block_begins(tmp_path: Path) -> None:
    """As the first time of a block it made all those before wrong."""
    for at in range(1, 60):
        lines = ['{"src":1,"dst":2,"ts":"2020-01-01"}'] * 60
        lines[at] = '{"src":1,"dst":2,"ts":"2021-01-01T00:00:00Z"}'
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        log = UpdateLog(str(tmp_path), records="semantic")
        found = log.read_checked("a.jsonl", 0, log.files()[0].rows, sifts=True)
        assert [each.row for each in found.wrong] == [at]


def test_numbers_where_names_are_read_are_told_from_mixed_values(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"src":"a","dst":"b"}\n{"src":5,"dst":"b"}\n')
    with pytest.raises(
        UpdateLogError, match=r"src are of type string, .*line 2 on also of type int64"
    ):
        UpdateLog(str(tmp_path), ids="string").files()
    (tmp_path / "a.jsonl").write_text('{"src":5,"dst":7}\n')
    log = UpdateLog(str(tmp_path), ids="string")
    with pytest.raises(UpdateLogError, match=r"a number, not a string\); write it in quotes"):
        log.read("a.jsonl", 0, log.files()[0].rows)


def test_names_in_quotes_keep_their_spaces(tmp_path: Path) -> None:
    """Two names that differ by them were taken for one; around quotes they are between fields."""
    names = ["Smith , J", "Smith,J", "tab\there", " lead", "end ", "a  b", 'q" , "q', "plain"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    for before, after, end in [("", "", "\n"), (" ", "\t", " \r\n")]:
        lines = [f"{before}{name}{after},{before}x{after}" for name in quoted]
        (tmp_path / "a.csv").write_bytes(f"src,dst{end}{end.join(lines)}{end}".encode())
        log = UpdateLog(str(tmp_path), ids="string")
        rows = log.files()[0].rows
        assert log.read("a.csv", 0, rows).to_pydict() == {"src": names, "dst": ["x"] * len(names)}


def test_names_without_quotes_keep_their_spaces(tmp_path: Path) -> None:
    """So pandas and polars write them: ``Ann`` and ``Ann `` were one, ``a<tab>b`` was ``a b``."""
    names = ["Ann", "Ann ", " Ann", "a\tb", "a b", "\tx\t", "Smith , J", ' "', "plain"]
    frame = pd.DataFrame(
        {
            "src": names,
            "dst": [*["x"] * 8, None],
            "e": None,
            "n": '"',
            "ts": "2024-01-01",
            "op": "insert",
        }
    )
    for delimiter in (",", ";", "\t"):
        for end in ("\n", "\r\n"):
            text = frame.to_csv(index=False, sep=delimiter, lineterminator=end)
            # Numbers, times and words have none, and lines of nothing else are none.
            text = text.replace("2024-01-01", " 2024-01-01 ").replace("insert", " insert ")
            (tmp_path / "a.csv").write_bytes(f"{text}  {end}\t{end}".encode())
            log = UpdateLog(str(tmp_path), records="semantic", ids="string")
            assert log.files()[0].rows == len(names)
            read = log.read("a.csv", 0, len(names)).to_pydict()
            assert (read["src"], read["dst"]) == (names, [*["x"] * 8, None])
            assert (set(read["op"]), set(read["ts"])) == ({"insert"}, {datetime(2024, 1, 1)})


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # An empty field is null, and white space beside quotes belongs to nothing.
        ('op,src,dst\ndelete,"a",', {"op": ["delete"], "src": ["a"], "dst": [None]}),
        ('src,dst\n "ann","bob"', {"src": ["ann"], "dst": ["bob"]}),
        ('src,dst\nann,"bob" ', {"src": ["ann"], "dst": ["bob"]}),
        ("src, dst\na, b\nc, b\t", {"src": ["a", "c"], "dst": ["b", "b"]}),
        ("src,dst\nann,bob", {"src": ["ann"], "dst": ["bob"]}),
    ],
)
def test_a_last_line_without_its_end_is_as_any_other(
    tmp_path: Path, text: str, expected: dict[str, list[str]], end: str
) -> None:
    (tmp_path / "a.csv").write_text(f"{text}{end}")
    log = UpdateLog(str(tmp_path), ids="string")
    assert log.read("a.csv", 0, log.files()[0].rows).to_pydict() == expected


def test_the_last_line_counts_among_those_that_show_what_a_column_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,dst\n1,2\nx,3\n3,4")
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match="line 3: src is 'x', which is no integer"):
        log.read("a.csv", 0, log.files()[0].rows)
    # Nor does a line that cannot be taken apart end the sample.
    rows = "".join(f"{number},{number + 1}\n" for number in range(20))
    (tmp_path / "a.csv").write_text(f'src,dst\n1,"2\n{rows}')
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match="line 2 has a quote that does not end"):
        log.read("a.csv", 0, log.files()[0].rows)


@pytest.mark.parametrize("field", ["1.5", "1e400", "99999999999999999999"])
@pytest.mark.parametrize("column", ["src", "ts"])
def test_a_number_that_is_not_whole_costs_its_line_of_json(
    tmp_path: Path, field: str, column: str
) -> None:
    lines = [f'{{"src": {number}, "dst": 2, "ts": 5}}' for number in range(5)]
    usual = 2 if column == "src" else 5
    lines[2] = lines[2].replace(f'"{column}": {usual}', f'"{column}": {field}')
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="semantic")
    listing = log.listing(needed=())
    (file,) = listing.files
    read = replace(log, indexes=listing.indexes, time_unit=listing.time_unit)
    found = read.read_checked(file.name, 0, file.rows, sifts=True)
    assert [(each.row, each.number) for each in found.wrong] == [(2, 3)]
    assert found.table["src"].to_pylist() == [0, 1, 3, 4]


def test_a_column_op_that_is_mapped_to_something_else_has_no_operations(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("kind,src,dst,op\n+,1,2,1\n+,2,3,0\n")
    log = UpdateLog(str(tmp_path), {"op": "kind", "weight": "op"}, "weighted")
    assert log.read("a.csv", 0, 2)["weight"].to_pylist() == [1.0, 0.0]


def test_an_empty_uuid_in_quotes_is_no_vertex_row(tmp_path: Path) -> None:
    name = "0b5d2f6e-0d0a-4c52-8d43-1f2e5f1c9d11"
    (tmp_path / "a.csv").write_text(f'op,src,dst\ndelete,{name},""\n')
    log = UpdateLog(str(tmp_path), ids="uuid")
    assert log.read("a.csv", 0, 1)["dst"].to_pylist() == [""]


def test_null_is_no_object_of_json(tmp_path: Path) -> None:
    """Arrow's reader would end the process."""
    for last in ("5", '{"src":"x","dst":4}'):
        (tmp_path / "a.jsonl").write_text(f'{{"src":1,"dst":2}}\nnull\n{last}\n')
        with pytest.raises(UpdateLogError, match="line 2 cannot be read"):
            UpdateLog(str(tmp_path)).files()


def test_spaces_beside_those_of_a_header_are_there_to_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('src, dst\nann, bob\n"eve ",\tzoë x \n')
    log = UpdateLog(str(tmp_path), ids="string")
    assert log.read("a.csv", 0, 2).to_pydict() == {"src": ["ann", "eve "], "dst": ["bob", "zoë x"]}


def test_a_wrong_line_is_found_among_names_with_spaces(tmp_path: Path) -> None:
    lines = ["op,src,dst,ts", *[" insert,a , b, 5 "] * 1000, "insert,a,b, y "]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="semantic", ids="string")
    with pytest.raises(UpdateLogError, match=r"a\.csv, line 1002: ts is 'y', which is no integer"):
        log.read("a.csv", 0, log.files()[0].rows)


def test_text_in_another_encoding_is_told_so(tmp_path: Path) -> None:
    for content, words in (
        ("src,dst\nann,bob\nzoë,ann\n".encode("latin-1"), "a.csv, line 3 is not in UTF-8; save"),
        ("src,dst\nann,bob\n".encode("utf-16"), "a.csv is text in UTF-16; save it as UTF-8"),
    ):
        (tmp_path / "a.csv").write_bytes(content)
        log = UpdateLog(str(tmp_path), ids="string")
        with pytest.raises(UpdateLogError, match=words):
            log.read("a.csv", 0, log.files()[0].rows)


def test_csv_of_spreadsheets(tmp_path: Path) -> None:
    text = '\ufeffsrc;"dst";name\r\n1;2;"a;b"\r\n\r\n3; 4 ;\r\n 5;;x'
    (tmp_path / "a.csv").write_bytes(text.encode())
    log = UpdateLog(str(tmp_path))
    assert log.files()[0].rows == 3
    assert log.read("a.csv", 0, 3).to_pydict() == {"src": [1, 3, 5], "dst": [2, 4, None]}


def test_a_column_that_only_late_lines_have_is_not_missed(tmp_path: Path) -> None:
    lines = ['{"src":1,"dst":2}'] * 2000 + ['{"src":1,"dst":2,"weight":2.5}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="weighted")
    log.files()
    assert log.read("a.jsonl", 1999, 2)["weight"].to_pylist() == [None, 2.5]


OPERATIONS = ["true,false", "1,0", "1,-1", "+,-", "A,D", "Add,REMOVE"]
OWN = Operations(insert=("c", "U"), delete=("+",))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(("ops", "words"), [*((ops, USUAL) for ops in OPERATIONS), ("u,+", OWN)])
def test_operations_however_they_are_written(
    tmp_path: Path, ops: str, words: Operations, form: str
) -> None:
    insert, delete = ops.split(",")
    if form == "csv":
        text = f"op,src,dst\n{insert},1,2\n{delete},1,2\n"
    else:
        is_plain = insert in ("true", "1")
        mark = "" if is_plain else '"'
        text = "".join(f'{{"op":{mark}{op}{mark},"src":1,"dst":2}}\n' for op in (insert, delete))
    (tmp_path / f"a.{form}").write_text(text)
    log = UpdateLog(str(tmp_path), operations=words)
    table = log.read(f"a.{form}", 0, 2)
    ops = convert_table(
        table, lambda op, *_, **__: op, meaning=row_meaning(), file="a", first_row=0, batch_id=0,
        operations=log.operations,
    )  # fmt: skip
    assert ops.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.csv", "\r\nsrc,dst\r\n1,2\r\n", 1),
        ("a.csv", "  \nsrc,dst\n1,2\n \t\n3,4", 2),
        ("a.csv", "\t\r\nsrc,dst\r\n\r\n1,2\r\n", 1),
        ("a.jsonl", '\r\n{"src":1,"dst":2}\r\n\r\n{"src":3,"dst":4}', 2),
        ("a.jsonl", '  \n{"src":1,"dst":2}\n\t\n', 1),
    ],
)
def test_blank_lines_are_none_wherever_they_stand(
    tmp_path: Path, name: str, text: str, rows: int
) -> None:
    (tmp_path / name).write_bytes(text.encode())
    log = UpdateLog(str(tmp_path))
    assert log.files()[0].rows == rows
    assert log.read(name, 0, rows)["src"].to_pylist() == [1, 3][:rows]


def test_a_carriage_return_ends_no_line(tmp_path: Path) -> None:
    """Arrow's reader ends rows there, so that rows after it were not read."""
    (tmp_path / "a.csv").write_bytes(b"src,dst\n1,2\r3,4\n5,6\n7,8\n")
    log = UpdateLog(str(tmp_path))
    assert log.files()[0].rows == 3
    with pytest.raises(UpdateLogError, match=r"line 2 has a carriage return within it; end lines"):
        log.read("a.csv", 0, 3)
    found = log.read_checked("a.csv", 0, 3, sifts=True)
    assert found.table.to_pydict() == {"src": [5, 7], "dst": [6, 8]}
    assert [(each.row, each.text) for each in found.wrong] == [(0, "1,2\r3,4")]
    assert log.read("a.csv", 1, 2).num_rows == 2, "rows of other batches are not to blame"
    (tmp_path / "a.csv").write_bytes(b"src,dst\r1,2\r")
    with pytest.raises(UpdateLogError, match="carriage return within its first line; end lines"):
        log.files()
    (tmp_path / "a.csv").write_bytes(b'src,dst\n"a\rb",c\nd,e\n')
    names = UpdateLog(str(tmp_path), ids="string").read("a.csv", 0, 2)
    assert names.to_pydict() == {"src": ["a\rb", "d"], "dst": ["c", "e"]}


def test_a_quote_that_does_not_end_on_the_last_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('src,dst\na,b\nc,"d\n')
    with pytest.raises(UpdateLogError, match="line 3 has a quote that does not end"):
        UpdateLog(str(tmp_path), ids="string").read("a.csv", 0, 2)


@pytest.mark.parametrize("field", ["0x10", "0X1f", "ffff\n3,0x0"])
def test_hexadecimal_numbers_are_none_in_any_line(tmp_path: Path, field: str) -> None:
    (tmp_path / "a.csv").write_text("src,dst\n" + "1,2\n" * 1500 + f"1,{field}\n")
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match=r"line 1502: dst is '.*', which is no integer"):
        log.read("a.csv", 0, log.files()[0].rows)
    assert log.read("a.csv", 0, 1500).num_rows == 1500


def test_an_empty_name_is_told_from_none(tmp_path: Path) -> None:
    """As an export writes them: the edge to the vertex of the empty name became a vertex row."""
    text = 'op,src,dst,ts\n"insert","x","",5\n"","","y",""\n+,z,,\n'
    (tmp_path / "a.csv").write_text(text)
    found = UpdateLog(str(tmp_path), records="semantic", ids="string").read("a.csv", 0, 3)
    assert found["src"].to_pylist() == ["x", "", "z"]
    assert found["dst"].to_pylist() == ["", "y", None]
    assert found["op"].to_pylist() == ["insert", None, "+"]
    assert found["ts"].to_pylist() == [5, None, None]
    (tmp_path / "a.csv").write_text('src,dst\n"1",""\n')
    assert UpdateLog(str(tmp_path)).read("a.csv", 0, 1)["dst"].to_pylist() == [None]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        ("float32", "16777217", ["16777216", "16777217.0", "1.5", "33554432"]),
        ("float64", "9007199254740993", ["9007199254740992", "9007199254740993.0", "-0.5"]),
        ("float64", "18446744073709551617", ["18446744073709551616", "1e300"]),
    ],
)
def test_a_whole_number_that_a_float_would_round_is_refused(
    tmp_path: Path, name: str, kind: str, wrong: str, right: list[str]
) -> None:
    """As from Parquet; numbers with a fraction are rounded."""
    values = [*right, wrong]
    lines = [f'{{"src":1,"dst":2,"amount":{each}}}' for each in values]
    if name == "a.csv":
        lines = ["src,dst,amount", *[f"1,2,{each}" for each in values]]
    (tmp_path / name).write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), own={"amount": kind})
    count = len(right)
    assert log.read(name, 0, count)["amount"].to_pylist() == list(map(float, right))
    with pytest.raises(UpdateLogError, match=rf"amount is '?{wrong}'?, which does not fit into"):
        log.read(name, 0, count + 1)


def test_values_of_several_types_matter_in_columns_that_are_needed_alone(tmp_path: Path) -> None:
    lines = ['{"src":1,"dst":2,"note":7}', '{"src":3,"dst":4,"note":"x","weight":null}']
    lines += ['{"src":5,"dst":6,"note":[1,{}],"weight":2}'] * 2
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert UpdateLog(str(tmp_path)).files()[0].rows == 4
    log = UpdateLog(str(tmp_path), records="weighted")
    assert log.listing().files[0].rows == 4
    assert log.read("a.jsonl", 0, 4)["weight"].to_pylist() == [None, None, 2, 2]
    with pytest.raises(UpdateLogError, match="note are of type int64, but from line 2 on"):
        UpdateLog(str(tmp_path), own={"note": "float64"}).files()


@pytest.mark.parametrize("order", ["abc", "cab", "bca"])
def test_a_file_without_times_takes_the_unit_of_others(tmp_path: Path, order: str) -> None:
    texts = {
        "a": "src,dst,ts\n",
        "b": "src,dst,ts\n1,,\n",
        "c": "src,dst,ts\n" + "1,,\n" * 1500 + "1,2,2024-01-01\n",
    }
    for number, letter in enumerate(order):
        (tmp_path / f"{number}.csv").write_text(texts[letter])
    log = UpdateLog(str(tmp_path), records="semantic")
    assert log.listing().time_unit == "timestamp[us]"
    late = f"{order.index('c')}.csv"
    assert log.read(late, 1499, 2)["ts"].to_pylist() == [None, datetime(2024, 1, 1)]


def test_a_file_of_other_columns_is_refused_though_it_has_no_rows(tmp_path: Path) -> None:
    """A header of the right ones is a file without rows; a Parquet file has another name."""
    (tmp_path / "a.csv").write_text("src,dst\n1,2\n")
    (tmp_path / "b.csv").write_text("src,dst\n")
    assert [file.rows for file in UpdateLog(str(tmp_path)).listing().files] == [1, 0]
    (tmp_path / "c.csv").write_text("foo,bar\n")
    with pytest.raises(UpdateLogError, match=r"c.csv: there is no column src; the file has foo"):
        UpdateLog(str(tmp_path)).listing()
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "c.csv")
    with pytest.raises(UpdateLogError, match=r"c.csv is a Parquet file; give it a name that ends"):
        UpdateLog(str(tmp_path)).listing()
