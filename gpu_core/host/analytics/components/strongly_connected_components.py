"""Strongly connected components on the host (Pearce): one depth-first search, on one thread.

Vertices are numbered as they are reached, and each keeps the least number that it has come to know
of those whose component is not known yet. One that has not come to know a smaller one than its own
is the first of its component; the others are those reached since that are left on the stack.

Numbers of components are counted down from the largest number there is, and beside them no vertex'
number ever is as large: so one comparison shows that a neighbor's component is known already, and
one array of 4 bytes a vertex is all that edges look at. Rows of in-neighbors are not needed.

Source: Pearce, "A Space-Efficient Algorithm for Finding Strongly Connected Components", Information
Processing Letters 116, 2016 (after Tarjan, 1972).
"""

import numpy as np
import numpy.typing as npt

from ....jit.compile import compiled
from ....rows import Adjacencies
from .component_names import name_components

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

#: Number of the first component that is found.
_FIRST_COMPONENT = 0xFFFFFFFF


def first_members(workspace: None, adjacencies: Adjacencies, order: Int64s) -> UInt32s:
    """Position in ``order`` of the first vertex of each vertex' component.

    Parameters
    ----------
    adjacencies
        Rows of out-neighbors.
    order
        int64[n]: vertex indices in increasing order of users' ids.

    Returns
    -------
    uint32[vertex_count]
        Of no meaning for absent vertices.
    """
    number = np.zeros(adjacencies.out.count, np.uint32)
    find_components(adjacencies.out.walked, number)
    return name_components(number, order)


@compiled
def find_components(walked, number):
    """Number the components of all vertices from 0; ``number`` is 0 before."""
    begin, degree, columns, step = walked
    count = number.size
    # The vertices that are being looked through, from the first to the newest; how many entries of
    # each were seen, and the number that each had at first.
    path = np.empty(count, np.uint32)
    seen = np.empty(count, np.uint32)
    reached = np.empty(count, np.uint32)
    # Vertices that were looked through, of components that are not known yet.
    stack = np.empty(count, np.uint32)
    waiting = 0
    next_number, component = np.uint32(1), np.uint32(_FIRST_COMPONENT)
    for start in range(count):
        if number[start] != 0:
            continue
        path[0], seen[0], reached[0] = start, 0, next_number
        number[start] = next_number
        next_number += np.uint32(1)
        depth = 1
        while depth > 0:
            top = depth - 1
            vertex = path[top]
            least = number[vertex]
            entry, entries = np.int64(seen[top]), np.int64(degree[vertex])
            position = begin[vertex] + entry * step
            while entry < entries:
                neighbor = columns[position]
                other = number[neighbor]
                if other == 0:
                    break
                least = min(least, other)
                entry += 1
                position += step
            number[vertex] = least
            if entry < entries:
                # The entry is looked at again, once its component or its least number is known.
                seen[top] = entry
                path[depth], seen[depth], reached[depth] = neighbor, 0, next_number
                number[neighbor] = next_number
                next_number += np.uint32(1)
                depth += 1
                continue
            depth -= 1
            if least < reached[top]:
                stack[waiting] = vertex
                waiting += 1
                continue
            number[vertex] = component
            next_number -= np.uint32(1)
            while waiting > 0 and number[stack[waiting - 1]] >= least:
                waiting -= 1
                number[stack[waiting]] = component
                next_number -= np.uint32(1)
            component -= np.uint32(1)
    for vertex in range(count):
        number[vertex] = np.uint32(_FIRST_COMPONENT) - number[vertex]
