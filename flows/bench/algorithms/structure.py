"""``graphtide bench structure``: what a graph is like, beside other packages.

``parents`` are those of a breadth-first search from the vertex of largest degree; ``strong``
components are of a directed graph that has two thirds of the entries; ``labels`` are communities by
label propagation; ``Jaccard`` coefficients are of `PAIRS` edges at most; ``between`` is betweenness
centrality by `SOURCES` sources; ``SpMV`` is the product with a vector; ``PageRanks`` are those seen
from `SOURCES` vertices, the ten largest of each; ``walks`` are `WALKS` of `STEPS` steps; ``sample``
is of 15 neighbors of `WALKS` vertices, and 10 of each of those. What SciPy, or the definition,
tells otherwise of our results is an error. How it is measured: `comparison.py`.
"""

import random
from functools import partial
from typing import Any

import numpy as np

from ..measuring.arm import Bench
from ..measuring.comparison import Calls, Comparison
from ..measuring.cugraph import CuGraph
from ..measuring.subject import Subject

#: Edges whose Jaccard coefficient is asked for, and sources of betweenness.
PAIRS = 100_000
SOURCES = 16
#: Random walks and their steps; the vertices that they begin at are sampled around, too.
WALKS, STEPS = 1_000, 80


class Structure(Subject):
    """One workload, and a directed graph made of it."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.is_arc = (7919 * self.src.astype(np.int64) + 104_729 * self.dst) % 3 > 0
        self.arcs = self.src[self.is_arc], self.dst[self.is_arc]
        self.directed = bench.arm.graph(directed=True, ids="dense")
        self.directed.insert_edges(*self.arcs)
        ends = np.column_stack([self.src[self.once], self.dst[self.once]]).astype(np.int64)
        self.pairs = ends[:: -(-len(ends) // PAIRS)]
        vertices = self.plain.vertices()
        self.starts = np.resize(vertices[:: -(-vertices.size // WALKS)], WALKS)
        self.given = np.unique(self.starts)
        self.spread = vertices[np.linspace(0, vertices.size - 1, SOURCES).astype(int)]
        self.from_each = self.starts[:: -(-WALKS // SOURCES)].tolist()
        # Sums of these are exact in any order.
        self.vector = np.arange(self.size) % 128 / 128

    def directed_matrix(self) -> Any:
        """SciPy's matrix of the directed graph."""
        from scipy import sparse

        arcs = self.arcs[0].astype(np.int32), self.arcs[1].astype(np.int32)
        return sparse.csr_matrix((np.ones(arcs[0].size), arcs), shape=(self.size, self.size))


def _of_ours(subject: Structure) -> Calls:
    plain = subject.plain
    return {
        "parents": partial(plain.bfs, subject.source, parents=True),
        "strong": subject.directed.strongly_connected_components,
        "labels": plain.label_propagation,
        "Jaccard": partial(plain.jaccard_coefficient, subject.pairs),
        "between": partial(plain.betweenness_centrality, SOURCES),
        "SpMV": partial(plain.spmv, subject.vector[plain.vertices()]),
        "PageRanks": partial(plain.personalized_pagerank, subject.from_each, k=10),
        "walks": partial(plain.random_walks, subject.starts, STEPS),
        "sample": partial(plain.sample_neighbors, subject.given, [15, 10]),
    }


def _of_scipy(subject: Structure) -> Calls:
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    matrix = subject.matrix(weighted=False)
    return {
        "SpMV": lambda: matrix @ subject.vector,
        "parents": partial(breadth_first_order, matrix, subject.source),
        "strong": partial(connected_components, subject.directed_matrix(), connection="strong"),
    }


def _of_igraph(subject: Structure) -> Calls:
    import igraph

    edges = np.column_stack([subject.src[subject.once], subject.dst[subject.once]])
    graph = igraph.Graph(n=subject.size, edges=edges)
    directed = igraph.Graph(n=subject.size, edges=np.column_stack(subject.arcs), directed=True)
    return {
        "parents": partial(graph.bfs, subject.source),
        "strong": partial(directed.connected_components, mode="strong"),
        "labels": graph.community_label_propagation,
        "Jaccard": partial(graph.similarity_jaccard, pairs=subject.pairs.tolist()),
        "between": partial(graph.betweenness, sources=subject.spread.tolist()),
        "PageRanks": lambda: [
            graph.personalized_pagerank(reset_vertices=[source]) for source in subject.from_each
        ],
        "walks": lambda: [graph.random_walk(start, STEPS) for start in subject.starts.tolist()],
    }


def _of_networkx(subject: Structure) -> Calls:
    import networkx as nx

    graph, directed = subject.plain.to_networkx(), subject.directed.to_networkx()
    pairs = subject.pairs.tolist()
    return {
        "parents": lambda: dict(nx.bfs_predecessors(graph, subject.source)),
        "strong": lambda: list(nx.strongly_connected_components(directed)),
        "labels": partial(nx.community.label_propagation_communities, graph),
        "Jaccard": lambda: list(nx.jaccard_coefficient(graph, pairs)),
        "between": partial(nx.betweenness_centrality, graph, SOURCES, seed=0),
        "PageRanks": lambda: [
            nx.pagerank(graph, personalization={source: 1}) for source in subject.from_each
        ],
    }


def _of_cugraph(subject: Structure) -> Calls:
    xp, keys = subject.bench.arm.xp, subject.bench.keys
    plain = CuGraph(xp, keys)
    directed = CuGraph(xp, keys[xp.asarray(subject.is_arc)], directed=True)
    graph, of_ranks = (plain.graph(is_transposed=of_ranks) for of_ranks in (False, True))
    return {
        "parents": partial(plain.bfs, graph, subject.source, parents=True),
        "strong": partial(directed.strong_components, directed.graph(is_transposed=False)),
        "Jaccard": partial(plain.jaccard, graph, subject.pairs),
        "between": partial(plain.betweenness, graph, subject.spread),
        "PageRanks": lambda: [
            plain.personalized_pagerank(of_ranks, source, 1e-6) for source in subject.from_each
        ],
        "walks": partial(plain.walks, graph, subject.starts, STEPS),
        "sample": partial(plain.sample, graph, subject.given, [15, 10]),
    }


def _checked(subject: Structure) -> dict[str, tuple[Any, Any]]:
    """Our results, and what SciPy or the definition says."""
    from scipy.sparse.csgraph import connected_components, shortest_path

    ours, matrix = _of_ours(subject), subject.matrix(weighted=False)
    present = subject.plain.vertices()
    hops = shortest_path(matrix, unweighted=True, indices=subject.source)[present]
    search = ours["parents"]()
    has_parent = search.parent >= 0
    before = search.distance[np.searchsorted(present, search.parent[has_parent])]
    is_edge = subject.plain.has_edges(search.parent[has_parent], present[has_parent])
    _, labels = connected_components(subject.directed_matrix(), connection="strong")
    there = subject.directed.vertices()
    first = np.full(subject.size, subject.size)
    np.minimum.at(first, labels[there], there)
    common = matrix[subject.pairs[:, 0]].multiply(matrix[subject.pairs[:, 1]]).sum(axis=1)
    degree = np.diff(matrix.indptr)[subject.pairs].sum(axis=1)
    common = np.asarray(common).ravel()
    walks, sample = ours["walks"](), ours["sample"]()
    steps = np.stack([walks.walks[:, :-1].ravel(), walks.walks[:, 1:].ravel()])
    steps = steps[:, steps[1] >= 0]
    drawn = np.concatenate([steps, [sample.src, sample.dst]], axis=1)
    one = subject.from_each[0]
    ranks = ours["PageRanks"]().pagerank[:10]
    alone = subject.plain.pagerank(personalization={one: 1}, tol=1e-9).top(10)["pagerank"]
    return {
        "products": (ours["SpMV"]().value, (matrix @ subject.vector)[present]),
        "PageRanks": (np.abs(ranks - alone).max() < 1e-5, True),
        "steps of walks and sampled edges": (
            subject.plain.has_edges(*drawn), np.ones(drawn.shape[1], bool),
        ),
        "hops": (search.distance, np.where(np.isfinite(hops), hops, -1)),
        "parents": (before + 1, search.distance[has_parent]),
        "vertices with parents": (has_parent, search.distance > 0),
        "edges to parents": (is_edge, np.ones(is_edge.size, bool)),
        "strong components": (ours["strong"]().component, first[labels[there]]),
        "sums of betweenness": (_is_betweenness(subject, ours["between"]()), True),
        "labels": _label_counts(subject, ours["labels"]().community),
        "Jaccard coefficients": (
            ours["Jaccard"]().jaccard_coefficient, common / (degree - common),
        ),
    }  # fmt: skip


def _is_betweenness(subject: Structure, found: Any) -> bool:
    """Whether all values add up to the vertices between the ends of a path from each source.

    Of all shortest paths between two ends one counts, all of them in equal parts; and each has one
    vertex less between its ends than it has edges.
    """
    plain, values = subject.plain, found.betweenness_centrality
    count = plain.num_vertices
    # Drawn as networkx does; a source of the sample has seen the paths of one source less.
    sources = random.Random(0).sample(range(count), SOURCES)
    seen = np.full(count, SOURCES)
    seen[sources] -= 1
    hops = (plain.bfs(int(source)).distance for source in plain.vertices()[sources])
    between = sum(int(np.maximum(each - 1, 0).sum()) for each in hops)
    return bool(np.isclose((values * seen).sum() * (count - 2), between, rtol=1e-9))


def _label_counts(subject: Structure, community: Any) -> tuple[Any, Any]:
    """Neighbors of each vertex in its own community, and in that which most of them are in."""
    of_vertex = np.zeros(subject.size, np.int64)
    of_vertex[subject.plain.vertices()] = community
    pairs = subject.src.astype(np.int64) * subject.size + of_vertex[subject.dst]
    near, counts = np.unique(pairs, return_counts=True)
    most, own = np.zeros((2, subject.size), np.int64)
    np.maximum.at(most, near // subject.size, counts)
    is_own = near % subject.size == of_vertex[near // subject.size]
    own[near[is_own] // subject.size] = counts[is_own]
    return own, most


bench_structure = Comparison(
    "bench structure",
    ("parents", "strong", "labels", "Jaccard", "between", "SpMV", "PageRanks", "walks", "sample"),
    Structure,
    _of_ours,
    {"cuGraph": _of_cugraph, "SciPy": _of_scipy, "igraph": _of_igraph, "networkx": _of_networkx},
    _checked,
    most_of_networkx=400_000,
).measure
