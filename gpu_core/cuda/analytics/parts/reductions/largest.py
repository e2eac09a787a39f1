"""The vertices of the few largest values, found on the device without a sort.

Kernels: ``largest.cu``. Host twin: `table.largest`. Each vertex is found by one pass over all
values, so that many take long.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ....device.declarations import constant
from ....device.device import Array, Device
from ....device.stream_words import ticket_of
from ....grid import blocks_for

_SOURCE: Final = "largest.cu"

_THREADS: Final = constant(_SOURCE, "LARGEST_THREADS")
#: Blocks a multiprocessor, beyond which values are read no faster.
_BLOCKS: Final = 4


def largest(
    device: Device, values: Array, keys: Array | None, k: int, least: float = -np.inf
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """The ``k`` vertices of largest value, the largest first, equal ones by increasing keys.

    Parameters
    ----------
    values
        float64[n] on the device.
    keys
        int64[n] on the device, what the engine calls the vertices, all different; None: 0, 1, 2 …
    least
        Vertices of less, and of no finite number, are none.

    Returns
    -------
    keys, values : int64[m], float64[m], m <= k
        In host memory, which waits for the device.
    """
    count = int(values.size)
    ranks = min(k, count)
    if ranks == 0:
        return np.empty(0, np.int64), np.empty(0)
    blocks = min(blocks_for(count, _THREADS), _BLOCKS * device.multiprocessors)
    with device.current():
        found, firsts = device.empty(2 * ranks, np.uint64), device.empty(2 * blocks, np.uint64)
        ticket = ticket_of(device)
        for rank in range(ranks):
            device.launch(
                _SOURCE, "find_next_largest", blocks, _THREADS, values, keys, np.int64(count),
                np.float64(least), np.int64(rank), np.int64(ranks), found, firsts, ticket,
            )  # fmt: skip
        first_values, first_keys = np.split(device.read_words(found), 2)
    is_there = first_values.view(np.float64) > -np.inf
    return first_keys.view(np.int64)[is_there], first_values.view(np.float64)[is_there]
