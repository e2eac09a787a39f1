"""The deltas of a batch as the launches of its list make them, for comparison with the host's."""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from engine_views import EngineView
from graphtide.gpu_core.cuda.device.launches import empty_list
from graphtide.gpu_core.cuda.memory.scratch import DeviceScratch
from graphtide.gpu_core.cuda.structs import DELTA, MOST_TILES
from graphtide.gpu_core.cuda.update.assisted.mapped import Mapped
from graphtide.gpu_core.cuda.update.batch import DeviceBatch
from graphtide.gpu_core.cuda.update.batch_launches import write_launches
from graphtide.gpu_core.cuda.update.facts import DELTA_WORDS, FACTS, pack_image
from graphtide.gpu_core.cuda.update.kernels import UpdateKernels
from graphtide.gpu_core.cuda.update.modes import EXTENT, Mode, first_mode
from graphtide.gpu_core.cuda.update.steps import MAP, SORT
from graphtide.gpu_core.image.fields import KIND_DANGLING, KIND_PUT, Field

SCRATCH_BYTES = 1 << 23


class DeviceDelta(NamedTuple):
    """One delta in host memory; fields as of `structs.DELTA`."""

    direction: str
    rows: np.ndarray
    max_rows: int
    indptr: np.ndarray
    columns: np.ndarray
    kinds: np.ndarray
    source: np.ndarray
    clear: np.ndarray


def mode_of(view: EngineView, batch: DeviceBatch, *, create_vertices: bool = False) -> Mode:
    extent = np.frombuffer(batch.extent, EXTENT)[0]
    return Mode(first_mode(view.arena.header, extent, create_vertices))


def deltas_of(
    view: EngineView,
    batch: DeviceBatch,
    mapped: Mapped | None = None,
    *,
    mode: Mode = Mode.COMMON,
    long_expected: bool = False,
    in_buckets: bool = True,
    most_bytes: int = SCRATCH_BYTES,
) -> list[DeviceDelta]:
    """Run the launches that make the deltas; ``mapped``: the host has mapped the batch."""
    device = view.device
    kernels = UpdateKernels(device)
    facts = np.zeros(FACTS.itemsize // 8, np.int64)
    record = facts.view(FACTS)
    parts = {
        "image": pack_image(view.arena),
        "kernels": kernels.pack(view.arena, with_long=False),
        "batch": batch.facts,
    }
    for name, packed in parts.items():
        words = np.frombuffer(packed, np.int64)
        first = FACTS.fields[name][1] // 8
        facts[first : first + words.size] = words
    memory = device.empty(most_bytes, np.uint8)
    scratch = DeviceScratch(device.xp, memory).reserve(0)
    call = record["call"]
    before = view.arena[Field.VERTEX_COUNT]
    call["before"] = before
    call["after"] = mapped.vertex_count if mapped else max(before, 1 + (batch.put_top or 0))
    call["scratch"], call["scratch_end"] = scratch, scratch + most_bytes - 128
    call["long_expected"], call["most_tiles"] = long_expected, MOST_TILES
    call["in_buckets"] = in_buckets
    call["mode"] = Mode.ASSISTED if mapped else mode
    if mapped:
        mapped.fill(record["mapped"])
    lines, steps = empty_list(), SORT if mapped else MAP | SORT
    end = write_launches(lines, facts, view.arena.header, steps)
    assert end <= call["scratch_end"], "more scratch than the test has"
    device.run(lines)
    each = record["deltas"]["each"][0][: int(call["deltas"][0])]
    return [_delta_at(view, words, int(call["after"][0])) for words in each]


def _delta_at(view: EngineView, words: np.ndarray, vertex_count: int) -> DeviceDelta:
    fields = dict(
        zip((name for _, name in DELTA.fields), words[1 : 1 + DELTA_WORDS].tolist(), strict=False)
    )
    entries = int(words[-1])
    count = int(array_at(view.device, fields["row_count"], 1, np.uint32)[0])

    def array(name: str, size: int, dtype: Any = np.uint32) -> np.ndarray:
        return array_at(view.device, fields[name], size, dtype)

    kinds, source = np.full(entries, fields["kind"], np.int8), np.arange(entries)
    if fields["kinds"]:
        assert fields["kind"] == -1
        kinds = array("kinds", entries, np.uint8)
    if fields["source"]:
        source = array("source", entries)
    clear = np.zeros(vertex_count, np.uint8)
    if fields["clear"]:
        clear = array("clear", vertex_count, np.uint8)
    assert bool(fields["puts"]) == (fields["kind"] in (-1, KIND_PUT))
    assert bool(fields["deletes"]) == (fields["kind"] != KIND_PUT)
    return DeviceDelta(
        ("out", "in")[words[0]], array("rows", count), fields["max_rows"],
        array("indptr", count + 1), array("columns", entries), kinds, source, clear,
    )  # fmt: skip


def array_at(device: Any, place: int, count: int, dtype: Any) -> np.ndarray:
    """Copy of what lies at an address of the device."""
    nbytes = count * np.dtype(dtype).itemsize
    if device.xp is np:
        return np.frombuffer(ctypes.string_at(place, nbytes), dtype)
    cuda = device.xp.cuda
    memory = cuda.UnownedMemory(place, nbytes, device)
    pointer = cuda.MemoryPointer(memory, 0)
    return device.to_host(device.xp.ndarray((count,), dtype, pointer))


def assert_same_delta(view: EngineView, ours: DeviceDelta, twin: Any) -> None:
    """Compare with ``host/update/deltas.py: Delta``.

    On the device a cleared row has one entry more, which names its own vertex.
    """
    row_of = np.repeat(np.arange(ours.rows.size), np.diff(ours.indptr).astype(np.int64))
    vertices = ours.rows[row_of]
    of_clear = (ours.clear[vertices] != 0) & (ours.kinds == KIND_DANGLING)
    of_clear &= ours.columns == vertices
    kept = ~of_clear
    assert ours.rows.size <= ours.max_rows
    np.testing.assert_array_equal(ours.rows, twin.rows)
    np.testing.assert_array_equal(ours.clear[ours.rows], twin.clear)
    assert of_clear.sum() == twin.clear.sum()
    counts = np.bincount(row_of[kept], minlength=ours.rows.size)
    np.testing.assert_array_equal(counts, np.diff(twin.indptr))
    np.testing.assert_array_equal(ours.columns[kept], twin.columns)
    np.testing.assert_array_equal(ours.kinds[kept], twin.kinds)
    if view.record.properties:
        puts = twin.kinds == KIND_PUT
        np.testing.assert_array_equal(ours.source[kept][puts], twin.source[puts])
