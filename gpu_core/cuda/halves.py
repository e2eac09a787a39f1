"""One half of a batch on the device: its entries for one direction, grouped by row and sorted.

Part of   the apply path: identify -> **halves** -> plan -> arena -> commit
Twin      ``host/halves.py``: the same halves for the same batch

As little is sorted as the order of what is there allows. With s the *straight* entries (row =
source) and t the *turned* ones (row = destination):

==========================================  =====================================================
straight, indices in order, one kind        the batch's own CSR, no sort
straight, indices in order, two kinds       puts and deletes merged by binary search, no sort
reverse adjacency                           t from s, sorted by row alone
undirected, indices in order                t before s, sorted by row alone: columns of t are below
                                            the row, columns of s above
otherwise                                   sorted by (row, column)
==========================================  =====================================================

Keys of sorts are packed: row | column | kind | number of the put. The sort is stable and mentions
come first, so the kind is never sorted by. A number that does not fit travels beside the key.

Rows of deleted vertices and who mentions them: `mentions.py`. Kernels: ``kernels/halves.cu``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..host.plan import DELETE, MENTION, PUT
from ..image import Field
from . import mentions as of_deleted
from .batch import lists_argument
from .half import Half, Halves
from .packed_arguments import address, packer
from .packed_keys import KeyLayout, layout_for
from .sorting import SORT_THREADS, Plain, RadixSort, Scratch, sort_bytes
from .stream_words import ticket_of
from .ways import Way, takes_own_lists_of

if TYPE_CHECKING:
    from .batch import DeviceBatch
    from .device import Array, Device
    from .engine import CudaEngine
    from .identified import Identified

TILE_ENTRIES: Final = 2048
TILE_THREADS: Final = 256

#: How `pack_lists` arranges straight and turned entries.
_STRAIGHT, _TURNED, _BOTH, _TURNED_FIRST = 0, 1, 2, 3


_ENTRY_ROWS: Final = packer("put_entry_rows", "delete_entry_rows")
_MERGED: Final = packer("keys", "values", "straight", "turned")
_MENTIONS: Final = packer("mention_rows", "mention_columns", "mentions")
_TURNS: Final = packer("turns")
_SORTED: Final = packer("keys", "values", "portion")
_TURNED_HALF: Final = packer("rows", "entry_rows", "columns", "kinds", "source", "entries")
_KEYS: Final = packer("keys", "count")
_COUNTED: Final = packer("tiles", "row_count", "ticket")
_UNPACKED: Final = packer(
    "tiles", "row_count", "rows", "indptr", "columns", "entry_rows", "kinds", "source"
)


def halves_of(
    engine: CudaEngine, mapped: Identified, scratch: Scratch | None = None
) -> list[tuple[str, Half]]:
    """The batch's entries for each stored direction; waits only where vertices are deleted.

    Parameters
    ----------
    scratch
        Where the arrays are put, `halves_bytes` at most unless vertices are deleted; by default in
        memory of their own.
    """
    scratch = scratch or Plain(engine.device)
    puts, deletes = mapped.put_columns.size, mapped.delete_columns.size
    reverse = engine.directed and engine.has_reverse
    if mapped.deleted.size:
        groups = of_deleted.groups_of(engine, mapped.deleted)
        halves = [("out", _sorted(engine, mapped, scratch, groups["out"], _STRAIGHT))]
        if not engine.directed:
            return [("out", _sorted(engine, mapped, scratch, groups["out"], _BOTH))]
        if reverse:
            # Who mentions a deleted vertex differs by direction: no mirror of the other half.
            halves.append(("in", _sorted(engine, mapped, scratch, groups["in"], _TURNED)))
        return halves
    if not (puts or deletes):
        return [(direction, _as_it_is(mapped)) for direction in ("out", "in")[: 1 + reverse]]
    if not mapped.ordered:
        out = _sorted(engine, mapped, scratch, None, _STRAIGHT if engine.directed else _BOTH)
    elif not engine.directed:
        out = _both_ways(engine, mapped, scratch)
    elif puts and deletes:
        out = _merged(engine, mapped, scratch)
    else:
        out = _as_it_is(mapped)
    if not reverse:
        return [("out", out)]
    return [("out", out), ("in", _transposed(engine, out, mapped.vertex_count, scratch))]


def own_halves(engine: CudaEngine, batch: DeviceBatch, way: Way) -> Halves | None:
    """The halves of a batch of which nothing is to be asked: its lists, as they are; else `None`.

    That takes lists that are of one kind and in order, too.
    """
    if batch.own_halves is None:
        return None
    is_all = takes_own_lists_of(engine.arena.header, batch.names, way.value)
    return batch.own_halves if is_all else None


def halves_bytes(engine: CudaEngine, puts: int, deletes: int) -> int:
    """Bytes of scratch that `halves_of` takes at most for so many edges; no vertex is deleted."""
    entries = puts + deletes
    if engine.arena[Field.DENSE_IDS] and not engine.has_reverse and not (puts and deletes):
        return 0
    sizes = [2 * entries] if not engine.directed else [entries] * (1 + engine.has_reverse)
    with_source = bool(engine.record.properties)
    return sum(
        sort_bytes(engine.device, size, with_values=with_source) + 21 * size + size // 256 + 512
        for size in sizes
    )


def _as_it_is(mapped: Identified) -> Half:
    """The batch's own CSR: entries of one kind, in order already."""
    if mapped.put_columns.size:
        lists = mapped.put_rows, mapped.batch.put_indptr, mapped.put_row_count
        columns, entry_rows, kind = mapped.put_columns, mapped.put_entry_rows, PUT
    else:
        lists = mapped.delete_rows, mapped.delete_indptr, mapped.delete_row_count
        columns, entry_rows, kind = mapped.delete_columns, mapped.delete_entry_rows, DELETE
    return Half(*lists, lists[0].size, columns, entry_rows, None, kind, None, None, columns.size)


def _lists(mapped: Identified) -> bytes:
    """Arguments that name the puts and the deletes."""
    puts = mapped.put_rows, mapped.batch.put_indptr, mapped.put_columns
    deletes = mapped.delete_rows, mapped.delete_indptr, mapped.delete_columns
    rows = _ENTRY_ROWS(address(mapped.put_entry_rows), address(mapped.delete_entry_rows))
    return lists_argument(puts, deletes, mapped.put_vertices) + rows


def _layout_of(engine: CudaEngine, mapped: Identified, *, mentions: int) -> tuple[KeyLayout, int]:
    """Layout for all lists of a batch, and the kind of all entries (-1: several)."""
    sizes = {MENTION: mentions, PUT: mapped.put_columns.size, DELETE: mapped.delete_columns.size}
    kinds = [kind for kind, size in sizes.items() if size]
    layout = layout_for(
        mapped.vertex_count,
        mixed=len(kinds) > 1,
        most=max(sizes.values()),
        with_source=bool(engine.record.properties),
    )
    return layout, -1 if len(kinds) > 1 else (*kinds, PUT)[0]


def _merged(engine: CudaEngine, mapped: Identified, scratch: Scratch) -> Half:
    """Puts and deletes in one order, straight: each entry finds its place by binary search."""
    layout, kind = _layout_of(engine, mapped, mentions=0)
    total = mapped.put_columns.size + mapped.delete_columns.size
    keys = scratch.take(total, np.uint64)
    values = scratch.take(total, np.uint32) if layout.with_values else None
    _merge(engine, mapped, layout, keys, values, straight=0, turned=-1)
    return _grouped(engine, keys, values, layout, kind, mapped.vertex_count, scratch)


def _merge(
    engine: CudaEngine, mapped: Identified, layout: KeyLayout, keys: Array, values: Array | None,
    *, straight: int, turned: int,
) -> None:  # fmt: skip
    total = mapped.put_columns.size + mapped.delete_columns.size
    target = _MERGED(address(keys), address(values), straight, turned)
    engine.device.launch_packed(
        "halves.cu", "merge_lists", -(-total // TILE_THREADS), TILE_THREADS,
        _lists(mapped) + layout.argument + target,
    )  # fmt: skip


def _target(layout: KeyLayout, sort: RadixSort) -> bytes:
    """Arguments that name what the keys of a sort are packed into."""
    keys = _SORTED(address(sort.keys), address(sort.values), sort.grid.portion)
    return layout.argument + keys + sort.counting


def _both_ways(engine: CudaEngine, mapped: Identified, scratch: Scratch) -> Half:
    """Undirected and in order: turned entries, then straight ones, sorted by row alone."""
    puts, deletes = mapped.put_columns.size, mapped.delete_columns.size
    if not (puts and deletes):
        return _sorted(engine, mapped, scratch, None, _TURNED_FIRST)
    layout, kind = _layout_of(engine, mapped, mentions=0)
    sort = _sort_by_row(engine.device, layout, 2 * (puts + deletes), scratch)
    _merge(engine, mapped, layout, sort.keys, sort.values, straight=puts + deletes, turned=0)
    keys, values = sort.run(counted=False)
    return _grouped(engine, keys, values, layout, kind, mapped.vertex_count, scratch)


def _sort_by_row(device: Device, layout: KeyLayout, count: int, scratch: Scratch) -> RadixSort:
    return RadixSort(
        device, scratch, count, layout.row_shift, layout.high_bit, with_values=layout.with_values
    )


def _sorted(
    engine: CudaEngine,
    mapped: Identified,
    scratch: Scratch,
    deleted: of_deleted.Group | None,
    turns: int,
) -> Half:
    """All lists of the batch for one direction, and what the deleted vertices add, sorted."""
    mention_rows, mention_columns = (deleted.rows, deleted.columns) if deleted else (None, None)
    mentions = deleted.rows.size if deleted else 0
    listed = mapped.put_columns.size + mapped.delete_columns.size
    total = mentions + listed * (2 if turns >= _BOTH else 1)
    layout, kind = _layout_of(engine, mapped, mentions=mentions)
    if turns == _TURNED_FIRST:
        sort = _sort_by_row(engine.device, layout, total, scratch)
    else:
        sort = RadixSort(
            engine.device, scratch, total, layout.column_shift, layout.high_bit,
            with_values=layout.with_values,
        )  # fmt: skip
    named = _MENTIONS(address(mention_rows), address(mention_columns), mentions)
    engine.device.launch_packed(
        "halves.cu", "pack_lists", sort.grid.blocks, SORT_THREADS,
        b"".join((named, _lists(mapped), _TURNS(turns), _target(layout, sort))),
    )  # fmt: skip
    keys, values = sort.run(counted=True)
    half = _grouped(engine, keys, values, layout, kind, mapped.vertex_count, scratch)
    return of_deleted.with_cleared(engine, half, mapped.deleted) if deleted else half


def _transposed(engine: CudaEngine, half: Half, vertex_count: int, scratch: Scratch) -> Half:
    """Turn a half round: rows become columns. One stable sort by the new row is enough."""
    layout = layout_for(
        vertex_count,
        mixed=half.kinds is not None,
        most=half.entries,
        with_source=bool(engine.record.properties),
    )
    sort = _sort_by_row(engine.device, layout, half.entries, scratch)
    lists = half.rows, half.entry_rows, half.columns, half.kinds, half.source
    engine.device.launch_packed(
        "halves.cu", "pack_transposed", sort.grid.blocks, SORT_THREADS,
        _TURNED_HALF(*map(address, lists), half.entries) + _target(layout, sort),
    )  # fmt: skip
    keys, values = sort.run(counted=True)
    return _grouped(engine, keys, values, layout, half.kind, vertex_count, scratch)


def _grouped(
    engine: CudaEngine,
    keys: Array,
    values: Array | None,
    layout: KeyLayout,
    kind: int,
    vertex_count: int,
    scratch: Scratch,
) -> Half:
    """Half from sorted keys."""
    entries = keys.size
    max_rows = min(entries, vertex_count)
    rows = scratch.take(max_rows, np.uint32)
    indptr = scratch.take(max_rows + 1, np.uint32)
    row_count = scratch.take(1, np.uint32)
    columns, entry_rows = scratch.take(entries, np.uint32), scratch.take(entries, np.uint32)
    kinds = scratch.take(entries, np.uint8) if layout.kind_bits else None
    source = scratch.take(entries, np.uint32) if layout.number_bits else None
    blocks = -(-entries // TILE_ENTRIES)
    sorted_keys = _KEYS(address(keys), entries) + layout.argument
    launch, tiles = engine.device.launch_packed, None
    if blocks > 1:
        tiles = scratch.take(blocks, np.uint32)
        counting = _COUNTED(address(tiles), address(row_count), address(ticket_of(engine.device)))
        launch("halves.cu", "count_rows", blocks, TILE_THREADS, sorted_keys + counting)
    filled = tiles, row_count, rows, indptr, columns, entry_rows, kinds, source
    arguments = sorted_keys + _UNPACKED(*map(address, filled))
    launch("halves.cu", "unpack_keys", blocks, TILE_THREADS, arguments)
    if entries == 0:
        indptr[:] = 0
        row_count[:] = 0
    return Half(
        rows, indptr, row_count, max_rows, columns, entry_rows, kinds, kind,
        values if layout.with_values else source, None, entries,
    )  # fmt: skip
