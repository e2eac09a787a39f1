"""Metrics for Prometheus, as Dask's servers give them out, and as a real Prometheus takes them."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from distributed import LocalCluster
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from graphtide.config.settings import load_settings
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring import run_feed
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.monitoring.prometheus import RunMetrics
from prometheus_server import prometheus_server
from small_log import BATCH_ROWS, BATCHES, ROWS
from waiting import wait_until

GRAFANA = Path(__file__).parents[2] / "docs" / "grafana" / "graphtide.json"

#: Units of Prometheus' conventions, and what counts things.
ENDINGS = re.compile(
    r"_(bytes|seconds|total|vertices|edges|active|result|workers|batches"
    r"|batches_(applied|planned|kept|loading|waiting|early)|epochs_(kept|limit))$"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0
    ) as started:
        yield started


def ports_of(cluster: LocalCluster) -> list[int]:
    """Where the scheduler and each worker tell their metrics."""
    workers = [each.services["dashboard"] for each in cluster.scheduler.workers.values()]
    return [cluster.scheduler.http_server.port, *workers]


def text_of(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return str(answer.read().decode())


def scraped(port: int) -> dict[str, Metric]:
    families = text_string_to_metric_families(text_of(port))
    return {each.name: each for each in families if each.name.startswith("graphtide_")}


def value(metrics: dict[str, Metric], name: str, **labels: str) -> float:
    family = metrics[name]
    found = [each for each in family.samples if labels.items() <= each.labels.items()]
    assert len(found) == 1, found
    return found[0].value


def test_scheduler_and_graph_worker_tell_how_a_run_stands(
    log: Path, tmp_path: Path, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the whole path of the state: runs of one scheduler are started in several folders."""
    state = str(tmp_path / "state")
    monkeypatch.chdir(tmp_path)
    of_graph: list[dict[str, Metric]] = []
    scheduler, *workers = ports_of(cluster)

    def worker_metrics() -> list[dict[str, Metric]]:
        return [scraped(port) for port in workers]

    def look(progress: Progress) -> None:
        if progress.batches_done == BATCHES and not of_graph:
            found = [each for each in worker_metrics() if each]
            assert len(found) == 1, "one worker has the graph"
            of_graph.extend(found)

    wanted = {"scheduler": cluster.scheduler_address, "batch_rows": BATCH_ROWS}
    summary = run(str(log), "state", load_settings(wanted), look)
    told = scraped(scheduler)
    # The graph is gone, and so is what was told of it.
    wait_until(lambda: not any(worker_metrics()))
    assert value(told, "graphtide_batches_applied", state=state) == BATCHES
    assert value(told, "graphtide_batches_kept", state=state) == BATCHES
    assert value(told, "graphtide_rows_applied", state=state) == 3 * ROWS
    assert value(told, "graphtide_edges", state=state) == summary.num_edges
    assert value(told, "graphtide_run_active", state=state) == 0
    assert value(told, "graphtide_stage_seconds", state=state, stage="apply") > 0
    assert value(told, "graphtide_arena_bytes", state=state, region="adjacencies") > 0
    assert value(told, "graphtide_result", result="pagerank", value="iterations") > 1
    assert value(told, "graphtide_result", result="clustering", value="batch") == BATCHES - 1
    assert value(told, "graphtide_epochs_limit", state=state) == 2
    assert value(told, "graphtide_epoch_waits", state=state) == summary.waits
    assert value(told, "graphtide_epoch_wait_seconds", state=state) == summary.wait_seconds
    assert value(of_graph[0], "graphtide_graph_batches_applied") == BATCHES
    assert value(of_graph[0], "graphtide_graph_edges") == summary.num_edges
    for family in [*told.values(), *of_graph[0].values()]:
        assert family.documentation.endswith("."), family.name
        names = {each.name for each in family.samples}
        assert all(ENDINGS.search(name) for name in names), names
    check_grafana(told)


def grafana_queries() -> list[str]:
    """What the dashboard of the documentation asks for, of all runs."""
    panels = json.loads(GRAFANA.read_text())["panels"]
    assert len(panels) == 8
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    return [query.replace("$state", ".*") for query in queries]


def check_grafana(told: dict[str, Metric]) -> None:
    """Each metric that the dashboard of the documentation asks for is there."""
    samples = {each.name for family in told.values() for each in family.samples}
    asked = {name for query in grafana_queries() for name in re.findall(r"graphtide_\w+", query)}
    assert asked <= samples


def test_a_prometheus_server_scrapes_a_run(
    log: Path, tmp_path: Path, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_feed, "_INTERVAL_SECONDS", 0.0)
    state = str(tmp_path / "state")
    of_run = f'{{state="{state}"}}'
    ports = ports_of(cluster)
    #: Batches that were applied when the run waited for Prometheus.
    seen: list[int] = []
    lint: list[str] = []

    with prometheus_server(tmp_path, ports) as server:

        def applied() -> float:
            return server.value(f"graphtide_batches_applied{of_run}")

        def newest() -> float:
            """What the scheduler was told; -1: nothing yet."""
            family = scraped(ports[0]).get("graphtide_batches_applied")
            samples = family.samples if family else []
            return next((e.value for e in samples if e.labels["state"] == state), -1.0)

        def look(progress: Progress) -> None:
            """While the run waits here, its newest word is scraped."""
            done = progress.batches_done
            if done < 10 * len(seen) or progress.picture is None:
                return
            seen.append(done)
            wait_until(lambda: applied() == newest())
            if len(seen) == 3:
                wait_until(lambda: bool(server.query("graphtide_graph_edges")))
                lint.extend(map(complaints, ports))

        wanted = {
            "scheduler": cluster.scheduler_address, "batch_rows": BATCH_ROWS, "window": 4,
            "analytics_every": 10,
        }  # fmt: skip
        run(str(log), state, load_settings(wanted), look)
        wait_until(lambda: applied() == BATCHES)
        targets = server.ask("targets")["activeTargets"]
        about = {
            name: facts
            for name, facts in server.ask("metadata").items()
            if name.startswith("graphtide_")
        }
        names = {name for name in server.ask("label/__name__/values") if name in about}
        histories = server.query('{__name__=~"graphtide_.*_total"}[10m]')
        answers = {query: server.query(query) for query in grafana_queries()}
        states = server.ask("label/state/values")
    assert [(each["health"], each["lastError"]) for each in targets] == [("up", "")] * len(ports)
    assert lint == [""] * len(ports)
    assert names == about.keys()
    for name, [facts] in about.items():
        assert facts["type"] == ("counter" if name.endswith("_total") else "gauge"), name
        assert re.fullmatch(r"[A-Z1].*\.", facts["help"]), facts
    rows = f"graphtide_rows_applied_total of {state}"
    counted = {}
    for series in histories:
        values = [float(text) for _, text in series["values"]]
        labels = series["metric"]
        assert values == sorted(values), f"a counter went back: {labels}"
        counted[f"{labels['__name__']} of {labels['state']}"] = values
    assert counted[rows][-1] == 3 * ROWS
    assert len(set(counted[rows])) >= 3, "it was scraped while it counted"
    assert [query for query, answer in answers.items() if not answer] == []
    assert state in states


def complaints(port: int) -> str:
    """What Prometheus' own linter says of our metrics of a server, of which there are some."""
    promtool = shutil.which("promtool")
    assert promtool is not None
    ours = re.compile(r"(# (HELP|TYPE) )?graphtide_")
    lines = [line for line in text_of(port).splitlines(keepends=True) if ours.match(line)]
    words = [promtool, "check", "metrics"]
    done = subprocess.run(words, input="".join(lines), text=True, capture_output=True, check=False)
    return f"{done.stdout}{done.stderr}" if done.returncode else ""


def test_rows_count_up_when_a_graph_is_lost_and_begin_anew_with_a_run() -> None:
    metrics = RunMetrics()

    def rows(run_id: str, done: int) -> float:
        message = {
            "run": run_id, "state": "a", "stage": "apply", "time": 1.0, "picture": None,
            "batches_done": 1, "batches_total": 1, "batches_checkpointed": 0,
            "num_vertices": 1, "num_edges": 1, "rows_done": done,
        }  # fmt: skip
        metrics.log_event("graphtide", message)
        metrics.log_event("another topic", {})
        found = {each.name: each for each in metrics.collect()}
        return value(found, "graphtide_rows_applied", state="a")

    assert [rows("1", done) for done in (0, 50, 20, 40)] == [0, 50, 50, 70]
    assert rows("2", 10) == 10
