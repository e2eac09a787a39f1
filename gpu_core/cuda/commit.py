"""The end of a batch on the device: its report.

Part of   the apply path: halves -> plan -> serve_demand -> **commit**
Kernels   ``kernels/commit.cu``

The launches that write rows and records are those of `batch_launches.py`; the last one of them
leaves the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..image import CLASSES, HEADER_FIELDS, BatchField, Field
from .batch_launches import BLOCK
from .packed_arguments import address, packer
from .plan import defines_of

if TYPE_CHECKING:
    from .device import Device
    from .engine import CudaEngine

_CLOSING: Final = packer("image", "sides", "more_vertices", "report")


class Report:
    """What the last kernel of a batch tells the host, in memory of the host."""

    def __init__(self, device: Device) -> None:
        #: int64: the header, with the batch's fields as they were at its end, and the number of
        #: free runs of each class. Valid from the wait for the batch to the next batch.
        self.words = device.page_locked(HEADER_FIELDS + CLASSES, np.int64)
        #: Where kernels write it.
        self.address = address(self.words)
        #: Of it, the header but for the fields of the batch, and the numbers of free runs; and of
        #: these fields, those of `host.plan.Tally` about entries and about rows.
        self.header = self.words[: BatchField.STATUS]
        self.counts = self.words[HEADER_FIELDS:]
        self.tally = self.words[BatchField.ADDED : BatchField.REPLACED + 1]
        self.rows = self.words[BatchField.MOVED_ROWS : BatchField.MERGED_ROWS + 1]

    def __getitem__(self, field: BatchField) -> int:
        return self.words.item(field)


def finish(engine: CudaEngine, more_vertices: int, report: int) -> None:
    """End a batch: count it in the header, write its report, and clear its fields; wait for that.

    Parameters
    ----------
    more_vertices
        Vertices that the host created for the batch, less those that the batch deleted.
    report
        Address of a `Report`.
    """
    engine.device.launch_packed(
        "commit.cu", "finish_batch", 1, BLOCK,
        _CLOSING(address(engine.image), 1 if engine.directed else 2, more_vertices, report),
        defines_of(engine.arena[Field.ENTRY_WORDS]),
    )  # fmt: skip
    engine.device.synchronize()
