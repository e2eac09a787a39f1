"""Kernels that validate edges given as hypersparse CSR.

`BatchLists.validate` says it in words. Lists made of rows (`net_effect/last_rows.py`) need no
check.
"""

from ..jit.compile import compiled

#: What may be wrong with an edge list.
BOUNDS, ROWS, EMPTY, INDICES, FOLDED = 1, 2, 3, 4, 5
FAULTS = {
    BOUNDS: "indptr does not cover the indices",
    ROWS: "rows do not increase strictly",
    EMPTY: "the row is empty, or its bounds leave the indices",
    INDICES: "indices do not increase strictly",
    FOLDED: "src >= dst although the graph is undirected",
}


@compiled
def csr_fault(rows, indptr, indices, folded):
    """Find the first row of a hypersparse CSR list that breaks its form.

    Returns its position in ``rows`` and what is wrong (see `FAULTS`), or ``(-1, 0)``.
    """
    count = rows.size
    if indptr[0] != 0 or indptr[count] != indices.size:
        return 0, BOUNDS
    for row in range(count):
        if row > 0 and rows[row - 1] >= rows[row]:
            return row, ROWS
        low, high = indptr[row], indptr[row + 1]
        if low < 0 or low >= high or high > indices.size:
            return row, EMPTY
        if folded and indices[low] <= rows[row]:
            return row, FOLDED
        for i in range(low + 1, high):
            if indices[i - 1] >= indices[i]:
                return row, INDICES
    return -1, 0


@compiled
def common_edge(rows, indptr, indices, other_rows, other_indptr, other_indices):
    """Find an edge that stands in two hypersparse CSR lists: row and index positions, or -1, -1."""
    a, b = 0, 0
    while a < rows.size and b < other_rows.size:
        if rows[a] < other_rows[b]:
            a += 1
        elif rows[a] > other_rows[b]:
            b += 1
        else:
            i, j = indptr[a], other_indptr[b]
            while i < indptr[a + 1] and j < other_indptr[b + 1]:
                if indices[i] < other_indices[j]:
                    i += 1
                elif indices[i] > other_indices[j]:
                    j += 1
                else:
                    return a, i
            a += 1
            b += 1
    return -1, -1
