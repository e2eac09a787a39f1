"""Kernels of a program on the host: loops with the functions of a user compiled into them.

They are made for each program and kept while the process lives, not on disk: they are the user's.
What calls them: `programs.py`.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np

from ...programs.language import TOLD, Written
from ...programs.program import Program
from ...programs.run import BLOCK, LANES, PIECE, SHORT_ROW
from .program_operations import NAMES, inlined


class Kernels(NamedTuple):
    """Compiled for one program."""

    push: Any
    send: Any
    pull: Any
    take: Any
    add_up: Any


#: As of `inlined`.
_compiled = numba.njit(nogil=True, error_model="numpy")


def inlined_function(name: str, given: Written, own: int) -> Any:
    """Compile a translated function: its ``own`` parameters, then all that functions are told."""
    asked = given.parameters[own:]
    told = [f"v_{each}" if f"v_{each}" in asked else f"_{each}" for each in TOLD]
    text = f"def {name}({', '.join([*given.parameters[:own], *told])}):\n{given.python}\n"
    there = dict(NAMES)
    exec(compile(text, f"<{name} of a program>", "exec"), there)
    return inlined(there[name])


def _rule(program: Program) -> Any:
    """What makes one message of two, both of the program's type."""
    if program.combined is not None:
        return inlined_function("combine", program.combined, 2)
    rules = {
        # Of numbers of which one is none it is the result.
        "min": lambda one, other, *told: other if other < one or other != other else one,
        "max": lambda one, other, *told: other if other > one or other != other else one,
        "sum": lambda one, other, *told: one + other,
        "any": lambda one, other, *told: one,
    }
    return inlined(rules[str(program.rule)])


@inlined
def sum_of(lanes):
    """Sum of the lanes of a block, in pairs; writes to them."""
    width = LANES // 2
    while width > 0:
        for lane in range(width):
            lanes[lane] += lanes[lane + width]
        width //= 2
    return lanes[0]


@lru_cache(maxsize=64)
def kernels_of(program: Program) -> Kernels:
    """Make the kernels of a program; each is compiled when it is first called."""
    edge, vertex = (
        inlined_function("edge", program.edge, 2),
        inlined_function("vertex", program.vertex, 2),
    )
    combine = _rule(program)
    wants = program.wants and inlined_function("wants", program.wants, 1)
    total_of = program.total and inlined_function("total", program.total, 1)
    value_type, message_type = program.value.type, program.message.type
    wide_value = np.float64 if program.value.kind == "f" else np.int64
    wide_message = np.float64 if program.message.kind == "f" else np.int64
    # Then both zeros are one, and which of them comes first makes no difference.
    zero = message_type(0)
    weighted, of_all, is_exact = program.looks_at_weights, program.all_vertices, program.is_exact
    is_picky, stops = program.wants is not None, program.rule == "any"
    identity = program.identity

    @inlined
    def taken(value):
        return wants(wide_value(value), 0, 0, 0, 0.0) if is_picky else True

    @inlined
    def message_of(value, weight, degree, superstep, told, total):
        sent = edge(wide_value(value), np.float64(weight), degree, superstep, told, total)
        return message_type(message_type(sent) + zero)

    @inlined
    def both(one, other):
        return message_type(combine(wide_message(one), wide_message(other), 0, 0, 0, 0.0))

    @inlined
    def changed(values, vertex_index, message, degree, superstep, told, total):
        new, is_active = vertex(
            wide_value(values[vertex_index]), wide_message(message), degree, superstep, told, total
        )
        values[vertex_index] = value_type(new)
        return is_active

    @_compiled
    def push_way(
        begin, degree, columns, step, weights, weight_begin, queue, size, values, combined, has,
        received, found, degrees, superstep, told,
    ):  # fmt: skip
        """Send what the vertices of the queue send; returns the end of ``received``."""
        has_weights = weighted and weights.size > 0
        for at in range(size):
            source = np.int64(queue[at])
            place = begin[source]
            weight_place = weight_begin[source]
            value = values[source]
            sent = message_of(value, 1.0, degrees[source], superstep, told, 0.0)
            for _ in range(degree[source]):
                target = np.int64(columns[place])
                place += step
                if has_weights:
                    weight = weights[weight_place]
                    weight_place += step
                    sent = message_of(value, weight, degrees[source], superstep, told, 0.0)
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

    @_compiled
    def push(
        begin, degree, columns, step, weights, weight_begin,
        begin_2, degree_2, columns_2, step_2, weights_2, weight_begin_2, ways,
        queue, received, size, values, active, combined, has, degrees, superstep, most, told,
        all_entries, share,
    ):  # fmt: skip
        """Push supersteps until none is active, ``most`` were made, or one is to be pulled.

        ``share``: as `PULL_SHARE`; 0: none is to be pulled. Returns the superstep that is next,
        the vertices that are active then, and the edges that they send along.
        """
        entries = np.int64(0)
        while True:
            found = push_way(
                begin,
                degree,
                columns,
                step,
                weights,
                weight_begin,
                queue,
                size,
                values,
                combined,
                has,
                received,
                0,
                degrees,
                superstep,
                told,
            )
            if ways > 1:
                found = push_way(
                    begin_2,
                    degree_2,
                    columns_2,
                    step_2,
                    weights_2,
                    weight_begin_2,
                    queue,
                    size,
                    values,
                    combined,
                    has,
                    received,
                    found,
                    degrees,
                    superstep,
                    told,
                )
            for at in range(size):
                active[queue[at]] = False
            size, entries = 0, np.int64(0)
            for at in range(found):
                target = np.int64(received[at])
                has[target] = False
                if changed(values, target, combined[target], degrees[target], superstep, told, 0.0):
                    active[target] = True
                    queue[size] = target
                    size += 1
                    entries += degrees[target]
            superstep += 1
            if size == 0 or superstep == most or entries * share > all_entries:
                return superstep, size, entries

    @_compiled
    def send(low, high, values, active, degrees, superstep, told, total, sent):
        """Messages of the vertices ``low … high - 1``, where they are the same for all edges."""
        for source in range(low, high):
            if of_all or active[source]:
                sent[source] = message_of(
                    values[source], 1.0, degrees[source], superstep, told, total
                )

    @inlined
    def sent_by(
        source, weights, place, values, degrees, sent, superstep, told, total
    ):  # fmt: skip
        """The message of a neighbor; ``place``: of the weight of that entry."""
        if not weighted:
            return sent[source]
        weight = weights[place] if weights.size > 0 else 1.0
        return message_of(values[source], weight, degrees[source], superstep, told, total)

    @_compiled
    def pull_in_any_order(
        low, high, begin, degree, columns, step, weights, weight_begin, values, active, degrees,
        sent, superstep, told, total, combined, has,
    ):  # fmt: skip
        """Combine what the neighbors of the vertices ``low … high - 1`` send."""
        for target in range(low, high):
            length = np.int64(degree[target])
            if length == 0 or not taken(values[target]):
                continue
            place, weight_place = begin[target], weight_begin[target]
            message, is_found = combined[target], has[target]
            for _ in range(length):
                source = np.int64(columns[place])
                if of_all or active[source]:
                    one = sent_by(
                        source, weights, weight_place, values, degrees, sent, superstep, told, total
                    )
                    message = both(message, one) if is_found else one
                    is_found = True
                    if stops:
                        break
                place += step
                weight_place += step
            combined[target], has[target] = message, is_found

    @_compiled
    def pull_in_order(
        low, high, begin, degree, columns, step, weights, weight_begin, values, active, degrees,
        sent, superstep, told, total, combined, has,
    ):  # fmt: skip
        """The same, in the order that `run.py` says."""
        lanes, in_lane = np.empty(LANES, combined.dtype), np.empty(LANES, np.bool_)
        for target in range(low, high):
            length = np.int64(degree[target])
            if length == 0 or not taken(values[target]):
                continue
            place, weight_place = begin[target], weight_begin[target]
            message, is_found = combined[target], has[target]
            is_short = length <= SHORT_ROW
            for at in range(length):
                if not is_short and at % PIECE == 0:
                    in_lane[:] = False
                source = np.int64(columns[place])
                if of_all or active[source]:
                    one = sent_by(
                        source, weights, weight_place, values, degrees, sent, superstep, told, total
                    )
                    if is_short:
                        message = both(message, one) if is_found else one
                        is_found = True
                    else:
                        lane = at % LANES
                        lanes[lane] = both(lanes[lane], one) if in_lane[lane] else one
                        in_lane[lane] = True
                place += step
                weight_place += step
                if not is_short and (at == length - 1 or (at + 1) % PIECE == 0):
                    left = LANES // 2
                    while left > 0:
                        for lane in range(left):
                            if in_lane[lane + left]:
                                other = lanes[lane + left]
                                lanes[lane] = both(lanes[lane], other) if in_lane[lane] else other
                                in_lane[lane] = True
                        left //= 2
                    if in_lane[0]:
                        message = both(message, lanes[0]) if is_found else lanes[0]
                        is_found = True
            combined[target], has[target] = message, is_found

    @_compiled
    def take(
        low, high, values, active, degrees, present, superstep, told, total, combined, has, changes
    ):  # fmt: skip
        """Have the vertices of the blocks ``low … high - 1`` take what was sent to them.

        Returns how many of them are active then, and the edges that those send along; writes by
        how much the values of each block have changed, in all, if that is asked for.
        """
        size, entries = 0, np.int64(0)
        lanes = np.empty(LANES)
        for block in range(low, high):
            lanes[:] = 0.0
            for target in range(block * BLOCK, min((block + 1) * BLOCK, values.size)):
                active[target] = False
                if not (has[target] or of_all) or not present[target]:
                    continue
                message = combined[target] if has[target] else identity
                has[target] = False
                before = np.float64(values[target])
                if changed(values, target, message, degrees[target], superstep, told, total):
                    active[target] = True
                    size += 1
                    entries += degrees[target]
                lanes[target % LANES] += abs(np.float64(values[target]) - before)
            if changes.size > 0:
                changes[block] = sum_of(lanes)
        return size, entries

    @_compiled
    def add_up(low, high, values, present, degrees, superstep, told, totals):
        """Sums of ``total`` over the blocks ``low … high - 1`` of vertices."""
        lanes = np.empty(LANES)
        for block in range(low, high):
            lanes[:] = 0.0
            for vertex_index in range(block * BLOCK, min((block + 1) * BLOCK, values.size)):
                if present[vertex_index]:
                    lanes[vertex_index % LANES] += total_of(
                        wide_value(values[vertex_index]), degrees[vertex_index], superstep, told,
                        0.0,
                    )  # fmt: skip
            totals[block] = sum_of(lanes)

    pull = pull_in_any_order if is_exact else pull_in_order
    return Kernels(push, send, pull, take, add_up)
