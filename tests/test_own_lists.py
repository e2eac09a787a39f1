"""Batches that are a half as they are: the short way does what the long one does, or nothing."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.batch import UpdateBatch
from graphtide.gpu_core.cuda import apply, batch_facts
from graphtide.gpu_core.cuda.batch import upload
from graphtide.gpu_core.cuda.compile import KERNELS
from graphtide.gpu_core.cuda.own_lists import apply_own_lists
from graphtide.gpu_core.errors import ArenaFullError, EngineError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.image import BatchStatus

PLAIN: dict[str, Any] = {"engine": "cuda", "ids": "dense", "reverse": False}
SMALL = {"arena_bytes": 20_000, "max_arena_bytes": 1 << 24}

#: What waits for the launch before.
_WAITS = r"(follow_previous_launch|follow_and_lead|await_previous_launch)\(\);"
#: What begins with the status of the batch.
_READS_STATUS = "BATCH_FIELD_STATUS|plan_tile"
#: Kernels that may run beside the launch before them.
_BESIDE = {"plan_rows", "commit_long", "commit_rows"}

Rows = tuple[int, np.ndarray, np.ndarray]


def batch_of(op: int, src: Any, dst: Any) -> UpdateBatch:
    ops = np.full(np.size(src), op, np.int8)
    return UpdateBatch.from_rows(ops, np.asarray(src), np.asarray(dst), directed=True)


def kinds_of_batches() -> Iterator[Rows]:
    """Puts and deletes that meet all that the short way knows."""
    random = np.random.default_rng(5)

    def pairs(count: int, vertices: int) -> tuple[np.ndarray, np.ndarray]:
        src, dst = random.integers(0, vertices, (2, count))
        return src[src != dst], dst[src != dst]

    # Deletes that name vertices that are not there: they have records without edges.
    yield 1, np.array([0, 40]), np.array([40, 5])
    yield -1, np.array([0, 0, 3, 5]), np.array([7, 40, 40, 2])
    ring = np.arange(64)
    yield 1, ring, (ring + 1) % 64
    for vertices in (64, 64, 200):  # all there; the last ones enter vertices
        for op in (1, -1, 1):
            yield op, *pairs(60, vertices if op > 0 else 64)
    # A row that is long from here on, and one that was.
    for first, count, op in ((4, 150, 1), (154, 150, 1), (304, 300, 1), (604, 90, 1), (4, 90, -1)):
        yield op, np.repeat(3, count), np.arange(first, first + count)
    yield 1, *pairs(100, 700)


def state(graph: DynamicGraph) -> tuple[str, Any]:
    graph.verify("full")
    return graph.image_hash(), graph.memory()


def test_the_short_way_does_what_the_long_one_does(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = (DynamicGraph(**PLAIN, **SMALL) for _ in range(2))
    answers, statuses = [], []

    def watched(*arguments: Any, **named: Any) -> Any:
        answers.append(apply_own_lists(*arguments, **named))
        return answers[-1]

    for op, src, dst in kinds_of_batches():
        monkeypatch.setattr(apply, "apply_own_lists", watched)
        emulated_device.meeting_blocks = 1
        report = short.apply(batch_of(op, src, dst))
        monkeypatch.setattr(apply, "apply_own_lists", lambda *_, **__: (None, None))
        emulated_device.meeting_blocks = 0
        expected = long.apply(batch_of(op, src, dst))
        assert report._replace(seconds={}) == expected._replace(seconds={})
        assert state(short) == state(long)
        statuses.append(answers[-1][0])
    assert statuses[1] == BatchStatus.OK, "nothing is asked of what a batch deletes"
    assert {BatchStatus.OK, BatchStatus.NEEDS_HOST, BatchStatus.NEEDS_SCRATCH} <= {*statuses}
    assert statuses.count(BatchStatus.OK) > len(statuses) / 2
    assert statuses[-2:] == [BatchStatus.OK] * 2, "long rows that are expected need no help"


@pytest.mark.parametrize(
    ("settings", "op", "src", "dst"),
    [
        ({}, -1, [1], [99]),
        ({"reverse": True}, 1, [1], [5]),
        ({"directed": False}, 1, [1], [5]),
        ({"create_vertices": False}, 1, [1], [99]),
    ],
    ids=["deletes beyond the table", "reverse", "undirected", "unknown"],
)
def test_what_is_not_meant_is_left_alone(
    emulated_device: EmulatedDevice, settings: dict[str, Any], op: int, src: Any, dst: Any
) -> None:
    ring = np.arange(16)
    graph = DynamicGraph(**{**PLAIN, **SMALL, **settings, "create_vertices": True})
    kind = settings.get("directed", True)
    graph.insert_edges(ring, (ring + 1) % 16)
    engine, before = graph._engine, graph.image_hash()
    batch = UpdateBatch.from_rows(
        np.full(np.size(src), op, np.int8), np.asarray(src), np.asarray(dst), directed=kind
    )
    on_device = upload(engine.staging, batch, dense=True)
    creates = settings.get("create_vertices", True)
    since = len(emulated_device.launches)
    assert apply_own_lists(engine, on_device, create_vertices=creates) == (None, None)
    assert len(emulated_device.launches) == since
    assert not engine.is_broken
    assert graph.image_hash() == before


def test_a_long_row_that_is_refused_leaves_room_for_other_batches(
    emulated_device: EmulatedDevice,
) -> None:
    """What is provided for long rows is remembered, but not where it cannot be had."""
    graph = DynamicGraph(**PLAIN, arena_bytes=300_000)
    ring = np.arange(64)
    graph.insert_edges(ring, (ring + 1) % 64)

    def grow() -> None:
        for first in range(100, 20_000, 600):
            graph.insert_edges(np.full(600, 0), np.arange(first, first + 600))

    with pytest.raises(ArenaFullError, match="scratch"):
        grow()
    assert graph.degrees([0])[0] > 1_000, "the row was never long"
    before = graph.num_edges
    assert graph.delete_edges([1], [2]).edges_removed == 1
    assert graph.insert_edges([1, 2], [5, 6]).edges_added == 2
    graph.verify()
    assert graph.num_edges == before + 1


def test_a_launch_that_fails_leaves_the_graph_unusable(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = np.arange(16)
    graph = DynamicGraph(**PLAIN, **SMALL)
    graph.insert_edges(ring, (ring + 1) % 16)
    kernel = emulated_device._start

    def start(source: str, name: str, *others: Any) -> None:
        if name in ("commit_rows", "apply_few_rows"):
            msg = "commit_rows failed"
            raise EngineError(msg)
        kernel(source, name, *others)

    monkeypatch.setattr(emulated_device, "_start", start)
    with pytest.raises(EngineError, match="commit_rows failed"):
        graph.insert_edges([1], [5])
    with pytest.raises(EngineError, match="middle of a batch"):
        graph.insert_edges([1], [5])


def test_kernels_of_a_list_follow_one_another() -> None:
    """Launches of a list overlap: a kernel that does not wait would read what is not there yet."""
    for file, name in batch_facts.DIRECTED_KERNELS + batch_facts.PLAIN_KERNELS:
        text = (KERNELS / file).read_text(encoding="utf-8")
        body = text[text.index(f" {name}(") :]
        # What the compiler takes for constant it may fetch by a cache that sees no writes, and
        # before the wait: the geometry alone is written by no kernel of a list.
        assert {*re.findall(r"__restrict__ (\w+)", body[: body.index("{")])} <= {"geometry"}
        if "apply_rows<" in body[: body.index("\n}\n")]:
            body = text[text.index(" apply_rows(") :]
        body = body[: body.index("\n}\n")]
        waits = re.search(_WAITS, body)
        assert waits, f"{name} does not wait"
        reads = re.search(_READS_STATUS, body)
        assert reads, f"{name} does not read the status"
        assert waits.start() < reads.start(), f"{name} does not wait at first"
        assert ("run_beside_previous_launch();" in body) == (name in _BESIDE)


@pytest.mark.parametrize("name", ["search_long", "commit_long", "enter_lists"])
def test_a_kernel_that_the_next_one_runs_beside_lets_it_begin_late(name: str) -> None:
    """The next one waits for nobody at first: what came before must have ended when it begins."""
    kernels = batch_facts.DIRECTED_KERNELS + batch_facts.PLAIN_KERNELS
    (file,) = (file for file, kernel in kernels if kernel == name)
    text = (KERNELS / file).read_text(encoding="utf-8")
    body = text[text.index(f" {name}(") :]
    body = body[: body.index("\n}\n")]
    assert "follow_and_lead();" in body
    assert "follow_previous_launch();" not in body
