"""Loads are reported when they end, and released with the graph that they were for."""

import queue

from distributed import Client, LocalCluster

from graphtide.pipeline.graph_client.pending_loads import PendingLoads
from graphtide.pipeline.state_machine.events import BatchLoaded
from waiting import PATIENCE, wait_until


def test_every_load_is_told_when_it_ends_well_or_not(client: Client) -> None:
    told: queue.Queue[BatchLoaded] = queue.Queue()
    loads = PendingLoads(told.put)
    for batch_id, text in enumerate(("7", "no number")):
        load = client.submit(int, text, key=f"load-{batch_id}")
        loads.watch(load, BatchLoaded(0, batch_id))
    assert {told.get(timeout=PATIENCE).batch_id for _ in range(2)} == {0, 1}
    assert not loads._pending


def test_loads_that_are_given_up_are_forgotten(cluster: LocalCluster, client: Client) -> None:
    told: queue.Queue[BatchLoaded] = queue.Queue()
    loads, tasks = PendingLoads(told.put), cluster.scheduler.tasks
    for batch_id in range(3):
        # For a worker that never comes, so that none of them ends by itself.
        future = client.submit(int, key=f"load-{batch_id}", workers=["nobody"])
        loads.watch(future, BatchLoaded(0, batch_id))
    del future
    wait_until(lambda: len(tasks) == 3)
    loads.release_all()
    wait_until(lambda: not tasks)
    assert {told.get(timeout=PATIENCE).batch_id for _ in range(3)} == {0, 1, 2}
