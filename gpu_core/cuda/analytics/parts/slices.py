"""Sliced CSR (SELL): a temporary copy of rows, interleaved so that each lane sums one row.

Kernels: ``slices.cu``; what a slice is, and how its rows are summed up:
``slices.cuh``. There are as many entries as in compact rows (`compact_rows.py`), in another
order: right for a kernel that reads every row from end to end, again and again. One that does so a
few times only may have them *in place*: cut likewise, read where they are.

They are scratch of the caller, who states the bytes before (`slices_bytes`, `in_slices_bytes`), or
has them from `scratch_for_slices`, which knows when there is too little memory for a copy. How many
entries there are is known beforehand, so nothing is read back and nothing waits.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import numpy as np

from ....errors import ArenaFullError
from ....rows import Adjacencies, Rows
from ...device.compile import WIDE_WEIGHTS
from ...device.declarations import constant, structure
from ...device.device import Device
from ...device.packed_arguments import address, pack
from ...device.stream_words import words_of_stream
from ...grid import THREADS, blocks_for
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from .compact_rows import bytes_of, in_rows, in_rows_bytes, weight_bytes
from .hubs.hubs import NO_HUBS, Hubs

_SOURCE: Final = "slices.cu"
SLICE_ROWS: Final = 32
SHORT_LENGTH: Final = constant(_SOURCE, "SHORT_LENGTH")
CHUNK_ENTRIES: Final = constant(_SOURCE, "CHUNK_ENTRIES")
MEASURED_ROWS: Final = constant(_SOURCE, "MEASURED_ROWS")
CHUNK_DTYPE: Final = structure(_SOURCE, "Chunk")
#: Blocks a multiprocessor that take chunks, and that list rows in place.
_CHUNK_BLOCKS: Final = 5
_LISTING_BLOCKS: Final = 8


class Slices(NamedTuple):
    """Adjacencies of all vertices in one direction; addresses on the device."""

    #: Number of rows: of vertices, or with hubs more than there are.
    rows: int
    #: uint32[rows]: entries of each row; bit 31: the vertex is absent, or there is no such row.
    lengths: int
    #: uint32[entries]: rows of the neighbors.
    indices: int
    #: float32[entries] or float64[entries]; 0: no weights were asked for.
    weight: int
    #: Form of kernels that read the weights.
    weight_form: tuple[tuple[str, int], ...]
    #: Whether they are read where they are.
    in_place: bool
    #: Blocks of a launch that works slice by slice.
    blocks: int
    #: Arguments of a kernel that works slice by slice: ``Slices`` of ``slices.cuh``.
    arguments: bytes
    #: After them, of a kernel that sums up rows: ``ChunkSums``.
    chunk_sums: bytes


def slices_bytes(rows: int, entries: int, *, weight_bytes: int = 0, in_place: bool = False) -> int:
    """Bytes of scratch that `slices` of ``rows`` rows, entries and bytes of a weight takes."""
    chunks = _most_chunks(rows, entries)
    return weight_bytes * entries + bytes_of(
        (rows + 1 + chunks + (0 if in_place else entries), np.uint32),
        (blocks_for(rows, SLICE_ROWS) + blocks_for(rows, MEASURED_ROWS), np.int64),
        (chunks, CHUNK_DTYPE),
        (chunks, np.float64),
    )


def in_slices_bytes(
    device: Device, adjacencies: Adjacencies, *, weighted: bool = False, in_place: bool = False
) -> int:
    """Bytes of scratch that `in_slices` takes."""
    out = adjacencies.out
    bytes_each = weight_bytes(out, weighted=weighted)
    need = slices_bytes(out.count, out.num_entries, weight_bytes=bytes_each, in_place=in_place)
    return need + in_rows_bytes(device, adjacencies, weighted=weighted)


def can_be_in_place(adjacencies: Adjacencies, *, weighted: bool) -> bool:
    """Whether rows may be read where they are: without weights, entries of a row adjacent."""
    return not weighted and (adjacencies.into is None or adjacencies.into.step == 1)


@contextmanager
def scratch_for_slices(
    workspace: Workspace,
    adjacencies: Adjacencies,
    more_bytes: int,
    *,
    weighted: bool,
    in_place: bool | None,
) -> Iterator[tuple[DeviceScratch, bool]]:
    """Scratch for `in_slices` and ``more_bytes`` beside it, and whether rows are in place.

    Parameters
    ----------
    in_place
        Whether they are; None: if there is no memory for a copy. All but False need
        `can_be_in_place`.

    Raises
    ------
    ArenaFullError
        There is not so much memory.
    """
    device = workspace.device

    def need(*, in_place: bool) -> int:
        of_rows = in_slices_bytes(device, adjacencies, weighted=weighted, in_place=in_place)
        return of_rows + more_bytes

    with ExitStack() as taken:
        try:
            scratch = taken.enter_context(workspace.scratch(need(in_place=bool(in_place))))
        except ArenaFullError:
            if in_place is not None:
                raise
            in_place = True
            scratch = taken.enter_context(workspace.scratch(need(in_place=True)))
        yield scratch, bool(in_place)


def in_slices(
    device: Device,
    scratch: DeviceScratch,
    adjacencies: Adjacencies,
    *,
    weighted: bool = False,
    hubs: Hubs | None = None,
    in_place: bool = False,
) -> Slices:
    """Slices of in-neighbors, also where no reverse adjacency is stored."""
    rows = in_rows(device, scratch, adjacencies, weighted=weighted)
    return slices(device, scratch, rows, weighted=weighted, hubs=hubs, in_place=in_place)


def slices(
    device: Device,
    scratch: DeviceScratch,
    rows: Rows,
    *,
    weighted: bool = False,
    hubs: Hubs | None = None,
    in_place: bool = False,
) -> Slices:
    """Copy rows. Their memory must not change until the copy is used up.

    Where there are ``hubs``, which have been chosen, rows are in their order. ``in_place``: nothing
    is copied, and rows are walked by ``InPlace``; their ``step`` is 1, and they have neither hubs
    nor weights.
    """
    chunks = _reserve_chunks(device, scratch, rows)
    if in_place:
        return _list_in_place(device, rows, chunks)
    return _copy(device, scratch, rows, chunks, hubs, weighted=weighted)


class _Chunks(NamedTuple):
    """Scratch of either kind of slices: the lengths of rows, and the chunks of long ones."""

    lengths: int
    chunks: int
    chunk_count: int
    sums: int
    tickets: int
    #: Blocks of a launch that take chunks; others take slices.
    blocks: int


def _reserve_chunks(device: Device, scratch: DeviceScratch, rows: Rows) -> _Chunks:
    most = _most_chunks(rows.count, rows.num_entries)
    reserve = scratch.reserve
    return _Chunks(
        reserve(4 * rows.count), reserve(CHUNK_DTYPE.itemsize * most), reserve(4),
        reserve(8 * most), reserve(4 * most), min(_CHUNK_BLOCKS * device.multiprocessors, most),
    )  # fmt: skip


def _slices(
    rows: Rows,
    chunks: _Chunks,
    begin: int,
    indices: int,
    weight: int = 0,
    weight_form: tuple[tuple[str, int], ...] = (),
    *,
    in_place: bool = False,
) -> Slices:
    """Slices whose entries are at ``indices``, those of a row or a slice from ``begin`` on."""
    count = rows.count
    return Slices(
        count, chunks.lengths, indices, weight, weight_form, in_place,
        blocks=chunks.blocks + blocks_for(count, THREADS),
        arguments=pack(
            chunks.lengths, begin, count, chunks.chunks, chunks.chunk_count, chunks.blocks
        ),
        chunk_sums=pack(chunks.sums, chunks.tickets),
    )  # fmt: skip


def _list_in_place(device: Device, rows: Rows, chunks: _Chunks) -> Slices:
    """Cut rows where they are."""
    begin, words = address(rows.begin), words_of_stream(device)
    device.launch_packed(
        _SOURCE, "list_in_place",
        min(blocks_for(rows.count), _LISTING_BLOCKS * device.multiprocessors), THREADS,
        pack(
            address(rows.degree), address(rows.present), begin, rows.count, chunks.lengths,
            chunks.chunks, chunks.chunk_count, chunks.tickets, words.block_numbers, words.ticket,
        ),
    )  # fmt: skip
    return _slices(rows, chunks, begin, address(rows.columns), in_place=True)


def _copy(
    device: Device,
    scratch: DeviceScratch,
    rows: Rows,
    chunks: _Chunks,
    hubs: Hubs | None,
    *,
    weighted: bool,
) -> Slices:
    """Measure slices, list the chunks of long rows, and copy entries to where they are read."""
    count, reserve = rows.count, scratch.reserve
    measuring = blocks_for(count, MEASURED_ROWS)
    hub_arguments = NO_HUBS if hubs is None else hubs.arguments
    starts = reserve(8 * blocks_for(count, SLICE_ROWS))
    block_sums = reserve(8 * measuring)
    device.launch_packed(
        _SOURCE, "measure_slices", measuring, THREADS,
        pack(address(rows.degree), address(rows.present), count) + hub_arguments + pack(
            chunks.lengths, starts, block_sums, chunks.chunk_count, words_of_stream(device).ticket,
        ),
    )  # fmt: skip
    device.launch_packed(
        _SOURCE, "list_chunks", blocks_for(count), THREADS,
        pack(
            chunks.lengths, count, block_sums, starts, chunks.chunks, chunks.chunk_count,
            chunks.tickets,
        ),
    )  # fmt: skip
    bytes_each = weight_bytes(rows, weighted=weighted)
    indices = reserve(4 * rows.num_entries)
    weight = reserve(bytes_each * rows.num_entries) if weighted else 0
    form = WIDE_WEIGHTS if bytes_each == 8 else ()
    found = _slices(rows, chunks, starts, indices, weight, form)
    copied = (rows.weights, rows.weight_begin) if weighted else (None, None)
    source = pack(
        address(rows.columns), address(rows.begin), rows.step, rows.in_pairs, *map(address, copied)
    )
    device.launch_packed(
        _SOURCE, "copy_slices", found.blocks, THREADS,
        source + found.arguments + hub_arguments + pack(indices, weight),
        form,
    )  # fmt: skip
    return found


def _most_chunks(rows: int, entries: int) -> int:
    """Chunks of so many rows and entries at most; at least 1."""
    return min(entries // (SHORT_LENGTH + 1), rows) + entries // CHUNK_ENTRIES + 1
