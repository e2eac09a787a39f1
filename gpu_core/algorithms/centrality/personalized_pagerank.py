"""Personalized PageRank of many sources: for each, ranks where all jumps land on it.

::

    x = alpha (P^T x + m s) + (1 - alpha) s         s: 1 at the source, 0 elsewhere

which is PageRank (`pagerank.py`) with ``personalization={source: 1}``: the rank on dangling
vertices goes back to the source as well. Sources are worked on in blocks, whose vectors lie side by
side: each step reads the rows once for all sources of a block. Steps are plain ones, also on
undirected graphs.

Each source ends for itself, when a step changes its ranks by at most ``tol`` in sum (L1); its ranks
are the same bits whichever others are asked for with it. The error bound of each is that of
PageRank (`pagerank_bound.py`).

What an engine offers: ``algorithms.personalized_pagerank`` with ``iterate``, of rows alone. A row
for each source and vertex is no result by vertex, so this is no analytic of runs.

Source: Jeh, Widom, "Scaling Personalized Web Search", WWW 2003 (the definition).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ConvergenceError
from ...table import Column, TableRows, largest
from ..shared.adjacencies import adjacencies_of, is_weighted
from ..shared.pagerank_bound import Rounding, error_bound
from ..shared.surfer import Surfer
from .pagerank import check_settings, checked_strengths
from .pagerank_result import KeptRanks

if TYPE_CHECKING:
    from ...engine import Reader

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Vector = npt.NDArray[np.float64]

#: So many vertices of largest rank are found where the ranks are: each takes a pass over them.
_FEW: Final = 100


class SourceRanks(NamedTuple):
    """Results of a twin for each source, in any order of them."""

    #: Which of the sources.
    number: int
    #: float64[vertex_count], by vertex index, in host memory; or what keeps them elsewhere.
    ranks: Vector | KeptRanks
    #: Steps that were made, and what the last of them changed, L1.
    iterations: int
    residual: float
    rounding: Rounding


class Found(NamedTuple):
    """Ranks of all sources, as the engine calls the vertices."""

    #: int64[s]: how many rows are of each source.
    counts: Int64s
    #: int64 and float64, [sum of counts].
    vertices: Int64s
    ranks: Vector
    #: [s] each.
    iterations: Int64s
    residual: Vector
    error_bound: Vector


class PersonalizedPageRankResult(TableRows):
    """Ranks of vertices, seen from each of some sources: a row a source and vertex.

    Parameters
    ----------
    sources
        As the attribute.
    source, vertex
        Columns of users' ids.
    found
        The rest.

    Attributes
    ----------
    sources
        [s]: users' ids of the sources, in the order in which they were given.
    iterations
        int64[s]: steps of each.
    residual
        float64[s]: L1 norm of what the last step of each changed.
    error_bound
        float64[s]: proven bound of the L1 distance of each source's ranks, those left out
        included, from the exact ones; see `pagerank_bound.py`.
    """

    def __init__(self, sources: Column, source: Column, vertex: Column, found: Found) -> None:
        columns = {"source": source, "vertex": vertex, "pagerank": found.ranks}
        super().__init__(columns, "pagerank")
        self.sources = sources
        self.iterations = found.iterations
        self.residual = found.residual
        self.error_bound = found.error_bound

    @property
    def source(self) -> Column:
        """Users' ids of the sources, rows of one together."""
        return self._columns["source"]

    @property
    def vertex(self) -> Column:
        """Users' ids of the vertices."""
        return self._columns["vertex"]

    @property
    def pagerank(self) -> Vector:
        """float64: rank of the vertex; all ranks of a source sum to 1."""
        return self._columns["pagerank"]


def personalized_pagerank(
    reader: Reader,
    sources: UInt32s,
    *,
    k: int | None,
    alpha: float,
    tol: float,
    max_iter: int,
    weight: str | None,
) -> Found:
    """Ranks seen from each source; the reader's lock is held.

    Parameters
    ----------
    sources
        uint32[s]: indices of vertices that are in the graph; one may come twice.
    k
        Vertices of largest rank of each source, largest first, equal ones in the order of ids.
        None: all vertices, in the order of ids.
    alpha, tol, max_iter, weight
        As of `pagerank.pagerank`.

    Raises
    ------
    ConvergenceError
        ``max_iter`` steps were not enough for a source.
    SettingsError
        An argument is out of range, or a weight is negative.
    """
    check_settings(alpha, max_iter, tol)
    weighted = is_weighted(reader, weight)
    adjacencies = adjacencies_of(reader, weighted=weighted)
    if weighted:
        strengths = checked_strengths(reader, adjacencies.out)
    else:
        twin = reader.algorithms.pagerank
        strengths = twin.out_strengths(reader.workspace, adjacencies.out, weighted=False)
    count = adjacencies.out.num_vertices
    each = count if k is None else min(k, count)
    found = Found(
        np.full(sources.size, each, np.int64),
        np.empty(sources.size * each, np.int64),
        np.empty(sources.size * each),
        np.empty(sources.size, np.int64),
        np.empty(sources.size),
        np.empty(sources.size),
    )

    listed = _Listed(reader, k)

    def take(ended: SourceRanks) -> None:
        number, ranks, iterations, residual, rounding = ended
        if not residual <= tol:
            msg = (
                f"PageRank from vertex {{vertex}} did not converge: after {max_iter} iterations "
                f"the residual is {residual:.3g}, above {tol:.3g}; raise max_iter or tol, or lower "
                f"alpha={alpha}"
            )
            [source] = reader.ids_of(sources[number : number + 1])
            raise ConvergenceError.of_vertex(msg, source)
        rows = slice(number * each, (number + 1) * each)
        found.vertices[rows], found.ranks[rows] = listed(ranks)
        found.iterations[number], found.residual[number] = iterations, residual
        found.error_bound[number] = error_bound(alpha, residual, rounding, adjacencies.out.count)

    reader.algorithms.personalized_pagerank.iterate(
        reader.workspace, adjacencies, reader.id_table(), Surfer(alpha, strengths, weighted),
        sources, threshold=tol, max_iter=max_iter, take=take,
    )  # fmt: skip
    return found


class _Listed:
    """Lists the vertices of a source, and their ranks.

    Parameters
    ----------
    k
        As of `personalized_pagerank`.
    """

    def __init__(self, reader: Reader, k: int | None) -> None:
        self._reader, self._k = reader, k

    def __call__(self, ranks: Vector | KeptRanks) -> tuple[Int64s, Vector]:
        k = self._k
        if not isinstance(ranks, np.ndarray):
            if k is not None and k <= _FEW:
                return ranks.largest(k)
            ranks = ranks.by_index()
        in_order = ranks[self._order]
        chosen = slice(None) if k is None else largest(in_order, k)
        return self._keys[chosen], in_order[chosen]

    @cached_property
    def _order(self) -> Int64s:
        return self._reader.sorted_order()

    @cached_property
    def _keys(self) -> Int64s:
        keys: Int64s = self._reader.user_ids()[self._order]
        return keys
