"""Metrics for Prometheus, as Dask's servers give them out, read by Prometheus' own parser."""

import json
import re
from pathlib import Path
from urllib.request import urlopen

from distributed import LocalCluster
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from graphtide.config.settings import load_settings
from graphtide.pipeline.ingest import run
from graphtide.pipeline.progress import Progress
from graphtide.pipeline.prometheus import RunMetrics
from small_log import BATCH_ROWS, BATCHES, ROWS
from waiting import wait_until

GRAFANA = Path(__file__).parents[2] / "docs" / "grafana" / "graphtide.json"

#: Units of Prometheus' conventions, and what counts things.
ENDINGS = re.compile(
    r"_(bytes|seconds|total|vertices|edges|active|result|workers|batches"
    r"|batches_(applied|planned|kept|loading|waiting|early)|epochs_(kept|limit))$"
)


def scraped(port: int) -> dict[str, Metric]:
    text = urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    families = text_string_to_metric_families(text)
    return {each.name: each for each in families if each.name.startswith("graphtide_")}


def value(metrics: dict[str, Metric], name: str, **labels: str) -> float:
    family = metrics[name]
    found = [each for each in family.samples if labels.items() <= each.labels.items()]
    assert len(found) == 1, found
    return found[0].value


def test_scheduler_and_graph_worker_tell_how_a_run_stands(log: Path, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    of_graph: list[dict[str, Metric]] = []
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0
    ) as cluster:
        scheduler = cluster.scheduler.http_server.port

        def worker_metrics() -> list[dict[str, Metric]]:
            workers = cluster.scheduler.workers.values()
            return [scraped(each.services["dashboard"]) for each in workers]

        def look(progress: Progress) -> None:
            if progress.batches_done == BATCHES and not of_graph:
                found = [each for each in worker_metrics() if each]
                assert len(found) == 1, "one worker has the graph"
                of_graph.extend(found)

        wanted = {"scheduler": cluster.scheduler_address, "batch_rows": BATCH_ROWS}
        summary = run(str(log), state, load_settings(wanted), look)
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


def check_grafana(told: dict[str, Metric]) -> None:
    """Each metric that the dashboard of the documentation asks for is there."""
    samples = {each.name for family in told.values() for each in family.samples}
    panels = json.loads(GRAFANA.read_text())["panels"]
    asked = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"graphtide_\w+", target["expr"])
    }
    assert len(panels) == 8
    assert asked <= samples


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
