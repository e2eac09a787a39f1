"""A scheduler of others that goes away in the middle of a run, or is stopped."""

import logging
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from commands import FIRST, replayed, write_log
from dask_processes import cluster_of_others
from graphtide import ClusterError, DynamicGraph
from graphtide.config.settings import load_settings
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.workers import cluster as cluster_module

BATCH_ROWS = 50


def test_a_scheduler_that_goes_away_is_told_and_the_state_is_kept(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, state = str(write_log(tmp_path / "log", FIRST)), str(tmp_path / "state")
    wanted = {"batch_rows": BATCH_ROWS, "analytics": [], "checkpoint_every": 2}
    # The client looks for its scheduler for as long as it would wait for the first answer.
    connect = cluster_module._client
    monkeypatch.setattr(cluster_module, "_client", lambda target, _seconds: connect(target, 3))
    with cluster_of_others(tmp_path, {"0": None, "1": None}) as (address, scheduler):

        def kill_at_half(progress: Progress) -> None:
            if progress.batches_done >= progress.batches_total // 2:
                scheduler.kill()

        settings = load_settings({**wanted, "scheduler": address})
        with (
            caplog.at_level(logging.ERROR),
            pytest.raises(ClusterError, match=rf"scheduler at {address} went away.*run again"),
        ):
            run(log, state, settings, kill_at_half)
    assert not [record for record in caplog.records if record.name == "distributed.client"]
    kept = newest_checkpoint(StateDirectory(Path(state)))
    assert kept is not None
    summary = run(log, state, load_settings({**wanted, "workers": 1, "dashboard": False}))
    assert 0 < summary.batches_applied
    checkpoint = newest_checkpoint(StateDirectory(Path(state)))
    assert checkpoint is not None
    edges = DynamicGraph.from_checkpoint_arrays(checkpoint.arrays(), engine="host").edges()
    pairs = list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    assert pairs == replayed(list(FIRST.values()), directed=True)


@pytest.mark.everyday
def test_a_scheduler_that_is_stopped_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is asked, it says nothing; Dask would wait without an end."""
    with (
        cluster_of_others(tmp_path, {"0": None}) as (address, scheduler),
        cluster_module.open_cluster(load_settings({"scheduler": address})) as cluster,
    ):
        assert cluster.roles().graph_name == "0"
        client, workers = cluster.client, cluster.client.scheduler_info()["workers"]
        scheduler.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(cluster_module, "SILENT_SECONDS", 0.5)
        asked: list[Callable[[], object]] = [
            cluster.roles,
            cluster.versions,
            lambda: cluster.call(partial(client.run, os.getpid), workers),
            lambda: cluster.call(partial(client.scatter, [1], direct=True), workers),
        ]
        for ask in asked:
            with pytest.raises(ClusterError, match=rf"scheduler at {address} has been silent for"):
                ask()
