"""Weakly connected components: the vertices that edges join, whichever way they point.

A vertex without edges is a component of its own; self loops make no difference. How components are
called: `components.py`.

What an engine offers: ``algorithms.weakly_connected_components`` with ``first_members``, of rows
alone. Not here: how they are found (`host/analytics/components/weakly_connected_components.py`),
and how they follow batches (`maintained_components.py`).

networkx has the sets of vertices: ``nx.connected_components`` of a graph without directions,
``nx.weakly_connected_components`` of one with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..maintained.maintained_components import NAME, MaintainedComponents
from ..shared import components
from ..shared.adjacencies import adjacencies_of
from ..shared.by_vertex import in_order, order_of
from ..shared.components import ComponentsResult

if TYPE_CHECKING:
    from ...engine import Reader


def weakly_connected_components(reader: Reader) -> ComponentsResult:
    """Component of every vertex; of an undirected graph the connected ones."""
    order, kept = order_of(reader), reader.maintained.get(NAME)
    roots = None if kept is None else kept.state(reader)
    if roots is not None:
        twin = reader.algorithms.maintained_components
        first = twin.first_members(reader.workspace, roots, order.indices)
    else:
        twin = reader.algorithms.weakly_connected_components
        first = twin.first_members(reader.workspace, adjacencies_of(reader), order.indices)
    return ComponentsResult(in_order(reader, first, order), NAME)


ANALYTIC = components.analytic(
    weakly_connected_components,
    title="weakly connected components",
    about="The weakly connected component of every vertex: edges join both ways.",
    label="components",
    maintained=(MaintainedComponents,),
)
