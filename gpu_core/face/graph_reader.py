"""Queries, exports and algorithms of a `DynamicGraph` or an `Epoch` of it.

All calls are vectorized, with arrays of users' ids; results are sorted by the int64 ids of the
engine (``names/user_ids.py``).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..algorithms.registry import analytic_named
from ..copies.checkpoint import checkpoint_arrays
from ..copies.snapshot import CanonicalEdges, CsrSnapshot
from ..copies.state_hash import state_hash
from ..errors import SettingsError
from ..kind import GraphKind
from ..maintenance import arrays_of
from ..names.table import Mark
from ..names.user_ids import UserIds
from ..printable import counted
from ..records import TIME_PROPERTIES
from .graph_centrality import GraphCentrality
from .graph_components import GraphComponents
from .graph_products import GraphProducts
from .graph_programs import GraphPrograms
from .graph_properties import GraphProperties
from .graph_queries import GraphQueries
from .graph_sampling import GraphSampling
from .graph_traversal import GraphTraversal
from .graph_triangles import GraphTriangles

Int64s = npt.NDArray[np.int64]


class GraphReader(
    GraphQueries, GraphProperties, GraphCentrality, GraphTriangles, GraphComponents, GraphTraversal,
    GraphProducts, GraphSampling, GraphPrograms,
):  # fmt: skip
    """All queries, exports and algorithms of a graph."""

    #: Names that are of the graph; None: all that there are.
    _names_mark: Mark | None = None

    @property
    def lock(self) -> AbstractContextManager[Any, bool | None]:
        """Lock that every call holds; ``with graph.lock:`` several calls see the same graph."""
        return self._reader.lock

    @property
    def kind(self) -> GraphKind:
        """All settings that define the graph, as one `GraphKind`."""
        return self._kind

    def _described(self) -> str:
        """Size and kind, for people."""
        direction = "directed" if self._kind.directed else "undirected"
        vertices, edges = self._reader.num_vertices, self._reader.num_edges
        device = "" if self.device is None else f" on GPU {self.device}"
        rule = f" ({self.on_repeat} of repeats)" if self._kind.combines_weights else ""
        return (
            f"{counted(vertices, 'vertex')}, {counted(edges, 'edge')}, "
            f"{direction}, {self._kind.record.name}{rule}, {self._reader.name}{device}"
        )

    # -- what the graph is -------------------------------------------------------------------

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._kind.directed

    @property
    def records(self) -> str:
        """Edge records: ``simple``, ``weighted`` or ``semantic``; with float64 weights ``…64``."""
        return self._kind.record.name

    @property
    def weights(self) -> str | None:
        """Type of weights: ``float32`` or ``float64``; None: there are none."""
        return self._kind.record.weights

    @property
    def storage(self) -> str:
        """Storage of entries: ``soa`` or ``aos``."""
        return self._kind.storage

    @property
    def layout(self) -> str:
        """Layout of adjacencies: ``runs``, ``chain`` or ``tree``."""
        return self._kind.layout

    @property
    def engine(self) -> str:
        """Engine that holds the graph: ``host`` or ``cuda``."""
        return self._reader.name

    @property
    def device(self) -> int | None:
        """Ordinal of the GPU that holds the graph; None: host memory."""
        return self._reader.ordinal

    @property
    def ids(self) -> str:
        """Kind of users' ids: ``any``, ``dense``, ``string``, ``uuid`` or ``uint64``."""
        return self._kind.ids

    @property
    def user_ids(self) -> UserIds:
        """Conversion between users' ids and the int64 ids of the engine."""
        return self._ids

    @property
    def reverse(self) -> bool:
        """Whether in-neighbors can be queried (undirected graphs: always)."""
        return self._kind.has_reverse

    @property
    def self_loops(self) -> str:
        """Treatment of self loops: ``drop``, ``keep`` or ``reject``."""
        return self._kind.self_loops

    @property
    def create_vertices(self) -> bool:
        """Whether inserting an edge creates its end points."""
        return self._kind.create_vertices

    @property
    def on_repeat(self) -> str:
        """Rule for the weight of an edge that is inserted again, such as ``last`` or ``sum``."""
        return self._kind.on_repeat

    @property
    def time_unit(self) -> str | None:
        """Unit of times, as an Arrow type, such as ``timestamp[us]``; None: not known yet."""
        return None if self._time_unit is None else str(self._time_unit)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self._reader.num_vertices

    @property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return self._reader.num_edges

    # -- analytics by their names -------------------------------------------------------------

    def compute(self, analytic: str, **parameters: Any) -> Any:
        """Compute an analytic by its name and parameters, as a run does between batches.

        ``docs/analytics.md`` lists them; most also have a method of their own name, with all that
        it can do.

        Raises
        ------
        SettingsError
            There is no such analytic, a parameter is unknown, missing or of the wrong type, or the
            graph is not of the kind that it needs.
        """
        found = analytic_named(analytic)
        found.check_names(parameters)
        parameters = found.plain(parameters)
        unmet = found.needs.unmet(
            directed=self._kind.directed, has_weights=self._kind.record.has_weight
        )
        if unmet is not None:
            msg = f"{analytic} {unmet}"
            raise SettingsError(msg)
        with self._computing():
            for each in found.parameters:
                given = parameters.get(each.name)
                if each.is_by_vertex:
                    parameters[each.name] = self._keys_of_values(each.name, given, strict=False)
                elif each.has_vertices and given is not None:
                    parameters[each.name] = self._keys_of_ids(each.name, given, strict=False)
            return self._of_users(found.compute(self._reader, **parameters))

    # -- copies ------------------------------------------------------------------------------

    def to_csr(self) -> CsrSnapshot:
        """Copy the graph to host memory as CSR, vertices in the order of `vertices`."""
        csr = self.csr_of_keys()
        return replace(csr, vertices=self._ids.ids_of_keys(csr.vertices))

    def csr_of_keys(self) -> CsrSnapshot:
        """As `to_csr`, with the int64 ids of the engine (``names/``) as vertices."""
        reader = self._reader
        with reader.lock:
            order = reader.sorted_order()
            indptr, columns, properties = reader.csr(order)
            ids = reader.user_ids()[order]
            of_vertices: dict[str, npt.NDArray[Any]] = {}
            if self._values is not None:
                values = self._all_values()
                properties |= values.of_rows(ids, np.diff(indptr), columns)
                of_vertices = values.of_vertices(ids)
        if self._time_unit is not None:
            properties |= {
                name: properties[name].view(self._time_unit.dtype) for name in TIME_PROPERTIES
            }
        return CsrSnapshot(
            ids, indptr, columns.view(np.int32), properties, self._kind.directed, self.time_unit,
            of_vertices,
        )  # fmt: skip

    def edges(self, *, since: Any = None, until: Any = None) -> CanonicalEdges:
        """Copy the edges to host memory, sorted by (src, dst).

        An undirected edge comes once, with ``src <= dst``. Names are in the order of `vertices`,
        not of the alphabet.

        Parameters
        ----------
        since, until
            With semantic records: only edges whose last time is at or after ``since`` and before
            ``until``. An integer in the graph's unit of time, a `datetime`, `numpy.datetime64` or
            text, such as ``"2024-02-01T00:00+02:00"``; UTC if it has no zone.

        Returns
        -------
        CanonicalEdges
            ``src`` and ``dst`` [m], users' ids, and ``properties``, [m] each.

        Raises
        ------
        SettingsError
            A time is given, but the graph has no times, or it is no time.
        """
        return self.to_csr().edges().between(since, until)

    def checkpoint_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Copy everything that `DynamicGraph.from_checkpoint_arrays` needs, by vertex index.

        Returns
        -------
        dict of arrays
            - ``vertex_ids`` int64, ``present`` bool and ``out_degree`` uint32: one item for each
              vertex record;
            - ``free_indices`` uint32, in the order in which they will be used again;
            - ``dst_index`` uint32, row after row, increasing in each; undirected with src <= dst;
            - the property columns, and ``edge property …`` and ``vertex property …`` of
              user-defined ones;
            - ``time_unit``, one string, if times have a unit; ``mean_degree``, if it is known;
            - columns of maintained results, as ``docs/maintained.md`` lists them.
        """
        with self._reader.lock:
            arrays = checkpoint_arrays(self._reader)
            if self._values is not None:
                arrays |= self._all_values().arrays(arrays)
            arrays |= self._ids.arrays(self._names_mark)
            arrays |= arrays_of(self._reader)
        if self._time_unit is not None:
            arrays["time_unit"] = np.array([str(self._time_unit)])
        if self._kind.known_mean_degree is not None:
            arrays["mean_degree"] = np.array([self._kind.known_mean_degree], np.float64)
        return arrays

    def state_hash(self) -> str:
        """SHA-256, in hexadecimal, of vertices, edges and their properties.

        It is the same for every layout, engine, batch size and restart.
        """
        return state_hash(self.csr_of_keys(), records=self._kind.record.name)


def size_text(size: int) -> str:
    """Bytes for people: ``12.3 MB``."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"
