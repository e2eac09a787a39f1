"""Triangle counting on the host: oriented edges and marks, in integers.

Vertices get a *rank* by (degree, index), and each edge of the undirected simple graph points from
the lower to the higher rank; no vertex then has more than ``sqrt(2 m)`` edges. For every vertex
``u`` the targets of its edges are marked; each target ``v`` of ``u`` and each marked target ``w``
of ``v`` is a triangle ``u < v < w``, found once. The work is the sum of the out-degrees of ``v``
over all edges ``u -> v``, ``O(m^1.5)``.

Marks want no order within a row, so rows hold ranks: hubs have the highest, and the marks and
counts that are read most lie side by side. Merging two sorted rows, the usual way, takes three
times as long, for its branches are coin tosses (R-MAT scale 18, 83 M triangles, two cores: 2.4 s
against 0.85 s).

A directed graph counts the triangles of both directions together. Each entry then says whether its
edge goes both ways, and a triangle adds to each corner the number of directed edges between the
other two; or, with ``products``, the product of the directed edges on its three sides, which is in
how many ways one edge of each side makes a directed triangle.

Everything is counted in int64, each range of rows for itself, and added up afterwards: no
two threads write to one count, and the order of integer sums does not matter. A range takes 17
bytes a vertex for it.

Source: Latapy, "Main-memory triangle computations for very large (sparse (power-law)) graphs",
TCS 2008 (algorithm "forward" and its marking variant "new-vertex-listing").
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from ....rows import Adjacencies
from ..parts.compact_rows import ROW_COST, CompactRows, blocks_of_rows, compact_rows, transposed

Int64s = npt.NDArray[np.int64]


class TriangleCounts(NamedTuple):
    """Counts by vertex index; 0 for absent vertices."""

    #: int64[vertex_count], neighbors in either direction, without the vertex itself.
    degree: Int64s
    #: int64[vertex_count], triangles of the undirected simple graph at each vertex.
    triangles: Int64s
    #: int64[vertex_count], ordered pairs (v, w) of neighbors with an edge v -> w; with
    #: ``products`` directed triangles.
    links: Int64s
    #: int64[vertex_count], neighbors with edges both ways; empty where not asked for.
    both_ways: Int64s


class OrientedRows(NamedTuple):
    """The undirected simple graph, each edge once, from the lower to the higher rank."""

    #: int64[vertex_count], neighbors in either direction, by vertex index.
    degree: Int64s
    #: int64[vertex_count], position of each vertex in the order of (degree, index).
    rank: Int64s
    #: int64[vertex_count], where in ``targets`` the row of each rank begins, and its length.
    row_start: Int64s
    row_length: Int64s
    #: uint32, ranks; in no order within a row.
    targets: npt.NDArray[np.uint32]
    #: uint8, 1 where there is an edge both ways; empty for an undirected graph.
    mutual: npt.NDArray[np.uint8]
    #: int64[vertex_count], neighbors with edges both ways; empty for an undirected graph.
    both_ways: Int64s


def count_triangles(
    workspace: None, adjacencies: Adjacencies, *, products: bool = False
) -> TriangleCounts:
    """Count the triangles at every vertex; ``workspace`` is what a twin on a device works in.

    ``products``: of a directed graph, count directed triangles, and neighbors with edges both ways.
    """
    rows = oriented_rows(adjacencies)
    count = adjacencies.out.count
    cost = np.empty(count, np.int64)
    for_ranges(row_costs, count, *rows[2:5], cost)
    bounds = blocks_of_rows(cost)
    counted = bounds, rows, adjacencies.directed, products
    parts = for_ranges(mark_and_count, bounds.size - 1, *counted, serial_items=2)
    triangles = _by_vertex([found for found, _ in parts], rows.rank)
    if adjacencies.directed:
        links = _by_vertex([edges for _, edges in parts], rows.rank)
    else:
        links = 2 * triangles
    both_ways = rows.both_ways if products else rows.both_ways[:0]
    return TriangleCounts(rows.degree, triangles, links, both_ways)


def _by_vertex(parts: list[Int64s], rank: Int64s) -> Int64s:
    """Sum of the parts, which are by rank and are spent, by vertex index."""
    out = np.zeros(rank.size, np.int64)
    if parts:
        total = parts[0]
        for part in parts[1:]:
            for_ranges(add_counts, total.size, part, total)
        for_ranges(gather_counts, out.size, total, rank, out)
    return out


def triangles_in_order(workspace: None, counts: TriangleCounts, order: Int64s) -> Int64s:
    """int64[num_vertices]: triangles at the vertices of these indices."""
    return counts.triangles[order]


def oriented_rows(adjacencies: Adjacencies) -> OrientedRows:
    """Point the edges of a graph upwards."""
    out = compact_rows(adjacencies.out)
    count = adjacencies.out.count
    if not adjacencies.directed:
        # The union with nothing is the row itself, without its self loop.
        other = CompactRows(np.zeros(count + 1, np.int64), out.indices[:0], out.weight)
    elif adjacencies.into is not None:
        other = compact_rows(adjacencies.into)
    else:
        other = transposed(out)

    # Room for both rows of each vertex; what they share and self loops leave some of it empty.
    starts = out.indptr + other.indptr
    degree = np.zeros(count, np.int64)
    targets = np.empty(starts[-1], np.uint32)
    mutual = np.empty(targets.size if adjacencies.directed else 0, np.uint8)
    both_ways = np.zeros(count if adjacencies.directed else 0, np.int64)
    bounds = blocks_of_rows(np.diff(starts) + ROW_COST)
    union = starts, targets, mutual, degree, both_ways
    for_ranges(union_rows, bounds.size - 1, bounds, out[:2], other[:2], union, serial_items=2)
    del out, other

    rank = np.empty(count, np.int64)
    rank_by_degree(degree, np.zeros(int(degree.max(initial=0)) + 2, np.int64), rank)
    row_start, row_length = np.empty(count, np.int64), np.empty(count, np.int64)
    rows = OrientedRows(degree, rank, row_start, row_length, targets, mutual, both_ways)
    for_ranges(orient_rows, bounds.size - 1, bounds, starts, rows, serial_items=2)
    return rows


@compiled
def union_rows(low, high, bounds, rows, other_rows, union):
    """Merge the rows of both directions without self loops; mark what stands in both as mutual."""
    (indptr, indices), (other_indptr, other_indices) = rows, other_rows
    starts, targets, mutual, degree, both_ways = union
    directed = mutual.size > 0
    for vertex in range(bounds[low], bounds[high]):
        a, a_end = indptr[vertex], indptr[vertex + 1]
        b, b_end = other_indptr[vertex], other_indptr[vertex + 1]
        at = starts[vertex]
        while a < a_end or b < b_end:
            from_a = b == b_end or (a < a_end and indices[a] <= other_indices[b])
            from_b = a == a_end or (b < b_end and other_indices[b] <= indices[a])
            target = indices[a] if from_a else other_indices[b]
            a += from_a
            b += from_b
            if np.int64(target) != vertex:
                targets[at] = target
                if directed:
                    mutual[at] = from_a and from_b
                    both_ways[vertex] += from_a and from_b
                at += 1
        degree[vertex] = at - starts[vertex]


@compiled
def rank_by_degree(degree, position, rank):
    """Number the vertices by (degree, index), by counting sort; ``position`` is zeros."""
    for vertex in range(degree.size):
        position[degree[vertex] + 1] += 1
    for i in range(1, position.size):
        position[i] += position[i - 1]
    for vertex in range(degree.size):
        rank[vertex] = position[degree[vertex]]
        position[degree[vertex]] += 1


@compiled
def orient_rows(low, high, bounds, starts, rows):
    """Keep, in place, the targets of higher rank, as ranks; rows are then known by rank."""
    degree, rank, row_start, row_length, targets, mutual, _ = rows
    directed = mutual.size > 0
    for vertex in range(bounds[low], bounds[high]):
        own = rank[vertex]
        start = starts[vertex]
        at = start
        for i in range(start, start + degree[vertex]):
            other = rank[targets[i]]
            if other > own:
                targets[at] = np.uint32(other)
                if directed:
                    mutual[at] = mutual[i]
                at += 1
        row_start[own] = start
        row_length[own] = at - start


@compiled
def row_costs(low, high, row_start, row_length, targets, cost):
    """Entries that `mark_and_count` reads for each row."""
    for row in range(low, high):
        entries = np.int64(1)
        if row_length[row] > 1:
            for i in range(row_start[row], row_start[row] + row_length[row]):
                entries += 2 + row_length[targets[i]]
        cost[row] = entries


@compiled
def add_counts(low, high, counts, total):
    """``total += counts``, items ``low … high - 1``."""
    for row in range(low, high):
        total[row] += counts[row]


@compiled
def gather_counts(low, high, counts, rank, out):
    """``out = counts[rank]``, items ``low … high - 1``."""
    for vertex in range(low, high):
        out[vertex] = counts[rank[vertex]]


@compiled
def mark_and_count(low, high, bounds, oriented, directed, products):
    """Count the triangles whose lowest corner lies in blocks ``low … high - 1``.

    Returns
    -------
    triangles, edges : int64[rows]
        By rank: triangles, and directed edges between the other two corners or (``products``)
        directed triangles; int64[0] for an undirected graph.
    """
    _, _, row_start, row_length, targets, mutual, _ = oriented
    rows = row_start.size
    triangles = np.zeros(rows, np.int64)
    edges = np.zeros(rows if directed else 0, np.int64)
    #: 1 + mutual of the edge u -> w, 0 where there is none.
    marks = np.zeros(rows, np.uint8)
    for u in range(bounds[low], bounds[high]):
        start, end = row_start[u], row_start[u] + row_length[u]
        if end - start < 2:
            continue
        for i in range(start, end):
            marks[targets[i]] = 1 + mutual[i] if directed else 1
        found = np.int64(0)
        for i in range(start, end):
            v = np.int64(targets[i])
            found_here = np.int64(0)
            for j in range(row_start[v], row_start[v] + row_length[v]):
                w = targets[j]
                if marks[w] != 0:
                    found_here += 1
                    triangles[w] += 1
                    if directed:
                        uv, uw = 1 + np.int64(mutual[i]), np.int64(marks[w])
                        vw = 1 + np.int64(mutual[j])
                        if products:
                            uv = uw = vw = uv * uw * vw
                        edges[u] += vw
                        edges[v] += uw
                        edges[w] += uv
            triangles[v] += found_here
            found += found_here
        triangles[u] += found
        for i in range(start, end):
            marks[targets[i]] = 0
    return triangles, edges
