"""What is said where there is no CUDA, and when it fails: a CuPy that is not there, or pretends."""

import ctypes
import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphtide import ArenaFullError, DynamicGraph, EngineError
from graphtide.gpu_core.cuda.device import devices
from graphtide.gpu_core.cuda.device.launches import begin_launch, empty_list, end_launch
from graphtide.gpu_core.cuda.device.packed_arguments import packer


class CUDARuntimeError(RuntimeError):
    """Named as CuPy's."""


class CUDADriverError(RuntimeError):
    """Named as CuPy's."""


class CompileException(Exception):
    """Named as CuPy's."""


def fails(error: Exception) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise error

    return function


def pretended(**runtime: Any) -> Any:
    """As much of CuPy as opening a device asks for."""
    functions = {
        "getDeviceCount": lambda: 1,
        "driverGetVersion": lambda: 13000,
        "runtimeGetVersion": lambda: 12090,
        "getDeviceProperties": lambda _: {
            "name": b"Pretended", "multiProcessorCount": 4, "totalGlobalMem": 1000, "major": 9,
            "sharedMemPerBlockOptin": 232_448,
        },
        "memGetInfo": lambda: (400, 1000),
        "getDevice": lambda: 0,
        "setDevice": lambda _: None,
        "free": lambda _: None,
        "CUDARuntimeError": CUDARuntimeError,
    }  # fmt: skip
    cupy: Any = ModuleType("cupy")
    cupy.ndarray = np.ndarray
    cupy.empty = np.empty
    cupy.cuda = SimpleNamespace(
        runtime=SimpleNamespace(**(functions | runtime)),
        driver=SimpleNamespace(launchKernel=fails(AssertionError("no launch"))),
        get_current_stream=lambda: SimpleNamespace(ptr=0, synchronize=lambda: None),
    )
    kernel = SimpleNamespace(kernel=SimpleNamespace(ptr=1))
    cupy.RawModule = lambda **_: SimpleNamespace(module=None, get_function=lambda _: kernel)
    return cupy


@pytest.fixture
def with_cupy(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    def install(cupy: Any) -> None:
        monkeypatch.setattr(devices, "_devices", {})
        monkeypatch.setitem(sys.modules, "cupy", cupy)

    return install


def unavailable(*words: str) -> None:
    assert not devices.cuda_available()
    with pytest.raises(EngineError) as caught:
        devices.open_device()
    for word in words:
        assert word in str(caught.value)


def test_without_cupy(with_cupy: Callable[[Any], None]) -> None:
    with_cupy(None)
    unavailable("needs CuPy", "pip install -e '.[gpu]'", "pip install 'cupy-cuda12x[ctk]'")


def test_without_a_driver(with_cupy: Callable[[Any], None]) -> None:
    error = CUDARuntimeError("cudaErrorInsufficientDriver: driver version is insufficient")
    with_cupy(pretended(getDeviceCount=fails(error), driverGetVersion=lambda: 0))
    unavailable("no GPU", "no NVIDIA driver is loaded", "engine='host'")


def test_with_a_driver_that_is_too_old(with_cupy: Callable[[Any], None]) -> None:
    error = CUDARuntimeError("cudaErrorInsufficientDriver: driver version is insufficient")
    with_cupy(pretended(getDeviceCount=fails(error), driverGetVersion=lambda: 11040))
    unavailable("no GPU", "driver for CUDA 11.4", "CuPy for CUDA 12.9")


def test_without_a_visible_device(with_cupy: Callable[[Any], None]) -> None:
    with_cupy(pretended(getDeviceCount=lambda: 0))
    unavailable("no GPU", "CUDA_VISIBLE_DEVICES")


class _Driver:
    """A driver that counts devices."""

    def __init__(self, count: int) -> None:
        self._count = count

    def cuInit(self, flags: int) -> int:
        return 0 if self._count else 100

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = self._count
        return 0


@pytest.mark.parametrize("driver", [None, _Driver(0), _Driver(1)])
@pytest.mark.parametrize("has_cupy", [False, True])
def test_a_gpu_is_likely_where_the_driver_counts_one_and_cupy_could_be_imported(
    monkeypatch: pytest.MonkeyPatch, driver: _Driver | None, has_cupy: bool
) -> None:
    def open_driver() -> Any:
        if driver is None:
            raise OSError
        return driver

    monkeypatch.setattr(devices, "_devices", {})
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(devices, "_driver", open_driver)
    monkeypatch.setattr(devices, "find_spec", lambda name: name if has_cupy else None)
    assert devices.cuda_likely() == (driver is not None and driver._count > 0 and has_cupy)
    assert "cupy" not in sys.modules


_LOOK = """
import ctypes, sys
from graphtide.gpu_core.engines import likely_engine
active = ctypes.c_int(-1)
found = likely_engine("auto"), likely_engine("host"), "cupy" in sys.modules
driver = ctypes.CDLL("libcuda.so.1")
driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(ctypes.c_uint()), ctypes.byref(active))
print(*found, active.value)
"""


@pytest.mark.gpu
def test_a_gpu_is_found_without_cupy_and_without_a_context() -> None:
    run = [sys.executable, "-c", _LOOK]
    found = subprocess.run(run, capture_output=True, text=True, check=True, cwd="/").stdout
    assert found.split() == ["cuda", "host", "False", "0"]


def test_an_ordinal_means_one_device(with_cupy: Callable[[Any], None]) -> None:
    with_cupy(pretended())
    assert devices.cuda_available()
    device = devices.open_device()
    assert device is devices.open_device()
    assert (device.name, device.multiprocessors, device.memory_bytes) == ("Pretended", 4, 1000)


def test_a_device_that_is_not_there_is_named(with_cupy: Callable[[Any], None]) -> None:
    with_cupy(pretended())
    with pytest.raises(EngineError, match="device=3 is not there: CUDA counts 1; use 0"):
        devices.open_device(3)


def test_who_names_a_device_gets_it_or_is_told_why_not(with_cupy: Callable[[Any], None]) -> None:
    with_cupy(pretended(getDeviceCount=lambda: 0))
    graph = DynamicGraph()
    assert graph.engine == DynamicGraph(engine="host", device=3).engine == "host"
    calls = (lambda: DynamicGraph(device=3), lambda: graph.copy(device=3))
    for call in calls:
        with pytest.raises(EngineError, match=r"no GPU: .*without a device"):
            call()
    with_cupy(pretended())
    for call in calls:
        with pytest.raises(EngineError, match="device=3 is not there: CUDA counts 1; use 0"):
            call()


def test_the_current_device_is_the_default_and_stays_so(
    with_cupy: Callable[[Any], None],
) -> None:
    current = [1]
    with_cupy(pretended(
        getDeviceCount=lambda: 2, getDevice=lambda: current[0],
        setDevice=lambda ordinal: current.__setitem__(0, ordinal),
    ))  # fmt: skip
    second, first = devices.open_device(), devices.open_device(0)
    assert (second.ordinal, first.ordinal) == (1, 0)
    current[0] = 1
    with first.current():
        assert current == [0]
        with second.current():
            assert current == [1]
        assert current == [0]
    assert current == [1]
    first.empty(1, np.uint8)
    assert current == [0], "a call works on its own device, whoever was current"


def test_memory_that_is_not_there_is_a_full_arena(with_cupy: Callable[[Any], None]) -> None:
    cupy = pretended()
    with_cupy(cupy)
    device = devices.open_device()
    # CuPy's own error is a MemoryError; CUDA's names the code.
    for error in (MemoryError("x"), CUDARuntimeError("cudaErrorMemoryAllocation: out of memory")):
        cupy.empty = fails(error)
        with pytest.raises(ArenaFullError, match="CUDA out of memory for 8,000 bytes") as caught:
            device.empty(1000, np.int64)
        assert "400 of 1,000 bytes of Pretended are free" in str(caught.value)
    cupy.empty = np.empty
    assert device.empty(2, np.int64).size == 2, "the device is of use as before"


@pytest.mark.parametrize("said", [ArenaFullError("no room"), EngineError("no kernel")])
def test_an_error_that_was_said_already_goes_on_as_it_is(
    with_cupy: Callable[[Any], None], said: Exception
) -> None:
    with_cupy(pretended())
    device = devices.open_device()
    with pytest.raises(type(said)) as caught, device.errors_named("outside"):
        raise said
    assert caught.value is said


def test_a_device_that_broke_stays_broken(with_cupy: Callable[[Any], None]) -> None:
    cupy = pretended()
    with_cupy(cupy)
    device = devices.open_device()
    stream = SimpleNamespace(ptr=0, synchronize=fails(CUDARuntimeError("cudaErrorInvalidValue: x")))
    cupy.cuda.get_current_stream = lambda: stream
    with pytest.raises(EngineError, match=r"\(waiting for the device\): cudaErrorInv"):
        device.synchronize()
    assert device.broken is None

    error = CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")
    stream.synchronize = fails(error)
    for _ in range(2):
        with pytest.raises(EngineError, match=r"broke .*cudaErrorIllegalAddress.*restart"):
            device.synchronize()
        stream.synchronize = lambda: None
    with pytest.raises(EngineError, match="restart"):
        device.empty(1, np.int64)


def test_a_kernel_that_broke_the_device_is_named(with_cupy: Callable[[Any], None]) -> None:
    cupy = pretended()
    with_cupy(cupy)
    device = devices.open_device()
    # The driver's errors are written another way than the runtime's.
    error = CUDADriverError("CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure")
    cupy.cuda.driver.launchKernel = fails(error)
    with pytest.raises(EngineError, match=r"kernel prepare of image\.cuh.*restart"):
        device.launch("image.cuh", "prepare", 1, 32, np.int64(3))
    assert device.broken


def test_a_kernel_that_does_not_compile_is_named(with_cupy: Callable[[Any], None]) -> None:
    cupy = pretended()
    cupy.RawModule = fails(CompileException("line 3: expected a ;"))
    with_cupy(cupy)
    with pytest.raises(EngineError, match=r"compiling image\.cuh\): line 3: expected"):
        devices.open_device().launch("image.cuh", "prepare", 1, 32)


def test_without_the_compiler(with_cupy: Callable[[Any], None]) -> None:
    cupy = pretended()
    cupy.RawModule = fails(RuntimeError("CuPy failed to load libnvrtc.so.12: OSError"))
    with_cupy(cupy)
    with pytest.raises(EngineError, match=r"libnvrtc.*pip install -e '\.\[gpu\]'"):
        devices.open_device().launch("image.cuh", "prepare", 1, 32)


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
