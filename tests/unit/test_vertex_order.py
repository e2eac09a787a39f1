"""Orders of vertices by degree, as formulas: buckets, and what is a permutation."""

import numpy as np
import pytest

from graphtide.gpu_core.programs.vertex_order import (
    LINEAR_BUCKETS,
    VERTEX_ORDERS,
    buckets_of,
    order_of,
)


def power_law(count: int = 5_000) -> np.ndarray:
    return np.minimum(np.random.default_rng(7).zipf(1.8, count), 60_000)


def test_buckets_are_those_of_the_formulas_in_whole_numbers() -> None:
    degrees = [0, 1, 2, 3, 4, 31, 32, 33, 1_000, 4_300_000, 2**31, 2**32 - 1]
    linear = buckets_of(np.array(degrees, np.uint32), "linear")
    # Python's own numbers: no product wraps around.
    assert linear.tolist() == [each * (LINEAR_BUCKETS - 1) // (2**32 - 1) for each in degrees]
    log2 = buckets_of(np.array(degrees, np.uint32), "log2")
    assert log2.tolist() == [each.bit_length() for each in degrees]


@pytest.mark.parametrize("vertex_order", ["linear", "log2"])
def test_an_order_takes_each_vertex_once_bucket_by_bucket_and_long_rows_last(
    vertex_order: str,
) -> None:
    degrees = power_law()
    order = order_of(degrees, vertex_order, 32)
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size)
    assert inverse[order].tolist() == list(range(degrees.size))
    is_long = degrees[order] > 32
    assert 0 < is_long.sum() < degrees.size
    assert np.all(np.diff(is_long.astype(int)) >= 0)
    buckets = buckets_of(degrees, vertex_order)
    for part in (order[~is_long], order[is_long]):
        keys = buckets[part].astype(np.int64) * degrees.size + part
        assert np.all(np.diff(keys) > 0), "not by bucket, then by index"


def test_a_power_law_is_spread_by_the_logarithm_alone() -> None:
    degrees = power_law()
    linear, log2 = (np.bincount(buckets_of(degrees, each)) for each in ("linear", "log2"))
    assert linear.max() > 0.8 * degrees.size
    assert log2.max() < 0.6 * degrees.size
    assert np.count_nonzero(log2) > 8


@pytest.mark.parametrize("vertex_order", VERTEX_ORDERS)
@pytest.mark.parametrize("degrees", [[], [3], [5, 5, 5, 5], [40, 40, 40]])
def test_degrees_that_are_the_same_are_not_sorted(vertex_order: str, degrees: list[int]) -> None:
    given = np.array(degrees, np.uint32)
    assert order_of(given, vertex_order, 32).tolist() == list(range(len(degrees)))
    if vertex_order != "none":
        assert not buckets_of(given, vertex_order).any()
