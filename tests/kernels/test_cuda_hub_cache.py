"""Which vertices have a slot of the cache of hubs, and how Katz centrality reads through it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.centrality.katz_centrality import katz_centrality
from graphtide.gpu_core.cuda.analytics.parts.hubs import hub_cache
from graphtide.gpu_core.cuda.memory.scratch import DeviceScratch
from graphtide.gpu_core.cuda.memory.workspace import Workspace
from image_engine import ImageEngine


@pytest.mark.parametrize("count", [1, 5, 31, 32, 33, 4_099])
def test_a_slot_has_its_vertex_of_most_entries(
    device: Any, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(hub_cache, "MOST_BITS", 5)
    degrees = np.random.default_rng(count).integers(0, 9, count).astype(np.uint32)
    words = device.empty(4_096, np.uint32)
    made = hub_cache.hub_cache(device, DeviceScratch(device.xp, words), device.to_device(degrees))
    assert made.shared_bytes == 320
    hubs, _, bits = np.frombuffer(made.arguments, np.int64)
    assert bits == 5
    scratch = DeviceScratch(device.xp, words)
    found = device.to_host(scratch.array_at(int(hubs), 32, np.uint32))
    for slot, hub in enumerate(found.tolist()):
        members = np.arange(slot, count, 32)
        expected = members[np.argmax(degrees[members])] if members.size else 0
        assert hub == expected


def star_of_stars(**meaning: Any) -> DynamicGraph:
    """Hubs of 40 to 139 leaves, many of which share the slot of another one; and who is gone."""
    graph = DynamicGraph(ids="dense", engine="host", **meaning)
    hubs = 32 * np.arange(100) + np.arange(100) // 25
    leaves = np.repeat(hubs, 40 + np.arange(100))
    graph.insert_edges(leaves, 4_000 + (np.arange(leaves.size) * 17) % 3_000)
    graph.insert_edges(np.roll(hubs, 1), hubs)
    graph.delete_vertices(hubs[7::9])
    return graph


@contextmanager
def scratch_of_no_numbers(need_bytes: int) -> Iterator[DeviceScratch]:
    yield DeviceScratch(np, np.full(need_bytes // 4 + 16_384, 0xFFFFFFFF, np.uint32))


@pytest.mark.parametrize("meaning", [{"directed": False}, {"directed": True, "reverse": False}])
def test_values_through_the_cache_are_those_of_the_definition(
    emulated_device: EmulatedDevice, meaning: dict[str, Any]
) -> None:
    graph = star_of_stars(**meaning)
    on_device = ImageEngine(emulated_device, graph)
    on_device.workspace = Workspace(emulated_device, scratch_of_no_numbers)
    found = set()
    for seed in range(3):
        emulated_device.shuffle = seed
        result = katz_centrality(on_device, alpha=2e-4)
        expected = graph.katz_centrality(alpha=2e-4)
        assert result.iterations == expected.iterations > 2
        np.testing.assert_allclose(result.katz_centrality, expected.katz_centrality, rtol=1e-14)
        found.add(result.katz_centrality.tobytes())
    assert len(found) == 1


def test_few_steps_take_few_launches(emulated_device: EmulatedDevice) -> None:
    graph = star_of_stars(directed=False)
    on_device = ImageEngine(emulated_device, graph)
    before = len(emulated_device.launches)
    steps = katz_centrality(on_device, alpha=2e-4).iterations
    kernels = [kernel for _, kernel in emulated_device.launches[before:]]
    first = kernels.index("list_in_place")
    steps_ahead = kernels[first + 3 : -2]
    assert kernels[first : first + 3] == ["list_in_place", "choose_hubs_of_slots", "step_alike"]
    assert set(steps_ahead[::2]) == {"pull_in_place"}
    assert set(steps_ahead[1::2]) == {"measure_step"}
    assert kernels[-2:] == ["end_values", "take_values"]
    assert steps - 2 <= len(steps_ahead) / 2 <= steps - 1
