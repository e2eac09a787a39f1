"""Results of components and other groups of vertices: names, sizes and text.

A component is called by the first of its vertices in the order of `DynamicGraph.vertices`: by the
smallest id where ids are numbers. Twins name it by the position of that vertex in the order, so
that it can be reported in ids of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...printable import counted as with_noun
from ..analytic import Analytic, Column, ColumnValues, Metric, Needs, Parameters, Summary
from .by_vertex import Values, ValuesResult

if TYPE_CHECKING:
    from ...engine import Maintained, Reader

#: The column of every analytic of components.
COMPONENT = Column("component", "id", "a vertex of the component: with numbers as ids the smallest")

#: What a row of a run's summary says of them.
METRICS = (
    Metric("components", "components", "int64"),
    Metric("largest", "vertices of the largest", "int64"),
)


class GroupsResult(ValuesResult):
    """Vertices in groups, each called by the first of its vertices.

    Its values are the positions of those.
    """

    @property
    def largest(self) -> int:
        """Vertices of the largest of them; 0 for a graph without vertices."""
        return int(self._sizes.max(initial=0))

    @cached_property
    def _first(self) -> npt.NDArray[Any]:
        return self.vertices[self._columns.values]

    @property
    def _num_groups(self) -> int:
        return int(np.count_nonzero(self._sizes))

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int64]:
        """int64[n]: vertices of the group that is called by each vertex."""
        return np.bincount(self._columns.values, minlength=len(self))


class ComponentsResult(GroupsResult):
    """Component of every vertex.

    Parameters
    ----------
    columns
        Of the positions of the components' first vertices.
    analytic
        Name of the analytic that found them.
    """

    _ranked_by = ""

    def __init__(self, columns: Values, analytic: str) -> None:
        super().__init__(columns)
        self._analytic = analytic

    @property
    def component(self) -> npt.NDArray[Any]:
        """[n], as `vertices`: the first vertex of the component; the smallest id of numbers."""
        return self._first

    @property
    def num_components(self) -> int:
        """Components of the graph."""
        return self._num_groups

    def _made_of(self) -> tuple[Any, ...]:
        return *super()._made_of(), self._analytic

    def __repr__(self) -> str:
        return (
            f"<ComponentsResult {with_noun(len(self), 'vertex')}, "
            f"{with_noun(self.num_components, 'component')}, the largest of {self.largest:,}>"
        )


def analytic(
    compute: Callable[[Reader], ComponentsResult],
    *,
    title: str,
    about: str,
    label: str,
    maintained: tuple[type[Maintained], ...] = (),
) -> Analytic:
    """An analytic of components, called as its function."""
    return Analytic(
        name=compute.__name__,
        title=title,
        about=about,
        compute=compute,
        results=(COMPONENT,),
        needs=Needs(rows=("out", "in")),
        metrics=METRICS,
        summary=summary,
        text=text,
        label=label,
        maintained=maintained,
    )


def summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    """Number of components, and their sizes."""
    return counted(columns["component"])


def counted(names: npt.NDArray[Any]) -> Summary:
    """Number of groups of vertices, and their sizes, by the name of each vertex' group."""
    _, sizes = np.unique(names, return_counts=True)
    return {
        "vertices": names.size,
        "components": sizes.size,
        "largest": int(sizes.max(initial=0)),
        "alone": int(np.count_nonzero(sizes == 1)),
    }


def text(summary: Summary) -> str:
    """The same as a sentence."""
    if not summary["vertices"]:
        return "no vertices"
    if summary["components"] == 1:
        return f"1, of all {with_noun(summary['vertices'], 'vertex')}"
    return (
        f"{summary['components']:,}, {summary['alone']:,} of them of one vertex; the largest has "
        f"{summary['largest']:,} of {with_noun(summary['vertices'], 'vertex')}"
    )
