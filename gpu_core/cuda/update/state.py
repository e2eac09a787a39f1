"""A graph in device memory that batches are applied to, and what that remembers between batches."""

from __future__ import annotations

from ...engine import HostTwin
from ...kind import GraphKind
from ..device.device import Device
from ..device.staging import Staging
from ..device.stream import StreamLock
from ..memory.arena import DeviceArena
from ..memory.batch_report import Report
from ..queries.device_reader import DeviceReader
from .context import LaunchContext
from .kernels import Kernels, LongRows
from .listed_room import SegmentedState


class UpdateState:
    """What applying remembers from batch to batch."""

    def __init__(self, device: Device) -> None:
        #: What kernels leave of a batch.
        self.report = Report(device)
        self.long_rows = LongRows()
        self.kernels = Kernels(device)
        self.context = LaunchContext()
        #: Of layouts of pages.
        self.segmented = SegmentedState()

    def forget(self) -> None:
        """Expect nothing: a refused batch may have asked for more than there can be."""
        self.long_rows.forget()
        self.segmented.forget()


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
        self.updates = UpdateState(device)
        #: What batches of the host go through.
        self.staging = Staging(device)

    def renewed_context(self) -> LaunchContext:
        """What compiled code is given to apply a batch, up to date."""
        updates = self.updates
        context = updates.context
        if (
            context.image_number != self.arena.image_number
            or context.long_rows_number != updates.long_rows.number
        ):
            context.renew(self)
        return context
