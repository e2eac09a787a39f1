"""Update logs: what is listed, read and refused."""

import pickle
import shlex
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import SettingsError, UpdateLogError
from graphtide.flows.commands.run import settings_from_options
from graphtide.gpu_core.batch.rows import row_meaning
from graphtide.io.log.conversion import table_to_batch
from graphtide.io.log.id_bounds import bounds_of
from graphtide.io.log.log_inspection import inspect_log
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.parquet.page_checks import read_header
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.replay import PastGraphs
from made_state import apply_log


def table_of(rows, **more):
    ids = np.arange(rows, dtype=np.int64)
    return pa.table({"op": np.ones(rows, np.int8), "src": ids, "dst": ids + 1, **more})


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "log"
    path.mkdir()
    return path


def refused(log, *words):
    """The log is refused in one line that holds all words."""
    with pytest.raises(UpdateLogError) as caught:
        log.files()
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text
    return text


# -- listing


def test_files_come_in_the_natural_order_of_their_names(folder):
    for name, rows in [("b", 2), ("a-10", 3), ("a-9", 4), ("a", 5)]:
        write_log_file(str(folder / f"{name}.parquet"), table_of(rows))
    files = UpdateLog(str(folder)).files()
    assert [file.name for file in files] == [
        "a-9.parquet",
        "a-10.parquet",
        "a.parquet",
        "b.parquet",
    ]
    assert [file.rows for file in files] == [4, 3, 5, 2]
    assert files[0].size == (folder / "a-9.parquet").stat().st_size


def test_a_log_that_dask_wrote_is_read_in_the_order_of_its_parts(folder):
    import dask.dataframe
    import pandas

    frame = pandas.DataFrame({"src": range(24), "dst": range(1, 25)})
    parts = dask.dataframe.from_pandas(frame, npartitions=12)
    # Whichever scheduler a client of another test has made the default.
    parts.to_parquet(folder, write_index=False, compute_kwargs={"scheduler": "threads"})
    log = UpdateLog(str(folder))
    sources = [src for file in log.files() for src in log.read(file.name, 0, 2)["src"].to_pylist()]
    assert sources == list(range(24))


def test_listing_a_log_leaves_it_as_it_was(folder):
    write_log_file(str(folder / "a.parquet"), table_of(2, ts=[5, 6]))
    log = UpdateLog(str(folder), records="semantic")
    before = pickle.dumps(log)
    assert log.listing().time_unit == "int64"
    assert pickle.dumps(log) == before
    write_log_file(str(folder / "a.parquet"), table_of(2, ts=pa.array([5, 6], pa.timestamp("us"))))
    assert log.listing().time_unit == "timestamp[us]", "what was listed before is no demand"


def test_names_of_writers_at_work_are_ignored(folder):
    write_log_file(str(folder / "a.parquet"), table_of(1))
    for name in ("_SUCCESS", ".a.parquet.crc", "b.parquet.tmp"):
        (folder / name).write_bytes(b"x")
    (folder / "_delta").mkdir()
    assert [file.name for file in UpdateLog(str(folder)).files()] == ["a.parquet"]


def test_one_file_is_a_log(folder):
    path = str(folder / "a.parquet")
    write_log_file(path, table_of(7))
    (folder / "note.txt").write_text("not looked at")
    for address in (path, f"file://{path}"):
        log = UpdateLog(address)
        assert [file.name for file in log.files()] == ["a.parquet"]
        assert log.read("a.parquet", 2, 3)["src"].to_pylist() == [2, 3, 4]


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_log_at_a_url(folder, scheme):
    address = f"file://{folder}" if scheme == "file" else "memory://test-log/deep"
    for name in ("b", "a"):
        write_log_file(f"{address}/{name}.parquet", table_of(10), row_group_rows=4)
    log = pickle.loads(pickle.dumps(UpdateLog(address)))
    files = log.files()
    assert [file.name for file in files] == ["a.parquet", "b.parquet"]
    assert files[0].row_group_rows == (4, 4, 2)
    assert log.read("b.parquet", 3, 6)["dst"].to_pylist() == [4, 5, 6, 7, 8, 9]
    if scheme == "memory":
        fsspec.filesystem("memory").rm("/test-log", recursive=True)


def test_the_fingerprint_tells_other_rows_of_the_same_bounds(folder):
    path = str(folder / "a.parquet")
    prints = []
    for src in ([0, 1, 1, 0], [1, 0, 0, 1]):
        write_log_file(path, pa.table({"src": src, "dst": [5, 6, 7, 8]}))
        prints.append(UpdateLog(str(folder)).files()[0].fingerprint)
    assert prints[0].split("-")[0] == prints[1].split("-")[0], "the sizes differ anyway"
    assert prints[0] != prints[1]


def test_columns_are_packed_and_those_of_whole_numbers_not_compressed(folder):
    path = folder / "a.parquet"
    write_log_file(str(path), table_of(1000, weight=np.ones(1000, np.float32)))
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    found = {
        each.path_in_schema: (each.compression, "DELTA_BINARY_PACKED" in each.encodings)
        for each in columns
    }
    packed = ("UNCOMPRESSED", True)
    assert found == {"op": packed, "src": packed, "dst": packed, "weight": ("ZSTD", False)}


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_ids_of_32_bits_are_stored_as_they_are(folder, dtype):
    path = folder / "a.parquet"
    ids = np.arange(1000, dtype=dtype)
    table = pa.table({"src": ids, "dst": ids[::-1], "op": np.ones(1000, np.int8)})
    write_log_file(str(path), table)
    group = pq.ParquetFile(path).metadata.row_group(0)
    encodings = [set(group.column(number).encodings) for number in range(3)]
    assert [("DELTA_BINARY_PACKED" in each) for each in encodings] == [False, False, True]
    assert group.column(0).total_compressed_size < 4 * ids.size + 200
    assert UpdateLog(str(path)).read("a.parquet", 0, 1000)["src"].to_pylist() == ids.tolist()


def test_a_column_of_a_row_group_is_one_page(folder):
    """Each page has a header, whose check costs more than that of its bytes."""
    path, rows = folder / "a.parquet", 25_000
    weights = pa.array([None, *np.linspace(0, 1, 2 * rows - 1)])
    write_log_file(str(path), table_of(2 * rows, weight=weights), row_group_rows=rows)
    content, metadata = memoryview(path.read_bytes()), pq.read_metadata(path)
    for column in (metadata.row_group(g).column(n) for g in range(2) for n in range(4)):
        assert read_header(content, column.data_page_offset).num_values == rows


def test_the_fingerprint_tells_a_changed_file(folder):
    path = folder / "a.parquet"
    write_log_file(str(path), table_of(10))
    before = UpdateLog(str(folder)).files()[0]
    assert UpdateLog(str(folder)).files()[0] == before
    write_log_file(str(path), table_of(10, weight=np.zeros(10)))
    log = UpdateLog(str(folder))
    assert log.files()[0].fingerprint != before.fingerprint
    with pytest.raises(UpdateLogError, match=r"a\.parquet has changed since it was planned"):
        log.read("a.parquet", 0, 1, fingerprint=before.fingerprint)


def test_a_file_without_rows_is_legal(folder):
    write_log_file(str(folder / "a.parquet"), table_of(0))
    log = UpdateLog(str(folder))
    assert log.files()[0].rows == 0
    assert log.read("a.parquet", 0, 0).column_names == ["op", "src", "dst"]


# -- reading


@pytest.mark.parametrize("row_group_rows", [1, 7, 64, 1000])
def test_any_run_of_rows_is_what_a_slice_is(folder, row_group_rows):
    table = table_of(1000, extra=np.arange(1000))
    write_log_file(str(folder / "a.parquet"), table, row_group_rows=row_group_rows)
    log = UpdateLog(str(folder))
    expected = table.select(["op", "src", "dst"])
    for first, rows in [(0, 1000), (0, 1), (999, 1), (63, 2), (128, 64), (500, 0), (317, 400)]:
        read = log.read("a.parquet", first, rows)
        assert read.equals(expected.slice(first, rows)), (first, rows)


def test_words_of_ops_are_read_as_numbers_of_the_dictionary_of_each_row_group(folder):
    """Where they lie as such: the words of each row, made one by one, took a third of reading."""
    words = ["insert", "insert", "insert", "delete", "insert", "delete"]
    ids = list(range(6))
    table = pa.table({"op": words, "src": ids, "dst": ids})
    pq.write_table(table, folder / "a.parquet", row_group_size=3)
    found = UpdateLog(str(folder)).read_checked("a.parquet", 1, 5, dictionaries=True)
    assert pa.types.is_dictionary(found.table["op"].type)
    place = {"meaning": row_meaning(self_loops="keep"), "file": "a", "first_row": 1, "batch_id": 0}
    batch = table_to_batch(found.table, **place)
    assert batch.put_indices.tolist() == [1, 2, 4]
    assert batch.delete_indices.tolist() == [3, 5]


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_bounds_of_ids_are_those_of_the_row_groups(folder, dtype):
    ids = np.arange(1000, dtype=dtype)
    table = pa.table({"from": ids, "dst": ids[::-1] + np.dtype(dtype).type(7)})
    write_log_file(str(folder / "a.parquet"), table, row_group_rows=100)
    log = UpdateLog(str(folder), {"src": "from"})
    assert bounds_of(log.read("a.parquet", 0, 1000)) == (0, 999, 7, 1006)
    assert bounds_of(log.read("a.parquet", 250, 100)) == (200, 399, 607, 806)
    assert bounds_of(log.read("a.parquet", 299, 1)) == (200, 299, 707, 806)
    assert bounds_of(log.read("a.parquet", 300, 0)) is None
    pq.write_table(table, folder / "a.parquet", write_statistics=False)
    assert bounds_of(log.read("a.parquet", 0, 1000)) is None


@pytest.mark.parametrize(
    ("types", "narrow"), [(("int32", "uint32"), True), (("int32", "int64"), False)]
)
def test_a_log_knows_the_types_of_its_ids(folder, types, narrow):
    for number in range(2):
        ends = {end: np.arange(3).astype("int32") for end in ("src", "dst")}
        ends["dst"] = ends["dst"].astype(types[number])
        write_log_file(str(folder / f"{number}.parquet"), pa.table(ends))
    log = UpdateLog(str(folder))
    assert log.listing().has_narrow_ids == narrow
    assert log.listing().id_types == {("int32", each) for each in types}
    # Others are converted as int64, whatever they are.
    narrower = {end: np.arange(3).astype("uint16") for end in ("src", "dst")}
    write_log_file(str(folder / "2.parquet"), pa.table(narrower))
    assert ("int64", "int64") in log.listing().id_types


@pytest.mark.parametrize(
    ("names", "flags"),
    [
        (("source", "target"), ["columns.src=source", "columns.dst=target"]),
        (("SRC", " Dst "), ["columns.src=SRC", "'columns.dst=\" Dst \"'"]),
        (("from", "dst"), ["columns.src=from"]),
        (("payer", "payee"), ["columns.src=NAME", "columns.dst=NAME"]),
        (("source", "SRC"), ["columns.src=NAME", "columns.dst=NAME"]),
    ],
)
def test_columns_that_others_call_so_are_told_with_the_flags_that_map_them(folder, names, flags):
    """A frame of these names is taken as it is; in a log another column may have them."""
    pq.write_table(pa.table({name: [1] for name in names}), folder / "a.parquet")
    with pytest.raises(UpdateLogError) as caught:
        UpdateLog(str(folder)).listing()
    assert str(caught.value).endswith(": " + " ".join(f"--set {flag}" for flag in flags))


@pytest.mark.parametrize(
    ("name", "records", "flag"),
    [
        ("Op", "simple", "--set columns.op=Op"),
        (" OP", "simple", "--set 'columns.op=\" OP\"'"),
        ("Weight", "weighted", "--set columns.weight=Weight"),
        ("TYPE", "semantic", "--set columns.type=TYPE"),
    ],
)
def test_a_column_that_would_be_read_in_small_letters_is_not_ignored(folder, name, records, flag):
    """Deletes of an ignored Op would be inserts."""
    columns = {name: [1, -1], "src": [1, 1], "dst": [2, 2], "ts": [1, 2]}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    canonical = name.strip().lower()
    refused(
        UpdateLog(str(folder), records=records),
        f"column {name!r} is not read, and there is no column {canonical}",
        f"say so: {flag}; if not, rename it",
    )
    # A state that has planned it goes on.
    assert UpdateLog(str(folder), records=records, planned=frozenset({"a.parquet"})).files()
    words = shlex.split(flag)[1]
    named = settings_from_options({"assignments": [words], "records": records}).columns
    assert named == {canonical: name}
    log = UpdateLog(str(folder), named, records)
    log.files()
    assert log.read("a.parquet", 0, 2)[canonical].to_pylist() == [1, -1]


def test_a_column_in_other_letters_may_be_one_that_is_not_read(folder):
    columns = {"Weight": [1.5], "Type": ["a"], "src": [1], "dst": [2]}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    assert "not read: Type, Weight" in UpdateLog(str(folder)).listing().not_kept
    UpdateLog(str(folder), records="weighted", on_repeat="count").files()
    UpdateLog(str(folder), records="weighted", own={"Weight": "float64"}).files()
    pq.write_table(pa.table({**columns, "weight": [2.5]}), folder / "a.parquet")
    log = UpdateLog(str(folder), records="weighted")
    log.files()
    assert log.read("a.parquet", 0, 1)["weight"].to_pylist() == [2.5]


def test_a_column_of_a_file_is_taken_rather_than_one_in_its_path(folder):
    (folder / "op=delete" / "day=1").mkdir(parents=True)
    table = pa.table({"op": [1], "src": [1], "dst": [2], "day": [7]})
    pq.write_table(table, folder / "op=delete" / "day=1" / "a.parquet")
    log = UpdateLog(str(folder))
    assert log.read(log.files()[0].name, 0, 1)["op"].to_pylist() == [1]
    assert log.listing().hidden == {"op"}, "no graph has the day"
    (facts,) = inspect_log(log)
    assert facts.hidden_partitions == ("day", "op")


def test_row_groups_without_rows_are_read_over(folder):
    """Arrow writes one for each empty table, with no page and a place in the file that is none."""
    table = table_of(9)
    with pq.ParquetWriter(folder / "a.parquet", table.schema, write_page_checksum=True) as writer:
        for piece in (table[:0], table[:4], table[:0], table[:0], table[4:], table[:0]):
            writer.write_table(piece)
    log = UpdateLog(str(folder))
    for first, rows in [(0, 9), (0, 4), (3, 2), (4, 5), (8, 1)]:
        assert log.read("a.parquet", first, rows).equals(table.slice(first, rows)), (first, rows)
    assert log.files()[0].has_checksums


def test_a_short_run_of_a_long_row_group(folder):
    table = table_of(400_000)
    write_log_file(str(folder / "a.parquet"), table, row_group_rows=400_000)
    log = UpdateLog(str(folder))
    for first, rows in [(0, 10), (131_070, 5), (300_000, 50_000), (399_999, 1)]:
        assert log.read("a.parquet", first, rows).equals(table.slice(first, rows))


def test_only_what_the_records_keep_is_read(folder):
    table = table_of(3, weight=[1.0, 2, 3], ts=[5, 6, 7], colour=["a", "b", "c"])
    write_log_file(str(folder / "a.parquet"), table)
    names, lines = {}, {}
    for records in ("simple", "weighted", "semantic"):
        log = UpdateLog(str(folder), records=records)
        names[records] = log.read("a.parquet", 0, 3).column_names[3:]
        lines[records] = log.listing().not_kept
    assert names == {"simple": [], "weighted": ["weight"], "semantic": ["weight", "ts"]}
    assert lines["simple"] == (
        "weight, ts are not kept; --records semantic keeps them; "
        "not read: colour; --properties keeps numbers"
    )
    assert lines["weighted"].startswith("ts is not kept; --records semantic keeps it")
    assert lines["semantic"] == "not read: colour; --properties keeps numbers"


def test_weights_are_not_read_where_inserts_are_counted(folder):
    write_log_file(str(folder / "a.parquet"), table_of(3, weight=["1", "much", None]))
    refused(UpdateLog(str(folder), records="weighted"), "weight is of type string")
    log = UpdateLog(str(folder), records="weighted", on_repeat="count")
    assert log.read("a.parquet", 0, 3).column_names == ["op", "src", "dst"]
    assert log.listing().not_kept is None


def test_columns_of_other_names(folder):
    table = pa.table({"dst": [1, 2], "to": [3, 4], "from_account": [5, 6]})
    pq.write_table(table, folder / "a.parquet")
    log = UpdateLog(str(folder), {"src": "from_account", "dst": "to"})
    log.files()
    read = log.read("a.parquet", 0, 2)
    assert read.to_pydict() == {"src": [5, 6], "dst": [3, 4]}
    assert log.listing().not_kept == "not read: dst; --properties keeps numbers"
    refused(UpdateLog(str(folder), {"src": "from", "dst": "to"}), "'from'", "dst, to, from_account")
    for columns in ({"dst": "src"}, {"src": "a", "dst": "a"}):
        with pytest.raises(SettingsError, match=r"are both to be read from '(src|a)'; map each"):
            UpdateLog(str(folder), columns)
    UpdateLog(str(folder), {"src": "dst", "dst": "src"})
    with pytest.raises(SettingsError, match="'source' is no column of a log"):
        UpdateLog(str(folder), {"source": "from_account"})


def test_destinations_without_a_type_are_null_ids(folder):
    write_log_file(str(folder / "a.parquet"), pa.table({"src": [1, 2], "dst": pa.nulls(2)}))
    log = UpdateLog(str(folder))
    log.files()
    assert log.read("a.parquet", 0, 2)["dst"].combine_chunks() == pa.array([None, None], pa.int64())


def test_a_log_file_of_many_tables(folder):
    path = str(folder / "a.parquet")
    write_log_file(path, (table_of(5) for _ in range(3)))
    assert UpdateLog(path).files()[0].rows == 15
    encodings = pq.ParquetFile(path).metadata.row_group(0).column(1).encodings
    assert "DELTA_BINARY_PACKED" in encodings


def test_a_writer_that_fails_leaves_nothing(folder):
    def tables():
        yield table_of(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_log_file(str(folder / "a.parquet"), tables())
    assert list(folder.iterdir()) == []


def test_a_file_without_rows_is_nothing_whatever_its_types(folder):
    """Columns of an empty frame are of pandas' objects or floats, or are not there."""
    names = ["op", "src", "dst", "ts", "score"]
    pd.DataFrame({name: [] for name in names}, dtype=object).to_parquet(folder / "a.parquet")
    pd.DataFrame({name: [] for name in names}).to_parquet(folder / "b.parquet")
    pd.DataFrame().to_parquet(folder / "c.parquet")
    log = UpdateLog(str(folder), records="semantic", own={"score": "float64"})
    listing = log.listing()
    log.check_properties(listing)
    assert [file.rows for file in listing.files] == [0, 0, 0]
    assert listing.time_unit is None
    state = folder.parent / "state"
    settings = {"records": "semantic", "properties": {"score": "float32"}}
    apply_log(folder, state, 1, **settings)
    times = pa.array([5, 6], pa.timestamp("ms"))
    rows = pa.table({"src": [1, 2], "dst": [2, 3], "ts": times, "score": [0.5, 1.5]})
    pq.write_table(rows, folder / "d.parquet")
    assert log.listing().time_unit == "timestamp[ms]"
    apply_log(folder, state, 1, order_by="ts", **settings)
    assert PastGraphs(StateDirectory(state)).after_newest().num_edges == 2


# -- refusals


def test_no_log(tmp_path, folder):
    refused(UpdateLog(str(tmp_path / "nowhere")), "there is no log", "nowhere")
    refused(UpdateLog(str(folder)), "holds no Parquet, CSV or JSON file")
    refused(UpdateLog("nosuchthing://x"), "cannot be opened", "nosuchthing")
    (folder / "sub").mkdir()
    refused(UpdateLog(str(folder)), "holds no Parquet, CSV or JSON file")


def test_what_is_no_whole_parquet_file(folder):
    whole = folder / "a.parquet"
    write_log_file(str(whole), table_of(1000))
    content = whole.read_bytes()
    bad = folder / "b.parquet"
    log = UpdateLog(str(folder))
    bad.write_bytes(b"")
    refused(log, "b.parquet is empty")
    bad.write_bytes(b"src,dst\n1,2\n" * 100)
    refused(log, "b.parquet is not a Parquet file")
    for length in (4, 11, len(content) // 2, len(content) - 1):
        bad.write_bytes(content[:length])
        refused(log, "b.parquet is cut short", "copy it again")
    # The footer's length says more than the file has.
    bad.write_bytes(content[:-8] + (10**6).to_bytes(4, "little") + b"PAR1")
    refused(log, "b.parquet is cut short")
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    bad.write_bytes(content[:footer] + b"\xff" * (len(content) - footer - 8) + content[-8:])
    refused(log, "b.parquet", "footer is damaged")


def test_a_type_that_arrow_does_not_have_is_no_damage(folder):
    frame = pl.DataFrame({"src": [1], "dst": [2], "sum": pl.Series([3], dtype=pl.Int128)})
    frame.write_parquet(folder / "a.parquet")
    words = ("a.parquet", "type that Arrow does not read", "more than 64 bits", "Int64 of Polars")
    assert "damaged" not in refused(UpdateLog(str(folder)), *words)


def test_damaged_data_is_told_with_rows(folder):
    path = folder / "a.parquet"
    write_log_file(str(path), table_of(100_000))
    log = UpdateLog(str(folder))
    log.files()
    content = bytearray(path.read_bytes())
    content[200 : len(content) // 2] = b"\xff" * (len(content) // 2 - 200)
    path.write_bytes(content)
    with pytest.raises(UpdateLogError, match=r"a\.parquet: rows 10 to 19 cannot be read"):
        log.read("a.parquet", 10, 10)


def test_a_file_that_went_away_or_shrank(folder):
    path = folder / "a.parquet"
    write_log_file(str(path), table_of(10))
    log = UpdateLog(str(folder))
    with pytest.raises(UpdateLogError, match="has 10 rows, but rows 5 to 14 were planned"):
        log.read("a.parquet", 5, 10)
    path.unlink()
    with pytest.raises(UpdateLogError, match="is gone from the log"):
        log.read("a.parquet", 0, 1)


TEXT = pa.array(["a", "b"])


@pytest.mark.parametrize(
    ("columns", "records", "words"),
    [
        ({"src": [1, 2]}, "simple", ["no column dst", "the file has src", "columns.dst="]),
        ({"src": [1], "dst": [2]}, "semantic", ["no column ts", "semantic records need"]),
        ({"src": TEXT, "dst": [1, 2]}, "simple", ["src", "string", "ids='string' takes names"]),
        (
            {"src": TEXT.dictionary_encode(), "dst": [1, 2]},
            "simple",
            ["ids='string' takes names as they are"],
        ),
        ({"src": [1, 2], "dst": [0.5, 1]}, "simple", ["dst", "double", "int64"]),
        ({"src": [1, 2], "dst": [True, False]}, "simple", ["dst", "bool"]),
        ({"op": [1.0], "src": [1], "dst": [1]}, "simple", ["op", "double", "insert and delete"]),
        ({"src": [1, 2], "dst": [1, 2], "weight": TEXT}, "weighted", ["weight", "string"]),
        (
            {"src": [1], "dst": [1], "weight": pa.array([Decimal("1.25")])},
            "weighted",
            ["weight is of type decimal128(3, 2); decimals are not read: write float64, or int"],
        ),
        ({"src": [1], "dst": [1], "ts": [0.5]}, "semantic", ["ts", "double", "timestamps"]),
        ({"src": [1], "dst": [1], "ts": [1], "type": [0.5]}, "semantic", ["type", "int32"]),
    ],
)
def test_columns_without_a_meaning(folder, columns, records, words):
    pq.write_table(pa.table(columns), folder / "a.parquet")
    refused(UpdateLog(str(folder), records=records), "a.parquet", *words)


def test_types_with_a_meaning(folder):
    for number, (op, ids) in enumerate(
        [
            (pa.array([1], pa.int64()), pa.array([1], pa.uint8())),
            (pa.array(["insert"]), pa.array([1], pa.uint64())),
            (pa.array(["insert"], pa.large_string()), pa.array([1], pa.int32())),
            (pa.array(["insert"]).dictionary_encode(), pa.array([1], pa.int16())),
        ]
    ):
        pq.write_table(pa.table({"op": op, "src": ids, "dst": ids}), folder / f"{number}.parquet")
    assert len(UpdateLog(str(folder)).files()) == 4


def times(kind):
    return pa.table({"src": [1], "dst": [2], "ts": pa.array([5], pa.int64()).cast(kind)})


def test_dates_are_the_times_at_which_they_begin(folder):
    """As those of CSV are; seconds and dates go together in one log."""
    days = pa.array([-1, 0, 19_000], pa.int32()).cast(pa.date32())
    ids = [1, 2, 3]
    pq.write_table(pa.table({"src": ids, "dst": ids, "ts": days}), folder / "a.parquet")
    pq.write_table(times(pa.timestamp("ms")), folder / "b.parquet")
    log = UpdateLog(str(folder), records="semantic")
    assert log.listing().time_unit == "timestamp[s]"
    read = log.read("a.parquet", 0, 3)
    assert read["ts"].cast(pa.int64()).to_pylist() == [-86_400, 0, 19_000 * 86_400]
    assert read.schema.field("ts").type == pa.timestamp("s")
    pq.write_table(times(pa.int64()), folder / "b.parquet")
    refused(UpdateLog(str(folder), records="semantic"), "b.parquet", "a.parquet has timestamp[s]")


def test_times_that_go_together(folder):
    pq.write_table(times(pa.timestamp("us", "UTC")), folder / "a.parquet")
    log = UpdateLog(str(folder), records="semantic")
    assert log.listing().time_unit == "timestamp[us, tz=UTC]"
    for other in (pa.timestamp("us"), pa.int64()):
        pq.write_table(times(other), folder / "b.parquet")
        again = UpdateLog(str(folder), records="semantic")
        refused(again, "b.parquet", "a.parquet has timestamp[us, tz=UTC]", str(other))
        assert len(UpdateLog(str(folder)).files()) == 2, "who keeps no times need not care"
    # Counts of other parts of a second, and zones, are of the same moments: they are converted.
    for other in (pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Rome")):
        pq.write_table(times(other), folder / "b.parquet")
        again = UpdateLog(str(folder), records="semantic")
        assert len(again.files()) == 2
        assert again.listing().time_unit == "timestamp[us, tz=UTC]"
    (folder / "b.parquet").unlink()
    known = UpdateLog(str(folder), records="semantic", time_unit="int64")
    refused(known, "a.parquet", "the state was made with int64")


@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
@pytest.mark.parametrize("name", ["op", "src", "dst", "weight", "type", "ts"])
def test_two_columns_of_one_name(folder, name, records):
    names = ["src", "dst", "ts", *[name] * (1 if name in ("src", "dst", "ts") else 2)]
    table = pa.Table.from_arrays([pa.array([1])] * len(names), names=names)
    pq.write_table(table, folder / "a.parquet")
    refused(UpdateLog(str(folder), records=records), f"two columns '{name}'")


@pytest.mark.parametrize("groups", [1, 3])
def test_times_beyond_nanoseconds_are_refused_where_a_file_has_int96(
    tmp_path: Path, groups: int
) -> None:
    """Spark writes them so by default: 3000 was read as 1830, as Arrow gives nanoseconds."""
    times = [datetime(2024, 1, 1), None, datetime(1700, 1, 1), datetime(2262, 1, 1)]

    def write(*more: datetime) -> None:
        rows = [*times, *more]
        columns = {"src": [1] * len(rows), "dst": [2] * len(rows)}
        stamps = pa.array(rows, pa.timestamp("us"))
        pq.write_table(
            pa.table({**columns, "ts": stamps}), tmp_path / "a.parquet",
            use_deprecated_int96_timestamps=True, row_group_size=-(-len(rows) // groups),
        )  # fmt: skip

    log = UpdateLog(str(tmp_path), records="semantic")
    write()
    assert log.read("a.parquet", 0, 4)["ts"].cast(pa.timestamp("us")).to_pylist() == times
    write(datetime(3000, 1, 1))
    assert log.read("a.parquet", 0, 4).num_rows == 4
    with pytest.raises(UpdateLogError, match=r"a.parquet, row 4: ts is 3000-01-01 .* of INT96"):
        log.read("a.parquet", 2, 3)
    write(datetime(1, 1, 1))
    with pytest.raises(UpdateLogError, match=r"row 4: ts is 0001-01-01"):
        log.read("a.parquet", 4, 1)
