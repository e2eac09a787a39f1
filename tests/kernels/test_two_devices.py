"""Graphs on several GPUs of one process, and on one that is not the first.

The two devices are emulated everywhere, and real where there are two GPUs.
"""

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide import DynamicGraph, SettingsError
from graphtide.gpu_core.batch.raw_rows import RawRows
from graphtide.gpu_core.cuda.convert import feed
from graphtide.gpu_core.cuda.device import devices
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.kind import RowMeaning
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import engine_of
from pretended_cupy import pretended

KINDS: list[dict[str, Any]] = [
    {},
    {"ids": "dense", "reverse": False},
    {"directed": False, "records": "weighted"},
]

#: Applies batches of inserts and of deletes to a graph, some each round.
Change = Callable[[DynamicGraph, range], None]


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def change(
    request: pytest.FixtureRequest, emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Change]:
    """Two devices; batches as large as they do at once."""
    if request.param == "emulated":
        pair = {0: emulated_device, 1: EmulatedDevice(1)}
        monkeypatch.setattr(devices, "_devices", pair)
        yield lambda graph, rounds: changed(graph, rounds, rows=300, scale=7)
        assert all(each.launches for each in pair.values() if each.ordinal), "it was not used"
        return
    monkeypatch.setattr(devices, "_devices", {})
    cuda = two_gpus()
    cuda.runtime.setDevice(0)
    yield lambda graph, rounds: changed(graph, rounds, rows=20_000, scale=12)
    assert cuda.runtime.getDevice() == 0, "the caller's device is left as it was"


def two_gpus() -> Any:
    """CuPy's module for CUDA, where there are two."""
    cupy = pytest.importorskip("cupy")
    count = cupy.cuda.runtime.getDeviceCount()
    if count < 2:
        pytest.skip(f"needs two GPUs, CUDA counts {count}")
    return cupy.cuda


def changed(graph: DynamicGraph, rounds: range, rows: int, scale: int) -> None:
    """Apply a batch of inserts and one of deletes a round; ids are below ``2**scale``."""
    for number in rounds:
        src, dst = rmat_edges(np.arange(rows * number, rows * (number + 1), dtype=np.uint64), scale)
        weight = None if graph.records == "simple" else 1 + src % 7
        graph.insert_edges(src, dst, weight=weight)
        graph.delete_edges(src[::3], dst[::3])


def same(ours: DynamicGraph, host: DynamicGraph) -> None:
    assert ours.state_hash() == host.state_hash()
    np.testing.assert_allclose(ours.pagerank().pagerank, host.pagerank().pagerank, atol=1e-9)
    np.testing.assert_array_equal(ours.triangles(), host.triangles())
    np.testing.assert_array_equal(ours.clustering().degree, host.clustering().degree)
    some = host.vertices()[::17]
    np.testing.assert_array_equal(ours.degrees(some), host.degrees(some))
    np.testing.assert_array_equal(ours.neighbors(int(some[0])), host.neighbors(int(some[0])))
    ours.verify()


@pytest.mark.parametrize("kind", KINDS, ids=["any", "dense", "undirected"])
def test_a_graph_on_the_second_device(change: Change, kind: dict[str, Any]) -> None:
    ours, host = DynamicGraph(engine="cuda", device=1, **kind), DynamicGraph(engine="host", **kind)
    for graph in (ours, host):
        change(graph, range(3))
    same(ours, host)
    assert (ours.device, host.device) == (1, None)
    assert "cuda on GPU 1" in repr(ours)
    restored = DynamicGraph.from_checkpoint_arrays(
        ours.checkpoint_arrays(), engine="cuda", device=1, **kind
    )
    assert restored.state_hash() == host.state_hash()


def test_copies_stay_on_the_device_of_their_graph(change: Change) -> None:
    graph = DynamicGraph(engine="cuda", device=1)
    change(graph, range(1))
    copy, part = graph.copy(), graph.subgraph(graph.vertices()[:5])
    assert (copy.device, part.device) == (1, 1)
    assert graph.copy(device=0).device == 0
    with graph.pin() as epoch:
        assert epoch.device == 1
        assert epoch.copy().device == 1
    assert copy.state_hash() == graph.state_hash()
    # Elsewhere there may be fewer.
    assert pickle.loads(pickle.dumps(graph)).device == 0


def test_rows_are_sent_to_the_device_of_their_graph(
    with_cupy: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the lock of its engine; CUDA refuses a stream of another device than the current."""
    now = [0]
    cupy = pretended(
        getDeviceCount=lambda: 2, getDevice=lambda: now[0],
        setDevice=lambda ordinal: now.__setitem__(0, ordinal),
    )  # fmt: skip
    cupy.cuda.Stream = lambda **_: PretendedStream(now)
    cupy.cuda.Event = lambda **_: None
    with_cupy(cupy)
    sent: list[int] = []

    def begin(*_: Any) -> Any:
        sent.append(now[0])
        return SimpleNamespace(batch=None)

    monkeypatch.setattr(feed, "send", lambda *_: {})
    monkeypatch.setattr(feed, "begin_edges", begin)
    staging: Any = SimpleNamespace(device=devices.open_device(1))
    rows = RawRows({}, None, RowMeaning(RECORDS["simple"]), dense=True)
    feed.Feed(staging, dense=True).send(rows)
    assert sent == [1]
    assert now == [0], "the caller's device is left as it was"


class PretendedStream:
    """A stream of the device that is current when it is made."""

    def __init__(self, now: list[int]) -> None:
        self._now, self._device = now, now[0]

    def __enter__(self) -> None:
        assert self._now == [self._device], "invalid resource handle"

    def __exit__(self, *_: object) -> None:
        pass

    def record(self, _event: object) -> None:
        assert self._now == [self._device], "invalid resource handle"

    def wait_event(self, _event: object) -> None:
        pass


@pytest.mark.parametrize("device", [True, "1", -1, 1.0])
def test_what_is_no_ordinal_is_refused(device: Any) -> None:
    with pytest.raises(SettingsError, match="not an ordinal of a GPU"):
        DynamicGraph(engine="host", device=device)


def test_two_graphs_change_side_by_side(change: Change) -> None:
    graphs = [DynamicGraph(engine="cuda", device=ordinal) for ordinal in (0, 1)]
    rounds = [range(4), range(4, 8)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(change, graphs, rounds))
    for graph, part in zip(graphs, rounds, strict=True):
        host = DynamicGraph(engine="host")
        change(host, part)
        same(graph, host)


def test_by_turns_in_one_thread(change: Change) -> None:
    first, second = DynamicGraph(engine="cuda", device=0), DynamicGraph(engine="cuda", device=1)
    host = DynamicGraph(engine="host")
    for number in range(3):
        for graph in (second, first, host):
            change(graph, range(number, number + 1))
    same(first, host)
    same(second, host)


@pytest.mark.gpu
def test_the_current_device_of_cupy_is_taken() -> None:
    cuda = two_gpus()
    with cuda.Device(1):
        graph = DynamicGraph(engine="cuda")
    assert graph.insert_edges([1, 2], [2, 3]).inserted == 2
    assert graph.device == 1
    assert cuda.runtime.pointerGetAttributes(engine_of(graph).image.data.ptr).device == 1
