"""PageRank after a small change in CUDA: residuals of earlier ranks, pushed until they are small.

Residuals are computed from nothing, by one pass over the rows where they lie. Then rounds: all
vertices are looked at, and those with large residuals push them to their out-neighbors. Where
residuals lie all over the graph, all vertices make a step, and the next residuals are computed from
nothing again: that round is *pulled*. When it is all given up: `algorithms/maintained/pushing.py`.
Kernels: ``pushed_ranks.cu``.

The host engine keeps residuals from batch to batch instead
(`host/analytics/maintained/maintained_pagerank.py`).
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from ....algorithms.maintained.pagerank_residuals import Totals
from ....algorithms.maintained.pushing import MeanField, PushedRanks
from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address, pack
from ...device.pending_read import done_when_broken_off
from ...memory.workspace import Workspace
from ..centrality.pagerank import KeptRanks
from ..parts.compact_rows import bytes_of
from ..parts.hubs.hub_cache import NO_CACHE, HubCache, fits_cache, hub_cache, hub_cache_bytes
from ..parts.slices import THREADS as SLICE_THREADS
from ..parts.slices import Slices, in_slices, in_slices_bytes

_SOURCE: Final = "pushed_ranks.cu"

_PULL_BLOCKS: Final = constant(_SOURCE, "PULL_BLOCKS")
_CACHED_PULL_THREADS: Final = constant(_SOURCE, "CACHED_PULL_THREADS")
_BEGIN_BLOCKS: Final = constant(_SOURCE, "BEGIN_BLOCKS")
_BEGIN_THREADS: Final = constant(_SOURCE, "BEGIN_THREADS")
_ROUND_BLOCKS: Final = constant(_SOURCE, "ROUND_BLOCKS")
_ROUND_THREADS: Final = constant(_SOURCE, "ROUND_THREADS")
_PART: Final = constant(_SOURCE, "PART")
_STATE: Final = structure(_SOURCE, "State")
_REPORT: Final = structure(_SOURCE, "Report")
_ITEM: Final = structure(_SOURCE, "Item")
_IS_DONE: Final = constant(_SOURCE, "IS_DONE")
_NEEDS_PULL: Final = constant(_SOURCE, "NEEDS_PULL")

#: ``y`` of all vertices together, about.
WHOLE: Final = float(constant(_SOURCE, "WHOLE"))

#: Vertices and entries pushed in one round at most, and in all of them, as shares of the graph's
#: entries: an atomic operation takes as long as two or three entries of a pull.
_MOST_PUSHED: Final = 1 / 4
_MOST_WORK: Final = 3
#: Pulls that are started together where more were needed than before.
_MORE_PULLS: Final = 2


def can_push(adjacencies: Adjacencies) -> bool:
    """Whether there are rows of in-neighbors whose entries lie side by side."""
    return adjacencies.into is not None and adjacencies.into.step == 1


def push(
    workspace: Workspace,
    adjacencies: Adjacencies,
    ids: Array | None,
    earlier: KeptRanks,
    *,
    alpha: float,
    tolerance: float,
    rounding: float,
    least: int,
    most_residual: float,
    field: MeanField,
) -> PushedRanks | None:
    """Push residuals of earlier ranks, by index; waits for the device.

    Parameters
    ----------
    adjacencies
        Of a graph with a vertex, for which `can_push` is true.
    ids
        int64[vertex_count], users' ids by index; None: they are the indices.
    tolerance, rounding
        ``A + |S| + 4 N + rounding`` is to be at most ``tolerance Y``, in the words of
        `maintained_pagerank.py`.
    least
        Residuals up to this are not pushed.
    most_residual
        ``A`` beyond ``most_residual Y`` is too much.
    field
        What degrees say of the earlier ranks.

    Returns
    -------
    PushedRanks
        None where it would take too long.
    """
    device, out = workspace.device, adjacencies.out
    count, entries = out.count, out.num_entries
    items = count + entries // _PART
    is_cached = earlier.hubs > 0 and fits_cache(device, count)
    need = in_slices_bytes(device, adjacencies, in_place=True)
    need += bytes_of(
        (4 * count, np.int64), (items, _ITEM), (count, np.uint8), (words_of(_STATE), np.uint64)
    )
    need += hub_cache_bytes(device) if is_cached else 0
    with workspace.scratch(need) as scratch, done_when_broken_off(device):
        cache = hub_cache(device, scratch, out.degree) if is_cached else HubCache(NO_CACHE, 0)
        masses, residuals = scratch.reserve(8 * count), scratch.reserve(8 * count)
        shares, queue = scratch.reserve(8 * count), scratch.reserve(_ITEM.itemsize * items)
        last, pushed = scratch.reserve(8 * count), scratch.reserve(count)
        state = scratch.reserve(8 * words_of(_STATE))
        device.fill_bytes(state, 8 * words_of(_STATE), 0)
        vertices = pack(address(out.present), address(out.degree), count)
        blocks = _BEGIN_BLOCKS * device.multiprocessors
        device.launch_packed(
            _SOURCE, "begin_masses", blocks, _BEGIN_THREADS,
            vertices + pack(address(earlier.ranks), int(earlier.ranks.size))
            + _mean_field(field, earlier, out)
            + pack(alpha, masses, shares, residuals, state) + cache.arguments,
        )  # fmt: skip
        # While the device has the first launch to do.
        rows = in_slices(device, scratch, adjacencies, in_place=True)
        vectors = pack(masses, shares, residuals, out.num_vertices, state)
        pull = _puller(device, rows, cache, vectors)
        pull()
        # While it has that to do.
        report = device.page_locked(words_of(_REPORT), np.int64)
        ranks = device.empty(count, np.float64)
        rounds_arguments = pack(
            address(out.present), address(out.begin), address(out.degree), address(out.columns),
            out.step, count, out.num_vertices, entries, alpha,
            0.0 if adjacencies.directed else alpha, tolerance, rounding, most_residual, least,
            int(entries * _MOST_PUSHED), entries * _MOST_WORK, masses, residuals, last, pushed,
            queue, address(ranks), state, report.ctypes.data,
        )  # fmt: skip
        step_arguments = vertices + pack(alpha, masses, shares, residuals, last, pushed, state)
        step_arguments += cache.arguments

        def push_rounds() -> None:
            device.launch_together(
                _SOURCE, "push_rounds", _ROUND_BLOCKS, _ROUND_THREADS, rounds_arguments
            )

        push_rounds()
        pulls_ahead = earlier.pulls
        while True:
            for _ in range(pulls_ahead):
                device.launch_packed(_SOURCE, "step_masses", blocks, _BEGIN_THREADS, step_arguments)
                pull()
                push_rounds()
            device.synchronize()
            # The fields of `_REPORT`, in their order.
            end, rounds, pulls, mass, below, absolute, signed = report.tolist()
            if end != _NEEDS_PULL:
                break
            pulls_ahead = _MORE_PULLS
    if end != _IS_DONE:
        return None
    kept = KeptRanks(device, ranks, None if ids is None else ids.copy())
    kept.hubs, kept.pulls = earlier.hubs, pulls
    return PushedRanks(kept, rounds, Totals(absolute, signed, mass, below))


def _mean_field(field: MeanField, earlier: KeptRanks, out: Rows) -> bytes:
    """``MeanField`` of ``pushed_ranks.cu``."""
    now = field.for_graph(out.num_entries, out.num_vertices)
    if now.edge == 0 or earlier.degrees is None:
        return pack(0, 1.0 / out.num_vertices, 0.0, 0.0)
    shrinks = now.edge * ((now.entries - field.entries) / now.entries)
    return pack(address(earlier.degrees), now.isolated, now.edge, shrinks)


def _puller(device: Device, rows: Slices, cache: HubCache, vectors: bytes) -> Callable[[], None]:
    """The launch that computes residuals."""
    arguments = rows.arguments + rows.chunk_sums + pack(rows.indices) + vectors

    def pull() -> None:
        if cache.shared_bytes:
            device.launch_packed(
                _SOURCE, "pull_cached_residuals", device.multiprocessors, _CACHED_PULL_THREADS,
                arguments + cache.arguments, shared_bytes=cache.shared_bytes,
            )  # fmt: skip
            return
        device.launch_packed(
            _SOURCE, "pull_residuals", _PULL_BLOCKS * device.multiprocessors, SLICE_THREADS,
            arguments,
        )  # fmt: skip

    return pull
