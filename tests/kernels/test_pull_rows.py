"""Rows as pulls of programs read them: sorted by degree, laid out column by column, or both."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from commands import graphtide_here
from graphtide.flows.bench.measuring import report
from graphtide.gpu_core.cuda.analytics.programs.pull_rows import PulledRows, pulled_rows
from graphtide.gpu_core.programs.library import distances_program
from graphtide.gpu_core.programs.run import Task
from graphtide.gpu_core.rows import Rows
from image_engine import ImageEngine, changed_graph, make_graph

LANES = 32


def task_of(vertex_order: str, *, remap: bool, weighted: bool = False) -> Task:
    return Task(distances_program(), True, True, weighted, -1, -1.0, vertex_order, remap)


def pulled(stack: ExitStack, engine: ImageEngine, rows: Rows, task: Task) -> PulledRows:
    def take_scratch(size: int) -> Any:
        return stack.enter_context(engine.workspace.scratch(size))

    return pulled_rows(engine.device, take_scratch, rows, task)


def bucket_of(degree: int, least: int, most: int, vertex_order: str) -> int:
    if vertex_order == "log2":
        return degree.bit_length()
    return (degree - least) * 999 // (most - least)


def expected_order(degrees: list[int], vertex_order: str) -> list[int]:
    ends = min(degrees), max(degrees)
    return sorted(
        range(len(degrees)),
        key=lambda at: (degrees[at] > LANES, bucket_of(degrees[at], *ends, vertex_order), at),
    )


class Entries:
    """Neighbors of rows, and the weights of their entries; all rows are copied once."""

    def __init__(self, device: Any, rows: Rows, *, weighted: bool) -> None:
        self.step, self.weights = rows.step, None
        copies = (device.to_host(each) for each in (rows.begin, rows.degree, rows.columns))
        self.begin, self.degree, self.columns = copies
        if weighted:
            self.weight_begin = device.to_host(rows.weight_begin)
            self.weights = device.to_host(rows.weights)

    def of(self, at: int) -> list[Any]:
        places = self.begin[at] + np.arange(self.degree[at], dtype=np.int64) * self.step
        found = self.columns[places].tolist()
        if self.weights is None:
            return found
        places += self.weight_begin[at] - self.begin[at]
        return list(zip(found, self.weights[places].tolist(), strict=True))


@pytest.mark.parametrize("records", ["simple", "weighted", "weighted64"])
@pytest.mark.parametrize("vertex_order", ["none", "linear", "log2"])
def test_rows_are_the_same_entry_by_entry(device: Any, vertex_order: str, records: str) -> None:
    # Entries of a live row lie apart by their size.
    graph = changed_graph(directed=True, reverse=True, records=records, storage="aos")
    engine, weighted = ImageEngine(device, graph), records != "simple"
    rows = engine.rows("in", weighted=weighted)
    degrees = device.to_host(rows.degree).tolist()
    assert max(degrees) > LANES
    assert min(degrees) == 0
    task = task_of(vertex_order, remap=True, weighted=weighted)
    with ExitStack() as stack:
        found = pulled(stack, engine, rows, task)
        order = list(range(rows.count))
        if vertex_order == "none":
            assert found.order is None
        else:
            order = device.to_host(found.order).tolist()
            assert order == expected_order(degrees, vertex_order)
        longs = sum(degree > LANES for degree in degrees)
        assert found.singles == rows.count - (0 if vertex_order == "none" else longs)
        begins = device.to_host(found.short.begin)
        end, read = 0, []
        for slice_begin in range(0, found.singles, LANES):
            of_slice = range(slice_begin, min(slice_begin + LANES, found.singles))
            short = [degrees[order[at]] for at in of_slice if degrees[order[at]] <= LANES]
            for at in of_slice:
                assert begins[at] == end + at % LANES, "lanes are not side by side"
                if degrees[order[at]] <= LANES:
                    read += [begins[at] + LANES * i for i in range(degrees[order[at]])]
            end += LANES * max(short, default=0)
        columns = device.to_host(found.short.columns)
        assert columns.size == end
        assert np.all(np.delete(columns, read) == 0xFFFFFFFF), "padding names a vertex"
        before, short, long = (
            Entries(device, each, weighted=weighted) for each in (rows, found.short, found.rows)
        )
        for at, vertex in enumerate(order):
            told = (short if degrees[vertex] <= LANES else long).of(at)
            assert told == before.of(vertex)


def rows_of_degrees(device: Any, degrees: list[int]) -> Rows:
    """Rows of which nobody reads an entry."""
    count = len(degrees)
    begin = device.to_device(np.zeros(count, np.int64))
    present = device.to_device(np.ones(count, np.bool_))
    degree = device.to_device(np.array(degrees, np.uint32))
    return Rows(begin, degree, present, degree[:0], 1, sum(degrees), count)


@pytest.mark.parametrize("vertex_order", ["linear", "log2"])
def test_buckets_of_rows_of_millions_of_entries(device: Any, vertex_order: str) -> None:
    """A product of 32 bits wraps around from 4.3 million on."""
    engine = ImageEngine(device, make_graph(([1], [2]), directed=True, reverse=True))
    most = 2**31
    random = np.random.default_rng(3)
    degrees = [most, 33, 32, 0, *(most // 100 * random.permutation(100)).tolist()]
    degrees += random.zipf(1.5, 4_000).clip(0, most).tolist()
    with ExitStack() as stack:
        rows = rows_of_degrees(device, degrees)
        found = pulled(stack, engine, rows, task_of(vertex_order, remap=False))
        assert device.to_host(found.order).tolist() == expected_order(degrees, vertex_order)
        assert found.threads == -(-found.singles // LANES) * LANES + LANES * (
            len(degrees) - found.singles
        )


@pytest.mark.parametrize("vertex_order", ["linear", "log2"])
@pytest.mark.parametrize("degrees", [[], [4] * 70, [50] * 3])
def test_rows_of_one_length_stay_as_they_are(
    device: Any, vertex_order: str, degrees: list[int]
) -> None:
    engine = ImageEngine(device, make_graph(([1], [2]), directed=True, reverse=True))
    rows = replace(rows_of_degrees(device, degrees))
    with ExitStack() as stack:
        found = pulled(stack, engine, rows, task_of(vertex_order, remap=False))
    assert found.order is None
    assert (found.singles, found.rows) == (len(degrees), rows)


def test_the_study_times_every_mode(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    del device  # the CUDA engine works on it
    monkeypatch.setattr(report, "machine", lambda _arm: "a device")
    words = ("--engine", "cuda", "--smaller", 12, "--repeats", 1)
    done = graphtide_here("study", "remapping", "G3", *words)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| G3")]
    assert [row[1] for row in rows[:-1]] == ["PageRank", "SSSP", "components", "BFS", "arranging"]
    assert all(float(cell) > 0 for row in rows[:-1] for cell in row[3:8])
