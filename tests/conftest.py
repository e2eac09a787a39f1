"""What tests of several files are given: a device, an engine, a small log, a cluster.

The device that the CUDA engine works on is emulated everywhere, and real where there is one. Tests
of the graph run for each engine: see `engine`.
"""

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import kept_bytecode  # noqa: F401  first: it makes the other imports fast
from emulated_device import COMPILER, EmulatedDevice
from everyday import mark_exhaustive
from graphtide import DynamicGraph
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.cuda.device import devices
from graphtide.gpu_core.image import arena_size
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.pipeline.workers import warm_up
from graphtide.pipeline.workers.cluster import open_cluster
from memory_files import memory_files
from pretended_cupy import with_cupy  # noqa: F401  a fixture
from small_log import BATCH_ROWS, FILES, write_file
from strategies import examples
from waiting import wait_until

#: Helpers that compare: a failure tells both sides.
pytest.register_assert_rewrite(
    "image_engine", "lifecycle_world", "maintained_ranks", "same_batch", "update_twins"
)


#: Folders of tests, those first that wait most: others have the cores meanwhile, and short files
#: come last, so that all workers end at the same time.
ORDER = ("pipeline", "cli", "engine", "kernels", "unit")


_DEFAULT_LAYOUT = DynamicGraph.__init__.__kwdefaults__["layout"]

HAS_GPU = devices.cuda_available()
#: Kinds of devices. A real one only where there is one: it takes seconds to collect its tests.
DEVICES = ("emulated", pytest.param("real", marks=pytest.mark.gpu))[: 1 + HAS_GPU]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: tests wait for processes that they have started."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector what is imported and collected: all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked ``gpu`` where there is none, and what would run twice alike.

    First of all, so that ``-m`` and ``-k`` meet the mark ``exhaustive``.
    """
    kept, left_out = [], []
    for item in items:
        is_missed = item.get_closest_marker("gpu") is not None and not HAS_GPU
        is_spare = _names_its_layout(item) or _is_met_with_another_layout(item)
        (left_out if is_missed or is_spare else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    mark_exhaustive(kept, config.args)
    items[:] = sorted(kept, key=_place)


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return ORDER.index(folder)


def _names_its_layout(item: pytest.Item) -> bool:
    """Whether a test for an engine with another default layout names the layout itself.

    Either as a parameter, in settings that are one, or by the mark ``runs``.
    """
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if "-" not in str(parameters.get("engine")):
        return False
    if item.get_closest_marker("runs") is not None:
        return True
    values = list(parameters.values())
    names = [value for value in values if isinstance(value, str)]
    settings = [value for value in values if isinstance(value, dict)]
    return not LAYOUTS.keys().isdisjoint([*names, *(str(each.get("layout")) for each in settings)])


def _is_met_with_another_layout(item: pytest.Item) -> bool:
    """Whether a test for an engine is left to the next layout, by its name.

    The contract meets every layout on every engine. Others meet the default layout, and of those on
    pages one: which, differs from test to test. `make thorough` runs all.
    """
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    kind, _, layout = str(parameters.get("engine")).partition("-")
    if not layout or examples(1) > 1:
        return False
    others = [name for name in LAYOUTS if name != _DEFAULT_LAYOUT]
    name = item.nodeid.replace(f"{kind}-{layout}", kind)
    return layout != others[crc32(name.encode()) % len(others)]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A device, which is also what `open_device` returns: a test with it runs on both kinds."""
    if request.param == "real":
        yield devices.open_device()
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
    monkeypatch.setattr(devices, "_devices", {0: emulated})
    # It runs a thread after the other, and compiles nothing that a warm-up would have to meet.
    monkeypatch.setattr(warm_up, "_GPU_ROWS", 1 << 10)
    yield emulated


@pytest.fixture
def low_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few entries make rows of every length: see ``helpers/update_twins.py``."""
    from update_twins import set_low_bounds  # not above: its assertions are rewritten before

    set_low_bounds(monkeypatch)


def _engines() -> Iterator[Any]:
    """Names for `engine`: a kind alone, and with each layout that is not the default one."""
    yield "host"
    for kind, marks in (("emulated", ()), ("real", pytest.mark.gpu))[: 1 + HAS_GPU]:
        yield pytest.param(kind, marks=marks)
        for layout in LAYOUTS:
            if layout != _DEFAULT_LAYOUT:
                yield pytest.param(f"{kind}-{layout}", marks=marks)


@pytest.fixture(params=_engines())
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The engine that ``engine="auto"`` means: ``host``, or ``cuda`` on either kind of device.

    ``…-chain``: graphs that name no layout have ``chain``; likewise each that is registered.
    """
    kind, _, layout = request.param.partition("-")
    if layout:
        monkeypatch.setitem(DynamicGraph.__init__.__kwdefaults__, "layout", layout)
    if kind == "real":
        yield "cuda"
        return
    # A graph takes memory before it needs it. What takes or hashes an image touches all of that.
    monkeypatch.setattr(arena_size, "FIRST_BYTES", 2 << 20)
    if kind == "host":
        for name in ("cuda_available", "cuda_likely"):
            monkeypatch.setattr(devices, name, lambda: False)
        yield "host"
        return
    for _ in _emulated(monkeypatch):
        yield "cuda"


@pytest.fixture
def is_emulated(engine: str) -> bool:
    """Whether the engine's device is emulated: kernels are slow there."""
    return engine == "cuda" and isinstance(devices.open_device(), EmulatedDevice)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The folder of a log of a few files: see ``helpers/small_log.py``."""
    for number in range(FILES):
        write_file(tmp_path / "log", number)
    return tmp_path / "log"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """Where a log and its state will be; neither is there yet."""
    return tmp_path / "log", tmp_path / "state"


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A local cluster for all tests of a file that do not care whose it is."""
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        yield cluster.address


@pytest.fixture
def run_settings(scheduler: str) -> Callable[..., RunSettings]:
    """Make settings of a run on that cluster, in small batches."""

    def make(**overrides: Any) -> RunSettings:
        # A busy machine may take long to start a worker again.
        usual = {"scheduler": scheduler, "batch_rows": BATCH_ROWS, "start_timeout": "400s"}
        return load_settings({**usual, **overrides})

    return make


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Dask's own cluster of one worker, a thread of this process: for tasks alone, no runs."""
    from distributed import LocalCluster  # not above, where it would come before `kept_bytecode`

    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    """Its client."""
    from distributed import Client

    with Client(cluster) as client:
        yield client


@pytest.fixture
def no_memory_file_remains() -> Iterator[None]:
    """Whatever the end of a run: its ring is gone, also from workers that live on."""
    yield
    wait_until(lambda: not memory_files())
