"""Large arrays of a GPU in host memory: whole, after all work before, by any thread."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.cuda.device.devices import open_device
from graphtide.gpu_core.cuda.device.host_copies import _BLOCK_BYTES, LEAST_BYTES

pytestmark = pytest.mark.gpu

_WORDS = _BLOCK_BYTES // 8


@pytest.mark.parametrize(
    "items", [0, 1, LEAST_BYTES // 8 - 1, LEAST_BYTES // 8, _WORDS, _WORDS + 1, 5 * _WORDS - 3]
)
def test_arrays_of_any_size_are_copied_whole(items: int) -> None:
    device = open_device(None)
    array = device.xp.arange(items, dtype=np.int64)
    np.testing.assert_array_equal(device.to_host(array), np.arange(items))


def test_what_is_odd_in_bytes_strided_or_of_two_dimensions_is_too() -> None:
    device = open_device(None)
    odd = device.xp.arange(2 * _BLOCK_BYTES + 5, dtype=np.uint8)
    assert device.to_host(odd).tobytes() == np.arange(odd.size, dtype=np.uint8).tobytes()
    strided = device.xp.arange(4 * _WORDS)[::2]
    np.testing.assert_array_equal(device.to_host(strided), np.arange(0, 4 * _WORDS, 2))
    table = device.xp.arange(4 * _WORDS).reshape(4, _WORDS)
    np.testing.assert_array_equal(device.to_host(table), np.arange(table.size).reshape(4, _WORDS))


def test_threads_get_each_their_own() -> None:
    device = open_device(None)

    def fetched(number: int) -> tuple[int, Any]:
        with device.xp.cuda.Stream(non_blocking=True):
            array = device.xp.full(2 * _WORDS + number, number)
            array *= 2
            return number, device.to_host(array)

    with ThreadPoolExecutor(8) as pool:
        for number, found in pool.map(fetched, range(40)):
            assert found.size == 2 * _WORDS + number
            assert (found == 2 * number).all()
