"""Clusters: started here, or those of others; and which worker does what."""

import copy
import json
import logging
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster, Nanny

from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.errors import ClusterError
from graphtide.gpu_core.kind import row_meaning
from graphtide.pipeline.graph_client import generation
from graphtide.pipeline.graph_client.generation import start_generation
from graphtide.pipeline.graph_client.generation_spec import GenerationSpec
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.handover import RingSize
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.workers import local_cluster, stopped_workers
from graphtide.pipeline.workers.cluster import Cluster, open_cluster
from graphtide.pipeline.workers.roles import choose_roles
from small_log import BATCH_ROWS, BATCHES, expected_hash
from waiting import wait_until
from worker_jobs import ActorThatTakesSeconds, a_second, wait_for_ever, workers_connected_to
from workers import worker_pids

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")

EMPTY = GenerationSpec(ActorArguments({}), row_meaning(), arrays=None, batch_rows=8)


def test_a_cluster_without_resources(log: Path, tmp_path: Path) -> None:
    """Its worker that reads dies, and comes back under the same name, at another address."""
    killed: list[int] = []

    def look(progress: Progress) -> None:
        if progress.batches_done and not killed:
            killed.append(cluster.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
    ) as cluster:
        overrides = {"scheduler": cluster.scheduler_address, "batch_rows": BATCH_ROWS}
        wanted = load_settings({**overrides, "graph_worker": "1", "start_timeout": "400s"})
        summary = run(str(log), str(tmp_path / "state"), wanted, look)
    assert killed
    assert summary.state_hash == expected_hash()


def test_a_worker_that_is_alone_holds_the_graph_and_reads(log: Path, tmp_path: Path) -> None:
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", memory_limit=0
    ) as cluster:
        wanted = {"scheduler": cluster.scheduler_address, "batch_rows": BATCH_ROWS}
        summary = run(str(log), str(tmp_path / "state"), load_settings(wanted))
    assert summary.state_hash == expected_hash()
    assert set(summary.readers) == {"0"}


@pytest.mark.parametrize("fails", [False, True])
def test_the_environment_is_afterwards_what_it_was(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if no cluster had been here yet; the words are those of a user, and of another thread.
    for name in ("OMP_NUM_THREADS", "MALLOC_TRIM_THRESHOLD_", "__DASK_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.setenv("GRAPHTIDE_TEST_WORD", "before")
    before = dict(os.environ)
    with (
        pytest.raises(ZeroDivisionError) if fails else nullcontext(),
        open_cluster(load_settings({"workers": 1, "dashboard": False})),
    ):
        os.environ["GRAPHTIDE_TEST_WORD"] = "meanwhile"
        if fails:
            raise ZeroDivisionError
    assert dict(os.environ) == {**before, "GRAPHTIDE_TEST_WORD": "meanwhile"}


def test_the_client_of_a_local_cluster_needs_no_socket_and_others_find_its_scheduler() -> None:
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        assert cluster.client.scheduler.address.startswith("inproc://")
        with Client(cluster.address, set_as_default=False) as other:
            workers = other.scheduler_info(n_workers=-1)["workers"]
        assert {worker["name"] for worker in workers.values()} == {"graph-0", "cpu-0"}


def test_clusters_that_overlap_leave_the_process_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first to open is the first to close, as of runs in two threads."""
    for name in ("OMP_NUM_THREADS", "__DASK_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]

    def process() -> list[object]:
        levels = [each.level for logger in loggers for each in (logger, *logger.handlers)]
        return [dict(os.environ), copy.deepcopy(dask.config.config), levels]

    wanted = load_settings({"workers": 1, "dashboard": False})
    before = process()
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(open_cluster(wanted))
        second.enter_context(open_cluster(wanted))
        both = process()
        first.close()
        assert process() == both
    assert process() == before


def test_the_numbers_of_the_graph_are_among_the_metrics_of_its_worker(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings], scheduler: str
) -> None:
    with Client(scheduler, set_as_default=False) as client:

        def metrics() -> list[dict[str, int] | None]:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            return [worker["metrics"].get("graph") for worker in workers]

        def wait_for_the_last_batch(progress: Progress) -> None:
            if progress.batches_done == BATCHES:
                # Each worker tells it with a heartbeat of its own; the other one has no graph.
                wait_until(lambda: {} in metrics())
                wait_until(lambda: any(each and each["batches"] == BATCHES for each in metrics()))

        run(str(log), str(tmp_path / "state"), run_settings(), wait_for_the_last_batch)
        wait_until(lambda: metrics() == [None, None])


def test_no_scheduler_at_the_address(log: Path, tmp_path: Path) -> None:
    # Waited for, it would be for longer than a test may take.
    wanted = load_settings({"scheduler": "tcp://127.0.0.1:9", "start_timeout": "1000s"})
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        run(str(log), str(tmp_path / "state"), wanted)


def test_a_graph_worker_that_is_not_there_is_refused_soon(scheduler: str) -> None:
    # Waited for, it would be for longer than a test may take.
    wanted = load_settings(
        {"scheduler": scheduler, "graph_worker": "grpah-0", "start_timeout": "1000s"}
    )
    with (
        pytest.raises(ClusterError, match=r"is called grpah-0 .*did you mean graph-0\?"),
        open_cluster(wanted) as cluster,
    ):
        cluster.roles()


def test_a_graph_worker_that_was_there_is_waited_for(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = load_settings(
        {"scheduler": scheduler, "graph_worker": "graph-0", "start_timeout": "1s"}
    )
    with open_cluster(wanted) as cluster:
        there = dict(cluster._workers())
        assert cluster.roles().graph_name == "graph-0"
        left = {at: worker for at, worker in there.items() if worker["name"] != "graph-0"}
        monkeypatch.setattr(cluster, "_workers", lambda: left)
        begin = time.monotonic()
        with pytest.raises(ClusterError, match="is called graph-0"):
            cluster.roles()
        # Half as long as workers at the start: whether it is lost took time as well.
        assert 0.5 <= time.monotonic() - begin


def test_the_last_worker_of_several_does_not_take_over(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory was not meant for both; those that died may come again."""
    settings = load_settings({"scheduler": scheduler, "start_timeout": "1s"})
    with open_cluster(settings) as cluster:
        assert not cluster.roles().is_shared
        there = cluster._workers().items()
        alone = {at: {**each, "resources": {}} for at, each in there if each["name"] == "cpu-0"}
        monkeypatch.setattr(cluster, "_workers", lambda: alone)
        with pytest.raises(ClusterError, match="of 2 workers of the cluster only cpu-0 is left"):
            cluster.roles()


def test_a_script_runs_its_lines_once_without_a_guard(log: Path, tmp_path: Path) -> None:
    """As the first screen of the README has it: workers do not import the script."""
    script = tmp_path / "script.py"
    script.write_text(f"""
import graphtide
print("begun")
print(graphtide.run({str(log)!r}, "state", workers=1, dashboard=False).state_hash, __file__)
""")
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=200,
    )  # fmt: skip
    assert done.stdout.split() == ["begun", expected_hash(), str(script)], done.stderr
    assert done.stderr == ""


def test_a_worker_with_another_version_is_refused(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphtide.pipeline.workers.worker_versions.version", lambda _name: "999.0")
    with (
        pytest.raises(ClusterError, match=r"has graphtide .*, this process has 999\.0"),
        open_cluster(load_settings({"scheduler": scheduler})),
    ):
        pass


def test_a_scheduler_without_graphtide_is_refused(tmp_path: Path) -> None:
    """It could unpickle no task, and each would fail."""
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "graphtide" not in path.name:
            (tmp_path / path.name).symlink_to(path)
    scheduler_file = tmp_path / "scheduler.json"
    start = f"import sys; sys.path.append({str(tmp_path)!r}); import distributed.cli.dask_scheduler"
    start += " as program; program.main()"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    command = [sys.executable, "-S", "-c", start, *options, "--scheduler-file", str(scheduler_file)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as scheduler:
        try:
            wait_until(lambda: scheduler_file.exists() and scheduler_file.stat().st_size > 0)
            address = json.loads(scheduler_file.read_text())["address"]
            with (
                pytest.raises(ClusterError, match=r"the scheduler .* has no graphtide, this proc"),
                open_cluster(load_settings({"scheduler": address})),
            ):
                pass
        finally:
            scheduler.terminate()


def test_a_worker_that_dies_while_it_is_asked_for_its_version_costs_time_only(
    scheduler: str,
) -> None:
    pid = worker_pids(scheduler)["cpu-0"]
    os.kill(pid, signal.SIGSTOP)  # so that it cannot answer before
    threading.Timer(1, os.kill, (pid, signal.SIGKILL)).start()
    with open_cluster(load_settings({"scheduler": scheduler, "start_timeout": "400s"})) as cluster:
        assert not cluster.roles().is_shared


def test_a_scheduler_that_goes_before_versions_are_asked_for_is_told(cluster: Any) -> None:
    with Client(cluster, set_as_default=False, timeout=0.5) as client:
        held = Cluster(client, None, 1.0)
        cluster.close()
        with pytest.raises(ClusterError, match=r"the Dask scheduler at .* went away"):
            held.versions()


def worker(name: object, threads: int = 1, **resources: float) -> dict[str, Any]:
    return {"name": name, "nthreads": threads, "resources": resources}


def test_roles_follow_the_resources_that_workers_declare() -> None:
    workers = {"a:1": worker("c0", CPU=1), "a:2": worker("g", GPU=1), "a:3": worker("c1", CPU=1)}
    roles = choose_roles(workers, None)
    assert (roles.graph_name, roles.graph_address, roles.cpu_workers) == ("g", "a:2", 2)
    assert roles.cpu_pin == {"resources": {"CPU": 1}}


def test_roles_without_resources_are_pinned_by_address() -> None:
    workers = {"a:1": worker(0), "a:2": worker(1), "a:3": worker(2)}
    roles = choose_roles(workers, "1")
    assert roles.graph_pin == {"workers": ["a:2"]}
    assert roles.cpu_pin == {"workers": ["a:1", "a:3"]}
    again = {"a:2": worker(1), "a:3": worker(2), "a:4": worker(0)}
    assert not roles.same_workers(choose_roles(again, "1")), "tasks for a:1 would wait for ever"
    assert choose_roles(workers, None).graph_name == "0"


@pytest.mark.parametrize("resources", [{}, {"CPU": 1, "GPU": 1}])
def test_a_worker_alone_does_both(resources: dict[str, int]) -> None:
    roles = choose_roles({"a:1": worker("w", 3, **resources)}, None)
    assert roles.is_shared
    assert roles.graph_pin == roles.cpu_pin == {"workers": ["a:1"]}
    assert not choose_roles({"a:1": worker("w"), "a:2": worker("v")}, None).is_shared


def test_loads_are_as_many_as_the_workers_take_at_once() -> None:
    """A worker of four threads reads four batches, unless it declares that it has room for less."""
    graph = worker("g", 9)
    assert (
        choose_roles({"a:1": worker("c0", 4), "a:2": graph, "a:3": worker("c1")}, "g").cpu_tasks
        == 5
    )
    declared = {"a:1": worker("c0", 4, CPU=2), "a:2": graph, "a:3": worker("c1", 1, CPU=8)}
    assert choose_roles(declared, "g").cpu_tasks == 3


@pytest.mark.parametrize(
    ("workers", "name", "message"),
    [
        ({}, None, r"no worker of the cluster can hold the graph \(there are: none\)"),
        ({"a:1": worker("c", CPU=1)}, None, r"can hold the graph \(there are: c\)"),
        ({"a:1": worker("w")}, "v", r"no worker of the cluster is called v \(there are: w\)"),
        ({"a:1": worker("g", GPU=1)}, None, "only worker g declares the resource GPU alone"),
        ({"a:1": worker("c", CPU=1)}, "c", "only worker c declares the resource CPU alone"),
    ],
    ids=["none", "cpu-only", "no-such-name", "gpu-only", "cpu-only-named"],
)
def test_a_cluster_that_is_too_small_is_refused(
    workers: dict[str, Any], name: str | None, message: str
) -> None:
    with pytest.raises(ClusterError, match=message):
        choose_roles(workers, name)


def test_the_graph_worker_is_connected_to_cpu_workers_that_are_ready_before_the_first_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generation, "warm_conversion", a_second)
    with open_cluster(load_settings({"workers": 2, "dashboard": False})) as cluster:
        begin = time.monotonic()
        roles = start_generation(cluster, 0, "met", EMPTY, 60).roles
        assert time.monotonic() - begin > 1
        graph = roles.graph_address
        connected = cluster.client.run(workers_connected_to, workers=[graph])[graph]
    assert connected >= set(roles.cpu_addresses)


@pytest.mark.parametrize("ring", [None, RingSize(2, 4_096)])
def test_a_cpu_worker_that_dies_while_it_gets_ready_is_not_waited_for(
    ring: RingSize | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "warm_conversion", wait_for_ever)
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        pid = worker_pids(cluster.client.scheduler.address)["cpu-0"]
        threading.Timer(1, os.kill, (pid, signal.SIGKILL)).start()
        spec = replace(
            EMPTY, arguments=ActorArguments({}, ring=ring), must_have_ring=ring is not None
        )
        # Waited for, it would be for longer than a test may take.
        start_generation(cluster, 0, "alone", spec, 1000)


def test_a_graph_that_is_being_made_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long that takes: on a slow machine the first run compiles for a minute."""
    monkeypatch.setattr(generation, "ActorHolder", ActorThatTakesSeconds)
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        assert start_generation(cluster, 0, "slow", EMPTY, 0.5).is_alive


def test_a_graph_worker_that_does_something_else_is_not_waited_for_longer() -> None:
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        other = cluster.client.submit(wait_for_ever, workers=["graph-0"])
        wait_until(lambda: any(cluster.client.processing().values()))
        with pytest.raises(ClusterError, match=r"graph-0 did not begin with the graph within 1 s"):
            start_generation(cluster, 0, "waits", EMPTY, 1)
        assert other.status == "pending"


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), signal.SIGSTOP)"])
def test_a_worker_that_is_lost_while_it_starts_is_started_once_more(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "lost"
    code = f"""
import os
import pathlib
import signal
if not pathlib.Path({str(marker)!r}).exists():
    pathlib.Path({str(marker)!r}).touch()
    {end}
"""
    lost_once = {
        "cls": Nanny,
        "options": {"nthreads": 1, "resources": {"CPU": 1}, "preload": [code]},
    }
    monkeypatch.setattr(local_cluster, "_cpu_worker", lambda _number: lost_once)
    monkeypatch.setattr(stopped_workers, "STOPPED_SECONDS", 0.5)
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        assert cluster.roles().cpu_workers == 1
    assert marker.exists()


def test_a_worker_that_dies_before_it_has_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    dying = {"cls": Nanny, "options": {"nthreads": 1, "preload": ["import os; os._exit(1)"]}}
    monkeypatch.setattr(local_cluster, "_cpu_worker", lambda _number: dying)
    before = dict(os.environ)
    wanted = load_settings({"workers": 1, "dashboard": False})
    with pytest.raises(ClusterError, match="did not start"), open_cluster(wanted):
        pass
    assert dict(os.environ) == before
