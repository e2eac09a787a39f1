"""Memory of the arena by region, which add up to its size; of adjacencies by size of blocks."""

from dataclasses import dataclass
from typing import NamedTuple


class SizeClass(NamedTuple):
    """Adjacencies of one direction that take alike: a run of one size, or nearly as many pages."""

    #: ``out`` or ``in``.
    direction: str
    #: Pages of each of them; of a layout of pages at most, and more than half as many.
    pages: int
    adjacencies: int
    #: Blocks that they have together, and bytes of one.
    blocks: int
    block_bytes: int
    #: Entries that are in these blocks, and that there is room for.
    entries: int
    room: int

    @property
    def utilization(self) -> float:
        """Entries over room."""
        return self.entries / self.room


@dataclass(frozen=True)
class MemoryDetail:
    """Blocks of a graph by size; ``str()`` gives a table.

    A *block* is what an adjacency takes at once: of layout ``runs`` a run of 1, 2, 4, … pages, of
    the others a page, of which a long adjacency has many. *Utilization* is what is used of what is
    allocated.

    Source: slides of cuSTINGER (papers/004), 33 to 35.
    """

    #: Of adjacencies that have any entry, by direction and size.
    classes: tuple[SizeClass, ...]
    #: Pages of a block -> free blocks of that size; unused space of the arena is not counted.
    free: dict[int, int]
    page_bytes: int

    @property
    def adjacency_bytes(self) -> dict[int, int]:
        """Pages of an adjacency, as of `SizeClass`, increasing -> bytes of all such."""
        found: dict[int, int] = {}
        for each in self.classes:
            found[each.pages] = found.get(each.pages, 0) + each.blocks * each.block_bytes
        return dict(sorted(found.items()))

    @property
    def edge_utilization(self) -> float:
        """Bytes of entries over those of all blocks in use; 1 where there are none."""
        used = sum(each.utilization * each.blocks * each.block_bytes for each in self.classes)
        return used / self._block_bytes if self.classes else 1.0

    @property
    def block_utilization(self) -> float:
        """Bytes of blocks in use over those in use or free; 1 where there are none."""
        free = sum(pages * blocks for pages, blocks in self.free.items()) * self.page_bytes
        return self._block_bytes / (self._block_bytes + free) if self.classes else 1.0

    @property
    def overall_utilization(self) -> float:
        """Of both together."""
        return self.edge_utilization * self.block_utilization

    @property
    def _block_bytes(self) -> int:
        return sum(each.blocks * each.block_bytes for each in self.classes)

    def __str__(self) -> str:
        lines = ["direction  pages   adjacencies        blocks       entries          room   used"]
        lines += [
            f"{each.direction:<9}  {each.pages:>5,}  {each.adjacencies:>12,}  {each.blocks:>12,}  "
            f"{each.entries:>12,}  {each.room:>12,}  {each.utilization:>5.1%}"
            for each in self.classes
        ]
        free = ", ".join(f"{blocks:,} of {pages:,}" for pages, blocks in self.free.items())
        lines.append(f"free blocks by pages: {free or 'none'}")
        lines.append(
            f"utilization: edges {self.edge_utilization:.1%}, blocks {self.block_utilization:.1%}, "
            f"overall {self.overall_utilization:.1%}"
        )
        return "\n".join(lines)


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
    #: Memory of the host that properties of the user's own take; beside the arena.
    properties_bytes: int = 0
    #: Memory of the host engine's lower bounds of times, once edges have expired; likewise.
    oldest_times_bytes: int = 0
    #: Blocks of adjacencies by size, if requested.
    detail: MemoryDetail | None = None

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
        if self.detail is not None:
            lines += ["", str(self.detail)]
        return "\n".join(lines)
