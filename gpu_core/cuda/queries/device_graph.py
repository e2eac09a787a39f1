"""A graph in device memory, by vertex index: its image, and what all of the engine asks of it.

Queries, updates and algorithms of the CUDA engine take a `DeviceGraph` and nothing above it.
"""

from contextlib import AbstractContextManager

from ...errors import EngineError
from ...image.fields import Field, Shape
from ...kind import GraphKind
from ...layouts import LAYOUTS
from ..device.device import Array, Device
from ..memory.arena import DeviceArena


class DeviceGraph:
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
        self.kind = kind
        #: How adjacencies lie.
        self.layout = LAYOUTS[kind.layout]
        #: Of the kind, what a batch asks: attributes, for behind other work each call is slow.
        self.record, self.directed, self.has_reverse = kind.record, kind.directed, kind.has_reverse
        self.combines_weights = kind.combines_weights
        self.device = device
        self.arena = arena
        #: Whether users' ids are vertex indices.
        self.has_dense_ids = bool(arena[Field.DENSE_IDS])
        #: Slots of the dictionary as last filled; another size means that it was just moved.
        self.dictionary_slots = 0
        #: Whether a batch was cut off while the image was written, or is being written.
        self.torn = False

    @property
    def is_broken(self) -> bool:
        """Whether all further calls are refused: a batch was cut off, or the device broke."""
        return self.torn or self.device.broken is not None

    @property
    def image(self) -> Array:
        """The words of the image, on the device. Valid until the next batch."""
        return self.arena.image

    def shape(self, direction: str) -> Shape:
        """Numbers that walk the adjacencies ``out`` or ``in`` (undirected: the same)."""
        self.check_whole()
        return self.arena.shape(direction)

    @property
    def vertex_count(self) -> int:
        """Vertex records in use; some of them may be of absent vertices."""
        return self.arena[Field.VERTEX_COUNT]

    @property
    def num_vertices(self) -> int:
        """Vertices in the graph."""
        return self.arena[Field.NUM_VERTICES]

    @property
    def num_edges(self) -> int:
        """Edges in the graph; an undirected edge counts once."""
        return self.arena[Field.NUM_EDGES]

    def committing(self) -> "_Committing":
        """While the image is written: an exception in here leaves the graph unusable."""
        return _Committing(self)

    def check_whole(self) -> None:
        """Raise `EngineError` if the image or the device cannot be trusted."""
        if self.device.broken is not None:
            raise EngineError(self.device.broken)
        if self.torn:
            msg = (
                "the graph was left in the middle of a batch (interrupted, or CUDA failed) and "
                "cannot be used; restore it from a checkpoint or build it anew"
            )
            raise EngineError(msg)


class _Committing(AbstractContextManager[None]):
    """A ``with`` block of `DeviceGraph.committing`. A class, since a generator is slower."""

    def __init__(self, graph: DeviceGraph) -> None:
        self._graph = graph

    def __enter__(self) -> None:
        self._graph.torn = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._graph.torn = kind is not None
