"""Kernels of an operator over vertices: one as `operator_module.py` writes it, a filter.

Each operator of a user is a module like this one, of another function: what is between the marks is
rewritten. What calls the kernels: `operators.py`. CUDA twin: ``for_vertices.cuh``.
"""

# fmt: off
# -- the program --
import numpy as np

from graphtide.gpu_core.jit.compile import compiled, inlined


@inlined
def _vertex(v_left, v_is_gone, v_k):
    return ((v_left <= v_k) and (not v_is_gone))

@inlined
def _visit(arguments, into, vertex, degree):
    return _vertex(arguments[0][vertex], arguments[1][vertex], arguments[2])

# -- its kernels --
# fmt: on


@compiled
def visit_vertices(low, high, vertices, degrees, arguments, into, kept):
    """Call the function for the vertices ``low … high - 1`` of a frontier.

    Parameters
    ----------
    degrees
        Of all vertices: in one direction, and in the other, of length 0 where there is none.
    arguments, into
        Arrays that the function reads, numbers, how many vertices there are; arrays that it writes.
    kept
        From ``low`` on: the vertices that stay, where anybody asks.

    Returns
    -------
    tuple
        ``low``, and how many stay.
    """
    first, second = degrees
    found = np.int64(0)
    for at in range(low, high):
        vertex = np.int64(vertices[at])
        degree = np.int64(first[vertex])
        if second.size > 0:
            degree += np.int64(second[vertex])
        if _visit(arguments, into, vertex, degree) and kept.size > 0:
            kept[low + found] = vertices[at]
            found += 1
    return low, found
