"""Changes of a DynamicGraph, on every engine: what they do, what is told, and what is refused."""

import dataclasses
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphs import edges_of
from graphtide import (
    ArenaFullError,
    BatchError,
    DynamicGraph,
    EngineError,
    SettingsError,
    UpdateBatch,
    VertexNotFoundError,
)
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.report import STAGES
from strategies import LIMITS, least_page_bytes

pytestmark = pytest.mark.usefixtures("engine")


def test_reports_and_what_they_add_up_to() -> None:
    graph = DynamicGraph(directed=False)
    report = graph.insert_edges([1, 2, 3, 3, 2], [2, 3, 1, 3, 1])
    assert (report.rows, report.dropped, report.overridden, report.inserted) == (5, 1, 1, 3)
    assert (report.edges_added, report.vertices_created) == (3, 3)
    report = graph.insert_edges([1, 9], [2, 1])
    assert (report.inserted, report.updated) == (1, 1)
    report = graph.delete_edges([2, 5, 1], [1, 1, 7])
    assert (report.deleted, report.missing, report.edges_removed) == (1, 2, 1)
    report = graph.delete_vertices([3, 77])
    assert (report.deleted, report.missing) == (1, 1)
    assert (report.edges_removed, report.vertices_removed) == (2, 1)
    report = graph.insert_vertices([3, 9, 9])
    assert (report.inserted, report.updated, report.overridden) == (1, 1, 1)
    assert (report.num_vertices, report.num_edges) == (4, 1)
    assert edges_of(graph) == [(1, 9)]
    assert graph.vertices().tolist() == [1, 2, 3, 9]
    row = report.as_dict()
    assert row["apply_seconds"] > 0
    assert all(f"{stage}_seconds" in row for stage in STAGES)


@pytest.mark.runs
def test_reports_tell_what_became_of_rows() -> None:
    """Pages hold four entries; rows of 600 and 5,000 go ways of their own on a GPU."""
    graph = DynamicGraph(ids="dense", reverse=False, page_bytes=16)
    lengths = {1: 3, 2: 600, 3: 5_000}
    rows = np.repeat(list(lengths), list(lengths.values()))
    columns = np.concatenate([10 + 2 * np.arange(length) for length in lengths.values()])
    every = np.array(list(lengths))

    def fates(op: list[int], src: Any, dst: Any) -> tuple[int, int, int]:
        report = graph.apply(UpdateBatch.from_rows(op, src, dst))
        graph.verify()
        return report.rows_moved, report.rows_appended, report.rows_merged

    assert fates([1] * rows.size, rows, columns) == (3, 0, 0), "each gets its first run"
    assert fates([1] * 3, every, [20_000] * 3) == (0, 3, 0)
    assert fates([1] * 3, every, [10] * 3) == (0, 0, 0), "they were there"
    assert fates([-1] * 3, every, [12] * 3) == (0, 0, 3)
    assert fates([1] * 3, every, [11] * 3) == (0, 0, 3)
    assert fates([1] * 2, [1, 4], [15, 1]) == (2, 0, 0), "one outgrows its run, one is new"
    assert fates([-1, 1], [1, 1], [10, 30_000]) == (0, 0, 0), "as long as before"
    assert fates([1, 1], [2, 2], [20_000, 20_001]) == (0, 0, 1), "not all come behind"
    graph.delete_edges(rows, columns)
    assert fates([-1] * 4, [1, 1, 1, 1], [11, 15, 20_000, 30_000]) == (0, 0, 1)


@pytest.mark.parametrize("layout", [name for name, each in LAYOUTS.items() if each.is_paged])
def test_rows_of_pages_move_to_their_first_page_alone(layout: str) -> None:
    page_bytes = least_page_bytes("simple", layout)
    graph = DynamicGraph(ids="dense", reverse=False, layout=layout, page_bytes=page_bytes)
    report = graph.insert_edges([1] * 9 + [2], [*range(10, 19), 3])
    assert (report.rows_moved, report.rows_appended, report.rows_merged) == (2, 0, 0)
    report = graph.insert_edges([1] * 9 + [2], [*range(20, 29), 1])
    assert (report.rows_moved, report.rows_appended, report.rows_merged) == (0, 1, 1)


@pytest.mark.parametrize("way", [{}, {"directed": False}, {"ids": "dense", "reverse": False}])
def test_every_row_that_becomes_longer_or_shorter_is_counted(way: dict[str, Any]) -> None:
    rng = np.random.default_rng(8)
    graph = DynamicGraph(**way)

    def degrees() -> Any:
        out = np.zeros((2, 40), np.int64)
        out[0, graph.vertices()] = graph.degrees()
        if graph.directed and way.get("reverse", True):
            out[1, graph.vertices()] = graph.in_degrees()
        return out

    for _ in range(12):
        before = degrees()
        batch = UpdateBatch.from_rows(
            rng.choice([-1, 1, 1], 120), *rng.integers(0, 40, (2, 120)),
            dst_valid=rng.random(120) < 0.97, directed=graph.directed,
        )  # fmt: skip
        report = graph.apply(batch)
        changed = np.count_nonzero(degrees() != before)
        assert report.rows_moved + report.rows_appended + report.rows_merged == changed


def test_a_vertex_that_is_made_anew_is_neither_created_nor_removed() -> None:
    graph = DynamicGraph()
    graph.insert_edges([1, 2], [2, 1])
    batch = UpdateBatch.from_rows([-1, 1, 1], [1, 1, 3], [0, 2, 4], dst_valid=[False, True, True])
    report = graph.apply(batch)
    assert (report.deleted, report.inserted) == (1, 2)
    assert (report.vertices_created, report.vertices_removed) == (2, 0)
    # (1, 2) went with its vertex and came back: net, (2, 1) went and (3, 4) came.
    assert (report.edges_added, report.edges_removed) == (1, 1)
    assert edges_of(graph) == [(1, 2), (3, 4)]
    # By a row of its own: that inserts a vertex, as it was gone.
    again = graph.apply(UpdateBatch.from_rows([-1, 1], [3, 3], [0, 0], dst_valid=[False, False]))
    assert (again.inserted, again.updated, again.overridden) == (1, 0, 1)
    assert (again.vertices_created, again.vertices_removed) == (0, 0)


def test_nothing_is_done_for_no_rows() -> None:
    graph = DynamicGraph(records="semantic")
    graph.insert_edges([1], [2], ts=3)
    before = graph.state_hash()
    for report in (
        graph.insert_edges([], [], ts=[]),
        graph.delete_edges([], []),
        graph.insert_vertices([]),
        graph.delete_vertices([]),
        graph.apply(UpdateBatch.empty(records="semantic")),
    ):
        assert report.rows == report.edges_added == report.vertices_created == 0
    assert graph.state_hash() == before
    graph.verify()


def test_properties_keep_their_defaults_values_and_first_time() -> None:
    graph = DynamicGraph(records="semantic")
    graph.insert_edges([1, 1], [2, 3], ts=[10, 20])
    graph.insert_edges([1], [2], weight=2.5, type=-7, ts=LIMITS.max)
    graph.insert_edges([3], [1], weight=[0.1], ts=LIMITS.min)
    graph.delete_edges([1], [3])
    properties = graph.edges().properties
    assert edges_of(graph) == [(1, 2), (3, 1)]
    assert {name: column.tolist() for name, column in properties.items()} == {
        "weight": [2.5, float(np.float32(0.1))],
        "type": [-7, 0],
        "first": [10, LIMITS.min],
        "last": [LIMITS.max, LIMITS.min],
    }
    assert {name: column.dtype.name for name, column in properties.items()} == {
        "weight": "float32",
        "type": "int32",
        "first": "int64",
        "last": "int64",
    }


@pytest.mark.parametrize(
    ("settings", "call", "error", "words"),
    [
        ({}, lambda g: g.insert_edges([1, 2], [3]), BatchError, "dst has 1 row but src has 2"),
        ({}, lambda g: g.insert_edges([1.0], [2]), BatchError, "src has dtype float64"),
        ({}, lambda g: g.insert_edges([2**70], [2]), BatchError, f"src has {2**70}, which does"),
        ({}, lambda g: g.insert_edges([1, None], [2, 3]), BatchError, "src has None among its"),
        ({}, lambda g: g.insert_edges(pa.array([1, None]), [2, 3]), BatchError, "src has 1 null,"),
        ({}, lambda g: g.insert_edges(iter([1]), [2]), BatchError, "src is one list_iterator; g"),
        ({"ids": "uint64"}, lambda g: g.insert_edges([2**64], [2]), BatchError, "into uint64"),
        ({}, lambda g: g.apply({"src": [1], "dst": [2]}), BatchError, "dict is no batch and no"),
        ({}, lambda g: g.insert_edges(["1"], [2]), BatchError, "src has dtype"),
        ({}, lambda g: g.insert_edges([True], [2]), BatchError, "src has dtype bool"),
        ({}, lambda g: g.insert_edges(1, 2), BatchError, "src is one int; give one"),
        ({}, lambda g: g.insert_edges([[1]], [[2]]), BatchError, "src has 2 dimensions"),
        ({}, lambda g: g.has_edge([], []), BatchError, "src has 2 dimensions"),
        (
            {},
            lambda g: g.insert_vertices(np.array([2**63], np.uint64)),
            BatchError,
            "9223372036854775808, which does not fit",
        ),
        (
            {},
            lambda g: g.insert_vertices(np.array([2**63], ">u8")),
            BatchError,
            "9223372036854775808, which does not fit",
        ),
        ({}, lambda g: g.has_edges([1, 2], [3]), BatchError, "src has 2 items, dst has 1"),
        (
            {"records": "weighted"},
            lambda g: g.insert_edges([1, 2], [2, 3], weight=[1, 2, 3]),
            BatchError,
            r"weight has shape \(3,\) but src has 2",
        ),
        (
            {"records": "weighted"},
            lambda g: g.insert_edges([1], [2], weight=[[1]]),
            BatchError,
            r"weight has shape \(1, 1\)",
        ),
        (
            {"records": "weighted"},
            lambda g: g.insert_edges([1, 2], [2, 3], weight=[1, float("nan")]),
            BatchError,
            "row 1",
        ),
        ({}, lambda g: g.insert_edges([1], [2], weight=3), BatchError, "do not keep weight"),
        (
            {"records": "weighted"},
            lambda g: g.insert_edges([1], [2], type=3),
            BatchError,
            "do not keep type",
        ),
        (
            {"records": "semantic"},
            lambda g: g.insert_edges([1], [2]),
            BatchError,
            "need the column ts",
        ),
        (
            {"self_loops": "reject"},
            lambda g: g.insert_edges([1, 2], [2, 2]),
            BatchError,
            "row 1.*self loop of vertex 2",
        ),
        (
            {"create_vertices": False},
            lambda g: g.insert_edges([7, 8], [8, 9]),
            BatchError,
            r"edge \(8, 9\) names vertex 9",
        ),
        (
            {"ids": "dense"},
            lambda g: g.insert_edges([1, -3], [2, 2]),
            BatchError,
            "id -3 cannot be a vertex index.*ids='any'",
        ),
        ({"ids": "dense"}, lambda g: g.delete_edges([1], [-3]), BatchError, "id -3"),
        ({"ids": "dense"}, lambda g: g.delete_vertices([2**32]), BatchError, "id 4294967296"),
        ({"ids": "dense"}, lambda g: g.insert_vertices([2**31]), BatchError, "0 … 2147483647"),
        (
            {"ids": "dense", "max_arena_bytes": 1 << 24},
            lambda g: g.insert_vertices([2**28]),
            ArenaFullError,
            "arena too small.*raise max_arena_bytes",
        ),
        ({}, lambda g: g.neighbors(5), VertexNotFoundError, "vertex 5 is not in the graph"),
        ({}, lambda g: g.degrees([7, 5, 6]), VertexNotFoundError, r"5 is not .* \(1 more is not"),
        ({"reverse": False}, lambda g: g.predecessors(7), SettingsError, "reverse=True"),
        ({"reverse": False}, lambda g: g.in_degrees(), SettingsError, "reverse=True"),
        ({}, lambda g: g.apply([(1, 2)]), BatchError, r"list is no batch.*UpdateBatch\.from_rows"),
        (
            {"directed": False},
            lambda g: g.apply(UpdateBatch.from_rows(None, [1], [2], batch_id=4)),
            BatchError,
            "batch 4 is for directed=True",
        ),
        (
            {"records": "weighted"},
            lambda g: g.apply(UpdateBatch.from_rows(None, [1], [2])),
            BatchError,
            "records='simple'; the graph has",
        ),
    ],
)  # fmt: skip
def test_a_refusal_changes_nothing(settings, call, error, words) -> None:
    graph = DynamicGraph(**settings)
    graph.insert_vertices([7, 8])
    ts = {"ts": 1} if graph.records == "semantic" else {}
    graph.insert_edges([7], [8], **ts)
    before = graph.state_hash(), graph.image_hash(), graph.memory()
    with pytest.raises(error, match=words):
        call(graph)
    assert (graph.state_hash(), graph.image_hash(), graph.memory()) == before
    graph.verify()
    graph.insert_edges([8], [7], **ts)
    assert graph.num_edges == (2 if graph.directed else 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ArenaFullError])
def test_a_graph_that_was_interrupted_says_so(engine: str, error: type[BaseException]) -> None:
    """Also where memory was short in the midst of it: such a batch is not tried again."""
    graph = DynamicGraph()
    graph.insert_edges(np.ones(20, int), np.arange(2, 22))
    # Its row could be tighter.
    graph.delete_edges(np.ones(9, int), np.arange(2, 11))

    with pytest.MonkeyPatch.context() as patch:

        def interrupt(*_: object) -> None:
            patch.undo()
            raise error

        patch.setattr(f"graphtide.gpu_core.{engine}.update.apply.create_vertices", interrupt)
        with pytest.raises(error):
            graph.insert_edges([2], [33])
    asks = (graph.vertices, graph.edges, graph.pagerank, lambda: graph.has_vertices([1]))
    for call in (*asks, lambda: graph.insert_edges([1], [2])):
        with pytest.raises(EngineError, match="middle of a batch"):
            call()


def test_a_graph_whose_first_batch_was_interrupted_is_not_an_empty_one(engine: str) -> None:
    graph = DynamicGraph()
    with pytest.MonkeyPatch.context() as patch:

        def interrupt(*_: object) -> None:
            patch.undo()
            raise KeyboardInterrupt

        patch.setattr(f"graphtide.gpu_core.{engine}.update.apply.create_vertices", interrupt)
        with pytest.raises(KeyboardInterrupt):
            graph.insert_edges([1], [2])
    for call in (graph.pagerank, graph.katz_centrality, lambda: graph.compute("pagerank")):
        with pytest.raises(EngineError, match="middle of a batch"):
            call()


def test_a_graph_without_memory_for_the_pages_of_its_first_batch_says_so() -> None:
    graph = DynamicGraph(layout="tree", mean_degree="first_batch")
    with pytest.MonkeyPatch.context() as patch:

        def run_short(*_: object) -> None:
            patch.undo()
            raise MemoryError

        patch.setattr("graphtide.gpu_core.image.arena.BaseArena._open_image", run_short)
        with pytest.raises(MemoryError):
            graph.insert_edges(np.arange(40), np.arange(40) % 3)
    for call in (graph.vertices, graph.edges, lambda: graph.insert_edges([1], [2])):
        with pytest.raises(EngineError, match="middle of a batch"):
            call()


def test_dense_deletes_beyond_the_table_are_missing() -> None:
    """Their indices are larger than any that the keys of a batch make room for."""
    for settings in ({"directed": False}, {"reverse": True}, {"reverse": False}):
        graph = DynamicGraph(ids="dense", **settings)
        graph.insert_edges([0, 1, 2], [1, 2, 3])
        before = graph.image_hash()
        report = graph.delete_edges([0, 0, 9, 2**31 - 2], [6, 2**31 - 1, 1, 5])
        assert (report.missing, report.deleted, report.edges_removed) == (4, 0, 0)
        assert graph.image_hash() != before, "the batch is counted"
        graph.verify()
        batch = UpdateBatch.from_rows([-1, -1, 1], [0, 0, 3], [1, 6, 0], directed=graph.directed)
        assert graph.apply(batch).missing == 1
        graph.verify()
        assert len(edges_of(graph)) == 3
        assert graph.delete_vertices([2**31 - 1]).missing == 1


def test_dense_ids_beyond_the_table_are_of_no_vertex() -> None:
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges([0, 3], [1, 4])
    ids = [-1, LIMITS.min, 5, 2**31, 2**32, 2**32 + 1, LIMITS.max, 2, 4]
    assert graph.has_vertices(ids).tolist() == [False] * 8 + [True]
    assert not graph.has_edges(ids, [1] * 9).any()


def test_a_small_insert_takes_few_calls() -> None:
    """Most of its time goes to Python around the kernels: 750 calls, and 1,700 at one time."""
    graph = DynamicGraph(engine="host")
    random = np.random.default_rng(1)
    graph.insert_edges(*random.integers(0, 100, (2, 2000)))
    calls = []
    for _ in range(5):
        src, dst = random.integers(0, 100, (2, 1))
        entered: list[str] = []
        sys.setprofile(lambda _, event, __, entered=entered: entered.append(event))
        graph.insert_edges(src, dst)
        sys.setprofile(None)
        calls.append(sum(event in ("call", "c_call") for event in entered))
    assert min(calls) < 1_000


def test_end_points_may_be_made_by_a_later_row_of_the_batch() -> None:
    graph = DynamicGraph(create_vertices=False)
    batch = UpdateBatch.from_rows(
        [1, 1, 1], [5, 5, 6], [6, 0, 0], dst_valid=[True, False, False], create_vertices=False
    )
    assert graph.apply(batch).edges_added == 1
    assert edges_of(graph) == [(5, 6)]
    with pytest.raises(BatchError, match="vertex 6"):
        graph.apply(
            UpdateBatch.from_rows(
                [-1, 1], [6, 5], [0, 6], dst_valid=[False, True], create_vertices=False
            )
        )
    assert edges_of(graph) == [(5, 6)]


def test_self_loops_that_are_kept() -> None:
    graph = DynamicGraph(self_loops="keep")
    graph.insert_edges([1, 1, 2], [1, 2, 2])
    assert edges_of(graph) == [(1, 1), (1, 2), (2, 2)]
    assert graph.predecessors(2).tolist() == [1, 2]
    assert graph.delete_vertices([2]).edges_removed == 2
    assert edges_of(graph) == [(1, 1)]
    graph.verify()


def test_new_vertices_take_freed_indices_in_turn_and_then_fresh_ones() -> None:
    """In increasing order of the ids, so that indices depend on the batches alone."""
    graph = DynamicGraph()
    graph.insert_vertices([50, 10, 30])
    assert graph.checkpoint_arrays()["vertex_ids"].tolist() == [10, 30, 50]
    graph.delete_vertices([30])
    graph.delete_vertices([10])
    assert graph.checkpoint_arrays()["free_indices"].tolist() == [1, 0]
    graph.insert_edges([99, 7], [3, 120])
    assert graph.checkpoint_arrays()["vertex_ids"].tolist() == [7, 3, 50, 99, 120]
    assert graph.checkpoint_arrays()["free_indices"].tolist() == []
    assert edges_of(graph) == [(7, 120), (99, 3)]


def test_a_batch_put_together_by_hand_is_checked_before_it_is_applied() -> None:
    batch = UpdateBatch.from_rows(None, [1], [2], directed=False)
    loop = dataclasses.replace(batch, put_rows=np.array([2]), put_indices=np.array([2]))
    graph = DynamicGraph(directed=False)
    with pytest.raises(BatchError, match="src >= dst"):
        graph.apply(loop)
    assert graph.num_vertices == 0
    graph.apply(batch)
    graph.verify()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_row_that_shrinks_and_gains_at_once_stays_sorted(layout: str) -> None:
    graph = DynamicGraph(ids="dense", reverse=False, layout=layout)
    old = np.arange(10, 42)
    graph.insert_edges(np.zeros(32, np.int64), old)
    op = np.repeat(np.array([-1, 1], np.int8), [27, 2])
    dst = np.concatenate([old[5:], [1, 2]])
    report = graph.apply(UpdateBatch.from_rows(op, np.zeros(29, np.int64), dst))
    assert (report.deleted, report.inserted) == (27, 2)
    assert graph.neighbors(0).tolist() == [1, 2, *old[:5]]
    graph.verify()


def test_a_batch_that_was_made_by_other_rules_is_refused_where_they_differ() -> None:
    def rows(*pairs: tuple[int, int], op: Any = None, **rules: Any) -> UpdateBatch:
        src, dst = zip(*pairs, strict=True)
        return UpdateBatch.from_rows(op, src, dst, **rules)

    cases: list[tuple[dict[str, Any], UpdateBatch, str]] = [
        ({}, rows((1, 2), (5, 5), self_loops="keep"), "there are self loops in the batch, but"),
        ({"self_loops": "keep"}, rows((1, 2), (5, 5)), "self loops were dropped from the batch"),
        ({"self_loops": "reject"}, rows((5, 5)), "has self_loops='reject'; make the batch"),
        (
            {"create_vertices": False},
            rows((9, 8), (9, 8), op=[1, -1]),
            "edges that are gone create vertices in the batch",
        ),
        ({}, rows((9, 8), create_vertices=False), "edges create no vertices in the batch"),
    ]
    for settings, batch, words in cases:
        graph = DynamicGraph(**settings)
        with pytest.raises(BatchError, match=words):
            graph.apply(batch)
        assert (graph.num_vertices, graph.num_edges) == (0, 0)
    for settings in ({"self_loops": "keep"}, {"self_loops": "reject"}, {}):
        assert DynamicGraph(**settings).apply(rows((1, 2))).edges_added == 1
    graph = DynamicGraph(create_vertices=False)
    graph.insert_vertices([8, 9])
    assert graph.apply(rows((9, 8))).edges_added == 1
