"""Rebuilds graphs from a log in this process: no cluster, and nothing is written.

A plan says which rows are which batch, so the graph after a batch is that of any checkpoint at or
before it, with the batches between applied. They are read, checked and converted by the functions
that CPU workers call: the files must have the fingerprints of the plan, and row groups that batches
of the state were read from must hold the same bytes as then. So what comes out is the graph that
the run had, or an error.

Readers take no lock. A run that goes on beside them may remove a checkpoint that they are about to
read, which ends with a sentence, and writes nothing else that they read.

Not here: what a plan is (``io/log/plan.py``), how a run applies it (``ingest.py``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ..config.settings import GraphSettings
from ..gpu_core.errors import SettingsError, StateError, UpdateLogError
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.report import BatchReport
from ..io.log.bad_rows import RowsToRead
from ..io.log.batch_times import InsertTimes
from ..io.log.file_rows import ReadRows
from ..io.log.log_listing import listing_of
from ..io.log.order.row_order import RowOrder, row_order
from ..io.log.paths.addresses import Address
from ..io.log.plan import BatchPlan
from ..io.log.update_log import UpdateLog
from ..io.state.checkpoint import Checkpoint, check_state_hash, newest_checkpoint
from ..io.state.directory import StateDirectory
from ..io.state.plan_files import read_plan
from ..io.state.quarantine import Quarantine
from ..io.state.read_record import ReadFile, ReadRecord
from ..io.state.reports import read_reports
from ..io.state.state_settings import BAD_ROWS, QUARANTINE
from ..io.state.text_indexes import read_indexes
from .batch_form import convert_for_host
from .log_of_settings import log_of_settings
from .time_window import TimeWindow

#: Where graphs are rebuilt that are only read: a GPU may be in use, or smaller.
HOST = GraphSettings(engine="host")


@dataclass(frozen=True)
class Replay:
    """A log, how it is cut into batches, and what kind of graph they are applied to."""

    log: UpdateLog
    plan: BatchPlan
    #: What the graph is, and where and how it lies.
    graph: GraphSettings
    #: Row groups that must hold the bytes that were read once.
    read: ReadRecord = field(default_factory=ReadRecord)
    #: ``order_by`` and ``order_within``, where rows are in the order of a column.
    reading: Mapping[str, Any] = field(default_factory=dict)
    #: Batch -> rows that were left out of it, of those that are known to be applied.
    quarantined: Mapping[int, int] = field(default_factory=dict)
    #: Whether bad rows of other batches are left out; else they are refused.
    quarantines: bool = False

    @classmethod
    def of_state(
        cls,
        state: StateDirectory,
        graph: GraphSettings = HOST,
        *,
        log: Address | None = None,
        read: ReadRecord | None = None,
    ) -> "Replay":
        """Take plan, log and kind of graph from a state.

        Parameters
        ----------
        state
            The state; it need not be locked.
        graph
            Where and how the graph is to lie; what it is, the state says.
        log
            Address of the log, if not that in the state.
        read
            Its read record, where that was read already.
        """
        kept = state.settings()
        graph = replace(graph, **kept.identity)
        address = kept.log_address if log is None else log
        plan = read_plan(state)
        update_log = replace(
            log_of_settings(address, graph, kept.columns, kept.reading),
            time_unit=kept.time_unit,
            indexes=read_indexes(state),
            left_out=frozenset(each.name for each in Quarantine(state).files()),
            planned=frozenset(file.name for file in plan.files),
        )
        read = ReadRecord.of_state(state) if read is None else read
        # The code that compares reports finds those damaged; here the state's policy stands in.
        reports = read_reports(state, notes=[])
        return cls(
            update_log,
            plan,
            graph,
            read,
            kept.reading,
            {each.batch_id: each.quarantined for each in reports},
            kept.reading.get(BAD_ROWS) == QUARANTINE,
        )

    def window(self, checkpoint: Checkpoint | None) -> TimeWindow:
        """The window at a checkpoint, or at the beginning."""
        manifest = checkpoint.manifest if checkpoint else None
        return TimeWindow.of(self.graph.time_window, self.log.time_unit, manifest)

    def begin(self, checkpoint: Checkpoint | None, boundary: int) -> DynamicGraph:
        """Make the graph of a checkpoint, or an empty one; batches up to ``boundary`` are to come.

        Raises
        ------
        StateError
            The checkpoint is not of this plan, or as `restored` says.
        """
        first = 0 if checkpoint is None else checkpoint.boundary
        to_come = sum(self.plan.batches[each].rows for each in range(first, boundary))
        if checkpoint is None:
            arguments = {**self.graph.graph_arguments(), "time_unit": self.log.time_unit}
            return DynamicGraph(**arguments, expected_edges=to_come)
        checkpoint.check_plan(self.plan)
        return restored(checkpoint, self.graph, self.log.time_unit, to_come)

    def apply(
        self, graph: DynamicGraph, window: TimeWindow, first: int, boundary: int
    ) -> Iterator[BatchReport]:
        """Apply the batches from ``first`` on, before ``boundary``, each when it is asked for.

        ``window`` is that of the graph as it is, and slides with it.

        Raises
        ------
        UpdateLogError
            Rows of the next batch cannot be read, or are not those that were planned.
        """
        for batch_id in range(first, boundary):
            rows = self._rows(batch_id)
            meaning = self.graph.row_meaning()
            found, left_out = self._read(rows)
            times = InsertTimes()
            convert = partial(convert_for_host, times=times)
            batch, _, bad = rows.convert(found, convert, meaning=meaning)
            left_out = left_out or (bad.rows if bad else 0)
            report = window.slide(graph, graph.apply(batch), times.seen)
            yield report._replace(rows=report.rows + left_out, quarantined=left_out)

    def fault(self, batch_id: int) -> str:
        """Why the rows of a batch cannot be had; nothing where they can."""
        try:
            self._read(self._rows(batch_id))
        except UpdateLogError as error:
            return str(error)
        return ""

    def _rows(self, batch_id: int) -> RowsToRead:
        planned = self.plan.batches[batch_id]
        fingerprint = self._fingerprints[planned.file]
        order, where = self._order, (planned.file, planned.first_row, planned.rows)
        ordered = None if order is None else order.batch(*where)
        return RowsToRead(
            self.log,
            planned,
            fingerprint,
            self.read.files.get((planned.file, fingerprint), ReadFile()).sums,
            ordered,
            quarantine=self.quarantined.get(batch_id, int(self.quarantines)) > 0,
        )

    def _read(self, rows: RowsToRead) -> tuple[ReadRows, int]:
        """Read rows of a batch; how many of them are left out unread."""
        planned = rows.planned
        if self.quarantined.get(planned.batch_id) == planned.rows > 0:
            # Maybe it could not be read then; now it may have been restored.
            return rows.nothing(), planned.rows
        found, unread = rows.read()
        return found, unread.rows if unread else 0

    @cached_property
    def _order(self) -> RowOrder | None:
        column = self.reading.get("order_by")
        if column is None:
            return None
        # Where a file is gone or another one, rows of others would come to other batches.
        planned = {file.name for file in self.plan.files}
        # Those that came since are in no batch, even if their rows belong before planned ones.
        files = [file for file in listing_of(self.log, planned).files if file.name in planned]
        self.plan.extended(files, 1)
        prints = {file.name: file.fingerprint for file in files}
        return row_order(self.log, prints, column, self.reading.get("order_within"))

    @cached_property
    def _fingerprints(self) -> dict[str, str]:
        return {file.name: file.fingerprint for file in self.plan.files}


def restored(
    checkpoint: Checkpoint, graph: GraphSettings, time_unit: str | None, to_come: int = 0
) -> DynamicGraph:
    """Make the graph of a checkpoint, which ``to_come`` rows are to be applied to.

    Raises
    ------
    StateError
        The checkpoint cannot be read, or its graph is not the one that its manifest describes.
    """
    edges = int(checkpoint.manifest.get("num_edges", 0))
    made = DynamicGraph.from_checkpoint_arrays(
        checkpoint.arrays(),
        **graph.graph_arguments(),
        time_unit=time_unit,
        expected_edges=edges + to_come,
    )
    check_state_hash(made.state_hash(), checkpoint.state_hash, checkpoint.batch_id)
    if to_come:
        # Results of the batches between are not asked for.
        for name in made.maintained:
            made.unmaintain(name)
    return made


class PastGraphs:
    """The graphs of a state after its applied batches, in host memory.

    Parameters
    ----------
    state
        The state; it need not be locked.

    Raises
    ------
    StateError
        There is no state, it is damaged, or no batch is applied yet.
    """

    def __init__(self, state: StateDirectory) -> None:
        self._state = state
        self._settings = state.settings()
        #: Sentences on checkpoints that were skipped because they are broken.
        self.notes: list[str] = []
        newest = newest_checkpoint(state, self.notes)
        if newest is None:
            raise nothing_applied(state)
        self._newest = newest
        #: Batch -> the window after it, of the graphs that were made last.
        self._windows: dict[int, TimeWindow] = {}

    @property
    def newest(self) -> int:
        """The last batch that is applied."""
        return self._newest.batch_id

    def check_applied(self, batch_id: int) -> None:
        """Raise `SettingsError` where a batch is not applied."""
        if not 0 <= batch_id <= self.newest:
            msg = (
                f"batch {batch_id} is not applied; {self._state.path} has batches 0 to "
                f"{self.newest}"
            )
            raise SettingsError(msg)

    def after_newest(self) -> DynamicGraph:
        """Make the graph of the newest checkpoint."""
        return self.after(self.newest)

    def after(self, batch_id: int, earlier: tuple[int, DynamicGraph] | None = None) -> DynamicGraph:
        """Make the graph after a batch: from the nearest checkpoint, and the log after it.

        Parameters
        ----------
        batch_id
            The batch; it must be applied.
        earlier
            A batch at or before it, and the graph after that, made here, which is changed: it is
            gone on with where no checkpoint is nearer.

        Raises
        ------
        SettingsError
            The batch is not applied.
        StateError
            There is no checkpoint to begin with, and the log does not reach the batch either.
        """
        self.check_applied(batch_id)
        base: Checkpoint | None = self._newest
        if self.newest > batch_id:
            base = newest_checkpoint(self._state, self.notes, at_most=batch_id)
        if base is not None and base.batch_id == batch_id:
            # Nothing else of the state need be whole for that.
            kind, unit = replace(HOST, **self._settings.identity), self._settings.time_unit
            self._windows[batch_id] = TimeWindow.of(kind.time_window, unit, base.manifest)
            return restored(base, kind, unit)
        first = 0 if base is None else base.boundary
        if earlier is not None and earlier[0] + 1 >= first:
            first, graph = earlier[0] + 1, earlier[1]
            window = self._windows.pop(earlier[0])
        else:
            graph = self._replay.begin(base, batch_id + 1)
            window = self._replay.window(base)
        try:
            for _ in self._replay.apply(graph, window, first, batch_id + 1):
                pass
        except UpdateLogError as error:
            raise StateError(self._out_of_reach(batch_id, first, error)) from error
        self._windows[batch_id] = window
        return graph

    @cached_property
    def _replay(self) -> Replay:
        replay = Replay.of_state(self._state)
        self._newest.check_plan(replay.plan)
        return replay

    def _out_of_reach(self, batch_id: int, first: int, error: UpdateLogError) -> str:
        kept = ", ".join(map(str, self._state.checkpoint_ids()))
        begins = f"from batch {first} on" if first else "from its beginning"
        return (
            f"the graph after batch {batch_id} needs the log {begins}, and {error}; checkpoints "
            f"are kept of batches {kept} (a run with --keep-checkpoints all keeps more)"
        )


def nothing_applied(state: StateDirectory) -> StateError:
    """The error where a state has no checkpoint, and one is needed."""
    if state.exists() and not read_plan(state).batches:
        msg = f"state {state.path} has no graph: no file of its log had a row at the last run"
        return StateError(msg)
    msg = f"state {state.path} has no checkpoint yet; let a run of its log come to its end"
    return StateError(msg)
