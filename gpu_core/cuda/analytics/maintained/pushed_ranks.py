"""PageRank after a small change in CUDA: residuals of earlier ranks, pushed until they are small.

Residuals are computed from nothing, by one pass over the rows where they lie. Then rounds: all
vertices are looked at, and those with large residuals push them to their out-neighbors. Where
changes spread slowly, as on grids and among near neighbors, few vertices do; where they spread fast
it is given up (`algorithms/maintained/pushing.py`). Kernels: ``pushed_ranks.cu``.

The host engine keeps residuals from batch to batch instead
(`host/analytics/maintained/maintained_pagerank.py`).
"""

from typing import Final

import numpy as np

from ....algorithms.maintained.pagerank_residuals import Totals
from ....rows import Adjacencies
from ...device.declarations import constant, structure, words_of
from ...device.device import Array
from ...device.packed_arguments import address, pack
from ...device.pending_read import done_when_broken_off
from ...memory.workspace import Workspace
from ..centrality.pagerank import KeptRanks
from ..parts.compact_rows import bytes_of
from ..parts.slices import THREADS as SLICE_THREADS
from ..parts.slices import in_slices, in_slices_bytes

_SOURCE: Final = "pushed_ranks.cu"

_PULL_BLOCKS: Final = constant(_SOURCE, "PULL_BLOCKS")
_BEGIN_BLOCKS: Final = constant(_SOURCE, "BEGIN_BLOCKS")
_BEGIN_THREADS: Final = constant(_SOURCE, "BEGIN_THREADS")
_ROUND_BLOCKS: Final = constant(_SOURCE, "ROUND_BLOCKS")
_ROUND_THREADS: Final = constant(_SOURCE, "ROUND_THREADS")
_PART: Final = constant(_SOURCE, "PART")
_STATE: Final = structure(_SOURCE, "State")
_REPORT: Final = structure(_SOURCE, "Report")
_ITEM: Final = structure(_SOURCE, "Item")
_IS_DONE: Final = constant(_SOURCE, "IS_DONE")

#: ``y`` of all vertices together, about.
WHOLE: Final = float(constant(_SOURCE, "WHOLE"))

#: Vertices and entries pushed in one round at most, and in all of them, as shares of the graph's
#: entries: an atomic operation takes as long as two or three entries of a step.
_MOST_PUSHED: Final = 1 / 4
_MOST_WORK: Final = 2


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
) -> tuple[KeptRanks, int, Totals] | None:
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

    Returns
    -------
    ranks, rounds, totals
        None where it would take too long.
    """
    device, out = workspace.device, adjacencies.out
    count, entries = out.count, out.num_entries
    items = count + entries // _PART
    need = in_slices_bytes(device, adjacencies, in_place=True)
    need += bytes_of(
        (4 * count, np.int64), (items, _ITEM), (count, np.uint8), (words_of(_STATE), np.uint64)
    )
    with workspace.scratch(need) as scratch, done_when_broken_off(device):
        masses, residuals = scratch.reserve(8 * count), scratch.reserve(8 * count)
        shares, queue = scratch.reserve(8 * count), scratch.reserve(_ITEM.itemsize * items)
        last, pushed = scratch.reserve(8 * count), scratch.reserve(count)
        state = scratch.reserve(8 * words_of(_STATE))
        device.fill_bytes(state, 8 * words_of(_STATE), 0)
        present, degree = address(out.present), address(out.degree)
        device.launch_packed(
            _SOURCE, "begin_masses", _BEGIN_BLOCKS * device.multiprocessors, _BEGIN_THREADS,
            pack(
                present, degree, count, address(earlier.ranks), int(earlier.ranks.size),
                1.0 / out.num_vertices, alpha, masses, shares, residuals, state,
            ),
        )  # fmt: skip
        # While the device has the first launch to do.
        rows = in_slices(device, scratch, adjacencies, in_place=True)
        device.launch_packed(
            _SOURCE, "pull_residuals", _PULL_BLOCKS * device.multiprocessors, SLICE_THREADS,
            rows.arguments + rows.chunk_sums + pack(rows.indices, masses, shares, residuals, state),
        )  # fmt: skip
        report = device.page_locked(words_of(_REPORT), np.uint64)
        ranks = device.empty(count, np.float64)
        device.launch_together(
            _SOURCE, "push_rounds", _ROUND_BLOCKS, _ROUND_THREADS,
            pack(
                present, address(out.begin), degree, address(out.columns), out.step, count,
                out.num_vertices, entries, alpha, 0.0 if adjacencies.directed else alpha,
                tolerance, rounding, least, int(entries * _MOST_PUSHED), entries * _MOST_WORK,
                masses, residuals, last, pushed, queue, address(ranks), state,
                report.ctypes.data,
            ),
        )  # fmt: skip
        device.synchronize()
        found = report.view(_REPORT)[0]
    if found["end"] != _IS_DONE:
        return None
    mass, below = found["masses"].view(np.int64).tolist()
    absolute, signed = (int(found[each].view(np.int64)) for each in ("absolute", "signed_sum"))
    kept = KeptRanks(device, ranks, None if ids is None else ids.copy())
    return kept, int(found["rounds"]), Totals(absolute, signed, mass, below)
