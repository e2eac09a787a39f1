"""DynamicGraph against a model, step by step: every way to keep a graph means the same graph."""

from dataclasses import replace
from functools import cache
from itertools import cycle
from operator import getitem
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from graphtide import BatchError, DynamicGraph, UpdateBatch
from graphtide.gpu_core.host.update.deltas import DeltaEntries, sorted_delta, transposed
from graphtide.gpu_core.image.fields import KIND_DELETE, KIND_PUT
from graphtide.gpu_core.image.memory import MemoryReport
from graphtide.testing import compact
from model_checks import check_accounts, check_same, edges_of, expected_report, model_of
from oracles import FATES, Row, batch_of
from pairs import covering_array
from strategies import (
    ANY_IDS,
    DENSE_IDS,
    DIRECTIONS,
    LAYOUTS,
    RECORDS,
    batches,
    examples,
    long_row_that_shrinks,
    meanings,
    on_pages,
    page_sizes,
    pools,
    seeded_rows,
    ways_to_keep,
)

pytestmark = pytest.mark.usefixtures("engine")


class GraphMachine(RuleBasedStateMachine):
    """One graph, a twin that is kept otherwise and fed in smaller batches, and the model."""

    layout: str
    records: str

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self.meaning = data.draw(meanings(self.records))
        self.kept = data.draw(ways_to_keep(self.records, self.layout))
        self.kept_twin = data.draw(ways_to_keep(self.records))
        self.pool = data.draw(pools(self.meaning["ids"]))
        self.graph = DynamicGraph(**self.meaning, **self.kept)
        self.twin = DynamicGraph(**self.meaning, **self.kept_twin)
        self.model = model_of(self.meaning)
        self.batch_id = 0

    @rule(data=st.data())
    def apply(self, data: st.DataObject) -> None:
        """Few rows that meet one another in every way."""
        self.apply_rows(data.draw(batches(self.pool)), data.draw(st.sampled_from((1, 2, 7))))

    @rule(seed=st.integers(0, 2**32), grow=st.sampled_from((0.4, 0.7, 0.95)))
    def apply_many(self, seed: int, grow: float) -> None:
        """Many rows among many vertices, some of them deleted: Hypothesis draws too few."""
        ids = np.array(ANY_IDS if self.meaning["ids"] == "any" else DENSE_IDS)
        rng = np.random.default_rng(seed)
        rows = seeded_rows(rng, ids, int(rng.integers(5, 90)), grow)
        if self.meaning["self_loops"] == "reject":
            rows = [row for row in rows if row.src != row.dst]
        if not self.meaning["create_vertices"]:
            rows += [Row(1, vertex, None) for vertex in ids.tolist()]
        self.apply_rows(rows, int(rng.choice([1, 2, 7])))

    @rule(seed=st.integers(0, 2**32))
    def shrink_a_long_row(self, seed: int) -> None:
        """Many deletes and few inserts: what is written must not overtake what is read."""
        rng = np.random.default_rng(seed)
        made, shrunk = long_row_that_shrinks(rng, self.meaning["ids"])
        if not self.meaning["create_vertices"]:
            ends = {vertex for row in (*made, *shrunk) for vertex in (row.src, row.dst)}
            made = [*(Row(1, vertex, None) for vertex in sorted(ends)), *made]
        self.apply_rows(made, 1)
        self.apply_rows(shrunk, 1)

    def apply_rows(self, rows: list[Row], pieces: int) -> None:
        before = self.untouched()
        try:
            expected = expected_report(self.model, rows)
        except BatchError:
            with pytest.raises(BatchError):
                self.graph.apply(batch_of(rows, self.meaning))
            assert self.untouched() == before
            return
        report = self.graph.apply(batch_of(rows, self.meaning, self.batch_id))
        assert report.batch_id == self.batch_id
        assert {name: getattr(report, name) for name in expected} == expected
        assert sum(getattr(report, fate) for fate in FATES) == len(rows)
        memory = self.graph.memory()
        assert report.pages_used == memory.pages_used
        assert report.pages_free == memory.pages_free
        assert report.largest_free_run == memory.largest_free_run
        assert report.page_bytes == memory.page_bytes
        self.batch_id += 1
        if not self.meaning["create_vertices"]:
            pieces = 1  # end points are looked for after the whole batch
        size = -(-len(rows) // pieces) or 1
        for start in range(0, len(rows), size):
            self.twin.apply(batch_of(rows[start : start + size], self.meaning))

    def untouched(self) -> tuple[str, MemoryReport]:
        """What a refused batch leaves as it was: not the memory that it came through."""
        return self.graph.state_hash(), replace(self.graph.memory(), staging_bytes=0)

    @rule(data=st.data())
    def take_away_nearly_all(self, data: st.DataObject) -> None:
        """Long rows shrink, runs and pages come back."""
        keep = data.draw(st.integers(0, 3))
        doomed = sorted(self.model.edges)[keep:]
        rows = [Row(-1, *edge) for edge in doomed if self.model.directed or edge[0] <= edge[1]]
        expected = expected_report(self.model, rows)
        for graph in (self.graph, self.twin):
            report = graph.delete_edges([src for _, src, *_ in rows], [row.dst for row in rows])
            assert {name: getattr(report, name) for name in expected} == expected

    @rule(seed=st.integers(0, 2**32), share=st.sampled_from((0.1, 0.5, 0.9)))
    def delete_vertices(self, seed: int, share: float) -> None:
        """Some that are there, one that may not be, twice; then a restart: indices are free."""
        rng = np.random.default_rng(seed)
        vertices = [vertex for vertex in sorted(self.model.vertices) if rng.random() < share]
        vertices = [*rng.permutation(np.array(vertices, np.int64)).tolist(), *self.pool[:1] * 2]
        rows = [Row(-1, vertex, None) for vertex in vertices]
        expected = expected_report(self.model, rows)
        for graph in (self.graph, self.twin):
            report = graph.delete_vertices(vertices)
            assert {name: getattr(report, name) for name in expected} == expected
        self.restart()

    @rule()
    def compact(self) -> None:
        """Where rows lie is no part of the graph."""
        for graph in (self.graph, self.twin):
            assert compact(graph)

    @rule()
    def restart(self) -> None:
        """The graph goes on from what a checkpoint keeps, with the same indices to come."""
        arrays = self.graph.checkpoint_arrays()
        restored = DynamicGraph.from_checkpoint_arrays(arrays, **self.meaning, **self.kept)
        again = restored.checkpoint_arrays()
        assert list(again) == list(arrays)
        for name, array in arrays.items():
            assert again[name].dtype == array.dtype
            np.testing.assert_array_equal(again[name], array, err_msg=name)
        assert restored.state_hash() == self.graph.state_hash()
        self.graph = restored

    @rule()
    def restart_otherwise_kept(self) -> None:
        """What a checkpoint keeps does not depend on layout, storage or page size."""
        arrays = self.graph.checkpoint_arrays()
        self.twin = DynamicGraph.from_checkpoint_arrays(arrays, **self.meaning, **self.kept_twin)

    @invariant()
    def everything_agrees(self) -> None:
        for graph in (self.graph, self.twin):
            graph.verify()
            check_accounts(graph)
        check_same(self.graph, self.model)
        assert self.twin.state_hash() == self.graph.state_hash()


def machine(of_layout: str, of_records: str) -> type[GraphMachine]:
    class Machine(GraphMachine):
        layout, records = of_layout, of_records

    return Machine


@pytest.mark.parametrize(
    "engine", ["host", pytest.param("real", marks=pytest.mark.gpu)], indirect=True
)
@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_sequence_of_calls(layout: str, records: str) -> None:
    run_machine(layout, records, 6)


@pytest.mark.parametrize("engine", ["emulated"], indirect=True)
@pytest.mark.parametrize(("layout", "records"), list(zip(cycle(LAYOUTS), RECORDS, strict=False)))
def test_any_sequence_of_calls_on_a_slow_device(layout: str, records: str) -> None:
    """Few: test_cuda_graph.py compares every layout and record with the host engine."""
    run_machine(layout, records, 3)


def run_machine(layout: str, records: str, few: int) -> None:
    settings = hypothesis.settings(
        max_examples=examples(few),
        stateful_step_count=15,
        deadline=None,  # compiling takes longer
        derandomize=True,
        # Shrinking takes minutes and more than the time limit of a test; add Phase.shrink to it.
        phases=[Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(machine(layout, records), settings=settings)


class Life(NamedTuple):
    """What happens to a graph, and what it comes to however it is kept."""

    meaning: dict[str, Any]
    #: Each with what its report says.
    batches: list[tuple[UpdateBatch, dict[str, int]]]
    edges: list[tuple[Any, ...]]
    state: str


@cache
def life_of(records: str, ids: str, direction: int) -> Life:
    """Five batches by the model, and the hash of a graph that is kept as by default."""
    rng = np.random.default_rng(5)
    meaning = {"records": records, "ids": ids, **DIRECTIONS[direction]}
    model, usual = model_of(meaning), DynamicGraph(**meaning, engine="host")
    pool = np.arange(60) if ids == "dense" else np.arange(60) * 10**15 - 10**16
    told = []
    for count, grow in ((150, 0.9), (8, 0.5), (200, 0.6), (3, 0.1), (150, 0.2)):
        rows = seeded_rows(rng, pool, count, grow)
        told.append((batch_of(rows, meaning), expected_report(model, rows)))
        usual.apply(told[-1][0])
    return Life(meaning, told, model.canonical_edges(), usual.state_hash())


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_two_settings_meet(layout: str, records: str) -> None:
    """What the machine may not draw: each layout, record, storage, direction and id kind."""
    choices = [
        range(len(DIRECTIONS)), ("any", "dense"), ("soa", "aos"), page_sizes(records, layout)[:2]
    ]  # fmt: skip
    for places in covering_array([len(each) for each in choices]):
        direction, ids, storage, page_bytes = map(getitem, choices, places)
        life = life_of(records, ids, direction)
        graph = DynamicGraph(**life.meaning, layout=layout, storage=storage, page_bytes=page_bytes)
        for batch, expected in life.batches:
            report = graph.apply(batch)
            assert {name: getattr(report, name) for name in expected} == expected
            graph.verify()
        assert edges_of(graph) == life.edges
        assert graph.state_hash() == life.state


@pytest.mark.parametrize("settings", [
    {"layout": "runs"},
    {"layout": "runs", "directed": False, "records": "weighted"},
    {"layout": "runs", "ids": "dense", "reverse": False},
    *on_pages({"directed": False}, {"ids": "dense", "records": "weighted", "storage": "aos"}),
])  # fmt: skip
def test_batches_that_all_threads_share(is_emulated: bool, settings: dict[str, Any]) -> None:
    """Long lists are cut into ranges, and the keys are sorted in parts: against NumPy's sets."""
    share = 20 if is_emulated else 1
    rng = np.random.default_rng(1)
    graph = DynamicGraph(**settings)
    directed = graph.directed
    expected = np.empty(0, np.int64)
    for inserts, size in ((True, 90_000), (False, 50_000), (True, 30_000), (False, 150_000)):
        src = rng.integers(0, 9_000, size // share)
        dst = (rng.random(src.size) ** 3 * 9_000).astype(np.int64)
        low, high = (src, dst) if directed else (np.minimum(src, dst), np.maximum(src, dst))
        keys = np.unique((low * 10_000 + high)[low != high])
        before = expected
        expected = (np.union1d if inserts else np.setdiff1d)(before, keys)
        change = graph.insert_edges if inserts else graph.delete_edges
        report = change(src, dst)
        assert report.edges_added == (expected.size - before.size if inserts else 0)
        assert report.edges_removed == (0 if inserts else before.size - expected.size)
        edges = graph.edges()
        np.testing.assert_array_equal(edges.src * 10_000 + edges.dst, expected)
        graph.verify()
    # Both kinds in one batch; the last row of an edge decides.
    op = rng.choice([1, -1], 60_000 // share)
    src, dst = rng.integers(0, 9_500, (2, op.size))
    low, high = (src, dst) if directed else (np.minimum(src, dst), np.maximum(src, dst))
    loops = low == high
    keys, last = np.unique((low * 10_000 + high)[~loops][::-1], return_index=True)
    kinds = op[~loops][::-1][last]
    batch = UpdateBatch.from_rows(op, src, dst, directed=directed, records=graph.records)
    report = graph.apply(batch)
    assert report.updated == np.isin(keys[kinds > 0], expected).sum()
    assert report.deleted == np.isin(keys[kinds < 0], expected).sum()
    expected = np.setdiff1d(np.union1d(expected, keys[kinds > 0]), keys[kinds < 0])
    edges = graph.edges()
    np.testing.assert_array_equal(edges.src * 10_000 + edges.dst, expected)
    graph.verify()
    doomed = np.arange(0, 9_500, 3)
    graph.delete_vertices(doomed)
    src, dst = np.divmod(expected, 10_000)
    edges = graph.edges()
    stays = (src % 3 != 0) & (dst % 3 != 0)
    np.testing.assert_array_equal(edges.src * 10_000 + edges.dst, expected[stays])
    graph.verify()
    clone = DynamicGraph.from_checkpoint_arrays(graph.checkpoint_arrays(), **settings)
    assert clone.state_hash() == graph.state_hash()


def test_same_batches_give_the_same_bits(is_emulated: bool) -> None:
    # What is emulated has one order anyway, and one batch in several blocks will do.
    share = 10 if is_emulated else 1

    def grown() -> DynamicGraph:
        rng = np.random.default_rng(3)
        graph = DynamicGraph(directed=False, records="weighted")
        for _ in range(6):
            graph.insert_edges(*rng.integers(0, 300, (2, 5_000 // share)), weight=2)
            graph.delete_edges(*rng.integers(0, 300, (2, 3_000 // share)))
            graph.delete_vertices(rng.integers(0, 300, 20))
        return graph

    assert grown().image_hash() == grown().image_hash()


@pytest.mark.parametrize("engine", ["host"], indirect=True)
@pytest.mark.parametrize("mirrored", [False, True])
def test_keys_that_have_no_room_for_the_number_of_the_put(mirrored: bool) -> None:
    """With nearly 2**31 vertices, row, column and kind fill a key."""
    rng = np.random.default_rng(0)
    keys = np.unique(rng.integers(0, 10**6, 4_000))
    rows, columns = (keys // 1_000).astype(np.uint32), (keys % 1_000).astype(np.uint32)
    puts, deletes = np.split(rng.permutation(rows.size), [rows.size // 2])
    groups = [
        DeltaEntries(KIND_PUT, rows[puts], columns[puts]),
        DeltaEntries(KIND_DELETE, rows[deletes], columns[deletes]),
    ]
    kept = {"mirrored": mirrored, "both": False, "with_source": True, "ordered": False}
    cleared = np.array([3, 5_000], np.uint32)
    narrow = sorted_delta(groups, cleared, 6_000, **kept)
    wide = sorted_delta(groups, cleared, 2**31, **kept)
    put = wide.kinds == KIND_PUT
    assert (np.diff(wide.rows.astype(np.int64)) > 0).all()
    assert wide.rows[wide.clear].tolist() == [3, 5_000]
    named = np.repeat(wide.rows, np.diff(wide.indptr))[put], wide.columns[put]
    source = groups[0].rows[wide.source[put]], groups[0].columns[wide.source[put]]
    for got, expected in zip(named, source[::-1] if mirrored else source, strict=True):
        np.testing.assert_array_equal(got, expected)
    for name in ("rows", "indptr", "columns", "kinds", "clear"):
        np.testing.assert_array_equal(getattr(wide, name), getattr(narrow, name))
    np.testing.assert_array_equal(wide.source[put], narrow.source[put])
    half = sorted_delta(groups, cleared[:0], 6_000, **kept)
    turned, wide_turned = (transposed(half, n, ordered=True) for n in (6_000, 2**31))
    back = sorted_delta(groups, cleared[:0], 6_000, **(kept | {"mirrored": not mirrored}))
    for name in ("rows", "indptr", "columns", "kinds"):
        np.testing.assert_array_equal(getattr(turned, name), getattr(back, name))
        np.testing.assert_array_equal(getattr(wide_turned, name), getattr(back, name))
    put = turned.kinds == KIND_PUT
    np.testing.assert_array_equal(turned.source[put], back.source[put])
    np.testing.assert_array_equal(wide_turned.source[put], back.source[put])
