"""Supersteps of programs in CUDA: many small ones in a launch, or a launch each, without the host.

A program is compiled by its own text (`program_text.py`); the kernels: ``programs.cuh``. What is
pushed and what pulled, and the order of messages: the host twin and ``programs/run.py``.

The device decides how each superstep is run and when the run ends, so the host starts *groups* of
launches for the mode that was chosen when it last looked: those of pushes as of `frontier.py`, a
launch for all supersteps that are small, then some for a large one each; those of pulls a few
launches a superstep. Launches that find another mode chosen end at once, and the host starts the
next group.
"""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ....programs.run import BLOCK, Ran, Start, Task
from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address
from ...grid import THREADS, WARP, blocks_for
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..in_order import put_values
from ..parts.compact_rows import bytes_of, in_rows, in_rows_bytes, zeros
from ..parts.frontier import SMALL_THREADS, queue_items, small_level
from ..parts.row_arguments import with_weights
from .program_text import source_of
from .pull_rows import TakeScratch, pulled_rows

#: A superstep is pulled where active vertices have more than one edge in so many, if a pull looks
#: at all messages.
PULL_SHARE = 2

_HEADER: Final = "program_run.cuh"
_ENDED: Final = constant(_HEADER, "ENDED")
_PUSHED: Final = constant(_HEADER, "PUSHED")
_PULLED: Final = constant(_HEADER, "PULLED")
_VERTICES_AT_ONCE: Final = constant(_HEADER, "VERTICES_AT_ONCE")
_STATE: Final = structure(_HEADER, "State")
_RUN: Final = structure(_HEADER, "Run")

#: Launches of large supersteps after each of the others.
_LARGE_SUPERSTEPS: Final = 2
#: Groups of launches that are started at first, and at most, before the host looks: of pushes, and
#: of pulls, whose launches take longer to end at once.
_PUSHED_GROUPS: Final = 1, 16
_PULLED_GROUPS: Final = 2, 8
#: Small supersteps before the host looks, some tenths of a second: only then it sees Ctrl-C, and a
#: program may be one that never ends.
SMALL_SUPERSTEPS = 1 << 16
#: Blocks a multiprocessor of a launch that walks a queue.
_BLOCKS: Final = 8


def run(
    workspace: Workspace,
    task: Task,
    adjacencies: Adjacencies,
    start: Start,
) -> Ran:
    """Run a program as the host twin does; waits for it."""
    needs_transposed, count = task.needs_transposed(adjacencies), adjacencies.out.count
    items = queue_items(adjacencies.out)
    need = (
        in_rows_bytes(workspace.device, adjacencies, weighted=task.weighted)
        if needs_transposed
        else 0
    )
    need += bytes_of(
        (4 * items + words_of(_STATE) + count + 4 * blocks_for(count, BLOCK), np.uint64),
        (2 * count, task.program.message),
        (2 * count, np.uint32),
        (count, np.uint8),
    )
    with ExitStack() as taken:

        def take_scratch(size: int) -> DeviceScratch:
            return taken.enter_context(workspace.scratch(size))

        scratch = take_scratch(need)
        if needs_transposed:
            into = in_rows(workspace.device, scratch, adjacencies, weighted=task.weighted)
            adjacencies = Adjacencies(
                adjacencies.out, replace(into, present=adjacencies.out.present)
            )
        return _Run(workspace.device, scratch, take_scratch, task, adjacencies, start).all()


class _Run:
    """Arrays and kernels of one run."""

    def __init__(
        self,
        device: Device,
        scratch: DeviceScratch,
        take_scratch: TakeScratch,
        task: Task,
        adjacencies: Adjacencies,
        start: Start,
    ) -> None:
        self._device = device
        self._weighted = task.weighted
        self._source = source_of(task.program)
        row_pairs, out = task.row_pairs(adjacencies), adjacencies.out
        pushed = [rows for rows, _ in row_pairs]
        self._count = out.count
        self._values = _first_values(device, start, out.count)
        self._active = _first_active(device, scratch, start, out)
        self._degrees = [rows.degree for rows in pushed]
        self._degree = scratch.take(out.count, np.int64)
        self._degree[:] = self._degrees[0]
        for degree in self._degrees[1:]:
            self._degree += degree
        self._run = self._take_arrays(scratch, task, out, pushed)
        #: As kernels take them; the second of pushes is not looked at where there is one direction.
        self._pushed = [with_weights(pushed[at], weighted=task.weighted) for at in (0, -1)]
        self._pulled = [
            pulled_rows(device, take_scratch, pulled, task)
            for _, pulled in (row_pairs if task.may_pull else ())
        ]

    def _take_arrays(
        self, scratch: DeviceScratch, task: Task, out: Rows, pushed: list[Rows]
    ) -> npt.NDArray[np.void]:
        """Take the other arrays of a run; returns their addresses and the numbers of ``Run``."""
        program, count, items = task.program, out.count, queue_items(out)
        combined = scratch.take(count, program.message)
        combined.fill(0 if program.neutral is None else program.neutral)
        has = zeros(scratch, count, np.uint32)
        self._sent = None if program.looks_at_weights else scratch.take(count, program.message)
        self._state = zeros(scratch, words_of(_STATE), np.uint64)
        queues = scratch.take(2 * len(pushed) * items, np.uint64)
        receivers = scratch.take(count, np.uint32)
        blocks = 2 * blocks_for(count, BLOCK)
        changes = scratch.take(blocks, np.float64) if task.tolerance >= 0 else None
        self._totals = scratch.take(blocks, np.float64) if program.total else None
        arrays = (
            self._state, self._values, self._active, self._degree, out.present, combined, has,
            self._sent, receivers, queues, changes, self._totals,
        )  # fmt: skip
        self._held = arrays
        return np.array(
            (
                *(0 if each is None else address(each) for each in arrays), items, len(pushed),
                count, out.num_vertices, sum(rows.num_entries for rows in pushed),
                task.pull_share(PULL_SHARE), task.may_push, task.max_supersteps, task.tolerance,
            ),
            dtype=_RUN,
        )  # fmt: skip

    def all(self) -> Ran:
        """Make supersteps until there are enough."""
        self._launch("begin_run", self._warps)
        if self._totals is not None:
            self._launch("add_up_totals", self._warps)
        before, groups = _PULLED, 0
        while True:
            [state] = self._device.read_words(self._state).view(_STATE)
            mode = int(state["mode"])
            if mode == _ENDED:
                done = (int(state[name]) for name in ("superstep", "pulled", "size"))
                return Ran(self._values, *done)
            if mode != before:
                groups = 0
                if mode == _PUSHED:
                    self._queue_active()
                else:
                    self._mark_active(*map(int, state["tails"]))
            first, most = _PUSHED_GROUPS if mode == _PUSHED else _PULLED_GROUPS
            groups = min(2 * groups, most) or first
            if mode == _PUSHED:
                self._push(groups, np.int64(state["superstep"]) + SMALL_SUPERSTEPS)
            else:
                self._pull(groups)
            before = mode

    def _queue_active(self) -> None:
        for direction, degree in enumerate(self._degrees):
            items = blocks_for(self._count, _VERTICES_AT_ONCE)
            self._launch("queue_active", items, degree, np.uint64(direction))

    def _mark_active(self, *tails: int) -> None:
        active = self._active
        self._device.fill_bytes(address(active), active.nbytes, 0)
        for direction, items in enumerate(tails):
            self._launch("mark_active", items, np.uint64(direction), np.uint64(items))

    def _push(self, groups: int, until: np.int64) -> None:
        device = self._device
        few, many = device.meeting_blocks, _BLOCKS * device.multiprocessors
        small, arguments = (small_level(device), until), (self._run, *self._pushed)
        for _ in range(groups):
            device.launch(
                self._source, "push_small_supersteps", few, SMALL_THREADS, *arguments, *small
            )
            for _ in range(_LARGE_SUPERSTEPS):
                device.launch(self._source, "push_messages", many, THREADS, *arguments)
                device.launch(self._source, "take_messages", many, THREADS, *arguments)

    def _pull(self, groups: int) -> None:
        read = self._values, self._active, self._degree, self._sent
        weighted = self._weighted
        given = [(pulled, pulled.arguments(weighted=weighted)) for pulled in self._pulled]
        for _ in range(groups):
            if self._sent is not None:
                self._launch("send_messages", self._count)
            for pulled, arguments in given:
                self._launch("pull_messages", pulled.threads, *arguments, *read)
            self._launch("take_all", self._warps)

    @property
    def _warps(self) -> int:
        """Threads of a launch that has a warp for each block of a sum."""
        return WARP * blocks_for(self._count, BLOCK)

    def _launch(self, kernel: str, items: int, *arguments: Any) -> None:
        blocks = blocks_for(items)
        self._device.launch(self._source, kernel, blocks, THREADS, self._run, *arguments)


def _first_active(device: Device, scratch: DeviceScratch, start: Start, out: Rows) -> Array:
    """uint8[vertex_count]: who sends in the first superstep."""
    active = scratch.take(out.count, np.uint8)
    if start.active is None:
        active[:] = out.present
    else:
        device.fill_bytes(address(active), active.nbytes, 0)
        put_values(device, np.ones(start.active.size, np.uint8), start.active, active)
    return active


def _first_values(device: Device, start: Start, count: int) -> Array:
    """[vertex_count], of the program's values."""
    if start.values.ndim:
        values = start.values
    else:
        values = device.empty(count, start.values.dtype)
        values.fill(start.values[()])
    put_values(device, start.others, start.indices, values)
    return values
