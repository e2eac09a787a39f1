"""Erdős and Rényi's model G(n, m): m of all pairs of vertices, each set of m pairs as likely.

All ``n (n - 1) / 2`` pairs are numbered: pair ``(d - 1) n + v`` is ``v`` and the vertex ``d``
after it, counted around. A permutation brings them into a random order (`permutation.py`), and
edge ``i`` is the pair that is at position ``i``. So there are no self loops and no repeats, and any
slice of the list can be made on its own. `uniform.py` draws each end on its own, with repeats.

Arrays are NumPy's or CuPy's.

Source: Erdős, Rényi, "On Random Graphs I", Publicationes Mathematicae 6, 1959.
"""

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .permutation import permuted_below
from .uniform import MAX_VERTICES

Int64s = npt.NDArray[np.int64]

_STREAM = 0x65726479  # "erdy"


def erdos_renyi_edges(
    numbers: npt.NDArray[np.uint64], num_vertices: int, *, seed: int = 0
) -> tuple[Int64s, Int64s]:
    """Draw the edges with these numbers.

    Parameters
    ----------
    numbers : uint64[m]
        Which edges of the list; the first ``m`` are a graph of ``m`` edges. After all ``n (n - 1)
        / 2`` pairs the list begins again.
    num_vertices
        Vertices are ``0 … num_vertices - 1``, from 2 to 2**31.
    seed
        Another seed is another list.

    Returns
    -------
    src, dst : int64[m]
        Edges of an undirected graph.

    Raises
    ------
    SettingsError
        ``num_vertices`` is out of its range.
    """
    if not 2 <= num_vertices <= MAX_VERTICES:
        msg = f"num_vertices={num_vertices} make no pairs; it must be from 2 to {MAX_VERTICES}"
        raise SettingsError(msg)
    pairs = num_vertices * (num_vertices - 1) // 2
    pair = permuted_below(numbers % np.uint64(pairs), pairs, seed=seed, stream=_STREAM)
    count = np.uint64(num_vertices)
    src, offset = pair % count, pair // count + np.uint64(1)
    return src.astype(np.int64), ((src + offset) % count).astype(np.int64)
