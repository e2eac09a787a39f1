"""Graphs of earlier batches: kept, exported, replayed and compared, beside a replay row by row."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from commands import fails, graphtide_here
from graphtide.io.state.directory import StateDirectory
from made_state import apply_log, model_after, random_rows, write_rows
from small_log import files_below

BATCH_ROWS = 30
EVERY = 3
#: Rows of the two files: the first ends with a short batch.
ROWS = (100, 130)
FILES = [random_rows(seed, count) for seed, count in enumerate(ROWS)]
BATCHES = 4 + 5
#: After every third batch.
CHECKPOINTS = [2, 5, 8]

KINDS = {
    "directed": {"directed": True, "records": "simple"},
    "undirected": {"directed": False, "records": "simple"},
    "weighted": {"directed": False, "records": "weighted", "on_repeat": "sum"},
    "semantic": {"directed": True, "records": "semantic"},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Kind -> a folder with ``log`` and ``state``."""
    folders = {}
    for name, kind in KINDS.items():
        folder = folders[name] = tmp_path_factory.mktemp(name)
        for number, rows in enumerate(FILES):
            write_rows(folder / "log", f"{number}.parquet", rows)
        apply_log(
            folder / "log", folder / "state", EVERY, batch_rows=BATCH_ROWS,
            keep_checkpoints="all", **kind,
        )  # fmt: skip
    return folders


@pytest.fixture
def folder(made: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the undirected one, whose state knows the log at its own place."""
    shutil.copytree(made["undirected"], tmp_path, dirs_exist_ok=True)
    apply_log(
        tmp_path / "log", tmp_path / "state", EVERY, batch_rows=BATCH_ROWS, directed=False,
        keep_checkpoints="all",
    )  # fmt: skip
    return tmp_path


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]


def model(kind: dict[str, Any], batch: int) -> Any:
    return model_after(FILES, BATCH_ROWS, batch, **kind)


# -- which checkpoints are kept


@pytest.mark.parametrize(
    ("keep", "kept"), [(None, [5, 8]), (1, [8]), ("3", CHECKPOINTS), ("all", CHECKPOINTS)]
)
def test_as_many_checkpoints_are_kept_as_asked_for(
    tmp_path: Path, keep: object, kept: list[int]
) -> None:
    for number, rows in enumerate(FILES):
        write_rows(tmp_path / "log", f"{number}.parquet", rows)
    wanted = {} if keep is None else {"keep_checkpoints": keep}
    apply_log(tmp_path / "log", tmp_path / "state", EVERY, batch_rows=BATCH_ROWS, **wanted)
    assert StateDirectory(tmp_path / "state").checkpoint_ids() == kept
    values = json.loads(graphtide_here("status", "state", "--json", cwd=tmp_path).stdout)
    assert [each["batch"] for each in values["checkpoints"]] == kept
    text = " ".join(graphtide_here("status", "state", cwd=tmp_path).stdout.split())
    told_of = f"after batches {', '.join(map(str, kept))}"
    assert (told_of in text) == (len(kept) > 1)


# -- export


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_an_export_of_any_batch_is_the_graph_after_its_rows(
    made: dict[str, Path], tmp_path: Path, name: str, batch: int
) -> None:
    files = ["--edges", tmp_path / "e.parquet", "--vertices", tmp_path / "v.parquet"]
    done = graphtide_here("export", made[name] / "state", "--at", batch, *files)
    assert done.returncode == 0, done.stderr
    expected = model(KINDS[name], batch)
    assert rows_of(tmp_path / "e.parquet") == expected.canonical_edges()
    assert [v for (v,) in rows_of(tmp_path / "v.parquet")] == sorted(expected.vertices)


def test_an_export_goes_on_from_the_nearest_whole_checkpoint(folder: Path) -> None:
    """Without the first file, which only batches 0 to 3 are read from; then with a broken one."""
    (folder / "log/0.parquet").rename(folder / "kept.parquet")
    for batch in (2, 5, 7, 8):
        done = graphtide_here("export", "state", "--at", batch, "--edges", "e.parquet", cwd=folder)
        assert done.returncode == 0, done.stderr
        expected = model(KINDS["undirected"], batch).canonical_edges()
        assert rows_of(folder / "e.parquet") == expected
    (folder / "e.parquet").unlink()
    for batch in (0, 3):
        done = graphtide_here("export", "state", "--at", batch, "--edges", "e.parquet", cwd=folder)
        words = ["0.parquet is gone", "are kept of batches 2, 5, 8", "--keep-checkpoints all"]
        fails(done, 1, f"the graph after batch {batch} needs the log", *words)
    # The checkpoint of batch 5 is broken: what it stood for needs the log from batch 3 on.
    (folder / "state/checkpoints/batch=000000000005/edges.parquet").write_bytes(b"")
    done = graphtide_here("export", "state", "--at", 6, "--edges", "e.parquet", cwd=folder)
    fails(done, 1, "the graph after batch 6 needs the log from batch 3 on")
    (folder / "kept.parquet").rename(folder / "log/0.parquet")
    done = graphtide_here("export", "state", "--at", 6, "--edges", "e.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "batch=000000000005 is broken" in done.stderr
    assert rows_of(folder / "e.parquet") == model(KINDS["undirected"], 6).canonical_edges()


def test_a_batch_that_is_not_applied_is_refused(made: dict[str, Path], tmp_path: Path) -> None:
    state = made["directed"] / "state"
    done = graphtide_here("export", state, "--at", BATCHES, "--edges", tmp_path / "e.parquet")
    fails(done, 2, f"batch {BATCHES} is not applied", f"batches 0 to {BATCHES - 1}")
    done = graphtide_here("diff", state, "--from", 0, "--to", BATCHES)
    fails(done, 2, f"batch {BATCHES} is not applied")


# -- replay


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("layout", ["runs", "chain"])
def test_a_replay_has_the_batches_of_the_state(
    made: dict[str, Path], tmp_path: Path, name: str, layout: str
) -> None:
    state, log = made[name] / "state", made[name] / "log"
    for batch in (0, 4):
        edges = tmp_path / f"{batch}.parquet"
        done = graphtide_here(
            "replay", log, "--to", batch, "--state", state, "--layout", layout, "--engine", "host",
            "--edges", edges,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        expected = model(KINDS[name], batch)
        assert rows_of(edges) == expected.canonical_edges()
        told_of = f"{len(expected.vertices)} vertices, {len(expected.edges)} edge"
        assert told_of in " ".join(done.stdout.split())
    done = graphtide_here("replay", log, "--to", 8, "--state", state, "--engine", "host")
    manifest = json.loads((state / "checkpoints/batch=000000000008/manifest.json").read_text())
    assert manifest["state_hash"] in done.stdout


def test_a_replay_without_a_state_is_cut_as_a_first_run_would(
    made: dict[str, Path], tmp_path: Path
) -> None:
    log = made["weighted"] / "log"
    options = ["--undirected", "--records", "weighted", "--batch-rows", 70, "--engine", "host"]
    options += ["--on-repeat", "max"]
    done = graphtide_here(
        "replay", log, "--to", 1, *options, "--edges", tmp_path / "e.parquet"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "(undirected, weighted, max of repeats)" in done.stdout
    assert "applied 2 batches of 4, 100 rows" in " ".join(done.stdout.split())
    expected = model_after(FILES, 70, 1, directed=False, records="weighted", on_repeat="max")
    assert rows_of(tmp_path / "e.parquet") == expected.canonical_edges()
    fails(graphtide_here("replay", log, "--to", 4, *options), 2, "batch 4", "batches 0 to 3")


def test_a_replay_that_contradicts_its_state_is_refused(made: dict[str, Path]) -> None:
    state, log = made["weighted"] / "state", made["weighted"] / "log"
    for options, words in (
        (["--directed"], "--directed contradicts"),
        (["--records", "simple"], "--records simple contradicts"),
        (["--on-repeat", "last"], "--on-repeat last contradicts"),
        (["--batch-rows", 10], "--batch-rows 10 contradicts"),
    ):
        done = graphtide_here("replay", log, "--to", 1, "--state", state, *options)
        fails(done, 2, words)


def test_a_replay_of_another_log_is_refused(made: dict[str, Path], tmp_path: Path) -> None:
    write_rows(tmp_path / "other", "0.parquet", random_rows(99, 100))
    state = made["directed"] / "state"
    done = graphtide_here("replay", tmp_path / "other", "--to", 1, "--state", state)
    fails(done, 1, "0.parquet has changed since it was planned")


# -- diff


def expected_difference(kind: dict[str, Any], first: int, last: int) -> list[tuple[Any, ...]]:
    """Rows of a difference: change, edge or vertex, properties after, properties before."""
    old, new = model(kind, first), model(kind, last)
    before = {edge[:2]: edge[2:] for edge in old.canonical_edges()}
    after = {edge[:2]: edge[2:] for edge in new.canonical_edges()}
    nothing = (None,) * (len(next(iter(after.values()))) if after else 0)
    return [
        *(("added", *e, *after[e], *nothing) for e in sorted(after.keys() - before.keys())),
        *(("removed", *e, *nothing, *before[e]) for e in sorted(before.keys() - after.keys())),
        *(
            ("changed", *e, *after[e], *before[e])
            for e in sorted(before.keys() & after.keys())
            if before[e] != after[e]
        ),
        *(("added", v, None, *nothing, *nothing) for v in sorted(new.vertices - old.vertices)),
        *(("removed", v, None, *nothing, *nothing) for v in sorted(old.vertices - new.vertices)),
    ]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 8), (2, 5), (8, 3), (4, 4)])
def test_a_difference_is_that_of_two_replays(
    made: dict[str, Path], tmp_path: Path, name: str, first: int, last: int
) -> None:
    output = tmp_path / "diff.parquet"
    done = graphtide_here(
        "diff", made[name] / "state", "--from", first, "--to", last, "--output", output
    )
    assert done.returncode == 0, done.stderr
    expected = expected_difference(KINDS[name], first, last)
    assert rows_of(output) == expected
    kinds = [(row[0], row[2] is None) for row in expected]
    flat = " ".join(done.stdout.split())
    for is_vertex, noun in ((False, "edges"), (True, "vertices")):
        counts = [kinds.count((change, is_vertex)) for change in ("added", "removed")]
        assert f"{noun} {counts[0]} added, {counts[1]} removed" in flat
    assert f", {kinds.count(('changed', False))} changed" in flat
    properties = {"weighted": ["weight"], "semantic": ["weight", "type", "first", "last"]}
    names = properties.get(name, [])
    there = ["change", "src", "dst", *names, *(f"{each}_before" for each in names)]
    assert pq.read_schema(output).names == there


def test_a_difference_is_written_as_parquet_alone(made: dict[str, Path], tmp_path: Path) -> None:
    state = made["directed"] / "state"
    done = graphtide_here("diff", state, "--from", 0, "--to", 1, "--output", tmp_path / "d.csv")
    fails(done, 2, "end its name in .parquet")
    assert not (tmp_path / "d.csv").exists()


def test_readers_change_nothing(folder: Path) -> None:
    before = files_below(folder / "state"), files_below(folder / "log")
    for command in (
        ["export", "state", "--at", 4, "--edges", "e.parquet"],
        ["diff", "state", "--from", 1, "--to", 7],
        ["replay", "log", "--to", 3, "--state", "state"],
        ["verify", "state"],
    ):
        done = graphtide_here(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert max(len(text.replace(str(folder), "f")) for text in done.stdout.splitlines()) <= 80
    assert (files_below(folder / "state"), files_below(folder / "log")) == before


def test_bits_and_not_values_are_compared() -> None:
    """As the state hash does."""
    from graphtide import DynamicGraph
    from graphtide.gpu_core.copies.difference import difference

    graphs = []
    for weights in ([0.5, 0.0], [0.5, -0.0]):
        graph = DynamicGraph(records="weighted", engine="host")
        graph.insert_edges([1, 1], [2, 3], weight=weights)
        graphs.append(graph.to_csr())
    found = difference(*graphs)
    assert found.edges_changed.dst.tolist() == [3]


# -- logs that are read in other ways


def test_a_log_is_read_again_as_the_run_read_it(tmp_path: Path) -> None:
    """Own words, rows late by less than a bound, text files: all as the state keeps them."""
    log = tmp_path / "log"
    log.mkdir()
    texts = [
        "op,src,dst,ts\nhired,1,2,10\nhired,2,3,30\nfired,1,2,20\n",
        "op,src,dst,ts\nhired,3,4,50\nfired,2,3,45\nhired,4,5,60\n",
    ]
    for number, text in enumerate(texts):
        (log / f"{number}.csv").write_text(text)
    words = {"op_insert": ["hired"], "op_delete": ["fired"]}
    apply_log(
        log, tmp_path / "state", 2, batch_rows=2, order_by="ts", order_within=15,
        keep_checkpoints="all", **words,
    )  # fmt: skip
    proven = graphtide_here("verify", "state", cwd=tmp_path)
    assert proven.returncode == 0, proven.stderr
    exported = graphtide_here("export", "state", "--at", 2, "--edges", "e.parquet", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    # In order: 1-2, not 1-2, 2-3, not 2-3, 3-4, 4-5; batches of files of three rows: 2, 1, 2, 1.
    assert rows_of(tmp_path / "e.parquet") == [(3, 4)]
    replayed = graphtide_here("replay", "log", "--to", 1, "--state", "state", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert "3 vertices, 1 edge" in " ".join(replayed.stdout.split())


@pytest.mark.parametrize("ts", [5000, 30], ids=["later", "earlier"])
def test_rows_in_the_order_of_a_column_are_those_of_the_run(tmp_path: Path, ts: int) -> None:
    """Also when a file comes to the log that the next run takes, or refuses.

    Without one of the planned, nothing is guessed.
    """
    for number, rows in enumerate(FILES):
        write_rows(tmp_path / "log", f"{number}.parquet", rows)
    kind = {"directed": False, "order_by": "ts", "order_within": 1000, "batch_rows": 120}
    apply_log(tmp_path / "log", tmp_path / "state", 2, **kind)
    added = [row._replace(ts=ts) for row in random_rows(7, 10)]
    write_rows(tmp_path / "log", "2.parquet", added)
    (tmp_path / "log/3.parquet").write_text("half of a file")
    assert graphtide_here("verify", "state", cwd=tmp_path).returncode == 0
    rows = sorted((row for file in FILES for row in file), key=lambda row: row.ts)
    export = ["export", "state", "--at", 0, "--edges", "e.parquet"]
    done = graphtide_here(*export, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = model_after([rows[: ROWS[0]]], ROWS[0], 0, directed=False)
    assert rows_of(tmp_path / "e.parquet") == expected.canonical_edges()
    (tmp_path / "log/1.parquet").unlink()
    fails(graphtide_here(*export, cwd=tmp_path), 1, "1.parquet is planned but gone from the log")
