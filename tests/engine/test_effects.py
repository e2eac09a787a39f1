"""Effects of a batch: the differences between the graphs before and after it, on every engine."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphtide import BatchError, DynamicGraph, SettingsError
from graphtide.gpu_core.effects import Effects
from graphtide.testing import engine_of
from model_checks import model_of
from oracles import KEPT, OF_BATCHES, ModelGraph, Row, batch_of
from strategies import LAYOUTS, RECORDS, batches, meanings, pools

pytestmark = pytest.mark.usefixtures("engine")

Weights = dict[tuple[int, int], float | None]


def weights_of(model: ModelGraph) -> Weights:
    has_weight = "weight" in KEPT[model.records]
    return {edge: value.weight if has_weight else None for edge, value in model.edges.items()}


def items(edges: Any, graph: DynamicGraph, *, old: bool, new: bool) -> list[tuple[Any, ...]]:
    """Edges with the weights that they must have; checks that they have no others."""
    columns = [edges.src.tolist(), edges.dst.tolist()]
    for weights, is_there in ((edges.old_weight, old), (edges.new_weight, new)):
        assert (weights is not None) == (is_there and graph.records != "simple")
        columns.append([None] * len(edges) if weights is None else weights.tolist())
    return list(zip(*columns, strict=True))


def check_effects(
    effects: Effects, graph: DynamicGraph, before: ModelGraph, after: ModelGraph, index: Any
) -> None:
    """``index`` maps users' ids to indices, before the batch."""
    old, new = weights_of(before), weights_of(after)
    added = [(*edge, None, new[edge]) for edge in sorted(new.keys() - old.keys())]
    removed = [(*edge, old[edge], None) for edge in sorted(old.keys() - new.keys())]
    both = sorted(old.keys() & new.keys())
    reweighted = [(*edge, old[edge], new[edge]) for edge in both if old[edge] != new[edge]]
    assert items(effects.added, graph, old=False, new=True) == added
    assert items(effects.removed, graph, old=True, new=False) == removed
    assert items(effects.reweighted, graph, old=True, new=True) == reweighted
    assert effects.created.ids.tolist() == sorted(after.vertices - before.vertices)
    assert effects.lost.ids.tolist() == sorted(before.vertices - after.vertices)
    ids = after_ids(after)
    now = zip(ids.tolist(), engine_of(graph).indices_of(ids).tolist(), strict=True)
    expected = {**dict(now), **index}
    for edges in (effects.added, effects.removed, effects.reweighted):
        assert edges.src_index.tolist() == [expected[v] for v in edges.src.tolist()]
        assert edges.dst_index.tolist() == [expected[v] for v in edges.dst.tolist()]
    for vertices in (effects.created, effects.lost):
        assert vertices.index.tolist() == [expected[v] for v in vertices.ids.tolist()]


def after_ids(model: ModelGraph) -> np.ndarray:
    return np.array(sorted(model.vertices), np.int64)


def meaning_of(graph: DynamicGraph) -> dict[str, Any]:
    return {name: getattr(graph, name) for name in OF_BATCHES}


def apply_and_check(graph: DynamicGraph, model: ModelGraph, rows: list[Row]) -> None:
    before = ModelGraph(directed=model.directed, records=model.records)
    before.vertices, before.edges = set(model.vertices), dict(model.edges)
    ids = after_ids(before)
    found = engine_of(graph).indices_of(ids)
    index = {int(v): int(i) for v, i in zip(ids, found, strict=True)}
    try:
        model.apply(rows)
    except BatchError:
        with pytest.raises(BatchError):
            graph.apply(batch_of(rows, meaning_of(graph)), effects=True)
        return
    report = graph.apply(batch_of(rows, meaning_of(graph)), effects=True)
    assert report.effects is not None
    check_effects(report.effects, graph, before, model, index)
    assert len(report.effects.added) == report.edges_added or model_deletes(rows)


def model_deletes(rows: list[Row]) -> bool:
    """Whether vertices are deleted: what is made anew then counts as removed and added."""
    return any(row.dst is None and row.op < 0 for row in rows)


@settings(max_examples=30, deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_effects_are_the_differences_of_the_graphs(data: st.DataObject, engine: str) -> None:
    meaning = data.draw(meanings(data.draw(st.sampled_from(RECORDS))))
    # A device has its layout by its name.
    layout = {"layout": data.draw(st.sampled_from(list(LAYOUTS)))} if engine == "host" else {}
    storage = data.draw(st.sampled_from(("soa", "aos")))
    graph = DynamicGraph(**meaning, **layout, storage=storage)
    model = model_of(meaning)
    pool = data.draw(pools(meaning["ids"]))
    for _ in range(data.draw(st.integers(1, 4))):
        rows = data.draw(batches(pool))
        loops = [row.src == row.dst for row in rows]
        if meaning["self_loops"] == "reject" and any(loops):
            rows = [row for row, is_loop in zip(rows, loops, strict=True) if not is_loop]
        apply_and_check(graph, model, rows)


@pytest.mark.parametrize("reverse", [False, True])
def test_what_cancels_out_is_no_effect(reverse: bool) -> None:
    graph = DynamicGraph(records="weighted", self_loops="keep", reverse=reverse)
    model = ModelGraph(records="weighted", self_loops="keep")
    # A star around 1 with a self loop, and an edge that has nothing to do with it.
    star = [Row(1, 1, 1, 1.0), Row(1, 1, 2, 2.0), Row(1, 3, 1, 3.0), Row(1, 5, 6, 4.0)]
    apply_and_check(graph, model, star)
    # The hub goes and comes back with one of its edges, of the same weight, and one of another.
    again = [Row(-1, 1, None), Row(1, 1, 1, 1.0), Row(1, 3, 1, 7.0), Row(1, 5, 6, 4.0)]
    apply_and_check(graph, model, again)
    # Deletes of what is not there, repeats, and an edge that comes and goes.
    nothing = [Row(-1, 8, 9), Row(-1, 77, None), Row(1, 6, 5, 1.0), Row(-1, 6, 5)]
    apply_and_check(graph, model, nothing)


def test_an_undirected_edge_is_lost_once_with_either_end_or_both() -> None:
    graph = DynamicGraph(records="weighted", directed=False)
    model = ModelGraph(records="weighted", directed=False)
    path = [(1, 5), (5, 9), (9, 2), (2, 1)]
    apply_and_check(graph, model, [Row(1, *edge, weight=float(sum(edge))) for edge in path])
    # One comes back with an edge that it had, named from its other end.
    apply_and_check(graph, model, [Row(-1, 5, None), Row(-1, 9, None), Row(1, 9, 5, 2.0)])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("records", ["weighted64", "semantic64"])
def test_float64_weights_are_told_to_the_bit(records: str, layout: str) -> None:
    graph = DynamicGraph(records=records, layout=layout)
    model = ModelGraph(records=records)
    # Numbers that float32 holds alike, and ones of which only one word differs.
    weights = [16_777_217.0, 16_777_216.0, 0.1, 1 / 3, -0.0]
    for shift in (0, 1):
        rows = [Row(1, 1, 2 + i, weights[i - shift], 0, i) for i in range(len(weights))]
        apply_and_check(graph, model, rows)
    changed = graph.apply(
        batch_of([Row(1, 1, 2, np.nextafter(-0.0, 1), 0, 9)], meaning_of(graph)), effects=True
    ).effects
    assert changed is not None
    assert changed.reweighted.new_weight is not None
    assert changed.reweighted.new_weight.dtype == np.float64
    assert changed.reweighted.new_weight.tolist() == [5e-324]


@pytest.mark.parametrize("effects", ["no", 1, None])
def test_whether_there_are_any_is_true_or_false(effects: Any) -> None:
    graph = DynamicGraph(records="semantic", engine="host")
    graph.insert_edges([1], [2], ts=5)
    with pytest.raises(SettingsError, match=f"effects={effects!r} is neither True nor False"):
        graph.apply(pd.DataFrame({"src": [1], "dst": [3], "ts": [6]}), effects=effects)
    with pytest.raises(SettingsError, match="effects="):
        graph.expire(before=6, effects=effects)
    assert graph.num_edges == 1


def test_without_being_asked_for_there_are_none() -> None:
    graph = DynamicGraph()
    report = graph.insert_edges([1], [2])
    assert report.effects is None
    assert "effects" not in report.as_dict()


@pytest.mark.parametrize("kind", [{"ids": "dense"}, {"ids": "any", "directed": False}])
def test_a_batch_that_was_sent_ahead_has_the_same_effects(kind: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    plain, sent = (DynamicGraph(records="weighted", **kind) for _ in range(2))
    feed = sent.feed()
    for _ in range(3):
        src, dst = rng.integers(0, 30, (2, 80))
        rows = [
            Row(1 if draw < 0.6 else -1, int(u), int(v), round(draw, 1))
            for u, v, draw in zip(src, dst, rng.random(80), strict=True)
        ]
        batch = batch_of([*rows, Row(-1, int(src[0]), None)], meaning_of(plain))
        expected = plain.apply(batch, effects=True).effects
        found = sent.apply(batch if feed is None else feed.send(batch), effects=True).effects
        for name in ("added", "removed", "reweighted", "created", "lost"):
            for column, values in vars(getattr(expected, name)).items():
                ours = getattr(getattr(found, name), column)
                assert (ours is None) == (values is None), (name, column)
                if values is not None:
                    assert ours.dtype == values.dtype
                    assert ours.tolist() == values.tolist(), (name, column)


def test_the_example_of_the_library_s_page() -> None:
    page = (
        Path(__file__).resolve().parents[2].joinpath("docs/library.md").read_text(encoding="utf-8")
    )
    code = next(part for part in page.split("```") if "collections.Counter()" in part)
    frames = [
        pd.DataFrame({"src": [1, 2, 2], "dst": [2, 3, 3], "op": ["insert"] * 3}),
        pd.DataFrame({"src": [1, 2], "dst": [2, 3], "op": ["delete", "insert"]}),
        pd.DataFrame({"src": [1, 4], "dst": [2, 4], "op": ["insert", "insert"]}),
    ]
    names: dict[str, Any] = {"graph": DynamicGraph(), "frames": frames}
    exec(code.removeprefix("python"), names)
    # The second insert of (2, 3) adds nothing, nor does the self loop.
    assert names["ever"] == {1: 2, 2: 3, 3: 1}
