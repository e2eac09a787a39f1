"""Runs over logs with columns of the user's own, of edges and of vertices."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import graphtide
from actor_copies import copied
from commands import fails, graphtide_here
from graphtide import DynamicGraph
from graphtide.config.settings import RunSettings
from graphtide.gpu_core.errors import UpdateLogError
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.log.batch_times import InsertTimes
from graphtide.io.log.row_origin import RowOrigin
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.quarantine import Quarantine
from graphtide.pipeline.batch_form import BatchForm, convert_to_form
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.batches import LoadedBatch
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from workers import worker_pids

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")

ROWS, BATCH_ROWS = 1_000, 250
OWN = {
    "properties": {"amount": "float64", "channel": "int16"},
    "vertex_properties": {"score": "float32"},
}
#: What the log calls a property.
COLUMNS = {"channel": "how"}


def rows_of(seed: int) -> pd.DataFrame:
    """Rows of a log; a twentieth of them about vertices, whose ``dst`` and ``amount`` are null."""
    random = np.random.default_rng(seed)
    is_edge = random.random(ROWS) > 0.05
    amounts = np.round(random.normal(size=ROWS), 3)

    def where(kept: np.ndarray, values: np.ndarray, kind: str) -> pd.Series:
        return pd.Series(values, dtype=kind).where(kept)

    return pd.DataFrame(
        {
            "op": random.choice(np.array([1, 1, 1, -1], np.int8), ROWS),
            "src": random.integers(0, 60, ROWS),
            "dst": where(is_edge, random.integers(0, 60, ROWS), "Int64"),
            # A tenth of the edges have none.
            "amount": where(is_edge & (random.random(ROWS) > 0.1), amounts, "float64"),
            "how": where(is_edge, random.integers(-9, 9, ROWS), "Int16"),
            "score": where(~is_edge, amounts, "float64"),
        }
    )


def write(log: Path, number: int, rows: pd.DataFrame) -> None:
    log.mkdir(exist_ok=True)
    if number % 2:
        rows.to_csv(log / f"{number:04d}.csv", index=False)
    else:
        rows.to_parquet(log / f"{number:04d}.parquet", index=False)


def replayed(
    frames: list[pd.DataFrame], *, directed: bool
) -> tuple[dict[Any, Any], dict[int, Any]]:
    """Values of edges and of vertices after the rows, one by one."""
    edges: dict[Any, Any] = {}
    vertices: dict[int, Any] = {}
    for row in pd.concat(frames).astype(object).itertuples():
        if pd.isna(row.dst):
            vertices.pop(row.src, None)
            if row.op > 0:
                vertices[row.src] = row.score
            else:
                edges = {key: own for key, own in edges.items() if row.src not in key}
        elif row.src != row.dst:
            key = (row.src, row.dst) if directed else tuple(sorted((row.src, row.dst)))
            edges.pop(key, None)
            if row.op > 0:
                edges[key] = (row.amount, row.how)
                for end in key:
                    vertices.setdefault(end, np.nan)
    return edges, vertices


def check(graph: DynamicGraph, frames: list[pd.DataFrame]) -> None:
    edges, vertices = replayed(frames, directed=graph.directed)
    found = graph.to_pandas().set_index(["src", "dst"])
    wanted = pd.DataFrame(
        edges.values(), index=pd.MultiIndex.from_tuples(edges), columns=list(OWN["properties"])
    )
    pd.testing.assert_frame_equal(
        found, wanted.sort_index().astype(OWN["properties"]), check_names=False
    )
    scores = pd.Series(vertices).sort_index().astype("float32")
    of_vertices = graph.vertex_values()
    assert of_vertices["vertex"].tolist() == scores.index.tolist()
    np.testing.assert_array_equal(of_vertices["score"], scores.to_numpy())
    graph.verify()


@pytest.mark.parametrize(("directed", "handover"), [(True, "dask"), (False, "ring")])
def test_a_killed_graph_has_the_values_that_it_had(
    tmp_path: Path,
    run_settings: Callable[..., RunSettings],
    scheduler: str,
    handover: str,
    directed: bool,
) -> None:
    """Parquet and CSV, in two runs; in the second the graph worker is killed. Every batch opens."""
    frames = [rows_of(seed) for seed in range(3)]
    log, state = tmp_path / "log", tmp_path / "state"
    for number in range(2):
        write(log, number, frames[number])
    settings = run_settings(
        batch_rows=BATCH_ROWS, engine="host", handover=handover, checkpoint_every=3, analytics=[],
        columns=COLUMNS, directed=directed, **OWN,
    )  # fmt: skip
    run(str(log), str(state), settings)
    write(log, 2, frames[2])
    pids, first = worker_pids(scheduler), 2 * ROWS // BATCH_ROWS

    def kill_once(progress: Progress) -> None:
        if progress.batches_done > first and "graph-0" in pids:
            os.kill(pids.pop("graph-0"), signal.SIGKILL)

    summary = run(str(log), str(state), settings, kill_once)
    assert "graph-0" not in pids, "nobody was killed"
    opened = graphtide.open(state)
    check(opened.graph, frames)
    assert opened.graph.state_hash() == summary.state_hash
    check(graphtide.open(state, 2 * ROWS // BATCH_ROWS - 1).graph, frames[:2])
    checked = graphtide_here("verify", state)
    assert checked.returncode == 0, checked.stderr
    src, dst, amount, channel = next(iter(opened.graph.edges()))
    asked = graphtide_here("query", state, f"edge {src} {dst}")
    assert f"is there, amount {amount:.6g}, channel {channel}" in asked.stdout
    asked = json.loads(graphtide_here("query", state, f"vertex {src}", "--json").stdout)
    assert list(asked["properties"]) == ["score"]
    files = tmp_path / "edges.parquet", tmp_path / "vertices.csv"
    exported = graphtide_here("export", state, "--edges", files[0], "--vertices", files[1])
    assert exported.returncode == 0, exported.stderr
    pd.testing.assert_frame_equal(pd.read_parquet(files[0]), opened.graph.to_pandas())
    vertices = pd.read_csv(files[1])
    assert vertices.columns.tolist() == ["vertex", "score"]
    np.testing.assert_array_equal(
        vertices["score"].astype("float32"), opened.graph.vertex_values()["score"]
    )


@pytest.mark.usefixtures("emulated_device")
def test_a_graph_on_a_gpu_has_them() -> None:
    """Its batches are neither narrowed nor sent ahead: the host looks at their values first."""
    actor = GraphActor(ActorArguments({"engine": "cuda", **OWN}))
    frames = [rows_of(seed) for seed in range(2)]
    meaning = row_meaning(**OWN)
    for number, rows in enumerate(frames):
        table = pa.Table.from_pandas(rows.rename(columns={"how": "channel"}), preserve_index=False)
        batch = convert_to_form(
            table, BatchForm(on_gpu=True), InsertTimes(), meaning=meaning, origin=RowOrigin(""),
            batch_id=number,
        )  # fmt: skip
        actor.apply(number, LoadedBatch(batch))
    copy = copied(actor, 2)
    graph = DynamicGraph.from_checkpoint_arrays(copy.arrays, engine="host", **OWN)
    assert graph.state_hash() == copy.state_hash
    check(graph, frames)


WRONG = {
    "no such column": ({"dst": [2]}, "no file of the log has a column how"),
    "text": (
        {"dst": [2], "how": ["web"]},
        r"column how \(as channel\) is of type .*string; properties are numbers",
    ),
    "null": ({"dst": [2], "how": pd.array([None], "Int16")}, "row 0: channel is null, which int16"),
    "too large": ({"dst": [2], "how": [40_000]}, "row 0: channel 40000 does not fit into int16"),
    "on a vertex": (
        {"dst": pd.array([None], "Int64"), "how": [1]},
        "row 0: channel is set on a vertex row",
    ),
    "on an edge": ({"dst": [2], "how": [1], "score": [0.5]}, "row 0: score is set on an edge row"),
}


@pytest.mark.parametrize(("columns", "message"), WRONG.values(), ids=WRONG)
def test_columns_that_cannot_be(
    tmp_path: Path, run_settings: Callable[..., RunSettings], columns: dict[str, Any], message: str
) -> None:
    """Each with its file and row; rows are left out where the run says so."""
    rows = pd.DataFrame({"src": [1], **columns})
    if message.startswith("row"):
        rows = rows.assign(**{name: rows.get(name, np.nan) for name in ("amount", "score")})
    write(tmp_path / "log", 0, rows)
    given = {"properties": {"channel": "int16"}, "vertex_properties": {}}
    if message.startswith("row 0: score"):
        given["vertex_properties"] = {"score": "float32"}
    settings = run_settings(columns=COLUMNS, engine="host", analytics=[], **given)
    with pytest.raises(UpdateLogError, match=message):
        run(str(tmp_path / "log"), str(tmp_path / "state"), settings)
    if not message.startswith("row"):
        return
    kept = run_settings(
        columns=COLUMNS, engine="host", analytics=[], bad_rows="quarantine", **given
    )
    run(str(tmp_path / "log"), str(tmp_path / "other"), kept)
    assert len(Quarantine(StateDirectory(tmp_path / "other")).waiting()) == 1


def test_a_state_keeps_its_properties(
    tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    """A later run may name them in another order, and may not leave one out."""
    log, state = tmp_path / "log", tmp_path / "state"
    write(log, 0, rows_of(0))
    settings = {"columns": COLUMNS, "engine": "host", "analytics": [], "batch_rows": BATCH_ROWS}
    run(str(log), str(state), run_settings(**settings, **OWN))
    write(log, 1, rows_of(1))
    turned = {name: dict(reversed(kinds.items())) for name, kinds in OWN.items()}
    summary = run(str(log), str(state), run_settings(**settings, **turned))
    assert graphtide.open(state).graph.state_hash() == summary.state_hash
    fewer = {**OWN, "properties": {"channel": "int16"}}
    with pytest.raises(graphtide.StateError, match="properties"):
        run(str(log), str(state), run_settings(**settings, **fewer))


def test_memory_is_told_before(tmp_path: Path) -> None:
    """By `inspect`, for all rows as new edges; and a property that no file has is refused."""
    write(tmp_path / "log", 0, rows_of(0))
    flags = ["--properties", "amount:float64, how:int16"]
    shown = graphtide_here("inspect", tmp_path / "log", *flags)
    assert shown.returncode == 0, shown.stderr
    assert "of host memory" in " ".join(shown.stdout.split())
    plain = graphtide_here("inspect", tmp_path / "log")
    assert "properties" not in plain.stdout
    wrong = graphtide_here("inspect", tmp_path / "log", "--set", "properties.amuont=float64")
    fails(wrong, 1, "no file of the log has a column amuont")
    wrong = graphtide_here("inspect", tmp_path / "log", "--set", "properties.amount=text")
    fails(wrong, 2, "setting properties.amount: 'text' is not allowed; use bool, int8")
    for text, word in [("amount", "'amount' is no NAME:TYPE"), ("a:bool,a:int8", "named twice")]:
        fails(graphtide_here("inspect", tmp_path / "log", "--vertex-properties", text), 2, word)
