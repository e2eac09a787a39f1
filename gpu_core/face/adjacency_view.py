"""Adjacencies read in the arena, without a copy: for kernels of the user's own.

Arrays are NumPy's on the ``host`` engine and CuPy's on the ``cuda`` engine, so they carry
``__array_interface__`` or ``__cuda_array_interface__``, and DLPack either way: CuPy, Numba, PyTorch
and others take them as they are. Rows and neighbors are vertex *indices*, as the image has them.

A view holds for one state of the graph. The next mutating call may move any row, so each access
asks first whether there was one (`StaleViewError`). Arrays that were taken out of a view before are
the caller's to release.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import SettingsError, StaleViewError
from ..image.fields import CLASS_MASK, STATE_WORD, Field, Shape
from ..image.view import ImageView
from ..printable import counted
from ..rows import Array
from ..table import Column


class AdjacencyView:
    """Adjacencies of one direction, without a copy; made by `DynamicGraph.adjacency_view`.

    Entry ``j`` of row ``v`` is ``words[begins[v] + j * step]``, for ``j < degrees[v]``: the index
    of a neighbor; entries of a row increase. Arrays are NumPy's on the ``host`` engine and CuPy's
    on ``cuda``. They are the graph's own memory and must not be written: NumPy refuses it, CuPy and
    tensors do not. A view keeps that memory alive; release it before the graph grows.

    Each attribute but ``step`` raises `StaleViewError` once a call has changed the graph.

    Attributes
    ----------
    step
        Words from one entry of a row to the next.
    """

    def __init__(
        self,
        arena: ImageView,
        direction: str,
        vertices: Column,
        is_current: Callable[[], bool],
    ) -> None:
        shape = arena.shape(direction)
        if arena.layout.is_paged:
            name = arena.layout.name
            msg = f"rows of layout={name!r} lie in several pieces; use to_csr(), or layout='runs'"
            raise SettingsError(msg)
        self._is_current = is_current
        self._words = arena.image
        if isinstance(self._words, np.ndarray):
            # An array of a device has no such flag.
            self._words = self._words.view()
            self._words.flags.writeable = False
        self._vertices = vertices
        table = arena.vertex_table()
        self._degrees = table[:, shape.degree_word].astype(np.int64)
        self._begins = _begins(arena.xp, table, shape)
        self.step: int = 1 if arena[Field.SOA] else shape.entry_words

    def __reduce__(self) -> tuple[Any, ...]:
        msg = "a view is memory of its graph; pickle graph.to_csr(), which is a copy"
        raise TypeError(msg)

    def __repr__(self) -> str:
        return f"<AdjacencyView of {counted(self._vertices.size, 'vertex record')}>"

    def _checked(self, array: Array) -> Array:
        if not self._is_current():
            # An image that the graph has left may be large.
            self._words = self._begins = self._degrees = None
            msg = "the graph was changed after this view was taken; take a new one"
            raise StaleViewError(msg)
        return array

    @property
    def words(self) -> Array:
        """uint32: the arena, of which all rows are parts."""
        return self._checked(self._words)

    @property
    def begins(self) -> Array:
        """int64[vertex records]: word of the first entry of each row; 0 for an empty one."""
        return self._checked(self._begins)

    @property
    def degrees(self) -> Array:
        """int64[vertex records]: entries of each row."""
        return self._checked(self._degrees)

    @property
    def vertices(self) -> Column:
        """[vertex records], in host memory: users' id of each vertex index.

        If there is no vertex it is 0, with names None, and the row is empty.
        """
        ids: Column = self._checked(self._vertices)
        return ids

    def neighbors(self, index: int) -> Array:
        """uint32[degree]: indices of the neighbors of one vertex index, increasing; a view."""
        if index < 0:
            # It would count from the end.
            msg = f"index {index} is none of a vertex; they are from 0 on"
            raise IndexError(msg)
        begin, degree = int(self.begins[index]), int(self.degrees[index])
        return self._words[begin : begin + degree * self.step : self.step]


def _begins(xp: ModuleType, table: Array, shape: Shape) -> Array:
    """Word where each row begins: a run starts at the address of its last page (`image`)."""
    room = (table[:, STATE_WORD].astype(np.int64) >> shape.class_shift) & CLASS_MASK
    first = table[:, shape.first_word].astype(np.int64)
    pages = xp.left_shift(np.int64(1), xp.maximum(room - 1, 0))
    return xp.where(room > 0, shape.page_end - (first + pages) * shape.page_words, 0)
