"""What all calls of a graph share: users' ids become vertices of the engine, and back.

Each group of calls is a class of its own above this one (`graph_queries.py` and its siblings);
`graph_reader.py` puts them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..engine import Reader
from ..errors import (
    BatchError,
    EdgeNotFoundError,
    GraphtideError,
    SettingsError,
    VertexNotFoundError,
)
from ..image.fields import NONE
from ..kind import GraphKind
from ..names.hashing import NO_KEY
from ..names.user_ids import UserIds, is_one, listed, nth
from ..printable import name_shown, others_shown
from ..table import VertexTable
from ..times import TimeUnit
from .arguments.checks import Id, Ids
from .arguments.named_values import is_series, named_values

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
#: Ids as users have them: int64, uint64, or Python's strings as objects.
Column = npt.NDArray[Any]

Result = TypeVar("Result")


class GraphCalls:
    """Conversion of arguments and results.

    A class of it sets ``_kind``, what the graph is, ``_ids``, how users call vertices,
    ``_time_unit``, what its times count, and says by which ``_reader`` it is read.
    """

    _kind: GraphKind
    _ids: UserIds
    _time_unit: TimeUnit | None

    @property
    def _reader(self) -> Reader:
        raise NotImplementedError

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """The lock of the graph, for algorithms; what they refuse names vertices as users do."""
        with self._reader.lock:
            # Of a graph that seems to have no vertices they look at nothing else.
            self._reader.check_whole()
            try:
                yield
            except GraphtideError as error:
                if error.about is None or type(self._ids) is UserIds:
                    raise
                message, key = error.about
                [vertex] = self._ids.ids_of_keys(np.array([key], np.int64)).tolist()
                raise type(error)(message.replace("{vertex}", name_shown(vertex))) from None

    def _of_users(self, result: Result) -> Result:
        """A result of an algorithm, in users' ids."""
        if type(self._ids) is UserIds or not isinstance(result, VertexTable):
            return result
        return result.in_users_ids(self._ids)

    def _need_reverse(self, what: str) -> None:
        if not self._kind.has_reverse:
            msg = f"{what} needs the reverse adjacency; make the graph with reverse=True"
            raise SettingsError(msg)

    def _need_weights(self, what: str) -> None:
        if not self._kind.record.has_weight:
            msg = f"{what} needs weights; make the graph with records='weighted' or 'semantic'"
            raise SettingsError(msg)

    def _pairs(self, src: Ids, dst: Ids) -> tuple[Int64s, Int64s]:
        sources, targets = self._ids.keys("src", src), self._ids.keys("dst", dst)
        if sources.size != targets.size:
            msg = f"src has {sources.size} items, dst has {targets.size}; give pairs"
            raise BatchError(msg)
        return sources, targets

    def _known(self, name: str, values: Ids) -> UInt32s:
        """Indices of vertices by their ids, all of which must be there."""
        indices = self._reader.indices_of(self._ids.keys(name, values))
        _check_known(indices, values)
        return indices

    def _known_pairs(self, name: str, src: Ids, dst: Ids) -> tuple[Int64s, UInt32s]:
        """As `_known`, of both vertices of k pairs.

        Returns
        -------
        keys, indices : int64[2, k], uint32[2, k]
            What the engine calls the vertices, and their indices.
        """
        keys = np.stack([self._ids.keys(name, ends) for ends in (src, dst)])
        indices = self._reader.indices_of(keys.ravel()).reshape(keys.shape)
        for ends, found in zip((src, dst), indices, strict=True):
            _check_known(found, ends)
        return keys, indices

    def _known_one(self, vertex: Id) -> UInt32s:
        if not is_one(vertex):
            msg = "vertex is an array or a list; neighbors are those of one vertex: ask for each"
            raise BatchError(msg)
        return self._known("vertex", [vertex])

    def _chosen(self, vertices: Ids | None) -> UInt32s:
        """Indices of these vertices, or of all in increasing order of ids."""
        if vertices is None:
            return self._reader.sorted_order().astype(np.uint32)
        return self._known("vertices", vertices)

    def _keys_of_ids(self, name: str, given: Any, *, strict: bool = True) -> Any:
        """Vertices as an algorithm takes them; unknown ones are refused, or of no vertex."""
        if type(self._ids) is UserIds:
            return given
        keys = self._ids.keys(name, listed(given))
        unknown = np.flatnonzero(keys == NO_KEY) if self._ids.names is not None else keys[:0]
        if strict and unknown.size:
            more = others_shown(unknown.size - 1)
            msg = f"{name} names vertex {nth(listed(given), int(unknown[0]))}, which is not in the "
            msg += f"graph{more}; check with has_vertices()"
            raise VertexNotFoundError(msg)
        return keys

    def _keys_of_values(self, name: str, given: Any, *, strict: bool = True) -> Any:
        """Values of vertices as an algorithm takes them, likewise; what has no ids as it is."""
        if given is None:
            return None
        named = self._named(name, given, strict=strict)
        if named is None:
            return given
        vertices, values = named
        return self._keys_of_ids(name, vertices, strict=strict), values

    def _named(self, name: str, given: Any, *, strict: bool = True) -> tuple[Any, Any] | None:
        """Users' ids and values of what has both, as `named_values`; None: it is values alone.

        ``strict``: a Series of unknown vertices is refused here, where it is known to be one.
        """
        named = named_values(name, given)
        if strict and named is not None and is_series(given):
            ids = self._ids.keys(f"the index of {name}", named[0])
            unknown = np.flatnonzero(self._reader.indices_of(ids) == NONE)
            if unknown.size:
                more = others_shown(unknown.size - 1)
                msg = f"{name} is a Series, whose index are ids of vertices, and vertex "
                msg += f"{nth(named[0], int(unknown[0]))} is not in the graph{more}; give "
                msg += "to_numpy() of one in the order of vertices()"
                raise VertexNotFoundError(msg)
        return named


def check_edges(found: npt.NDArray[np.bool_], src: Id | Ids, dst: Id | Ids) -> None:
    """Refuse pairs of ids of which one is no edge, as ``found`` says."""
    if not found.all():
        at = int(np.flatnonzero(~found)[0])
        edge = f"({nth(listed(src), at)}, {nth(listed(dst), at)})"
        msg = f"edge {edge} is not in the graph; check with has_edges()"
        raise EdgeNotFoundError(msg)


def _check_known(indices: UInt32s, values: Ids) -> None:
    """Refuse ids, such as of these vertices, that are not in the graph."""
    unknown = np.flatnonzero(indices == NONE)
    if unknown.size:
        msg = (
            f"vertex {nth(values, int(unknown[0]))} is not in the graph"
            f"{others_shown(unknown.size - 1)}; check with has_vertices()"
        )
        raise VertexNotFoundError(msg)
