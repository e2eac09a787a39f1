"""Triangles at every vertex of an undirected graph, maintained: exact integers, batch by batch.

Rule
----
A batch breaks the triangles that have a removed edge, in the graph before it, and makes those that
have an added edge, in the graph after it. A triangle with several changed edges is counted at the
one of the smallest key (`gpu_core/changes.py`): so each is counted once, and nothing is divided.
What a batch breaks and what it makes have no triangle in common, so their difference is exact for
mixed batches too. A vertex that is deleted loses all its edges, and with them all its triangles.

Repair or recount
-----------------
A repair looks up ``min(d(u), d(v))`` entries for each changed edge. A recount takes about the time
of a look-up for each entry of the graph, and of ``LOOK_UPS_A_TRIANGLE`` for each triangle (grids,
geometric, uniform and R-MAT graphs). Before either step of a batch, where its look-ups would be
more, the counts become stale, and are counted anew when somebody asks. The result is the same to
the bit. ``graphtide bench maintained`` tells how far the choice is from the better one.

What an engine offers: ``algorithms.maintained_triangles``, which finds the common neighbors.

Source: batch-dynamic triangle counting (Makkar, Bader, Green, "Exact and Parallel Triangle Counting
in Dynamic Graphs", HiPC 2017), with an order of the changed edges in place of inclusion and
exclusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..shared.sides import sides_of

if TYPE_CHECKING:
    from ...engine import Reader

#: An array of the engine's array module.
Array = Any

#: What is maintained by these, as `registry.py` names it.
NAME: Final = "clustering"
#: Name of the counts among the arrays of a checkpoint: int64 by vertex index.
COUNTS: Final = "triangles"


class MaintainedTriangles:
    """A `maintained.Maintained`: triangles by vertex index."""

    twin = "maintained_triangles"
    engines: tuple[str, ...] = ("host", "cuda")
    follows_directed = needs_reverse = False
    #: It has no parameters.
    parameters: Mapping[str, Any] = {}
    #: Whether to repair where that takes longer than a recount: for tests and measurements.
    always_repairs = False

    def __init__(self) -> None:
        #: int64 or uint64[vertex_count] in the engine's memory; None: stale.
        self._triangles: Array | None = None
        #: Whether others hold that array too, so that it must not be written.
        self._is_shared = False
        #: Triangles of the graph when all were counted last.
        self._total = 0

    @property
    def is_stale(self) -> bool:
        """Whether the triangles are to be counted anew."""
        return self._triangles is None

    @property
    def nbytes(self) -> int:
        """8 bytes a vertex record; 0 of stale ones."""
        return 0 if self._triangles is None else int(self._triangles.nbytes)

    def begin(self, reader: Reader) -> None:
        """Count all triangles."""
        counts = reader.algorithms.triangles.count_triangles(reader.workspace, sides_of(reader))
        self._take(reader, counts.triangles)

    def _take(self, reader: Reader, triangles: Array) -> None:
        self._triangles, self._is_shared = triangles, False
        self._total = _twin(reader).total(reader.workspace, triangles)

    def settle(self, reader: Reader) -> None:
        """Count all triangles where they are stale."""
        if self._triangles is None:
            self.begin(reader)

    def follow(self, reader: Reader, edges: Array, *, is_added: bool) -> None:
        """Count what the edges make or break."""
        # Whatever breaks this off leaves it stale.
        triangles, self._triangles = self._triangles, None
        if triangles is None:
            return
        twin, workspace, rows = _twin(reader), reader.workspace, reader.rows("out")
        pairs = twin.pairs_of(workspace, rows, edges)
        recount = rows.num_entries + twin.LOOK_UPS_A_TRIANGLE * self._total
        if pairs.work > recount and not self.always_repairs:
            return
        if self._is_shared or triangles.size != rows.count:
            triangles, self._is_shared = twin.resized(workspace, triangles, rows.count), False
        twin.count_pairs(workspace, rows, pairs, triangles, 1 if is_added else -1)
        self._triangles = triangles

    def forget(self) -> None:
        """Have them counted anew when somebody asks."""
        self._triangles = None

    def state(self, reader: Reader) -> Any:
        """Counts as the twins' ``count_triangles`` returns them."""
        if self._triangles is None:
            self.begin(reader)
        rows = reader.rows("out")
        triangles: Array = self._triangles
        if triangles.size != rows.count:
            # Vertices without edges have come.
            triangles = _twin(reader).resized(reader.workspace, triangles, rows.count)
        # Columns of a result may be this very array.
        self._triangles, self._is_shared = triangles, True
        return _twin(reader).counts_of(reader.workspace, rows, triangles)

    def frozen(self) -> MaintainedTriangles:
        """Copy it for an epoch of the graph as it is."""
        self._is_shared = True
        return copy(self)

    def arrays(self, reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
        """int64[vertex_count], as `COUNTS`; nothing of stale ones."""
        if self._triangles is None:
            return {}
        return {COUNTS: _twin(reader).to_host(reader.workspace, self.state(reader).triangles)}

    def restore(self, reader: Reader, arrays: Mapping[str, npt.NDArray[np.generic]]) -> bool:
        """Take the counts of a checkpoint; returns whether it has some."""
        if COUNTS not in arrays:
            return False
        self._take(reader, _twin(reader).from_host(reader.workspace, arrays[COUNTS]))
        return True

    def audited(self, reader: Reader) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Counts as they were kept, and counted anew, which are kept from then on."""
        kept = self.arrays(reader)
        if not kept:
            return {}
        self.begin(reader)
        return {COUNTS: (kept[COUNTS], self.arrays(reader)[COUNTS])}


def _twin(reader: Reader) -> Any:
    return getattr(reader.algorithms, MaintainedTriangles.twin)


def counts_of(reader: Reader, *, products: bool = False) -> Any:
    """Triangles of a graph by vertex index: maintained ones where there are some.

    Parameters as of the twins' ``count_triangles``.
    """
    maintained = reader.maintained.get(NAME)
    if maintained is not None:
        return maintained.state(reader)
    twin = reader.algorithms.triangles
    return twin.count_triangles(reader.workspace, sides_of(reader), products=products)
