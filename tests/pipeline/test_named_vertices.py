"""Runs over logs of names: exact, whatever collides or is killed, on one cluster."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphtide
from graphtide.config.settings import RunSettings
from graphtide.gpu_core.errors import StateError, UpdateLogError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.quarantine import Quarantine
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from workers import worker_pids

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")

ROWS, FILES, BATCH_ROWS = 2_000, 3, 500
#: What a name of a number looks like in each kind of id; few bits, so that names collide.
NAMES: dict[str, Callable[[int], str]] = {
    "string": lambda number: f"user {number:05d}",
    "string:6": lambda number: f"user {number}",
    "uuid": lambda number: f"00000000-0000-4000-8000-{number:012x}",
}


def rows_of(kind: str, seed: int, rows: int = ROWS, vertices: int = 150) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    names = np.array([NAMES[kind](number) for number in range(vertices)], object)
    return pd.DataFrame(
        {
            "op": random.choice(np.array([1, 1, 1, -1], np.int8), rows),
            "src": names[random.integers(0, vertices, rows)],
            "dst": names[random.integers(0, vertices, rows)],
        }
    )


def write(log: Path, number: int, rows: pd.DataFrame) -> None:
    log.mkdir(exist_ok=True)
    form = "parquet" if number % 2 == 0 else "csv"
    path = log / f"{number:04d}.{form}"
    if form == "csv":
        rows.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), path, row_group_size=700)


def expected(frames: list[pd.DataFrame]) -> set[tuple[str, str]]:
    """Edges that the rows come to, one by one."""
    rows = pd.concat(frames, ignore_index=True)
    rows = rows[rows.src != rows.dst].drop_duplicates(["src", "dst"], keep="last")
    rows = rows[rows.op == 1]
    return set(zip(rows.src, rows.dst, strict=True))


def edges_of(graph: Any) -> set[tuple[str, str]]:
    edges = graph.edges()
    pairs = list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs), "an edge is there twice"
    return set(pairs)


@pytest.fixture
def settings_of(run_settings: Callable[..., RunSettings]) -> Callable[..., RunSettings]:
    """Make settings of a run for a kind of ids, also those that are for tests alone."""

    def make(kind: str, **overrides: Any) -> RunSettings:
        made = run_settings(batch_rows=BATCH_ROWS, engine="host", **overrides)
        return replace(made, graph=replace(made.graph, ids=kind))

    return make


@pytest.mark.parametrize(
    ("kind", "handover"), list(zip(NAMES, cycle(("ring", "dask")), strict=False))
)
def test_a_killed_graph_keeps_the_names_that_it_had(
    tmp_path: Path,
    settings_of: Callable[..., RunSettings],
    scheduler: str,
    kind: str,
    handover: str,
) -> None:
    """A log in Parquet and CSV, in two runs; in the second the graph worker is killed."""
    frames = [rows_of(kind, seed) for seed in range(FILES)]
    for number in range(FILES - 1):
        write(tmp_path / "log", number, frames[number])
    state = tmp_path / "state"
    wanted = settings_of(kind, handover=handover, checkpoint_every=3, analytics=["pagerank"])
    run(str(tmp_path / "log"), str(state), wanted)
    write(tmp_path / "log", FILES - 1, frames[-1])
    pids, first = worker_pids(scheduler), (FILES - 1) * ROWS // BATCH_ROWS

    def kill_once(progress: Progress) -> None:
        if progress.batches_done > first and "graph-0" in pids:
            os.kill(pids.pop("graph-0"), signal.SIGKILL)

    summary = run(str(tmp_path / "log"), str(state), wanted, kill_once)
    assert "graph-0" not in pids, "nobody was killed"
    opened = graphtide.open(state)
    edges = expected(frames)
    assert edges_of(opened.graph) == edges
    alone = DynamicGraph(ids=kind, engine="host")
    for rows in frames:
        for start in range(0, ROWS, BATCH_ROWS):
            alone.apply(rows[start : start + BATCH_ROWS])
    assert alone.state_hash() == summary.state_hash, "replays come to other keys"
    ranks = opened.read_results("pagerank")
    assert set(ranks["vertex"]) == set(opened.graph)
    assert ranks["pagerank"].sum() == pytest.approx(1)
    checkpoint = newest_checkpoint(StateDirectory(state))
    assert checkpoint is not None
    names = pq.read_table(checkpoint.path / "names.parquet")
    assert names.num_rows == len({*pd.concat(frames).src, *pd.concat(frames).dst})


def test_damaged_names_are_noticed(tmp_path: Path, settings_of: Callable[..., RunSettings]) -> None:
    write(tmp_path / "log", 0, rows_of("string", 1))
    state = tmp_path / "state"
    run(str(tmp_path / "log"), str(state), settings_of("string", checkpoint_every=2, analytics=[]))
    checkpoints = [StateDirectory(state).checkpoint(each) for each in (1, 3)]
    names = checkpoints[1] / "names.parquet"
    content = bytearray(names.read_bytes())
    content[len(content) // 2] ^= 1
    names.write_bytes(content)
    notes: list[str] = []
    found = newest_checkpoint(StateDirectory(state), notes)
    assert found is not None
    assert found.path == checkpoints[0]
    assert "names.parquet is not as it was written" in notes[0]
    names.unlink()
    assert newest_checkpoint(StateDirectory(state)) == found


def test_a_large_log_of_names_is_exact_against_pandas(
    tmp_path: Path, settings_of: Callable[..., RunSettings]
) -> None:
    frames = [rows_of("string", seed, 200_000, 30_000) for seed in range(2)]
    for number, rows in zip((0, 2), frames, strict=True):
        write(tmp_path / "log", number, rows)
    wanted = replace(settings_of("string", analytics=[]), batch_rows=100_000)
    run(str(tmp_path / "log"), str(tmp_path / "state"), wanted)
    assert edges_of(graphtide.open(tmp_path / "state").graph) == expected(frames)


def test_rows_with_bytes_that_are_no_text_are_named_or_left_out(
    tmp_path: Path, settings_of: Callable[..., RunSettings]
) -> None:
    (tmp_path / "log").mkdir()
    names = pa.array([b"ann", b"bob", b"\xff", b"ann"]).view(pa.string())
    rows = {"src": names, "dst": pa.array(["bob", "ann", "eve", None])}
    pq.write_table(pa.table(rows), tmp_path / "log" / "a.parquet")
    wanted = settings_of("string", analytics=[])
    with pytest.raises(
        UpdateLogError, match=r"a\.parquet, row 2: src is b'\\xff', which is no UTF"
    ):
        run(str(tmp_path / "log"), str(tmp_path / "halted"), wanted)
    state = tmp_path / "state"
    run(str(tmp_path / "log"), str(state), replace(wanted, bad_rows="quarantine"))
    assert edges_of(graphtide.open(state).graph) == {("ann", "bob"), ("bob", "ann")}
    [left_out] = Quarantine(StateDirectory(state)).waiting().values()
    assert Quarantine(StateDirectory(state)).read(left_out)["row"].to_pylist() == [2]


def test_a_state_of_names_stays_one(
    tmp_path: Path, settings_of: Callable[..., RunSettings]
) -> None:
    write(tmp_path / "log", 0, rows_of("string", 1, 100))
    run(str(tmp_path / "log"), str(tmp_path / "state"), settings_of("string", analytics=[]))
    with pytest.raises(StateError, match="ids"):
        run(str(tmp_path / "log"), str(tmp_path / "state"), settings_of("uuid", analytics=[]))
    with pytest.raises(UpdateLogError, match="ids='string' takes names as they are"):
        run(str(tmp_path / "log"), str(tmp_path / "other"), settings_of("any", analytics=[]))
