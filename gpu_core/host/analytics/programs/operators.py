"""Operators on a frontier on the host: kernels of the user's function, and arrays of vertex state.

A frontier is a list of vertices in whatever order, each once. Its edges are numbered by the prefix
sum of its degrees and cut into ranges of equally many, one a thread, wherever in a row that is.
Threads combine messages by compare-and-swap. What each was the first to send something to, it keeps
in a part of a list of its own, as long as its range; memory that is not written to is not taken
from the system.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ....jit.parallel import for_ranges
from ....programs.operators import Call, Inbox
from ....rows import Rows
from ..parts.weighted_rows import weighted_rows
from .operator_module import kernels_of

UInt32s = npt.NDArray[np.uint32]


def filled(workspace: None, count: int, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[count]: a value, 0-d, for all."""
    return np.full(count, value)


def listed(workspace: None, indices: UInt32s) -> UInt32s:
    """A frontier of vertex indices."""
    return indices


def everyone(workspace: None, rows: Rows) -> UInt32s:
    """A frontier of all vertices that are in the graph."""
    return np.flatnonzero(rows.present).astype(np.uint32)


def indices_of(workspace: None, vertices: UInt32s) -> UInt32s:
    """uint32: the vertex indices of a frontier, in whatever order; not to be written."""
    return vertices


def new_inbox(workspace: None, count: int, neutral: Any) -> Inbox:
    """Room for messages to all vertices."""
    return Inbox(np.full(count, neutral), np.zeros(count, np.int32))


def for_edges(workspace: None, call: Call, vertices: UInt32s, inbox: Inbox) -> UInt32s:
    """Go along the edges of a frontier; returns the vertices that have changed, in any order."""
    kernels, arguments, (into,) = kernels_of(call.operator), _arguments(call), call.into
    degrees = _degrees(call)
    lists: list[UInt32s] = []
    for rows in call.rows:
        ends = np.cumsum(rows.degree[vertices], dtype=np.int64)
        entries = int(ends[-1])
        received = np.empty(entries, np.uint32)
        read = weighted_rows(rows, weighted=call.operator.looks_at_weights)
        counts = for_ranges(
            kernels.send_messages, entries, read, (vertices, ends, degrees), arguments, into,
            inbox, received,
        )  # fmt: skip
        lists += [received[low : low + found] for low, found in counts]
    receivers = lists[0] if len(lists) == 1 else np.concatenate(lists or [vertices[:0]])
    counts = for_ranges(kernels.take_messages, receivers.size, receivers, into, *inbox)
    return _joined(receivers, counts)


def for_vertices(workspace: None, call: Call, vertices: UInt32s) -> None:
    """Have the function write the state of the vertices of a frontier."""
    _visit(call, vertices, vertices[:0])


def filtered(workspace: None, call: Call, vertices: UInt32s) -> UInt32s:
    """The vertices of a frontier for which the function is true, in the order that they have."""
    kept = np.empty_like(vertices)
    return _joined(kept, _visit(call, vertices, kept))


def _visit(call: Call, vertices: UInt32s, kept: UInt32s) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = for_ranges(
        kernels_of(call.operator).visit_vertices, vertices.size, vertices, _degrees(call),
        _arguments(call), call.into, kept,
    )  # fmt: skip
    return found


def _joined(listed: UInt32s, counts: list[tuple[int, int]]) -> UInt32s:
    """A list joined of the parts that threads have filled: where each begins, and its length."""
    parts = [listed[low : low + found] for low, found in counts]
    return parts[0].copy() if len(parts) == 1 else np.concatenate(parts or [listed[:0]])


def _arguments(call: Call) -> tuple[Any, ...]:
    """Arguments of a function: arrays, numbers, and how many vertices there are."""
    return (*call.arrays, *call.numbers, np.int64(call.rows[0].num_vertices))


def _degrees(call: Call) -> tuple[UInt32s, UInt32s]:
    """Degrees in one direction, and in the other; of length 0: there is none."""
    first, *others = [rows.degree for rows in call.rows]
    return first, others[0] if others else first[:0]
