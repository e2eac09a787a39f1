"""Columns of benchmarks: what each says is what was measured, in milliseconds."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from commands import graphtide_here
from graphtide.flows.bench import ageing, latency, start, updates
from graphtide.flows.bench.bench_options import BenchOptions
from graphtide.flows.bench.measuring import clock
from graphtide.flows.bench.measuring.arm import Arm, Bench, MeasuredRow
from graphtide.flows.bench.measuring.clock import Clock, Lap, percentile, spread
from graphtide.flows.bench.measuring.comparison import Comparison
from graphtide.flows.bench.measuring.peers import Rebuild
from graphtide.flows.bench.measuring.report import PrintedTable
from graphtide.flows.bench.measuring.run_tables import print_workers
from graphtide.flows.bench.measuring.subject import Subject
from graphtide.flows.bench.measuring.workloads import WORKLOADS, pack, unpack
from graphtide.gpu_core.errors import GraphtideError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.report import STAGES, BatchReport

KEYS = WORKLOADS["G4"].keys(np, smaller=12)


@pytest.fixture
def known_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inserts take 1 ms on the device and 2 for the caller, deletes 3 and 4, all else 5 and 6."""

    def timed(_clock: Clock, call: Any) -> Lap:
        found = call()
        if not isinstance(found, BatchReport):
            return Lap(5.0, 6.0)
        assert (found.inserted > 0) != (found.deleted > 0)
        return Lap(1.0, 2.0) if found.inserted else Lap(3.0, 4.0)

    monkeypatch.setattr(Clock, "time", timed)


def rows_of(text: str, name: str) -> list[list[str]]:
    lines = (line for line in text.splitlines() if line.startswith(f"| {name}"))
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_a_call_is_timed_in_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter((10.0, 10.25))
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(moments))
    assert Clock(np).time(lambda: None) == Lap(250.0, 250.0)


def test_figures_are_the_median_and_what_lies_around_it() -> None:
    assert spread([5, 1, 4, 2, 100]) == "4.000 (2.000 to 5.000)"
    assert spread([1_000]) == "1,000"
    hundred = range(1, 102)
    assert [percentile(hundred, each) for each in (50, 99)] == ["51.0", "100.0"]
    row = MeasuredRow()
    for each in (1.0, 2.0, 9.0):
        row.add("insert", Lap(each, 10 * each))
    assert (row.median("insert"), row.median("insert", "caller")) == (2.0, 20.0)
    assert (row.device("insert"), row.caller("insert")) == (
        "2.000 (1.500 to 5.500)", "20.0 (15.0 to 55.0)",
    )  # fmt: skip


def test_the_first_round_is_not_kept() -> None:
    bench, done = Bench(Arm("host"), "G4", KEYS, 8, 3), []
    row = bench.measured({"one": partial(done.append, 1), "other": partial(done.append, 2)})
    assert done == [1, 2] * 4, "by turns"
    assert [len(laps) for laps in row.laps.values()] == [3, 3]
    assert len(bench.measured({"one": list}, has_warm_up=False).laps["one"]) == 3


def test_a_graph_is_made_as_often_as_the_heading_says() -> None:
    made = updates.UpdateBench(Arm("host"), "G4", KEYS, 8, 7).initialization()
    assert len(made.laps["insert"]) == 7


def test_bytes_of_a_csr() -> None:
    keys = pack(np, np.array([0, 0, 5]), np.array([1, 2, 0]))
    # Six rows have seven offsets.
    assert updates.csr_bytes(keys) == 4 * (3 + 7)


def test_the_peer_that_is_rebuilt_has_the_entries_of_the_graph() -> None:
    peer, drawn = Rebuild(np, KEYS, 8), KEYS[::3].copy()
    absent = np.concatenate([np.setdiff1d(drawn + 1, KEYS), KEYS[-1:] + 9])
    for keys, (indptr, indices) in (
        (KEYS, peer.insert(drawn)),
        (np.setdiff1d(KEYS, drawn), peer.delete(drawn)),
        (np.setdiff1d(KEYS, drawn), peer.delete(np.concatenate([drawn, absent]))),
    ):
        src, dst = unpack(np, keys)
        assert np.diff(indptr).tolist() == np.bincount(src, minlength=256).tolist()
        assert indices.tolist() == dst.tolist()


@pytest.mark.usefixtures("known_times")
def test_updates_and_the_time_that_a_caller_sees() -> None:
    done = graphtide_here(
        "bench", "updates", "G4", "--engine", "host", "--smaller", 12, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    plain, small = done.stdout.split("\nG4, small batches")
    first, *others = rows_of(plain, "G4 |")
    assert first[2:] == ["1.000", "", "2.000", "", ""]
    assert {tuple(row[2:5]) for row in others} == {("1.000", "3.000", "2.000")}
    assert {tuple(row[5:]) for row in others} == {("5.000", "5.000"), ("", "")}
    # Median and 99 of 100, of inserts and of deletes, by the device and by the caller.
    assert rows_of(small, "1 |")[0][1:] == [each for n in "1324" for each in [f"{n}.000"] * 2]


@pytest.mark.usefixtures("known_times")
def test_a_step_of_pagerank_is_a_part_of_its_time() -> None:
    done = graphtide_here(
        "bench", "analytics", "G1", "--engine", "host", "--smaller", 12, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    [(_, whole, steps, step, *_), *_] = rows_of(done.stdout, "G1 |")
    assert (whole, step) == ("5.000", f"{5 / int(steps):.3f}")


def test_percentiles_are_by_clock_and_then_by_what_was_done() -> None:
    row = MeasuredRow("1")
    for what, device in (("insert", 1.0), ("delete", 3.0)):
        for _ in range(2):
            row.add(what, Lap(device, device + 1))
    assert latency.percentiles(row) == [each for n in "1324" for each in [f"{n}.000"] * 2]


def test_aged_graphs_stand_over_fresh_ones(capsys: pytest.CaptureFixture[str]) -> None:
    table, row = (
        PrintedTable(["stream", "what"], ["fresh", "aged", "aged over fresh"]),
        MeasuredRow(),
    )
    for what in ("insert", "delete", "scan", "PageRank"):
        for age, each in (("fresh", 2.0), ("aged", 3.0)):
            row.add(f"{what}, {age}", Lap(each, 9.0))
    ageing._print_laps(table, "sweep", row)
    fresh, aged = (DynamicGraph(engine="host", ids="dense") for _ in range(2))
    fresh.insert_edges([1], [2])
    aged.insert_edges(np.arange(50_000), np.arange(50_000)[::-1])
    ageing._print_memory(table, "sweep", fresh, aged)
    rows = rows_of(capsys.readouterr().out, "sweep")
    assert {tuple(row[2:]) for row in rows[:4]} == {("2.000", "3.000", "1.500")}
    assert all(float(row[4]) > 1 for row in rows[4:])


def test_expiry_stands_over_deletes(monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(_clock: Clock, call: Any) -> Lap:
        return Lap(9.0, 1.0 if call().expired else 4.0)

    monkeypatch.setattr(Clock, "time", timed)
    done = graphtide_here("bench", "expiry", "--engine", "host", "--smaller", 12, "--repeats", 1)
    assert done.returncode == 0, done.stderr
    assert {tuple(row[2:]) for row in rows_of(done.stdout, "G4")} == {("1.000", "4.000", "0.250")}


def test_wrong_results_have_no_figures(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"hops": (np.array([1, 2]), np.array([1, 3]))}
    comparison = Comparison(
        "bench traversals", ("hops",), Subject, lambda subject: {"hops": subject.plain.vertices},
        {}, lambda _: wrong, most_of_networkx=0,
    )  # fmt: skip
    with pytest.raises(GraphtideError, match="hops are not what they must be"):
        comparison.measure(BenchOptions(["G1"], repeats=1, smaller=12, engine="host"))
    assert not rows_of(capsys.readouterr().out, "G1")


def test_a_cold_start_stands_alone_and_warm_ones_by_their_medians(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    count = len(start.STAGES)
    runs = iter([[9.0] * count, [1.0] * count, [3.0] * count, [2.0] * count])
    monkeypatch.setattr(start, "stages_of_run", lambda *_: next(runs))
    start.bench_start(100, [], repeats=3)
    printed = capsys.readouterr().out
    for name, each in (("cold", 9.0), ("warm", 2.0)):
        assert rows_of(printed, name) == [[name, *[f"{each:.2f}"] * count, f"{each * count:.2f}"]]


def test_a_worker_is_idle_the_rest_of_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    shares = dict.fromkeys(STAGES, 0.0) | {"read": 0.25, "convert": 0.35}
    print_workers("as set", {"cpu-0": shares})
    [row] = rows_of(capsys.readouterr().out, "cpu-0")
    assert (row[1 + STAGES.index("read")], row[1 + STAGES.index("convert")], row[-1]) == (
        "25%", "35%", "40%",
    )  # fmt: skip
