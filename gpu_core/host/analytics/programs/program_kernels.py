"""Kernels of a program on the host: one program as `program_module.py` writes it, shortest paths.

Each program of a user is a module like this one, of other functions: what is between the marks is
rewritten. What calls the kernels: `programs.py`.
"""

# fmt: off
# -- the program --
import numpy as np

from graphtide.gpu_core.host.analytics.programs.program_arrays import Now
from graphtide.gpu_core.host.analytics.programs.program_operations import change_real, least_real
from graphtide.gpu_core.jit.compile import compiled, inlined

_VALUE = np.float64
_MESSAGE = np.float64
_WIDE_VALUE = np.float64
_WIDE_MESSAGE = np.float64
_IDENTITY = _MESSAGE(float('inf'))
_WEIGHTED = True
_OF_ALL = False
_STOPS = False
_BLOCK = 1024
_LANES = 32
_PIECE = 1024
_SHORT_ROW = 32

@inlined
def _edge(v_source_value, v_weight, _degree, _superstep, _num_vertices, _total):
    return (v_source_value + v_weight)

@inlined
def _vertex(v_old, v_message, _degree, _superstep, _num_vertices, _total):
    return least_real(v_old, v_message), (v_message < v_old)

@inlined
def _combine(one, other):
    return other if other < one or other != other else one

@inlined
def _wants(v_value):
    return True

@inlined
def _total(v_value, _degree, _superstep, _num_vertices, _total):
    return 0.0

@inlined
def _change(before, after):
    return change_real(before, after)

# -- its kernels --
# fmt: on


@inlined
def sum_of(lanes):
    """Sum of the lanes of a block, in pairs; writes to them."""
    width = _LANES // 2
    while width > 0:
        for lane in range(width):
            lanes[lane] += lanes[lane + width]
        width //= 2
    return lanes[0]


@inlined
def taken(value):
    """Whether a vertex of this value takes messages."""
    return _wants(_WIDE_VALUE(value))


@inlined
def message_of(value, weight, degree, now):
    """Message of a vertex along an edge; both zeros become one, so that none is the smaller one."""
    sent = _edge(
        _WIDE_VALUE(value), np.float64(weight), degree, now.superstep, now.num_vertices, now.total
    )
    return _MESSAGE(_MESSAGE(sent) + _MESSAGE(0))


@inlined
def both(one, other):
    """One message of two."""
    return _MESSAGE(_combine(_WIDE_MESSAGE(one), _WIDE_MESSAGE(other)))


@inlined
def changed(values, vertex_index, message, degree, now):
    """Have a vertex take a message; returns whether it is active."""
    new, is_active = _vertex(
        _WIDE_VALUE(values[vertex_index]), _WIDE_MESSAGE(message), degree, now.superstep,
        now.num_vertices, now.total,
    )  # fmt: skip
    values[vertex_index] = _VALUE(new)
    return is_active


@compiled
def push_along(along, queue, size, vertices, inbox, received, found, now):
    """Send what the first ``size`` vertices of the queue send; returns the end of ``received``."""
    begin, degree, columns, step, weights, weight_begin = along
    values, _, degrees = vertices
    combined, has = inbox
    has_weights = _WEIGHTED and weights.size > 0
    for at in range(size):
        source = np.int64(queue[at])
        position = begin[source]
        weight_position = weight_begin[source]
        value = values[source]
        sent = message_of(value, 1.0, degrees[source], now)
        for _ in range(degree[source]):
            target = np.int64(columns[position])
            position += step
            if has_weights:
                weight = weights[weight_position]
                weight_position += step
                sent = message_of(value, weight, degrees[source], now)
            if not taken(values[target]):
                continue
            if has[target]:
                combined[target] = both(combined[target], sent)
            else:
                has[target] = True
                combined[target] = sent
                received[found] = target
                found += 1
    return found


@compiled
def push(rows, queues, size, vertices, inbox, now, limits):
    """Push supersteps until no vertex is active, or ``limits`` end it.

    Parameters
    ----------
    rows
        Rows of one direction, of another, and how many of them messages go along.
    queues
        uint32[vertex_count]: the active vertices, ``size`` of them; room for those of a superstep.

    Returns
    -------
    tuple
        The superstep that is next, the vertices that are active then, and the edges that they send
        along.
    """
    along, second, directions = rows
    queue, received = queues
    values, active, degrees = vertices
    combined, has = inbox
    entries, walked = np.int64(0), np.int64(0)
    while True:
        found = push_along(along, queue, size, vertices, inbox, received, 0, now)
        if directions > 1:
            found = push_along(second, queue, size, vertices, inbox, received, found, now)
        for at in range(size):
            active[queue[at]] = False
        size, entries = 0, np.int64(0)
        for at in range(found):
            target = np.int64(received[at])
            has[target] = False
            if changed(values, target, combined[target], degrees[target], now):
                active[target] = True
                queue[size] = target
                size += 1
                entries += degrees[target]
        now = Now(now.superstep + 1, now.num_vertices, now.total)
        walked += entries
        is_last = now.superstep == limits.most or walked > limits.budget
        if size == 0 or is_last or entries * limits.share > limits.entries:
            return now.superstep, size, entries


@compiled
def send(low, high, vertices, now, sent):
    """Messages of the vertices ``low … high - 1``, where they are the same for all edges."""
    values, active, degrees = vertices
    for source in range(low, high):
        if _OF_ALL or active[source]:
            sent[source] = message_of(values[source], 1.0, degrees[source], now)


@inlined
def sent_by(source, weights, position, values, degrees, sent, now):
    """The message of a neighbor; ``position``: of the weight of that entry."""
    if not _WEIGHTED:
        return sent[source]
    weight = weights[position] if weights.size > 0 else 1.0
    return message_of(values[source], weight, degrees[source], now)


@compiled
def pull_in_any_order(low, high, along, vertices, sent, now, inbox):
    """Combine what the neighbors of the vertices ``low … high - 1`` send."""
    begin, degree, columns, step, weights, weight_begin = along
    values, active, degrees = vertices
    combined, has = inbox
    for target in range(low, high):
        length = np.int64(degree[target])
        if length == 0 or not taken(values[target]):
            continue
        position, weight_position = begin[target], weight_begin[target]
        message, is_found = combined[target], has[target]
        for _ in range(length):
            source = np.int64(columns[position])
            if _OF_ALL or active[source]:
                one = sent_by(source, weights, weight_position, values, degrees, sent, now)
                message = both(message, one) if is_found else one
                is_found = True
                if _STOPS:
                    break
            position += step
            weight_position += step
        combined[target], has[target] = message, is_found


@inlined
def combine_lanes(lanes, in_lane):
    """Combine lanes in pairs, to ``lanes[0]``; returns whether there was any message."""
    left = _LANES // 2
    while left > 0:
        for lane in range(left):
            if in_lane[lane + left]:
                other = lanes[lane + left]
                lanes[lane] = both(lanes[lane], other) if in_lane[lane] else other
                in_lane[lane] = True
        left //= 2
    return in_lane[0]


@compiled
def pull_in_order(low, high, along, vertices, sent, now, inbox):
    """The same, in the order that `run.py` defines."""
    begin, degree, columns, step, weights, weight_begin = along
    values, active, degrees = vertices
    combined, has = inbox
    lanes, in_lane = np.empty(_LANES, combined.dtype), np.empty(_LANES, np.bool_)
    for target in range(low, high):
        length = np.int64(degree[target])
        if length == 0 or not taken(values[target]):
            continue
        position, weight_position = begin[target], weight_begin[target]
        message, is_found = combined[target], has[target]
        is_short = length <= _SHORT_ROW
        for first in range(0, length, _PIECE):
            if not is_short:
                in_lane[:] = False
            for at in range(first, min(first + _PIECE, length)):
                source = np.int64(columns[position])
                if _OF_ALL or active[source]:
                    one = sent_by(source, weights, weight_position, values, degrees, sent, now)
                    if is_short:
                        message = both(message, one) if is_found else one
                        is_found = True
                    else:
                        lane = at % _LANES
                        lanes[lane] = both(lanes[lane], one) if in_lane[lane] else one
                        in_lane[lane] = True
                position += step
                weight_position += step
            if not is_short and combine_lanes(lanes, in_lane):
                message = both(message, lanes[0]) if is_found else lanes[0]
                is_found = True
        combined[target], has[target] = message, is_found


@compiled
def take(low, high, vertices, present, now, inbox, changes):
    """Have the vertices of the blocks ``low … high - 1`` take what was sent to them.

    Returns how many of them are active then, and the edges that those send along; writes by
    how much the values of each block have changed, in all, if that is asked for.
    """
    values, active, degrees = vertices
    combined, has = inbox
    size, entries = 0, np.int64(0)
    lanes = np.empty(_LANES)
    for block in range(low, high):
        lanes[:] = 0.0
        for target in range(block * _BLOCK, min((block + 1) * _BLOCK, values.size)):
            active[target] = False
            # Who was sent anything wants messages; of the others, those that do take `_IDENTITY`.
            if not (has[target] or (_OF_ALL and taken(values[target]))) or not present[target]:
                continue
            message = combined[target] if has[target] else _IDENTITY
            has[target] = False
            before = values[target]
            if changed(values, target, message, degrees[target], now):
                active[target] = True
                size += 1
                entries += degrees[target]
            lanes[target % _LANES] += _change(_WIDE_VALUE(before), _WIDE_VALUE(values[target]))
        if changes.size > 0:
            changes[block] = sum_of(lanes)
    return size, entries


@compiled
def add_up(low, high, vertices, present, now, totals):
    """Sums of ``total`` over the blocks ``low … high - 1`` of vertices."""
    values, _, degrees = vertices
    lanes = np.empty(_LANES)
    for block in range(low, high):
        lanes[:] = 0.0
        for vertex_index in range(block * _BLOCK, min((block + 1) * _BLOCK, values.size)):
            if present[vertex_index]:
                lanes[vertex_index % _LANES] += _total(
                    _WIDE_VALUE(values[vertex_index]), degrees[vertex_index], now.superstep,
                    now.num_vertices, 0.0,
                )  # fmt: skip
        totals[block] = sum_of(lanes)


@compiled
def add_blocks(sums):
    """Sum of the sums of blocks: in blocks again, until one is left; writes over them."""
    lanes = np.empty(_LANES)
    size = sums.size
    while size > 1:
        made = 0
        for first in range(0, size, _BLOCK):
            lanes[:] = 0.0
            for at in range(first, min(first + _BLOCK, size)):
                lanes[at % _LANES] += sums[at]
            sums[made] = sum_of(lanes)
            made += 1
        size = made
    return sums[0]
