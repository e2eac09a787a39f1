"""Communities by label propagation: every vertex takes the label that most of its neighbors have.

::

    at first   label(v)  = position of v in the order of ``DynamicGraph.vertices``
    a sweep    colors one after the other, for all vertices v of the color at once:
               best(v)   = labels that most neighbors of v have
               label(v)  = the largest of best(v), unless label(v) is one of them
    the end    a sweep that changes no label, which always comes; or ``max_iter`` sweeps

No two neighbors have one color, so the vertices of a color do not see one another, and it makes no
difference in which order, or by how many threads, they are asked: the result is a matter of the
graph and the order of its vertices alone, the same on every engine. Colors are those of the greedy
coloring: vertices by degree, the largest first, equal ones in their order; each has the least color
that no neighbor before it has.

That is ``nx.community.label_propagation_communities``, to the letter: the same communities if the
networkx graph was given its vertices in the order of ours. As there, weights make no difference,
and graphs with directions are refused. A community is called by the first of its vertices, as a
component is (`components.py`). A vertex without neighbors is a community of its own.

What an engine offers: ``algorithms.label_propagation`` with ``communities``, of rows alone.

Source: Cordasco, Gargano, "Community Detection via Semi-Synchronous Label Propagation Algorithms",
BASNA 2010 (with the rule Prec-Max).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ...choices import is_integer
from ...errors import SettingsError
from ...printable import counted
from ..analytic import Analytic, Column, ColumnValues, Metric, Needs, Parameter, Parameters, Summary
from ..shared import components
from ..shared.by_vertex import Values, in_order, order_of
from ..shared.components import GroupsResult

if TYPE_CHECKING:
    from ...engine import Reader

_NAME = "label_propagation"


class CommunitiesResult(GroupsResult):
    """Community of every vertex.

    Parameters
    ----------
    columns
        Of the positions of the communities' first vertices.
    iterations
        As the attribute.

    Attributes
    ----------
    iterations
        Sweeps that changed a label.
    """

    _analytic = _NAME
    _ranked_by = ""

    def __init__(self, columns: Values, iterations: int) -> None:
        super().__init__(columns)
        self.iterations = iterations

    @property
    def community(self) -> npt.NDArray[Any]:
        """[n], as `vertices`: the first vertex of the community; the smallest id of numbers."""
        return self._first

    @property
    def num_communities(self) -> int:
        """Communities of the graph."""
        return self._num_groups

    def _made_of(self) -> tuple[Any, ...]:
        return *super()._made_of(), self.iterations

    def __repr__(self) -> str:
        return (
            f"<CommunitiesResult {counted(len(self), 'vertex')}, "
            f"{counted(self.num_communities, 'community')}, the largest of {self.largest:,}>"
        )


def label_propagation(reader: Reader, *, max_iter: int | None = None) -> CommunitiesResult:
    """Community of every vertex of an undirected graph.

    Parameters
    ----------
    reader
        Of the graph.
    max_iter
        Sweeps at most; None: until none changes a label.

    Raises
    ------
    SettingsError
        The graph has directions, or ``max_iter`` is no whole number from 1 on.
    """
    unmet = ANALYTIC.needs.unmet(directed=reader.kind.directed, has_weights=False)
    if unmet is not None:
        msg = f"{_NAME} {unmet}"
        raise SettingsError(msg)
    if max_iter is not None and not (is_integer(max_iter) and max_iter >= 1):
        msg = f"max_iter={max_iter!r} is not a whole number, 1 or more"
        raise SettingsError(msg)
    order = order_of(reader)
    first, iterations = reader.algorithms.label_propagation.communities(
        reader.workspace, reader.rows("out"), order.indices, max_iter
    )
    return CommunitiesResult(in_order(reader, first, order), iterations)


def _summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    return components.counted(columns["community"])


ANALYTIC = Analytic(
    name=_NAME,
    title="communities by label propagation",
    about="The community of every vertex: it takes the label that most of its neighbors have.",
    compute=label_propagation,
    parameters=(
        Parameter(
            "max_iter", "sweeps at most; null: until none changes a label",
            {"type": ["integer", "null"], "minimum": 1},
        ),
    ),
    results=(
        Column("community", "id", "a vertex of the community: with numbers as ids the smallest"),
    ),
    needs=Needs(undirected=True),
    metrics=(
        Metric("components", "communities", "int64"),
        Metric("largest", "vertices of the largest", "int64"),
    ),
    summary=_summary,
    text=components.text,
    label="labels",
    figures=("iterations",),
)  # fmt: skip
