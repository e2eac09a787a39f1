"""What a graph is said to need before it is there, beside what it takes."""

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.image.need import likely_bytes, most_bytes, usable_bytes, used_bytes
from graphtide.gpu_core.kind import GraphKind
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.records import record_named
from graphtide.testing import compact

EDGES = 20_000

#: Vertices that edges are drawn of: 16 edges each, one edge each, a tenth, and few with many.
VERTICES = (1250, 20_000, 200_000, 150)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("vertices", VERTICES)
@pytest.mark.parametrize(
    ("records", "options"),
    [
        ("simple", {}),
        ("simple", {"directed": False}),
        ("simple", {"reverse": False, "ids": "dense"}),
        ("weighted", {"ids": "dense"}),
        ("semantic", {"page_bytes": 64}),
    ],
)
def test_no_graph_takes_more_than_is_said_and_most_take_what_is_likely(
    layout: str, records: str, options: dict, vertices: int
) -> None:
    graph = DynamicGraph(engine="host", layout=layout, records=records, **options)
    kind = GraphKind(record=record_named(records), layout=layout, **options)
    draw = np.random.default_rng(vertices)
    for _ in range(10):
        ends = draw.integers(0, vertices, (2, EDGES // 10))
        graph.insert_edges(*ends, **({"ts": ends[0]} if records == "semantic" else {}))
    memory = graph.memory()
    # With dense ids also those that are no vertices, up to the largest id.
    places = memory.regions["vertex table"] // (20 if kind.stores_reverse else 12)
    size = places, graph.num_edges
    trees = memory.regions["free-run trees"]
    taken = memory.graph_bytes - trees
    assert used_bytes(kind, places, memory.pages_used, memory.page_bytes) >= taken
    # A tenth of an edge a vertex is not what anybody likely has.
    if vertices <= EDGES:
        assert 0.6 < likely_bytes(kind, *size) / taken < 1.7
    compact(graph)
    tight = graph.memory()
    trees = tight.regions["free-run trees"]
    # Their pages have slots in the ring of freed pages.
    ring = 8 * trees / (tight.page_bytes - 4) if LAYOUTS[layout].is_paged else 0
    assert tight.graph_bytes - trees - ring <= most_bytes(kind, *size)
    assert usable_bytes(kind, tight.arena_bytes) <= tight.arena_bytes - trees - ring
