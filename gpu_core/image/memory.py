"""Memory of the arena by region: a table that adds up to the arena's size."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MemoryReport:
    """Bytes by region; ``str()`` gives a table.

    ``regions`` partitions the image, so its values add up to ``arena_bytes``.
    """

    #: Bytes of the one allocation.
    arena_bytes: int
    #: Bytes that the arena may grow to.
    limit_bytes: int
    #: Region -> bytes, in the order of the image.
    regions: dict[str, int]
    page_bytes: int
    #: Pages that hold an adjacency or a table.
    pages_used: int
    #: Pages that can be handed out without growth: free ones and those never used.
    pages_free: int
    #: Pages of the largest run that can be handed out without merging, compaction or growth; a
    #: power of two, or 0.
    largest_free_run: int
    #: Page-locked memory of the host that batches go through on their way to a GPU; no part of the
    #: arena or of the table, and kept as long as the graph.
    staging_bytes: int = 0
    #: Memory that epochs of the graph hold, beside the arena.
    pinned_bytes: int = 0
    #: Memory of the host that names of vertices take, where ids are such; beside the arena.
    names_bytes: int = 0
    #: Memory that what is maintained takes, where the engine works; beside the arena.
    maintained_bytes: int = 0
    #: Memory of what the host engine knows of the times of rows, once edges have expired; likewise.
    oldest_times_bytes: int = 0

    @property
    def graph_bytes(self) -> int:
        """Bytes that the graph needs: all but free pages, unused space and scratch."""
        idle = ("free pages", "unused", "scratch")
        return sum(size for name, size in self.regions.items() if name not in idle)

    def __str__(self) -> str:
        width = max(len(name) for name in self.regions)
        lines = [
            f"{name:<{width}}  {size:>16,}  {size / max(self.arena_bytes, 1):>6.1%}"
            for name, size in self.regions.items()
        ]
        lines.append(f"{'arena':<{width}}  {self.arena_bytes:>16,}  {1:>6.1%}")
        return "\n".join(lines)
