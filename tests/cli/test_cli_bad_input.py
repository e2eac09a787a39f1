"""Bad input: one sentence that says what, where and what to do; and the state as it was."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import exported, fails, graphtide_here, run_first, run_here, write_log
from small_log import files_below


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, scheduler: str) -> Path:
    """A finished run that bad files are added to, one after the other."""
    folder = tmp_path_factory.mktemp("base")
    run_first(folder, scheduler=scheduler)
    return folder


def columns(**changed: object) -> dict:
    """A small good file, with columns changed or (None) taken away."""
    good = {"op": [1, 1, -1], "src": [1, 2, 1], "dst": [2, 3, 2]}
    return {name: values for name, values in {**good, **changed}.items() if values is not None}


#: What the footer of a file tells: refused before anything is begun.
BAD_COLUMNS = {
    "missing column": (columns(src=None), ["src"]),
    "wrong type": (columns(src=["a", "b", "c"]), ["src", "string"]),
    "float ids": (columns(dst=[1.5, 2.0, 3.0]), ["dst", "double"]),
}

#: What only the rows tell: the batches before are applied. What can be wrong: test_conversion.py.
BAD_ROWS = [
    (columns(op=[1, 5, -1]), ["row 1", "op", "5"]),
    (columns(src=[1, 2, None]), ["row 2", "src", "null"]),
]


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_a_file_with_wrong_columns_is_told_by_name_and_the_state_stays(
    base: Path, case: str
) -> None:
    table, words = BAD_COLUMNS[case]
    before = files_below(base / "state")
    path = base / "log" / "z.parquet"
    pq.write_table(pa.table(table), path)
    try:
        done = graphtide_here("run", "log", "--state", "state", "--undirected", cwd=base)
    finally:
        path.unlink()
    fails(done, 1, "z.parquet", *words)
    assert files_below(base / "state") == before


def test_bad_rows_are_told_with_file_and_row_and_what_came_before_is_kept(
    scheduler: str, tmp_path: Path
) -> None:
    run = partial(run_here, scheduler, "log", "--state", "state", cwd=tmp_path)
    write_log(tmp_path / "log", {"a.parquet": columns()})
    for table, words in BAD_ROWS:
        # In each run the file before is there already, or is applied in it.
        write_log(tmp_path / "log", {"z.parquet": table})
        fails(run(), 1, "z.parquet", *words)
    assert exported(tmp_path) == [(2, 3)]
    # The file can be taken out, or mended.
    (tmp_path / "log" / "z.parquet").unlink()
    done = run()
    assert done.returncode == 0, done.stderr
    write_log(tmp_path / "log", {"z.parquet": columns(op=[1, 1, 1])})
    done = run()
    assert done.returncode == 0, done.stderr
    assert exported(tmp_path) == [(1, 2), (2, 3)]


def test_words_that_an_error_asks_for_are_taken_behind_a_checkpoint(
    scheduler: str, tmp_path: Path
) -> None:
    run = partial(run_here, scheduler, "log", "--state", "state", cwd=tmp_path)
    write_log(tmp_path / "log", {"a.parquet": columns()})
    assert run().returncode == 0
    write_log(tmp_path / "log", {"b.parquet": columns(op=["c", "c", "x"])})
    fails(run(), 1, "b.parquet, row 0: op 'c' is unknown", "op_insert or op_delete")
    done = run("--set", "op_insert=[c]", "--set", "op_delete=[x]")
    assert done.returncode == 0, done.stderr
    assert exported(tmp_path) == [(2, 3)]
    assert graphtide_here("verify", "state", cwd=tmp_path).returncode == 0


def test_words_are_not_added_where_rows_were_left_out(scheduler: str, tmp_path: Path) -> None:
    """A replay would take in what the run left out."""
    run = partial(run_here, scheduler, "log", "--state", "state", cwd=tmp_path)
    write_log(tmp_path / "log", {"a.parquet": columns(op=["c", "insert", "delete"])})
    assert run("--bad-rows", "quarantine").returncode == 0
    fails(run("--set", "op_insert=[c]"), 1, "was made with op_insert: none")
    assert graphtide_here("verify", "state", cwd=tmp_path).returncode == 0


def test_a_log_in_folders_by_operation_is_refused_before_anything_is_written(
    scheduler: str, tmp_path: Path
) -> None:
    run = partial(run_here, scheduler, cwd=tmp_path)
    for op in ("insert", "delete"):
        write_log(tmp_path / "log" / f"op={op}", {"a.parquet": columns(op=None)})
    wanted = "deletes in op=delete and inserts in op=insert, and nothing tells"
    fails(run("log", "--state", "state"), 1, "/log has", wanted)
    assert not (tmp_path / "state" / "graphtide.json").exists()
    fails(graphtide_here("inspect", "log", cwd=tmp_path), 1, wanted)
    fails(graphtide_here("replay", "log", "--to", 0, cwd=tmp_path), 1, wanted)
    done = run("log/op=insert", "log/op=delete", "--state", "state")
    assert done.returncode == 0, done.stderr
    assert exported(tmp_path) == []


def test_inspect_refuses_wrong_lines_only_where_a_run_would(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"src": 1, "dst": 2}\n{"src": 2, "dst": "x"}\n')
    inspect = partial(graphtide_here, "inspect", "a.jsonl", cwd=tmp_path)
    fails(inspect(), 1, "from line 2 on also of type string")
    (tmp_path / "settings.yaml").write_text("graphtide: {bad_rows: quarantine}\n")
    done = inspect("--config", "settings.yaml")
    assert done.returncode == 0, done.stderr


def test_a_log_without_rows_has_no_graph_to_export(scheduler: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,dst\n")
    done = run_here(scheduler, "a.csv", "--state", "state", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = graphtide_here("export", "state", "--edges", "e.csv", cwd=tmp_path)
    fails(done, 1, "no file of its log had a row")


@pytest.mark.parametrize("case", ["not Parquet", "cut short", "empty file"])
def test_a_damaged_file_is_told_by_name_and_the_state_stays(base: Path, case: str) -> None:
    before = files_below(base / "state")
    path = base / "log" / "z.parquet"
    whole = (base / "log" / "a.parquet").read_bytes()
    path.write_bytes({"not Parquet": b"src,dst\n1,2\n", "cut short": whole[:-20]}.get(case, b""))
    try:
        done = graphtide_here("run", "log", "--state", "state", "--undirected", cwd=base)
    finally:
        path.unlink()
    fails(done, 1, "z.parquet")
    assert files_below(base / "state") == before


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], ["directed: false", "directed: true"]),
        (["--undirected", "--records", "weighted"], ["records", "simple", "weighted"]),
        (["--undirected", "--ids", "dense"], ["ids", "any", "dense"]),
    ],
)
def test_a_state_made_with_other_settings_is_refused(
    base: Path, flags: list[str], words: list[str]
) -> None:
    before = files_below(base / "state")
    done = graphtide_here("run", "log", "--state", "state", *flags, cwd=base)
    assert done.returncode in (1, 2)
    fails(done, done.returncode, *words)
    assert files_below(base / "state") == before


def test_a_file_that_changed_or_comes_before_is_refused(base: Path) -> None:
    before = files_below(base / "state")
    run = ["run", "log", "--state", "state", "--undirected"]
    early = base / "log" / "A.parquet"
    pq.write_table(pa.table(columns()), early)
    try:
        fails(graphtide_here(*run, cwd=base), 1, "A.parquet")
    finally:
        early.unlink()
    changed = base / "log" / "b.parquet"
    whole = changed.read_bytes()
    pq.write_table(pa.table(columns()), changed)
    try:
        fails(graphtide_here(*run, cwd=base), 1, "b.parquet")
    finally:
        changed.write_bytes(whole)
    assert files_below(base / "state") == before


def test_a_missing_or_empty_log_is_told_and_no_state_is_made(tmp_path: Path) -> None:
    fails(graphtide_here("run", "none", "--state", "state", cwd=tmp_path), 1, "none")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "_notes.parquet").write_bytes(b"ignored")
    fails(graphtide_here("run", "empty", "--state", "state", cwd=tmp_path), 1, "empty", "Parquet")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("command", ["status state", "export state --edges e.csv"])
def test_a_missing_state_is_told(command: str, tmp_path: Path) -> None:
    fails(graphtide_here(*command.split(), cwd=tmp_path), 1, "state")
    assert list(tmp_path.iterdir()) == []


def test_an_arena_that_is_too_small_is_told_and_nothing_is_applied(
    scheduler: str, tmp_path: Path
) -> None:
    run = partial(run_here, scheduler, "log", "--state", "s", cwd=tmp_path)
    draw = np.random.default_rng(5)
    edges = draw.integers(0, 5000, (2, 20_000)).tolist()
    write_log(tmp_path / "log", {"a.parquet": {"src": edges[0], "dst": edges[1]}})
    done = run("--set", "arena_bytes=64kiB")
    fails(done, 1, "arena_bytes")
    done = run()
    assert done.returncode == 0, done.stderr
    pairs = {(s, d) for s, d in zip(*edges, strict=True) if s != d}
    assert f"{len(pairs):,} edges" in " ".join(done.stdout.split())
