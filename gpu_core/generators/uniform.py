"""Uniform random edges: both end points from ``0 … num_vertices - 1``, each on its own.

Self loops (one in ``num_vertices``) and repeats are in the list, as they are in real logs. The
degrees are Poisson distributed: no hubs, which makes this the even case of every benchmark.
"""

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .counter_random import below, lower_half, random_words, upper_half

Int64s = npt.NDArray[np.int64]

_STREAM = 0x756E69  # "uni"

#: End points are drawn from 32 bits each.
MAX_VERTICES = 2**31


def uniform_edges(
    numbers: npt.NDArray[np.uint64], num_vertices: int, *, seed: int = 0
) -> tuple[Int64s, Int64s]:
    """Draw the edges with these numbers.

    Parameters
    ----------
    numbers : uint64[m]
        Which edges of the endless list; ``np.arange(first, last, dtype=np.uint64)`` is a slice.
    num_vertices
        Vertices are ``0 … num_vertices - 1``; at most 2**31.
    seed
        Another seed is another list.

    Returns
    -------
    src, dst : int64[m]
    """
    if not 1 <= num_vertices <= MAX_VERTICES:
        msg = f"num_vertices={num_vertices} cannot be drawn; it must be from 1 to {MAX_VERTICES}"
        raise SettingsError(msg)
    words = random_words(seed, _STREAM, numbers)
    src = below(upper_half(words), num_vertices)
    dst = below(lower_half(words), num_vertices)
    return src.astype(np.int64), dst.astype(np.int64)
