"""Batches that change a graph: the part of `DynamicGraph` that takes them.

`apply` takes what a batch may be; `insert_edges` and its siblings make one of their arguments. How
a batch is applied: the engine's ``update/``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..batch.batch_kind import check_kind, check_rules
from ..batch.deletes import deleting_batch
from ..batch.end_points import MissingEndPointError
from ..batch.protocols import Batch, ListedBatch
from ..batch.renamed import renamed
from ..batch.update_batch import UpdateBatch
from ..effects import Effects, Touched
from ..engine import SentBatch
from ..errors import BatchError, PrecisionWarning, SettingsError
from ..image.accounts import Outcome
from ..kind import FIRST_BATCH, GraphKind
from ..maintenance import apply_followed
from ..names.user_ids import UserIds
from ..report import BatchReport, rounded_text
from ..times import INTEGERS, NAT, TimeUnit, first_at_or_after, time_unit_named
from .arguments.checks import Ids, yes_or_no
from .arguments.given_rows import Frame, batch_of_call, batch_of_frame, is_frame
from .graph_maintained import MaintainingGraph

_LEAST_TIME, _LARGEST_TIME = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class ChangingGraph(MaintainingGraph):
    """A graph that takes batches; a class of it sets ``_engine``, ``_kind`` and what is below."""

    #: Calls that changed the graph, or may have: a view of an earlier state is stale.
    _changes: int
    #: Whether the user knows that weights are rounded.
    _has_warned: bool

    def apply(
        self, batch: UpdateBatch | Batch | SentBatch | Frame, *, effects: bool = False
    ) -> BatchReport:
        """Apply a batch, whole or not at all.

        If deletes have left many pages free, and ``max_arena_bytes`` has room for a second image,
        the graph is compacted after a batch, which takes as long as a few batches.

        Parameters
        ----------
        batch
            A frame whose rows are updates as those of a log, with columns ``src``, ``dst``, ``op``
            and so on: anything with Arrow's stream or ``__dataframe__``. Or what
            `UpdateBatch.from_rows` made with this graph's ``directed``, ``records`` and
            ``on_repeat``; the ``cuda`` engine also takes a `cuda.update.batch.DeviceBatch`, and
            what its `feed` has sent.
        effects
            Whether the report lists what changed, as ``BatchReport.effects``. This takes two
            look-ups of everything that the batch names, before and after it.

        Raises
        ------
        BatchError
            The batch is of another kind of graph, names ids that cannot be vertices here, or,
            without ``create_vertices``, end points that do not exist.
        ArenaFullError
            The batch does not fit into the arena and its limit. The graph is as before; its rows
            may have been moved closer together.
        EngineError
            A batch was interrupted (Ctrl-C, no memory) while the graph was written, or the GPU
            failed. The graph refuses all later calls.

        Warns
        -----
        PrecisionWarning
            Weights were rounded to the type of the graph's weights. Only the first such batch of a
            graph warns; each report has their number, ``weights_rounded``.
        """
        return self._take(batch, effects=effects)

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
            [n] each, or one value for all: a float, int32, and int64 or datetime64. `time_unit` is
            the unit of integer times.
        **values
            Properties of these edges by name: [n] each, or one value for all. A float property
            that is left out becomes NaN; all properties of other types must be given.

        Raises
        ------
        BatchError
            As of `apply`; or columns are of different lengths, one is not kept by the records, a
            property is unknown, left out, or of another type.
        """
        if dst is None:
            given = {"weight": weight, "type": type, "ts": ts, **values}
            make = self._engine.batch_of_rows
            return self._take(batch_of_frame(src, self._kind, make, 1, **given))
        return self._apply_rows(1, src, dst, values, weight=weight, type=type, ts=ts)

    def delete_edges(
        self, src: Ids | Any, dst: Ids | None = None, *, ts: npt.ArrayLike | None = None
    ) -> BatchReport:
        """Delete edges; one that does not exist counts as missing. Arguments as `insert_edges`."""
        if dst is None:
            make = self._engine.batch_of_rows
            return self._take(batch_of_frame(src, self._kind, make, -1, ts=ts))
        return self._apply_rows(-1, src, dst, {}, ts=ts)

    def expire(self, before: Any, *, effects: bool = False) -> BatchReport:
        """Delete the edges whose last time is before a time; their end points stay.

        The last times of all edges are read, and the expired edges are deleted as one batch. As
        with any batch, maintained results follow it, and its memory is used again.

        Parameters
        ----------
        before
            An integer in the graph's unit of time, or a datetime or datetime64.
        effects
            Report what was removed, as `apply`.

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
            first = first_at_or_after(before, self._time_unit)
            # Without a unit there is no edge that has a time.
            until = _LEAST_TIME - 1 if self._time_unit is None else first - 1
            batch: ListedBatch
            if until < _LEAST_TIME:
                batch = deleting_batch(self._kind, np.empty(0, np.int64), np.empty(0, np.int64))
            else:
                batch = self._engine.expired(min(until, _LARGEST_TIME))
            report = self._take(batch, effects=effects)
        return report._replace(rows=0, deleted=0, expired=report.deleted)

    def insert_vertices(self, vertices: Ids, **values: npt.ArrayLike) -> BatchReport:
        """Insert vertices; one that exists counts as updated.

        Parameters
        ----------
        vertices
            Ids [n].
        **values
            Properties of these vertices, as of `insert_edges`. A vertex that only edges created has
            NaN, 0 and False.
        """
        return self._apply_rows(1, vertices, None, values)

    def delete_vertices(self, vertices: Ids) -> BatchReport:
        """Delete vertices with all their edges; one that does not exist counts as missing.

        Parameters
        ----------
        vertices
            Ids [n].
        """
        return self._apply_rows(-1, vertices, None, {})

    # -- what is behind them -----------------------------------------------------------------

    def _apply_rows(
        self, op: int, src: Ids, dst: Ids | None, values: Mapping[str, Any], **columns: Any
    ) -> BatchReport:
        batch = batch_of_call(op, src, dst, columns, self._kind, self._engine.batch_of_rows, values)
        return self._take(batch)

    def _take(
        self, batch: UpdateBatch | Batch | SentBatch | Frame, *, effects: bool = False
    ) -> BatchReport:
        """Apply what `apply` takes."""
        start = time.perf_counter()
        engine = self._engine
        # After other work every look at an object is slow: few are taken before launches start.
        if effects is not False:
            effects = yes_or_no("effects", effects)
        if batch.__class__ not in engine.batch_types and is_frame(batch):
            batch = batch_of_frame(batch, self._kind, engine.batch_of_rows)
        with engine.batch_lock:
            received = self._received(batch)
            self._changes += 1
            touched = self._touched(received) if effects else None
            outcome = self._apply_received(received)
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
            text = rounded_text(report, self.weights)
            warnings.warn(text, PrecisionWarning, stacklevel=_level_of_user())
        return report

    def _received(self, batch: Any) -> Any:
        """The batch as the engine applies it; refused if it is none for this kind of graph."""
        received = self._engine.received(batch)
        check_kind(received, self._kind)
        if isinstance(received, UpdateBatch):
            received = self._in_own_terms(received)
        if self._values is not None:
            self._values.check(received)
        return received

    def _apply_received(self, batch: Any) -> Outcome:
        """Apply a batch of `_received`, and all that follows the graph."""
        engine, kind, values = self._engine, self._kind, self._values
        begun = kind
        if kind.mean_degree == FIRST_BATCH:
            # Kept when the batch has been applied: one that is refused was none.
            begun = self._begun(engine.mean_degree(batch))
        try:
            apply = partial(apply_followed, engine) if engine.maintained else engine.apply
            if values is None:
                outcome = apply(batch)
            else:
                with values.following(engine, batch):
                    outcome = apply(batch)
        except MissingEndPointError as error:
            raise self._in_users_ids(error) from None
        if begun is not kind:
            self._kind = begun
        if batch.time_unit and self._time_unit is None and kind.record.has_times:
            self._time_unit = time_unit_named(batch.time_unit)
        return outcome

    def _begun(self, mean: float | None) -> GraphKind:
        """What the graph is once its first edges, of this mean degree, have decided on its pages.

        As before where there are no edges yet (None), or vertices already. Without edges pages are
        of the default size, also behind a batch that decided on others, and was refused.
        """
        if self._engine.vertex_count:
            return self._kind
        self._engine.size_pages(mean)
        return self._kind if mean is None else replace(self._kind, mean_degree=mean)

    def _in_own_terms(self, batch: UpdateBatch) -> UpdateBatch:
        """The batch with times in the graph's unit, and ids that are its keys of them."""
        if batch.time_unit not in (None, str(INTEGERS)) and self._time_unit is not None:
            batch = batch.in_time_unit(str(self._time_unit), "the graph's times are")
        if batch.put_last is not None:
            # The first times of a graph decide on its unit.
            _refuse_no_times(batch, self._time_unit or batch.time_unit or INTEGERS)
        if self._values is None and (batch.put_values or batch.put_vertex_values):
            msg = "the batch has properties, the graph has none; make it with these properties"
            raise BatchError(msg)
        if batch.ids != ("any" if self.ids == "dense" else self.ids):
            msg = f"the batch is of ids={batch.ids!r}, the graph has ids={self.ids!r}"
            raise BatchError(msg)
        check_rules(batch, self._kind)
        moved = self._ids.take(batch.names)
        return renamed(batch, moved) if moved else batch

    def _in_users_ids(self, error: MissingEndPointError) -> MissingEndPointError:
        ends = self._ids.ids_of_keys(np.array(error.ends)).tolist()
        return MissingEndPointError(error.batch_id, *ends)

    def _touched(self, batch: ListedBatch) -> Touched:
        if isinstance(batch, UpdateBatch):
            batch.ensure_valid()
        with self._engine.lock:
            return Touched(self._engine, batch)

    def _effects(self, touched: Touched) -> Effects:
        with self._engine.lock:
            found = touched.effects()
        return found if type(self._ids) is UserIds else found.in_users_ids(self._ids)


def _refuse_no_times(batch: UpdateBatch, unit: TimeUnit | str) -> None:
    """Refuse integers that are no time in a unit, in a batch of records with times."""
    if str(unit) == str(INTEGERS):
        return
    for times in (batch.put_first, batch.put_last):
        if times is not None and times.min(initial=0) == NAT:
            msg = f"ts {NAT} counts as no time in a graph whose times are {unit}"
            raise BatchError(msg)


def _level_of_user() -> int:
    """Frames from the caller, which is 1, to the first line that is not of this package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level
