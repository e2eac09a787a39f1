"""Vertices of most neighbors: which they are, the order of rows they lead, and PageRank by it."""

import itertools
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.algorithms.centrality import pagerank as neutral_pagerank
from graphtide.gpu_core.cuda.analytics.parts import slices
from graphtide.gpu_core.cuda.analytics.parts.hubs import hubs
from graphtide.gpu_core.cuda.memory.scratch import DeviceScratch
from graphtide.gpu_core.host.analytics.parts import compact_rows as host_rows
from graphtide.gpu_core.rows import Rows
from graphtide.testing import engine_of
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


def edges_of_all_classes() -> tuple[np.ndarray, np.ndarray]:
    """Hubs, and others of 1 to 60 neighbors, among indices of which a third is absent."""
    centres = 13 * np.arange(64)
    src = np.repeat(centres, 400 + np.arange(64))
    dst = np.concatenate([np.arange(400 + i) * 9 % 3_999 + 2_000 for i in range(64)])
    draw = np.random.default_rng(8)
    present = np.flatnonzero(np.arange(6_000) % 3 != 1)
    degrees = 1 + draw.pareto(0.9, present.size).clip(0, 59).astype(np.int64)
    others = np.repeat(present, degrees), draw.choice(present, degrees.sum())
    return np.append(src, others[0]), np.append(dst, others[1])


class ChosenOrder:
    """What the device has chosen, and the rows it has given: read to the host."""

    def __init__(self, device: Any, scratch: DeviceScratch, made: hubs.Hubs, count: int) -> None:
        choice = scratch.array_at(made.choice, hubs.CHOICE_DTYPE.itemsize, np.uint8)
        self.choice = device.to_host(choice).view(hubs.CHOICE_DTYPE)[0]
        rows = int(self.choice["rows"])
        #: int64[rows]: vertex of each row.
        order = device.to_host(scratch.array_at(made.order, rows, np.uint32))
        self.order = order.astype(np.int64)
        #: int64[count]: row of each vertex, by its group; -1 of absent vertices.
        size = hubs.GROUP_DTYPE.itemsize * -(-count // 32)
        groups = device.to_host(scratch.array_at(made.groups, size, np.uint8))
        self.row_of = np.full(count, -1, np.int64)
        for number, group in enumerate(groups.view(hubs.GROUP_DTYPE)):
            low, high, firsts = (int(group[field]) for field in ("low", "high", "firsts"))
            following = {"hub": firsts & 0x7FFF, "warm": firsts >> 15 & 0x1FFFFF}
            following["cold"] = firsts >> 36
            for bit in range(32):
                kind = {3: "hub", 2: "warm", 1: "cold"}.get(
                    (low >> bit & 1) | (high >> bit & 1) * 2
                )
                if kind:
                    self.row_of[32 * number + bit] = following[kind]
                    following[kind] += 1

    def check(self, degrees: np.ndarray, present: np.ndarray) -> None:
        """Every vertex that is there has a row of its class, and no two have the same."""
        found, warm = int(self.choice["hubs"]), int(self.choice["warm"])
        there = np.flatnonzero(present)
        assert np.array_equal(self.row_of >= 0, present)
        assert sorted(self.row_of[there].tolist()) == list(range(there.size))
        assert np.array_equal(self.order[self.row_of[there]], there)
        assert self.choice["listed"].tolist() == [found, warm, there.size - found - warm]
        by_row = degrees[self.order].astype(np.int64)
        classes = by_row[:found], by_row[found : found + warm], by_row[found + warm :]
        for higher, lower in itertools.pairwise(part for part in classes if part.size):
            assert higher.min() > lower.max()
        # Side by side within a warp's groups, class by class.
        for first in range(0, self.row_of.size, 32):
            rows = self.row_of[first : first + 32]
            for low, high in ((0, found), (found, found + warm), (found + warm, there.size)):
                of_class = rows[(rows >= low) & (rows < high)]
                assert np.all(np.diff(of_class) == 1)


@pytest.mark.parametrize("directed", [True, False])
def test_slices_are_of_rows_in_their_order(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch, directed: bool
) -> None:
    monkeypatch.setattr(hubs, "_WARM_BYTES", 8 * 500)
    graph = make_graph(edges_of_all_classes(), directed=directed, reverse=True, ids="dense")
    engine = ImageEngine(emulated_device, graph)
    count, entries = engine.vertex_count, engine.num_entries
    out, into = engine.rows("out"), engine.rows("in")
    need = slices.slices_bytes(count, entries) + hubs.hubs_bytes(count)
    with engine.workspace.scratch(need) as scratch:
        made = hubs.Hubs(engine.device, scratch, out)
        made.choose(entries)
        copied = slices.slices(engine.device, scratch, into, hubs=made)
        found = ChosenOrder(engine.device, scratch, made, count)
        lengths = scratch.array_at(copied.lengths, count, np.uint32).copy()
        second_argument = int(np.frombuffer(copied.arguments, np.int64)[1])
        starts = scratch.array_at(second_argument, -(-count // 32), np.int64).copy()
        indices = scratch.array_at(copied.indices, entries, np.uint32).copy()
    found.check(out.degree, out.present)
    assert 0 < found.choice["hubs"] <= 64
    assert 0 < found.choice["warm"] <= 500
    rows = found.order.size
    assert rows < count
    assert np.array_equal(lengths[:rows], into.degree[found.order])
    assert np.all(lengths[rows:] == 1 << 31)
    expected = host_rows.compact_rows(engine_of(graph).rows("in"))
    for first in range(0, rows, 32):
        at, waiting = int(starts[first // 32]), []
        for row in range(first, min(first + 32, rows)):
            vertex = found.order[row]
            neighbors = expected.indices[expected.indptr[vertex] : expected.indptr[vertex + 1]]
            waiting.append(found.row_of[neighbors].tolist())
        short = [row for row in waiting if len(row) <= slices.SHORT_LENGTH]
        laid = [row[i] for i in range(slices.SHORT_LENGTH) for row in short if len(row) > i]
        for row in waiting:
            laid += row if len(row) > slices.SHORT_LENGTH else []
        assert indices[at : at + len(laid)].tolist() == laid


@pytest.mark.parametrize("directed", [True, False])
def test_no_bit_of_pagerank_depends_on_the_order_of_rows(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch, directed: bool
) -> None:
    graph = make_graph(edges_of_all_classes(), directed=directed, reverse=True, ids="dense")
    vertices = graph.vertices()
    for arguments in (
        {},
        {
            "personalization": {int(v): 1.0 + v % 3 for v in vertices[::5]},
            "dangling": {int(v): float(v % 2) for v in vertices[1::3]},
            "nstart": {int(v): 1.0 + v % 7 for v in vertices},
        },
    ):
        bits, kernels = set(), set()
        for slots, warm, shuffle in (
            (0, 0, 0),
            (20, 0, 5),
            (64, 700, 0),
            (200, 90, 5),
            (64, 9_000, 0),
        ):
            monkeypatch.setattr(hubs, "_WARM_BYTES", 8 * warm)
            emulated_device.shared_bytes = hubs.OTHER_BYTES + 8 * slots
            emulated_device.shuffle = shuffle
            emulated_device.launches.clear()
            engine = ImageEngine(emulated_device, graph)
            result = neutral_pagerank.pagerank(engine, tol=1e-9, **arguments)
            bits.add((result.pagerank.tobytes(), result.residual, result.iterations))
            kernels |= {k for _, k in emulated_device.launches if k.startswith("pull")}
        assert len(bits) == 1
        assert kernels == {"pull", "pull_with_hubs"}


@pytest.mark.parametrize("slots", [0, 1, 64, 10_000])
@pytest.mark.parametrize("warm", [0, 1, 300, 10_000])
def test_hubs_and_warm_vertices_are_those_of_most_neighbors(
    device: Any, monkeypatch: pytest.MonkeyPatch, slots: int, warm: int
) -> None:
    monkeypatch.setattr(hubs, "_WARM_BYTES", 8 * warm)
    count = 5_003
    degrees = (np.random.default_rng(3).pareto(0.8, count) * 8).clip(0, 70_000).astype(np.uint32)
    degrees[[5, 99, count - 1]] = 64, 63, 1 << 30
    present = np.arange(count) % 7 != 3
    degrees[~present] = 0
    scratch = DeviceScratch(device.xp, device.empty(1 << 18, np.uint32))
    order = np.sort(degrees[degrees > 0])[::-1].astype(np.int64)
    # Degrees with the same first five bits are of one class.
    shifts = np.maximum(np.floor(np.log2(order)).astype(np.int64) - 4, 0)
    last = np.append(np.flatnonzero(np.diff(order >> shifts << shifts)), order.size - 1) + 1
    large = [int(end) for end in last if order[end - 1] >> shifts[end - 1] << shifts[end - 1] >= 64]
    expected = max((end for end in large if end <= slots), default=0)
    expected_warm = max((int(end) for end in last if end <= expected + warm), default=expected)
    for named, is_enough in ((0, True), (int(order[:slots].sum()) + 1, False)):
        out = Rows(
            device.empty(count, np.int64), device.to_device(degrees), device.to_device(present),
            device.empty(1, np.uint32), 1, 0, int(present.sum()),
        )  # fmt: skip
        made = hubs.Hubs(device, scratch, out)
        made.slots = slots
        made.choose(named * hubs.LEAST_SHARE)
        found = made.wait()
        assert found == (expected if is_enough else 0)
        if not found:
            continue
        chosen = ChosenOrder(device, scratch, made, count)
        assert chosen.choice["hubs"] == found
        assert chosen.choice["warm"] == max(expected_warm - expected, 0)
        chosen.check(degrees, present)
