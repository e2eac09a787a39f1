"""Result of PageRank: ranks of all vertices, how exact they are, and what a later start needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...printable import counted
from ..shared.by_vertex import Values, ValuesResult

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Vector = npt.NDArray[np.float64]


class KeptRanks(Protocol):
    """Ranks that an engine keeps where it made them; they do not change with the graph."""

    def by_index(self) -> Vector:
        """float64[vertex_count], in host memory: ranks by vertex index, 0 of absent vertices."""

    def by_vertex(self) -> tuple[Int64s, Vector]:
        """Users' ids in increasing order, and their ranks, in host memory."""

    def degrees_by_vertex(self) -> UInt32s | None:
        """uint32[n], in host memory: of `PageRankResult.degrees`."""

    def largest(self, k: int) -> tuple[Int64s, Vector]:
        """The ``k`` vertices of largest rank, the largest first, equal ones by ids; and these."""


class FetchedRanks:
    """`by_vertex.Values` of ranks that an engine keeps, fetched when they are first read."""

    def __init__(self, kept: KeptRanks) -> None:
        self._kept = kept
        self.largest = kept.largest

    @cached_property
    def _by_vertex(self) -> tuple[Int64s, Vector]:
        return self._kept.by_vertex()

    @property
    def vertices(self) -> Int64s:
        """int64[n]: what the engine calls the vertices, increasing."""
        return self._by_vertex[0]

    @property
    def values(self) -> Vector:
        """float64[n]: their ranks."""
        return self._by_vertex[1]


class PageRankResult(ValuesResult):
    """Ranks of all vertices.

    Parameters
    ----------
    columns
        As of `ValuesResult`.
    iterations, residual, error_bound
        As the attributes; the bound, or what finds it.
    kept
        Where the engine keeps the ranks, if it does; a warm start reads them there.
    degrees
        As the attribute, where the engine does not keep them with the ranks.

    Attributes
    ----------
    iterations
        Steps made.
    residual
        L1 norm of what the last step, a plain one, changed.
    kept
        As the parameter.
    """

    _analytic = "pagerank"
    _ranked_by = "pagerank"

    def __init__(
        self,
        columns: Values,
        iterations: int,
        residual: float,
        error_bound: float | Callable[[], float],
        kept: KeptRanks | None = None,
        degrees: UInt32s | None = None,
    ) -> None:
        super().__init__(columns)
        self.iterations = iterations
        self.residual = residual
        self._error_bound = error_bound
        self.kept, self._degrees = kept, degrees

    @cached_property
    def degrees(self) -> UInt32s | None:
        """uint32[n]: entries of the vertices, of which a warm start needs to know what changed.

        None: the graph is directed, or its edges or vertices do not count alike.
        """
        return self._degrees if self.kept is None else self.kept.degrees_by_vertex()

    @cached_property
    def error_bound(self) -> float:
        """Proven upper bound on the L1 distance from the exact ranks, rounding included.

        See `pagerank_bound.py`. It is infinite if nothing is proven: with ``alpha=1``, and if
        weights of a vertex sum to 1e288 or more.
        """
        return self._error_bound if isinstance(self._error_bound, float) else self._error_bound()

    @property
    def pagerank(self) -> Vector:
        """float64[n], none negative; sum 1, within the distance from the solution."""
        return self._columns.values

    def __repr__(self) -> str:
        return (
            f"<PageRankResult {counted(len(self), 'vertex')}, "
            f"{counted(self.iterations, 'iteration')}, residual {self.residual:.3g}, "
            f"error_bound {self.error_bound:.3g}>"
        )

    def _made_of(self) -> tuple[Any, ...]:
        exactness = self.iterations, self.residual, self.error_bound
        return (*super()._made_of(), *exactness, None, self.degrees)
