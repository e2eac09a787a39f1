"""``graphtide bench traversals``: components, shortest paths, cores, Katz, beside other packages.

Each call is timed as a user makes it, results in each package's own form: ours stay where the
engine made them until somebody looks at them, as cuGraph's do. Others are given their graph, which
is not timed. Shortest paths begin at the vertex of largest degree; ``hops`` are those of a graph
without weights, ``by weight`` those over weights from 0.001 to 1. Katz centrality has the ``alpha``
that always converges, one over the largest degree and one. What SciPy or the equation of Katz
tells otherwise of our results is an error.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...gpu_core.errors import GraphtideError
from ...gpu_core.graph import DynamicGraph
from .arm import Arm, Bench, Row
from .peers import CuGraph, csr, has_cugraph
from .report import Table
from .selection import Selection
from .workloads import unpack

NAMES = ("G1", "G3")

_CALLS = ("components", "hops", "by weight", "cores", "Katz")

#: Entries of the largest graph that networkx is given: it takes a microsecond for each and step.
_MOST_OF_NETWORKX = 4_000_000

#: What a package is asked, by column of the table.
Calls = dict[str, Callable[[], Any]]


class Subject:
    """One workload as arrays of the host, with weights, and our graphs of it."""

    def __init__(self, bench: Bench) -> None:
        arm, self.size = bench.arm, 1 << bench.scale
        src, dst = (arm.to_host(side) for side in unpack(arm.xp, bench.keys))
        # The same both ways.
        self.weights = (1 + (7919 * np.minimum(src, dst) + np.maximum(src, dst)) % 1000) / 1000
        self.weights = self.weights.astype(np.float32)
        self.once = src < dst
        self.src, self.dst = src, dst
        self.keys = arm.to_host(bench.keys)
        self.plain = arm.graph(directed=False, ids="dense")
        self.weighted = arm.graph(directed=False, ids="dense", records="weighted")
        edges = src[self.once], dst[self.once]
        self.plain.insert_edges(*edges)
        self.weighted.insert_edges(*edges, weight=self.weights[self.once])
        self.source = int(self.plain.vertices()[np.argmax(self.plain.degrees())])
        self.alpha = 1 / (int(self.plain.degrees().max()) + 1)

    def matrix(self, *, weighted: bool) -> Any:
        """SciPy's matrix of the graph."""
        from scipy import sparse

        offsets, targets = csr(np, self.keys, self.size.bit_length() - 1)
        data = self.weights if weighted else np.ones(self.keys.size, np.float32)
        arrays = data.astype(np.float64), targets.view(np.int32), offsets.astype(np.int32)
        return sparse.csr_matrix(arrays, shape=(self.size, self.size))


def _of_ours(subject: Subject) -> Calls:
    plain: DynamicGraph = subject.plain
    return {
        "components": plain.weakly_connected_components,
        "hops": partial(plain.sssp, subject.source),
        "by weight": partial(subject.weighted.sssp, subject.source),
        "cores": plain.core_number,
        "Katz": partial(plain.katz_centrality, alpha=subject.alpha),
    }


def _of_scipy(subject: Subject) -> Calls:
    from scipy.sparse.csgraph import connected_components, dijkstra

    plain, weighted = subject.matrix(weighted=False), subject.matrix(weighted=True)
    search = partial(dijkstra, indices=subject.source)
    return {
        "components": partial(connected_components, plain, directed=False),
        "hops": partial(search, plain, unweighted=True),
        "by weight": partial(search, weighted),
    }


def _of_igraph(subject: Subject) -> Calls:
    import igraph

    edges = np.column_stack([subject.src[subject.once], subject.dst[subject.once]])
    graph = igraph.Graph(n=subject.size, edges=edges)
    weights = subject.weights[subject.once].astype(np.float64).tolist()
    return {
        "components": graph.connected_components,
        "hops": partial(graph.distances, subject.source),
        "by weight": partial(graph.distances, subject.source, weights=weights),
        "cores": graph.coreness,
    }


def _of_networkx(subject: Subject) -> Calls:
    import networkx as nx

    graph = subject.weighted.to_networkx()
    search = partial(nx.single_source_dijkstra_path_length, graph, subject.source)
    return {
        "components": lambda: list(nx.connected_components(graph)),
        "hops": partial(search, weight=None),
        "by weight": search,
        "cores": partial(nx.core_number, graph),
        "Katz": partial(nx.katz_centrality, graph, alpha=subject.alpha),
    }


def _of_cugraph(subject: Subject, bench: Bench) -> Calls:
    xp = bench.arm.xp
    plain = CuGraph(xp, bench.keys)
    weighted = CuGraph(xp, bench.keys, xp.asarray(subject.weights))
    of_weights, of_katz = weighted.graph(is_transposed=False), plain.graph(is_transposed=True)
    graph = plain.graph(is_transposed=False)
    return {
        "components": partial(plain.components, graph),
        "hops": partial(plain.bfs, graph, subject.source),
        "by weight": partial(weighted.sssp, of_weights, subject.source),
        "cores": partial(plain.core_number, graph),
        "Katz": partial(plain.katz, of_katz, subject.alpha),
    }


def _packages(bench: Bench, subject: Subject) -> dict[str, Callable[[], Calls]]:
    """Name -> what makes the calls of a package, of those that are installed."""
    packages: dict[str, Callable[[], Calls]] = {"graphtide": partial(_of_ours, subject)}
    if bench.arm.engine == "cuda":
        if has_cugraph():
            packages["cuGraph"] = partial(_of_cugraph, subject, bench)
        return packages
    packages["SciPy"] = partial(_of_scipy, subject)
    if find_spec("igraph") is not None:
        packages["igraph"] = partial(_of_igraph, subject)
    if find_spec("networkx") is not None and subject.keys.size <= _MOST_OF_NETWORKX:
        packages["networkx"] = partial(_of_networkx, subject)
    return packages


def _check(subject: Subject) -> None:
    """Refuse results that are not those of SciPy, or do not solve the equation of Katz."""
    ours, scipys = _of_ours(subject), _of_scipy(subject)
    present = subject.plain.vertices()
    _, labels = scipys["components"]()
    first = np.full(subject.size, subject.size)
    np.minimum.at(first, labels[present], present)
    near = ours["Katz"]().katz_centrality
    x = np.zeros(subject.size)
    x[present] = near
    gathered = subject.alpha * (subject.matrix(weighted=False) @ x)[present]
    own = near - gathered
    cores = np.zeros(subject.size, np.int64)
    cores[present] = ours["cores"]().core_number
    is_inside = cores[subject.dst] >= cores[subject.src]
    inside = np.bincount(subject.src[is_inside], minlength=subject.size)
    found = {
        "cores": (inside >= cores, np.ones(subject.size, bool)),
        "components": (ours["components"]().component, first[labels[present]]),
        "hops": (ours["hops"]().distance, scipys["hops"]()[present]),
        "by weight": (ours["by weight"]().distance, scipys["by weight"]()[present]),
        # What is left is beta over the norm, the same for all.
        "Katz": (np.abs(own / own.mean() - 1) < 1e-3, np.ones(present.size, bool)),
    }
    for what, (values, expected) in found.items():
        if not np.array_equal(values, expected):
            msg = f"{what} are not what they must be; please report this"
            raise GraphtideError(msg)


def bench_traversals(engine: str, names: Sequence[str], *, repeats: int, smaller: int) -> None:
    """Measure the workloads of these names (none: `NAMES`) and print the table.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        A result is not what it must be.
    """
    selection = Selection(names, NAMES, repeats, smaller)
    arm = selection.begin("bench traversals", Arm(engine))
    table = Table(["graph", "package"], list(_CALLS))
    for bench in selection.benches(Bench, arm):
        subject = Subject(bench)
        _check(subject)
        for package, calls_of in _packages(bench, subject).items():
            row, calls = Row(bench.name, package), calls_of()
            for repeat in range(1, repeats + 1):  # ours were compiled by the check
                for what, call in calls.items():
                    bench.timed(row, repeat, what, call)
            table.row(bench.name, package, *(row.device(what) for what in _CALLS))
