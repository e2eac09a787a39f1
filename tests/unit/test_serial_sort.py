"""Sorts of row keys on one core against NumPy's, and the distinct ids of a batch."""

import numpy as np
import pytest

from graphtide.gpu_core.batch import serial_sort

LIMITS = np.iinfo(np.int64)
POSITION_BITS = 17
SIZES = [0, 1, 2, 1000, serial_sort.WIDE_DIGITS, 100_000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [1, 10, 24, 30, 40, 47])
@pytest.mark.parametrize("hubs", [0, 1, 300])
def test_keys_are_sorted_whatever_runs_they_have(size: int, bits: int, hubs: int) -> None:
    """Hubs share their upper bits: a run of half of all keys, or many that are long and short."""
    random = np.random.default_rng(size + bits + hubs)
    edges = random.integers(0, 1 << bits, size, np.uint64)
    if hubs:
        lower = np.uint64((1 << bits // 3) - 1)
        hub = edges[: size // 2] % np.uint64(hubs) << np.uint64(bits // 3)
        edges[: size // 2] = (edges[: size // 2] & lower | hub) & np.uint64((1 << bits) - 1)
        random.shuffle(edges)
    keys = edges << np.uint64(POSITION_BITS) | np.arange(size, dtype=np.uint64)
    expected = np.sort(keys)
    arrays = keys.copy(), np.empty_like(keys)
    assert np.array_equal(serial_sort.sort_by_radix(*arrays, POSITION_BITS, bits), expected)
    assert np.array_equal(serial_sort.sort_keys(keys, POSITION_BITS, bits), expected)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spread", [1, 50, 1 << 40, LIMITS.max])
def test_distinct_ids_of_any_range(size: int, spread: int) -> None:
    ids = np.random.default_rng(size).integers(-spread, spread, size, endpoint=True)
    ids[size // 2 :] = ids[: size - size // 2]
    ids[:1], ids[1:2] = -spread, spread
    found = serial_sort.distinct_ids(ids.copy())
    assert found.dtype == np.int64
    assert found.tolist() == sorted(set(ids.tolist()))
