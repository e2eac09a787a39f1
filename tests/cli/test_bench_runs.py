"""Benchmarks of runs: the pipeline, its start, a log that is followed."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fails, graphtide, graphtide_here
from graphtide.config.settings import load_settings
from graphtide.flows.bench import follow, pipeline, start
from graphtide.flows.bench.measuring import run_figures
from graphtide.flows.bench.measuring.replay import Expected, replay
from graphtide.flows.bench.measuring.run_figures import by_worker
from graphtide.flows.bench.measuring.run_tables import print_tables
from graphtide.flows.commands.generate import write_log
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import GraphtideError
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.generators.update_streams import UpdateMix
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.report import STAGES, BatchReport
from small_log import write_file


def test_the_pipeline_is_measured_in_every_case_and_its_graphs_are_compared(tmp_path: Path) -> None:
    done = graphtide(
        "bench", "pipeline", "--rows", 9_000, "--file-rows", 4_000, "--passes", 2, "--scale", 6,
        "--edges", "rmat", "--repeats", 1, "--compare", "handover=dask,ring",
        "--set", "batch_rows=1000", "--set", "workers=1", "--set", "engine=host",
        "--set", "directed=false", "--folder", tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "9,000 rows" in done.stdout
    assert "3 files, 2 passes" in done.stdout
    assert "each compared with a replay" in done.stdout
    tables = [line for line in done.stdout.splitlines() if line.startswith("| handover=")]
    assert [line.split()[1] for line in tables] == 3 * ["handover=dask", "handover=ring"]
    given, *lines = done.stdout.splitlines()
    assert given.startswith("graphtide bench pipeline --rows 9000 --file-rows 4000 --passes 2 ")
    assert " --set workers=1 --set engine=host " in given
    assert " --compare handover=dask,ring --repeats 1, 20" in given
    assert max(map(len, lines)) <= 100
    assert list(tmp_path.iterdir()) == [], "the log was left"


def test_a_pipeline_that_gives_another_graph_is_told(tmp_path: Path) -> None:
    shape = pipeline.LogShape(2_000, 1_000, 1, "uniform", 6, 0.1, 0.1, properties=True)
    bench = pipeline.LogBench(tmp_path, shape, is_cold=True, checked=[True])
    settings = {"engine": "host", "ids": "dense", "workers": 1, "analytics": [], "dashboard": False}
    found = bench.measure(load_settings(settings))
    assert found.later_passes is None
    assert set(found.stages) == set(STAGES)
    (tmp_path / "log" / "updates-00001.parquet").unlink()
    with pytest.raises(GraphtideError, match="1,000 of 2,000 rows"):
        bench.measure(load_settings(settings))
    write_log(
        str(tmp_path / "other"), partial(uniform_edges, num_vertices=64), 1_000, files=1,
        mix=UpdateMix(), properties=False, seed=9, quiet=True,
    )  # fmt: skip
    other = next((tmp_path / "other").iterdir())
    other.rename(tmp_path / "log" / "updates-00001.parquet")
    with pytest.raises(GraphtideError, match="please report"):
        bench.measure(load_settings(settings))


def test_a_pipeline_of_unknown_flags_is_told() -> None:
    fails(graphtide_here("bench", "pipeline", "--edges", "grid"), 2, "grid", "rmat")
    fails(graphtide_here("bench", "pipeline", "--passes", 0), 2, "--passes")
    shares = ("--repeated", 0.7, "--deletes", 0.5)
    fails(graphtide_here("bench", "pipeline", *shares), 2, "--repeated 0.7 and --deletes 0.5 leave")
    done = graphtide_here("bench", "pipeline", "--folder", "no/where")
    fails(done, 2, "--folder no/where is no folder; make it, or name another")
    done = graphtide_here("bench", "pipeline", "--folder", "/proc")
    fails(done, 2, "/proc/log cannot be written")
    fails(graphtide_here("bench", "pipeline", "--compare", "window"), 2, "window", "key=value")
    fails(graphtide_here("bench", "pipeline", "--compare", "windw=2"), 2, "windw", "window")
    fails(
        graphtide_here("bench", "pipeline", "--set", "records=weighted"), 2, "simple", "--no-check"
    )


@pytest.mark.parametrize("directed", [True, False])
def test_a_replay_keeps_the_last_row_of_each_edge(directed: bool, tmp_path: Path) -> None:
    rows = 5_000
    draw = np.random.default_rng(3)
    op = draw.choice(np.array([1, 1, -1], np.int8), rows)
    src, dst = draw.integers(0, 40, (2, rows))
    files = []
    for number, half in enumerate((slice(0, rows // 2), slice(rows // 2, rows))):
        files.append(tmp_path / f"{number}.parquet")
        pq.write_table(pa.table({"op": op[half], "src": src[half], "dst": dst[half]}), files[-1])
    graph = DynamicGraph(engine="host", ids="dense", directed=directed)
    for row in range(0, rows, 7):
        these = slice(row, row + 7)
        graph.apply(UpdateBatch.from_rows(op[these], src[these], dst[these], directed=directed))
    expected = Expected(graph.num_vertices, graph.num_edges, graph.state_hash())
    assert replay(files, 64, directed=directed) == expected
    assert replay(files[::-1], 64, directed=directed) != expected, (
        "the order of the files does not show"
    )


def test_the_time_of_each_worker_is_split_into_stages() -> None:
    def report(batch_id: int, **seconds: float) -> BatchReport:
        counts = {**dict.fromkeys(BatchReport._fields, 0), "source": None}
        return BatchReport(**{**counts, "batch_id": batch_id, "seconds": seconds})

    reports = [
        report(0, read=1.0, convert=2.0, transfer=0.5, apply=0.25),
        report(1, read=1.0, apply=0.25),
        report(2, read=0.5, convert=1.0, apply=0.5),
    ]
    shares = by_worker(reports, ["cpu-10", "cpu-9", "cpu-10"], 10.0)
    assert list(shares) == ["cpu-9", "cpu-10", "graph"]
    none = dict.fromkeys(STAGES, 0.0)
    assert shares["cpu-9"] == {**none, "read": 0.1}
    assert shares["cpu-10"] == pytest.approx(
        {**none, "read": 0.15, "convert": 0.3, "transfer": 0.05}
    )
    assert shares["graph"] == pytest.approx({**none, "apply": 0.1})


def test_what_was_busy_is_left_out_of_runs_shorter_than_the_clocks_of_the_system(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The least and the most busy worker were busy for 0 %, and the cores as well."""
    watch = run_figures.Stopwatch(10)
    for number, at in enumerate((5.0, 5.003), 1):
        reading = run_figures.ClockReading(at, 5 * number, at, {1: 1.0}, 2.0)
        watch.first = watch.first or reading
        watch.distinct = watch.last = reading
    watch.seconds = 0.5
    summary = SimpleNamespace(reports=[], readers=[], seconds=1.0)
    found = run_figures.figures(summary, watch, 2.0, 1)  # type: ignore[arg-type]
    assert {who for who, share in found.busy.items() if share == share} == {"CPU workers", "graph"}
    print_tables({"short": [found] * 3})
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "none is full" in line]
    assert [cell.strip() for cell in row.split("|")[4:-2]] == [""] * 4
    # The limit is that of the medians beside it.
    busy = [replace(found, busy=found.busy | {"client": share}) for share in (0.9, 0.95, 0.1)]
    print_tables({"short": busy})
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "90%" in line]
    assert row.split("|")[-2].strip() == "client"


def test_a_start_is_timed_by_stage_and_a_run_that_fails_is_told(tmp_path: Path) -> None:
    write_file(tmp_path / "log", 0)
    stages = start.stages_of_run(tmp_path / "log", tmp_path / "state", ["workers=1"], {})
    assert len(stages) == len(start.STAGES)
    assert stages[0] > 0
    assert min(stages) >= 0
    with pytest.raises(GraphtideError, match=r"status 1: [^{]*nothing"):
        start.stages_of_run(tmp_path / "nothing", tmp_path / "other", [], {})


def test_following_is_timed_by_step(scheduler: str) -> None:
    small = ("--rows", 500, "--first-rows", 2_000, "--scale", 8)
    setting = ("--set", f"scheduler={scheduler}")
    done = graphtide_here("bench", "follow", *small, "--files", 2, *setting)
    assert done.returncode == 0, done.stderr
    given = "graphtide bench follow --rows 500 --files 2 --first-rows 2000 --scale 8 --set "
    assert done.stdout.startswith(f"{given}scheduler={scheduler}, 20")
    assert "\n2 files of 500 rows, into a graph of " in done.stdout
    table = [line.strip("|").split("|") for line in done.stdout.splitlines() if "|" in line][2:]
    assert [cells[0].strip() for cells in table] == [*follow.PARTS, "in all"]
    least, most = zip(*(map(float, cells[2:]) for cells in table), strict=True)
    # Two files: each step lies between its times, and so do their sums.
    assert sum(least[:-1]) <= least[-1] + 0.01
    assert most[-1] <= sum(most[:-1]) + 0.01
    assert min(least) >= 0
    fails(graphtide_here("bench", "follow", *small, "--files", 0), 2, "--files", "1 or more")
