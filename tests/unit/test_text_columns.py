"""Columns of text that are decoded without Arrow: they are what Arrow reads, or left to it."""

import io
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.gpu_core.names.text_pages import DAMAGED, read_numbers, read_strings
from graphtide.io.parquet.file_bytes import FileBytes
from graphtide.io.parquet.text_columns import text_column

ROWS = 3000
#: Of all lengths around a word, empty ones and others than ASCII among them.
POOL = ["", "é", "名前", *("n" * (at % 23) + str(at) for at in range(700))]


def names(seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [POOL[at] for at in random.integers(0, len(POOL), ROWS)]


def file_of(column: pa.Array, *, nullable: bool = True, **how: Any) -> io.BytesIO:
    file = io.BytesIO()
    schema = pa.schema([pa.field("src", column.type, nullable=nullable)])
    # Several pages, and dictionaries that are given up in the middle.
    few = {"data_page_size": 4000, "dictionary_pagesize_limit": 4000, "write_batch_size": 256}
    pq.write_table(pa.table([column], schema=schema), file, **few, **how)
    return file


def decoded(file: io.BytesIO, metadata: Any = None) -> pa.ChunkedArray | None:
    metadata = metadata or pq.read_metadata(file)
    kind = metadata.schema.to_arrow_schema().field(0).type
    groups = range(metadata.num_row_groups)
    return text_column(FileBytes(file), metadata, groups, "src", kind)


@pytest.mark.parametrize(
    ("kind", "nullable", "compression", "use_dictionary"),
    [*product([pa.string(), pa.large_string()], [True, False], ["none", "snappy", "zstd"], [1, 0])],
)
def test_a_column_is_what_arrow_reads(
    kind: pa.DataType, nullable: bool, compression: str, use_dictionary: int
) -> None:
    column = pa.array(names(1), kind)
    file = file_of(
        column,
        nullable=nullable,
        compression=compression,
        use_dictionary=bool(use_dictionary),
        row_group_size=ROWS // 2 + 7,
    )
    found = decoded(file)
    assert found is not None, "it is left to Arrow"
    assert found.type == kind
    found.validate(full=True)
    assert found.to_pylist() == names(1)


def test_a_column_may_begin_with_a_dictionary_or_be_one() -> None:
    """As Arrow writes names: numbers until there are too many, then plain pages."""
    for pool, encodings in ((ROWS, {"PLAIN", "RLE", "RLE_DICTIONARY"}), (3, None)):
        texts = [f"{at % pool}" * (at % 3) for at in range(ROWS)]
        file = file_of(pa.array(texts))
        chunk = pq.read_metadata(file).row_group(0).column(0)
        assert encodings is None or set(chunk.encodings) == encodings
        found = decoded(file)
        assert found is not None
        assert found.to_pylist() == texts


@pytest.mark.parametrize(
    "how",
    [
        {"data_page_version": "2.0"},
        {"compression": "gzip"},
        {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
        {"use_dictionary": False, "column_encoding": "DELTA_LENGTH_BYTE_ARRAY"},
    ],
)
def test_what_is_stored_otherwise_is_left_to_arrow(how: dict[str, Any]) -> None:
    assert decoded(file_of(pa.array(names(2)), **how)) is None


def test_a_column_with_nulls_and_other_types_are_left_to_arrow() -> None:
    texts: list[str | None] = [*names(3)[:-1], None]
    assert decoded(file_of(pa.array(texts))) is None
    assert decoded(file_of(pa.array([b"1", b"2"]))) is None
    assert decoded(file_of(pa.array([["1"], ["2"]]))) is None


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_damage_is_never_read_as_other_text_than_arrow_reads(compression: str) -> None:
    """No checksum tells here. Each byte that says a length, a number or a level may be wrong."""
    whole = file_of(pa.array(names(4)[:900]), compression=compression)
    metadata = pq.read_metadata(whole)
    chunk = metadata.row_group(0).column(0)
    random = np.random.default_rng(5)
    refused = 0
    for at in random.integers(4, chunk.total_compressed_size, 400).tolist():
        content = bytearray(whole.getvalue())
        content[at] ^= int(random.integers(1, 256))
        file = io.BytesIO(bytes(content))
        found = decoded(file, metadata)
        if found is None:
            refused += 1
            continue
        try:
            expected = pq.ParquetFile(file, metadata=metadata).read()["src"]
        except (OSError, pa.ArrowException):
            # Arrow looks at what has no meaning, too: the header of a page.
            expected = None
        binary = pa.binary()
        if expected is not None:
            assert found.cast(binary).equals(expected.cast(binary)), f"byte {at}"
    assert refused > 20, "no damage was found at all: the test tests nothing"


def test_no_length_and_no_number_leads_out_of_a_page() -> None:
    def read(page: bytes, count: int) -> int:
        starts, data = np.zeros(count + 1, np.int64), np.empty(len(page) + 8, np.uint8)
        return int(read_strings(np.frombuffer(page, np.uint8), 0, count, starts, data))

    page = b"\3\0\0\0abc\0\0\0\0"
    assert read(page, 2) == 3
    assert read(page, 3) == DAMAGED, "there is no third one"
    assert read(page[:6], 1) == DAMAGED, "it ends in the middle of a string"
    assert read(b"\xff\xff\xff\xff" + b"a" * 60, 1) == DAMAGED, "a length of 4 GiB"

    def numbers(page: bytes, words: int, count: int) -> list[int] | None:
        out = np.empty(count, np.int32)
        is_damaged = read_numbers(np.frombuffer(page, np.uint8), 0, words, out) == DAMAGED
        return None if is_damaged else out.tolist()

    # Three bits each: five times the 6, then 0 … 7 packed.
    runs = bytes([3, 5 << 1, 6, 1 << 1 | 1, 0x88, 0xC6, 0xFA])
    assert numbers(runs, 8, 13) == [6] * 5 + list(range(8))
    assert numbers(runs, 7, 13) is None, "the dictionary has no word 7"
    assert numbers(runs, 8, 14) is None, "there is no fourteenth one"
    assert numbers(runs[:-1], 8, 13) is None, "the last numbers are cut off"
    assert numbers(b"", 8, 1) is None
    assert numbers(bytes([33, 2, 0, 0, 0, 0, 0]), 8, 1) is None, "no number has 33 bits"
    assert numbers(bytes([0, 4]), 1, 2) == [0, 0], "a dictionary of one word takes no bits"


def test_a_header_that_is_none_is_left_to_arrow() -> None:
    file = file_of(pa.array(names(6)))
    metadata = pq.read_metadata(file)
    assert decoded(io.BytesIO(b"\0" * len(file.getvalue())), metadata) is None
