"""A graph on either engine, and batches for both: the images afterwards are the same.

Rows come in three lengths, which the kernels treat by different ways (``rows.cuh``). Most
tests set the bounds of these lengths low, by the fixture ``low_bounds``, so that a few hundred
entries meet all of them; on the device that is a kernel of its own.
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from graphtide import DynamicGraph, UpdateBatch
from graphtide.gpu_core.cuda import kernels_ahead
from graphtide.gpu_core.cuda.device import compile as kernel_compile
from graphtide.gpu_core.cuda.update import kernels as cuda_kernels
from graphtide.gpu_core.cuda.update.pages import listed_rows
from graphtide.gpu_core.image.fields import CLASS_MASK, Field, ImageTable, Shape
from graphtide.gpu_core.layouts import LAYOUTS as REGISTERED
from graphtide.gpu_core.layouts import layout_of, page_after, segment_base
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import engine_of
from strategies import least_page_bytes

#: Kept up to 8 or 16 entries, or by a warp up to 40 of which 4 are of the batch; short up to 24 old
#: ones and 8 of the batch; long from 41 or 25 on, of which large up to 80 and 24, or 120 where none
#: are old; others cut into tiles of 256.
LOW = {
    "LANES_KEPT": 1,
    "SHORT_DEGREE": 24,
    "SHORT_ENTRIES": 8,
    "WARP_ENTRIES": 4,
    "LONG_DEGREE": 40,
    "LONG_ENTRIES": 24,
    "LARGE_DEGREE": 80,
    "FRESH_ENTRIES": 120,
    "OLD_TILE": 256,
}
DIRECTIONS = {
    "one way": {"reverse": False},
    "reverse": {"reverse": True},
    "both ways": {"directed": False},
}
#: Pages are small, so that a few entries take several of them.
LAYOUTS: dict[str, dict[str, Any]] = {
    name: {"layout": name, **({"page_bytes": 32} if layout.is_paged else {})}
    for name, layout in REGISTERED.items()
}
ROOMY = {"arena_bytes": 1 << 20, "max_arena_bytes": 1 << 26}
KERNELS = ("plan.cu", "commit.cu", "long_rows_plan.cu", "long_rows_commit.cu")
FEW_ROWS = "few_rows.cu"

Edits = list[tuple[int, str, int, int, int]]


#: With what it finds while bounds are low, which would not do for the tests that follow.
_files_of_graph = cache(kernels_ahead._files_of_graph.__wrapped__)


def set_low_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile the kernels of updates with other bounds of lengths, and list few rows seldom."""
    monkeypatch.setattr(cuda_kernels, "_OTHER_THRESHOLDS", LOW)
    for name in KERNELS:
        forms = [{"ENTRY_WORDS": record.words, **LOW} for record in RECORDS.values()]
        monkeypatch.setitem(kernel_compile.VARIANTS, name, forms)
    monkeypatch.setitem(kernel_compile.VARIANTS, FEW_ROWS, [{"ENTRY_WORDS": 1, **LOW}])
    monkeypatch.setattr(kernels_ahead, "_files_of_graph", _files_of_graph)
    monkeypatch.setattr(
        listed_rows, "FEW", listed_rows.ListedCounts(rows=3, entries=9, old_entries=40)
    )


def pair(layout: str = "runs", **arguments: Any) -> tuple[DynamicGraph, DynamicGraph]:
    settings = {"ids": "dense", **ROOMY, **LAYOUTS[layout], **arguments}
    if "page_bytes" in settings:
        least = least_page_bytes(settings.get("records", "simple"), layout)
        settings["page_bytes"] = max(settings["page_bytes"], least)
    return DynamicGraph(engine="host", **settings), DynamicGraph(engine="cuda", **settings)


def batch_of(edits: Edits, graph: DynamicGraph, seed: int = 0) -> UpdateBatch:
    """Rows of a log: for each edit a vertex, what to do, and a range of other vertices.

    ``put`` and ``delete`` are edges; ``mixed`` is both in random order; ``drop`` deletes the vertex
    and ``turned`` puts edges that end at it.
    """
    random = np.random.default_rng(seed)
    parts = []
    for vertex, what, first, count, step in edits:
        if what == "drop":
            parts.append((np.array([-1]), np.array([vertex]), np.array([-1])))
            continue
        others = first + step * np.arange(count)
        near = np.full(count, vertex)
        op = np.full(count, -1 if what == "delete" else 1)
        if what == "mixed":
            op = random.choice([-1, 1], count)
        parts.append((op, *((others, near) if what == "turned" else (near, others))))
    op, source, target = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return UpdateBatch.from_rows(
        op.astype(np.int8),
        source,
        np.maximum(target, 0),
        dst_valid=target >= 0,
        weight=random.random(op.size).astype(np.float32),
        type=random.integers(0, 9, op.size).astype(np.int32),
        ts=random.integers(-9, 1 << 40, op.size),
        directed=graph.directed,
        records=graph.records,
    )


def rows_of(image: npt.NDArray[np.uint32], shape: Shape) -> list[tuple[Any, int, list[int]]]:
    """Of each vertex: room or pages, first page, and the words of its entries."""
    rows: list[tuple[Any, int, list[int]]] = []
    count, wide = shape.vertex_count, shape.vertex_words
    records = image[shape.vertex_base :][: count * wide].reshape(count, wide)
    # As Python's numbers, all at once: most vertices have no entry or one.
    listed = records.tolist()
    if layout_of(shape.layout).is_paged:
        return [row_on_pages(image, shape, record) for record in listed]
    for record in listed:
        room = record[0] >> shape.class_shift & CLASS_MASK
        first, degree = record[shape.first_word], record[shape.degree_word]
        if room == 0:
            rows.append((0, first, [degree]))
            continue
        words = shape.page_words << (room - 1)
        run = image[shape.page_end - first * shape.page_words - words :][:words]
        entries = words // shape.entry_words
        planes = run[: entries * shape.entry_words]
        wide = (shape.entry_words, entries) if shape.soa else (entries, shape.entry_words)
        planes = planes.reshape(wide)
        table = planes.T[:degree] if shape.soa else planes[:degree]
        rows.append((room, first, table.ravel().tolist()))
    return rows


def row_on_pages(
    image: npt.NDArray[np.uint32], shape: Shape, record: list[int]
) -> tuple[list[int], int, list[int]]:
    """Pages of a vertex, its first page, and the words of its entries."""
    first, degree = record[shape.first_word], record[shape.degree_word]
    entries = layout_of(shape.layout).page_entries(shape.page_words, shape.entry_words)
    pages: list[int] = []
    words: list[int] = []
    for number, done in enumerate(range(0, degree, entries)):
        pages.append(int(page_after(image, shape, first, pages[-1], number)) if pages else first)
        page = image[segment_base(shape, pages[-1], 1) :][: shape.page_words]
        wide = (shape.entry_words, entries) if shape.soa else (entries, shape.entry_words)
        table = page[: entries * shape.entry_words].reshape(wide)
        words += (table.T if shape.soa else table)[: min(entries, degree - done)].ravel().tolist()
    return pages, first, words


def check_same_image(host: DynamicGraph, cuda: DynamicGraph, *, by_row: bool = True) -> None:
    """Every word that means something is the same; only how much scratch there is may differ."""
    arena, device_arena = engine_of(host).arena, engine_of(cuda).arena
    image = device_arena.host_image()
    header = image[: 2 * arena.header.size].view(np.int64)
    assert np.array_equal(header, device_arena.header), "the mirror of the header is behind"
    same = header == arena.header
    same[Field.IMAGE_WORDS] = True
    assert same.all(), f"header fields {np.flatnonzero(~same)} differ"
    tree = device_arena.device.to_host(device_arena.table(ImageTable.FREE_TREE))
    assert np.array_equal(tree, arena.table(ImageTable.FREE_TREE)), "free runs differ"
    queued = device_arena.device.to_host(device_arena.queued_pages())
    assert np.array_equal(queued, arena.queued_pages()), "queued pages differ"
    for direction in arena.directions() if by_row else []:
        shape = arena.shape(direction)
        for vertex, (ours, theirs) in enumerate(
            zip(rows_of(image, shape), rows_of(arena.image, shape), strict=True)
        ):
            assert ours == theirs, f"row {vertex}, {direction}, differs"
    assert np.array_equal(
        device_arena.device.to_host(device_arena.vertex_table()), arena.vertex_table()
    ), "vertex records differ"


def apply_to_both(
    host: DynamicGraph, cuda: DynamicGraph, batch: UpdateBatch, *, by_row: bool = True
) -> None:
    reports = [graph.apply(batch).as_dict() for graph in (host, cuda)]
    for report in reports:
        report.pop("apply_seconds")
    assert reports[0] == reports[1]
    check_same_image(host, cuda, by_row=by_row)
