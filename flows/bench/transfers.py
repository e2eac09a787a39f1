"""Third table of ``graphtide bench updates``: what is in host memory when the clock starts.

Of memory that is *page-locked* the GPU fetches by itself, at the speed of the bus; other memory is
*pageable*. Entries are an `UpdateBatch` in pageable memory, which the engine narrows into
page-locked memory of its own, or what a CPU worker makes of it for a GPU (`PackedBatch`), in
page-locked memory. Raw pairs are unsorted, and sorted on the device. A batch alone is given to
`apply` as it is, where that takes it; in a stream the next batch is sent ahead, and copied while
the one before is applied. The figure of a stream is the time of all over their number.

*Copy* is the way to the device alone: the least that the lines below it can take.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...gpu_core.batch.packed_batch import PackedBatch, pack
from ...gpu_core.batch.raw_rows import RawRows
from ...gpu_core.batch.update_batch import UpdateBatch
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.kind import row_meaning
from .measuring import draws
from .measuring.arm import PLAIN, Arm, Bench, MeasuredRow
from .measuring.clock import Lap
from .measuring.workloads import Keys, unpack

PAGEABLE, LOCKED = "pageable", "page-locked"
_OPS = {"insert": 1, "delete": -1}
_STREAM = 8

#: Makes a batch that inserts (1) or deletes (-1) keys of the host's, one for each kind of memory.
Make = Callable[[Bench, int, Keys], dict[str, Any]]


def transfer_rows(bench: Bench, size: int) -> Iterator[MeasuredRow]:
    """Measure a graph from a CSR, and batches of ``size`` entries; needs the ``cuda`` engine."""
    yield from _from_csr(bench)
    yield from _from_batches(bench, f"{size:,} entries", _entries, size)
    yield from _from_batches(bench, f"{size:,} raw pairs", _raw_pairs, size)


def _from_csr(bench: Bench) -> Iterator[MeasuredRow]:
    arm = bench.arm
    copied = MeasuredRow(f"copy of a CSR of {bench.keys.size:,} entries")
    made = MeasuredRow("a graph of it")
    for kind, csr in _csr(arm, arm.to_host(bench.keys)).items():
        for repeat in range(bench.repeats + 1):
            graph = arm.graph(**PLAIN)
            bench.timed(copied, repeat, kind, partial(_copy, arm, csr))
            bench.timed(made, repeat, kind, partial(_apply, graph, graph.feed(), [csr]))
        bench.check(graph, None, f"a graph of a CSR, {kind}")
        del graph
    yield copied
    yield made


def _from_batches(bench: Bench, what: str, make: Make, size: int) -> Iterator[MeasuredRow]:
    """Measure single batches, and a stream of them."""
    arm, graph = bench.arm, bench.graph()
    apply = partial(_apply, graph, graph.feed())
    copied = MeasuredRow(f"copy of {what}")
    single = {op: MeasuredRow(f"{op} {what}") for op in _OPS}
    streams = {op: MeasuredRow(f"{op} {what}, each of {_STREAM}") for op in _OPS}
    for repeat in range(bench.repeats + 1):
        drawn = bench.fresh(size * _STREAM, repeat)
        mixed = draws.shuffled(arm.xp, drawn, repeat)
        parts = np.array_split(arm.to_host(mixed), _STREAM)
        made = {op: [make(bench, sign, part) for part in parts] for op, sign in _OPS.items()}
        for kind in (PAGEABLE, LOCKED):
            batches = {op: [each[kind] for each in made[op]] for op in _OPS}
            bench.timed(copied, repeat, kind, partial(_copy, arm, batches["insert"][0]))
            for op in _OPS:
                bench.timed(single[op], repeat, kind, partial(apply, batches[op][:1]))
            for op in _OPS:
                lap = arm.clock.time(partial(apply, batches[op]))
                if repeat:
                    streams[op].add(kind, Lap(lap.device / _STREAM, lap.caller / _STREAM))
                elif op == "insert":
                    bench.check(graph, drawn, f"inserts of {what}, {kind}")
    bench.check(graph, None, what)
    yield from (copied, *single.values(), *streams.values())


def _csr(arm: Arm, keys: Keys) -> dict[str, PackedBatch]:
    src, dst = unpack(np, keys)
    rows, first = np.unique(src, return_index=True)
    indptr = np.append(first, keys.size)
    batch = replace(
        UpdateBatch.empty(), rows=keys.size, put_rows=rows, put_indptr=indptr, put_indices=dst
    )
    return {PAGEABLE: pack(batch, dense=True), LOCKED: _packed(arm, batch)}


def _entries(bench: Bench, op: int, keys: Keys) -> dict[str, Any]:
    src, dst = unpack(np, keys)
    batch = UpdateBatch.from_rows(np.full(keys.size, op, np.int8), src, dst)
    return {PAGEABLE: batch, LOCKED: _packed(bench.arm, batch)}


def _packed(arm: Arm, batch: UpdateBatch) -> PackedBatch:
    return pack(batch, dense=True, memory=lambda nbytes: arm.locked(np.empty(nbytes, np.uint8)))


def _raw_pairs(bench: Bench, op: int, keys: Keys) -> dict[str, Any]:
    src, dst = (half.astype(np.uint32) for half in unpack(np, keys))
    arrays = {"src": src, "dst": dst}
    if op < 0:
        arrays["op"] = np.full(keys.size, op, np.int8)
    top = (1 << bench.scale) - 1
    locked = {name: bench.arm.locked(array) for name, array in arrays.items()}
    kinds = {PAGEABLE: arrays, LOCKED: locked}
    return {
        kind: RawRows(it, (0, top, 0, top), row_meaning(), dense=True) for kind, it in kinds.items()
    }


def _apply(graph: DynamicGraph, feed: Any, stream: list[Any]) -> None:
    """Apply batches, each sent ahead of the call that applies the one before."""
    alone = len(stream) == 1 and isinstance(stream[0], UpdateBatch)
    ahead = stream[0] if alone else feed.send(stream[0])
    for batch in [*stream[1:], None]:
        now, ahead = ahead, None if batch is None else feed.send(batch)
        graph.apply(now)


def _copy(arm: Arm, batch: Any) -> Any:
    from ...gpu_core.cuda.device.transfer import send
    from ...gpu_core.cuda.update.batch import upload

    if isinstance(batch, UpdateBatch):
        return upload(arm.staging, batch, dense=True)
    return send(arm.device, batch.arrays)
