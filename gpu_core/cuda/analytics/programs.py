"""CUDA twin of programs: a few launches a superstep, and one look at how many vertices are active.

A program is compiled by its own text (`program_text.py`); the kernels: ``programs.cuh``. What is
pushed and what pulled, and the order of messages: the host twin and ``programs/run.py``.
"""

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...programs.run import BLOCK, Ran, Task
from ...rows import Adjacencies, Rows
from ..device.device import Array
from ..memory.scratch import DeviceScratch
from ..memory.workspace import Workspace
from .compact_rows import THREADS, blocks_for, bytes_of, in_rows, in_rows_bytes, zeros
from .program_text import source_of

#: As of the host twin; ...
EASY_PULL_SHARE = 14
#: ... and where all messages are looked at.
PULL_SHARE = 2

#: Twins of ``State`` in ``programs.cuh``, and of a constant of ``frontier.cuh``.
_STATE: Final = ("size", "entries", "tail", "tail_2", "received")
_PIECE_ENTRIES: Final = 1024
#: Blocks a multiprocessor of a launch that walks a queue.
_BLOCKS: Final = 8
_WARP: Final = 32


def run(
    workspace: Workspace,
    task: Task,
    sides: Adjacencies,
    values: npt.NDArray[Any],
    is_active: npt.NDArray[np.bool_],
) -> Ran:
    """Run a program; waits for each superstep.

    Parameters
    ----------
    task
        The program, and how it may be run.
    sides
        Rows of out-neighbors, and of in-neighbors where they are stored.
    values
        [vertex_count] of the program's type, by vertex index, in host memory.
    is_active
        bool[vertex_count]: those that send in the first superstep, likewise.
    """
    needs_turned = sides.into is None and (task.program.along != "out" or task.may_pull)
    count, entries = sides.out.count, sides.out.num_entries
    items = count + entries // _PIECE_ENTRIES
    need = in_rows_bytes(workspace.device, sides, weighted=task.weighted) if needs_turned else 0
    need += bytes_of(
        (4 * items + len(_STATE) + count + 2 * blocks_for(count, BLOCK), np.uint64),
        (2 * count, task.program.message),
        (2 * count, np.uint32),
        (count, np.uint8),
    )
    with workspace.scratch(need) as scratch:
        if needs_turned:
            into = in_rows(workspace.device, scratch, sides, weighted=task.weighted)
            sides = Adjacencies(sides.out, replace(into, present=sides.out.present))
        return _Run(workspace, scratch, task, sides, values, is_active).all()


class _Run:
    """Where a run stands between two supersteps."""

    def __init__(
        self,
        workspace: Workspace,
        scratch: DeviceScratch,
        task: Task,
        sides: Adjacencies,
        values: npt.NDArray[Any],
        is_active: npt.NDArray[np.bool_],
    ) -> None:
        device = self._device = workspace.device
        self._task, program = task, task.program
        self._source = source_of(program)
        out, into, along = sides.out, sides.into, program.along
        #: Rows that messages are pushed along, and that they are pulled from, each way.
        self._ways: list[tuple[Rows, Rows]] = [(out, into or out)]
        if into is not None and sides.directed and along != "out":
            self._ways = [(into, out)] if along == "in" else [(out, into), (into, out)]
        count = self._count = out.count
        self._values = device.to_device(values)
        self._active = device.to_device(is_active.view(np.uint8))
        self._present = out.present
        self._degree = scratch.take(count, np.int64)
        self._degree[:] = self._ways[0][0].degree
        for pushed, _ in self._ways[1:]:
            self._degree += pushed.degree
        self._entries = sum(pushed.num_entries for pushed, _ in self._ways)
        self._combined = scratch.take(count, program.message)
        self._combined.fill(0 if program.neutral is None else program.neutral)
        self._has = zeros(scratch, count, np.uint32)
        sent = 0 if program.looks_at_weights else count
        self._sent = scratch.take(sent, program.message) if sent else None
        self._state = zeros(scratch, len(_STATE), np.uint64)
        items = count + out.num_entries // _PIECE_ENTRIES
        #: Of this superstep and of the next one, each way.
        self._queues = [[scratch.take(items, np.uint64) for _ in self._ways] for _ in range(2)]
        self._receivers = scratch.take(count, np.uint32)
        blocks = blocks_for(count, BLOCK)
        self._changes = scratch.take(blocks, np.float64) if task.tolerance >= 0 else None
        self._totals = scratch.take(blocks, np.float64) if program.total else None
        #: Items of the queues of this superstep; None: `_active` says which vertices are.
        self._tails: tuple[int, ...] | None = None
        self._superstep = 0
        self._pulled = 0
        self._changed = math.inf

    def all(self) -> Ran:
        """Make supersteps until the task says that it is enough."""
        task, program = self._task, self._task.program
        size = int(self._device.xp.count_nonzero(self._active))
        entries = int((self._degree * self._active).sum())
        share = EASY_PULL_SHARE if program.rule == "any" or program.wants else PULL_SHARE
        while size and self._superstep != task.max_supersteps and self._changed > task.tolerance:
            if not task.may_push or (task.may_pull and entries * share > self._entries):
                size, entries = self._pull()
                self._pulled += 1
            else:
                size, entries = self._push()
            self._superstep += 1
        return Ran(self._values, self._superstep, self._pulled, size)

    def _launch(self, kernel: str, items: int, *arguments: Any) -> None:
        blocks = blocks_for(items)
        self._device.launch(self._source, kernel, blocks, THREADS, *arguments)

    def _told(self) -> tuple[np.int64, np.int64]:
        return np.int64(self._superstep), np.int64(self._ways[0][0].num_vertices)

    def _push(self) -> tuple[int, int]:
        device, state, queues = self._device, self._state, self._queues[self._superstep % 2]
        following = self._queues[(self._superstep + 1) % 2]
        if self._tails is None:
            state.fill(0)
            for way, (pushed, _) in enumerate(self._ways):
                self._launch(
                    "queue_active", self._count, self._active, pushed.degree,
                    np.uint64(self._count), np.uint64(way), state, queues[way],
                )  # fmt: skip
            self._tails = self._read()[2:4]
        state.fill(0)
        for way, (pushed, _) in enumerate(self._ways):
            items = self._tails[way]
            device.launch(
                self._source, "push_messages",
                min(_BLOCKS * device.multiprocessors, blocks_for(items, _WARP)), THREADS,
                *self._walked(pushed), self._values, self._degree, queues[way], np.uint64(items),
                *self._told(), self._combined, self._has, state, self._receivers,
            )  # fmt: skip
        received = self._read()[4]
        second = self._ways[1][0].degree if len(self._ways) > 1 else None
        self._launch(
            "take_listed", received, self._receivers, np.uint64(received), self._degree,
            self._ways[0][0].degree, second, *self._told(), self._values, self._combined,
            self._has, state, following[0], following[-1],
        )  # fmt: skip
        size, entries, *tails, _ = self._read()
        self._tails = tuple(tails)
        return size, entries

    def _pull(self) -> tuple[int, int]:
        device, count = self._device, np.uint64(self._count)
        if self._tails is not None:
            self._active.fill(0)
            for queue, items in zip(self._queues[self._superstep % 2], self._tails, strict=False):
                self._launch("mark_active", items, queue, np.uint64(items), self._active)
            self._tails = None
        total = np.float64(0.0)
        warps = _WARP * blocks_for(self._count, BLOCK)
        if self._totals is not None:
            self._launch(
                "add_up_totals", warps, self._present, self._values, self._degree, count,
                *self._told(), self._totals,
            )  # fmt: skip
            total = np.float64(math.fsum(device.to_host(self._totals)))
        told = *self._told(), total
        if self._sent is not None:
            self._launch(
                "send_messages", self._count, self._values, self._active, self._degree, count,
                *told, self._sent,
            )  # fmt: skip
        for _, pulled in self._ways:
            self._launch(
                "pull_messages", self._count, *self._walked(pulled), self._values, self._active,
                self._degree, self._sent, count, *told, self._combined, self._has,
            )  # fmt: skip
        self._state.fill(0)
        self._launch(
            "take_all", warps, self._present, self._degree, count, *told, self._values,
            self._combined, self._has, self._active, self._state, self._changes,
        )  # fmt: skip
        size, entries, *_ = self._read()
        if self._changes is not None:
            self._changed = math.fsum(device.to_host(self._changes))
        return size, entries

    def _read(self) -> tuple[int, ...]:
        """What the kernels say, as of `_STATE`."""
        return tuple(int(word) for word in self._device.read_words(self._state))

    def _walked(self, rows: Rows) -> tuple[Any, ...]:
        """Rows and their weights as kernels take them, as float32 or float64."""
        weights: Array | None = rows.weights if self._task.weighted else None
        wide = weights is not None and weights.dtype == np.float64
        begin = rows.weight_begin if weights is not None else None
        return (*rows.walked, None if wide else weights, weights if wide else None, begin)
