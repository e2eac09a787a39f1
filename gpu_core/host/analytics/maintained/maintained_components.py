"""Host twin of maintained components: levels that are searched, checked and repaired.

Whether the ends of removed edges still have a lower neighbor is looked up by all threads. What is
left over, a few vertices as a rule, is repaired by one thread, through queues. From nothing, the
component of a hub is searched as by `bfs.distances`; what that has not reached is repaired
likewise.

Kernels read both directions of a directed graph, as ``walks``: a tuple with `Rows.walked` of each.

Not here: what levels prove, and when to repair them
(`algorithms/maintained/maintained_components.py`).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.maintained_components import Forest
from ....jit.compile import compiled, inlined
from ....jit.parallel import for_ranges
from ....rows import Adjacencies, Rows
from ..components.component_names import name_components
from ..traversal.bfs import distances

UInt32s = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]

#: Entries that a search reads in the time in which a changed edge is looked after, and in which one
#: is read to repair levels: measured by ``graphtide bench maintained``.
ENTRIES_AN_EDGE = 150
ENTRIES_A_READ = 4
#: A search takes up to twice as long as a recount: so little that the first question may have it.
RECOUNTS_A_SEARCH = 0
#: A repair pays however small the graph is.
FEWEST_ENTRIES = 0

#: What is known of a vertex: its level is proven; it is in the queue of those to be looked at; it
#: has no lower neighbor that is proven.
_PROVEN, _QUEUED, _UNPROVEN = np.uint8(0), np.uint8(1), np.uint8(2)
#: Levels above this are not given: they would not fit.
_HIGHEST = np.uint32(0xFFFFFFF0)
#: As what `distances` says of vertices that it has not reached.
_NO_LEVEL = np.uint32(0xFFFFFFFF)
#: More entries than are ever read.
_UNLIMITED = np.int64(1 << 62)


def search(workspace: None, adjacencies: Adjacencies) -> Forest:
    """Components of a graph, from nothing."""
    degree, count = adjacencies.out.degree, adjacencies.out.count
    if not count:
        return Forest(*(np.empty(0, np.uint32) for _ in range(3)))
    # From a hub there are few levels, and it is the last to lose all its edges.
    first = np.argmax(degree).astype(np.uint32)
    level = distances(workspace, adjacencies, np.array([first])).view(np.uint32)
    # All others begin as of the same component, and climb or are parted from it.
    unproven = np.flatnonzero(level == _NO_LEVEL).astype(np.uint32)
    known = np.full(count, _PROVEN)
    known[unproven] = _UNPROVEN
    root, size = np.full(count, first, np.uint32), np.zeros(count, np.uint32)
    size[first] = count
    given = _walks(adjacencies), unproven, root, level
    climb(*given, known, _UNLIMITED)
    part(*given, size, known, _UNLIMITED)
    return Forest(root, level, size)


def repair(
    workspace: None, adjacencies: Adjacencies, forest: Forest, removed: Keys | None,
    added: Keys | None, most: int | None,
) -> bool:  # fmt: skip
    """As of `ComponentsTwin`; what is left over is repaired by one thread."""
    walks = _walks(adjacencies)
    limit = _UNLIMITED if most is None else np.int64(most)
    if removed is not None:
        known = np.zeros(forest.root.size, np.uint8)
        higher = np.empty(min(removed.size, known.size), np.uint32)
        count = list_higher(removed, forest.level, known, higher)
        is_lost = np.empty(count, np.bool_)
        for_ranges(look_below, count, walks, higher, forest.root, forest.level, is_lost)
        known[higher[:count]] = _PROVEN
        lost = higher[:count][is_lost]
        if lost.size and not repair_levels(walks, lost, *forest, known, limit):
            return False
    return added is None or bool(join(walks, added, *forest, limit))


def resized(workspace: None, forest: Forest, count: int) -> Forest:
    """Copy a forest, with a component of its own for each vertex that there was not."""
    before = forest.root.size
    kept = [np.empty(count, np.uint32) for _ in forest]
    for copied, items in zip(kept, forest, strict=True):
        copied[:before] = items
    root, level, size = kept
    root[before:], level[before:], size[before:] = np.arange(before, count), 0, 1
    return Forest(root, level, size)


def roots_of(workspace: None, forest: Forest, count: int) -> UInt32s:
    """uint32[count]: a copy of the roots."""
    root: UInt32s = resized(workspace, forest, count).root
    return root


def first_members(workspace: None, roots: UInt32s, order: npt.NDArray[np.int64]) -> UInt32s:
    """As `weakly_connected_components.first_members`, of roots, which are overwritten."""
    return name_components(roots, order)


def all_of(workspace: None, rows: Rows) -> npt.NDArray[np.int64]:
    """Order of all indices, absent ones too."""
    return np.arange(rows.count)


def audit_arrays(
    workspace: None, adjacencies: Adjacencies, forest: Forest
) -> dict[str, npt.NDArray[Any]]:
    """Arrays that an audit compares, by vertex index."""
    unproven = np.empty(forest.root.size, np.bool_)
    every = np.arange(forest.root.size, dtype=np.uint32)
    for_ranges(
        look_below, every.size, _walks(adjacencies), every, forest.root, forest.level, unproven
    )
    unproven[(forest.level == 0) & (forest.root == every)] = False
    return {
        "first_index": name_components(forest.root.copy(), every.astype(np.int64)),
        "unproven": unproven.astype(np.uint8),
        "size": np.where(forest.level == 0, forest.size, 0)[forest.root],
    }


def to_host(workspace: None, items: UInt32s) -> UInt32s:
    """uint32[vertex_count]: a copy for a checkpoint."""
    return items.copy()


def from_host(workspace: None, root: UInt32s, level: UInt32s) -> Forest:
    """A forest of a checkpoint as it is kept here."""
    root, level = np.array(root, np.uint32), np.array(level, np.uint32)
    return Forest(root, level, np.bincount(root, minlength=root.size).astype(np.uint32))


def _walks(adjacencies: Adjacencies) -> tuple[Any, ...]:
    if not adjacencies.directed:
        return (adjacencies.out.walked,)
    assert adjacencies.into is not None
    return adjacencies.out.walked, adjacencies.into.walked


@compiled
def list_higher(removed, level, known, higher):
    """List the ends of removed edges that are above the other one, each once, as `_QUEUED`."""
    count = 0
    for key in removed:
        one, other = np.uint32(key >> np.uint64(32)), np.uint32(key & np.uint64(0xFFFFFFFF))
        if one == other:
            continue
        vertex = one if is_below(other, one, level) else other
        if known[vertex] == _PROVEN:
            known[vertex] = _QUEUED
            higher[count] = vertex
            count += 1
    return count


@inlined
def is_below(one, other, level):
    """Whether a vertex comes before another one, by level and index."""
    return level[one] < level[other] or (level[one] == level[other] and one < other)


@compiled
def look_below(low, high, walks, vertices, root, level, is_lost):
    """Return for each of ``vertices[low:high]`` whether it lacks a lower neighbor."""
    nothing = np.empty(0, np.uint8)
    for i in range(low, high):
        found, _ = is_held(walks, vertices[i], root, level, nothing)
        is_lost[i] = not found


@inlined
def is_held(walks, vertex, root, level, known):
    """Whether a vertex has a lower neighbor that is not unproven, and the entries read for that.

    ``known`` of no items: all are proven.
    """
    read = 0
    found = False
    own = root[vertex]
    for begin, degree, columns, step in walks:
        position = begin[vertex]
        for _ in range(degree[vertex]):
            neighbor = columns[position]
            position += step
            read += 1
            if is_below(neighbor, vertex, level) and root[neighbor] == own:
                if known.size == 0 or known[neighbor] != _UNPROVEN:
                    found = True
                    break
        if found:
            break
    return found, read


@compiled
def repair_levels(walks, lost, root, level, size, known, most):
    """Give levels to vertices without a lower neighbor, and roots to those that were cut off.

    Parameters
    ----------
    lost
        Different vertices that have no lower neighbor.
    known
        uint8[vertex_count], all `_PROVEN`; scratch.
    most
        Entries that may be read.

    Returns
    -------
    bool
        False: more would have to be read, or a level would not fit; the forest is of no use.
    """
    unproven = find_unproven(walks, lost, root, level, known, most)
    if unproven.size == 0:
        return False
    read, is_whole = climb(walks, unproven, root, level, known, most)
    if not is_whole:
        return False
    return part(walks, unproven, root, level, size, known, most - read)


@compiled
def find_unproven(walks, lost, root, level, known, most):
    """Vertices that only unproven ones are below of, ``lost`` among them; none: broken off."""
    # A ring: a vertex is in it once at a time.
    queue = np.empty(root.size, np.uint32)
    unproven = np.empty(root.size, np.uint32)
    count, at, waiting, read = 0, 0, 0, np.int64(0)
    for vertex in lost:
        known[vertex] = _QUEUED
        queue[waiting] = vertex
        waiting += 1
    while waiting > 0:
        if read > most:
            return unproven[:0]
        vertex = queue[at]
        at += 1
        if at == queue.size:
            at = 0
        waiting -= 1
        known[vertex] = _PROVEN
        held, entries = is_held(walks, vertex, root, level, known)
        read += entries
        if held:
            continue
        known[vertex] = _UNPROVEN
        unproven[count] = vertex
        count += 1
        for begin, degree, columns, step in walks:
            position = begin[vertex]
            read += np.int64(degree[vertex])
            for _ in range(degree[vertex]):
                neighbor = columns[position]
                position += step
                if known[neighbor] == _PROVEN and is_below(vertex, neighbor, level):
                    if root[neighbor] == root[vertex]:
                        known[neighbor] = _QUEUED
                        queue[(at + waiting) % queue.size] = neighbor
                        waiting += 1
    return unproven[:count]


@compiled
def climb(walks, unproven, root, level, known, most):
    """Give levels to the vertices that proven ones of their component reach.

    Returns
    -------
    read, is_whole
        The entries that were read; False: too many, or a level would not fit.
    """
    queue = np.empty(unproven.size, np.uint32)
    end, read = 0, np.int64(0)
    for vertex in unproven:
        lowest = _NO_LEVEL
        for begin, degree, columns, step in walks:
            position = begin[vertex]
            read += np.int64(degree[vertex])
            for _ in range(degree[vertex]):
                neighbor = columns[position]
                position += step
                if known[neighbor] == _PROVEN and root[neighbor] == root[vertex]:
                    lowest = min(lowest, level[neighbor])
        if read > most or (lowest != _NO_LEVEL and lowest > _HIGHEST):
            return read, False
        if lowest != _NO_LEVEL:
            known[vertex] = _PROVEN
            level[vertex] = lowest + np.uint32(1)
            queue[end] = vertex
            end += 1
    at = 0
    while at < end:
        vertex = queue[at]
        at += 1
        if level[vertex] > _HIGHEST or read > most:
            return read, False
        for begin, degree, columns, step in walks:
            position = begin[vertex]
            read += np.int64(degree[vertex])
            for _ in range(degree[vertex]):
                neighbor = columns[position]
                position += step
                if known[neighbor] == _UNPROVEN and root[neighbor] == root[vertex]:
                    known[neighbor] = _PROVEN
                    level[neighbor] = level[vertex] + np.uint32(1)
                    queue[end] = neighbor
                    end += 1
    return read, True


@compiled
def part(walks, unproven, root, level, size, known, most):
    """Make components of the vertices that are still unproven; returns whether that was done."""
    queue = np.empty(unproven.size, np.uint32)
    read = np.int64(0)
    for start in unproven:
        if known[start] != _UNPROVEN:
            continue
        before = root[start]
        known[start] = _PROVEN
        root[start], level[start] = start, 0
        queue[0], end, at = start, 1, 0
        while at < end:
            vertex = queue[at]
            at += 1
            for begin, degree, columns, step in walks:
                position = begin[vertex]
                read += np.int64(degree[vertex])
                for _ in range(degree[vertex]):
                    neighbor = columns[position]
                    position += step
                    if known[neighbor] == _UNPROVEN and root[neighbor] == before:
                        known[neighbor] = _PROVEN
                        root[neighbor] = start
                        level[neighbor] = level[vertex] + np.uint32(1)
                        queue[end] = neighbor
                        end += 1
            if read > most:
                return False
        size[start] = end
        size[before] -= np.uint32(end)
    return True


@compiled
def join(walks, added, root, level, size, most):
    """Join the components of added edges; False: broken off, or a level would not fit."""
    queue = np.empty(root.size, np.uint32)
    read = np.int64(0)
    for key in added:
        base, start = np.uint32(key >> np.uint64(32)), np.uint32(key & np.uint64(0xFFFFFFFF))
        if root[base] == root[start]:
            continue
        if size[root[base]] < size[root[start]]:
            base, start = start, base
        joined, before = root[base], root[start]
        if level[base] > _HIGHEST:
            return False
        root[start], level[start] = joined, level[base] + np.uint32(1)
        queue[0], end, at = start, 1, 0
        while at < end:
            vertex = queue[at]
            at += 1
            if read > most or level[vertex] > _HIGHEST:
                return False
            for begin, degree, columns, step in walks:
                position = begin[vertex]
                read += np.int64(degree[vertex])
                for _ in range(degree[vertex]):
                    neighbor = columns[position]
                    position += step
                    if root[neighbor] == before:
                        root[neighbor], level[neighbor] = joined, level[vertex] + np.uint32(1)
                        queue[end] = neighbor
                        end += 1
        size[joined] += size[before]
    return True
