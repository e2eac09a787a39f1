"""Addresses at which no Dask scheduler answers are told at once, or in bounded time."""

import socket
import threading
from collections.abc import Iterator

import pytest
from distributed import Client

from graphtide.gpu_core.errors import ClusterError
from graphtide.pipeline.workers import scheduler_probe
from graphtide.pipeline.workers.scheduler_probe import check_scheduler

HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
SSH = b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket that listens; the system takes connections, and nobody answers them."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        yield listener


def address_of(listener: socket.socket) -> str:
    return f"tcp://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:9", "Connection refused"),
        ("tcp://127.0.0.1:9", "Connection refused"),
        ("tcp://[::1]:9", "Connection refused|Cannot assign"),
        ("tcp://scheduler.invalid:8786", "Name or service not known|Temporary failure"),
    ],
)
def test_an_address_that_cannot_be_connected_to_is_told_at_once(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_probe, "CONNECT_SECONDS", 1000.0)
    with pytest.raises(ClusterError, match=rf"no Dask scheduler answers at .* \(({reason})"):
        check_scheduler(address)


def test_a_host_that_drops_packets_is_given_up(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_probe, "CONNECT_SECONDS", 0.2)
    # Of a listener with as many connections as it may have, the system drops what comes.
    with socket.create_connection(listener.getsockname()):
        with pytest.raises(ClusterError, match=r"no Dask scheduler answers .* within"):
            check_scheduler(address_of(listener))


def test_a_scheduler_that_is_stopped_is_given_up(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_probe, "ANSWER_SECONDS", 0.2)
    with pytest.raises(ClusterError, match=r"has said nothing within .* that is stopped"):
        check_scheduler(address_of(listener))


def test_a_worker_is_no_scheduler(scheduler: str) -> None:
    check_scheduler(scheduler)
    with Client(scheduler) as client:
        workers = client.scheduler_info()["workers"]
    addresses = {"worker": next(iter(workers)), "nanny": next(iter(workers.values()))["nanny"]}
    for kind, address in addresses.items():
        if address is not None:
            with pytest.raises(ClusterError, match=rf"is a {kind} of a Dask cluster; give the"):
                check_scheduler(address)


@pytest.mark.parametrize("words", [HTTP, SSH, bytes(200)], ids=["http", "ssh", "zeros"])
def test_a_server_of_another_kind_is_no_scheduler(listener: socket.socket, words: bytes) -> None:
    """Dask would take its words for the length of a message, and ask for exbibytes."""

    def answer() -> None:
        with listener.accept()[0] as connection:
            connection.recv(1)
            connection.sendall(words)
            # What is closed with words unread takes back those that were sent.
            while connection.recv(1 << 16):
                pass

    server = threading.Thread(target=answer)
    server.start()
    with pytest.raises(ClusterError, match=r"what listens at .* is no Dask scheduler"):
        check_scheduler(address_of(listener))
    server.join()
