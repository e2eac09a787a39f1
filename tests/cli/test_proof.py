"""``graphtide verify``: a state is proven by its log, or told where it differs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import fails, graphtide_here
from graphtide import DynamicGraph
from made_state import apply_log, random_rows, write_rows
from old_state import change_rows, flip
from small_log import files_below

BATCH_ROWS = 30
#: Four batches and five; checkpoints after every third.
FILES = [random_rows(seed, count) for seed, count in enumerate((100, 130))]


def nothing(_batch: int, _graph: DynamicGraph) -> None:
    """An engine that does not err."""


def made(folder: Path, spoil: Callable[[int, DynamicGraph], None] = nothing, **kind: Any) -> Path:
    """Make ``log`` and ``state`` in a folder; gives the folder."""
    for number, rows in enumerate(FILES):
        write_rows(folder / "log", f"{number}.parquet", rows)
    settings = {"batch_rows": BATCH_ROWS, "keep_checkpoints": "all", **kind}
    apply_log(folder / "log", folder / "state", 3, spoil, **settings)
    return folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("kept"))


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    made(tmp_path)  # the log has moved, and nothing else is to be done
    return tmp_path


def proof_of(folder: Path, *options: object) -> tuple[int, dict[str, Any], str]:
    """Exit status, what is printed for programs, and the sentence."""
    done = graphtide_here("verify", "state", "--json", *options, cwd=folder)
    assert done.stderr.count("\n") == (done.returncode != 0)
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"directed": False, "records": "weighted", "weights": "float64", "on_repeat": "count"},
        {"records": "semantic", "layout": "chain", "reverse": False},
    ],
)
def test_a_state_is_proven_on_another_layout(tmp_path: Path, kind: dict[str, Any]) -> None:
    made(tmp_path, **kind)
    before = files_below(tmp_path)
    status, proof, _ = proof_of(tmp_path)
    assert status == 0
    assert proof["is_proven"] is True
    assert (proof["replayed"], proof["rows"], proof["reports"]) == (9, 230, 9)
    assert proof["checkpoints"] == [2, 5, 8]
    other = "runs" if kind.get("layout") == "chain" else "chain"
    assert (proof["layout"], proof["engine"]) == (other, "host")
    done = graphtide_here("verify", "state", cwd=tmp_path)
    flat = " ".join(done.stdout.split())
    assert "9 batches of 9, 230 rows" in flat
    assert "checkpoints of batches: 2, 5, 8 proven yes" in flat
    given = ("--layout", "tree", "--engine", "host")
    assert proof_of(tmp_path, *given)[1]["layout"] == "tree"
    assert files_below(tmp_path) == before


def test_batches_that_no_checkpoint_has_are_named(folder: Path) -> None:
    """As where the newest one was removed by hand."""
    assert proof_of(folder)[1]["notes"] == []
    shutil.rmtree(folder / "state/checkpoints/batch=000000000008")
    status, proof, _ = proof_of(folder)
    assert (status, proof["batches"], proof["checkpoints"]) == (0, 6, [2, 5])
    [note] = proof["notes"]
    assert note.startswith("no whole checkpoint has batches 6 to 8, of which there are reports")
    done = graphtide_here("verify", "state", cwd=folder)
    assert "note no whole checkpoint has batches 6 to 8" in " ".join(done.stdout.split())


def test_the_first_report_that_differs_is_named(tmp_path: Path) -> None:
    def lose_an_edge(batch: int, graph: DynamicGraph) -> None:
        if batch == 3:
            edges = graph.edges()
            graph.delete_edges(edges.src[:1], edges.dst[:1])

    made(tmp_path, lose_an_edge)
    status, proof, sentence = proof_of(tmp_path)
    assert status == 1
    assert proof["first_difference"] == 4
    assert "is not what its log comes to: the first batch that differs is 4" in sentence
    assert "was right after batch 2" in sentence
    assert proof["checkpoints"] == [2]
    done = graphtide_here("verify", "state", cwd=tmp_path)
    assert "proven no" in " ".join(done.stdout.split())


def test_a_difference_that_no_count_shows_is_seen_by_the_state_hash(tmp_path: Path) -> None:
    def change_a_weight(batch: int, graph: DynamicGraph) -> None:
        if batch == 5:
            edges = graph.edges()
            graph.insert_edges(edges.src[:1], edges.dst[:1], weight=77.0)

    made(tmp_path, change_a_weight, records="weighted")
    status, proof, sentence = proof_of(tmp_path)
    assert (status, proof["first_difference"]) == (1, 5)
    assert "its checkpoint has state_hash" in sentence
    assert proof["reports"] == 6


@pytest.mark.parametrize(
    ("file", "unproven", "replayed", "checkpoints"),
    [("0.parquet", "batches 0 to 5", 3, [8]), ("1.parquet", "batches 4 to 8", 4, [2])],
)
@pytest.mark.parametrize("is_gone", [False, True])
def test_what_a_changed_log_leaves_unproven_is_told(
    folder: Path, is_gone: bool, file: str, unproven: str, replayed: int, checkpoints: list[int]
) -> None:
    (folder / "log" / file).unlink()
    if not is_gone:
        write_rows(folder / "log", file, random_rows(77, 130))
    status, proof, sentence = proof_of(folder)
    assert status == 1
    assert proof["first_difference"] is None
    assert proof["replayed"] == replayed
    assert proof["checkpoints"] == checkpoints
    [text] = proof["unproven"]
    assert text.startswith(f"{unproven}: ")
    assert file in text
    assert ("is gone" in text) if is_gone else ("has changed since it was planned" in text)
    assert "as far as that could be compared" in sentence


def test_damaged_files_of_the_state_are_told(folder: Path) -> None:
    [report] = folder.glob("state/batches/000000000003-*")
    change_rows(report)
    flip(folder / "state/checkpoints/batch=000000000005/edges.parquet", 60)
    [read] = folder.glob("state/read/000000000006-*")
    flip(read, 30)
    status, proof, _ = proof_of(folder)
    assert status == 1
    assert proof["first_difference"] is None
    assert proof["checkpoints"] == [2, 8]
    assert proof["reports"] == 6
    texts = " ".join(proof["unproven"])
    for words in ("batch=000000000005 is broken", f"{report.name} is damaged", read.name):
        assert words in texts
    assert "what became of the rows of batches 3 to 5: 3 reports are missing" in texts


def test_without_a_checkpoint_there_is_nothing_to_prove(folder: Path) -> None:
    shutil.rmtree(folder / "state/checkpoints")
    fails(graphtide_here("verify", "state", cwd=folder), 1, "has no checkpoint yet")
    fails(graphtide_here("verify", "log", cwd=folder), 1, "there is no graphtide state")
