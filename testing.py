"""What tests of graphtide's insides look at: a graph's engine, its image, and new places of rows.

For those who add a layout, an engine or an algorithm, and want to see where entries lie, spoil a
word or count pages. A program that uses a graph needs nothing of it: `DynamicGraph` and `Epoch`
have all that a graph means, and only that stays the same from one version to the next.

::

    from graphtide import DynamicGraph
    from graphtide.testing import image_of

    graph = DynamicGraph(layout="chain")
    graph.insert_edges([1, 1], [2, 3])
    image = image_of(graph)
    image.shape("out").page_words       # numbers that a kernel walks rows by
    image.vertex_table()                # uint32[vertex_count, vertex_words]
    image.queued_pages()                # freed pages, the next one first

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
    """Engine of a graph: its queries by vertex index, its rows, its arena.

    Hold ``engine.lock`` where more than one call must see the same graph.
    """
    return graph._engine


def image_of(graph: DynamicGraph) -> ImageView:
    """Image of a graph in host memory, with what lies where in it.

    ``image.image`` is uint32, its words; ``image.header`` is int64, by
    `gpu_core.image.fields.Field`.

    Returns
    -------
    ImageView
        Of the engine ``host``: the image itself, valid until it is replaced by growth or
        compaction; a word that is changed is changed in the graph, and `DynamicGraph.verify` says
        so. Of ``cuda``: a copy, in which words that are not in use are 0.
    """
    engine = engine_of(graph)
    with engine.lock:
        arena: Any = engine.arena
        if engine.name == "host":
            return arena
        return host_twin(engine.kind, arena.host_image(), like=arena).arena


def compact(graph: DynamicGraph) -> bool:
    """Lay out all rows anew, as after many batches; False: there is no room for a second image.

    What the graph means stays as it is: edges, `DynamicGraph.state_hash`, the indices to come.
    """
    engine = engine_of(graph)
    arena: Any = engine.arena
    with engine.batch_lock:
        return bool(arena.compact())
