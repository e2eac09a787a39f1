"""Supersteps of programs on the host: pushed by one thread, or pulled by all.

A thread pushes superstep after superstep until one is to be pulled, for a grid has thousands of
small ones. Pulling writes to the vertex that looks alone, so no two threads write the same word.
Where messages do not depend on weights each is computed once a vertex, and not once an edge.

Messages of a superstep are gathered first, ``combined`` by vertex; vertices take them afterwards,
so that all of a superstep see the values before it.

Rows are read one after the other, each from end to end: orders of vertices and remapped rows, which
have lanes of a warp work alike, are no matter here, and are not made.

Not here: the kernels (`program_kernels.py`), what a superstep is (`programs/program.py`), its
arguments, and the order in which messages are combined (`programs/run.py`).
"""

from typing import Any

import numpy as np

from ....jit.parallel import for_ranges, thread_count
from ....programs.run import BLOCK, Ran, Start, Task
from ....rows import Adjacencies, Rows
from ..parts.compact_rows import compact_rows, in_rows
from ..parts.weighted_rows import weighted_rows
from .program_arrays import Now, SuperstepInbox, SuperstepLimits, VertexStates
from .program_module import kernels_of

#: A superstep is pulled where active vertices have more than one edge in threads / `PULL_THREADS`,
#: if a pull looks at all messages: it reads all rows, but by all threads.
PULL_THREADS = 2
#: Edges that are pushed along before Python is back: some tenths of a second.
PUSH_BUDGET = 1 << 24

#: Blocks below which a thread's start costs more than it saves.
_SERIAL_BLOCKS = 4


def run(
    workspace: None,
    task: Task,
    adjacencies: Adjacencies,
    start: Start,
) -> Ran:
    """Run a program.

    Parameters
    ----------
    task
        The program, and how it may be run.
    adjacencies
        Rows of out-neighbors, and of in-neighbors where they are stored.
    start
        Values, and who sends in the first superstep.
    """
    return _Run(task, adjacencies, start).all()


class _Run:
    """State of a run between two supersteps."""

    def __init__(self, task: Task, adjacencies: Adjacencies, start: Start) -> None:
        self._task, program = task, task.program
        self._kernels = kernels_of(program)
        if task.needs_transposed(adjacencies):
            into = _rows_of(in_rows(adjacencies, weighted=task.weighted), adjacencies.out)
            adjacencies = Adjacencies(adjacencies.out, into)
        self._row_pairs = task.row_pairs(adjacencies)
        if program.all_vertices:
            # They are read in each superstep.
            self._row_pairs = [
                (pushed, _rows_of(compact_rows(pulled, weighted=task.weighted), pulled))
                for pushed, pulled in self._row_pairs
            ]
        self._out = adjacencies.out
        count = adjacencies.out.count
        values = start.values if start.values.ndim else np.full(count, start.values)
        active = np.zeros(count, np.bool_)
        values[start.indices] = start.others
        active[adjacencies.out.present if start.active is None else start.active] = True
        degrees = self._row_pairs[0][0].degree.astype(np.int64)
        for pushed, _ in self._row_pairs[1:]:
            degrees += pushed.degree
        self._vertices = VertexStates(values, active, degrees)
        self._entries = int(degrees.sum())
        self._inbox = SuperstepInbox(np.empty(count, program.message), np.zeros(count, np.bool_))
        #: Messages that do not depend on weights, by vertex.
        self._sent = np.empty(0 if program.looks_at_weights else count, program.message)
        self._superstep = 0
        self._pulled = 0
        blocks = -(-count // BLOCK)
        #: By how much a superstep changes the values of each block, where a tolerance is given.
        self._changes = np.empty(blocks if task.tolerance >= 0 else 0)
        self._totals = np.empty(blocks if program.total else 0)

    def all(self) -> Ran:
        task, (size, entries) = self._task, self._measured()
        share = task.pull_share(max(1, thread_count() // PULL_THREADS))
        while size and self._superstep != task.max_supersteps:
            if not task.may_push or entries * share > self._entries:
                size, entries = self._pull()
            else:
                size, entries = self._push(share)
        return Ran(self._vertices.values, self._superstep, self._pulled, size)

    def _measured(self) -> tuple[int, int]:
        """Active vertices, and edges that they send along."""
        _, active, degrees = self._vertices
        return int(np.count_nonzero(active)), int(degrees[active].sum())

    def _now(self) -> Now:
        return Now(np.int64(self._superstep), np.int64(self._out.num_vertices), 0.0)

    def _push(self, share: int) -> tuple[int, int]:
        """Push supersteps until one is to be pulled, or none is left."""
        count = self._out.count
        queues = np.empty(count, np.uint32), np.empty(count, np.uint32)
        begun = np.flatnonzero(self._vertices.active)
        queues[0][: begun.size] = begun
        first, second = (
            weighted_rows(self._row_pairs[at][0], weighted=self._task.weighted) for at in (0, -1)
        )
        self._superstep, size, entries = self._kernels.push(
            (first, second, len(self._row_pairs)), queues, begun.size, self._vertices, self._inbox,
            self._now(),
            SuperstepLimits(self._task.max_supersteps, self._entries, share, PUSH_BUDGET),
        )  # fmt: skip
        return size, entries

    def _pull(self) -> tuple[int, int]:
        kernels, vertices, count = self._kernels, self._vertices, self._vertices.values.size
        present, now, blocks = self._out.present, self._now(), -(-count // BLOCK)
        if self._totals.size:
            for_ranges(
                kernels.add_up, blocks, vertices, present, now, self._totals,
                serial_items=_SERIAL_BLOCKS,
            )  # fmt: skip
            now = now._replace(total=kernels.add_blocks(self._totals))
        if self._sent.size:
            for_ranges(kernels.send, count, vertices, now, self._sent)
        for _, pulled in self._row_pairs:
            rows = weighted_rows(pulled, weighted=self._task.weighted)
            for_ranges(kernels.pull, count, rows, vertices, self._sent, now, self._inbox)
        parts = for_ranges(
            kernels.take, blocks, vertices, present, now, self._inbox, self._changes,
            serial_items=_SERIAL_BLOCKS,
        )  # fmt: skip
        self._superstep += 1
        self._pulled += 1
        if self._changes.size and kernels.add_blocks(self._changes) <= self._task.tolerance:
            # Values that hardly change leave no vertex active.
            return 0, 0
        return sum(size for size, _ in parts), sum(entries for _, entries in parts)


def _rows_of(compact: Any, like: Rows) -> Rows:
    begin = compact.indptr[:-1]
    weights = compact.weight if compact.weight.size else None
    return Rows(
        begin, np.diff(compact.indptr).astype(np.uint32), like.present, compact.indices, 1,
        like.num_entries, like.num_vertices, compact.indptr, weights, begin,
    )  # fmt: skip
