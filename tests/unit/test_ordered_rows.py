"""Rows in the order of a column: those of a stable sort of the whole log, cut as the files are."""

from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide import DynamicGraph, SettingsError, UpdateLogError
from graphtide.gpu_core.kind import RowMeaning, row_meaning
from graphtide.io.log.columns.column_types import OP_BYTES
from graphtide.io.log.conversion import table_to_batch
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.operations import Operations
from graphtide.io.log.order import row_order as module_of_order
from graphtide.io.log.order.row_order import row_order
from graphtide.io.log.row_origin import RowOrigin
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.text import text_scan
from strategies import examples


def write(
    folder: Path, keys: list[list[int]], group: int, *, kind=None, text: bool = False
) -> None:
    """Files of one column of keys, and sources that number the rows of the log."""
    row = 0
    for number, part in enumerate(keys):
        ids = pa.array(range(row, row + len(part)), pa.int64())
        row += len(part)
        table = pa.table({"src": ids, "dst": ids, "when": pa.array(part, kind or pa.int64())})
        if text:
            table.to_pandas().to_csv(folder / f"{number}.csv", index=False)
        else:
            pq.write_table(table, folder / f"{number}.parquet", row_group_size=group)


def order_of(log: UpdateLog, within: object = None):
    listing = listing_of(log)
    prints = {file.name: file.fingerprint for file in listing.files}
    return row_order(log, prints, "when", within), listing


def read_batches(log: UpdateLog, within: object, batch_rows: int) -> list[int]:
    """Sources of all batches, one after the other."""
    order, listing = order_of(log, within)
    found = []
    for file in listing.files:
        for first in range(0, file.rows, batch_rows):
            rows = min(batch_rows, file.rows - first)
            ordered = order.batch(file.name, first, rows)
            read = ordered.read(log.for_rows(ordered.runs()), file.name)
            assert read.table.column_names == ["src", "dst"]
            assert read.table.num_rows == rows
            found += read.table["src"].to_pylist()
    return found


@settings(max_examples=examples(25), deadline=None)
@given(
    late=st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=4),
    group=st.integers(1, 5),
    batch_rows=st.integers(1, 7),
)
def test_batches_are_those_of_a_stable_sort(
    tmp_path_factory: pytest.TempPathFactory, late: list, group: int, batch_rows: int
) -> None:
    """Keys rise by one in two rows, less what they are late by."""
    folder = tmp_path_factory.mktemp("log")
    row, keys = 0, []
    for part in late:
        keys.append([(row + at) // 2 - each for at, each in enumerate(part)])
        row += len(part)
    write(folder, keys, group)
    wanted = np.argsort(np.concatenate([np.array(part, np.int64) for part in keys]), kind="stable")
    assert read_batches(UpdateLog(str(folder)), 10, batch_rows) == wanted.tolist()


@pytest.mark.parametrize("text", [False, True])
def test_times_are_put_right_within_a_time(tmp_path: Path, text: bool) -> None:
    keys = [[0, 10, 5, 20], [18, 30, 25]]
    seconds = [[each * 1_000_000 for each in part] for part in keys]
    write(tmp_path, seconds, 2, kind=pa.timestamp("us"), text=text)
    log = UpdateLog(str(tmp_path))
    assert read_batches(log, "5s", 3) == [0, 2, 1, 4, 3, 6, 5]
    name = r"0\.csv, row 2" if text else r"0\.parquet, row 2"
    with pytest.raises(UpdateLogError, match=f"{name} is out of order by when"):
        read_batches(log, "4s", 3)
    with pytest.raises(SettingsError, match="order_within: 5 is not allowed"):
        read_batches(log, 5, 3)


@pytest.mark.parametrize(
    ("unit", "first"),
    [
        ("ns", 1_767_225_600_000_000_000),
        ("ms", 1_767_225_600_000_000),  # microseconds by mistake: in the year 57,971
        ("ms", 1 << 62),
        ("us", -(1 << 62)),
    ],
)
def test_times_that_python_does_not_have_give_an_order(
    tmp_path: Path, unit: str, first: int
) -> None:
    write(tmp_path, [[first, first + 1, first], [first + 2]], 1, kind=pa.timestamp(unit, "UTC"))
    assert read_batches(UpdateLog(str(tmp_path)), "1s", 3) == [0, 2, 1, 3]
    with pytest.raises(UpdateLogError, match=r"0\.parquet, row 2 is out of order: its when"):
        order_of(UpdateLog(str(tmp_path)))


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ([[1, 2, 2, 3, 3, 4], [4, 4, 9]], None),
        ([[1, 2, 2, 3, 2, 4], [4, 4, 9]], "0.parquet, row 4"),
        ([[1, 2, 2, 3, 3, 4], [3, 4, 9]], "1.parquet, row 0"),
        ([[1, 2, 5, 3, 5, 6], [6, 6, 9]], "0.parquet, row 3"),
    ],
)
def test_rows_out_of_order_are_refused_by_file_and_row(
    tmp_path: Path, keys: list, place: str | None, batch_rows: int
) -> None:
    write(tmp_path, keys, 4)
    log = UpdateLog(str(tmp_path))
    if place is None:
        assert read_batches(log, None, batch_rows) == list(range(9))
        return
    with pytest.raises(UpdateLogError, match=f"{place} is out of order"):
        read_batches(log, None, batch_rows)


def test_the_row_that_is_too_late_is_named_and_none_that_may_be_late(tmp_path: Path) -> None:
    write(tmp_path, [[0, 20, 19, 5]], 2)
    with pytest.raises(UpdateLogError, match=r"0\.parquet, row 3 is out of order by when"):
        order_of(UpdateLog(str(tmp_path)), 5)


def test_a_row_is_named_by_its_own_file_after_the_sort(tmp_path: Path) -> None:
    write(tmp_path, [[1, 2, 9], [7, 10]], 10)
    order, _ = order_of(UpdateLog(str(tmp_path)), 5)
    log = UpdateLog(str(tmp_path))
    read = order.batch("0.parquet", 2, 1).read(log, "0.parquet")
    assert read.row_name is not None
    assert read.row_name(0).endswith("1.parquet, row 0")


def test_a_file_that_is_added_begins_where_the_planned_ones_end(tmp_path: Path) -> None:
    write(tmp_path, [[1, 2, 9], [7, 10]], 10)
    log = UpdateLog(str(tmp_path))
    order, _ = order_of(log, 5)
    order.check_added({"0.parquet", "1.parquet"}, log)
    with pytest.raises(UpdateLogError, match=r"1\.parquet, row 0 is earlier by when than rows"):
        order.check_added({"0.parquet"}, log)
    write(tmp_path, [[1, 2, 9], [9, 12]], 10)
    order, _ = order_of(log, 5)
    order.check_added({"0.parquet"}, log)


def test_what_gives_no_order_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"src": [1, 2], "dst": [2, 3], "when": [1.5, 2]}).to_parquet(
        tmp_path / "a.parquet"
    )
    with pytest.raises(UpdateLogError, match=r"column when is of type double"):
        order_of(UpdateLog(str(tmp_path)))
    pq.write_table(
        pa.table({"src": [1, 2], "dst": [2, 3], "when": [1, None]}), tmp_path / "a.parquet"
    )
    with pytest.raises(UpdateLogError, match=r"a\.parquet, row 1: when is null"):
        read_batches(UpdateLog(str(tmp_path)), 3, 2)
    pq.write_table(pa.table({"src": [1, 2], "dst": [2, 3]}), tmp_path / "a.parquet")
    with pytest.raises(UpdateLogError, match="no column when, which order_by names"):
        order_of(UpdateLog(str(tmp_path)))


def test_numbers_and_times_give_no_order_together(tmp_path: Path) -> None:
    write(tmp_path, [[1, 2]], 2)
    times = pa.array([3, 4], pa.timestamp("us"))
    pq.write_table(pa.table({"src": [1, 2], "dst": [2, 3], "when": times}), tmp_path / "1.parquet")
    log = UpdateLog(str(tmp_path))
    with pytest.raises(
        UpdateLogError, match=r"1\.parquet: when is of type timestamp\[us\], but in"
    ):
        order_of(log)
    # Of files that are left out nothing is asked.
    first = listing_of(log).files[0]
    order = row_order(log, {first.name: first.fingerprint}, "when", None)
    assert order.batch(first.name, 0, 2).read(log, first.name).table.num_rows == 2


def test_too_many_rows_are_not_sorted_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, [[0, 9, 5, 6, 1, 8]], 2)
    log = UpdateLog(str(tmp_path))
    monkeypatch.setattr(module_of_order, "MOST_SORTED_ROWS", 4)
    assert read_batches(log, 9, 2) == [0, 4, 2, 3, 5, 1]
    monkeypatch.setattr(module_of_order, "MOST_SORTED_ROWS", 3)
    with pytest.raises(UpdateLogError, match=r"can be among 6 rows by when, which is too many"):
        read_batches(log, 9, 2)


def test_bytes_that_have_changed_are_seen_in_the_batch_s_own_file(tmp_path: Path) -> None:
    """Of other files it has rows of, their own batches know the checksums."""
    write(tmp_path, [[1, 4, 2], [3, 5]], 2)
    log = UpdateLog(str(tmp_path))
    order, _ = order_of(log, 5)
    ordered = order.batch("0.parquet", 0, 3)
    sums = {group: each.crc for group, each in ordered.read(log, "0.parquet").sums.items()}
    assert sums.keys() == {0, 1}
    ordered.read(log, "0.parquet", sums)
    ordered.read(log, "1.parquet", dict.fromkeys([0], ordered.read(log, "1.parquet").sums[0].crc))
    with pytest.raises(UpdateLogError, match=r"0\.parquet has changed since .* row group 1 holds"):
        ordered.read(log, "0.parquet", {**sums, 1: sums[1] ^ 1})


def test_blocks_of_text_that_lie_apart_are_read_for_one_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_scan, "BLOCK_BYTES", 24)
    keys = [0, 1, 2, 30, 31, 32, 10, 11, 12, 33, 34, 35]
    write(tmp_path, [keys], 0, text=True)
    log = UpdateLog(str(tmp_path))
    log = replace(log, indexes=listing_of(log).indexes)
    assert len(log.indexes["0.csv"].blocks) > 4
    wanted = np.argsort(keys, kind="stable").tolist()
    for batch_rows in (1, 5, 12):
        assert read_batches(log, 22, batch_rows) == wanted


@pytest.mark.parametrize("within", [None, "1ns"])
def test_files_and_row_groups_without_rows_are_nothing(tmp_path: Path, within: str | None) -> None:
    """Times of nanoseconds are read, where other ones are taken from the file's statistics."""
    keys = [[], [1, 3, 2] if within else [1, 2, 3], [], [4, 5], []]
    write(tmp_path, keys, 2, kind=pa.timestamp("ns"))
    table = pq.read_table(tmp_path / "3.parquet")
    with pq.ParquetWriter(tmp_path / "3.parquet", table.schema) as writer:
        for rows in (table[:0], table[:1], table[:0], table[1:]):
            writer.write_table(rows)
    assert pq.read_metadata(tmp_path / "0.parquet").num_row_groups == 1
    wanted = [0, 2, 1, 3, 4] if within else [0, 1, 2, 3, 4]
    assert read_batches(UpdateLog(str(tmp_path)), within, 2) == wanted


def written(tmp_path: Path, *tables: pa.Table, **settings: Any) -> UpdateLog:
    """A log of a file a table, each with a column ``when`` of which the files take turns."""
    for number, table in enumerate(tables):
        when = pa.array(np.arange(number, len(tables) * len(table), len(tables)))
        pq.write_table(table.append_column("when", when), tmp_path / f"{number}.parquet")
    return UpdateLog(str(tmp_path), **settings)


def merged(log: UpdateLog, meaning: RowMeaning, batch_rows: int) -> dict[tuple[int, int], Any]:
    """Edges that the log comes to, with their weights, cut into batches."""
    order, listing = order_of(log, 100)
    graph = DynamicGraph(
        records=meaning.record.name, engine="host", properties=dict(meaning.properties)
    )
    for file in listing.files:
        for first in range(0, file.rows, batch_rows):
            ordered = order.batch(file.name, first, min(batch_rows, file.rows - first))
            read = ordered.read(log.for_rows(ordered.runs()), file.name)
            graph.apply(
                table_to_batch(
                    read.table, meaning=meaning, origin=RowOrigin(file.name, first, read.row_name),
                    batch_id=-1, operations=log.operations,
                )
            )  # fmt: skip
    edges = graph.edges()
    pairs = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    columns = [each.tolist() for each in edges.properties.values()]
    rows = zip(*columns, strict=True) if columns else repeat(())
    return dict(zip(pairs, rows, strict=False))


PLAIN = pa.table({"src": [1, 2], "dst": [2, 3]})
OPS = {
    "numbers": pa.array([1, 1]),
    "words": pa.array(["insert", "Add"]),
    "booleans": pa.array([True, True]),
    "bytes": pa.array([b"\x01", b"\x01"], OP_BYTES),
    "dictionary": pa.array(["insert", "insert"]).dictionary_encode(),
}


@pytest.mark.parametrize("batch_rows", [1, 3, 100])
@pytest.mark.parametrize("one", [None, *OPS])
@pytest.mark.parametrize("other", OPS)
def test_operations_of_files_are_joined_whatever_they_are_written_as(
    tmp_path: Path, one: str | None, other: str, batch_rows: int
) -> None:
    """A file without the column inserts."""
    first = PLAIN if one is None else PLAIN.append_column("op", OPS[one])
    second = pa.table({"src": [5, 6], "dst": [6, 7], "op": OPS[other]})
    log = written(tmp_path, first, second)
    assert set(merged(log, row_meaning(), batch_rows)) == {(1, 2), (2, 3), (5, 6), (6, 7)}


@pytest.mark.parametrize("ops", [[1, 0, 1], [1, -1, 1], [True, False, True]])
def test_numbers_mean_the_same_beside_words_of_the_log_s_own(tmp_path: Path, ops: list) -> None:
    """0 deletes, whatever the word 0 does; 7 is no operation though the word 7 is one."""
    words = Operations(insert=("0", "7", "false"), delete=("1", "true"))
    first = pa.table({"src": [1, 1, 2], "dst": [2, 2, 3], "op": ops})
    second = pa.table({"src": [5, 6, 7], "dst": [6, 7, 8], "op": ["0", "7", "0"]})
    log = written(tmp_path, first, second, operations=words)
    for batch_rows in (1, 100):
        assert set(merged(log, row_meaning(), batch_rows)) == {(2, 3), (5, 6), (6, 7), (7, 8)}
    wrong = first.set_column(2, "op", pa.array([1, 7, 1]))
    with pytest.raises(UpdateLogError, match=r"0.parquet, row 1: op 'number 7' is unknown"):
        merged(written(tmp_path, wrong, second, operations=words), row_meaning(), 100)


def test_columns_that_a_file_lacks_have_what_its_rows_mean(tmp_path: Path) -> None:
    """Weights are 1; a property that nobody gave is missing; vertex rows stay without weight."""
    first = pa.table({"src": [1, 2, 9], "dst": [2, 3, None]})
    second = pa.table({"src": [5, 6], "dst": [6, 7], "weight": [0.5, 0.25], "amount": [7, 8]})
    meaning = row_meaning(records="weighted", properties={"amount": "float64"})
    log = written(tmp_path, first, second, records="weighted", own={"amount": "float64"})
    for batch_rows in (1, 100):
        found = merged(log, meaning, batch_rows)
        assert {pair: weight for pair, (weight, _) in found.items()} == {
            (1, 2): 1.0, (2, 3): 1.0, (5, 6): 0.5, (6, 7): 0.25,
        }  # fmt: skip
        amounts = {pair: amount for pair, (_, amount) in found.items()}
        assert amounts[5, 6] == 7
        assert np.isnan(amounts[1, 2])


def test_columns_that_cannot_be_joined_are_refused_with_their_files(tmp_path: Path) -> None:
    names = [pa.array([name] * 2) for name in ("0" * 32, b"0" * 16)]
    tables = [pa.table({"src": each, "dst": each}) for each in names]
    tables[1] = tables[1].cast(pa.schema([(name, pa.binary(16)) for name in ("src", "dst")]))
    log = written(tmp_path, *tables, ids="uuid")
    order, listing = order_of(log, 100)
    ordered = order.batch(listing.files[0].name, 0, 2)
    with pytest.raises(UpdateLogError, match=r"0.parquet, .*1.parquet cannot be sorted.*alike"):
        ordered.read(log.for_rows(ordered.runs()), listing.files[0].name)


def test_names_in_views_are_sorted_with_their_rows(tmp_path: Path) -> None:
    names = pa.array(["late", "early", "latest"], pa.string_view())
    rows = pa.table({"src": names, "dst": names, "when": pa.array([5, 4, 6], pa.int64())})
    pq.write_table(rows, tmp_path / "0.parquet", use_dictionary=False)
    log = UpdateLog(str(tmp_path), ids="string")
    order, _ = order_of(log, within=1)
    ordered = order.batch("0.parquet", 0, 3)
    read = ordered.read(log.for_rows(ordered.runs()), "0.parquet")
    assert read.table["src"].to_pylist() == ["early", "late", "latest"]
