"""A graph by vertex index, whatever memory it is in: its kind, its image, and whether it is whole.

If a batch is cut off while the image is written (Ctrl-C in a notebook), the graph says so and
refuses to go on. An engine adds what it reads and writes, by kernels of its own.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from ..errors import EngineError
from ..kind import GraphKind
from ..rows import Array
from .fields import Field, Shape
from .view import ImageView

Arena = TypeVar("Arena", bound=ImageView)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ImageGraph(Generic[Arena]):
    """An image, and the kind of graph that it holds.

    Parameters
    ----------
    kind
        What the graph is.
    arena
        Its image; empty, or a copy of another engine's.
    """

    def __init__(self, kind: GraphKind, arena: Arena) -> None:
        self.kind, self.arena = kind, arena
        #: Properties of the kind that each batch reads, as attributes: after other work calls are
        #: slow.
        self.record, self.directed, self.has_reverse = kind.record, kind.directed, kind.has_reverse
        #: Whether a batch was cut off while the image was written, or is being written.
        self.torn = False

    @property
    def is_broken(self) -> bool:
        """Whether all further calls are refused, since a batch was cut off."""
        return self.torn

    @property
    def image(self) -> Array:
        """The words of the image. Valid until the next batch."""
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
        """Raise `EngineError` if the image cannot be trusted."""
        if self.torn:
            msg = (
                "the graph was left in the middle of a batch (interrupted, or memory or device "
                "failed) and cannot be used; restore it from a checkpoint or rebuild it"
            )
            raise EngineError(msg)


class _Committing(AbstractContextManager[None]):
    """A ``with`` block of `ImageGraph.committing`. A class, since a generator is slower."""

    def __init__(self, graph: ImageGraph[Any]) -> None:
        self._graph = graph

    def __enter__(self) -> None:
        self._graph.torn = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._graph.torn = kind is not None


class _Lockable(Protocol):
    """A graph whose image is read and written under a lock."""

    @property
    def lock(self) -> AbstractContextManager[Any, bool | None]: ...

    def check_whole(self) -> None: ...


Lockable = TypeVar("Lockable", bound=_Lockable)


def with_whole_image(
    call: Callable[Concatenate[Lockable, Arguments], Result],
) -> Callable[Concatenate[Lockable, Arguments], Result]:
    """A method that holds the graph's lock, and is refused if the image cannot be trusted."""

    @wraps(call)
    def locked(graph: Lockable, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with graph.lock:
            graph.check_whole()
            return call(graph, *arguments, **named)

    return locked
