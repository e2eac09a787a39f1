"""Residuals of maintained PageRank follow a small batch in CUDA: the repair of its rows.

A batch changes the residuals of the out-neighbors of those vertices whose rows it changes. Before
it, these take back what they have passed on along their rows; after it they pass on what they have
then. No other row is read. Kernels: ``residual_repair.cu``.

What is computed from nothing (`pushed_ranks.py`) is the same to the bit. So residuals need not
follow where that would be long: a large batch, one that deletes vertices, a graph with a long row.
"""

from typing import Final

import numpy as np

from ....algorithms.maintained.pushing import MOST_SHARE, MeanField
from ....batch.update_batch import UpdateBatch
from ....image.fields import ImageTable, Shape
from ...device.declarations import constant, structure, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address, pack, packer
from ...grid import blocks_for
from ...update.batch import DeviceBatch, upload
from ...update.state import UpdatableGraph
from ..centrality.kept_ranks import KeptRanks

_SOURCE: Final = "residual_repair.cu"

_TAKE_THREADS: Final = constant(_SOURCE, "TAKE_THREADS")
_THREADS: Final = constant(_SOURCE, "REPAIR_THREADS")
_ROW_BLOCKS: Final = constant(_SOURCE, "ROW_BLOCKS")
#: Blocks that share the rows, a multiprocessor, at most.
_MOST_BLOCKS: Final = 8
#: Entries of the longest row, of a graph whose batches are followed: a block walks along it.
MOST_ENTRIES = 1 << 17
#: Batches until the counts of listed vertices are emptied.
_COUNTS: Final = 1024

#: ``y`` of all vertices together, about.
WHOLE: Final = float(constant(_SOURCE, "WHOLE"))
_IMAGE: Final = packer("image", *Shape._fields)

STATE: Final = structure(_SOURCE, "State")
REPORT: Final = structure(_SOURCE, "Report")


class KeptResiduals:
    """``y`` and ``r`` of ranks, and the vertices that have taken back what they passed on.

    ``count``: vertex records. Content is undefined until kernels write it.
    """

    def __init__(self, device: Device, count: int) -> None:
        self.count = count
        #: int64[count] on the device.
        self.masses: Array = device.empty(count, np.int64)
        self.residuals: Array = device.empty(count, np.int64)
        #: ``State`` of ``pushed_ranks.cuh``, and its ``Report``, in memory of the host.
        self.state: Array = device.empty(words_of(STATE), np.uint64)
        self.report = device.page_locked(words_of(REPORT), np.int64)
        #: Entries of the longest row, at most.
        self.longest = 0
        #: uint32[count]: the newest batch that has listed each vertex; made for the first one.
        self._marks: Array | None = None
        #: uint64: how many vertices each of `_COUNTS` batches has listed.
        self._listed_counts: Array | None = None
        self._batch = 0
        #: uint32: vertices that the newest batch has listed, as many as there is room for.
        self._listed: Array | None = None
        self.room = 0

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        arrays = (
            self.masses, self.residuals, self.state, self._marks, self._listed_counts, self._listed
        )  # fmt: skip
        return sum(int(each.nbytes) for each in arrays if each is not None)

    def next_batch(self, device: Device, room: int, alpha: float) -> bytes:
        """``Sources`` of ``residual_repair.cu``, with room for so many vertices."""
        if self._marks is None:
            self._marks = device.xp.zeros(self.count, np.uint32)
        if self._batch % _COUNTS == 0:
            self._listed_counts = device.xp.zeros(_COUNTS, np.uint64)
        if self._listed is None or self._listed.size < room:
            self._listed = device.empty(2 * room, np.uint32)
        self._batch += 1
        self.room = room
        return self.listed + pack(
            address(self._marks), self._batch, address(self.state), address(self.masses),
            address(self.residuals), alpha,
        )  # fmt: skip

    @property
    def listed(self) -> bytes:
        """Addresses of the vertices that the newest batch has listed, and of their number."""
        return pack(
            address(self._listed), address(self._listed_counts) + 8 * ((self._batch - 1) % _COUNTS)
        )


def take_back(
    graph: UpdatableGraph,
    batch: UpdateBatch | DeviceBatch,
    residuals: KeptResiduals,
    alpha: float,
) -> tuple[DeviceBatch, bool]:
    """Have the vertices whose rows a batch may change take back what they have passed on.

    Returns
    -------
    batch
        In device memory, to be applied next.
    follows
        Whether residuals follow it; otherwise nothing was done.
    """
    if isinstance(batch, UpdateBatch):
        batch = upload(graph.staging, batch, dense=graph.kind.dense_ids)
    device, arena, data = graph.device, graph.arena, batch.data
    room = data["put_rows"].size + data["delete_rows"].size
    if not graph.directed:
        room += data["put_indices"].size + data["delete_indices"].size
    if (
        batch.dense != graph.kind.dense_ids
        or data["delete_vertices"].size
        or arena.layout.is_paged
        or residuals.count != graph.vertex_count
        or not 0 < room <= MOST_SHARE * arena.num_entries
        or residuals.longest > MOST_ENTRIES
    ):
        return batch, False
    # All may be of one row.
    residuals.longest += data["put_indices"].size
    arguments = image_of(graph, arena.shape("out")) + batch.lists + pack(
        address(data["put_row_count"]), address(data["delete_row_count"]), int(graph.directed)
    ) + residuals.next_batch(device, room, alpha)  # fmt: skip
    kernel = "take_back_of_indices"
    if not batch.dense:
        slots = arena.table(ImageTable.DICTIONARY)
        arguments += pack(
            address(slots), int(slots.size), address(arena.table(ImageTable.VERTEX_IDS))
        )
        kernel = "take_back_of_ids"
    device.launch_packed(_SOURCE, kernel, room, _TAKE_THREADS, arguments)
    return batch, True


def image_of(graph: UpdatableGraph, shape: Shape) -> bytes:
    """The image and the shape of its out-rows, as kernels take them."""
    return _IMAGE(address(graph.arena.image), *shape)


def pass_on(
    graph: UpdatableGraph,
    residuals: KeptResiduals,
    earlier: KeptRanks,
    alpha: float,
) -> None:
    """Have them begin and pass on again, in the graph after the batch, which is as large.

    ``earlier``: the ranks that the residuals were of.
    """
    device, arena, trials = graph.device, graph.arena, earlier.push_trials
    device.launch_packed(
        _SOURCE, "pass_on",
        min(residuals.room * _ROW_BLOCKS, _MOST_BLOCKS * device.multiprocessors), _THREADS,
        image_of(graph, arena.shape("out")) + residuals.listed + pack(alpha)
        + earlier_of(earlier, arena.num_entries, graph.num_vertices)
        + pack(
            trials.base, trials.mass, address(residuals.masses), address(residuals.residuals),
            address(residuals.state),
        ),
    )  # fmt: skip


def earlier_of(earlier: KeptRanks, entries: int, vertices: int) -> bytes:
    """``Earlier`` of ``pushed_ranks.cuh``, for a graph of this size."""
    trials, degrees = earlier.push_trials, earlier.degrees
    whole = float(trials.mass) or WHOLE
    now = trials.mean_field.for_graph(entries, vertices)
    if now.edge == 0 or degrees is None:
        degrees, now = None, MeanField(1.0 / vertices)
    return pack(
        address(earlier.ranks), int(earlier.ranks.size), whole, address(degrees),
        now.isolated * whole, now.edge * whole,
    )  # fmt: skip


def degrees_after(device: Device, image: bytes, residuals: KeptResiduals, degrees: Array) -> Array:
    """uint32[vertex_count]: degrees after the batch, of those before it."""
    found = degrees.copy()
    device.launch_packed(
        _SOURCE, "put_degrees", blocks_for(residuals.room, _THREADS), _THREADS,
        image + residuals.listed + pack(address(found)),
    )  # fmt: skip
    return found
