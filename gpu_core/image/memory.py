"""Memory of the arena by region, which add up to its size; of adjacencies by size of blocks."""

from dataclasses import dataclass
from typing import Final, NamedTuple

#: Bytes of a BlockArray, as `BlockSize` takes them: the slides tell no number.
ARRAY_BYTES: Final = 1 << 16


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

    @property
    def filled_bytes(self) -> float:
        """That part of the bytes of the blocks."""
        return self.utilization * self.blocks * self.block_bytes


class BlockSize(NamedTuple):
    """Blocks of one size, those of both directions together: in use, and free.

    As cuSTINGER's slides account for a graph (papers/004, 33 to 35), and what the *BlockArrays* of
    slides 17 to 25 would hold: each is an array of blocks of one size, and another one is allocated
    where all of that size are full.
    """

    #: Pages and bytes of a block.
    pages: int
    block_bytes: int
    #: Blocks that adjacencies have, and those that the bit tree of this size finds; of a layout of
    #: pages the queue, too.
    used: int
    free: int
    #: Bytes of the blocks in use that entries fill.
    filled_bytes: float
    #: Bytes of the bit tree.
    tree_bytes: int

    @property
    def edge_utilization(self) -> float | None:
        """Bytes that entries fill over those of the blocks in use; None where none are."""
        return self.filled_bytes / (self.used * self.block_bytes) if self.used else None

    @property
    def block_utilization(self) -> float:
        """Blocks in use over those in use or free."""
        return self.used / (self.used + self.free)

    @property
    def overall_utilization(self) -> float:
        """Bytes that entries fill over those of all blocks."""
        return self.filled_bytes / ((self.used + self.free) * self.block_bytes)

    @property
    def blocks_an_array(self) -> int:
        """Blocks of a BlockArray of `ARRAY_BYTES`; a block that is larger is one by itself."""
        return max(ARRAY_BYTES // self.block_bytes, 1)

    @property
    def arrays(self) -> int:
        """The fewest BlockArrays that hold the blocks in use."""
        return -(-self.used // self.blocks_an_array)

    @property
    def array_bytes(self) -> int:
        """Bytes of these."""
        return self.arrays * self.blocks_an_array * self.block_bytes


@dataclass(frozen=True)
class MemoryDetail:
    """Blocks of a graph by size; ``str()`` gives tables.

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
    #: Pages of a block -> bytes of the bit tree of that size.
    tree_bytes: dict[int, int]

    @property
    def sizes(self) -> tuple[BlockSize, ...]:
        """Blocks by size, increasing: of sizes that are in use or free."""
        used: dict[int, int] = {}
        filled: dict[int, float] = {}
        for each in self.classes:
            pages = each.block_bytes // self.page_bytes
            used[pages] = used.get(pages, 0) + each.blocks
            filled[pages] = filled.get(pages, 0.0) + each.filled_bytes
        return tuple(
            BlockSize(
                pages, pages * self.page_bytes, used.get(pages, 0), self.free.get(pages, 0),
                filled.get(pages, 0.0), self.tree_bytes[pages],
            )
            for pages in sorted(used.keys() | self.free.keys())
        )  # fmt: skip

    @property
    def array_bytes(self) -> int:
        """What BlockArrays would hold, in bytes."""
        return sum(each.array_bytes for each in self.sizes)

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
        filled = sum(each.filled_bytes for each in self.classes)
        return filled / self._block_bytes if self.classes else 1.0

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
        lines.append("")
        lines.append(
            "block bytes          used          free  edges  blocks  overall   bit tree"
            "  BlockArrays          bytes"
        )
        lines += [
            f"{each.block_bytes:>11,}  {each.used:>12,}  {each.free:>12,}  "
            f"{share_text(each.edge_utilization):>5}  {each.block_utilization:>6.1%}  "
            f"{each.overall_utilization:>7.1%}  {each.tree_bytes:>9,}  {each.arrays:>11,}  "
            f"{each.array_bytes:>13,}"
            for each in self.sizes
        ]
        lines.append(
            f"utilization: edges {self.edge_utilization:.1%}, blocks {self.block_utilization:.1%}, "
            f"overall {self.overall_utilization:.1%}; as BlockArrays {self.array_bytes:,} bytes"
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
    #: Pages that can be allocated without growth: free ones and those never used.
    pages_free: int
    #: Pages of the largest run that can be allocated without merging, compaction or growth; a
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


def share_text(share: float | None) -> str:
    """A share for people: ``58.3%``, or that there is none."""
    return "-" if share is None else f"{share:.1%}"
