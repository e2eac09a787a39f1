"""Maintained components in CUDA: levels that prove connectivity, searched, checked and repaired.

All ends of removed edges are looked at at once. What has lost its level, what is given one, and
what is joined go through queues, level by level; components are joined as by Afforest, but that the
larger one stays. All of it is a list of launches, which the host starts without looking: a launch
that finds nothing to do, or has to wait for a loop before it, ends at once. Then the host looks
once, and starts what is left again. Kernels: ``maintained_components.cu``.

From nothing, the component of a hub is searched as by `bfs.distances`; what that has not reached is
repaired likewise. Rows are read where they are (`rows.Rows`).

Host twin: `host/analytics/maintained/maintained_components.py`. Not here: what levels prove, and
when to repair them (`algorithms/maintained/maintained_components.py`).
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.maintained_components import Forest
from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.scratch import Scratch
from ...memory.workspace import Workspace
from ..components.component_names import NAME_BYTES, name_components
from ..parts.compact_rows import bytes_of, zeros
from ..parts.frontier import SMALL_THREADS, Launch, blocks_of, queue_items, small_level
from ..parts.row_arguments import fields
from ..traversal.bfs import distances

_SOURCE: Final = "maintained_components.cu"

#: As of the host twin; entries are queued here, each of which is read up to three times.
ENTRIES_AN_EDGE = 20
ENTRIES_A_READ = 8
#: Recounts in the time of a search of few levels; one of thousands takes longer.
RECOUNTS_A_SEARCH = 3
#: On an H200 repairs of an R-MAT graph of 2^27 entries took 0.85 to 1.33 of a recount, which grows
#: with the graph; those of a grid of 2^24 entries, level by level, 0.8 to 8 ms, where a recount
#: takes 0.4. From here on a recount should take longer.
FEWEST_ENTRIES = 1 << 28

_LOST, _JOINED = (np.uint32(constant(_SOURCE, name)) for name in ("LOST", "JOINED"))
_STATE: Final = structure(_SOURCE, "State")
_GRAPH: Final = structure(_SOURCE, "Graph")

#: More entries than are ever read.
_UNLIMITED: Final = (1 << 64) - 1
#: How often a loop is started before the host looks, at most.
_MOST_GROUPS: Final = 16


def search(workspace: Workspace, adjacencies: Adjacencies) -> Forest:
    """Components of a graph, from nothing; waits for the device."""
    device, degree, count = workspace.device, adjacencies.out.degree, adjacencies.out.count
    if not count:
        return Forest(*(device.empty(0, np.uint32) for _ in range(3)))
    # From a hub there are few levels, and it is the last to lose all its edges.
    hub = device.xp.asarray(degree.argmax()).reshape(1)
    first = device.read_words(hub).astype(np.uint32)
    level = distances(workspace, adjacencies, first).view(np.uint32)
    # All others begin as of the same component, and climb or are parted from it.
    root, size = device.empty(count, np.uint32), device.empty(count, np.uint32)
    root.fill(first[0])
    size.fill(0)
    size[int(first[0])] = count
    forest = Forest(root, level, size)
    with workspace.scratch(_repair_bytes(adjacencies)) as scratch:
        repairing = _Repair(device, scratch, adjacencies, forest, _UNLIMITED)
        found = repairing.launch("list_unproven", blocks_for(count), first[0])
        repairing.run([repairing.climbing([found]), repairing.joining(None, is_cut=True)])
    return forest


def repair(
    workspace: Workspace, adjacencies: Adjacencies, forest: Forest, removed: Array | None,
    added: Array | None, most: int | None,
) -> bool:  # fmt: skip
    """As of the host twin; ``most`` is of the entries that may be queued. Waits for the device."""
    with workspace.scratch(_repair_bytes(adjacencies)) as scratch:
        limit = _UNLIMITED if most is None else most
        repairing = _Repair(workspace.device, scratch, adjacencies, forest, limit)
        steps = []
        if removed is not None:
            steps = [repairing.losing(removed), repairing.climbing([])]
        return repairing.run([*steps, repairing.joining(added, is_cut=removed is not None)])


def resized(workspace: Workspace, forest: Forest, count: int) -> Forest:
    """Copy a forest, with a component of its own for each vertex that there was not."""
    device, before = workspace.device, int(forest.root.size)
    kept = [device.empty(count, np.uint32) for _ in forest]
    for copied, items in zip(kept, forest, strict=True):
        copied[:before] = items
    root, level, size = kept
    if count > before:
        root[before:] = device.xp.arange(before, count, dtype=np.uint32)
        level[before:], size[before:] = 0, 1
    return Forest(root, level, size)


def roots_of(workspace: Workspace, forest: Forest, count: int) -> Array:
    """uint32[count]: a copy of the roots."""
    if forest.root.size == count:
        return forest.root.copy()
    return resized(workspace, forest, count).root


def first_members(workspace: Workspace, roots: Array, order: Array | None) -> Array:
    """As `weakly_connected_components.first_members`, of roots, which are overwritten."""
    vertices = int(roots.size if order is None else order.size)
    with workspace.scratch(NAME_BYTES * int(roots.size)) as scratch:
        name_components(workspace.device, scratch, order, vertices, roots)
    return roots


def all_of(workspace: Workspace, rows: Rows) -> Array:
    """Order of all indices, absent ones too."""
    return workspace.device.xp.arange(rows.count, dtype=np.uint32)


def audit_arrays(
    workspace: Workspace, adjacencies: Adjacencies, forest: Forest
) -> dict[str, npt.NDArray[Any]]:
    """Arrays that an audit compares, by vertex index."""
    device, count = workspace.device, int(forest.root.size)
    unproven = device.empty(count, np.uint8)
    with workspace.scratch(_repair_bytes(adjacencies)) as scratch:
        repairing = _Repair(device, scratch, adjacencies, forest, 0)
        device.launch(*repairing.launch("mark_unproven", blocks_for(count), unproven))
    sizes = device.xp.where(forest.level == 0, forest.size, 0)[forest.root]
    first = first_members(workspace, forest.root.copy(), all_of(workspace, adjacencies.out))
    named = {"first_index": first, "unproven": unproven, "size": sizes}
    return {name: to_host(workspace, items) for name, items in named.items()}


def to_host(workspace: Workspace, items: Array) -> npt.NDArray[Any]:
    """Copy items for a checkpoint."""
    return workspace.device.to_host(items).copy()


def from_host(
    workspace: Workspace, root: npt.NDArray[np.uint32], level: npt.NDArray[np.uint32]
) -> Forest:
    """A forest of a checkpoint as it is kept here."""
    kept = root, level, np.bincount(root, minlength=root.size)
    return Forest(*(workspace.device.to_device(np.array(each, np.uint32)) for each in kept))


class _Step(NamedTuple):
    """Launches, and a loop after them that goes on until its queue has nothing left to do."""

    launches: list[Launch]
    #: Name of the loop's kernels, less their ending, and number of its queue.
    loop: str
    queue: np.uint32


def _items(adjacencies: Adjacencies) -> int:
    """Items that a queue has for each direction."""
    return max(
        queue_items(rows) for rows in (adjacencies.out, adjacencies.into) if rows is not None
    )


def _repair_bytes(adjacencies: Adjacencies) -> int:
    """Bytes of scratch that `_Repair` takes."""
    words = words_of(_STATE)
    return bytes_of(
        (4 * _items(adjacencies) + words, np.uint64), (adjacencies.out.count, np.uint32)
    )


class _Repair:
    """Repairs a forest, which is written. All arrays beside it are scratch of the caller."""

    def __init__(
        self, device: Device, scratch: Scratch, adjacencies: Adjacencies, forest: Forest, most: int
    ) -> None:
        assert adjacencies.into is not None
        self._device, count, items = device, adjacencies.out.count, _items(adjacencies)
        self._state = zeros(scratch, words_of(_STATE), np.uint64)
        self._held = scratch.take(4 * items, np.uint64), scratch.take(count, np.uint32), adjacencies
        queues, was, _ = self._held
        rows = fields(adjacencies.out), fields(adjacencies.into)
        arrays = (address(each) for each in (self._state, queues, *forest, was))
        self._graph = np.array(
            (*rows, 1 + adjacencies.directed, count, items, most, *arrays), dtype=_GRAPH
        )
        self._blocks = blocks_of(device)

    def launch(self, kernel: str, blocks: int, *arguments: object) -> Launch:
        """Arguments of `Device.launch`."""
        return _SOURCE, kernel, blocks, THREADS, self._graph, *arguments

    def losing(self, removed: Array) -> _Step:
        """Find what is unproven without these edges."""
        return _Step([self._by_edge("list_lost", removed)], "spread", _LOST)

    def climbing(self, launches: list[Launch]) -> _Step:
        """Give levels to what is unproven, and reached by what is proven."""
        launches = [*launches, self.launch("begin_to_climb", self._blocks, _LOST)]
        return _Step(launches, "climb", _LOST + np.uint32(1))

    def joining(self, added: Array | None, *, is_cut: bool) -> _Step:
        """Join components by added edges, and what was cut off by all edges."""
        launches = []
        if is_cut:
            launches = [self.launch(name, self._blocks) for name in ("separate_cut", "hook_cut")]
        if added is not None:
            launches.append(self._by_edge("hook_added", added))
        launches.append(self.launch("list_joined", blocks_for(int(self._graph["count"]))))
        launches.append(self.launch("begin_to_climb", self._blocks, _JOINED))
        return _Step(launches, "climb", _JOINED + np.uint32(1))

    def _by_edge(self, kernel: str, keys: Array) -> Launch:
        return self.launch(kernel, blocks_for(keys.size), keys, np.uint64(keys.size))

    def run(self, steps: list[_Step]) -> bool:
        """Take steps; returns whether that is done, rather than broken off."""
        left, is_begun, groups = steps, False, 1
        while left:
            for step in left:
                # Those of a step that has begun are done.
                for launch in step.launches if not (is_begun and step is left[0]) else ():
                    self._device.launch(*launch)
                for _ in range(groups):
                    self._start(step)
            state = self._device.read_words(self._state).view(_STATE)[0]
            if state["broken"]:
                return False
            heavy = state["queues"]["heavy"]
            # Those after one that has more to do have ended at once.
            unfinished = [n for n, step in enumerate(left) if heavy[step.queue]]
            left = left[unfinished[0] :] if unfinished else []
            is_begun, groups = True, min(2 * groups, _MOST_GROUPS)
        return True

    def _start(self, step: _Step) -> None:
        device, given = self._device, (self._graph, step.queue)
        device.launch(
            _SOURCE, f"{step.loop}_small", device.meeting_blocks, SMALL_THREADS, *given,
            small_level(device),
        )  # fmt: skip
        device.launch(_SOURCE, f"{step.loop}_large", self._blocks, THREADS, *given)
