"""The actor that owns the graph: it lives on the graph worker and applies batches in log order.

Batches come from tasks that Dask may run in any order, run again, or run on behalf of a graph that
is long gone. Three rules make each batch's effect be there exactly once, in order:

* a batch that comes early waits in a reorder buffer, and is applied with the one that it waits for;
* a batch that was applied already, or waits already, is ignored;
* an actor is one *generation*, with a key of its own, and tasks find it by that key: a task of
  another generation finds nothing (`tasks.local_actor`), and a batch in another's memory is refused
  (`handover.Inbox`).

The window of the client bounds the buffer: no batch is sent that is further from the next one.

A batch that is refused leaves the graph as before it. The actor then keeps its graph and refuses
all later batches; what came before it can be analysed and checkpointed. After any other error the
graph is not trusted any more (`Notice.is_broken`). Where it lies on a GPU that this process has
lost, the process ends itself (`last_words.py`).

All methods run on the one thread that Dask keeps for actors, so there are no locks. The constructor
runs on another thread, before any method.

Not here: how a batch gets here (``handover.py``), when what is done (``lifecycle.py``), and files:
results and checkpoints go to the client as arrays, the latter as ``shared_arrays.py`` says, and it
writes them, because it alone holds the lock of the state.
"""

import pickle
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..gpu_core.errors import ArenaFullError, BatchError, GraphtideError
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.report import BatchReport
from . import monitoring
from .handover import Inbox, Parcel, RingSize
from .last_words import ends_with_its_device
from .ring import RingAddress
from .shared_arrays import ArraysAddress, SharedArrays
from .warm_up import warm_graph

#: What ``DynamicGraph.checkpoint_arrays`` returns.
Arrays = dict[str, np.ndarray]

#: Errors of ``DynamicGraph.apply`` that leave the graph as before the batch.
_REFUSALS = (BatchError, ArenaFullError)

#: Batches opened before their turn: they are on their way to a GPU while others are applied.
_AHEAD = 2


@dataclass(frozen=True)
class Notice:
    """What the actor answers to a batch."""

    #: The graph has all batches before this one.
    boundary: int
    num_vertices: int
    num_edges: int
    #: The batch that ended it all, and why; None: there is none so far.
    failed_batch: int | None = None
    #: Pickled, since an error itself would keep the graph in memory: see `forget_frames`.
    pickled_error: bytes | None = None
    #: Whether the graph is no more what it was before the failed batch.
    is_broken: bool = False

    @property
    def error(self) -> BaseException | None:
        """Why the failed batch failed."""
        return pickle.loads(self.pickled_error) if self.pickled_error else None


class GraphStoppedError(GraphtideError):
    """A graph takes no more batches; its notice names the batch that ended it all, and why."""

    def __init__(self, notice: Notice) -> None:
        # Workers log it.
        super().__init__(f"batch {notice.failed_batch} cannot be applied: {notice.error}")
        self.notice = notice

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.notice,)


@dataclass(frozen=True)
class Copy:
    """The graph between two batches, for a checkpoint."""

    #: The arrays, or where they lie in shared memory until the next batch is applied.
    arrays: Arrays | ArraysAddress
    #: Of the batches since the copy before, or since the start.
    reports: list[BatchReport]
    #: Names of the workers that read those batches, one each.
    readers: list[str]
    #: None with dense ids: then the arrays tell it (`checkpoint_hash`), and the graph goes on.
    state_hash: str | None
    num_vertices: int
    num_edges: int
    #: Way of the hand-over -> batches that came by it, likewise.
    ways: dict[str, int]


class GraphActor:
    """One generation of the graph.

    Parameters
    ----------
    graph_arguments
        Keyword arguments of `DynamicGraph`.
    boundary
        First batch to be applied.
    checkpoint
        Arrays of the graph at that boundary; None: an empty graph.
    ring
        Size of the ring that batches may come through; None: they come by Dask.
    raw
        Whether batches may come as rows, if the graph is on a GPU.
    """

    def __init__(
        self,
        graph_arguments: dict[str, Any],
        boundary: int,
        checkpoint: Arrays | None,
        ring: RingSize | None = None,
        raw: bool = False,
    ) -> None:
        with ends_with_its_device():
            if checkpoint is None:
                self._graph = DynamicGraph(**graph_arguments)
            else:
                self._graph = DynamicGraph.from_checkpoint_arrays(checkpoint, **graph_arguments)
            self._inbox = Inbox(ring, boundary, self._graph.feed())
            with self._inbox.locking():
                warm_graph({**graph_arguments, "create_vertices": True}, raw=raw)
        self._boundary = boundary
        #: Batches that came early, by number, with the seconds that they took so far, and who read
        #: them.
        self._early: dict[int, tuple[Parcel, dict[str, float], str]] = {}
        #: Those of them that are opened.
        self._opened: dict[int, Any] = {}
        self._failure: Notice | None = None
        #: The newest copy, until it cannot be asked for any more.
        self._shared: SharedArrays | None = None
        #: Reports of the batches since the newest copy.
        self._reports: list[BatchReport] = []
        self._readers: list[str] = []
        self._publish()

    @property
    def ring(self) -> RingAddress | str:
        """Where CPU workers of this machine may put batches, or why nowhere."""
        return self._inbox.address

    @property
    def engine(self) -> str:
        """Engine of the graph: ``host`` or ``cuda``."""
        return self._graph.engine

    def apply(
        self, batch_id: int, parcel: Parcel, seconds: dict[str, float], reader: str = ""
    ) -> Notice:
        """Take in a batch that ``reader`` has read, and apply all that is its turn now."""
        if self._failure is not None:
            return self._failure
        if batch_id >= self._boundary:
            self._inbox.check(parcel)
            self._early.setdefault(batch_id, (parcel, seconds, reader))
        while self._boundary in self._early:
            # The client asks for no further batch to be applied before it has the copy.
            self._shared = None
            start = time.perf_counter()
            try:
                with ends_with_its_device():
                    self._open(self._boundary)
                    self._open_ahead()
                    report = self._graph.apply(self._opened.pop(self._boundary))
            except Exception as error:
                self._fail(error)
                break
            parcel, seconds, reader = self._early.pop(self._boundary)
            seconds = {**seconds, "apply": time.perf_counter() - start}
            self._reports.append(report._replace(batch_id=self._boundary, seconds=seconds))
            self._readers.append(reader)
            self._boundary += 1
            self._inbox.advance(self._boundary, parcel)
        if self._failure is None:
            with ends_with_its_device():
                self._open_ahead()
        self._publish()
        return self._failure or self._notice()

    def _open(self, batch_id: int) -> None:
        if batch_id in self._early and batch_id not in self._opened:
            self._opened[batch_id] = self._inbox.open(self._early[batch_id][0])

    def _open_ahead(self) -> None:
        # What goes wrong is told when it is the batch's turn, which opens it again.
        with suppress(Exception):
            for ahead in range(1, _AHEAD + 1):
                self._open(self._boundary + ahead)

    def _notice(self) -> Notice:
        return Notice(self._boundary, int(self._graph.num_vertices), int(self._graph.num_edges))

    def _fail(self, error: Exception) -> None:
        self._early.clear()
        self._opened.clear()
        self._failure = replace(
            self._notice(),
            failed_batch=self._boundary,
            pickled_error=_pickled(error),
            is_broken=not isinstance(error, _REFUSALS),
        )

    def analyse(self, boundary: int, analytics: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Compute results: name -> arguments in, name -> columns out."""
        self._check_boundary(boundary)
        results: dict[str, Any] = {}
        with ends_with_its_device():
            if "pagerank" in analytics:
                results["pagerank"] = self._graph.pagerank(**analytics["pagerank"])
            if "clustering" in analytics:
                results["clustering"] = self._graph.clustering()
        return results

    def copy(self, boundary: int, *, share: bool = False) -> Copy:
        """Copy the graph as it is after all batches before ``boundary``.

        ``share``: leave the arrays in shared memory, where the system has such a thing.
        """
        self._check_boundary(boundary)
        with ends_with_its_device():
            state_hash = None if self._graph.ids == "dense" else self._graph.state_hash()
            arrays: Arrays = self._graph.checkpoint_arrays()
        self._shared = None
        if share:
            with suppress(OSError):
                self._shared = SharedArrays(arrays)
        reports, self._reports = self._reports, []
        readers, self._readers = self._readers, []
        return Copy(
            arrays if self._shared is None else self._shared.address,
            reports,
            readers,
            state_hash,
            int(self._graph.num_vertices),
            int(self._graph.num_edges),
            self._inbox.ways(),
        )

    def copied_arrays(self, boundary: int) -> Arrays:
        """The arrays of the newest copy, for a client that cannot open its memory."""
        self._check_boundary(boundary)
        assert self._shared is not None, "the copy is not in shared memory"
        return self._shared.arrays

    def close(self) -> None:
        """Let go of the graph and its ring, whoever may still refer to this; it is of no more use.

        Something may: the frames of an error that lies in a cycle, until the garbage collector
        looks, which in an idle worker may be never.
        """
        self._early.clear()
        self._opened.clear()
        self._shared = None
        del self._inbox, self._graph

    def _check_boundary(self, boundary: int) -> None:
        if boundary != self._boundary:
            msg = f"the graph stands before batch {self._boundary}, not {boundary}"
            raise AssertionError(msg)

    def _publish(self) -> None:
        monitoring.publish(
            {
                "batches": self._boundary,
                "early": len(self._early),
                "vertices": int(self._graph.num_vertices),
                "edges": int(self._graph.num_edges),
            }
        )


def _pickled(error: Exception) -> bytes:
    """The error, or its text where the client could not read it."""
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = pickle.dumps(GraphtideError(f"{type(error).__name__}: {error}"))
    forget_frames(error)
    return pickled


def forget_frames(error: BaseException) -> None:
    """Drop what the frames of an error refer to: the actor, with the graph and its ring.

    Errors tend to lie in a cycle with a frame that caught them. In an idle worker all that they
    refer to would outlive the run, until the garbage collector happens to look.
    """
    link: BaseException | None = error
    while link is not None:
        traceback.clear_frames(link.__traceback__)
        link = link.__context__
