"""Analytics and queries of the CUDA engine against their host twins, on one and the same image."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphs import graph_whose_steps_fall_below_0
from graphtide import ConvergenceError, DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms import pagerank as neutral_pagerank
from graphtide.gpu_core.algorithms.clustering import clustering as clustered
from graphtide.gpu_core.algorithms.pagerank import PageRankResult
from graphtide.gpu_core.cuda import (
    clustering,
    compact_rows,
    hubs,
    pagerank,
    queries,
    slices,
    triangles,
)
from graphtide.gpu_core.cuda.compile import KERNELS
from graphtide.gpu_core.cuda.export import csr_of
from graphtide.gpu_core.cuda.pending_read import PendingRead
from graphtide.gpu_core.cuda.scratch import DeviceScratch
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.host import compact_rows as host_rows
from graphtide.gpu_core.host.triangles import TriangleCounts
from graphtide.gpu_core.image import NONE, Field, Table

#: Kinds of graphs: every way in which one graph may be stored.
KINDS = [
    {"directed": directed, "reverse": reverse, "storage": storage, "ids": ids}
    for directed, reverse in ((True, True), (True, False), (False, True))
    for storage, ids in (("soa", "any"), ("aos", "dense"))
]


#: Of a `ClusteringResult`.
COLUMNS = ("vertices", "degree", "triangles", "clustering")


class ImageArena:
    """What analytics ask of an arena: fields, tables, and scratch of its own."""

    def __init__(self, device: Any, graph: DynamicGraph) -> None:
        self._device, self._host = device, graph._engine.arena
        self.image = device.to_device(self._host.image)

    def __getitem__(self, field: Field) -> int:
        return self._host[field]

    def vertex_table(self) -> Any:
        host = self._host.vertex_table()
        start = (host.ctypes.data - self._host.image.ctypes.data) // 4
        return self.image[start : start + host.size].reshape(host.shape)

    def table(self, table: Table) -> Any:
        host = self._host.table(table)
        start = (host.ctypes.data - self._host.image.ctypes.data) // 4
        return self.image[start : start + host.size]

    @contextmanager
    def scratch(self, need_bytes: int) -> Iterator[DeviceScratch]:
        words = self._device.empty(need_bytes // 4 + 16_384, np.uint32)
        yield DeviceScratch(self._device.xp, words)


class ImageEngine:
    """A host engine's image on the device, with the face that the analytics see."""

    algorithms = SimpleNamespace(clustering=clustering, pagerank=pagerank, triangles=triangles)

    def __init__(self, device: Any, graph: DynamicGraph) -> None:
        self._host = graph._engine
        self.device, self.arena = device, ImageArena(device, graph)
        self.image = self.arena.image
        for name in ("record", "directed", "has_reverse", "num_edges", "num_vertices"):
            setattr(self, name, getattr(self._host, name))
        self.vertex_count, self.shape = self._host.vertex_count, self._host.shape
        self.ids_of, self.user_ids = self._host.ids_of, self._host.user_ids
        self.sorted_order = self._host.sorted_order


def make_graph(
    edges: tuple[np.ndarray, np.ndarray], *, records: str = "simple", **kind: Any
) -> DynamicGraph:
    graph = DynamicGraph(
        records=records,
        self_loops="keep" if kind["directed"] else "drop",
        engine="host",
        arena_bytes=32 << 20,
        **kind,
    )
    src, dst = edges
    weight = None if records == "simple" else (1 + (src + dst) % 5).astype(np.float32) / 4
    ts = (np.arange(src.size) - 9) << 30 if records == "semantic" else None
    graph.insert_edges(src, dst, weight=weight, ts=ts)
    return graph


def skewed_edges(rows: int, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """R-MAT edges with hubs, self loops, and a tail of vertices without edges of their own."""
    src, dst = rmat_edges(np.arange(rows, dtype=np.uint64), scale)
    loops = np.arange(0, 1 << scale, 17)
    return np.append(src, loops), np.append(dst, loops)


def star_edges(leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """A hub whose row lies in several windows, both ways, and a few edges between leaves."""
    hub, leaf = np.full(leaves, 7), np.arange(10, 10 + leaves)
    return np.concatenate([hub, leaf, leaf[::3]]), np.concatenate([leaf, hub, leaf[::-3]])


def changed_graph(**kind: Any) -> DynamicGraph:
    """A graph with absent and isolated vertices, and with rows that moved."""
    graph = make_graph(skewed_edges(6_000, 9), **kind)
    present = graph.vertices()
    graph.delete_vertices(present[3:90:7])
    graph.insert_vertices(present[3:10:7])
    return graph


def check_as_host(device: Any, graph: DynamicGraph, **arguments: Any) -> PageRankResult:
    arguments = {"tol": 1e-10} | arguments
    host = graph.pagerank(**arguments)
    found = neutral_pagerank.pagerank(ImageEngine(device, graph), **arguments)
    assert found.iterations == host.iterations
    assert found.residual == pytest.approx(host.residual, rel=1e-2, abs=1e-15)
    assert found.vertices.tolist() == host.vertices.tolist()
    np.testing.assert_allclose(found.pagerank, host.pagerank, rtol=0, atol=1e-12)
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
def test_pagerank_as_on_the_host(device: Any, kind: dict[str, Any], records: str) -> None:
    graph = changed_graph(records=records, **kind)
    weight = None if records == "simple" else "weight"
    check_as_host(device, graph, weight=weight)


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("reverse", [True, False])
def test_pagerank_of_a_hub_in_many_chunks(device: Any, weight: str | None, reverse: bool) -> None:
    # More than a warp has lanes, so that a lane adds up several of them.
    leaves = 33 * slices.CHUNK_ENTRIES + 1
    graph = make_graph(
        star_edges(leaves), records="weighted", directed=True, reverse=reverse, storage="soa"
    )
    found = check_as_host(device, graph, weight=weight, tol=1e-4)
    assert found.pagerank[found.vertices == 7] > 0.2


def hub_edges() -> tuple[np.ndarray, np.ndarray]:
    """150 vertices of 90 to 388 neighbours each, 40 of them of one another, and 2,000 of a few."""
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
    check_as_host(emulated_device, graph)
    assert ("pagerank.cu", "pull_with_hubs") in emulated_device.launches
    check_as_host(emulated_device, graph, personalization={0: 2.0, 13: 1.0}, alpha=0.5)


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
    count, entries = engine.vertex_count, compact_rows.entry_count(engine)
    named = []
    for has_hubs in (False, True):
        need = slices.slices_bytes(count, entries) + hubs.hubs_bytes(count)
        with engine.arena.scratch(need) as scratch:
            degrees = pagerank.out_strengths(engine, weighted=False)
            made = hubs.Hubs(engine, scratch, degrees) if has_hubs else None
            rows = slices.slices(engine, scratch, "in", hubs=made)
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
def test_hubs_are_the_vertices_of_most_neighbours_each_with_a_slot(device: Any, slots: int) -> None:
    count = 5_003
    degrees = (np.random.default_rng(3).pareto(0.8, count) * 8).clip(0, 70_000).astype(np.uint32)
    degrees[[5, 99, count - 1]] = 64, 63, 1 << 30
    degrees[7] = 1 << 31  # absent
    graph = make_graph(
        (np.array([0, count - 1]), np.array([1, 2])), directed=False, reverse=True, ids="dense"
    )
    engine = ImageEngine(device, graph)
    scratch = DeviceScratch(device.xp, device.empty(1 << 18, np.uint32))
    order = np.sort(degrees[degrees < 1 << 31])[::-1].astype(np.int64)
    # Degrees with the same first five bits are hubs together.
    large = order[order >= 64]
    shifts = np.floor(np.log2(large)).astype(np.int64) - 4
    last = np.append(np.flatnonzero(np.diff(large >> shifts << shifts)), large.size - 1) + 1
    expected = max((int(end) for end in last if end <= slots), default=0)
    for named, is_enough in ((0, True), (int(order[:slots].sum()) + 1, False)):
        made = hubs.Hubs(engine, scratch, device.to_device(degrees))
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


def test_a_pending_read_sees_what_was_launched_before_it_alone(device: Any) -> None:
    array = device.to_device(np.arange(12, dtype=np.uint64))
    read = PendingRead(device, array)
    array.fill(7)
    assert read.wait().tolist() == list(range(12))
    assert device.to_host(array).tolist() == [7] * 12


def test_rows_of_more_blocks_than_one_sums_up(device: Any) -> None:
    count = 300 * compact_rows.SCAN_ROWS
    low = np.arange(0, count, 1_999)
    graph = make_graph((low, (low * 7) % count), directed=True, reverse=True, ids="dense")
    engine = ImageEngine(device, graph)
    with engine.arena.scratch(
        compact_rows.rows_bytes(engine.vertex_count, compact_rows.entry_count(engine))
    ) as scratch:
        rows = compact_rows.compact_rows(engine, scratch, "out")
        expected = host_rows.compact_rows(graph._engine, "out")
        assert np.array_equal(device.to_host(rows.indptr), expected.indptr)
        assert np.array_equal(device.to_host(rows.indices), expected.indices)


@pytest.mark.parametrize("records", ["simple", "weighted"])
def test_rows_of_every_length_side_by_side(device: Any, records: str) -> None:
    # Around what makes a row long, a chunk full, and a round of loads; in slices that have both
    # kinds, and one that ends before its last lane.
    lengths = [0, 1, 5, 6, 7, 12, 31, 32, 33, 34, 64, 1023, 1024, 1025, 2048, 2049, 0, 3] * 4
    src = np.repeat(np.arange(len(lengths)), lengths)
    dst = np.concatenate([np.arange(length) * 2 for length in lengths])
    for edges in ((src, dst), (dst, src)):
        for reverse in (False, True):
            graph = make_graph(edges, records=records, directed=True, reverse=reverse, ids="dense")
            check_as_host(device, graph, weight=None if records == "simple" else "weight")


def test_slices_hold_every_entry_once_and_short_rows_interleaved(device: Any) -> None:
    graph = changed_graph(**KINDS[4])
    engine = ImageEngine(device, graph)
    count, entries = engine.vertex_count, compact_rows.entry_count(engine)
    expected = host_rows.compact_rows(graph._engine, "out")
    with engine.arena.scratch(slices.slices_bytes(count, entries)) as scratch:
        made = slices.slices(engine, scratch, "out")
        lengths = device.to_host(scratch.array_at(made.lengths, count, np.uint32))
        indices = device.to_host(scratch.array_at(made.indices, entries, np.uint32))
    present = graph._engine.present()
    assert np.array_equal(lengths >> 31 == 0, present)
    lengths &= (1 << 31) - 1
    assert np.array_equal(lengths, np.diff(expected.indptr))
    interleaved = []
    for first in range(0, count, slices.SLICE_ROWS):
        rows = [
            expected.indices[expected.indptr[row] : expected.indptr[row + 1]].tolist()
            for row in range(first, min(first + slices.SLICE_ROWS, count))
        ]
        short = [row for row in rows if len(row) <= slices.SHORT_LENGTH]
        for entry in range(slices.SHORT_LENGTH):
            interleaved += [row[entry] for row in short if len(row) > entry]
        for row in rows:
            interleaved += row if len(row) > slices.SHORT_LENGTH else []
    assert lengths.max() > slices.SHORT_LENGTH
    assert indices.tolist() == interleaved


ARGUMENTS = [
    {"alpha": 0.0},
    {"alpha": 1.0, "tol": 1e-2},
    {"personalization": "some"},
    {"dangling": "some"},
    {"personalization": "some", "dangling": "others", "nstart": "others", "alpha": 0.5},
    {"nstart": "some"},
    {"networkx_tol": True, "tol": 1e-9},
    {"tol": 1.5},
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_pagerank_takes_all_arguments(device: Any, arguments: dict[str, Any]) -> None:
    graph = changed_graph(**KINDS[0])
    vertices = graph.vertices()
    some = {int(v): 1.0 + v % 3 for v in vertices[::5]}
    others = {int(v): float(v % 2) for v in vertices[1::3]}
    chosen = {"some": some, "others": others}
    arguments = {
        name: chosen[value] if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    check_as_host(device, graph, **arguments)


def test_pagerank_as_networkx(device: Any) -> None:
    graph = changed_graph(records="weighted", **KINDS[0])
    oracle = nx.DiGraph()
    oracle.add_nodes_from(graph.vertices().tolist())
    edges = graph.edges()
    oracle.add_weighted_edges_from(
        zip(
            edges.src.tolist(), edges.dst.tolist(), edges.properties["weight"].tolist(), strict=True
        )
    )
    expected = nx.pagerank(oracle, max_iter=5000, tol=1e-14)
    found = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=1e-13, weight="weight")
    np.testing.assert_allclose(
        found.pagerank, [expected[v] for v in sorted(expected)], rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("max_iter", [1, 2, 6, 7, 11])
def test_steps_are_counted_exactly_however_many_were_launched(device: Any, max_iter: int) -> None:
    graph = changed_graph(**KINDS[0])
    engine = ImageEngine(device, graph)
    with pytest.raises(ConvergenceError) as on_host:
        graph.pagerank(tol=1e-13, max_iter=max_iter)
    with pytest.raises(ConvergenceError) as error:
        neutral_pagerank.pagerank(engine, tol=1e-13, max_iter=max_iter)
    assert str(error.value) == str(on_host.value)
    # A threshold that lies just below and just above a step's residual.
    residual = float(str(error.value).split("residual is ")[1].split(",")[0])
    assert neutral_pagerank.pagerank(engine, tol=residual * 1.01).iterations == max_iter
    assert neutral_pagerank.pagerank(engine, tol=residual * 0.99).iterations == max_iter + 1


@pytest.mark.parametrize("weight", [-1.0, -1e-40])
def test_negative_weights_are_refused(device: Any, weight: float) -> None:
    graph = make_graph(star_edges(5_000), records="weighted", **KINDS[0])
    graph.insert_edges([7, 4000], [11, 17], weight=[weight, weight])
    engine = ImageEngine(device, graph)
    with pytest.raises(SettingsError, match=r"an edge from vertex 7 has a negative one \(2 such"):
        neutral_pagerank.pagerank(engine, weight="weight")
    assert neutral_pagerank.pagerank(engine).pagerank.sum() == pytest.approx(1)


def test_pagerank_of_no_and_of_one_vertex(device: Any) -> None:
    graph = DynamicGraph(engine="host", arena_bytes=1 << 20)
    for _ in range(2):
        result = neutral_pagerank.pagerank(ImageEngine(device, graph))
        assert result.vertices.size == result.pagerank.size == result.iterations == 0
        # Afterwards there are vertex records, but none of them is in the graph.
        graph.insert_edges([1, 2], [2, 3])
        graph.delete_vertices([1, 2, 3])
    graph.insert_vertices([7])
    result = neutral_pagerank.pagerank(ImageEngine(device, graph))
    assert result.vertices.tolist() == [7]
    assert result.pagerank.tolist() == [1.0]


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_warm_start_from_ranks_on_the_device(device: Any, ids: str) -> None:
    graph = changed_graph(directed=True, reverse=True, ids=ids)
    before = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=1e-10)
    top = int(graph.vertices().max())
    graph.insert_edges([3, top + 1, top + 2], [top + 1, top + 2, 5])
    engine = ImageEngine(device, graph)
    start = pagerank.warm_start(engine, before.kept)
    assert start is not None
    by_hand = neutral_pagerank._Positions(engine).warm_start(before)
    np.testing.assert_allclose(device.to_host(start), by_hand, rtol=1e-14, atol=0)
    warm = check_as_host(device, graph, nstart=before)
    assert warm.iterations < neutral_pagerank.pagerank(engine, tol=1e-10).iterations


def test_ranks_whose_steps_fall_below_0_are_those_of_the_host(device: Any) -> None:
    graph, start = graph_whose_steps_fall_below_0()
    check_as_host(device, graph, weight="weight", tol=1e-4, personalization=start)


def test_warm_start_on_an_undirected_graph(device: Any) -> None:
    graph = changed_graph(directed=False, reverse=True, ids="dense")
    before = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=1e-10)
    graph.insert_edges([3, 5, 400], [11, 90, 17])
    check_as_host(device, graph, nstart=before)


def test_warm_start_knows_vertices_that_got_another_index(device: Any) -> None:
    graph = changed_graph(**KINDS[0])
    before = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=1e-10)
    one, other = before.vertices[[40, 80]]
    # Freed indices are used again in their order: the two change places.
    graph.insert_vertices(10_000 + np.arange(graph._engine.queued_vertices().size))
    graph.delete_vertices([one])
    graph.delete_vertices([other])
    graph.insert_vertices([other])
    graph.insert_vertices([one])
    engine = ImageEngine(device, graph)
    assert pagerank.warm_start(engine, before.kept) is None
    assert pagerank.warm_start(engine, None) is None
    check_as_host(device, graph, nstart=before)


def test_warm_start_without_any_rank_left_is_a_cold_start(device: Any) -> None:
    graph = DynamicGraph(engine="host", arena_bytes=1 << 20, self_loops="keep", ids="dense")
    graph.insert_edges([1, 2, 3], [2, 1, 3])
    elsewhere = neutral_pagerank.pagerank(
        ImageEngine(device, graph), personalization={3: 1}, alpha=0
    )
    graph.delete_vertices([3])
    result = neutral_pagerank.pagerank(ImageEngine(device, graph), nstart=elsewhere)
    assert result.pagerank.tolist() == [0.5, 0.5]


def test_a_result_is_what_it_was_after_the_graph_changed_and_after_a_trip(device: Any) -> None:
    graph = changed_graph(**KINDS[0])
    expected = graph.pagerank()
    engine = ImageEngine(device, graph)
    result = neutral_pagerank.pagerank(engine)
    engine.arena.image.fill(0)
    travelled = pickle.loads(pickle.dumps(result))
    for found in (result, travelled):
        assert found.vertices.tolist() == expected.vertices.tolist()
        np.testing.assert_allclose(found.pagerank, expected.pagerank, rtol=0, atol=1e-12)
        assert found.iterations == expected.iterations
    assert travelled.kept is None
    assert travelled.residual == result.residual


def test_no_bit_of_pagerank_depends_on_order_or_on_stored_directions(
    emulated_device: EmulatedDevice,
) -> None:
    bits = set()
    for reverse, shuffle in ((True, 0), (True, 3), (False, 0), (False, 4)):
        graph = make_graph(
            star_edges(4_000), records="weighted", directed=True, reverse=reverse, ids="any"
        )
        emulated_device.shuffle = shuffle
        engine = ImageEngine(emulated_device, graph)
        result = neutral_pagerank.pagerank(engine, weight="weight", tol=1e-6)
        bits.add((result.pagerank.tobytes(), result.residual, result.iterations))
    assert len(bits) == 1


def counted(engine: ImageEngine) -> TriangleCounts:
    """Counts by vertex index, as the host twin returns them."""
    counts = triangles.count_on_device(engine)
    degree, found, edges = (
        None if column is None else engine.device.to_host(column).astype(np.int64)
        for column in counts
    )
    return TriangleCounts(degree, found, 2 * found if edges is None else edges)


def check_triangles(device: Any, graph: DynamicGraph) -> TriangleCounts:
    host = graph._engine.algorithms.triangles.count_triangles(graph._engine)
    found = counted(ImageEngine(device, graph))
    for name, expected in host._asdict().items():
        assert getattr(found, name).tolist() == expected.tolist(), name
    expected, result = graph.clustering(), clustered(ImageEngine(device, graph))
    for name in COLUMNS:
        ours, twin = getattr(result, name), getattr(expected, name)
        assert ours.dtype == twin.dtype
        assert ours.tobytes() == twin.tobytes(), name
    by_id = triangles.triangles_by_id(ImageEngine(device, graph))
    assert by_id.dtype == np.int64
    assert by_id.tolist() == graph.triangles().tolist()
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", ["simple", "semantic"])
def test_triangles_as_on_the_host(device: Any, kind: dict[str, Any], records: str) -> None:
    assert check_triangles(device, changed_graph(records=records, **kind)).triangles.any()


def test_triangles_where_every_index_is_a_vertex(device: Any) -> None:
    edges = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 0])
    graph = make_graph(edges, directed=False, reverse=True, ids="dense")
    assert check_triangles(device, graph).triangles.tolist() == [1, 1, 1, 0]


def test_ids_that_do_not_grow_with_indices_are_put_in_order(device: Any) -> None:
    # A path of three edges with a chord and a tail; the largest ids come first, and the tail goes.
    graph = make_graph((np.array([90]), np.array([70])), directed=False, ids="any")
    graph.insert_edges([70, 50, 90, 90], [50, 10, 50, 30])
    check_triangles(device, graph)
    graph.delete_vertices([30])
    check_triangles(device, graph)
    result = clustered(ImageEngine(device, graph))
    assert result.vertices.tolist() == [10, 50, 70, 90]
    assert result.degree.tolist() == [1, 3, 2, 2]
    assert result.clustering.tolist() == [0, 1 / 3, 1, 1]


def test_columns_are_fetched_when_looked_at_and_are_those_of_then(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = changed_graph(directed=True, reverse=False, ids="any")
    expected = graph.clustering()
    engine = ImageEngine(device, graph)
    fetched = []
    fetch = device.to_locked_host
    monkeypatch.setattr(device, "to_locked_host", lambda a: (fetched.append(a.dtype), fetch(a))[1])
    result = clustered(engine)
    assert not fetched
    engine.arena.image.fill(0)
    assert result.transitivity == expected.transitivity
    assert fetched == [np.int64, np.uint64]
    assert result.average == expected.average
    travelled = pickle.loads(pickle.dumps(result))
    for name in COLUMNS:
        column = getattr(expected, name)
        assert getattr(result, name).tobytes() == column.tobytes(), name
        assert getattr(travelled, name).tobytes() == column.tobytes(), name
    assert len(fetched) == len(COLUMNS)


@pytest.mark.parametrize("directed", [False, True])
def test_triangles_do_not_depend_on_the_order_of_blocks(
    emulated_device: EmulatedDevice, directed: bool
) -> None:
    graph = changed_graph(directed=directed, reverse=False)
    for seed in range(1, 5):
        emulated_device.shuffle = seed
        check_triangles(emulated_device, graph)


def clique_and_tail(size: int) -> tuple[np.ndarray, np.ndarray]:
    """A clique in which some edges go both ways, and a hub with leaves in it."""
    low, high = np.triu_indices(size, 1)
    leaves = np.arange(size, 5 * size)
    both = (low + high) % 3 == 0
    return (
        np.concatenate([low, high[both], np.zeros_like(leaves), leaves[1:]]),
        np.concatenate([high, low[both], leaves, leaves[:-1]]),
    )


@pytest.mark.parametrize("kind", KINDS[::2], ids=lambda kind: "-".join(map(str, kind.values())))
def test_triangles_of_rows_of_every_length(device: Any, kind: dict[str, Any]) -> None:
    graph = make_graph(clique_and_tail(150), **kind)
    engine = ImageEngine(device, graph)
    counts = check_triangles(device, graph)
    assert counts.triangles.max() > 149 * 148 / 2
    with engine.arena.scratch(1 << 22) as scratch:
        sizes = scratch.take(4, np.uint32)
        rows = triangles._orient(engine, scratch, triangles._new_counts(engine), sizes)
        lengths = device.to_host(rows.rows) & np.uint64((1 << 24) - 1)
    assert lengths.max() > triangles._MEDIUM_LENGTH
    assert ((lengths > triangles._SMALL_LENGTH) & (lengths <= triangles._MEDIUM_LENGTH)).any()


@pytest.mark.parametrize("directed", [False, True])
def test_triangles_of_a_vertex_are_counted_by_many_blocks(
    emulated_device: EmulatedDevice, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tables of 64 (directed: 32) targets and turns of 48: two or three of each make the tasks.
    graph = make_graph(clique_and_tail(150), directed=directed, reverse=False)
    launch = emulated_device.launch
    forms = set()

    def smaller(source: str, kernel: str, *arguments: Any) -> None:
        forms.add(kernel)
        if source == "triangles.cu":
            # A path: no form that is launched anywhere but here.
            source, defines = str(KERNELS / source), {"TASK_TARGETS": 48, "TASK_BITS": 7}
            launch(source, kernel, *arguments, defines=defines)
        else:
            launch(source, kernel, *arguments)

    monkeypatch.setattr(emulated_device, "launch", smaller)
    monkeypatch.setattr(triangles, "_TASK_TARGETS", 48)
    monkeypatch.setattr(triangles, "_TASK_TABLE", 32)
    check_triangles(emulated_device, graph)
    assert ("count_large_directed" if directed else "count_large") in forms


@pytest.mark.parametrize("reverse", [True, False])
def test_directed_triangles_count_edges_both_ways(device: Any, reverse: bool) -> None:
    graph = make_graph(
        (np.array([1, 2, 1, 2, 3, 3]), np.array([2, 1, 3, 3, 2, 3])), directed=True, reverse=reverse
    )
    counts = counted(ImageEngine(device, graph))
    assert counts.degree.tolist() == [2, 2, 2]
    assert counts.triangles.tolist() == [1, 1, 1]
    assert counts.neighbour_edges.tolist() == [2, 1, 2]


@given(
    pairs=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60),
    directed=st.booleans(),
    reverse=st.booleans(),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_graphs_as_networkx(
    emulated_device: EmulatedDevice, pairs: list[tuple[int, int]], directed: bool, reverse: bool
) -> None:
    graph = DynamicGraph(
        engine="host",
        arena_bytes=1 << 20,
        directed=directed,
        reverse=reverse,
        self_loops="keep" if directed else "drop",
    )
    graph.insert_vertices(np.arange(14))
    if pairs:
        graph.insert_edges(*np.array(pairs).T)
    oracle = nx.DiGraph() if directed else nx.Graph()
    oracle.add_nodes_from(range(14))
    oracle.add_edges_from((u, v) for u, v in pairs if directed or u != v)
    engine = ImageEngine(emulated_device, graph)
    ranks = neutral_pagerank.pagerank(engine, tol=1e-12)
    expected = nx.pagerank(oracle, max_iter=5000, tol=1e-14)
    np.testing.assert_allclose(ranks.pagerank, [expected[v] for v in range(14)], atol=1e-9)
    simple = nx.Graph(oracle)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    counts = counted(engine)
    assert counts.degree.tolist() == [simple.degree(v) for v in range(14)]
    assert counts.triangles.tolist() == [nx.triangles(simple, v) for v in range(14)]
    for v in range(14):
        around = set(simple[v])
        within = sum((u, w) in oracle.edges for u in around for w in around if u != w)
        assert counts.neighbour_edges[v] == (within if directed else 2 * nx.triangles(simple, v))


def test_no_triangles_of_graphs_without_edges_or_vertices(device: Any) -> None:
    for directed in (False, True):
        graph = DynamicGraph(engine="host", arena_bytes=1 << 20, directed=directed)
        assert counted(ImageEngine(device, graph)).triangles.size == 0
        graph.insert_vertices([1, 2])
        counts = counted(ImageEngine(device, graph))
        assert counts.triangles.tolist() == counts.degree.tolist() == [0, 0]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
def test_queries_as_on_the_host(device: Any, kind: dict[str, Any], records: str) -> None:
    graph = changed_graph(records=records, **kind)
    host, engine = graph._engine, ImageEngine(device, graph)
    to_device, to_host = device.to_device, device.to_host
    draws = np.random.default_rng(1).integers(0, host.vertex_count + 3, (2, 700)).astype(np.uint32)
    draws[:, ::50] = NONE
    # Half of the pairs are edges.
    indptr, columns, _ = host.csr(np.arange(host.vertex_count))
    sources = np.repeat(np.arange(host.vertex_count, dtype=np.uint32), np.diff(indptr))
    draws[:, 1::2] = np.stack([sources, columns])[:, : 350 * 8 : 8]
    found = to_host(queries.has_entries(engine, *map(to_device, draws)))
    assert found.dtype == np.bool_
    assert found.tolist() == host.has_edges(*draws).tolist()
    assert found[1::2].all()
    assert not found[::2].all()

    for direction in ["out", "in"] if engine.has_reverse else ["out"]:
        degrees = to_host(queries.degrees_of(engine, to_device(draws[0]), direction))
        assert degrees.tolist() == host.degrees(draws[0], direction).tolist()
        for some in (draws[0], draws[0][:0], draws[0][:1]):
            expected = host.neighbours(some, direction)
            copied = queries.copy_neighbours(engine, to_device(some), direction)
            for mine, theirs in zip(copied, expected, strict=True):
                assert mine.dtype == theirs.dtype
                assert to_host(mine).tolist() == theirs.tolist()

    # Words of entries that are gone still stand behind the ends of rows.
    last = indptr[1:][np.diff(indptr) > 1] - 1
    gone = np.stack([sources[last], columns[last]])
    ids = graph._engine.user_ids()
    graph.delete_edges(*ids[gone])
    behind = ImageEngine(device, graph)
    assert not to_host(queries.has_entries(behind, *map(to_device, gone))).any()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
@pytest.mark.parametrize("is_ordered", [True, False])
def test_csr_as_on_the_host(
    device: Any, kind: dict[str, Any], records: str, is_ordered: bool
) -> None:
    graph = changed_graph(records=records, **kind)
    engine = ImageEngine(device, graph)
    order = np.flatnonzero(graph._engine.present())
    if not is_ordered:
        order = order[::-1].copy()
    indptr, columns, properties = csr_of(engine, order)
    expected_indptr, expected_columns, expected_properties = graph._engine.csr(order)
    assert device.to_host(indptr).tolist() == expected_indptr.tolist()
    assert device.to_host(columns).tolist() == expected_columns.tolist()
    assert list(properties) == list(expected_properties)
    for name, expected in expected_properties.items():
        assert properties[name].dtype == expected.dtype
        assert device.to_host(properties[name]).tolist() == expected.tolist(), name
