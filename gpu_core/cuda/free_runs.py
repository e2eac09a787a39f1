"""Free runs of pages on the device: handing them out, giving them back, merging buddies.

Kernels: ``kernels/free_runs.cu`` and ``ledger.cuh``, which tells the method, and ``buddies.cu``.
Host twin: `host/free_runs.py`, which says how the table lies; for the same table both hand out the
same runs.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ..host.free_runs import LEVELS
from ..image import CLASSES
from .batch_facts import PLAIN_KERNELS
from .batch_launches import (
    ALIGNMENT,
    GROUP_BLOCKS,
    SERVICE_WORDS,
    serving_words,
    taken_words_of,
    write_serving,
)
from .launches import empty_list
from .packed_arguments import address
from .scratch import DeviceScratch

if TYPE_CHECKING:
    from .arena import DeviceArena
    from .device import Array, Device

_BUDDIES = "buddies.cu"

#: As in the kernels: words of a group, threads of a block.
_GROUP_WORDS = 1024
_THREADS = 256

#: With more runs than this, the trees are searched by the whole device, all groups of them; with
#: fewer by one block a tree, which goes down to the runs.
FEW_RUNS = 1 << 14


class Service(NamedTuple):
    """Runs handed out for one batch, on the device; ``run_of_rank`` in free_runs.cuh reads it."""

    #: Address of int64[SERVICE_WORDS]: by class, four words: see ``free_runs.cuh``.
    service: int
    #: Address of uint32[taken_words]: first pages of the runs that do not come from the bump mark.
    taken: int
    taken_words: int


#: Nothing was handed out yet.
NOT_SERVED = Service(0, 0, 0)


def serve_bytes(most: int) -> int:
    """Bytes of scratch that `serve_demand` takes at most for ``most`` runs."""
    most = max(most, 1)
    return 8 * SERVICE_WORDS + 4 * serving_words(most, FEW_RUNS) + ALIGNMENT


def empty_turns(device: "Device") -> "Array":
    """What the blocks that search the trees tell one another, uint32[]: 0 between two launches."""
    turns = device.empty(1 + GROUP_BLOCKS * device.multiprocessors, np.uint32)
    turns.fill(0)
    return turns


def groups_of(level_words: npt.NDArray[np.int64]) -> int:
    """Groups of all trees, of level_words int64[CLASSES, LEVELS]."""
    return int((-(-level_words[:, 0] // _GROUP_WORDS)).sum())


def serve_demand(
    arena: "DeviceArena", need: int, most: int, vertex_count: int, scratch: DeviceScratch
) -> Service:
    """Take runs out of the arena by a demand that the host knows; nothing is read back.

    Parameters
    ----------
    need
        Address of int64[CLASSES] on the device: runs by class.
    most
        Bound of the runs in all.
    vertex_count
        Vertex records after the batch, not less than before: pages end where their table ends.
    scratch
        Has `serve_bytes` (``most``) left.

    Returns
    -------
    Service
        Valid where the batch's status is ``OK`` afterwards. It becomes ``NEEDS_HOST``, and nothing
        is taken, where the pages do not suffice or ``need`` exceeds ``most``; where it was not
        ``OK`` before, nothing is done.
    """
    most = max(most, 1)
    service = scratch.place(8 * SERVICE_WORDS + 4 * serving_words(most, FEW_RUNS))
    served = Service(service, service + 8 * SERVICE_WORDS, taken_words_of(most))
    device, lines = arena.device, empty_list()
    kernels = np.array([device.kernel(file, name) for file, name in PLAIN_KERNELS[:2]])
    write_serving(
        lines, kernels, arena.trees, arena.tree_groups, address(arena.turns),
        device.multiprocessors, FEW_RUNS, address(arena.image), address(arena.tree),
        address(arena.geometry), *served[:2], need, most, vertex_count,
    )  # fmt: skip
    device.run(lines)
    return served


def give_back_runs(
    arena: "DeviceArena", firsts: npt.NDArray[np.integer], classes: npt.NDArray[np.uint8]
) -> None:
    """Enter a few runs (first page, class), both arrays of the host; device header and counts."""
    if firsts.size:
        arena.device.launch(
            _BUDDIES, "give_back_runs", _blocks(firsts.size), _THREADS, arena.image,
            arena.tree, arena.geometry, arena.device.to_device(firsts.astype(np.uint32)),
            arena.device.to_device(classes), np.int64(firsts.size),
        )  # fmt: skip


def enter_rows_of_runs(
    arena: "DeviceArena", firsts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> None:
    """Enter ``counts[class]`` runs of each class, adjacent from page ``firsts[class]`` on.

    The table's counts become ``counts``: the trees were empty.
    """
    device = arena.device
    on_device = device.to_device(counts)
    device.launch(
        _BUDDIES, "enter_rows_of_runs", _blocks(int(counts.max())), _THREADS, arena.tree,
        arena.geometry, device.to_device(firsts), on_device,
    )  # fmt: skip
    arena.tree[: 2 * CLASSES] = on_device.view(np.uint32)


def merge_buddies(arena: "DeviceArena") -> None:
    """Join free buddies, class by class from the smallest, as often as they meet."""
    launch, words = arena.device.launch, arena.level_words
    for size_class in range(CLASSES - 1):
        launch(
            _BUDDIES, "join_buddies", -(-int(words[size_class + 1, 0]) // _THREADS),
            _THREADS, arena.tree, arena.geometry, np.int32(size_class),
        )  # fmt: skip
    for level in range(1, LEVELS):
        launch(
            _BUDDIES, "raise_level", _blocks(32 * int(words[:, level].max())), _THREADS,
            arena.tree, arena.geometry, np.int32(level),
        )  # fmt: skip


def lower_bump(arena: "DeviceArena") -> None:
    """Give free runs that end at the bump mark back to the unused pages; device header."""
    arena.device.launch(_BUDDIES, "lower_bump", 1, 1, arena.image, arena.tree, arena.geometry)


def _blocks(threads: int) -> int:
    """Blocks for so many threads, where more than that take turns."""
    return min(-(-threads // _THREADS), 4096)
