"""Kernels of an operator over edges: one as `operator_module.py` writes it, shortest paths.

Each operator of a user is a module like this one, of another function: what is between the marks is
rewritten. What calls the kernels: `operators.py`. CUDA twin: ``for_edges.cuh``.
"""

# fmt: off
# -- the program --
import numpy as np

from graphtide.gpu_core.host.analytics.programs.program_operations import stored_real
from graphtide.gpu_core.jit.atomics import compare_and_swap
from graphtide.gpu_core.jit.compile import compiled, inlined


@inlined
def _edge(v_source_distance, v_weight):
    return (v_source_distance + v_weight)

_WEIGHTED = True
_IS_SUM = False
_NEUTRAL = float('inf')

@inlined
def _message_of(arguments, source, target, weight, degree):
    return stored_real(_edge(arguments[0][source], weight))

@inlined
def _improves(one, other):
    return other < one or (other != other and one == one)

@inlined
def _sum_of(one, other):
    return one + other

# -- its kernels --
# fmt: on


@inlined
def degree_of(vertex, degrees):
    """Edges that a vertex has, in one direction or two."""
    first, second = degrees
    return np.int64(first[vertex]) + (np.int64(second[vertex]) if second.size > 0 else 0)


@inlined
def combine_into(combined, target, sent):
    """Combine a message with those that a vertex was sent, beside other threads."""
    old = combined[target]
    if _IS_SUM:
        while not compare_and_swap(combined, target, old, _sum_of(old, sent)):
            old = combined[target]
        return
    while _improves(old, sent):
        if compare_and_swap(combined, target, old, sent):
            return
        old = combined[target]


@compiled
def send_messages(low, high, rows, frontier, arguments, into, inbox, received):
    """Send along the edges ``low … high - 1`` of a frontier what would change their targets.

    Parameters
    ----------
    frontier
        Vertices, the sums of their degrees up to each, where its edges end; and the degrees of all
        vertices, as of `degree_of`.
    arguments
        Arrays that the function reads, numbers, and how many vertices there are.
    into
        What messages are combined into in the end; functions read it as it is now.
    inbox
        `Inbox`.
    received
        From ``low`` on: targets that this call was the first to send something to.

    Returns
    -------
    tuple
        ``low``, and how many those are.
    """
    begin, _, columns, step, weights, weight_begin = rows
    vertices, ends, degrees = frontier
    combined, has = inbox
    has_weights = _WEIGHTED and weights.size > 0
    found = np.int64(0)
    # The first vertex whose edges end after `low`.
    at, left = np.int64(0), np.int64(ends.size)
    while left > 0:
        half = left // 2
        if ends[at + half] <= low:
            at += half + 1
            left -= half + 1
        else:
            left = half
    edge = np.int64(low)
    while edge < high:
        source = np.int64(vertices[at])
        skipped = edge - (ends[at - 1] if at > 0 else 0)
        position = begin[source] + skipped * step
        weight_position = weight_begin[source] + skipped * step
        degree = degree_of(source, degrees)
        for _ in range(min(ends[at], high) - edge):
            target = np.int64(columns[position])
            weight = np.float64(weights[weight_position]) if has_weights else 1.0
            position += step
            weight_position += step
            sent = _message_of(arguments, source, target, weight, degree)
            if _improves(into[target], sent):
                combine_into(combined, target, sent)
                if has[target] == 0 and compare_and_swap(has, target, np.int32(0), np.int32(1)):
                    received[low + found] = target
                    found += 1
        edge = ends[at]
        at += 1
    return low, found


@compiled
def take_messages(low, high, receivers, into, combined, has):
    """Have the vertices ``low … high - 1`` of a list take what they were sent.

    Those that have changed come first among them afterwards. Returns ``low``, and how many those
    are.
    """
    found = np.int64(0)
    for at in range(low, high):
        target = np.int64(receivers[at])
        message = combined[target]
        combined[target] = _NEUTRAL
        has[target] = 0
        if _IS_SUM:
            if message == 0:
                continue
            into[target] = _sum_of(into[target], message)
        else:
            into[target] = message
        receivers[low + found] = target
        found += 1
    return low, found
