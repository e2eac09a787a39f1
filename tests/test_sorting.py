"""Sorting of packed keys against NumPy, below and above the size from which threads share it."""

import numpy as np
import pytest

from graphtide.gpu_core.host.parallel import for_ranges
from graphtide.gpu_core.host.sorting import order_runs, sort_keys

SIZES = [0, 1, 2, 1000, (1 << 16) - 1, 1 << 16, 300_000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [1, 7, 20, 42, 64])
@pytest.mark.parametrize("low_bit", [0, 5, 30])
def test_sorted_from_a_bit_up_and_stable_below(size: int, bits: int, low_bit: int) -> None:
    random = np.random.default_rng(size + bits)
    keys = random.integers(0, (1 << bits) - 1, size, np.uint64, endpoint=True)
    order = np.argsort(keys >> np.uint64(low_bit), kind="stable")
    expected = keys[order]
    assert np.array_equal(sort_keys(keys.copy(), low_bit), expected)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [1, 3, 40, 1 << 30])
def test_runs_in_order(size: int, rows: int) -> None:
    random = np.random.default_rng(size + rows)
    # Many short runs, and one that is longer than a thread's range.
    row = np.minimum(random.integers(0, rows, size), random.integers(0, rows, size))
    row[: size // 2] = rows // 2
    keys = np.sort(row).astype(np.uint64) << np.uint64(20)
    keys |= random.permutation(size).astype(np.uint64)
    expected = np.sort(keys)
    for_ranges(order_runs, keys.size, keys, 20)
    assert np.array_equal(keys, expected)
