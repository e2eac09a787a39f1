"""Answers that are on their way when their generation is discarded leave nothing behind."""

import asyncio
import gc
import logging
import queue

import pytest
from distributed import Client, LocalCluster

from graphtide.pipeline.graph_client.answers import Answer, Answers
from waiting import PATIENCE, wait_until

CLIENT = "distributed.client"


def test_an_answer_that_was_lost_and_is_given_up_raises_nowhere(
    cluster: LocalCluster, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """What a run meets whose graph worker dies after a task has ended, before its answer came.

    Dask then waits within the answer for the task to be done again; what it leaves of that, and
    nobody awaits, is told by asyncio when it is collected.
    """
    answers, ended = Answers(client), queue.SimpleQueue[Answer]()
    task = client.submit(int, "7", key="task")
    wait_until(lambda: task.status == "finished")

    async def fetch_and_lose() -> None:
        # In one step of the loop: the client cannot hear of the loss before it asks.
        answers.fetch(task, ended.put)
        (worker,) = cluster.workers.values()
        await cluster.scheduler.remove_worker(worker.address, stimulus_id="lost")

    client.sync(fetch_and_lose)
    # Its status would not tell: the client sets it to pending, the scheduler's news to lost, in
    # either order.
    wait_until(lambda: any("Couldn't gather" in each for each in messages(caplog, CLIENT)))
    with caplog.at_level(logging.ERROR, "asyncio"):
        task.release()
        answers.forget()
        ended.get(timeout=PATIENCE)
        # Whatever is left on the client's loop has come to its end, and is collected.
        client.sync(asyncio.sleep, 0.01)
        gc.collect()
    assert messages(caplog, "asyncio") == []


def messages(caplog: pytest.LogCaptureFixture, logger: str) -> list[str]:
    """What this logger has said."""
    return [each.getMessage() for each in caplog.records if each.name == logger]
