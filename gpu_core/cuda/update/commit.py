"""The end of a batch on the device: its report.

Part of   the apply path: map ids -> deltas -> plan -> allocate -> **commit**
Kernels   ``commit.cu``

The launches that write rows and records are those of `row_launches.py`; the last one of them leaves
the report, unless the host has something to add (`finish`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...image.fields import Field
from ..device.packed_arguments import address, packer
from ..structs import BLOCK
from .kernels import defines_of

if TYPE_CHECKING:
    from .state import UpdatableGraph

_CLOSING: Final = packer("image", "entries_per_edge", "more_vertices", "report")


def finish(graph: UpdatableGraph, more_vertices: int, report: int) -> None:
    """End a batch: count it in the header, write its report, and clear its fields; wait for that.

    Parameters
    ----------
    more_vertices
        Vertices that the host created for the batch, less those that the batch deleted.
    report
        Address of a `memory.batch_report.Report`.
    """
    graph.device.launch_packed(
        "commit.cu", "finish_batch", 1, BLOCK,
        _CLOSING(address(graph.image), 1 if graph.directed else 2, more_vertices, report),
        defines_of(graph.arena[Field.ENTRY_WORDS]),
    )  # fmt: skip
    graph.device.synchronize()
