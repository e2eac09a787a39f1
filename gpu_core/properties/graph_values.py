"""Values of a graph's own properties: in host memory beside it, and in step with its batches.

An engine knows nothing of them, so both have the same. They are kept by the int64 ids that the
engine calls vertices by (``names/``), in a table for edges and one for vertices (`table.py`), and
follow the net effect of each batch: what is deleted leaves its table, and each edge to put, and
each vertex that a row inserts, gets the values of the batch. The edges of a deleted vertex are
looked up before the batch is applied.

A batch is applied to both or to neither: memory is taken and edges are looked up before the engine
begins. If something cuts the call off between the two (Ctrl-C), the number of batches that the
engine has applied shows it: later batches, and calls that read properties, are refused. Other calls
see the graph after that batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..batch.update_batch import UpdateBatch
from ..copies.checkpoint import EDGE_PREFIX, VERTEX_PREFIX, checkpoint_arrays
from ..effects import edges_of, ids_of, incident_edges
from ..errors import BatchError, CorruptImageError, EngineError, SettingsError
from ..image.fields import Field
from ..jit.arrays import readonly
from ..printable import batch_shown
from .kinds import Column, Kinds, missing_column, missing_of
from .table import ValueTable, pieces

if TYPE_CHECKING:
    from ..batch.protocols import ListedBatch
    from ..engine import Engine, Reader
    from ..kind import GraphKind

Int64s = npt.NDArray[np.int64]
Values = dict[str, Column]


class GraphValues:
    """Values of all edges and vertices of a graph.

    Parameters
    ----------
    kind
        What the graph is.
    """

    def __init__(self, kind: GraphKind) -> None:
        self._kind = kind
        self._edges = ValueTable(kind.properties) if kind.properties else None
        self._vertices = ValueTable(kind.vertex_properties) if kind.vertex_properties else None
        #: Batches of the engine that are in it.
        self._batches = 0

    @property
    def nbytes(self) -> int:
        """Bytes of both tables."""
        return sum(each.nbytes for each in (self._edges, self._vertices) if each is not None)

    def pin(self) -> GraphValues:
        """The values as they are now, to be read; the next batch copies what they share."""
        copy = GraphValues.__new__(GraphValues)
        copy.__dict__.update(
            self.__dict__,
            _edges=None if self._edges is None else self._edges.pin(),
            _vertices=None if self._vertices is None else self._vertices.pin(),
        )
        return copy

    # -- batches -----------------------------------------------------------------------------

    def check(self, batch: ListedBatch) -> None:
        """Refuse a batch that inserts something without these properties, or with others.

        Raises
        ------
        BatchError
            It is another one.
        """
        if not batch.put_indices.size and not batch.put_vertices.size:
            return
        if not isinstance(batch, UpdateBatch):
            msg = "this graph has properties, which only an UpdateBatch carries; make one of rows"
            raise BatchError(msg)
        for setting, values in (
            ("properties", batch.put_values),
            ("vertex_properties", batch.put_vertex_values),
        ):
            theirs = {name: str(column.dtype) for name, column in values.items()}
            ours = dict(getattr(self._kind, setting))
            if theirs != ours:
                msg = (
                    f"{batch_shown(batch.batch_id)} is for {setting}={theirs}; the graph has {ours}"
                )
                raise BatchError(msg)

    @contextmanager
    def following(self, engine: Engine, batch: ListedBatch) -> Iterator[None]:
        """While the block runs, the engine applies a batch; then its values are entered.

        ``batch`` has passed `check`.

        Raises
        ------
        BatchError
            The batch breaks its own rules.
        ArenaFullError
            There is no memory for its values.
        """
        if isinstance(batch, UpdateBatch):
            batch.ensure_valid()
        with engine.lock:
            self.ensure_in_step(engine)
            gone = readonly(ids_of(engine, batch.delete_vertices))
            if self._edges is not None:
                self._edges.reserve(batch.put_indices.size)
                lost = self._folded(*incident_edges(engine, gone))
                deleted = self._folded(*edges_of(engine, batch, "delete"))
                put = self._folded(*edges_of(engine, batch, "put"))
            if self._vertices is not None:
                self._vertices.reserve(batch.put_vertices.size)
        yield
        if self._edges is not None:
            self._edges.drop(*lost)
            self._edges.drop(*deleted)
            if put[0].size:
                assert isinstance(batch, UpdateBatch)  # see `check`
                self._edges.put(*put, batch.put_values)
        if self._vertices is not None:
            self._vertices.drop(gone, gone)
            if batch.put_vertices.size:
                assert isinstance(batch, UpdateBatch)
                rows = batch.put_vertex_rows
                own = readonly(batch.put_vertices[rows])
                values = {name: column[rows] for name, column in batch.put_vertex_values.items()}
                self._vertices.put(own, own, values)
        self._batches += 1

    def ensure_in_step(self, reader: Reader) -> None:
        """Refuse to go on where the engine has applied other batches than the values follow.

        Raises
        ------
        EngineError
            It has.
        """
        if reader.arena[Field.BATCHES] != self._batches:
            msg = (
                "a batch was cut off after it was applied and before its properties were entered; "
                "restore the graph from its last checkpoint"
            )
            raise EngineError(msg)

    def verify(self, engine: Engine) -> None:
        """Check that each edge has values, and nothing else has.

        Raises
        ------
        CorruptImageError
            It is not so.
        """
        self.ensure_in_step(engine)
        if self._edges is None:
            return
        count, edges = len(self._edges), engine.num_edges
        src, dst = self._ends(checkpoint_arrays(engine))
        unknown = int(np.count_nonzero(self._edges.records(src, dst) < 0))
        if count != edges or unknown:
            msg = (
                f"corrupt properties: {count:,} edges have some, the graph has {edges:,} edges, "
                f"and {unknown:,} of these have none; please report this"
            )
            raise CorruptImageError(msg)

    # -- reading -----------------------------------------------------------------------------

    def of_edges(self, src: Int64s, dst: Int64s) -> Values:
        """Properties of edges by the ids of their ends; missing where there is no such edge."""
        return {} if self._edges is None else self._edges.values(*self._folded(src, dst))

    def of_vertices(self, ids: Int64s) -> Values:
        """Properties of vertices; missing where none were given."""
        return {} if self._vertices is None else self._vertices.values(readonly(ids), readonly(ids))

    def of_rows(self, ids: Int64s, degrees: npt.NDArray[Any], columns: npt.NDArray[Any]) -> Values:
        """Properties of the entries of adjacencies.

        Parameters
        ----------
        ids
            Of the vertices.
        degrees
            Entries of each of them.
        columns
            The other end of each entry, as its position among the vertices.
        """
        out: Values = {name: np.empty(columns.size, kind) for name, kind in self._kind.properties}
        if not out:
            return out
        ends = np.cumsum(degrees, dtype=np.int64)
        for piece in pieces(columns.size):
            first, last = np.searchsorted(ends, [piece.start, piece.stop - 1], "right")
            here = np.minimum(ends[first : last + 1], piece.stop)
            src = np.repeat(ids[first : last + 1], np.diff(here, prepend=piece.start))
            for name, values in self.of_edges(src, ids[columns[piece]]).items():
                out[name][piece] = values
        return out

    def _ends(self, arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[Int64s, Int64s]:
        """Keys of all edges, by arrays of a checkpoint."""
        ids, degrees, columns = (np.asarray(arrays[name]) for name in _ENGINE_ARRAYS)
        return self._folded(np.repeat(ids, degrees), ids[columns])

    def _folded(self, src: Int64s, dst: Int64s) -> tuple[Int64s, Int64s]:
        """Ends of edges as their key: of undirected ones the smaller id is first."""
        if not self._kind.directed:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        return readonly(src), readonly(dst)

    # -- checkpoints -------------------------------------------------------------------------

    def arrays(self, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """Arrays of a checkpoint, beside the ``arrays`` of the engine."""
        ids, degrees, columns = (arrays[name] for name in _ENGINE_ARRAYS)
        of_vertices = self.of_vertices(ids)
        for name, kind in self._kind.vertex_properties:
            of_vertices[name][~arrays["present"]] = missing_of(kind)
        return named(self.of_rows(ids, degrees, columns), of_vertices)

    def restore(self, engine: Engine, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take what `arrays` gave, for an engine that was restored from the same arrays."""
        if self._edges is not None:
            src, dst = self._ends(arrays)
            self._edges.reserve(src.size)
            self._edges.put(src, dst, _kept(self._kind.properties, EDGE_PREFIX, arrays))
        if self._vertices is not None:
            ids = np.asarray(arrays["vertex_ids"])
            values = _kept(self._kind.vertex_properties, VERTEX_PREFIX, arrays)
            given = np.zeros(ids.size, np.bool_)
            for name, kind in self._kind.vertex_properties:
                given |= _bits(values[name]) != _bits(missing_column(kind, ids.size))
            given &= arrays["present"]
            self._vertices.reserve(int(given.sum()))
            there = readonly(ids[given])
            self._vertices.put(there, there, {name: values[name][given] for name in values})
        self._batches = engine.arena[Field.BATCHES]


#: Arrays of a checkpoint that define which edges there are.
_ENGINE_ARRAYS = ("vertex_ids", "out_degree", "dst_index")


def named(of_edges: Mapping[str, Column], of_vertices: Mapping[str, Column]) -> dict[str, Column]:
    """Properties by the names that they have among the arrays of a checkpoint."""
    return {
        **{EDGE_PREFIX + name: column for name, column in of_edges.items()},
        **{VERTEX_PREFIX + name: column for name, column in of_vertices.items()},
    }


def _kept(kinds: Kinds, prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Values:
    lacking = [name for name, _ in kinds if prefix + name not in arrays]
    if lacking:
        msg = f"the checkpoint has no {prefix}{lacking[0]}; give the properties of its graph"
        raise SettingsError(msg)
    return {name: np.asarray(arrays[prefix + name], kind) for name, kind in kinds}


def _bits(column: Column) -> Column:
    return column.view(f"u{column.itemsize}")
