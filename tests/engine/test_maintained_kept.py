"""What is maintained is in what `save` writes, also of an analytic that is not there yet."""

from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphs import KARATE
from graphtide import DynamicGraph, StateError
from graphtide.gpu_core import maintenance
from graphtide.gpu_core.algorithms import registry
from graphtide.gpu_core.algorithms.analytic import Analytic, Column
from graphtide.gpu_core.algorithms.registry import ANALYTICS

MAINTAINED = [name for name, each in ANALYTICS.items() if each.maintained]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", MAINTAINED)
def test_a_graph_that_was_saved_goes_on_to_maintain_it(
    name: str, directed: bool, engine: str, tmp_path: Path
) -> None:
    graph = DynamicGraph(directed=directed)
    graph.insert_edges(*np.array(KARATE).T)
    graph.maintain(name)
    again = DynamicGraph.load(graph.save(tmp_path / "g"))
    assert again.maintained == (name,)
    plain = graph.copy()
    plain.unmaintain(name)
    added = graph.checkpoint_arrays().keys() - plain.checkpoint_arrays().keys()
    assert added
    for array in added:
        kept, found = graph.checkpoint_arrays()[array], again.checkpoint_arrays()[array]
        assert found.tobytes() == kept.tobytes(), array


def test_no_two_arrays_of_a_checkpoint_have_one_name() -> None:
    graph = DynamicGraph(records="semantic", ids="string", engine="host")
    taken = {*graph.checkpoint_arrays(), "time_unit"}
    for analytic in ANALYTICS.values():
        kept = {
            name for made in analytic.maintained for arrays in made.kept.values() for name in arrays
        }
        assert not kept & taken, analytic.name
        taken |= kept
        files = {file for made in analytic.maintained for file in made.kept}
        assert not files & {"edges", "free_indices", "names"}, "files of the graph itself"


# -- an analytic that is not there yet


class MaintainedEdges:
    """A `engine.Maintained`: how many edges each vertex is the source of, on the host."""

    twin = "pagerank"
    needs_reverse = False
    kept: Mapping[str, Mapping[str, str]] = {
        "vertices": {"edge_counts": "int64"},
        "edge_counts": {"edge_count_numbers": "int64"},
    }
    parameters: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self._counts: np.ndarray | None = None

    @property
    def is_stale(self) -> bool:
        return self._counts is None

    def follows(self, reader: Any, edges: int) -> bool:
        return True

    @property
    def nbytes(self) -> int:
        return 0 if self._counts is None else self._counts.nbytes

    def begin(self, reader: Any) -> None:
        self._counts = reader.rows("out").degree.astype(np.int64)

    def settle(self, reader: Any) -> None:
        if self._counts is None:
            self.begin(reader)

    def follow(self, reader: Any, edges: Any, *, is_added: bool) -> None:
        self.forget()

    def forget(self) -> None:
        self._counts = None

    def state(self, reader: Any) -> Any:
        self.settle(reader)
        return self._counts

    def frozen(self) -> "MaintainedEdges":
        return copy(self)

    def arrays(self, reader: Any) -> dict[str, Any]:
        if self._counts is None:
            return {}
        return {"edge_counts": self._counts, "edge_count_numbers": np.array([5])}

    def restore(self, reader: Any, arrays: Mapping[str, Any]) -> bool:
        if "edge_counts" in arrays:
            assert arrays["edge_count_numbers"].tolist() == [5]
            self._counts = np.array(arrays["edge_counts"], np.int64)
        return self._counts is not None

    def audited(self, reader: Any) -> dict[str, Any]:
        return {}


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> DynamicGraph:
    """Maintains it."""
    new = Analytic(
        name="edge_counts",
        title="edges of each vertex",
        about="Edges of each vertex.",
        compute=lambda reader: reader.maintained["edge_counts"].state(reader),
        results=(Column("edges", "int64", "edges"),),
        summary=lambda columns, parameters: {},
        text=str,
        maintained=(MaintainedEdges,),
    )
    for module in (registry, maintenance):
        monkeypatch.setattr(module, "ANALYTICS", {**ANALYTICS, new.name: new})
    graph = DynamicGraph(engine="host")
    graph.insert_edges([1, 1, 2], [2, 3, 3])
    graph.maintain("edge_counts")
    return graph


def test_another_analytic_is_kept_by_what_it_declares(graph: DynamicGraph, tmp_path: Path) -> None:
    again = DynamicGraph.load(graph.save(tmp_path / "g"))
    assert again.maintained == ("edge_counts",)
    assert again.checkpoint_arrays()["edge_counts"].tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({}, "array 'edge_counts' that no file of a checkpoint has room for.*`kept`"),
        (
            {**MaintainedEdges.kept, "vertices": {"edge_counts": "uint32"}},
            "array 'edge_counts' is int64, which does not fit into the uint32 declared in `kept`",
        ),
    ],
)
def test_an_array_that_would_be_lost_is_refused(
    graph: DynamicGraph,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    declared: Mapping[str, Mapping[str, str]],
    message: str,
) -> None:
    monkeypatch.setattr(MaintainedEdges, "kept", declared)
    with pytest.raises(StateError, match=message):
        graph.save(tmp_path / "g")
    assert not list(tmp_path.iterdir())
