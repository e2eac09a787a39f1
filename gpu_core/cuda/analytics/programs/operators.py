"""Operators on a frontier in CUDA: kernels of the user's function, and arrays of vertex state.

An operator is compiled by its own text (`operator_text.py`), over the operators of
``parts/frontier.cuh``, which the built-in traversals are written over as well. A frontier is a list
of vertices in whatever order, each once. Going along its edges takes a launch that queues their
rows, one for messages, and one for what becomes of them; the host reads how many vertices have
changed.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ....programs.operators import Call, Inbox
from ....rows import Rows
from ...device.declarations import structure
from ...device.device import Array, Device
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, zeros
from ..parts.frontier import blocks_of, blocks_of_queue, queue_frontier, queue_items
from ..parts.row_arguments import with_weights
from .operator_text import arguments_dtype, source_of

_INBOX = structure("for_edges.cuh", "Inbox")


def filled(workspace: Workspace, count: int, value: npt.NDArray[Any]) -> Array:
    """[count] on the device: a value, 0-d, for all."""
    made = workspace.device.empty(count, value.dtype)
    made.fill(value[()])
    return made


def listed(workspace: Workspace, indices: npt.NDArray[np.uint32]) -> Array:
    """A frontier of vertex indices."""
    return workspace.device.to_device(indices)


def everyone(workspace: Workspace, rows: Rows) -> Array:
    """A frontier of all vertices that are in the graph."""
    return workspace.device.xp.flatnonzero(rows.present).astype(np.uint32)


def indices_of(workspace: Workspace, vertices: Array) -> npt.NDArray[np.uint32]:
    """uint32 in host memory: the vertex indices of a frontier, in whatever order."""
    return workspace.device.to_host(vertices)


def new_inbox(workspace: Workspace, count: int, neutral: Any) -> Inbox:
    """Room for messages to all vertices."""
    device = workspace.device
    combined, has = device.empty(count, neutral.dtype), device.empty(count, np.uint32)
    combined.fill(neutral)
    has.fill(0)
    return Inbox(combined, has)


def for_edges(workspace: Workspace, call: Call, vertices: Array, inbox: Inbox) -> Array:
    """Go along the edges of a frontier; returns the vertices that have changed, in any order."""
    device, operator = workspace.device, call.operator
    source, size, count = source_of(operator), int(vertices.size), call.rows[0].count
    items = max(queue_items(rows, size) for rows in call.rows)
    need = bytes_of((2 + len(call.rows) + items, np.uint64), (2 * count, np.uint32))
    with workspace.scratch(need) as scratch:
        words = zeros(scratch, 2 + len(call.rows), np.uint64)
        counts, tails = words[:2], words[2:]
        queue = scratch.take(items, np.uint64)
        receivers, changed = scratch.take(count, np.uint32), scratch.take(count, np.uint32)
        parts = address(inbox.combined), address(inbox.has), address(receivers), address(counts)
        box = np.array(parts, dtype=_INBOX)
        arguments, (into,) = _arguments(call), call.into
        degrees = [rows.degree for rows in call.rows]
        for direction, rows in enumerate(call.rows):
            tail = tails[direction : direction + 1]
            queue_frontier(device, rows, tail, queue, vertices)
            device.launch(
                source, "send_messages", blocks_of_queue(device, items), THREADS, arguments,
                with_weights(rows, weighted=operator.looks_at_weights),
                degrees[1 - direction] if len(degrees) > 1 else None, tail, queue, into, box,
            )  # fmt: skip
        device.launch(source, "take_messages", blocks_of(device), THREADS, into, box, changed)
        _, found = map(int, device.read_words(counts))
        return changed[:found].copy()


def for_vertices(workspace: Workspace, call: Call, vertices: Array) -> None:
    """Have the function write the state of the vertices of a frontier; waits for nothing."""
    _visit(workspace.device, call, vertices, None, None)


def filtered(workspace: Workspace, call: Call, vertices: Array) -> Array:
    """The vertices of a frontier for which the function is true, in whatever order."""
    device, size = workspace.device, int(vertices.size)
    with workspace.scratch(bytes_of((1, np.uint64), (size, np.uint32))) as scratch:
        tail, kept = zeros(scratch, 1, np.uint64), scratch.take(size, np.uint32)
        _visit(device, call, vertices, tail, kept)
        return kept[: int(device.read_words(tail)[0])].copy()


def _visit(
    device: Device, call: Call, vertices: Array, tail: Array | None, kept: Array | None
) -> None:
    degrees = [rows.degree for rows in call.rows]
    size = int(vertices.size)
    device.launch(
        source_of(call.operator), "visit_vertices", blocks_for(size), THREADS, _arguments(call),
        degrees[0], degrees[1] if len(degrees) > 1 else None, vertices, np.uint64(size), tail, kept,
    )  # fmt: skip


def _arguments(call: Call) -> npt.NDArray[np.void]:
    """Arguments of a function, as ``Arguments``."""
    written = () if call.operator.combine else call.into
    parts = (
        *map(address, call.arrays), *call.numbers, *map(address, written),
        call.rows[0].num_vertices,
    )  # fmt: skip
    return np.array(parts, dtype=arguments_dtype(call.operator))
