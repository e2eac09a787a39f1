"""Small real graphs with known answers, random graphs, and networkx graphs made into ours."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from graphtide import DynamicGraph
from graphtide.gpu_core.layouts import LAYOUTS


@dataclass(frozen=True)
class Example:
    """A graph of LDBC Graphalytics with the answers that the benchmark expects."""

    directed: bool
    edges: list[tuple[int, int]]
    #: PageRank after two iterations, damping 0.85.
    pagerank: dict[int, float]
    #: Local clustering coefficient.
    lcc: dict[int, float]
    #: Source of a breadth-first search, and hops to the vertices that it reaches.
    bfs: tuple[int, dict[int, int]]


LDBC_DIRECTED = Example(
    directed=True,
    edges=[
        (1, 3), (1, 5), (2, 4), (2, 5), (2, 10), (3, 1), (3, 5), (3, 8), (3, 10), (5, 3), (5, 4),
        (5, 8), (6, 3), (6, 4), (7, 4), (8, 1), (9, 4),
    ],
    pagerank={
        1: 0.1477629166666667, 2: 0.04753375, 3: 0.1550469444444444, 4: 0.1597573611111111,
        5: 0.14624, 6: 0.04753375, 7: 0.04753375, 8: 0.1135740277777778, 9: 0.04753375,
        10: 0.08748375000000001,
    },
    lcc={
        1: 0.6666666666666666, 2: 0.1666666666666667, 3: 0.15, 4: 0.05, 5: 0.25, 6: 0.0, 7: 0.0,
        8: 0.8333333333333334, 9: 0.0, 10: 0.0,
    },
    bfs=(1, {1: 0, 3: 1, 4: 2, 5: 1, 8: 2, 10: 2}),
)  # fmt: skip

LDBC_UNDIRECTED = Example(
    directed=False,
    edges=[
        (2, 3), (2, 4), (3, 4), (3, 5), (3, 8), (5, 6), (5, 8), (6, 7), (6, 8), (6, 9), (6, 10),
        (7, 9),
    ],
    pagerank={
        2: 0.09084490740740739, 3: 0.1424089506172839, 4: 0.09084490740740739,
        5: 0.1249891975308642, 6: 0.1686172839506173, 7: 0.09749537037037037,
        8: 0.1249891975308642, 9: 0.09749537037037037, 10: 0.06231481481481481,
    },
    lcc={
        2: 1.0, 3: 0.3333333333333333, 4: 1.0, 5: 0.6666666666666666, 6: 0.2, 7: 1.0,
        8: 0.6666666666666666, 9: 1.0, 10: 0.0,
    },
    bfs=(2, {2: 0, 3: 1, 4: 1, 5: 2, 6: 3, 7: 4, 8: 2, 9: 4, 10: 4}),
)  # fmt: skip

#: Zachary's karate club (1977): 34 members, 78 friendships, 45 triangles.
KARATE = [
    (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (1, 8), (1, 9), (1, 11), (1, 12), (1, 13),
    (1, 14), (1, 18), (1, 20), (1, 22), (1, 32), (2, 3), (2, 4), (2, 8), (2, 14), (2, 18), (2, 20),
    (2, 22), (2, 31), (3, 4), (3, 8), (3, 9), (3, 10), (3, 14), (3, 28), (3, 29), (3, 33), (4, 8),
    (4, 13), (4, 14), (5, 7), (5, 11), (6, 7), (6, 11), (6, 17), (7, 17), (9, 31), (9, 33), (9, 34),
    (10, 34), (14, 34), (15, 33), (15, 34), (16, 33), (16, 34), (19, 33), (19, 34), (20, 34),
    (21, 33), (21, 34), (23, 33), (23, 34), (24, 26), (24, 28), (24, 30), (24, 33), (24, 34),
    (25, 26), (25, 28), (25, 32), (26, 32), (27, 30), (27, 34), (28, 34), (29, 32), (29, 34),
    (30, 33), (30, 34), (31, 33), (31, 34), (32, 33), (32, 34), (33, 34),
]  # fmt: skip

#: Every way to keep one graph that an algorithm must not notice.
SHAPES = [
    {"layout": layout, "storage": storage, "reverse": reverse}
    for layout in LAYOUTS
    for storage in ("soa", "aos")
    for reverse in (True, False)
]


def graph_of(edges: list[tuple[int, int]], **settings: object) -> DynamicGraph:
    graph = DynamicGraph(**settings)
    graph.insert_edges([src for src, _ in edges], [dst for _, dst in edges])
    return graph


def edges_of(graph: DynamicGraph) -> list[tuple[int, int]]:
    """``(src, dst)`` of each edge, sorted."""
    edges = graph.edges()
    return list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))


def from_networkx_graph(
    source: nx.Graph, *, records: str = "simple", **settings: object
) -> DynamicGraph:
    """A networkx graph of integers as ours; self loops stay where the graph is directed.

    Vertices of larger ids come first, so that indices are in another order than ids.
    """
    directed = source.is_directed()
    graph = DynamicGraph(
        directed=directed,
        records=records,
        self_loops="keep" if directed else "drop",
        **settings,
    )
    edges = list(source.edges(data="weight", default=1.0))
    # The others come with their edges.
    joined = {end for src, dst, _ in edges if src != dst for end in (src, dst)}
    larger = sorted(source)[len(source) // 2 :]
    graph.insert_vertices([*larger, *(set(source) - joined)])
    graph.insert_edges(
        [src for src, _, _ in edges],
        [dst for _, dst, _ in edges],
        weight=None if records == "simple" else [weight for _, _, weight in edges],
        ts=np.arange(len(edges)) if records.startswith("semantic") else None,
    )
    return graph


@st.composite
def random_graphs(draw: st.DrawFn, *, directed: bool, weighted: bool = False) -> nx.Graph:
    """A graph of up to 14 vertices, some isolated; directed ones have self loops.

    Drawn as bytes: Hypothesis takes as long for a number as for all of them.
    """
    vertices, pairs = draw(st.integers(1, 14)), draw(st.integers(0, 40))
    drawn = draw(st.binary(min_size=vertices + 2 * pairs, max_size=vertices + 2 * pairs))
    ids = list(dict.fromkeys(byte % 101 - 50 for byte in drawn[:vertices]))
    ends = [ids[byte % len(ids)] for byte in drawn[vertices:]]
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(ids)
    both = zip(ends[::2], ends[1::2], strict=True)
    graph.add_edges_from((u, v) for u, v in both if directed or u != v)
    if weighted:
        # 0 is a weight like others; a vertex whose weights are all 0 is dangling.
        weights = (0.0, 0.5, 1.0, 0.0, 3.25)
        edges = graph.edges(data=True)
        drawn = draw(st.binary(min_size=len(edges), max_size=len(edges)))
        for (_, _, attributes), byte in zip(edges, drawn, strict=True):
            attributes["weight"] = weights[byte % len(weights)]
    return graph


def simple_undirected(graph: nx.Graph) -> nx.Graph:
    """Without directions and self loops."""
    simple = nx.Graph(graph)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    return simple


def lcc(graph: nx.DiGraph, vertex: int) -> float:
    """LDBC Graphalytics' definition, read out."""
    around = (set(graph.successors(vertex)) | set(graph.predecessors(vertex))) - {vertex}
    if len(around) < 2:
        return 0.0
    within = sum(graph.has_edge(u, v) for u in around for v in around if u != v)
    return within / (len(around) * (len(around) - 1))
