"""Vertices of most neighbors: which they are, how slices name them, and PageRank with them."""

from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.algorithms.centrality import pagerank as neutral_pagerank
from graphtide.gpu_core.cuda.analytics.centrality import pagerank
from graphtide.gpu_core.cuda.analytics.parts import hubs, slices
from graphtide.gpu_core.cuda.memory.scratch import DeviceScratch
from image_engine import KINDS, ImageEngine, check_pagerank, make_graph


def hub_edges() -> tuple[np.ndarray, np.ndarray]:
    """150 vertices of 90 to 388 neighbors each, 40 of them of one another, and 2,000 of a few."""
    centres, degrees = 13 * np.arange(150), 50 + 2 * np.arange(150)
    centre = np.repeat(centres, degrees)
    leaf = np.concatenate([3_000 + (np.arange(d) * 7 + d) % 2_000 for d in degrees])
    other = np.concatenate([np.roll(centres, -1 - i)[:40] for i in range(150)])
    sources = centre, leaf[::3], leaf, np.repeat(centres, 40)
    targets = leaf, centre[::3], leaf - 9, other
    return np.concatenate(sources), np.concatenate(targets)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_pagerank_with_hubs_as_on_the_host(
    emulated_device: EmulatedDevice, kind: dict[str, Any]
) -> None:
    graph = make_graph(hub_edges(), **kind)
    check_pagerank(emulated_device, graph)
    assert ("pagerank.cu", "pull_with_hubs") in emulated_device.launches
    check_pagerank(emulated_device, graph, personalization={0: 2.0, 13: 1.0}, alpha=0.5)


def listed_hubs(made: hubs.Hubs, scratch: DeviceScratch, device: Any, count: int) -> np.ndarray:
    """int64[hubs]: the vertex of each slot."""
    groups = device.to_host(scratch.array_at(made.groups, -(-count // 32), np.uint64))
    vertices = []
    for first in np.argsort(groups >> np.uint64(32), kind="stable"):
        bits = int(groups[first]) & 0xFFFFFFFF
        members = [32 * first + bit for bit in range(32) if bits >> bit & 1]
        if members:
            assert int(groups[first]) >> 32 == len(vertices), "slots with gaps, or given twice"
            vertices += members
    return np.array(vertices)


def test_slices_name_every_hub_by_its_slot(emulated_device: EmulatedDevice) -> None:
    graph = make_graph(hub_edges(), directed=True, reverse=True, ids="dense")
    engine = ImageEngine(emulated_device, graph)
    count, entries = engine.vertex_count, engine.num_entries
    named = []
    for has_hubs in (False, True):
        need = slices.slices_bytes(count, entries) + hubs.hubs_bytes(count)
        with engine.workspace.scratch(need) as scratch:
            degrees = pagerank.out_strengths(engine.workspace, engine.rows("out"), weighted=False)
            made = hubs.Hubs(engine.device, scratch, count, degrees) if has_hubs else None
            rows = slices.slices(engine.device, scratch, engine.rows("in"), hubs=made)
            named.append(scratch.array_at(rows.indices, entries, np.uint32).copy())
            if made is not None:
                of_slot = listed_hubs(made, scratch, emulated_device, count)
    plain, by_slot = named
    is_slot = by_slot >> 31 == 1
    assert np.array_equal(is_slot, np.isin(plain, of_slot))
    assert np.array_equal(by_slot[~is_slot], plain[~is_slot])
    assert np.array_equal(of_slot[by_slot[is_slot] & 0x7FFFFFFF], plain[is_slot])
    assert 0 < of_slot.size <= 64


def test_no_bit_of_pagerank_depends_on_hubs(emulated_device: EmulatedDevice) -> None:
    graph = make_graph(hub_edges(), directed=False, reverse=True, ids="dense")
    bits, kernels = set(), set()
    for slots in (0, 20, 64, 200):
        for shuffle in (0, 5):
            emulated_device.shared_bytes = hubs.OTHER_BYTES + 8 * slots
            emulated_device.shuffle = shuffle
            emulated_device.launches.clear()
            result = neutral_pagerank.pagerank(ImageEngine(emulated_device, graph), tol=1e-9)
            bits.add((result.pagerank.tobytes(), result.residual, result.iterations))
        kernels |= {kernel for _, kernel in emulated_device.launches if kernel.startswith("pull")}
    assert len(bits) == 1
    assert kernels == {"pull", "pull_with_hubs"}


@pytest.mark.parametrize("slots", [0, 1, 64, 10_000])
def test_hubs_are_the_vertices_of_most_neighbors_each_with_a_slot(device: Any, slots: int) -> None:
    count = 5_003
    degrees = (np.random.default_rng(3).pareto(0.8, count) * 8).clip(0, 70_000).astype(np.uint32)
    degrees[[5, 99, count - 1]] = 64, 63, 1 << 30
    degrees[7] = 1 << 31  # absent
    scratch = DeviceScratch(device.xp, device.empty(1 << 18, np.uint32))
    order = np.sort(degrees[degrees < 1 << 31])[::-1].astype(np.int64)
    # Degrees with the same first five bits are hubs together.
    large = order[order >= 64]
    shifts = np.floor(np.log2(large)).astype(np.int64) - 4
    last = np.append(np.flatnonzero(np.diff(large >> shifts << shifts)), large.size - 1) + 1
    expected = max((int(end) for end in last if end <= slots), default=0)
    for named, is_enough in ((0, True), (int(order[:slots].sum()) + 1, False)):
        made = hubs.Hubs(device, scratch, count, device.to_device(degrees))
        choice = scratch.array_at(made.choice, hubs.CHOICE_DTYPE.itemsize, np.uint8)
        choice.fill(0)
        made.slots = slots
        made.choose(0, named * hubs.LEAST_SHARE)
        found = made.wait()
        chosen = device.to_host(choice).view(hubs.CHOICE_DTYPE)[0]
        assert chosen["count"] == chosen["listed"] == found
        assert found == (expected if is_enough else 0)
        if not found:
            continue
        vertices = listed_hubs(made, scratch, device, count)
        assert vertices.size == found
        assert degrees[vertices].astype(np.int64).sum() == order[:found].sum()
