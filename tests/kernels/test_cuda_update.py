"""Updates on the device beside the host's: the same image after each batch, word for word."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphtide import ArenaFullError, UpdateBatch
from graphtide.gpu_core.cuda.update import context as cuda_context
from graphtide.gpu_core.cuda.update.pages.listed_rows import FEW
from graphtide.gpu_core.image.fields import Field
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import engine_of
from pairs import in_pairs
from strategies import examples
from update_twins import (
    DIRECTIONS,
    LAYOUTS,
    Edits,
    apply_to_both,
    batch_of,
    check_same_image,
    pair,
)

SETTINGS = settings(
    max_examples=examples(5),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
layouts = pytest.mark.parametrize("layout", LAYOUTS)
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


@pytest.mark.everyday
@pytest.mark.usefixtures("device", "low_bounds")
@in_pairs(layout=LAYOUTS, records=RECORDS, storage=("soa", "aos"), direction=DIRECTIONS)
@SETTINGS
@given(batches=st.lists(edits, min_size=2, max_size=5), ids=st.sampled_from(("dense", "any")))
def test_any_batches_leave_the_image_that_the_host_leaves(
    layout: str, records: str, storage: str, direction: str, batches: list[Edits], ids: str
) -> None:
    host, cuda = pair(layout, records=records, storage=storage, ids=ids, **DIRECTIONS[direction])
    for number, batch in enumerate(batches):
        apply_to_both(host, cuda, batch_of(batch, host, seed=number))


@pytest.mark.usefixtures("device")
@layouts
@pytest.mark.parametrize("records", list(RECORDS))
@settings(SETTINGS, max_examples=examples(2))
@given(batches=st.lists(edits, min_size=2, max_size=3))
def test_the_lengths_that_the_engine_goes_by(
    layout: str, records: str, batches: list[Edits]
) -> None:
    host, cuda = pair(layout, records=records)
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
    assert engine_of(cuda).updates.expected.staging_words == 0, "nothing was put aside"


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("layout", [name for name, way in LAYOUTS.items() if "page_bytes" in way])
def test_hubs_whose_pages_follow_one_another_and_do_not(layout: str) -> None:
    """Pages of one batch do; then others' pages come between, and freed ones are used again."""
    host, cuda = pair(layout, reverse=False, page_bytes=16)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 2500, 2), (1, "put", 1, 90, 2)], host))
    for seed in range(4):
        edits = [(v, "mixed", 400 * seed, 900, 1 + v) for v in range(3)]
        apply_to_both(host, cuda, batch_of(edits, host, seed=seed))
        assert host.state_hash() == cuda.state_hash()


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "runs"])
@pytest.mark.parametrize("direction", ["one way", "both ways"])
def test_few_listed_rows_among_many(layout: str, direction: str) -> None:
    """One block works on more rows than it has threads, which lie in many tiles of rows."""
    host, cuda = pair(layout, **DIRECTIONS[direction])
    expected = engine_of(cuda).updates.expected

    def change(what: str, first: int, every: int, count: int, others: int) -> None:
        counts = ((v, others if v % every else count) for v in range(1500))
        edits = [(v, what, 3000 + first, count, 1) for v, count in counts if count]
        apply_to_both(host, cuda, batch_of(edits, host))

    # Seven entries fill a page.
    change("put", 0, every=5, count=6, others=3)
    expected.forget()
    change("put", 7, every=5, count=2, others=1)
    change("delete", 5, every=5, count=3, others=0)
    change("delete", 0, every=5, count=5, others=1)
    change("put", 9, every=700, count=7, others=1)
    if direction == "one way":
        assert expected.room == FEW, "300 rows were few"


@pytest.mark.gpu
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "runs"])
def test_few_listed_rows_among_many_on_a_real_device(layout: str) -> None:
    """More tiles of rows than a pass over their sums takes, and tiles of more than a block."""
    host, cuda = pair(layout, reverse=False, arena_bytes=1 << 27, max_arena_bytes=1 << 30)
    vertices = np.arange(700_000)
    expected = engine_of(cuda).updates.expected
    for number, (op, count, often) in enumerate([(1, 3, 3), (1, 1, 6), (-1, 1, 3), (1, 1, 7)]):
        counts = np.where(vertices % 5000, count, often)
        source = np.repeat(vertices, counts)
        batch = UpdateBatch.from_rows(
            np.full(source.size, op, np.int8),
            source,
            (source * 7 + np.arange(source.size)) % 700_000,
        )
        apply_to_both(host, cuda, batch, by_row=False)
        if number == 0:
            expected.forget()
    assert expected.room == FEW, "140 rows were few"
    assert host.state_hash() == cuda.state_hash()


@pytest.mark.usefixtures("device", "low_bounds")
@in_pairs(layout=LAYOUTS, records=RECORDS, storage=("soa", "aos"), degree=(10, 35, 60, 300))
def test_many_deletes_and_few_inserts(layout: str, records: str, storage: str, degree: int) -> None:
    """Rows of each length shrink class by class while they still gain entries."""
    host, cuda = pair(layout, records=records, storage=storage, reverse=False)
    apply_to_both(host, cuda, batch_of([(0, "put", 1, 700, 1)], host))
    apply_to_both(host, cuda, batch_of([(v, "put", 2 * v + 1, degree, 2) for v in range(5)], host))
    for left in (degree // 3, degree // 5, degree // 9, 1, 0):
        batch = [(v, "delete", 2 * v + 1 + 2 * left, degree, 2) for v in range(5)]
        batch += [(v, "put", 500, v % 2, 1) for v in range(5)]
        apply_to_both(host, cuda, batch_of(batch, host, seed=left))


@pytest.mark.usefixtures("device", "low_bounds")
@layouts
@pytest.mark.parametrize("storage", ["soa", "aos"])
def test_first_times_of_edges_that_go_and_come_back(layout: str, storage: str) -> None:
    """In one batch: the first time is the new one then, and stays otherwise; rows of any length."""
    host, cuda = pair(layout, records="semantic", storage=storage, reverse=False)
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


@pytest.mark.usefixtures("device", "low_bounds")
@in_pairs(layout=LAYOUTS, records=RECORDS, direction=DIRECTIONS)
def test_a_vertex_that_goes_and_comes_back(layout: str, records: str, direction: str) -> None:
    """Rows of any length lose it, and gain it again by an edge of the same batch, or do not."""
    host, cuda = pair(layout, records=records, **DIRECTIONS[direction])
    sizes = (1, 5, 12, 20, 33, 60, 90, 300)
    rows = [(400 + v, "put", 7, size, 1) for v, size in enumerate(sizes)]
    apply_to_both(host, cuda, batch_of(rows, host))
    for seed, back in enumerate(((0, 1, 2, 3), (4, 5, 6, 7), ())):
        batch = [(7, "drop", 0, 0, 0), (9, "drop", 0, 0, 0)]
        batch += [(400 + v, "put", 6, 3, 1) for v in back]
        batch += [(400 + v, "delete", 7, 4, 2) for v in (2, 3, 6, 7)]
        batch += [(400 + v, "put", 8, 30, 2) for v in (1, 3, 5, 7)]
        apply_to_both(host, cuda, batch_of(batch, host, seed=seed))


@pytest.mark.usefixtures("device", "low_bounds")
@layouts
@pytest.mark.parametrize("records", list(RECORDS))
def test_entries_that_are_all_there_or_all_missing(layout: str, records: str) -> None:
    host, cuda = pair(layout, records=records, reverse=True)
    present = [(v, "put", 3, 30 * v, 2) for v in range(1, 9)]
    apply_to_both(host, cuda, batch_of(present, host))
    again = batch_of(present, host, seed=1)
    assert host.apply(again).updated == cuda.apply(again).updated == again.put_indices.size
    check_same_image(host, cuda)
    missing = batch_of([(v, "delete", 4, 30 * v, 2) for v in range(1, 9)], host)
    deletes = missing.delete_indices.size
    assert host.apply(missing).missing == cuda.apply(missing).missing == deletes
    check_same_image(host, cuda)


@pytest.mark.usefixtures("device", "low_bounds")
@layouts
def test_rows_that_are_cleared_and_filled_again(layout: str) -> None:
    """A vertex goes with all its edges and comes back with others, whatever length its row has."""
    for records, size in (("simple", 12), ("weighted", 30), ("semantic", 200)):
        host, cuda = pair(layout, records=records, directed=False)
        apply_to_both(host, cuda, batch_of([(0, "put", 1, size, 1), (5, "put", 7, 20, 3)], host))
        again = [(0, "drop", 0, 0, 0), (0, "put", 2, size, 2), (5, "delete", 7, 4, 3)]
        apply_to_both(host, cuda, batch_of(again, host, seed=1))
        apply_to_both(host, cuda, batch_of([(0, "drop", 0, 0, 0)], host))


@layouts
def test_the_order_of_threads_does_not_show(
    layout: str, emulated_device: EmulatedDevice, low_bounds: None
) -> None:
    batches = [
        [(v, "put", 3 * v, 50 * v + 3, 1) for v in range(7)],
        [(v, "mixed", 20, 40 * v + 5, 2) for v in range(7)],
        [(3, "drop", 0, 0, 0), (2, "mixed", 0, 300, 1)],
    ]
    for seed in range(1, 7):
        emulated_device.shuffle = seed
        host, cuda = pair(layout, records=list(RECORDS)[seed % 3], reverse=True)
        for number, batch in enumerate(batches):
            apply_to_both(host, cuda, batch_of(batch, host, seed=number))


@pytest.mark.usefixtures("device")
@layouts
@pytest.mark.parametrize("most_tiles", [2, 5, 2048])
def test_runs_go_to_rows_in_their_order(
    layout: str, monkeypatch: pytest.MonkeyPatch, most_tiles: int
) -> None:
    """However rows are cut into tiles, and over both deltas of a batch."""
    monkeypatch.setattr(cuda_context, "MOST_TILES", most_tiles)
    host, cuda = pair(layout, reverse=True, arena_bytes=1 << 22)
    random = np.random.default_rng(1)
    for degree in (3, 9, 20):
        size = 1500 * degree
        ends = random.integers(0, 1500, (2, size))
        apply_to_both(host, cuda, UpdateBatch.from_rows(None, *ends))


@pytest.mark.usefixtures("device", "low_bounds")
@layouts
@pytest.mark.parametrize("records", list(RECORDS))
def test_an_image_that_grows_and_is_compacted_under_a_batch(layout: str, records: str) -> None:
    small = {"arena_bytes": 20_000, "max_arena_bytes": 1 << 26}
    host, cuda = pair(layout, records=records, reverse=True, **small)
    for number in range(8):
        batch = [(v, "mixed", 11 * number, 20 * number + 5 * v, 1) for v in range(number + 2)]
        apply_to_both(host, cuda, batch_of(batch, host, seed=number))
    assert engine_of(cuda).arena[Field.IMAGE_WORDS] > 5000, "it has not grown"


@pytest.mark.usefixtures("device")
@layouts
def test_a_batch_that_does_not_fit_changes_nothing(layout: str) -> None:
    tight = {"arena_bytes": 3 << 20, "max_arena_bytes": 3 << 20, "page_bytes": 4096}
    host, cuda = pair(layout, reverse=False, **tight)
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


@pytest.mark.gpu
@layouts
def test_a_graph_that_fills_a_real_device(layout: str) -> None:
    """Blocks that run side by side: sizes that no emulator gets to."""
    host, cuda = pair(layout, reverse=False, arena_bytes=1 << 29, max_arena_bytes=1 << 31)
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
