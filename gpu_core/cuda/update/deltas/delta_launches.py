"""Launches that map a batch to vertex indices and arrange its entries by direction: compiled.

Part of   the apply path: **map ids -> deltas** -> plan -> allocate -> commit
Kernels   ``dictionary.cu``, ``vertices.cu``, ``deltas.cu``, ``row_buckets.cu``, ``sorting.cu``
Twin      ``host/update/deltas.py``: the same deltas for the same batch

A *delta* is what a batch does to the adjacencies of one direction: entries grouped by row, in order
of (column, kind) within a row. As little is sorted as the order of what is there allows:

==========================================  =====================================================
forward, entries of one kind                the batch's own CSR; where columns are not in order by
                                            index, each row's entries are put in order, no sort
forward, two kinds, indices in order        puts and deletes merged by binary search, no sort
all others                                  sorted by row alone, by a stable sort; then each row's
                                            entries are put in order, unless the sort left them so
of these, many, spread over the vertices    partitioned into buckets of rows, by the uppermost bits;
                                            a block sorts a bucket and groups it
==========================================  =====================================================

A row's entries are put in order by counting which of its others come before (`order_rows`,
`unpack_keys`), which takes time by the square of their number. Where long rows are expected
(`long_rows.LongRows`) keys are sorted by column too; and where a row turns out to be long that was
not expected, it is not put in order, and the batch is planned again.

Keys of sorts are packed: row | column | kind | number of the put. The sort is stable and dangling
references come first, so the kind is never sorted by. A number that does not fit travels beside
the key.
"""

from typing import Final, NamedTuple

import numpy as np

from ....image.fields import KIND_DANGLING, KIND_DELETE, KIND_PUT, Field, Shape
from ....jit.compile import inlined
from ...device.launches import (
    begin_launch,
    clear_words,
    copy_words,
    end_launch,
    put_array,
    put_words,
)
from ...device.sorting.key_buckets import MEAN_KEYS, bucket_bits, buckets_of
from ...device.sorting.sorting import (
    BLOCK_KEYS,
    SORT_FIELDS,
    cut_keys,
    pass_words,
    write_sort,
)
from ...memory.scratch import aligned
from ...structs import (
    BUCKET_THREADS,
    DELTA,
    DIGITS,
    GROUP_BLOCKS,
    LISTS,
    SORT_THREADS,
    TILE_ENTRIES,
    TILE_THREADS,
)
from ..facts import DELTA_WORDS, SORTING, plain_kernel
from ..modes import ASSISTED, COMMON
from ..steps import MAP, SORT

#: Kernels, by their numbers.
_MAP_VERTICES: Final = plain_kernel("map_vertices")
_MAP_IDS: Final = plain_kernel("map_ids")
_PACK_LISTS: Final = plain_kernel("pack_lists")
_MERGE_LISTS: Final = plain_kernel("merge_lists")
_COUNT_ROWS: Final = plain_kernel("count_rows")
_UNPACK_KEYS: Final = plain_kernel("unpack_keys")
_ORDER_ROWS: Final = plain_kernel("order_rows")
_GROUP_ROWS: Final = plain_kernel("group_rows")

_PUT_ROWS: Final = LISTS.at("put_rows")
_PUT_INDPTR: Final = LISTS.at("put_indptr")
_PUT_ROW_COUNT: Final = LISTS.at("put_row_count")
_PUT_COLUMNS: Final = LISTS.at("put_columns")
_PUTS: Final = LISTS.at("puts")
#: The fields of the deletes lie as far after those of the puts.
_DELETED: Final = LISTS.at("delete_rows")
_DELETES: Final = LISTS.at("deletes")
_PUT_VERTICES: Final = LISTS.at("put_vertices")
_VERTICES: Final = LISTS.at("vertices")

#: Fields of a delta, whose direction stands before them and its entries after.
_ROWS: Final = 1 + DELTA.at("rows")
_INDPTR: Final = 1 + DELTA.at("indptr")
_COUNT: Final = 1 + DELTA.at("row_count")
_COLUMNS: Final = 1 + DELTA.at("columns")
_KINDS: Final = 1 + DELTA.at("kinds")
_SOURCE: Final = 1 + DELTA.at("source")
_CLEAR: Final = 1 + DELTA.at("clear")
_MAX_ROWS: Final = 1 + DELTA.at("max_rows")
_KIND: Final = 1 + DELTA.at("kind")
_HAS_PUTS: Final = 1 + DELTA.at("puts")
_HAS_DELETES: Final = 1 + DELTA.at("deletes")
ENTRIES: Final = 1 + DELTA_WORDS

#: How `pack_lists` arranges entries and transposed entries: bits of ``orientation``.
_FORWARD, _TRANSPOSED, _TRANSPOSED_FIRST = 0, 1, 3

_DANGLING: Final = int(KIND_DANGLING)
_DELETE: Final = int(KIND_DELETE)
_PUT: Final = int(KIND_PUT)
_KIND_BITS: Final = 2
_KEY_BITS: Final = 64
_VERTEX_COUNT: Final = 1 + Shape._fields.index("vertex_count")
_NUM_VERTICES: Final = int(Field.NUM_VERTICES)
_REVERSE_ENTRY_WORDS: Final = int(Field.REVERSE_ENTRY_WORDS)

#: Fields of a sort.
_KEYS: Final = SORT_FIELDS.index("keys")
_SPARE: Final = SORT_FIELDS.index("spare")
_VALUES: Final = SORT_FIELDS.index("values")
_SPARE_VALUES: Final = SORT_FIELDS.index("spare_values")
_COUNTS: Final = SORT_FIELDS.index("counts")
_GROUPS: Final = SORT_FIELDS.index("groups")
_TICKETS: Final = SORT_FIELDS.index("tickets")
_SORT_COUNT: Final = SORT_FIELDS.index("count")
_BLOCKS: Final = SORT_FIELDS.index("blocks")
_PORTION: Final = SORT_FIELDS.index("portion")
_IS_FEW: Final = SORT_FIELDS.index("is_few")
_SORT_FIELDS: Final = len(SORT_FIELDS)


@inlined
def _tiles(entries):
    return -(-entries // TILE_ENTRIES)


@inlined
def _bits_of(number):
    """Bits of the numbers below ``number``, one at least."""
    bits, left = 1, (number - 1) >> 1
    while left > 0:
        bits += 1
        left >>= 1
    return bits


@inlined
def has_reverse(facts, header):
    """Whether there is a second delta."""
    return facts.image.entries_per_edge == 1 and header[_REVERSE_ENTRY_WORDS] > 0


@inlined
def write_mapping(launches, facts, header, steps, end):
    """Fill ``facts.mapped`` and write the launch that maps the batch, if the host has not done so.

    Returns
    -------
    int
        Where the scratch goes on that lies from ``end`` on.
    """
    call, image, mapped, extent = facts.call, facts.image, facts.mapped, facts.batch.extent
    if call.mode == ASSISTED:
        return end
    lists, ids = mapped.lists, facts.batch.lists
    for word in range(lists.size):
        lists[word] = ids[word]
    clear_words(mapped.entry_rows)
    copy_words(mapped.row_counts, facts.batch.row_counts)
    for direction in range(2):
        clear_words(mapped.dangling[direction])
    mapped.clear = 0
    mapped.ordered = extent.dense
    puts, deletes, vertices = ids[_PUTS], ids[_DELETES], ids[_VERTICES]
    blocks = _tiles(puts) + _tiles(deletes) + _tiles(vertices)
    sorts = image.entries_per_edge == 2 or has_reverse(facts, header) or (puts > 0 and deletes > 0)
    # With dense ids, the largest one shows that all have a record.
    check = call.mode == COMMON and header[_NUM_VERTICES] < call.after
    if extent.dense and not (sorts or check):
        return end
    mapped.entry_rows[0], end = end, aligned(end + 4 * puts)
    mapped.entry_rows[1], end = end, aligned(end + 4 * deletes)
    if extent.dense:
        if steps & MAP:
            position = begin_launch(
                launches, facts.kernels.plain[_MAP_VERTICES], blocks, TILE_THREADS
            )
            shape = position
            position = put_array(launches, position, image.shapes[0])
            launches[shape + _VERTEX_COUNT] = call.before
            position = put_array(launches, position, ids)
            rows = (mapped.entry_rows[0], mapped.entry_rows[1], int(check))
            end_launch(launches, put_words(launches, position, rows))
        return end
    for first, entries in ((_PUT_ROWS, puts), (_DELETED, deletes)):
        lists[first], end = end, aligned(end + 4 * ids[first + _PUT_ROW_COUNT])
        lists[first + _PUT_COLUMNS], end = end, aligned(end + 4 * entries)
    lists[_PUT_VERTICES], end = end, aligned(end + 4 * vertices)
    if steps & MAP:
        position = begin_launch(launches, facts.kernels.plain[_MAP_IDS], blocks, TILE_THREADS)
        position = put_array(launches, position, ids)
        end_launch(launches, put_words(launches, position, (
            image.shapes[0, 0], image.slots, image.slot_count, image.ids,
            lists[_PUT_ROWS], lists[_PUT_COLUMNS], mapped.entry_rows[0],
            lists[_DELETED], lists[_DELETED + _PUT_COLUMNS], mapped.entry_rows[1],
            lists[_PUT_VERTICES], 1,
        )))  # fmt: skip
    return end


@inlined
def write_deltas(launches, facts, header, steps, end):
    """Fill ``facts.deltas`` and write the launches that make them.

    Returns
    -------
    int
        As of `write_mapping`.
    """
    call, mapped = facts.call, facts.mapped
    lists = mapped.lists
    puts, deletes = lists[_PUTS], lists[_DELETES]
    listed = (puts + deletes) * facts.image.entries_per_edge
    call.deltas = 0
    for direction in range(2 if has_reverse(facts, header) else 1):
        dangling = mapped.dangling[direction, 2]
        if listed + dangling == 0:
            continue
        delta = facts.deltas.each[call.deltas]
        call.deltas += 1
        clear_words(delta)
        delta[0] = direction
        delta[_CLEAR] = mapped.clear
        delta[ENTRIES] = listed + dangling
        kinds = int(puts > 0) + int(deletes > 0) + int(dangling > 0)
        kind = _PUT if puts > 0 else _DELETE if deletes > 0 else _DANGLING
        delta[_KIND] = kind if kinds == 1 else -1
        delta[_HAS_PUTS] = int(kinds > 1 or kind == _PUT)
        delta[_HAS_DELETES] = int(kinds > 1 or kind != _PUT)
        delta[_MAX_ROWS] = min(listed + dangling, call.after)
        is_csr = direction == 0 and facts.image.entries_per_edge == 1 and dangling == 0
        if is_csr and kinds == 1:
            first = _PUT_ROWS if puts > 0 else _DELETED
            delta[_ROWS], delta[_INDPTR] = lists[first], lists[first + _PUT_INDPTR]
            delta[_COUNT] = mapped.row_counts[0 if puts > 0 else 1]
            delta[_COLUMNS] = lists[first + _PUT_COLUMNS]
            delta[_MAX_ROWS] = lists[first + _PUT_ROW_COUNT]
            if mapped.ordered:
                continue
            if call.long_expected == 0:
                end = _write_ordering(launches, facts, delta, first, steps, end)
                continue
        form = _DeltaForm(
            kinds, max(puts, deletes, dangling), is_csr and kinds == 1,
            is_csr and kinds == 2 and mapped.ordered != 0,
        )  # fmt: skip
        end = _write_delta(launches, facts, delta, form, steps, end)
    return end


@inlined
def _write_ordering(launches, facts, delta, first, steps, end):
    """Write the launch that puts the entries of each row of a list in order.

    ``first`` is the list's first field.
    """
    lists, count = facts.mapped.lists, delta[ENTRIES]
    columns = delta[_COLUMNS]
    delta[_COLUMNS], end = end, aligned(end + 4 * count)
    if facts.image.with_source:
        delta[_SOURCE], end = end, aligned(end + 4 * count)
    if steps & SORT:
        blocks = -(-count // TILE_THREADS)
        position = begin_launch(launches, facts.kernels.plain[_ORDER_ROWS], blocks, TILE_THREADS)
        entry_rows = facts.mapped.entry_rows[0 if first == _PUT_ROWS else 1]
        end_launch(launches, put_words(launches, position, (
            columns, entry_rows, lists[first + _PUT_INDPTR], count, delta[_COLUMNS], delta[_SOURCE],
        )))  # fmt: skip
    return end


class _DeltaForm(NamedTuple):
    """Kinds and order of the entries of a delta."""

    #: Kinds of its entries, and the entries of the largest one, counted in one direction.
    kinds: int
    most: int
    #: Its rows are those of the list: only entries are put in order.
    keeps_rows: bool
    #: Two lists in order: they are merged.
    is_merged: bool


class SortKeys(NamedTuple):
    """Layout of the keys of a delta, and the bits that they are sorted by."""

    #: Bits of a vertex index | bits of a kind << 32.
    index_bits: int
    kind_bits: int
    #: Bits of the number of a put; 0: the number is no part of the key.
    number_bits: int
    #: Whether the number travels beside the key.
    with_values: bool
    #: Whether the entries of each row are in order after the sort.
    in_order: bool
    #: The lowest bit that is sorted by, the one after the highest.
    low_bit: int
    top: int
    #: Buckets of rows, 0: none; the lowest bit of the number of a bucket.
    buckets: int
    partition_bit: int


@inlined
def keys_of(facts, count, form):
    """`SortKeys` of a delta of ``count`` entries."""
    call, kinds, is_merged = facts.call, form.kinds, form.is_merged
    bits, kind_bits = _bits_of(call.after), _KIND_BITS if kinds > 1 else 0
    number_bits, with_values = 0, False
    if facts.image.with_source:
        number_bits = _bits_of(form.most)
        if 2 * bits + kind_bits + number_bits > _KEY_BITS:
            number_bits, with_values = 0, True
    column_bit = kind_bits + number_bits
    row_bit = column_bit + bits
    # A stable sort by row leaves the entries of a row as they were.
    is_stable = is_merged or (facts.mapped.ordered != 0 and kinds == 1)
    by_column = call.long_expected != 0 and not is_stable
    low_bit, top = column_bit if by_column else row_bit, row_bit + bits
    buckets, partition_bit = 0, low_bit
    partitions = call.in_buckets != 0 and count > BLOCK_KEYS
    if partitions and not (is_merged or form.keeps_rows or with_values):
        of_bucket = bucket_bits(count, call.after - 1, bits, MEAN_KEYS)
        if of_bucket > 0:
            buckets = buckets_of(call.after - 1, bits, of_bucket)
            partition_bit = top - of_bucket
    return SortKeys(
        bits | kind_bits << 32, kind_bits, number_bits, with_values, is_stable or by_column,
        low_bit, top, buckets, partition_bit,
    )  # fmt: skip


@inlined
def reserve_sort(facts, keys, count, sorts, sort, end):
    """Fill ``sort``, of `SORT_FIELDS`, with its memory from ``end`` on; returns what is after."""
    blocks, portion, is_few = cut_keys(count, facts.image.multiprocessors)
    sort[_SORT_COUNT], sort[_BLOCKS] = count, blocks
    sort[_PORTION], sort[_IS_FEW] = portion, int(is_few)
    sort[_KEYS], end = end, aligned(end + 8 * count)
    if keys.with_values:
        sort[_VALUES], end = end, aligned(end + 4 * count)
    if sorts and count > BLOCK_KEYS:
        sort[_SPARE], end = end, aligned(end + 8 * count)
        if keys.with_values:
            sort[_SPARE_VALUES], end = end, aligned(end + 4 * count)
        sort[_COUNTS], end = end, aligned(end + 4 * DIGITS * blocks)
        sort[_GROUPS], end = end, aligned(end + 4 * DIGITS * -(-blocks // GROUP_BLOCKS))
        sort[_TICKETS] = facts.kernels.tickets
    return end


@inlined
def _write_delta(launches, facts, delta, form, steps, end):
    """Write the launches of a delta that is not a list as it is."""
    count, keeps_rows, is_merged = delta[ENTRIES], form.keeps_rows, form.is_merged
    keys = keys_of(facts, count, form)
    sort = np.zeros(_SORT_FIELDS, np.int64)
    end = reserve_sort(facts, keys, count, not is_merged, sort, end)
    tiles = published = 0
    if not keeps_rows:
        delta[_ROWS], end = end, aligned(end + 4 * delta[_MAX_ROWS])
        delta[_INDPTR], end = end, aligned(end + 4 * delta[_MAX_ROWS] + 4)
        delta[_COUNT], end = end, aligned(end + 4)
        if keys.buckets > 0:
            published, end = end, aligned(end + 8 * keys.buckets)
        elif count > TILE_ENTRIES:
            tiles, end = end, aligned(end + 4 * _tiles(count))
    delta[_COLUMNS], end = end, aligned(end + 4 * count)
    if keys.kind_bits > 0:
        delta[_KINDS], end = end, aligned(end + count)
    if facts.image.with_source:
        delta[_SOURCE], end = end, aligned(end + 4 * count)
    if steps & SORT == 0:
        return end
    if is_merged:
        _write_merging(launches, facts, count, keys, sort)
    else:
        write_packing(launches, facts, delta, keys, sort, keeps_rows, published)
        write_sort(launches, facts.kernels.plain[SORTING:], sort, keys.partition_bit, keys.top)
    if keys.buckets > 0:
        write_grouping(launches, facts, delta, keys, sort, published)
    else:
        write_unpacking(launches, facts, delta, keys, sort, keeps_rows, tiles)
    return end


@inlined
def _write_merging(launches, facts, count, keys, sort):
    """Write the launch that merges two lists in order into keys."""
    blocks = -(-count // TILE_THREADS)
    position = begin_launch(launches, facts.kernels.plain[_MERGE_LISTS], blocks, TILE_THREADS)
    position = put_array(launches, position, facts.mapped.lists)
    end_launch(launches, put_words(launches, position, (
        facts.mapped.entry_rows[0], facts.mapped.entry_rows[1], keys.index_bits, keys.number_bits,
        sort[_KEYS], sort[_VALUES],
    )))  # fmt: skip


@inlined
def write_packing(launches, facts, delta, keys, sort, keeps_rows, published):
    """Write the launch that packs all entries into keys, and counts their first digit."""
    direction, count = delta[0], delta[ENTRIES]
    position = begin_launch(launches, facts.kernels.plain[_PACK_LISTS], sort[_BLOCKS], SORT_THREADS)
    position = put_array(launches, position, facts.mapped.dangling[direction])
    lists_at = position
    position = put_array(launches, position, facts.mapped.lists)
    if keeps_rows:
        # The numbers of the rows stand for their vertices.
        launches[lists_at + _PUT_ROWS] = launches[lists_at + _DELETED] = 0
    orientation = _TRANSPOSED if direction == 1 else _FORWARD
    if facts.image.entries_per_edge == 2:
        orientation = _TRANSPOSED_FIRST
    position = put_words(launches, position, (
        facts.mapped.entry_rows[0], facts.mapped.entry_rows[1], orientation, keys.index_bits,
        keys.number_bits, sort[_KEYS], sort[_VALUES], sort[_PORTION],
    ))  # fmt: skip
    first_pass = (0, 0, 0, 0)
    if count > BLOCK_KEYS:
        first_pass = pass_words(
            keys.partition_bit, keys.top, sort[_COUNTS], sort[_GROUPS], sort[_TICKETS]
        )
    position = put_words(launches, position, first_pass)
    end_launch(launches, put_words(launches, position, (published, keys.buckets)))


@inlined
def write_grouping(launches, facts, delta, keys, sort, published):
    """Write the launch that sorts each bucket and groups its entries by row."""
    position = begin_launch(
        launches, facts.kernels.plain[_GROUP_ROWS], keys.buckets, BUCKET_THREADS
    )
    end_launch(launches, put_words(launches, position, (
        facts.image.shapes[0, 0], sort[_KEYS], delta[ENTRIES], keys.index_bits, keys.number_bits,
        keys.partition_bit, (1 << keys.top - keys.partition_bit) - 1, keys.low_bit, published,
        facts.kernels.ticket, delta[_ROWS], delta[_INDPTR], delta[_COLUMNS], delta[_KINDS],
        delta[_SOURCE], delta[_COUNT], int(keys.in_order),
    )))  # fmt: skip


@inlined
def write_unpacking(launches, facts, delta, keys, sort, keeps_rows, tiles):
    """Write the launches that group sorted keys by row and unpack them."""
    kernels, count = facts.kernels.plain, delta[ENTRIES]
    if tiles:
        position = begin_launch(launches, kernels[_COUNT_ROWS], _tiles(count), TILE_THREADS)
        end_launch(launches, put_words(launches, position, (
            sort[_KEYS], count, keys.index_bits, keys.number_bits, tiles, delta[_COUNT],
            facts.kernels.ticket,
        )))  # fmt: skip
    target = (delta[_COUNT], delta[_ROWS], delta[_INDPTR])
    if keeps_rows:
        target = (0, 0, 0)
    position = begin_launch(launches, kernels[_UNPACK_KEYS], _tiles(count), TILE_THREADS)
    position = put_words(launches, position, (
        sort[_KEYS], sort[_VALUES], count, keys.index_bits, keys.number_bits, tiles
    ))  # fmt: skip
    position = put_words(launches, position, target)
    end_launch(launches, put_words(launches, position, (
        delta[_COLUMNS], delta[_KINDS], delta[_SOURCE], int(keys.in_order),
    )))  # fmt: skip
