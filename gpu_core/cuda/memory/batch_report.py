"""Report of a batch, which its last kernel writes to page-locked host memory."""

from __future__ import annotations

import numpy as np

from ...image.fields import CLASSES, HEADER_FIELDS, BatchField
from ..device.device import Device
from ..device.packed_arguments import address


class DeviceReport:
    """Report that the last kernel of a batch writes to host memory."""

    def __init__(self, device: Device) -> None:
        #: int64: the header, with the batch's fields as they were at its end, and the number of
        #: free runs of each class. Valid from the wait for the batch to the next batch.
        self.words = device.page_locked(HEADER_FIELDS + CLASSES, np.int64)
        #: Where kernels write it.
        self.address = address(self.words)
        #: Of it, the header but for the fields of the batch, and the numbers of free runs; and of
        #: these fields, those of `Tally` (`host/update/tally.py`) about entries and about rows.
        self.header = self.words[: BatchField.STATUS]
        self.counts = self.words[HEADER_FIELDS:]
        self.tally = self.words[BatchField.ADDED : BatchField.REPLACED + 1]
        self.rows = self.words[BatchField.MOVED_ROWS : BatchField.MERGED_ROWS + 1]

    def __getitem__(self, field: BatchField) -> int:
        return self.words.item(field)
