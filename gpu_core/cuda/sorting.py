"""Sort packed 64-bit keys by some of their bits: a stable radix sort in the caller's memory.

A pass sorts by one digit of up to eight bits, least significant first; it takes two launches, or
one where the kernel that writes the keys counts their first digit on the way. Up to `BLOCK_KEYS`
keys are sorted by one block, all passes in one launch. Sorting by the bits that matter alone saves
passes: callers say which.

Kernels: ``kernels/sorting.cu``. Source: see there.
"""

import struct
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .device import Array, Device
from .launch_list import Launches
from .packed_arguments import address, packer
from .stream_words import words_of_stream

DIGIT_BITS: Final = 8
DIGITS: Final = 1 << DIGIT_BITS
SORT_THREADS: Final = 256
#: Keys a block holds at once: many, or few where that leaves no multiprocessor idle.
_MANY: Final = 8 * SORT_THREADS
_FEW: Final = 4 * SORT_THREADS
#: Sorts of up to so many keys take one block.
BLOCK_KEYS: Final = 16 * SORT_THREADS
#: Blocks a multiprocessor that a pass is cut into at most.
_BLOCKS: Final = 4
_GROUP_BLOCKS: Final = 16

_BLOCK: Final = packer("keys", "values", "count", "low_bit", "high_bit")
_KEYS: Final = packer("keys", "count", "portion")
_WORD: Final = packer("out")
_PAIR: Final = packer("values", "out_values")
#: Shift and mask are uint32; counts, groups and tickets follow.
_PASS: Final = struct.Struct("2I3q").pack
_NO_PASS: Final = _PASS(0, 0, 0, 0, 0)


class Scratch(Protocol):
    """Memory for the length of a call; as `host.scratch.Scratch`."""

    def take(self, count: int, dtype: type[np.generic]) -> Array:
        """Array of ``count`` items, undefined content, aligned to 8 bytes."""


class Plain:
    """Scratch from the device's allocator: arrays live as long as they are held."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def take(self, count: int, dtype: npt.DTypeLike) -> Array:
        """Array of ``count`` items, undefined content."""
        return self._device.empty(count, dtype)


class Grid(NamedTuple):
    """How the keys of a sort are cut: block b owns ``portion`` keys from ``b * portion`` on."""

    blocks: int
    portion: int
    is_few: bool


def grid_of(device: Device, count: int) -> Grid:
    """Cut ``count`` keys into blocks; they fill the device where there are enough."""
    most = _BLOCKS * device.multiprocessors
    if count <= BLOCK_KEYS:
        return Grid(min(count, 1), BLOCK_KEYS, is_few=False)
    is_few = count <= most * _FEW
    tile = _FEW if is_few else _MANY
    tiles = -(-count // tile)
    portion = -(-tiles // most) * tile
    return Grid(-(-count // portion), portion, is_few)


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
            self._groups = scratch.take(-(-blocks // _GROUP_BLOCKS) * DIGITS, np.uint32)

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
        device, scratch or Plain(device), keys.size, low_bit, high_bit,
        with_values=values is not None,
    )  # fmt: skip
    sort.keys[:] = keys
    if values is not None and sort.values is not None:
        sort.values[:] = values
    return sort.run(counted=False)
