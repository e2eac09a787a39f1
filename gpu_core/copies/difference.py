"""What differs between two graphs of the same kind: edges and vertices, in users' ids.

Not here: what one batch changes, as it is applied (``effects.py``), and files.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..names.user_ids import UserIds
from .snapshot import CsrSnapshot

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ChangedEdges:
    """Edges that differ in one way, sorted by (src, dst); undirected: ``src <= dst``."""

    #: int64[m] each
    src: Int64s
    dst: Int64s
    #: Properties in the graph before, and after; one item an edge. Empty where they are not there.
    before: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    after: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.src.size)


@dataclass(frozen=True)
class ChangedVertices:
    """Vertices of both graphs with other properties, increasing."""

    #: int64[n]
    vertices: Int64s
    #: Properties in the graph before, and after; one item a vertex.
    before: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    after: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.vertices.size)


@dataclass(frozen=True)
class GraphDifference:
    """Edges and vertices of one of two graphs only, and those of both that carry other values."""

    edges_added: ChangedEdges
    edges_removed: ChangedEdges
    #: Of both graphs, with a property of which at least one bit differs.
    edges_changed: ChangedEdges
    #: int64, increasing.
    vertices_added: Int64s
    vertices_removed: Int64s
    #: Of both graphs, likewise.
    vertices_changed: ChangedVertices

    def in_users_ids(self, ids: UserIds) -> "GraphDifference":
        """The same with users' ids in place of those that the engine knows."""
        edges = {
            name: replace(part, src=ids.ids_of_keys(part.src), dst=ids.ids_of_keys(part.dst))
            for name, part in vars(self).items()
            if isinstance(part, ChangedEdges)
        }
        changed = self.vertices_changed
        return GraphDifference(
            **edges,
            vertices_added=ids.ids_of_keys(self.vertices_added),
            vertices_removed=ids.ids_of_keys(self.vertices_removed),
            vertices_changed=replace(changed, vertices=ids.ids_of_keys(changed.vertices)),
        )


def difference(before: CsrSnapshot, after: CsrSnapshot) -> GraphDifference:
    """Compare two graphs of the same direction, records, and names (``csr_of_keys``)."""
    # One numbering for both, so that an edge is one number, increasing as the edges are.
    ids = np.union1d(before.vertices, after.vertices)
    old_keys, old = _edges(before, ids)
    new_keys, new = _edges(after, ids)
    _, in_old, in_new = np.intersect1d(old_keys, new_keys, assume_unique=True, return_indices=True)
    removed = _others(in_old, old_keys.size)
    added = _others(in_new, new_keys.size)
    differs = np.zeros(in_old.size, np.bool_)
    for name, values in old.items():
        differs |= _bits(values[in_old]) != _bits(new[name][in_new])
    changed_old, changed_new = in_old[differs], in_new[differs]

    def ends(keys: Int64s) -> tuple[Int64s, Int64s]:
        src, dst = np.divmod(keys, max(ids.size, 1))
        return ids[src], ids[dst]

    return GraphDifference(
        ChangedEdges(*ends(new_keys[added]), {}, _at(new, added)),
        ChangedEdges(*ends(old_keys[removed]), _at(old, removed), {}),
        ChangedEdges(*ends(old_keys[changed_old]), _at(old, changed_old), _at(new, changed_new)),
        np.setdiff1d(after.vertices, before.vertices, assume_unique=True),
        np.setdiff1d(before.vertices, after.vertices, assume_unique=True),
        _changed_vertices(before, after),
    )


def _changed_vertices(before: CsrSnapshot, after: CsrSnapshot) -> ChangedVertices:
    ids, in_old, in_new = np.intersect1d(
        before.vertices, after.vertices, assume_unique=True, return_indices=True
    )
    old, new = _at(before.vertex_properties, in_old), _at(after.vertex_properties, in_new)
    differs = np.zeros(ids.size, np.bool_)
    for name, values in old.items():
        differs |= _bits(values) != _bits(new[name])
    at = np.flatnonzero(differs)
    return ChangedVertices(ids[at], _at(old, at), _at(new, at))


def _edges(graph: CsrSnapshot, ids: Int64s) -> tuple[Int64s, dict[str, npt.NDArray[np.generic]]]:
    """Edges as ``source * vertices + target`` in the numbering of ``ids``, and properties."""
    degrees, columns, properties = graph.each_edge_once()
    # Fewer than 2^31 vertices, so the product fits.
    position = np.searchsorted(ids, graph.vertices).astype(np.int64)
    return np.repeat(position, degrees) * ids.size + position[columns], properties


def _others(positions: npt.NDArray[np.intp], size: int) -> npt.NDArray[np.intp]:
    """Positions below ``size`` that are not among these."""
    is_other = np.ones(size, np.bool_)
    is_other[positions] = False
    return np.flatnonzero(is_other)


def _at(
    properties: dict[str, npt.NDArray[np.generic]], positions: npt.NDArray[np.intp]
) -> dict[str, npt.NDArray[np.generic]]:
    return {name: values[positions] for name, values in properties.items()}


def _bits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values as integers: the state hash tells -0.0 from 0.0."""
    return values.view(f"i{values.itemsize}")
