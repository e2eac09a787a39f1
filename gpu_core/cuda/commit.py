"""Write the halves of a batch on the device, once it is known what they come to and take.

Part of   the apply path: halves -> plan -> serve_demand -> **commit**
Kernels   ``kernels/commit.cu``, ``kernels/long_rows.cu``
Twin      ``host/commit.py`` (`rewrite`)

One launch a half; where long rows are provided for, two more before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..image import CLASSES, HEADER_FIELDS, Field
from .compile import shape_argument
from .plan import BLOCK, TILE_BLOCKS, Plan, Struct, address, defines_of

if TYPE_CHECKING:
    from .arena import Taken
    from .batch import DeviceBatch
    from .device import Array
    from .engine import CudaEngine
    from .free_runs import Service

_LONG: Final = "long_rows.cu"

_PROPERTIES: Final = Struct("weight", "type", "first", "last", "reset")
_NO_PROPERTIES: Final = _PROPERTIES.of(0, 0, 0, 0, 0)
_RUNS: Final = Struct("service", "taken", "tree", "geometry")

#: Rows of a block at least: as many as it has groups of lanes.
_LEAST_ROWS: Final = 32
#: Blocks that run on a multiprocessor at once.
_BLOCKS_AT_ONCE: Final = 4


def rewrite(
    engine: CudaEngine,
    plans: list[Plan],
    batch: DeviceBatch,
    served: Service | Taken,
    *,
    vertex_count: int | None = None,
    more_vertices: int = 0,
    report: Array | None = None,
) -> None:
    """Write all halves; what rows leave is entered as free.

    Parameters
    ----------
    plans
        Of `plan.make_plans`, at least one.
    served
        Runs handed out for them.
    vertex_count
        Vertex records now, where the table has grown, or the image has been replaced, since the
        plans were made.
    more_vertices, report
        If this ends the batch (`finish`).
    """
    properties = _NO_PROPERTIES
    if engine.record.properties:
        properties = _PROPERTIES.of(
            address(batch.put_weight), address(batch.put_type), address(batch.put_first),
            address(batch.put_last), address(batch.put_reset),
        )  # fmt: skip
    arena, device = engine.arena, engine.device
    runs = _RUNS.of(
        address(served.service), address(served.taken), address(arena.tree),
        address(arena.geometry),
    )  # fmt: skip
    tile_blocks = TILE_BLOCKS * device.multiprocessors
    for plan in plans:
        shape = plan.shape_argument
        if vertex_count is not None:
            shape = shape_argument(arena.shape(plan.direction)._replace(vertex_count=vertex_count))
        about = (engine.image, shape, plan.half_argument, plan.plan_argument)

        def launch(file: str, kernel: str, blocks: int, *arguments: Any, plan: Plan = plan) -> None:
            device.launch(file, kernel, blocks, BLOCK, *arguments, defines=plan.defines)

        if plan.has_long:
            launch(_LONG, "stage_long", tile_blocks, *about, runs)
            launch(_LONG, "commit_long", tile_blocks, *about, properties, runs)
        rows = _LEAST_ROWS
        while rows < BLOCK and plan.half.max_rows > rows * _BLOCKS_AT_ONCE * device.multiprocessors:
            rows *= 2
        launch(
            "commit.cu", "commit_rows", -(-plan.half.max_rows // rows), *about, properties, runs,
            np.int32(rows), *_closing(engine, more_vertices),
            report if plan is plans[-1] else None,
        )  # fmt: skip


def finish(engine: CudaEngine, more_vertices: int, report: Array) -> None:
    """End a batch: count it in the header, copy the header to ``report``, and clear its fields.

    Parameters
    ----------
    more_vertices
        Vertices that the batch created, less those that it deleted.
    report
        int64[`report_words`], on the device.
    """
    engine.device.launch(
        "commit.cu", "finish_batch", 1, BLOCK, engine.image, *_closing(engine, more_vertices),
        report, defines=defines_of(engine.arena[Field.ENTRY_WORDS]),
    )  # fmt: skip


def report_words() -> int:
    """int64 words of a report: the header, and the number of free runs of each class."""
    return HEADER_FIELDS + CLASSES


def _closing(engine: CudaEngine, more_vertices: int) -> tuple[np.int64, np.int64]:
    """Entries of an edge in the forward half, and the change of the number of vertices."""
    return np.int64(1 if engine.directed else 2), np.int64(more_vertices)
