"""Graphs of networkx whose nodes are no numbers."""

import networkx as nx
import numpy as np


def graphs(count: int = 40, edges: int = 90) -> list[nx.Graph]:
    """Graphs of nodes that are no numbers, with a few weights, and nodes without edges."""
    made: list[nx.Graph] = [nx.Graph(), nx.DiGraph()]
    for graph in made:
        rng = np.random.default_rng(4)
        nodes = [(number, "two" if number in (2, 5) else "one") for number in range(count)]
        graph.add_nodes_from(reversed(nodes))
        for u, v in rng.integers(0, count * 3 // 4, (edges, 2)).tolist():
            if u != v:
                graph.add_edge(nodes[u], nodes[v])
        for u, v in list(graph.edges)[::2]:
            graph.edges[u, v]["km"] = float(rng.integers(1, 9))
    return made
