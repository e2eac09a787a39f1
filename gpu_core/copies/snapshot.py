"""Copies for users: CSR, and the canonical list of edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError
from ..printable import counted
from ..table import Table
from ..times import first_at_or_after, time_unit_named

_Column = TypeVar("_Column", np.int32, np.uint32)


@dataclass(frozen=True, repr=False)
class CsrSnapshot:
    """Compressed sparse rows over the vertices in increasing order of users' ids.

    An undirected graph has each edge in both rows. ``scipy.sparse.csr_array((data, indices,
    indptr))`` takes the arrays as they are.

    Attributes
    ----------
    vertices
        [n]: users' ids, increasing; names in the order of their keys.
    indptr
        int64[n + 1]: where each row begins.
    indices
        int32[m]: positions in ``vertices``, increasing within a row.
    properties
        Property columns, [m] each: ``weight``, ``type``, ``first``, ``last`` where kept, and the
        user's own.
    directed
        Whether edges have a direction.
    time_unit
        What ``first`` and ``last`` count, see `DynamicGraph.time_unit`; with a zone they are UTC.
    vertex_properties
        The user's own properties of vertices, [n] each.
    """

    vertices: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    properties: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    directed: bool = True
    time_unit: str | None = None
    vertex_properties: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __repr__(self) -> str:
        more = "".join(f", {name}" for name in self.properties)
        return (
            f"<CsrSnapshot {counted(self.vertices.size, 'vertex')}, indices of "
            f"{self.indices.size:,}{more}>"
        )

    def edges(self) -> CanonicalEdges:
        """Every edge once, in users' ids."""
        # Here: who writes or shows tables need not wait for Numba.
        from .rows_in_order import gathered

        degrees, columns, properties = self.each_edge_once()
        are_names = self.vertices.dtype != np.int64
        targets = self.vertices[columns] if are_names else gathered(self.vertices, columns)
        return CanonicalEdges(
            np.repeat(self.vertices, degrees), targets, properties, self.time_unit
        )

    def each_edge_once(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], dict[str, npt.NDArray[np.generic]]]:
        """Edges of each row (int64[n]), their ``indices`` and properties; see `fold`."""
        return fold(self.indptr, self.indices, self.properties, directed=self.directed)


@dataclass(frozen=True, repr=False)
class CanonicalEdges(Table):
    """Every edge once, sorted by (src, dst) in users' ids; undirected: ``src <= dst``.

    Attributes
    ----------
    src, dst
        [m] each: users' ids; names in the order of their keys.
    properties
        Property columns, [m] each: ``weight``, ``type``, ``first``, ``last`` where kept, and the
        user's own.
    time_unit
        What ``first`` and ``last`` count, see `DynamicGraph.time_unit`; with a zone they are UTC.
    """

    src: npt.NDArray[np.int64]
    dst: npt.NDArray[np.int64]
    properties: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    time_unit: str | None = None

    def __repr__(self) -> str:
        return f"<CanonicalEdges {counted(len(self), 'edge')}: {', '.join(self.columns)}>"

    @property
    def _time_mark(self) -> str:  # type: ignore[override]
        has_zone = self.time_unit is not None and time_unit_named(self.time_unit).zone is not None
        return "Z" if has_zone else ""

    @property
    def columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """``src``, ``dst`` and the properties, by name."""
        return {"src": self.src, "dst": self.dst, **self.properties}

    def between(self, since: Any = None, until: Any = None) -> CanonicalEdges:
        """Edges whose last time is in a range; see `GraphReader.edges`."""
        if since is None and until is None:
            return self
        if "last" not in self.properties:
            msg = "these edges have no times; use a graph with records='semantic'"
            raise SettingsError(msg)
        unit = None if self.time_unit is None else time_unit_named(self.time_unit)
        last = self.properties["last"].view(np.int64)
        kept = np.ones(last.size, np.bool_)
        if since is not None:
            kept &= last >= first_at_or_after(since, unit)
        if until is not None:
            kept &= last < first_at_or_after(until, unit)
        properties = {name: column[kept] for name, column in self.properties.items()}
        return CanonicalEdges(self.src[kept], self.dst[kept], properties, self.time_unit)


def fold(
    indptr: npt.NDArray[np.int64],
    columns: npt.NDArray[_Column],
    properties: dict[str, npt.NDArray[np.generic]],
    *,
    directed: bool,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[_Column], dict[str, npt.NDArray[np.generic]]]:
    """Keep each edge once: of an undirected graph's two entries the one with row <= column.

    Columns increase within a row.

    Returns
    -------
    degrees : int64[n]
        Entries that are left of each row.
    columns, properties
        Those entries; of a directed graph the arrays as they came.
    """
    if directed:
        return np.diff(indptr), columns, properties
    # Here: who writes or shows tables need not wait for Numba.
    from .edges_once import edges_once

    degrees, once, sources = edges_once(
        indptr, columns.view(np.uint32), with_sources=bool(properties)
    )
    kept = {name: column.take(sources) for name, column in properties.items()}
    return degrees, once.view(columns.dtype), kept
