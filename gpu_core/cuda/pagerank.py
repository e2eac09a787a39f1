"""CUDA twin of PageRank: power iteration, pulled over in-edges, converged on the device.

::

    x' = alpha (P^T x + m w) + (1 - alpha) p        P = D^-1 A,  m = sum of x over dangling vertices

A step is one launch (``kernels/pagerank.cu``). It gathers the *shares* ``x[u] / strength[u]`` of
in-neighbours over a compact copy of the rows (`compact_rows.py`), makes ranks and new shares of
them, and adds up the residual, which the next step compares with the threshold. Once that is
reached, launches change nothing: the host starts as many steps as the last fall of the residual
makes likely, then looks.

Ranks are those of the host twin up to the order of sums, which is fixed on either side; ``x`` and
the shares are float64, 8 bytes a vertex and gather, so for up to some 5 million vertices they stay
in the L2 cache of an H100.

Not here: what the vectors mean, when to stop (`algorithms/pagerank.py`).

Source: see ``kernels/pagerank.cu``.
"""

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ..image import Field, Table
from .compact_rows import (
    THREADS,
    CompactRows,
    blocks_for,
    bytes_of,
    compact_rows,
    entry_count,
    in_rows,
    in_rows_bytes,
    rows_bytes,
    window_count,
    zeros,
)
from .compile import shape_argument
from .device import Array, Device
from .sorting import Scratch

if TYPE_CHECKING:
    from .engine import CudaEngine

Int64s = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]

_SOURCE: Final = "pagerank.cu"

_SLOTS: Final = 4
_FIXED_ONE: Final = 2.0**62

#: Twin of ``State`` in ``pagerank.cu``.
STATE_DTYPE: Final = np.dtype(
    [
        ("residual", np.uint64, _SLOTS),
        ("mass", np.uint64, _SLOTS),
        ("steps", np.int64),
        ("ended", np.int64),
        ("start_sum", np.uint64),
        ("moved", np.uint64),
    ]
)
_STATE_WORDS: Final = STATE_DTYPE.itemsize // 8

#: Steps that are launched before the host looks for the first time, and at most between two looks.
_FIRST_STEPS: Final = 6
_MOST_STEPS: Final = 32


class KeptRanks:
    """Ranks by vertex index that stay on the device until somebody looks at them.

    Parameters
    ----------
    device
        Whose arrays these are.
    ranks
        float64[vertex_count] on the device; negative: the vertex is absent.
    ids
        int64[vertex_count] on the device, users' ids; None: they are the indices.
    """

    def __init__(self, device: Device, ranks: Array, ids: Array | None) -> None:
        self._device = device
        self.ranks, self.ids = ranks, ids

    def by_vertex(self) -> tuple[Int64s, Vector]:
        """Users' ids in increasing order, and their ranks, in host memory."""
        ranks: Vector = self._device.to_host(self.ranks)
        present = np.flatnonzero(ranks >= 0)
        if self.ids is None:
            return present, ranks[present]
        ids: Int64s = self._device.to_host(self.ids)[present]
        if not np.all(ids[:-1] < ids[1:]):
            order = np.argsort(ids)
            present, ids = present[order], ids[order]
        return ids, ranks[present]


def out_strengths(engine: "CudaEngine", *, weighted: bool) -> Array:
    """Number of out-edges of each vertex, or the sum of their weights.

    Returns
    -------
    strengths : float64[vertex_count], on the device
        NaN where a weight is negative. (A batch takes finite weights only.)
    """
    device, count = engine.device, engine.vertex_count
    strengths = device.empty(count, np.float64)
    if not weighted:
        device.launch(
            _SOURCE, "count_strengths", blocks_for(count), THREADS, engine.image,
            shape_argument(engine.shape("out")), strengths,
        )  # fmt: skip
        return strengths
    entries = entry_count(engine)
    windows = window_count(count, entries)
    need = rows_bytes(count, entries, weighted=True) + _crossings_bytes(windows)
    with engine.arena.scratch(need) as scratch:
        rows = compact_rows(engine, scratch, "out", weighted=True)
        device.launch(
            _SOURCE, "sum_weights", rows.blocks, THREADS, *rows.windows, rows.weight,
            *_crossings(scratch, windows), strengths,
        )  # fmt: skip
    return strengths


def negative_sources(engine: "CudaEngine", strengths: Array) -> Int64s:
    """Vertex indices whose strength is NaN, because a weight is negative; waits for the device."""
    xp = engine.device.xp
    return engine.device.to_host(xp.flatnonzero(xp.isnan(strengths)))


def warm_start(engine: "CudaEngine", kept: object) -> Array | None:
    """Start from an earlier result: survivors' ranks, ``1/n`` for new vertices, sum 1.

    Returns
    -------
    start : float64[vertex_count] on the device, or None
        None where a vertex of the result has left its index, so that indices do not tell which
        vertices are the same, and where the result is not of this engine.
    """
    if not isinstance(kept, KeptRanks):
        return None
    device, count = engine.device, engine.vertex_count
    is_dense = bool(engine.arena[Field.DENSE_IDS])
    if is_dense != (kept.ids is None):
        return None
    start = device.empty(count, np.float64)
    uniform = np.float64(1.0 / engine.num_vertices)
    with engine.arena.scratch(STATE_DTYPE.itemsize) as scratch:
        state = zeros(scratch, _STATE_WORDS, np.uint64)
        image, shape = engine.image, shape_argument(engine.shape("out"))
        device.launch(
            _SOURCE, "keep_ranks", blocks_for(max(count, kept.ranks.size)), THREADS, image, shape,
            kept.ranks, np.int64(kept.ranks.size), kept.ids, None if is_dense else _ids(engine),
            uniform, start, state,
        )  # fmt: skip
        device.launch(
            _SOURCE, "normalise_ranks", blocks_for(count), THREADS, image, shape, uniform, start,
            state,
        )  # fmt: skip
        if not is_dense and device.read_words(state).view(STATE_DTYPE)["moved"][0]:
            return None
    return start


def _ids(engine: "CudaEngine") -> Array:
    return engine.arena.table(Table.VERTEX_IDS).view(np.int64)[: engine.vertex_count]


def iterate(
    engine: "CudaEngine",
    strengths: Array,
    start: "Vector | Array | None",
    teleport: Vector | None,
    dangling: Vector | None,
    *,
    alpha: float,
    weighted: bool,
    threshold: float,
    max_iter: int,
) -> tuple[KeptRanks, int, float]:
    """Make steps until the residual is at most ``threshold``, or ``max_iter`` of them.

    Parameters
    ----------
    engine
        Whose image is read.
    strengths
        float64[vertex_count] of `out_strengths`.
    start, teleport, dangling
        float64[vertex_count], each with sum 1, 0 for absent vertices: ``x``, ``p`` and ``w``.
        ``None``: the same for all present vertices.
    alpha
        Damping.
    weighted
        Whether an edge's share is by weight.
    threshold, max_iter
        When to stop.

    Returns
    -------
    ranks, iterations, residual
        Steps made, and the L1 residual of the last of them.
    """
    count = engine.vertex_count
    windows = window_count(count, entry_count(engine))
    need = in_rows_bytes(engine, weighted=weighted) + _crossings_bytes(windows)
    need += bytes_of((5 * count, np.float64), (_STATE_WORDS, np.uint64))
    with engine.arena.scratch(need) as scratch:
        rows = in_rows(engine, scratch, weighted=weighted)
        iteration = PowerIteration(
            engine, scratch, rows, strengths, start, teleport, dangling, alpha=alpha
        )
        iterations, residual = iteration.run(threshold, max_iter)
    return KeptRanks(engine.device, iteration.x, iteration.ids), iterations, residual


class PowerIteration:
    """The state between two steps; arguments as of `iterate`, and rows in scratch."""

    def __init__(
        self,
        engine: "CudaEngine",
        scratch: Scratch,
        rows: CompactRows,
        strengths: Array,
        start: "Vector | Array | None",
        teleport: Vector | None,
        dangling: Vector | None,
        *,
        alpha: float,
    ) -> None:
        self._device = device = engine.device
        count = engine.vertex_count
        self._rows, self._alpha = rows, np.float64(alpha)
        self._uniform = np.float64(1.0 / engine.num_vertices)
        self._crossings = _crossings(scratch, rows.blocks)
        self._teleport = _upload(device, scratch, teleport)
        self._dangling = (
            self._teleport if dangling is teleport else _upload(device, scratch, dangling)
        )
        self._inverse = scratch.take(count, np.float64)
        self._shares = scratch.take(count, np.float64)
        self._next_shares = scratch.take(count, np.float64)
        self._state = zeros(scratch, _STATE_WORDS, np.uint64)
        #: float64[vertex_count] on the device, the ranks so far; negative for absent vertices.
        self.x = device.empty(count, np.float64)
        #: int64[vertex_count] on the device, users' ids; None: they are the indices.
        self.ids: Array | None = None
        if not engine.arena[Field.DENSE_IDS]:
            self.ids = device.empty(count, np.int64)
            self.ids[:] = _ids(engine)
        if start is not None:
            start = device.xp.asarray(start)
        device.launch(
            _SOURCE, "begin_ranks", blocks_for(count), THREADS, engine.image,
            shape_argument(engine.shape("out")), strengths, start, self._uniform, self._inverse,
            self.x, self._shares, self._next_shares, self._state,
        )  # fmt: skip

    def run(self, threshold: float, max_iter: int) -> tuple[int, float]:
        """Make steps until the residual is at most ``threshold``, or ``max_iter`` of them.

        Returns the number of steps and the last residual.
        """
        launched, steps = 0, _FIRST_STEPS
        while True:
            for step in range(launched + 1, min(launched + steps, max_iter) + 1):
                self._launch_step(step, threshold)
                launched = step
            state = self._device.read_words(self._state).view(STATE_DTYPE)[0]
            made = int(state["steps"])
            residual, previous = (
                float(state["residual"][step % _SLOTS]) / _FIXED_ONE for step in (made, made - 1)
            )
            if residual <= threshold or made == max_iter:
                return made, residual
            steps = _steps_to(threshold, residual, previous)

    def _launch_step(self, step: int, threshold: float) -> None:
        rows = self._rows
        name, weight = ("pull", ()) if rows.weight is None else ("pull_weighted", (rows.weight,))
        self._device.launch(
            _SOURCE, name, rows.blocks, THREADS, *rows.windows, rows.indices, *weight,
            *self._crossings, self._shares, self._inverse, self._teleport, self._dangling,
            self._uniform, self._alpha, np.float64(threshold), np.int64(step), self.x,
            self._next_shares, self._state,
        )  # fmt: skip
        self._shares, self._next_shares = self._next_shares, self._shares


def _steps_to(threshold: float, residual: float, previous: float) -> int:
    """Steps to launch before the next look, if the residual goes on falling as it just did."""
    if not 0 < threshold < residual < previous:
        return _FIRST_STEPS
    # The quotient may round to 1.
    fall = max(math.log(previous / residual), 1e-9)
    return min(math.ceil(math.log(residual / threshold) / fall), _MOST_STEPS)


def _upload(device: Device, scratch: Scratch, vector: Vector | None) -> Array | None:
    if vector is None:
        return None
    array = scratch.take(vector.size, np.float64)
    array[:] = device.to_device(vector)
    return array


def _crossings_bytes(windows: int) -> int:
    return bytes_of((2 * windows, np.float64), (windows, np.uint32))


def _crossings(scratch: Scratch, windows: int) -> tuple[Array, Array, Array]:
    """Twin of ``Crossings`` in ``windows.cuh``."""
    return (
        scratch.take(windows, np.float64),
        scratch.take(windows, np.float64),
        zeros(scratch, windows, np.uint32),
    )
