"""Tasks whose Future is not held leave nothing behind."""

import time
from typing import Any

import pytest
from distributed import Client, LocalCluster

from graphtide.pipeline.workers.unheld_tasks import run_and_forget
from waiting import wait_until


def test_a_task_that_ends_at_once_is_not_kept(
    cluster: LocalCluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end may come before the client's next message does."""
    send, scheduler = Client._send_to_scheduler, cluster.scheduler

    def slowly(self: Client, message: Any) -> None:
        send(self, message)
        time.sleep(0.2)

    monkeypatch.setattr(Client, "_send_to_scheduler", slowly)
    run_and_forget(client, lambda: client.submit(time.sleep, 0, key="at-once", pure=False))
    wait_until(lambda: ("at-once", "memory") in {each[:3:2] for each in scheduler.transition_log})
    wait_until(lambda: not scheduler.tasks, 20.0)
