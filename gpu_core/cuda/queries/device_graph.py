"""A graph in device memory by vertex index: its image, and helpers for the whole engine.

Queries, updates and algorithms of the CUDA engine take a `DeviceGraph` and nothing above it.
"""

from ...errors import EngineError
from ...image.image_graph import ImageGraph
from ...kind import GraphKind
from ...layouts import LAYOUTS
from ..device.device import Device
from ..memory.arena import DeviceArena


class DeviceGraph(ImageGraph[DeviceArena]):
    """An image in device memory, and the kind of graph that it holds.

    Parameters
    ----------
    kind
        What the graph is.
    device
        The device whose memory it lies in.
    arena
        Its image.
    """

    def __init__(self, kind: GraphKind, device: Device, arena: DeviceArena) -> None:
        super().__init__(kind, arena)
        #: How adjacencies lie.
        self.layout = LAYOUTS[kind.layout]
        self.device = device
        #: Slots of the dictionary as last filled; another size means that it was just moved.
        self.dictionary_slots = 0

    @property
    def is_broken(self) -> bool:
        """Whether all further calls are refused: a batch was cut off, or the device broke."""
        return self.torn or self.device.broken is not None

    def check_whole(self) -> None:
        """Raise `EngineError` if the image or the device cannot be trusted."""
        if self.device.broken is not None:
            raise EngineError(self.device.broken)
        super().check_whole()
