"""Effects: the differences between the graphs before and after a batch.

An `UpdateBatch` is what a batch requests. Effects are what it changed: an insert of an edge that
existed adds nothing, a deleted vertex loses its edges, and what is deleted and created again within
one batch has not changed. Incremental algorithms need these.

All that a batch can change is known beforehand: the edges that it names, those of the vertices that
it deletes, and their end points. These are looked up before and after it (`Touched`), on any
engine. The cost is that of the batch and of the deleted vertices' adjacencies; a directed graph
without ``reverse`` is searched for who points to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .image.fields import NONE
from .rows import entries_naming

# Not imported: who shows what became of a batch need not wait for Numba.
if TYPE_CHECKING:
    from .batch.protocols import ListedBatch
    from .engine import Reader
    from .names.user_ids import UserIds
    from .rows import Array

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Vertices:
    """Vertices in increasing order of users' ids, names in that of their keys.

    Attributes
    ----------
    ids
        [n]: users' ids.
    index
        uint32[n]: vertex indices; those of removed vertices before the batch, which may be given to
        others by the next one.
    """

    ids: Int64s
    index: UInt32s


@dataclass(frozen=True)
class Edges:
    """Edges in increasing order of (src, dst), each once; undirected: ``src <= dst``.

    Names are in the order of their keys, as in `GraphReader.edges`.

    Attributes
    ----------
    src, dst
        [m] each: users' ids.
    src_index, dst_index
        uint32[m]: vertex indices; those of removed vertices before the batch.
    old_weight, new_weight
        float32 or float64[m]: weights before and after the batch; None where edges have none, or
        were not there then.
    """

    src: Int64s
    dst: Int64s
    src_index: UInt32s
    dst_index: UInt32s
    old_weight: npt.NDArray[np.floating[Any]] | None = None
    new_weight: npt.NDArray[np.floating[Any]] | None = None

    def __len__(self) -> int:
        return int(self.src.size)


@dataclass(frozen=True)
class Effects:
    """Changes of a graph by one batch.

    Attributes
    ----------
    added
        Edges that exist now and did not before; they have a ``new_weight``.
    removed
        Edges that existed and no longer do; they have an ``old_weight``.
    reweighted
        Edges with another weight than before; they have both. Empty without weights.
    created
        Vertices that exist now and did not before.
    lost
        Vertices that existed and no longer do.
    """

    added: Edges
    removed: Edges
    reweighted: Edges
    created: Vertices
    lost: Vertices

    def in_users_ids(self, ids: UserIds) -> Effects:
        """The same with users' ids in place of those that the engine knows."""

        def edges(part: Edges) -> Edges:
            return replace(part, src=ids.ids_of_keys(part.src), dst=ids.ids_of_keys(part.dst))

        def vertices(part: Vertices) -> Vertices:
            return replace(part, ids=ids.ids_of_keys(part.ids))

        return Effects(
            edges(self.added),
            edges(self.removed),
            edges(self.reweighted),
            vertices(self.created),
            vertices(self.lost),
        )


class Touched:
    """The edges and vertices that a batch can change, as they are before it.

    Parameters
    ----------
    reader
        The graph, locked until `effects` has returned.
    batch
        Valid, as its engine takes it.
    """

    def __init__(self, reader: Reader, batch: ListedBatch) -> None:
        self._reader = reader
        put = edges_of(reader, batch, "put")
        deleted = edges_of(reader, batch, "delete")
        gone = ids_of(reader, batch.delete_vertices)
        lost = incident_edges(reader, gone)
        sources, targets = (np.concatenate(ends) for ends in zip(put, deleted, lost, strict=True))
        made = ids_of(reader, batch.put_vertices)
        self._ids, codes = np.unique(
            np.concatenate([sources, targets, gone, made]), return_inverse=True
        )
        # Edges by the numbers of their end points among the ids, as one key each.
        count = max(self._ids.size, 1)
        src, dst = codes[: sources.size], codes[sources.size : 2 * sources.size]
        if not reader.kind.directed:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        self._src, self._dst = np.divmod(np.unique(src * count + dst), count)
        self._before = self._looked_up()

    def _looked_up(self) -> _State:
        """Present state of the edges and vertices that the batch names."""
        index = self._reader.indices_of(self._ids)
        pairs = index[self._src], index[self._dst]
        if not self._reader.kind.record.has_weight:
            return _State(index, self._reader.has_edges(*pairs), None)
        return _State(index, *self._reader.edge_property("weight", *pairs))

    def effects(self) -> Effects:
        """Changes of the batch, once it is applied."""
        before, after = self._before, self._looked_up()
        # Who stays keeps the index.
        index = np.where(before.index != NONE, before.index, after.index)
        there, here = before.found, after.found
        changed = np.zeros(there.size, np.bool_)
        if before.weights is not None:
            changed = there & here & (before.weights != after.weights)

        def edges(which: npt.NDArray[np.bool_], *, old: bool, new: bool) -> Edges:
            src, dst = self._src[which], self._dst[which]
            weights = (
                None if state.weights is None or not has_any else state.weights[which]
                for state, has_any in ((before, old), (after, new))
            )
            return Edges(self._ids[src], self._ids[dst], index[src], index[dst], *weights)

        def vertices(was: bool, which: npt.NDArray[np.bool_]) -> Vertices:
            return Vertices(self._ids[which], (before if was else after).index[which])

        was, is_ = before.index != NONE, after.index != NONE
        return Effects(
            added=edges(here & ~there, old=False, new=True),
            removed=edges(there & ~here, old=True, new=False),
            reweighted=edges(changed, old=True, new=True),
            created=vertices(False, is_ & ~was),
            lost=vertices(True, was & ~is_),
        )


@dataclass(frozen=True)
class _State:
    #: uint32: index of each id, `NONE` where it is no vertex.
    index: UInt32s
    #: bool: whether each edge is there.
    found: npt.NDArray[np.bool_]
    #: Weights of those that are; None where edges have none.
    weights: npt.NDArray[np.floating[Any]] | None


def ids_of(reader: Reader, items: Array) -> Int64s:
    """Ids of a list of a batch, in host memory."""
    array = items if isinstance(items, np.ndarray) else reader.arena.xp.asnumpy(items)
    return array.astype(np.int64)


def edges_of(reader: Reader, batch: ListedBatch, kind: str) -> tuple[Int64s, Int64s]:
    """End points of the edges that a batch puts or deletes."""
    rows, indptr, columns = (
        ids_of(reader, getattr(batch, f"{kind}_{part}")) for part in ("rows", "indptr", "indices")
    )
    # Lists on a device may have room after their end.
    count = int(np.searchsorted(indptr[1:], columns.size)) + 1 if columns.size else 0
    return np.repeat(rows[:count], np.diff(indptr[: count + 1])), columns


def incident_edges(reader: Reader, gone: Int64s) -> tuple[Int64s, Int64s]:
    """Edges that begin or end at the vertices of these ids, some of them twice."""
    index = reader.indices_of(gone)
    index = index[index != NONE]
    if index.size == 0:
        return gone[:0], gone[:0]
    kind = reader.kind
    indptr, columns = reader.neighbors(index, "out")
    out = np.repeat(index, np.diff(indptr)), columns
    if not kind.directed:
        into = index[:0], index[:0]
    elif kind.has_reverse:
        indptr, columns = reader.neighbors(index, "in")
        into = columns, np.repeat(index, np.diff(indptr))
    else:
        xp = reader.arena.xp
        found = entries_naming(reader.pinned_rows("out"), xp.asarray(index), xp)
        into = found if xp is np else tuple(map(xp.asnumpy, found))
    return tuple(  # type: ignore[return-value]
        reader.ids_of(np.concatenate(ends)) for ends in zip(out, into, strict=True)
    )
