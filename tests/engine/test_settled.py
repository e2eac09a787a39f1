"""Rows of 0 … 200 entries under batches that mostly delete, insert few, or both, against sets.

`test_graph_properties.py` draws every kind of batch, but its rows are short. Here rows lie around
the lengths at which they are kept or merged another way: the widths of lanes (16, 64), the first
runs and pages, and rows longer than lanes that meet few entries or many.
"""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from graphtide import DynamicGraph, UpdateBatch
from graphtide.gpu_core.image.fields import CLASS_MASK, NONE, OUT_CLASS_SHIFT, STATE_WORD
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.testing import engine_of

HUBS = 3
#: Neighbors of the hubs; a batch may delete the last ones as vertices.
NEIGHBOURS = np.arange(10, 260)

WAYS = [
    {"ids": ids, "layout": layout, "records": records, **more}
    for layout in LAYOUTS
    for records, more in (
        ("simple", {}),
        ("simple", {"page_bytes": 16 if layout == "runs" else 256}),
        ("weighted", {"storage": "aos"}),
        ("semantic", {"storage": "soa"}),
    )
    for ids in ("dense", "any")
]

#: Entries of a hub in the first batch, and what a later batch does to it: puts, deletes.
LENGTHS = st.sampled_from([0, 1, 6, 7, 8, 9, 14, 15, 16, 17, 30, 31, 32, 33, 48, 60, 63, 64, 65, 66,
                           100, 128, 129, 200])  # fmt: skip
FEW = st.integers(0, 5)
CHANGES = st.one_of(
    st.tuples(FEW, st.just(0)),
    st.tuples(st.just(0), FEW),
    st.tuples(FEW, FEW),
    st.tuples(FEW, st.integers(20, 120)),
    st.tuples(st.integers(10, 120), FEW),
)


def apply(
    graph: DynamicGraph,
    puts: list[tuple[int, int]],
    deletes: list[tuple[int, int]],
    gone: list[int],
    number: int,
) -> Any:
    """One batch: vertices that go first, then edges to delete, then edges to put."""
    rows = [(-1, v, 0) for v in gone] + [(-1, *e) for e in deletes] + [(1, *e) for e in puts]
    op, src, dst = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    properties: dict[str, Any] = {}
    if graph.records != "simple":
        properties["weight"] = (1000 * number + dst).astype(np.float32)
    if graph.records == "semantic":
        properties["ts"] = np.full(op.size, number)
    batch = UpdateBatch.from_rows(
        op, src, dst, dst_valid=np.arange(op.size) >= len(gone), records=graph.records,
        self_loops="keep", **properties,
    )  # fmt: skip
    return graph.apply(batch)


def rooms_of(graph: DynamicGraph) -> list[int]:
    """Room of each hub in the ``runs`` layout: size class + 1, 0 where there is no run."""
    engine = engine_of(graph)
    indices = engine.indices_of(np.arange(HUBS))
    states = [
        int(engine.arena.vertex_table()[index, STATE_WORD]) if index != NONE else 0
        for index in indices.tolist()
    ]
    return [state >> OUT_CLASS_SHIFT & CLASS_MASK for state in states]


def room_after(graph: DynamicGraph, room: int, degree: int) -> int:
    """The law of `layouts/runs.py`, as its first lines say it."""
    shape = engine_of(graph).shape("out")

    def holds(room: int) -> int:
        return (shape.page_words << room - 1) // shape.entry_words if room else 0

    if degree == 0:
        return 0
    if degree > holds(room):
        return next(larger for larger in range(room, 40) if degree <= holds(larger))
    is_low = room > 1 and 4 * degree <= holds(room) and degree <= holds(room - 1)
    return room - 1 if is_low else room


def check(graph: DynamicGraph, model: dict[tuple[int, int], int]) -> None:
    graph.verify()
    edges = graph.edges()
    keys = list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    assert keys == sorted(model)
    if graph.records != "simple":
        weights = [1000.0 * model[key] + key[1] for key in keys]
        assert edges.properties["weight"].tolist() == weights
    if graph.records == "semantic":
        assert edges.properties["last"].tolist() == [model[key] for key in keys]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(str(x) for x in way.values()))
@hypothesis.settings(max_examples=15, deadline=None)
@hypothesis.given(data=st.data())
def test_rows_of_every_length(way: dict[str, Any], data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 20), label="seed"))
    # A small arena: `verify` looks at all of it.
    graph = DynamicGraph(**way, self_loops="keep", arena_bytes=1 << 21)
    lengths = data.draw(st.tuples(*[LENGTHS] * HUBS), label="lengths")
    puts = [
        (hub, int(other))
        for hub, length in enumerate(lengths)
        for other in random.choice(NEIGHBOURS, length, replace=False)
    ]
    # Edges between all others, so that each of them is there from the start.
    puts += [(int(other), 0) for other in NEIGHBOURS]
    model = dict.fromkeys(puts, 0)
    apply(graph, puts, [], [], 0)
    check(graph, model)
    for number in range(1, 4):
        puts, deletes = [], []
        for hub in range(HUBS):
            new, old = data.draw(CHANGES, label="puts, deletes")
            there = [key for key in model if key[0] == hub]
            kept = random.permutation(len(there))[:old]
            deletes += [there[i] for i in kept]
            named = {hub, *(other for _, other in deletes)}
            free = [int(other) for other in NEIGHBOURS if int(other) not in named]
            puts += [(hub, other) for other in random.permutation(free)[:new].tolist()]
        missing = [(0, 9), (1, 9), (2, 9)][: data.draw(st.integers(0, 3))]
        gone = NEIGHBOURS[NEIGHBOURS.size - data.draw(st.sampled_from([0, 0, 1, 30])) :].tolist()
        if not puts and not deletes and not missing and not gone:
            continue
        there = {key for key in model if key[0] in gone or key[1] in gone}
        found = [key for key in deletes if key in model]
        updated = [key for key in puts if key in model and key not in there]
        rooms = rooms_of(graph)
        report = apply(graph, puts, [*deletes, *missing], gone, number)
        for key in [*found, *there]:
            model.pop(key, None)
        model.update(dict.fromkeys(puts, number))
        if way["layout"] == "runs":
            after = rooms_of(graph)
            # Rows that the batch does not meet are left as they are.
            for hub in {src for src, _ in [*puts, *found]}:
                degree = sum(src == hub for src, _ in model)
                assert after[hub] == room_after(graph, rooms[hub], degree)
        assert report.updated == len(updated)
        assert report.inserted == len(puts) - len(updated)
        check(graph, model)
