"""Weakly connected components: the vertices that edges join, whichever way they point.

A component is called by the first of its vertices in the order of `DynamicGraph.vertices`: by the
smallest id where ids are numbers. A vertex without edges is a component of its own; self loops make
no difference.

What an engine offers: ``algorithms.weakly_connected_components`` with ``first_members``, of rows
alone. Components are named by position in that order, so that they can be told in ids of any kind.
Not here: how they are found (`host/analytics/weakly_connected_components.py`).

networkx has the sets of vertices: ``nx.connected_components`` of a graph without directions,
``nx.weakly_connected_components`` of one with them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .analytic import Analytic, Column, ColumnValues, Metric, Needs, Parameters, Summary
from .by_vertex import ValuesResult, in_order
from .sides import sides_of

if TYPE_CHECKING:
    from ..engine import Reader


class ComponentsResult(ValuesResult):
    """Component of every vertex."""

    _analytic = "weakly_connected_components"
    _ranked_by = "component"

    @cached_property
    def component(self) -> npt.NDArray[Any]:
        """[n], as `vertices`: the first vertex of the component; the smallest id of numbers."""
        return self.vertices[self._columns.values]

    @property
    def num_components(self) -> int:
        """Components of the graph."""
        return int(np.count_nonzero(self._sizes))

    @property
    def largest(self) -> int:
        """Vertices of the largest component; 0 for a graph without vertices."""
        return int(self._sizes.max(initial=0))

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int64]:
        """int64[n]: vertices of the component that is called by each vertex."""
        return np.bincount(self._columns.values, minlength=len(self))

    def __repr__(self) -> str:
        return (
            f"<ComponentsResult {len(self):,} vertices, {self.num_components:,} components, "
            f"the largest of {self.largest:,}>"
        )


def weakly_connected_components(reader: Reader) -> ComponentsResult:
    """Component of every vertex; of an undirected graph the connected ones."""
    twin, order = reader.algorithms.weakly_connected_components, reader.order()
    first = twin.first_members(reader.workspace, sides_of(reader), order)
    return ComponentsResult(in_order(reader, first, order))


def _summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    component = columns["component"]
    _, sizes = np.unique(component, return_counts=True)
    return {
        "vertices": component.size,
        "components": sizes.size,
        "largest": int(sizes.max(initial=0)),
        "alone": int(np.count_nonzero(sizes == 1)),
    }


def _text(summary: Summary) -> str:
    if not summary["vertices"]:
        return "no vertices"
    if summary["components"] == 1:
        return f"1, of all {summary['vertices']:,} vertices"
    return (
        f"{summary['components']:,}, {summary['alone']:,} of them of one vertex; the largest has "
        f"{summary['largest']:,} of {summary['vertices']:,} vertices"
    )


ANALYTIC = Analytic(
    name="weakly_connected_components",
    title="weakly connected components",
    about="The component of every vertex, whichever way edges point.",
    compute=weakly_connected_components,
    results=(
        Column("component", "id", "first vertex of the component: the smallest id of numbers"),
    ),
    needs=Needs(rows=("out", "in")),
    metrics=(
        Metric("components", "components", "int64"),
        Metric("largest", "vertices of the largest", "int64"),
    ),
    summary=_summary,
    text=_text,
    label="components",
)
