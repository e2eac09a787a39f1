"""What a run takes from the actor at a boundary, without Dask."""

from graphtide.gpu_core.snapshot import checkpoint_hash
from graphtide.pipeline.actor import GraphActor
from graphtide.pipeline.pinned import Copy


def copied(actor: GraphActor, boundary: int, *, share: bool = False) -> Copy:
    """Pin the graph of a boundary, and copy what was pinned."""
    actor.pin(boundary, results=False, checkpoint=True, epoch=True)
    return actor.copy_pinned(boundary, share=share)


def hash_of(copy: Copy) -> str:
    """State hash of a copy of directed edges, as the client works it out."""
    assert copy.state_hash is None, "the graph worker has worked it out already"
    assert isinstance(copy.arrays, dict)
    return checkpoint_hash(copy.arrays, directed=True, records="simple")


def analysed(actor: GraphActor, boundary: int) -> dict[str, object]:
    """Pin the graph of a boundary, and compute its PageRank."""
    actor.pin(boundary, results=True, checkpoint=False, epoch=True)
    return actor.analyse(boundary, {"pagerank": {}})
