"""What every engine does with every layout: the contract, for what is registered, on small graphs.

An engine, a layout, a record or an analytic is met here because it is registered, and by no other
list. Whatever breaks one of these lines is no graph; how an engine or a layout keeps them, what it
costs, and rows that only one of them has, are subjects of other files.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

from graphtide import ArenaFullError, BatchError, DynamicGraph
from graphtide.gpu_core.algorithms.registry import ANALYTICS
from graphtide.gpu_core.copies import checkpoint_pieces
from graphtide.gpu_core.image.fields import Field, ImageTable
from graphtide.gpu_core.kind import FIRST_BATCH
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import compact, image_of
from model_checks import check_accounts, check_same, edges_of, expected_report, model_of
from oracles import Row, batch_of
from strategies import least_page_bytes, long_row_that_shrinks, seeded_rows

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.parametrize("layout", LAYOUTS),
]

#: Directions and kinds of ids, dealt to the records so that each meets each other.
KINDS: list[dict[str, Any]] = [
    {"reverse": True, "ids": "any"},
    {"directed": False, "ids": "dense"},
    {"reverse": False, "ids": "dense"},
    {"directed": False, "ids": "any"},
    {"reverse": True, "ids": "dense"},
]
MEANINGS = [
    {"records": record, **KINDS[number % len(KINDS)]} for number, record in enumerate(RECORDS)
]
meanings = pytest.mark.parametrize(
    "meaning", MEANINGS, ids=lambda meaning: "-".join(map(str, meaning.values()))
)


def steps(meaning: dict[str, Any]) -> list[list[Row]]:
    """Rows of five batches: growth, few of each kind, a long row that shrinks, and decline."""
    rng = np.random.default_rng(5)
    pool = np.arange(60) if meaning["ids"] == "dense" else np.arange(60) * 10**15 - 10**16
    sizes = ((150, 0.9), (8, 0.5), (150, 0.2))
    many, few, fewer = (seeded_rows(rng, pool, count, grow) for count, grow in sizes)
    return [many, few, *long_row_that_shrinks(rng, meaning["ids"]), fewer]


def grown(
    layout: str, meaning: dict[str, Any], batches: int = 5, *, negative: bool = True
) -> DynamicGraph:
    """The graph after some batches; ``negative``: weights may be."""
    graph = DynamicGraph(**meaning, layout=layout)
    for rows in steps(meaning)[:batches]:
        if not negative:
            rows = [row._replace(weight=abs(row.weight)) for row in rows]
        graph.apply(batch_of(rows, meaning))
    return graph


@meanings
def test_a_batch_does_what_its_rows_do_one_by_one(layout: str, meaning: dict[str, Any]) -> None:
    """Reports, every query, the accounts of memory, and an image that `verify` finds whole."""
    graph = DynamicGraph(**meaning, layout=layout)
    model = model_of(meaning)
    for number, rows in enumerate(steps(meaning)):
        expected = expected_report(model, rows)
        report = graph.apply(batch_of(rows, meaning, number))
        assert report.batch_id == number
        assert {name: getattr(report, name) for name in expected} == expected
        graph.verify("full")
        check_same(graph, model)
        check_accounts(graph)


@cache
def state_on_host(layout: str, number: int) -> str:
    """State hash of the host's graph of a layout and one of `MEANINGS`, the other way stored."""
    graph = grown(layout, {**MEANINGS[number], "engine": "host", "storage": "aos"})
    return graph.state_hash()


@meanings
def test_where_rows_lie_is_no_part_of_the_graph(layout: str, meaning: dict[str, Any]) -> None:
    """The same state as in every other way to keep it, on the host, and after a compaction."""
    graph = grown(layout, meaning)
    before, edges = graph.state_hash(), edges_of(graph)
    for other in LAYOUTS:
        assert before == state_on_host(other, MEANINGS.index(meaning))
    assert compact(graph)
    graph.verify("full")
    assert (graph.state_hash(), edges_of(graph)) == (before, edges)


def test_every_engine_puts_rows_where_the_host_puts_them(layout: str) -> None:
    """All but the size of the scratch: header, vertex records, queues, free runs."""
    for meaning in MEANINGS:
        on_host = {**meaning, "engine": "host"}
        graphs = grown(layout, meaning), grown(layout, on_host)
        check_same_places(*graphs)
        arrays = graphs[0].checkpoint_arrays()
        restored = [
            DynamicGraph.from_checkpoint_arrays(arrays, **each, layout=layout)
            for each in (meaning, on_host)
        ]
        check_same_places(*restored)


def check_same_places(graph: DynamicGraph, on_host: DynamicGraph) -> None:
    """Rows, queues and free runs lie where they lie on the host."""
    ours, theirs = map(image_of, (graph, on_host))
    is_same = ours.header == theirs.header
    is_same[Field.IMAGE_WORDS] = True
    assert is_same.all(), f"header fields {np.flatnonzero(~is_same)} differ"
    np.testing.assert_array_equal(ours.vertex_table(), theirs.vertex_table())
    np.testing.assert_array_equal(ours.queued_pages(), theirs.queued_pages())
    np.testing.assert_array_equal(ours.queued_vertices(), theirs.queued_vertices())
    np.testing.assert_array_equal(
        ours.table(ImageTable.FREE_TREE), theirs.table(ImageTable.FREE_TREE)
    )


@meanings
def test_a_checkpoint_goes_on_as_the_graph_itself(layout: str, meaning: dict[str, Any]) -> None:
    """In this layout and in every other: the next batch takes the same vertex indices."""
    graph = grown(layout, meaning, 3)
    # Indices that are free, in an order of their own, for vertices to come.
    graph.delete_vertices(graph.vertices()[[4, 1, 3]])
    arrays = graph.checkpoint_arrays()
    restored = [
        DynamicGraph.from_checkpoint_arrays(arrays, **meaning, layout=other) for other in LAYOUTS
    ]
    for rows in steps(meaning)[3:]:
        for each in (graph, *restored):
            each.apply(batch_of(rows, meaning))
    for each in (graph, *restored):
        each.insert_vertices([4_000, 3_000, 5_000])
    kept = graph.checkpoint_arrays()
    for other in restored:
        other.verify("full")
        assert other.state_hash() == graph.state_hash()
        for name, array in other.checkpoint_arrays().items():
            np.testing.assert_array_equal(array, kept[name], err_msg=name)


@meanings
def test_a_checkpoint_is_put_in_a_piece_at_a_time(
    layout: str, meaning: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces end within rows; freed indices are queued once."""
    graph = grown(layout, meaning, 3)
    graph.delete_vertices(graph.vertices()[[4, 1, 3]])
    arrays = graph.checkpoint_arrays()
    monkeypatch.setattr(checkpoint_pieces, "PIECE", arrays["dst_index"].size // 5)
    restored = DynamicGraph.from_checkpoint_arrays(arrays, **meaning, layout=layout)
    restored.verify("full")
    assert restored.state_hash() == graph.state_hash()
    for name, array in restored.checkpoint_arrays().items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)


@meanings
def test_a_checkpoint_may_have_records_and_no_vertex(layout: str, meaning: dict[str, Any]) -> None:
    graph = grown(layout, meaning, 2)
    graph.delete_vertices(graph.vertices())
    arrays = graph.checkpoint_arrays()
    restored = DynamicGraph.from_checkpoint_arrays(arrays, **meaning, layout=layout)
    restored.verify("full")
    for each in (graph, restored):
        each.insert_vertices([4_000, 3_000, 5_000])
    for name, array in graph.checkpoint_arrays().items():
        np.testing.assert_array_equal(restored.checkpoint_arrays()[name], array, err_msg=name)


@meanings
def test_the_first_batch_decides_on_the_size_of_pages(layout: str, meaning: dict[str, Any]) -> None:
    """By the mean of its rows, as they are stored, and for good: also after a restart."""
    settings = {**meaning, "layout": layout, "mean_degree": FIRST_BATCH}
    graph = DynamicGraph(**settings)
    # It puts no edge, so it is not the first one.
    graph.apply(batch_of([Row(-1, 1, 2, ts=3)], meaning))
    first, *later = steps(meaning)
    graph.apply(batch_of(first, meaning))
    degrees = graph.degrees()
    if meaning.get("directed", True) and graph.reverse:
        degrees = np.concatenate([degrees, graph.in_degrees()])
    mean = degrees[degrees > 0].mean()
    assert graph.kind.mean_degree == pytest.approx(mean, rel=1e-12)
    told = DynamicGraph(**meaning, layout=layout, mean_degree=float(mean))
    page_bytes = told.memory().page_bytes
    assert graph.memory().page_bytes == page_bytes
    graph.verify("full")
    arrays = graph.checkpoint_arrays()
    restarted = DynamicGraph.from_checkpoint_arrays(arrays, **settings)
    told.apply(batch_of(first, meaning))
    for rows in later:
        for each in (graph, restarted, told):
            each.apply(batch_of(rows, meaning))
    # The mean of what the graph has by now is another one.
    again = DynamicGraph.from_checkpoint_arrays(graph.checkpoint_arrays(), **settings)
    for each in (graph, restarted, again, graph.copy(engine="host")):
        each.verify("full")
        check_accounts(each)
        assert each.memory().page_bytes == page_bytes
        assert each.kind.mean_degree == graph.kind.mean_degree
        assert each.state_hash() == told.state_hash()


def test_a_first_batch_that_is_refused_decides_nothing(layout: str) -> None:
    graph = DynamicGraph(
        layout=layout, reverse=False, arena_bytes=1 << 16, mean_degree=FIRST_BATCH
    )  # fmt: skip
    with pytest.raises(ArenaFullError):
        graph.insert_edges(np.arange(20_000), np.arange(20_000) + 1)
    assert graph.kind.mean_degree == FIRST_BATCH
    # Nor does it leave its pages to a graph that begins with vertices alone.
    with pytest.raises(ArenaFullError):
        graph.insert_edges(np.zeros(20_000, int), np.arange(20_000) + 1)
    default = DynamicGraph(layout=layout).memory().page_bytes
    graph.delete_vertices([7])
    assert graph.memory().page_bytes == default
    graph.insert_edges(np.zeros(60, int), np.arange(60) + 1)
    assert graph.kind.mean_degree == 60
    graph.verify("full")
    assert edges_of(graph) == [(0, other) for other in range(1, 61)]


@pytest.mark.parametrize("wrong", ["missing end point", "no room"])
def test_a_refused_batch_leaves_the_graph_as_it_was(layout: str, wrong: str) -> None:
    if wrong == "no room":
        graph = DynamicGraph(layout=layout, arena_bytes=1 << 16, max_arena_bytes=1 << 16)
        src, error = np.arange(20_000), ArenaFullError
    else:
        graph = DynamicGraph(layout=layout, create_vertices=False)
        graph.insert_vertices(range(8))
        src, error = np.array([1, 2, 9]), BatchError
    graph.insert_edges([1, 1, 2], [2, 3, 4])
    before, pages = graph.state_hash(), graph.memory().pages_used
    with pytest.raises(error):
        graph.insert_edges(src, src + 1)
    graph.verify("full")
    assert (graph.state_hash(), graph.memory().pages_used) == (before, pages)
    graph.insert_edges([3], [1])
    assert edges_of(graph) == [(1, 2), (1, 3), (2, 4), (3, 1)]


@meanings
def test_an_epoch_stays_as_it_was(layout: str, meaning: dict[str, Any]) -> None:
    graph = grown(layout, meaning, 2)
    before, edges = graph.state_hash(), edges_of(graph)
    with graph.pin() as epoch:
        for rows in steps(meaning)[2:]:
            graph.apply(batch_of(rows, meaning))
        assert graph.state_hash() != before
        assert (epoch.state_hash(), edges_of(epoch)) == (before, edges)


def hub_steps(is_dense: bool) -> list[list[Row]]:
    """Rows of batches that make a hub of a hundred small pages, change it, and take it apart."""
    rng = np.random.default_rng(8)
    others = np.arange(1, 421) if is_dense else np.arange(1, 421) * 10**15
    first, more = others[::-1][::2][:180], rng.permutation(others)[:240]

    def rows(op: int, targets: np.ndarray) -> list[Row]:
        """The hub's own edges, and one to it for every second of them."""
        outward = [Row(op, 0, other, other % 97, 1, 5) for other in targets.tolist()]
        return [*outward, *(Row(op, other, 0, 1.5) for other in targets.tolist()[::2])]

    return [
        rows(1, np.union1d(first, more)),
        [*rows(-1, rng.permutation(more)[:50]), *rows(1, np.setdiff1d(others, more)[:40])],
        [Row(-1, vertex, None) for vertex in rng.permutation(first)[:20].tolist()],
        rows(-1, rng.permutation(others)[:390]),
        rows(1, rng.permutation(others)[:300]),
        [Row(-1, 0, None), *rows(1, others[40:200])],
    ]


@pytest.mark.parametrize(
    "meaning",
    [{"records": "simple", "reverse": True}, {"records": "weighted", "directed": False}],
    ids=lambda meaning: meaning["records"],
)
def test_a_hub_on_a_hundred_pages(layout: str, meaning: dict[str, Any]) -> None:
    """Every page of a long row is found: by updates, queries, copies, compaction and `verify`."""
    meaning = {"ids": "dense" if meaning["records"] == "weighted" else "any", **meaning}
    least = least_page_bytes(meaning["records"], layout)
    kept = {**meaning, "layout": layout, "page_bytes": least}
    graph, host = DynamicGraph(**kept), DynamicGraph(**kept, engine="host")
    runs = DynamicGraph(**meaning, engine="host")
    model = model_of(meaning)
    for number, rows in enumerate(hub_steps(meaning["ids"] == "dense")):
        expected = expected_report(model, rows)
        batch = batch_of(rows, meaning, number)
        report = graph.apply(batch)
        assert {name: getattr(report, name) for name in expected} == expected
        for other in (host, runs):
            other.apply(batch)
            assert other.state_hash() == graph.state_hash()
        if number == 0:
            assert graph.memory().regions["adjacencies"] >= 2 * 100 * 16
        if number == 1:
            compact(graph)
            compact(host)
        graph.verify("full")
        check_same(graph, model)
        asked = sorted(model.vertices)
        known = graph.has_edges([0] * len(asked), asked).tolist()
        assert known == [model.key(0, other) in model.edges for other in asked]
        with graph.pin() as epoch:
            assert edges_of(epoch) == model.canonical_edges()
        ours, theirs = image_of(graph), image_of(host)
        np.testing.assert_array_equal(ours.vertex_table(), theirs.vertex_table())
        np.testing.assert_array_equal(ours.queued_pages(), theirs.queued_pages())


@cache
def found_on_host(name: str, number: int) -> dict[str, Any]:
    """What an analytic finds in the host's graph with rows on runs, of one of `MEANINGS`."""
    host = grown("runs", {**MEANINGS[number], "engine": "host"}, negative=False)
    return dict(ANALYTICS[name].values(host.compute(name, **ANALYTICS[name].example)))


@pytest.mark.parametrize("name", ANALYTICS)
def test_an_analytic_finds_what_the_host_finds(layout: str, name: str) -> None:
    undirected = ANALYTICS[name].needs.undirected
    meaning = next(each for each in MEANINGS[1:] if not (undirected and each.get("directed", True)))
    graph = grown(layout, meaning, negative=False)
    found = ANALYTICS[name].values(graph.compute(name, **ANALYTICS[name].example))
    for column, values in found_on_host(name, MEANINGS.index(meaning)).items():
        np.testing.assert_allclose(found[column], values, rtol=1e-12, atol=1e-12, err_msg=column)
