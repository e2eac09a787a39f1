"""Betweenness centrality: the share of shortest paths that lead through each vertex.

::

    betweenness(v) = sum over s and t of paths(s, t, v) / paths(s, t)

where paths(s, t) counts the shortest paths from s to t along the edges' direction, by hops, and
paths(s, t, v) those of them through v. That is ``nx.betweenness_centrality`` without weights, with
its parameters and its scaling: ``endpoints`` counts s and t themselves; with ``normalized`` values
are divided by the number of pairs that could have a path through v, and else pairs of an undirected
graph count once. With ``k`` sources are a sample, and values are scaled up by what it leaves out; a
source of the sample, of whose own paths nothing is known, by a little more (NaN where k is 1). The
sample is the one that networkx draws with that ``seed`` from a graph that was given its vertices in
the order of ours. Self loops make no difference.

Numbers of paths are float64, as there, and exact up to 2^53; but where they are larger than
float64 can be, which they are in grids and networks of roads, values are as exact as elsewhere,
while there they are NaN or too small. Sums are taken in a fixed order, so an
engine gives the same bits every time; the two engines differ by rounding.

What an engine offers: ``algorithms.betweenness_centrality`` with ``centrality``, of rows alone.

Source: Brandes, "A Faster Algorithm for Betweenness Centrality", J. Math. Sociology 25, 2001;
Brandes, Pich, "Centrality Estimation in Large Networks", IJBC 17, 2007 (samples).
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import SettingsError
from ...printable import counted, printable
from ..analytic import Analytic, Column, ColumnValues, Parameter, Parameters, Summary
from ..shared.adjacencies import adjacencies_of
from ..shared.by_vertex import Values, ValuesResult, in_order

if TYPE_CHECKING:
    from ...engine import Reader

_NAME = "betweenness_centrality"


class BetweennessResult(ValuesResult):
    """Betweenness centrality of every vertex.

    Parameters
    ----------
    columns
        As of `ValuesResult`.
    sources
        As the attribute.

    Attributes
    ----------
    sources
        Number of vertices that paths were counted from: all, or those of the sample.
    """

    _analytic = _NAME
    _ranked_by = _NAME

    def __init__(self, columns: Values, sources: int) -> None:
        super().__init__(columns)
        self.sources = sources

    @property
    def betweenness_centrality(self) -> npt.NDArray[np.float64]:
        """float64[n]: from 0 to 1 if ``normalized``, and estimated beyond by a sample."""
        return self._columns.values

    def _made_of(self) -> tuple[Any, ...]:
        return *super()._made_of(), self.sources

    def __repr__(self) -> str:
        return (
            f"<BetweennessResult {counted(len(self), 'vertex')}, {counted(self.sources, 'source')}>"
        )


def betweenness_centrality(
    reader: Reader,
    *,
    k: int | None = None,
    normalized: bool = True,
    endpoints: bool = False,
    seed: int = 0,
) -> BetweennessResult:
    """Betweenness centrality of every vertex.

    Parameters
    ----------
    reader
        Of the graph.
    k
        Sources that are drawn; None, or as many as there are vertices or more: all, which is exact.
    normalized
        Whether values are divided by the number of pairs.
    endpoints
        Whether the two ends of a path are on it.
    seed
        Of the sample.

    Raises
    ------
    SettingsError
        ``k`` is no whole number from 1 on, or ``seed`` none from 0 on.
    """
    for name, value, least in (("k", 1 if k is None else k, 1), ("seed", seed, 0)):
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not is_whole or value < least:
            msg = f"{name}={value!r} is not a whole number, {least} or more"
            raise SettingsError(msg)
    count = reader.num_vertices
    positions = np.arange(count)
    if k is not None and k < count:
        positions = np.array(random.Random(int(seed)).sample(range(count), int(k)))
    indices = reader.indices_at(positions)
    others, sampled = _scales(
        count,
        None if indices.size == count else indices.size,
        normalized=normalized,
        endpoints=endpoints,
        directed=reader.kind.directed,
    )
    values = reader.algorithms.betweenness_centrality.centrality(
        reader.workspace, adjacencies_of(reader), indices, endpoints=endpoints, scale=others,
        scale_of_sources=sampled,
    )  # fmt: skip
    return BetweennessResult(in_order(reader, values), indices.size)


def _scales(
    count: int, sampled: int | None, *, normalized: bool, endpoints: bool, directed: bool
) -> tuple[float, float]:
    """Factors of the sums: of vertices, and of those in the sample.

    As networkx does since 3.5.
    """
    ends = count if endpoints else count - 1
    if ends < 2:
        return 1.0, 1.0
    sources = ends if sampled is None else sampled
    pairs = 1 / (ends - 1) if normalized else ends / (1 if directed else 2)
    # A source of the sample has seen the paths of one source less.
    fewer = sources if sampled is None or endpoints else sources - 1
    return pairs / sources, pairs / fewer if fewer else math.nan


#: Vertices of largest value that a summary has.
_TOP = 3


def _summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    vertices, values = columns["vertex"], columns[_NAME]
    first = np.lexsort((np.arange(values.size), -values))[:_TOP]
    first = first[np.isfinite(values[first])]
    return {"top": list(zip(vertices[first].tolist(), values[first].tolist(), strict=True))}


def _text(summary: Summary) -> str:
    top = ((printable(vertex), value) for vertex, value in summary["top"])
    return ", ".join(f"{vertex} ({value:.6g})" for vertex, value in top) or "no vertices"


ANALYTIC = Analytic(
    name=_NAME,
    title="betweenness centrality",
    about="The share of shortest paths through every vertex, as networkx defines it.",
    compute=betweenness_centrality,
    parameters=(
        Parameter(
            "k", "vertices whose paths are counted, a sample (of 1, its own value may be NaN); "
            "null: all, which is exact",
            {"type": ["integer", "null"], "minimum": 1},
        ),
        Parameter(
            "normalized", "whether values are divided by the number of pairs of vertices",
            {"type": "boolean"}, default=True,
        ),
        Parameter(
            "endpoints", "whether a path counts for its two ends", {"type": "boolean"},
            default=False,
        ),
        Parameter("seed", "seed of the sample", {"type": "integer", "minimum": 0}, default=0),
    ),
    results=(Column(_NAME, "float64", "share of shortest paths through the vertex"),),
    summary=_summary,
    text=_text,
    label="between",
    figures=("sources",),
)  # fmt: skip
