"""DynamicGraph: a large, changing graph as a library. No cluster, no files, plain arrays.

All calls are vectorized: they take arrays or frames of users' ids, and return arrays in a fixed
order. A graph is changed only by batches (`UpdateBatch`); ``insert_edges``, ``delete_edges``,
``insert_vertices`` and ``delete_vertices`` make a batch of their arguments. A batch is atomic:
applied whole, or, on any error, not at all.

Not here: queries (`graph_reader.py`), update logs (`graphtide.io`), Dask (`graphtide.pipeline`),
conversion to other libraries (`graphtide.to_networkx` and others).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .choices import one_of
from .copies.checkpoint import check_names, kept_mean_degree
from .engine import BatchFeed, Engine
from .engines import make_engine
from .epoch import Epoch
from .errors import SettingsError
from .face.adjacency_view import AdjacencyView
from .face.arguments.checks import Ids, count_of, yes_or_no
from .face.arguments.given_rows import is_frame
from .face.arguments.graph_settings import (
    checked_device,
    checked_kind,
    checked_sizes,
    checked_time_unit,
)
from .face.graph_changes import ChangingGraph
from .face.graph_copies import settings_of_copy
from .face.graph_reader import size_text
from .image.detail import detail_of
from .image.fields import Field
from .image.memory import MemoryReport
from .kind import FIRST_BATCH
from .maintenance import Settles, leave_to, pinned
from .maintenance import restore as restore_maintained
from .names.user_ids import ids_of_kind
from .properties.graph_values import GraphValues
from .times import INTEGERS, time_unit_named


class DynamicGraph(ChangingGraph):
    """A graph in memory that is changed by batches of inserts and deletes.

    Parameters
    ----------
    directed
        Whether ``(u, v)`` and ``(v, u)`` are different edges.
    records
        ``"simple"``, ``"weighted"`` (weight) or ``"semantic"`` (weight, type, first and last time).
    weights
        ``"float32"`` (the default) or ``"float64"``, which takes 4 bytes more in each stored
        direction of an edge. If float32 rounds a weight, there is a `PrecisionWarning`.
    storage
        ``"soa"`` or ``"aos"``: whether the words of an entry are separate or adjacent in a block.
    layout
        ``"runs"`` (contiguous adjacencies), ``"chain"`` (linked pages) or ``"tree"`` (pages as a
        complete binary tree).
    engine
        ``"host"``: in this machine's memory, on its cores. ``"cuda"``: on one NVIDIA GPU.
        ``"auto"``: ``"cuda"`` if there is a GPU, else ``"host"``.
    ids
        ``"any"``: any int64, through a dictionary. ``"dense"``: the id is the vertex index, from 0
        to 2**31 - 1, which is faster and smaller; the vertex table reaches to the largest id seen.
        ``"string"``, ``"uuid"``, ``"uint64"``: such ids, in arguments and results. Each name takes
        30 to 40 bytes and its length in host memory (`memory`), also after its vertex is deleted.
    reverse
        Whether a directed graph also stores in-neighbors. That takes twice the memory, makes
        PageRank and vertex deletes fast, and is needed for ``predecessors``, ``degree`` and others.
    self_loops
        ``"drop"`` (the row is ignored), ``"keep"`` (only directed graphs) or ``"reject"``.
    create_vertices
        Whether inserting an edge creates its end points; otherwise that is an error.
    on_repeat
        Weight of an edge that is inserted again: that of the ``"last"`` or ``"first"`` insert, the
        ``"sum"``, ``"min"`` or ``"max"`` of all, or their ``"count"``, for which no weights are
        given, and those of frames are not read. Deleting the edge, or one of its end points, starts
        over. All but ``"last"`` need records with a weight.
    properties, vertex_properties
        User-defined columns of edges and of vertices: ``{"amount": "float64", "channel": "int16"}``
        (bool, int8 to int64, uint8 to uint64, float32, float64). They are arguments of inserts,
        `edge_values` and `vertex_values` return them, and exports contain those of edges. The last
        row of an edge sets all of them, whatever ``on_repeat`` is; a delete removes them. Each
        edge, and each vertex that a row inserts, takes 27 to 37 bytes and its values in host memory
        (`memory`).
    arena_bytes, max_arena_bytes
        Initial size of the one allocation, in bytes, and the size to which it may grow. If only
        ``arena_bytes`` is given it does not grow; if neither is given it may grow to three quarters
        of the memory that the process may use (with the ``cuda`` engine, of the GPU's).
    page_bytes
        Page size, a power of two from 16 to 4096; by default 32 for runs and 128 for others.
    mean_degree
        Expected mean number of neighbors of vertices that have any: without ``page_bytes``, a page
        of chain or tree is the smallest that holds as many. ``"first_batch"``: the mean of the rows
        that the first batch inserts, in all stored directions, which `kind`, copies and checkpoints
        then have. If the first batch has only vertices, the default size is kept.
    arena_growth
        Factor by which a full arena grows, from 1.1 to 8. Growth copies the graph and needs both
        sizes at once: 1.25 takes less memory, but more copies.
    arena_grow_at
        Share of the arena in use, from 0.2 to 1, beyond which it grows after a batch, so that the
        next ones need not wait for it. With 1, the default, it grows when a batch does not fit.
        GraphVine's rule is 0.8 with ``arena_growth=1.25``.
    time_unit
        Unit of the times of semantic records: ``"int64"`` (plain integers), ``"s"``, ``"ms"``,
        ``"us"``, ``"ns"``, or with a zone ``"timestamp[us, tz=UTC]"``. By default that of the first
        times that are inserted. Integers are always in the graph's unit; timestamps of another
        unit are converted if that is exact, else refused.
    expected_edges
        Number of edges that the graph may reach, if known: without ``arena_bytes`` memory for them
        is allocated at once, at most a quarter of all, instead of by growth. It is not a limit.
    device
        Ordinal of the GPU that holds the graph, as CUDA counts; by default CuPy's current device.
        It is an error if that GPU cannot be used, also with ``engine="auto"``; ``engine="host"``
        ignores it. Each of several GPUs may hold a graph. Copies stay on the GPU of their graph;
        unpickled graphs are on the current one.

    Raises
    ------
    SettingsError
        An argument is not allowed, or contradicts another one.
    EngineError
        The engine, or the GPU, cannot be used on this machine.
    ArenaFullError
        There is no memory for the arena.

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
        weights: str | None = None,
        storage: str = "soa",
        layout: str = "runs",
        engine: str = "auto",
        ids: str = "any",
        reverse: bool = True,
        self_loops: str = "drop",
        create_vertices: bool = True,
        on_repeat: str = "last",
        properties: Mapping[str, str] | None = None,
        vertex_properties: Mapping[str, str] | None = None,
        arena_bytes: int | None = None,
        max_arena_bytes: int | None = None,
        page_bytes: int | None = None,
        mean_degree: float | str | None = None,
        arena_growth: float = 2.0,
        arena_grow_at: float = 1.0,
        expected_edges: int = 0,
        device: int | None = None,
        time_unit: str | None = None,
    ) -> None:
        self._kind = checked_kind(
            records=records, weights=weights, directed=directed, reverse=reverse, storage=storage,
            layout=layout, ids=ids, self_loops=self_loops, create_vertices=create_vertices,
            on_repeat=on_repeat, properties=properties, vertex_properties=vertex_properties,
            page_bytes=page_bytes, mean_degree=mean_degree,
        )  # fmt: skip
        self._time_unit = checked_time_unit(time_unit, self._kind.record)
        self._sizes = checked_sizes(
            arena_bytes, max_arena_bytes, expected_edges, arena_growth, arena_grow_at
        )
        self._changes, self._has_warned = 0, False
        #: Batches that put a checkpoint into the image.
        self._restoring_batches = 0
        self._ids = ids_of_kind(self._kind.ids)
        self._engine = make_engine(engine, self._kind, self._sizes, checked_device(device))
        self._values = GraphValues(self._kind) if self._kind.has_values else None

    @property
    def _reader(self) -> Engine:
        return self._engine

    def __repr__(self) -> str:
        with self._engine.lock:
            size = self._engine.memory().graph_bytes
            return f"<DynamicGraph {self._described()}, {size_text(size)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Where it is read there may be no GPU, or others.
        engine = "host" if self.engine == "host" else "auto"
        settings = settings_of_copy(self._kind, self._sizes, engine, None, {})
        return _restored, (self.checkpoint_arrays(), settings)

    def compile_ahead(self, analytics: Collection[str] = (), *, raw: bool = False) -> None:
        """Start to compile the kernels for batches and some analytics, in the background.

        Parameters
        ----------
        analytics
            Names of analytics.
        raw
            Whether batches will be raw rows, which the GPU converts.
        """
        self._engine.compile_ahead(analytics, raw=raw)

    def feed(self) -> BatchFeed | None:
        """Return a feed, which copies batches to the GPU ahead; None with the ``host`` engine."""
        return self._engine.feed()

    @classmethod
    def from_edges(
        cls,
        src: Ids | Any,
        dst: Ids | None = None,
        *,
        weight: npt.ArrayLike | None = None,
        type: npt.ArrayLike | None = None,  # noqa: A002 - the column's name in logs and exports
        ts: npt.ArrayLike | None = None,
        **settings: Any,
    ) -> DynamicGraph:
        """Build a graph from edges: arrays, or a frame.

        Parameters
        ----------
        src, dst, weight, type, ts
            As of `insert_edges`; a frame may also have a column ``op``, as a log.
        **settings
            Arguments of `DynamicGraph`, and the columns of its ``properties`` by name. Weights are
            kept with ``records="weighted"``.

        Raises
        ------
        SettingsError, BatchError, ArenaFullError
            As of `DynamicGraph` and `insert_edges`.

        Examples
        --------
        >>> import graphtide
        >>> graphtide.DynamicGraph.from_edges([1, 2], [2, 3]).num_edges
        2
        """
        own = dict(settings.get("properties") or {})
        values = {name: settings.pop(name) for name in own if name in settings}
        graph = cls(**settings)
        if dst is None and is_frame(src) and weight is type is ts is None and not values:
            graph._take(src)
        else:
            graph.insert_edges(src, dst, weight=weight, type=type, ts=ts, **values)
        return graph

    @classmethod
    def load(cls, path: str | Path, **settings: Any) -> DynamicGraph:
        """Read a graph that `save` has written.

        Parameters
        ----------
        path
            The folder.
        **settings
            As of `copy`.

        Raises
        ------
        StateError
            There is no saved graph, or it is damaged.
        """
        from .. import load_graph

        return load_graph(path, **settings)

    # -- views, copies, restores -------------------------------------------------------------

    def pin(self, *, spare_bytes: int = 0, settles: Settles = True) -> Epoch:
        """Copy the graph as it is now, while other threads apply batches; see `Epoch`.

        It waits for a batch that is being applied. On a GPU it does not wait for the copy, which
        the device makes before the next batch.

        Parameters
        ----------
        spare_bytes
            Memory that must remain free beside the copy, for computations on it.
        settles
            True: maintained results are brought up to date first, for graph and epoch. False: the
            graph's maintained results do not change, so later ones have the same bits as without
            the epoch. ``"later"``: as True, but ranks on a GPU, which may take longer than a batch,
            are computed when the epoch is first asked for them, beside batches, and the graph
            continues from them; if the epoch is closed before, from the earlier ranks. A request
            for ranks of the graph then computes those of open epochs first, so do not call the
            graph while you hold an epoch's ``lock``.

        Returns
        -------
        Epoch
            Use it in a ``with`` statement, or close it.

        Raises
        ------
        ArenaFullError
            There is no memory for the copy beside the graph.
        """
        with self._engine.lock:
            followed = pinned(self._engine, settles=settles)
            copied = self._engine.pin(count_of("spare_bytes", spare_bytes))
            copied.maintained.update(followed)
            if settles == "later":
                leave_to(copied, self._engine)
            values = None if self._values is None else self._all_values().pin()
            batches = copied.arena[Field.BATCHES] - self._restoring_batches
            return Epoch(
                self._kind, copied, self._time_unit, self._ids, values, batches, self._sizes
            )

    def adjacency_view(self, direction: str = "out") -> AdjacencyView:
        """Return a view of the adjacencies, without a copy; see `AdjacencyView`.

        It is valid until the next call that changes the graph. It needs ``layout="runs"``.

        Parameters
        ----------
        direction
            ``out``, or ``in``, which needs ``reverse``.

        Raises
        ------
        SettingsError
            The direction is unknown or not stored, or the layout is not ``runs``.
        """
        one_of("direction", direction, ("out", "in"))
        if direction == "in":
            self._need_reverse("adjacency_view('in')")
        engine = self._engine
        with engine.lock:
            taken = self._changes
            # Of an absent vertex there may be no name.
            present = engine.present()
            ids = self._ids.ids_of_keys(engine.user_ids()[present])
            vertices = np.full(present.size, None if ids.dtype == object else 0, ids.dtype)
            vertices[present] = ids
            return AdjacencyView(engine.arena, direction, vertices, lambda: self._changes == taken)

    @classmethod
    def from_checkpoint_arrays(
        cls, arrays: Mapping[str, npt.NDArray[np.generic]], **settings: Any
    ) -> DynamicGraph:
        """Build a graph from the arrays of `checkpoint_arrays`.

        Contents of the arrays are not checked; callers must keep them unchanged (`save` and
        checkpoints of a run have digests).

        Parameters
        ----------
        arrays
            The arrays by name.
        **settings
            Arguments of `DynamicGraph`.

        Raises
        ------
        SettingsError
            ``time_unit`` contradicts the arrays, or they are none of a checkpoint.
        """
        check_names(arrays)
        graph = cls(**settings)
        if "time_unit" in arrays:
            graph._take_time_unit(str(arrays["time_unit"][0]))
        elif graph._time_unit is None and graph._kind.record.has_times and arrays["dst_index"].size:
            # Kept without a unit: as integers, since timestamps may count something else.
            graph._time_unit = INTEGERS
        if graph._kind.mean_degree == FIRST_BATCH:
            graph._kind = graph._begun(kept_mean_degree(arrays, graph._kind))
        graph._ids.restore(arrays)
        graph._engine.restore(arrays)
        graph._restoring_batches = graph._engine.arena[Field.BATCHES]
        if graph._values is not None:
            graph._values.restore(graph._engine, arrays)
        with graph._engine.lock:
            restore_maintained(graph._engine, arrays)
        return graph

    def _take_time_unit(self, kept: str) -> None:
        """Have the unit of a checkpoint, which the settings may not contradict."""
        if self._time_unit not in (None, time_unit_named(kept)):
            msg = f"time_unit={self.time_unit!r}, but the checkpoint has {kept!r}; leave it out"
            raise SettingsError(msg)
        self._time_unit = time_unit_named(kept)

    # -- accounts and checks -----------------------------------------------------------------

    def memory(self, *, detail: bool = False) -> MemoryReport:
        """Return the memory of the graph in bytes, by region; regions add up to the arena's size.

        Parameters
        ----------
        detail
            Whether to count adjacencies by the size of their blocks, too (`MemoryReport.detail`),
            which reads all vertex records.
        """
        is_detailed = yes_or_no("detail", detail)
        with self._engine.lock:
            report = self._engine.memory()
            if is_detailed:
                report = replace(report, detail=detail_of(self._engine.arena))
            followed = sum(each.nbytes for each in self._engine.maintained.values())
            own = 0 if self._values is None else self._values.nbytes
            report = replace(report, maintained_bytes=followed, properties_bytes=own)
        names = self._ids.names
        return report if names is None else replace(report, names_bytes=names.nbytes)

    def verify(self, level: str = "full") -> None:
        """Check the invariants of the image.

        Parameters
        ----------
        level
            ``header``: fields and accounts. ``pages``: also, every page has one owner; records,
            queues and dictionary agree. ``full``: also, rows are sorted, neighbors exist, both
            directions agree, each edge has its properties.

        Raises
        ------
        CorruptImageError
            An invariant does not hold; the message names the first.
        """
        with self._engine.lock:
            self._engine.verify(level)
            if level == "full" and self._values is not None:
                self._values.verify(self._engine)

    def image_hash(self) -> str:
        """SHA-256 of the arena without scratch; comparable for the same batches on one engine."""
        with self._engine.lock:
            return hashlib.sha256(self._engine.image_bytes()).hexdigest()


def _restored(arrays: dict[str, Any], settings: dict[str, Any]) -> DynamicGraph:
    """A pickled graph."""
    return DynamicGraph.from_checkpoint_arrays(arrays, **settings)
