"""Which row of a batch decides about each edge: order the rows by edge, keep the last, build CSR.

Each edge row becomes one 64-bit key: bits of the edge above a *tail*, the row's position in the
batch and one bit for its kind. A stable radix sort on the edge bits alone orders the rows by edge
and, within an edge, by position. Ids are taken relative to the smallest one, so their range counts,
not their size.

* Narrow ids: the whole edge fits above the tail (ids below 2^20: batches up to 8 M rows). One sort,
  and the end points are read back from the keys.
* Wide ids: the key holds a prefix of the edge. Rows of equal prefix form a *run*; a short run is
  put in order by Shell's sort on the ids themselves, a long one is ordered as a batch of its own,
  whose range is smaller by the prefix. The keys then hold the number of their edge among the
  distinct ones, whose end points lie beside.

Either way two neighbouring keys are of one edge if and only if they agree above the tail.

Positions make all keys distinct, so any sort of whole keys gives the order of a stable sort of
their edges, and large batches are sorted by whichever is faster on this processor (`sorts_by_numpy`
times both once): NumPy's sort takes 8 to 10 ns a key on Sapphire Rapids, where the radix sort takes
33, and 58 on Zen 4, whose AVX-512 compress stores are microcoded, where the radix sort takes 9 (4 M
keys). Kernels are not parallel: CPU workers convert side by side.

Input: fewer than 2^31 rows, ``src <= dst`` for undirected graphs, ops 1 or -1; `batch.py` sees to
it. Not here: vertex rows and what they override (`net_effect.py`).

Source: least-significant-digit radix sort and Shell's sort with Ciura's gaps are textbook; the
alternatives are timed in ``benchmarks/bench_conversion.py``.
"""

import timeit
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from .compile import compiled, inlined

Ids = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Scalar = TypeVar("Scalar", bound=np.generic)

#: Batches are sorted by the faster sort from so many keys on, and as many are sorted to find it.
TIMED_KEYS = 1 << 16
#: Edge bits in a key of wide ids: three passes of the radix sort.
PREFIX_BITS = 30
#: A run up to this long is ordered by Shell's sort; calls for longer ones are few.
SHORT_RUN = 512
#: Ciura's gaps for runs of that length.
GAPS = (301, 132, 57, 23, 10, 4, 1)

#: What may be wrong with an edge list.
BOUNDS, ROWS, EMPTY, INDICES, FOLDED = 1, 2, 3, 4, 5
FAULTS = {
    BOUNDS: "indptr does not cover the indices",
    ROWS: "rows do not increase strictly",
    EMPTY: "the row is empty, or its bounds leave the indices",
    INDICES: "indices do not increase strictly",
    FOLDED: "src >= dst although the graph is undirected",
}


class Ordered(NamedTuple):
    """Edge rows in order of (src, dst, position), as keys."""

    #: The edge, or its number, above ``position << 1 | is_insert``.
    keys: Keys
    tail_bits: int
    #: Bits of the destination in a key; 0 if the key holds the number of its edge.
    dst_bits: int
    #: What the offsets in the keys are relative to.
    src_low: int
    dst_low: int
    #: End points by number of the edge; of length 0 if the keys hold them.
    src: Ids
    dst: Ids


class EdgeList(NamedTuple):
    """Distinct edges as hypersparse CSR, and the row that decides about each."""

    rows: Ids
    indptr: Ids
    indices: Ids
    #: Tails of the deciding rows. Of an edge to delete the low bit says: was inserted before.
    tails: Keys


def readonly(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A view that cannot be written, so that Numba compiles a kernel for one type of it only."""
    view = array.view()
    view.flags.writeable = False
    return view


def order_edge_rows(op: npt.NDArray[np.int8], src: Ids, dst: Ids, *, keep_loops: bool) -> Ordered:
    """Order edge rows by (src, dst, position).

    Parameters
    ----------
    op
        int8[n] of 1 and -1, or int8[0] where all rows are inserts.
    src, dst
        int64[n]
    keep_loops
        Whether rows with ``src == dst`` stay; otherwise they have no key.
    """
    rows = src.size
    none = np.empty(0, dtype=np.int64)
    if rows == 0:
        return Ordered(np.empty(0, dtype=np.uint64), 2, 1, 0, 0, none, none)
    op, src, dst = readonly(op), readonly(src), readonly(dst)
    (src_low, src_bits), (dst_low, dst_bits) = _offset_bits(src), _offset_bits(dst)
    tail_bits = max(1, (rows - 1).bit_length()) + 1
    edge_bits = src_bits + dst_bits
    is_narrow = edge_bits <= 64 - tail_bits
    key_bits = edge_bits if is_narrow else PREFIX_BITS

    keys = np.empty(rows, dtype=np.uint64)
    shift = edge_bits - key_bits
    count = pack_rows(op, src, dst, keep_loops, src_low, dst_low, dst_bits, shift, tail_bits, keys)
    keys = sort_keys(keys[:count], tail_bits, key_bits)
    if is_narrow:
        return Ordered(keys, tail_bits, dst_bits, src_low, dst_low, none, none)

    for low, high in long_runs(keys, tail_bits):
        run = positions(keys[low:high], tail_bits)
        inner = order_edge_rows(op[:0], src[run], dst[run], keep_loops=True)
        keys[low:high] = keys[low:high][positions(inner.keys, inner.tail_bits)]
    sorted_src, sorted_dst = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    gather_ends(keys, src, dst, tail_bits, sorted_src, sorted_dst)
    edges = number_edges(keys, sorted_src, sorted_dst, tail_bits)
    return Ordered(keys, tail_bits, 0, 0, 0, sorted_src[:edges], sorted_dst[:edges])


def _offset_bits(ids: Ids) -> tuple[int, int]:
    """Smallest id, and the bits of the largest one's distance from it; at least one."""
    low, high = smallest_and_largest(ids)
    return int(low), max(1, (int(high) - int(low)).bit_length())


def sort_keys(keys: Keys, low_bit: int, bits: int) -> Keys:
    """Sort distinct keys that are in order already by the bits below ``low_bit``.

    Returns the sorted keys; the array given is overwritten. Nothing lies above the ``bits`` bits.
    """
    if keys.size >= TIMED_KEYS and sorts_by_numpy():
        keys.sort()
        return keys
    return radix_sort(keys, np.empty_like(keys), low_bit, bits)


@cache
def sorts_by_numpy() -> bool:
    """Whether NumPy's sort is the faster one on this processor: timed once a process, 10 ms."""
    drawn = np.random.default_rng(0).integers(0, 1 << 40, TIMED_KEYS, dtype=np.uint64)
    position_bits = TIMED_KEYS.bit_length() - 1
    drawn = (drawn << np.uint64(position_bits)) | np.arange(TIMED_KEYS, dtype=np.uint64)
    spare = np.empty_like(drawn)
    seconds = [
        min(timeit.repeat(sort, drawn.copy, repeat=3, number=1))
        for sort in (
            lambda: np.sort(drawn),
            lambda: radix_sort(drawn.copy(), spare, position_bits, 40),
        )
    ]
    return seconds[0] < seconds[1]


def edge_lists(ordered: Ordered) -> tuple[EdgeList, EdgeList]:
    """Keep the last row of each edge: edges to put and edges to delete. Uses up the keys."""
    keys = ordered.keys
    deletes = np.empty(keys.size, dtype=np.uint64)
    put_count, delete_count = keep_last(keys, ordered.tail_bits, deletes)
    puts, deletes = keys[:put_count], deletes[:delete_count]
    return _compressed(ordered._replace(keys=puts)), _compressed(ordered._replace(keys=deletes))


def _compressed(kept: Ordered) -> EdgeList:
    keys, edges = kept.keys, kept.keys.size
    sources = edges
    if edges and kept.dst_bits:
        sources = min(edges, int(keys[-1] >> np.uint64(kept.tail_bits + kept.dst_bits)) + 1)
    indices = np.empty(edges, dtype=np.int64)
    # Row 0 stands for the time before the first row.
    rows, indptr = np.empty(sources + 1, dtype=np.int64), np.empty(sources + 1, dtype=np.int64)
    count = compress_edges(*kept, rows, indptr, indices)
    return EdgeList(rows[1 : count + 1], indptr[: count + 1], indices, keys)


def positions(tails: Keys, tail_bits: int) -> Ids:
    """Position in the batch that each key or tail names."""
    mask = np.uint64((1 << tail_bits) - 1)
    return ((tails & mask) >> np.uint64(1)).view(np.int64)


def first_inserts_of(ordered: Ordered) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Where the first time of each edge to put comes from; to be asked before `edge_lists`.

    Returns
    -------
    first : int64[m]
        Position of the first insert of the edge after its last delete.
    reset : bool[m]
        Whether the batch deletes the edge before that.
    """
    first = np.empty(ordered.keys.size, dtype=np.int64)
    reset = np.empty(ordered.keys.size, dtype=np.bool_)
    count = first_inserts(ordered.keys, ordered.tail_bits, first, reset)
    return first[:count], reset[:count].copy()


@inlined
def prefix_of(src_offset, dst_offset, dst_bits, shift):
    """The edge ``src_offset << dst_bits | dst_offset``, of up to 128 bits, from ``shift`` up."""
    if shift >= dst_bits:
        return src_offset >> np.uint64(shift - dst_bits)
    # A whole edge has fewer than 64 bits, and less than one is shifted by at least one.
    return (dst_offset >> np.uint64(shift)) | (src_offset << np.uint64(dst_bits - shift))


@compiled
def pack_rows(op, src, dst, keep_loops, src_low, dst_low, dst_bits, shift, tail_bits, keys):
    """Write the key of each row that stays; return how many there are."""
    src_base, dst_base = np.uint64(src_low), np.uint64(dst_low)
    tail_shift = np.uint64(tail_bits)
    all_inserts = op.size == 0
    count = 0
    for row in range(src.size):
        src_offset, dst_offset = np.uint64(src[row]) - src_base, np.uint64(dst[row]) - dst_base
        prefix = prefix_of(src_offset, dst_offset, dst_bits, shift)
        insert = np.uint64(1) if all_inserts or op[row] > 0 else np.uint64(0)
        keys[count] = (prefix << tail_shift) | (np.uint64(row) << np.uint64(1)) | insert
        # The next row overwrites the key of one that does not stay.
        count += 1 if keep_loops or src[row] != dst[row] else 0
    return count


@compiled
def smallest_and_largest(ids):
    """Of at least one id."""
    smallest = largest = ids[0]
    for i in range(ids.size):
        smallest, largest = min(smallest, ids[i]), max(largest, ids[i])
    return smallest, largest


@compiled
def radix_sort(keys, spare, low_bit, bits):
    """Sort, stable, by ``bits`` bits from ``low_bit`` up; return which array holds the result."""
    count = keys.size
    # Wide digits make few passes, narrow ones have small tables: those win for small batches.
    widest = 10 if count >= 1 << 15 else 8
    passes = (bits + widest - 1) // widest
    width = (bits + passes - 1) // passes
    mask = np.uint64((1 << width) - 1)
    tables = np.zeros((passes, 1 << width), dtype=np.int64)
    for i in range(count):
        key = keys[i] >> np.uint64(low_bit)
        for digit in range(passes):
            tables[digit, np.int64(key & mask)] += 1
            key >>= np.uint64(width)
    for digit in range(passes):
        table = tables[digit]
        shift = np.uint64(low_bit + digit * width)
        if count > 0 and table[np.int64((keys[0] >> shift) & mask)] == count:
            continue
        begin = 0
        for value in range(table.size):
            table[value], begin = begin, begin + table[value]
        for i in range(count):
            key = keys[i]
            value = np.int64((key >> shift) & mask)
            spare[table[value]] = key
            table[value] += 1
        keys, spare = spare, keys
    return keys


@compiled
def long_runs(keys, tail_bits):
    """Begin and end of each run of equal prefix that is longer than `SHORT_RUN`."""
    shift = np.uint64(tail_bits)
    runs = np.empty((keys.size // SHORT_RUN + 1, 2), dtype=np.int64)
    found, begin = 0, 0
    for i in range(1, keys.size + 1):
        if i == keys.size or keys[i] >> shift != keys[begin] >> shift:
            if i - begin > SHORT_RUN:
                runs[found, 0], runs[found, 1] = begin, i
                found += 1
            begin = i
    return runs[:found]


@compiled
def gather_ends(keys, src, dst, tail_bits, sorted_src, sorted_dst):
    """End points of the rows in the order of their keys."""
    mask = (np.uint64(1) << np.uint64(tail_bits)) - np.uint64(1)
    for i in range(keys.size):
        row = np.int64((keys[i] & mask) >> np.uint64(1))
        sorted_src[i], sorted_dst[i] = src[row], dst[row]


@compiled
def number_edges(keys, src, dst, tail_bits):
    """Order the short runs; replace each prefix by a number per edge; return how many there are.

    ``src`` and ``dst`` come with the keys and leave with one entry per edge, at its number.
    """
    shift = np.uint64(tail_bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    count = keys.size
    edges = 0
    begin = 0
    while begin < count:
        prefix = keys[begin] >> shift
        end = begin + 1
        while end < count and keys[end] >> shift == prefix:
            end += 1
        if 1 < end - begin <= SHORT_RUN:
            shell_sort(src, dst, keys, begin, end)
        for i in range(begin, end):
            # Numbers never overtake rows, so what is overwritten has been read.
            a, b = src[i], dst[i]
            if i == begin or a != src[edges - 1] or b != dst[edges - 1]:
                src[edges], dst[edges] = a, b
                edges += 1
            keys[i] = (np.uint64(edges - 1) << shift) | (keys[i] & mask)
        begin = end
    return edges


@inlined
def shell_sort(first, second, third, begin, end):
    """Sort three columns together from ``begin`` to ``end`` by (first, second, third)."""
    for at in range(0 if end - begin > GAPS[-2] else len(GAPS) - 1, len(GAPS)):
        gap = GAPS[at]
        for i in range(begin + gap, end):
            a, b, c = first[i], second[i], third[i]
            j = i
            while j >= begin + gap:
                k = j - gap
                if first[k] < a:
                    break
                if first[k] == a and (second[k] < b or (second[k] == b and third[k] < c)):
                    break
                first[j], second[j], third[j] = first[k], second[k], third[k]
                j = k
            first[j], second[j], third[j] = a, b, c


@compiled
def keep_last(keys, tail_bits, deletes):
    """Move the last key of each edge to the front of ``keys`` or to ``deletes``.

    Returns how many went where. The low bit of a key in ``deletes`` becomes 1 if the batch also
    inserts the edge.
    """
    shift = np.uint64(tail_bits)
    one = np.uint64(1)
    count = keys.size
    put_count, delete_count = 0, 0
    inserted = np.uint64(0)
    for i in range(count):
        key = keys[i]
        insert = key & one
        inserted |= insert
        last = i + 1 == count or keys[i + 1] >> shift != key >> shift
        # Written in any case and kept by the count: a branch on random kinds would be missed.
        keys[put_count] = key
        deletes[delete_count] = key | inserted
        put_count += np.int64(insert) if last else 0
        delete_count += 1 - np.int64(insert) if last else 0
        inserted = np.uint64(0) if last else inserted
    return put_count, delete_count


@compiled
def compress_edges(
    keys, tail_bits, dst_bits, src_low, dst_low, edge_src, edge_dst, rows, indptr, indices
):
    """Write the edges as hypersparse CSR; return the number of rows, which begin at ``rows[1]``."""
    shift, dst_shift = np.uint64(tail_bits), np.uint64(dst_bits)
    dst_mask = (np.uint64(1) << dst_shift) - np.uint64(1)
    src_base, dst_base = np.uint64(src_low), np.uint64(dst_low)
    count = np.uint64(0)
    before = np.int64(0)
    indptr[0] = 0
    for i in range(keys.size):
        edge = keys[i] >> shift
        if dst_bits:
            src = np.int64((edge >> dst_shift) + src_base)
            indices[i] = np.int64((edge & dst_mask) + dst_base)
        else:
            src, indices[i] = edge_src[np.int64(edge)], edge_dst[np.int64(edge)]
        count += np.uint64(src != before) | np.uint64(i == 0)
        before = src
        # Written at each edge, so that the last one of a row stands: no branch to be missed.
        rows[count] = src
        indptr[count] = i + 1
    return np.int64(count)


@compiled
def first_inserts(keys, tail_bits, first, reset):
    """Write, per edge to put, what `first_inserts_of` says; return how many there are."""
    shift, one = np.uint64(tail_bits), np.uint64(1)
    row_mask = (one << shift) - one
    count = keys.size
    put_count = 0
    begin, deleted = np.int64(-1), False
    for i in range(count):
        insert = keys[i] & one != 0
        if not insert:
            begin, deleted = np.int64(-1), True
        elif begin < 0:
            begin = np.int64((keys[i] & row_mask) >> one)
        if i + 1 == count or keys[i + 1] >> shift != keys[i] >> shift:
            if insert:
                first[put_count], reset[put_count] = begin, deleted
                put_count += 1
            begin, deleted = np.int64(-1), False
    return put_count


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
