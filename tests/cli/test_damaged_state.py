"""Damaged states as their users meet them: a sentence that names the file, no wrong graph."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import FIRST, RUN, exported, fails, graphtide_here, replayed, run_first
from graphtide.flows.commands import file_checks, status
from graphtide.flows.commands.file_checks import FileChecks
from graphtide.flows.commands.status import Status
from graphtide.gpu_core.printable import amount
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.result_changes import read_result_at
from graphtide.io.state.results import result_facts, write_result
from made_state import apply_log, random_rows, write_rows
from old_state import change_rows

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, scheduler: str) -> Path:
    """A finished run: ``log`` and ``state``."""
    folder = tmp_path_factory.mktemp("base")
    run_first(folder, scheduler=scheduler)
    return folder


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    shutil.copytree(base, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def run_again(folder: Path, scheduler: str) -> Run:
    """The run once more, on the damaged copy, with more options."""
    return lambda *options: graphtide_here(*RUN, *options, "--scheduler", scheduler, cwd=folder)


def change(path: Path, values: Callable[[Any], Any]) -> None:
    path.write_text(json.dumps(values(json.loads(path.read_text())), indent=1) + "\n")


def changed_files(**changes: object) -> Callable[[Any], Any]:
    return lambda part: {**part, "files": [{**part["files"][0], **changes}, *part["files"][1:]]}


PLAN_CHANGES = {
    "rows": changed_files(rows=300),
    "batch_rows": changed_files(batch_rows=100),
    "batch_rows 0": changed_files(batch_rows=0),
    "twice": lambda part: {**part, "files": [part["files"][0], *part["files"]]},
    "reversed": lambda part: {**part, "files": part["files"][::-1]},
    "first_file": lambda part: {**part, "first_file": "x"},
}


@pytest.mark.parametrize("case", PLAN_CHANGES)
def test_a_changed_plan_is_refused(folder: Path, case: str) -> None:
    change(folder / "state/plan/000000000000.json", PLAN_CHANGES[case])
    for command in (RUN, ["status", "state"]):
        fails(graphtide_here(*command, cwd=folder), 1, "plan/000000000000.json is damaged")


def test_a_plan_whose_last_part_is_gone_is_refused(folder: Path) -> None:
    (folder / "state/plan/000000000000.json").unlink()
    fails(graphtide_here(*RUN, cwd=folder), 1, "the plan in", "batch=000000000004")
    done = graphtide_here("status", "state", cwd=folder)
    fails(done, 1, "state is not whole")
    assert "is not the one that checkpoint" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    "changes", [{"num_edges": 2575}, {"num_vertices": 7}, {"state_hash": "0" * 64}, {"files": {}}]
)
def test_a_changed_manifest_is_not_believed(
    folder: Path, run_again: Run, changes: dict[str, Any]
) -> None:
    manifest = folder / "state/checkpoints/batch=000000000004/manifest.json"
    change(manifest, lambda values: {**values, **changes})
    done = graphtide_here("status", "state", "--json", cwd=folder)
    fails(done, 1, "state is not whole")
    values = json.loads(done.stdout)
    assert (values["batches_applied"], values["num_edges"], values["state_hash"]) == (0, 0, None)
    [note] = values["damage"]
    assert "batch=000000000004 is broken (manifest.json is damaged" in note
    # The log has it all.
    done = run_again()
    assert done.returncode == 0, done.stderr
    assert "applied    5 batches, 700 rows" in done.stdout
    assert exported(folder) == replayed(list(FIRST.values()), directed=False)


@pytest.mark.parametrize("damage", [change_rows, Path.unlink])
def test_an_older_checkpoint_that_is_damaged_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    """A run does not need it; `export --at` and the run after a damage of the newest would."""
    for name in ("a.parquet", "b.parquet"):
        write_rows(tmp_path / "log", name, random_rows(1, 40))
        apply_log(tmp_path / "log", tmp_path / "state", 1)
    state = StateDirectory(tmp_path / "state")
    assert (Status(state).damage, [*Status(state).kept]) == ([], [0, 1])
    damage(state.checkpoint(0) / "edges.parquet")
    found = Status(state)
    assert found.boundary == 2
    [told] = found.damage
    assert f"checkpoint {state.checkpoint(0)} is broken (edges.parquet is " in told
    monkeypatch.setattr(status, "CHECKED_BYTES", 100)
    found = Status(state)
    assert found.damage == []
    [told] = found.notes
    assert "the checkpoint of batch 0 and earlier ones were not checked" in told


@pytest.mark.parametrize("pattern", ["results/batch=*/*.parquet", "checkpoints/*/edges.parquet"])
def test_status_that_looks_again_reads_what_was_written_since(folder: Path, pattern: str) -> None:
    """`--watch` would read up to gigabytes every two seconds of a state where nothing happens."""
    state, checks = StateDirectory(folder / "state"), FileChecks()
    assert Status(state, checks).damage == []
    times = {path: path.stat().st_mtime_ns for path in state.path.glob(pattern)}
    whole = {path: path.read_bytes() for path in times}
    assert whole
    for path, time in times.items():
        # In a page of rows; footers are read each time.
        path.write_bytes(whole[path][:40] + bytes([whole[path][40] ^ 1]) + whole[path][41:])
        os.utime(path, ns=(time, time))
    assert Status(state, checks).damage == [], "it has read them again"
    damage = Status(state).damage
    assert damage
    for path, time in times.items():
        os.utime(path, ns=(time, time + 1))
    assert Status(state, checks).damage == damage
    for path, time in times.items():
        path.write_bytes(whole[path])
        os.utime(path, ns=(time, time + 2))
    assert Status(state, checks).damage == []


def test_a_state_hash_of_an_old_checkpoint_is_compared_with_its_graph(
    folder: Path, run_again: Run
) -> None:
    """One that was written without a hash of its manifest, which then changed."""
    for path in (folder / "state").rglob("*.json"):
        change(path, lambda v: {key: v[key] for key in v if key not in ("sha256", "plan")})
    change(folder / "state/graphtide.json", lambda values: {**values, "version": 1})
    manifest = folder / "state/checkpoints/batch=000000000004/manifest.json"
    change(manifest, lambda values: {**values, "state_hash": "0" * 64})
    words = ["batch=000000000004 has the state hash", "manifest.json says 0000"]
    fails(graphtide_here("export", "state", "--edges", "e.csv", cwd=folder), 1, *words)
    assert not (folder / "e.csv").exists()
    shutil.rmtree(folder / "state/results")
    fails(run_again(), 1, *words)


# -- results and reports

NEWEST = "state/results/batch=000000000004"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize("damage", [cut, change_rows, Path.unlink])
@pytest.mark.parametrize("name", ["pagerank", "clustering"])
def test_newest_results_that_are_damaged_are_told_and_computed_anew(
    folder: Path, run_again: Run, damage: Callable[[Path], None], name: str
) -> None:
    path = folder / NEWEST / f"{name}.parquet"
    whole = path.read_bytes()
    damage(path)
    done = graphtide_here("status", "state", "--json", cwd=folder)
    fails(done, 1, "state is not whole")
    values = json.loads(done.stdout)
    assert values["num_edges"] == len(replayed(list(FIRST.values()), directed=False))
    assert len(values["results"]) == 1
    assert values["notes"] == []
    [note] = values["damage"]
    assert f"{NEWEST}/{name}.parquet is " in note
    assert "run again to have it computed" in note
    done = run_again()
    assert done.returncode == 0, done.stderr
    assert "triangles" in done.stdout
    assert f"{name}.parquet was damaged" in " ".join(done.stdout.split()) or damage == Path.unlink
    assert path.read_bytes() == whole


def test_damaged_results_that_a_run_does_not_compute_are_told(folder: Path) -> None:
    cut(folder / NEWEST / "pagerank.parquet")
    done = graphtide_here(*RUN, "--analytics", "clustering", cwd=folder)
    assert done.returncode == 0, done.stderr
    flat = " ".join(done.stdout.split())
    assert f"{NEWEST}/pagerank.parquet is damaged" in flat
    assert "triangles" in flat


def test_older_results_that_are_damaged_or_missing_are_told(tmp_path: Path, scheduler: str) -> None:
    run_first(tmp_path, "--analytics-every", 2, scheduler=scheduler)
    folder = tmp_path / "state/results"
    assert len(list(folder.glob("batch=*"))) == 3
    change_rows(folder / "batch=000000000003/pagerank.parquet")
    shutil.rmtree(folder / "batch=000000000001")
    done = graphtide_here("status", "state", "--json", cwd=tmp_path)
    fails(done, 1, "state is not whole")
    missing, damaged = json.loads(done.stdout)["damage"]
    assert "batch=000000000001/clustering.parquet is missing, as are 1 older result" in missing
    assert "batch=000000000003/pagerank.parquet is damaged" in damaged
    done = graphtide_here("status", "state", cwd=tmp_path)
    assert done.stdout.count("\ndamage ") == 2


def test_a_damaged_or_missing_report_is_told_with_all_else(folder: Path) -> None:
    path = folder / "state/batches/000000000000-000000000004.parquet"
    change_rows(path)
    for words in ("000000000004.parquet is damaged", ""):
        done = graphtide_here("status", "state", "--json", cwd=folder)
        fails(done, 1, "state is not whole")
        values = json.loads(done.stdout)
        assert values["batches_applied"] == 5
        assert values["rows_applied"] == 700, "told by the plan"
        assert any(words in note and "remove it" in note for note in values["damage"]) or not words
        assert any("lacks reports of 5 batches, from batch 0 to 4" in n for n in values["damage"])
        fails(graphtide_here("status", "state", cwd=folder), 1, "state is not whole")
        path.unlink(missing_ok=True)


def test_a_checkpoint_that_a_run_removes_beside_a_status_is_no_error(tmp_path: Path) -> None:
    write_rows(tmp_path / "log", "a.parquet", random_rows(1, 40))
    apply_log(tmp_path / "log", tmp_path / "state", 1, batch_rows=20)
    status = Status(StateDirectory(tmp_path / "state"))
    # The size of the newest one is as in the sum of all.
    size = status.values()["checkpoints"][-1]["bytes"]
    newest = tmp_path / "state/checkpoints/batch=000000000001"
    assert size == sum(each.stat().st_size for each in newest.iterdir())
    assert f", {amount(size)}" in "\n".join(status.lines())
    shutil.rmtree(newest)
    shown = "\n".join(status.lines())
    assert "written" in shown
    assert "replaced by a newer one meanwhile" in shown


@pytest.mark.parametrize("listing", ["changes_files", "result_files"])
def test_results_that_are_removed_beside_a_status_are_no_error(
    listing: str, tmp_path: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As changes are, once a run has whole columns in their place."""
    options = ("--analytics-every", 1, "--set", "changes_beyond=1", "--set", "columns_every=9")
    run_first(tmp_path, *options, scheduler=scheduler)
    state = StateDirectory(tmp_path / "state")
    for name, path in file_checks.changes_files(state, 2).items():
        whole = read_result_at(state, 2, name)
        write_result(state, 2, name, whole.columns, result_facts(path))
        path.unlink()
    assert Status(state).damage == [], "none is missing"
    find = getattr(file_checks, listing)
    removed: list[Path] = []

    def found_and_removed(state: StateDirectory, batch_id: int) -> dict[str, Path]:
        found: dict[str, Path] = find(state, batch_id)
        removed.extend(found.values())
        for path in found.values():
            path.unlink()
        return found

    monkeypatch.setattr(file_checks, listing, found_and_removed)
    found = Status(StateDirectory(tmp_path / "state"))
    assert removed
    assert (found.damage, found.notes) == ([], [])


def test_other_parameters_are_told_and_the_newest_results_have_them(
    folder: Path, run_again: Run
) -> None:
    path = folder / NEWEST / "pagerank.parquet"
    before = path.read_bytes()
    done = run_again("--set", "pagerank.alpha=0.5")
    assert done.returncode == 0, done.stderr
    flat = " ".join(done.stdout.split())
    assert "pagerank was computed with alpha: 0.85 after batch 4" in flat
    assert "this run computes it with alpha: 0.5" in flat
    assert path.read_bytes() != before
    kept = result_facts(path).parameters
    assert kept is not None
    assert kept["alpha"] == 0.5
    done = graphtide_here(*RUN, "--set", "pagerank.alpha=0.5", cwd=folder)
    assert "nothing to do" in done.stdout
    assert "was computed" not in done.stdout
    done = graphtide_here("status", "state", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    done = run_again()
    assert path.read_bytes() == before


def test_a_second_result_of_an_analytic_beside_the_first(folder: Path, run_again: Run) -> None:
    before = (folder / NEWEST / "pagerank.parquet").read_bytes()
    several = ("--analytics", "pagerank,fast=pagerank,near=bfs", "--set", "near.sources=-5")
    done = run_again(*several, "--set", "fast.alpha=0.5", "--set", "fast.personalization={-5: 1}")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    # How long paths are, is the user's choice.
    assert max(len(line) for line in lines if "/" not in line) <= 80
    assert [line.split()[:2] for line in lines if line.startswith(("fast ", "near "))] == [
        ["fast", "pagerank"],
        ["near", "bfs"],
    ]
    assert "alpha: 0.5, personalization: -5 (1)" in " ".join(done.stdout.split())
    values = json.loads(graphtide_here("status", "state", "--json", cwd=folder).stdout)
    assert set(values["results"]) == {"pagerank", "clustering", "fast", "near"}
    assert values["summary"]["fast"]["parameters"]["alpha"] == 0.5
    assert values["summary"]["fast"]["top"][0][0] == -5
    assert values["source"]["file"] == "b.parquet"
    assert (folder / NEWEST / "pagerank.parquet").read_bytes() == before
    (folder / NEWEST / "fast.parquet").write_bytes(b"nothing")
    done = graphtide_here("status", "state", cwd=folder)
    assert "fast.parquet is damaged" in " ".join(done.stdout.split())


def test_a_run_that_extends_the_plan_meanwhile_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes the plan first, then a checkpoint of it: a reader takes them the other way."""
    log, state = tmp_path / "log", tmp_path / "state"
    write_rows(log, "a.parquet", random_rows(1, 40))
    apply_log(log, state, 1)

    def found_late(*arguments: Any, **options: Any) -> Any:
        write_rows(log, "b.parquet", random_rows(2, 40))
        apply_log(log, state, 1)
        return newest_checkpoint(*arguments)

    monkeypatch.setattr(status, "newest_checkpoint", found_late)
    found = Status(StateDirectory(state))
    assert (found.damage, found.boundary) == ([], 2)
