"""The lists of a batch, as arrays, and the check that they are valid.

`UpdateBatch` is made of them; how, and in which order they are applied: ``update_batch.py``.

Invariants
----------
* Edge lists are hypersparse CSR by source in users' ids: ``rows`` strictly increasing, no row
  empty, indices strictly increasing within a row. An edge stands in one of the two lists, once.
  Undirected edges have ``src < dst``.
* Vertex lists strictly increase. A vertex may be in both: deleted, then created again.
  ``put_vertices`` may name end points of edges to put.
* ``rows == dropped + overridden + edges to put + edges to delete + put_vertex_rows.sum() +
  delete_vertex_rows.sum()``.
* All arrays are contiguous and read-only, also after a transfer; pickle protocol 5 ships them as
  out-of-band buffers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..jit.arrays import readonly
from ..kind import check_on_repeat
from ..names.distinct import BatchNames
from ..records import record_named
from . import list_checks
from .net_effect.repeats import REPEATS
from .row_values import Values

_EDGE_LISTS = ("put", "delete")

_PROPERTIES = ("put_weight", "put_type", "put_first", "put_last", "put_reset")

_DTYPES = {
    **{
        f"{list_}_{part}": "int64"
        for list_ in _EDGE_LISTS
        for part in ("rows", "indptr", "indices")
    },
    "put_vertices": "int64",
    "put_vertex_rows": "bool",
    "delete_vertices": "int64",
    "delete_vertex_rows": "bool",
}

#: Set in an instance that is known to be valid; travels with it.
_CHECKED = "_checked"


@dataclass(frozen=True, eq=False, repr=False)
class BatchLists:
    """Edges and vertices to put and to delete, and what graph and rows they are of."""

    #: Number of the batch in log order; -1 for a batch made by hand.
    batch_id: int
    directed: bool
    #: ``simple``, ``weighted`` or ``semantic``.
    records: str
    #: Rows of the log in the batch; fewer than 2^31.
    rows: int
    #: Self loops that were dropped.
    dropped: int
    #: Rows without effect because of a later row of the batch.
    overridden: int

    #: Edges to put: sources int64[r], offsets int64[r + 1], targets int64[m].
    put_rows: npt.NDArray[np.int64]
    put_indptr: npt.NDArray[np.int64]
    put_indices: npt.NDArray[np.int64]
    #: Edges to delete, in the same form.
    delete_rows: npt.NDArray[np.int64]
    delete_indptr: npt.NDArray[np.int64]
    delete_indices: npt.NDArray[np.int64]

    #: int64[k]: vertices that exist afterwards, beside the end points of edges to put.
    put_vertices: npt.NDArray[np.int64]
    #: bool[k]: a vertex-insert row is decided by this entry (so it counts as a row).
    put_vertex_rows: npt.NDArray[np.bool_]
    #: int64[j]: vertices to delete first, with all their edges.
    delete_vertices: npt.NDArray[np.int64]
    #: bool[j]: a vertex-delete row is decided by this entry (otherwise a later insert row is).
    delete_vertex_rows: npt.NDArray[np.bool_]

    #: float32[m] or float64[m] where records have a weight.
    put_weight: npt.NDArray[np.floating[Any]] | None = None
    #: int32[m], int64[m], int64[m] of semantic records.
    put_type: npt.NDArray[np.int32] | None = None
    put_first: npt.NDArray[np.int64] | None = None
    put_last: npt.NDArray[np.int64] | None = None
    #: bool[m] of semantic records: the first time becomes ``put_first`` even if the edge is there,
    #: since the batch deletes the edge before it inserts it.
    put_reset: npt.NDArray[np.bool_] | None = None
    #: Weight of an edge that is inserted again (`net_effect/repeats.py`). Unless it is ``last``,
    #: every record has ``put_reset``: the graph's weight has no part in the new one. It is true as
    #: well where the batch deletes an end point.
    on_repeat: str = "last"
    #: uint32[k] and float[k] of ``sum``: number of a put, and the weight of one insert more of it,
    #: by put and in order.
    repeat_puts: npt.NDArray[np.uint32] | None = None
    repeat_weight: npt.NDArray[np.floating[Any]] | None = None
    #: What ``put_first`` and ``put_last`` count (`times.TimeUnit`); None: there are none.
    time_unit: str | None = None
    #: Rows that insert an edge with a weight that was rounded to the type of ``put_weight``.
    rounded: int = 0
    #: What the ids are: ``any`` and ``dense`` are both int64; of all others these are keys.
    ids: str = "any"
    #: The names that the rows name, if ids are names and the graph has not seen them yet.
    names: BatchNames | None = None
    #: Property of the user's own -> value of each edge to put; nothing where edges have none.
    put_values: Values = field(default_factory=dict)
    #: The same of each item of ``put_vertices``; they count where ``put_vertex_rows`` is true.
    put_vertex_values: Values = field(default_factory=dict)
    #: What became of self loops, and whether edges create their end points, as of the graph that
    #: the rows were for; None: that is not known.
    self_loops: str | None = None
    create_vertices: bool | None = None

    def __post_init__(self) -> None:
        record = record_named(self.records)
        kept = {f"put_{name}": dtype for name, dtype in record.dtypes.items()}
        check_on_repeat(self.on_repeat, record)
        if record.has_times or self.on_repeat != "last":
            kept["put_reset"] = "bool"
        if self.on_repeat == "sum":
            kept |= zip(REPEATS, ("uint32", str(record.weights)), strict=True)
        for name in (*_PROPERTIES, *REPEATS):
            if name not in kept and getattr(self, name) is not None:
                rule = f" with on_repeat={self.on_repeat!r}" if record.has_weight else ""
                self._refuse(f"{name} is given but {self.records} records{rule} do not keep it")
        for name, dtype in {**_DTYPES, **kept}.items():
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                self._refuse(f"{name} must be a one-dimensional {dtype} array")
            if not array.flags.c_contiguous:
                self._refuse(f"{name} must be contiguous")
        self._check_lengths()
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays: what a transfer moves."""
        names = 0 if self.names is None else self.names.nbytes
        values = (*self.put_values.values(), *self.put_vertex_values.values())
        return names + sum(array.nbytes for array in (*self._arrays().values(), *values))

    def taken_for_valid(self) -> Self:
        """The same, which is not validated when it is applied: its maker knows that it is valid."""
        self.__dict__[_CHECKED] = True
        return self

    @property
    def is_taken_for_valid(self) -> bool:
        """Whether it was validated, or its maker knows that it is valid."""
        return _CHECKED in self.__dict__

    def ensure_valid(self) -> None:
        """Validate once; batches of `UpdateBatch.from_rows` are valid as they are made."""
        if not self.is_taken_for_valid:
            self.validate()
            self.taken_for_valid()

    def validate(self) -> None:
        """Check every invariant of the module docstring, in one pass over the arrays.

        `UpdateBatch.from_rows` makes no batch that fails; this is for those put together otherwise.

        Raises
        ------
        BatchError
            Says which list breaks which rule, and at which vertex or edge.
        """
        for name in _EDGE_LISTS:
            self._check_edge_list(name)
        for name in ("put_vertices", "delete_vertices"):
            vertices = getattr(self, name)
            bad = vertices[1:] <= vertices[:-1]
            if bad.any():
                at = int(bad.argmax()) + 1
                self._refuse(f"{name} does not increase strictly at vertex {vertices[at]}")
        row, index = list_checks.common_edge(*self._edge_list("put"), *self._edge_list("delete"))
        if row >= 0:
            edge = f"({self.put_rows[row]}, {self.put_indices[index]})"
            self._refuse(f"edge {edge} is to be put and to be deleted")
        for name in ("put_weight", "repeat_weight"):
            weights = getattr(self, name)
            if weights is not None and not np.isfinite(weights).all():
                self._refuse(f"{name} holds a value that is not finite")
        numbers = self.repeat_puts
        if numbers is not None and numbers.size:
            if numbers[-1] >= self.put_indices.size or (numbers[1:] < numbers[:-1]).any():
                self._refuse("repeat_puts are no numbers of puts in order")
        counted = self.dropped + self.overridden
        counted += self.put_indices.size + self.delete_indices.size
        counted += int(self.put_vertex_rows.sum()) + int(self.delete_vertex_rows.sum())
        if counted != self.rows or min(self.dropped, self.overridden) < 0:
            self._refuse(f"{counted} rows are accounted for but the batch has {self.rows}")

    def _check_edge_list(self, name: str) -> None:
        rows, indptr, indices = self._edge_list(name)
        at, fault = list_checks.csr_fault(rows, indptr, indices, not self.directed)
        if fault == list_checks.BOUNDS:
            self._refuse(f"{name}_indptr does not run from 0 to the {indices.size} indices")
        if fault:
            what = list_checks.FAULTS[fault]
            self._refuse(f"{name} list, row of vertex {rows[at]}: {what}")

    def _check_lengths(self) -> None:
        edges, vertices = self.put_indices.size, self.put_vertices.size
        expected = {
            "put_indptr": self.put_rows.size + 1,
            "delete_indptr": self.delete_rows.size + 1,
            "put_vertex_rows": vertices,
            "delete_vertex_rows": self.delete_vertices.size,
            **dict.fromkeys(_PROPERTIES, edges),
            "repeat_weight": 0 if self.repeat_puts is None else self.repeat_puts.size,
        }
        for name, length in expected.items():
            array = getattr(self, name)
            if array is not None and array.size != length:
                self._refuse(f"{name} has {array.size} entries, expected {length}")
        for values, length in ((self.put_values, edges), (self.put_vertex_values, vertices)):
            for name, array in values.items():
                if array.shape != (length,):
                    self._refuse(f"{name} has {array.size} values, expected {length}")

    def _edge_list(self, name: str) -> tuple[npt.NDArray[np.int64], ...]:
        return tuple(getattr(self, f"{name}_{part}") for part in ("rows", "indptr", "indices"))

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {name: each for name, each in self.__dict__.items() if isinstance(each, np.ndarray)}

    def _freeze(self) -> None:
        # A view: the caller's own array stays as it is. One kind of array also means that a kernel
        # is compiled once, whether the batch was made here or came from another process.
        for name, array in self._arrays().items():
            self.__dict__[name] = readonly(array)
        for name in ("put_values", "put_vertex_values"):
            values = getattr(self, name)
            self.__dict__[name] = {each: readonly(values[each]) for each in values}

    def _refuse(self, what: str) -> None:
        name = "update batch" if self.batch_id < 0 else f"update batch {self.batch_id}"
        msg = f"{name}: {what}; make batches with UpdateBatch.from_rows"
        raise BatchError(msg)
