"""Updates on the device beside the host's: the same image after each batch, word for word.

Rows come in three lengths, which the kernels treat by different ways (``kernels/rows.cuh``). Most
tests here set the bounds of these lengths low, so that a few hundred entries meet all of them; on
the device that is a kernel of its own.
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphtide import ArenaFullError, DynamicGraph, UpdateBatch
from graphtide.gpu_core.cuda import apply as cuda_apply
from graphtide.gpu_core.cuda import batch_launches
from graphtide.gpu_core.cuda import compile as kernel_compile
from graphtide.gpu_core.cuda import plan as cuda_plan
from graphtide.gpu_core.image import CLASS_MASK, Field, Shape, Table
from graphtide.gpu_core.records import RECORDS

SETTINGS = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
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
ROOMY = {"arena_bytes": 1 << 20, "max_arena_bytes": 1 << 26}
KERNELS = ("plan.cu", "commit.cu", "long_rows.cu")
FEW_ROWS = "few_rows.cu"

Edits = list[tuple[int, str, int, int, int]]


def set_thresholds(monkeypatch: pytest.MonkeyPatch, **macros: int) -> None:
    """Compile the kernels of updates with other bounds of lengths."""
    monkeypatch.setattr(cuda_plan, "_OTHER_THRESHOLDS", macros)
    for name in KERNELS:
        forms = [{"ENTRY_WORDS": words, **macros} for words in (1, 2, 7)]
        monkeypatch.setitem(kernel_compile.VARIANTS, name, forms)
    monkeypatch.setitem(kernel_compile.VARIANTS, FEW_ROWS, [{"ENTRY_WORDS": 1, **macros}])


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    set_thresholds(monkeypatch, **LOW)


def pair(**arguments: Any) -> tuple[DynamicGraph, DynamicGraph]:
    settings_ = {"ids": "dense", **ROOMY, **arguments}
    return DynamicGraph(engine="host", **settings_), DynamicGraph(engine="cuda", **settings_)


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


def rows_of(image: npt.NDArray[np.uint32], shape: Shape) -> list[tuple[int, int, list[int]]]:
    """Of each vertex: room, first page, and the words of its entries."""
    rows = []
    for vertex in range(shape.vertex_count):
        record = image[shape.vertex_base + vertex * shape.vertex_words :][: shape.vertex_words]
        room = int(record[0]) >> shape.class_shift & CLASS_MASK
        first, degree = int(record[shape.first_word]), int(record[shape.degree_word])
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


def check_same_image(host: DynamicGraph, cuda: DynamicGraph, *, by_row: bool = True) -> None:
    """Every word that means something is the same; only how much scratch there is may differ."""
    arena, device_arena = host._engine.arena, cuda._engine.arena
    image = device_arena.host_image()
    header = image[: 2 * arena.header.size].view(np.int64)
    assert np.array_equal(header, device_arena.header), "the mirror of the header is behind"
    same = header == arena.header
    same[Field.IMAGE_WORDS] = True
    assert same.all(), f"header fields {np.flatnonzero(~same)} differ"
    tree = device_arena.device.to_host(device_arena.table(Table.FREE_TREE))
    assert np.array_equal(tree, arena.table(Table.FREE_TREE)), "free runs differ"
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


def names_of_launches(device: EmulatedDevice, since: int) -> list[str]:
    sources = (*KERNELS, FEW_ROWS)
    return [kernel for source, kernel in device.launches[since:] if source in sources]


# -- any rows ------------------------------------------------------------------------------------

edits = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.sampled_from(("put", "put", "delete", "mixed", "mixed", "turned", "drop")),
        st.integers(0, 60),
        st.sampled_from((1, 2, 5, 9, 20, 30, 70, 150, 300)),
        st.sampled_from((1, 1, 2, 3)),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.usefixtures("device", "low")
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("storage", ["soa", "aos"])
@pytest.mark.parametrize("records", list(RECORDS))
@SETTINGS
@given(batches=st.lists(edits, min_size=2, max_size=5), ids=st.sampled_from(("dense", "any")))
def test_any_batches_leave_the_image_that_the_host_leaves(
    records: str, storage: str, direction: str, batches: list[Edits], ids: str
) -> None:
    host, cuda = pair(records=records, storage=storage, ids=ids, **DIRECTIONS[direction])
    for number, batch in enumerate(batches):
        apply_to_both(host, cuda, batch_of(batch, host, seed=number))


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("records", list(RECORDS))
@SETTINGS
@given(batches=st.lists(edits, min_size=2, max_size=3))
def test_the_lengths_that_the_engine_goes_by(records: str, batches: list[Edits]) -> None:
    host, cuda = pair(records=records)
    for number, batch in enumerate(batches):
        longer = [(v, what, first, 4 * count, step) for v, what, first, count, step in batch]
        apply_to_both(host, cuda, batch_of(longer, host, seed=number))


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("records", ["simple", "semantic"])
def test_rows_that_a_block_writes(records: str) -> None:
    """Fresh, then merged in place: several passes of each warp, entries of one pass and of two."""
    host, cuda = pair(records=records, reverse=False)
    degrees = (600, 1200, 2500, 3500)
    rows = [(v, "put", 10, degree, 2) for v, degree in enumerate(degrees)]
    apply_to_both(host, cuda, batch_of(rows, host))
    for seed, (what, count, step) in enumerate(
        (("put", 1, 1), ("put", 6, 99), ("mixed", 300, 1), ("mixed", 40, 20), ("delete", 9, 60))
    ):
        batch = batch_of([(v, what, 301, count, step) for v in range(len(degrees))], host, seed)
        apply_to_both(host, cuda, batch)
    assert cuda._engine.updates.long_rows.staging_words == 0, "nothing was put aside"


@pytest.mark.usefixtures("device", "low")
@pytest.mark.parametrize("storage", ["soa", "aos"])
@pytest.mark.parametrize("records", list(RECORDS))
@pytest.mark.parametrize("degree", [10, 35, 60, 300])
def test_many_deletes_and_few_inserts(records: str, storage: str, degree: int) -> None:
    """Rows of each length shrink class by class while they still gain entries."""
    host, cuda = pair(records=records, storage=storage, reverse=False)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 700, 1)], host))
    apply_to_both(host, cuda, batch_of([(v, "put", 2 * v + 1, degree, 2) for v in range(5)], host))
    for left in (degree // 3, degree // 5, degree // 9, 1, 0):
        batch = [(v, "delete", 2 * v + 1 + 2 * left, degree, 2) for v in range(5)]
        batch += [(v, "put", 500, v % 2, 1) for v in range(5)]
        apply_to_both(host, cuda, batch_of(batch, host, seed=left))


@pytest.mark.usefixtures("device", "low")
@pytest.mark.parametrize("storage", ["soa", "aos"])
def test_first_times_of_edges_that_go_and_come_back(storage: str) -> None:
    """In one batch: the first time is the new one then, and stays otherwise; rows of any length."""
    host, cuda = pair(records="semantic", storage=storage, reverse=False)
    sizes = (3, 9, 20, 33, 60, 90, 300)
    rows = [(v, "put", v, 2 * size, 1) for v, size in enumerate(sizes)]
    apply_to_both(host, cuda, batch_of(rows, host))
    again = [(v, "delete", v + 1, size, 2) for v, size in enumerate(sizes)]
    again += [(v, "put", v, size, 1) for v, size in enumerate(sizes)]
    batch = batch_of(again, host, seed=1)
    assert batch.put_reset is not None
    assert 0 < batch.put_reset.sum() < batch.put_reset.size
    apply_to_both(host, cuda, batch)
    few = [(v, "delete", v + 1, 1, 1) for v in range(len(sizes))]
    few += [(v, "put", v, 3, 1) for v in range(len(sizes))]
    apply_to_both(host, cuda, batch_of(few, host, seed=2))


@pytest.mark.usefixtures("device", "low")
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("records", list(RECORDS))
def test_a_vertex_that_goes_and_comes_back(records: str, direction: str) -> None:
    """Rows of any length lose it, and gain it again by an edge of the same batch, or do not."""
    host, cuda = pair(records=records, **DIRECTIONS[direction])
    sizes = (1, 5, 12, 20, 33, 60, 90, 300)
    rows = [(400 + v, "put", 7, size, 1) for v, size in enumerate(sizes)]
    apply_to_both(host, cuda, batch_of(rows, host))
    for seed, back in enumerate(((0, 1, 2, 3), (4, 5, 6, 7), ())):
        batch = [(7, "drop", 0, 0, 0), (9, "drop", 0, 0, 0)]
        batch += [(400 + v, "put", 6, 3, 1) for v in back]
        batch += [(400 + v, "delete", 7, 4, 2) for v in (2, 3, 6, 7)]
        batch += [(400 + v, "put", 8, 30, 2) for v in (1, 3, 5, 7)]
        apply_to_both(host, cuda, batch_of(batch, host, seed=seed))


@pytest.mark.usefixtures("device", "low")
@pytest.mark.parametrize("records", list(RECORDS))
def test_entries_that_are_all_there_or_all_missing(records: str) -> None:
    host, cuda = pair(records=records, reverse=True)
    present = [(v, "put", 3, 30 * v, 2) for v in range(1, 9)]
    apply_to_both(host, cuda, batch_of(present, host))
    again = batch_of(present, host, seed=1)
    assert host.apply(again).updated == cuda.apply(again).updated == again.put_indices.size
    check_same_image(host, cuda)
    missing = batch_of([(v, "delete", 4, 30 * v, 2) for v in range(1, 9)], host)
    deletes = missing.delete_indices.size
    assert host.apply(missing).missing == cuda.apply(missing).missing == deletes
    check_same_image(host, cuda)


@pytest.mark.usefixtures("device", "low")
def test_rows_that_are_cleared_and_filled_again() -> None:
    """A vertex goes with all its edges and comes back with others, whatever length its row has."""
    for records, size in (("simple", 12), ("weighted", 30), ("semantic", 200)):
        host, cuda = pair(records=records, directed=False)
        apply_to_both(host, cuda, batch_of([(0, "put", 1, size, 1), (5, "put", 7, 20, 3)], host))
        again = [(0, "drop", 0, 0, 0), (0, "put", 2, size, 2), (5, "delete", 7, 4, 3)]
        apply_to_both(host, cuda, batch_of(again, host, seed=1))
        apply_to_both(host, cuda, batch_of([(0, "drop", 0, 0, 0)], host))


def test_the_order_of_threads_does_not_show(emulated_device: EmulatedDevice, low: None) -> None:
    batches = [
        [(v, "put", 3 * v, 50 * v + 3, 1) for v in range(7)],
        [(v, "mixed", 20, 40 * v + 5, 2) for v in range(7)],
        [(3, "drop", 0, 0, 0), (2, "mixed", 0, 300, 1)],
    ]
    for seed in range(1, 7):
        emulated_device.shuffle = seed
        host, cuda = pair(records=list(RECORDS)[seed % 3], reverse=True)
        for number, batch in enumerate(batches):
            apply_to_both(host, cuda, batch_of(batch, host, seed=number))


# -- runs ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("most_tiles", [2, 5, 2048])
def test_runs_go_to_rows_in_their_order(monkeypatch: pytest.MonkeyPatch, most_tiles: int) -> None:
    """However rows are cut into tiles, and over both halves of a batch."""
    monkeypatch.setattr(cuda_plan, "MOST_TILES", most_tiles)
    host, cuda = pair(reverse=True, arena_bytes=1 << 22)
    random = np.random.default_rng(1)
    for degree in (3, 9, 20):
        size = 1500 * degree
        ends = random.integers(0, 1500, (2, size))
        apply_to_both(host, cuda, UpdateBatch.from_rows(None, *ends))


@pytest.mark.usefixtures("device", "low")
@pytest.mark.parametrize("records", list(RECORDS))
def test_an_image_that_grows_and_is_compacted_under_a_batch(records: str) -> None:
    small = {"arena_bytes": 20_000, "max_arena_bytes": 1 << 26}
    host, cuda = pair(records=records, reverse=True, **small)
    for number in range(8):
        batch = [(v, "mixed", 11 * number, 20 * number + 5 * v, 1) for v in range(number + 2)]
        apply_to_both(host, cuda, batch_of(batch, host, seed=number))
    assert cuda._engine.arena[Field.IMAGE_WORDS] > 5000, "it has not grown"


@pytest.mark.usefixtures("device")
def test_a_batch_that_does_not_fit_changes_nothing() -> None:
    tight = {"arena_bytes": 3 << 20, "max_arena_bytes": 3 << 20, "page_bytes": 4096}
    host, cuda = pair(reverse=False, **tight)
    for graph in (host, cuda):
        graph.insert_vertices(np.arange(2000))
    apply_to_both(host, cuda, batch_of([(v, "put", 0, 20, 1) for v in range(20)], host))
    # A page for each row, between vertices that are there.
    large = batch_of([(7, "turned", 100, 1000, 1)], host)
    for graph in (host, cuda):
        with pytest.raises(ArenaFullError, match="arena too small: what is alive"):
            graph.apply(large)
    check_same_image(host, cuda)
    apply_to_both(host, cuda, batch_of([(3, "mixed", 5, 90, 2)], host))


# -- launches ------------------------------------------------------------------------------------


def test_a_batch_takes_two_launches_a_half(emulated_device: EmulatedDevice) -> None:
    emulated_device.meeting_blocks = 0
    for direction, halves in (("one way", 1), ("reverse", 2), ("both ways", 1)):
        graph = DynamicGraph(engine="cuda", ids="dense", **ROOMY, **DIRECTIONS[direction])
        graph.apply(batch_of([(0, "put", 1, 30, 1)], graph))
        since = len(emulated_device.launches)
        graph.apply(batch_of([(4, "put", 5, 9, 2), (7, "delete", 5, 3, 2)], graph))
        launched = names_of_launches(emulated_device, since)
        assert launched == ["plan_rows"] * halves + ["commit_rows"] * halves, direction


def test_a_batch_of_few_rows_takes_one_launch(emulated_device: EmulatedDevice) -> None:
    """Where its rows are one half, of entries of one word, and a block has a thread for each."""
    steps = ["plan_rows", "commit_rows"]

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
    assert launched(30, 2, reverse=True) == ["plan_rows"] * 2 + ["commit_rows"] * 2


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
    emulated_device: EmulatedDevice, low: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_apply, "_QUIET_BATCHES", 2)
    host, cuda = pair(reverse=False)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 200, 2), (9, "put", 2, 200, 2)], host))

    def launched(batch: Edits) -> list[str]:
        since = len(emulated_device.launches)
        apply_to_both(host, cuda, batch_of(batch, host))
        return names_of_launches(emulated_device, since)

    short = [(5, "put", 7, 3, 1)]
    long_ones = ["find_long", "search_long", "plan_rows", "commit_long", "commit_rows"]
    while "find_long" in launched(short):
        pass
    first = launched([(0, "put", 2, 3, 2)])
    assert first[0] == "apply_few_rows", "the first one begins without"
    assert first[-5:] == long_ones, "and again with them"
    assert launched([(0, "put", 8, 3, 2)]) == long_ones, "the second one knows"
    assert [launched(short) == long_ones for _ in range(5)] == [True, True, False, False, False]


def test_staging_is_taken_as_it_is_needed(emulated_device: EmulatedDevice, low: None) -> None:
    """Old entries of a long row are put aside: it may stay in its run, where it is written."""
    host, cuda = pair(reverse=False)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 300, 2), (1, "put", 0, 300, 2)], host))
    state = cuda._engine.updates
    state.provide(0)
    assert state.long_rows.staging_words == 0
    # Run of 512 entries: it has room for these.
    apply_to_both(host, cuda, batch_of([(v, "put", 300 + v, 9, 2) for v in (0, 1)], host))
    assert state.long_rows.staging_words >= 600
    since = len(emulated_device.launches)
    apply_to_both(host, cuda, batch_of([(v, "mixed", 120, 60, 1) for v in (0, 1)], host))
    assert names_of_launches(emulated_device, since).count("find_long") == 1, "enough is kept"


def test_scratch_that_grows_keeps_what_was_said_of_the_batch(
    emulated_device: EmulatedDevice,
) -> None:
    """Whether ids are unknown is told by a kernel; an image that is replaced forgets it."""
    host, cuda = pair(arena_bytes=200_000, max_arena_bytes=1 << 26)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 20, 2)], host))
    words = cuda._engine.arena[Field.IMAGE_WORDS]
    # Vertices below the largest id that are not there, and more entries than scratch is ready for.
    source, target = np.divmod(np.arange(39 * 39), 39)
    no_edge = np.arange(39 * 39) == 2
    batch = UpdateBatch.from_rows(
        np.ones(39 * 39, np.int8), source, target, dst_valid=~no_edge, directed=True
    )
    since = len(emulated_device.launches)
    apply_to_both(host, cuda, batch)
    assert cuda._engine.arena[Field.IMAGE_WORDS] > words
    launched = [kernel for _, kernel in emulated_device.launches[since:]]
    assert launched.count("map_vertices") == 2, "identified again, with care"


def test_numbers_that_stand_in_the_kernels_too() -> None:
    text = (kernel_compile.KERNELS / "rows.cuh").read_text(encoding="utf-8")

    def number(name: str) -> str:
        found = re.search(
            rf"^(?:#define|constexpr int) {name}(?: =)? ([^;\n]+)", text, re.MULTILINE
        )
        assert found, name
        return found[1]

    assert int(number("BLOCK")) == batch_launches.BLOCK
    assert int(number("MOST_TILES")) == cuda_plan.MOST_TILES
    assert int(number("OLD_TILE")) == cuda_plan.OLD_TILE
    assert int(number("LONG_ENTRIES")) == cuda_plan.LONG_ENTRIES
    one, more = cuda_plan.long_degree(1), cuda_plan.long_degree(2)
    assert number("LONG_DEGREE") == f"(ENTRY_WORDS == 1 ? {one} : {more})"
    assert cuda_plan.long_degree(7) == more


@pytest.mark.gpu
def test_a_graph_that_fills_a_real_device() -> None:
    """Blocks that run side by side: sizes that no emulator gets to."""
    host, cuda = pair(reverse=False, arena_bytes=1 << 29, max_arena_bytes=1 << 31)
    random = np.random.default_rng(2)
    vertices = 1 << 20
    for number in range(6):
        ends = random.integers(0, vertices, (2, 1_000_000))
        op = np.where(random.random(1_000_000) < 0.15 * number, -1, 1)
        # A hub: more entries in one batch than one pass over the sums of its tiles takes.
        hub = random.permutation(vertices)[: 700_000 if number in (1, 3) else 20_000]
        op = np.concatenate([op, np.where(hub % 5 < number - 2, -1, 1)])
        source = np.concatenate([ends[0], np.full(hub.size, 7)])
        batch = UpdateBatch.from_rows(op.astype(np.int8), source, np.concatenate([ends[1], hub]))
        apply_to_both(host, cuda, batch, by_row=False)
        assert host.state_hash() == cuda.state_hash()
