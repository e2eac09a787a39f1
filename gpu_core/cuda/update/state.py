"""A graph in device memory that can be updated, and its state between batches."""

from __future__ import annotations

from ...engine import HostTwin
from ...image.fields import BatchField, BatchStatus
from ...kind import GraphKind
from ..device.device import Device
from ..device.sorting.key_buckets import Skew
from ..device.staging import Staging
from ..device.stream import StreamLock
from ..memory.arena import DeviceArena
from ..memory.batch_report import DeviceReport
from ..queries.device_reader import DeviceReader
from .context import LaunchContext
from .kernels import UpdateKernels
from .pages.listed_rows import ListedRows
from .rows.long_rows import LongRows


class UpdateState:
    """State of the apply path that is kept from batch to batch."""

    def __init__(self, device: Device, *, is_paged: bool) -> None:
        #: What kernels leave of a batch.
        self.report = DeviceReport(device)
        #: What is provided for rows that a batch may have, as earlier ones had them.
        self.expected: LongRows | ListedRows = ListedRows() if is_paged else LongRows()
        #: Of the vertices that batches name.
        self.skew = Skew()
        self.kernels = UpdateKernels(device)
        self.context = LaunchContext()

    def provide(self) -> None:
        """Provide for the batch of the report, which found too little: it is applied again."""
        if self.report[BatchField.STATUS] == BatchStatus.OVERFULL:
            self.skew.meet()
        else:
            self.expected.provide(self.report)


class UpdatableGraph(DeviceReader):
    """A `DeviceReader` that batches are applied to.

    Parameters
    ----------
    kind, device, arena
        As of `DeviceReader`, as is ``host_engine``.
    lock
        Its holder works on the engines' own stream; it is held now.
    """

    def __init__(
        self,
        kind: GraphKind,
        device: Device,
        arena: DeviceArena,
        lock: StreamLock,
        host_engine: HostTwin,
    ) -> None:
        super().__init__(kind, device, arena, lock, arena.scratch, host_engine)
        self.updates = UpdateState(device, is_paged=arena.layout.is_paged)
        #: What batches of the host go through.
        self.staging = Staging(device)

    def renewed_context(self) -> LaunchContext:
        """Arguments of the compiled apply path, brought up to date."""
        updates = self.updates
        context = updates.context
        if (
            context.image_number != self.arena.image_number
            or context.expected_number != updates.expected.number
        ):
            context.renew(
                self.arena, self.lock.handle, updates.report, updates.kernels, updates.expected,
                create_vertices=self.kind.create_vertices,
            )  # fmt: skip
        return context
