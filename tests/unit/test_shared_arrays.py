"""Arrays in shared memory: the same for whoever opens them, kept and released as promised."""

import errno
import gc
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from graphtide.pipeline.graph_worker import shared_arrays
from graphtide.pipeline.graph_worker.memory_files import shown_name
from graphtide.pipeline.graph_worker.shared_arrays import ArraysAddress, SharedArrays, open_arrays
from memory_files import memory_files


def some_arrays() -> dict[str, npt.NDArray[np.generic]]:
    rng = np.random.default_rng(0)
    return {
        "vertex_ids": rng.integers(-(2**63), 2**63 - 1, 1_001),
        "present": rng.random(1_001) < 0.5,
        "free_indices": np.empty(0, np.uint32),
        "dst_index": rng.integers(0, 2**32, 5_003, dtype=np.uint32),
        "weight": rng.standard_normal(5_003).astype(np.float32),
    }


def check_same(arrays: dict[str, npt.NDArray[np.generic]]) -> None:
    expected = some_arrays()
    assert list(arrays) == list(expected)
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)


def is_there(address: ArraysAddress) -> bool:
    return (os.getpid(), shown_name(address.name)) in memory_files()


_READER = """
import sys
from graphtide.pipeline.graph_worker.shared_arrays import ArraysAddress, ArrayPlace, open_arrays
arrays = open_arrays(eval(sys.argv[1]))
print(int(arrays["dst_index"].sum()), arrays["weight"].flags.writeable)
"""


def test_another_process_reads_them_where_they_lie() -> None:
    shared = SharedArrays(some_arrays())
    reader = [sys.executable, "-P", "-c", _READER, repr(shared.address)]
    told = subprocess.run(reader, check=True, capture_output=True, text=True).stdout
    assert told.split() == [str(some_arrays()["dst_index"].sum()), "False"]


@pytest.mark.parametrize("most_at_once", [0, 1 << 28])
def test_they_are_moved_not_copied(most_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, and side by side."""
    monkeypatch.setattr(shared_arrays, "_MOST_AT_ONCE", most_at_once)
    arrays = some_arrays()
    shared = SharedArrays(arrays)
    assert shared.arrays is arrays
    assert not any(array.flags.owndata for array in arrays.values())
    check_same(arrays)
    check_same(open_arrays(shared.address))


def test_who_has_them_open_keeps_them() -> None:
    shared = SharedArrays(some_arrays())
    address, opened = shared.address, open_arrays(shared.address)
    del shared
    gc.collect()
    with pytest.raises(FileNotFoundError):
        open_arrays(address)
    assert is_there(address)
    check_same(opened)
    del opened
    gc.collect()
    assert not is_there(address), "the memory is kept although nobody needs it"


def test_no_arrays_and_no_items_will_do() -> None:
    for arrays in ({}, {"dst_index": np.empty(0, np.uint32)}):
        shared = SharedArrays(arrays)
        opened = open_arrays(shared.address)
        assert [(name, array.size) for name, array in opened.items()] == [(n, 0) for n in arrays]


def test_no_file_of_another_name_is_opened(tmp_path: Path) -> None:
    shared = SharedArrays(some_arrays())
    address, weight = shared.address, shared.address.places["weight"]
    foreign = tmp_path / "foreign"
    foreign.write_bytes(bytes(100_000))
    with foreign.open("r+b") as file:
        for other in (
            replace(address, places={"weight": replace(weight, descriptor=file.fileno())}),
            replace(address, name="graphtide-arrays-0"),
            replace(address, pid=2**22 + 1),
        ):
            with pytest.raises(FileNotFoundError):
                open_arrays(other)


def test_short_memory_halfway_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before, write, left = memory_files(), os.pwrite, [1, 2]

    def two_only(descriptor: int, data: memoryview, start: int) -> int:
        try:
            left.pop()
        except IndexError:
            raise OSError(errno.ENOSPC, "no space left") from None
        return write(descriptor, data, start)

    monkeypatch.setattr(os, "pwrite", two_only)
    arrays = some_arrays()
    with pytest.raises(OSError, match="no space left"):
        SharedArrays(arrays)
    check_same(arrays)
    del arrays
    gc.collect()
    assert memory_files() == before
