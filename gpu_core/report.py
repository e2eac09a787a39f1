"""What one batch did: the counts of its rows, its net effect, and how memory stands after it."""

from typing import NamedTuple


class BatchReport(NamedTuple):
    """Report on one applied batch.

    Every row of the batch is in exactly one of ``dropped``, ``overridden``, ``missing``,
    ``inserted``, ``updated`` and ``deleted``, the first that fits, so these add up to ``rows``.
    """

    #: Number of the batch in log order; -1 for a batch made by hand.
    batch_id: int
    #: Rows of the batch.
    rows: int
    #: Self loops, where they are dropped: as if the row were not there.
    dropped: int
    #: Rows that a later row of the same batch decides.
    overridden: int
    #: Deletes of what was not there.
    missing: int
    #: Inserts of a key that was not there.
    inserted: int
    #: Inserts of a key that was there, even if nothing changed.
    updated: int
    #: Deletes of what was there.
    deleted: int
    #: Edges that the batch added to the graph (an undirected edge counts once).
    edges_added: int
    #: Edges that it removed, those lost with a vertex included.
    edges_removed: int
    vertices_created: int
    vertices_removed: int
    #: Vertices and edges of the graph after the batch.
    num_vertices: int
    num_edges: int
    #: Pages that hold something, pages that can be taken without growth, largest free run.
    pages_used: int
    pages_free: int
    largest_free_run: int
    #: Rows (of a vertex and a direction) whose degree changed: those that moved to a larger run, or
    #: got their first one; of the others, those that were appended to; those merged in place.
    rows_moved: int
    rows_appended: int
    rows_merged: int
    #: Seconds by stage: of ``read``, ``convert``, ``transfer``, ``apply`` those that took place.
    seconds: dict[str, float]

    def as_dict(self) -> dict[str, object]:
        """Plain values, ``seconds`` spread out as ``<stage>_seconds``; for tables and JSON."""
        row = self._asdict()
        seconds = row.pop("seconds")
        row.update({f"{stage}_seconds": seconds.get(stage, 0.0) for stage in STAGES})
        return row


STAGES = ("read", "convert", "transfer", "apply")
