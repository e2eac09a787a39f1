"""aimGraph's data structure, and its update kernels for each way to distribute work on threads.

Source: M. Winter, *Fully-dynamic aimGraph*, thesis, 2017 (papers/000), sections 3.1 to 3.5, 4.2 and
7.1. Kernels, and what a row is: ``aimgraph.cu``; where it lies: ``aimgraph.cuh``. Simple directed
edges between vertices from 0 on.

It is for comparison (``flows/study``), and no layout: a batch names no edge twice,
entries of a row are in the order in which threads came, and what does not fit is noticed after
the batch, which is then applied in part.

Arrays are of the device's module ``xp``; an edge is a *key*, uint64 ``source << 32 | target``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from ...errors import ArenaFullError
from ...image.fields import NONE, WORD_BYTES
from ..device.declarations import constant, structure
from ..device.device import Array, Device
from ..device.packed_arguments import address
from ..grid import WARP

_SOURCE: Final = "aimgraph.cu"
#: Threads of a block: as many as work at one item at most.
_THREADS: Final = 128
_SLOTS: Final = constant(_SOURCE, "SLOTS")
_RECORD_WORDS: Final = constant(_SOURCE, "RECORD_WORDS")
_QUEUED: Final = constant(_SOURCE, "QUEUED")
_USED: Final = constant(_SOURCE, "USED")
_MEMORY: Final = structure(_SOURCE, "Memory")


class Distribution(NamedTuple):
    """Distribution of the work of a batch over threads."""

    #: What is one item of work: an update, all updates of a row, or a page of the batch's rows.
    item: Literal["update", "row", "page"]
    #: Threads that work at an item.
    lanes: int


#: The thesis' own are by update (3.4, 3.5) and by page (7.1: *balanced*, and *combined* of 7.2.1).
DISTRIBUTIONS: Final = {
    "thread an update": Distribution("update", 1),
    "warp an update": Distribution("update", 32),
    "thread a row": Distribution("row", 1),
    "4 lanes a row": Distribution("row", 4),
    "8 lanes a row": Distribution("row", 8),
    "16 lanes a row": Distribution("row", 16),
    "warp a row": Distribution("row", 32),
    "block a row": Distribution("row", 128),
    "thread a page": Distribution("page", 1),
    "warp a page": Distribution("page", 32),
}


@dataclass(frozen=True)
class SortedUpdates:
    """A batch on the device, sorted by source, then target."""

    #: uint32[m]: ends of each edge.
    sources: Array
    targets: Array
    #: uint8[m]: 1: it is inserted, 0: deleted.
    inserts: Array
    #: uint32[r]: vertices that have updates; int64[r + 1]: the first update of each.
    rows: Array
    begins: Array
    #: int64[m + 1]: the first update of each update.
    each: Array
    #: Whether all of them are deletes.
    deletes_only: bool

    @classmethod
    def of(cls, xp: Any, inserted: Array, deleted: Array) -> SortedUpdates:
        """Make the batch that inserts and deletes these keys, in any order, each key once."""
        keys = xp.concatenate([inserted, deleted])
        order = xp.argsort(keys)
        sources, targets = _ends(xp, keys[order])
        begins = xp.searchsorted(sources, rows := xp.unique(sources))
        each = xp.arange(keys.size + 1, dtype=xp.int64)
        begins = xp.concatenate([begins.astype(xp.int64), each[-1:]])
        inserts = (order < inserted.size).view(xp.uint8)
        return cls(sources, targets, inserts, rows, begins, each, inserted.size == 0)


class WorkItems(NamedTuple):
    """Pages of rows, one after the other: the items of `AimGraph.work_items`."""

    #: int64[r + 1]: pages of the rows before.
    pages_before: Array
    #: uint32[p]: number of the row of each page, and the page.
    row_of: Array
    pages: Array


class AimGraph:
    """Rows on linked pages, taken and given back by the kernels that write rows.

    Parameters
    ----------
    device
        Where it lies.
    keys
        uint64[m]: its edges, increasing.
    vertices
        How many there are.
    page_bytes
        Bytes of a page, a multiple of 4: one word names the next page, each other is an entry.
    room
        Pages beside those that the edges take now.
    compacts
        Whether a delete moves the last entry of the row into the slot, and gives an emptied page
        back (algorithm 3); else it marks the slot (algorithm 2), which an insert may take.
    """

    def __init__(
        self,
        device: Device,
        keys: Array,
        *,
        vertices: int,
        page_bytes: int,
        room: int,
        compacts: bool = True,
    ) -> None:
        xp = device.xp
        #: Where it lies, and how many vertices it has.
        self.device, self.vertices = device, vertices
        #: Whether rows are compacted by deletes.
        self.compacts = compacts
        page_words = page_bytes // WORD_BYTES
        sources, targets = _ends(xp, keys)
        indptr = xp.searchsorted(sources, xp.arange(vertices + 1, dtype=xp.uint32))
        pages = -(-xp.diff(indptr) // (page_words - 1))
        ends = xp.cumsum(pages)
        used = int(ends[-1])
        self._room = used + room
        slots = 1 << self._room.bit_length()
        self._counters = device.to_device(np.array([0, 0, 0, used], np.uint32))
        #: Held as long as their addresses, which `_memory` has.
        self._records = device.empty(vertices * _RECORD_WORDS, np.uint32)
        self._pages = device.empty(self._room * page_words, np.uint32)
        self._queue = xp.full(slots, NONE, xp.uint32)
        held = self._records, self._pages, self._queue, self._counters
        self._memory = np.array(
            (*map(address, held), page_words, self._room, slots - 1), dtype=_MEMORY
        )
        self.launch(
            "fill_rows", vertices, WARP, indptr.astype(xp.int64), targets, ends - pages,
            np.int64(vertices),
        )  # fmt: skip

    def update(self, batch: SortedUpdates, distribution: Distribution) -> None:
        """Apply a batch, in one launch; by pages, in four and a prefix sum.

        Inserts of edges that there are, and deletes of others, change nothing.
        """
        item, lanes = distribution
        if item == "page":
            self._update_by_pages(batch, lanes)
            return
        sources, begins = (
            (batch.sources, batch.each) if item == "update" else (batch.rows, batch.begins)
        )
        self.launch(
            "update", sources.size, lanes, sources, begins, np.int64(sources.size), batch.targets,
            batch.inserts, np.int64(self.compacts or not batch.deletes_only),
        )  # fmt: skip

    @property
    def pages_of_rows(self) -> int:
        """Pages that rows have."""
        counters = self.device.to_host(self._counters)
        return int(counters[_USED]) - int(counters[_QUEUED])

    def work_items(self, rows: Array) -> WorkItems:
        """List the pages of rows, uint32[r], so that each can be an item of work (7.1)."""
        xp, empty, count = self.device.xp, self.device.empty, np.int64(rows.size)
        counts = xp.zeros(rows.size + 1, xp.int64)
        self.launch("count_pages", rows.size, 1, rows, count, counts)
        before = xp.cumsum(counts)
        total = int(before[-1])
        items = WorkItems(before, empty(total, np.uint32), empty(total, np.uint32))
        self.launch("list_pages_of_rows", rows.size, 1, rows, count, *items)
        return items

    def _update_by_pages(self, batch: SortedUpdates, lanes: int) -> None:
        before, row_of, pages = self.work_items(batch.rows)
        xp = self.device.xp
        found = xp.full(batch.targets.size, -1, xp.int64)
        self.launch(
            "search_pages", pages.size, lanes, batch.rows, batch.begins, batch.targets, before,
            row_of, pages, np.int64(pages.size), found,
        )  # fmt: skip
        self.launch(
            "write_rows", batch.rows.size, 1, batch.rows, batch.begins, np.int64(batch.rows.size),
            batch.targets, batch.inserts, before, pages, found,
        )  # fmt: skip

    def keys(self) -> Array:
        """uint64: all edges, increasing.

        Raises
        ------
        ArenaFullError
            A batch has found no page; some of its inserts are missing.
        """
        xp = self.device.xp
        if (used := int(self._counters[_USED])) > self._room:
            msg = f"updates took {used:,} pages, and there are {self._room:,}; make more room"
            raise ArenaFullError(msg)
        slots = self._records[_SLOTS::_RECORD_WORDS].astype(xp.int64)
        ends = xp.cumsum(slots)
        keys = self.device.empty(int(ends[-1]), np.uint64)
        self.launch("read_rows", self.vertices, WARP, ends - slots, np.int64(self.vertices), keys)
        return xp.sort(keys[keys.astype(xp.uint32) != NONE])

    def launch(
        self,
        kernel: str,
        items: int,
        lanes: int,
        *arguments: Any,
        source: str = _SOURCE,
        **defines: int,
    ) -> None:
        """Start a kernel of this graph that has so many threads an item."""
        blocks = -(-items * lanes // _THREADS)
        if source == _SOURCE:
            defines = {"COMPACTS": int(self.compacts)}
        self.device.launch(
            source, kernel, blocks, _THREADS, self._memory, *arguments,
            defines={"LANES": lanes, **defines},
        )  # fmt: skip


def _ends(xp: Any, keys: Array) -> tuple[Array, Array]:
    """uint32 sources and targets of keys."""
    return (keys >> xp.uint64(32)).astype(xp.uint32), keys.astype(xp.uint32)
