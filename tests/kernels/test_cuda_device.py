"""What is said where there is no CUDA, and when it fails: a CuPy that is not there, or pretends."""

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphtide import ArenaFullError, DynamicGraph, EngineError
from graphtide.gpu_core.cuda.device import devices
from pretended_cupy import CompileException, CUDADriverError, CUDARuntimeError, fails, pretended


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
