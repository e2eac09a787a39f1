"""Snapshot of a run for monitoring: times, memory, results and errors.

Kept by the loop of the run, and published with its progress. All numbers count up from the run's
beginning: the difference of two pictures is what happened between them, however many were missed.
"""

import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...io.state.results import FailedResult
from ..graph_worker.graph_status import GraphStatus
from ..state_machine.lifecycle import Lifecycle
from .busy import core_seconds

#: Most troubles that are published, the newest.
_TROUBLES = 8

#: Seconds between two looks at the cores.
_CORES_SECONDS = 0.4


@dataclass(frozen=True)
class Picture:
    """State of a run at one moment."""

    #: Lives of the graph before this one.
    recoveries: int
    #: Stage -> seconds of all batches applied, as in a `BatchReport`; ``client``: processor time of
    #: the client's process; ``analytics``, ``disk``: seconds for which batches waited for them;
    #: ``cores``: seconds for which a core was at work, in the mean, where all workers are here.
    seconds: Mapping[str, float]
    #: Batches that stages are of: a status of the graph is a little older than what is known of
    #: batches. Those of lost graphs are counted again.
    timed: int
    #: Workers that read the log; 0: there is no graph yet.
    cpu_workers: int
    #: Batches that may be under way beyond those applied; that are being read; that are read, and
    #: wait for those before them.
    window: int
    loading: int
    waiting: int
    #: Region of the arena -> bytes; empty: not known yet. Then bytes of pinned epochs, beside it,
    #: and edges of the graph at that moment.
    regions: Mapping[str, int]
    pinned_bytes: int
    arena_edges: int
    #: Bytes that the arena may grow to; 0: not known yet.
    limit_bytes: int
    #: Pages of an adjacency, and bytes of all such, as of `MemoryDetail`; empty: not known yet.
    adjacency_bytes: tuple[tuple[int, int], ...] = ()
    #: Graphs that are pinned now, for results and copies, and how many there may be.
    epochs: int = 0
    most_epochs: int = 0
    #: Times that batches waited because as many copies were kept as may be, and the seconds in all.
    waits: int = 0
    wait_seconds: float = 0.0
    #: The newest result of each name, and its ``batch``: see `batch_results.result_texts`.
    findings: Mapping[str, Any] = field(default_factory=dict)
    #: What went wrong: seconds since 1970, and a sentence.
    troubles: tuple[tuple[float, str], ...] = ()


class RunMonitor:
    """Counts up what a `Picture` shows.

    Parameters
    ----------
    machine
        Decides what the run does.
    is_alone
        Whether all workers are on this machine, and were started by this run.
    """

    def __init__(self, machine: Lifecycle, *, is_alone: bool = False) -> None:
        self._machine = machine
        self._first_core_seconds = core_seconds() if is_alone else None
        self._core_seconds, self._cores_due = 0.0, 0.0
        #: Of graphs that were lost, then of this one.
        self._lost: Counter[str] = Counter()
        self._status: GraphStatus | None = None
        #: Batches that lost graphs have applied, and the boundary that this one began at.
        self._lost_batches, self._begun = 0, 0
        self._cpu_workers = 0
        #: Seconds that batches waited, by what for; what for since the last look; when that was.
        self._held = {"analytics": 0.0, "disk": 0.0}
        self._held_by: str | None = None
        #: Whether they waited for pinned graphs, how often they did, and for how long.
        self._waited = False
        self.waits, self.wait_seconds = 0, 0.0
        self._look_seconds = time.monotonic()
        self._first_client_seconds = time.process_time()
        self._troubles: deque[tuple[float, str]] = deque(maxlen=_TROUBLES)

    def sample(self) -> None:
        """Add the time since the last call to what batches waited for; call after each event."""
        now = time.monotonic()
        if self._held_by is not None:
            self._held[self._held_by] += now - self._look_seconds
        if self._waited:
            self.wait_seconds += now - self._look_seconds
        waits = self._machine.waits_for_pins
        self.waits += waits and not self._waited
        self._waited = waits
        self._look_seconds, self._held_by = now, self._machine.held_by

    def started(self, status: GraphStatus, cpu_workers: int) -> None:
        """A generation has started."""
        self._status, self._cpu_workers = status, cpu_workers
        self._begun = status.boundary

    def update(self, status: GraphStatus) -> None:
        """Take the newest status of the graph."""
        self._status = status

    def failed(self, results: Iterable[FailedResult]) -> None:
        """Results could not be computed."""
        self._troubles.extend((time.time(), each.sentence) for each in results)

    def lost(self, reason: str) -> None:
        """A generation is lost."""
        self._troubles.append((time.time(), f"the graph was lost: {reason}"))
        if self._status is not None:
            self._lost.update(self._status.seconds)
            self._lost_batches += self._status.boundary - self._begun
        self._status = None

    def _cores(self) -> dict[str, float]:
        now = time.monotonic()
        if self._first_core_seconds is None:
            return {}
        if now >= self._cores_due and (seconds := core_seconds()) is not None:
            # The system takes a while to add up the times of many cores.
            self._cores_due = now + _CORES_SECONDS
            self._core_seconds = seconds - self._first_core_seconds
        return {"cores": self._core_seconds}

    def picture(self, findings: Mapping[str, Any]) -> Picture:
        """State of the run now."""
        machine, status = self._machine, self._status
        seconds = self._lost.copy()
        memory, timed = None, self._lost_batches
        if status is not None:
            seconds.update(status.seconds)
            timed += status.boundary - self._begun
            memory = status.memory
        client_seconds = time.process_time() - self._first_client_seconds
        loading = len(machine.loading)
        return Picture(
            recoveries=max(machine.generation, 0),
            seconds={**seconds, **self._held, "client": client_seconds, **self._cores()},
            timed=timed,
            cpu_workers=self._cpu_workers,
            window=machine.rules.window,
            loading=loading,
            waiting=max(machine.load_next - machine.applied - loading, 0),
            regions=memory.regions if memory else {},
            pinned_bytes=memory.pinned_bytes if memory else 0,
            arena_edges=memory.num_edges if memory else 0,
            limit_bytes=memory.limit_bytes if memory else 0,
            adjacency_bytes=memory.adjacency_bytes if memory else (),
            epochs=machine.pinned,
            most_epochs=machine.pins.most,
            waits=self.waits,
            wait_seconds=self.wait_seconds,
            findings=findings,
            troubles=tuple(self._troubles),
        )
