"""Strongly connected components: the vertices that paths lead between both ways.

A vertex on no cycle is a component of its own; self loops make no difference. How components are
called: `components.py`. Every edge of an undirected graph leads both ways, so there they are the
connected components.

What an engine offers: ``algorithms.strongly_connected_components`` with ``first_members``, of rows
alone. Not here: how they are found, which the engines do differently.

networkx has the sets of vertices: ``nx.strongly_connected_components``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shared import components
from ..shared.adjacencies import adjacencies_of
from ..shared.by_vertex import in_order, order_of
from ..shared.components import ComponentsResult

if TYPE_CHECKING:
    from ...engine import Reader


def strongly_connected_components(reader: Reader) -> ComponentsResult:
    """Component of every vertex; of an undirected graph the connected ones."""
    twins, order, adjacencies = reader.algorithms, order_of(reader), adjacencies_of(reader)
    twin = (
        twins.strongly_connected_components
        if adjacencies.directed
        else twins.weakly_connected_components
    )
    first = twin.first_members(reader.workspace, adjacencies, order.indices)
    return ComponentsResult(in_order(reader, first, order), "strongly_connected_components")


ANALYTIC = components.analytic(
    strongly_connected_components,
    title="strongly connected components",
    about="The strongly connected component of every vertex: paths lead to it and back.",
    label="strong",
)
