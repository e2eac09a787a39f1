"""``graphtide bench traversals``: components, shortest paths, cores, Katz, beside other packages.

Shortest paths begin at the vertex of largest degree; ``hops`` are those of a graph without weights,
``by weight`` those over weights from 0.001 to 1. Katz centrality has the ``alpha`` that always
converges, one over the largest degree and one. SciPy computes hops by Dijkstra's algorithm, as it
has no breadth-first search that returns distances. What SciPy, peeling or the equation of Katz
tells otherwise of our results is an error. How it is measured: `comparison.py`.
"""

from functools import partial
from typing import Any

import numpy as np

from ..measuring.comparison import Calls, Comparison
from ..measuring.cugraph import CuGraph
from ..measuring.peers import csr
from ..measuring.subject import Subject


def _of_ours(subject: Subject) -> Calls:
    plain = subject.plain
    return {
        "components": plain.weakly_connected_components,
        "hops": partial(plain.sssp, subject.source),
        "by weight": partial(subject.weighted.sssp, subject.source),
        "cores": plain.core_number,
        "Katz": partial(plain.katz_centrality, alpha=subject.alpha),
    }


def _of_scipy(subject: Subject) -> Calls:
    from scipy.sparse.csgraph import connected_components, dijkstra

    plain, weighted = subject.matrix(weighted=False), subject.matrix(weighted=True)
    search = partial(dijkstra, indices=subject.source)
    return {
        "components": partial(connected_components, plain, directed=False),
        "hops": partial(search, plain, unweighted=True),
        "by weight": partial(search, weighted),
    }


def _of_igraph(subject: Subject) -> Calls:
    import igraph

    edges = np.column_stack([subject.src[subject.once], subject.dst[subject.once]])
    graph = igraph.Graph(n=subject.size, edges=edges)
    weights = subject.weights[subject.once].astype(np.float64).tolist()
    return {
        "components": graph.connected_components,
        "hops": partial(graph.distances, subject.source),
        "by weight": partial(graph.distances, subject.source, weights=weights),
        "cores": graph.coreness,
    }


def _of_networkx(subject: Subject) -> Calls:
    import networkx as nx

    graph = subject.weighted.to_networkx()
    return {
        "components": lambda: list(nx.connected_components(graph)),
        "hops": partial(nx.single_source_shortest_path_length, graph, subject.source),
        "by weight": partial(nx.single_source_dijkstra_path_length, graph, subject.source),
        "cores": partial(nx.core_number, graph),
        "Katz": partial(nx.katz_centrality, graph, alpha=subject.alpha),
    }


def _of_cugraph(subject: Subject) -> Calls:
    xp, keys = subject.bench.arm.xp, subject.bench.keys
    plain, weighted = CuGraph(xp, keys), CuGraph(xp, keys, xp.asarray(subject.weights))
    of_weights, of_katz = weighted.graph(is_transposed=False), plain.graph(is_transposed=True)
    graph = plain.graph(is_transposed=False)
    return {
        "components": partial(plain.components, graph),
        "hops": partial(plain.bfs, graph, subject.source),
        "by weight": partial(weighted.sssp, of_weights, subject.source),
        "cores": partial(plain.core_number, graph),
        "Katz": partial(plain.katz, of_katz, subject.alpha, subject.plain.num_vertices),
    }


def _checked(subject: Subject) -> dict[str, tuple[Any, Any]]:
    """Our results beside those of SciPy and of peeling, and in the equation of Katz."""
    ours, scipys = _of_ours(subject), _of_scipy(subject)
    present = subject.plain.vertices()
    _, labels = scipys["components"]()
    first = np.full(subject.size, subject.size)
    np.minimum.at(first, labels[present], present)
    near = ours["Katz"]().katz_centrality
    x = np.zeros(subject.size)
    x[present] = near
    gathered = subject.alpha * (subject.matrix(weighted=False) @ x)[present]
    own = near - gathered
    return {
        "cores": (ours["cores"]().core_number, peeled(subject)[present]),
        "components": (ours["components"]().component, first[labels[present]]),
        "hops": (ours["hops"]().distance, scipys["hops"]()[present]),
        "by weight": (ours["by weight"]().distance, scipys["by weight"]()[present]),
        # What is left is beta over the norm, less what one more step would add: less than tol a
        # vertex in all. Where it adds least stands for beta; a mean would be off by as much.
        "Katz": ((1 - own / own.max()).sum() < 1.01e-6 * present.size, True),
    }


def peeled(subject: Subject) -> Any:
    """int64[size]: core numbers, by peeling: vertices of too few neighbors go, until none has."""
    offsets, targets = (
        side.astype(np.int64) for side in csr(np, subject.keys, subject.size.bit_length() - 1)
    )
    sizes = np.diff(offsets)
    degrees = sizes.copy()
    cores, left, least = np.zeros(subject.size, np.int64), np.flatnonzero(degrees), 0
    is_left = degrees > 0
    while left.size:
        least = max(least, int(degrees[left].min()))
        going = left[degrees[left] <= least]
        while going.size:
            cores[going], is_left[going] = least, False
            counts = sizes[going]
            first = np.repeat(offsets[going] - (np.cumsum(counts) - counts), counts)
            near = targets[first + np.arange(first.size)]
            near, lost = np.unique(near[is_left[near]], return_counts=True)
            degrees[near] -= lost
            going = near[degrees[near] <= least]
        left = left[is_left[left]]
    return cores


bench_traversals = Comparison(
    "bench traversals",
    ("components", "hops", "by weight", "cores", "Katz"),
    Subject,
    _of_ours,
    {"cuGraph": _of_cugraph, "SciPy": _of_scipy, "igraph": _of_igraph, "networkx": _of_networkx},
    _checked,
    most_of_networkx=4_000_000,
).measure
