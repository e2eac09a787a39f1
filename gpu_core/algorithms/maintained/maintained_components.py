"""Weakly connected components, maintained: repaired where a batch joins or splits them.

Certificate
-----------
Every vertex has the *root* of its component, which identifies the component, and a
*level*. A vertex is *below* another one if it has a lower level, or the same one and a smaller
index. A root has level 0, no other vertex has, and every other vertex has a neighbor in its
component that is below it. Steps down from neighbor to neighbor lead to the root: so
levels prove that a component is connected. They are those of a breadth-first search when they are
made, and only need to be in order afterwards. Indices settle what levels alone would not: the
neighbors of a hub that is the root hold one another.

A batch
-------
Of a removed edge only the end that is above the other one can lose anything, and only if it has no
other neighbor below it. So one look into its row settles nearly all deletes:

1. Vertices without such a neighbor are *unproven*; then those that have no neighbor below them but
   unproven ones, and so on. All others are as they were.
2. An unproven vertex beside a proven one of its component takes a level above it, and the vertices
   after it follow. Those that none reaches have been cut off: each piece of them is searched
   from one of its vertices, and is a component of its own.
3. An added edge within a component changes nothing. Those between components join them: all but the
   one with the most vertices, or of two the smaller, are searched from its side, and take levels
   above it.

Removed edges are worked on in the graph without them, which is the one that the next step sees. A
vertex that is deleted loses all its edges; its index has a component of its own from then on.

Repair or recount
-----------------
The search that makes levels reads every entry once. Looking after a changed edge takes the time of
``ENTRIES_AN_EDGE`` of those reads; where a batch changes more than that allows, its components
become stale, and are searched on request. How many vertices become unproven, or have to be
joined, is not known before. What reads more than one of ``ENTRIES_A_READ`` entries is broken off,
and stale too. In graphs of fewer than ``FEWEST_ENTRIES`` entries a recount is always sooner, and
they stay stale. Components are the same to the bit in every case. ``graphtide bench maintained``
measures how far the choice is from the better one.

To make levels may take longer than to find components alone: on a GPU a search goes level by level,
and there may be thousands. So the first ``RECOUNTS_A_SEARCH`` questions to stale components are
answered by a recount, and levels are made for the next one. That was in vain if no batch is
followed before they are stale again: then twice as many questions wait for them, and at least one,
until one is followed. So they cost little where all batches are large.

What an engine offers: `ComponentsTwin`. Levels and roots of two engines, and of two runs on a GPU,
are different ones, and either engine goes on from those of the other.

Sources: Even, Shiloach, "An On-Line Edge-Deletion Problem", J. ACM 1981 (levels); McColl, Green,
Bader, "A New Parallel Algorithm for Connected Components in Dynamic Graphs", HiPC 2013 (what proves
that a delete cuts nothing). Levels that are in order, and no distances, are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...rows import Adjacencies, Array, Rows
from ..shared.adjacencies import adjacencies_of

if TYPE_CHECKING:
    from ...engine import Reader

#: What is maintained by these, as `registry.py` names it.
NAME: Final = "weakly_connected_components"
#: Questions that are answered by a recount, at most, before levels are made again.
_MOST_RECOUNTS: Final = 256
#: Names among the arrays of a checkpoint: uint32 by vertex index.
ROOTS: Final = "component_roots"
LEVELS: Final = "component_levels"


class Forest(NamedTuple):
    """Components and what proves them, by vertex index; arrays of the engine."""

    #: uint32[vertex_count]: the vertex of the component that has level 0.
    root: Array
    #: uint32[vertex_count]
    level: Array
    #: uint32[vertex_count]: vertices of the component of each root; of no meaning elsewhere.
    size: Array


class ComponentsTwin(Protocol):
    """What an engine offers; ``workspace`` is that of its `Reader`."""

    #: Entries that a search reads in the time in which a changed edge is looked after, and in which
    #: one is read to repair levels.
    ENTRIES_AN_EDGE: int
    ENTRIES_A_READ: int
    #: Recounts in the time of a search.
    RECOUNTS_A_SEARCH: int
    #: Entries of the smallest graph whose repair may take less time than a recount.
    FEWEST_ENTRIES: int

    def search(self, workspace: Any, adjacencies: Adjacencies) -> Forest:
        """Components of a graph, from nothing."""

    def repair(
        self, workspace: Any, adjacencies: Adjacencies, forest: Forest, removed: Array | None,
        added: Array | None, most: int | None,
    ) -> bool:  # fmt: skip
        """Repair a forest; returns whether that is done, rather than broken off.

        Parameters
        ----------
        adjacencies
            Of the graph without the removed edges, and with the added ones.
        forest
            Of the graph before; written.
        removed, added
            As of `gpu_core/changes.py`; None: there are none.
        most
            Entries that may be read, by each of the two; None: any number.
        """

    def resized(self, workspace: Any, forest: Forest, count: int) -> Forest:
        """Copy a forest, with a component of its own for each vertex that there was not."""

    def roots_of(self, workspace: Any, forest: Forest, count: int) -> Array:
        """uint32[count]: a copy of the roots."""

    def all_of(self, workspace: Any, rows: Rows) -> Array:
        """Order of all indices, absent ones too."""

    def audit_arrays(
        self, workspace: Any, adjacencies: Adjacencies, forest: Forest
    ) -> dict[str, npt.NDArray[Any]]:
        """Arrays that an audit compares, by vertex index."""

    def to_host(self, workspace: Any, items: Array) -> npt.NDArray[Any]:
        """Copy items for a checkpoint."""

    def from_host(self, workspace: Any, root: Any, level: Any) -> Forest:
        """A forest of a checkpoint as it is kept here."""


class MaintainedComponents:
    """An `engine.Maintained`: a `Forest`."""

    twin = "maintained_components"
    needs_reverse = True
    kept: Mapping[str, Mapping[str, str]] = {"vertices": {ROOTS: "uint32", LEVELS: "uint32"}}
    #: It has no parameters.
    parameters: Mapping[str, Any] = {}
    #: Whether to repair where that takes longer than a recount: for tests and measurements.
    always_repairs = False

    def __init__(self) -> None:
        #: None: stale.
        self._forest: Forest | None = None
        #: Keys of removed edges whose ends are not checked yet.
        self._removed: Array | None = None
        #: Whether others hold these arrays too, so that they must not be written.
        self._is_shared = False
        #: How often all components were searched.
        self.begun = 0
        #: Whether a batch was followed since then, or the search took no time.
        self._is_followed = True
        #: Questions to stale components, and how many of them a search waits for; None: as many as
        #: the engine's twin says.
        self._asked = 0
        self._waits: int | None = None
        #: Of what an epoch has: questions before it. What is searched for an epoch goes with it.
        self._asked_before = 0

    @property
    def is_stale(self) -> bool:
        """Whether the components are to be searched again."""
        return self._forest is None

    @property
    def nbytes(self) -> int:
        """12 bytes a vertex record; 0 of stale ones."""
        return sum(int(each.nbytes) for each in self._forest or ())

    def begin(self, reader: Reader) -> None:
        """Search all components."""
        self._removed = None
        self.begun += 1
        adjacencies = adjacencies_of(reader)
        # In a graph without edges the search takes no time that could be in vain.
        self._is_followed = adjacencies.out.num_entries == 0
        self._asked = self._asked_before = 0
        self._forest = _twin(reader).search(reader.workspace, adjacencies)
        self._is_shared = False

    def settle(self, reader: Reader) -> None:
        """Work on the edges that were removed last; search where components were stale long enough.

        They may be stale after it.
        """
        if self._forest is not None and self._removed is not None:
            self._repair(reader, None)
        if self._forest is None:
            waits = _twin(reader).RECOUNTS_A_SEARCH if self._waits is None else self._waits
            self._asked += 1
            if self._asked - self._asked_before > waits and self._may_pay(reader):
                self.begin(reader)

    def follows(self, reader: Reader, edges: int) -> bool:
        """Whatever the batch: what it costs shows in what has changed."""
        return True

    def follow(self, reader: Reader, edges: Array, *, is_added: bool) -> None:
        """Repair what earlier steps have removed, and what is added."""
        if self._forest is None:
            return
        if self._removed is not None or is_added:
            self._repair(reader, edges if is_added else None)
        if self._forest is not None and not is_added:
            self._removed = edges

    def _repair(self, reader: Reader, added: Array | None) -> None:
        # Whatever breaks this off leaves it stale.
        forest, self._forest = self._forest, None
        removed, self._removed = self._removed, None
        assert forest is not None
        twin, adjacencies = _twin(reader), adjacencies_of(reader)
        # Unless all goes well, as of now.
        if not self._is_followed:
            before = twin.RECOUNTS_A_SEARCH if self._waits is None else self._waits
            self._waits = min(max(2 * before, 1), _MOST_RECOUNTS)
        most: int | None = adjacencies.out.num_entries // twin.ENTRIES_A_READ
        changed = sum(0 if keys is None else int(keys.size) for keys in (removed, added))
        if self.always_repairs:
            most = None
        elif not self._may_pay(reader):
            return
        elif changed * twin.ENTRIES_AN_EDGE > adjacencies.out.num_entries:
            return
        if self._is_shared or forest.root.size != adjacencies.out.count:
            forest = twin.resized(reader.workspace, forest, adjacencies.out.count)
            self._is_shared = False
        if twin.repair(reader.workspace, adjacencies, forest, removed, added, most):
            self._forest = forest
            self._is_followed, self._waits = True, None

    def _may_pay(self, reader: Reader) -> bool:
        """Whether the graph is one where a repair may take less time than a recount."""
        is_large = reader.rows("out").num_entries >= _twin(reader).FEWEST_ENTRIES
        return self.always_repairs or is_large

    def forget(self) -> None:
        """Have them searched again on request."""
        self._forest = self._removed = None

    def state(self, reader: Reader) -> Any:
        """Roots by vertex index, as `name_components` of the engine takes them; a copy.

        None: the components are stale, and a recount is the better answer.
        """
        self.settle(reader)
        forest = self._forest
        if forest is None:
            return None
        return _twin(reader).roots_of(reader.workspace, forest, reader.rows("out").count)

    def frozen(self) -> MaintainedComponents:
        """Copy it for an epoch of the graph as it is."""
        self._is_shared = True
        frozen = copy(self)
        frozen._asked_before = self._asked
        return frozen

    def arrays(self, reader: Reader) -> dict[str, npt.NDArray[np.generic]]:
        """`ROOTS` and `LEVELS`; nothing of stale ones, unless recomputed since."""
        if self._forest is not None:
            self.settle(reader)
        elif not self._asked:
            return {}
        if self._forest is None:
            # A search takes little time beside a checkpoint, and the next run need not make it.
            self.begin(reader)
        assert self._forest is not None
        twin, workspace = _twin(reader), reader.workspace
        forest = twin.resized(workspace, self._forest, reader.rows("out").count)
        return {
            ROOTS: twin.to_host(workspace, forest.root),
            LEVELS: twin.to_host(workspace, forest.level),
        }

    def restore(self, reader: Reader, arrays: Mapping[str, npt.NDArray[np.generic]]) -> bool:
        """Take the components of a checkpoint; returns whether it has some."""
        if ROOTS not in arrays or LEVELS not in arrays:
            return False
        twin = _twin(reader)
        self._forest = twin.from_host(reader.workspace, arrays[ROOTS], arrays[LEVELS])
        self._removed, self._is_shared = None, False
        return True

    def audited(self, reader: Reader) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Components, their sizes and what is unproven, and the same from nothing."""
        if self._forest is None:
            return {}
        twin, workspace, adjacencies = _twin(reader), reader.workspace, adjacencies_of(reader)
        self.settle(reader)
        forest = self._forest
        if forest is None:
            return {}
        kept = twin.audit_arrays(
            workspace, adjacencies, twin.resized(workspace, forest, adjacencies.out.count)
        )
        plain = reader.algorithms.weakly_connected_components.first_members
        self.begin(reader)
        found = twin.audit_arrays(workspace, adjacencies, self._forest)
        found["first_index"] = twin.to_host(
            workspace, plain(workspace, adjacencies, twin.all_of(workspace, adjacencies.out))
        )
        return {name: (kept[name], found[name]) for name in found}


def _twin(reader: Reader) -> ComponentsTwin:
    twin: ComponentsTwin = getattr(reader.algorithms, MaintainedComponents.twin)
    return twin
