"""Neighbor sampling in CUDA: one thread for each vertex that is expanded, or edge that is found.

Kernels: ``neighbor_sampling.cu`` draws, ``vertex_numbers.cu`` numbers what is found. A sample stays
in device memory; the host waits for sizes alone. By weight or time a thread
reads all of its row: a hub of a million entries takes one thread tens of milliseconds.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....algorithms.sampling.neighbor_sampling import ALL, REFUSED, Sampled, SamplingMode
from ....rows import Rows
from ...device.declarations import structure
from ...device.device import Array
from ...device.packed_arguments import address
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.row_arguments import one_way, with_weights

_DRAWS: Final = "neighbor_sampling.cu"
_NUMBERS: Final = "vertex_numbers.cu"

_TIMES: Final = structure(_DRAWS, "Times")

#: Of keys and numbers in free slots of the table: all bits are set.
_FREE: Final = 0xFF


class Sampler:
    """A sample that grows hop by hop.

    Parameters are those of the host twin, rows and times on the device.
    """

    def __init__(
        self, workspace: Workspace, rows: Rows, given: npt.NDArray[np.uint32], mode: SamplingMode
    ) -> None:
        self._device = device = workspace.device
        self._rows = rows
        self._mode = mode
        seen = mode.seen
        self._bounds = None if seen is None else device.to_device(seen.bounds)
        trees = np.arange(given.size, dtype=np.uint64) if mode.disjoint else np.uint64(0)
        #: uint64: tree and index of each vertex, by its number.
        self._keys = device.to_device(trees << np.uint64(32) | given)
        #: Number of the first vertex that has not been expanded.
        self._first = 0
        #: The hash table: keys, and numbers.
        self._table: tuple[Array, Array] | None = None
        #: int64[2, e] of each hop.
        self._edges: list[Array] = []
        self._vertices_per_hop = [given.size]

    def expand(self, fanout: int, first_word: np.uint64) -> npt.NDArray[np.uint32]:
        """Sample the rows of the vertices found by the hop before, as the host twin. Waits."""
        device, (replace, weighted, _, seen) = self._device, self._mode
        keys = self._keys[self._first :]
        count = keys.size
        frontier = device.empty(count, np.uint32)
        slots = device.empty(count + 1, np.int64)
        bounds = None if seen is None else device.empty(count, np.int64)
        device.launch(
            _NUMBERS, "open_hop", blocks_for(count + 1), THREADS, keys, np.int64(count),
            self._rows.degree, np.int64(fanout), np.uint32(replace), self._bounds,
            np.int64(0 if self._bounds is None else self._bounds.size), frontier, slots, bounds,
        )  # fmt: skip
        slots = self._summed(slots)
        size = int(device.read_words(slots[-1:])[0])
        found = device.empty(size, np.uint32)
        drawn = frontier, slots, np.int64(count), first_word, np.uint32(replace)
        if not weighted and seen is None:
            device.launch(
                _DRAWS, "sample_alike", blocks_for(count), THREADS, one_way(self._rows), *drawn,
                found,
            )  # fmt: skip
            self._number(found, slots, slots, size)
            return np.empty(0, np.uint32)
        filled = device.empty(count + 1, np.int64)
        self._choose(drawn, bounds, found, filled, takes_all=fanout == ALL)
        refused = np.empty(0, np.uint32)
        if weighted:
            is_refused = filled[1:] == REFUSED
            refused = device.to_host(frontier[is_refused])
        if not refused.size:
            self._number(found, slots, self._summed(device.xp.maximum(filled, 0)), size)
        return refused

    def sampled(self, ids: Array | None) -> Sampled:
        """The sample, as of the host twin."""
        xp = self._device.xp
        indices = self._keys & np.uint64(0xFFFFFFFF)
        return Sampled(
            indices.astype(np.int64) if ids is None else ids[indices.astype(np.int64)],
            (self._keys >> np.uint64(32)).astype(np.int64) if self._mode.disjoint else None,
            xp.concatenate([self._device.empty(0, np.int64).reshape(2, 0), *self._edges], axis=1),
            self._vertices_per_hop,
            [each.shape[1] for each in self._edges],
        )

    def _choose(
        self,
        drawn: tuple[object, ...],
        bounds: Array | None,
        found: Array,
        filled: Array,
        *,
        takes_all: bool,
    ) -> None:
        """Draw by weight, or of edges seen before a time; ``filled`` begins with 0."""
        device, rows, mode = self._device, self._rows, self._mode
        seen, out = mode.seen, None if mode.seen is None else mode.seen.out
        times = (0, 0, 0)
        if seen is not None:
            times = address(seen.times.indptr), address(seen.times.values), address(bounds)
        device.launch(
            _DRAWS, "sample_chosen", blocks_for(filled.size), THREADS,
            with_weights(rows, weighted=mode.weighted), np.array(times, dtype=_TIMES), one_way(out),
            *drawn, np.uint32(takes_all), device.empty(found.size, np.float64), found, filled,
        )  # fmt: skip

    def _summed(self, counts: Array) -> Array:
        """Sum of the counts up to each."""
        with self._device.errors_named("adding up a sample"):
            return self._device.xp.cumsum(counts)

    def _number(self, found: Array, slots: Array, ends: Array, size: int) -> None:
        """Number what was found: ``ends[-1]`` vertices, in ``size`` slots. Waits."""
        device = self._device
        known, first = self._keys.size, self._first
        owners = np.int64(known - first)
        table = self._room_for(known + size)
        at, is_new = device.empty(size, np.int64), device.empty(size, np.int64)
        edges = device.empty(2 * size, np.int64).reshape(2, size)
        keys, counts = device.empty(known + size, np.uint64), device.empty(2, np.int64)
        keys[:known] = self._keys
        blocks = blocks_for(size)
        of_edges = ends, owners
        device.launch(
            _NUMBERS, "enter_found", blocks, THREADS, found, slots, *of_edges, keys,
            np.int64(first), np.int64(known), *table, at, edges[1],
        )  # fmt: skip
        device.launch(
            _NUMBERS, "find_new", blocks, THREADS, *of_edges, np.int64(size), np.int64(known),
            table[1], at, is_new,
        )  # fmt: skip
        ranks = self._summed(is_new)
        device.launch(
            _NUMBERS, "number_found", blocks, THREADS, *of_edges, np.int64(known), table[1], at,
            ranks, edges[0],
        )  # fmt: skip
        device.launch(
            _NUMBERS, "settle_new", blocks_for(size + 1), THREADS, *of_edges, np.int64(size),
            np.int64(known), *table[:2], at, is_new, ranks, keys, counts,
        )  # fmt: skip
        count, new = (int(each) for each in device.read_words(counts))
        self._keys, self._first = keys[: known + new], known
        self._edges.append(edges[:, :count])
        self._vertices_per_hop.append(new)

    def _room_for(self, count: int) -> tuple[Array, Array, np.int64]:
        """Keys, numbers and size in bits of a table for ``count`` vertices, with the known ones."""
        device = self._device
        bits = (2 * count).bit_length()
        if self._table is None or self._table[0].size < 2 * count:
            self._table = device.empty(1 << bits, np.uint64), device.empty(1 << bits, np.uint64)
            for array in self._table:
                array.view(np.uint8).fill(_FREE)
            known = self._keys.size
            device.launch(
                _NUMBERS, "enter_known", blocks_for(known), THREADS, self._keys, np.int64(known),
                *self._table, np.int64(bits),
            )  # fmt: skip
        return *self._table, np.int64(self._table[0].size.bit_length() - 1)
