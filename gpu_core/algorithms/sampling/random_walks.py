"""Random walks along out-edges: uniform, by weight, and such that times do not go back.

A step goes to one of the out-neighbors of the vertex that the walk is at: all alike, or by the
weights of the edges. With a time (``first`` or ``last``), only along edges whose time is not before
that of the step before. A walk ends early at a vertex without such an edge, or whose weights are
all 0.

Step ``s`` of walk ``w`` takes draw ``s`` of owner ``w`` from the stream of the seed
(`generators/counter_random.py`). So walks do not depend on each other, on threads or on the engine,
and a longer walk begins as a shorter one does. They do depend on the vertex indices of the graph:
two graphs that were made alike have the same.

What a walk by weight or time reads is put in order once a call: the entries of each row by their
time, then by neighbor, and the sums of the weights from each entry on, float64, added up from the
last one: so entries whose time is over round nothing. Then a step is a binary search. It takes
some 20 bytes for each entry of the graph.

What an engine offers: ``algorithms.random_walks`` with ``walk``, of rows alone. What is asked of
some vertices with a seed is a query, no analytic of runs.

Source: Perozzi, Al-Rfou, Skiena, "DeepWalk", KDD 2014; for times, Nguyen et al., "Continuous-Time
Dynamic Network Embeddings", WWW Companion 2018.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ...generators.counter_random import stream_start
from ..centrality.pagerank import checked_strengths

if TYPE_CHECKING:
    from ...engine import Reader

#: Stream of the words: far from those that make graphs.
_STREAM: Final = 0x77616C6B

#: What stands in place of a vertex after the end of a walk.
NO_KEY: Final = -1


def random_walks(
    reader: Reader,
    starts: npt.NDArray[np.uint32],
    length: int,
    *,
    weighted: bool,
    time: str | None,
    seed: int,
) -> tuple[Any, Any]:
    """Walk from each start; the reader's lock is held.

    Parameters
    ----------
    starts
        uint32[w]: indices of vertices that are in the graph; one may come several times.
    length
        Steps at most.
    weighted
        By the weights, which the graph must have.
    time
        ``first`` or ``last``, which the edges must have; None: whatever times are.
    seed
        Of all draws.

    Returns
    -------
    walks : int64[w * (length + 1)]
        What the engine calls the vertices, walk after walk, in its memory; `NO_KEY` after the end.
    lengths : int64[w]
        Steps of each, likewise.

    Raises
    ------
    SettingsError
        A weight is negative.
    """
    if weighted or time is not None:
        rows = reader.pinned_rows("out", weighted=weighted)
    else:
        rows = reader.rows("out")
    if weighted:
        checked_strengths(reader, rows, "a walk by weight")
    times = None if time is None else reader.entry_times(time).values
    walks, lengths = reader.algorithms.random_walks.walk(
        reader.workspace, rows, reader.id_table(), starts, length,
        first_word=stream_start(seed, _STREAM), weighted=weighted, times=times,
    )  # fmt: skip
    return walks, lengths
