"""Parquet files of a log as graphtide writes them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.parquet.page_checks import read_header
from parquet_logs import table_of


def test_columns_are_packed_and_those_of_whole_numbers_not_compressed(tmp_path):
    path = tmp_path / "a.parquet"
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
def test_ids_of_32_bits_are_stored_as_they_are(tmp_path, dtype):
    path = tmp_path / "a.parquet"
    ids = np.arange(1000, dtype=dtype)
    table = pa.table({"src": ids, "dst": ids[::-1], "op": np.ones(1000, np.int8)})
    write_log_file(str(path), table)
    group = pq.ParquetFile(path).metadata.row_group(0)
    encodings = [set(group.column(number).encodings) for number in range(3)]
    assert [("DELTA_BINARY_PACKED" in each) for each in encodings] == [False, False, True]
    assert group.column(0).total_compressed_size < 4 * ids.size + 200
    assert UpdateLog(str(path)).read("a.parquet", 0, 1000)["src"].to_pylist() == ids.tolist()


def test_a_column_of_a_row_group_is_one_page(tmp_path):
    """Each page has a header, whose check costs more than that of its bytes."""
    path, rows = tmp_path / "a.parquet", 25_000
    weights = pa.array([None, *np.linspace(0, 1, 2 * rows - 1)])
    write_log_file(str(path), table_of(2 * rows, weight=weights), row_group_rows=rows)
    content, metadata = memoryview(path.read_bytes()), pq.read_metadata(path)
    for column in (metadata.row_group(g).column(n) for g in range(2) for n in range(4)):
        assert read_header(content, column.data_page_offset).num_values == rows


def test_a_log_file_of_many_tables(tmp_path):
    path = str(tmp_path / "a.parquet")
    write_log_file(path, (table_of(5) for _ in range(3)))
    assert listing_of(UpdateLog(path)).files[0].rows == 15
    encodings = pq.ParquetFile(path).metadata.row_group(0).column(1).encodings
    assert "DELTA_BINARY_PACKED" in encodings


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    def tables():
        yield table_of(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_log_file(str(tmp_path / "a.parquet"), tables())
    assert list(tmp_path.iterdir()) == []
