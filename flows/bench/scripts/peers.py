"""Other Python packages that hold a graph in memory and change it, as contenders.

Both take raw edges, so their figures compare with ours *with* conversion; and neither says what
became of a row, keeps a batch atomic, or takes inserts and deletes in one batch.

``python-graphblas`` (SuiteSparse:GraphBLAS): a Boolean matrix with one value for all entries, which
is its cheapest kind, stored by row. Conversion is ``Matrix.from_coo``. An insert is
``A(any) << B``, a delete ``A(~B.S, replace=True) << A``; both are made complete by ``wait`` within
the time. It holds one direction.

``NetworKit``: a directed graph, which keeps both directions. An insert is ``addEdges`` of two
arrays, once as it is by default, where a repeat would become a second edge, and once with
``checkMultiEdge``, which is what our insert means. There is no bulk delete: it is ``removeEdge`` in
a Python loop, or ``GraphUpdater`` with a list of events. Building that list counts as conversion.
It runs on one thread and allocates within: both are its own doing.
"""

from typing import Any

import graphblas
import networkit
import numpy as np
import numpy.typing as npt

from .edge_source import Edges

Event = networkit.dynamics.GraphEvent
REMOVAL = networkit.dynamics.GraphEventType.EDGE_REMOVAL


class GraphBLAS:
    """A Boolean matrix of python-graphblas."""

    name = "python-graphblas"
    takes_raw_edges = False

    def __init__(self, base: Edges, vertices: int) -> None:
        self._vertices = vertices
        self._base = self.convert(1, *base)
        self._matrix = self._base.dup()

    def reset(self, repeat: int) -> None:
        """Begin with the base."""
        self._matrix = self._base.dup()
        self._matrix.wait()

    def convert(self, op: int, src: npt.NDArray, dst: npt.NDArray) -> graphblas.Matrix:
        """Raw edges to a matrix."""
        size = self._vertices
        matrix = graphblas.Matrix.from_coo(src, dst, True, nrows=size, ncols=size)
        matrix.wait()
        return matrix

    def insert(self, batch: graphblas.Matrix) -> None:
        """Union of the two."""
        self._matrix(graphblas.binary.any) << batch
        self._matrix.wait()

    def delete(self, batch: graphblas.Matrix) -> None:
        """Keep what the batch does not have."""
        self._matrix(~batch.S, replace=True) << self._matrix
        self._matrix.wait()

    def num_edges(self) -> int:
        """Count the edges."""
        return int(self._matrix.nvals)

    def edges(self) -> Edges:
        """All edges."""
        src, dst, _ = self._matrix.to_coo(values=False)
        return src.astype(np.int64), dst.astype(np.int64)


class NetworKit:
    """A directed graph of NetworKit.

    It is not rebuilt: after the first repeat its rows have the room that they need, to its
    advantage.
    """

    def __init__(self, base: Edges, vertices: int, *, checked: bool) -> None:
        self.name = "NetworKit, checked" if checked else "NetworKit"
        #: Events have to be built; arrays are taken as they are.
        self.takes_raw_edges = not checked
        self._checked = checked
        self._graph = networkit.Graph(vertices, directed=True)
        self._graph.addEdges(base)
        self._updater = networkit.dynamics.GraphUpdater(self._graph)

    def reset(self, repeat: int) -> None:
        """Nothing: deleting what was inserted brings the base back."""

    def convert(self, op: int, src: npt.NDArray, dst: npt.NDArray) -> Any:
        """Events for deletes of the checked variant; else the arrays themselves."""
        if op > 0 or not self._checked:
            return src, dst
        pairs = zip(src.tolist(), dst.tolist(), strict=True)
        return [Event(REMOVAL, u, v, 1.0) for u, v in pairs]

    def insert(self, batch: Edges) -> None:
        """Insert in bulk."""
        self._graph.addEdges(batch, checkMultiEdge=self._checked)

    def delete(self, batch: Any) -> None:
        """Delete by events, or one by one."""
        if self._checked:
            self._updater.update(batch)
            return
        remove = self._graph.removeEdge
        for u, v in zip(batch[0].tolist(), batch[1].tolist(), strict=True):
            remove(u, v)

    def num_edges(self) -> int:
        """Count the edges."""
        return int(self._graph.numberOfEdges())

    def edges(self) -> Edges:
        """All edges."""
        matrix = networkit.algebraic.adjacencyMatrix(self._graph, "sparse").tocoo()
        return matrix.row.astype(np.int64), matrix.col.astype(np.int64)
