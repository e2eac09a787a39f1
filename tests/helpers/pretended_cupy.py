"""A CuPy that pretends: what CUDA answers, or how it fails, is a test's to say."""

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.cuda.device import devices


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
