"""Verification of a state: rebuild its graph from the log, another way, and compare.

The rebuilt graph has another layout than the one that the run had, in host memory, so what engine
or layout have done wrong does not repeat itself. The counts in the report of every batch are
compared, and counts and state hash of every checkpoint that is kept. The first batch that differs
ends it: all later ones differ because of that one.

Where rows of the log cannot be had as they were planned, that is reported, and the replay goes on
from the next checkpoint after which they can: what lies between is not proven.

The state is read, and nothing is written.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..config.settings import GraphSettings
from ..gpu_core.errors import StateError, UpdateLogError
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.report import BatchReport
from ..io.state.checkpoint import Checkpoint, whole_checkpoints
from ..io.state.directory import StateDirectory
from ..io.state.read_record import ReadRecord
from ..io.state.reports import read_reports
from .replay import Replay, nothing_applied

#: Counts of a report that depend on the log alone.
_COUNTS = (
    "rows", "quarantined", "dropped", "overridden", "missing", "inserted", "updated", "deleted",
    "edges_added", "edges_removed", "expired", "vertices_created", "vertices_removed",
    "num_vertices", "num_edges",
)  # fmt: skip


@dataclass
class Proof:
    """Comparisons, and their outcome."""

    #: Batches of the state that are applied.
    batches: int
    #: How the rebuilt graph lay.
    engine: str
    layout: str
    #: Batches that were applied once more, and their rows.
    replayed: int = 0
    rows: int = 0
    #: Reports that agree.
    reports: int = 0
    #: Batches whose checkpoints agree.
    checkpoints: list[int] = field(default_factory=list)
    #: First batch that differs, and in what; None: none does.
    first_difference: int | None = None
    difference: str = ""
    #: Sentences on what could not be compared.
    unproven: list[str] = field(default_factory=list)
    #: Sentences on what is not part of what is proven.
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether all was compared, and agrees."""
        return self.first_difference is None and not self.unproven


def verify_state(
    state: StateDirectory,
    *,
    engine: str | None = None,
    layout: str | None = None,
    on_batch: Callable[[int, int], None] = lambda _batch, _batches: None,
) -> Proof:
    """Rebuild the graph of a state from its log, and compare.

    Parameters
    ----------
    state
        The state; it need not be locked.
    engine, layout
        Of the rebuilt graph; None: the host, and another layout than the newest checkpoint's.
    on_batch
        Called with the number of batches after it, and of all.

    Raises
    ------
    StateError
        The state is damaged beyond what can be reported as unproven, or no batch is applied.
    """
    return _Verification(state, engine, layout).run(on_batch)


class _Verification:
    def __init__(self, state: StateDirectory, engine: str | None, layout: str | None) -> None:
        self._state = state
        state.settings()  # there is a state, and it can be read
        unproven: list[str] = []
        self._kept = {each.batch_id: each for each in whole_checkpoints(state, unproven)}
        if not self._kept:
            raise nothing_applied(state)
        newest = self._kept[max(self._kept)]
        used = newest.manifest.get("settings", {}).get("layout", "runs")
        other = "chain" if used == "runs" else "runs"
        graph = GraphSettings(engine=engine or "host", layout=layout or other)
        try:
            read = ReadRecord.of_state(state)
        except StateError as error:
            unproven.append(f"that the log holds the bytes that were applied: {error}")
            read = ReadRecord()
        self._replay = Replay.of_state(state, graph, read=read)
        for checkpoint in self._kept.values():
            checkpoint.check_plan(self._replay.plan)
        self._boundary = newest.boundary
        self._reports = {each.batch_id: each for each in read_reports(state, notes=unproven)}
        self._proof = Proof(self._boundary, graph.engine, graph.layout, unproven=unproven)
        beyond = [each for each in self._reports if each >= self._boundary]
        if beyond:
            # Of a run that was killed or goes on, or of a checkpoint that somebody has removed.
            self._proof.notes.append(
                f"no whole checkpoint has {_batches(self._boundary, max(beyond))}, of which there "
                f"are reports: that is not compared, and the next run applies it again"
            )
        missing = [each for each in range(self._boundary) if each not in self._reports]
        if missing:
            unproven.append(
                f"what became of the rows of {_batches(missing[0], missing[-1])}: "
                f"{len(missing):,} reports are missing"
            )

    def run(self, on_batch: Callable[[int, int], None]) -> Proof:
        start = time.perf_counter()
        proof, boundary, first = self._proof, self._boundary, 0
        graph, window = self._replay.begin(None, boundary), self._replay.window(None)
        proof.engine = graph.engine
        while first < boundary and proof.first_difference is None:
            try:
                for report in self._replay.apply(graph, window, first, boundary):
                    on_batch(first + 1, boundary)
                    if not self._agrees(report, graph):
                        break
                    first += 1
            except UpdateLogError as error:
                del graph
                base = self._checkpoint_beyond(first)
                proof.unproven.append(f"{_batches(first, base.batch_id)}: {error}")
                graph, window = self._replay.begin(base, boundary), self._replay.window(base)
                first = base.boundary
        proof.seconds = time.perf_counter() - start
        return proof

    def _checkpoint_beyond(self, first: int) -> Checkpoint:
        """The next checkpoint after which the log goes on, or the newest."""
        ids = sorted(each for each in self._kept if each >= first)
        for batch_id in ids[:-1]:
            if not self._replay.fault(batch_id + 1):
                return self._kept[batch_id]
        return self._kept[ids[-1]]

    def _agrees(self, report: BatchReport, graph: DynamicGraph) -> bool:
        """Compare the graph after a batch with what the state has of it."""
        proof, batch_id = self._proof, report.batch_id
        proof.replayed += 1
        proof.rows += report.rows
        if batch_id in self._reports:
            differs = _differing(self._reports[batch_id], report)
            if differs:
                return self._differs(batch_id, f"its report has {differs}")
            proof.reports += 1
        checkpoint = self._kept.get(batch_id)
        if checkpoint is None:
            return True
        found = {
            "num_vertices": graph.num_vertices,
            "num_edges": graph.num_edges,
            "state_hash": graph.state_hash(),
        }
        differs = _differing_values(checkpoint.manifest, found)
        if differs:
            return self._differs(batch_id, f"its checkpoint has {differs}")
        proof.checkpoints.append(batch_id)
        return True

    def _differs(self, batch_id: int, difference: str) -> bool:
        self._proof.first_difference = batch_id
        self._proof.difference = difference
        return False


def _differing(kept: BatchReport, found: BatchReport) -> str:
    return _differing_values(
        {name: getattr(kept, name) for name in _COUNTS},
        {name: getattr(found, name) for name in _COUNTS},
    )


def _differing_values(kept: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The first value that differs, in words; nothing where all agree."""
    for name, value in found.items():
        # Callers that write a checkpoint need not count.
        if kept.get(name, value) != value:
            return f"{name} {kept[name]}, but the rebuilt graph {value}"
    return ""


def _batches(first: int, last: int) -> str:
    return f"batch {first}" if first == last else f"batches {first} to {last}"
