"""Batches that one list of launches applies: as the host does, and what their kernels wait for."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.cuda.device.compile import kernel_file
from graphtide.gpu_core.cuda.device.launches import launches_in
from graphtide.gpu_core.cuda.update import apply, context, facts
from graphtide.gpu_core.cuda.update.batch import upload
from graphtide.gpu_core.cuda.update.modes import Mode, NextStep, next_step
from graphtide.gpu_core.errors import ArenaFullError, EngineError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.image.fields import BatchStatus
from graphtide.testing import engine_of
from update_twins import apply_to_both, pair

PLAIN: dict[str, Any] = {"engine": "cuda", "ids": "dense", "reverse": False}
SMALL = {"arena_bytes": 20_000, "max_arena_bytes": 1 << 24}

#: What waits for the launch before, or for the one before that.
_WAITS = (
    r"(follow_previous_launch|follow_and_lead|run_beside_previous_launch|await_previous_launch)"
    r"\(\);"
)
#: What begins with the status of the batch.
_READS_STATUS = "BATCH_FIELD_STATUS|plan_tile"
_MAPPING = ("map_vertices", "close_batch")
#: Kernels that may run beside the launch before them.
_BESIDE = {"plan_rows", "commit_long", "commit_rows", "commit_settled"}

Rows = tuple[int, np.ndarray, np.ndarray]


def batch_of(op: int, src: Any, dst: Any, *, directed: bool = True) -> UpdateBatch:
    ops = np.full(np.size(src), op, np.int8)
    return UpdateBatch.from_rows(ops, np.asarray(src), np.asarray(dst), directed=directed)


def kind_of(settings: dict[str, Any]) -> dict[str, bool]:
    return {"directed": settings.get("directed", True)}


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


@pytest.mark.parametrize("few_rows", [0, 256])
@pytest.mark.parametrize("direction", [{"reverse": False}, {"reverse": True}, {"directed": False}])
@pytest.mark.parametrize("ids", ["dense", "any"])
def test_one_list_of_launches_does_what_the_host_does(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch, ids: str,
    direction: dict[str, bool], few_rows: int,
) -> None:  # fmt: skip
    host, cuda = pair(ids=ids, **SMALL, **direction)
    statuses: list[int] = []
    finish_batch = apply.finish_batch

    def watched(*arguments: Any) -> Any:
        answer = finish_batch(*arguments)
        statuses.append(answer[1])
        return answer

    monkeypatch.setattr(apply, "finish_batch", watched)
    monkeypatch.setattr(context, "MOST_FEW_ROWS", few_rows)
    for number, (op, src, dst) in enumerate(kinds_of_batches()):
        batch = batch_of(op, src, dst, directed=direction.get("directed", True))
        apply_to_both(host, cuda, batch)
        if number == 1 and ids == "dense":
            assert statuses[-1:] == [BatchStatus.OK], "nothing is asked of what a batch deletes"
    needed = {BatchStatus.OK, BatchStatus.NEEDS_HOST, BatchStatus.NEEDS_SCRATCH}
    if ids == "dense":
        assert needed <= {*statuses}
        assert statuses.count(BatchStatus.OK) > len(statuses) / 2
        assert statuses[-2:] == [BatchStatus.OK] * 2, "long rows that are expected need no help"
    else:
        assert {BatchStatus.OK, BatchStatus.UNKNOWN_IDS} <= {*statuses}


@pytest.mark.parametrize("enters", [False, True])
def test_a_batch_that_overfills_a_bucket_is_sorted_without_buckets(
    device: Any, enters: bool
) -> None:
    """All edges end at eight vertices, of which one bucket is; some name new vertices."""
    host, cuda = pair(ids="any", reverse=True, **SMALL)
    ring = np.arange(2_000)
    apply_to_both(host, cuda, batch_of(1, ring, (ring + 1) % ring.size))
    src, dst = np.repeat(np.arange(100, 750), 8), np.tile(np.arange(8), 650)
    if enters:
        src[-8:] = 9_000
    skew = engine_of(cuda).updates.skew
    assert skew.left == 0
    apply_to_both(host, cuda, batch_of(1, src, dst))
    left = skew.left
    assert left > 0, "it was met"
    apply_to_both(host, cuda, batch_of(-1, src, dst))
    assert 0 < skew.left < left, "its like are not partitioned for a while"


@pytest.mark.gpu
@pytest.mark.parametrize("records", ["simple", "weighted"])
def test_more_buckets_than_a_pass_of_the_sort_has_digits(records: str) -> None:
    """Partitioned by two passes; an emulated device takes minutes for so many entries."""
    vertices, count = 3_000_000, 1_500_000
    every = np.arange(vertices)
    columns = np.random.default_rng(8).integers(0, vertices, count)
    hashes = set()
    for engine in ("host", "cuda"):
        graph = DynamicGraph(engine=engine, records=records, reverse=True)
        graph.insert_edges(every, np.roll(every, 7))
        graph.insert_edges(every[:count], columns)
        hashes.add(graph.state_hash())
    assert len(hashes) == 1
    assert engine_of(graph).updates.skew.left == 0, "no bucket was overfull"


@pytest.mark.parametrize(
    ("settings", "op", "src", "dst"),
    [({}, -1, [1], [99]), ({"create_vertices": False}, 1, [1], [99])],
    ids=["deletes beyond the table", "unknown"],
)
def test_what_needs_assistance_is_left_alone(
    emulated_device: EmulatedDevice, settings: dict[str, Any], op: int, src: Any, dst: Any
) -> None:
    ring = np.arange(16)
    graph = DynamicGraph(**{**PLAIN, **SMALL, **settings, "create_vertices": True})
    graph.insert_edges(ring, (ring + 1) % 16)
    engine, before = engine_of(graph), graph.image_hash()
    engine.kind = replace(engine.kind, **settings)
    engine.updates.expected.forget()
    on_device = upload(engine.staging, batch_of(op, src, dst), dense=True)
    since = len(emulated_device.launches)
    mode, _, outcome = apply._launch(engine, on_device)
    assert (mode, outcome) == (Mode.ASSISTED, None)
    assert len(emulated_device.launches) == since
    assert not engine.is_broken
    assert graph.image_hash() == before


def test_what_follows_a_status() -> None:
    for mode in Mode:
        assert next_step(mode, BatchStatus.OK) is NextStep.DONE
        for status in (BatchStatus.NEEDS_SCRATCH, BatchStatus.OVERFULL):
            assert next_step(mode, status) is NextStep.AGAIN
    for mode in (Mode.COMMON, Mode.ENTERING):
        assert next_step(mode, BatchStatus.NEEDS_HOST) is NextStep.COMMIT
        assert next_step(mode, BatchStatus.UNKNOWN_IDS) is NextStep.ASSIST
    for status in (BatchStatus.NEEDS_HOST, BatchStatus.UNKNOWN_IDS):
        with pytest.raises(AssertionError, match=status.name):
            next_step(Mode.ASSISTED, status)


def test_kernels_that_write_rows_begin_when_the_deltas_are_made(
    emulated_device: EmulatedDevice,
) -> None:
    """They read a delta before they wait: the first of them must not overlap what makes it."""
    emulated_device.overlaps = 1
    ring = np.arange(300)
    for settings in ({"reverse": True}, {"ids": "any"}, {"directed": False}):
        graph = DynamicGraph(**{**PLAIN, **SMALL, **settings})
        for shift in (1, 2):
            graph.apply(batch_of(1, ring, (ring + shift) % 300, **kind_of(settings)))
        lines = engine_of(graph).updates.context.launches
        names = [emulated_device._kernels[launch.kernel][1] for launch in launches_in(lines)]
        free = [launch.overlaps for launch in launches_in(lines)]
        first = next(n for n, name in enumerate(names) if name in ("plan_rows", "apply_few_rows"))
        assert names[first - 1] in ("unpack_keys", "order_rows")
        assert [n for n, overlaps in enumerate(free) if not overlaps] == [0, first]


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
    for file, name in facts.DIRECTED_KERNELS + facts.PLAIN_KERNELS:
        text = kernel_file(file).read_text(encoding="utf-8")
        body = text[text.index(f" {name}(") :]
        # What the compiler takes for constant it may fetch by a cache that sees no writes, and
        # before the wait: the geometry alone is written by no kernel of a list.
        assert {*re.findall(r"__restrict__ (\w+)", body[: body.index("{")])} <= {"geometry"}
        body = body[: body.index("\n}\n")]
        waits = re.search(_WAITS, body)
        assert waits, f"{name} does not wait"
        if file in ("deltas.cu", "sorting.cu", "dictionary.cu") or name in _MAPPING:
            # These leave the image alone, and wait before anything else.
            assert re.search(r"\) \{\s+follow_previous_launch\(\);", body), name
            continue
        reads = re.search(_READS_STATUS, body)
        assert reads, f"{name} does not read the status"
        assert waits.start() < reads.start(), f"{name} does not wait at first"
        assert ("run_beside_previous_launch();" in body) == (name in _BESIDE)


@pytest.mark.parametrize(
    "name", ["search_long", "commit_long", "enter_lists", "write_entries", "write_few_listed"]
)
def test_a_kernel_that_the_next_one_runs_beside_lets_it_begin_late(name: str) -> None:
    """The next one waits for nobody at first: what came before must have ended when it begins."""
    kernels = facts.DIRECTED_KERNELS + facts.PLAIN_KERNELS
    (file,) = (file for file, kernel in kernels if kernel == name)
    text = kernel_file(file).read_text(encoding="utf-8")
    body = text[text.index(f" {name}(") :]
    body = body[: body.index("\n}\n")]
    assert "follow_and_lead();" in body
    assert "follow_previous_launch();" not in body
