"""Triangles at every vertex, maintained: exact integers, batch by batch.

Rule
----
A batch breaks triangles that have a removed edge, in the graph before it, and makes some that have
an added edge, in the graph after it. A triangle with several changed edges is counted at the one of
the smallest key (`gpu_core/changes.py`): so each is counted once, and nothing is divided. What a
batch breaks and what it makes have no triangle in common, so their difference is exact for mixed
batches too. A vertex that is deleted loses all its edges, and with them all its triangles.

Directed graphs
---------------
Their edges are followed as *pairs* of vertices, joined by one edge or by two: triangles are those
of the undirected simple graph. Either step of a batch has a graph with all changed edges; without
them ``m`` edges of a pair become ``m - g``. Each triangle of pairs with a changed one counts once,
at the smallest of these, by what it comes to with the changed edges less what without them::

    triangles            1                 0 where a pair has no edge left
    directed triangles   m1 m2 m3          networkx' definition: of the edges on the three sides
    neighbor edges       m of the opposite pair, at each corner; LDBC's; 0 where a pair has none

So a pair that loses one of two edges breaks no triangle, and yet counts. The neighbors of a vertex,
and those with edges both ways, follow from the changed pairs alone. One definition is maintained:
the other is computed when it is asked for. In-neighbors are read, so they must be stored.

Repair or recount
-----------------
A repair looks up ``min(d(u), d(v))`` entries for each changed edge; of a directed graph ``d`` has
the entries of both directions, and each is looked up in both. A recount takes about the time of so
many look-ups for each entry of the graph, and so many for each triangle (grids, geometric, uniform
and R-MAT graphs), as each engine says. Before either step of a batch, where its look-ups would be
more, the counts become stale, and are recounted on request. The result is the same to
the bit. ``graphtide bench maintained`` measures how far the choice is from the better one.

What an engine offers: `TrianglesTwin`, which finds the common neighbors.

Source: batch-dynamic triangle counting (Makkar, Bader, Green, "Exact and Parallel Triangle Counting
in Dynamic Graphs", HiPC 2017), with an order of the changed edges in place of inclusion and
exclusion. Pairs of one and of two edges are ours; the definitions: `triangles/clustering.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...rows import Adjacencies, Array, Rows
from ..shared.adjacencies import adjacencies_of
from ..triangles.definitions import DIRECTED, check_definition

if TYPE_CHECKING:
    from ...engine import Reader

#: What is maintained by these, as `registry.py` names it.
NAME: Final = "clustering"
#: Names of the counts among the arrays of a checkpoint: int64 by vertex index. `LINKS`: those of
#: a directed graph, by the definition that they are counted by.
COUNTS: Final = "triangles"
NEIGHBORS: Final = "neighbors"
LINKS: Final = {"networkx": "directed_triangles", "ldbc": "neighbor_edges"}
BOTH_WAYS: Final = "both_ways"


class Kept(NamedTuple):
    """Counts by vertex index, of the types that the engine's ``count_triangles`` gives."""

    #: Triangles of the undirected simple graph.
    triangles: Array
    #: Of a directed graph, as of `TriangleCounts`; None: the graph is undirected.
    links: Array | None = None
    degree: Array | None = None
    #: None: the definition goes without them.
    both_ways: Array | None = None

    def each(self, change: Callable[[Array], Array]) -> Kept:
        """Apply ``change`` to every array."""
        return Kept(*(None if array is None else change(array) for array in self))


class ChangedPairs(Protocol):
    """Pairs of vertices with changed edges, as an engine keeps them."""

    @property
    def work(self) -> int:
        """Entries that are looked up to count their triangles."""


class TrianglesTwin(Protocol):
    """What an engine offers; ``workspace`` is that of its `Reader`."""

    def pairs_of(self, workspace: Any, adjacencies: Adjacencies, keys: Array) -> ChangedPairs:
        """Pairs of some edges, keys as of `gpu_core/changes.py`; the rows have all of them."""

    def look_ups_of_recount(self, adjacencies: Adjacencies, triangles: int) -> float:
        """Look-ups in the time that a recount takes."""

    def count_pairs(
        self, workspace: Any, adjacencies: Adjacencies, pairs: Any, kept: Kept, sign: int
    ) -> None:
        """Add to ``kept`` what the edges make, or (``sign`` -1) take away what they break."""

    def counts_of(self, workspace: Any, rows: Rows, kept: Kept) -> Any:
        """Counts as `count_triangles` of the engine returns them."""

    def total(self, workspace: Any, triangles: Array) -> int:
        """Triangles of the graph."""

    def resized(self, workspace: Any, counts: Array, count: int) -> Array:
        """Copy counts, with zeros for vertices that there were not."""

    def to_host(self, workspace: Any, counts: Array) -> npt.NDArray[np.int64]:
        """int64[vertex_count]: a copy for a checkpoint."""

    def from_host(self, workspace: Any, counts: Kept) -> Kept:
        """Counts of a checkpoint as they are kept here."""


class MaintainedTriangles:
    """An `engine.Maintained`: `Kept` counts.

    Parameters
    ----------
    directed
        Definition of clustering in a directed graph; makes no difference to an undirected one.

    Raises
    ------
    SettingsError
        The definition is unknown.
    """

    twin = "maintained_triangles"
    needs_reverse = True
    kept: Mapping[str, Mapping[str, str]] = {
        "vertices": dict.fromkeys((COUNTS, NEIGHBORS, *LINKS.values(), BOTH_WAYS), "int64")
    }
    #: Whether to repair where that takes longer than a recount: for tests and measurements.
    always_repairs = False

    def __init__(self, *, directed: str = DIRECTED[0]) -> None:
        check_definition(directed)
        self.directed = directed
        #: In the engine's memory; None: stale.
        self._kept: Kept | None = None
        #: Whether others hold those arrays too, so that they must not be written.
        self._is_shared = False
        #: Triangles of the graph when all were counted last.
        self._total = 0

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that it was made with."""
        return {"directed": self.directed}

    @property
    def is_stale(self) -> bool:
        """Whether the triangles are to be recounted."""
        return self._kept is None

    @property
    def nbytes(self) -> int:
        """Bytes of the counts; 0 of stale ones."""
        return sum(int(each.nbytes) for each in self._kept or () if each is not None)

    def begin(self, reader: Reader) -> None:
        """Count all triangles."""
        products = self.directed == "networkx"
        counts = reader.algorithms.triangles.count_triangles(
            reader.workspace, adjacencies_of(reader), products=products
        )
        kept = Kept(counts.triangles)
        if reader.kind.directed:
            both_ways = counts.both_ways if products else None
            kept = Kept(counts.triangles, counts.links, counts.degree, both_ways)
        self._take(reader, kept)

    def _take(self, reader: Reader, kept: Kept) -> None:
        self._kept, self._is_shared = kept, False
        self._total = _twin(reader).total(reader.workspace, kept.triangles)

    def settle(self, reader: Reader) -> None:
        """Count all triangles where they are stale."""
        if self._kept is None:
            self.begin(reader)

    def follows(self, reader: Reader, edges: int) -> bool:
        """Whatever the batch: what it costs shows in what has changed."""
        return True

    def follow(self, reader: Reader, edges: Array, *, is_added: bool) -> None:
        """Count what the edges make or break."""
        # Whatever breaks this off leaves it stale.
        kept, self._kept = self._kept, None
        if kept is None:
            return
        twin, workspace, adjacencies = _twin(reader), reader.workspace, adjacencies_of(reader)
        pairs = twin.pairs_of(workspace, adjacencies, edges)
        is_long = pairs.work > twin.look_ups_of_recount(adjacencies, self._total)
        if is_long and not self.always_repairs:
            return
        if self._is_shared or kept.triangles.size != adjacencies.out.count:
            kept, self._is_shared = self._resized(reader, kept), False
        twin.count_pairs(workspace, adjacencies, pairs, kept, 1 if is_added else -1)
        self._kept = kept

    @staticmethod
    def _resized(reader: Reader, kept: Kept) -> Kept:
        """Copy counts, with zeros for vertices that have come."""
        twin, workspace, count = _twin(reader), reader.workspace, reader.rows("out").count
        return kept.each(lambda array: twin.resized(workspace, array, count))

    def forget(self) -> None:
        """Have them recounted on request."""
        self._kept = None

    def answers(self, reader: Reader, directed: str) -> bool:
        """Whether the counts are those of this definition, where the graph has more than one."""
        return directed == self.directed or not reader.kind.directed

    def state(self, reader: Reader) -> Any:
        """Counts as the twins' ``count_triangles`` returns them."""
        return _twin(reader).counts_of(reader.workspace, reader.rows("out"), self._settled(reader))

    def _settled(self, reader: Reader) -> Kept:
        """Counts of all vertices, which others may hold from now on."""
        self.settle(reader)
        assert self._kept is not None
        if self._kept.triangles.size != reader.rows("out").count:
            # Vertices without edges have come.
            self._kept = self._resized(reader, self._kept)
        # Columns of a result may be these very arrays.
        self._is_shared = True
        return self._kept

    def frozen(self) -> MaintainedTriangles:
        """Copy it for an epoch of the graph as it is."""
        self._is_shared = True
        return copy(self)

    def _names(self, directed: str) -> Kept:
        """Names of the arrays of a checkpoint of a directed graph."""
        both_ways = BOTH_WAYS if directed == "networkx" else None
        return Kept(COUNTS, LINKS[directed], NEIGHBORS, both_ways)

    def arrays(self, reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
        """int64[vertex_count] each; nothing of stale ones."""
        if self._kept is None:
            return {}
        twin, workspace = _twin(reader), reader.workspace
        named = zip(self._names(self.directed), self._settled(reader), strict=True)
        return {name: twin.to_host(workspace, array) for name, array in named if array is not None}

    def restore(self, reader: Reader, arrays: Mapping[str, npt.NDArray[np.generic]]) -> bool:
        """Take the counts of a checkpoint; returns whether it has some."""
        if COUNTS not in arrays:
            return False
        named = Kept(COUNTS)
        if reader.kind.directed:
            there = [definition for definition, name in LINKS.items() if name in arrays]
            if not there:
                return False
            self.directed = there[0]
            named = self._names(self.directed)
        kept = named.each(lambda name: arrays[name])
        self._take(reader, _twin(reader).from_host(reader.workspace, kept))
        return True

    def audited(self, reader: Reader) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Counts as they were kept, and recounted, which are kept from then on."""
        kept = self.arrays(reader)
        if not kept:
            return {}
        self.begin(reader)
        found = self.arrays(reader)
        return {name: (kept[name], found[name]) for name in found}


def _twin(reader: Reader) -> TrianglesTwin:
    twin: TrianglesTwin = getattr(reader.algorithms, MaintainedTriangles.twin)
    return twin


def counts_of(reader: Reader, directed: str) -> Any:
    """Triangles of a graph by vertex index, as the twins' ``count_triangles`` returns them.

    Maintained ones where there are some of this definition, which makes no difference to an
    undirected graph.
    """
    maintained = _maintained(reader)
    if maintained is not None and maintained.answers(reader, directed):
        return maintained.state(reader)
    products = reader.kind.directed and directed == "networkx"
    twin = reader.algorithms.triangles
    return twin.count_triangles(reader.workspace, adjacencies_of(reader), products=products)


def any_definition(reader: Reader) -> str:
    """The definition whose counts cost least: that of maintained ones, or the simpler one."""
    maintained = _maintained(reader)
    return "ldbc" if maintained is None else maintained.directed


def _maintained(reader: Reader) -> MaintainedTriangles | None:
    return reader.maintained.get(NAME)  # type: ignore[return-value]
