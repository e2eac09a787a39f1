"""Orders of vertices by degree, in which the lanes of a warp pull rows of about one length.

*Approximate bucket sort*: each vertex is mapped to a bucket by the entries of its row, and vertices
are taken bucket by bucket. ``linear`` is the projection of the paper, of `LINEAR_BUCKETS` buckets,

    bucket = (degree - least) (buckets - 1) / (most - least)

which puts nearly all vertices of a power law into the first few; ``log2`` has a bucket for each
number of bits of a degree, however long the longest row is. Where all degrees are the same there is
nothing to sort.

Two things differ from the paper. Vertices of a bucket stay in the order of their indices (a stable
pass of a radix sort), where its atomic counters leave any; and no vertex is renamed: the order says
which row a lane reads, so that neighbors of a row, sums over vertices, and hence results keep their
order and their bits. Rows longer than ``short_row`` are read by a warp each in any case, and lie
after all others, so that no warp has several of them.

These are the formulas in NumPy, for studies and tests; the kernels: ``pull_rows.cu``.

Source: Zhong et al., "Optimizing Graph Processing on GPUs", IEEE TPDS 28(4), 2017, section 4.1.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

#: By index; by buckets of a linear projection; by buckets of the logarithm.
VERTEX_ORDERS: Final = ("none", "linear", "log2")

#: Buckets of the linear projection: as many as in the paper.
LINEAR_BUCKETS: Final = 1000
#: Buckets of the logarithm: one for each number of bits of a uint32, from 0 to 32.
LOG2_BUCKETS: Final = 33


def buckets_of(degrees: npt.NDArray[np.integer[Any]], vertex_order: str) -> npt.NDArray[np.uint32]:
    """uint32[n]: bucket of each vertex by its degree, below 2^32; all 0 where those are the same.

    ``vertex_order`` is ``linear`` or ``log2``.
    """
    wide = degrees.astype(np.uint64)
    if not wide.size or wide.min() == wide.max():
        return np.zeros(wide.size, np.uint32)
    if vertex_order == "log2":
        return np.frexp(wide.astype(np.float64))[1].astype(np.uint32)
    least, most = wide.min(), wide.max()
    buckets = (wide - least) * np.uint64(LINEAR_BUCKETS - 1) // (most - least)
    return buckets.astype(np.uint32)


def order_of(
    degrees: npt.NDArray[np.integer[Any]], vertex_order: str, short_row: int
) -> npt.NDArray[np.int64]:
    """int64[n]: vertices in the order in which their rows are read, each once."""
    if vertex_order == "none" or not degrees.size or degrees.min() == degrees.max():
        return np.arange(degrees.size)
    keys = buckets_of(degrees, vertex_order).astype(np.int64)
    keys[degrees > short_row] += max(LINEAR_BUCKETS, LOG2_BUCKETS)
    return np.argsort(keys, kind="stable")
