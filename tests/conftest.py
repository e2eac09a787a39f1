"""The device that the CUDA engine works on: emulated everywhere, real where there is one.

Tests of the graph run for each engine: see `engine`.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from emulated_device import COMPILER, EmulatedDevice
from graphtide.gpu_core import arena_size
from graphtide.gpu_core.cuda import device as device_module
from graphtide.pipeline import warm_up

#: Helpers that compare: a failure tells both sides.
pytest.register_assert_rewrite("image_engine", "same_batch", "update_twins")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked ``gpu`` where there is none, and engines without a test's layout."""
    has_gpu = device_module.cuda_available()
    kept, left_out = [], []
    for item in items:
        is_missed = item.get_closest_marker("gpu") is not None and not has_gpu
        (left_out if is_missed or _has_no_such_layout(item) else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _has_no_such_layout(item: pytest.Item) -> bool:
    """Whether a test for the cuda engine names, as it is or in settings, the layout chain."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if parameters.get("engine", "host") == "host":
        return False
    values = list(parameters.values())
    names = [value for value in values if isinstance(value, str)]
    settings = [value for value in values if isinstance(value, dict)]
    return "chain" in [*names, *(each.get("layout") for each in settings)]


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A device, which is also what `current_device` returns: a test with it runs on both kinds."""
    if request.param == "real":
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
    # It runs a thread after the other, and compiles nothing that a warm-up would have to meet.
    monkeypatch.setattr(warm_up, "_GPU_ROWS", 1 << 10)
    yield emulated


@pytest.fixture
def low_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few entries make rows of every length: see ``helpers/update_twins.py``."""
    from update_twins import set_low_bounds  # not above: its assertions are rewritten before

    set_low_bounds(monkeypatch)


@pytest.fixture(params=["host", "emulated", pytest.param("real", marks=pytest.mark.gpu)])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The engine that ``engine="auto"`` means: ``host``, or ``cuda`` on either kind of device."""
    if request.param == "host":
        monkeypatch.setattr(device_module, "cuda_available", lambda: False)
        yield "host"
        return
    if request.param == "real":
        yield "cuda"
        return
    # Emulated memory is filled when it is taken; a graph takes it before it needs it.
    monkeypatch.setattr(arena_size, "FIRST_BYTES", 2 << 20)
    for _ in _emulated(monkeypatch):
        yield "cuda"


@pytest.fixture
def is_emulated(engine: str) -> bool:
    """Whether the engine's device is emulated: kernels are slow there."""
    return engine == "cuda" and isinstance(device_module.current_device(), EmulatedDevice)
