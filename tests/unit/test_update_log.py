"""Update logs: what is listed, read and refused."""

import errno
import io
import pickle

import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import UpdateLogError
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.log.columns.id_bounds import bounds_of
from graphtide.io.log.conversion import table_to_batch
from graphtide.io.log.file_errors import GoneFileError, UnreadableRowsError
from graphtide.io.log.log_listing import check_properties, listing_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.row_origin import RowOrigin
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.parquet.footers import read_footer
from graphtide.io.parquet.parquet_files import ParquetLogFile
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.replay import PastGraphs
from made_state import apply_log
from parquet_logs import refused, table_of


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "log"
    path.mkdir()
    return path


# -- listing


def test_files_come_in_the_natural_order_of_their_names(folder):
    for name, rows in [("b", 2), ("a-10", 3), ("a-9", 4), ("a", 5)]:
        write_log_file(str(folder / f"{name}.parquet"), table_of(rows))
    files = listing_of(UpdateLog(str(folder))).files
    assert [file.name for file in files] == [
        "a.parquet",
        "a-9.parquet",
        "a-10.parquet",
        "b.parquet",
    ]
    assert [file.rows for file in files] == [5, 4, 3, 2]
    assert files[0].size == (folder / "a.parquet").stat().st_size


def test_a_log_that_dask_wrote_is_read_in_the_order_of_its_parts(folder):
    import dask.dataframe
    import pandas

    frame = pandas.DataFrame({"src": range(24), "dst": range(1, 25)})
    parts = dask.dataframe.from_pandas(frame, npartitions=12)
    # Whichever scheduler a client of another test has made the default.
    parts.to_parquet(folder, write_index=False, compute_kwargs={"scheduler": "threads"})
    log = UpdateLog(str(folder))
    sources = [
        src
        for file in listing_of(log).files
        for src in log.read(file.name, 0, 2)["src"].to_pylist()
    ]
    assert sources == list(range(24))


def test_listing_a_log_leaves_it_as_it_was(folder):
    write_log_file(str(folder / "a.parquet"), table_of(2, ts=[5, 6]))
    log = UpdateLog(str(folder), records="semantic")
    before = pickle.dumps(log)
    assert listing_of(log).time_unit == "int64"
    assert pickle.dumps(log) == before
    write_log_file(str(folder / "a.parquet"), table_of(2, ts=pa.array([5, 6], pa.timestamp("us"))))
    assert listing_of(log).time_unit == "timestamp[us]", "what was listed before is no demand"


def test_names_of_writers_at_work_are_ignored(folder):
    write_log_file(str(folder / "a.parquet"), table_of(1))
    for name in ("_SUCCESS", ".a.parquet.crc", "b.parquet.tmp"):
        (folder / name).write_bytes(b"x")
    (folder / "_delta").mkdir()
    assert [file.name for file in listing_of(UpdateLog(str(folder))).files] == ["a.parquet"]


def test_one_file_is_a_log(folder):
    path = str(folder / "a.parquet")
    write_log_file(path, table_of(7))
    (folder / "note.txt").write_text("not looked at")
    for address in (path, f"file://{path}"):
        log = UpdateLog(address)
        assert [file.name for file in listing_of(log).files] == ["a.parquet"]
        assert log.read("a.parquet", 2, 3)["src"].to_pylist() == [2, 3, 4]


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_log_at_a_url(folder, scheme):
    address = f"file://{folder}" if scheme == "file" else "memory://test-log/deep"
    for name in ("b", "a"):
        write_log_file(f"{address}/{name}.parquet", table_of(10), row_group_rows=4)
    log = pickle.loads(pickle.dumps(UpdateLog(address)))
    files = listing_of(log).files
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
        prints.append(listing_of(UpdateLog(str(folder))).files[0].fingerprint)
    assert prints[0].split("-")[0] == prints[1].split("-")[0], "the sizes differ anyway"
    assert prints[0] != prints[1]


def test_the_fingerprint_tells_a_changed_file(folder):
    path = folder / "a.parquet"
    write_log_file(str(path), table_of(10))
    before = listing_of(UpdateLog(str(folder))).files[0]
    assert listing_of(UpdateLog(str(folder))).files[0] == before
    write_log_file(str(path), table_of(10, weight=np.zeros(10)))
    log = UpdateLog(str(folder))
    assert listing_of(log).files[0].fingerprint != before.fingerprint
    with pytest.raises(UpdateLogError, match=r"a\.parquet has changed since it was planned"):
        log.read("a.parquet", 0, 1, fingerprint=before.fingerprint)


def test_a_file_without_rows_is_legal(folder):
    write_log_file(str(folder / "a.parquet"), table_of(0))
    log = UpdateLog(str(folder))
    assert listing_of(log).files[0].rows == 0
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
    place = {"meaning": row_meaning(self_loops="keep"), "origin": RowOrigin("a", 1), "batch_id": 0}
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


def test_a_row_group_of_vertices_alone_has_no_bounds(folder):
    """Of nulls alone a file says neither the lowest nor the highest one."""
    table = pa.table({"src": [1, 2, 3, 4], "dst": pa.array([5, 6, None, None], pa.int64())})
    pq.write_table(table, folder / "a.parquet", row_group_size=2)
    log = UpdateLog(str(folder))
    assert bounds_of(log.read("a.parquet", 0, 2)) == (1, 2, 5, 6)
    for first, rows in ((0, 4), (2, 2)):
        found = log.read("a.parquet", first, rows)
        assert bounds_of(found) is None
        assert found.equals(table.slice(first, rows))


def test_row_groups_without_rows_are_read_over(folder):
    """Arrow writes one for each empty table, with no page and a place in the file that is none."""
    table = table_of(9)
    with pq.ParquetWriter(folder / "a.parquet", table.schema, write_page_checksum=True) as writer:
        for piece in (table[:0], table[:4], table[:0], table[:0], table[4:], table[:0]):
            writer.write_table(piece)
    log = UpdateLog(str(folder))
    for first, rows in [(0, 9), (0, 4), (3, 2), (4, 5), (8, 1)]:
        assert log.read("a.parquet", first, rows).equals(table.slice(first, rows)), (first, rows)
    assert listing_of(log).files[0].has_checksums


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
        lines[records] = listing_of(log).not_kept
    assert names == {"simple": [], "weighted": ["weight"], "semantic": ["weight", "ts"]}
    assert lines["simple"] == (
        "weight, ts are not kept; --records semantic keeps them; "
        "not read: colour; --properties keeps numbers"
    )
    assert lines["weighted"].startswith("ts is not kept; --records semantic keeps it")
    assert lines["semantic"] == "not read: colour; --properties keeps numbers"


def test_a_column_of_one_file_alone_is_told_if_it_is_not_kept(folder):
    for name, more in (("a", {}), ("b", {"weight": [0.5]}), ("c", {})):
        pq.write_table(pa.table({"src": [1], "dst": [2], **more}), folder / f"{name}.parquet")
    told = listing_of(UpdateLog(str(folder))).not_kept
    assert told == "weight is not kept; --records weighted keeps it"


def test_columns_that_are_not_read_are_named_in_their_order_up_to_a_dozen(folder):
    columns = {"": [0], **{f"f{number}": [0.5] for number in range(300)}}
    write_log_file(str(folder / "a.parquet"), table_of(1, **columns))
    first = ", ".join(f"f{number}" for number in range(11))
    assert listing_of(UpdateLog(str(folder))).not_kept == (
        f"not read: '', {first} and 289 others; --properties keeps numbers"
    )


def test_weights_that_are_in_no_file_are_told(folder):
    write_log_file(str(folder / "a.parquet"), table_of(3, amount=[1.5, 2, 3]))
    told = "there is no column weight, so each weight is 1; --set columns.weight=NAME names it; not"
    for kind, is_told in [
        ({"records": "weighted"}, True),
        ({"records": "weighted", "on_repeat": "count"}, False),
        ({"records": "weighted", "columns": {"weight": "amount"}}, False),
        ({"records": "simple"}, False),
    ]:
        line = listing_of(UpdateLog(str(folder), **kind)).not_kept or ""
        assert line.startswith(told) == is_told, kind


def test_a_property_that_no_file_has_is_refused_with_the_flag_that_maps_it(folder):
    pq.write_table(pa.table({"src": [1], "dst": [2], "amount": [0.5]}), folder / "a.parquet")
    log = UpdateLog(str(folder), own={"amt": "float64"})
    with pytest.raises(UpdateLogError, match=r"has a column amt.*: --set columns\.amt=NAME"):
        check_properties(log, listing_of(log))


def test_a_file_without_rows_is_nothing_whatever_its_types(folder):
    """Columns of an empty frame are of pandas' objects or floats, or are not there."""
    names = ["op", "src", "dst", "ts", "score"]
    pd.DataFrame({name: [] for name in names}, dtype=object).to_parquet(folder / "a.parquet")
    pd.DataFrame({name: [] for name in names}).to_parquet(folder / "b.parquet")
    pd.DataFrame().to_parquet(folder / "c.parquet")
    log = UpdateLog(str(folder), records="semantic", own={"score": "float64"})
    listing = listing_of(log)
    check_properties(log, listing)
    assert [file.rows for file in listing.files] == [0, 0, 0]
    assert listing.time_unit is None
    state = folder.parent / "state"
    settings = {"records": "semantic", "properties": {"score": "float32"}}
    apply_log(folder, state, 1, **settings)
    times = pa.array([5, 6], pa.timestamp("ms"))
    rows = pa.table({"src": [1, 2], "dst": [2, 3], "ts": times, "score": [0.5, 1.5]})
    pq.write_table(rows, folder / "d.parquet")
    assert listing_of(log).time_unit == "timestamp[ms]"
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
    listing_of(log)
    content = bytearray(path.read_bytes())
    content[200 : len(content) // 2] = b"\xff" * (len(content) // 2 - 200)
    path.write_bytes(content)
    with pytest.raises(UnreadableRowsError, match=r"a\.parquet: rows 10 to 19 .*is damaged: copy"):
        log.read("a.parquet", 10, 10)


def test_rows_that_a_store_does_not_give_are_not_damaged():
    """They may be there again, so they are never left out."""

    class Store(io.BytesIO):
        answers = True

        def read(self, size=-1):
            if not self.answers:
                raise OSError(errno.EIO, "no answer")
            return super().read(size)

    sink = pa.BufferOutputStream()
    pq.write_table(table_of(10), sink)
    store = Store(sink.getvalue().to_pybytes())
    file = ParquetLogFile(store, "a.parquet", ())
    store.answers = False
    with pytest.raises(UpdateLogError, match=r"rows 2 to 4 .*no answer.*run again when") as caught:
        file.read(["src"], 2, 3)
    assert type(caught.value) is UpdateLogError


def test_a_file_that_went_away_or_shrank(folder):
    path = folder / "a.parquet"
    write_log_file(str(path), table_of(10))
    log = UpdateLog(str(folder))
    with pytest.raises(UpdateLogError, match="has 10 rows, but rows 5 to 14 were planned"):
        log.read("a.parquet", 5, 10)
    path.unlink()
    for address in (folder, path):
        with pytest.raises(UpdateLogError, match=rf"^{folder}/a\.parquet is gone from the log"):
            UpdateLog(str(address)).read("a.parquet", 0, 1)


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOENT, GoneFileError), (errno.EIO, UpdateLogError)]
)
def test_a_file_is_gone_where_a_store_that_opens_without_looking_says_so(number, kind):
    """What cannot be read just now may be there again: it is not gone."""

    class File:
        def seek(self, *_):
            raise OSError(number, "no")

    with pytest.raises(UpdateLogError, match=r"a\.parquet") as caught:
        read_footer(File(), "a.parquet")
    assert type(caught.value) is kind
