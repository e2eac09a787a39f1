"""Kernels of the host engine that idle workers compile are those that batches call."""

from typing import Any

import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core import engines
from graphtide.gpu_core.copies.state_hash import checkpoint_hash
from graphtide.gpu_core.host.kernels_ahead import PARTS
from graphtide.gpu_core.jit import shared_cache
from graphtide.pipeline.workers.warm_up import warm_graph

KINDS: list[dict[str, Any]] = [
    {"ids": "dense", "reverse": False},
    {"records": "semantic", "layout": "chain"},
    {"records": "weighted64"},
]


def test_parts_have_the_types_that_batches_call_them_with() -> None:
    """Others would be compiled for nothing, and the graph worker compile its own."""
    for kind in KINDS:
        warm_graph({"engine": "host", **kind})
    for records in ("simple", "weighted"):
        graph = DynamicGraph(engine="host", records=records)
        for src, dst in ((9, 8), (8, 7)):
            graph.insert_edges([src], [dst], weight=None if records == "simple" else 1.0)
        checkpoint_hash(graph.checkpoint_arrays(), directed=True, records=records)
    for function, signature in PARTS:
        assert set(function.signatures) == {signature}, function.py_func.__name__


def test_each_part_is_compiled_once_in_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    for function, _ in PARTS:
        monkeypatch.setattr(function, "compile", asked.append)
    for is_saved, expected in ((True, []), (False, [signature for _, signature in PARTS])):
        monkeypatch.setattr(shared_cache, "is_saved", lambda function, answer=is_saved: answer)
        there = [engines.compile_ahead(number, on_gpu=False) for number in range(len(PARTS) + 2)]
        assert there == [True] * len(PARTS) + [False] * 2
        assert asked == expected
