"""``on_repeat``: weights of edges that are inserted again, against rows replayed one by one."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphtide import BatchError, DynamicGraph, SettingsError, UpdateBatch
from graphtide.gpu_core.batch.packed_batch import packed_rows
from graphtide.gpu_core.kind import row_meaning
from graphtide.gpu_core.records import ON_REPEAT
from model_checks import check_same, expected_report, model_of
from oracles import Row, batch_arguments, batch_of
from pairs import in_pairs
from strategies import DIRECTIONS, LAYOUTS

RULES = [rule for rule in ON_REPEAT if rule != "last"]
RECORDS = ("weighted", "semantic", "weighted64", "semantic64")
#: Sums of these round, are larger than any float32, or make it matter which zero comes first.
WEIGHTS = (0.1, 0.7, -0.1, 1e-9, 12345.678, 0.0, -0.0, 3e38, -3e38)


def repeated_rows(seed: int, count: int) -> list[Row]:
    """Rows about few edges, a fifth of them deletes; some vertices are deleted, too."""
    rng = np.random.default_rng(seed)
    rows = []
    for ts in range(count):
        op = -1 if rng.random() < 0.2 else 1
        src, dst = (int(vertex) for vertex in rng.integers(0, 5, 2))
        if rng.random() < 0.04:
            rows.append(Row(op, src, None))
        else:
            weight = float(rng.choice(WEIGHTS))
            rows.append(Row(op, src, dst, weight, int(rng.integers(9)), ts))
    return rows


@pytest.mark.usefixtures("engine")
@in_pairs(rule=RULES, records=RECORDS, direction=DIRECTIONS, layout=LAYOUTS, ids=("any", "dense"))
def test_rows_one_by_one(
    rule: str, records: str, direction: dict[str, Any], layout: str, ids: str
) -> None:
    """However rows are cut into batches, and across a restart: the same graph, to the bit."""
    meaning = {"records": records, "on_repeat": rule, "ids": ids, **direction}
    rows, model = repeated_rows(3, 140), model_of(meaning)
    graph = DynamicGraph(**meaning, layout=layout)
    for size in (40, 3, 1, 60, 36):
        batch, rows = rows[:size], rows[size:]
        expected = expected_report(model, batch)
        report = graph.apply(batch_of(batch, meaning))
        assert {name: getattr(report, name) for name in expected} == expected
        check_same(graph, model)
        graph.verify()
        arrays = graph.checkpoint_arrays()
        graph = DynamicGraph.from_checkpoint_arrays(arrays, **meaning, layout=layout)
    whole = DynamicGraph(**meaning, layout=layout)
    whole.apply(batch_of(repeated_rows(3, 140), meaning))
    assert whole.state_hash() == graph.state_hash()


#: Weights of the lives of an edge, between two deletes, and what each rule makes of the last one.
LIVES = [[9.0], [2.0, 4.0, 0.5, 3.0]]
OF_LAST_LIFE = {"last": 3, "first": 2, "sum": 9.5, "min": 0.5, "max": 4, "count": 4}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("rule", ON_REPEAT)
@pytest.mark.parametrize("ends_by", ["edge", "vertex"])
def test_a_delete_begins_a_new_life(rule: str, ends_by: str) -> None:
    """In each cut of the rows; of an edge that is named from either end."""
    gone = Row(-1, 1, 2) if ends_by == "edge" else Row(-1, 2, None)
    rows = [Row(1, 1, 2, *LIVES[0]), gone, *(Row(1, 2, 1, weight) for weight in LIVES[1])]
    meaning = {"records": "weighted", "directed": False, "on_repeat": rule}
    for cut in range(len(rows) + 1):
        graph = DynamicGraph(**meaning)
        for part in (rows[:cut], rows[cut:]):
            graph.apply(batch_of(part, meaning))
        assert graph.edge_weights(1, 2) == graph.edge_weights(2, 1) == OF_LAST_LIFE[rule], cut


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("weights", ["float32", "float64"])
def test_a_count_stops_where_one_more_is_rounded_away(weights: str) -> None:
    most = 2.0**24 if weights == "float32" else 2.0**53
    meaning = {"records": f"weighted{'64' * (weights == 'float64')}", "on_repeat": "count"}
    graph = DynamicGraph(**meaning)
    many = UpdateBatch.from_rows([1], [1], [2], **meaning)
    assert many.put_weight is not None
    graph.apply(replace(many, put_weight=np.full_like(many.put_weight, most - 2)))
    for expected in (most - 1, most, most, most):
        graph.insert_edges([1], [2])
        assert graph.edge_weights(1, 2) == expected
    assert graph.insert_edges([1] * 5, [2] * 5).updated == 1
    assert graph.edge_weights(1, 2) == most


@pytest.mark.usefixtures("engine")
def test_names_whose_keys_collide() -> None:
    """Puts change their order then, and the further weights of a sum go with them."""
    meaning = {"records": "weighted64", "on_repeat": "sum", "directed": False}
    numbered, named = DynamicGraph(**meaning), DynamicGraph(**meaning, ids="string:6")
    rng = np.random.default_rng(2)
    for _ in range(3):
        src, dst = rng.integers(0, 40, (2, 300))
        weight = rng.random(300)
        numbered.insert_edges(src, dst, weight=weight)
        named.insert_edges(src.astype(str).tolist(), dst.astype(str).tolist(), weight=weight)
    edges = numbered.edges()
    ends = edges.src.astype(str).tolist(), edges.dst.astype(str).tolist()
    np.testing.assert_array_equal(named.edge_weights(*ends), edges.properties["weight"])


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("rule", ["sum", "max"])
def test_batches_that_are_sent_ahead(rule: str) -> None:
    """As CPU workers of a run send them: narrowed, with all that the rule needs."""
    kind = {"records": "semantic64", "on_repeat": rule}
    host = DynamicGraph(**kind, ids="dense", engine="host")
    cuda = DynamicGraph(**kind, ids="dense", engine="cuda")
    feed = cuda.feed()
    assert feed is not None
    for seed in range(3):
        rows = [row for row in repeated_rows(seed, 90) if row.dst is not None]
        columns = batch_arguments(rows)
        meaning = row_meaning(**kind)
        packed = packed_rows(**columns, meaning=meaning, dense=True, batch_id=seed)
        report = cuda.apply(feed.send(packed))
        assert report.updated == host.apply(batch_of(rows, kind)).updated
        assert cuda.state_hash() == host.state_hash()


def test_what_changed_is_told_with_the_new_weight() -> None:
    graph = DynamicGraph(records="weighted", on_repeat="sum", engine="host")
    graph.insert_edges([1, 1], [2, 3], weight=[1, 2])
    batch = UpdateBatch.from_rows(
        [1, 1, 1], [1, 1, 1], [2, 2, 3], weight=[4, 8, 0], records="weighted", on_repeat="sum"
    )
    changed = graph.apply(batch, effects=True).effects.reweighted
    assert (changed.dst.tolist(), changed.new_weight.tolist()) == ([2], [13])


@pytest.mark.parametrize("rule", ["sum", "count"])
def test_copies_keep_the_rule(rule: str, tmp_path: Path) -> None:
    graph = DynamicGraph(records="weighted", on_repeat=rule, engine="host")
    graph.insert_edges([1, 1], [2, 2])
    graph.save(tmp_path / "graph")
    copies = (
        graph.copy(),
        graph.subgraph([1, 2]),
        pickle.loads(pickle.dumps(graph)),
        DynamicGraph.load(tmp_path / "graph", engine="host"),
    )
    for each in copies:
        each.insert_edges([1], [2])
        assert (each.on_repeat, each.edge_weights(1, 2)) == (rule, 3)


@pytest.mark.parametrize(("arguments", "sentence"), [
    ({"on_repeat": "mean", "records": "weighted"}, "use one of last, sum, min, max, count, first"),
    ({"on_repeat": "sum"}, "simple records keep no weights; use records='weighted'"),
])  # fmt: skip
def test_rules_that_are_refused(arguments: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        DynamicGraph(**arguments, engine="host")
    with pytest.raises(SettingsError, match=sentence):
        UpdateBatch.from_rows(None, [1], [2], **arguments)


def test_batches_that_are_refused() -> None:
    graph = DynamicGraph(records="weighted", on_repeat="sum", engine="host")
    with pytest.raises(BatchError, match=r"on_repeat='last'; the graph has .* on_repeat='sum'"):
        graph.apply(UpdateBatch.from_rows(None, [1], [2], records="weighted"))
    counting = DynamicGraph(records="weighted", on_repeat="count", engine="host")
    with pytest.raises(BatchError, match="looks at no weights; leave weight out"):
        counting.insert_edges([1], [2], weight=3.0)
    batch = UpdateBatch.from_rows(None, [1, 1], [2, 2], records="weighted", on_repeat="sum")
    with pytest.raises(BatchError, match="repeat_puts are no numbers of puts"):
        replace(batch, repeat_puts=np.array([1], np.uint32)).validate()
    two = UpdateBatch.from_rows(None, [1, 1] * 2, [2, 3] * 2, records="weighted", on_repeat="sum")
    with pytest.raises(BatchError, match="repeat_puts are no numbers of puts"):
        replace(two, repeat_puts=np.array([1, 0], np.uint32)).validate()
    with pytest.raises(BatchError, match="repeat_weight holds a value that is not finite"):
        replace(batch, repeat_weight=np.array([np.inf], np.float32)).validate()
    with pytest.raises(BatchError, match="repeat_weight has 0 entries, expected 1"):
        replace(batch, repeat_weight=np.empty(0, np.float32))
    with pytest.raises(BatchError, match="put_reset must be"):
        replace(batch, put_reset=None)
    with pytest.raises(BatchError, match="records with on_repeat='max' do not keep it"):
        replace(batch, on_repeat="max")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("rule", ["min", "max"])
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_of_zeros_the_first_one_stays(rule: str, first: float) -> None:
    """In a batch as across two: else the cut of a log would show in the bits of a weight."""
    for cut in (0, 1):
        graph = DynamicGraph(records="weighted", on_repeat=rule)
        for weights in ([first, -first][:cut], [first, -first][cut:]):
            graph.insert_edges([1] * len(weights), [2] * len(weights), weight=weights)
        assert np.signbit(graph.edge_weights(1, 2)) == np.signbit(first)


def test_weights_are_not_looked_at_where_inserts_are_counted() -> None:
    batch = UpdateBatch.from_rows(
        None, [1, 1], [2, 2], weight=[np.nan, 0.1], records="weighted", on_repeat="count"
    )
    assert batch.put_weight is not None
    assert (batch.put_weight.tolist(), batch.rounded) == ([2], 0)
    graph = DynamicGraph(records="weighted", on_repeat="count", engine="host")
    graph.apply(pa.table({"src": [1, 1, 3], "dst": [2, 2, 4], "weight": ["1", "much", None]}))
    assert graph.edge_weights([1, 3], [2, 4]).tolist() == [2, 1]
