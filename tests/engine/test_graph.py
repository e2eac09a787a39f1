"""The face of DynamicGraph: arguments, questions, and the examples in its docstrings.

On every engine: ``engine`` is the name of the one that a graph gets by default.
"""

import doctest
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest

import graphtide
from graphtide import (
    ArenaFullError,
    CorruptImageError,
    DynamicGraph,
    GraphtideError,
    SettingsError,
    VertexNotFoundError,
)
from graphtide.gpu_core import graph as graph_module
from graphtide.gpu_core.copies.state_hash import checkpoint_hash
from strategies import LIMITS

pytestmark = pytest.mark.usefixtures("engine")

#: For tests that look into the host engine, or at none.
host_only = pytest.mark.parametrize("engine", ["host"], indirect=True)


def test_examples_in_the_docstrings() -> None:
    result = doctest.testmod(graph_module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted >= 4
    assert result.failed == 0


@pytest.mark.runs
def test_defaults(engine: str) -> None:
    graph = DynamicGraph()
    assert (graph.directed, graph.records, graph.storage) == (True, "simple", "soa")
    assert (graph.layout, graph.engine, graph.ids, graph.reverse) == ("runs", engine, "any", True)
    assert (graph.self_loops, graph.create_vertices) == ("drop", True)
    assert (graph.num_vertices, graph.num_edges) == (0, 0)
    where = {"host": "host", "cuda": "cuda on GPU 0"}[engine]
    words = f"0 vertices, 0 edges, directed, simple, {where}"
    assert re.fullmatch(rf"<DynamicGraph {words}, [\d.]+ [kM]?B>", repr(graph))
    memory = graph.memory()
    assert memory.page_bytes == 32
    assert 1 << 20 < memory.arena_bytes <= memory.limit_bytes
    chain = DynamicGraph(layout="chain")
    assert (chain.engine, chain.memory().page_bytes) == (engine, 128)


def test_properties_say_what_was_asked_for() -> None:
    settings = {
        "directed": False, "records": "semantic", "storage": "aos", "layout": "chain",
        "ids": "dense", "self_loops": "reject", "create_vertices": False,
    }  # fmt: skip
    graph = DynamicGraph(**settings, reverse=False)
    assert {name: getattr(graph, name) for name in settings} == settings
    assert graph.reverse, "undirected graphs know who points to a vertex"


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"records": "wide"}, SettingsError, "records='wide'.*simple, weighted, semantic"),
        ({"storage": "x"}, SettingsError, "storage='x'.*soa, aos"),
        (
            {"records": "weighted64", "weights": "float32"},
            SettingsError,
            "weights='float32' contradicts records='weighted64'; leave one",
        ),
        ({"layout": "heap"}, SettingsError, "layout='heap'.*runs, chain"),
        ({"engine": "tpu"}, SettingsError, "engine='tpu'.*auto, host, cuda"),
        ({"ids": "str"}, SettingsError, "ids='str'.*any, dense"),
        ({"self_loops": "no"}, SettingsError, "self_loops='no'.*drop, keep, reject"),
        ({"self_loops": "keep", "directed": False}, SettingsError, "directed graph"),
        ({"arena_bytes": 0}, SettingsError, "arena_bytes=0 is not a positive"),
        ({"max_arena_bytes": -1}, SettingsError, "max_arena_bytes=-1"),
        ({"arena_bytes": "1GiB"}, SettingsError, "arena_bytes='1GiB' is not a positive whole"),
        ({"max_arena_bytes": 1e9}, SettingsError, r"max_arena_bytes=1000000000\.0 is not"),
        ({"page_bytes": True}, SettingsError, "page_bytes=True is not"),
        ({"mean_degree": "first"}, SettingsError, "mean_degree='first' is unknown; use a number"),
        ({"mean_degree": 0.5}, SettingsError, r"mean_degree=0\.5 is not a number from 1 to 1e\+09"),
        ({"arena_growth": 1}, SettingsError, r"arena_growth=1 is not a number from 1\.1 to 8"),
        ({"arena_growth": "2"}, SettingsError, "arena_growth='2' is not a number"),
        ({"arena_grow_at": 1.5}, SettingsError, r"arena_grow_at=1\.5 is not a number from 0\.2"),
        ({"directed": "no"}, SettingsError, "directed='no' is neither True nor False"),
        ({"reverse": 0}, SettingsError, "reverse=0 is neither"),
        ({"create_vertices": None}, SettingsError, "create_vertices=None is neither"),
        ({"arena_bytes": 9_000, "max_arena_bytes": 8_000}, SettingsError, "8000 is below"),
        ({"page_bytes": 33}, SettingsError, "page_bytes=33.*from 16 to 4096"),
        ({"page_bytes": 8}, SettingsError, "page_bytes=8 "),
        ({"page_bytes": 8192}, SettingsError, "page_bytes=8192"),
        ({"page_bytes": -32}, SettingsError, "page_bytes=-32"),
        ({"page_bytes": 16, "records": "semantic"}, SettingsError, "cannot hold one entry"),
        ({"arena_bytes": 100}, ArenaFullError, "too small for its own header.*at least"),
        ({"max_arena_bytes": 1}, ArenaFullError, "the arena is too small .*max_arena_bytes"),
    ],
)
def test_wrong_arguments_are_refused_by_name(
    settings: dict, error: type[GraphtideError], words: str
) -> None:
    with pytest.raises(error, match=words):
        DynamicGraph(**settings)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda graph: graph.memory(detail=np.array([1, 2])), "detail=.* is neither True nor"),
        (lambda graph: graph.verify(np.array([1, 2])), "level=.* is unknown; use one of header"),
        (lambda graph: graph.pin(settles=np.array([1, 2])), "settles=.* is unknown; use True"),
        (lambda graph: graph.pin(spare_bytes=np.timedelta64(3, "s")), "spare_bytes=.* not a whole"),
        (lambda graph: graph.katz_centrality(alpha=np.timedelta64(3, "s")), "alpha=.* not a"),
        (lambda graph: graph.pagerank().ranked("3"), "k='3' is not a whole number, 0 or more"),
        (lambda graph: graph.pagerank().top(3, np.array(["x"])), "by=.* is no column"),
        (lambda graph: DynamicGraph(ids=np.array([1, 2])), "ids=.* is unknown; use one of any"),
        (lambda graph: DynamicGraph(records=np.array([1, 2])), "records=.* is unknown; use one"),
        (lambda graph: graphtide.save_graph("folder", graph), "graph is a str, not a graph"),
        (lambda graph: graph.from_checkpoint_arrays({}), "arrays has no 'vertex_ids'; give all"),
        (lambda graph: graph.from_checkpoint_arrays([1]), "arrays is a list; give what checkpoint"),
    ],
)
def test_arguments_of_other_kinds_are_refused_by_name(
    call: Callable[[DynamicGraph], object], words: str
) -> None:
    """A duration of NumPy's is an integer to it, and an array is neither true nor false."""
    with pytest.raises(SettingsError, match=words):
        call(DynamicGraph(engine="host"))


def test_sizes_and_flags_of_numpy_are_taken() -> None:
    graph = DynamicGraph(
        directed=np.bool_(False), arena_bytes=np.int64(1 << 20), page_bytes=np.uint8(64)
    )
    graph.insert_edges([1], [2])
    assert graph.memory().arena_bytes == 1 << 20
    assert graph.has_edges([2], [1]).all()


def test_the_arena_size_that_is_named_suffices() -> None:
    with pytest.raises(ArenaFullError) as caught:
        DynamicGraph(arena_bytes=100)
    least = int(str(caught.value).rsplit(" ", 1)[-1])
    DynamicGraph(arena_bytes=least)


def test_a_page_that_holds_one_entry() -> None:
    graph = DynamicGraph(records="semantic", layout="chain", page_bytes=32)
    graph.insert_edges([1, 1, 1], [4, 3, 2], weight=[1, 2, 3], type=5, ts=[7, 8, 9])
    graph.verify()
    assert graph.edges().properties["last"].tolist() == [9, 8, 7]


def test_questions() -> None:
    graph = DynamicGraph()
    ids = [LIMITS.min, -4, 0, LIMITS.max]
    graph.insert_edges([ids[3], ids[3], ids[0], ids[1]], [ids[1], ids[0], ids[3], ids[3]])
    graph.insert_vertices([0])
    assert graph.vertices().tolist() == ids
    assert graph.neighbors(ids[3]).tolist() == [ids[0], ids[1]]
    assert graph.neighbors(np.int64(0)).tolist() == []
    assert graph.predecessors(ids[3]).tolist() == [ids[0], ids[1]]
    assert graph.degrees().tolist() == [1, 1, 0, 2]
    assert graph.in_degrees([ids[3], 0, ids[3]]).tolist() == [2, 0, 2]
    assert graph.has_vertices([5, -4]).tolist() == [False, True]
    assert graph.has_edges([-4, -4, 8], [LIMITS.max, 0, 8]).tolist() == [True, False, False]
    for empty in (graph.degrees([]), graph.has_vertices([]), graph.has_edges([], [])):
        assert empty.size == 0
    for array in (graph.vertices(), graph.degrees(), graph.neighbors(-4), graph.edges().src):
        assert array.dtype == np.int64


@pytest.mark.parametrize("reverse", [False, True])
def test_in_an_undirected_graph_neighbors_are_predecessors(reverse: bool) -> None:
    graph = DynamicGraph(directed=False, reverse=reverse)
    graph.insert_edges([7, 7, 3], [3, 9, 9])
    assert graph.predecessors(9).tolist() == graph.neighbors(9).tolist() == [3, 7]
    assert graph.in_degrees().tolist() == graph.degrees().tolist() == [2, 2, 2]


def test_a_graph_without_vertices_can_be_asked() -> None:
    graph = DynamicGraph()
    assert graph.vertices().size == graph.degrees().size == len(graph.edges()) == 0
    assert graph.to_csr().indptr.tolist() == [0]
    assert not graph.has_edges([1], [2])[0]
    graph.verify()
    again = DynamicGraph.from_checkpoint_arrays(graph.checkpoint_arrays())
    assert again.state_hash() == graph.state_hash()


def test_csr_has_both_directions_of_an_undirected_graph() -> None:
    graph = DynamicGraph(directed=False, records="weighted")
    graph.insert_edges([30, 10], [20, 30], weight=[1.5, 2.5])
    csr = graph.to_csr()
    assert csr.vertices.tolist() == [10, 20, 30]
    assert csr.indptr.tolist() == [0, 1, 2, 4]
    assert csr.indices.tolist() == [2, 2, 0, 1]
    assert csr.indices.dtype == np.int32
    assert csr.properties["weight"].tolist() == [2.5, 1.5, 2.5, 1.5]
    assert not csr.directed


def test_copies_stay_as_they_are() -> None:
    graph = DynamicGraph(arena_bytes=20_000, max_arena_bytes=1 << 24)
    graph.insert_edges([1, 2], [2, 3])
    copies = [graph.vertices(), graph.edges().dst, graph.to_csr().indices, graph.neighbors(1)]
    arrays = graph.checkpoint_arrays()
    before = [copy.copy() for copy in (*copies, *arrays.values())]
    graph.insert_edges(np.arange(3_000), np.arange(3_000) + 1)
    graph.delete_vertices([1, 2])
    for copy, array in zip((*copies, *arrays.values()), before, strict=True):
        np.testing.assert_array_equal(copy, array)


def test_state_hash_is_of_the_graph_and_nothing_else() -> None:
    def hash_of(edges, **settings) -> str:
        graph = DynamicGraph(**settings)
        for src, dst in edges:
            graph.insert_edges([src], [dst], ts=0 if graph.records == "semantic" else None)
        return graph.state_hash()

    plain = hash_of([(1, 2), (2, 3)])
    assert hash_of([(2, 3), (1, 2)], layout="chain", reverse=False, ids="dense") == plain
    others = {
        hash_of([(1, 2)]),
        hash_of([(1, 3), (2, 3)]),
        hash_of([(1, 2), (2, 3)], directed=False),
        hash_of([(1, 2), (2, 3)], records="weighted"),
        hash_of([(1, 2), (2, 3)], records="semantic"),
    }
    assert len(others | {plain}) == 6
    graph = DynamicGraph()
    graph.insert_edges([1, 2], [2, 3])
    graph.insert_vertices([9])
    assert graph.state_hash() != plain
    graph.delete_vertices([9])
    assert graph.state_hash() == plain


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
@pytest.mark.parametrize("ids", ["dense", "any"])
def test_a_checkpoint_tells_the_state_hash(directed: bool, records: str, ids: str) -> None:
    graph = DynamicGraph(directed=directed, records=records, ids=ids)
    rng = np.random.default_rng(0)
    ts = np.arange(500) if records == "semantic" else None
    weight = None if records == "simple" else rng.random(500)
    ts = np.arange(500) if records == "semantic" else None
    if ids == "any" and not directed:
        # Ids that grow with the indices, and are none of them.
        graph.insert_vertices(np.arange(0, 1000, 10))
        vertices = np.arange(0, 1000, 10)
    else:
        # Half of them first: so indices do not grow with ids.
        vertices = rng.permutation(100)
        graph.insert_vertices(vertices[:50])
    graph.insert_edges(*vertices[rng.integers(0, 100, (2, 500))], weight=weight, ts=ts)
    graph.delete_vertices(vertices[[3, 99]])
    arrays = graph.checkpoint_arrays()
    assert checkpoint_hash(arrays, directed=directed, records=records) == graph.state_hash()
    unhashed = {"free_indices", "time_unit", *(["vertex_ids"] if ids == "dense" else [])}
    for name in {*arrays} - unhashed:
        changed = {**arrays, name: arrays[name].copy()}
        # Targets of different rows: within one, their order may mean nothing.
        one, other = (50, -1) if name == "dst_index" else (50, 51)
        changed[name][[one, other]] = arrays[name][[other, one]]
        if not np.array_equal(changed[name], arrays[name]):
            found = checkpoint_hash(changed, directed=directed, records=records)
            assert found != graph.state_hash(), f"{name} does not count"


def test_memory_is_a_table() -> None:
    graph = DynamicGraph(directed=False)
    graph.insert_edges(np.arange(1_000), np.arange(1_000) + 1)
    memory = graph.memory()
    lines = str(memory).splitlines()
    assert len(lines) == len(memory.regions) + 1
    assert lines[-1].split() == ["arena", f"{memory.arena_bytes:,}", "100.0%"]
    assert 0 < memory.graph_bytes < memory.arena_bytes
    assert memory.regions["adjacencies"] == 1_001 * memory.page_bytes


def test_several_threads_may_use_one_graph() -> None:
    graph = DynamicGraph(directed=False)
    errors = []

    def work(thread: int) -> None:
        try:
            for step in range(15):
                base = 1_000 * thread + 10 * step
                graph.insert_edges(np.arange(base, base + 9), np.arange(base + 1, base + 10))
                assert graph.neighbors(base + 1).tolist() == [base, base + 2]
                assert graph.degrees().sum() % 2 == 0
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    graph.verify()
    assert graph.num_edges == 4 * 15 * 9


def test_errors_are_of_one_family_and_pickle() -> None:
    graph = DynamicGraph()
    for call in (lambda: graph.neighbors(1), lambda: graph.insert_edges([1], [2, 3])):
        with pytest.raises(GraphtideError) as caught:
            call()
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value)
        assert str(again) == str(caught.value)
    assert issubclass(VertexNotFoundError, KeyError)
    assert issubclass(ArenaFullError, MemoryError)
    assert issubclass(CorruptImageError, RuntimeError)


@host_only
def test_the_package_itself_is_light() -> None:
    program = (
        "import sys, graphtide\n"
        "assert not {'numba', 'dask', 'cupy', 'pyarrow'} & set(sys.modules)\n"
        "graphtide.DynamicGraph; graphtide.UpdateBatch\n"
        "assert not {'dask', 'cupy', 'pyarrow', 'distributed'} & set(sys.modules)\n"
    )
    shown = (
        "import sys, graphtide.flows.commands.status, graphtide.flows.commands.ranking\n"
        "from graphtide.flows.printing.compiling import CompiledKernels\n"
        "CompiledKernels()\n"
        "assert 'numba' not in sys.modules\n"
    )
    for each in (program, shown):
        subprocess.run([sys.executable, "-c", each], check=True, cwd=sys.prefix)
    assert set(graphtide.__all__) <= set(dir(graphtide))
