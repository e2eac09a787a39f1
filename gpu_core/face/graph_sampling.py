"""Random walks and neighbor sampling, as methods of a graph, for machine learning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..algorithms.sampling import neighbor_sampling as _sampling
from ..algorithms.sampling import random_walks as _walks
from ..algorithms.shared.adjacencies import is_weighted
from ..choices import one_of
from ..errors import SettingsError
from ..names.user_ids import UserIds, listed
from ..records import TIME_PROPERTIES
from ..times import INTEGERS, first_at_or_after
from .arguments.checks import Id, Ids, count_of, yes_or_no
from .graph_calls import GraphCalls
from .samples import NeighborSample, WalksResult

Int64s = npt.NDArray[np.int64]

#: Steps of a walk, and neighbors of a vertex, at most: draws are numbered by 32 bits.
_MOST_DRAWS = 2**31


class GraphSampling(GraphCalls):
    """Random walks and samples of a graph; see `GraphReader`.

    Draws follow from ``seed``, the graph and the vertex indices of its engine: the same with any
    number of threads, on either engine, and again on an epoch of the same graph. A graph that has
    the same edges by another history may have other indices, and other samples.
    """

    def random_walks(
        self,
        starts: Id | Ids,
        length: int,
        *,
        weight: str | None = None,
        time: str | None = None,
        seed: int = 0,
    ) -> WalksResult:
        """Walk at random along out-edges from some vertices.

        Parameters
        ----------
        starts
            Id of a vertex, or of several; a walk begins at each, so ids may come several times.
        length
            Maximum number of steps (edges) of a walk. It ends earlier at a vertex without an edge
            to follow.
        weight
            None: each out-edge of a vertex is drawn with the same probability. ``"weight"``: in
            proportion to the weights.
        time
            ``"first"`` or ``"last"``: only edges are followed whose time, in semantic records, is
            not before that of the previous step. None: times do not matter.
        seed
            Of the draws. A walk depends on its start and its position in ``starts``, not on the
            other starts, and a longer walk begins with the shorter one.

        Returns
        -------
        WalksResult
            ``walks`` [w, length + 1], users' ids, -1 after the end of a walk; ``lengths`` int64[w],
            steps.

        Raises
        ------
        VertexNotFoundError
            A start is not in the graph.
        SettingsError
            An argument is out of range, a weight is negative, or the graph has no weights or times.

        Notes
        -----
        Sources: Perozzi, Al-Rfou, Skiena, "DeepWalk", KDD 2014; for times, Nguyen et al.,
        "Continuous-Time Dynamic Network Embeddings", WWW Companion 2018.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([1, 2, 3, 1], [2, 3, 1, 4]).edges_added
        4
        >>> graph.random_walks([1, 1, 2], length=4, seed=7).walks
        array([[ 1,  4, -1, -1, -1],
               [ 1,  2,  3,  1,  2],
               [ 2,  3,  1,  2,  3]])
        """
        steps = _at_most("length", count_of("length", length))
        weighted = is_weighted(self._reader, weight)
        if time is not None:
            self._check_time(time)
        with self._computing():
            walks, lengths = _walks.random_walks(
                self._reader, self._known("starts", listed(starts)), steps, weighted=weighted,
                time=time, seed=count_of("seed", seed),
            )  # fmt: skip
        ids = None if type(self._ids) is UserIds else self._ids
        return WalksResult(walks.reshape(-1, steps + 1), lengths, ids)

    def sample_neighbors(
        self,
        vertices: Id | Ids,
        fanouts: Sequence[int],
        *,
        replace: bool = False,
        weight: str | None = None,
        direction: str = "in",
        disjoint: bool = False,
        before: Any = None,
        time: str = "first",
        seed: int = 0,
    ) -> NeighborSample:
        """Sample edges around some vertices, hop by hop, for mini-batches of graph learning.

        Parameters
        ----------
        vertices
            Id of a vertex, or of several; each once, unless ``disjoint``.
        fanouts
            Maximum number of edges of each vertex, one number for each hop; -1: all.
        replace
            Whether an edge may be drawn several times.
        weight
            None: each edge of a vertex is drawn with the same probability. ``"weight"``: in
            proportion to the weights; an edge of weight 0 is never drawn.
        direction
            ``"in"``: edges that point to a vertex, so that messages flow to the given ones, as in
            PyTorch Geometric; a directed graph needs ``reverse=True``. ``"out"``: edges that begin
            there.
        disjoint
            Whether each given vertex has its own sample, distinguished by ``batch``.
        before
            Only edges whose ``time`` is before this: a time as in `edges`, or, if ``disjoint``, one
            for each of the given vertices.
        time
            Which time of semantic records counts: ``"first"`` or ``"last"``.
        seed
            Of the draws.

        Returns
        -------
        NeighborSample
            ``vertices`` [n], users' ids, the given ones first; ``edge_index`` int64[2, e], source
            and destination of each edge as positions in ``vertices``; ``batch`` int64[n] or None;
            ``vertices_per_hop`` and ``edges_per_hop``, lists of int.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.
        SettingsError
            An argument is out of range, the graph has no weights or times, or a weight that is
            read is negative.

        Notes
        -----
        Without ``weight`` and ``before`` only drawn edges are read, otherwise all edges of the
        vertices that are expanded. The times of all edges are copied for the first such call and
        kept until the next batch: 8 bytes for each entry of the graph.

        Sources: Hamilton, Ying, Leskovec, "Inductive Representation Learning on Large Graphs", NIPS
        2017; Bentley, Floyd, "A Sample of Brilliance", CACM 1987; Efraimidis, Spirakis, "Weighted
        random sampling with a reservoir", IPL 2006.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([5, 6, 7, 8, 8], [1, 1, 1, 5, 6]).edges_added
        5
        >>> sample = graph.sample_neighbors([1], [2, -1], seed=1)
        >>> sample.vertices
        array([1, 5, 6, 8])
        >>> sample.edge_index
        array([[1, 2, 3, 3],
               [0, 0, 1, 2]])
        """
        weighted = is_weighted(self._reader, weight)
        one_of("direction", direction, ("in", "out"))
        one_of("time", time, TIME_PROPERTIES)
        if direction == "in":
            self._need_reverse("sample_neighbors(direction='in')")
        hops, is_replaced = _fanouts(fanouts), yes_or_no("replace", replace)
        if is_replaced and _sampling.ALL in hops:
            msg = "replace=True draws a number of edges that fanouts says; -1 is none"
            raise SettingsError(msg)
        if before is not None:
            self._check_time(time)
        with self._computing():
            given = self._known_once("vertices", listed(vertices), disjoint=disjoint)
            bounds = None
            if before is not None:
                bounds, is_before_all = self._bounds(before, given.size, disjoint=disjoint)
                hops = [0] * len(hops) if is_before_all else hops
            found = _sampling.sample_neighbors(
                self._reader, given, hops, _sampling.SamplingMode(is_replaced, weighted, disjoint),
                direction=direction, upto=bounds, time=time, seed=count_of("seed", seed),
            )  # fmt: skip
        ids = None if type(self._ids) is UserIds else self._ids
        return NeighborSample(*found, ids)

    def _known_once(self, name: str, ids: Ids, *, disjoint: bool) -> npt.NDArray[np.uint32]:
        """Indices of vertices, each once unless ``disjoint``."""
        indices = self._known(name, ids)
        if not yes_or_no("disjoint", disjoint) and np.unique(indices).size < indices.size:
            msg = f"{name} names a vertex more than once; name it once, or use disjoint=True"
            raise SettingsError(msg)
        return indices

    def _check_time(self, time: str) -> None:
        one_of("time", time, TIME_PROPERTIES)
        if not self._kind.record.has_times:
            msg = f"time={time!r} needs times; make the graph with records='semantic'"
            raise SettingsError(msg)

    def _bounds(self, before: Any, count: int, *, disjoint: bool) -> tuple[Int64s, bool]:
        """int64[1], or [count]: in the graph's unit, the last time before each one.

        And whether there is no such time, so that no edge is to be drawn.
        """
        many = None if isinstance(before, str) or np.ndim(before) == 0 else list(before)
        if many is not None and not (disjoint and len(many) == count):
            msg = (
                f"before has {len(many):,} times; give one, or with disjoint=True one for each of "
                f"the {count:,} vertices"
            )
            raise SettingsError(msg)
        limits = np.iinfo(np.int64)
        times = [before] if many is None else many
        # So that a time beyond int64 is after all of them.
        last = [first_at_or_after(each, self._time_unit) - 1 for each in times]
        none_before = [each < limits.min for each in last]
        # With a unit the least int64 is no time. Of integers an edge may have it.
        if self._time_unit == INTEGERS and any(none_before) and not all(none_before):
            msg = f"before has {limits.min}, which is the least time that there is; give later ones"
            raise SettingsError(msg)
        bounds = np.array([min(max(each, limits.min), limits.max) for each in last], np.int64)
        return bounds, all(none_before)


def _fanouts(fanouts: Any) -> list[int]:
    """Fanouts as whole numbers; at least one of them."""
    given = list(fanouts) if np.ndim(fanouts) == 1 else []
    if not given:
        msg = f"fanouts={fanouts!r} are no numbers of edges, one a hop: [15, 10]"
        raise SettingsError(msg)
    return [
        each if each == _sampling.ALL else _at_most("fanouts", count_of("fanouts", each))
        for each in given
    ]


def _at_most(name: str, value: int) -> int:
    if value < _MOST_DRAWS:
        return value
    msg = f"{name}={value} is beyond {_MOST_DRAWS - 1:,}"
    raise SettingsError(msg)
