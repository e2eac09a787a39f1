"""A device that has no room for a second image: scratch beside the first, rows read in place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from graphtide import ArenaFullError, DynamicGraph
from graphtide.gpu_core.algorithms.shared.adjacencies import adjacencies_of
from graphtide.gpu_core.cuda.analytics.parts.hubs.hub_cache import hub_cache_bytes
from graphtide.gpu_core.cuda.analytics.parts.slices import in_slices_bytes
from graphtide.gpu_core.cuda.device.driver_errors import DeviceMemoryError
from graphtide.gpu_core.cuda.memory.scratch import SLACK_BYTES
from graphtide.gpu_core.image.fields import WORD_BYTES, Field
from graphtide.testing import engine_of

EDGES = 12_000

Scarce = Callable[[int], list[int]]


@pytest.fixture
def scarce(device: Any, monkeypatch: pytest.MonkeyPatch) -> Scarce:
    """Have the device refuse pieces of more than so many bytes; they are listed."""
    empty = device.empty

    def refuse_beyond(most: int) -> list[int]:
        refused: list[int] = []

        def scarce_empty(count: int, dtype: Any) -> Any:
            nbytes = count * np.dtype(dtype).itemsize
            if nbytes > most:
                refused.append(nbytes)
                msg = f"CUDA out of memory for {nbytes:,} bytes"
                raise DeviceMemoryError(msg)
            return empty(count, dtype)

        monkeypatch.setattr(device, "empty", scarce_empty)
        return refused

    return refuse_beyond


def graph_of(layout: str = "runs", **settings: Any) -> DynamicGraph:
    """A graph with rows that are longer than what a lane, and what a chunk takes."""
    numbers = np.random.default_rng(3).integers(0, 600, (2, EDGES))
    hub = np.stack([np.zeros(1_100, np.int64), np.arange(1_100)])
    return DynamicGraph.from_edges(
        *np.concatenate([numbers, hub], axis=1), engine="cuda", ids="dense", layout=layout,
        arena_bytes=60_000, max_arena_bytes=1 << 26, **settings,
    )  # fmt: skip


@contextmanager
def full_scratch(graph: DynamicGraph) -> Iterator[None]:
    """Leave no scratch in the image of a graph."""
    arena = engine_of(graph).arena
    words = arena[Field.IMAGE_WORDS] - arena[Field.PAGE_END]
    with arena.scratch(WORD_BYTES * (words - 128) - SLACK_BYTES):
        yield


def room_in_place(graph: DynamicGraph) -> int:
    """Bytes that suffice for rows in place and some vectors, not for a copy of the rows."""
    engine = engine_of(graph)
    rows = adjacencies_of(engine)
    copied, in_place = (
        in_slices_bytes(engine.device, rows, in_place=each) for each in (False, True)
    )
    return in_place + (copied - in_place) * 9 // 10


def columns_of(graph: DynamicGraph) -> dict[str, Any]:
    """Results of analytics that need much scratch."""
    return {
        "pagerank": graph.pagerank().pagerank,
        "katz": graph.katz_centrality(alpha=1e-4).katz_centrality,
        "triangles": graph.triangles(),
        "core": graph.core_number().core_number,
        "edges": graph.edges().dst,
    }


@pytest.mark.everyday
@pytest.mark.parametrize("directed", [False, True])
def test_scratch_lies_beside_an_image_that_cannot_be_replaced(
    scarce: Scarce, *, directed: bool
) -> None:
    settings = {"directed": directed, "reverse": directed}
    expected = columns_of(graph_of(**settings))
    graph = graph_of(**settings)
    arena = engine_of(graph).arena
    image, before = arena.image, graph.image_hash()
    refused = scarce(image.nbytes)
    with full_scratch(graph):
        for name, column in columns_of(graph).items():
            np.testing.assert_array_equal(column, expected[name], err_msg=name)
    # It was tried, and nothing of the graph has changed.
    assert refused
    assert arena.image is image
    assert graph.image_hash() == before
    # What a batch needs lies within the image: it is refused, not tried without end.
    more = np.arange(3_000)
    with full_scratch(graph), pytest.raises(ArenaFullError, match="CUDA out of memory"):
        graph.insert_edges(more, more + 1)
    assert graph.image_hash() == before
    scarce(1 << 40)
    graph.insert_edges(more, more + 1)
    graph.verify()


@pytest.mark.everyday
@pytest.mark.parametrize("layout", ["runs", "chain"])
@pytest.mark.parametrize("directed", [False, True])
def test_ranks_of_rows_in_place_have_the_same_bits(
    scarce: Scarce, layout: str, *, directed: bool
) -> None:
    settings = {"directed": directed, "reverse": directed}
    expected = graph_of(layout, **settings).pagerank()
    graph = graph_of(layout, **settings)
    refused = scarce(room_in_place(graph))
    with full_scratch(graph):
        found = graph.pagerank()
    assert refused
    np.testing.assert_array_equal(found.pagerank, expected.pagerank)
    assert found.iterations == expected.iterations


def test_katz_centrality_of_many_steps_in_place(scarce: Scarce) -> None:
    settings = {"directed": False, "reverse": False}
    arguments = {"alpha": 4e-3, "tol": 1e-12}
    expected = graph_of(**settings).katz_centrality(**arguments)
    graph = graph_of(**settings)
    refused = scarce(room_in_place(graph) + hub_cache_bytes(engine_of(graph).device))
    with full_scratch(graph):
        found = graph.katz_centrality(**arguments)
    assert refused
    np.testing.assert_allclose(found.katz_centrality, expected.katz_centrality, rtol=1e-14)


def test_weights_are_copied_or_refused(scarce: Scarce) -> None:
    graph = graph_of(directed=False, reverse=False, records="weighted")
    scarce(100_000)
    with full_scratch(graph), pytest.raises(ArenaFullError, match="CUDA out of memory"):
        graph.pagerank(weight="weight")
