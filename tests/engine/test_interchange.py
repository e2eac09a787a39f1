"""Graphs of other libraries: in, out, and there and back."""

import random
import threading
from functools import partial
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import graphtide
from graphtide import (
    DynamicGraph,
    GraphtideError,
    PrecisionWarning,
    SettingsError,
    from_edge_list,
    from_networkx,
    from_scipy,
    to_arrow,
    to_networkx,
    to_pandas,
    to_scipy,
)

PAIRS = [(5, -2), (-2, 7), (7, 5), (5, 9)]


def random_graph(directed, seed=3):
    """A networkx graph with ids far apart, weights that float32 holds, and isolated vertices."""
    drawn = nx.gnp_random_graph(40, 0.1, seed=seed, directed=directed)
    graph = nx.relabel_nodes(drawn, {node: (node - 20) * 10**17 for node in drawn})
    chance = random.Random(seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = chance.randrange(-64, 64) / 8
    graph.add_node(123)
    return graph


def test_pairs():
    graph = from_edge_list(PAIRS)
    assert (graph.directed, graph.records) == (True, "simple")
    assert graph.vertices().tolist() == [-2, 5, 7, 9]
    assert list(zip(graph.edges().src, graph.edges().dst, strict=True)) == sorted(PAIRS)
    same = from_edge_list(np.array(PAIRS), layout="chain")
    assert same.state_hash() == graph.state_hash()
    assert from_edge_list([]).num_vertices == 0
    assert from_edge_list(iter(PAIRS), directed=False).num_edges == 4


def test_pairs_with_weights():
    triples = [(u, v, number / 2) for number, (u, v) in enumerate(PAIRS)]
    graph = from_edge_list(triples, records="weighted")
    weights = {(u, v): w for u, v, w in triples}
    edges = graph.edges()
    found = zip(edges.src.tolist(), edges.dst.tolist(), edges.properties["weight"], strict=True)
    assert {(u, v): w for u, v, w in found} == weights
    again = from_edge_list(PAIRS, weight=[0, 0.5, 1, 1.5], records="weighted")
    assert again.state_hash() == graph.state_hash()
    assert (
        from_edge_list(PAIRS, records="semantic").edges().properties["weight"].tolist() == [1] * 4
    )


def test_duplicates_of_any_form_are_summed():
    """Rows of a CSR may have a column twice; the matrix is left as it is."""
    rows, columns, values = np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 2.0, 4.0])
    matrix = scipy.sparse.csr_array((values, columns, [0, 2, 3]), shape=(2, 2))
    turned = scipy.sparse.csc_array((values[[2, 0, 1]], [1, 0, 0], [0, 1, 3]), shape=(2, 2))
    for form in (matrix, turned, scipy.sparse.coo_array((values, (rows, columns)), shape=(2, 2))):
        for settings in ({}, {"on_repeat": "sum"}, {"on_repeat": "first"}):
            graph = from_scipy(form, records="weighted", **settings)
            assert to_scipy(graph).toarray().tolist() == [[0, 3], [4, 0]]
        assert form.nnz == 3


def test_edges_without_times_of_their_own_have_the_time_0():
    """What `from_networkx` promises of semantic records; some with and some without are refused."""
    original = nx.path_graph(3)
    found = from_networkx(original, records="semantic").edges().properties
    assert [found[name].tolist() for name in ("type", "first", "last")] == [[0, 0]] * 3
    original[0][1]["last"] = 5
    with pytest.raises(SettingsError, match="last is absent from 1 of 2 edges"):
        from_networkx(original, records="semantic")


def test_a_matrix_has_a_row_and_a_column_for_each_vertex():
    graph = from_edge_list([(2, 1)])
    graph.insert_vertices([9])
    assert to_scipy(graph).toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("edges", "settings", "words"),
    [
        ([(1, 2), (1, 2, 3)], {}, "edges have 2, 3 items"),
        ([(1,)], {}, "edges have 1 items"),
        ([(1, "b")], {}, "'b' is no int64 id"),
        ([(1, 0.5)], {}, "0.5 is no int64 id"),
        ([(1, 2**63)], {}, f"{2**63} is no int64 id"),
        (np.zeros((3, 4), int), {}, r"shape \(3, 4\)"),
        (np.zeros((3, 2)), {}, "no int64 id"),
        ([(1, 2, 3.0)], {}, "records='simple' keeps none"),
        (["ab"], {"ids": "string"}, "'ab' is a text"),
        ([b"ab"], {}, "b'ab' is a text"),
        ("edges.csv", {"ids": "string"}, "'e' is a text"),
        ([(1, 2, 3.0)], {"weight": [1], "records": "weighted"}, "leave one of them out"),
    ],
)
def test_pairs_that_are_refused(edges, settings, words):
    with pytest.raises(SettingsError, match=words):
        from_edge_list(edges, **settings)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("records", ["simple", "weighted"])
def test_networkx_there_and_back(directed, records):
    original = random_graph(directed)
    graph = from_networkx(original, records=records)
    assert graph.directed is directed
    back = to_networkx(graph)
    assert type(back) is type(original)
    if records == "simple":
        for _, _, data in original.edges(data=True):
            data.clear()
    assert nx.utils.graphs_equal(back, original)


def test_networkx_in_other_directions():
    undirected = random_graph(False)
    doubled = from_networkx(undirected, directed=True, records="weighted")
    assert doubled.num_edges == 2 * undirected.number_of_edges()
    assert nx.utils.graphs_equal(to_networkx(doubled), undirected.to_directed())
    directed = random_graph(True)
    folded = from_networkx(directed, directed=False)
    assert folded.num_edges == directed.to_undirected().number_of_edges()


def test_networkx_attributes_and_nodes():
    graph = nx.Graph()
    graph.add_edge(1, 2, cost=2.5)
    graph.add_edge(2, 3)
    weights = from_networkx(graph, weight="cost", records="weighted").edges().properties["weight"]
    assert weights.tolist() == [2.5, 1.0]
    graph.add_node("three")
    with pytest.raises(SettingsError, match=r"'three' is no int64 id.*convert_node_labels"):
        from_networkx(graph)
    with pytest.raises(SettingsError, match=r"vertex \(0, 0\) is no int64 id.*convert_node"):
        from_networkx(nx.grid_2d_graph(2, 2))
    parallel = nx.MultiDiGraph([(1, 2, {"weight": 1.0}), (1, 2, {"weight": 4.0})])
    assert from_networkx(parallel, records="weighted").edges().properties["weight"].tolist() == [4]
    assert from_networkx(nx.Graph()).num_vertices == 0


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
def test_scipy_there_and_back(form):
    rng = np.random.default_rng(4)
    drawn = scipy.sparse.random_array((50, 50), density=0.1, dtype=np.float32, rng=rng)
    matrix = getattr(scipy.sparse, form)(drawn)
    graph = from_scipy(matrix, records="weighted", self_loops="keep")
    assert graph.vertices().tolist() == list(range(50))
    back = to_scipy(graph)
    assert isinstance(back, scipy.sparse.csr_array)
    assert (back != scipy.sparse.csr_array(matrix)).nnz == 0
    pattern = to_scipy(graph, weight=None)
    assert pattern.dtype == np.float64
    assert pattern.sum() == graph.num_edges


def test_scipy_with_ids_and_symmetry():
    matrix = scipy.sparse.coo_array(([1.0, 2.0], ([0, 1], [1, 2])), (4, 4))
    ids = [40, -10, 20, 30]
    graph = from_scipy(matrix, vertices=ids, directed=False, records="weighted")
    assert graph.vertices().tolist() == [-10, 20, 30, 40]
    back = to_scipy(graph).toarray()
    expected = np.zeros((4, 4))
    expected[0, 3] = expected[3, 0] = 1  # 40 -- -10
    expected[0, 1] = expected[1, 0] = 2  # -10 -- 20
    np.testing.assert_array_equal(back, expected)


#: How repeats of an edge are taken -> what parallel edges of the weights 2 and 3 come to.
RULES = {"last": 3, "first": 2, "sum": 5, "min": 2, "max": 3, "count": 2}


def weights_of(graph):
    edges = graph.edges()
    pairs = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    return dict(zip(pairs, edges["weight"].tolist(), strict=True))


@pytest.mark.parametrize("rule", RULES)
def test_both_triangles_of_a_matrix_are_one_edge_whatever_repeats_are(rule):
    settings = {"records": "weighted", "on_repeat": rule}
    graph = from_edge_list(
        [(0, 1), (1, 2), (0, 3)], weight=[1, 2, 3], directed=False, records="weighted"
    )
    expected = {(0, 1): 1, (0, 3): 3, (1, 2): 2}
    if rule == "count":
        expected = dict.fromkeys(expected, 1)
    assert weights_of(from_scipy(graph.to_scipy(), directed=False, **settings)) == expected
    # Entries that differ, one that has none across the diagonal, and a 0 that is stored.
    matrix = scipy.sparse.coo_array(([5, 1, 7, 2, 0, 8], ([0, 0, 1, 0, 3, 1], [0, 1, 0, 2, 1, 3])))
    matrix.resize(4, 4)
    expected = {(0, 1): 7, (0, 2): 2, (1, 3): 0}
    if rule == "count":
        expected = dict.fromkeys(expected, 1)
    for form in (matrix.tocsr(), matrix.tocsc(), matrix):
        assert weights_of(from_scipy(form, directed=False, **settings)) == expected
    expected = {(0, 0): 5, (0, 1): 1, (1, 0): 7, (0, 2): 2, (3, 1): 0, (1, 3): 8}
    if rule == "count":
        expected = dict.fromkeys(expected, 1)
    assert weights_of(from_scipy(matrix, self_loops="keep", **settings)) == expected


@pytest.mark.parametrize("rule", RULES)
def test_parallel_edges_of_networkx_are_repeats_and_a_loop_is_one_edge(rule):
    settings = {"records": "weighted", "on_repeat": rule}
    both = RULES[rule]
    graph = nx.MultiGraph()
    graph.add_weighted_edges_from([(1, 1, 2), (1, 2, 2), (1, 1, 3), (2, 1, 3), (2, 2, 9)])
    once = 1 if rule == "count" else 9
    found = from_networkx(graph, directed=True, self_loops="keep", **settings)
    assert weights_of(found) == {(1, 1): both, (1, 2): both, (2, 1): both, (2, 2): once}
    assert weights_of(from_networkx(graph, **settings)) == {(1, 2): both}
    one_way = nx.DiGraph()
    one_way.add_weighted_edges_from([(1, 2, 2), (2, 1, 3), (2, 2, 9)])
    assert weights_of(from_networkx(one_way, directed=False, **settings)) == {(1, 2): both}


@pytest.mark.parametrize("create", [True, False])
def test_edges_are_the_first_batch_of_what_is_built(create):
    """Which decides on the size of pages, unless end points must be there before."""
    star = nx.star_graph(40)
    star.add_node(99)
    settings = {"layout": "tree", "mean_degree": "first_batch", "create_vertices": create}
    expected = (40 * 2 / 41, 16) if create else ("first_batch", 128)
    for graph in (
        from_networkx(star, **settings),
        from_scipy(nx.to_scipy_sparse_array(star), directed=False, **settings),
    ):
        assert (graph.kind.mean_degree, graph.memory().page_bytes) == expected
        assert (graph.num_vertices, graph.num_edges) == (42, 40)
        graph.verify("full")


def test_scipy_that_is_refused():
    with pytest.raises(SettingsError, match="2 by 3"):
        from_scipy(scipy.sparse.csr_array((2, 3)))
    with pytest.raises(SettingsError, match="2 different ids are given for 3 rows"):
        from_scipy(scipy.sparse.csr_array((3, 3)), vertices=[1, 1, 2])
    with pytest.raises(SettingsError, match="complex"):
        from_scipy(scipy.sparse.csr_array(np.array([[1j]])), records="weighted")
    with pytest.raises(SettingsError, match="'cost' is no property of weighted records"):
        to_scipy(from_edge_list(PAIRS, records="weighted"), weight="cost")


def test_tables():
    graph = graphtide.DynamicGraph(records="semantic")
    graph.insert_edges([3, 1], [4, 2], weight=[0.5, 2], type=[7, 8], ts=[10, 20])
    expected = {
        "src": [1, 3],
        "dst": [2, 4],
        "weight": [2.0, 0.5],
        "type": [8, 7],
        "first": [20, 10],
        "last": [20, 10],
    }
    assert to_arrow(graph).to_pydict() == expected
    frame = to_pandas(graph)
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("list") == expected
    assert str(frame["weight"].dtype) == "float32"


def test_a_library_that_is_not_there(monkeypatch):
    graph = from_edge_list(PAIRS)

    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr("graphtide.io.interchange.to_libraries.import_module", refuse)
    for function, name in ((to_networkx, "networkx"), (to_pandas, "pandas"), (to_scipy, "scipy")):
        with pytest.raises(SettingsError, match=f"{name} is not installed; run pip install {name}"):
            function(graph)


def test_weights_of_libraries_are_rounded_with_a_warning_or_refused() -> None:
    """A whole number that float64 does not have, however it comes; and what is no number."""
    kept = {"records": "weighted", "weights": "float64"}
    graph = nx.Graph([(1, 2, {"weight": 2**53 + 1}), (2, 3)])
    matrix = scipy.sparse.coo_array(([2**53 + 1], ([0], [1])), shape=(2, 2))
    for make in (
        lambda: from_edge_list([(1, 2, 2**53 + 1)], **kept),
        lambda: from_networkx(graph, **kept),
        lambda: from_scipy(matrix, **kept),
    ):
        with pytest.warns(PrecisionWarning):
            make()
    for weight in (10**400, "a", {"weight": 1}):
        with pytest.raises(SettingsError, match="weights are no numbers"):
            from_edge_list([(1, 2, weight)], records="weighted")
        wrong = nx.Graph([(1, 2, {"weight": weight})])
        with pytest.raises(SettingsError, match="weights are no numbers"):
            from_networkx(wrong, records="weighted")
    with pytest.raises(SettingsError, match="edges are no pairs of ids"):
        from_edge_list([1, 2])


def test_an_absent_attribute_is_told_where_its_type_has_no_missing_value() -> None:
    graph = nx.Graph([(1, 2, {"a": True}), (2, 3)])
    with pytest.raises(SettingsError, match="a is absent from 1 of 2 items, but bool has no"):
        from_networkx(graph, properties={"a": "bool"})
    graph[2][3]["a"] = False
    made = from_networkx(graph, properties={"a": "bool"})
    assert made.edges().properties["a"].tolist() == [True, False]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("unit", [None, "us", "timestamp[ns, tz=Europe/Rome]"])
def test_types_and_times_of_networkx_are_those_of_the_graph(unit: str | None, directed: bool):
    graph = DynamicGraph(records="semantic", directed=directed, time_unit=unit)
    graph.insert_edges([1, 4], [2, 5], weight=[2, 3], type=[3, 0], ts=[100, 120])
    graph.insert_edges([1], [2], weight=[4], type=[3], ts=[150])
    copy = graph.to_networkx()
    again = from_networkx(copy, records="semantic", time_unit=unit)
    assert again.state_hash() == graph.state_hash()
    copy.add_edge(7, 8, last=None)
    with pytest.raises(SettingsError, match="last is absent from 1 of 3 edges"):
        from_networkx(copy, records="semantic")


@pytest.mark.parametrize("ids", ["any", "uint64"])
def test_nodes_of_several_kinds_and_dense_matrices_are_refused(ids: str):
    with pytest.raises(GraphtideError, match=r"no int64 id|several kinds"):
        from_networkx(nx.Graph([((0, 1), 5)]), ids=ids)
    with pytest.raises(SettingsError, match="not a sparse matrix"):
        from_scipy(np.ones((2, 2)))


def test_what_is_no_graph_is_named(tmp_path: Path) -> None:
    """As a result instead of its graph, or a graph of another library."""
    result = DynamicGraph.from_edges([1], [2]).pagerank()
    export = partial(graphtide.export_edges, path=tmp_path / "edges.csv")
    for copy in (graphtide.to_networkx, graphtide.to_igraph, graphtide.to_scipy, export):
        with pytest.raises(SettingsError, match="PageRankResult, not a graph of graphtide"):
            copy(result)
    with pytest.raises(SettingsError, match="DiGraph, not a graph of graphtide, or a result"):
        graphtide.to_arrow(nx.DiGraph())
    with pytest.raises(SettingsError, match="PageRankResult, not a graph of networkx"):
        from_networkx(result)


@pytest.mark.parametrize("form", ["networkx", "graphml"])
def test_vertices_and_edges_are_of_one_moment_while_batches_go_on(form: str, tmp_path) -> None:
    """Each batch replaces the path of one end by that of the other."""
    first, second = (list(range(end, end + 40)) for end in (0, 100))
    graph = DynamicGraph(vertex_properties={"score": "int16"})
    stops = threading.Event()

    def insert(path: list[int]) -> graphtide.UpdateBatch:
        rows = len(path)
        gone = second if path is first else first
        return graphtide.UpdateBatch.from_rows(
            [-1] * rows + [1] * (2 * rows - 1),
            [*gone, *path, *path[:-1]],
            [*gone, *path, *path[1:]],
            dst_valid=[False] * (2 * rows) + [True] * (rows - 1),
            vertex_properties={"score": "int16"},
            values={"score": np.array([0] * rows + path + [0] * (rows - 1), np.int16)},
        )

    batches = [insert(first), insert(second)]
    graph.apply(batches[0])

    def change() -> None:
        while not stops.is_set():
            for batch in reversed(batches):
                graph.apply(batch)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(200 if form == "networkx" else 60):
            if form == "networkx":
                copy = to_networkx(graph)
            else:
                graph.export_edges(tmp_path / "graph.graphml")
                copy = nx.read_graphml(tmp_path / "graph.graphml", node_type=int)
            assert list(copy) in (first, second)
            assert list(copy.edges) in (list(pairwise(first)), list(pairwise(second)))
            assert dict(copy.nodes(data="score")) == {node: node for node in copy}
    finally:
        stops.set()
        thread.join()
