"""Every public attribute of every result has the value that it has on the host, and once pickled.

They are found by introspection, so that one which is new, or inherited, is compared as well:
methods are called without arguments, and with a number where they take one.
"""

import inspect
import math
import pickle
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.programs.library import LIBRARY

#: How an engine came to a result may differ; and what would change the result.
_OWN = {"kept", "pulled", "in_users_ids"}

KINDS: list[dict[str, Any]] = [
    {},
    {"ids": "string", "records": "weighted", "directed": False},
    {"ids": "uint64", "records": "semantic", "reverse": False},
    {"ids": "dense", "records": "weighted", "weights": "float64", "directed": False},
    {"ids": "uuid"},
]

_IDS: dict[str, Callable[[Any], Any]] = {
    "any": lambda numbers: np.asarray(numbers) * 3 - 20,
    "dense": np.asarray,
    "uint64": lambda numbers: np.asarray(numbers, np.uint64) + np.uint64(2**63),
    "string": lambda numbers: [f"v{each}" for each in numbers],
    "uuid": lambda numbers: [uuid.UUID(int=int(each) * 7919) for each in numbers],
}


def _graph(kind: dict[str, Any], engine: str) -> DynamicGraph:
    """120 edges, some of which are gone again, and vertices without any."""
    graph, ids = DynamicGraph(engine=engine, **kind), _IDS[kind.get("ids", "any")]
    draw = np.random.default_rng(7)
    src, dst = draw.integers(0, 30, (2, 120))
    columns: dict[str, Any] = {}
    if graph.weights is not None:
        columns["weight"] = 0.25 + np.arange(120) % 7
    if graph.records == "semantic":
        columns |= {"type": np.arange(120) % 3, "ts": np.arange(120) * 1000}
    graph.insert_edges(ids(src), ids(dst), **columns)
    graph.insert_vertices(ids([40, 41]))
    graph.delete_edges(ids(src[:9]), ids(dst[:9]))
    graph.delete_vertices(ids(src[50:51]))
    return graph


def _results(graph: Any, vertices: Any) -> Iterator[tuple[str, Any]]:
    a, b, c = vertices[0], vertices[3], vertices[-1]
    pairs, weight = [(a, b), (b, c)], "weight" if graph.weights is not None else None
    yield "bfs", graph.bfs(vertices[:2], parents=True)
    yield "sssp", graph.sssp(a, weight=weight)
    yield "weak", graph.weakly_connected_components()
    yield "strong", graph.strongly_connected_components()
    yield "core", graph.core_number()
    yield "katz", graph.katz_centrality(alpha=0.02)
    yield "betweenness", graph.betweenness_centrality()
    if not graph.directed:
        yield "labels", graph.label_propagation()
    yield "pagerank", graph.pagerank(tol=1e-8, weight=weight)
    yield "personalized", graph.personalized_pagerank(a, tol=1e-8)
    yield "clustering", graph.clustering()
    yield "common", graph.common_neighbors(pairs)
    yield "jaccard", graph.jaccard_coefficient(pairs)
    yield "walks", graph.random_walks([a, b], 5, weight=weight, seed=3)
    yield "sample", graph.sample_neighbors([a, b], [3, 2], direction="out")
    yield "spmv", graph.spmv(np.arange(float(len(vertices))), weight=weight)
    yield "edges", graph.edges()
    yield "csr", graph.to_csr()
    hops = LIBRARY["bfs"](), {a: 0}
    yield "hops", graph.run_program(*hops, default=-1, active=a)
    if graph.ids != "string":
        yield "state", graph.vertex_state(x=np.arange(len(vertices)), y=math.inf).table


def _faces(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The value in plain terms, of its attributes each."""
    library = type(value).__module__.partition(".")[0]
    if library == "cupy":
        # What tensors share lies where it was made.
        yield path, value.get()
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _faces(f"{path}[{name!r}]", each)
    elif isinstance(value, list | tuple):
        yield f"len({path})", len(value)
        for number, each in enumerate(value):
            yield from _faces(f"{path}[{number}]", each)
    elif library != "graphtide":
        # What other libraries make of columns is compared as these columns.
        if library in ("numpy", "builtins", "uuid"):
            yield path, value
    else:
        for name in dir(value):
            if not name.startswith("_") and name not in _OWN:
                yield from _attribute(f"{path}.{name}", getattr(value, name))


def _attribute(path: str, found: Any) -> Iterator[tuple[str, Any]]:
    if not callable(found):
        yield from _faces(path, found)
        return
    if path.count(".") > 1:
        return
    for given in ((), (3,)):
        try:
            inspect.signature(found).bind(*given)
        except TypeError:
            continue
        try:
            made = found(*given)
        except Exception as error:  # the host says the same, whatever it is
            made = f"{type(error).__name__}: {error}"
        yield from _faces(f"{path}{given}", made)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.get("ids", "any"))
@pytest.mark.parametrize("pinned", [False, True])
def test_results_are_those_of_the_host_in_every_attribute(
    engine: str, kind: dict[str, Any], pinned: bool
) -> None:
    graph, host = _graph(kind, engine), _graph(kind, "host")
    vertices = host.vertices()
    found, expected = (
        dict(face for name, result in _results(each, vertices) for face in _faces(name, result))
        for each in (graph.pin() if pinned else graph, host)
    )
    assert len(found) > 100
    _compare(found, expected)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.get("ids", "any"))
def test_results_are_the_same_in_another_process_and_in_the_one_after_that(
    kind: dict[str, Any],
) -> None:
    graph = _graph(kind, "host")
    for name, result in _results(graph, graph.vertices()):
        expected, again = dict(_faces(name, result)), result
        for _ in range(2):
            again = pickle.loads(pickle.dumps(again))
            _compare(dict(_faces(name, again)), expected)
    ranks = graph.pagerank()
    # A method `keys` would be asked for the values of a mapping.
    assert dict(ranks) == dict(zip(ranks.vertices.tolist(), ranks.pagerank.tolist(), strict=True))
    subset = pickle.loads(pickle.dumps(graph.clustering(graph.vertices()[[5, 1, 5]])))
    assert pickle.loads(pickle.dumps(subset)).vertices.tolist() == subset.vertices.tolist()


def _compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(found) == list(expected)
    for path, value in found.items():
        assert type(value) is type(expected[path]), path
        if np.asarray(value).dtype.kind == "f":
            assert value == pytest.approx(expected[path], rel=1e-6, abs=1e-11, nan_ok=True), path
        else:
            assert np.asarray(value).dtype == np.asarray(expected[path]).dtype, path
            assert np.array_equal(value, expected[path]), path
