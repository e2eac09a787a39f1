"""Backend of networkx: ``nx.pagerank(G, backend="graphtide")``.

networkx calls a function of this module in the place of its own one of the same name, with the same
arguments, but for graphs: those are `NodesGraph`, which `convert_from_nx` makes and networkx keeps
with the graph until that is changed (`networkx_graph.py`). What is not served (`can_run`) is left
to networkx: it runs its own function, or raises where it was told to use this backend.

The engine is that of ``nx.config.backends.graphtide.engine``: ``"auto"``, ``"host"``, ``"cuda"``.
Entry point for networkx's list of backends: `networkx_info`.
"""

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, ValuesView
from contextlib import contextmanager
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from ...gpu_core.errors import ConvergenceError, SettingsError
from .networkx_graph import NodesGraph
from .networkx_graph import convert_from_nx as convert_from_nx  # which networkx asks of this module
from .networkx_info import FUNCTIONS

#: Arguments that must have these values for the backend to run a function.
_ONLY: Mapping[str, Mapping[str, Any]] = {
    "average_clustering": {"weight": None},
    "betweenness_centrality": {"k": None, "weight": None},
    "clustering": {"weight": None},
    "katz_centrality": {"nstart": None},
}


# -- networkx asks -------------------------------------------------------------------------------


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Make networkx' graph of one of ours; anything else is as networkx has it already."""
    if not isinstance(result, NodesGraph):
        return result
    made: nx.Graph = nx.DiGraph() if result.is_directed() else nx.Graph()
    made.add_nodes_from(result.nodes)
    edges, nodes = result.graph.edges(), result.nodes
    made.add_edges_from(
        (nodes[u], nodes[v]) for u, v in zip(edges["src"], edges["dst"], strict=True)
    )
    return made


def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a function can be run with these arguments; why not, if it cannot."""
    if name not in FUNCTIONS:
        return f"graphtide has no {name}"
    given = inspect.signature(globals()[name]).bind(*args, **kwargs)
    given.apply_defaults()
    G = given.arguments["G"]
    if G.is_multigraph():
        return "graphtide has no parallel edges"
    if name == "transitivity" and G.is_directed():
        return "graphtide's transitivity of a directed graph is another"
    if name == "jaccard_coefficient" and given.arguments["ebunch"] is None:
        return "graphtide takes pairs that are given"
    if name == "pagerank" and not given.arguments["tol"] > 0:
        return "graphtide's PageRank ends at a residual of 0, networkx' below it"
    if callable(given.arguments.get("weight")):
        return "graphtide takes weights from an attribute of edges"
    for argument, value in _ONLY.get(name, {}).items():
        if given.arguments[argument] is not value:
            return f"graphtide's {name} knows no {argument}"
    return True


#: A distance to which a weight can be added that makes it infinite; the last bit of the largest
#: number is larger.
_LARGE_DISTANCE = 1e290
#: From here on float64 does not have all integers.
_LARGE_WHOLE = 2**53


@contextmanager
def _errors_of_networkx(max_iter: int = 0) -> Iterator[None]:
    """In here, what this package refuses is left to networkx."""
    try:
        yield
    except ConvergenceError:
        raise nx.PowerIterationFailedConvergence(max_iter) from None
    except SettingsError as error:
        raise NotImplementedError(str(error)) from error


# -- ranks ---------------------------------------------------------------------------------------


def pagerank(
    G: NodesGraph,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: str | None = "weight",
    dangling: Mapping[Any, float] | None = None,
) -> dict[Any, float]:
    """`networkx.pagerank`; its steps, and its end."""
    if not G.nodes:
        return {}
    G.check_loops()
    start, jumps, ends = map(G.by_number, (nstart, personalization, dangling))
    if jumps is not None and jumps.sum() == 0:
        raise ZeroDivisionError
    if any(values is not None and values.sum() == 0 for values in (start, ends)):
        raise nx.PowerIterationFailedConvergence(max_iter)
    with _errors_of_networkx(max_iter):
        found = G.graph.pagerank(
            alpha=alpha, personalization=_named(jumps), max_iter=max_iter, tol=tol,
            nstart=_named(start), weight=G.weight(weight), dangling=_named(ends),
            networkx_tol=True,
        )  # fmt: skip
    return G.by_node(found.pagerank)


def _named(values: npt.NDArray[np.float64] | None) -> tuple[Any, Any] | None:
    """Values that are not 0, with the numbers of their nodes."""
    if values is None:
        return None
    numbers = np.flatnonzero(values)
    return numbers, values[numbers]


def katz_centrality(
    G: NodesGraph,
    alpha: float = 0.1,
    beta: float = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
    weight: str | None = None,
) -> dict[Any, float]:
    """`networkx.katz_centrality`, with one number for ``beta``."""
    if not G.nodes:
        return {}
    G.check_loops()
    if not isinstance(beta, int | float):
        msg = "beta of each node"
        raise NotImplementedError(msg)
    with _errors_of_networkx(max_iter):
        found = G.graph.katz_centrality(
            alpha=alpha, beta=beta, max_iter=max_iter, tol=tol, normalized=normalized,
            weight=G.weight(weight),
        )  # fmt: skip
    return G.by_node(found.katz_centrality)


def betweenness_centrality(
    G: NodesGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """`networkx.betweenness_centrality` from all nodes, without weights."""
    with _errors_of_networkx():
        found = G.graph.betweenness_centrality(normalized=normalized, endpoints=endpoints)
    return G.by_node(found.betweenness_centrality)


# -- pairs ---------------------------------------------------------------------------------------


def jaccard_coefficient(G: NodesGraph, ebunch: Any = None) -> Iterator[tuple[Any, Any, float]]:
    """`networkx.jaccard_coefficient` of pairs that are given."""
    G.check_loops()
    pairs = list(ebunch)
    numbers = np.array([(G.number_of(u), G.number_of(v)) for u, v in pairs], np.int64)
    numbers = numbers.reshape(-1, 2)
    found = G.graph.jaccard_coefficient(numbers).jaccard_coefficient.tolist()
    return iter([(u, v, value) for (u, v), value in zip(pairs, found, strict=True)])


# -- triangles -----------------------------------------------------------------------------------


def triangles(G: NodesGraph, nodes: Any = None) -> Any:
    """`networkx.triangles`."""
    return _of_nodes(G, nodes, G.graph.triangles().tolist())


def clustering(G: NodesGraph, nodes: Any = None, weight: str | None = None) -> Any:
    """`networkx.clustering`, without weights."""
    # networkx has the integer 0 where there is no triangle.
    return _of_nodes(G, nodes, [each or 0 for each in G.graph.clustering().clustering.tolist()])


def average_clustering(
    G: NodesGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True
) -> float:
    """`networkx.average_clustering`, without weights."""
    found = [each for each in clustering(G, nodes).values() if count_zeros or each != 0]
    return sum(found) / len(found)


def transitivity(G: NodesGraph) -> float:
    """`networkx.transitivity` of an undirected graph."""
    return G.graph.transitivity() or 0


def _of_nodes(G: NodesGraph, nodes: Any, values: list[Any]) -> Any:
    """Values of all nodes, of some, or of one, as networkx has them."""
    found = dict(zip(G.nodes, values, strict=True))
    if nodes is None:
        return found
    if isinstance(nodes, Hashable) and nodes in found:
        return found[nodes]
    if not isinstance(nodes, Iterable):
        msg = f"Node {nodes} is not in the graph."
        raise nx.NetworkXError(msg)
    try:
        return {node: found[node] for node in nodes if node in found}
    except TypeError as error:
        msg = f"nodes={nodes!r} are no nodes: {error}"
        raise nx.NetworkXError(msg) from error


# -- groups --------------------------------------------------------------------------------------


def connected_components(G: NodesGraph) -> Iterator[set[Any]]:
    """`networkx.connected_components`."""
    yield from _groups(G, G.graph.weakly_connected_components().component)


def number_connected_components(G: NodesGraph) -> int:
    """`networkx.number_connected_components`."""
    return G.graph.weakly_connected_components().num_components


def is_connected(G: NodesGraph) -> bool:
    """`networkx.is_connected`."""
    return _is_one(G, number_connected_components)


weakly_connected_components = connected_components
number_weakly_connected_components = number_connected_components
is_weakly_connected = is_connected


def number_strongly_connected_components(G: NodesGraph) -> int:
    """`networkx.number_strongly_connected_components`."""
    return G.graph.strongly_connected_components().num_components


def is_strongly_connected(G: NodesGraph) -> bool:
    """`networkx.is_strongly_connected`."""
    return _is_one(G, number_strongly_connected_components)


def label_propagation_communities(G: NodesGraph) -> ValuesView[set[Any]]:
    """`networkx.community.label_propagation_communities`."""
    G.check_loops()
    return dict(enumerate(_groups(G, G.graph.label_propagation().community))).values()


def _is_one(G: NodesGraph, number: Callable[[NodesGraph], int]) -> bool:
    if not G.nodes:
        msg = "Connectivity is undefined for the null graph."
        raise nx.NetworkXPointlessConcept(msg)
    return number(G) == 1


def _groups(G: NodesGraph, names: npt.NDArray[np.int64]) -> list[set[Any]]:
    """Nodes by the name of their group; the one of the first node is the first."""
    order = np.argsort(names, kind="stable")
    borders = np.flatnonzero(np.diff(names[order])) + 1
    return [
        {G.nodes[number] for number in numbers.tolist()}
        for numbers in np.split(order, borders)
        if numbers.size
    ]


def core_number(G: NodesGraph) -> dict[Any, int]:
    """`networkx.core_number`."""
    if not G.nodes:
        return {}
    if G.has_loops:
        msg = "Input graph has self loops which is not permitted; "
        msg += "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        raise nx.NetworkXNotImplemented(msg)
    return G.by_node(G.graph.core_number().core_number)


# -- paths ---------------------------------------------------------------------------------------


def single_source_shortest_path_length(
    G: NodesGraph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """`networkx.single_source_shortest_path_length`."""
    hops = G.graph.bfs(G.number_of(source)).distance
    is_reached = hops >= 0
    if cutoff is not None:
        # networkx makes another hop while the cutoff is above those made: 1.5 is as good as 2.
        is_reached &= (hops == 0) | (cutoff > hops - 1)
    return _reached(G, hops, is_reached)


def single_source_dijkstra_path_length(
    G: NodesGraph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, float]:
    """`networkx.single_source_dijkstra_path_length`, of weights that are an attribute of edges."""
    number = G.number_of(source)
    if G.weight(weight) is not None and G.given.has_negatives:
        # Other negative weights are refused below.
        G.check_loops()
    with _errors_of_networkx():
        found = G.graph.sssp(number, weight=G.weight(weight)).distance
    is_reached = np.isfinite(found)
    if found[is_reached].max() > _LARGE_DISTANCE:
        # A path to others may be longer than float64 can be.
        is_reached = G.graph.bfs(number).distance >= 0
    if cutoff is not None:
        is_reached &= ~(found > cutoff)
        is_reached[number] = True
    is_unweighted = G.weight(weight) is None
    # networkx adds integers up as Python's, on each path up to the first float.
    if (is_unweighted or G.given.has_wholes) and found[is_reached].max() >= _LARGE_WHOLE:
        msg = "graphtide's distances are float64, which does not have all so large integers"
        raise NotImplementedError(msg)
    if is_unweighted or G.given.are_whole:
        found = np.where(is_reached, found, 0).astype(np.int64)
    # The source's distance is no sum of weights: networkx has the integer 0.
    return {**_reached(G, found, is_reached), source: 0}


def _reached(
    G: NodesGraph, distance: npt.NDArray[Any], is_reached: npt.NDArray[np.bool_]
) -> dict[Any, Any]:
    """Distances of the nodes that are reached, nearest first."""
    numbers = np.flatnonzero(is_reached)
    numbers = numbers[np.argsort(distance[numbers], kind="stable")]
    nodes = [G.nodes[number] for number in numbers.tolist()]
    return dict(zip(nodes, distance[numbers].tolist(), strict=True))
