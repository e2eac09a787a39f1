"""What is launched for a batch on the device, how often, and what is kept for the next one."""

from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide import DynamicGraph, UpdateBatch
from graphtide.gpu_core.cuda.device import compile as kernel_compile
from graphtide.gpu_core.cuda.update import context as cuda_context
from graphtide.gpu_core.cuda.update import kernels as cuda_kernels
from graphtide.gpu_core.cuda.update.rows import long_rows as cuda_long_rows
from graphtide.gpu_core.image.fields import Field
from graphtide.testing import engine_of
from update_twins import (
    DIRECTIONS,
    FEW_ROWS,
    KERNELS,
    LAYOUTS,
    ROOMY,
    Edits,
    apply_to_both,
    batch_of,
    pair,
)


def names_of_launches(device: EmulatedDevice, since: int) -> list[str]:
    sources = (*KERNELS, FEW_ROWS)
    return [kernel for source, kernel in device.launches[since:] if source in sources]


def test_a_batch_takes_two_launches_a_delta(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_context, "MOST_FEW_ROWS", 0)
    for direction, deltas in (("one way", 1), ("reverse", 2), ("both ways", 1)):
        graph = DynamicGraph(engine="cuda", ids="dense", **ROOMY, **DIRECTIONS[direction])
        graph.apply(batch_of([(0, "put", 1, 30, 1)], graph))
        since = len(emulated_device.launches)
        graph.apply(batch_of([(4, "put", 5, 9, 2), (7, "delete", 5, 3, 2)], graph))
        launched = names_of_launches(emulated_device, since)
        steps = [*["plan_rows"] * deltas, *["commit_rows"] * deltas, "close_batch"]
        assert launched == steps, direction


def test_a_batch_of_few_rows_takes_one_launch(emulated_device: EmulatedDevice) -> None:
    """Where it has one delta, of entries of one word, and a block has a thread for each row."""
    steps = ["plan_rows", "commit_rows", "close_batch"]

    def launched(rows: int, entries: int, **settings: Any) -> list[str]:
        arguments = {**ROOMY, **DIRECTIONS["one way"], **settings}
        graph = DynamicGraph(engine="cuda", ids="dense", **arguments)
        graph.apply(batch_of([(0, "put", 0, 400, 1)], graph))
        since = len(emulated_device.launches)
        edits = [(vertex, "put", 0, entries, 1) for vertex in range(1, rows + 1)]
        graph.apply(batch_of(edits, graph))
        graph.verify("full")
        return names_of_launches(emulated_device, since)

    assert launched(256, 2) == ["apply_few_rows"]
    assert launched(257, 2) == steps
    assert launched(256, 6) == steps, "one block would have too much to do"
    assert launched(30, 2, records="weighted") == steps
    both = ["plan_rows", "plan_rows", "commit_rows", "commit_rows", "close_batch"]
    assert launched(30, 2, reverse=True) == both


def test_few_rows_grow_and_shrink_as_many_do(device: Any) -> None:
    """From one row to as many as a cluster of blocks takes; the runs are those of the host."""
    host, cuda = pair(reverse=False)
    # All vertices, without a long row: while such are expected the steps are taken one by one.
    apply_to_both(host, cuda, batch_of([(v, "put", v + 1, 1, 1) for v in range(2_100)], host))
    for count, rows in enumerate((1, 256, 257, 1_000, 2_048)):
        for turn in range(9):
            what = "delete" if turn % 3 == 2 else "put"
            first = 100 * turn * (what == "put") + count
            edits = [(v, what, first + v % 3, 1 + v % 6, 9) for v in range(1, rows + 1)]
            apply_to_both(host, cuda, batch_of(edits, host))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_kernels_enter_vertices_of_dense_ids(
    emulated_device: EmulatedDevice, direction: str
) -> None:
    """Below the end of the table and beyond it, each met several times, in one go."""
    host, cuda = pair(**DIRECTIONS[direction])
    apply_to_both(host, cuda, batch_of([(3, "put", 5, 6, 8)], host))
    for shuffle, vertex in enumerate((1, 30, 300, 12)):
        emulated_device.shuffle = shuffle
        since = len(emulated_device.launches)
        edits = [(vertex + v, "put", vertex + 2, 9, 3) for v in (0, 1)]
        apply_to_both(host, cuda, batch_of([*edits, (3, "delete", 5, 9, 1)], host))
        launched = [kernel for _, kernel in emulated_device.launches[since:]]
        assert launched.count("plan_rows") == 1 + (direction == "reverse"), "it was done twice"
        assert launched.count("enter_lists") == 1
        assert launched.count("clear_records") == (shuffle in (1, 2))


def test_vertices_that_the_host_must_make_room_for(emulated_device: EmulatedDevice) -> None:
    """The vertex table grows into the pages, or the rows need more pages than there are."""
    host, cuda = pair(arena_bytes=20_000, max_arena_bytes=1 << 24, reverse=False)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 20, 2)], host))
    for edits in ([(1, "put", 5_000, 1, 1)], [(7_000 + v, "put", 0, 30, 2) for v in range(99)]):
        since = len(emulated_device.launches)
        apply_to_both(host, cuda, batch_of(edits, host))
        launched = [kernel for _, kernel in emulated_device.launches[since:]]
        assert launched.count("enter_lists") == 2, "without the host, and once there is room"
        assert launched.count("plan_rows") == 1, "the plan outlives the image that it was made for"
        assert "enter_vertices" not in launched, "nor is it identified again"


def test_a_vertex_row_asks_whether_its_vertex_is_new(emulated_device: EmulatedDevice) -> None:
    host, cuda = pair()
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 20, 2)], host))
    rows = {"dst_valid": [False, False, True], "directed": True}
    batch = UpdateBatch.from_rows([1, 1, 1], [3, 4, 4], [0, 0, 8], **rows)
    apply_to_both(host, cuda, batch)


def test_long_rows_are_provided_for_while_they_are_met(
    emulated_device: EmulatedDevice, low_bounds: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_long_rows, "QUIET_BATCHES", 2)
    host, cuda = pair(reverse=False)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 200, 2), (9, "put", 2, 200, 2)], host))

    def launched(batch: Edits) -> list[str]:
        since = len(emulated_device.launches)
        apply_to_both(host, cuda, batch_of(batch, host))
        return names_of_launches(emulated_device, since)

    short = [(5, "put", 7, 3, 1)]
    long_ones = [
        "find_long", "search_long", "plan_rows", "commit_long", "commit_rows", "close_batch",
    ]  # fmt: skip
    while "find_long" in launched(short):
        pass
    first = launched([(0, "put", 2, 3, 2)])
    assert first[0] == "apply_few_rows", "the first one begins without"
    assert first[-len(long_ones) :] == long_ones, "and again with them"
    assert launched([(0, "put", 8, 3, 2)]) == long_ones, "the second one knows"
    assert [launched(short) == long_ones for _ in range(5)] == [True, True, False, False, False]


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "runs"])
def test_few_listed_rows_take_two_launches(emulated_device: EmulatedDevice, layout: str) -> None:
    """Pages are allocated for puts alone; room for more rows is given up when none need it."""
    host, cuda = pair(layout, reverse=False)
    plan_many = ["count_listed", "list_rows", "search_entries", "plan_listed"]
    write_many = ["place_rows", "write_entries"]
    plan_few, write_few, allocate = ["plan_few_listed"], ["write_few_listed"], ["allocate_demand"]
    few, many = plan_few + allocate + write_few, plan_many + allocate + write_many

    def launched(what: str, vertices: range) -> list[str]:
        since = len(emulated_device.launches)
        edits = [(vertex, what, 1000, 9, 1) for vertex in vertices]
        apply_to_both(host, cuda, batch_of(edits, host))
        return [kernel for _, kernel in emulated_device.launches[since:] if kernel in few + many]

    # The page queue has room for all pages that are used below.
    launched("put", range(1000))
    launched("delete", range(1000))
    engine_of(cuda).updates.expected.forget()
    assert launched("put", range(100)) == few
    assert launched("delete", range(100)) == plan_few + write_few
    # More rows without entries than there is room for: the batch is applied again.
    assert launched("put", range(200, 900)) == few + many
    assert launched("delete", range(3)) == plan_many + write_many
    for _ in range(32):
        last = launched("put", range(3))
    assert last == few


def test_staging_is_taken_as_it_is_needed(
    emulated_device: EmulatedDevice, low_bounds: None
) -> None:
    """Old entries of a long row are put aside: it may stay in its run, where it is written."""
    host, cuda = pair(reverse=False)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 300, 2), (1, "put", 0, 300, 2)], host))
    long_rows = engine_of(cuda).updates.expected
    assert isinstance(long_rows, cuda_long_rows.LongRows)
    # Expected, with nothing put aside yet.
    long_rows.expected, long_rows.number = True, long_rows.number + 1
    assert long_rows.staging_words == 0
    # Run of 512 entries: it has room for these.
    apply_to_both(host, cuda, batch_of([(v, "put", 300 + v, 9, 2) for v in (0, 1)], host))
    assert long_rows.staging_words >= 600
    since = len(emulated_device.launches)
    apply_to_both(host, cuda, batch_of([(v, "mixed", 120, 60, 1) for v in (0, 1)], host))
    assert names_of_launches(emulated_device, since).count("find_long") == 1, "enough is kept"


def test_scratch_that_grows_keeps_what_was_said_of_the_batch(
    emulated_device: EmulatedDevice,
) -> None:
    """Whether ids are unknown is told by a kernel; an image that is replaced forgets it."""
    host, cuda = pair(arena_bytes=200_000, max_arena_bytes=1 << 26)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 20, 2)], host))
    words = engine_of(cuda).arena[Field.IMAGE_WORDS]
    # Vertices below the largest id that are not there, and more entries than scratch is ready for.
    source, target = np.divmod(np.arange(39 * 39), 39)
    no_edge = np.arange(39 * 39) == 2
    batch = UpdateBatch.from_rows(
        np.ones(39 * 39, np.int8), source, target, dst_valid=~no_edge, directed=True
    )
    since = len(emulated_device.launches)
    apply_to_both(host, cuda, batch)
    assert engine_of(cuda).arena[Field.IMAGE_WORDS] > words
    launched = [kernel for _, kernel in emulated_device.launches[since:]]
    assert launched.count("map_vertices") == 2, "mapped again, by the host"


def test_the_degree_from_which_a_row_is_long() -> None:
    """It depends on the width of entries, so the kernels have a formula of their own."""
    text = kernel_compile.kernel_file("rows.cuh").read_text(encoding="utf-8")
    one, more = cuda_kernels.long_degree(1), cuda_kernels.long_degree(2)
    assert f"#define LONG_DEGREE (ENTRY_WORDS == 1 ? {one} : {more})" in text
    assert cuda_kernels.long_degree(7) == more
