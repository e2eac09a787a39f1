"""Compiled steps of Watts' alpha model (`watts_alpha.py`): one choice after the other."""

import numpy as np

from ..jit.compile import compiled, inlined
from ..jit.random_words import below, numbered_word, unit_float

#: Class of a vertex that cannot be chosen.
_NONE = np.uint32(0xFFFFFFFF)


@inlined
def drawn_class(start, choice, sizes, propensity):
    """Draw the number of common neighbors; -1 where there is no vertex to choose."""
    total = 0.0
    for common in range(sizes.size):
        total += sizes[common] * propensity[common]
    if total == 0.0:
        return -1
    draw = unit_float(numbered_word(start, 2 * choice)) * total
    upto, last = 0.0, -1
    for common in range(sizes.size):
        if sizes[common] > 0:
            upto += sizes[common] * propensity[common]
            last = common
            if draw < upto:
                break
    return last


@inlined
def drawn_rank(start, choice, size):
    """Draw uniformly from 0 to ``size - 1``."""
    return below(numbered_word(start, 2 * choice + 1), size)


@inlined
def add_neighbor(vertex, other, graph):
    """Append to a row, which moves to twice the room where it is full."""
    begin, degree, room = graph.begin, graph.degree, graph.room
    columns, made = graph.columns, graph.made
    size = np.int64(degree[vertex])
    if size == room[vertex]:
        wanted = max(2 * size, graph.first_room)
        end = made[1]
        for at in range(size):
            columns[end + at] = columns[begin[vertex] + at]
        begin[vertex], room[vertex] = end, wanted
        made[1] = end + wanted
    columns[begin[vertex] + size] = other
    degree[vertex] = size + 1


@inlined
def add_edge(vertex, other, graph):
    """Make two vertices neighbors."""
    add_neighbor(vertex, other, graph)
    add_neighbor(other, vertex, graph)
    made = graph.made
    graph.src[made[0]], graph.dst[made[0]] = vertex, other
    made[0] += 1


@compiled
def choose_of_two_hops(order, first_choice, looked, draw, graph):
    """Have the vertices of ``order`` choose, those with common neighbors being looked at alone.

    ``looked``: uint32 by vertex, 0; of vertices two hops away how many neighbors are common.
    """
    start, propensity = draw
    count, most = graph.degree.size, propensity.size - 1
    sizes = np.zeros(propensity.size, np.int64)
    near, members = np.empty(count, np.int64), np.empty(count, np.int64)
    for at in range(order.size):
        if graph.made[0] == graph.src.size:
            return
        vertex, choice = order[at], first_choice + np.uint64(at)
        found = look_two_hops_away(vertex, looked, near, graph)
        sizes[:] = 0
        for a in range(found):
            sizes[min(np.int64(looked[near[a]]), most)] += 1
        sizes[0] = count - 1 - np.int64(graph.degree[vertex]) - found
        common = drawn_class(start, choice, sizes, propensity)
        chosen = -1
        if common >= 0:
            rank = drawn_rank(start, choice, sizes[common])
            if common > 0:
                chosen = near_of_rank(rank, common, near, found, looked, most, members)
            else:
                chosen = far_of_rank(rank, vertex, near, found, graph, members)
        forget_looks(vertex, looked, near, found, graph)
        if chosen >= 0:
            add_edge(vertex, chosen, graph)


@inlined
def look_two_hops_away(vertex, looked, near, graph):
    """List the vertices two hops away in ``near``, and count common neighbors; how many they are.

    The vertex and its neighbors are marked as none of them.
    """
    row, size = graph.begin[vertex], np.int64(graph.degree[vertex])
    looked[vertex] = _NONE
    for a in range(size):
        looked[graph.columns[row + a]] = _NONE
    found = 0
    for a in range(size):
        between = graph.columns[row + a]
        position = graph.begin[between]
        for b in range(graph.degree[between]):
            other = graph.columns[position + b]
            if looked[other] == _NONE:
                continue
            if looked[other] == 0:
                near[found] = other
                found += 1
            looked[other] += 1
    return found


@inlined
def forget_looks(vertex, looked, near, found, graph):
    """Make ``looked`` 0 again."""
    row = graph.begin[vertex]
    looked[vertex] = 0
    for a in range(np.int64(graph.degree[vertex])):
        looked[graph.columns[row + a]] = 0
    for a in range(found):
        looked[near[a]] = 0


@inlined
def near_of_rank(rank, common, near, found, looked, most, members):
    """Of the vertices with so many common neighbors, in increasing order, the one of a rank."""
    kept = 0
    for a in range(found):
        if min(np.int64(looked[near[a]]), most) == common:
            members[kept] = near[a]
            kept += 1
    return np.sort(members[:kept])[rank]


@inlined
def far_of_rank(rank, vertex, near, found, graph, members):
    """Of the vertices without common neighbors, in increasing order, the one of a rank."""
    row, size = graph.begin[vertex], np.int64(graph.degree[vertex])
    for a in range(found):
        members[a] = near[a]
    for a in range(size):
        members[found + a] = graph.columns[row + a]
    members[found + size] = vertex
    left_out = np.sort(members[: found + size + 1])
    chosen = rank
    for a in range(left_out.size):
        if left_out[a] <= chosen:
            chosen += 1
    return chosen


@compiled
def count_common(low, high, begin, degree, columns, is_neighbor, classes, most):
    """Class of each vertex ``low … high - 1``: its common neighbors, ``most`` at most."""
    sizes = np.zeros(most + 1, np.int64)
    for other in range(low, high):
        if is_neighbor[other] != 0:
            classes[other] = _NONE
            continue
        common, position = 0, begin[other]
        for a in range(degree[other]):
            common += is_neighbor[columns[position + a]] == 1
        common = min(common, most)
        classes[other] = common
        sizes[common] += 1
    return sizes


@compiled
def take_of_class(vertex, choice, sizes, classes, draw, graph):
    """Have a vertex choose, the classes of all others being known."""
    start, propensity = draw
    common = drawn_class(start, choice, sizes, propensity)
    if common < 0:
        return
    rank = drawn_rank(start, choice, sizes[common])
    for other in range(classes.size):
        if classes[other] == common:
            if rank == 0:
                add_edge(vertex, other, graph)
                return
            rank -= 1
