"""A graph worker with a GPU: how it is chosen and started, and what it does when it loses the GPU.

Marked ``gpu``: runs on a real one.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from distributed import Client

from actor_copies import analyzed, copied, pin
from commands import FIRST, replayed, write_log
from graphs import edges_of
from graphtide import ClusterError, DynamicGraph, EngineError, read_results
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.cuda.device import devices
from graphtide.gpu_core.face.graph_reader import GraphReader
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline import batch_window
from graphtide.pipeline.graph_client import generation
from graphtide.pipeline.graph_client.generation import GraphLostError, start_generation
from graphtide.pipeline.graph_client.generation_spec import GenerationSpec
from graphtide.pipeline.graph_worker import exit_reasons
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.batches import LoadedBatch
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.workers import local_cluster
from graphtide.pipeline.workers.cluster import open_cluster
from graphtide.pipeline.workers.local_cluster import uses_gpu
from worker_jobs import die, poison
from workers import worker_pids

BATCH_ROWS = 50
BATCHES = sum(len(columns["src"]) for columns in FIRST.values()) // BATCH_ROWS


def expected_edges(columns: list[dict[str, list]]) -> list[tuple[int, int]]:
    return replayed(columns, directed=True)


def edges_of_state(state: Path) -> list[tuple[int, int]]:
    checkpoint = newest_checkpoint(StateDirectory(state))
    assert checkpoint is not None
    return edges_of(DynamicGraph.from_checkpoint_arrays(checkpoint.arrays(), engine="host"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "log", FIRST)


# -- who gets the graph


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Say that this machine has a GPU, or that it has none."""

    def say(is_there: bool) -> None:
        for name in ("cuda_available", "cuda_likely"):
            monkeypatch.setattr(devices, name, lambda: is_there)
        if not is_there:
            monkeypatch.setattr(devices, "open_device", no_gpu)

    def no_gpu() -> None:
        msg = "no GPU: none was plugged in; use engine='host'"
        raise EngineError(msg)

    return say


@pytest.mark.parametrize(
    ("is_there", "settings", "expected"),
    [
        (True, {}, True),
        (True, {"engine": "cuda"}, True),
        (True, {"engine": "host"}, False),
        (True, {"layout": "chain"}, True),
        (False, {}, False),
        (False, {"engine": "host"}, False),
        # What the workers of another scheduler have, nobody knows here.
        (False, {"engine": "cuda", "scheduler": "tcp://10.0.0.1:8786"}, True),
        (True, {"scheduler": "tcp://10.0.0.1:8786"}, False),
    ],
)
def test_where_the_graph_will_live(
    with_gpu: Callable[[bool], None], is_there: bool, settings: dict[str, Any], expected: bool
) -> None:
    with_gpu(is_there)
    loaded = load_settings(settings)
    assert uses_gpu(loaded) == expected
    rows = batch_window.CUDA_BATCH_ROWS if expected else batch_window.HOST_BATCH_ROWS
    assert batch_window.batch_rows(loaded) == rows
    if expected:
        raw = replace(loaded, convert="gpu")
        assert batch_window.batch_rows(raw) == batch_window.RAW_BATCH_ROWS


def test_a_gpu_that_is_not_there_is_missed_before_anything_is_begun(
    with_gpu: Callable[[bool], None], log: Path, tmp_path: Path
) -> None:
    with_gpu(False)
    with pytest.raises(EngineError, match=r"no GPU.*engine='host'"):
        run(str(log), str(tmp_path / "state"), load_settings({"engine": "cuda"}))
    assert not (tmp_path / "state").exists()


def test_the_graph_worker_is_a_cuda_worker_on_one_gpu(
    with_gpu: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_gpu(True)
    dask_cuda = ModuleType("dask_cuda")
    dask_cuda.CUDAWorker = object()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dask_cuda", dask_cuda)
    spec = local_cluster._graph_worker(load_settings({}))
    assert spec["cls"] is dask_cuda.CUDAWorker
    options = spec["options"]
    assert (options["name"], options["resources"]) == ("graph-0", "GPU=1")
    assert (options["memory_limit"], options["device_memory_limit"]) == (0, None)
    for before, shown in ((None, "0"), ("2,3", "2"), ("MIG-7", "MIG-7")):
        if before is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", before)
        with local_cluster._one_gpu():
            assert os.environ["CUDA_VISIBLE_DEVICES"] == shown
        assert os.environ.get("CUDA_VISIBLE_DEVICES") == before


def test_cpu_workers_see_no_gpu(with_gpu: Callable[[bool], None]) -> None:
    with_gpu(True)
    specs = [
        local_cluster._cpu_worker(0),
        local_cluster._graph_worker(load_settings({"engine": "host"})),
    ]
    for spec in specs:
        assert spec["options"]["env"]["CUDA_VISIBLE_DEVICES"] == ""
        assert spec["options"]["config"]["distributed.diagnostics.nvml"] is False


def test_dask_cuda_that_is_missing_is_named(
    with_gpu: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_gpu(True)
    monkeypatch.setitem(sys.modules, "dask_cuda", None)
    with pytest.raises(ClusterError, match=r"needs dask-cuda.*pip install -e '\.\[gpu\]'"):
        local_cluster._graph_worker(load_settings({}))


# -- a GPU that is lost


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with open_cluster(load_settings({"workers": 1, "engine": "host", "dashboard": False})) as made:
        yield made.address


def settings_on(scheduler: str, **overrides: Any) -> RunSettings:
    return load_settings(
        {"scheduler": scheduler, "batch_rows": BATCH_ROWS, "analytics": [], **overrides}
    )


def ends_at_half(scheduler: str, reason: str) -> Callable[[Progress], None]:
    """Have the graph's worker end itself, once, when half of the batches are applied."""
    has_ended = False

    def on_progress(progress: Progress) -> None:
        nonlocal has_ended
        if progress.batches_done < BATCHES // 2 or has_ended:
            return
        with Client(scheduler, set_as_default=False) as client:
            before = len(client.get_events(exit_reasons.TOPIC))
            job = client.submit(exit_reasons.end_process, reason, workers=["graph-0"])
            while len(client.get_events(exit_reasons.TOPIC)) == before:
                time.sleep(0.01)
            # Else it would run again on the next worker. This one goes on to its end.
            job.cancel()
        has_ended = True

    return on_progress


def test_a_worker_that_ends_itself_is_replaced(scheduler: str, log: Path, tmp_path: Path) -> None:
    stages = []
    end_once = ends_at_half(scheduler, "the device broke")

    def on_progress(progress: Progress) -> None:
        stages.append(progress.stage)
        end_once(progress)

    settings = settings_on(scheduler, checkpoint_every=4)
    summary = run(str(log), str(tmp_path / "state"), settings, on_progress)
    assert "recover" in stages
    assert summary.batches_applied == BATCHES
    assert edges_of_state(tmp_path / "state") == expected_edges(list(FIRST.values()))


def test_why_it_ended_itself_is_told(scheduler: str, log: Path, tmp_path: Path) -> None:
    end = ends_at_half(scheduler, "the device broke (kernel plan_rows)")
    with pytest.raises(ClusterError, match=r"ended itself: the device broke \(kernel plan_rows\)"):
        run(str(log), str(tmp_path / "state"), settings_on(scheduler, graph_restarts=0), end)


class Ended(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Have the graph fail with `EngineError`; say whether the GPU is lost to the process."""

    def end(reason: str) -> None:
        raise Ended(reason)

    def fail(*_arguments: object, **_more: object) -> None:
        msg = "kernel failed"
        raise EngineError(msg)

    def say(reason: str | None) -> None:
        monkeypatch.setattr(exit_reasons, "broken_device", lambda: reason)
        monkeypatch.setattr(exit_reasons, "end_process", end)
        for name in ("apply", "compute", "checkpoint_arrays"):
            # An epoch does what the graph does.
            monkeypatch.setattr(DynamicGraph if name == "apply" else GraphReader, name, fail)

    return say


def one_edge(number: int) -> Any:
    from graphtide import UpdateBatch

    return UpdateBatch.from_rows(None, np.array([1]), np.array([number + 100]))


def ranked(actor: GraphActor) -> None:
    pin(actor, 0, results=True, checkpoint=False, epoch=True)
    analyzed(actor, 0, pagerank={})


@pytest.mark.parametrize(
    "call",
    [
        lambda actor: actor.apply(0, LoadedBatch(one_edge(0))),
        ranked,
        lambda actor: copied(actor, 0),
    ],
    ids=["apply", "analyze", "copy"],
)
def test_an_actor_ends_its_process_with_its_gpu(
    lost: Callable[[str | None], None], call: Callable[[GraphActor], Any]
) -> None:
    actor = GraphActor(ActorArguments({"engine": "host"}))
    lost("the CUDA device broke")
    with pytest.raises(Ended, match="the CUDA device broke"):
        call(actor)


def test_an_actor_whose_gpu_is_there_tells_of_the_error(lost: Callable[[str | None], None]) -> None:
    actor = GraphActor(ActorArguments({"engine": "host"}))
    lost(None)
    status = actor.apply(0, LoadedBatch(one_edge(0)))
    assert status.is_broken
    assert isinstance(status.error, EngineError)
    with pytest.raises(EngineError, match="kernel failed"):
        ranked(actor)


def test_a_worker_that_dies_while_the_graph_is_made_is_not_waited_for(scheduler: str) -> None:
    """Dask would wait for a worker at the address that it had."""
    with open_cluster(settings_on(scheduler)) as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "ActorHolder", die)
        start = time.monotonic()
        with pytest.raises(GraphLostError, match="graph-0 died"):
            start_generation(
                cluster, 0, "doomed", GenerationSpec(ActorArguments({}), row_meaning(), None, 1), 60
            )
        assert time.monotonic() - start < 20
        cluster.roles()


def test_an_actor_that_cannot_be_made_ends_its_process(lost: Callable[[str | None], None]) -> None:
    lost("the CUDA device broke")
    with pytest.raises(Ended):
        GraphActor(ActorArguments({"engine": "host"}))


# -- on a real GPU


def on_this_machine(engine: str, **overrides: Any) -> RunSettings:
    settings = {"engine": engine, "workers": 2, "batch_rows": BATCH_ROWS, "dashboard": False}
    return load_settings({**settings, **overrides})


@pytest.mark.gpu
@pytest.mark.parametrize("convert", ["cpu", "gpu"])
@pytest.mark.parametrize("handover", ["ring", "dask"])
def test_a_run_on_a_gpu_gives_the_results_of_the_host(
    log: Path, tmp_path: Path, convert: str, handover: str
) -> None:
    done, environment = {}, dict(os.environ)
    for engine in ("cuda", "host"):
        how = {"convert": convert if engine == "cuda" else "cpu", "handover": handover}
        # The GPU maintains what is computed after every batch.
        analytics = ["pagerank:5", "clustering:1"]
        settings = on_this_machine(engine, checkpoint_every=4, analytics=analytics, **how)
        done[engine] = run(str(log), str(tmp_path / engine), settings)
    assert dict(os.environ) == environment
    cuda, host = done["cuda"], done["host"]
    assert cuda.state_hash == host.state_hash
    for ours, theirs in zip(cuda.reports, host.reports, strict=True):
        assert ours._replace(seconds={}) == theirs._replace(seconds={})
    for batch in range(BATCHES):
        ours, theirs = (
            read_results(tmp_path / engine, "clustering", batch=batch) for engine in done
        )
        assert ours["triangles"].tolist() == theirs["triangles"].tolist()
    checkpoint = newest_checkpoint(StateDirectory(tmp_path / "cuda"))
    assert checkpoint is not None
    assert "triangles" in checkpoint.arrays()
    for ours, theirs in zip(cuda.results, host.results, strict=True):
        assert ours.name == theirs.name
        tables = [pq.read_table(path).to_pydict() for path in (ours, theirs)]
        for name, column in tables[1].items():
            np.testing.assert_allclose(tables[0][name], column, atol=1e-6, err_msg=name)


@pytest.mark.gpu
def test_a_worker_that_loses_its_gpu_is_replaced(log: Path, tmp_path: Path) -> None:
    """Dask does not notice; the next batch does."""
    flag = tmp_path / "poisoned"
    stages = []
    with open_cluster(on_this_machine("cuda")) as cluster:

        def on_progress(progress: Progress) -> None:
            stages.append(progress.stage)
            if progress.batches_done >= BATCHES // 2 and not flag.exists():
                job = cluster.client.submit(poison, flag, workers=["graph-0"])
                assert "llegal" in str(job.exception())

        settings = settings_on(
            cluster.client.scheduler.address, engine="cuda", checkpoint_every=3, window=2
        )
        summary = run(str(log), str(tmp_path / "state"), settings, on_progress)
    assert flag.exists()
    assert "recover" in stages
    assert summary.batches_applied == BATCHES
    assert edges_of_state(tmp_path / "state") == expected_edges(list(FIRST.values()))


@pytest.mark.gpu
@pytest.mark.parametrize("convert", ["cpu", "gpu"])
@pytest.mark.parametrize("victim", ["graph-0", "cpu-0"])
def test_a_worker_that_is_killed_beside_a_gpu_changes_nothing(
    log: Path, tmp_path: Path, victim: str, convert: str
) -> None:
    stages = []
    with open_cluster(on_this_machine("cuda")) as cluster:
        scheduler = cluster.client.scheduler.address
        pids = worker_pids(scheduler)

        def kill_once(progress: Progress) -> None:
            stages.append(progress.stage)
            if progress.batches_done >= BATCHES // 2 and victim in pids:
                os.kill(pids.pop(victim), signal.SIGKILL)

        settings = settings_on(
            scheduler, engine="cuda", convert=convert, checkpoint_every=3, window=3
        )
        summary = run(str(log), str(tmp_path / "state"), settings, kill_once)
    assert victim not in pids, "nobody was killed"
    assert ("recover" in stages) == (victim == "graph-0")
    assert [report.batch_id for report in summary.reports] == list(range(BATCHES))
    assert edges_of_state(tmp_path / "state") == expected_edges(list(FIRST.values()))
