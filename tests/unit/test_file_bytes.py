"""Bytes of an open file are its own, whatever other threads open meanwhile."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import pytest

from graphtide.io.parquet.file_bytes import bytes_of


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_that_open_different_files_get_their_own(tmp_path: Path) -> None:
    """A worker with several threads would take one file's rows for another's, without a word."""

    def wrong(name: str) -> int:
        path = tmp_path / name
        path.write_bytes(name.encode())
        with fsspec.open(str(path), "rb") as file:
            return sum(bytes_of(file).range(0, 1) != name.encode() for _ in range(3_000))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(wrong, "abcd")) == [0, 0, 0, 0]
