"""``expire``: edges that are too old leave, on every engine; against pandas and a dictionary."""

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphtide import BatchError, DynamicGraph, SettingsError, UpdateBatch
from graphtide.testing import engine_of
from model_checks import check_same, model_of
from oracles import ModelGraph, batch_of
from strategies import LAYOUTS, LIMITS, batches, meanings, pools

pytestmark = pytest.mark.usefixtures("engine")

SEMANTIC = ("semantic", "semantic64")


def expire_model(model: ModelGraph, before: int) -> list[tuple[int, int]]:
    """Take the edges away that are too old; which they were, in order."""
    gone = sorted(edge for edge, value in model.edges.items() if value.last < before)
    for edge in gone:
        del model.edges[edge]
    return gone


def sorted_ends(src: Any, dst: Any, directed: bool) -> tuple[Any, Any]:
    """An edge by one name: the order of an undirected one is that of the hashes of its ends."""
    return (src, dst) if directed or src < dst else (dst, src)


@settings(max_examples=25, deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_any_rows_and_any_times(data: st.DataObject, engine: str) -> None:
    """Between batches that insert, delete, give vertices' indices away, and come too late."""
    meaning = data.draw(meanings(data.draw(st.sampled_from(SEMANTIC))))
    layout = {"layout": data.draw(st.sampled_from(list(LAYOUTS)))} if engine == "host" else {}
    graph = DynamicGraph(**meaning, **layout, storage=data.draw(st.sampled_from(("soa", "aos"))))
    model, pool = model_of(meaning), data.draw(pools(meaning["ids"]))
    # Of rows, so that edges of that very time are there; of bursts; and at the ends.
    ends = st.sampled_from((LIMITS.min + 1, LIMITS.max, 2**63))
    time = st.integers(-6, 6) | st.integers(5, 95) | ends
    for _ in range(data.draw(st.integers(1, 5))):
        rows = data.draw(batches(pool))
        if meaning["self_loops"] == "reject":
            rows = [row for row in rows if row.src != row.dst]
        try:
            model.apply(rows)
        except BatchError:
            with pytest.raises(BatchError):
                graph.apply(batch_of(rows, meaning))
        else:
            graph.apply(batch_of(rows, meaning))
        for before in data.draw(st.lists(time, max_size=2)):
            gone, effects = expire_model(model, before), data.draw(st.booleans())
            report = graph.expire(before, effects=effects)
            assert report.expired == report.edges_removed == len(gone)
            assert (report.rows, report.deleted, report.missing) == (0, 0, 0)
            if report.effects is not None:
                removed = report.effects.removed
                assert list(zip(removed.src.tolist(), removed.dst.tolist(), strict=True)) == gone
                assert not len(report.effects.added)
            check_same(graph, model)
            graph.verify()


@pytest.mark.parametrize("direction", [{}, {"directed": False}], ids=["directed", "undirected"])
@pytest.mark.parametrize("ids", ["any", "dense", "string"])
def test_a_window_slides_as_in_pandas(ids: str, direction: dict[str, Any], engine: str) -> None:
    """Rows of hubs and of others, late ones among them; what is free comes back at the end."""
    rng = np.random.default_rng(4)
    directed = direction.get("directed", True)
    graph = DynamicGraph(records="semantic", ids=ids, **direction)
    names = np.array([f"v{n:03}" for n in range(150)]) if ids == "string" else np.arange(150)
    seen = pd.DataFrame({"src": [], "dst": [], "last": []}, dtype=np.int64)
    for batch in range(12):
        src, dst = rng.zipf(1.6, 300) % 150, rng.integers(0, 150, 300)
        ts = 100 * batch + rng.integers(-60, 100, 300)
        graph.insert_edges(names[src], names[dst], ts=ts)
        rows = pd.DataFrame({"src": src, "dst": dst, "last": ts}).query("src != dst")
        if not directed:
            ends = rows[["src", "dst"]].to_numpy()
            rows = rows.assign(src=ends.min(1), dst=ends.max(1))
        seen = pd.concat([seen, rows]).drop_duplicates(["src", "dst"], keep="last")
        before = 100 * batch - 250
        report = graph.expire(before)
        assert report.expired == (seen["last"] < before).sum()
        seen = seen[seen["last"] >= before].sort_values(["src", "dst"])
        edges = graph.edges()
        found = zip(edges.src.tolist(), edges.dst.tolist(), edges.columns["last"], strict=True)
        assert {(*sorted_ends(*ends, directed), last) for *ends, last in found} == {
            (*sorted_ends(names[src], names[dst], directed), last)
            for src, dst, last in seen.itertuples(index=False)
        }
        graph.verify()
    graph.expire(LIMITS.max)
    assert (graph.num_edges, graph.num_vertices) == (0, 150)
    assert graph.memory().regions["adjacencies"] == 0
    graph.verify()


def test_what_is_maintained_follows(engine: str) -> None:
    rng = np.random.default_rng(2)
    graph = DynamicGraph(records="semantic", directed=False)
    graph.maintain("clustering")
    for time in range(5):
        graph.insert_edges(rng.integers(0, 30, 80), rng.integers(0, 30, 80), ts=time)
        graph.expire(time - 1)
        graph.audit()
        fresh = DynamicGraph.from_edges(graph.edges().src, graph.edges().dst, directed=False)
        fresh.insert_vertices(graph.vertices())
        assert graph.triangles().tolist() == fresh.triangles().tolist()


def test_times_are_those_of_the_graph() -> None:
    graph = DynamicGraph(records="semantic", time_unit="us")
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[D]")
    graph.insert_edges([1, 2, 3], [2, 3, 1], ts=days)
    # Not before: an edge of that very time stays.
    assert graph.expire(days[1]).expired == 1
    after = datetime.datetime(2020, 1, 2, 0, 0, 0, 1)
    assert graph.expire(after).expired == 1
    assert graph.edges().src.tolist() == [3]
    with pytest.raises(BatchError, match="no time"):
        graph.expire("yesterday")
    assert graph.num_edges == 1


def test_a_time_to_expire_by_is_as_exact_as_those_of_the_graph() -> None:
    """Of every library, to the nanosecond, and by its zone."""
    edge = np.array(["2024-01-01T00:00:00.000000005"], "M8[ns]")
    for at, after in (
        (pd.Timestamp(edge[0]), pd.Timestamp("2024-01-01T00:00:00.000000006")),
        (pd.Timestamp(edge[0], tz="UTC").tz_convert("Asia/Tokyo"),
         pd.Timestamp("2024-01-01T01:00:00.000000006", tz="Europe/Rome")),
        ("2024-01-01T01:00:00.000000005+01:00", "2024-01-01T00:00:00.000000006"),
        (datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
         datetime.datetime(2024, 1, 1, 2, 0, 0, 1, ZoneInfo("Europe/Helsinki"))),
    ):  # fmt: skip
        graph = DynamicGraph(records="semantic")
        graph.insert_edges([1], [2], ts=edge)
        assert (graph.expire(at).expired, graph.expire(after).expired) == (0, 1)


def test_a_graph_without_times_says_so() -> None:
    with pytest.raises(SettingsError, match="weighted records have no times; use records='sem"):
        DynamicGraph(records="weighted").expire(3)
    nothing = DynamicGraph(records="semantic").expire(datetime.datetime(2020, 1, 1))
    assert (nothing.expired, nothing.num_edges) == (0, 0)


def test_more_edges_expire_than_are_expected() -> None:
    """All of many: a device first makes room for few."""
    graph = DynamicGraph(records="semantic", ids="dense")
    graph.insert_edges(np.arange(6000), np.arange(6000) + 1, ts=1)
    assert graph.expire(2).expired == 6000


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("left", [0, 3])
def test_rows_give_back_as_much_memory_as_after_deletes(layout: str, left: int) -> None:
    src, dst = np.divmod(np.arange(20 * 200), 200)
    ts = np.where(dst < 200 - left, 1, 2)
    # So large that no image is made anew meanwhile, which would give back what rows do not.
    kind: dict[str, Any] = {"ids": "dense", "layout": layout, "arena_bytes": 1 << 24}
    graph, other = (DynamicGraph(records="semantic", **kind) for _ in range(2))
    for each in (graph, other):
        each.insert_edges(src, dst + 20, ts=ts)
    expired = graph.expire(2)
    deleted = other.delete_edges(src[ts < 2], dst[ts < 2] + 20)
    assert expired.expired == deleted.deleted == 20 * (200 - left)
    assert expired.pages_used == deleted.pages_used


def test_few_rows_are_read_again_and_all_that_must(engine: str) -> None:
    """The host engine knows which rows cannot have expired; what it knows is told as memory."""
    graph = DynamicGraph(records="semantic", ids="dense")
    graph.insert_edges([1, 2], [2, 3], ts=[10, 20])
    assert graph.memory().oldest_times_bytes == 0
    assert graph.expire(15).expired == 1
    assert graph.memory().oldest_times_bytes == (4 * 8 if engine == "host" else 0)
    # A row that had nothing old, one that had nothing at all, and one beyond the table.
    graph.insert_edges([2, 1, 7], [1, 3, 1], ts=[12, 11, 13])
    assert graph.expire(14).expired == 3
    assert graph.edges().dst.tolist() == [3]
    # A batch that was made, and never applied, has not taught anything.
    lost = engine_of(graph).expired(30)
    assert lost.delete_indices.size == 1
    graph.apply(UpdateBatch.empty(records="semantic"))
    assert graph.expire(31).expired == 1


@pytest.mark.parametrize("before", ["not a time", [1, 2], float("nan")])
def test_what_is_no_time_is_none_of_a_graph_without_times_either(before: Any) -> None:
    graph = DynamicGraph(records="semantic")
    with pytest.raises(BatchError, match="is no time; give an integer"):
        graph.expire(before)
    assert graph.expire(5).expired == graph.expire("2026-01-01").expired == 0
