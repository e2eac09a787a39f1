"""Label propagation on the host: color by color, the vertices of a color on all threads.

A vertex counts the labels of its neighbors in an array of all labels, which it clears again. It is
only asked where a neighbor has changed since it was asked last: it would answer the same. Colors
of few vertices are gone through one after the other by one thread.

Not here: what labels mean (`algorithms/components/label_propagation.py`).
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from ....jit.compile import compiled
from ....jit.parallel import ranges_of, run_all
from ....rows import Rows
from .component_names import name_components
from .greedy_coloring import greedy_colors

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]


def communities(
    workspace: None, rows: Rows, order: Int64s, max_iter: int | None
) -> tuple[UInt32s, int]:
    """Position in ``order`` of the first vertex of each vertex' community, and sweeps that it took.

    Parameters
    ----------
    rows
        Of an undirected graph.
    order
        int64[n]: vertex indices in increasing order of users' ids.
    max_iter
        Sweeps at most, or None.

    Returns
    -------
    uint32[vertex_count]
        Of no meaning for absent vertices.
    int
        Sweeps that changed a label.
    """
    label = np.zeros(rows.count, np.uint32)
    label[order] = np.arange(order.size, dtype=np.uint32)
    color = greedy_colors(rows, order)
    members = order[np.argsort(color[order], kind="stable")]
    parts = _parts(np.bincount(color[order]))
    active = np.ones(rows.count, np.bool_)
    # What each thread counts in.
    counts = [np.zeros(rows.count, np.uint32) for _ in range(max(map(len, parts), default=0))]
    sweeps = 0
    while sweeps != max_iter:
        changed = 0
        for ranges in parts:
            changed += sum(
                run_all(
                    [
                        partial(relabel, low, high, rows.walked, members, label, active, count)
                        for (low, high), count in zip(ranges, counts, strict=False)
                    ]
                )
            )
        if not changed:
            break
        sweeps += 1
    return name_components(label, order), sweeps


def _parts(sizes: Int64s) -> list[list[tuple[int, int]]]:
    """Ranges of vertices by color that threads go through at once, in the order of the colors.

    Colors that one thread goes through anyway, side by side, are one range.
    """
    parts: list[list[tuple[int, int]]] = []
    first = 0
    for size in sizes.tolist():
        ranges = [(first + low, first + high) for low, high in ranges_of(size)]
        if len(ranges) == 1 and parts and len(parts[-1]) == 1:
            ranges = [(parts.pop()[0][0], first + size)]
        parts.append(ranges)
        first += size
    return parts


@compiled
def relabel(low, high, walked, members, label, active, counts):
    """Give ``members[low:high]`` the labels that most of their neighbors have; count changes.

    Parameters
    ----------
    members
        int64: vertices, those of one color side by side.
    active
        Whether a neighbor of each vertex has changed since it was asked.
    counts
        uint32[vertex_count], 0 before and after.
    """
    begin, degree, columns, step = walked
    changed = 0
    for at in range(low, high):
        vertex = members[at]
        if not active[vertex]:
            continue
        active[vertex] = False
        best, most = np.uint32(0), np.uint32(0)
        first, last = begin[vertex], begin[vertex] + np.int64(degree[vertex]) * step
        for position in range(first, last, step):
            neighbor_label = label[columns[position]]
            count = counts[neighbor_label] + np.uint32(1)
            counts[neighbor_label] = count
            if count > most or (count == most and neighbor_label > best):
                best, most = neighbor_label, count
        stays = counts[label[vertex]] == most
        for position in range(first, last, step):
            counts[label[columns[position]]] = 0
        if stays:
            continue
        label[vertex] = best
        changed += 1
        for position in range(first, last, step):
            active[columns[position]] = True
    return changed
