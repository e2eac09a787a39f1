"""R-MAT edges, the Kronecker generator of Graph500: few hubs, many vertices of small degree.

An edge chooses one quadrant of the adjacency matrix on each of ``scale`` levels: upper left with
probability ``a``, upper right ``b``, lower left ``c``, lower right ``1 - a - b - c``. The row bits
are the source, the column bits the destination.

The raw construction gives vertex 0 the largest degree and its neighbors the next; so the ids are
permuted by a bijective hash of ``scale`` bits (xor-shifts and odd multiplications, each of which
can be undone), which takes no memory, unlike a shuffle.

Self loops and repeats stay in the list, as the Graph500 specification keeps them; with its
parameters 9 % of the edges of scale 16 are repeats, and 4 % of scale 20.

Sources: Chakrabarti, Zhan, Faloutsos, "R-MAT: A Recursive Model for Graph Mining", SDM 2004; the
Graph500 specification (a = 0.57, b = c = 0.19, edge factor 16).
"""

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from .counter_random import Words, lower_half, random_words, stream_start, upper_half

Int64s = npt.NDArray[np.int64]

_STREAM = 0x726D6174  # "rmat"
_PERMUTE_STREAM = _STREAM + 64

#: Graph500's quadrant probabilities and edges a vertex.
A, B, C = 0.57, 0.19, 0.19
EDGE_FACTOR = 16

MAX_SCALE = 31

#: Edges drawn together: the words of one level stay in the cache.
_BLOCK = 1 << 15


def rmat_edges(
    numbers: npt.NDArray[np.uint64],
    scale: int,
    *,
    a: float = A,
    b: float = B,
    c: float = C,
    seed: int = 0,
    permute: bool = True,
) -> tuple[Int64s, Int64s]:
    """Draw the edges with these numbers.

    Parameters
    ----------
    numbers : uint64[m]
        Which edges of the endless list; ``np.arange(first, last, dtype=np.uint64)`` is a slice.
    scale
        Vertices are ``0 … 2**scale - 1``; at most 31.
    a, b, c
        Quadrant probabilities, upper left, upper right, lower left; the rest is lower right.
    seed
        Another seed is another list.
    permute
        Permute the vertex ids; without it vertex 0 has the largest degree.

    Returns
    -------
    src, dst : int64[m]
    """
    if not 1 <= scale <= MAX_SCALE:
        msg = f"scale={scale} cannot be drawn; it must be from 1 to {MAX_SCALE}"
        raise SettingsError(msg)
    if not (min(a, b, c) >= 0 and a + b + c <= 1):
        msg = f"a={a}, b={b}, c={c} are no probabilities; each must be >= 0 and their sum <= 1"
        raise SettingsError(msg)
    src = np.empty(len(numbers), dtype=np.int64)
    dst = np.empty(len(numbers), dtype=np.int64)
    for low in range(0, len(numbers), _BLOCK):
        block = slice(low, low + _BLOCK)
        rows, columns = _quadrants(numbers[block], scale, (a, b, c), seed)
        if permute:
            rows, columns = permuted(rows, scale, seed), permuted(columns, scale, seed)
        src[block] = rows
        dst[block] = columns
    return src, dst


def _quadrants(
    numbers: Words, scale: int, probabilities: tuple[float, float, float], seed: int
) -> tuple[Words, Words]:
    """Row and column bits of each edge, one level after the other, most significant first."""
    a, b, c = probabilities
    # Bounds on 32 random bits: [0, a) is upper left, [a, a+b) upper right, [a+b, a+b+c) lower left.
    bounds = [np.uint64(round(bound * 2**32)) for bound in (a, a + b, a + b + c)]
    rows = np.zeros(len(numbers), dtype=np.uint64)
    columns = np.zeros(len(numbers), dtype=np.uint64)
    words = np.empty(0, dtype=np.uint64)
    one = np.uint64(1)
    for level in range(scale):
        if level % 2 == 0:
            words = random_words(seed, _STREAM + level // 2, numbers)
        draw = upper_half(words) if level % 2 == 0 else lower_half(words)
        lower = draw >= bounds[1]
        right = (draw >= bounds[0]) & ~lower | (draw >= bounds[2])
        rows = (rows << one) | lower
        columns = (columns << one) | right
    return rows, columns


def permuted(vertices: Words, scale: int, seed: int) -> Words:
    """Permute ``0 … 2**scale - 1``: a bijective hash of ``scale`` bits.

    ``x ^= x >> s`` with ``s >= 1`` can be undone, and so can a product with an odd number modulo a
    power of two; a chain of both is a permutation.
    """
    mask = np.uint64((1 << scale) - 1)
    shift = np.uint64(max(1, (scale + 1) // 2))
    mixed = vertices & mask
    for step in range(3):
        factor = stream_start(seed, _PERMUTE_STREAM + 2 * step) | np.uint64(1)
        offset = stream_start(seed, _PERMUTE_STREAM + 2 * step + 1)
        mixed = (mixed * factor + offset) & mask
        mixed ^= mixed >> shift
    return mixed
