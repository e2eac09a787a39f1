"""Kinds of rows of a log: which insert, which delete; which are about edges, which vertices."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RowKinds:
    """The kind of each of some rows."""

    #: Number of rows.
    count: int
    #: [count], positive where a row inserts; None: everywhere.
    op: npt.NDArray[Any] | None = None
    #: bool[count], where a row is about an edge, else about the vertex ``src``; None: everywhere.
    dst_valid: Flags | None = None

    @property
    def are_inserts(self) -> Flags:
        """bool[count]: rows that insert, an edge or a vertex."""
        return np.ones(self.count, np.bool_) if self.op is None else np.asarray(self.op) > 0

    @property
    def are_edges(self) -> Flags:
        """bool[count]: rows about edges, inserted or deleted."""
        return np.ones(self.count, np.bool_) if self.dst_valid is None else self.dst_valid

    @property
    def insert_edges(self) -> Flags:
        """bool[count]: rows that insert an edge, whose properties count."""
        inserts = self.are_inserts
        return inserts if self.dst_valid is None else inserts & self.dst_valid
