"""Stable radix sort of 64-bit keys by a range of their bits, in memory of the caller.

A pass sorts by one digit of up to eight bits, least significant first; it takes two launches, or
one where the kernel that writes the keys counts their first digit on the way. Up to `BLOCK_KEYS`
keys are sorted by one block, all passes in one launch. Sorting by the bits that matter alone saves
passes: callers say which.

Kernels: ``sorting.cu``. Source: see there.
"""

import struct
from typing import Final, NamedTuple

import numpy as np

from ....jit.compile import compiled, inlined
from ...memory.scratch import PoolScratch, Scratch
from ...structs import DIGIT_BITS, DIGITS, GROUP_BLOCKS, SORT_THREADS
from ..device import Array, Device
from ..launch_list import Launches
from ..launches import begin_launch, end_launch, put_words
from ..packed_arguments import address, packer
from ..stream_words import words_of_stream

#: Keys a block holds at once: many, or few where that leaves no multiprocessor idle.
_MANY: Final = 8 * SORT_THREADS
_FEW: Final = 4 * SORT_THREADS
#: Most keys that one block sorts.
BLOCK_KEYS: Final = 16 * SORT_THREADS
#: Blocks a multiprocessor that a pass is cut into at most.
_BLOCKS: Final = 4

#: Kernels of a sort, as compiled code takes their handles.
KERNELS: Final = (
    ("sorting.cu", "sort_block_few"), ("sorting.cu", "sort_block"), ("sorting.cu", "count_digits"),
    ("sorting.cu", "scatter_few"), ("sorting.cu", "scatter_many"),
    ("sorting.cu", "scatter_few_pairs"), ("sorting.cu", "scatter_many_pairs"),
)  # fmt: skip
_SORT_FEW, _SORT_ALL, _COUNT_DIGITS, _SCATTER = range(4)
#: What compiled code gets of a sort: addresses of the keys and of where a pass writes to, of
#: values likewise (0: there are none), of counts, groups and tickets; and the grid of `cut_keys`.
SORT_FIELDS: Final = (
    "keys", "spare", "values", "spare_values", "counts", "groups", "tickets",
    "count", "blocks", "portion", "is_few",
)  # fmt: skip
(
    _KEYS_AT, _SPARE, _VALUES, _SPARE_VALUES, _COUNTS, _GROUPS, _TICKETS,
    _COUNT, _BLOCKS_AT, _PORTION, _IS_FEW,
) = range(len(SORT_FIELDS))  # fmt: skip

_BLOCK: Final = packer("keys", "values", "count", "low_bit", "high_bit")
_KEYS: Final = packer("keys", "count", "portion")
_WORD: Final = packer("out")
_PAIR: Final = packer("values", "out_values")
#: Shift and mask are uint32; counts, groups and tickets follow.
_PASS: Final = struct.Struct("2I3q").pack
_NO_PASS: Final = _PASS(0, 0, 0, 0, 0)


class Grid(NamedTuple):
    """Partition of the keys of a sort: block b owns ``portion`` keys from ``b * portion`` on."""

    blocks: int
    portion: int
    is_few: bool


def grid_of(device: Device, count: int) -> Grid:
    """Cut ``count`` keys into blocks; they fill the device where there are enough."""
    blocks, portion, is_few = cut_keys(count, device.multiprocessors)
    return Grid(blocks, portion, is_few)


@compiled
def cut_keys(count, multiprocessors):
    """Fields of `Grid` for ``count`` keys."""
    most = _BLOCKS * multiprocessors
    if count <= BLOCK_KEYS:
        return min(count, 1), BLOCK_KEYS, False
    is_few = count <= most * _FEW
    tile = _FEW if is_few else _MANY
    tiles = -(-count // tile)
    portion = -(-tiles // most) * tile
    return -(-count // portion), portion, is_few


@inlined
def digit_at(shift, high_bit):
    """Digit that a pass sorts by: its width; digits up to ``high_bit`` are of nearly one width."""
    passes = -(-(high_bit - shift) // DIGIT_BITS)
    return -(-(high_bit - shift) // passes)


@inlined
def pass_words(shift, high_bit, counts, groups, tickets):
    """``Pass`` of the kernels, from bit ``shift`` on: words of a launch."""
    return shift | ((1 << digit_at(shift, high_bit)) - 1) << 32, counts, groups, tickets


@inlined
def write_sort(launches, kernels, sort, low_bit, high_bit):
    """Write the launches that sort keys whose first digit was counted where they were packed.

    Parameters
    ----------
    kernels
        int64[]: handles of `KERNELS`.
    sort
        int64[]: addresses and sizes, by `SORT_FIELDS`; keys and values are where they are sorted
        afterwards.
    low_bit, high_bit
        As of `RadixSort`; not the same.
    """
    count, has_values = sort[_COUNT], sort[_VALUES] != 0
    if count <= BLOCK_KEYS:
        position = begin_launch(
            launches,
            kernels[_SORT_FEW if count <= _FEW else _SORT_ALL],
            min(count, 1),
            SORT_THREADS,
        )
        words = (sort[_KEYS_AT], sort[_VALUES], count, low_bit, high_bit)
        end_launch(launches, put_words(launches, position, words))
        return
    shift = low_bit
    while shift < high_bit:
        source = (sort[_KEYS_AT], count, sort[_PORTION])
        digit = pass_words(shift, high_bit, sort[_COUNTS], sort[_GROUPS], sort[_TICKETS])
        if shift > low_bit:
            position = begin_launch(
                launches, kernels[_COUNT_DIGITS], sort[_BLOCKS_AT], SORT_THREADS
            )
            end_launch(launches, put_words(launches, put_words(launches, position, source), digit))
        kernel = kernels[_SCATTER + 2 * int(has_values) + int(sort[_IS_FEW] == 0)]
        position = begin_launch(launches, kernel, sort[_BLOCKS_AT], SORT_THREADS)
        position = put_words(launches, put_words(launches, position, source), digit)
        position = put_words(launches, position, (sort[_SPARE],))
        if has_values:
            position = put_words(launches, position, (sort[_VALUES], sort[_SPARE_VALUES]))
            sort[_VALUES], sort[_SPARE_VALUES] = sort[_SPARE_VALUES], sort[_VALUES]
        end_launch(launches, position)
        sort[_KEYS_AT], sort[_SPARE] = sort[_SPARE], sort[_KEYS_AT]
        shift += digit_at(shift, high_bit)


class RadixSort:
    """One sort: its keys, its passes, and the memory that it takes from ``scratch``.

    Parameters
    ----------
    count
        Number of keys, below 2^32.
    low_bit, high_bit
        The keys are sorted by bits ``low_bit … high_bit - 1``.
    with_values
        A uint32 travels with each key.
    launches
        Where the launches go, if not to the device at once.

    Fill `keys` (and `values`), then `run`. A kernel that fills the keys over `grid` and counts
    their first digit (``sorting.cuh``) takes `counting` as its last arguments; then ``counted`` is
    true.
    """

    def __init__(
        self,
        device: Device,
        scratch: Scratch,
        count: int,
        low_bit: int,
        high_bit: int,
        *,
        with_values: bool = False,
        launches: Launches | None = None,
    ) -> None:
        self.device = device
        self._launch = (launches or device).launch_packed
        self.count = count
        self.grid = grid_of(device, count)
        #: uint64[count], and where a pass writes to.
        self.keys: Array = scratch.take(count, np.uint64)
        self._spare: Array = scratch.take(count, np.uint64)
        #: uint32[count] or None.
        self.values: Array | None = scratch.take(count, np.uint32) if with_values else None
        self._spare_values = scratch.take(count, np.uint32) if with_values else None
        self._bits = low_bit, high_bit
        #: (shift, mask) of each pass; digits of nearly one width.
        self.digits: list[tuple[int, int]] = []
        passes = -(-(high_bit - low_bit) // DIGIT_BITS)
        shift = low_bit
        for left in range(passes, 0, -1):
            width = -(-(high_bit - shift) // left)
            self.digits.append((shift, (1 << width) - 1))
            shift += width
        self._tickets = (launches.words if launches else words_of_stream(device)).tickets
        #: One block sorts it all: nothing is counted.
        self.in_one_block = count <= BLOCK_KEYS
        self._counts: Array | None = None
        self._groups: Array | None = None
        if not self.in_one_block:
            blocks = self.grid.blocks
            self._counts = scratch.take(blocks * DIGITS, np.uint32)
            self._groups = scratch.take(-(-blocks // GROUP_BLOCKS) * DIGITS, np.uint32)

    @property
    def counting(self) -> bytes:
        """``Pass`` of the kernels, packed: of the first digit, or where nothing is counted."""
        if self.in_one_block or not self.digits:
            return _NO_PASS
        return self._pass_of(self.digits[0])

    def _pass_of(self, digit: tuple[int, int]) -> bytes:
        counters = address(self._counts), address(self._groups)
        return _PASS(*digit, *counters, self._tickets)

    def run(self, *, counted: bool) -> tuple[Array, Array | None]:
        """Sort; returns the arrays that hold the keys and values now.

        Keys that agree in the bits sorted by stay in the order in which they are.
        """
        if self.count == 0 or not self.digits:
            return self.keys, self.values
        if self.in_one_block:
            name = "sort_block_few" if self.count <= _FEW else "sort_block"
            arguments = _BLOCK(address(self.keys), address(self.values), self.count, *self._bits)
            self._launch("sorting.cu", name, 1, SORT_THREADS, arguments)
            return self.keys, self.values
        for number, digit in enumerate(self.digits):
            self._run_pass(digit, counted=counted and number == 0)
        return self.keys, self.values

    def _run_pass(self, digit: tuple[int, int], *, counted: bool) -> None:
        launch, grid = self._launch, self.grid
        source = _KEYS(address(self.keys), self.count, grid.portion) + self._pass_of(digit)
        if not counted:
            launch("sorting.cu", "count_digits", grid.blocks, SORT_THREADS, source)
        kernel = "scatter_few" if grid.is_few else "scatter_many"
        target = _WORD(address(self._spare))
        if self.values is None:
            launch("sorting.cu", kernel, grid.blocks, SORT_THREADS, source + target)
        else:
            target += _PAIR(address(self.values), address(self._spare_values))
            launch("sorting.cu", f"{kernel}_pairs", grid.blocks, SORT_THREADS, source + target)
            self.values, self._spare_values = self._spare_values, self.values
        self.keys, self._spare = self._spare, self.keys


def sort_bytes(device: Device, count: int, *, with_values: bool = False) -> int:
    """Bytes of scratch that a `RadixSort` of ``count`` keys takes at most."""
    counters = 0 if count <= BLOCK_KEYS else 2 * grid_of(device, count).blocks * DIGITS
    return (24 if with_values else 16) * count + 4 * counters + 64


def sort_keys(
    device: Device,
    keys: Array,
    low_bit: int,
    high_bit: int,
    *,
    values: Array | None = None,
    scratch: Scratch | None = None,
) -> tuple[Array, Array | None]:
    """Sort a copy of ``keys`` (uint64), and of ``values`` (uint32), by some of the keys' bits."""
    sort = RadixSort(
        device, scratch or PoolScratch(device), keys.size, low_bit, high_bit,
        with_values=values is not None,
    )  # fmt: skip
    sort.keys[:] = keys
    if values is not None and sort.values is not None:
        sort.values[:] = values
    return sort.run(counted=False)
