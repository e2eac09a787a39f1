"""Parquet files that several threads write: pyarrow reads what was given, whatever the groups."""

import io
import os
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.io.parquet.file_writer import file_writer, write_file
from graphtide.io.parquet.footer_checks import FooterError, check_file


def some_table(rows: int) -> pa.Table:
    """Columns of each kind that is written, some with nulls."""
    rng = np.random.default_rng(rows)
    names = [f"name {number}" if number % 5 else None for number in range(rows)]
    return pa.table(
        {
            "src": rng.integers(-(2**62), 2**62, rows),
            "op": rng.integers(0, 2, rows, dtype=np.uint8),
            "rank": rng.random(rows),
            "repeats": rng.integers(0, 9, rows) / 8,
            "name": pa.array(names, pa.string()),
            "present": pa.array(rng.random(rows) < 0.5),
            "ts": pa.array(rng.integers(0, 2**40, rows), pa.timestamp("us", "UTC")),
            "raw": pa.array([bytes([number % 256] * 3) for number in range(rows)]),
        },
    ).replace_schema_metadata({"of the caller": "kept"})


def write_all(file: io.BytesIO, tables: list[pa.Table], row_group_rows: int, **arguments) -> None:
    """Write tables of the schema of the first, in turn."""
    with file_writer(file, tables[0].schema, **arguments) as writer:
        for table in tables:
            writer.write(table, row_group_rows)


def content_of(table: pa.Table, row_group_rows: int, **arguments) -> bytes:
    """Bytes of the file of a table."""
    file = io.BytesIO()
    write_all(file, [table], row_group_rows, **arguments)
    return file.getvalue()


@pytest.mark.parametrize(("rows", "group"), [(0, 10), (1, 10), (10, 10), (95, 10), (1000, 3)])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"use_dictionary": False, "compression": "none", "write_page_checksum": True},
        {"column_encoding": {"src": "DELTA_BINARY_PACKED"}, "use_dictionary": ["name", "repeats"]},
        {"write_statistics": False, "data_page_version": "2.0", "compression": "zstd"},
    ],
    ids=["as pyarrow", "plain", "encoded", "version 2"],
)
def test_a_file_has_the_rows_and_groups_that_pyarrow_writes(rows, group, arguments):
    table = some_table(rows)
    content = content_of(table, group, **arguments)
    check_file(memoryview(content))
    plain = io.BytesIO()
    pq.write_table(table, plain, row_group_size=group, **arguments)
    with pq.ParquetFile(io.BytesIO(content)) as file, pq.ParquetFile(plain) as expected:
        read = file.read()
        assert read.equals(table)
        assert read.schema.metadata[b"of the caller"] == b"kept"
        assert file.metadata.num_rows == rows
        for number in range(file.num_row_groups):
            at = number * group
            assert file.read_row_group(number).equals(table.slice(at, group))
        # Sizes, positions, statistics: all that the footer says.
        ours, theirs = file.metadata.to_dict(), expected.metadata.to_dict()
        assert ours["row_groups"] == theirs["row_groups"]


def test_bytes_do_not_depend_on_the_number_of_threads(monkeypatch):
    table = some_table(5000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(1))
    alone = content_of(table, 7)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64))
    assert content_of(table, 7) == alone


def test_each_byte_is_covered_by_a_checksum():
    content = content_of(some_table(50), 20)
    for at in random.Random(1).sample(range(len(content)), 500):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(FooterError):
            check_file(memoryview(damaged))


def test_a_table_of_another_schema_is_refused_and_no_footer_is_written():
    file, table = io.BytesIO(), some_table(30)
    with pytest.raises(ValueError, match="schema"):
        write_all(file, [table, table.drop_columns(["op"])], 2)
    assert not file.getvalue().endswith(b"PAR1", 4)


def test_a_file_is_written_to_its_path(tmp_path):
    table = some_table(300)
    write_file(tmp_path / "a.parquet", table, 100)
    assert pq.read_table(tmp_path / "a.parquet").equals(table)
    assert pq.read_metadata(tmp_path / "a.parquet").num_row_groups == 3


def test_a_row_group_may_be_longer_than_those_of_pyarrow():
    table = pa.table({"src": np.arange(2**20 + 3)})
    content = content_of(table, 2**21)
    with pq.ParquetFile(io.BytesIO(content)) as file:
        assert file.num_row_groups == 1
        assert file.read().equals(table)
