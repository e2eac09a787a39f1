"""The cuda engine beside the host engine: same batches, same graph, same reports, same pages.

An image copied from the device passes the host's checks after each batch. What a graph means on its
own is told by ``test_graph.py`` and its neighbors, which run for each engine.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

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

from graphtide import (
    ArenaFullError,
    BatchError,
    CorruptImageError,
    DynamicGraph,
    EngineError,
    GraphtideError,
    UpdateBatch,
)
from graphtide.gpu_core import engines
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.cuda.device.stream import StreamLock, follow_engines
from graphtide.gpu_core.cuda.update.batch import upload
from graphtide.gpu_core.image.fields import Field
from graphtide.testing import compact, engine_of
from oracles import Row, batch_of
from strategies import (
    ANY_IDS,
    DENSE_IDS,
    LAYOUTS,
    RECORDS,
    batches,
    examples,
    long_row_that_shrinks,
    meanings,
    pools,
    seeded_rows,
    ways_to_keep,
)

#: Small, and large enough for all that these tests do.
ROOMY = {"arena_bytes": 1 << 20, "max_arena_bytes": 1 << 27}

Graphs = dict[str, DynamicGraph]


def both(**settings: Any) -> Graphs:
    return {name: DynamicGraph(engine=name, **settings) for name in ("host", "cuda")}


def counts(report: Any) -> dict[str, Any]:
    row: dict[str, Any] = report.as_dict()
    return {name: value for name, value in row.items() if not name.endswith("_seconds")}


def done_to(graphs: Graphs, call: Callable[[DynamicGraph], Any]) -> bool:
    """Do the same to both; whether it was done. Reports and refusals must be the same."""
    outcomes: dict[str, Any] = {}
    for name, graph in graphs.items():
        try:
            outcomes[name] = counts(call(graph))
        except BatchError as error:
            outcomes[name] = str(error)
    assert outcomes["cuda"] == outcomes["host"]
    return isinstance(outcomes["cuda"], dict)


def check_same(graphs: Graphs) -> None:
    host, cuda = graphs["host"], graphs["cuda"]
    cuda.verify()
    assert cuda.state_hash() == host.state_hash()
    ours, theirs = cuda.memory(), host.memory()
    assert (ours.pages_used, ours.pages_free) == (theirs.pages_used, theirs.pages_free)
    assert ours.regions["adjacencies"] == theirs.regions["adjacencies"]
    assert sum(ours.regions.values()) == ours.arena_bytes


class PairMachine(RuleBasedStateMachine):
    """A graph on each engine, to which the same is done."""

    records: str
    layout: str

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self.meaning = data.draw(meanings(self.records))
        self.kept = data.draw(ways_to_keep(self.records, self.layout))
        if self.kept["arena_bytes"] is None:
            self.kept |= ROOMY
        self.pool = data.draw(pools(self.meaning["ids"]))
        self.graphs = both(**self.meaning, **self.kept)

    def apply_rows(self, rows: list[Row]) -> None:
        if self.meaning["self_loops"] == "reject":
            rows = [row for row in rows if row.src != row.dst]
        if not self.meaning["create_vertices"]:
            ends = {end for row in rows for end in (row.src, row.dst) if end is not None}
            rows = [*(Row(1, vertex, None) for vertex in sorted(ends)), *rows]
        done_to(self.graphs, lambda graph: graph.apply(batch_of(rows, self.meaning)))

    @rule(data=st.data())
    def apply(self, data: st.DataObject) -> None:
        rows = data.draw(batches(self.pool))
        if self.meaning["self_loops"] == "reject":
            rows = [row for row in rows if row.src != row.dst]
        # Without create_vertices some of these are refused.
        done_to(self.graphs, lambda graph: graph.apply(batch_of(rows, self.meaning)))

    @rule(seed=st.integers(0, 2**32), grow=st.sampled_from((0.4, 0.7, 0.95)))
    def apply_many(self, seed: int, grow: float) -> None:
        ids = np.array(ANY_IDS if self.meaning["ids"] == "any" else DENSE_IDS)
        rng = np.random.default_rng(seed)
        self.apply_rows(seeded_rows(rng, ids, int(rng.integers(5, 200)), grow))

    @rule(seed=st.integers(0, 2**32))
    def shrink_a_long_row(self, seed: int) -> None:
        for rows in long_row_that_shrinks(np.random.default_rng(seed), self.meaning["ids"]):
            self.apply_rows(rows)

    @rule(keep=st.integers(0, 3))
    def take_away_nearly_all(self, keep: int) -> None:
        edges = self.graphs["host"].edges()
        done_to(self.graphs, lambda graph: graph.delete_edges(edges.src[keep:], edges.dst[keep:]))

    @rule(seed=st.integers(0, 2**32), share=st.sampled_from((0.1, 0.5, 0.9)))
    def delete_vertices(self, seed: int, share: float) -> None:
        rng = np.random.default_rng(seed)
        vertices = self.graphs["host"].vertices()
        doomed = rng.permutation(vertices[rng.random(vertices.size) < share])
        done_to(self.graphs, lambda graph: graph.delete_vertices([*doomed, *self.pool[:1] * 2]))

    @rule()
    def compact(self) -> None:
        for graph in self.graphs.values():
            assert compact(graph)

    @rule()
    def restart(self) -> None:
        """Both go on from what a checkpoint keeps, with the same indices and pages to come."""
        arrays = {name: graph.checkpoint_arrays() for name, graph in self.graphs.items()}
        assert list(arrays["cuda"]) == list(arrays["host"])
        for name, array in arrays["host"].items():
            np.testing.assert_array_equal(arrays["cuda"][name], array, err_msg=name)
        self.graphs = {
            name: DynamicGraph.from_checkpoint_arrays(
                arrays[name], engine=name, **self.meaning, **self.kept
            )
            for name in arrays
        }

    @invariant()
    def they_are_the_same(self) -> None:
        check_same(self.graphs)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("records", RECORDS)
def test_both_engines_do_the_same(device: Any, records: str, layout: str) -> None:
    class Machine(PairMachine):
        pass

    Machine.records, Machine.layout = records, layout
    settings = hypothesis.settings(
        max_examples=examples(4 if device.xp is np else 40),
        stateful_step_count=12,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(Machine, settings=settings)


@pytest.mark.everyday
@pytest.mark.parametrize(
    "settings",
    [
        {"ids": "dense", "reverse": False},
        {"directed": False, "records": "weighted"},
        {"records": "semantic", "storage": "aos"},
        {"records": "semantic64"},
        {"directed": False, "records": "weighted64", "storage": "aos"},
        {"layout": "chain", "ids": "dense", "reverse": False},
        {"layout": "tree", "records": "semantic"},
    ],
)
def test_a_life_of_thousands_of_rows(device: Any, settings: dict[str, Any]) -> None:
    """Hubs that come and go among short rows; batches larger than a block of any kernel."""
    rng = np.random.default_rng(9)
    graphs = both(**settings, **ROOMY)
    directed, records = settings.get("directed", True), settings.get("records", "simple")
    for grow in (0.95, 0.6, 0.2, 0.8, 0.05):
        size = 6_000
        op = np.where(rng.random(size) < grow, 1, -1)
        src, dst = (rng.random((2, size)) ** 4 * 1_500).astype(np.int64)
        batch = UpdateBatch.from_rows(
            op, src, dst, directed=directed, records=records,
            weight=rng.random(size) if records != "simple" else None,
            ts=np.arange(size) if records.startswith("semantic") else None,
        )  # fmt: skip
        assert done_to(graphs, lambda graph, batch=batch: graph.apply(batch))
        check_same(graphs)
    done_to(graphs, lambda graph: graph.delete_vertices(np.arange(0, 1_500, 7)))
    check_same(graphs)


# -- batches that lie on the device


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_a_batch_may_lie_on_the_device(device: Any, ids: str) -> None:
    graphs = both(ids=ids, **ROOMY)
    batch = UpdateBatch.from_rows([1, 1, -1], [1, 2, 3], [2, 3, 1], batch_id=7)
    there = upload(Staging(device), batch, dense=ids == "dense")
    reports = [counts(graphs["host"].apply(batch)), counts(graphs["cuda"].apply(there))]
    assert reports[0] == reports[1]
    check_same(graphs)
    with pytest.raises(BatchError, match=r"lies on a device.*takes an UpdateBatch"):
        graphs["host"].apply(there)
    other = DynamicGraph(engine="cuda", ids="any" if ids == "dense" else "dense", **ROOMY)
    with pytest.raises(BatchError, match=f"is for ids='{ids}', the graph has ids="):
        other.apply(there)


# -- when the engine refuses to go on


@pytest.fixture
def small(device: Any) -> DynamicGraph:
    graph = DynamicGraph(engine="cuda", **ROOMY)
    graph.insert_edges([1, 2, 3], [2, 3, 1])
    return graph


def everything(graph: DynamicGraph) -> list[Callable[[], Any]]:
    return [
        graph.vertices, graph.edges, graph.to_csr, graph.degrees, graph.verify, graph.state_hash,
        graph.image_hash, graph.checkpoint_arrays, graph.pagerank, graph.triangles,
        graph.clustering,
        lambda: graph.has_vertices([1]), lambda: graph.neighbors(1),
        lambda: graph.has_edges([1], [2]), lambda: graph.insert_edges([5], [6]),
    ]  # fmt: skip


def test_a_device_that_broke_is_not_asked_again(
    small: DynamicGraph, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engines.broken_device() is None
    assert not engine_of(small).is_broken
    monkeypatch.setattr(device, "broken", "the CUDA device broke (kernel plan_rows of plan.cu)")
    assert engine_of(small).is_broken
    assert engines.broken_device() == device.broken
    for call in [*everything(small), lambda: DynamicGraph(engine="cuda")]:
        with pytest.raises(EngineError, match="device broke"):
            call()


def test_a_batch_that_cuda_cut_off_leaves_a_graph_that_says_so(
    small: DynamicGraph, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        msg = "CUDA failed (kernel commit_rows of commit.cu): invalid argument"
        raise EngineError(msg)

    with monkeypatch.context() as patch:
        patch.setattr("graphtide.gpu_core.cuda.update.apply.finish_batch", fail)
        with pytest.raises(EngineError, match="commit_rows"):
            small.insert_edges([1], [3])
    assert engine_of(small).is_broken
    for call in everything(small):
        with pytest.raises(EngineError, match="middle of a batch"):
            call()


def test_a_device_without_memory_refuses_a_batch_and_keeps_the_graph(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = DynamicGraph(engine="cuda", arena_bytes=40_000, max_arena_bytes=1 << 27)
    graph.insert_edges([1, 2], [2, 3])
    before = graph.state_hash(), graph.image_hash()

    def full(count: int, dtype: Any) -> None:
        msg = "CUDA out of memory for 4 bytes while taking memory"
        raise ArenaFullError(msg)

    with monkeypatch.context() as patch:
        patch.setattr(device, "empty", full)
        with pytest.raises(ArenaFullError, match="CUDA out of memory"):
            graph.insert_edges(np.arange(5_000), np.arange(5_000) + 1)
    assert (graph.state_hash(), graph.image_hash()) == before
    graph.verify()
    assert graph.insert_edges(np.arange(5_000), np.arange(5_000) + 1).num_edges == 5_000
    graph.verify()


# -- copies of the image


def test_the_mirror_lasts_until_the_next_batch(small: DynamicGraph) -> None:
    engine: Any = engine_of(small)
    mirror = engine.mirror()
    small.edges()
    assert engine.mirror() is mirror
    small.insert_edges([7], [8])
    assert engine.mirror() is not mirror
    assert small.num_edges == len(small.edges()) == 4


def test_a_device_without_room_for_a_copy_leaves_it_to_the_host(
    small: DynamicGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = small.edges()

    def full(*_: object) -> None:
        msg = "CUDA out of memory"
        raise ArenaFullError(msg)

    monkeypatch.setattr("graphtide.gpu_core.cuda.queries.device_reader.csr_of", full)
    small.insert_edges([1], [2])  # changes nothing, but for what was kept
    again = small.edges()
    np.testing.assert_array_equal(again.src, edges.src)
    np.testing.assert_array_equal(again.dst, edges.dst)


def test_what_is_wrong_on_the_device_is_found(small: DynamicGraph) -> None:
    """Also behind the back of what was copied, and of the header that the host works with."""
    engine: Any = engine_of(small)
    small.verify()
    engine.arena.header[Field.NUM_EDGES] += 1
    with pytest.raises(CorruptImageError, match="header field 11 is 3 on the device and 4 on"):
        small.verify()
    engine.arena.header[Field.NUM_EDGES] -= 1
    small.verify()
    table = engine.arena.vertex_table()
    table[0, 0] ^= 1
    with pytest.raises(CorruptImageError, match="present"):
        small.verify("pages")
    small.verify("header")


# -- the stream


class FakeStream:
    """A stream that writes down what waits for what."""

    def __init__(self, world: "FakeCuda", number: int) -> None:
        self.world, self.ptr = world, number

    def __enter__(self) -> None:
        self.world.stack.append(self)

    def __exit__(self, *_: object) -> None:
        assert self.world.stack.pop() is self

    def record(self) -> int:
        return self.ptr

    def wait_event(self, of: int) -> None:
        self.world.waits.append((self.ptr, of))


class FakeDevice:
    ordinal = 0

    def __init__(self, cuda: "FakeCuda") -> None:
        self.xp = SimpleNamespace(cuda=cuda)
        self.broken: str | None = None

    def current(self) -> AbstractContextManager[None]:
        return nullcontext()

    def errors_named(self, doing: str) -> AbstractContextManager[None]:
        return nullcontext()


class FakeCuda:
    """CuPy's module of streams."""

    def __init__(self) -> None:
        self.waits: list[tuple[int, int]] = []
        self.default = FakeStream(self, 0)
        self.stack = [self.default]

        self.made = 0
        self.runtime = SimpleNamespace(getDevice=lambda: 0)

    def Stream(self, non_blocking: bool = False) -> FakeStream:
        self.made += 1
        return FakeStream(self, 76 + self.made)

    def get_current_stream(self) -> FakeStream:
        return self.stack[-1]


def test_the_holder_of_the_lock_works_on_the_engines_own_stream() -> None:
    cuda = FakeCuda()
    device: Any = FakeDevice(cuda)
    lock, other = StreamLock(device), StreamLock(device)
    with lock, lock, other:
        assert cuda.get_current_stream().ptr == 77
    assert cuda.waits == [], "CUDA orders work of the default stream itself"
    with FakeStream(cuda, 5), lock:
        with lock:
            assert cuda.waits == [(77, 5)], "the engine did not wait for the caller's stream"
        assert cuda.get_current_stream().ptr == 77
    assert cuda.waits == [(77, 5), (5, 77)], "the caller's stream did not wait for the engine"
    with pytest.raises(GraphtideError), lock:
        raise GraphtideError
    device.broken = "the CUDA device broke"
    with FakeStream(cuda, 5), lock:
        assert cuda.get_current_stream().ptr == 5
    assert cuda.waits == [(77, 5), (5, 77)]
    assert cuda.stack == [cuda.default]


def test_who_reads_a_result_later_waits_for_the_engines() -> None:
    cuda = FakeCuda()
    device: Any = FakeDevice(cuda)
    follow_engines(device)
    with StreamLock(device):
        follow_engines(device)
    assert cuda.waits == [], "CUDA orders these by itself"
    with FakeStream(cuda, 5):
        follow_engines(device)
    assert cuda.waits == [(5, 77)], "the stream did not wait for the engines"


def test_who_launches_alone_leaves_the_default_stream_current() -> None:
    cuda = FakeCuda()
    device: Any = FakeDevice(cuda)
    lock = StreamLock(device)

    def current() -> int:
        return cuda.get_current_stream().ptr

    with lock.for_launches:
        assert current() == cuda.default.ptr
        with lock, lock.for_launches:
            assert current() == 77, "whoever does more works on the engine's stream"
        assert current() == cuda.default.ptr
    with lock, lock.for_launches:
        assert current() == 77
    assert cuda.waits == []
    with FakeStream(cuda, 5), lock.for_launches:
        assert cuda.waits == [(77, 5)], "the engine did not wait for the caller's stream"
        with lock:
            assert current() == 77
        assert current() == 77
    assert cuda.waits == [(77, 5), (5, 77)], "the caller's stream did not wait for the engine"
    with pytest.raises(GraphtideError), lock.for_launches, lock:
        raise GraphtideError
    device.broken = "the CUDA device broke"
    with FakeStream(cuda, 5), lock.for_launches:
        assert current() == 5
    assert cuda.stack == [cuda.default]
