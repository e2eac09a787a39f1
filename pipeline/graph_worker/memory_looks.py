"""Looks at the memory of the graph, now and then: each takes 0.2 ms to 2 ms.

The status that answers a batch carries what the newest look has found.
"""

import time

from ...gpu_core.graph import DynamicGraph
from ...gpu_core.image.memory_size import free_memory_bytes
from .graph_status import Memory

#: Seconds between two looks at the memory of host and arena.
_LOOK_SECONDS = 1.0

#: Seconds before adjacencies are first counted by size: a short run need not. Then so many times
#: what a count takes, which reads all vertex records, lie between two.
_COUNT_SECONDS, _COUNT_PAUSE = 5.0, 300


class MemoryLooks:
    """What was last seen of the memory of a graph and of its machine.

    Parameters
    ----------
    graph
        The graph. No batch is applied during a look.
    """

    def __init__(self, graph: DynamicGraph) -> None:
        self._graph = graph
        #: Pages of an adjacency, and bytes of all such; when they are counted next.
        self._adjacency_bytes: tuple[tuple[int, int], ...] = ()
        self._count_due = time.monotonic() + _COUNT_SECONDS
        self.look()

    def look(self) -> None:
        """Look at it now."""
        now = time.monotonic()
        self._due = now + _LOOK_SECONDS
        #: The arena as it was then.
        self.arena = self._graph.memory(detail=now >= self._count_due)
        self._edges = int(self._graph.num_edges)
        if self.arena.detail is not None:
            self._adjacency_bytes = tuple(self.arena.detail.adjacency_bytes.items())
            self._count_due = now + _COUNT_PAUSE * (time.monotonic() - now)
        self._host_free_bytes = free_memory_bytes()

    def seen(self, pages_used: int) -> Memory:
        """What was seen, after another look if one is due; ``pages_used`` as of the last batch."""
        # Of a graph that has just been filled nothing would be known yet.
        if time.monotonic() >= self._due or not self._edges:
            self.look()
        arena = self.arena
        return Memory(
            pages_used, arena.page_bytes, arena.limit_bytes, self._host_free_bytes,
            arena.regions, arena.pinned_bytes, self._edges, self._adjacency_bytes,
        )  # fmt: skip
