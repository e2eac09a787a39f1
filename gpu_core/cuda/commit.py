"""Write the halves of a batch on the device, once it is known what they come to and take.

Part of   the apply path: halves -> plan -> serve_demand -> **commit**
Kernels   ``kernels/commit.cu``, ``kernels/long_rows.cu``
Twin      ``host/commit.py`` (`rewrite`)

One launch a half; where long rows are provided for, two more before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..image import CLASSES, HEADER_FIELDS, Field
from .packed_arguments import address, packer
from .plan import BLOCK, TILE_BLOCKS, Plan, defines_of

if TYPE_CHECKING:
    from .batch import DeviceBatch
    from .device import Device
    from .engine import CudaEngine
    from .free_runs import Service

_LONG: Final = "long_rows.cu"

_RUNS: Final = packer("service", "taken", "tree", "geometry")
_ROWS: Final = packer("block_rows", "sides", "report")
_CLOSING: Final = packer("image", "sides", "more_vertices", "report")

#: Rows of a block at least: as many as it has groups of lanes.
_LEAST_ROWS: Final = 32
#: Blocks that run on a multiprocessor at once.
_BLOCKS_AT_ONCE: Final = 4


class Report:
    """What the last kernel of a batch tells the host, in memory of the host."""

    def __init__(self, device: Device) -> None:
        #: int64: the header, with the batch's fields as they were at its end, and the number of
        #: free runs of each class. Valid from the wait for the batch to the next batch.
        self.words = device.page_locked(HEADER_FIELDS + CLASSES, np.int64)
        #: Where kernels write it.
        self.address = address(self.words)


def rewrite(
    engine: CudaEngine,
    plans: list[Plan],
    batch: DeviceBatch,
    served: Service,
    vertex_count: int,
    report: int = 0,
) -> None:
    """Write all halves; what rows leave is entered as free.

    Parameters
    ----------
    plans
        Of `plan.make_plans`, at least one.
    served
        Runs handed out for them.
    vertex_count
        Vertex records now: the table may have grown since the plans were made.
    report
        If this ends the batch, address as of `finish`; no vertices are taken out then, and only
        such are new as kernels have found.
    """
    arena, device = engine.arena, engine.device
    launch = device.launch_packed
    runs = _RUNS(served.service, served.taken, address(arena.tree), address(arena.geometry))
    for plan in plans:
        about = arena.image_argument(plan.direction, vertex_count) + plan.argument
        form = plan.defines
        if plan.has_long:
            blocks = TILE_BLOCKS * device.multiprocessors
            launch(_LONG, "stage_long", blocks, BLOCK, about + runs, form)
            launch(_LONG, "commit_long", blocks, BLOCK, about + batch.properties + runs, form)
        rows = _LEAST_ROWS
        while rows < BLOCK and plan.half.max_rows > rows * _BLOCKS_AT_ONCE * device.multiprocessors:
            rows *= 2
        how = _ROWS(rows, _sides(engine), report if plan is plans[-1] else 0)
        arguments = b"".join((about, batch.properties, runs, how))
        launch("commit.cu", "commit_rows", -(-plan.half.max_rows // rows), BLOCK, arguments, form)


def finish(engine: CudaEngine, more_vertices: int, report: int) -> None:
    """End a batch: count it in the header, write its report, and clear its fields.

    Parameters
    ----------
    more_vertices
        Vertices that the host created for the batch, less those that the batch deleted.
    report
        Address of a `Report`.
    """
    engine.device.launch_packed(
        "commit.cu", "finish_batch", 1, BLOCK,
        _CLOSING(address(engine.image), _sides(engine), more_vertices, report),
        defines_of(engine.arena[Field.ENTRY_WORDS]),
    )  # fmt: skip


def _sides(engine: CudaEngine) -> int:
    """Entries of an edge in the forward half."""
    return 1 if engine.directed else 2
