"""A frontier: some vertices of a graph, and operators that go on from there, for users' traversals.

An operator goes along the edges of the vertices, over the vertices, or to some of them; it calls a
small function of the user's (`operators.py`) that reads and writes arrays of the vertices
(`vertex_state.py`). What comes out does not depend on the order of anything: functions along edges
read the state as it was before the call, and messages to a vertex are combined by minimum, maximum,
or a sum of whole numbers. So both engines give the same bits with any number of threads.

What an engine offers: ``algorithms.operators``; see the host's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..choices import is_integer
from ..errors import SettingsError
from ..table import Column
from .operations import REAL, WHOLE
from .operators import DTYPES, OF_EDGES, Call, Function, Operator, edge_operator, vertex_operator
from .vertex_state import Origin, VertexState

if TYPE_CHECKING:
    from ..engine import Reader

#: Edges that a frontier goes along: to out-neighbors, to in-neighbors, or to both.
DIRECTIONS: Final = ("out", "in", "both")


class Frontier:
    """A set of vertices of a graph and a direction of edges; made by `DynamicGraph.frontier`.

    ``len(frontier)`` is the number of vertices, `vertices` their ids; an empty frontier is false.

    Attributes
    ----------
    direction
        Edges that it goes along: ``out``, ``in`` or ``both``.

    Examples
    --------
    >>> import graphtide
    >>> graph = graphtide.DynamicGraph()
    >>> graph.insert_edges([1, 2, 2], [2, 3, 4]).edges_added
    3
    >>> state = graph.vertex_state(hops=10)
    >>> frontier = graph.frontier([1]).for_vertices(lambda: 0, state, into="hops")
    >>> def hop(source_hops):
    ...     return source_hops + 1
    >>> while frontier:
    ...     frontier = frontier.for_edges(hop, state, combine="min", into="hops")
    >>> state["hops"]
    array([0, 1, 2, 2])
    """

    def __init__(self, origin: Origin, direction: str, vertices: Any) -> None:
        self._origin = origin
        self.direction = direction
        self._vertices = vertices

    def __len__(self) -> int:
        return int(self._vertices.size)

    @property
    def vertices(self) -> Column:
        """Users' ids of the vertices, in the order of `DynamicGraph.vertices`."""
        with self._origin.reading() as reader:
            operators = reader.algorithms.operators
            indices = operators.indices_of(reader.workspace, self._vertices)
            return self._origin.ids_of_keys(np.sort(reader.ids_of(indices)))

    def along(self, origin: Origin, direction: str) -> Frontier:
        """The same vertices with a direction, if they are of that origin."""
        if not origin.is_of(self._origin):
            msg = "the frontier is of another graph, epoch or batch; give the ids of its vertices"
            raise SettingsError(msg)
        return Frontier(origin, direction, self._vertices)

    def for_edges(
        self,
        function: Function,
        state: VertexState,
        *,
        combine: str,
        into: str,
        numbers: Mapping[str, float] | None = None,
    ) -> Frontier:
        """Send a message along each edge of the vertices, and combine messages by target.

        Parameters
        ----------
        function
            Returns the message. Its parameters are chosen by name: ``source_NAME`` and
            ``target_NAME``, the value of array NAME of the state at either end of the edge;
            ``weight`` (1.0 without weights), ``degree`` (edges of the source in this direction),
            ``num_vertices``; and any of ``numbers``.
        state
            Its arrays are read as they are before the call; one of them is written.
        combine
            ``"min"``, ``"max"`` (nan wins), or ``"sum"`` (only integers): the value afterwards is
            that of the value before and all messages to the vertex.
        into
            Name of the array that is written, int64 or float64.
        numbers
            Numbers that change from call to call, by name. Numbers that the function finds outside
            are compiled into it.

        Returns
        -------
        Frontier
            The vertices whose value has changed, with the same direction.

        Raises
        ------
        SettingsError
            The function is not of the language, takes or returns other things, or assigns to the
            state, with the line at fault; or messages cannot be combined so.
        StaleViewError
            The graph has changed.
        """
        kinds, given = _kinds(state, numbers)
        if not isinstance(into, str):
            msg = f"into={into!r} is to name one array: all messages go there"
            raise SettingsError(msg)
        state.check_name("into: state", into)
        operator = edge_operator(function, kinds, given, into, combine)
        with self._calling(operator, state, (into,), numbers) as (reader, call):
            if not len(self):
                return self
            operators = reader.algorithms.operators
            with state.inbox(reader, operator) as inbox:
                found = operators.for_edges(reader.workspace, call, self._vertices, inbox)
        return Frontier(self._origin, self.direction, found)

    def for_vertices(
        self,
        function: Function,
        state: VertexState,
        *,
        into: str | Sequence[str],
        numbers: Mapping[str, float] | None = None,
    ) -> Frontier:
        """Write the state of each vertex; returns the frontier itself.

        Parameters
        ----------
        function
            Returns the new value, or a tuple of new values, one for each name in ``into``. Its
            parameters are chosen by name: arrays of the state, of which it gets the value of the
            vertex, ``degree``, ``num_vertices``, and any of ``numbers``.
        state
            Its arrays are read and written.
        into
            Name of the array that is written, or of several.
        numbers
            As of `for_edges`.

        Raises
        ------
        SettingsError
            As of `for_edges`.
        StaleViewError
            The graph has changed.
        """
        kinds, given = _kinds(state, numbers)
        names = (into,) if isinstance(into, str) else into
        if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
            msg = f"into={into!r} is to name an array, or several in a tuple"
            raise SettingsError(msg)
        names = tuple(names)
        for name in names:
            state.check_name("into: state", name)
        if not names or len(set(names)) < len(names):
            msg = f"into={into!r} is to name at least one array, and each once"
            raise SettingsError(msg)
        operator = vertex_operator(function, kinds, given, names)
        with self._calling(operator, state, names, numbers) as (reader, call):
            if len(self):
                reader.algorithms.operators.for_vertices(reader.workspace, call, self._vertices)
        return self

    def filter(
        self,
        function: Function,
        state: VertexState,
        *,
        numbers: Mapping[str, float] | None = None,
    ) -> Frontier:
        """Return the vertices for which a function is true, as a frontier.

        Parameters
        ----------
        function
            Returns a bool; its parameters are those of `for_vertices`.
        state
            Its arrays are read.
        numbers
            As of `for_edges`.

        Raises
        ------
        SettingsError
            As of `for_edges`.
        StaleViewError
            The graph has changed.
        """
        operator = vertex_operator(function, *_kinds(state, numbers), ())
        with self._calling(operator, state, (), numbers) as (reader, call):
            if not len(self):
                return self
            kept = reader.algorithms.operators.filtered(reader.workspace, call, self._vertices)
        return Frontier(self._origin, self.direction, kept)

    @contextmanager
    def _calling(
        self,
        operator: Operator,
        state: VertexState,
        into: tuple[str, ...],
        numbers: Mapping[str, float] | None,
    ) -> Iterator[tuple[Reader, Call]]:
        """The graph, and what its engine is to run."""
        if not state.origin.is_of(self._origin):
            msg = "the state is of another graph, epoch or batch than the frontier; make it of the "
            msg += "same"
            raise SettingsError(msg)
        with self._origin.reading() as reader:
            rows = self._origin.rows(reader, self.direction, weighted=operator.looks_at_weights)
            given = numbers or {}
            yield (
                reader,
                Call(
                    operator,
                    rows,
                    tuple(state.arrays[name] for name, _ in operator.arrays),
                    tuple(DTYPES[kind](given[name]) for name, kind in operator.numbers),
                    tuple(state.arrays[name] for name in into),
                ),
            )

    def __reduce__(self) -> tuple[Any, ...]:
        msg = "a frontier belongs to its graph; pickle frontier.vertices, which is a copy"
        raise TypeError(msg)

    def __repr__(self) -> str:
        count = len(self)
        what = "vertex" if count == 1 else "vertices"
        return f"<Frontier of {count:,} {what}, along {self.direction}>"


def make_frontier(
    origin: Origin, direction: str, of: npt.NDArray[np.uint32] | Frontier | None
) -> Frontier:
    """A frontier of vertex indices, each once, of another frontier, or (None) of all vertices."""
    if isinstance(of, Frontier):
        return of.along(origin, direction)
    with origin.reading() as reader:
        operators, workspace = reader.algorithms.operators, reader.workspace
        if of is None:
            vertices = operators.everyone(workspace, origin.rows(reader, "out", weighted=False)[0])
        else:
            vertices = operators.listed(workspace, of)
    return Frontier(origin, direction, vertices)


def _kinds(
    state: VertexState, numbers: Mapping[str, float] | None
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Kinds of the arrays and of the numbers of a call."""
    if not isinstance(state, VertexState):
        msg = f"state={state!r} is no state of vertices; make one by graph.vertex_state()"
        raise SettingsError(msg)
    if not isinstance(numbers, Mapping | None):
        msg = f"numbers={numbers!r} is not a mapping; give each number a name, as in {{'k': 3}}"
        raise SettingsError(msg)
    kinds = {}
    for name, value in (numbers or {}).items():
        is_whole = is_integer(value) or isinstance(value, bool | np.bool_)
        if not isinstance(name, str):
            msg = f"numbers has {name!r}, which is no name; give each number one, as in {{'k': 3}}"
            raise SettingsError(msg)
        if not is_whole and not isinstance(value, float | np.floating):
            msg = f"numbers has {name}={value!r}, which is no number"
            raise SettingsError(msg)
        if is_whole and not -(2**63) <= int(value) < 2**63:
            msg = f"numbers has {name}={value}, which is beyond int64"
            raise SettingsError(msg)
        if name in OF_EDGES or name.removeprefix("source_").removeprefix("target_") in state.kinds:
            msg = f"numbers has {name}, which functions take already; take another name"
            raise SettingsError(msg)
        kinds[name] = WHOLE if is_whole else REAL
    return state.kinds, kinds
