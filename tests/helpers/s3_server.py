"""A server that speaks S3, in a thread of this process, and files put there and taken away."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class S3:
    """A server with one bucket, which all processes find that are started now.

    Attributes
    ----------
    address
        Of the bucket: ``s3://…``.
    requests
        ``METHOD path`` of all requests so far.
    """

    address = "s3://bucket"

    def __init__(self, files: Any) -> None:
        self._files = files
        self.requests: list[str] = []

    def put(self, path: Path, name: str) -> str:
        """Put a file there; gives its address."""
        self._files.pipe_file(f"bucket/{name}", path.read_bytes())
        return f"{self.address}/{name}"

    def put_marker(self, name: str) -> None:
        """Put an empty file ``name/`` there, which consoles call a folder."""
        self._files.call_s3("put_object", Bucket="bucket", Key=name, Body=b"")

    def put_folder(self, folder: Path) -> str:
        """Put all files of a folder there; gives its address."""
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            self.put(path, f"{folder.name}/{path.relative_to(folder)}")
        return f"{self.address}/{folder.name}"

    def read(self, name: str) -> bytes:
        """Bytes of a file."""
        return bytes(self._files.cat_file(f"bucket/{name}"))

    def names(self) -> list[str]:
        """Names of all files."""
        return sorted(each.removeprefix("bucket/") for each in self._files.find("bucket"))


@contextmanager
def s3_server() -> Iterator[S3]:
    """Start a server; the environment tells of it until the block ends."""
    server_module = pytest.importorskip("moto.server", reason="no moto")
    s3fs = pytest.importorskip("s3fs", reason="no s3fs")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        # No file of the machine's user is looked at, and no server of a cloud is asked for keys.
        "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        files = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
        files.mkdir("bucket")
        s3 = S3(files)
        with _requests_heard(s3.requests):
            yield s3
        # Others would ask this server, which is gone.
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@contextmanager
def _requests_heard(requests: list[str]) -> Iterator[None]:
    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = record.getMessage().split('"')[1]
            requests.append(line[line.index("m") + 1 :] if line.startswith("\x1b") else line)

    logger, handler = logging.getLogger("werkzeug"), Heard()
    before = logger.level, logger.propagate
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before
