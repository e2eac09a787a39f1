"""Rows without gaps, and cut into slices: what PageRank and triangles walk over on a device."""

from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.cuda.analytics.parts import compact_rows, slices
from graphtide.gpu_core.host.analytics.parts import compact_rows as host_rows
from graphtide.testing import engine_of
from image_engine import KINDS, ImageEngine, changed_graph, check_pagerank, make_graph


def test_rows_of_more_blocks_than_one_sums_up(device: Any) -> None:
    count = 300 * compact_rows.SCAN_ROWS
    low = np.arange(0, count, 1_999)
    graph = make_graph((low, (low * 7) % count), directed=True, reverse=True, ids="dense")
    engine = ImageEngine(device, graph)
    need = compact_rows.rows_bytes(engine.vertex_count, engine.num_entries)
    with engine.workspace.scratch(need) as scratch:
        rows = compact_rows.compact_rows(device, scratch, engine.rows("out"))
        expected = host_rows.compact_rows(engine_of(graph).rows("out"))
        assert np.array_equal(device.to_host(rows.indptr), expected.indptr)
        assert np.array_equal(device.to_host(rows.indices), expected.indices)


@pytest.mark.parametrize("records", ["simple", "weighted"])
def test_rows_of_every_length_side_by_side(device: Any, records: str) -> None:
    # Around what makes a row long, a chunk full, and a round of loads; in slices that have both
    # kinds, and one that ends before its last lane.
    lengths = [0, 1, 5, 6, 7, 12, 31, 32, 33, 34, 64, 1023, 1024, 1025, 2048, 2049, 0, 3] * 4
    src = np.repeat(np.arange(len(lengths)), lengths)
    dst = np.concatenate([np.arange(length) * 2 for length in lengths])
    for edges in ((src, dst), (dst, src)):
        for reverse in (False, True):
            graph = make_graph(edges, records=records, directed=True, reverse=reverse, ids="dense")
            check_pagerank(device, graph, weight=None if records == "simple" else "weight")


def test_slices_hold_every_entry_once_and_short_rows_interleaved(device: Any) -> None:
    graph = changed_graph(**KINDS[4])
    engine = ImageEngine(device, graph)
    count, entries = engine.vertex_count, engine.num_entries
    expected = host_rows.compact_rows(engine_of(graph).rows("out"))
    with engine.workspace.scratch(slices.slices_bytes(count, entries)) as scratch:
        made = slices.slices(device, scratch, engine.rows("out"))
        lengths = device.to_host(scratch.array_at(made.lengths, count, np.uint32))
        indices = device.to_host(scratch.array_at(made.indices, entries, np.uint32))
    present = engine_of(graph).present()
    assert np.array_equal(lengths >> 31 == 0, present)
    lengths &= (1 << 31) - 1
    assert np.array_equal(lengths, np.diff(expected.indptr))
    interleaved = []
    for first in range(0, count, slices.SLICE_ROWS):
        rows = [
            expected.indices[expected.indptr[row] : expected.indptr[row + 1]].tolist()
            for row in range(first, min(first + slices.SLICE_ROWS, count))
        ]
        short = [row for row in rows if len(row) <= slices.SHORT_LENGTH]
        for entry in range(slices.SHORT_LENGTH):
            interleaved += [row[entry] for row in short if len(row) > entry]
        for row in rows:
            interleaved += row if len(row) > slices.SHORT_LENGTH else []
    assert lengths.max() > slices.SHORT_LENGTH
    assert indices.tolist() == interleaved
