"""Rows of a call that the device converts: what the host's conversion would have come to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphtide import BatchError, DynamicGraph
from graphtide.gpu_core.cuda import engine as cuda_engine
from graphtide.gpu_core.cuda.convert.feed import Feed

KINDS: list[dict[str, Any]] = [
    {},
    {"ids": "dense", "directed": False},
    {"ids": "dense", "reverse": False, "self_loops": "keep"},
    {"records": "weighted"},
    {"records": "weighted", "directed": False, "weights": "float64"},
    {"records": "weighted", "on_repeat": "sum"},
    {"records": "semantic"},
    {"ids": "string"},
    {"properties": {"kind": "int32"}},
]


@pytest.fixture
def sent(device: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Have any number of rows converted there; what was sent to be."""
    monkeypatch.setattr(cuda_engine, "_CONVERTED_ROWS", 1)
    batches, send = [], Feed.send
    monkeypatch.setattr(Feed, "send", lambda feed, rows: batches.append(rows) or send(feed, rows))
    return batches


def graphs(kind: dict[str, Any]) -> tuple[DynamicGraph, DynamicGraph]:
    """An empty graph on the device, and one on the host."""
    return DynamicGraph(engine="cuda", **kind), DynamicGraph(engine="host", **kind)


def calls_of(kind: dict[str, Any], seed: int) -> list[Callable[[DynamicGraph], Any]]:
    """Calls with arrays and frames, in any order, among them such that change nothing."""
    random, calls = np.random.default_rng(seed), []
    for number in range(12):
        count = int(random.integers(1, 400))
        src, dst = random.integers(0, 60, (2, count))
        ids = (src.astype(str), dst.astype(str)) if kind.get("ids") == "string" else (src, dst)
        columns: dict[str, Any] = {}
        if kind.get("records", "simple") != "simple":
            columns["weight"] = random.random(count)
        if kind.get("records") == "semantic":
            columns["ts"] = np.arange(count) + 1000 * number
        if "properties" in kind:
            columns["kind"] = random.integers(0, 9, count).astype(np.int32)
        if number % 4 == 3:
            calls.append(lambda graph, ids=ids: graph.delete_edges(*ids, **_time(graph)))
        elif number % 4 == 2:
            ops = random.choice(["insert", "delete"], count)
            rows = pa.table({"op": ops, "src": ids[0], "dst": ids[1], **columns})
            calls.append(lambda graph, rows=rows: graph.apply(rows, effects=True))
        else:
            calls.append(lambda graph, ids=ids, more=columns: graph.insert_edges(*ids, **more))
    return calls


def _time(graph: DynamicGraph) -> dict[str, Any]:
    return {"ts": 10**6} if graph.records == "semantic" else {}


@pytest.mark.filterwarnings("ignore::graphtide.PrecisionWarning")
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_reports_and_graph_are_those_of_the_host(kind: dict[str, Any], sent: list[Any]) -> None:
    ours, theirs = graphs(kind)
    for call in calls_of(kind, 3):
        mine, expected = call(ours), call(theirs)
        assert mine._replace(seconds={}, effects=None) == (
            expected._replace(seconds={}, effects=None)
        )
        assert (mine.effects is None) == (expected.effects is None)
    assert ours.state_hash() == theirs.state_hash()
    kept, known = ours.checkpoint_arrays(), theirs.checkpoint_arrays()
    assert kept.keys() == known.keys()
    for name, array in kept.items():
        np.testing.assert_array_equal(array, known[name], err_msg=name)
    # Times, names, rules for repeats and properties are left to the host.
    assert bool(sent) == (kind in KINDS[:5])


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ({"ids": "dense"}, {"src": [0, -4], "dst": [1, 2]}),
        ({"ids": "dense"}, {"src": [0, 2**32], "dst": [1, 2]}),
        ({"self_loops": "reject"}, {"src": [5, 7], "dst": [6, 7]}),
        ({"create_vertices": False}, {"src": [5, 7], "dst": [6, 8]}),
        ({}, {"src": [5, 7], "dst": [6]}),
        ({"records": "weighted"}, {"src": [5, 7], "dst": [6, 8], "weight": [1.0, np.nan]}),
        ({"records": "weighted"}, {"src": [5, 7], "dst": [6, 8], "weight": [1.0, 1e300]}),
    ],
    ids=str,
)
def test_rows_are_refused_in_the_words_of_the_host(
    kind: dict[str, Any], rows: dict[str, Any], sent: list[Any]
) -> None:
    ours, theirs = graphs(kind)
    with pytest.raises(BatchError) as expected:
        theirs.insert_edges(**rows)
    with pytest.raises(BatchError) as refused:
        ours.insert_edges(**rows)
    assert str(refused.value) == str(expected.value)
    assert type(refused.value) is type(expected.value)
    assert (ours.num_vertices, ours.num_edges) == (0, 0)
    # And the graph takes the next ones.
    if kind.get("create_vertices", True):
        assert ours.insert_edges([1], [2]).inserted == 1


def test_few_rows_are_converted_on_the_host(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Feed, "send", lambda feed, rows: pytest.fail("few rows were sent"))
    assert DynamicGraph(engine="cuda").insert_edges([1, 2], [2, 3]).inserted == 2


def test_where_the_device_has_no_memory_to_convert_the_host_does(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphtide import ArenaFullError

    def full(feed: Feed, rows: Any) -> None:
        raise ArenaFullError

    monkeypatch.setattr(Feed, "send", full)
    assert DynamicGraph(engine="cuda").insert_edges([1, 2], [2, 3]).inserted == 2
