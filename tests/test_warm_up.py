"""Whatever graph the settings ask for, it takes the rows that warm its worker up."""

from itertools import product
from typing import Any

import pytest

from graphtide.gpu_core.errors import ArenaFullError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.pipeline import warm_up
from graphtide.pipeline.warm_up import warm_graph

#: Directed without and with a reverse adjacency, and undirected.
DIRECTIONS = ({"reverse": False}, {"reverse": True}, {"directed": False})


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("page_bytes", [None, 4096])
def test_no_setting_of_a_graph_is_too_much(
    directions: dict[str, bool], page_bytes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest pages and the largest entries fit into what the graph may grow to."""
    applied: list[int] = []
    apply = DynamicGraph.apply

    def counted(graph: DynamicGraph, batch: Any) -> Any:
        report = apply(graph, batch)
        applied.append(report.rows)
        return report

    monkeypatch.setattr(DynamicGraph, "apply", counted)
    # As many as for a GPU, whose images are of the same sizes.
    monkeypatch.setattr(warm_up, "_HOST_ROWS", warm_up._GPU_ROWS)
    kinds = list(product(("simple", "semantic"), ("runs", "chain"), ("any", "dense")))
    for records, layout, ids in kinds:
        named = {"records": records, "layout": layout, "ids": ids, "page_bytes": page_bytes}
        warm_graph({"engine": "host", "self_loops": "reject", **named, **directions})
    assert len(applied) == 2 * len(kinds)


def test_a_graph_that_left_no_memory_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(graph: DynamicGraph, batch: Any) -> Any:
        msg = "the device has no such piece of memory left"
        raise ArenaFullError(msg)

    monkeypatch.setattr(DynamicGraph, "apply", refuse)
    warm_graph({"engine": "host"})


def test_rows_are_of_one_hub_and_no_self_loops() -> None:
    rows = warm_up._rows(1 << 10, 32)
    assert (rows["src"] != rows["dst"]).all()
    assert (rows["src"] == 0).sum() >= 32
