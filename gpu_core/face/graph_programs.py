"""Algorithms of the user's own: programs, and loops over frontiers, as methods of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..choices import one_of
from ..errors import SettingsError
from ..names.user_ids import listed
from ..programs import run as _programs
from ..programs.frontier import DIRECTIONS, Frontier, make_frontier
from ..programs.program import Program
from ..programs.vertex_state import Origin, VertexState
from ..properties.kinds import array_of
from ..properties.masked import refuse_masked
from .arguments.checks import Id, Ids, count_of, yes_or_no
from .graph_calls import GraphCalls


class GraphPrograms(GraphCalls):
    """Programs, and frontiers for users' own traversals; see `GraphReader`."""

    def run_program(
        self,
        program: Program,
        values: Any,
        *,
        default: float | None = None,
        active: Id | Ids | None = None,
        max_supersteps: int | None = None,
        tolerance: float | None = None,
        direction: str = "auto",
        weight: str | None = "weight",
        vertex_order: str = "none",
        remap: bool = False,
    ) -> _programs.ProgramResult:
        """Run functions of your own over all edges, superstep by superstep; see `Program`.

        Parameters
        ----------
        program
            The functions.
        values
            Initial values: one number for all vertices; one for each, in the order of `vertices`;
            or a mapping of ids, a pandas Series by its index, ``(ids, values)``, or a result of one
            value a vertex.
        default
            Initial value of vertices that such ``values`` leave out.
        active
            Ids of the vertices that send in the first superstep; None: all.
        max_supersteps
            Most supersteps; None: until no vertex is active, however many that takes.
        tolerance
            With ``all_vertices=True``: the program also ends when a superstep changes the values
            by at most this in sum (L1 norm).
        direction
            ``"push"``: active vertices write to their neighbors; ``"pull"``: all vertices read from
            theirs, from a reversed copy of all edges if in-neighbors are not stored; ``"auto"``:
            whichever is less work in each superstep. It does not change values.
        weight
            ``"weight"``: edges have their weights, or 1 where there are none. None: 1 each.
        vertex_order
            For pulls on a GPU: ``"linear"`` and ``"log2"`` sort vertices by degree into buckets of
            equal width or by the logarithm, so that neighboring threads read rows of similar
            length; ``"none"`` keeps their order. It does not change values.
        remap
            For pulls on a GPU: True reads short rows from a copy, made once per call, in which the
            entries of 32 rows are stored column by column. It does not change values.

        Raises
        ------
        SettingsError
            Values are no numbers of the program's type, some are missing, or the direction is not
            one of the program.
        VertexNotFoundError
            ``values`` or ``active`` names a vertex that is not in the graph.
        """
        if max_supersteps is not None:
            max_supersteps = count_of("max_supersteps", max_supersteps)
        with self._computing():
            return self._of_users(
                _programs.run_program(
                    self._reader,
                    program,
                    values if np.isscalar(values) else self._keys_of_values("values", values),
                    default=default,
                    active=None if active is None else self._keys_of_ids("active", listed(active)),
                    options=_programs.RunOptions(
                        max_supersteps,
                        tolerance,
                        direction,
                        weight,
                        vertex_order,
                        yes_or_no("remap", remap),
                    ),
                )
            )

    def frontier(
        self, vertices: Id | Ids | Frontier | None = None, *, direction: str = "out"
    ) -> Frontier:
        """Return a set of vertices, from which users' functions follow edges; see `Frontier`.

        Parameters
        ----------
        vertices
            An id, ids, or another frontier of this graph; duplicates count once. None: all
            vertices.
        direction
            Edges that operators follow: ``"out"``, or ``"in"`` and ``"both"``, which need the
            reverse adjacency; on undirected graphs all three are the same.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.
        SettingsError
            The direction is unknown, or not stored.

        Notes
        -----
        It is valid until a batch changes the graph; then its operators raise `StaleViewError`. A
        frontier of an epoch (``graph.pin()``) lasts as long as the epoch.

        Source: Wang et al., "Gunrock: A High-Performance Graph Processing Library on the GPU",
        PPoPP 2016.
        """
        one_of("direction", direction, DIRECTIONS)
        if direction != "out":
            self._need_reverse(f"frontier(direction={direction!r})")
        with self._reader.lock:
            return make_frontier(self._origin(), direction, self._indices_of(vertices))

    def vertex_state(self, /, **values: Any) -> VertexState:
        """Return named arrays with a value for each vertex, for functions over frontiers.

        Parameters
        ----------
        values
            Initial values by the name of the array: one number or bool for all vertices; or one for
            each in the order of `vertices`; or by ids: a Series of pandas by its index, a mapping,
            or ``(ids, values)``. The array is bool, int64 or float64, depending on the values.

        Raises
        ------
        SettingsError
            There are no values, they are no numbers, or they are not one for each vertex.
        VertexNotFoundError
            Values name a vertex that is not in the graph.

        Notes
        -----
        It is valid until a batch changes the graph, as a `frontier` is.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([1, 2, 3], [2, 3, 1]).edges_added
        3
        >>> state = graph.vertex_state(label=graph.vertices(), seen=False)
        >>> _ = graph.frontier([2]).for_vertices(lambda label: (-label, True), state,
        ...                                      into=("label", "seen"))
        >>> state["label"], state["seen"]
        (array([ 1, -2,  3]), array([False,  True, False]))
        """
        with self._reader.lock:
            inside = {name: self._one_each(name, given) for name, given in values.items()}
            return VertexState(self._origin(), inside)

    def _one_each(self, name: str, given: Any) -> Any:
        """Values by ids in the order of `vertices`, all of which have one; others as they are."""
        named = self._named(name, given)
        if named is None:
            return given
        refuse_masked(name, named[1])
        indices, values = self._known(name, named[0]), array_of(name, named[1], SettingsError)
        order = self._reader.sorted_order()
        if values.shape != indices.shape or not np.array_equal(np.sort(indices), np.sort(order)):
            msg = (
                f"{name} has {indices.size:,} ids and {values.size:,} values, but the graph "
                f"{order.size:,} vertices; give each vertex one value"
            )
            raise SettingsError(msg)
        by_index = np.zeros(self._reader.vertex_count, values.dtype)
        by_index[indices] = values
        return by_index[order]

    def _origin(self) -> Origin:
        return Origin(lambda: self._reader, self._ids.ids_of_keys)

    def _indices_of(self, vertices: Any) -> npt.NDArray[np.uint32] | Frontier | None:
        """uint32, each once, of ids; frontiers as they are, and None: all."""
        if vertices is None or isinstance(vertices, Frontier):
            return vertices
        if np.size(vertices) == 0:
            return np.empty(0, np.uint32)
        return np.unique(self._known("vertices", listed(vertices)))
