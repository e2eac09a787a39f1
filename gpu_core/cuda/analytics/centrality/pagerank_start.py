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
from ...device.packed_arguments import address, pack
from ...grid import THREADS, blocks_for
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import zeros
from ..parts.row_arguments import fields

_SOURCE: Final = "pagerank_start.cu"
_SURVEY: Final = structure(_SOURCE, "Survey")


def start_of(
    workspace: Workspace,
    out: Rows,
    earlier: Array | None,
    earlier_degrees: Array | None,
    *,
    alpha: float,
    estimate: int = 0,
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
    estimate
        Address of two float64 in page-locked memory, which are 0: where degrees say something of
        the ranks, that of a vertex without edges is written there, and what each edge adds to it.
        0: nothing is.

    Returns
    -------
    start : float64[vertex_count] on the device
        Sum 1, 0 for absent vertices.
    """
    by_degrees = earlier is None or earlier_degrees is not None
    arrays = earlier, earlier_degrees, None, None
    with workspace.scratch(_SURVEY.itemsize) as scratch:
        return _make(workspace, scratch, out, arrays, alpha if by_degrees else 0.0, estimate)[0]


def start_of_same(
    workspace: Workspace,
    out: Rows,
    earlier: Array,
    earlier_degrees: Array | None,
    earlier_ids: Array | None,
    ids: Array | None,
    *,
    alpha: float,
) -> Array | None:
    """As `start_of`, but None where a vertex of the earlier ranks has left its index.

    ``ids``, ``earlier_ids``: users' ids by index now and then, int64 on the device; None: they are
    the indices.
    """
    device, arrays = workspace.device, (earlier, earlier_degrees, earlier_ids, ids)
    by_degrees = earlier_degrees is not None
    with workspace.scratch(_SURVEY.itemsize) as scratch:
        start, survey = _make(workspace, scratch, out, arrays, alpha if by_degrees else 0.0)
        if ids is not None and device.read_words(survey).view(_SURVEY)["moved"][0] > 0:
            return None
    return start


def _make(
    workspace: Workspace,
    scratch: DeviceScratch,
    out: Rows,
    earlier: tuple[Array | None, Array | None, Array | None, Array | None],
    alpha: float,
    estimate: int = 0,
) -> tuple[Array, Array]:
    """A start and its survey; ``earlier``: ranks and degrees, users' ids then and now."""
    device, count = workspace.device, out.count
    start = device.empty(count, np.float64)
    ranks, degrees, earlier_ids, ids = earlier
    survey = zeros(scratch, words_of(_SURVEY), np.uint64)
    graph = pack(*fields(out), address(out.present), count, out.num_vertices, out.num_entries)
    size = 0 if ranks is None else int(ranks.size)
    before = pack(address(ranks), address(degrees), size)
    found = pack(float(alpha), address(start), address(survey))
    blocks = blocks_for(max(count, size))
    if alpha > 0:
        device.launch_packed(
            _SOURCE, "survey_degrees", blocks, THREADS, graph + before + pack(address(survey))
        )
    device.launch_packed(
        _SOURCE, "make_start", blocks, THREADS,
        graph + before + pack(address(earlier_ids), address(ids)) + found,
    )  # fmt: skip
    device.launch_packed(
        _SOURCE, "normalize_start", blocks_for(count), THREADS, graph + found + pack(estimate)
    )
    return start, survey
