"""Columns that are views of a mapped file: which are, and that they are what is decoded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.io.log import log_writer
from graphtide.io.log.columns.column_types import OP_BYTES, op_bytes
from graphtide.io.log.columns.id_bounds import bounds_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.parquet.file_bytes import FileBytes
from graphtide.io.parquet.plain_columns import plain_column

#: Fewer than Arrow puts into a page unless told otherwise.
ROWS = 16_000


def table_of(id_type: pa.DataType, rows: int = ROWS) -> pa.Table:
    random = np.random.default_rng(rows)
    columns = {
        "op": op_bytes(random.choice(np.array([1, -1], np.int8), rows)),
        "src": pa.array(random.integers(0, 1 << 31, rows), id_type),
        "dst": pa.array(np.arange(rows), id_type),
    }
    return pa.table(columns, schema=required(columns))


def required(columns: dict[str, pa.Array]) -> pa.Schema:
    return pa.schema([pa.field(name, c.type, nullable=False) for name, c in columns.items()])


def bytes_of(path: Path) -> FileBytes:
    with fsspec.open(str(path)) as file:
        return FileBytes(file)


def views(path: Path) -> dict[str, pa.ChunkedArray | None]:
    metadata = pq.read_metadata(path)
    groups = range(metadata.num_row_groups)
    schema = metadata.schema.to_arrow_schema()
    data = bytes_of(path)
    return {
        name: plain_column(data, metadata, groups, name, schema.field(name).type)
        for name in schema.names
    }


def write(path: Path, table: pa.Table, **how: Any) -> None:
    plain: dict[str, Any] = {"use_dictionary": False, "compression": "none"}
    pq.write_table(table, path, **{**plain, "column_encoding": None, **how})


@pytest.mark.parametrize("id_type", [pa.int32(), pa.uint32()])
def test_a_log_of_narrow_ids_is_viewed(tmp_path: Path, id_type: pa.DataType) -> None:
    table = table_of(id_type)
    path = tmp_path / "a.parquet"
    write_log_file(str(path), table)
    for name, column in views(path).items():
        assert column is not None, f"{name} is decoded"
        assert column.num_chunks == 1
        assert column.equals(table[name])
    log = UpdateLog(str(path))
    for first, rows in [(0, ROWS), (0, 0), (ROWS - 1, 1), (12_345, 3_000)]:
        read = log.read("a.parquet", first, rows)
        assert read.cast(table.schema).equals(table.slice(first, rows))


@pytest.mark.parametrize("id_type", [pa.int64(), pa.uint64()])
def test_plain_columns_of_others_are_viewed(tmp_path: Path, id_type: pa.DataType) -> None:
    table = table_of(id_type)
    write(tmp_path / "a.parquet", table, row_group_size=5_000)
    for name, column in views(tmp_path / "a.parquet").items():
        assert column is not None
        assert column.equals(table[name])


def as_long_when_compressed() -> np.ndarray:
    random = np.random.default_rng(0)
    for equal_bytes in range(20, 60):
        ids = np.frombuffer(random.bytes(256 - equal_bytes) + bytes(equal_bytes), np.int32)
        if len(pa.compress(ids.tobytes(), "gzip")) == ids.nbytes:
            return ids
    pytest.fail("no such ids")


def decoded() -> Iterator[Any]:
    """Files whose ``src`` is no view, each for one reason."""
    plain = table_of(pa.int32())
    ids = plain["src"].combine_chunks()
    yield "packed", plain, {"column_encoding": {"src": "DELTA_BINARY_PACKED"}}
    yield "compressed", plain, {"compression": {"src": "zstd"}}
    yield "dictionary", plain, {"use_dictionary": ["src"]}
    yield "several pages", plain, {"data_page_size": 1_000}
    yield "other pages", plain, {"data_page_version": "2.0"}
    yield "split", plain, {"column_encoding": {"src": "BYTE_STREAM_SPLIT"}}
    yield "nullable", pa.table({"src": ids}), {}
    # Marks of nulls that take as many bytes as the values that are not there.
    marks = np.isin(np.arange(128), [0, 1, 32, 64, 96])
    yield "nulls", pa.table({"src": pa.array(np.arange(128), pa.int32(), mask=marks)}), {}
    as_long = {"src": pa.array(as_long_when_compressed())}
    gzip = {"compression": "gzip"}
    yield "compressed, as long", pa.table(as_long, schema=required(as_long)), gzip
    for values in (np.ones(ROWS, np.int8), np.ones(ROWS)):
        other = {"src": pa.array(values)}
        yield str(values.dtype), pa.table(other, schema=required(other)), {}


@pytest.mark.parametrize(
    ("table", "how"), [pytest.param(*rest, id=name) for name, *rest in decoded()]
)
def test_all_else_is_decoded(tmp_path: Path, table: pa.Table, how: dict[str, Any]) -> None:
    write(tmp_path / "a.parquet", table, **how)
    assert views(tmp_path / "a.parquet")["src"] is None


def test_a_file_that_is_shorter_than_it_says_is_not_viewed(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_log_file(str(path), table_of(pa.int32()))
    metadata = pq.read_metadata(path)
    whole = metadata.row_group(0).column(0).total_compressed_size + 4
    for size, is_viewed in ((whole, True), (whole - 1, False)):
        path.write_bytes(path.read_bytes()[:size])
        assert (
            plain_column(bytes_of(path), metadata, [0], "op", OP_BYTES) is not None
        ) == is_viewed


def test_columns_that_are_decoded_and_views_make_one_table(tmp_path: Path) -> None:
    table = table_of(pa.int32()).append_column("weight", pa.array(np.arange(ROWS) / 2))
    write_log_file(str(tmp_path / "a.parquet"), table, row_group_rows=7_000)
    log = UpdateLog(str(tmp_path), records="weighted")
    for first, rows in [(0, ROWS), (6_999, 2), (7_000, 7_000), (15_000, 0), (13_000, 3_000)]:
        read = log.read("a.parquet", first, rows)
        assert read.cast(table.schema).equals(table.slice(first, rows)), (first, rows)


def test_tables_in_turn_become_groups_of_the_rows_that_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_writer, "_PLAIN_GROUP_ROWS", 10_000)
    table = table_of(pa.int32(), 32_000)
    parts = (table.slice(first, 4_000) for first in range(0, 32_000, 4_000))
    write_log_file(str(tmp_path / "a.parquet"), parts)
    metadata = pq.read_metadata(tmp_path / "a.parquet")
    groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert groups == [10_000, 10_000, 10_000, 2_000]
    assert pq.read_table(tmp_path / "a.parquet").equals(table)
    assert table.schema.field("op").type == OP_BYTES


def test_a_column_is_not_taken_for_one_within_another(tmp_path: Path) -> None:
    ids = pa.array(np.arange(ROWS, dtype=np.int32))
    others = pa.array(np.arange(ROWS, 0, -1, dtype=np.int32))
    within = pa.StructArray.from_arrays([others], fields=[pa.field("b", pa.int32(), False)])
    columns = {"a": within, "a.b": ids, "dst": ids}
    write(tmp_path / "a.parquet", pa.table(columns, schema=required(columns)))
    log = UpdateLog(str(tmp_path), columns={"src": "a.b"})
    read = log.read("a.parquet", 0, ROWS)
    assert read["src"].equals(pa.chunked_array([ids]))
    assert bounds_of(read) == (0, ROWS - 1, 0, ROWS - 1)


def test_a_chunk_with_a_dictionary_has_more_than_one_page(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = {"src": table_of(pa.int32())["src"].combine_chunks()}
    write(path, pa.table(columns, schema=required(columns)))
    assert views(path)["src"] is not None
    # The first chunk of a file begins at byte 4, which is 8 in Thrift's compact form.
    page, statistics, dictionary = b"\x26\x08", b"\x3c", b"\x26\x08\x1c"
    written, length = path.read_bytes(), int.from_bytes(path.read_bytes()[-8:-4], "little")
    footer = written[-8 - length : -8]
    assert footer.count(page + statistics) == 1
    footer = footer.replace(page + statistics, page + dictionary)
    trailer = len(footer).to_bytes(4, "little") + written[-4:]
    path.write_bytes(written[: -8 - length] + footer + trailer)
    assert pq.read_metadata(path).row_group(0).column(0).has_dictionary_page
    assert views(path)["src"] is None
