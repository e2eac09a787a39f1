"""Debian's Prometheus, on the loopback interface, until a block ends."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from waiting import wait_until

_CONFIGURATION = """
global: {{scrape_interval: 100ms}}
scrape_configs:
- job_name: graphtide
  static_configs: [{{targets: {targets}}}]
"""


class Prometheus:
    """A server that scrapes.

    Parameters
    ----------
    address
        ``HOST:PORT`` of the server.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def ask(self, path: str, **parameters: object) -> Any:
        """What its HTTP API answers, of version 1."""
        query = urlencode(parameters)
        with urlopen(f"http://{self._address}/api/v1/{path}?{query}", timeout=30) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Series of an expression, as of now."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def value(self, expression: str) -> float:
        """Value of an expression that has one series; NaN where it has none yet."""
        found = self.query(expression)
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else float("nan")

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            self.ask("status/buildinfo")
        except (URLError, ConnectionError):
            return False
        return True


@contextmanager
def prometheus_server(folder: Path, ports: Sequence[int]) -> Iterator[Prometheus]:
    """Start a server that scrapes these ports of this machine ten times a second."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no Prometheus")
    configuration = folder / "prometheus.yml"
    targets = json.dumps([f"127.0.0.1:{port}" for port in ports])
    configuration.write_text(_CONFIGURATION.format(targets=targets))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [
        program, f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address={address}", "--log.level=error",
    ]  # fmt: skip
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        server = Prometheus(address)
        try:
            wait_until(lambda: server.is_ready() or process.poll() is not None)
            assert process.poll() is None, process.communicate()[1]
            yield server
        finally:
            process.terminate()
            process.communicate(timeout=60)
