"""Reads of pinned graphs: computes results and copies checkpoints while batches are applied.

Each read runs on a thread of its own. Pinned graphs are read one at a time, the oldest first; a
read that comes early waits until its graph is the oldest.

An analytic that fails costs its own result only: the graph and the other results remain.

Results and copies go to the client as arrays, through shared memory (``shared_arrays.py``). The
client writes the files, because it alone holds the lock of the state.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock
from typing import Any

from ...gpu_core.errors import CorruptImageError, EngineError, EpochClosedError
from ...gpu_core.face.graph_reader import GraphReader
from .batch_results import (
    BatchResults,
    ComputedResult,
    ResultRequest,
    SharedResults,
    shared_columns,
    summarized,
    with_columns,
)
from .exit_reasons import ends_with_its_device
from .graph_status import forget_frames
from .pinned import Arrays, CopiedGraph, Copy, PinnedQueue
from .shared_arrays import ArraysAddress, SharedArrays

#: Errors of analytics after which nothing is known of the graph that they were to read.
_NOT_OF_THE_ANALYTIC = (EngineError, CorruptImageError, EpochClosedError)


@contextmanager
def _failures_of(name: str, failed: dict[str, str]) -> Iterator[None]:
    """Keep why a result failed, for its name, and go on without it."""
    try:
        yield
    except _NOT_OF_THE_ANALYTIC as error:
        error.args = (f"result {name}: {error}",)
        raise
    except Exception as error:
        failed[name] = str(error) or type(error).__name__
        # Its frames have the graph, and what was computed so far; those that are still at work are
        # not cleared, and one of them has the error (since Python 3.12).
        forget_frames(error)
        error.__traceback__ = None


def _computed(
    graph: GraphReader, requests: Mapping[str, ResultRequest], failed: dict[str, str]
) -> tuple[dict[str, ComputedResult], dict[str, Any]]:
    """Compute results one by one; returns what is shown of them, and those with columns to write.

    ``failed`` gets the name of each that failed, and why.
    """
    found: dict[str, ComputedResult] = {}
    results: dict[str, Any] = {}
    for name, request in requests.items():
        # One lock for both: on a GPU, on the stream of epochs, beside batches.
        with _failures_of(name, failed), graph.lock:
            result = graph.compute(request.kind, **request.arguments)
            found[name] = summarized(request, result)
            if request.written is not None:
                results[name] = result
        # Before the next one takes memory.
        result = None
    return found, results


class PinnedReads:
    """Reads pinned graphs, and keeps shared memory until the client has opened it.

    Parameters
    ----------
    graphs
        Those that are pinned.
    """

    def __init__(self, graphs: PinnedQueue) -> None:
        self._graphs = graphs
        #: Boundary -> shared memory of the copy, until the client has opened it.
        self._copied: dict[int, SharedArrays] = {}
        #: Boundary -> results whose columns are shared, and that memory, until it was opened.
        self._found: dict[int, tuple[BatchResults, list[SharedArrays]]] = {}
        #: Held while columns come to the host: results of one boundary at a time wait for that.
        self._fetching = Lock()

    def analyze(
        self, boundary: int, requests: Mapping[str, ResultRequest], *, share: bool = False
    ) -> BatchResults | SharedResults:
        """Compute results of a pinned graph, one by one, and reduce each to what was requested.

        Parameters
        ----------
        boundary
            Boundary of the graph.
        requests
            Name of the result -> what to compute.
        share
            Leave columns in shared memory, where the system has such a thing.
        """
        start = time.perf_counter()
        failed: dict[str, str] = {}
        with ExitStack() as fetching, ends_with_its_device():
            with self._graphs.reading(boundary, checkpoint=False) as pinned:
                graph = pinned.graph
                assert isinstance(graph, GraphReader), "results are of a graph, not of a checkpoint"
                found, results = _computed(graph, requests, failed)
                lock = graph.lock
                if results:
                    fetching.enter_context(self._fetching)
            # Results remain when the graph is released: the next one is read while columns, of
            # which there are a value for each vertex, come to the host.
            while results:
                name, result = results.popitem()
                with _failures_of(name, failed), lock:
                    found[name] = with_columns(found[name], requests[name], result)
                result = None
        for name in failed:
            found.pop(name, None)
        batch_results = BatchResults(found, pinned.source, time.perf_counter() - start, failed)
        shared = shared_columns(batch_results) if share else {}
        if not shared:
            return batch_results
        self._found[boundary] = batch_results, list(shared.values())
        return SharedResults.of(batch_results, shared)

    def results(self, boundary: int) -> BatchResults:
        """Results with all columns, for a client that cannot open the shared ones."""
        return self._found[boundary][0]

    def release_columns(self, boundary: int) -> None:
        """The client has the columns: processes that have mapped their memory keep it."""
        self._found.pop(boundary, None)

    def copy(self, boundary: int, *, share: bool = False) -> Copy:
        """Copy a pinned graph for a checkpoint.

        ``share``: leave the arrays in shared memory, where the system has such a thing.
        """
        with ends_with_its_device(), self._graphs.reading(boundary, checkpoint=True) as pinned:
            graph = pinned.graph
            copied = graph if isinstance(graph, CopiedGraph) else CopiedGraph.of(graph)
        arrays: Arrays | ArraysAddress = copied.arrays
        if share:
            with suppress(OSError):
                shared = self._copied[boundary] = SharedArrays(copied.arrays)
                arrays = shared.address
        return Copy(
            arrays, pinned.batches, copied.state_hash, copied.num_vertices, copied.num_edges,
            pinned.routes, pinned.window,
        )  # fmt: skip

    def copied_arrays(self, boundary: int) -> Arrays:
        """The arrays of a copy, for a client that cannot open its memory."""
        return self._copied[boundary].arrays

    def release_copy(self, boundary: int) -> None:
        """The client has a copy: processes that have mapped its memory keep it."""
        self._copied.pop(boundary, None)

    def clear(self) -> None:
        """Release all."""
        self._copied.clear()
        self._found.clear()
