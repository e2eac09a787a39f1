"""Logs of CSV and JSON lines: the same rows as in Parquet, whoever reads them, in any run."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import UpdateLogError
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.log.conversion import convert_table
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.operations import USUAL, Operations
from graphtide.io.log.row_origin import RowOrigin
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.text_indexes import read_indexes, write_indexes
from graphtide.io.text import text_files, text_scan

ROWS = 1000


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_scan, "BLOCK_BYTES", 1 << 10)


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
    listing = listing_of(UpdateLog(str(tmp_path), records="semantic"))
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
    listing = listing_of(UpdateLog(str(tmp_path)))
    log = UpdateLog(str(tmp_path), indexes=listing.indexes)
    with monkeypatch.context() as patched:
        patched.setattr(text_files, "scan_text", None)
        assert listing_of(log).files == listing.files
    data = (tmp_path / "a.csv").read_bytes()
    (tmp_path / "a.csv").write_bytes(data.replace(b"\nInsert,998,", b"\nInsert,997,"))
    assert listing_of(log).files[0].fingerprint != listing.files[0].fingerprint


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
    indexes = listing_of(UpdateLog(str(tmp_path / "log"))).indexes
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
    listing = listing_of(UpdateLog(str(tmp_path)))
    before = os.stat(tmp_path / "a.csv")
    data = (tmp_path / "a.csv").read_bytes()
    (tmp_path / "a.csv").write_bytes(data.replace(b"\nInsert,998,", b"\nInsert,997,"))
    os.utime(tmp_path / "a.csv", ns=(before.st_atime_ns, before.st_mtime_ns))
    log = UpdateLog(str(tmp_path), indexes=listing.indexes)
    assert log.read("a.csv", 0, 10).num_rows == 10
    with pytest.raises(UpdateLogError, match=r"a\.csv has changed since it was planned"):
        log.read("a.csv", 990, 10)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("others", ["2026-01-01T09:00:00Z", "2026-01-01 09:00:00 UTC"])
@pytest.mark.parametrize(
    "time",
    [
        "2026-01-01 10:00:00.25 UTC",
        "2026-01-01 02:00:00.250 -0800",
        "2026-01-01 15:30:00.25 +05:30",
        "2026-01-01T10:00:00.25Z",
    ],
)
def test_zones_as_warehouses_write_them(tmp_path: Path, form: str, others: str, time: str) -> None:
    for name, times in {"a": [time, others, others], "b": [others, others, time]}.items():
        rows = pd.DataFrame({"src": [1, 2, 3], "dst": 4, "ts": times})
        write(rows, tmp_path / f"{name}.{form}")
    log = UpdateLog(str(tmp_path), records="semantic")
    first = np.datetime64("2026-01-01T10:00:00.25")
    other = np.datetime64("2026-01-01T09:00:00")
    for name, expected in {"a": [first, other, other], "b": [other, other, first]}.items():
        found = log.read(f"{name}.{form}", 0, 3)["ts"]
        assert found.type == pa.timestamp("us", "UTC")
        assert found.to_numpy().tolist() == np.array(expected, "M8[us]").tolist(), name


def test_a_time_with_a_zone_is_named_where_others_have_none(tmp_path: Path) -> None:
    times = ["2026-01-01 10:00:00", "2026-01-01 10:00:00", "2026-01-01 10:00:00 UTC"]
    write(pd.DataFrame({"src": 1, "dst": 4, "ts": times}), tmp_path / "a.csv")
    log = UpdateLog(str(tmp_path), records="semantic")
    with pytest.raises(UpdateLogError, match=r"line 4: ts is .* UTC', which has a zone, where"):
        log.read("a.csv", 0, 3)


def test_numbers_beside_a_zone_are_still_looked_at(tmp_path: Path) -> None:
    text = "src,dst,ts\n0x10,2,2026-01-01 10:00:00 UTC\n" + "3,4,2026-01-01 10:00:00 UTC\n" * 3
    (tmp_path / "a.csv").write_text(text)
    log = UpdateLog(str(tmp_path), records="semantic")
    with pytest.raises(UpdateLogError, match="line 2: src is '0x10'"):
        log.read("a.csv", 0, 4)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("first", ["sep=;", "SEP=,", '"sep=;"', "\ufeffsep=;"])
def test_the_line_that_tells_excel_what_is_between_fields_is_no_row(
    tmp_path: Path, first: str, end: str
) -> None:
    rows = [first, "src;dst", "1;2", "3;4", ""]
    (tmp_path / "a.csv").write_bytes(end.join(rows).encode())
    log = UpdateLog(str(tmp_path))
    assert listing_of(log).files[0].rows == 2
    assert log.read("a.csv", 0, 2).to_pydict() == {"src": [1, 3], "dst": [2, 4]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "1,2\n3,4\n", "has no header"),
        ("a.csv", "src,dst\n1,2\n1,x\n", "column dst is of type string"),
        ("a.csv", "src,dst\n" + "1,2\n" * 1500 + "1,x\n", "line 1502: dst is 'x'"),
        ("a.csv", "src,dst\n1,2\n1\n", "line 3 has 1 of the 2 fields"),
        ("a.csv", 'src,dst,note\n1,2,"a\nb"\n', "line 2 has a quote that does not end"),
        ("a.csv", "", "is empty"),
        ("a.csv", "\n \n", "has no header"),
        ("a.csv", "\ufeff", "has no header"),
        ("a.csv", "payer,dst\n1,2\n", "there is no column src"),
        ("a.jsonl", '{"src":1,"dst":2}\n{"src":1,\n"dst":2}\n', "line 2 cannot be read"),
        ("a.jsonl", '{"src":1,"dst":2} {"src":1,"dst":2}\n', "line 1 cannot be read"),
        ("a.jsonl", '{"src":1,"dst":2}\n{"src":"x","dst":2}\n', "from line 2 on also of type"),
        ("a.jsonl", '{"src":1,"dst":2}\n{"src":"2026-01-31","dst":2}\n', "from line 2 on also"),
        (
            "a.jsonl",
            '{"src":"2026-01-31","dst":2}\n{"src":1,"dst":2}\n',
            "src is of type timestamp",
        ),
        ("a.csv.gz", "src,dst\n", "is not packed with gzip, as its name says"),
        ("a.jsonl.zst", '{"src":1,"dst":2}\n', "is not packed with zstd, as its name says"),
        ("a.csv", "src|dst\n1|2\n", r"has fields separated by '\|'; write commas, semicolons or"),
        ("a.csv", "sep=;\nsrc;dst\n1;x\n2;3\n4;5\n", "line 3: dst is 'x'"),
    ],
)
def test_what_is_no_log_is_refused_by_file_and_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match=rf"{name}.*{message}"):
        log.read(name, 0, listing_of(log).files[0].rows)


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
    assert log.read("a.csv", 0, listing_of(log).files[0].rows).to_pydict() == expected


def test_a_column_op_that_is_mapped_to_something_else_has_no_operations(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("kind,src,dst,op\n+,1,2,1\n+,2,3,0\n")
    log = UpdateLog(str(tmp_path), {"op": "kind", "weight": "op"}, "weighted")
    assert log.read("a.csv", 0, 2)["weight"].to_pylist() == [1.0, 0.0]


def test_null_is_no_object_of_json(tmp_path: Path) -> None:
    """Arrow's reader would end the process."""
    for last in ("5", '{"src":"x","dst":4}'):
        (tmp_path / "a.jsonl").write_text(f'{{"src":1,"dst":2}}\nnull\n{last}\n')
        with pytest.raises(UpdateLogError, match="line 2 cannot be read"):
            listing_of(UpdateLog(str(tmp_path)))


def test_text_in_another_encoding_is_told_so(tmp_path: Path) -> None:
    for content, words in (
        ("src,dst\nann,bob\nzoë,ann\n".encode("latin-1"), "a.csv, line 3 is not in UTF-8; save"),
        ("src,dst\nann,bob\n".encode("utf-16"), "a.csv is text in UTF-16; save it as UTF-8"),
    ):
        (tmp_path / "a.csv").write_bytes(content)
        log = UpdateLog(str(tmp_path), ids="string")
        with pytest.raises(UpdateLogError, match=words):
            log.read("a.csv", 0, listing_of(log).files[0].rows)


def test_csv_of_spreadsheets(tmp_path: Path) -> None:
    text = 'src;"dst";größe\r\n1;2;"ä;b"\r\n\r\n3; 4 ;\r\n 5;;x'
    log = UpdateLog(str(tmp_path))
    # Columns that are not read may be in another encoding, their names as well.
    for content in (f"\ufeff{text}".encode(), text.encode("cp1252")):
        (tmp_path / "a.csv").write_bytes(content)
        assert listing_of(log).files[0].rows == 3
        assert log.read("a.csv", 0, 3).to_pydict() == {"src": [1, 3, 5], "dst": [2, 4, None]}


@pytest.mark.parametrize("mark", [",", "\t"])
def test_names_of_columns_in_quotes_may_hold_what_is_between_fields(
    tmp_path: Path, mark: str
) -> None:
    """They say neither what is between fields, nor that white space around names is not theirs."""
    lines = [['"src"', "dst", '"sum; EUR, net"'], ["a ", '" a"', "1"]]
    (tmp_path / "a.csv").write_text("".join(mark.join(line) + "\n" for line in lines))
    table = UpdateLog(str(tmp_path), ids="string").read("a.csv", 0, 1)
    assert table.to_pydict() == {"src": ["a "], "dst": [" a"]}


def test_a_column_that_only_late_lines_have_is_not_missed(tmp_path: Path) -> None:
    lines = ['{"src":1,"dst":2}'] * 2000 + ['{"src":1,"dst":2,"weight":2.5}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="weighted")
    listing_of(log)
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
        table, lambda op, *_, **__: op, meaning=row_meaning(), origin=RowOrigin("a"), batch_id=0,
        operations=log.operations,
    )  # fmt: skip
    assert ops.tolist() == [1, -1]


def test_one_word_among_numbers_is_an_operation(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("op,src,dst\n" + "1,1,2\n" * 5 + "gone,1,2\n")
    words = Operations(delete=("gone",))
    ops = UpdateLog(str(tmp_path), operations=words).read("a.csv", 0, 6)["op"]
    assert words.kinds(ops).tolist() == [1] * 5 + [-1]


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.csv", "\r\nsrc,dst\r\n1,2\r\n", 1),
        ("a.csv", "  \nsrc,dst\n1,2\n \t\n3,4", 2),
        ("a.csv", "\t\r\nsrc,dst\r\n\r\n1,2\r\n", 1),
        ("a.jsonl", '\r\n{"src":1,"dst":2}\r\n\r\n{"src":3,"dst":4}', 2),
        ("a.jsonl", '  \n{"src":1,"dst":2}\n\t\n', 1),
        ("a.jsonl", '\ufeff{"src":1,"dst":2}\r\n\r\n{"src":3,"dst":4,"x":[1,{}]}\r\n', 2),
    ],
)
def test_blank_lines_are_none_wherever_they_stand(
    tmp_path: Path, name: str, text: str, rows: int
) -> None:
    (tmp_path / name).write_bytes(text.encode())
    log = UpdateLog(str(tmp_path))
    assert listing_of(log).files[0].rows == rows
    assert log.read(name, 0, rows)["src"].to_pylist() == [1, 3][:rows]


def test_a_carriage_return_ends_no_line(tmp_path: Path) -> None:
    """Arrow's reader ends rows there, so that rows after it were not read."""
    (tmp_path / "a.csv").write_bytes(b"src,dst\n1,2\r3,4\n5,6\n7,8\n")
    log = UpdateLog(str(tmp_path))
    assert listing_of(log).files[0].rows == 3
    with pytest.raises(UpdateLogError, match=r"line 2 has a carriage return within it; end lines"):
        log.read("a.csv", 0, 3)
    found = log.read_checked("a.csv", 0, 3, sifts=True)
    assert found.table.to_pydict() == {"src": [5, 7], "dst": [6, 8]}
    assert [(each.row, each.text) for each in found.wrong] == [(0, "1,2\r3,4")]
    assert log.read("a.csv", 1, 2).num_rows == 2, "rows of other batches are not to blame"
    (tmp_path / "a.csv").write_bytes(b"src,dst\r1,2\r")
    with pytest.raises(UpdateLogError, match="carriage return within its first line; end lines"):
        listing_of(log)
    (tmp_path / "a.csv").write_bytes(b'src,dst\n"a\rb",c\nd,e\n')
    names = UpdateLog(str(tmp_path), ids="string").read("a.csv", 0, 2)
    assert names.to_pydict() == {"src": ["a\rb", "d"], "dst": ["c", "e"]}


def test_a_quote_that_does_not_end_on_the_last_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('src,dst\na,b\nc,"d\n')
    with pytest.raises(UpdateLogError, match="line 3 has a quote that does not end"):
        UpdateLog(str(tmp_path), ids="string").read("a.csv", 0, 2)


@pytest.mark.parametrize(("codec", "end"), [("gzip", "gz"), ("zstd", "zst")])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_packed_file_has_the_name_of_one(tmp_path: Path, codec: str, end: str, form: str) -> None:
    packed = pa.compress(b"src,dst\n1,2\n", codec, asbytes=True)
    (tmp_path / f"a.{form}").write_bytes(packed)
    with pytest.raises(UpdateLogError, match=rf"{codec}; give it a name that ends in \.{end}"):
        listing_of(UpdateLog(str(tmp_path)))


def test_a_line_of_json_may_be_longer_than_arrow_reads_at_once(tmp_path: Path) -> None:
    lines = [f'{{"src":{at},"dst":2,"note":"{"x" * (at << 20)}"}}\n' for at in (0, 2, 1)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    log = UpdateLog(str(tmp_path))
    assert log.read("a.jsonl", 0, listing_of(log).files[0].rows)["src"].to_pylist() == [0, 2, 1]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_times_of_nanoseconds_are_kept(tmp_path: Path, name: str) -> None:
    time = "2026-01-31T10:00:00.123456789"
    text = f"src,dst,ts\n1,2,2026-01-31\n1,2,{time}\n"
    if name == "a.jsonl":
        text = "".join(f'{{"src":1,"dst":2,"ts":"{each}"}}\n' for each in (time, "2026-01-31"))
    (tmp_path / name).write_text(text)
    times = UpdateLog(str(tmp_path), records="semantic").read(name, 0, 2)["ts"]
    assert times.type == pa.timestamp("ns")
    assert times.cast(pa.string()).to_pylist()[name == "a.csv"] == time.replace("T", " ")


def test_a_file_of_windows_may_have_its_name_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "A.CSV.GZ").write_bytes(gzip.compress(b"src,dst\n1,2\n"))
    assert UpdateLog(str(tmp_path)).read("A.CSV.GZ", 0, 1).to_pydict() == {"src": [1], "dst": [2]}


def test_a_file_of_other_columns_is_refused_though_it_has_no_rows(tmp_path: Path) -> None:
    """A header of the right ones is a file without rows; a Parquet file has another name."""
    (tmp_path / "a.csv").write_text("src,dst\n1,2\n")
    (tmp_path / "b.csv").write_text("src,dst\n")
    assert [file.rows for file in listing_of(UpdateLog(str(tmp_path))).files] == [1, 0]
    (tmp_path / "c.csv").write_text("foo,bar\n")
    with pytest.raises(UpdateLogError, match=r"c.csv: there is no column src; the file has foo"):
        listing_of(UpdateLog(str(tmp_path)))
    (tmp_path / "c.csv").write_text("src dst\n1 2\n")
    with pytest.raises(UpdateLogError, match=r"has 'src dst' alone; .* graphtide import$"):
        listing_of(UpdateLog(str(tmp_path)))
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "c.csv")
    with pytest.raises(UpdateLogError, match=r"c.csv is a Parquet file; give it a name that ends"):
        listing_of(UpdateLog(str(tmp_path)))
