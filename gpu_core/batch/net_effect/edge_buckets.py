"""The last row of each edge of a batch, found by buckets, where its position is not needed.

Simple records keep nothing but the edge, so only the *kind* of its last row counts. Rows are
partitioned, in order, into *buckets* by the upper bits of the source. The rest of the edge is a
*word*, with the kind as its lowest bit: 32 bits where ids are narrow (below 2^20: 2^9 buckets),
else 64. A bucket stays in the cache while it is sorted, by a stable sort, while the last word of
each edge is kept, and while the lists are written. Source and destination are offsets to the
smallest ids, so the range of ids counts, not their size.

Not here: ranges of ids too wide for a word, and records that need positions (`last_rows.py`).

Source: a radix sort whose first pass goes by the most significant digit, as in Knuth, TAOCP vol. 3,
5.2.5; timed against others in ``docs/benchmarks-pipeline.md``, *Conversion* and *Tried and left
out*.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...jit.arrays import readonly
from ...jit.compile import compiled, inlined
from ..serial_sort import smallest_and_largest, sort_by_radix
from .last_rows import EdgeList, EdgeLists, keep_last

#: Rows of an average bucket, at most, unless there are too many buckets: 64 KiB with the spare.
BUCKET_ROWS = 1 << 13
#: Bits of the number of a bucket: more buckets than that are slow to scatter to.
MOST_BUCKET_BITS = 11
#: Bits of a word below the edge. With a plain 1 Numba would compile each function for that number.
_TAIL = np.int64(1)


class KeyLayout(NamedTuple):
    """Bits of an edge's parts in a key: ``src - src_low`` is the bucket above ``src_bits`` bits."""

    src_low: int
    dst_low: int
    #: Bits of the source, and of the destination, in a word.
    src_bits: int
    dst_bits: int
    bucket_bits: int

    @classmethod
    def of(cls, rows: int, src: tuple[int, int], dst: tuple[int, int]) -> Self | None:
        """Layout for ``rows`` rows with these bounds of ids; None where no word holds an edge."""
        src_bits, dst_bits = (max(1, (high - low).bit_length()) for low, high in (src, dst))
        wanted = max(0, -(-rows // BUCKET_ROWS) - 1).bit_length()
        # As many buckets as make the words narrow, if that is possible.
        for word_bits in (32, 64):
            least = src_bits + dst_bits + 1 - word_bits
            if least <= min(src_bits, MOST_BUCKET_BITS):
                bucket_bits = min(max(wanted, least, 0), src_bits, MOST_BUCKET_BITS)
                return cls(src[0], dst[0], src_bits - bucket_bits, dst_bits, bucket_bits)
        return None


class EdgeBuckets(NamedTuple):
    """Edge rows in buckets, in order of their positions within each."""

    #: uint32[n] or uint64[n]: the rest of the edge above one bit, 1 for an insert.
    words: npt.NDArray[Any]
    #: uint32[b]: where each bucket begins and ends in ``words``; gaps are rows that were dropped.
    begins: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.uint32]
    layout: KeyLayout
    #: Rows that have a word.
    rows: int
    #: Smallest and largest id of all rows, also of those without a word, or what lies beyond them.
    bounds: tuple[int, int]
    #: Rows that delete, or more.
    deletes: int


def partition_edge_rows(
    op: npt.NDArray[np.int8],
    src: npt.NDArray[Any],
    dst: npt.NDArray[Any],
    *,
    directed: bool,
    keep_loops: bool,
    bounds: tuple[int, int, int, int] | None = None,
) -> EdgeBuckets | None:
    """Partition edge rows into buckets by their sources.

    Parameters
    ----------
    op
        int8[n] of 1 and -1, or int8[0] where all rows are inserts.
    src, dst
        int32[n], uint32[n] or int64[n], fewer than 2^31.
    directed
        If False, edges are folded to ``src <= dst``.
    keep_loops
        Whether rows with ``src == dst`` stay.
    bounds
        Smallest and largest source, smallest and largest destination, or what is said to lie
        beyond them; None, or where an id lies beyond: they are looked for.

    Returns
    -------
    buckets
        None where the range of the ids is too wide: then nothing was done.
    """
    if src.size == 0:
        return None
    op, src, dst = readonly(op), readonly(src), readonly(dst)
    if bounds is not None:
        buckets, is_within = _fill_buckets(
            op, src, dst, bounds, directed=directed, keep_loops=keep_loops
        )
        if is_within and buckets is not None:
            return buckets
    found = [int(bound) for ids in (src, dst) for bound in smallest_and_largest(ids)]
    buckets, _ = _fill_buckets(op, src, dst, found, directed=directed, keep_loops=keep_loops)
    return buckets


def _fill_buckets(
    op: npt.NDArray[np.int8],
    src: npt.NDArray[Any],
    dst: npt.NDArray[Any],
    bounds: Sequence[int],
    *,
    directed: bool,
    keep_loops: bool,
) -> tuple[EdgeBuckets | None, bool]:
    """Partition rows within bounds; the buckets are void unless all ids lie within them."""
    src_low, src_high, dst_low, dst_high = bounds
    low, high = min(src_low, dst_low), max(src_high, dst_high)
    if not directed:
        src_low, src_high, dst_low, dst_high = low, high, low, high
    layout = KeyLayout.of(src.size, (src_low, src_high), (dst_low, dst_high))
    if layout is None:
        return None, True
    # One more for ids beyond the bounds.
    counts = np.zeros((1 << layout.bucket_bits) + 1, dtype=np.uint32)
    count_rows(src, dst, directed, src_low, src_high, layout.src_bits, counts)
    if counts[-1]:
        return None, False
    counts = counts[:-1]
    begins = np.cumsum(counts, dtype=np.uint32) - counts
    ends = begins.copy()
    is_narrow = layout.src_bits + layout.dst_bits < 32
    words = np.empty(src.size, dtype=np.uint32 if is_narrow else np.uint64)
    rows, deletes, largest = partition_rows(
        op, src, dst, directed, keep_loops, tuple(layout), ends, words
    )
    buckets = EdgeBuckets(words, begins, ends, layout, rows, (low, high), deletes)
    return buckets, largest <= dst_high - dst_low


def edge_lists(
    buckets: EdgeBuckets,
    *,
    id_type: type[np.int64 | np.uint32] = np.int64,
    offset_type: type[np.int64 | np.uint32] = np.int64,
) -> EdgeLists:
    """Keep the last row of each edge: edges to put and edges to delete. Uses up the words.

    Parameters
    ----------
    id_type, offset_type
        Of ``rows`` and ``indices``, and of ``indptr``. Every id has to fit.
    """
    layout = buckets.layout
    sources = 1 << (layout.src_bits + layout.bucket_bits)
    revoked = np.empty(min(buckets.rows, buckets.deletes), dtype=np.bool_)
    types = id_type, offset_type
    puts = _room(buckets.rows, sources, *types)
    deletes = _room(revoked.size, sources, *types)
    put_count, put_rows, delete_count, delete_rows = list_edges(
        buckets.words,
        buckets.begins,
        buckets.ends,
        tuple(layout),
        tuple(puts),
        tuple(deletes),
        revoked,
    )
    return EdgeLists(
        _cut(puts, put_count, put_rows),
        np.empty(0, dtype=np.int64),
        _cut(deletes, delete_count, delete_rows),
        revoked[:delete_count],
    )


def _room(edges: int, sources: int, id_type: type, offset_type: type) -> EdgeList:
    """Room for a list of ``edges`` edges of at most as many sources, and a row before the first."""
    rows = min(edges, sources) + 1
    return EdgeList(
        np.empty(rows, dtype=id_type),
        np.empty(rows, dtype=offset_type),
        np.empty(edges, dtype=id_type),
    )


def _cut(edges: EdgeList, count: int, rows: int) -> EdgeList:
    return EdgeList(edges.rows[1 : rows + 1], edges.indptr[: rows + 1], edges.indices[:count])


@compiled
def count_rows(src, dst, directed, src_low, src_high, src_bits, counts):
    """Add the number of rows of each bucket to ``counts``, whose last is for ids beyond bounds."""
    low, shift = np.uint64(src_low), np.uint64(src_bits)
    span, beyond = np.uint64(src_high) - low, np.uint64(counts.size - 1)
    for row in range(np.uint64(src.size)):
        source = src[row] if directed else min(src[row], dst[row])
        offset = np.uint64(source) - low
        counts[offset >> shift if offset <= span else beyond] += np.uint32(1)


@compiled
def partition_rows(op, src, dst, directed, keep_loops, layout, ends, words):
    """Write the word of each row that stays to the end of its bucket, and move that end.

    Returns
    -------
    rows, deletes : int
        Rows that stay, and rows that delete.
    largest : int
        Largest destination, above ``dst_low``; one too large for its bits made bad words.
    """
    src_low, dst_low, src_bits, dst_bits, _ = layout
    src_low, dst_low = np.uint64(src_low), np.uint64(dst_low)
    src_bits, dst_bits, one = np.uint64(src_bits), np.uint64(dst_bits), np.uint64(1)
    src_mask, largest = (one << src_bits) - one, np.uint64(0)
    rows, inserts = np.uint64(0), np.uint64(0)
    for row in range(np.uint64(src.size)):
        a, b = src[row], dst[row]
        source, target = (a, b) if directed else (min(a, b), max(a, b))
        source, target = np.uint64(source) - src_low, np.uint64(target) - dst_low
        insert = np.uint64(op[row] > 0) if op.size else one
        largest = max(largest, target)
        rest = ((source & src_mask) << dst_bits) | target
        bucket = source >> src_bits
        end = ends[bucket]
        # The next row overwrites the word of one that does not stay.
        words[np.uint64(end)] = (rest << one) | insert
        stays = np.uint32(keep_loops or a != b)
        ends[bucket] = end + stays
        rows += np.uint64(stays)
        inserts += insert
    return np.int64(rows), np.int64(src.size) - np.int64(inserts), largest


@compiled
def list_edges(words, begins, ends, layout, put_list, delete_list, revoked):
    """Sort each bucket, and write its edges to put and to delete as hypersparse CSR.

    Returns of each list how many edges it has, and how many rows, which begin at ``rows[1]``.
    """
    _, _, src_bits, dst_bits, _ = layout
    puts, deletes, put_row, delete_row = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    put_list[1][0] = delete_list[1][0] = 0
    largest = np.int64(0)
    for bucket in range(begins.size):
        largest = max(largest, np.int64(ends[bucket]) - np.int64(begins[bucket]))
    # One more delete for the last write of a loop without branches; row 0 is before the first one.
    spare, kept_deletes = np.empty(largest, words.dtype), np.empty(largest + 1, words.dtype)
    for bucket in range(np.uint64(begins.size)):
        begin, end = np.uint64(begins[bucket]), np.uint64(ends[bucket])
        if begin == end:
            continue
        rows = end - begin
        sorted_words = sort_by_radix(words[begin:end], spare[:rows], _TAIL, src_bits + dst_bits)
        put_count, delete_count = keep_last(sorted_words, _TAIL, kept_deletes)
        source = (bucket << np.uint64(src_bits), *layout[:4])
        put_row = append_edges(sorted_words[:put_count], source, puts, put_row, *put_list)
        puts += np.uint64(put_count)
        gone = kept_deletes[:delete_count]
        for i in range(np.uint64(delete_count)):
            revoked[deletes + i] = gone[i] & np.uint64(1) != 0
        delete_row = append_edges(gone, source, deletes, delete_row, *delete_list)
        deletes += np.uint64(delete_count)
    return np.int64(puts), np.int64(put_row), np.int64(deletes), np.int64(delete_row)


@inlined
def append_edges(words, source, edges, row, rows, indptr, indices):
    """Append the edges of a bucket to a list of ``edges`` edges; return the number of its rows."""
    base, src_low, dst_low, _, dst_bits = source
    one, shift = np.uint64(1), np.uint64(dst_bits)
    dst_mask = (one << shift) - one
    src_base, dst_base = base + np.uint64(src_low), np.uint64(dst_low)
    # Buckets share no source.
    before = ~np.uint64(0)
    for i in range(np.uint64(words.size)):
        rest = np.uint64(words[i]) >> one
        indices[edges + i] = (rest & dst_mask) + dst_base
        offset = rest >> shift
        row += np.uint64(offset != before)
        before = offset
        # Written at each edge, so that the last one of a row stands: no branch to be missed.
        rows[row] = offset + src_base
        indptr[row] = edges + i + one
    return row
