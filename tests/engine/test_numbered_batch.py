"""Batches of names whose ids are numbers: to the graph and to whoever asks, as those of keys."""

import pickle
from typing import Any

import numpy as np
import pytest

from graphtide import BatchError, DynamicGraph
from graphtide.gpu_core.batch.numbered_batch import NumberedBatch
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.kind import row_meaning

#: Batches of a graph, and their rows.
STEPS, ROWS = 12, 300
IDS = ("put_rows", "put_indices", "delete_rows", "delete_indices", "put_vertices",
       "delete_vertices")  # fmt: skip


def rows(seed: int, *, vertices: bool) -> dict[str, Any]:
    """Inserts and deletes of edges, and of vertices, of a few names and of new ones."""
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, 60 + 10 * seed, (2, ROWS))
    return {
        "op": random.choice(np.array([1, 1, -1], np.int8), ROWS),
        "src": [f"v{number}" for number in src],
        "dst": [f"v{number}" for number in dst],
        "dst_valid": random.random(ROWS) > 0.1 if vertices else None,
        "weight": None if vertices else random.random(ROWS).astype(np.float32),
        "ts": np.arange(ROWS) + seed * ROWS,
    }


@pytest.mark.parametrize("ids", ["string", "string:5"])
@pytest.mark.parametrize("vertices", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"directed": False, "records": "weighted", "on_repeat": "sum"},
        {"records": "semantic", "properties": {"amount": "float64"}},
        {"reverse": False},
    ],
)
def test_a_graph_is_the_same_word_by_word(ids: str, vertices: bool, kind: dict[str, Any]) -> None:
    """Also where most hashes collide, and with vertices that come back under indices set free."""
    graphs = [DynamicGraph(engine="host", ids=ids, **kind) for _ in range(2)]
    of_rows = {name: kind[name] for name in kind if name != "reverse"}
    meaning = row_meaning(ids=ids, **of_rows)
    for step in range(STEPS):
        columns = rows(step, vertices=vertices)
        if "properties" in kind:
            columns["values"] = {"amount": np.arange(ROWS) / 8}
        in_keys = UpdateBatch.of_rows(meaning=meaning, **columns)
        numbered = NumberedBatch.of_rows(meaning=meaning, **columns)
        sent = pickle.loads(pickle.dumps(numbered, protocol=5))
        assert "put_rows" not in sent.__dict__, "keys travel with the numbers"
        reports = [
            graph.apply(batch, effects=step % 3 == 2)
            for graph, batch in zip(graphs, (in_keys, sent), strict=True)
        ]
        counts = [report._replace(seconds={}, effects=None) for report in reports]
        assert counts[0] == counts[1], f"batch {step} is reported otherwise"
        if step % 3 == 2:
            found = [sorted(report.effects.added.src.tolist()) for report in reports]
            assert found[0] == found[1]
    graphs[1].verify("full")
    assert graphs[0].image_hash() == graphs[1].image_hash()
    assert graphs[0].state_hash() == graphs[1].state_hash()
    assert graphs[0].vertices().tolist() == graphs[1].vertices().tolist()


def test_a_graph_of_either_engine_takes_it(engine: str) -> None:
    """A log is replayed with such batches, wherever the graph is."""
    graphs = [DynamicGraph(engine=engine, ids="string") for _ in range(2)]
    meaning = row_meaning(ids="string")
    for step in range(3):
        columns = rows(step, vertices=True)
        for graph, form in zip(graphs, (UpdateBatch, NumberedBatch), strict=True):
            graph.apply(form.of_rows(meaning=meaning, **columns))
    assert graphs[0].num_edges > 0
    assert graphs[0].state_hash() == graphs[1].state_hash()


def test_keys_are_those_of_other_batches_and_numbers_are_smaller() -> None:
    columns, meaning = rows(3, vertices=True), row_meaning(ids="string")
    in_keys = UpdateBatch.of_rows(meaning=meaning, **columns)
    numbered = NumberedBatch.of_rows(meaning=meaning, **columns)
    assert numbered.nbytes < in_keys.nbytes
    for name in IDS:
        keys = getattr(numbered, name)
        assert keys.dtype == np.int64
        assert not keys.flags.writeable
        assert keys.tolist() == getattr(in_keys, name).tolist(), name
    assert repr(numbered).split(":")[1] == repr(in_keys).split(":")[1]
    numbered.validate()
    with pytest.raises(AttributeError, match="no_such_field"):
        _ = numbered.no_such_field


def test_an_end_point_that_is_missing_is_named() -> None:
    graph = DynamicGraph(engine="host", ids="string", create_vertices=False)
    graph.insert_vertices(["a"])
    meaning = row_meaning(ids="string", create_vertices=False)
    batch = NumberedBatch.of_rows(None, ["a", "a"], ["a2", "b"], meaning)
    with pytest.raises(BatchError, match=r"a2|b"):
        graph.apply(batch)
    assert graph.num_vertices == 1


def test_names_that_have_numbers_are_not_looked_up_by_their_keys() -> None:
    """That would take most of the time of the batch: nothing asks for a field of keys."""
    columns, meaning = rows(3, vertices=False), row_meaning(ids="string")
    graph = DynamicGraph(engine="host", ids="string")
    batch = NumberedBatch.of_rows(meaning=meaning, **columns)
    before = {*vars(batch)}
    graph.apply(batch)
    assert {*IDS} & ({*vars(batch)} - before) == set()
