"""Arguments of launches, packed as a struct of C, and lists of launches, as the driver has them."""

import ctypes
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphtide import EngineError
from graphtide.gpu_core.cuda.device import devices
from graphtide.gpu_core.cuda.device.launches import begin_launch, empty_list, end_launch
from graphtide.gpu_core.cuda.device.packed_arguments import packer
from pretended_cupy import CUDADriverError, pretended


def bytes_of_launches(cupy: Any) -> list[bytes]:
    """Arguments as the driver finds them, one item a launch from now on."""
    found = []

    def launch(*arguments: Any) -> None:
        parts = (ctypes.c_size_t * 5).from_address(arguments[-1])
        pointer, place, size, size_at, end = parts
        # CU_LAUNCH_PARAM_BUFFER_POINTER, …_SIZE, …_END.
        assert (pointer, size, end) == (1, 2, 0)
        found.append(ctypes.string_at(place, ctypes.c_size_t.from_address(size_at).value))

    cupy.cuda.driver.launchKernel = launch
    return found


class DeviceArray:
    """As much of ``cupy.ndarray`` as a launch asks for."""

    def __init__(self, pointer: int, size: int) -> None:
        self.data, self.size = SimpleNamespace(ptr=pointer), size


def test_arguments_lie_as_in_a_struct_of_c(with_cupy: Callable[[Any], None]) -> None:
    cupy = pretended()
    cupy.ndarray = DeviceArray
    with_cupy(cupy)
    device = devices.open_device()
    found = bytes_of_launches(cupy)
    words = np.array((5, 6), np.dtype([("a", np.int64), ("b", np.int64)]))
    full, empty = DeviceArray(1 << 46, 4), DeviceArray(1 << 46, 0)
    for small in (1, 2):
        device.launch(
            "image.cuh", "mixed", 3, 32, np.uint8(small), words, np.int32(-3), None, np.float32(2),
            full, empty,
        )  # fmt: skip
    expected = [struct.pack("@B2qiPfPP", small, 5, 6, -3, 0, 2, 1 << 46, 0) for small in (1, 2)]
    assert found == expected


def test_packed_arguments_go_as_they_are(with_cupy: Callable[[Any], None]) -> None:
    cupy = pretended()
    with_cupy(cupy)
    device = devices.open_device()
    found = bytes_of_launches(cupy)
    pack = packer("first", "second", "third")
    for third in (7, 8):
        device.launch_packed("image.cuh", "words", 3, 32, pack(1 << 40, -1, third))
    device.launch_packed("image.cuh", "words", 0, 32, pack(0, 0, 0))
    assert found == [struct.pack("3q", 1 << 40, -1, third) for third in (7, 8)]
    with pytest.raises(ValueError, match="structure"):
        device.launch_packed("image.cuh", "words", 3, 32, pack(0, 0, 0) + b"\0" * 8)


def test_the_driver_is_asked_before_a_block_has_more_shared_memory(
    with_cupy: Callable[[Any], None],
) -> None:
    cupy = pretended()
    with_cupy(cupy)
    device = devices.open_device()
    calls: list[Any] = []
    driver = cupy.cuda.driver
    driver.launchKernel = lambda *arguments: calls.append(("launch", arguments[7]))
    # 8: the most shared memory of which a launch says how much.
    driver.funcSetAttribute = lambda *arguments: calls.append(("allow", *arguments[1:]))
    for shared_bytes in (0, 1_000, 600, 1_200):
        device.launch_packed("image.cuh", "words", 1, 32, b"", shared_bytes=shared_bytes)
    assert calls == [
        ("launch", 0), ("allow", 8, 1_000), ("launch", 1_000), ("launch", 600),
        ("allow", 8, 1_200), ("launch", 1_200),
    ]  # fmt: skip


def test_shared_memory_that_one_thread_needs_is_not_taken_away_by_another(
    with_cupy: Callable[[Any], None],
) -> None:
    """The driver's bound is the kernel's, not a thread's: the last one that was set holds."""
    cupy = pretended()
    with_cupy(cupy)
    device = devices.open_device()
    allowed: list[int] = []
    cupy.cuda.driver.launchKernel = lambda *arguments: None
    cupy.cuda.driver.funcSetAttribute = lambda function, attribute, size: allowed.append(size)

    def launch(shared_bytes: int) -> None:
        device.launch_packed("image.cuh", "words", 1, 32, b"", shared_bytes=shared_bytes)

    launch(2_000)
    with ThreadPoolExecutor(1) as other:
        other.submit(launch, 1_000).result()
    launch(2_000)
    assert allowed[-1] == 2_000
    with ThreadPoolExecutor(1) as other:
        other.submit(launch, 3_000).result()
    launch(3_000)
    assert allowed == [2_000, 3_000]


def test_arguments_of_no_type_are_refused(with_cupy: Callable[[Any], None]) -> None:
    with_cupy(pretended())
    device = devices.open_device()
    for argument in (3, 2.5, "a", True, np.complex128(1)):
        with pytest.raises(TypeError, match="NumPy scalars"):
            device.launch("image.cuh", "prepare", 1, 32, argument)


class PretendedDriver:
    """The two functions that compiled code calls, and what it has called them with."""

    def __init__(self, device: Any, failing: int | None = None) -> None:
        #: (kernel, blocks, threads, stream, whether it overlaps, arguments) of each launch; "wait"
        #: for a wait.
        self.calls: list[Any] = []
        pointer = ctypes.c_void_p
        launch_type = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 4)
        wait_type = ctypes.CFUNCTYPE(ctypes.c_int, pointer)

        def launch(configuration: int, kernel: int, parameters: None, extra: int) -> int:
            assert parameters is None
            blocks, *one, threads, y, z, shared = (ctypes.c_uint * 7).from_address(configuration)
            assert (one, y, z, shared) == ([1, 1], 1, 1, 0)
            stream, attributes, count = (ctypes.c_size_t * 3).from_address(configuration + 32)
            if count:
                # Programmatic stream serialization: allowed.
                assert count == 1
                assert (ctypes.c_uint * 3).from_address(attributes)[::2] == [6, 1]
            pointer, place, size, size_at, end = (ctypes.c_size_t * 5).from_address(extra)
            assert (pointer, size, end) == (1, 2, 0)
            arguments = ctypes.string_at(place, ctypes.c_size_t.from_address(size_at).value)
            self.calls.append((kernel, blocks, threads, stream, bool(count), arguments))
            return 719 if len(self.calls) - 1 == failing else 0

        def wait(stream: int) -> int:
            self.calls.append(("wait", stream))
            return 719 if len(self.calls) - 1 == failing else 0

        self._kept = launch_type(launch), wait_type(wait)
        addresses = [ctypes.cast(each, pointer).value for each in self._kept]
        vars(device)["entry_points"] = tuple(addresses)


def list_of_three(device: Any) -> np.ndarray:
    """Three launches, the second one of no blocks."""
    lines = empty_list()
    for number, name in enumerate(("first", "second", "third")):
        place = begin_launch(lines, device.kernel("image.cuh", name), [5, 0, 7][number], 64)
        lines[place : place + 2 + number] = 1 << 40
        end_launch(lines, place + 2 + number)
    return lines


def with_a_list(with_cupy: Callable[[Any], None]) -> Any:
    cupy = pretended()
    handles = {"first": 11, "second": 22, "third": 1 << 47}
    cupy.RawModule = lambda **_: SimpleNamespace(
        module=None,
        get_function=lambda name: SimpleNamespace(kernel=SimpleNamespace(ptr=handles[name])),
    )
    cupy.cuda.get_current_stream = lambda: SimpleNamespace(ptr=1 << 45)
    cupy.cuda.driver.CUDADriverError = lambda code: CUDADriverError(
        {719: "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure"}[code]
    )
    with_cupy(cupy)
    return devices.open_device()


def test_a_list_of_launches_is_run_in_its_order(with_cupy: Callable[[Any], None]) -> None:
    device = with_a_list(with_cupy)
    driver = PretendedDriver(device)
    device.run(list_of_three(device))
    assert driver.calls == [
        (11, 5, 64, 1 << 45, False, struct.pack("2q", *[1 << 40] * 2)),
        (1 << 47, 7, 64, 1 << 45, True, struct.pack("4q", *[1 << 40] * 4)),
        ("wait", 1 << 45),
    ]


def test_launches_overlap_only_where_the_device_can_do_that(
    with_cupy: Callable[[Any], None],
) -> None:
    device = with_a_list(with_cupy)
    device.overlaps = 0
    driver = PretendedDriver(device)
    device.run(list_of_three(device))
    assert [call[4] for call in driver.calls[:2]] == [False, False]


@pytest.mark.parametrize(
    ("failing", "named"),
    [
        (0, "kernel first of image.cuh"),
        (1, "kernel third of image.cuh"),
        (2, "waiting for the dev"),
    ],
)
def test_a_list_that_breaks_the_device_stops_there(
    with_cupy: Callable[[Any], None], failing: int, named: str
) -> None:
    device = with_a_list(with_cupy)
    driver = PretendedDriver(device, failing)
    with pytest.raises(EngineError, match=rf"broke \({named}.*CUDA_ERROR_LAUNCH_FAILED.*restart"):
        device.run(list_of_three(device))
    assert len(driver.calls) == failing + 1
    assert device.broken
    with pytest.raises(EngineError, match="restart"):
        device.run(list_of_three(device))
