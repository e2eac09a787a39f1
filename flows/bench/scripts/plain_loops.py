"""The yardstick: a plain Numba loop over a CSR batch and contiguous adjacencies that never grow.

What any engine has to do at least: find the row of a vertex, put its new neighbors after or
between those that are there, count. What it leaves out: growth, page queues, atomicity, reports,
any check that the memory suffices. Every row has spare room for the largest batch, and begins on a
cache line. It runs on the same threads as the engine.

Two variants:

* ``append``: rows in no order; an insert is written after the last entry, with no look whether the
  edge is there; a delete scans the row and moves the last entry into the gap;
* ``sorted``: rows sorted, as the engine keeps them; an insert is found its place from the end, and
  an edge that is there already is left alone; entries after it move by one, a delete likewise.
"""

import numpy as np
import numpy.typing as npt

from graphtide import UpdateBatch
from graphtide.gpu_core.jit.compile import compiled
from graphtide.gpu_core.jit.parallel import for_ranges

from .edge_source import Edges

#: Entries of a cache line: rows begin at multiples.
LINE_ENTRIES = 16


@compiled
def append(low, high, rows, indptr, indices, starts, degrees, entries):
    """Write the neighbors of rows ``low … high - 1`` of the batch after those that are there."""
    count = 0
    for row in range(low, high):
        vertex = rows[row]
        start = starts[vertex]
        at = start + degrees[vertex]
        for i in range(indptr[row], indptr[row + 1]):
            entries[at] = indices[i]
            at += 1
            count += 1
        degrees[vertex] = at - start
    return count


@compiled
def remove_any(low, high, rows, indptr, indices, starts, degrees, entries):
    """Take the neighbors out of rows in no order."""
    count = 0
    for row in range(low, high):
        vertex = rows[row]
        start = starts[vertex]
        end = start + degrees[vertex]
        for i in range(indptr[row], indptr[row + 1]):
            wanted = indices[i]
            at = start
            while at < end and entries[at] != wanted:
                at += 1
            if at < end:
                end -= 1
                entries[at] = entries[end]
                count += 1
        degrees[vertex] = end - start
    return count


@compiled
def insert_sorted(low, high, rows, indptr, indices, starts, degrees, entries):
    """Put the neighbors between those that are there, in order."""
    count = 0
    for row in range(low, high):
        vertex = rows[row]
        start = starts[vertex]
        end = start + degrees[vertex]
        for i in range(indptr[row], indptr[row + 1]):
            wanted = indices[i]
            position = end
            while position > start and entries[position - 1] > wanted:
                position -= 1
            if position > start and entries[position - 1] == wanted:
                continue
            for at in range(end, position, -1):
                entries[at] = entries[at - 1]
            entries[position] = wanted
            end += 1
            count += 1
        degrees[vertex] = end - start
    return count


@compiled
def remove_sorted(low, high, rows, indptr, indices, starts, degrees, entries):
    """Take the neighbors out; what is after them moves up."""
    count = 0
    for row in range(low, high):
        vertex = rows[row]
        start = starts[vertex]
        end = start + degrees[vertex]
        for i in range(indptr[row], indptr[row + 1]):
            wanted = indices[i]
            position = start
            while position < end and entries[position] < wanted:
                position += 1
            if position == end or entries[position] != wanted:
                continue
            end -= 1
            for at in range(position, end):
                entries[at] = entries[at + 1]
            count += 1
        degrees[vertex] = end - start
    return count


class PlainLoop:
    """Contiguous adjacencies with spare room; a contender of ``updates_beside_peers.py``.

    Parameters
    ----------
    base
        The edges to begin with.
    vertices
        Vertices are ``0 … vertices - 1``.
    spare
        Entries that each row can take beyond those of ``base``.
    in_order
        The sorted variant.
    """

    takes_raw_edges = False

    def __init__(self, base: Edges, vertices: int, *, spare: int, in_order: bool) -> None:
        self.name = f"plain loop, {'sorted' if in_order else 'append'}"
        self._kernels = (insert_sorted, remove_sorted) if in_order else (append, remove_any)
        src, dst = base
        self._degrees = np.bincount(src, minlength=vertices)
        room = -(-(self._degrees + spare) // LINE_ENTRIES) * LINE_ENTRIES
        self._ends = np.cumsum(room)
        self._starts = self._ends - room
        # One line more than needed, so that entry 0 can begin on a line.
        memory = np.zeros(int(self._ends[-1]) + LINE_ENTRIES, np.uint32)
        skipped = -memory.ctypes.data % (4 * LINE_ENTRIES) // 4
        self._entries = memory[skipped:]
        order = np.lexsort((dst, src))
        self._entries[self._positions()] = dst[order]

    def reset(self, repeat: int) -> None:
        """Nothing: deleting what was inserted brings the base back."""

    def convert(self, op: int, src: npt.NDArray, dst: npt.NDArray) -> UpdateBatch:
        """Raw edges to CSR by the engine's own conversion."""
        return converted(op, src, dst, directed=True)

    def insert(self, batch: UpdateBatch) -> None:
        """Insert the batch; the room was made at the start."""
        self._run(self._kernels[0], batch.put_rows, batch.put_indptr, batch.put_indices)

    def delete(self, batch: UpdateBatch) -> None:
        """Delete the batch."""
        self._run(self._kernels[1], batch.delete_rows, batch.delete_indptr, batch.delete_indices)

    def check_room(self, src: npt.NDArray) -> None:
        """Refuse a batch that a row has no room for, before it is timed: the loop would not."""
        counts = np.bincount(src, minlength=self._degrees.size)
        if (self._starts + self._degrees + counts > self._ends).any():
            msg = "a row has no room for this batch; raise --spare"
            raise SystemExit(msg)

    def num_edges(self) -> int:
        """Count the edges."""
        return int(self._degrees.sum())

    def edges(self) -> Edges:
        """All edges, in no order."""
        vertices = np.arange(self._degrees.size)
        return np.repeat(vertices, self._degrees), self._entries[self._positions()].astype(np.int64)

    def _positions(self) -> npt.NDArray[np.int64]:
        before = np.cumsum(self._degrees) - self._degrees
        positions = np.repeat(self._starts - before, self._degrees)
        return positions + np.arange(positions.size)

    def _run(self, kernel, rows, indptr, indices) -> None:
        arrays = (rows, indptr, indices, self._starts, self._degrees, self._entries)
        counts = for_ranges(kernel, rows.size, *arrays)
        assert sum(counts) == indices.size


def converted(op: int, src: npt.NDArray, dst: npt.NDArray, *, directed: bool) -> UpdateBatch:
    """Make a batch whose rows all insert (1) or all delete (-1)."""
    ops = np.full(src.size, op, np.int8)
    return UpdateBatch.from_rows(ops, src, dst, directed=directed)
