"""Free runs of pages on the device: allocate, free, merge buddies.

Kernels: ``free_runs.cu`` and ``ledger.cuh``, which describes the method, and ``buddies.cu``.
Host twin: `image/free_runs.py`, which describes the table; from the same table both allocate the
same runs.
"""

from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...image.fields import CLASSES
from ...image.free_runs import LEVELS
from ...jit.compile import compiled
from ..device.device import Array, Device
from ..device.launches import begin_launch, end_launch, put_words
from ..device.packed_arguments import address
from ..grid import THREADS, blocks_for
from ..structs import ALLOCATION_WORDS, BLOCK, GROUP_WORDS, MOST_CUTS
from .scratch import ALIGNMENT, DeviceScratch

_BUDDIES = "buddies.cu"

#: Kernels that allocate runs, as compiled code takes their handles.
KERNELS: Final = (("free_runs.cu", "allocate_demand"), ("free_runs.cu", "allocate_groups"))
_ALLOCATE_DEMAND, _ALLOCATE_GROUPS = range(2)
#: Blocks a multiprocessor of the one that takes groups of free runs, at most.
ALLOCATING_BLOCKS: Final = 4
_MOST_CUTS: Final = MOST_CUTS

#: With more runs than this, the trees are searched by the whole device, all groups of them; with
#: fewer by one block a tree, which goes down to the runs.
FEW_RUNS = 1 << 14


class RunArea(Protocol):
    """Free runs of an arena: arrays on its device, and sizes of the free-run table."""

    @property
    def device(self) -> Device:
        """Device of its arrays."""

    image: Any
    tree: Any
    geometry: Any
    block_numbers: Any
    trees: int
    tree_groups: int
    level_words: npt.NDArray[np.int64]


class Allocation(NamedTuple):
    """Runs allocated for one batch, on the device; ``run_of_rank`` in free_runs.cuh reads it."""

    #: Address of int64[ALLOCATION_WORDS]: by class, four words: see ``free_runs.cuh``.
    allocation: int
    #: Address of uint32[taken_words]: first pages of the runs that do not come from the bump mark.
    taken: int
    taken_words: int


class DeviceAllocatedRuns:
    """Runs allocated where the host decided: some for tables, the others for rows."""

    def __init__(
        self, device: Device, allocated: Allocation, scratch: DeviceScratch, queued: Any
    ) -> None:
        self._device = device
        #: uint32, on the device: pages that came from the page queue.
        self.queued = queued
        #: For kernels: what `runs` has not allocated.
        self.allocated = allocated
        self._listed = scratch.array_at(allocated.taken, allocated.taken_words, np.uint32)
        #: int64[4 * CLASSES], on the device: of it, what changes (``run_of_rank``, free_runs.cuh).
        self.allocation = scratch.array_at(allocated.allocation, 4 * CLASSES, np.int64)
        self._lines = device.to_host(self.allocation).reshape(CLASSES, 4)

    def runs(self, size_class: int, count: int) -> npt.NDArray[np.int64]:
        """First pages of the next ``count`` runs of a class, in host memory."""
        line = self._lines[size_class]
        own, first, bump, need = (int(x) for x in line)
        listed = min(own, count)
        pages = self._device.to_host(self._listed[first : first + listed]).astype(np.int64)
        fresh = bump + (np.arange(count - listed) << size_class)
        line[:] = own - listed, first + listed, bump + (count - listed << size_class), need - count
        self.allocation[:] = self._device.to_device(self._lines.ravel())
        return np.concatenate([pages, fresh])


class RunTrees(NamedTuple):
    """The trees of free runs as launches name them: addresses, and what decides on their sizes."""

    image: int
    tree: int
    geometry: int
    #: Classes that have a tree, and groups of words that the trees are searched by.
    trees: int
    tree_groups: int
    #: Address of what the blocks that search them publish to one another.
    block_numbers: int
    multiprocessors: int
    #: With more runs than this the whole device searches, see `FEW_RUNS`.
    few_runs: int


@compiled
def taken_words_of(most):
    """Words of ``taken``: runs for commit, then runs that are cut.

    A cut run gives two pieces, but for the last one of each cut.
    """
    return most + min(most, most // 2 + _MOST_CUTS)


@compiled
def allocation_words(most, few_runs):
    """Words of ``taken``, and of the two lists of few runs after it."""
    return taken_words_of(most) + (2 * most if most <= few_runs else 0)


@compiled
def write_allocation(launches, kernels, runs, allocation, taken, need, most, vertex_count):
    """Write the launch that takes runs out of the arena; arguments as of `free_runs.cu`.

    ``kernels`` begin with the handles of `KERNELS`; ``runs`` is `RunTrees`.
    """
    common = runs.image, runs.tree, runs.geometry, allocation, taken
    demand = need, most, vertex_count
    if most <= runs.few_runs:
        position = begin_launch(launches, kernels[_ALLOCATE_DEMAND], runs.trees, BLOCK)
        lists = taken + 4 * taken_words_of(most)
        end_launch(launches, put_words(launches, position, (*common, lists, *demand)))
    else:
        blocks = min(runs.tree_groups, ALLOCATING_BLOCKS * runs.multiprocessors)
        position = begin_launch(launches, kernels[_ALLOCATE_GROUPS], blocks, BLOCK)
        end_launch(launches, put_words(launches, position, (*common, *demand, runs.block_numbers)))


def allocate_bytes(most: int) -> int:
    """Bytes of scratch that `allocate_demand` takes at most for ``most`` runs."""
    most = max(most, 1)
    return 8 * ALLOCATION_WORDS + 4 * allocation_words(most, FEW_RUNS) + ALIGNMENT


def empty_block_numbers(device: "Device") -> "Array":
    """Words that blocks publish to one another, uint32[]: 0 between two launches."""
    block_numbers = device.empty(1 + ALLOCATING_BLOCKS * device.multiprocessors, np.uint32)
    block_numbers.fill(0)
    return block_numbers


def groups_of(level_words: npt.NDArray[np.int64]) -> int:
    """Groups of all trees, of level_words int64[CLASSES, LEVELS]."""
    return int((-(-level_words[:, 0] // GROUP_WORDS)).sum())


def allocate_demand(
    arena: RunArea, need: int, most: int, vertex_count: int, scratch: DeviceScratch
) -> Allocation:
    """Take runs out of the arena by a demand that is on the device; nothing is read back.

    The launch is started, not waited for.

    Parameters
    ----------
    need
        Address of int64[CLASSES] on the device: runs by class.
    most
        Bound of the runs in all.
    vertex_count
        Vertex records after the batch, not less than before: pages end where their table ends.
    scratch
        Has `allocate_bytes` (``most``) left.

    Returns
    -------
    Allocation
        Valid where the batch's status is ``OK`` afterwards. It becomes ``NEEDS_HOST``, and nothing
        is taken, where the pages do not suffice or ``need`` exceeds ``most``; where it was not
        ``OK`` before, nothing is done.
    """
    most = max(most, 1)
    allocation = scratch.reserve(8 * ALLOCATION_WORDS + 4 * allocation_words(most, FEW_RUNS))
    allocated = Allocation(allocation, allocation + 8 * ALLOCATION_WORDS, taken_words_of(most))
    device = arena.device
    launches = device.launch_list()
    launches[0] = 0
    kernels = np.array([device.kernel(file, name) for file, name in KERNELS])
    runs = RunTrees(
        address(arena.image), address(arena.tree), address(arena.geometry), arena.trees,
        arena.tree_groups, address(arena.block_numbers), device.multiprocessors, FEW_RUNS,
    )  # fmt: skip
    write_allocation(launches, kernels, runs, *allocated[:2], need, most, vertex_count)
    device.start(launches)
    return allocated


def give_back_runs(
    arena: RunArea, firsts: npt.NDArray[np.integer], classes: npt.NDArray[np.uint8]
) -> None:
    """Enter a few runs (first page, class), both arrays of the host; device header and counts."""
    if firsts.size:
        arena.device.launch(
            _BUDDIES, "give_back_runs", _blocks(firsts.size), THREADS, arena.image,
            arena.tree, arena.geometry, arena.device.to_device(firsts.astype(np.uint32)),
            arena.device.to_device(classes), np.int64(firsts.size),
        )  # fmt: skip


def enter_rows_of_runs(
    arena: RunArea, firsts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> None:
    """Enter ``counts[class]`` runs of each class, adjacent from page ``firsts[class]`` on.

    The table's counts become ``counts``: the trees were empty.
    """
    device = arena.device
    on_device = device.to_device(counts)
    device.launch(
        _BUDDIES, "enter_rows_of_runs", _blocks(int(counts.max())), THREADS, arena.tree,
        arena.geometry, device.to_device(firsts), on_device,
    )  # fmt: skip
    arena.tree[: 2 * CLASSES] = on_device.view(np.uint32)


def merge_buddies(arena: RunArea) -> None:
    """Join free buddies, class by class from the smallest, as often as they meet."""
    launch, words = arena.device.launch, arena.level_words
    for size_class in range(CLASSES - 1):
        launch(
            _BUDDIES, "join_buddies", -(-int(words[size_class + 1, 0]) // THREADS),
            THREADS, arena.tree, arena.geometry, np.int32(size_class),
        )  # fmt: skip
    for level in range(1, LEVELS):
        launch(
            _BUDDIES, "raise_level", _blocks(32 * int(words[:, level].max())), THREADS,
            arena.tree, arena.geometry, np.int32(level),
        )  # fmt: skip


def lower_bump(arena: RunArea) -> None:
    """Give free runs that end at the bump mark back to the unused pages; device header."""
    arena.device.launch(_BUDDIES, "lower_bump", 1, 1, arena.image, arena.tree, arena.geometry)


def _blocks(threads: int) -> int:
    """Blocks for ``threads`` threads, where more than that loop."""
    return min(blocks_for(threads), 4096)
