"""Simple records, partitioned into buckets, against weighted ones, sorted by keys."""

from typing import Any

import numpy as np
import pytest

from graphtide import UpdateBatch
from graphtide.gpu_core.batch.net_effect import edge_buckets
from graphtide.gpu_core.batch.net_effect.edge_buckets import MOST_BUCKET_BITS, KeyLayout

#: What only one of both kinds of records keeps.
OTHERWISE = {"records", "put_weight"}


def rows_of(kind: str, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ops and ids of a distribution: half of all rows are about edges that come again."""
    random = np.random.default_rng(rows)
    low, bits = {"uint32": (0, 32), "int32": (-(1 << 31), 32), "wide": (-(1 << 39), 40)}.get(
        kind, (7, 20)
    )
    src, dst = random.integers(low, low + (1 << bits), (2, rows))
    if kind == "hub":
        src[: rows * 3 // 4] = dst[rows // 2 :: 3] = low
    elif kind == "neighbors":
        # All in one bucket, but for one row; most pairs differ in their lowest bits only.
        src, dst = random.integers(low, low + 40, (2, rows))
        src[-1:] = low + (1 << bits) - 1
    elif kind == "one source":
        src[:] = low
    elif kind == "one edge":
        src[:], dst[:] = low, low + 1
    again = random.integers(0, rows, rows // 2)
    src[rows - again.size :], dst[rows - again.size :] = src[again], dst[again]
    order = random.permutation(rows)
    return random.choice(np.array([1, 1, -1], np.int8), rows), src[order], dst[order]


KINDS = ["uniform", "uint32", "int32", "wide", "hub", "neighbors", "one source", "one edge"]


def assert_same(batch: UpdateBatch, twin: UpdateBatch) -> None:
    for name, expected in vars(twin).items():
        if name not in OTHERWISE:
            np.testing.assert_array_equal(getattr(batch, name), expected, name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 40, 5_000, 100_000])
@pytest.mark.parametrize(
    "meaning", [{}, {"self_loops": "keep"}, {"directed": False}], ids=["drop", "keep", "undirected"]
)
def test_buckets_come_to_what_keys_come_to(kind: str, rows: int, meaning: dict[str, Any]) -> None:
    op, src, dst = rows_of(kind, rows)
    src[: rows // 7] = dst[: rows // 7]
    batch = UpdateBatch.from_rows(op, src, dst, **meaning)
    batch.validate()
    twin = UpdateBatch.from_rows(op, src, dst, records="weighted", **meaning)
    assert_same(batch, twin)


@pytest.mark.parametrize("kind", ["uint32", "int32", "uniform"])
@pytest.mark.parametrize("directed", [True, False])
def test_columns_of_32_bits_need_not_be_widened(kind: str, directed: bool) -> None:
    op, src, dst = rows_of(kind, 10_000)
    narrow = np.int32 if kind == "int32" else np.uint32
    limits = np.iinfo(narrow)
    src[:2], dst[:2] = (limits.min, limits.max), (limits.max, limits.min)
    for edges_alone in (True, False):
        settings = {
            "directed": directed,
            "dst_valid": np.arange(src.size) % 97 < 90 + 7 * edges_alone,
        }
        twin = UpdateBatch.from_rows(op, src, dst, **settings)
        for columns in [(src.astype(narrow), dst.astype(narrow)), (src.astype(narrow), dst)]:
            assert_same(UpdateBatch.from_rows(op, *columns, **settings), twin)


@pytest.mark.parametrize("kind", ["uniform", "int32", "uint32", "wide", "hub"])
@pytest.mark.parametrize("directed", [True, False])
def test_bounds_may_be_said_and_may_be_wrong(kind: str, directed: bool) -> None:
    op, src, dst = rows_of(kind, 20_000)
    twin = UpdateBatch.from_rows(op, src, dst, directed=directed)
    ends = int(src.min()), int(src.max()), int(dst.min()), int(dst.max())
    wider = tuple(end + (-1000, 1000)[place % 2] for place, end in enumerate(ends))
    # One id beyond each of them, or nearly all ids.
    closer = [tuple(np.add(ends, np.eye(4, dtype=int)[k] * (1, -1)[k % 2])) for k in range(4)]
    far = (ends[1] + 5, ends[1] + 6, 0, 1)
    nothing = (0, 0, 0, 0)
    # Sizes of what is made of them would be negative.
    turned = [(ends[0] + 1, ends[0], *ends[2:]), (*ends[:2], ends[2] + 1, ends[2])]
    for bounds in (ends, wider, *closer, far, nothing, *turned):
        said = tuple(int(bound) for bound in bounds)
        batch = UpdateBatch.from_rows(op, src, dst, directed=directed, bounds=said)
        assert_same(batch, twin)


@pytest.mark.parametrize(
    ("src_bits", "dst_bits"), [(1, 62), (20, 20), (11, 31), (40, 34), (10, 63)]
)
def test_edges_that_just_fit_a_word(src_bits: int, dst_bits: int) -> None:
    """Every word is full: not a bit can be lost unnoticed."""
    random = np.random.default_rng(src_bits)
    corners = [0, 1, 2, 3]
    src = np.array([*corners, *((1 << src_bits) - 1 - bit for bit in corners)])
    dst = np.array([*corners, *((1 << dst_bits) - 1 - bit for bit in corners)])
    src, dst = random.choice(src % (1 << src_bits), 2_000), random.choice(dst, 2_000)
    src[:2], dst[:2] = (0, (1 << src_bits) - 1), (0, (1 << dst_bits) - 1)
    op = random.choice(np.array([1, -1], np.int8), 2_000)
    partitioned = edge_buckets.partition_edge_rows(op, src, dst, directed=True, keep_loops=True)
    assert partitioned is not None
    assert partitioned.layout.bucket_bits + partitioned.layout.src_bits == src_bits
    batch = UpdateBatch.from_rows(op, src, dst, self_loops="keep")
    assert_same(batch, UpdateBatch.from_rows(op, src, dst, self_loops="keep", records="weighted"))


def test_there_are_as_many_buckets_as_narrow_words_need() -> None:
    ids = (0, (1 << 20) - 1)
    assert KeyLayout.of(1, ids, ids) == (0, 0, 11, 20, 9)
    assert KeyLayout.of(1 << 23, ids, ids) == (0, 0, 10, 20, 10)
    # Narrow words would need too many: then they are wide, and buckets as many as rows fill.
    ids = (0, (1 << 22) - 1)
    assert KeyLayout.of(1 << 20, ids, ids) == (0, 0, 15, 22, 7)
    assert KeyLayout.of(1 << 31, ids, ids) == (0, 0, 22 - MOST_BUCKET_BITS, 22, MOST_BUCKET_BITS)
    ids = (-(1 << 63), (1 << 63) - 1)
    assert KeyLayout.of(1, ids, ids) is None
