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
import time
import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .adjacency_view import AdjacencyView
from .arguments import (
    Frame,
    Ids,
    batch_of_call,
    batch_of_frame,
    checked_device,
    checked_kind,
    checked_sizes,
    checked_time_unit,
    is_frame,
)
from .batch.deletes import deleting_batch
from .batch.end_points import MissingEndPointError
from .batch.renamed import renamed
from .batch.update_batch import UpdateBatch
from .effects import Effects, Touched
from .engine import Batch, BatchFeed, Engine, SentBatch
from .engines import make_engine
from .epoch import Epoch
from .errors import BatchError, PrecisionWarning, SettingsError
from .graph_copies import settings_of_copy
from .graph_maintained import MaintainingGraph
from .graph_reader import size_text
from .image.detail import detail_of
from .image.memory import MemoryReport
from .maintenance import apply_followed, pinned
from .maintenance import restore as restore_maintained
from .names.user_ids import UserIds, ids_of_kind
from .properties.graph_values import GraphValues
from .report import BatchReport, rounded_text
from .times import INTEGERS, first_at_or_after, time_unit_named

_LEAST_TIME, _LARGEST_TIME = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class DynamicGraph(MaintainingGraph):
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
        looked at. Deleting the edge, or one of its end points, begins anew. All but ``"last"`` need
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
        ``page_bytes`` a page of chain or tree is the smallest that holds so many.
    arena_growth
        Times its size that the arena becomes when it is full, from 1.1 to 8. Growth copies the
        graph, and needs both sizes at once: 1.25 takes less memory then, and more copies.
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
        current device. Nothing to the ``host`` engine. Several GPUs may hold a graph each; copies
        stay on the GPU of their graph, and what is unpickled goes to the current one.

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
        mean_degree: float | None = None,
        arena_growth: float = 2.0,
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
        sizes = checked_sizes(arena_bytes, max_arena_bytes, expected_edges, arena_growth)
        #: Calls that changed the graph, or may have: a view of an earlier state is stale.
        self._changes = 0
        #: Whether the user knows that weights are rounded.
        self._has_warned = False
        self._sizes = sizes
        self._ids = ids_of_kind(self._kind.ids)
        self._engine = make_engine(engine, self._kind, sizes, checked_device(device))
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

    # -- changing it -------------------------------------------------------------------------

    def compile_ahead(self, analytics: Collection[str] = (), *, raw: bool = False) -> None:
        """Begin to compile what a run will need, behind the caller: `Engine.compile_ahead`."""
        self._engine.compile_ahead(analytics, raw=raw)

    def feed(self) -> BatchFeed | None:
        """What sends batches to the GPU ahead of their turn; None with the ``host`` engine."""
        return self._engine.feed()

    def apply(
        self, batch: UpdateBatch | Batch | SentBatch | Frame, *, effects: bool = False
    ) -> BatchReport:
        """Apply a batch, whole or not at all.

        Now and then a batch also has the graph laid out anew, which takes as long as a few batches
        do: when rows that come and go have left many pages free, and ``max_arena_bytes`` has room
        for a second image.

        Parameters
        ----------
        batch
            A frame whose rows are updates as those of a log, with columns ``src``, ``dst``, ``op``
            and so on: anything with Arrow's stream or ``__dataframe__``. Or what
            `UpdateBatch.from_rows` made with this graph's ``directed``, ``records`` and
            ``on_repeat``; the ``cuda`` engine also takes a `cuda.batch.DeviceBatch`, and what its
            `feed` has sent.
        effects
            Tell what the batch changed, as ``BatchReport.effects``. Costs two look-ups of all that
            the batch names, before and after it.

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

        Warns
        -----
        PrecisionWarning
            For the first batch of this graph made by hand that has weights which were rounded;
            each report has their number.
        """
        return self._take(batch, stacklevel=3, effects=effects)

    def _take(
        self,
        batch: UpdateBatch | Batch | SentBatch | Frame,
        stacklevel: int,
        *,
        effects: bool = False,
    ) -> BatchReport:
        start = time.perf_counter()
        engine, kind = self._engine, self._kind
        # Behind other work every look at an object is slow: few are taken before launches start.
        if batch.__class__ not in engine.batch_types and is_frame(batch):
            batch = batch_of_frame(batch, kind)
        with engine.batch_lock:
            received = engine.received(batch)
            if (
                getattr(received, "directed", None) != kind.directed
                or received.records != kind.record.name
                or received.on_repeat != kind.on_repeat
            ):
                self._refuse(received)
            if isinstance(received, UpdateBatch):
                received = self._in_own_terms(received)
            values = self._values
            if values is not None:
                values.check(received)
            self._changes += 1
            touched = self._touched(received) if effects else None
            try:
                apply = partial(apply_followed, engine) if engine.maintained else engine.apply
                if values is None:
                    outcome = apply(received)
                else:
                    with values.following(engine, received):
                        outcome = apply(received)
            except MissingEndPointError as error:
                raise self._in_users_ids(error) from None
            if received.time_unit and self._time_unit is None and kind.record.has_times:
                self._time_unit = time_unit_named(received.time_unit)
            report = BatchReport(
                received.batch_id,
                received.rows,
                received.dropped,
                received.overridden,
                *outcome,
                {"apply": time.perf_counter() - start},
                None if touched is None else self._effects(touched),
                received.rounded,
            )
        # A run counts for itself.
        if report.weights_rounded and report.batch_id < 0 and not self._has_warned:
            self._has_warned = True
            warnings.warn(rounded_text(report, self.weights), PrecisionWarning, stacklevel)
        return report

    def _in_own_terms(self, batch: UpdateBatch) -> UpdateBatch:
        """The batch with times in the graph's unit, and ids that are its keys of them."""
        if batch.time_unit not in (None, str(INTEGERS)) and self._time_unit is not None:
            batch = batch.in_time_unit(str(self._time_unit), "the graph's times are")
        if self._values is None and (batch.put_values or batch.put_vertex_values):
            msg = "the batch has properties, the graph has none; make it with these properties"
            raise BatchError(msg)
        if batch.ids != ("any" if self.ids == "dense" else self.ids):
            msg = f"the batch is of ids={batch.ids!r}, the graph has ids={self.ids!r}"
            raise BatchError(msg)
        moved = self._ids.take(batch.names)
        return renamed(batch, moved) if moved else batch

    def _in_users_ids(self, error: MissingEndPointError) -> MissingEndPointError:
        ends = self._ids.shown(np.array(error.ends)).tolist()
        return MissingEndPointError(error.batch_id, *ends)

    def _touched(self, batch: Any) -> Touched:
        if isinstance(batch, UpdateBatch):
            batch.ensure_valid()
        with self._engine.lock:
            return Touched(self._engine, batch)

    def _effects(self, touched: Touched) -> Effects:
        with self._engine.lock:
            found = touched.effects()
        return found if type(self._ids) is UserIds else found.in_users_ids(self._ids)

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
            graph._take(src, 3)
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

    def _refuse(self, batch: Any) -> NoReturn:
        """Refuse what is no batch, or one for another kind of graph."""
        if not hasattr(batch, "directed"):
            msg = f"{type(batch).__name__} is no batch; make one with UpdateBatch.from_rows"
            raise BatchError(msg)
        kind = self._kind
        of_both = (
            ("directed", batch.directed, kind.directed),
            ("records", batch.records, kind.record.name),
            ("on_repeat", batch.on_repeat, kind.on_repeat),
        )
        # The rule for repeats is named where it differs.
        named = of_both if batch.on_repeat != kind.on_repeat else of_both[:2]
        theirs = ", ".join(f"{name}={value!r}" for name, value, _ in named)
        ours = ", ".join(f"{name}={value!r}" for name, _, value in named)
        msg = f"batch {batch.batch_id} is for {theirs}; the graph has {ours}"
        raise BatchError(msg)

    def insert_edges(
        self,
        src: Ids | Any,
        dst: Ids | None = None,
        *,
        weight: npt.ArrayLike | None = None,
        type: npt.ArrayLike | None = None,  # noqa: A002 - the column's name in logs and exports
        ts: npt.ArrayLike | None = None,
        **values: npt.ArrayLike,
    ) -> BatchReport:
        """Insert edges; one that exists is updated. ``ts`` is needed for semantic records.

        Parameters
        ----------
        src, dst
            int64[n] each: end points. Or a frame alone, of pandas, polars, Arrow and others, with
            columns ``src``, ``dst``, ``weight``, ``type``, ``ts`` (or ``source``, ``target`` and so
            on); what the records do not keep is not read.
        weight, type, ts
            float, int32 and int64 or datetime64 [n] each, or one value for all; `time_unit` tells
            what times count.
        **values
            Properties of these edges by name: [n] each, or one value for all. What is left out is
            missing then: NaN, 0, False.
        """
        if dst is None:
            given = {"weight": weight, "type": type, "ts": ts, **values}
            return self._take(batch_of_frame(src, self._kind, 1, **given), 3)
        return self._apply_rows(1, src, dst, values, weight=weight, type=type, ts=ts)

    def delete_edges(
        self, src: Ids | Any, dst: Ids | None = None, *, ts: npt.ArrayLike | None = None
    ) -> BatchReport:
        """Delete edges; one that does not exist counts as missing. Arguments as to insert them."""
        if dst is None:
            return self._take(batch_of_frame(src, self._kind, -1, ts=ts), 3)
        return self._apply_rows(-1, src, dst, {}, ts=ts)

    def expire(self, before: Any, *, effects: bool = False) -> BatchReport:
        """Delete the edges whose last time is before a time; their end points stay.

        All last times are looked at, and what is found is deleted as one batch, of which all that
        holds for batches is true: effects, what is maintained, memory that comes back.

        Parameters
        ----------
        before
            An integer in the graph's unit of time, or a datetime or datetime64.
        effects
            Tell what was removed, as `apply`.

        Returns
        -------
        BatchReport
            ``expired`` has the number of edges; there are no rows.

        Raises
        ------
        SettingsError
            The records have no times.
        BatchError
            ``before`` is no time, or of another kind than the graph's.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(records="semantic")
        >>> _ = graph.insert_edges([1, 2, 3], [2, 3, 1], ts=[10, 20, 30])
        >>> graph.expire(before=20).expired
        1
        """
        if not self._kind.record.has_times:
            msg = f"{self.records} records have no times; use records='semantic'"
            raise SettingsError(msg)
        with self._engine.lock:
            # Without a unit there is no edge that has a time.
            unit = self._time_unit
            until = _LEAST_TIME - 1 if unit is None else first_at_or_after(before, unit) - 1
            if until < _LEAST_TIME:
                batch = deleting_batch(self._kind, np.empty(0, np.int64), np.empty(0, np.int64))
            else:
                batch = self._engine.expired(min(until, _LARGEST_TIME))
            report = self._take(batch, stacklevel=3, effects=effects)
        return report._replace(rows=0, deleted=0, expired=report.deleted)

    def insert_vertices(self, vertices: Ids, **values: npt.ArrayLike) -> BatchReport:
        """Insert vertices; one that exists counts as updated.

        Parameters
        ----------
        vertices
            Ids [n].
        **values
            Properties of these vertices, as of `insert_edges`.
        """
        return self._apply_rows(1, vertices, None, values)

    def delete_vertices(self, vertices: Ids) -> BatchReport:
        """Delete vertices with all their edges; one that does not exist counts as missing."""
        return self._apply_rows(-1, vertices, None, {})

    def _apply_rows(
        self, op: int, src: Ids, dst: Ids | None, values: Mapping[str, Any], **columns: Any
    ) -> BatchReport:
        batch = batch_of_call(op, src, dst, columns, self._kind, values)
        return self._take(batch, stacklevel=4)

    # -- views, copies, restores -------------------------------------------------------------

    def pin(self, *, spare_bytes: int = 0) -> Epoch:
        """Keep the graph as it is now, while batches go on; see `Epoch`.

        Waits for the batch that is being applied, if one is, and on a GPU for nothing else: the
        copy is made there before the next batch is written.

        Parameters
        ----------
        spare_bytes
            Memory that must be left beside the copy, for what will be computed from it.

        Raises
        ------
        ArenaFullError
            There is no room for the copy beside the graph.
        """
        with self._engine.lock:
            followed = pinned(self._engine)
            copied = self._engine.pin(spare_bytes)
            copied.maintained.update(followed)
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

    @classmethod
    def from_checkpoint_arrays(
        cls, arrays: Mapping[str, npt.NDArray[np.generic]], **settings: Any
    ) -> DynamicGraph:
        """Build the graph that `checkpoint_arrays` described; ``settings`` as for the class."""
        graph = cls(**settings)
        if "time_unit" in arrays:
            graph._take_time_unit(str(arrays["time_unit"][0]))
        elif graph._time_unit is None and graph._kind.record.has_times and arrays["dst_index"].size:
            # Kept without a unit: as integers, since timestamps may count something else.
            graph._time_unit = INTEGERS
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
