"""The device that the CUDA engine works on: emulated everywhere, real where there is one.

Tests of the graph run for each engine: see `engine`.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from emulated_device import COMPILER, EmulatedDevice
from graphtide.gpu_core import arena_size
from graphtide.gpu_core.cuda import device as device_module


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A device, which is also what `current_device` returns: a test with it runs on both kinds."""
    if request.param == "real":
        if not device_module.cuda_available():
            pytest.skip("needs a CUDA device")
        yield device_module.current_device()
        return
    yield from _emulated(monkeypatch)


@pytest.fixture
def emulated_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatedDevice]:
    """For what a real device does not show: launches counted, an order chosen."""
    yield from _emulated(monkeypatch)


def _emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatedDevice]:
    if COMPILER is None:
        pytest.skip("the emulated device needs a C++ compiler (g++)")
    emulated = EmulatedDevice()
    monkeypatch.setattr(device_module, "_current", emulated)
    yield emulated


@pytest.fixture(params=["host", "emulated", pytest.param("real", marks=pytest.mark.gpu)])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The engine that ``engine="auto"`` means: ``host``, or ``cuda`` on either kind of device."""
    if request.param == "host":
        monkeypatch.setattr(device_module, "cuda_available", lambda: False)
        yield "host"
        return
    if "chain" in _layouts(request):
        pytest.skip("the cuda engine has no layout chain")
    if request.param == "real":
        if not device_module.cuda_available():
            pytest.skip("needs a CUDA device")
        yield "cuda"
        return
    # Emulated memory is filled when it is taken; a graph takes it before it needs it.
    monkeypatch.setattr(arena_size, "FIRST_BYTES", 2 << 20)
    for _ in _emulated(monkeypatch):
        yield "cuda"


def _layouts(request: pytest.FixtureRequest) -> set[str]:
    """Layouts that the parameters of a test name, as they are or in settings."""
    values = list(getattr(request.node, "callspec", None).params.values())
    settings = [value for value in values if isinstance(value, dict)]
    names = [value for value in values if isinstance(value, str)]
    return {*names, *(str(each.get("layout")) for each in settings)}
