"""Rows that are packed at once are what the batch of the same rows is when it is packed."""

from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.batch.packed_batch import PackedBatch, pack, packed_rows
from graphtide.gpu_core.batch.rows import name_of_row
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import BatchError
from graphtide.gpu_core.image.fields import MAX_VERTICES
from graphtide.gpu_core.kind import row_meaning

ROWS = 4_000
#: Ids of the vertices; all but the last ones are vertex indices.
IDS = {
    "small": np.arange(60),
    "largest": MAX_VERTICES - 1 - np.arange(60),
    "negative": np.arange(60) - 3,
    "too large": MAX_VERTICES - np.arange(60),
    "any": np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 60),
}


def arguments_of(ids: str, **kind: Any) -> dict[str, Any]:
    random = np.random.default_rng(1)
    src, dst = IDS[ids][random.integers(0, 60, (2, ROWS))]
    return {
        "op": random.choice(np.array([1, 1, -1], np.int8), ROWS),
        "src": src,
        "dst": dst,
        "weight": random.random(ROWS, np.float32),
        "type": random.integers(0, 9, ROWS).astype(np.int32),
        "ts": random.integers(0, 2**40, ROWS),
        **{"directed": True, "records": "simple", "self_loops": "drop", "create_vertices": True},
        "on_repeat": "last",
        **kind,
        "batch_id": 5,
        "row_name": name_of_row,
    }


def packed(arguments: dict[str, Any], *, dense: bool) -> PackedBatch | UpdateBatch:
    names = ("directed", "records", "self_loops", "create_vertices", "on_repeat")
    meaning = row_meaning(**{name: arguments[name] for name in names})
    columns = {name: value for name, value in arguments.items() if name not in names}
    return packed_rows(**columns, meaning=meaning, dense=dense)


def assert_same(ours: PackedBatch | UpdateBatch, twin: PackedBatch) -> None:
    assert isinstance(ours, PackedBatch)
    assert ours.fields == twin.fields
    assert list(ours.arrays) == list(twin.arrays)
    for name, expected in twin.arrays.items():
        np.testing.assert_array_equal(ours.arrays[name], expected, name)
        assert ours.arrays[name].dtype == expected.dtype, name


@pytest.mark.parametrize(("records", "on_repeat"), [
    ("simple", "last"), ("semantic", "last"), ("semantic", "sum"),
])  # fmt: skip
@pytest.mark.parametrize(("ids", "dense"), [("small", True), ("largest", True), ("any", False)])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("with_vertices", [True, False])
def test_both_ways_come_to_the_same(
    records: str, on_repeat: str, ids: str, dense: bool, directed: bool, with_vertices: bool
) -> None:
    kind = {"records": records, "on_repeat": on_repeat, "directed": directed}
    arguments = arguments_of(ids, **kind)
    if with_vertices:
        arguments["dst_valid"] = np.arange(ROWS) % 97 != 0
    ours = packed(arguments, dense=dense)
    assert_same(ours, pack(UpdateBatch.from_rows(**arguments), dense=dense))


@pytest.mark.parametrize("ids", ["negative", "too large"])
def test_ids_that_are_no_vertex_indices_are_left_for_pack_to_refuse(ids: str) -> None:
    # Inserts alone: only the edges themselves name the ids.
    batch = packed({**arguments_of(ids), "op": None}, dense=True)
    assert isinstance(batch, UpdateBatch)
    with pytest.raises(BatchError, match=r"batch 5: id .* cannot be a vertex index"):
        pack(batch, dense=True)


@pytest.mark.parametrize("size", [0, 1])
def test_few_rows(size: int) -> None:
    arguments = arguments_of("small")
    for name in ("op", "src", "dst", "weight", "type", "ts"):
        arguments[name] = arguments[name][:size]
    ours = packed(arguments, dense=True)
    assert_same(ours, pack(UpdateBatch.from_rows(**arguments), dense=True))


def test_a_row_that_is_dropped_may_have_any_id() -> None:
    arguments = arguments_of("small")
    arguments["src"][7] = arguments["dst"][7] = -1
    ours = packed(arguments, dense=True)
    assert_same(ours, pack(UpdateBatch.from_rows(**arguments), dense=True))
