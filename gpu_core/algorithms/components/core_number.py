"""Core numbers: for each vertex, the largest k of a k-core that contains it.

The *k-core* is the largest set of vertices of which each has at least ``k`` edges to others of the
set; the core number of a vertex is the largest ``k`` of a k-core that it is in. As networkx'
``core_number``: of a directed graph edges in and out both count, an edge both ways twice, and a
graph with self loops is refused.

There is one answer, in integers, so every engine gives the same.

What an engine offers: ``algorithms.core_number`` with ``core_numbers`` and ``self_loop``, of rows
alone. Not here: how vertices are peeled off (`host/analytics/components/core_number.py`,
`cuda/analytics/components/core_number.py`).

Source: Seidman, "Network structure and minimum degree", Social Networks 1983.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...errors import SettingsError
from ...printable import counted
from ..analytic import Analytic, Column, ColumnValues, Metric, Needs, Parameters, Summary
from ..shared.adjacencies import adjacencies_of
from ..shared.by_vertex import ValuesResult, in_order

if TYPE_CHECKING:
    from ...engine import Reader


class CoreNumberResult(ValuesResult):
    """Core number of every vertex."""

    _analytic = "core_number"
    _ranked_by = "core_number"

    @property
    def core_number(self) -> npt.NDArray[np.int32]:
        """int32[n]: the largest k of a k-core that the vertex is in."""
        return self._columns.values

    @property
    def largest(self) -> int:
        """Largest core number; 0 for a graph without vertices."""
        return int(self.core_number.max(initial=0))

    def __repr__(self) -> str:
        vertices = counted(len(self), "vertex")
        return f"<CoreNumberResult {vertices}, largest core number {self.largest:,}>"


def core_number(reader: Reader) -> CoreNumberResult:
    """Core number of every vertex.

    Raises
    ------
    SettingsError
        A vertex has an edge to itself.
    """
    twin, workspace, adjacencies = (
        reader.algorithms.core_number,
        reader.workspace,
        adjacencies_of(reader),
    )
    loop = twin.self_loop(workspace, adjacencies.out) if reader.kind.self_loops == "keep" else None
    if loop is not None:
        [vertex] = reader.ids_of(np.array([loop], np.uint32))
        msg = (
            "core_number is not defined for self loops, but vertex {vertex} has one; delete them, "
            "or use self_loops: drop"
        )
        raise SettingsError.of_vertex(msg, vertex)
    return CoreNumberResult(in_order(reader, twin.core_numbers(workspace, adjacencies)))


def _summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    cores = columns["core_number"]
    largest = int(cores.max(initial=0))
    return {
        "vertices": cores.size,
        "largest": largest,
        "innermost": int(np.count_nonzero(cores == largest)),
    }


def _text(summary: Summary) -> str:
    if not summary["vertices"]:
        return "no vertices"
    return (
        f"up to {summary['largest']:,}, of {summary['innermost']:,} of "
        f"{counted(summary['vertices'], 'vertex')}"
    )


ANALYTIC = Analytic(
    name="core_number",
    title="core numbers",
    about="The largest k for which each vertex is in the k-core.",
    compute=core_number,
    results=(Column("core_number", "int32", "largest k of a k-core that the vertex is in"),),
    needs=Needs(rows=("out", "in")),
    metrics=(
        Metric("largest", "largest core number", "int64"),
        Metric("innermost", "vertices that have it", "int64"),
    ),
    summary=_summary,
    text=_text,
    label="cores",
)
