"""What a run gives the actor, and takes from it at a boundary, without Dask."""

from typing import Any

import numpy as np

from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.copies.state_hash import checkpoint_hash
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.batch_results import (
    BatchResults,
    ComputedResult,
    ResultRequest,
    summarized,
    with_columns,
)
from graphtide.pipeline.graph_worker.pinned import Copy, PinnedAs
from graphtide.pipeline.state_machine.instructions import Pin


def one_edge(batch_id: int, src: int = 1) -> UpdateBatch:
    """A batch that inserts one edge, to another vertex for each number."""
    return UpdateBatch.from_rows(None, np.array([src]), np.array([batch_id + 100]))


def pin_request(boundary: int, *, results: bool, checkpoint: bool, epoch: bool) -> Pin:
    """What the actor is asked for; whatever results are due, they are computed apart from it."""
    return Pin(0, boundary, ("any",) if results else (), checkpoint, epoch)


def pin(actor: GraphActor, boundary: int, **purpose: bool) -> PinnedAs:
    """Pin the graph of a boundary; returns as what."""
    return actor.pin(pin_request(boundary, **purpose)).kept


def copied(actor: GraphActor, boundary: int, *, share: bool = False) -> Copy:
    """Pin the graph of a boundary, and copy what was pinned."""
    pin(actor, boundary, results=False, checkpoint=True, epoch=True)
    return actor.copy_pinned(boundary, share=share)


def batch_ids(copy: Copy) -> list[int]:
    """Numbers of the batches that a copy has reports of."""
    return [batch.report.batch_id for batch in copy.batches]


def hash_of(copy: Copy) -> str:
    """State hash of a copy of directed edges, as the client works it out."""
    assert copy.state_hash is None, "the graph worker has worked it out already"
    assert isinstance(copy.arrays, dict)
    return checkpoint_hash(copy.arrays, directed=True, records="simple")


def computed_result(request: ResultRequest, result: Any) -> ComputedResult:
    """What a result comes to, with its columns where these are asked for."""
    return with_columns(summarized(request, result), request, result)


def results_of(actor: GraphActor, boundary: int, **analytics: dict[str, Any]) -> BatchResults:
    """What analytics with these parameters come to, of what is pinned."""
    found = actor.reads.analyze(boundary, whole(analytics))
    assert isinstance(found, BatchResults)
    return found


def whole(analytics: dict[str, dict[str, Any]]) -> dict[str, ResultRequest]:
    """What is asked for where all columns are: name of an analytic -> its parameters."""
    return {name: ResultRequest(name, given, given, "whole") for name, given in analytics.items()}


def analyzed(actor: GraphActor, boundary: int, **analytics: dict[str, Any]) -> dict[str, Any]:
    """Columns of these analytics, of what is pinned; none of them may fail."""
    there = results_of(actor, boundary, **analytics)
    assert not there.failed
    return {name: each.columns for name, each in there.by_name.items()}
