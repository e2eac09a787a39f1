"""Load the compiled kernels, and take memory, before the first batch needs them, on all workers.

A fresh process takes about a second to load kernels from the cache, and half a minute to compile
them the first time. Fresh memory is slow too: converting the first 4 M rows took 84 to 140 ns a row
where later ones took 55 (Sapphire Rapids, pages of a virtual machine). So CPU workers convert a
made-up batch as large as those to come, while the graph worker starts. That one applies batches
that meet every kernel of an update, with a hub, and too large for the arena that they come to, and
copies the graph, as the end of a run does. A kernel that is first met in mid-run holds it up, for
10 ms if it was compiled before, for up to 3 s if not. CuPy's own count: beyond 512 * 512 items it
scans with one kernel more, which took the first batch of a fresh machine 0.1 to 0.2 s.
"""

import io
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count, product
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...gpu_core.batch.packed_batch import pack
from ...gpu_core.batch.raw_rows import raw_rows
from ...gpu_core.batch.update_batch import UpdateBatch
from ...gpu_core.engines import compile_ahead
from ...gpu_core.errors import ArenaFullError, ConvergenceError, SettingsError
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.id_kinds import are_names, form_of
from ...gpu_core.kind import RowMeaning
from ...gpu_core.names.distinct import BatchNames
from ...gpu_core.names.strings import Strings
from ...gpu_core.properties.kinds import column_kinds
from ...io.log.batch_times import InsertTimes
from ...io.log.conversion import table_to_batch
from ...io.log.row_origin import RowOrigin
from ...io.parquet.parquet_files import read_rows
from ..batch_form import HOST_FORM, BatchForm, convert_to_form

#: The graph begins in so little, and may grow to so much; a GPU's memory pool keeps what was taken.
_ARENA_BYTES, _MAX_ARENA_BYTES = 1 << 20, 1 << 28

#: Rows that load every kernel of a conversion.
_FEW_ROWS = 16
#: Ids so far apart, which int32 holds yet, need 64 bits for an edge.
_FAR_APART = 1 << 26
#: Rows that load the kernels of an update: on a GPU all of them, so that the arena has to grow and
#: runs are allocated by many blocks, and more vertices and inserts than CuPy scans without a
#: kernel for sums of sums, 512 * 512; the host engine's few others load when they are first met.
_GPU_ROWS, _HOST_ROWS = 1 << 19, 1 << 10
#: Bits of a row's number, and of a destination, in one number.
_ROW_BITS, _DST_BITS = 20, 21
#: Rows for each that is of the hub.
_HUB_SHARE = 32


def _rows(count: int, hub_rows: int = 0) -> dict[str, np.ndarray]:
    """Inserts and deletes, with every column that records may keep."""
    number = np.arange(count, dtype=np.int64)
    sources = count // 4 + 1
    return {
        "op": np.where(number % 4 == 3, -1, 1).astype(np.int8),
        # Scattered, and no self loops: those may be refused. The last quarter has the edges of the
        # first again.
        "src": np.where(number < hub_rows, 0, number * 0x9E3779B1 % sources),
        "dst": number * 0x85EBCA6B % (3 * sources) + sources,
        "weight": np.ones(count, np.float32),
        "type": np.zeros(count, np.int32),
        "ts": number,
    }


def warm_conversion(
    meaning: RowMeaning,
    rows: int,
    *,
    dense: bool,
    on_gpu: bool | None = None,
    raw: bool = False,
    id_types: frozenset[tuple[str, str]] = frozenset(),
    start: float = 0.0,
    number: int | None = None,
) -> None:
    """Convert ``rows`` rows, and a few in each form: what a CPU worker does to a batch.

    Parameters
    ----------
    on_gpu
        Whether it is converted for a GPU; None: that is not known yet.
    raw
        A GPU converts; rows are only checked, and a few converted.
    id_types
        Of sources and destinations of the log. Each pair has kernels of its own, so only those that
        will be met are loaded.
    start
        From 0 to 1: the form that comes first, as a share of all. Workers that begin with different
        ones have compiled different kernels when they meet (`jit/shared_cache.py`).
    number
        Which of the CPU workers it is, from 0: they also compile for the graph worker, each
        another part first.
    """
    if on_gpu is not None and number is not None:
        compile_ahead(number, on_gpu=on_gpu)
    forms = [] if on_gpu is False else [BatchForm(True, dense, raw)]
    if on_gpu is not True:
        forms.append(HOST_FORM)
        if are_names(meaning.ids):
            _read_names()
    arguments: dict[str, Any] = {"meaning": meaning, "origin": RowOrigin(""), "batch_id": -1}
    convert = partial(convert_to_form, times=InsertTimes(), **arguments)
    makers: list[Callable[[pa.Table], Any]] = [partial(convert, form=form) for form in forms]
    if raw and on_gpu is not False:
        # What a batch with rows about vertices comes to.
        makers.append(lambda table: pack(table_to_batch(table, **arguments), dense=dense))
    # Where there are rows about vertices, all ids are widened.
    types = sorted({("int64", "int64"), *(() if are_names(meaning.ids) else id_types)})
    own = column_kinds(meaning.properties, ())
    steps = list(product(types, (1, _FAR_APART), makers))
    first = int(start * len(steps))
    few = _rows(_FEW_ROWS)
    for (src_type, dst_type), spread, make in steps[first:] + steps[:first]:
        ids = {"src": few["src"].astype(src_type), "dst": few["dst"].astype(dst_type)}
        spread_ids = {name: each * spread for name, each in ids.items()}
        make(_table({**few, **spread_ids, **_zeros(own, _FEW_ROWS)}, meaning.ids))
    makers[0](_table({**_rows(rows), **_zeros(own, rows)}, meaning.ids))
    if on_gpu is not None and number is not None:
        # The graph worker is at work from the other end; where all is compiled, that is quick.
        for part in count():
            if not compile_ahead(part, on_gpu=on_gpu):
                break


def _zeros(own: Mapping[str, str], rows: int) -> dict[str, np.ndarray]:
    """A column of each property."""
    return {name: np.zeros(rows, kind) for name, kind in own.items()}


def _table(columns: dict[str, np.ndarray], ids: str) -> pa.Table:
    """Rows as a file of a log has them, with ids of a kind."""
    table = pa.table(columns)
    kinds = {"string": pa.string(), "uuid": pa.binary(16)}
    kind = kinds.get(form_of(ids))
    for position, name in enumerate(table.column_names):
        if kind is not None and name in ("src", "dst"):
            numbers = columns[name]
            if form_of(ids) == "uuid":
                data = np.zeros((numbers.size, 2), np.int64)
                data[:, 0] = numbers
                column = pa.Array.from_buffers(kind, numbers.size, [None, pa.py_buffer(data)])
            else:
                column = table[name].cast(kind)
            table = table.set_column(position, name, column)
    return table


def _read_names() -> None:
    """Read a file that begins with numbers of a dictionary and goes on plainly."""
    names = pa.array([str(number) for number in range(_FEW_ROWS)])
    file = io.BytesIO()
    few = {"dictionary_pagesize_limit": 1, "write_batch_size": _FEW_ROWS // 2}
    pq.write_table(pa.table({"src": names}), file, **few)
    read_rows(file, pq.read_metadata(file), ["src"], 0, _FEW_ROWS, ["src"])


def warm_graph(
    graph_arguments: dict[str, Any],
    *,
    raw: bool = False,
    expires: bool = False,
    maintain: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> None:
    """Apply rows to a small graph of the same kind and copy it: what the graph worker does.

    Parameters
    ----------
    raw
        Also as rows that a GPU converts, if the graph is on one.
    expires
        Have edges expire, too.
    maintain
        Analytics that follow the rows, with their parameters, as those of the run do.
    """
    # No kernel depends on the size of a page, and of large ones many vertices take a lot.
    small = {
        "arena_bytes": _ARENA_BYTES, "max_arena_bytes": _MAX_ARENA_BYTES,
        "page_bytes": None, "mean_degree": None,
    }  # fmt: skip
    # The graph itself may have left too little memory: then its batches load what is left to load.
    with suppress(ArenaFullError):
        if expires:
            # Rows are made up with times that are numbers.
            graph_arguments = {**graph_arguments, "time_unit": "int64"}
        graph = DynamicGraph(**{**graph_arguments, **small})
        for name, parameters in maintain.items():
            graph.maintain(name, **parameters)
        _apply_rows(graph, raw=raw, expires=expires)


def _apply_rows(graph: DynamicGraph, *, raw: bool, expires: bool) -> None:
    feed, kind = graph.feed(), graph.kind
    count = _HOST_ROWS if feed is None else _GPU_ROWS
    rows = _rows(count, count // _HUB_SHARE)
    # A few first: an arena that grows before there is a row has none to move.
    few = {name: column[:: count // _FEW_ROWS] for name, column in rows.items()}
    graph.apply(_net_effect(few, kind))
    if are_names(graph.ids):
        # Of a few: these keys are no hashes, and to enter one the table looks at all before it.
        graph.apply(_with_names(few, graph))
        graph.vertices()
    graph.apply(_net_effect(rows, kind))
    if graph.maintained:
        _follow(graph, few)
    with graph.pin() as epoch:
        epoch.checkpoint_arrays()
    graph.apply(_net_effect({**rows, "op": -rows["op"]}, kind))
    if expires:
        graph.expire(count // 2)
        # Of what is known of rows by then, a batch takes note.
        graph.apply(_net_effect(few, kind))
    if raw and feed is not None:
        # Inserted, then deleted by the same batch: what that leaves has kernels of its own.
        columns: dict[str, Any] = {
            name: np.concatenate([column, column]) for name, column in rows.items()
        }
        columns["op"] = np.repeat(np.array([1, -1], np.int8), count)
        doubled = raw_rows(**columns, meaning=kind, dense=kind.dense_ids, batch_id=-1)
        graph.apply(feed.send(doubled))


def _follow(graph: DynamicGraph, few: dict[str, np.ndarray]) -> None:
    """Have what is maintained follow two edges that go and come: of many, it is recomputed."""
    two = {name: column[:2] for name, column in few.items()}
    for op in (1, -1, 1):
        _compute_maintained(graph)
        graph.apply(_net_effect({**two, "op": np.full(2, op, np.int8)}, graph.kind))
    _compute_maintained(graph)


def _compute_maintained(graph: DynamicGraph) -> None:
    for name in graph.maintained:
        # With the parameters of the run it may fail of these rows, and not of the log's.
        with suppress(ConvergenceError, SettingsError):
            graph.compute(name)


def _with_names(rows: dict[str, np.ndarray], graph: DynamicGraph) -> UpdateBatch:
    """The rows with names, as they come: else the first batch of the run would have kernels made.

    What they are made of may live as long as the process: no views of a ring, then.
    """
    keys = np.unique(np.concatenate([rows["src"], rows["dst"]]))
    # Of 16 bytes, which may be text or a UUID; they are not compared.
    size = 16
    data = np.full(keys.size * size, ord("0"), np.uint8)
    strings = Strings(np.arange(keys.size + 1) * size, data)
    names = BatchNames(keys, strings, keys[:0])
    return replace(_net_effect(rows, graph.kind), names=names)


def _net_effect(rows: dict[str, np.ndarray], meaning: RowMeaning) -> UpdateBatch:
    """`UpdateBatch.from_rows` of such rows, without its kernels: the graph worker converts none."""
    record, on_repeat = meaning.record, meaning.on_repeat
    src, dst = rows["src"], rows["dst"]
    if not meaning.directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    # Rows by edge, in order: the last row of each edge decides. One sort of numbers, in which the
    # row is the lower part, takes a tenth of the time of NumPy's functions for distinct values.
    keys = np.sort((src << _DST_BITS | dst) << _ROW_BITS | np.arange(src.size))
    rows_at, edges = keys & ((1 << _ROW_BITS) - 1), keys >> _ROW_BITS
    is_last = np.append(edges[1:] != edges[:-1], True)
    last, op = rows_at[is_last], rows["op"][rows_at]
    fields: dict[str, Any] = {}
    for name, kind in (("put", 1), ("delete", -1)):
        kept = last[op[is_last] == kind]
        sources = src[kept]
        begins = np.flatnonzero(np.append(True, sources[1:] != sources[:-1])[: kept.size])
        fields[f"{name}_rows"], fields[f"{name}_indices"] = sources[begins], dst[kept]
        fields[f"{name}_indptr"] = np.append(begins, kept.size)
        if name == "put":
            columns = {"first": "ts", "last": "ts"}
            for column in record.properties:
                fields[f"put_{column}"] = rows[columns.get(column, column)][kept].astype(
                    record.dtypes[column]
                )
            if record.has_times or on_repeat != "last":
                fields["put_reset"] = np.zeros(kept.size, np.bool_)
            if on_repeat == "sum":
                fields["repeat_puts"] = np.zeros(kept.size, np.uint32)
                fields["repeat_weight"] = fields["put_weight"]
    # An edge that was inserted and then deleted leaves its end points.
    number = np.cumsum(is_last) - is_last
    undone = rows_at[(op == 1) & (op[is_last] == -1)[number]]
    named = np.zeros(int(dst.max()) + 1, np.bool_)
    named[src[undone]] = named[dst[undone]] = True
    alone = np.flatnonzero(named)
    fields |= {"put_vertices": alone, "put_vertex_rows": np.zeros(alone.size, np.bool_)}
    fields |= {"delete_vertices": alone[:0], "delete_vertex_rows": np.empty(0, np.bool_)}
    batch = UpdateBatch(
        batch_id=-1, directed=meaning.directed, records=record.name, rows=src.size, dropped=0,
        overridden=src.size - last.size, ids="any" if meaning.ids == "dense" else meaning.ids,
        on_repeat=on_repeat, **fields,
        put_values=_zeros(dict(meaning.properties), fields["put_indices"].size),
        put_vertex_values=_zeros(dict(meaning.vertex_properties), alone.size),
    )  # fmt: skip
    # As batches come from CPU workers: what checks others is not compiled here.
    return batch.taken_for_valid()
