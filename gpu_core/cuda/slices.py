"""Slices on the device: adjacencies copied for one call, interleaved so that lanes sum up rows.

Kernels: ``kernels/slices.cu``; what a slice is, and how its rows are summed up:
``kernels/slices.cuh``. There are as many entries as in compact rows (`compact_rows.py`), in another
order: right for a kernel that reads every row from end to end, again and again.

They are scratch of the caller, who states the bytes before (`slices_bytes`, `in_slices_bytes`).
How many entries there are is known from the header, so nothing is read back and nothing waits.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..records import WEIGHT_WORD
from .compact_rows import (
    CompactRows,
    blocks_for,
    bytes_of,
    compact_rows,
    entry_count,
    in_rows_bytes,
    ticket_of,
    transposed,
)
from .hubs import Hubs
from .packed_arguments import address, pack
from .scratch import DeviceScratch

if TYPE_CHECKING:
    from .engine import CudaEngine

#: Twins of the constants of ``slices.cuh`` and ``slices.cu``.
THREADS: Final = 256
SLICE_ROWS: Final = 32
SHORT_LENGTH: Final = 32
CHUNK_ENTRIES: Final = 1024
MEASURED_ROWS: Final = 2048

#: Twin of ``Chunk`` in ``slices.cuh``.
CHUNK_DTYPE: Final = np.dtype(
    [
        ("start", np.int64),
        ("row", np.uint32),
        ("entries", np.uint32),
        ("part", np.uint32),
        ("parts", np.uint32),
    ]
)
#: Blocks a multiprocessor that take chunks.
_CHUNK_BLOCKS: Final = 5

_SOURCE: Final = "slices.cu"


class Slices(NamedTuple):
    """Adjacencies of all vertices in one direction; addresses on the device."""

    #: Number of rows.
    rows: int
    #: uint32[rows]: entries of each row; bit 31: the vertex is absent.
    lengths: int
    #: uint32[entries]
    indices: int
    #: float32[entries]; 0: no weights were asked for.
    weight: int
    #: Blocks of a launch that works slice by slice.
    blocks: int
    #: Arguments of a kernel that works slice by slice: ``Slices`` of ``slices.cuh``.
    arguments: bytes
    #: Behind them, of a kernel that sums up rows: ``ChunkSums``.
    chunk_sums: bytes


def slices_bytes(rows: int, entries: int, *, weighted: bool = False) -> int:
    """Bytes of scratch that `slices` of so many rows and entries takes."""
    chunks = _most_chunks(entries)
    return bytes_of(
        (rows + 1 + chunks + (2 if weighted else 1) * entries, np.uint32),
        (blocks_for(rows, SLICE_ROWS) + blocks_for(rows, MEASURED_ROWS), np.int64),
        (chunks, CHUNK_DTYPE),
        (chunks, np.float64),
    )


def in_slices_bytes(engine: "CudaEngine", *, weighted: bool = False) -> int:
    """Bytes of scratch that `in_slices` takes."""
    need = slices_bytes(engine.vertex_count, entry_count(engine), weighted=weighted)
    return need if engine.has_reverse else need + in_rows_bytes(engine, weighted=weighted)


def in_slices(
    engine: "CudaEngine",
    scratch: DeviceScratch,
    *,
    weighted: bool = False,
    hubs: Hubs | None = None,
) -> Slices:
    """Slices of in-neighbours, also where no reverse adjacency is stored."""
    if engine.has_reverse:
        return slices(engine, scratch, "in", weighted=weighted, hubs=hubs)
    rows = transposed(engine, scratch, compact_rows(engine, scratch, "out", weighted=weighted))
    return slices(engine, scratch, "out", weighted=weighted, rows=rows, hubs=hubs)


def slices(
    engine: "CudaEngine",
    scratch: DeviceScratch,
    direction: str,
    *,
    weighted: bool = False,
    rows: CompactRows | None = None,
    hubs: Hubs | None = None,
) -> Slices:
    """Copy all adjacencies of one direction (``out`` or ``in``), or ``rows`` of all vertices.

    Entries of ``hubs``, which are chosen here, are their slots. ``engine.image`` must not change
    until the copy is used up.
    """
    device, count, entries = engine.device, engine.vertex_count, entry_count(engine)
    most_chunks, measuring = _most_chunks(entries), blocks_for(count, MEASURED_ROWS)
    place = scratch.place
    lengths, starts = place(4 * count), place(8 * blocks_for(count, SLICE_ROWS))
    block_sums = place(8 * measuring)
    chunks, chunk_count = place(CHUNK_DTYPE.itemsize * most_chunks), place(4)
    chunk_sums, tickets = place(8 * most_chunks), place(4 * most_chunks)
    indices, weight = place(4 * entries), place(4 * entries) if weighted else 0
    shape = engine.shape(direction)
    image = pack(address(engine.image), *shape, 0 if rows is None else address(rows.indptr))
    device.launch_packed(
        _SOURCE, "measure_slices", measuring, THREADS,
        image
        + pack(
            lengths, starts, block_sums, chunk_count, 0 if hubs is None else hubs.choice,
            address(ticket_of(engine)),
        ),
    )  # fmt: skip
    if hubs is not None:
        hubs.choose(lengths, entries)
    device.launch_packed(
        _SOURCE, "list_chunks", blocks_for(count), THREADS,
        pack(lengths, count, block_sums, starts, chunks, chunk_count, tickets),
    )  # fmt: skip
    chunk_blocks = min(_CHUNK_BLOCKS * device.multiprocessors, most_chunks)
    blocks = chunk_blocks + blocks_for(count, THREADS)
    arguments = pack(lengths, starts, count, chunks, chunk_count, chunk_blocks)
    hub_arguments = pack(0, 0) if hubs is None else hubs.arguments
    compact = (0, 0) if rows is None else (address(rows.indices), address(rows.weight))
    device.launch_packed(
        _SOURCE, "copy_slices", blocks, THREADS,
        image + pack(*compact) + arguments + hub_arguments + pack(WEIGHT_WORD, indices, weight),
    )  # fmt: skip
    return Slices(count, lengths, indices, weight, blocks, arguments, pack(chunk_sums, tickets))


def _most_chunks(entries: int) -> int:
    """Chunks of so many entries at most; at least 1."""
    return entries // (SHORT_LENGTH + 1) + entries // CHUNK_ENTRIES + 1
