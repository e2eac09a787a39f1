"""The last row of each edge of a batch: sort the rows by edge, keep the last, build CSR.

Each edge row becomes one 64-bit key: bits of the edge above a *tail*, the row's position in the
batch and one bit for its kind. Sorted (`batch/serial_sort.py`), the keys give the rows by edge and,
within an edge, by position. Ids are taken relative to the smallest one, so their range counts, not
their size.

* Narrow ids: the whole edge fits above the tail (ids below 2^20: batches up to 8 M rows), and the
  end points are read back from the keys.
* Wide ids: the key holds the uppermost bits of the source and, in what room is left, those of the
  destination. Where the ids show that rows are out of order still, a short *run* of them, rows that
  agree in those bits, is put in order by Shell's sort on the ids themselves; a long one is ordered
  as a batch of its own, whose range is smaller by those bits. The keys then hold the number of
  their edge among the distinct ones, whose end points lie beside.

Either way two neighboring keys are of one edge if and only if they agree above the tail. Kernels
are not parallel: CPU workers convert side by side.

Input: fewer than 2^31 rows, ``src <= dst`` for undirected graphs, ops 1 or -1; `batch/rows.py` sees
to it.

Not here: vertex rows and what they override (`net_effect.py`), and rows whose positions are not
asked for, unless their ids are too wide for that (`edge_buckets.py`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...jit.arrays import readonly
from ...jit.compile import compiled, inlined
from ..serial_sort import Ids, Keys, smallest_and_largest, sort_keys

Integers = npt.NDArray[np.int64] | npt.NDArray[np.uint32]

#: Bits of the source in a key of wide ids, where more would take from those of the destination.
SRC_BITS = 30
#: A run up to this long is ordered by Shell's sort; calls for longer ones are few.
SHELL_RUN = 512
#: Ciura's gaps for runs of that length.
GAPS = (301, 132, 57, 23, 10, 4, 1)

#: Rows that are packed together.
BLOCK = 256


class OrderedEdgeRows(NamedTuple):
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
    #: Smallest and largest id of all rows, also of those without a key.
    bounds: tuple[int, int]
    #: Rows that delete, or more.
    deletes: int


class EdgeList(NamedTuple):
    """Distinct edges as hypersparse CSR."""

    rows: Integers
    indptr: Integers
    indices: Integers


class EdgeLists(NamedTuple):
    """Net effect of edge rows, as lists."""

    puts: EdgeList
    #: int64: position of the row that decides about each edge to put; of length 0 if not asked for.
    deciding: Ids
    deletes: EdgeList
    #: Whether the batch also inserts the edge to delete.
    revoked: npt.NDArray[np.bool_]


def order_edge_rows(
    op: npt.NDArray[np.int8], src: Ids, dst: Ids, *, keep_loops: bool
) -> OrderedEdgeRows:
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
        return OrderedEdgeRows(np.empty(0, dtype=np.uint64), 2, 1, 0, 0, none, none, (0, 0), 0)
    op, src, dst = readonly(op), readonly(src), readonly(dst)
    src_low, src_high = (int(bound) for bound in smallest_and_largest(src))
    dst_low, dst_high = (int(bound) for bound in smallest_and_largest(dst))
    bounds = min(src_low, dst_low), max(src_high, dst_high)
    deletes = int(np.count_nonzero(op < 0))
    src_bits = max(1, (src_high - src_low).bit_length())
    dst_bits = max(1, (dst_high - dst_low).bit_length())
    tail_bits = max(1, (rows - 1).bit_length()) + 1
    room = 64 - tail_bits
    is_narrow = src_bits + dst_bits <= room
    src_kept = src_bits if is_narrow else min(src_bits, max(SRC_BITS, room - dst_bits))
    dst_kept = min(dst_bits, room - src_kept)

    keys = np.empty(rows, dtype=np.uint64)
    offsets = src_low, src_bits - src_kept, dst_low, dst_bits - dst_kept
    count = pack_rows(op, src, dst, keep_loops, (*offsets, dst_kept, tail_bits), keys)
    keys = sort_keys(keys[:count], tail_bits, src_kept + dst_kept)
    if is_narrow:
        lows = src_low, dst_low
        return OrderedEdgeRows(keys, tail_bits, dst_bits, *lows, none, none, bounds, deletes)

    sorted_src, sorted_dst = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    gather_ends(keys, src, dst, tail_bits, sorted_src, sorted_dst)
    for low, high in order_runs(keys, sorted_src, sorted_dst, tail_bits, dst_kept):
        run = slice(low, high)
        inner = order_edge_rows(op[:0], sorted_src[run], sorted_dst[run], keep_loops=True)
        order = positions(inner.keys, inner.tail_bits)
        for column in (keys, sorted_src, sorted_dst):
            column[run] = column[run][order]
    edges = number_edges(keys, sorted_src, sorted_dst, tail_bits)
    ends = sorted_src[:edges], sorted_dst[:edges]
    return OrderedEdgeRows(keys, tail_bits, 0, 0, 0, *ends, bounds, deletes)


def edge_lists(
    ordered: OrderedEdgeRows,
    *,
    with_deciding: bool,
    id_type: type[np.int64 | np.uint32] = np.int64,
    offset_type: type[np.int64 | np.uint32] = np.int64,
) -> EdgeLists:
    """Keep the last row of each edge: edges to put and edges to delete. Uses up the keys.

    Parameters
    ----------
    with_deciding
        Whether the position of each deciding row is wanted.
    id_type, offset_type
        Of ``rows`` and ``indices``, and of ``indptr``. Every id has to fit.
    """
    keys, count = ordered.keys, ordered.keys.size
    sources = count
    if count and ordered.dst_bits:
        last = int(keys[-1] >> np.uint64(ordered.tail_bits + ordered.dst_bits))
        sources = min(count, last + 1)
    delete_keys = np.empty(min(count, ordered.deletes) + 1, dtype=np.uint64)
    put_count, delete_count = keep_last(keys, ordered.tail_bits, delete_keys)
    put_keys, delete_keys = keys[:put_count], delete_keys[:delete_count]
    types = id_type, offset_type
    puts = _compressed(ordered._replace(keys=put_keys), sources, *types)
    deletes = _compressed(ordered._replace(keys=delete_keys), sources, *types)
    return EdgeLists(
        puts,
        positions(put_keys if with_deciding else keys[:0], ordered.tail_bits),
        deletes,
        (delete_keys & np.uint64(1)).astype(np.bool_),
    )


def _compressed(kept: OrderedEdgeRows, sources: int, id_type: type, offset_type: type) -> EdgeList:
    edges = kept.keys.size
    sources = min(edges, sources)
    # Row 0 stands for the time before the first row.
    room = EdgeList(
        np.empty(sources + 1, dtype=id_type),
        np.empty(sources + 1, dtype=offset_type),
        np.empty(edges, dtype=id_type),
    )
    count = compress_edges(kept, room)
    return EdgeList(room.rows[1 : count + 1], room.indptr[: count + 1], room.indices)


def positions(tails: Keys, tail_bits: int) -> Ids:
    """Position in the batch that each key or tail names."""
    mask = np.uint64((1 << tail_bits) - 1)
    return ((tails & mask) >> np.uint64(1)).view(np.int64)


def first_inserts_of(ordered: OrderedEdgeRows) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Rows that give the first times of the edges to put; call it before `edge_lists`.

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
def key_of(op, src, dst, low, row, layout):
    """Key of row ``low + row`` of the batch, whose columns begin at row ``low``."""
    src_low, src_shift, dst_low, dst_shift, dst_bits, tail_bits = layout
    src_part = (np.uint64(src[row]) - np.uint64(src_low)) >> np.uint64(src_shift)
    dst_part = (np.uint64(dst[row]) - np.uint64(dst_low)) >> np.uint64(dst_shift)
    edge = (src_part << np.uint64(dst_bits)) | dst_part
    insert = np.uint64(op[row] > 0) if op.size else np.uint64(1)
    return (edge << np.uint64(tail_bits)) | ((low + row) << np.uint64(1)) | insert


@compiled
def pack_rows(op, src, dst, keep_loops, layout, keys):
    """Write the key of each row that stays; return how many there are.

    Blocks of rows that all stay, nearly all blocks, are packed in vector registers.
    """
    count = np.uint64(0)
    for low in range(0, src.size, BLOCK):
        high = min(low + BLOCK, src.size)
        ops, sources, targets = op[low:high], src[low:high], dst[low:high]
        rows, first = np.uint64(high - low), np.uint64(low)
        block = keys[count : count + rows]
        loops = np.uint64(0)
        for row in range(rows):
            block[row] = key_of(ops, sources, targets, first, row, layout)
            loops += np.uint64(sources[row] == targets[row])
        if keep_loops or loops == 0:
            count += rows
            continue
        for row in range(rows):
            # The next row overwrites the key of one that does not stay.
            keys[count] = key_of(ops, sources, targets, first, row, layout)
            count += np.uint64(sources[row] != targets[row])
    return np.int64(count)


@compiled
def gather_ends(keys, src, dst, tail_bits, sorted_src, sorted_dst):
    """End points of the rows in the order of their keys."""
    mask = (np.uint64(1) << np.uint64(tail_bits)) - np.uint64(1)
    for i in range(keys.size):
        row = np.int64((keys[i] & mask) >> np.uint64(1))
        sorted_src[i], sorted_dst[i] = src[row], dst[row]


@compiled
def order_runs(keys, src, dst, tail_bits, dst_bits):
    """Order rows that their keys leave out of order, where they are few; return where many are.

    Returns
    -------
    int64[k, 2]
        Begin and end of each run of more than `SHELL_RUN` rows that is to be ordered yet.
    """
    shift, src_shift = np.uint64(tail_bits), np.uint64(tail_bits + dst_bits)
    count = keys.size
    long_runs = np.empty((count // SHELL_RUN + 1, 2), dtype=np.int64)
    found = 0
    begin = 0
    while begin < count:
        group = keys[begin] >> src_shift
        in_order, one_source = True, True
        end = begin + 1
        while end < count and keys[end] >> src_shift == group:
            if src[end] != src[end - 1]:
                one_source = False
                in_order &= src[end - 1] < src[end]
            else:
                in_order &= dst[end - 1] <= dst[end]
            end += 1
        # Rows of one source are out of order only where their keys agree in the destination, too.
        low = end if in_order else begin
        while low < end:
            high = low + 1 if one_source else end
            while high < end and keys[high] >> shift == keys[low] >> shift:
                high += 1
            if high - low > SHELL_RUN:
                long_runs[found, 0], long_runs[found, 1] = low, high
                found += 1
            elif high - low > 1:
                shell_sort(src, dst, keys, low, high)
            low = high
        begin = end
    return long_runs[:found]


@compiled
def number_edges(keys, src, dst, tail_bits):
    """Replace the edge in each key by the edge's number; return how many edges there are.

    ``src`` and ``dst`` come with the keys and leave with one entry per edge, at its number.
    """
    shift = np.uint64(tail_bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    edges = np.uint64(0)
    for i in range(keys.size):
        # Numbers never overtake rows, so what is overwritten has been read.
        a, b = src[i], dst[i]
        last = edges - np.uint64(i != 0)
        edges += np.uint64(i == 0) | np.uint64(a != src[last]) | np.uint64(b != dst[last])
        number = edges - np.uint64(1)
        src[number], dst[number] = a, b
        keys[i] = (number << shift) | (keys[i] & mask)
    return np.int64(edges)


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
    inserts the edge. ``deletes`` has room for one more.
    """
    shift, one = np.uint64(tail_bits), np.uint64(1)
    count = np.uint64(keys.size)
    put_count, delete_count, inserted = np.uint64(0), np.uint64(0), np.uint64(0)
    if count == 0:
        return 0, 0
    after = np.uint64(keys[0])
    for i in range(count):
        key = after
        after = np.uint64(keys[min(i + one, count - one)])
        insert = key & one
        inserted |= insert
        is_last = np.uint64((after ^ key) >> shift != 0) | np.uint64(i + one == count)
        # Written in any case and kept by the count: a branch on random kinds would be missed.
        keys[put_count] = key
        deletes[delete_count] = key | inserted
        put_count += is_last & insert
        delete_count += is_last & ~insert
        inserted &= is_last - one
    return np.int64(put_count), np.int64(delete_count)


@compiled
def compress_edges(ordered, edges):
    """Write edges of `OrderedEdgeRows` as an `EdgeList`; return how many rows, from ``rows[1]``."""
    keys, tail_bits, dst_bits, src_low, dst_low, edge_src, edge_dst, _, _ = ordered
    rows, indptr, indices = edges
    shift, dst_shift = np.uint64(tail_bits), np.uint64(dst_bits)
    dst_mask = (np.uint64(1) << dst_shift) - np.uint64(1)
    src_base, dst_base = np.uint64(src_low), np.uint64(dst_low)
    count = np.uint64(0)
    before = np.uint64(0)
    indptr[0] = 0
    for i in range(keys.size):
        edge = keys[i] >> shift
        if dst_bits:
            src, dst = (edge >> dst_shift) + src_base, (edge & dst_mask) + dst_base
        else:
            src, dst = np.uint64(edge_src[edge]), np.uint64(edge_dst[edge])
        indices[i] = dst
        count += np.uint64(src != before) | np.uint64(i == 0)
        before = src
        # Written at each edge, so that the last one of a row stands: no branch to be missed.
        rows[count] = src
        indptr[count] = i + 1
    return np.int64(count)


@compiled
def first_inserts(keys, tail_bits, first, reset):
    """Write, per edge to put, the row of `first_inserts_of`; return how many there are."""
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
