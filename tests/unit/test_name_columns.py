"""Names in Parquet files: read as numbers of a dictionary where they are stored so, or plainly."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from graphtide import UpdateLogError
from graphtide.gpu_core.batch.rows import BadRowsError
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.log.bad_rows import RowsToRead
from graphtide.io.log.conversion import table_to_batch
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.plan import PlannedBatch
from graphtide.io.log.row_origin import RowOrigin
from graphtide.io.log.update_log import UpdateLog

ROWS = 1000
MEANING = row_meaning(ids="string")


def names(seed: int, count: int = ROWS) -> pa.Array:
    """Few names, of all lengths around a word, one of them empty."""
    random = np.random.default_rng(seed)
    pool = ["n" * (number % 20) + str(number) for number in range(60)] + [""]
    return pa.array([pool[at] for at in random.integers(0, len(pool), count)])


def batch_of(log: UpdateLog, first_row: int, rows: int) -> tuple[pa.Table, UpdateBatch]:
    """Some rows of its file as a run reads them, and what they come to."""
    file = listing_of(log).files[0]
    planned = PlannedBatch(0, file.name, first_row, rows)
    found, _ = RowsToRead(log, planned, file.fingerprint).read()
    batch = table_to_batch(
        found.table, meaning=MEANING, origin=RowOrigin(file.name, first_row), batch_id=0
    )
    return found.table, batch


def same(one: UpdateBatch, other: UpdateBatch) -> bool:
    assert one.names is not None
    assert other.names is not None
    return (
        one.names.strings.tolist() == other.names.strings.tolist()
        and one.names.keys.tolist() == other.names.keys.tolist()
        and one.put_rows.tolist() == other.put_rows.tolist()
        and one.put_indices.tolist() == other.put_indices.tolist()
        and one.delete_indices.tolist() == other.delete_indices.tolist()
        and one.put_vertices.tolist() == other.put_vertices.tolist()
    )


@pytest.mark.parametrize("group", [ROWS, 300, 7])
def test_names_come_to_the_same_however_they_are_stored(tmp_path: Path, group: int) -> None:
    dst = pc.if_else(pa.array(np.arange(ROWS) % 11 == 3), None, names(2))
    op = pa.array(np.where(np.arange(ROWS) % 5, 1, -1))
    table = pa.table({"src": names(1), "dst": dst, "op": op})
    logs = {}
    for kind in (True, False):
        path = tmp_path / str(kind)
        path.mkdir()
        pq.write_table(table, path / "a.parquet", use_dictionary=kind, row_group_size=group)
        logs[kind] = UpdateLog(str(path), ids="string")
    # All of a file; all, some and a few rows of groups.
    for first_row, rows in ((0, ROWS), (0, 300), (250, 600), (999, 1), (3, 0), (300, 200)):
        numbered, batch = batch_of(logs[True], first_row, rows)
        plain, expected = batch_of(logs[False], first_row, rows)
        assert same(batch, expected), (first_row, rows)
        assert plain.schema.field("src").type == pa.string()
        is_few = rows * 2 < group
        assert pa.types.is_dictionary(numbered.schema.field("src").type) == (
            not is_few and rows > 0
        )


def test_a_dictionary_that_was_too_large_for_its_writer_is_read_plainly(tmp_path: Path) -> None:
    src = pa.array([f"name {number}" for number in range(ROWS)])
    rows = pa.table({"src": src, "dst": src[::-1]})
    pq.write_table(
        rows, tmp_path / "a.parquet", dictionary_pagesize_limit=500, write_batch_size=100
    )
    found, batch = batch_of(UpdateLog(str(tmp_path), ids="string"), 0, ROWS)
    assert found.schema.field("src").type == pa.string()
    assert batch.names is not None
    assert len(batch.names.strings) == ROWS


def test_words_of_other_batches_may_be_no_text(tmp_path: Path) -> None:
    src = pa.array([b"ann", b"bob", b"\xff", b"ann"]).view(pa.string())
    pq.write_table(pa.table({"src": src, "dst": names(3, 4)}), tmp_path / "a.parquet")
    found, batch = batch_of(UpdateLog(str(tmp_path), ids="string"), 0, 2)
    assert pa.types.is_dictionary(found.schema.field("src").type)
    assert batch.names is not None
    assert {b"ann", b"bob"} <= set(batch.names.strings.tolist())


@pytest.mark.parametrize("numbered", [False, True])
def test_words_that_are_no_text_are_refused_by_the_rows_that_have_them(
    tmp_path: Path, numbered: bool
) -> None:
    kind, content = pa.string(), pa.binary()
    if not numbered:
        kind, content = pa.large_string(), pa.large_binary()
    src = pa.array([b"ann", b"bob", b"\xff", b"ann", b"\xff", b"eve"], content).view(kind)
    rows = pa.table({"src": src, "dst": names(3, 6)})
    pq.write_table(rows, tmp_path / "a.parquet", use_dictionary=numbered)
    log = UpdateLog(str(tmp_path), ids="string")
    with pytest.raises(UpdateLogError, match=r"row 2: src is .*no UTF-8") as caught:
        batch_of(log, 0, 6)
    bad = caught.value.__cause__
    assert isinstance(bad, BadRowsError)
    assert bad.bad.tolist() == [False, False, True, False, True, False]
    planned = RowsToRead(log, PlannedBatch(0, "a.parquet", 0, 6), None, quarantine=True)
    found, _ = planned.read()
    batch, _, left_out = planned.convert(found, table_to_batch, meaning=MEANING)
    assert left_out is not None
    assert left_out.table["row"].to_pylist() == [2, 4]
    assert left_out.table.schema.field("src").type == kind
    assert batch.rows == 4


def test_names_and_words_in_views_may_stand_on_rows_that_are_left_out(tmp_path: Path) -> None:
    columns = {"op": ["insert", "steal", "delete"], "src": ["a", "b", "a"], "dst": ["b", "c", "b"]}
    rows = pa.table({name: pa.array(each, pa.string_view()) for name, each in columns.items()})
    pq.write_table(rows, tmp_path / "a.parquet", use_dictionary=False)
    log = UpdateLog(str(tmp_path), ids="string")
    planned = RowsToRead(log, PlannedBatch(0, "a.parquet", 0, 3), None, quarantine=True)
    found, _ = planned.read()
    batch, _, left_out = planned.convert(found, table_to_batch, meaning=MEANING)
    assert batch.rows == 2
    assert left_out is not None
    (row,) = left_out.table.drop_columns("reason").to_pylist()
    assert row == {"file": "a.parquet", "row": 1, "op": "steal", "src": "b", "dst": "c"}
