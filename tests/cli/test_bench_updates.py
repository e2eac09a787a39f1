"""Benchmarks of updates and layouts as a user starts them, small."""

from typing import Any

from commands import fails, graphtide_here
from graphtide.flows.bench.measuring.arm import Arm, Bench
from graphtide.flows.bench.measuring.streams import STREAMS
from graphtide.flows.bench.measuring.workloads import WORKLOADS
from graphtide.flows.bench.transfers import LOCKED, PAGEABLE, transfer_rows
from graphtide.gpu_core.layouts import LAYOUTS


def test_updates_are_measured_in_every_table() -> None:
    done = graphtide_here(
        "bench", "updates", "G4", "--engine", "host", "--smaller", 12, "--repeats", 1
    )
    assert done.returncode == 0, done.stderr
    plain, small = done.stdout.split("\nG4, small batches")
    rows = [line for line in plain.splitlines() if line.startswith("| G4 |")]
    assert len(rows) == 13
    assert len({line.count("|") for line in rows}) == 1
    figures = [cell.strip() for cell in small.splitlines()[-1].strip("| ").split("|")]
    assert figures[0] == "1"
    medians, highest = figures[1::2], figures[2::2]
    assert len(medians) == len(highest) == 4
    assert all(float(low) <= float(high) for low, high in zip(medians, highest, strict=True))


def test_an_unknown_workload_is_told() -> None:
    fails(graphtide_here("bench", "updates", "G9"), 2, "G9", "G1")
    fails(graphtide_here("bench", "ageing", "--batches", 0), 2, "--batches")


def test_transfers_are_measured_from_both_kinds_of_memory(device: Any) -> None:
    bench = Bench(Arm("cuda"), "G4", WORKLOADS["G4"].keys(device.xp, smaller=12), 8, 2)
    rows = list(transfer_rows(bench, 48))
    assert len(rows) == 12
    assert rows[0].label == f"copy of a CSR of {bench.keys.size:,} entries"
    for row in rows:
        assert {kind: len(laps) for kind, laps in row.laps.items()} == {PAGEABLE: 2, LOCKED: 2}


def test_what_expires_stands_beside_deletes_on_every_layout() -> None:
    done = graphtide_here("bench", "expiry", "--engine", "host", "--smaller", 12, "--repeats", 2)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("|")[2].strip() for line in done.stdout.splitlines() if "| G4" in line]
    assert rows == [name for layout in LAYOUTS for name in (layout, f"{layout}, reverse")]


def test_ageing_is_measured_by_every_stream() -> None:
    done = graphtide_here(
        "bench", "ageing", "--engine", "host", "--smaller", 12, "--repeats", 1, "--batches", 3
    )
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| G4, ")]
    assert len(rows) == 6 * len(STREAMS)
    assert max(map(len, rows)) <= 100
    memory = [line.split("|") for line in rows if "| memory |" in line]
    assert all(0.9 < float(cells[-2]) < 1.5 for cells in memory)


def test_every_layout_is_measured_without_and_with_a_hub() -> None:
    done = graphtide_here("bench", "layouts", "--engine", "host", "--smaller", 12, "--repeats", 1)
    # The command as printed is the one to repeat: without --engine it would take a GPU.
    assert done.stdout.startswith("graphtide bench layouts --engine host --smaller 12 --repeats 1,")
    assert "\nMilliseconds of wall time, median of 1 " in done.stdout
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| G4")]
    assert [tuple(cell.strip() for cell in cells[:2]) for cells in rows] == [
        (graph, layout) for graph in ("G4", "G4, a hub") for layout in LAYOUTS
    ]
    assert all(float(cell) > 0 for cells in rows for cell in cells[2:])
    assert all(float(cells[-1]) > 1 for cells in rows), "memory over that of a CSR"
