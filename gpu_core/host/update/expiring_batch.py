"""ExpiringBatch: the deletes of all expired edges, listed on request only."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from ...batch.deletes import deleting_batch
from ...batch.update_batch import UpdateBatch
from ...id_kinds import form_of
from ...jit.arrays import readonly
from ..queries.expired import Expired, find_expired
from ..queries.host_graph import HostGraph

UInt32s = npt.NDArray[np.uint32]

_LISTS = ("delete_rows", "delete_indptr", "delete_indices")

_NO_IDS = readonly(np.empty(0, np.int64))
_NO_ROWS = readonly(np.zeros(1, np.int64))
_NO_FLAGS = readonly(np.empty(0, np.bool_))


class ExpiringBatch(UpdateBatch):
    """As an `UpdateBatch`, made by `of` alone, for the graph as it is then.

    The adjacency ``out`` goes by the rows that have such edges (`expiry.py`). The reverse one has
    no times: it goes by the list of edges, as what follows the changes of a batch does, such as
    effects.
    """

    graph: HostGraph
    #: Edges of that last time or before.
    until: int
    #: uint32: vertex indices of the rows that may have some, increasing.
    rows_due: UInt32s
    #: int64, by vertex index: a lower bound of the times of each row.
    oldest: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls, graph: HostGraph, until: int, rows_due: UInt32s, oldest: npt.NDArray[np.int64]
    ) -> Self:
        """Make the batch."""
        kind = graph.kind
        return cls.of_valid_fields(
            kind, batch_id=-1,
            on_repeat=kind.on_repeat, ids="any" if form_of(kind.ids) == "dense" else kind.ids,
            rows=0, dropped=0, overridden=0,
            put_rows=_NO_IDS, put_indptr=_NO_ROWS, put_indices=_NO_IDS, put_values={},
            put_vertices=_NO_IDS, put_vertex_rows=_NO_FLAGS, put_vertex_values={},
            delete_vertices=_NO_IDS, delete_vertex_rows=_NO_FLAGS,
            graph=graph, until=until, rows_due=rows_due, oldest=oldest,
        )  # fmt: skip

    @cached_property
    def edges(self) -> Expired:
        """The entries, listed; to be asked for before it is applied."""
        return self._found(with_targets=True)

    @cached_property
    def expired(self) -> Expired:
        """The entries, listed or not; likewise."""
        return self.__dict__.get("edges") or self._found(with_targets=False)

    def _found(self, *, with_targets: bool) -> Expired:
        return find_expired(self.graph.arena, self.rows_due, self.until, with_targets=with_targets)

    def __getattr__(self, name: str) -> npt.NDArray[np.int64]:
        """One of the lists of ids, likewise; an undirected edge by its lower index."""
        if name not in _LISTS:
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)
        edges = self.edges
        sources, targets = np.repeat(edges.rows, np.diff(edges.indptr)), edges.targets
        if not self.directed:
            once = sources < targets
            sources, targets = sources[once], targets[once]
        ids = map(self.graph.ids_of, (sources, targets))
        listed = deleting_batch(self.graph.kind, *ids)
        self.__dict__.update({each: getattr(listed, each) for each in _LISTS})
        return self.__dict__[name]
