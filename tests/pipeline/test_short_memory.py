"""Whole runs whose graph worker has room for few graphs, with all workers in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

from graphtide.config.settings import load_settings
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.host.queries import pinned
from graphtide.io.log.log_writer import write_log_file
from graphtide.pipeline.ingest import run

BATCHES = 12

Run = Callable[..., list[pa.Table]]


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Run]:
    """Run with results after each batch, to a state of this name; gives them."""
    random = np.random.default_rng(0)
    src, dst = random.integers(0, 60, (2, BATCHES * 50))
    write_log_file(str(tmp_path / "log.parquet"), pa.table({"src": src, "dst": dst}))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
    ) as cluster:
        fixed: dict[str, Any] = {
            "scheduler": cluster.scheduler_address, "batch_rows": 50, "window": BATCHES,
            "analytics": ["pagerank"], "analytics_every": 1,
        }  # fmt: skip

        def make(name: str, **settings: Any) -> list[pa.Table]:
            state = tmp_path / name
            run(str(tmp_path / "log.parquet"), str(state), load_settings({**fixed, **settings}))
            found = sorted((state / "results").glob("*/pagerank.parquet"))
            return [pq.read_table(path) for path in found]

        yield make


@pytest.mark.parametrize(
    ("graphs", "checkpoint_every"), [(2.5, "5"), (3.5, "5"), (3.5, "1ms"), (4.5, None)]
)
def test_results_after_each_batch_wait_for_room(
    graphs: float, checkpoint_every: str | None, results: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has one thread for tasks, which those that wait must leave to those that read.

    Beside the graph and a copy, analytics want room for a graph.
    """
    expected = results("with room", epochs=1)
    assert len(expected) == BATCHES
    room = int(graphs * DynamicGraph().memory().graph_bytes)
    monkeypatch.setattr(pinned, "memory_bytes", lambda: room)
    found = results("without", epochs=4, checkpoint_every=checkpoint_every)
    assert len(found) == BATCHES
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one.equals(other), f"results after batch {number}"
