"""The state of vertices: named arrays that functions over a frontier read and write.

Arrays live where the engine works; columns come back in the order of users' ids. A state is of a
`Origin`, a graph as of one batch. What an engine offers: ``algorithms.operators``; see the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..algorithms.shared.by_vertex import in_order
from ..errors import SettingsError, StaleViewError
from ..properties.kinds import array_of
from ..properties.masked import refuse_masked
from ..rows import Rows
from ..table import Column, TableRows
from .operations import FLAG, REAL, WHOLE
from .operators import DTYPES, OF_EDGES, Inbox, Operator

if TYPE_CHECKING:
    from ..engine import Reader

#: Names that no array can have, and why.
_NAMES_TAKEN: Final = {
    **dict.fromkeys(OF_EDGES, "functions take already"),
    "vertex": "the table of a state has already",
}

_KINDS: Final = {"b": FLAG, "i": WHOLE, "u": WHOLE, "f": REAL}


class Origin:
    """The graph that frontiers and states are of, as it was when it was first looked at.

    Parameters
    ----------
    reader
        Gives the graph, or refuses where it is gone.
    ids_of_keys
        Gives users' ids of the engine's int64.
    """

    def __init__(
        self,
        reader: Callable[[], Reader],
        ids_of_keys: Callable[[npt.NDArray[np.int64]], Column],
    ) -> None:
        self._reader = reader
        self.ids_of_keys = ids_of_keys
        self._batches = _batches(reader())
        #: Rows that are copies, which are made once.
        self._copies: dict[tuple[str, bool], Rows] = {}

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """The graph, in here as it was; `StaleViewError` where a batch has changed it."""
        reader = self._reader()
        with reader.lock:
            if _batches(reader) != self._batches:
                self._copies.clear()
                msg = "the graph was changed after this frontier or state was made; make a new "
                msg += "one, or go on from an epoch of the graph (pin()), which does not change"
                raise StaleViewError(msg)
            yield reader

    def rows(self, reader: Reader, direction: str, *, weighted: bool) -> tuple[Rows, ...]:
        """Rows that a frontier goes along: in one direction, or in both where they differ."""
        weighted = weighted and reader.kind.record.has_weight
        directions = ("out", "in") if direction == "both" else (direction,)
        if not reader.kind.directed:
            directions = ("out",)
        return tuple(self._rows(reader, along, weighted=weighted) for along in directions)

    def _rows(self, reader: Reader, along: str, *, weighted: bool) -> Rows:
        found = self._copies.get((along, weighted))
        if found is None:
            found = reader.rows(along, weighted=weighted)
            if found.indptr is not None:
                self._copies[along, weighted] = found
        return found

    def is_of(self, other: Origin) -> bool:
        """Whether two are of the same graph, as of the same batch."""
        return self._reader() is other._reader() and self._batches == other._batches


def _batches(reader: Reader) -> int:
    from ..image.fields import Field  # brings Numba, which a declaration does without

    return int(reader.arena[Field.BATCHES])


class VertexState:
    """Named arrays of a value of each vertex; made by `DynamicGraph.vertex_state`.

    ``state[name]`` copies an array, in the order of `vertices`; `table` all of them.

    Attributes
    ----------
    kinds
        Name -> kind of each array.
    origin, arrays
        For operators: the graph, and the arrays in the engine's memory and order.
    """

    def __init__(self, origin: Origin, values: Mapping[str, Any]) -> None:
        self.origin = origin
        checked = {name: _checked_values(name, given) for name, given in values.items()}
        if not checked:
            msg = "a state has at least one array; name them: vertex_state(distance=0.0)"
            raise SettingsError(msg)
        self.kinds = {name: _KINDS[given.dtype.kind] for name, given in checked.items()}
        self._inboxes: dict[Any, Inbox] = {}
        with origin.reading() as reader:
            self.arrays = {
                name: _vertex_array(reader, name, given.astype(DTYPES[self.kinds[name]]))
                for name, given in checked.items()
            }

    @property
    def vertices(self) -> Column:
        """Users' ids of all vertices, in the order of the columns."""
        with self.origin.reading() as reader:
            return self.origin.ids_of_keys(reader.ids_of(reader.sorted_order().astype(np.uint32)))

    def __getitem__(self, name: str) -> Column:
        """[n], as `vertices`: the values of an array now."""
        self.check_name("state", name)
        with self.origin.reading() as reader:
            return np.array(in_order(reader, self.arrays[name]).values)

    @property
    def table(self) -> TableRows:
        """Copy of all arrays as they are now: a table with the column ``vertex`` and theirs."""
        with self.origin.reading():
            return TableRows({"vertex": self.vertices, **{name: self[name] for name in self.kinds}})

    def check_name(self, what: str, name: str) -> None:
        """Refuse a name of no array."""
        if name not in self.kinds:
            msg = f"{what} has no array {name!r}; it has {', '.join(self.kinds)}"
            raise SettingsError(msg)

    @contextmanager
    def inbox(self, reader: Reader, operator: Operator) -> Iterator[Inbox]:
        """Room for messages, kept from call to call; dropped if a call breaks off."""
        neutral = operator.neutral
        key = neutral.dtype, neutral.item()
        inbox = self._inboxes.pop(key, None) or reader.algorithms.operators.new_inbox(
            reader.workspace, reader.vertex_count, neutral
        )
        yield inbox
        self._inboxes[key] = inbox

    def __reduce__(self) -> tuple[Any, ...]:
        msg = "a state belongs to its graph; pickle state.table, which is a copy"
        raise TypeError(msg)

    def __repr__(self) -> str:
        arrays = (f"{name} {np.dtype(DTYPES[kind])}" for name, kind in self.kinds.items())
        return f"<VertexState {', '.join(arrays)}>"


def _checked_values(name: str, given: Any) -> npt.NDArray[Any]:
    """Values of an array of the state: one, or one a vertex."""
    why = _NAMES_TAKEN.get(name) or (None if name.isidentifier() else "is no name of Python's")
    if why is not None:
        msg = f"an array cannot be called {name!r}, which {why}; take another name"
        raise SettingsError(msg)
    refuse_masked(name, given)
    values = array_of(name, given, SettingsError)
    if values.dtype.kind not in _KINDS or values.ndim > 1:
        msg = (
            f"{name} has dtype {values.dtype} and {values.ndim} dimensions; give a number or bool "
        )
        msg += "for all vertices, or one for each in the order of vertices()"
        raise SettingsError(msg)
    if values.dtype.kind == "u" and values.size and int(values.max()) >= 2**63:
        msg = f"{name} has {values.max()}, which is beyond int64"
        raise SettingsError(msg)
    if values.dtype.kind == "f":
        # One nan, and 0.0 for -0.0, as functions leave them.
        values = np.where(np.isnan(values), np.nan, values + 0.0)
    return values


def _vertex_array(reader: Reader, name: str, values: npt.NDArray[Any]) -> Any:
    """[vertex_count] in the engine's memory: a value for all, or one each."""
    if values.ndim:
        return values_by_index(reader, name, values)
    return reader.algorithms.operators.filled(reader.workspace, reader.vertex_count, values)


def values_by_index(reader: Reader, name: str, values: npt.NDArray[Any]) -> Any:
    """Values of all vertices, in the order of ids, by vertex index: a new array of the engine's."""
    if values.shape != (reader.num_vertices,):
        msg = f"{name} has shape {values.shape} but there are {reader.num_vertices} vertices; give "
        msg += "one for all, or one for each in the order of vertices()"
        raise SettingsError(msg)
    twins = reader.algorithms.in_order
    return twins.values_by_index(reader.workspace, values, reader.order(), reader.vertex_count)
