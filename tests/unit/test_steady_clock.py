"""Streams and timers of Dask's go on where the time of day is set back."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from distributed.batched import BatchedSend
from distributed.comm import connect, listen
from tornado.ioloop import PeriodicCallback

from graphtide.pipeline.workers.steady_clock import use_steady_clock
from torture.faults import jump

#: In vain, it would be waited for an hour.
SECONDS = 20.0

SetBack = Callable[[], None]


@pytest.fixture
def set_back(monkeypatch: pytest.MonkeyPatch) -> SetBack:
    """Sets the clock of this process back by an hour."""
    use_steady_clock()
    return lambda: jump(-3600.0, monkeypatch.setattr)


def test_a_stream_sends_what_it_is_given_afterwards(set_back: SetBack) -> None:
    async def send() -> None:
        received: asyncio.Queue[Any] = asyncio.Queue()

        async def receive(comm: Any) -> None:
            while True:
                await received.put(await comm.read())

        async with listen("inproc://", receive) as listener:
            stream = BatchedSend(interval="500ms")
            stream.start(await connect(listener.contact_address))
            stream.send("before")
            await asyncio.wait_for(received.get(), SECONDS)
            set_back()
            stream.send("after")
            assert list(await asyncio.wait_for(received.get(), SECONDS)) == ["after"]
            stream.abort()

    asyncio.run(send())


def test_heartbeats_go_on(set_back: SetBack) -> None:
    async def beat() -> None:
        beats: asyncio.Queue[None] = asyncio.Queue()
        heart = PeriodicCallback(lambda: beats.put_nowait(None), 10)
        heart.start()
        await asyncio.wait_for(beats.get(), SECONDS)
        set_back()
        for _ in range(3):
            await asyncio.wait_for(beats.get(), SECONDS)
        heart.stop()

    asyncio.run(beat())
