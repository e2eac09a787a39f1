"""Rows, settings and arrays of which no batch is made: each is refused by its name."""

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from graphtide import BatchError, SettingsError, UpdateBatch

REFUSED_ROWS = [
    ({"op": [1, 2]}, "row 1 of the batch: op is 2; use 1 for insert or -1 for delete"),
    ({"op": [0, 1]}, "row 0 of the batch: op is 0"),
    ({"op": np.array([-1, 2], np.int8)}, "row 1 of the batch: op is 2"),
    ({"op": np.array([-1, 0], np.int8)}, "row 1 of the batch: op is 0"),
    ({"op": np.array([1, 127], np.int8)}, "row 1 of the batch: op is 127"),
    ({"op": [1.0, 1.0]}, "op is of type float64; use 1 for insert"),
    ({"op": [1]}, "op has 1 row but src has 2"),
    ({"dst": [1, 2, 3]}, "dst has 3 rows but src has 2"),
    ({"dst_valid": [True]}, "dst_valid has 1 row but src has 2"),
    ({"weight": [1.0]}, "weight has 1 row"),
    ({"weight": 1.0}, "weight is one float; give one value per row"),
    ({"src": 1, "dst": 2}, "src is one int; give one value per row"),
    ({"properties": {"a": "int8"}, "values": {"a": [1]}}, "a has 1 row but src has 2"),
    ({"properties": {"a": "int8"}, "values": {"a": 1}}, "a is one int; give one value per row"),
    ({"type": [1]}, "type has 1 row"),
    ({"ts": [1]}, "ts has 1 row"),
    ({"ts": None}, "semantic records need the column ts"),
    ({"ts": [0.5, 1]}, "ts is of type float64"),
    ({"src": ["a", "b"]}, "src is of type <U1; number the vertices"),
    ({"src": [[1, 2], [3, 4]]}, "src has 2 dimensions"),
    ({"dst": np.array([1, 2**63], dtype=np.uint64)}, "row 1 of the batch: dst is 92.* above int64"),
    ({"src": np.array([2**63, 1], dtype=">u8")}, "row 0 of the batch: src is 92.* above int64"),
    ({"ts": np.array([1, 2**63], dtype=np.uint64)}, "row 1 of the batch: ts 92.* is above int64"),
    ({"weight": [0, np.nan]}, "row 1 of the batch: weight nan is not a finite number"),
    ({"weight": [np.inf, 0]}, "row 0 of the batch: weight inf is not a finite number"),
    ({"weight": [0, -1e39]}, r"row 1 of the batch: weight -1e\+39 overflows float32"),
    ({"type": [0, 2**31]}, "row 1 of the batch: type 2147483648 is outside int32"),
    ({"type": np.array([0, 2**32 - 1], dtype=np.uint32)}, "row 1 of the batch: type 4294967295"),
    ({"type": [0.0, 1.0]}, "type is of type float64"),
    ({"op": np.ma.array([1, -1], mask=[0, 1])}, "row 1 of the batch: op is masked; give a value"),
    ({"src": np.ma.array([1, 2], mask=[1, 0])}, "row 0 of the batch: src is masked"),
    ({"dst": np.ma.array([1, 2], mask=[0, 1]), "ids": "uint64", "dst_valid": [True, True]},
     "row 1 of the batch: dst is masked"),
    ({"src": ["a", "b"], "dst": np.ma.array(["c", "d"], object, mask=[0, 1]), "ids": "string"},
     "dst has 1 null, and each row needs an id"),
    ({"dst_valid": np.ma.array([True, True], mask=[0, 1])}, "row 1 of the batch: dst_valid is mas"),
    ({"weight": np.ma.array([1.0, 2.0], mask=[0, 1])}, "row 1 of the batch: weight is masked"),
    ({"type": np.ma.array([1, 2], mask=[1, 0])}, "row 0 of the batch: type is masked"),
    ({"ts": np.ma.array([1, 2], "M8[us]", mask=[0, 1])}, "row 1 of the batch: ts is masked"),
    ({"dst_valid": pl.Series([True, None])}, "dst_valid is of type object; give bools"),
    ({"dst_valid": ["no", "yes"], "ids": "uint64"}, "dst_valid is of type <U3; give bools"),
    ({"weight": pl.Series([2**53 + 1, None])}, "weight is null in some rows"),
    ({"properties": {"a": "float64"}, "values": {"a": pa.array([2**53 + 1, None])}}, "a is null"),
    ({"weight": [2**53 + 1, 0.5]}, "weight has 9007199254740993 beside fractions"),
    ({"dst": [3, 2], "self_loops": "reject"}, "row 1 of the batch is a self loop of vertex 2"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), REFUSED_ROWS, ids=[m for _, m in REFUSED_ROWS])
def test_bad_rows_are_refused_by_name(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "op": [1, 1],
        "src": [1, 2],
        "dst": [3, 4],
        "weight": [1.0, 2.0],
        "type": [1, 2],
        "ts": [1, 2],
        "records": "semantic",
    }
    with pytest.raises(BatchError, match=message):
        UpdateBatch.from_rows(**(arguments | change))


def test_masked_values_of_rows_on_which_they_mean_nothing_are_not_looked_at() -> None:
    batch = UpdateBatch.from_rows(
        [1, -1, 1], [1, 2, 3], np.ma.array([4, 5, 6], mask=[0, 0, 1]), dst_valid=[1, 1, 0],
        weight=np.ma.array([1, 2, 3], mask=[0, 1, 1]), records="weighted",
    )  # fmt: skip
    assert (batch.put_indices.tolist(), batch.put_weight.tolist()) == ([4], [1.0])
    assert batch.put_vertices.tolist() == [3]


@pytest.mark.parametrize("ids", ["any", "dense", "uint64", "string"])
@pytest.mark.parametrize("self_loops", ["drop", "reject"])
@pytest.mark.parametrize(
    ("dst", "valid", "message"),
    [
        (["3"], None, "dst has 1 row but src has 2"),
        (["3", "4", "5"], [True, True], "dst has 3 rows but src has 2"),
        (["3", "4"], [True, True, False], "dst_valid has 3 rows but src has 2"),
    ],
)
def test_ends_of_other_lengths_are_refused_whatever_ids_are(
    ids: str, self_loops: str, dst: list[str], valid: list[bool] | None, message: str
) -> None:
    def of_kind(texts: list[str]) -> Any:
        return texts if ids == "string" else list(map(int, texts))

    with pytest.raises(BatchError, match=message):
        UpdateBatch.from_rows(
            None, of_kind(["3", "3"]), of_kind(dst), dst_valid=valid, ids=ids, self_loops=self_loops
        )


def test_a_batch_too_long_is_refused_before_it_is_looked_at() -> None:
    endless = np.broadcast_to(np.int64(0), (2**31,))
    with pytest.raises(BatchError, match="2147483648 rows is too long"):
        UpdateBatch.from_rows(None, endless, endless)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"self_loops": "fold"}, "self_loops='fold' is unknown; use one of drop, keep, reject"),
        ({"self_loops": "keep", "directed": False}, "self_loops='keep' needs a directed graph"),
        ({"records": "fancy"}, "records='fancy' is unknown"),
    ],
)
def test_bad_settings_are_refused(settings_: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        UpdateBatch.from_rows(None, [1], [2], **settings_)


def fields_of(batch: UpdateBatch) -> dict[str, Any]:
    return {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"put_rows": [1, 1]}, "put list, row of vertex 1: rows do not increase"),
        ({"put_indptr": [0, 0, 3]}, "put list, row of vertex 1: the row is empty"),
        ({"put_indptr": [0, 9, 3]}, "put list, row of vertex 1: the row is empty, or its bounds"),
        ({"put_indptr": [0, 2, 2]}, "put_indptr does not run from 0 to the 3 indices"),
        ({"put_indptr": [1, 2, 3]}, "put_indptr does not run from 0"),
        ({"put_indices": [3, 3, 5]}, "put list, row of vertex 1: indices do not increase"),
        ({"put_indices": [3, 4, 1]}, "put list, row of vertex 2: src >= dst"),
        ({"delete_rows": [1], "delete_indices": [4]}, r"edge \(1, 4\) is to be put and to be del"),
        ({"put_vertices": [9, 8]}, "put_vertices does not increase strictly at vertex 8"),
        ({"put_vertices": [8, 8]}, "put_vertices does not increase strictly at vertex 8"),
        ({"put_weight": np.array([1, np.nan, 1], np.float32)}, "not finite"),
        ({"overridden": 1}, "7 rows are accounted for but the batch has 6"),
        ({"rows": 5, "overridden": -1}, "rows are accounted for"),
    ],
)
def test_validate_names_the_rule_that_is_broken(change: dict[str, Any], message: str) -> None:
    batch = UpdateBatch.from_rows(
        [1, 1, 1, -1, 1, 1],
        [1, 1, 2, 6, 7, 8],
        [3, 4, 5, 9, 0, 0],
        dst_valid=[True, True, True, True, False, False],
        directed=False,
        records="weighted",
    )
    batch.validate()
    as_arrays = {k: np.array(v) if isinstance(v, list) else v for k, v in change.items()}
    broken = UpdateBatch(**(fields_of(batch) | as_arrays))
    with pytest.raises(BatchError, match=message):
        broken.validate()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"put_rows": np.array([1.5])}, "put_rows must be a one-dimensional int64 array"),
        ({"put_rows": [1]}, "put_rows must be a one-dimensional int64 array"),
        ({"put_indices": np.arange(6)[::2]}, "put_indices must be contiguous"),
        ({"put_indptr": np.array([0])}, "put_indptr has 1 entries, expected 2"),
        ({"put_weight": np.ones(1, np.float32)}, "put_weight is given but simple records do not"),
        ({"records": "weighted"}, "put_weight must be a one-dimensional float32 array"),
        ({"put_vertex_rows": np.ones(2, np.bool_)}, "put_vertex_rows has 2 entries, expected 0"),
        ({"put_values": {"age": np.ones(2)}}, "age has 2 values, expected 1"),
        ({"put_vertex_values": {"age": np.ones(2)}}, "age has 2 values, expected 0"),
    ],
)
def test_a_batch_of_wrong_arrays_cannot_be_made(change: dict[str, Any], message: str) -> None:
    batch = UpdateBatch.from_rows(None, [1], [2])
    with pytest.raises(BatchError, match=message):
        UpdateBatch(**(fields_of(batch) | change))
