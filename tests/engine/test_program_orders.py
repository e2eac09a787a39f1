"""Programs in every order of vertices, remapped or not: results are those of the plain run."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph, Program, SettingsError
from graphtide.gpu_core.programs.library import (
    components_program,
    distances_program,
    hops_program,
    pagerank_program,
)
from graphtide.gpu_core.programs.run import ProgramResult
from graphtide.gpu_core.programs.vertex_order import VERTEX_ORDERS

MODES = [
    {"vertex_order": vertex_order, "remap": remap}
    for vertex_order, remap in product(VERTEX_ORDERS, (False, True))
]


def sent(source_value, weight):
    return source_value * weight / 3


def kept(old, message, superstep):
    return old / 3 + message, superstep < 2


#: Sums of floats, which round by the order of the messages, over active vertices alone.
SPREAD = Program(sent, "sum", kept, message="float32")


def edges(is_small: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows of every length: hubs of more than a piece of messages, and vertices without edges."""
    random = np.random.default_rng(11)
    leaves = 90 if is_small else 1_300
    hub = np.full(leaves, 5), np.arange(10, 10 + leaves)
    drawn = random.zipf(1.6, 700) % 120, random.integers(0, 170, 700)
    src, dst = (np.concatenate([hub[at], hub[1 - at], drawn[at]]) for at in (0, 1))
    return src, dst


def programs(graph: Any) -> dict[str, tuple[Program, Any, dict[str, Any]]]:
    start, third = int(graph.vertices()[0]), graph.vertices()[::3].tolist()
    spread = dict.fromkeys(third, 0.7)
    return {
        "PageRank": (pagerank_program(), 1 / graph.num_vertices, {"tolerance": 1e-7}),
        "spread": (SPREAD, spread, {"default": 0.0, "active": third}),
        "SSSP": (distances_program(), {start: 0.0}, {"default": math.inf, "active": start}),
        "components": (components_program(), graph.vertices(), {}),
        "hops": (hops_program(), {start: 0}, {"default": -1, "active": start}),
    }


def outcome(found: ProgramResult) -> tuple[Any, ...]:
    return found.value.tobytes(), found.supersteps, found.num_active


@pytest.mark.runs
@pytest.mark.parametrize(
    "shape",
    [
        {"directed": True, "records": "weighted"},
        {"directed": True, "records": "weighted64", "reverse": False},
        {"directed": False, "records": "simple"},
    ],
    ids=["directed", "without in-neighbors", "undirected"],
)
def test_no_mode_changes_a_bit_of_a_result(
    engine: str, is_emulated: bool, shape: dict[str, Any]
) -> None:
    graph = DynamicGraph(engine=engine, self_loops="keep" if shape["directed"] else "drop", **shape)
    src, dst = edges(is_emulated)
    weights = {} if shape["records"] == "simple" else {"weight": (1 + (src + dst) % 7) / 5}
    graph.insert_edges(src, dst, **weights)
    graph.delete_vertices(graph.vertices()[20:60:9])
    with graph.pin() as epoch:
        for reader, direction in ((graph, "auto"), (epoch, "pull")):
            for name, (program, values, options) in programs(reader).items():
                told_plainly = outcome(reader.run_program(program, values, **options))
                for mode in MODES:
                    found = reader.run_program(
                        program, values, direction=direction, **options, **mode
                    )
                    assert outcome(found) == told_plainly, (name, direction, mode)


@pytest.mark.runs
def test_graphs_without_rows_to_sort(engine: str) -> None:
    """None at all, none with entries, and all of one length."""
    graph = DynamicGraph(engine=engine)
    for mode in MODES:
        assert graph.run_program(pagerank_program(), 0.5, **mode).value.tolist() == []
    graph.insert_vertices([3, 4])
    for mode in MODES:
        found = graph.run_program(components_program(), [3, 4], direction="pull", **mode)
        assert found.value.tolist() == [3, 4]
    graph.insert_edges([3, 4, 5], [4, 5, 3])
    for mode in MODES:
        found = graph.run_program(components_program(), [3, 4, 5], direction="pull", **mode)
        assert found.value.tolist() == [3, 3, 3]


def test_unknown_modes_are_refused(engine: str) -> None:
    graph = DynamicGraph(engine=engine)
    graph.insert_edges([1], [2])
    with pytest.raises(SettingsError, match="'degree' is unknown; use one of none, linear, log2"):
        graph.run_program(hops_program(), -1, vertex_order="degree")
    with pytest.raises(SettingsError, match="remap='no' is neither True nor False"):
        graph.run_program(hops_program(), -1, remap="no")
