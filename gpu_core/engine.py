"""What every engine offers: a dynamic graph by vertex index.

An engine holds the image, in memory that it can work on, and knows vertex indices; users' ids are
met only where a call takes or gives them. `DynamicGraph` sees an engine through `Engine` alone;
queries, exports and algorithms see it, or an epoch of it, through `Reader`. Which engines there
are, and which one a graph gets: `engines.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .algorithms.shared.twins import Twins
from .batch.protocols import Batch, ListedBatch
from .changes import Changing
from .image.accounts import Outcome
from .image.memory import MemoryReport
from .image.view import ImageView
from .kind import GraphKind
from .rows import Array, EntryTimes, Rows

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]


class SentBatch(Protocol):
    """A batch on its way to an engine's memory, which `DynamicGraph.apply` takes in its place."""

    @property
    def batch(self) -> Callable[[], Batch]:
        """Wait for what was sent, and make the batch of it."""


class BatchFeed(Protocol):
    """Sends batches to an engine's memory before they are due."""

    def lock(self, memory: Any, room: int) -> None:
        """Page-lock memory that batches are sent from again and again."""

    def send(self, batch: Any) -> SentBatch:
        """Begin to send a batch; returns what `DynamicGraph.apply` takes in its place."""


class Maintained(Protocol):
    """A result that follows each batch, or *stale*: to be recomputed on request.

    An analytic that has some says so, ``Analytic.maintained``. It goes by rows, changed edges and
    arrays of its own; who calls it, and when: `maintenance.py`.

    ``reader`` is the graph, or an epoch of it, whose lock the caller holds.
    """

    #: Name of its twin in ``analytics`` of an engine that maintains it so.
    twin: str
    #: Whether it needs the in-neighbors of a directed graph to follow its batches.
    needs_reverse: bool
    #: What `arrays` may return: file of a checkpoint, without its ending -> arrays in it -> type
    #: there. In ``vertices`` an array has an item for each vertex index; in another file all have
    #: the same number of items. A name belongs to one analytic, and to no array of the graph.
    kept: Mapping[str, Mapping[str, str]]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters that it was made with, by the names of the analytic's parameters."""

    @property
    def is_stale(self) -> bool:
        """Whether there is no state; `begin` makes one."""

    @property
    def nbytes(self) -> int:
        """Bytes of the state, where the engine works; 0 of a stale one."""

    def begin(self, reader: Reader) -> None:
        """Compute the state from nothing."""

    def settle(self, reader: Reader) -> None:
        """Finish what batches have left to do, before an epoch is pinned; begin where stale."""

    def follows(self, reader: Reader, edges: int) -> bool:
        """Whether it follows a batch of so many edges; else it becomes stale, and none are listed.

        ``reader``: the graph before it, whose batches wait.
        """

    def follow(self, reader: Reader, edges: Array, *, is_added: bool) -> None:
        """Take one step of a batch, or become stale where `begin` costs less.

        Parameters
        ----------
        reader
            The graph that has all of ``edges``: before the batch where it removes them, after it
            where it adds them. A batch that does both removes first.
        edges
            Keys of the changed edges, at least one; see `changes.py`.
        """

    def forget(self) -> None:
        """Become stale."""

    def state(self, reader: Reader) -> Any:
        """Result that replaces the costly part of the analytic; recomputed where it is stale.

        None: the analytic computes that part better by itself.
        """

    def frozen(self) -> Maintained:
        """Copy it for an epoch of the graph as it is; shares arrays, which do not change then."""

    def arrays(self, reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
        """The state as arrays of a checkpoint; nothing where a stale one keeps none."""

    def restore(self, reader: Reader, arrays: Mapping[str, npt.NDArray[np.generic]]) -> bool:
        """Take the state from such arrays; returns whether they are among these."""

    def audited(self, reader: Reader) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """State by vertex index, and the same computed from nothing, which is kept from then on.

        Nothing of a stale one.
        """


@runtime_checkable
class LeftToEpochs(Protocol):
    """A `Maintained` that an epoch may bring up to date in its place, beside batches that go on."""

    def leave_to(self, frozen: Maintained, epoch: Pinned) -> None:
        """Go on from what ``frozen``, the copy that an epoch has just been given, will find."""


class Reader(Protocol):
    """A graph by vertex index, to be read: of an engine, or an epoch of one.

    Arrays that come out are NumPy's, copies unless stated otherwise. A caller of more than one
    method and needs the same graph for all holds ``lock``.
    """

    @property
    def name(self) -> str:
        """``host`` or ``cuda``."""

    @property
    def ordinal(self) -> int | None:
        """Which GPU, among those that CUDA counts; None: host memory."""

    @property
    def kind(self) -> GraphKind:
        """Kind of the graph."""

    @property
    def lock(self) -> AbstractContextManager[Any, bool | None]:
        """Re-entrant; held by every call of `GraphReader`."""

    @property
    def algorithms(self) -> Twins:
        """The engine's modules with the inner loops of the algorithms, by their names."""

    @property
    def workspace(self) -> object:
        """What these functions take first: device and scratch; None on the host."""

    @property
    def maintained(self) -> dict[str, Maintained]:
        """Maintained results, by the names of their analytics; see `maintenance.py`."""

    @property
    def arena(self) -> ImageView:
        """The image and its regions."""

    def check_whole(self) -> None:
        """Raise `EngineError` if the image cannot be trusted; an epoch that is closed says so."""

    @property
    def vertex_count(self) -> int:
        """Vertex records in use; some of them may be of absent vertices."""

    @property
    def num_vertices(self) -> int:
        """Vertices in the graph."""

    @property
    def num_edges(self) -> int:
        """Edges in the graph; an undirected edge counts once."""

    def rows(self, direction: str, *, weighted: bool = False) -> Rows:
        """Rows of the direction ``out`` or ``in`` (undirected: the same), valid until a batch."""

    def pinned_rows(self, direction: str, *, weighted: bool = False) -> Rows:
        """Copy the rows of a direction, to memory of their own."""

    def entry_times(self, name: str) -> EntryTimes:
        """Copy the times ``first`` or ``last`` of all edges; kept until the next batch."""

    def present(self) -> npt.NDArray[np.bool_]:
        """bool[vertex_count]: whether each vertex is in the graph."""

    def user_ids(self) -> Int64s:
        """int64[vertex_count]: users' ids; undefined where the vertex is absent."""

    def sorted_order(self) -> Int64s:
        """int64[num_vertices]: indices of the vertices, in increasing order of users' ids."""

    def indices_at(self, positions: Int64s) -> UInt32s:
        """Vertex indices at some positions of that order, which is not brought to the host."""

    def indices_of(self, ids: Int64s) -> UInt32s:
        """Vertex index of each of users' ids; `NONE` for ids that are not in the graph."""

    def ids_of(self, indices: UInt32s) -> Int64s:
        """Users' id of each vertex index."""

    def queued_vertices(self) -> UInt32s:
        """Freed vertex indices in the order in which they will be used again."""

    def degrees(self, indices: UInt32s, direction: str = "out") -> Int64s:
        """int64: degree of each vertex index; 0 for `NONE`."""

    def neighbors(self, indices: UInt32s, direction: str = "out") -> tuple[Int64s, UInt32s]:
        """Adjacencies of several vertices as CSR (indptr, columns), columns by index."""

    def has_edges(self, sources: UInt32s, targets: UInt32s) -> npt.NDArray[np.bool_]:
        """Return for each pair of vertex indices whether it is an edge; no pair with `NONE` is."""

    def edge_property(
        self, name: str, sources: UInt32s, targets: UInt32s
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
        """As `has_edges`, and a property of the record of each edge, 0 of no edge."""

    def csr(self, order: Int64s) -> tuple[Int64s, UInt32s, dict[str, npt.NDArray[np.generic]]]:
        """Adjacencies of the vertices ``order`` as CSR: indptr, columns, properties.

        Columns are positions in ``order``, increasing within a row.
        """

    def order(self) -> Array | None:
        """Vertex indices in increasing order of users' ids, in the engine's memory.

        None may stand for 0, 1, 2 …
        """

    def ids_in_order(self, order: Array) -> Array:
        """int64[num_vertices]: users' ids in that order, likewise."""

    def id_table(self) -> Array | None:
        """int64[vertex_count]: users' ids by index, where they lie; None: they are the indices."""


class Pinned(Reader, Protocol):
    """The graph after one batch, in memory of its own."""

    @property
    def nbytes(self) -> int:
        """Bytes of that memory."""

    @property
    def is_closed(self) -> bool:
        """Whether it was given back."""

    def close(self) -> None:
        """Give the memory back, once nothing works on it any more."""


class Engine(Reader, Protocol):
    """A dynamic graph by vertex index."""

    @property
    def batch_lock(self) -> AbstractContextManager[Any, bool | None]:
        """The same lock, as it is held while a batch is applied."""

    @property
    def is_broken(self) -> bool:
        """Whether the engine refuses all further calls, because the image cannot be trusted."""

    def pin(self, spare_bytes: int = 0) -> Pinned:
        """Copy the graph as it is, if ``spare_bytes`` are left beside the copy. ``lock`` is held.

        Raises
        ------
        ArenaFullError
            There is no room for the copy.
        """

    def compile_ahead(self, analytics: Collection[str] = (), *, raw: bool = False) -> None:
        """Begin to compile what a run will need, if the engine compiles anything by itself.

        Returns at once. ``analytics``: their names. ``raw``: rows are converted by the engine.
        """

    def feed(self) -> BatchFeed | None:
        """Make the feed, which sends batches ahead to the engine's memory; None: it is ours."""

    @property
    def batch_of_rows(self) -> Callable[..., Any]:
        """Makes a batch of rows, for `apply`; called as `UpdateBatch.of_rows`.

        It may be on its way to the engine's memory (`received`): rows that are refused may then be
        refused there.
        """

    @property
    def batch_types(self) -> Collection[type]:
        """Types of batches that `received` knows."""

    def received(self, batch: Any) -> ListedBatch:
        """The batch that a feed has sent; others unchanged. ``batch_lock`` is held."""

    def mean_degree(self, batch: Any) -> float | None:
        """Entries of a row that a batch alone makes, on the mean; None where it puts no edge.

        See `batch.mean_degree`.
        """

    def size_pages(self, mean: float | None) -> None:
        """Replace an image without a vertex by one with pages for rows of so many entries.

        None: with pages as the kind alone asks for.
        """

    def apply(self, batch: Any) -> Outcome:
        """Apply a batch for a graph of this kind, whole or not at all.

        Raises
        ------
        BatchError
            The batch breaks its own rules or lies in memory that the engine does not work on, an id
            cannot be a vertex of this graph, or an end point is missing.
        ArenaFullError
            The batch does not fit.
        EngineError
            The engine broke, now or earlier; see ``is_broken``.
        """

    def expired(self, until: int) -> ListedBatch:
        """Make the batch that deletes all edges whose last time is ``until`` or before.

        ``lock`` is held until it is applied. Only of graphs with times, in whose unit ``until`` is.
        """

    def changing(self, batch: Any) -> Changing:
        """Look up what a valid batch is about to change. ``lock`` is held."""

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Fill the empty engine with what `checkpoint.checkpoint_arrays` returned.

        Raises
        ------
        ArenaFullError
            The graph does not fit within the limit; the engine is of no use.
        """

    def memory(self) -> MemoryReport:
        """Bytes by region."""

    def verify(self, level: str) -> None:
        """Raise `CorruptImageError` that names the first invariant that does not hold."""

    def image_bytes(self) -> memoryview:
        """Bytes of the image without scratch. Valid until the next batch."""


class HostTwin(Protocol):
    """Makes a host engine over an image in host memory; how an engine on a device asks for one."""

    def __call__(self, kind: GraphKind, image: UInt32s) -> Engine:
        """Engine over ``image``."""
