"""Description of the backend ``graphtide`` that networkx imports: light on purpose."""

from typing import Any

#: Functions of networkx that `networkx_backend` has, and what it leaves to networkx. Strongly
#: connected components are not among them: those of networkx come in an order that others go by.
FUNCTIONS = {
    "average_clustering": "Without weights.",
    "betweenness_centrality": "Of all nodes, without weights.",
    "clustering": "Without weights.",
    "connected_components": "",
    "core_number": "",
    "is_connected": "",
    "is_strongly_connected": "",
    "is_weakly_connected": "",
    "jaccard_coefficient": "Of pairs that are given.",
    "katz_centrality": "Without `nstart`, and with one number for `beta`.",
    "label_propagation_communities": "",
    "number_connected_components": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "pagerank": "Without negative weights.",
    "single_source_dijkstra_path_length": "Weights are an attribute of edges, none is negative.",
    "single_source_shortest_path_length": "",
    "transitivity": "Of undirected graphs.",
    "triangles": "",
    "weakly_connected_components": "",
}


def get_info() -> dict[str, Any]:
    """Describe the backend, as networkx' entry point ``networkx.backend_info`` asks."""
    return {
        "backend_name": "graphtide",
        "project": "graphtide",
        "package": "graphtide",
        "short_summary": "Algorithms of graphtide, on all cores or on a GPU.",
        "default_config": {"engine": "auto"},
        "functions": {
            name: {"additional_docs": f"{limits} Multigraphs are left to networkx.".strip()}
            for name, limits in FUNCTIONS.items()
        },
    }
