"""Where the steps of PageRank start: at earlier ranks, or near the ranks by degrees alone.

``pagerank_start.cu`` makes a start in two or three launches, and nothing waits for them. Which of
both it is to be is found on the device.

Formulas, reasons and sources: the host twin.
"""

from typing import Final

import numpy as np

from ....rows import Rows
from ...device.declarations import structure, words_of
from ...device.device import Array
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS, blocks_for, zeros

_SOURCE: Final = "pagerank_start.cu"
_SURVEY: Final = structure(_SOURCE, "Survey")


def start_of(
    workspace: Workspace,
    out: Rows,
    earlier: Array | None,
    earlier_degrees: Array | None,
    *,
    alpha: float,
) -> Array:
    """A start from earlier ranks by index, or from none.

    Parameters
    ----------
    earlier
        float64[any] on the device, negative: the vertex was absent. None: there are no ranks; the
        graph is undirected.
    earlier_degrees
        uint32[as many], of the undirected graph that they are of, as it is now. None: degrees do
        not count.
    alpha
        Damping.

    Returns
    -------
    start : float64[vertex_count] on the device
        Sum 1, 0 for absent vertices.
    """
    by_degrees = earlier is None or earlier_degrees is not None
    arrays = earlier, earlier_degrees, None, None
    with workspace.scratch(_SURVEY.itemsize) as scratch:
        return _make(workspace, scratch, out, arrays, alpha if by_degrees else 0.0)[0]


def start_of_same(
    workspace: Workspace, out: Rows, earlier: Array, earlier_ids: Array | None, ids: Array | None
) -> Array | None:
    """A start from earlier ranks by index, None where one of their vertices has left its own.

    ``1/n`` for new vertices; degrees do not count. ``ids``, ``earlier_ids``: users' ids by index
    now and then, int64 on the device; None: they are the indices.
    """
    device, arrays = workspace.device, (earlier, None, earlier_ids, ids)
    with workspace.scratch(_SURVEY.itemsize) as scratch:
        start, survey = _make(workspace, scratch, out, arrays, 0.0)
        if ids is not None and device.read_words(survey).view(_SURVEY)["moved"][0] > 0:
            return None
    return start


def _make(
    workspace: Workspace,
    scratch: DeviceScratch,
    out: Rows,
    earlier: tuple[Array | None, Array | None, Array | None, Array | None],
    alpha: float,
) -> tuple[Array, Array]:
    """A start and its survey; ``earlier``: ranks and degrees, users' ids then and now."""
    device, count = workspace.device, out.count
    start = device.empty(count, np.float64)
    ranks, degrees, earlier_ids, ids = earlier
    survey = zeros(scratch, words_of(_SURVEY), np.uint64)
    graph = (
        *out.walked, out.present, np.int64(count), np.int64(out.num_vertices),
        np.int64(out.num_entries),
    )  # fmt: skip
    before = ranks, degrees, np.int64(0 if ranks is None else ranks.size)
    blocks, damping = blocks_for(max(count, int(before[2]))), np.float64(alpha)
    if alpha > 0:
        device.launch(_SOURCE, "survey_degrees", blocks, THREADS, *graph, *before, survey)
    device.launch(
        _SOURCE, "make_start", blocks, THREADS, *graph, *before, earlier_ids, ids, damping, start,
        survey,
    )  # fmt: skip
    device.launch(
        _SOURCE, "normalize_start", blocks_for(count), THREADS, *graph, damping, start, survey
    )
    return start, survey
