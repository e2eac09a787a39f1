"""Conversion of networkx graphs, and copies that follow their edits.

networkx keeps what `convert_from_nx` returned with the graph, and throws it away whenever a method
of the graph changes that. The next call asks for it again; then the graph is read once more, and
compared with what was read before, row by row. What differs is applied as a batch. Rows are
compared as lists and arrays, which Python does by itself; nothing is looked up that is as it was.

All rows and all weights are compared, so it does not matter how the graph was changed:
``G[u][v]["weight"] = 2``, which networkx does not notice, is found as well. (Where nothing else was
changed networkx does not ask; with ``nx.config.cache_converted_graphs = False`` it always does.)

The whole graph is converted again where the order of its nodes has changed, where much has changed
at once, and where a graph without weights gets one.

A view of a graph (``G.subgraph``, ``G.reverse(copy=False)``) changes with that, which networkx does
not notice either: of views it is made to keep nothing, so that each call reads and compares them.
Edges of an undirected view may be others from their other end, as two edges of a directed graph
are: such a view is left to networkx.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import networkx as nx
import numpy as np
import numpy.typing as npt

from ...gpu_core.graph import DynamicGraph

#: Changed rows with more than this share of all entries are not followed.
_MOST_CHANGED = 0.25

#: Attribute that has the weights, and the weight of edges without it; None: edges have none.
_Weight = tuple[Any, Any] | None


class GivenWeights(NamedTuple):
    """What is known of the weights of a graph of networkx."""

    #: Whether one of them is an integer, and whether all are; as of integers where there are none.
    has_wholes: bool = True
    are_whole: bool = True
    #: Whether one of them is negative.
    has_negatives: bool = False


class NodesGraph:
    """A `DynamicGraph` of the numbers ``0 … n - 1``, which stand for the nodes of a networkx graph.

    Parameters
    ----------
    graph
        Its vertices are all the numbers.
    nodes
        The nodes, by number.
    weighted
        Whether it keeps weights; else all edges weigh 1.
    has_loops
        Whether nodes have edges to themselves, which an undirected `DynamicGraph` does not keep.
    given
        Its weights in networkx, be they of edges that this graph does not keep.
    """

    __networkx_backend__ = "graphtide"

    def __init__(
        self,
        graph: DynamicGraph,
        nodes: list[Any],
        *,
        weighted: bool,
        has_loops: bool,
        given: GivenWeights,
    ) -> None:
        self.graph = graph
        self.nodes = nodes
        self.numbers = {node: number for number, node in enumerate(nodes)}
        self.weighted = weighted
        self.has_loops = has_loops
        self.given = given

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.graph.directed

    def is_multigraph(self) -> bool:
        """Whether edges may be parallel: never."""
        return False

    def number_of(self, node: Any) -> int:
        """Number of a node; networkx' error where there is none."""
        try:
            return self.numbers[node]
        except (KeyError, TypeError):  # what has no hash is no node
            msg = f"Node {node!r} is not in the graph"
            raise nx.NodeNotFound(msg) from None

    def by_node(self, values: npt.NDArray[Any]) -> dict[Any, Any]:
        """Values of all vertices by node."""
        return dict(zip(self.nodes, values.tolist(), strict=True))

    def by_number(self, given: Any) -> npt.NDArray[np.float64] | None:
        """Values of all nodes, 0 where none is given: by ``get``, as networkx asks for them.

        So they may be a mapping, or a Series of pandas; keys that are no node are ignored.
        """
        if given is None:
            return None
        return np.array([given.get(node, 0) for node in self.nodes], dtype=float)

    def weight(self, attribute: str | None) -> str | None:
        """Parameter of algorithms for weights that networkx is to take from an attribute.

        A graph that was made with weights is also passed where none are asked for.
        """
        return None if attribute is None or not self.weighted else "weight"

    def check_loops(self) -> None:
        """Leave the call to networkx where edges count that this graph does not have."""
        if self.has_loops and not self.is_directed():
            msg = "graphtide keeps no edge from a node to itself in an undirected graph"
            raise NotImplementedError(msg)


@dataclass
class _Read:
    """A graph of networkx as it was when it was read, in the order of its nodes."""

    nodes: list[Any]
    #: The neighbors of each node; of a directed graph those that it points to.
    rows: list[list[Any]]
    #: The weight of each of them, float64; None: edges have none.
    weights: list[array[float]] | None
    given: GivenWeights

    @classmethod
    def of(cls, graph: nx.Graph, weight: _Weight) -> _Read:
        """Read a graph.

        Raises
        ------
        NotImplementedError
            A weight is no number, not a finite one, or none that float64 has.
        """
        rows = [row for _, row in graph.adjacency()]
        weights, facts = None, GivenWeights()
        if weight is not None:
            name, default = weight
            given = [[data.get(name, default) for data in row.values()] for row in rows]
            try:
                weights = [array("d", row) for row in given]
            except (TypeError, ValueError, OverflowError) as error:
                msg = f"a weight is no number: {error}"
                raise NotImplementedError(msg) from error
            in_one = _in_one(weights)
            _check_exact(in_one, given)
            types = set(map(type, chain.from_iterable(given)))
            are_whole = [issubclass(each, int | np.integer | np.bool_) for each in types]
            facts = GivenWeights(any(are_whole), all(are_whole), bool((in_one < 0).any()))
        return cls(list(graph), [list(row) for row in rows], weights, facts)

    def row(self, number: int) -> dict[Any, float]:
        """Neighbors of a node, with their weights; 1 where there are none."""
        if self.weights is None:
            return dict.fromkeys(self.rows[number], 1.0)
        return dict(zip(self.rows[number], self.weights[number], strict=True))

    def check_both_ends(self) -> None:
        """Leave an undirected graph to networkx if an edge is another one from its other end."""
        rows = {node: self.row(number) for number, node in enumerate(self.nodes)}
        for node, row in rows.items():
            for other, weight in row.items():
                if rows[other].get(node) != weight:
                    msg = f"the edge of {node!r} and {other!r} is another one from its other end"
                    raise NotImplementedError(msg)

    def changed(self, before: _Read) -> list[int]:
        """Numbers of the nodes, of those that there were before, whose rows are others."""
        known = len(before.rows)
        pairs = zip(self.rows[:known], before.rows, strict=True)
        changed = {number for number, (new, old) in enumerate(pairs) if new != old}
        if self.weights is not None and before.weights is not None:
            weights = zip(self.weights[:known], before.weights, strict=True)
            changed |= {number for number, (new, old) in enumerate(weights) if new != old}
        return sorted(changed)


def _check_exact(weights: npt.NDArray[np.float64], given: list[list[Any]]) -> None:
    """Leave weights to networkx that are not what they were before they were float64."""
    if not np.isfinite(weights).all():
        msg = "graphtide keeps finite weights alone"
        raise NotImplementedError(msg)
    # Whole numbers are exact as long as none is large.
    are_small = not weights.size or np.abs(weights).max() < 2.0**53
    exact = _FLOATS | _WHOLES if are_small else _FLOATS
    others = [each for row in given if not exact.issuperset(map(type, row)) for each in row]
    for each in others:
        is_number = isinstance(each, float | int | np.number | np.bool_ | np.ndarray)
        if not (is_number and float(each) == each):
            msg = f"graphtide keeps weights as float64, which does not have {each!r}"
            raise NotImplementedError(msg)


#: Types of numbers that float64 has, or has unless they are large.
_FLOATS = frozenset({float, np.float64, np.float32})
_WHOLES = frozenset({int, bool, np.int64, np.int32})


def _in_one(weights: list[array[float]]) -> npt.NDArray[np.float64]:
    return np.frombuffer(b"".join(map(bytes, weights)), np.float64)


class _Conversion:
    """Conversion of a graph of networkx, and the graph's state at that time.

    Parameters
    ----------
    read
        The graph.
    directed
        Whether its edges have a direction.
    engine
        Where the converted one is.
    """

    def __init__(self, read: _Read, *, directed: bool, engine: str) -> None:
        self._read = read
        numbers = {node: number for number, node in enumerate(read.nodes)}
        degrees = np.fromiter(map(len, read.rows), np.int64, len(read.rows))
        named = map(numbers.__getitem__, chain.from_iterable(read.rows))
        src = np.repeat(np.arange(degrees.size), degrees)
        dst = np.fromiter(named, np.int64, src.size)
        weights = None
        if read.weights is not None:
            weights = _in_one(read.weights)
            weights = weights if (weights != 1).any() else None
        #: Nodes with an edge to themselves.
        self._loops = set(src[src == dst].tolist())
        if not directed:
            # An edge is in the rows of both of its ends.
            once = src <= dst
            src, dst, weights = src[once], dst[once], None if weights is None else weights[once]
        made = DynamicGraph(
            directed=directed,
            records="simple" if weights is None else "weighted",
            weights=None if weights is None else "float64",
            ids="dense",
            self_loops="keep" if directed else "drop",
            engine=engine,
            expected_edges=src.size,
        )
        made.insert_vertices(np.arange(degrees.size))
        made.insert_edges(src, dst, weight=weights)
        self.graph = NodesGraph(
            made,
            read.nodes,
            weighted=weights is not None,
            has_loops=bool(self._loops),
            given=read.given,
        )

    def follows(self, now: _Read) -> bool:
        """Apply what has changed since; False: it is to be converted once more."""
        before, known, graph = self._read, len(self._read.nodes), self.graph
        if now.nodes[:known] != before.nodes:
            return False
        changed = now.changed(before)
        entries = sum(len(now.rows[number]) + len(before.rows[number]) for number in changed)
        if entries > _MOST_CHANGED * sum(map(len, before.rows)):
            return False
        put: list[tuple[int, Any, float]] = []
        gone: list[tuple[int, Any]] = []
        new_numbers = range(known, len(now.nodes))
        for number in (*changed, *new_numbers):
            new, old = now.row(number), before.row(number) if number < known else {}
            put += [(number, node, w) for node, w in new.items() if old.get(node) != w]
            gone += [(number, node) for node in old if node not in new]
            has_loop = now.nodes[number] in new
            (self._loops.add if has_loop else self._loops.discard)(number)
        if not graph.weighted and any(weight != 1 for _, _, weight in put):
            return False
        graph.numbers.update((now.nodes[number], number) for number in new_numbers)
        graph.nodes, graph.given, self._read = now.nodes, now.given, now
        graph.has_loops = bool(self._loops)
        if new_numbers:
            graph.graph.insert_vertices(np.array(new_numbers))
        if gone:
            graph.graph.delete_edges(*self._ends(gone))
        if put:
            weights = [weight for _, _, weight in put] if graph.weighted else None
            graph.graph.insert_edges(*self._ends([edge[:2] for edge in put]), weight=weights)
        return True

    def _ends(self, edges: list[tuple[int, Any]]) -> npt.NDArray[np.int64]:
        numbers = self.graph.numbers
        return np.array([(number, numbers[node]) for number, node in edges], np.int64).T


#: Graph -> weights and engine -> its newest conversion, as long as the graph is there.
_conversions: WeakKeyDictionary[nx.Graph, dict[tuple[_Weight, str], _Conversion]]
_conversions = WeakKeyDictionary()
_lock = threading.Lock()


def convert_from_nx(
    graph: nx.Graph,
    *,
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    preserve_all_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> NodesGraph:
    """Make the graph that the functions of `networkx_backend.py` take.

    What a function of networkx (``name``) asks for again follows the edits of ``graph`` since; so
    it is of use until it is asked for the next time.

    Raises
    ------
    NotImplementedError
        It is a multigraph, a weight is no finite number, or edges of an undirected view are others
        from their other end; networkx runs its own function then.
    """
    is_view = hasattr(graph, "_graph")
    if is_view:
        # This is how networkx has it that a graph is not to be cached, by any backend.
        graph.__networkx_cache__ = None
    if graph.is_multigraph():
        msg = "graphtide has no parallel edges"
        raise NotImplementedError(msg)
    weight: _Weight = next(iter((edge_attrs or {}).items()), None)
    engine = nx.config.backends["graphtide"].engine
    # Graphs of users' own classes may be equal to others.
    is_kept = name is not None and type(graph).__hash__ is nx.Graph.__hash__
    read, key = _Read.of(graph, weight), (weight, engine)
    if is_view and not graph.is_directed():
        read.check_both_ends()
    # One thread owns it while it follows: if that fails half-way, it is converted again.
    with _lock:
        found = _conversions.setdefault(graph, {}).pop(key, None) if is_kept else None
    if found is None or not found.follows(read):
        found = _Conversion(read, directed=graph.is_directed(), engine=engine)
    if is_kept:
        with _lock:
            _conversions.setdefault(graph, {})[key] = found
    return found.graph
