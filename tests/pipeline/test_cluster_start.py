"""Workers that start are not waited for without end: see `pipeline/workers/cluster_start.py`."""

import concurrent.futures
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator

import pytest

from commands import ctrl_c_is_heard
from graphtide.gpu_core.errors import ClusterError
from graphtide.pipeline.workers import cluster_start
from graphtide.pipeline.workers.cluster_start import start_watched
from waiting import wait_until


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for the one that workers are forked from."""
    monkeypatch.setattr(cluster_start, "GIVE_UP_SECONDS", 0.3)
    with subprocess.Popen(["sleep", "60"]) as process:
        monkeypatch.setattr(cluster_start, "fork_server", lambda: process.pid)
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("sent", "message"),
    [(signal.SIGSTOP, r"was stopped \(SIGSTOP\)"), (signal.SIGKILL, "died while they started")],
    ids=["stopped", "killed"],
)
def test_a_start_that_waits_for_a_process_is_given_up_and_the_process_ended(
    server: subprocess.Popen[bytes], sent: signal.Signals, message: str
) -> None:
    never = threading.Event()

    def make() -> None:
        server.send_signal(sent)
        # As Dask, which hears of no end; then as the read of a pipe whose other end is gone.
        server.wait()
        if sent != signal.SIGSTOP:
            never.wait()

    try:
        with pytest.raises(ClusterError, match=message):
            start_watched(make)
    finally:
        never.set()
    assert server.wait() == -signal.SIGKILL


@pytest.mark.usefixtures("server")
def test_what_was_made_or_raised_comes_back() -> None:
    def refuse() -> None:
        msg = "no worker"
        raise TimeoutError(msg)

    assert start_watched(lambda: 7) == 7
    with pytest.raises(TimeoutError, match="no worker"):
        start_watched(refuse)


@pytest.mark.usefixtures("server")
def test_what_comes_after_an_interrupt_is_closed() -> None:
    """A notebook that is interrupted while workers start would keep them for as long as it runs."""
    main = threading.main_thread().ident or 0
    interrupted, closed = threading.Event(), threading.Event()

    def is_waited_for() -> bool:
        codes = [frame.f_code for frame, _ in traceback.walk_stack(sys._current_frames()[main])]
        return concurrent.futures.wait.__code__ in codes

    class Cluster:
        def close(self) -> None:
            closed.set()

    def make() -> Cluster:
        wait_until(is_waited_for)
        signal.pthread_kill(main, signal.SIGINT)
        interrupted.wait()
        return Cluster()

    try:
        with ctrl_c_is_heard(), pytest.raises(KeyboardInterrupt):
            start_watched(make)
    finally:
        interrupted.set()
    assert closed.wait(20)
