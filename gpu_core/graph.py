"""DynamicGraph: a large, changing graph as a library. No cluster, no files, plain arrays.

All calls are vectorized, arrays in and arrays out, in users' own int64 ids; results are sorted by
them. A graph is changed by batches only (`UpdateBatch`); ``insert_edges`` and its three siblings
make a batch of their arguments. A batch is atomic: applied whole, or, on any error, not at all.

Not here: update logs (`graphtide.io`), Dask (`graphtide.pipeline`), other forms of a graph
(`graphtide.to_networkx` and its siblings).
"""

import hashlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from .adjacency_view import AdjacencyView
from .algorithms import clustering as _clustering
from .algorithms import pagerank as _pagerank
from .algorithms import triangles as _triangles
from .arguments import (
    Ids,
    arena_sizes,
    as_ids,
    batch_of_call,
    count_of,
    one_of,
    size_of,
    yes_or_no,
)
from .batch import UpdateBatch
from .batch_rows import check_self_loops
from .engines import make_engine
from .errors import BatchError, SettingsError, VertexNotFoundError
from .image import NONE
from .layouts import LAYOUTS
from .memory import MemoryReport
from .records import STORAGES, record_named
from .report import BatchReport
from .snapshot import CanonicalEdges, CsrSnapshot, checkpoint_arrays, state_hash

if TYPE_CHECKING:
    from .cuda.batch import DeviceBatch
    from .cuda.feed import Feed, Upload

Int64s = npt.NDArray[np.int64]

ID_KINDS = ("any", "dense")


class DynamicGraph:
    """A graph that takes batches of inserts and deletes, in memory that it manages itself.

    Parameters
    ----------
    directed
        Whether ``(u, v)`` and ``(v, u)`` are different edges.
    records
        ``"simple"``, ``"weighted"`` (weight) or ``"semantic"`` (weight, type, first and last time).
    storage
        ``"soa"`` or ``"aos"``: whether the words of an entry lie apart or together in a block.
    layout
        ``"runs"`` (contiguous adjacencies) or ``"chain"`` (linked pages).
    engine
        ``"host"``: in this machine's memory, on its cores. ``"cuda"``: on one NVIDIA GPU, layout
        ``"runs"`` only. ``"auto"``: ``"cuda"`` where it can be had, else ``"host"``.
    ids
        ``"any"``: any int64, through a dictionary. ``"dense"``: the id is the vertex index, from 0;
        faster and smaller, the vertex table reaches to the largest id seen.
    reverse
        Directed graphs: keep who points to a vertex too. Twice the memory; makes PageRank and
        vertex deletes fast and ``predecessors`` possible.
    self_loops
        ``"drop"`` (as if the row were not there), ``"keep"`` (directed only) or ``"reject"``.
    create_vertices
        Whether inserting an edge creates its end points; otherwise that is an error.
    arena_bytes, max_arena_bytes
        First size of the one allocation, and the size that it may grow to. With ``arena_bytes``
        alone it does not grow; with neither it grows up to three quarters of the
        memory that the process may use (of the GPU's, with the ``cuda`` engine).
    page_bytes
        Page size, a power of two from 16 to 4096; by default 32 for runs and 128 for chain.
    expected_edges
        Edges that the graph may come to hold, where that is known: without ``arena_bytes`` room for
        them is taken at once, in a quarter of the memory at most, instead of growing on the way.
        It is no limit.

    Examples
    --------
    >>> import graphtide
    >>> graph = graphtide.DynamicGraph(directed=False)
    >>> graph.insert_edges([1, 2, 3], [2, 3, 1]).edges_added
    3
    >>> graph.neighbors(2)
    array([1, 3])
    """

    def __init__(
        self,
        *,
        directed: bool = True,
        records: str = "simple",
        storage: str = "soa",
        layout: str = "runs",
        engine: str = "auto",
        ids: str = "any",
        reverse: bool = True,
        self_loops: str = "drop",
        create_vertices: bool = True,
        arena_bytes: int | None = None,
        max_arena_bytes: int | None = None,
        page_bytes: int | None = None,
        expected_edges: int = 0,
    ) -> None:
        record = record_named(records)
        one_of("storage", storage, STORAGES)
        one_of("layout", layout, tuple(LAYOUTS))
        one_of("ids", ids, ID_KINDS)
        directed = yes_or_no("directed", directed)
        check_self_loops(self_loops, directed=directed)
        reverse = yes_or_no("reverse", reverse)
        create_vertices = yes_or_no("create_vertices", create_vertices)
        arena_bytes, max_arena_bytes = arena_sizes(arena_bytes, max_arena_bytes)
        page_bytes = size_of("page_bytes", page_bytes)
        self._directed = directed
        self._records = records
        self._storage = storage
        self._layout = layout
        self._ids = ids
        self._reverse = reverse
        self._self_loops = self_loops
        self._create_vertices = create_vertices
        #: Calls that changed the graph, or may have: a view of an earlier state is stale.
        self._changes = 0
        self._engine = make_engine(
            engine,
            record=record,
            directed=directed,
            reverse=reverse,
            soa=storage == "soa",
            layout=layout,
            dense_ids=ids == "dense",
            page_bytes=page_bytes,
            arena_bytes=arena_bytes,
            expected_edges=count_of("expected_edges", expected_edges),
            limit_bytes=max_arena_bytes,
        )

    # -- what the graph is -------------------------------------------------------------------

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._directed

    @property
    def records(self) -> str:
        """Edge records: ``simple``, ``weighted`` or ``semantic``."""
        return self._records

    @property
    def storage(self) -> str:
        """``soa`` or ``aos``."""
        return self._storage

    @property
    def layout(self) -> str:
        """``runs`` or ``chain``."""
        return self._layout

    @property
    def engine(self) -> str:
        """The engine that works on the image: ``host`` or ``cuda``."""
        return self._engine.name

    @property
    def ids(self) -> str:
        """``any`` or ``dense``."""
        return self._ids

    @property
    def reverse(self) -> bool:
        """Whether in-neighbours can be asked for (undirected graphs: always)."""
        return self._engine.has_reverse

    @property
    def self_loops(self) -> str:
        """What happens to self loops: ``drop``, ``keep`` or ``reject``."""
        return self._self_loops

    @property
    def create_vertices(self) -> bool:
        """Whether inserting an edge creates its end points."""
        return self._create_vertices

    @property
    def num_vertices(self) -> int:
        """Vertices in the graph."""
        return self._engine.num_vertices

    @property
    def num_edges(self) -> int:
        """Edges in the graph; an undirected edge counts once."""
        return self._engine.num_edges

    def __repr__(self) -> str:
        kind = "directed" if self._directed else "undirected"
        return (
            f"<DynamicGraph {kind} {self._records}, {self.num_vertices:,} vertices, "
            f"{self.num_edges:,} edges, {self._layout} on {self.engine}>"
        )

    # -- changing it -------------------------------------------------------------------------

    def feed(self) -> "Feed | None":
        """What sends batches to the GPU ahead of their turn; None with the ``host`` engine."""
        return self._engine.feed()

    def apply(self, batch: "UpdateBatch | DeviceBatch | Upload") -> BatchReport:
        """Apply a batch, whole or not at all.

        Now and then a batch also has the graph laid out anew, which takes as long as a few batches
        do: when rows that come and go have left many pages free, and ``max_arena_bytes`` has room
        for a second image.

        Parameters
        ----------
        batch
            Made by `UpdateBatch.from_rows` with this graph's ``directed`` and ``records``; the
            ``cuda`` engine also takes a `cuda.batch.DeviceBatch`, and what its `feed` has sent.

        Raises
        ------
        BatchError
            The batch is of another kind of graph, names ids that cannot be vertices here, or,
            without ``create_vertices``, end points that do not exist.
        ArenaFullError
            The batch does not fit into the arena and its limit. The graph is as before; its rows
            may have been moved closer together.
        EngineError
            The engine broke: a batch was cut off (Ctrl-C, no memory) while the image was written,
            or the GPU failed. It refuses all calls from then on.
        """
        start = time.perf_counter()
        engine = self._engine
        with engine.batch_lock:
            received = engine.received(batch)
            if (
                getattr(received, "directed", None) != self._directed
                or received.records != self._records
            ):
                self._refuse(received)
            self._changes += 1
            outcome = engine.apply(received, create_vertices=self._create_vertices)
            return BatchReport(
                received.batch_id,
                received.rows,
                received.dropped,
                received.overridden,
                *outcome,
                {"apply": time.perf_counter() - start},
            )

    def _refuse(self, batch: "UpdateBatch | DeviceBatch") -> NoReturn:
        """Refuse what is no batch, or one for another kind of graph."""
        if not hasattr(batch, "directed"):
            msg = f"{type(batch).__name__} is no batch; make one with UpdateBatch.from_rows"
            raise BatchError(msg)
        msg = (
            f"batch {batch.batch_id} is for directed={batch.directed}, "
            f"records={batch.records!r}; the graph has directed={self._directed}, "
            f"records={self._records!r}"
        )
        raise BatchError(msg)

    def insert_edges(
        self,
        src: Ids,
        dst: Ids,
        *,
        weight: npt.ArrayLike | None = None,
        type: npt.ArrayLike | None = None,  # noqa: A002 - the column's name in logs and exports
        ts: npt.ArrayLike | None = None,
    ) -> BatchReport:
        """Insert edges; one that exists is updated. ``ts`` is needed for semantic records.

        Parameters
        ----------
        src, dst
            int64[n] each: end points.
        weight, type, ts
            float, int32 and int64 [n] each, or one value for all.
        """
        return self._apply_rows(1, src, dst, weight=weight, type=type, ts=ts)

    def delete_edges(self, src: Ids, dst: Ids, *, ts: npt.ArrayLike | None = None) -> BatchReport:
        """Delete edges; one that does not exist counts as missing."""
        return self._apply_rows(-1, src, dst, ts=ts)

    def insert_vertices(self, vertices: Ids) -> BatchReport:
        """Insert vertices; one that exists counts as updated."""
        return self._apply_rows(1, vertices, None)

    def delete_vertices(self, vertices: Ids) -> BatchReport:
        """Delete vertices with all their edges; one that does not exist counts as missing."""
        return self._apply_rows(-1, vertices, None)

    def _apply_rows(self, op: int, src: Ids, dst: Ids | None, **columns: Any) -> BatchReport:
        batch = batch_of_call(
            op,
            src,
            dst,
            columns,
            record=self._engine.record,
            directed=self._directed,
            self_loops=self._self_loops,
            create_vertices=self._create_vertices,
        )
        return self.apply(batch)

    # -- asking it ---------------------------------------------------------------------------

    def vertices(self) -> Int64s:
        """int64[n]: users' ids of all vertices, increasing."""
        with self._engine.lock:
            return self._engine.user_ids()[self._engine.sorted_order()]

    def has_vertices(self, vertices: Ids) -> npt.NDArray[np.bool_]:
        """Tell for each id whether it is a vertex of the graph."""
        with self._engine.lock:
            return self._engine.indices_of(as_ids("vertices", vertices)) != NONE

    def has_edges(self, src: Ids, dst: Ids) -> npt.NDArray[np.bool_]:
        """Tell for each pair whether it is an edge; unknown vertices have none."""
        sources, targets = as_ids("src", src), as_ids("dst", dst)
        if sources.size != targets.size:
            msg = f"src has {sources.size} items, dst has {targets.size}; give pairs"
            raise BatchError(msg)
        engine = self._engine
        with engine.lock:
            return engine.has_edges(engine.indices_of(sources), engine.indices_of(targets))

    def neighbors(self, vertex: int) -> Int64s:
        """int64[d]: ids of the out-neighbours (undirected: neighbours), increasing."""
        return self._adjacent(vertex, "out")

    def predecessors(self, vertex: int) -> Int64s:
        """int64[d]: ids of the in-neighbours, increasing. Needs ``reverse``."""
        self._need_reverse("predecessors")
        return self._adjacent(vertex, "in")

    def degrees(self, vertices: Ids | None = None) -> Int64s:
        """int64: out-degree of each vertex given, or of all in the order of `vertices`."""
        return self._degrees(vertices, "out")

    def in_degrees(self, vertices: Ids | None = None) -> Int64s:
        """int64: in-degree of each vertex given, or of all in the order of `vertices`."""
        self._need_reverse("in_degrees")
        return self._degrees(vertices, "in")

    def _need_reverse(self, what: str) -> None:
        if not self._engine.has_reverse:
            msg = f"{what} needs the reverse adjacency; make the graph with reverse=True"
            raise SettingsError(msg)

    def _known(self, ids: Int64s) -> npt.NDArray[np.uint32]:
        indices = self._engine.indices_of(ids)
        unknown = ids[indices == NONE]
        if unknown.size:
            more = f" and {unknown.size - 1} more" if unknown.size > 1 else ""
            msg = f"vertex {unknown[0]}{more} is not in the graph; has_vertices() tells which are"
            raise VertexNotFoundError(msg)
        return indices

    def _adjacent(self, vertex: int, direction: str) -> Int64s:
        engine = self._engine
        with engine.lock:
            indices = self._known(as_ids("vertex", [vertex]))
            _, columns = engine.neighbours(indices, direction)
            return np.sort(engine.ids_of(columns))

    def _degrees(self, vertices: Ids | None, direction: str) -> Int64s:
        engine = self._engine
        with engine.lock:
            if vertices is None:
                indices = engine.sorted_order().astype(np.uint32)
            else:
                indices = self._known(as_ids("vertices", vertices))
            return engine.degrees(indices, direction)

    def adjacency_view(self, direction: str = "out") -> AdjacencyView:
        """Adjacencies where they lie, without a copy, until the next call that changes the graph.

        Parameters
        ----------
        direction
            ``out``, or ``in``, which needs ``reverse``.

        Raises
        ------
        SettingsError
            The direction is unknown or not stored, or the layout is ``chain``.
        """
        if direction not in ("out", "in"):
            msg = f"direction={direction!r} is unknown; use 'out' or 'in'"
            raise SettingsError(msg)
        if direction == "in":
            self._need_reverse("adjacency_view('in')")
        engine = self._engine
        with engine.lock:
            taken = self._changes
            return AdjacencyView(
                engine.arena, direction, engine.user_ids(), lambda: self._changes == taken
            )

    # -- copies ------------------------------------------------------------------------------

    def to_csr(self) -> CsrSnapshot:
        """Copy the graph as CSR over its vertices in increasing order of ids."""
        engine = self._engine
        with engine.lock:
            order = engine.sorted_order()
            indptr, columns, properties = engine.csr(order)
            ids = engine.user_ids()[order]
        return CsrSnapshot(ids, indptr, columns.view(np.int32), properties, self._directed)

    def edges(self) -> CanonicalEdges:
        """Copy the edges, sorted by (src, dst); undirected: each once, ``src <= dst``."""
        return self.to_csr().edges()

    def checkpoint_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Everything that a restart needs, by vertex index.

        Returns
        -------
        dict of arrays
            ``vertex_ids`` int64, ``present`` bool and ``out_degree`` uint32, one item a vertex
            record; ``free_indices`` uint32 in the order in which they will be used again;
            ``dst_index`` uint32, row after row, each increasing, undirected with src <= dst; the
            property columns.
        """
        with self._engine.lock:
            return checkpoint_arrays(self._engine)

    @classmethod
    def from_checkpoint_arrays(
        cls, arrays: Mapping[str, npt.NDArray[np.generic]], **settings: Any
    ) -> "DynamicGraph":
        """Build the graph that `checkpoint_arrays` described; ``settings`` as for the class."""
        graph = cls(**settings)
        graph._engine.restore(arrays)
        return graph

    # -- accounts and checks -----------------------------------------------------------------

    def memory(self) -> MemoryReport:
        """What lies where in the arena: a table by region that adds up to its size."""
        with self._engine.lock:
            return self._engine.memory()

    def verify(self, level: str = "full") -> None:
        """Check the invariants of the image; `CorruptImageError` names the first that fails.

        Levels: ``header`` (fields and accounts), ``pages`` (every page has one owner; records,
        queues and dictionary agree), ``full`` (rows sorted, neighbours there, both directions
        agree).
        """
        with self._engine.lock:
            self._engine.verify(level)

    def state_hash(self) -> str:
        """SHA-256 of the canonical graph: same for every layout, engine, batch size, restart."""
        return state_hash(self.to_csr(), records=self._records)

    def image_hash(self) -> str:
        """SHA-256 of the arena without scratch: for one engine and an unbroken sequence."""
        with self._engine.lock:
            return hashlib.sha256(self._engine.image_bytes()).hexdigest()

    # -- analytics ---------------------------------------------------------------------------

    def pagerank(
        self,
        *,
        alpha: float = 0.85,
        personalization: _pagerank.VertexValues | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        nstart: _pagerank.VertexValues | _pagerank.PageRankResult | None = None,
        weight: str | None = None,
        dangling: _pagerank.VertexValues | None = None,
        networkx_tol: bool = False,
    ) -> _pagerank.PageRankResult:
        """PageRank with networkx' parameters; `algorithms.pagerank.pagerank` says what they mean.

        It ends when a step changes the ranks by at most ``tol`` in all (L1); with ``networkx_tol``,
        by ``tol`` times the number of vertices, after the steps that networkx makes. Otherwise
        undirected graphs need fewer steps than those.
        """
        with self._engine.lock:
            return _pagerank.pagerank(
                self._engine,
                alpha=alpha,
                personalization=personalization,
                max_iter=max_iter,
                tol=tol,
                nstart=nstart,
                weight=weight,
                dangling=dangling,
                networkx_tol=networkx_tol,
            )

    def clustering(self) -> _clustering.ClusteringResult:
        """Degree, triangles and local clustering; see `algorithms.clustering.clustering`.

        They do not change with the graph; what a GPU made is fetched when it is looked at.
        """
        with self._engine.lock:
            return _clustering.clustering(self._engine)

    def triangles(self) -> Int64s:
        """int64[n]: triangles through each vertex, in the order of `vertices`."""
        with self._engine.lock:
            return _triangles.triangles(self._engine)

    def average_clustering(self) -> float:
        """Mean of the local clustering over all vertices."""
        return self.clustering().average

    def transitivity(self) -> float:
        """Three times the triangles over the paths of length two."""
        return self.clustering().transitivity
