"""Graphs whose edges and vertices have properties of the user's own."""

from typing import Any

import pandas as pd

from graphtide import DynamicGraph

PROPERTIES = {"amount": "float64", "channel": "int16"}
OF_VERTICES = {"score": "float32", "channel": "uint64"}
OWN = {"properties": PROPERTIES, "vertex_properties": OF_VERTICES}


def small_graph(**settings: Any) -> DynamicGraph:
    """Three edges with values, and a vertex without edges."""
    graph = DynamicGraph(**{**OWN, **settings})
    graph.insert_edges([1, 2, 3], [2, 3, 1], amount=[0.1, 0.2, 0.3], channel=[10, 20, 30])
    graph.insert_vertices([1, 7], score=[0.5, 0.25], channel=2**64 - 1)
    return graph


def same_values(one: Any, other: Any) -> None:
    """Assert that two graphs have the same edges, vertices and values."""
    pd.testing.assert_frame_equal(one.edges().to_pandas(), other.edges().to_pandas())
    of_one, of_other = (each.vertex_values().to_pandas() for each in (one, other))
    pd.testing.assert_frame_equal(of_one, of_other)
    assert one.state_hash() == other.state_hash()
