"""Runs that maintain analytics: the same results, kept by checkpoints and carried on."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import graphtide
from actor_copies import analyzed, pin
from exact_ranks import exact_ranks
from graphtide import ArenaFullError, DynamicGraph, SettingsError
from graphtide.gpu_core import maintenance
from graphtide.gpu_core.algorithms.maintained.maintained_components import MaintainedComponents
from graphtide.gpu_core.algorithms.maintained.maintained_pagerank import MaintainedPageRank
from graphtide.gpu_core.algorithms.maintained.maintained_triangles import MaintainedTriangles
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.batches import LoadedBatch
from small_log import rows_of, write_file

ROWS, BATCH_ROWS = 400, 100
COMPONENTS = "weakly_connected_components"


@pytest.fixture
def run(tmp_path, scheduler):
    def run(**settings):
        return graphtide.run(
            tmp_path / "log", tmp_path / "state", scheduler=scheduler, directed=False,
            engine="host", batch_rows=BATCH_ROWS, analytics=["clustering", "pagerank"], **settings,
        )  # fmt: skip

    return run


def columns_of_checkpoint(state: Path) -> list[str]:
    newest = max((state / "checkpoints").iterdir())
    return pq.read_schema(newest / "vertices.parquet").names


def test_results_after_every_batch_are_those_of_recounts(run, tmp_path, monkeypatch):
    for number in range(2):
        write_file(tmp_path / "log", number, rows_of(number, ROWS))
        report = run(maintain=["clustering"], analytics_every=1)
        assert "triangles" in columns_of_checkpoint(tmp_path / "state")
    graph = DynamicGraph(directed=False)
    columns = [rows_of(number, ROWS) for number in range(2)]
    op, src, dst = (np.concatenate([each[name] for each in columns]) for name in columns[0])
    for batch in range(2 * ROWS // BATCH_ROWS):
        rows = slice(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS)
        graph.apply(UpdateBatch.from_rows(op[rows], src[rows], dst[rows], directed=False))
        found = graphtide.read_results(tmp_path / "state", "clustering", batch=batch)
        assert found["triangles"].tobytes() == graph.triangles().tobytes()
        assert found["clustering"].tobytes() == graph.clustering().clustering.tobytes()
    monkeypatch.setattr(MaintainedTriangles, "begin", lambda *_: pytest.fail("counted anew"))
    opened = report.open().graph
    assert opened.maintained == ("clustering",)
    assert opened.triangles().tobytes() == graph.triangles().tobytes()


@pytest.mark.parametrize(
    ("definition", "columns"),
    [
        ("networkx", {"triangles", "neighbors", "directed_triangles", "both_ways"}),
        ("ldbc", {"triangles", "neighbors", "neighbor_edges"}),
    ],
)
def test_clustering_of_directed_graphs_after_every_batch_is_that_of_recounts(
    definition, columns, tmp_path, scheduler, monkeypatch
):
    log, state, graph = tmp_path / "log", tmp_path / "state", DynamicGraph()
    settings = {"maintain": ["clustering"], "clustering": {"directed": definition}}
    for number in range(2):
        write_file(log, number, rows_of(number, ROWS))
        report = graphtide.run(
            log, state, scheduler=scheduler, engine="host", batch_rows=BATCH_ROWS,
            analytics=["clustering"], analytics_every=1, **settings,
        )  # fmt: skip
        assert columns <= set(columns_of_checkpoint(state))
        op, src, dst = rows_of(number, ROWS).values()
        for batch in range(ROWS // BATCH_ROWS):
            rows = slice(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS)
            graph.apply(UpdateBatch.from_rows(op[rows], src[rows], dst[rows]))
            named = number * (ROWS // BATCH_ROWS) + batch
            found = graphtide.read_results(state, "clustering", batch=named)["clustering"]
            expected = graph.clustering(directed=definition).clustering
            assert found.tobytes() == expected.tobytes()
    monkeypatch.setattr(MaintainedTriangles, "begin", lambda *_: pytest.fail("counted anew"))
    opened = report.open().graph
    assert opened.maintained == ("clustering",)
    assert opened.clustering(directed=definition).clustering.tobytes() == expected.tobytes()


def test_ranks_after_every_batch_are_within_their_bound(run, tmp_path, monkeypatch):
    settings = {"maintain": ["pagerank"], "pagerank": {"alpha": 0.7, "tol": 1e-8}}
    graph = DynamicGraph(directed=False)
    for number in range(2):
        write_file(tmp_path / "log", number, rows_of(number, ROWS))
        report = run(analytics_every=1, **settings)
        assert "rank_masses" in columns_of_checkpoint(tmp_path / "state")
        op, src, dst = rows_of(number, ROWS).values()
        for batch in range(ROWS // BATCH_ROWS):
            rows = slice(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS)
            graph.apply(UpdateBatch.from_rows(op[rows], src[rows], dst[rows], directed=False))
            named = number * (ROWS // BATCH_ROWS) + batch
            found = graphtide.read_results(tmp_path / "state", "pagerank", batch=named)
            assert found.figures["residual"] <= 1e-8
            apart = np.abs(found["pagerank"] - exact_ranks(graph, alpha=0.7)).sum()
            assert apart <= found.figures["error_bound"] <= 1e-7
    monkeypatch.setattr(MaintainedPageRank, "begin", lambda *_: pytest.fail("from nothing"))
    opened = report.open().graph
    assert opened.maintained == ("pagerank",)
    ranks = opened.pagerank(alpha=0.7, tol=1e-8).pagerank
    assert ranks.tobytes() == found["pagerank"].tobytes()


def test_components_after_every_batch_are_those_of_recounts(tmp_path, scheduler, monkeypatch):
    settings = {"maintain": [COMPONENTS], "analytics": [COMPONENTS], "analytics_every": 1}
    log, state, graph = tmp_path / "log", tmp_path / "state", DynamicGraph()
    for number in range(2):
        write_file(log, number, rows_of(number, ROWS))
        report = graphtide.run(
            log, state, scheduler=scheduler, engine="host", batch_rows=BATCH_ROWS, **settings
        )
        assert {"component_roots", "component_levels"} <= set(columns_of_checkpoint(state))
        op, src, dst = rows_of(number, ROWS).values()
        for batch in range(ROWS // BATCH_ROWS):
            rows = slice(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS)
            graph.apply(UpdateBatch.from_rows(op[rows], src[rows], dst[rows]))
            named = number * (ROWS // BATCH_ROWS) + batch
            found = graphtide.read_results(state, COMPONENTS, batch=named)["component"]
            assert found.tobytes() == graph.weakly_connected_components().component.tobytes()
    monkeypatch.setattr(MaintainedComponents, "begin", lambda *_: pytest.fail("anew"))
    opened = report.open().graph
    assert opened.maintained == (COMPONENTS,)
    assert opened.weakly_connected_components().component.tobytes() == found.tobytes()
    with pytest.raises(SettingsError, match=r"maintain: weakly_.* needs incoming edges"):
        graphtide.run(log, tmp_path / "other", reverse=False, **settings)


def test_a_state_goes_on_with_and_without_it(run, tmp_path):
    write_file(tmp_path / "log", 0, rows_of(0, ROWS))
    run()
    for number, maintain in ((1, ["clustering"]), (2, [])):
        write_file(tmp_path / "log", number, rows_of(number, ROWS))
        run(maintain=maintain)
        assert ("triangles" in columns_of_checkpoint(tmp_path / "state")) == bool(maintain)


def test_what_cannot_be_maintained_is_refused_before_the_run(run, tmp_path):
    write_file(tmp_path / "log", 0, rows_of(0, ROWS))
    with pytest.raises(SettingsError, match="maintain"):
        run(maintain=["bfs"])
    with pytest.raises(SettingsError, match=r"maintain: pagerank .* dangling=.*; leave one of"):
        run(maintain=["pagerank"], pagerank={"dangling": {1: 2}})
    with pytest.raises(SettingsError, match="maintain: clustering needs incoming edges; use rev"):
        graphtide.run(tmp_path / "log", tmp_path / "state", maintain=["clustering"], reverse=False)
    assert not (tmp_path / "state").exists()


def test_a_checkpoint_of_another_definition_is_counted_anew(tmp_path, scheduler):
    log, state = tmp_path / "log", tmp_path / "state"
    for number, definition in enumerate(("ldbc", "networkx")):
        write_file(log, number, rows_of(number, ROWS))
        report = graphtide.run(
            log, state, scheduler=scheduler, engine="host", batch_rows=BATCH_ROWS,
            analytics=["clustering"], maintain=["clustering"], clustering={"directed": definition},
        )  # fmt: skip
        found = columns_of_checkpoint(state)
        assert ("neighbor_edges" in found) == (definition == "ldbc")
        assert ("directed_triangles" in found) == (definition == "networkx")
        report.open().graph.audit()


@pytest.mark.usefixtures("emulated_device")
def test_the_epoch_of_a_gpu_has_the_counts_of_its_batch(monkeypatch) -> None:
    monkeypatch.setattr(MaintainedComponents, "always_repairs", True)
    settings = {"engine": "cuda", "ids": "dense", "directed": False}
    actor = GraphActor(ActorArguments(settings, maintain={"clustering": {}, COMPONENTS: {}}))

    def batch(*edges: tuple[int, int]) -> UpdateBatch:
        src, dst = np.array(edges).T
        return UpdateBatch.from_rows(None, src, dst, directed=False)

    actor.apply(0, LoadedBatch(batch((0, 1), (1, 2), (2, 0))))
    assert pin(actor, 1, results=True, checkpoint=True, epoch=True) == "epoch"
    actor.apply(1, LoadedBatch(batch((3, 0), (3, 1), (3, 2))))
    found = analyzed(actor, 1, clustering={}, weakly_connected_components={})
    assert found["clustering"]["triangles"].tolist() == [1, 1, 1]
    assert found[COMPONENTS]["component"].tolist() == [0, 0, 0]
    arrays = actor.copy_pinned(1).arrays
    assert arrays["triangles"].tolist() == [1, 1, 1]
    assert len(set(arrays["component_roots"].tolist())) == 1
    pin(actor, 2, results=True, checkpoint=False, epoch=True)
    found = analyzed(actor, 2, clustering={}, weakly_connected_components={})
    assert found["clustering"]["triangles"].tolist() == [3] * 4
    assert found[COMPONENTS]["component"].tolist() == [0] * 4


@pytest.mark.usefixtures("emulated_device")
@pytest.mark.parametrize("engine", ["cuda", "host"])
def test_what_is_maintained_on_a_gpu_is_not_on_the_host(engine: str) -> None:
    settings = {"engine": engine, "ids": "dense", "directed": False}
    actor = GraphActor(ActorArguments(settings, maintain_on_gpu={"clustering": {}}))
    src, dst = np.array([0, 1, 2]), np.array([1, 2, 0])
    actor.apply(0, LoadedBatch(UpdateBatch.from_rows(None, src, dst, directed=False)))
    assert pin(actor, 1, results=True, checkpoint=True, epoch=True) == "epoch"
    assert analyzed(actor, 1, clustering={})["clustering"]["triangles"].tolist() == [1, 1, 1]
    assert ("triangles" in actor.copy_pinned(1).arrays) == (engine == "cuda")


@pytest.mark.parametrize("engine", ["host", "cuda"])
@pytest.mark.usefixtures("emulated_device")
def test_a_run_goes_on_where_what_is_maintained_cannot_be_computed_yet(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does that has maintained it from its first batch on: results fail, or none does."""
    settings = {"engine": engine, "ids": "dense", "directed": False}
    src, dst = np.triu_indices(30, 1)
    checkpoint = DynamicGraph.from_edges(src[::3], dst[::3], **settings).checkpoint_arrays()
    wanted = {"pagerank": {"max_iter": 1}, "clustering": {}}
    told: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(maintenance._log, "warning", lambda text, *given: told.append(text % given))
        patch.setattr(MaintainedTriangles, "begin", no_memory)
        actor = GraphActor(ActorArguments(settings, 1, maintain=wanted), checkpoint)
    assert told[0].startswith("pagerank is not maintained before it is asked for (ConvergenceError")
    assert (
        told[1] == "clustering is not maintained before it is asked for (ArenaFullError('no room'))"
    )
    actor.apply(1, LoadedBatch(UpdateBatch.from_rows(None, src, dst, directed=False)))
    assert pin(actor, 2, results=True, checkpoint=True, epoch=True) == "epoch"
    found = analyzed(actor, 2, clustering={}, pagerank={"max_iter": 500})
    assert found["clustering"]["triangles"].tolist() == [29 * 28 // 2] * 30
    assert found["pagerank"]["pagerank"] == pytest.approx(1 / 30)
    # Ranks that are even need no step, and are maintained from here on.
    assert {"triangles", "rank_numbers"} <= actor.copy_pinned(2).arrays.keys()


def no_memory(*_: object) -> None:
    msg = "no room"
    raise ArenaFullError(msg)
