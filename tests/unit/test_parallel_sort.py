"""Sorting of packed keys against NumPy, below and above the size from which threads share it."""

import numpy as np
import pytest

from graphtide.gpu_core.copies.rows_in_order import order_of
from graphtide.gpu_core.host.update.parallel_sort import (
    distinct_ids,
    order_runs,
    sort_keys,
)
from graphtide.gpu_core.host.update.row_order import ordered_columns
from graphtide.gpu_core.jit.parallel import for_ranges

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


def test_sorted_where_the_uppermost_bit_differs_in_one_range_alone() -> None:
    keys = np.arange(1 << 17, dtype=np.uint64)[::-1].copy()
    keys[: 1 << 10] |= np.uint64(1 << 63)
    assert np.array_equal(sort_keys(keys.copy()), np.sort(keys))


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


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spread", [1, 50, 1 << 62])
def test_distinct_ids_of_either_sign(size: int, spread: int) -> None:
    ids = np.random.default_rng(size).integers(-spread, spread, size)
    assert np.array_equal(distinct_ids(ids), np.unique(ids))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spread", [1 << 21, 1 << 62, (1 << 63) - 1])
def test_order_of_ids(size: int, spread: int) -> None:
    ids = np.unique(np.random.default_rng(size).integers(-spread, spread, size))
    np.random.default_rng(1).shuffle(ids)
    assert np.array_equal(order_of(ids), np.argsort(ids))


def test_order_of_ids_that_differ_in_their_lowest_bits_alone() -> None:
    ids = np.arange(1 << 16)
    ids[::2] += (1 << 63) - (1 << 17)
    assert np.array_equal(order_of(ids[::-1].copy()), np.arange(ids.size)[::-1][np.argsort(ids)])


@pytest.mark.parametrize("with_source", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [1, 3, 40, 1 << 20])
def test_columns_of_a_csr_in_order(size: int, rows: int, with_source: bool) -> None:
    random = np.random.default_rng(size + rows)
    # Rows of one entry, of a few, and of more than insertion sorts.
    row_of = np.sort(np.minimum(random.integers(0, rows, size), random.integers(0, rows, size)))
    numbers, first = np.unique(row_of, return_index=True)
    indptr = np.append(first, size).astype(np.int64)
    columns = random.permutation(size).astype(np.uint32)
    expected = np.lexsort((columns, np.repeat(numbers, np.diff(indptr))))
    got = ordered_columns(indptr, columns, with_source=with_source)
    assert np.array_equal(got[0], columns[expected])
    assert np.array_equal(got[1], expected if with_source else [])
