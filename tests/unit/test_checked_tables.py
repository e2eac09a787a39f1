"""Tables that carry checksums: what is read is what was written, or an error."""

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.io.checked_tables import (
    FACTS_KEY,
    DamagedTableError,
    read_facts,
    read_table,
    write_table,
)
from graphtide.io.parquet.footer_checks import DATA_KEY, FOOTER_KEY

FACTS = {"parameters": {"alpha": 0.85, "max_iter": 500}}


def table_of(rows: int) -> pa.Table:
    draw = np.random.default_rng(rows)
    seconds = pa.array(draw.random(rows), mask=draw.random(rows) < 0.3)
    files = pa.array([None if row % 3 else f"{row}.parquet" for row in range(rows)], pa.string())
    return pa.table({"vertex": draw.integers(0, 1 << 40, rows), "seconds": seconds, "file": files})


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_what_is_read_is_what_was_written(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, table_of(rows), FACTS)
    assert read_table(path).equals(table_of(rows))
    assert read_facts(path) == FACTS
    assert pq.read_table(path).equals(table_of(rows)), "others read it as any other file"


def test_other_readers_read_what_was_written(tmp_path: Path) -> None:
    path, draw = tmp_path / "a.parquet", np.random.default_rng(4)
    # Every encoding that is chosen by type; 1 << 11 rows, so that floats have more than one block.
    columns = {
        "vertex": draw.integers(-(1 << 62), 1 << 62, 1 << 11),
        "change": draw.integers(-1, 2, 1 << 11).astype(np.int8),
        "pagerank": draw.random(1 << 11),
        "narrow": draw.random(1 << 11).astype(np.float32),
        "repeats": draw.integers(0, 9, 1 << 11) / 9,
        "name": np.array([f"v{row % 40}" for row in range(1 << 11)]),
    }
    columns["pagerank"][:3] = [np.inf, -0.0, np.nan]
    write_table(path, pa.table(columns), FACTS)
    frame, table = pd.read_parquet(path), pl.read_parquet(path)
    for name, column in columns.items():
        expected = column.tolist() if name == "name" else column.tobytes()
        for read in (frame[name].to_numpy(), table[name].to_numpy()):
            found = read.tolist() if name == "name" else read.astype(column.dtype).tobytes()
            assert found == expected, name


@pytest.mark.parametrize("repeat", [False, True])
def test_columns_take_less_than_as_pyarrow_writes_them(tmp_path: Path, repeat: bool) -> None:
    draw = np.random.default_rng(5)
    # Ranks are hardly ever equal; coefficients are, but of no value in a row.
    floats = draw.integers(0, 90, 1 << 15) / 91 if repeat else draw.random(1 << 15) ** 3
    table = pa.table({"vertex": np.arange(floats.size), "value": floats})
    write_table(tmp_path / "a.parquet", table, FACTS)
    pq.write_table(table, tmp_path / "b.parquet", compression="zstd")
    sizes = [(tmp_path / f"{name}.parquet").stat().st_size for name in "ab"]
    assert sizes[0] < 0.8 * sizes[1]


def test_every_changed_byte_is_found(tmp_path: Path) -> None:
    path, draw = tmp_path / "a.parquet", random.Random(3)
    write_table(path, table_of(50), FACTS)
    whole = path.read_bytes()
    for place, byte in enumerate(whole):
        other = bytes([byte ^ 1 << draw.randrange(8)])
        path.write_bytes(whole[:place] + other + whole[place + 1 :])
        with pytest.raises(DamagedTableError):
            read_table(path)


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, table_of(50), FACTS)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedTableError):
            read_table(path)


@pytest.mark.parametrize("length", [5, 300])
def test_no_zeroed_stretch_can_change_what_is_read(tmp_path: Path, length: int) -> None:
    """A zero ends a list of Parquet's footer: what it says of the file's keys is not reached."""
    path, table = tmp_path / "a.parquet", table_of(9).select(["vertex", "seconds"])
    write_table(path, table, FACTS)
    whole = path.read_bytes()
    for place in range(len(whole) - length):
        path.write_bytes(whole[:place] + bytes(length) + whole[place + length :])
        with suppress(DamagedTableError):
            assert read_table(path).equals(table), f"byte {place}"


@pytest.mark.parametrize("key", [FACTS_KEY, DATA_KEY.encode(), FOOTER_KEY.encode()])
def test_a_file_that_lost_a_key_is_not_taken_for_an_old_one(tmp_path: Path, key: bytes) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, table_of(9), FACTS)
    table, metadata = pq.read_table(path), pq.read_metadata(path).metadata
    left = {name: value for name, value in metadata.items() if name != key}
    pq.write_table(table.replace_schema_metadata(left), path)
    with pytest.raises(DamagedTableError, match="footer"):
        read_table(path)


#: What the version before wrote beside `table_of(9)` and no facts.
DIGEST = b"9869aa2c94b46894f3c66357663ddef0"


@pytest.mark.parametrize("keys", [{}, {FACTS_KEY: b"{}", b"graphtide.digest": DIGEST}])
def test_a_file_of_an_older_version_is_read(tmp_path: Path, keys: dict[bytes, bytes]) -> None:
    path, table = tmp_path / "a.parquet", table_of(9)
    pq.write_table(table.replace_schema_metadata(keys or None), path)
    assert read_table(path).equals(table)
    assert read_facts(path) == ({} if keys else None)


@pytest.mark.parametrize("facts", [b"{}", b'{"batch": 1}'])
def test_other_rows_or_facts_than_a_digest_is_of_are_damage(tmp_path: Path, facts: bytes) -> None:
    path, rows = tmp_path / "a.parquet", 8 if facts == b"{}" else 9
    keys = {FACTS_KEY: facts, b"graphtide.digest": DIGEST}
    pq.write_table(table_of(9).slice(0, rows).replace_schema_metadata(keys), path)
    with pytest.raises(DamagedTableError, match="not as they were written"):
        read_table(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1PAR1", b"vertex,rank\n"])
def test_what_is_no_table(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.parquet"
    with pytest.raises(FileNotFoundError):
        read_table(path)
    path.write_bytes(content)
    with pytest.raises(DamagedTableError, match="it cannot be read"):
        read_table(path)
    assert read_facts(path) is None
