"""DynamicGraph: a large, changing graph as a library. No cluster, no files, plain arrays.

All calls are vectorized, arrays or frames in and arrays out, in users' own ids; results have a
fixed order. A graph is changed by batches only (`UpdateBatch`); ``insert_edges`` and its three
siblings make a batch of their arguments. A batch is atomic: applied whole, or, on any error, not at
all.

Not here: what can be asked of a graph (`graph_reader.py`), update logs (`graphtide.io`), Dask
(`graphtide.pipeline`), other forms of a graph (`graphtide.to_networkx` and its siblings).
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
from .engine import BatchFeed, Engine
from .engines import make_engine
from .epoch import Epoch
from .errors import SettingsError
from .face.adjacency_view import AdjacencyView
from .face.arguments import (
    Ids,
    checked_device,
    checked_kind,
    checked_sizes,
    checked_time_unit,
    count_of,
    is_frame,
)
from .face.graph_changes import ChangingGraph
from .face.graph_copies import settings_of_copy
from .face.graph_reader import size_text
from .image.detail import detail_of
from .image.memory import MemoryReport
from .kind import FIRST_BATCH
from .maintenance import Settles, leave_to, pinned
from .maintenance import restore as restore_maintained
from .names.user_ids import ids_of_kind
from .properties.graph_values import GraphValues
from .snapshot import kept_mean_degree
from .times import INTEGERS, time_unit_named


class DynamicGraph(ChangingGraph):
    """A graph that takes batches of inserts and deletes, in memory that it manages itself.

    Parameters
    ----------
    directed
        Whether ``(u, v)`` and ``(v, u)`` are different edges.
    records
        ``"simple"``, ``"weighted"`` (weight) or ``"semantic"`` (weight, type, first and last time).
    weights
        ``"float32"`` (the default) or ``"float64"``: 4 bytes more in each stored direction of an
        edge, and no weight is rounded. `PrecisionWarning` says when float32 rounds one.
    storage
        ``"soa"`` or ``"aos"``: whether the words of an entry lie apart or together in a block.
    layout
        ``"runs"`` (contiguous adjacencies), ``"chain"`` (linked pages) or ``"tree"`` (pages as a
        complete binary tree).
    engine
        ``"host"``: in this machine's memory, on its cores. ``"cuda"``: on one NVIDIA GPU.
        ``"auto"``: ``"cuda"`` where it can be had, else ``"host"``.
    ids
        ``"any"``: any int64, through a dictionary. ``"dense"``: the id is the vertex index, from 0;
        faster and smaller, the vertex table reaches to the largest id seen. ``"string"``,
        ``"uuid"``, ``"uint64"``: ids of the user's own, in and out; names take about 50 bytes each
        and their own in host memory (`memory`), also those of deleted vertices.
    reverse
        Directed graphs: keep who points to a vertex too. Twice the memory; makes PageRank and
        vertex deletes fast and ``predecessors`` possible.
    self_loops
        ``"drop"`` (as if the row were not there), ``"keep"`` (directed only) or ``"reject"``.
    create_vertices
        Whether inserting an edge creates its end points; otherwise that is an error.
    on_repeat
        Weight of an edge that is inserted again: that of the ``"last"`` or ``"first"`` insert, the
        ``"sum"``, ``"min"`` or ``"max"`` of all, or their ``"count"``, for which weights are not
        looked at. Deleting the edge, or one of its end points, starts over. All but ``"last"`` need
        records with a weight.
    properties, vertex_properties
        Columns of your own, of edges and of vertices: ``{"amount": "float64", "channel": "int16"}``
        (bool, int8 to int64, uint8 to uint64, float32, float64). They are given by their names and
        asked for by `edge_values` and `vertex_values`; edges have them in every form. The last row
        of an edge decides about all of them, whatever ``on_repeat`` says; a delete takes them away.
        For each edge, and each vertex that a row inserts, they take 27 to 37 bytes and their own in
        host memory (`memory`).
    arena_bytes, max_arena_bytes
        First size of the one allocation, and the size that it may grow to. With ``arena_bytes``
        alone it does not grow; with neither it grows up to three quarters of the
        memory that the process may use (of the GPU's, with the ``cuda`` engine).
    page_bytes
        Page size, a power of two from 16 to 4096; by default 32 for runs and 128 for others.
    mean_degree
        Neighbors that a vertex will have on the mean, those without any left out: without
        ``page_bytes`` a page of chain or tree is the smallest that holds so many. With
        ``"first_batch"`` the edges that the first batch inserts decide: the mean of their rows, in
        all directions that are stored, which `kind` has from then on, as copies and checkpoints
        have. A first batch of vertices alone leaves the default size.
    arena_growth
        Times its size that the arena becomes when it is full, from 1.1 to 8. Growth copies the
        graph, and needs both sizes at once: 1.25 takes less memory then, and more copies.
    arena_grow_at
        Share of the arena in use, from 0.2 to 1, beyond which it grows after a batch, so that the
        next ones find room. With 1, the default, it grows when a batch does not fit. GraphVine's
        rule is 0.8 with ``arena_growth=1.25``.
    time_unit
        What the times of semantic records count: ``"int64"`` (plain integers), ``"s"``, ``"ms"``,
        ``"us"``, ``"ns"``, or with a zone ``"timestamp[us, tz=UTC]"``. By default the first times
        that are inserted decide. Integers are always in the graph's unit; timestamps of another
        unit are converted where that is exact, and refused where it is not.
    expected_edges
        Edges that the graph may come to hold, where that is known: without ``arena_bytes`` room for
        them is taken at once, in a quarter of the memory at most, instead of growing on the way.
        It is no limit.
    device
        Ordinal of the GPU that holds the graph, among those that CUDA counts; by default CuPy's
        current device. Where that GPU cannot be had, also with ``engine="auto"``, that is an error;
        nothing to ``engine="host"``. Several GPUs may hold a graph each; copies stay on the GPU of
        their graph, and what is unpickled goes to the current one.

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
        """Begin to compile what a run will need, in the background: `Engine.compile_ahead`."""
        self._engine.compile_ahead(analytics, raw=raw)

    def feed(self) -> BatchFeed | None:
        """Feed that sends batches to the GPU before they are due; None with the ``host`` engine."""
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
        """Build a graph of edges: arrays, or a frame as of `insert_edges`.

        Parameters
        ----------
        src, dst, weight, type, ts
            As of `insert_edges`; a frame may also have a column ``op``, as a log has it.
        **settings
            Arguments of `DynamicGraph`, and the columns of its ``properties`` by their names.
            Weights are kept with ``records="weighted"``.

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
            graph._take(src, stacklevel=3)
        else:
            graph.insert_edges(src, dst, weight=weight, type=type, ts=ts, **values)
        return graph

    @classmethod
    def load(cls, path: str | Path, **settings: Any) -> DynamicGraph:
        """Read a graph that `save` has written; ``settings`` as of `copy`.

        Raises
        ------
        StateError
            There is none, or it is not as it was written.
        """
        from .. import load_graph

        return load_graph(path, **settings)

    # -- views, copies, restores -------------------------------------------------------------

    def pin(self, *, spare_bytes: int = 0, settles: Settles = True) -> Epoch:
        """Keep the graph as it is now, while batches go on; see `Epoch`.

        Waits for the batch that is being applied, if one is, and on a GPU for nothing else: the
        copy is made there before the next batch is written.

        Parameters
        ----------
        spare_bytes
            Memory that must be left beside the copy, for what will be computed from it.
        settles
            Bring what is maintained up to date first, so that graph and epoch both have it. With
            False the graph is left as it is: what it maintains later has the bits that it would
            have had without the epoch. With ``"later"`` ranks on a GPU, whose steps take as long
            as a batch or longer, are left to the epoch: made when it is first asked for them,
            beside batches that go on, and what the graph maintains goes on from there. If the
            epoch is closed before, it goes on from the ranks before. A question to the graph for
            its ranks has open epochs find theirs first, so ask the graph nothing while an epoch's
            ``lock`` is held.

        Raises
        ------
        ArenaFullError
            There is no room for the copy beside the graph.
        """
        with self._engine.lock:
            followed = pinned(self._engine, settles=settles)
            copied = self._engine.pin(count_of("spare_bytes", spare_bytes))
            copied.maintained.update(followed)
            if settles == "later":
                leave_to(copied, self._engine)
            values = None if self._values is None else self._all_values().pin()
            return Epoch(self._kind, copied, self._time_unit, self._ids, values)

    def adjacency_view(self, direction: str = "out") -> AdjacencyView:
        """Adjacencies where they lie, without a copy, until the next call that changes the graph.

        Parameters
        ----------
        direction
            ``out``, or ``in``, which needs ``reverse``.

        Raises
        ------
        SettingsError
            The direction is unknown or not stored, or adjacencies lie on pages.
        """
        one_of("direction", direction, ("out", "in"))
        if direction == "in":
            self._need_reverse("adjacency_view('in')")
        engine = self._engine
        with engine.lock:
            taken = self._changes
            # Of an absent vertex there may be no name.
            present = engine.present()
            shown = self._ids.shown(engine.user_ids()[present])
            vertices = np.full(present.size, None if shown.dtype == object else 0, shown.dtype)
            vertices[present] = shown
            return AdjacencyView(engine.arena, direction, vertices, lambda: self._changes == taken)

    @classmethod
    def from_checkpoint_arrays(
        cls, arrays: Mapping[str, npt.NDArray[np.generic]], **settings: Any
    ) -> DynamicGraph:
        """Build the graph that `checkpoint_arrays` described; ``settings`` as for the class.

        What the arrays contain is not checked: the caller has to keep them as they were (`save` and
        checkpoints of a run carry digests).
        """
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
        """Memory of the arena by region; the regions add up to its size.

        ``detail``: count adjacencies by the size of their blocks as well, as `MemoryReport.detail`.
        That reads all vertex records; the rest costs nothing.
        """
        with self._engine.lock:
            report = self._engine.memory()
            if detail:
                report = replace(report, detail=detail_of(self._engine.arena))
            followed = sum(each.nbytes for each in self._engine.maintained.values())
            own = 0 if self._values is None else self._values.nbytes
            report = replace(report, maintained_bytes=followed, properties_bytes=own)
        names = self._ids.names
        return report if names is None else replace(report, names_bytes=names.nbytes)

    def verify(self, level: str = "full") -> None:
        """Check the invariants of the image; `CorruptImageError` names the first that fails.

        Levels: ``header`` (fields and accounts), ``pages`` (every page has one owner; records,
        queues and dictionary agree), ``full`` (rows sorted, neighbors there, both directions
        agree, each edge has its properties).
        """
        with self._engine.lock:
            self._engine.verify(level)
            if level == "full" and self._values is not None:
                self._values.verify(self._engine)

    def image_hash(self) -> str:
        """SHA-256 of the arena without scratch: for one engine and an unbroken sequence."""
        with self._engine.lock:
            return hashlib.sha256(self._engine.image_bytes()).hexdigest()


def _restored(arrays: dict[str, Any], settings: dict[str, Any]) -> DynamicGraph:
    """A pickled graph."""
    return DynamicGraph.from_checkpoint_arrays(arrays, **settings)
