"""Run a program over a graph: its arguments checked, its result in users' ids.

Messages are *pushed*, every active vertex writing to its neighbors, or *pulled*, every vertex
reading from its neighbors what they send; no message is kept anywhere but combined. Where few
vertices are active a superstep is pushed, as that reads their rows alone; where many are it is
pulled, as then no two threads write to one vertex (`PULL_SHARE`). A program whose messages round
differently by their order, a sum of floats above all, and one of all vertices, is always pulled:
messages are combined in an order that is the same on every engine, and so are the bits of the
result:

* those of up to `SHORT_ROW` neighbors one by one, by vertex index;
* those of more in *pieces* of `PIECE` neighbors, one piece after the other. In a piece each
  `LANES`-th is combined with those before it, which leaves one message a lane; then lanes are
  combined in pairs, the upper half with the lower one.

Sums over all vertices, of ``total`` and of what a superstep changes, are taken likewise in blocks
of `BLOCK` vertices, and over the blocks in blocks again, until one is left.

On a GPU rows may be pulled in an order of vertices by degree (`vertex_order.py`), and from a copy
in which the entries of 32 short rows lie column by column (*remapped*). Neither changes a bit.

What an engine offers: ``algorithms.programs`` with ``run``, of rows alone; see the host's.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..algorithms.shared.adjacencies import adjacencies_of
from ..algorithms.shared.by_vertex import Values, in_order
from ..algorithms.shared.sources import ids_of, source_indices
from ..choices import check_weight, one_of
from ..errors import SettingsError, VertexNotFoundError
from ..printable import counted, others_shown
from ..properties.kinds import array_of
from ..properties.masked import refuse_masked
from ..rows import Adjacencies, Rows
from ..table import VertexTable
from .program import Program
from .vertex_order import VERTEX_ORDERS
from .vertex_state import values_by_index

if TYPE_CHECKING:
    from ..engine import Reader

#: How messages of a row are combined.
SHORT_ROW: Final = 32
PIECE: Final = 1024
LANES: Final = 32
#: Vertices of a block of a sum.
BLOCK: Final = 1024

DIRECTIONS: Final = ("auto", "push", "pull")

#: A superstep is pulled where active vertices have more than one edge in `EASY_PULL_SHARE`, if a
#: pull need not look at all messages: it then hardly reads the rows of most vertices.
EASY_PULL_SHARE: Final = 14

_NO_INDICES: Final = np.empty(0, np.uint32)


class Task(NamedTuple):
    """The program and its options, as a twin runs it."""

    program: Program
    #: Whether supersteps may be pushed, and may be pulled.
    may_push: bool
    may_pull: bool
    #: Whether weights of edges are read; else they are 1.
    weighted: bool
    #: Most supersteps; -1: until no vertex is active.
    max_supersteps: int
    #: Sum of changes of a superstep at which it ends; below 0: it is not looked at.
    tolerance: float
    #: One of `VERTEX_ORDERS`: which rows lie side by side where they are pulled.
    vertex_order: str = "none"
    #: Whether short rows are pulled from a copy that is laid out column by column.
    remap: bool = False

    def pull_share(self, share: int) -> int:
        """A superstep is pulled where active vertices have more than one edge in so many; 0: never.

        ``share``: that of programs whose pulls look at all messages.
        """
        if not self.may_pull:
            return 0
        looks_at_all = self.program.rule != "any" and self.program.wants is None
        return share if looks_at_all else EASY_PULL_SHARE

    def needs_transposed(self, adjacencies: Adjacencies) -> bool:
        """Whether rows of in-neighbors are read that are not stored."""
        return adjacencies.into is None and (self.program.along != "out" or self.may_pull)

    def row_pairs(self, adjacencies: Adjacencies) -> list[tuple[Rows, Rows]]:
        """Rows that messages are pushed along, and that they are pulled from, by direction.

        ``adjacencies``: those that are stored, and what `needs_transposed` asks for.
        """
        out, into, along = adjacencies.out, adjacencies.into, self.program.along
        if into is None:
            return [(out, out)]
        if not adjacencies.directed or along == "out":
            return [(out, into)]
        return [(into, out)] if along == "in" else [(out, into), (into, out)]


class Start(NamedTuple):
    """Values that a run begins with; made to arrays by vertex index where the engine works."""

    #: Value of all vertices, 0-d in host memory; or [vertex_count]: of each, by vertex index, an
    #: array of the engine's that becomes the run's.
    values: Any
    #: uint32[k], each once: vertices that have another value.
    indices: npt.NDArray[np.uint32]
    #: [k]: these values.
    others: npt.NDArray[Any]
    #: uint32[j], each once: vertices that send in the first superstep; None: all.
    active: npt.NDArray[np.uint32] | None


class Ran(NamedTuple):
    """Result of a twin: values by vertex index, where the engine works, and counts."""

    values: Any
    supersteps: int
    pulled: int
    num_active: int


class ProgramResult(VertexTable):
    """Value of every vertex.

    Attributes
    ----------
    supersteps, pulled
        Supersteps that were made, and how many of them were pulled.
    num_active
        Vertices that are active still: 0, unless ``max_supersteps`` ended it.
    """

    def __init__(self, columns: Values, supersteps: int, pulled: int, num_active: int) -> None:
        self._columns = columns
        self.supersteps = supersteps
        self.pulled = pulled
        self.num_active = num_active

    @property
    def vertex_keys(self) -> npt.NDArray[np.int64]:
        """int64[n]: what the engine calls the vertices, increasing."""
        return self._columns.vertices

    @property
    def value(self) -> npt.NDArray[Any]:
        """[n], as `vertices`: the value of each, of the program's type."""
        return self._columns.values

    @property
    def columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """Columns by name: ``vertex`` and ``value``."""
        return {"vertex": self.vertices, "value": self.value}

    def __repr__(self) -> str:
        left = f", {counted(self.num_active, 'vertex')} active" if self.num_active else ""
        steps = counted(self.supersteps, "superstep")
        return f"<ProgramResult {counted(len(self), 'vertex')}, {steps}{left}>"

    def _made_of(self) -> tuple[Any, ...]:
        from ..algorithms.shared.by_vertex import HostValues

        columns = HostValues(self.vertex_keys, self.value)
        return columns, self.supersteps, self.pulled, self.num_active


class RunOptions(NamedTuple):
    """When a run ends, and how it walks the edges; see `DynamicGraph.run_program`."""

    max_supersteps: int | None = None
    tolerance: float | None = None
    direction: str = "auto"
    weight: str | None = "weight"
    vertex_order: str = "none"
    remap: bool = False


def run_program(
    reader: Reader,
    program: Program,
    values: Any,
    *,
    default: float | None = None,
    active: npt.ArrayLike | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008 -- an immutable tuple
) -> ProgramResult:
    """Run a program; `DynamicGraph.run_program` says what the arguments mean."""
    if not isinstance(program, Program):
        msg = f"program={program!r} is no Program; make one of the functions"
        raise SettingsError(msg)
    task = _task(reader, program, options)
    adjacencies = adjacencies_of(reader, weighted=task.weighted)
    start = _start(reader, program, values, default)
    if active is not None:
        named = np.size(active) > 0
        indices = (
            source_indices(reader, "active", active, unknown="error") if named else _NO_INDICES
        )
        start = start._replace(active=indices)
    ran = reader.algorithms.programs.run(reader.workspace, task, adjacencies, start)
    columns = in_order(reader, ran.values)
    return ProgramResult(columns, ran.supersteps, ran.pulled, ran.num_active)


def _task(reader: Reader, program: Program, options: RunOptions) -> Task:
    max_supersteps, tolerance, direction, weight, vertex_order, remap = options
    one_of("direction", direction, DIRECTIONS)
    check_weight(weight)
    is_share = isinstance(tolerance, Real) and tolerance >= 0
    if tolerance is not None and not (program.all_vertices and is_share):
        why = "is not a number >= 0" if program.all_vertices else "is for programs of all vertices"
        msg = f"tolerance={tolerance!r} {why}; other programs end when no vertex is active"
        raise SettingsError(msg)
    if not program.may_push and direction == "push":
        why = "the order of its messages makes a difference"
        if program.all_vertices:
            why = "it is of all vertices"
        elif program.is_exact:
            why = "its combine has no identity="
        msg = f"direction='push', but the program is pulled, as {why}; use 'auto' or 'pull'"
        raise SettingsError(msg)
    one_of("vertex_order", vertex_order, VERTEX_ORDERS)
    # Without in-rows a pull takes a transposed copy of all edges: only on request.
    has_both = reader.kind.has_reverse or program.along != "out"
    return Task(
        program,
        may_push=program.may_push and direction != "pull",
        may_pull=not program.may_push or direction == "pull" or (direction == "auto" and has_both),
        weighted=weight is not None and reader.kind.record.has_weight and program.looks_at_weights,
        # Engines count in int64.
        max_supersteps=-1 if max_supersteps is None else min(max_supersteps, 2**63 - 1),
        tolerance=-1.0 if tolerance is None else float(tolerance),
        vertex_order=vertex_order,
        remap=remap,
    )


def _start(reader: Reader, program: Program, values: Any, default: float | None) -> Start:
    """Values that a run begins with; all vertices are active."""
    if isinstance(values, Mapping):
        values = list(values.keys()), list(values.values())
    if not isinstance(values, tuple):
        given = _typed(program, "values", values)
        if default is not None:
            msg = "default is of vertices that values leave out; give a mapping, or (ids, values)"
            raise SettingsError(msg)
        by_index = values_by_index(reader, "values", given) if given.ndim else given
        return Start(by_index, _NO_INDICES, given.reshape(-1)[:0], None)
    if len(values) != 2:
        msg = f"values is a tuple of {len(values)}; give (ids, values)"
        raise SettingsError(msg)
    given = _typed(program, "values", values[1])
    others = _typed(program, "default", 0 if default is None else default)
    if others.ndim:
        msg = f"default has dtype {others.dtype} and {others.ndim} dimensions; give one number"
        raise SettingsError(msg)
    ids = ids_of("values", values[0]) if np.size(values[0]) else np.empty(0, np.int64)
    if given.ndim and given.shape != ids.shape:
        msg = f"values has {given.size} numbers for {ids.size} ids; give one each"
        raise SettingsError(msg)
    from ..image.fields import NONE

    found = reader.indices_of(ids)
    unknown = ids[found == NONE]
    if unknown.size:
        more = others_shown(unknown.size - 1)
        msg = f"values names vertex {{vertex}}, which is not in the graph{more}"
        raise VertexNotFoundError.of_vertex(msg, unknown[0])
    indices, first, counts = np.unique(found, return_index=True, return_counts=True)
    if indices.size < found.size:
        msg = "values names vertex {vertex} more than once; name it once"
        raise SettingsError.of_vertex(msg, ids[first[np.argmax(counts)]])
    if default is None and indices.size < reader.num_vertices:
        msg = f"values names {indices.size} of {reader.num_vertices} vertices; "
        msg += "give default= for the others"
        raise SettingsError(msg)
    return Start(others, indices, np.broadcast_to(given, ids.shape)[first], None)


def _typed(program: Program, name: str, given: Any) -> npt.NDArray[Any]:
    """Numbers as values of a program; refused where that changes them."""
    refuse_masked(name, given)
    array = array_of(name, given, SettingsError)
    if array.dtype.kind not in "biuf" or array.ndim > 1:
        msg = f"{name} has dtype {array.dtype} and {array.ndim} dimensions; give numbers"
        raise SettingsError(msg)
    if array.dtype == program.value:
        return array
    with np.errstate(invalid="ignore", over="ignore"):
        found = array.astype(program.value)
    if program.value.kind == "f":
        # What is rounded is another number, what is beyond is none.
        differs = np.flatnonzero(np.atleast_1d(np.isinf(found) & ~np.isinf(array)))
    else:
        differs = np.flatnonzero(np.atleast_1d(found != array))
    if differs.size:
        wrong = np.atleast_1d(array)[differs[0]]
        msg = f"{name} has {wrong}, which is no {program.value}, the type of the program's values"
        raise SettingsError(msg)
    return found
