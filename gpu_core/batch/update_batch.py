"""UpdateBatch: the net effect of a run of log rows, as arrays.

``UpdateBatch.from_rows`` decides what the rows of a batch mean together; the engines only apply its
lists, in the order below. A GPU computes the same lists from `RawRows` (``cuda/convert/``); tests
compare the two.

1. delete ``delete_vertices``, with all their edges,
2. put ``put_vertices``,
3. delete the edges of the delete list,
4. put the edges of the put list, creating end points.

Every list is applied to the graph as it stands then. An edge or vertex that is there counts as
updated or deleted, one that is not as inserted or missing; with ``dropped`` and ``overridden``
these add up to ``rows``.

Not here: checks of input rows (`rows.py`), the closed form (`net_effect/net_effect.py`), Arrow
tables (``io/log/conversion.py``), and what a batch does to a graph (the engines).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..kind import RowMeaning, row_meaning
from ..names.user_ids import text_of_key
from ..times import check_together, convert, shown, time_unit_named
from .batch_lists import BatchLists
from .net_effect.row_effect import effect_of_rows
from .rows import Bounds, name_of_row


def _made_for(meaning: RowMeaning) -> dict[str, Any]:
    """Fields of a batch that say which graphs it is for."""
    return {
        "directed": meaning.directed,
        "records": meaning.record.name,
        "self_loops": meaning.self_loops,
        "create_vertices": meaning.create_vertices,
    }


#: Fields that may be left out, but for those whose default is made.
_DEFAULTS = {each.name: each.default for each in fields(BatchLists) if each.default is not MISSING}


class UpdateBatch(BatchLists):
    """The net effect of a batch's rows: edges and vertices to put and to delete.

    To *put* is to insert, or to update what exists. Made by `from_rows`; arrays are hypersparse
    CSR, with the invariants of ``batch_lists.py``. With names as ids, ids in the arrays are keys.
    """

    #: Whether ids that are names stay numbers of these.
    _is_numbered: ClassVar[bool] = False

    def __repr__(self) -> str:
        name = "by hand" if self.batch_id < 0 else str(self.batch_id)
        kind = f"{'directed' if self.directed else 'undirected'} {self.records}"
        return (
            f"<UpdateBatch {name}: {kind}, {self.rows:,} rows "
            f"({self.dropped:,} dropped, {self.overridden:,} overridden); "
            f"edges +{self.put_indices.size:,} -{self.delete_indices.size:,}, "
            f"vertices +{self.put_vertices.size:,} -{self.delete_vertices.size:,}; "
            f"{self.nbytes / 1e6:.1f} MB>"
        )

    @classmethod
    def empty(cls, **settings: Any) -> UpdateBatch:
        """A batch of no rows; settings as of `from_rows`."""
        nothing = np.empty(0, dtype=np.int64)
        # The times of no rows: semantic records ask for them.
        return cls.from_rows(None, nothing, nothing, ts=nothing, **settings)

    @classmethod
    def from_rows(
        cls,
        op: npt.ArrayLike | Any | None,
        src: npt.ArrayLike | None = None,
        dst: npt.ArrayLike | None = None,
        *,
        dst_valid: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        type: npt.ArrayLike | None = None,  # noqa: A002 -- the log's name for the column
        ts: npt.ArrayLike | None = None,
        time_unit: str | None = None,
        directed: bool = True,
        records: str = "simple",
        self_loops: str = "drop",
        create_vertices: bool = True,
        ids: str = "any",
        on_repeat: str = "last",
        properties: Mapping[str, str] | None = None,
        vertex_properties: Mapping[str, str] | None = None,
        values: Mapping[str, npt.ArrayLike] | None = None,
        batch_id: int = -1,
        row_name: Callable[[int], str] = name_of_row,
        bounds: Bounds | None = None,
    ) -> UpdateBatch:
        """Compute the net effect of ``n`` rows, applied one by one and in order.

        Parameters
        ----------
        op
            int8[n], 1 inserts and -1 deletes; None: all insert. Or, as the only argument, a frame
            of pandas, polars, Arrow or others with all columns of the rows, named as in a log.
        src, dst
            int64[n], users' ids.
        dst_valid
            bool[n], False if the row is about the vertex ``src``; None: all are about edges.
        weight, type, ts
            float[n]; int32[n]; int64[n] or datetime64[n]. What the records do not keep is ignored,
            as are values of rows that do not insert an edge. A missing weight is 1, a missing type
            0; semantic records need ``ts``.
        time_unit
            Unit of ``ts``, such as ``timestamp[us, tz=UTC]``, for integers, or for datetime64 with
            a zone. None: integers are in the graph's unit.
        directed
            If False, edges are normalized to ``src <= dst`` first.
        records
            ``simple``, ``weighted`` or ``semantic``; for float64 weights ``weighted64`` or
            ``semantic64``.
        self_loops
            ``drop``: such rows are ignored; ``keep``: only directed graphs; ``reject``.
        create_vertices
            If False, inserting an edge does not create its end points: only vertex rows do, and
            the engine checks that the end points exist.
        ids
            Kind of ids, as of the graph that the batch is for: ``string``, ``uuid`` and ``uint64``
            take such ids instead of int64.
        on_repeat
            Weight of an edge that is inserted again, as of the graph that the batch is for:
            ``last``, ``sum``, ``min``, ``max``, ``count`` or ``first``: `net_effect/repeats.py`.
        properties, vertex_properties
            User-defined properties, as of the graph that the batch is for.
        values
            Property -> [n], the value of each row's edge or vertex.
        batch_id
            Number of the batch in log order.
        row_name
            Function from the offset of a row to its name in messages.
        bounds
            Smallest and largest source, smallest and largest destination, or bounds of these, if
            the caller knows them, which saves a pass over all ids. Wrong bounds do no harm.

        Raises
        ------
        BatchError
            Columns have different lengths or types, or a row is invalid; the message names it.
        SettingsError
            ``records``, ``self_loops`` or ``on_repeat`` is unknown or contradicts another one.
        """
        meaning = row_meaning(
            directed=directed, records=records, self_loops=self_loops,
            create_vertices=create_vertices, ids=ids, on_repeat=on_repeat,
            properties=properties, vertex_properties=vertex_properties,
        )  # fmt: skip
        if src is None and dst is None:
            from ... import batch_of_frame

            return batch_of_frame(op, meaning, batch_id=batch_id)
        return cls.of_rows(
            op, src, dst, meaning, batch_id=batch_id, dst_valid=dst_valid, weight=weight, type=type,
            ts=ts, time_unit=time_unit, values=values, row_name=row_name, bounds=bounds,
        )  # fmt: skip

    @classmethod
    def of_rows(
        cls,
        op: npt.ArrayLike | None,
        src: npt.ArrayLike | None,
        dst: npt.ArrayLike | None,
        meaning: RowMeaning,
        *,
        batch_id: int = -1,
        **columns: Any,
    ) -> Self:
        """Compute the net effect of rows as `from_rows`, with their meaning as one object.

        Parameters
        ----------
        meaning
            What rows mean, such as the kind of the graph that the batch is for.
        op, src, dst, batch_id, columns
            As of `from_rows`.

        Raises
        ------
        BatchError
            As of `from_rows`.
        """
        effect = effect_of_rows(op, src, dst, meaning, **columns, numbered=cls._is_numbered)
        return cls._of_effect({"batch_id": batch_id, **effect}, meaning)

    @classmethod
    def _of_effect(cls, effect: dict[str, Any], meaning: RowMeaning) -> Self:
        batch = cls.of_valid_fields(meaning, **effect)
        batch._freeze()
        return batch

    @classmethod
    def of_valid_fields(cls, meaning: RowMeaning, **given: Any) -> Self:
        """Make a batch of fields without a look at them; those left out have their defaults."""
        batch = cls.__new__(cls)
        batch.__dict__.update(_DEFAULTS, **_made_for(meaning), **given)
        return batch.taken_for_valid()

    def has_self_loops(self) -> bool:
        """Whether an edge to put is one."""
        sources = np.repeat(self.put_rows, np.diff(self.put_indptr))
        return bool((sources == self.put_indices).any())

    def in_time_unit(self, wanted: str, whose: str = "the unit asked for is") -> UpdateBatch:
        """The batch with its times in another unit; integers are taken to be in it.

        Raises
        ------
        BatchError
            The units do not go together, or one of its times does not fit the other one.
        """
        if self.time_unit in (None, "int64", wanted):
            return self
        given, unit = time_unit_named(str(self.time_unit)), time_unit_named(wanted)
        check_together(given, unit, whose)
        times: dict[str, Any] = {}
        for name in ("put_last", "put_first"):
            values: npt.NDArray[np.int64] = getattr(self, name)
            times[name], bad = convert(values, given, unit)
            if bad is not None:
                at = int(bad.argmax())
                row = int(np.searchsorted(self.put_indptr, at, "right")) - 1
                ends = int(self.put_rows[row]), int(self.put_indices[at])
                edge = ", ".join(text_of_key(self.ids, self.names, end) for end in ends)
                msg = (
                    f"the time {shown(values[at], given)} of edge ({edge}) is no {wanted} within "
                    f"int64, but {whose} {wanted}; round it, or keep times in a finer unit"
                )
                raise BatchError(msg)
        converted = replace(self, **times, time_unit=wanted)
        return converted.taken_for_valid() if self.is_taken_for_valid else converted
