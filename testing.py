"""Access to the internals of a graph, for tests: its engine, its image, and a compaction.

For those who add a layout, an engine or an algorithm, and want to inspect where entries are, damage
a word or count pages. Programs that use a graph do not need it: the public interface is
`DynamicGraph` and `Epoch`, and only that is stable from one version to the next.

::

    from graphtide import DynamicGraph
    from graphtide.testing import image_of

    graph = DynamicGraph(layout="chain")
    graph.insert_edges([1, 1], [2, 3])
    image = image_of(graph)
    image.shape("out").page_words       # sizes and positions by which kernels address rows
    image.vertex_table()                # uint32[vertex_count, vertex_words]
    image.queued_pages()                # freed pages, the next one to be used first

Not imported by ``import graphtide``.
"""

from __future__ import annotations

from typing import Any

from .gpu_core.engine import Engine
from .gpu_core.engines import host_twin
from .gpu_core.graph import DynamicGraph
from .gpu_core.image.view import ImageView

__all__ = ["compact", "engine_of", "image_of"]


def engine_of(graph: DynamicGraph) -> Engine:
    """Return the engine of a graph: queries by vertex index, rows, arena.

    Hold ``engine.lock`` if several calls must see the same graph.
    """
    return graph._engine


def image_of(graph: DynamicGraph) -> ImageView:
    """Return the image of a graph in host memory, with functions that locate its parts.

    Returns
    -------
    ImageView
        ``image.image`` uint32, its words; ``image.header`` int64, by `gpu_core.image.fields.Field`.
        With the engine ``host`` it is the image itself, valid until growth or compaction replace
        it: writing a word changes the graph, which `DynamicGraph.verify` detects. With ``cuda`` it
        is a copy, in which unused words are 0.
    """
    engine = engine_of(graph)
    with engine.lock:
        arena: Any = engine.arena
        if engine.name == "host":
            return arena
        return host_twin(engine.kind, arena.host_image()).arena


def compact(graph: DynamicGraph) -> bool:
    """Compact a graph now, as the engine does after many batches.

    Edges, `DynamicGraph.state_hash` and the order of free vertex indices do not change.

    Returns
    -------
    bool
        False if there is no memory for a second image.
    """
    engine = engine_of(graph)
    arena: Any = engine.arena
    with engine.batch_lock:
        return bool(arena.compact())
