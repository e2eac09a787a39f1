"""Whether a batch is for a kind of graph: of the same kind, and made by rules that agree with its.

Not here: times, ids and properties, which depend on what the graph has (`face/graph_changes.py`).
"""

from typing import Any, NoReturn

from ..errors import BatchError
from ..kind import GraphKind
from ..printable import batch_shown
from .update_batch import UpdateBatch


def check_kind(batch: Any, kind: GraphKind) -> None:
    """Refuse what is no batch, or one for another kind of graph.

    Raises
    ------
    BatchError
        It is directed or not, has records or a rule for repeats unlike the graph.
    """
    if (
        getattr(batch, "directed", None) != kind.directed
        or batch.records != kind.record.name
        or batch.on_repeat != kind.on_repeat
    ):
        _refuse(batch, kind)


def _refuse(batch: Any, kind: GraphKind) -> NoReturn:
    if not hasattr(batch, "directed"):
        msg = (
            f"{type(batch).__name__} is no batch and no frame; give a table of pandas, Polars "
            f"or Arrow, or a batch that UpdateBatch.from_rows makes"
        )
        raise BatchError(msg)
    of_both = (
        ("directed", batch.directed, kind.directed),
        ("records", batch.records, kind.record.name),
        ("on_repeat", batch.on_repeat, kind.on_repeat),
    )
    # The rule for repeats is named where it differs.
    named = of_both if batch.on_repeat != kind.on_repeat else of_both[:2]
    theirs = ", ".join(f"{name}={value!r}" for name, value, _ in named)
    ours = ", ".join(f"{name}={value!r}" for name, _, value in named)
    msg = f"{batch_shown(batch.batch_id)} is for {theirs}; the graph has {ours}"
    raise BatchError(msg)


def check_rules(batch: UpdateBatch, kind: GraphKind) -> None:
    """Refuse a batch in which other rules than the graph's have made a difference.

    Raises
    ------
    BatchError
        Rules for self loops, or for end points that are created.
    """
    if (batch.self_loops, batch.create_vertices) == (kind.self_loops, kind.create_vertices):
        return
    wrong = ""
    if batch.dropped and kind.self_loops != "drop":
        wrong = "self loops were dropped from"
    elif kind.self_loops != "keep" and batch.has_self_loops():
        wrong = "there are self loops in"
    if wrong:
        ours = f"self_loops={kind.self_loops!r}"
    elif kind.create_vertices and batch.create_vertices is False:
        wrong, ours = "edges create no vertices in", "create_vertices=True"
    elif not (kind.create_vertices or batch.put_vertex_rows.all()):
        wrong, ours = "edges that are gone create vertices in", "create_vertices=False"
    else:
        return
    msg = f"{wrong} the batch, but the graph has {ours}; make the batch with that"
    raise BatchError(msg)
