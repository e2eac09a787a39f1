"""Bytes of an open file are its own, whatever other threads open meanwhile."""

import io
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import pytest

from graphtide.io.parquet import file_bytes
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


class Store(io.BytesIO):
    """A file that is not local, with what was asked of it: ``(first byte, bytes)``."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.asked: list[tuple[int, int | None]] = []

    def read(self, size: int | None = -1) -> bytes:
        self.asked.append((self.tell(), size))
        return super().read(size)


def test_ranges_that_lie_close_together_are_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_bytes, "_GAP_BYTES", 5)
    content = bytes(range(250))
    store = Store(content)
    found = bytes_of(store)
    extents = [(200, 99), (10, 5), (20, 100), (30, 10), (126, 4)]
    found.fetch(extents)
    assert store.asked == [(10, 110), (126, 4), (200, 50)]
    whole = found.arrow_file()
    for begin, nbytes in extents:
        end = min(begin + nbytes, 250)
        assert whole.read_at(end - begin, begin) == content[begin:end]
    assert found.range(20, 100) == content[20:120]
    assert len(store.asked) == 3, "what was fetched is not asked for again"


def test_fetched_ranges_of_a_store_are_where_they_are_in_the_file() -> None:
    content = bytes(range(1, 251))
    store = fsspec.filesystem("memory")
    store.pipe_file("/file", content)
    with store.open("/file", "rb") as file:
        found = bytes_of(file)
        found.fetch([(200, 40), (10, 5), (20, 100)])
        whole = found.arrow_file()
        for begin, end in [(10, 15), (20, 120), (30, 40), (205, 210), (210, 240)]:
            assert whole.read_at(end - begin, begin) == content[begin:end]
            assert found.range(begin, end - begin) == content[begin:end]
        assert found.range(245, 99) == content[245:], "fewer where the file ends"
        assert whole.size() == len(content)
