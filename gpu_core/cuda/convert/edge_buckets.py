"""Raw edges to CSR by buckets: one partition, then each block sorts a bucket and writes its part.

Part of   batches from raw rows (`raw_edges.py`):
          **pack_edges -> one or two passes of the radix sort -> group_buckets**
Kernels   ``raw_edges.cu``, ``sorting.cu``, ``edge_buckets.cu``
Twin      ``batch/net_effect/edge_buckets.py``

Rows are partitioned by the upper bits of their sources, so a bucket has all rows of its sources. A
block sorts it in registers, lists what is kept, and writes that part of the CSR. Where sources are
not spread over their range a bucket may be overfull; then the report says so.

The next batch is converted by the thread that applies the one before, so all launches are written
by one compiled call, out of one record of facts, as those of a batch are (`batch_launches.py`).
"""

from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ...jit.compile import compiled, inlined
from ..device.device import Device
from ..device.launches import begin_launch, end_launch, put_words
from ..device.packed_arguments import address, packer
from ..device.sorting.key_buckets import MEAN_KEYS, bucket_bits, buckets_of
from ..device.sorting.sorting import BLOCK_KEYS, SORT_FIELDS, Grid, grid_of, pass_words, write_sort
from ..device.sorting.sorting import KERNELS as SORT_KERNELS
from ..device.stream_words import StreamWords, renew_words, words_of_stream
from ..memory.scratch import ALIGNMENT
from ..structs import BUCKET_THREADS, DIGITS, SORT_THREADS
from .edge_order import KEY_BITS, NARROW, EdgeRows, bits_of
from .output_lists import COUNT_WORDS, Output

#: Keys of a bucket on the mean at most: lower ones are for tests.
_MEAN_KEYS: int = MEAN_KEYS

_KERNELS: Final = (
    ("raw_edges.cu", "pack_edges"), ("raw_edges.cu", "pack_narrow_edges"),
    ("edge_buckets.cu", "group_buckets"), *SORT_KERNELS,
)  # fmt: skip
_PACK, _PACK_NARROW, _GROUP, _SORTING = range(4)
#: Of `SORT_FIELDS`: where the keys are.
_KEYS: Final = SORT_FIELDS.index("keys")
#: Words of ``OutputList`` of the kernels.
_LIST_WORDS: Final = 8
_OF_ROWS: Final = (
    "op", "src", "dst", "are_narrow", "count",
    # `Grid`
    "blocks", "portion", "is_few",
    "src_low", "src_span", "dst_low", "dst_span",
    "folds",
    # Bits of a key: of its destination, below that, those that rows are partitioned by, and all.
    "dst_bits", "tail_bits", "bucket_bits", "key_bits",
    "keeps_loops", "ids_are_narrow",
    # Number of buckets; addresses of a word for each, of the scratch, and of the report.
    "buckets", "published", "scratch", "report",
    # Address of ``Counts``; words that are cleared from there on.
    "counts", "cleared",
)  # fmt: skip
#: What launches are written from, int64 words all of it.
_FACTS: Final = np.dtype([
    ("kernels", np.int64, (len(_KERNELS),)),
    *((name, np.int64) for name in (*StreamWords._fields, *_OF_ROWS)),
    ("puts", np.int64, (_LIST_WORDS,)),
    ("deletes", np.int64, (_LIST_WORDS,)),
])  # fmt: skip
_HANDLES: Final = packer(*[kernel for _, kernel in _KERNELS])
_STREAM_FACTS: Final = packer(*StreamWords._fields)
_ROW_FACTS: Final = packer(*_OF_ROWS)
#: Of each device: handles of the kernels, packed.
_KERNELS_OF: WeakKeyDictionary[Device, bytes] = WeakKeyDictionary()


class Buckets(NamedTuple):
    """Partition of rows into buckets, and the bits of their keys."""

    #: How many there are, by the range of the sources.
    number: int
    #: Uppermost bits of the sources that number the buckets.
    bits: int
    dst_bits: int
    tail_bits: int
    key_bits: int
    grid: Grid

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch that the launches take at most."""
        grid = self.grid
        return grid.blocks * (16 * grid.portion + 8 * DIGITS) + 4 * ALIGNMENT


def buckets_for(device: Device, rows: EdgeRows) -> Buckets | None:
    """Buckets with room for rows whose ids are spread evenly between their bounds, if any have."""
    src_bits, dst_bits, tail_bits = bits_of(rows)
    key_bits = src_bits + dst_bits + tail_bits
    if rows.number <= BLOCK_KEYS or key_bits > KEY_BITS:
        return None
    span = rows.bounds.src_high - rows.bounds.src_low
    # The smaller one of two ends is twice as often among the lowest ids as one end by itself.
    count = rows.number * (2 if rows.folds else 1)
    bits = bucket_bits(count, span, src_bits, _MEAN_KEYS)
    if bits == 0:
        return None
    number = buckets_of(span, src_bits, bits)
    return Buckets(number, bits, dst_bits, tail_bits, key_bits, grid_of(device, rows.number))


def start_buckets(device: Device, rows: EdgeRows, buckets: Buckets, to: Output) -> None:
    """Fill the lists with the edges that are kept of rows, on the current stream.

    Raises
    ------
    EngineError
        CUDA failed.
    """
    assert rows.src is not None
    bounds, memory = rows.bounds, to.memory
    counts, cleared = memory.zeros
    src_span, dst_span = bounds.src_high - bounds.src_low, bounds.dst_high - bounds.dst_low
    of_rows = _ROW_FACTS(
        address(rows.op), address(rows.src), address(rows.dst), rows.src.dtype == NARROW,
        rows.number, *buckets.grid, bounds.src_low, src_span, bounds.dst_low, dst_span, rows.folds,
        buckets.dst_bits, buckets.tail_bits, buckets.bits, buckets.key_bits, to.keeps_loops,
        to.ids_are_narrow, buckets.number, counts + 4 * COUNT_WORDS,
        memory.scratch.reserve(buckets.scratch_bytes), to.report, counts, cleared,
    )  # fmt: skip
    facts = b"".join((
        _kernels_of(device), _STREAM_FACTS(*words_of_stream(device)), of_rows,
        memory.puts.argument(0), memory.deletes.argument(0),
    ))  # fmt: skip
    launches = device.launch_list()
    _write(launches, facts)
    try:
        device.start(launches)
    except BaseException:
        renew_words(device)
        raise


def _kernels_of(device: Device) -> bytes:
    handles = _KERNELS_OF.get(device)
    if handles is None:
        handles = _HANDLES(*(device.kernel(source, kernel) for source, kernel in _KERNELS))
        _KERNELS_OF[device] = handles
    return handles


@inlined
def _after(position, nbytes):
    """Address of the next piece of scratch."""
    return position + -(-nbytes // ALIGNMENT) * ALIGNMENT


@compiled
def _write(launches, packed):
    """Write all launches; ``packed`` is `_FACTS`."""
    launches[0] = 0
    facts = np.frombuffer(packed, _FACTS)[0]
    kernels, count, top = facts.kernels, facts.count, facts.key_bits
    blocks, portion = facts.blocks, facts.portion
    keys = facts.scratch
    spare = _after(keys, 8 * count)
    counts = _after(spare, 8 * count)
    groups = _after(counts, 4 * DIGITS * blocks)
    low = top - facts.bucket_bits
    kernel = kernels[_PACK_NARROW if facts.are_narrow else _PACK]
    position = begin_launch(launches, kernel, blocks, SORT_THREADS)
    position = put_words(launches, position, (
        facts.op, 0, count, facts.src_low, facts.src_span, facts.dst_low, facts.dst_span,
        facts.dst_bits, facts.tail_bits, facts.folds, keys, 0, portion, facts.counts,
        facts.cleared, 0, facts.faults, facts.src, facts.dst,
    ))  # fmt: skip
    first_pass = pass_words(low, top, counts, groups, facts.tickets)
    end_launch(launches, put_words(launches, position, first_pass))
    sort = np.empty(len(SORT_FIELDS), np.int64)
    put_words(sort, 0, (
        keys, spare, 0, 0, counts, groups, facts.tickets, count, blocks, portion, facts.is_few,
    ))  # fmt: skip
    write_sort(launches, kernels[_SORTING:], sort, low, top)
    position = begin_launch(launches, kernels[_GROUP], facts.buckets, BUCKET_THREADS)
    position = put_words(launches, position, (
        sort[_KEYS], 0, 0, count, facts.src_low, facts.dst_low, facts.dst_bits, facts.tail_bits,
        int(facts.op == 0), low, (1 << facts.bucket_bits) - 1,
    ))  # fmt: skip
    for word in range(_LIST_WORDS):
        launches[position + word] = facts.puts[word]
        launches[position + _LIST_WORDS + word] = facts.deletes[word]
    position += 2 * _LIST_WORDS
    end_launch(launches, put_words(launches, position, (
        facts.keeps_loops, facts.ids_are_narrow, facts.published, facts.block_numbers, facts.counts,
        facts.faults, facts.ticket, facts.report,
    )))  # fmt: skip
