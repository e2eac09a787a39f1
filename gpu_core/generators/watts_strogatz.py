"""Watts and Strogatz' beta model: a ring of neighbors, a share of whose edges leads anywhere.

Vertex ``i`` has edges to the ``degree / 2`` vertices after it in the ring; with probability
``beta`` an edge has another end instead, drawn uniformly from all vertices but ``i``. Repeats, of
which there are few, stay in the list: so any slice of it can be made on its own.

Source: Watts, Strogatz, "Collective Dynamics of 'Small-World' Networks", Nature 393, 1998.
"""

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .counter_random import below, random_words, unit_floats, upper_half
from .uniform import MAX_VERTICES

Int64s = npt.NDArray[np.int64]

_STREAM = 0x62657461  # "beta"
_IS_REWIRED, _END = _STREAM, _STREAM + 1


def watts_strogatz_edges(
    numbers: npt.NDArray[np.uint64],
    num_vertices: int,
    degree: int,
    beta: float,
    *,
    seed: int = 0,
) -> tuple[Int64s, Int64s]:
    """Draw the edges with these numbers.

    Parameters
    ----------
    numbers : uint64[m]
        Which edges of the list; the first ``num_vertices * degree / 2`` go round the ring once.
    num_vertices
        Vertices are ``0 … num_vertices - 1``, from 3 to 2**31.
    degree
        Mean degree, even and less than ``num_vertices``.
    beta
        Share of the edges that lead anywhere, from 0 to 1.
    seed
        Another seed is another list.

    Returns
    -------
    src, dst : int64[m]
    """
    if not 3 <= num_vertices <= MAX_VERTICES:
        msg = f"num_vertices={num_vertices} make no ring; it must be from 3 to {MAX_VERTICES}"
        raise SettingsError(msg)
    if degree % 2 or not 2 <= degree < num_vertices:
        msg = f"degree={degree} must be even, and from 2 to {num_vertices - 1}"
        raise SettingsError(msg)
    if not 0 <= beta <= 1:
        msg = f"beta={beta} is not a share; it must be from 0 to 1"
        raise SettingsError(msg)
    half, count = np.uint64(degree // 2), np.uint64(num_vertices)
    src = numbers // half % count
    is_rewired = unit_floats(random_words(seed, _IS_REWIRED, numbers)) < beta
    anywhere = below(upper_half(random_words(seed, _END, numbers)), num_vertices - 1)
    offset = np.where(is_rewired, anywhere, numbers % half) + np.uint64(1)
    return src.astype(np.int64), ((src + offset) % count).astype(np.int64)
