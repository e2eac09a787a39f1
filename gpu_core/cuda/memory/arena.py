"""The arena of the CUDA engine: the image is one array in device memory.

What an arena is and how it grows: `arena.BaseArena`. Host twin: `host/memory/arena.py`.

There are two headers. Kernels read and change the one in the image; `DeviceArena.header` is its
mirror in host memory. Between batches they are equal. While a batch runs without the host, the
mirror is out of date until `pull_header`. Where the host decides (`prepare`, `take`, `move_table`),
it pulls first, changes the mirror, and pushes.

Both images are in device memory while one replaces the other. Whether both fit is found by
allocating: only CuPy's allocator knows what is free.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...errors import ArenaFullError
from ...image import arena_size
from ...image.arena import BaseArena
from ...image.arena_size import ImageSize
from ...image.demand import Demand
from ...image.fields import (
    CLASSES,
    HEADER_WORDS,
    WORD_BYTES,
    BatchField,
    BatchStatus,
    Field,
    ImageTable,
    Shape,
    even,
)
from ...image.free_runs import LEVELS
from ...image.view import PlacedRows
from ...kind import ArenaSizes, GraphKind
from ..device.device import Device
from ..device.driver_errors import DeviceMemoryError
from ..device.launches import copy_words
from ..device.packed_arguments import address, packer
from . import free_runs
from .batch_report import DeviceReport
from .free_runs import DeviceAllocatedRuns
from .pool import free_bytes, release_pool
from .relocate import count_runs, move_pages, move_runs
from .scratch import ALIGNMENT, SLACK_BYTES, DeviceScratch

Int64s = npt.NDArray[np.int64]

_IMAGE = packer("image", *Shape._fields)
#: A number of vertices that no image has, and nothing.
_NO_ARGUMENT = (-1, b"")


class DeviceArena(BaseArena):
    """One image in device memory; parameters as of `BaseArena`, and the device."""

    _PARTS: ClassVar[tuple[str, ...]] = (
        "image",
        "header",
        "level_words",
        "trees",
        "tree_groups",
        "geometry",
        "tree",
        "_image_arguments",
        "_scratch_area",
    )

    def __init__(self, device: Device, kind: GraphKind, sizes: ArenaSizes) -> None:
        self.device = device
        self.xp = device.xp
        #: Bytes of images that were replaced, and of scratch beside them, which CuPy's pool may
        #: still hold.
        self._replaced_bytes = 0
        #: Numbers of free runs since the newest batch; `None`: they are only on the device.
        self.kept_counts: Int64s | None = None
        #: Grows whenever the image is replaced, or a table moved.
        self.image_number = 0
        #: uint32, on the device: see `free_runs.empty_block_numbers`.
        self.block_numbers = free_runs.empty_block_numbers(device)
        super().__init__(kind, sizes)

    def _default_limit(self) -> int:
        return free_bytes(self.device) * 3 // 4

    def _put_image(self, header: Int64s, geometry: Int64s) -> None:
        self.image = self.device.empty(int(header[Field.IMAGE_WORDS]), np.uint32)
        self.image.fill(0)
        self.header = header
        self._header_changed()
        #: int64[CLASSES, LEVELS]: words of each level of each tree.
        self.level_words = geometry[:, LEVELS:]
        #: Classes that have a tree: those that an image of this size has room for a run of.
        self.trees = int((self.level_words[:, 0] > 0).sum())
        #: Groups of words that the trees are searched by.
        self.tree_groups = free_runs.groups_of(self.level_words)
        #: int64, on the device: `image/free_runs.tree_geometry`.
        self.geometry = self.device.to_device(geometry.ravel())

    def _drop_image(self) -> None:
        self._replaced_bytes += self.image.nbytes
        del self.image, self.tree

    def _extend_image(self, image_words: int) -> None:
        self._replaced_bytes += self.image.nbytes
        image = self.device.empty(image_words, np.uint32)
        image.fill(0)
        for words in self._used_words():
            image[words] = self.image[words]
        self.image = image
        self.header[Field.IMAGE_WORDS] = image_words
        self._header_changed()

    def host_image(self) -> npt.NDArray[np.uint32]:
        """Copy of the image in host memory; words that are not in use are 0."""
        image = np.zeros(self[Field.IMAGE_WORDS], np.uint32)
        for words in self._used_words():
            image[words] = self.device.to_host(self.image[words])
        return image

    # -- as kernels take it ------------------------------------------------------------------

    def image_argument(self, direction: str) -> bytes:
        """Address of the image and the `Shape` of a direction, packed."""
        vertex_count = self[Field.VERTEX_COUNT]
        count, argument = self._image_arguments.get(direction, _NO_ARGUMENT)
        if count != vertex_count:
            argument = _IMAGE(address(self.image), *self.shape(direction))
            self._image_arguments[direction] = vertex_count, argument
        return argument

    def table_address(self, table: ImageTable) -> int:
        """Address of a table; 0 where it has no run yet. Valid until the image is replaced."""
        words = self.table_words(table)
        if words == 0:
            return 0
        first, _ = self._position_of(table)
        base = self[Field.PAGE_END] - first * self[Field.PAGE_WORDS] - words
        return address(self.image) + WORD_BYTES * base

    # -- the two headers ---------------------------------------------------------------------

    def pull_header(self) -> None:
        """Bring the mirror up to date: one read-back, after all work before."""
        self.kept_counts = None
        self.header[:] = self.device.read_words(self.image[:HEADER_WORDS]).view(np.int64)

    def push_header(self) -> None:
        """Write the mirror into the image."""
        self.kept_counts = None
        self.image[:HEADER_WORDS] = self.device.to_device(self.header.view(np.uint32))

    def _header_changed(self) -> None:
        self.push_header()
        self.image_number += 1
        #: uint32, on the device: the table of free runs.
        self.tree = self.table(ImageTable.FREE_TREE)
        #: By direction, the newest `image_argument` of this image, and its number of vertices.
        self._image_arguments: dict[str, tuple[int, bytes]] = {}
        start, fields = address(self.image), (Field.PAGE_END, Field.IMAGE_WORDS)
        #: Addresses where scratch begins and ends.
        self._scratch_area = tuple([start + WORD_BYTES * self[field] for field in fields])

    def _add(self, field: Field, value: int) -> None:
        # Kernels of the batch may be changing other fields.
        self.header[field] += value
        at = self.image[2 * field : 2 * field + 2].view(np.int64)
        at += value

    # -- runs of pages -----------------------------------------------------------------------

    def update_mirror(self, report: DeviceReport) -> None:
        """Bring the mirror up to date from the report that a batch has left.

        The mirror's fields of the batch are 0, and stay so. The numbers of free runs are looked up
        in the report until the header is moved between host and device: whatever else changes them
        does that first.
        """
        copy_words(self.header, report.header)
        self.kept_counts = report.counts

    def free_run_counts(self) -> Int64s:
        """int64[CLASSES]: free runs of each class; read back unless a report has them."""
        if self.kept_counts is not None:
            return self.kept_counts
        counts: Int64s = self.device.read_words(self.tree[: 2 * CLASSES]).view(np.int64)
        return counts

    def _join_free_runs(self) -> None:
        free_runs.merge_buddies(self)
        free_runs.lower_bump(self)
        self.pull_header()

    def prepare(self, demand: Demand) -> None:
        """Make sure that ``demand`` can be allocated, after a batch that needs the host.

        The header is pulled and the batch's status becomes ``OK``.

        Raises
        ------
        ArenaFullError
            What is alive plus the demand does not fit within the limit or the device's memory. The
            graph is as before; free buddies may have been merged.
        """
        self.pull_header()
        self.header[BatchField.STATUS] = BatchStatus.OK
        self.push_header()
        super().prepare(demand)

    def take(self, demand: Demand) -> DeviceAllocatedRuns:
        """Allocate all that `prepare` made sure of, in the order of `free_runs.allocate_demand`.

        Needs a mirror that is up to date, and leaves it so.
        """
        recycled = min(self.pages_queued, demand.queue_pages)
        queued = self.queued_pages()[:recycled]
        self.header[Field.PAGE_QUEUE_FRONT] += recycled
        self.header[Field.PAGES_FREE] -= recycled
        runs = demand.runs.copy()
        runs[0] -= recycled
        most = int(runs.sum())
        self.push_header()
        memory = self.device.empty(free_runs.allocate_bytes(most) + SLACK_BYTES, np.uint8)
        scratch, need = DeviceScratch(self.xp, memory), self.device.to_device(runs)
        allocated = free_runs.allocate_demand(
            self, address(need), most, demand.vertex_count, scratch
        )
        self.pull_header()
        if self.header[BatchField.STATUS] != BatchStatus.OK:
            msg = "the arena was prepared for a demand and cannot allocate it"
            raise AssertionError(msg)
        return DeviceAllocatedRuns(self.device, allocated, scratch, queued)

    def give_back_runs(
        self, firsts: npt.NDArray[np.integer], classes: npt.NDArray[np.uint8]
    ) -> None:
        """Enter runs (first page, size class) as free; both of one length, in host memory."""
        free_runs.give_back_runs(self, firsts, classes)
        self.header[Field.PAGES_FREE] += (1 << classes.astype(np.int64)).sum()

    # -- growth and compaction ---------------------------------------------------------------

    def _count_runs(self, direction: str, *, tight: bool) -> Int64s:
        return count_runs(self.device, self.image, self.shape(direction), tight=tight)

    def _replace_image(
        self, counts: list[Int64s], demand: Demand, size: ImageSize, *, tight: bool
    ) -> None:
        self._replaced_bytes += self.image.nbytes
        super()._replace_image(counts, demand, size, tight=tight)

    def _replace_by_roomy(self, counts: list[Int64s], demand: Demand, size: ImageSize) -> None:
        try:
            super()._replace_by_roomy(counts, demand, size)
        except ArenaFullError:
            # Two images do not fit: the second one as small as it can be, then.
            live = self._live_tables() + sum(counts)
            wanted = Demand(demand.vertex_count, live + demand.runs)
            least = even(arena_size.area_for(self.header, wanted, size.area))
            if least >= size.area:
                raise
            super()._replace_by_roomy(counts, demand, ImageSize(least, size.scratch))

    def _move_rows(
        self, old: PlacedRows, new: PlacedRows, runs: Int64s, following: Int64s, *, tight: bool
    ) -> None:
        if old.shape.vertex_count == 0:
            return
        if self.layout.is_paged:
            move_pages(self.device, old, new, following)
        else:
            move_runs(self.device, old, new, runs, following, tight=tight)

    def _enter_runs(self, firsts: Int64s, counts: Int64s) -> None:
        free_runs.enter_rows_of_runs(self, firsts, counts)

    # -- scratch -----------------------------------------------------------------------------

    def _take_scratch(self, need_bytes: int) -> DeviceScratch:
        try:
            return self._scratch_in_image(need_bytes)
        except DeviceMemoryError:
            # The limit permits it, but the device does not hold two images while one replaces the
            # other: for this call the scratch is a piece of its own, beside the image.
            self._replaced_bytes += need_bytes
            memory = self.device.empty(need_bytes + SLACK_BYTES, np.uint8)
            return DeviceScratch(self.xp, memory)

    def _scratch_in_image(self, need_bytes: int) -> DeviceScratch:
        self._release_replaced()
        # Up to `scratch.PIECES` pieces may be taken of it.
        taken: DeviceScratch = super()._take_scratch(need_bytes + SLACK_BYTES)
        return taken

    def free_scratch(self) -> tuple[int, int]:
        """First byte after the scratch in use, a multiple of 128, and the byte after the image.

        What is written there is gone with the next scratch that is taken.
        """
        if self._replaced_bytes:
            self._release_replaced()
        begin, end = self._scratch_area
        begin += WORD_BYTES * self._scratch_top
        return begin + -begin % ALIGNMENT, end

    def provide_scratch(self, size: int) -> None:
        """Make sure that ``size`` bytes are free after the scratch in use.

        Raises
        ------
        ArenaFullError
            The arena cannot grow that far.
        """
        mark = self._scratch_top
        self._scratch_in_image(size)
        self._scratch_top = mark

    def _release_replaced(self) -> None:
        if self._replaced_bytes and self._scratch_top == 0:
            # No call holds scratch of the previous image: others may need its memory.
            release_pool(self.device, self._replaced_bytes)
            self._replaced_bytes = 0

    def _scratch_of(self, begin: int, end: int) -> DeviceScratch:
        return DeviceScratch(self.xp, self.image, WORD_BYTES * begin, WORD_BYTES * end)
