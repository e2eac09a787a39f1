"""Files that commands write: never over the log, or into the state, that they are made of."""

import os
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import graphtide
from commands import fails, graphtide_here, run_here
from made_state import apply_log

ROWS = "src,dst\n1,2\n2,3\n"
IN_STATE = "in the state state, where runs alone write; write it elsewhere"
IN_LOG = "which reads what is there; write it elsewhere"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state of a log of one file."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "log").mkdir()
    (folder / "log" / "1.csv").write_text(ROWS)
    apply_log(folder / "log", folder / "state", 1)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of the state, whose log is at another place."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    apply_log(tmp_path / "log", tmp_path / "state", 1)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def command(words: str, file: object) -> list[Any]:
    return [str(file) if word == "FILE" else word for word in words.split()]


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        ("export state --edges FILE", ".csv"),
        ("export state --edges e.csv --vertices FILE", ".csv"),
        ("export state --result pagerank FILE", ".csv"),
        ("report state --output FILE", ".csv"),
        ("plot state --output FILE", ".svg"),
        ("diff state --from 0 --to 0 --output FILE", ".parquet"),
        ("diff state pagerank --from 0 --to 0 --output FILE", ".parquet"),
        ("replay log --to 0 --state state --edges FILE", ".csv"),
    ],
)
def test_no_command_writes_into_the_state_or_its_log(folder: Path, words: str, ending: str) -> None:
    before = contents(folder)
    for name, reason in (("log/1", IN_LOG), ("log/new", IN_LOG), ("state/new", IN_STATE)):
        done = graphtide_here(*command(words, f"{name}{ending}"), cwd=folder)
        fails(done, 2, reason)
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("export state --edges FILE", "e.csv"),
        ("report state --output FILE", "r.html"),
        ("plot state --output FILE", "p.svg"),
        ("diff state --from 0 --to 0 --output FILE", "d.parquet"),
    ],
)
def test_folders_of_a_file_are_made_by_every_command(folder: Path, words: str, name: str) -> None:
    if words.startswith("plot"):
        pytest.importorskip("matplotlib", reason="an extra of its own")
    done = graphtide_here(*command(words, f"new/er/{name}"), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert [each.name for each in (folder / "new" / "er").iterdir()] == [name]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("export state --edges FILE", "e.csv"),
        ("export state --edges e.csv --vertices FILE", "v.csv"),
        ("report state --output FILE", "r.html"),
        ("plot state --output FILE", "p.svg"),
        ("diff state --from 0 --to 0 --output FILE", "d.parquet"),
        ("replay log --to 0 --edges FILE", "e.parquet"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_computed(
    folder: Path, words: str, name: str
) -> None:
    (folder / "taken" / name).mkdir(parents=True)
    (folder / "taken" / "file").touch()
    if words.startswith("export"):
        # Its graph cannot be read, and nothing says so: that would come later.
        shutil.rmtree(folder / "log")
        shutil.rmtree(folder / "state" / "checkpoints")
    before = contents(folder)
    for place, reason in (
        (name, "Is a directory"), (f"file/{name}", "Not a directory"),
        (f"{'n' * 255}{name}", "File name too long"),
    ):  # fmt: skip
        done = graphtide_here(*command(words, f"taken/{place}"), cwd=folder)
        fails(done, 2, f"cannot be written ({reason})")
        assert not done.stdout
    if words.startswith("report"):
        fails(graphtide_here(*command(words, ""), cwd=folder), 2, "(Is a directory)")
    done = graphtide_here(*command(words, "/proc/" + name), cwd=folder)
    fails(done, 2, f"/proc/{name} cannot be written")
    assert contents(folder) == before


@pytest.mark.parametrize("words", ["--edges e.x", "--vertices v.x", "--result clustering r.x"])
def test_a_form_that_is_none_is_refused_before_anything_is_computed(
    folder: Path, words: str
) -> None:
    shutil.rmtree(folder / "state" / "checkpoints")
    done = graphtide_here("export", "state", *words.split(), cwd=folder)
    fails(done, 2, "is unknown; end its name in .parquet")


@pytest.mark.parametrize(
    "words",
    [
        "--edges x.csv --result pagerank x.csv",
        "--result pagerank FILE --vertices x.csv",
        "--result pagerank x.csv --result clustering sub/../x.csv",
    ],
)
def test_nothing_is_written_over_what_the_same_command_wrote(folder: Path, words: str) -> None:
    done = graphtide_here("export", "state", *command(words, folder / "x.csv"), cwd=folder)
    fails(done, 2, "are both to be written to", "name two files")
    assert not (folder / "x.csv").exists()


def test_a_replay_without_a_state_leaves_its_log_alone(folder: Path) -> None:
    done = graphtide_here("replay", "log", "--to", 0, "--edges", "log/1.csv", cwd=folder)
    fails(done, 2, IN_LOG)
    assert (folder / "log" / "1.csv").read_text() == ROWS


def test_files_of_the_log_and_the_state_are_known_by_other_names(folder: Path) -> None:
    (folder / "link").symlink_to("log")
    (folder / "link.csv").symlink_to("log/1.csv")
    (folder / "state.csv").symlink_to("state/settings.json")
    os.link(folder / "log" / "1.csv", folder / "hard.csv")
    for file, reason in (
        ("link/2.csv", IN_LOG), ("link.csv", "by another name"), ("hard.csv", "by another name"),
        ("state.csv", IN_STATE), (folder / "log" / "1.csv", IN_LOG),
        (f"file://{folder}/log/2.csv", IN_LOG), ("elsewhere/../log/2.csv", IN_LOG),
    ):  # fmt: skip
        fails(graphtide_here("export", "state", "--edges", file, cwd=folder), 2, reason)


def test_what_the_log_does_not_read_may_lie_beside_its_files(folder: Path) -> None:
    for file in ("log/_edges.csv", "log/edges.csv.tmp/edges.csv", "log2.csv", "state2.csv"):
        (folder / file).parent.mkdir(exist_ok=True)
        done = graphtide_here("export", "state", "--edges", file, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (folder / file).read_text().startswith("src,dst")


def test_a_pattern_reads_what_is_called_so(folder: Path) -> None:
    shutil.rmtree(folder / "state")
    apply_log(folder / "l*" / "[0-9].csv", folder / "state", 1)
    for file in ("log/1.csv", "log/2.csv"):
        fails(graphtide_here("export", "state", "--edges", file, cwd=folder), 2, IN_LOG)
    for file in ("log/a.csv", "9.csv"):
        done = graphtide_here("export", "state", "--edges", file, cwd=folder)
        assert done.returncode == 0, done.stderr


def test_a_log_that_is_gone_is_in_no_ones_way(folder: Path) -> None:
    shutil.rmtree(folder / "log")
    for _ in range(2):
        done = graphtide_here("export", "state", "--edges", "e.csv", cwd=folder)
        assert done.returncode == 0, done.stderr


def test_nothing_is_imported_into_a_state_or_twice_into_a_log(folder: Path) -> None:
    (folder / "edges.txt").write_text("1 2\n")
    before = contents(folder)
    done = graphtide_here("import", "edges.txt", "state", cwd=folder)
    fails(done, 2, "state is a state, where runs alone write; import into another folder")
    done = graphtide_here("import", "log/1.csv", "log", cwd=folder)
    fails(done, 2, "log/1.csv would be a file of the log log as well; import into another folder")
    done = graphtide_here("import", "edges.txt", "log/1.csv", cwd=folder)
    fails(done, 2, "log/1.csv/edges.parquet cannot be written (Not a directory)")
    assert not done.stdout, "what is read is told only then"
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["run-10:30", "run::2"])
def test_a_relative_path_with_a_colon_is_a_path(name: str, tmp_path: Path, scheduler: str) -> None:
    """Given such a path, Arrow takes it for a URL, and fsspec for two."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "edges.txt").write_text("ann bob\nbob eve\n")
    here, state = folder.name, f"{folder.name}/state"

    def run(*words: str) -> str:
        done = graphtide_here(*words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    assert "2 edges" in run("import", f"{here}/edges.txt", f"{here}/log", "--columns", "src,dst")
    (folder / "log" / "more.csv").write_text("src,dst\neve,ann\neve\n")
    (folder / "seeds.csv").write_text("vertex,value\nann,1\n")
    done = run_here(
        scheduler, f"{here}/log", "--state", state, "--ids", "string", "--bad-rows", "quarantine",
        "--analytics-every", "1", "--set", f"pagerank.personalization={here}/seeds.csv",
        cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "pagerank" in run("status", state)
    assert run("query", state, "neighbors eve") == "vertex     eve, 1 neighbor\n           ann\n"
    for ending in ("csv", "parquet"):
        file = f"{here}/edges.{ending}"
        assert file in run("export", state, "--edges", file)
    assert pq.read_table(folder / "edges.parquet").num_rows == 3
    run("diff", state, "--from", "0", "--to", "1", "--output", f"{here}/diff.parquet")
    run("diff", state, "pagerank", "--from", "0", "--to", "1", "--output", f"{here}/ranks.parquet")
    assert "proven     yes" in run("verify", state)
    assert "forgotten" in run("requeue", state, "--forget", "batch 1")
    with chdir(tmp_path):
        graph = graphtide.open(state).graph
        saved = graph.save(f"{here}/graph")
        assert graphtide.DynamicGraph.load(saved).state_hash() == graph.state_hash()
        assert len(graphtide.read_summary(state).to_arrow()) == 2


def test_paths_that_are_no_utf_8(tmp_path: Path) -> None:
    """A state cannot be at one; a log may be, and where a relative path begins."""
    (tmp_path / "log-\udcfe").mkdir()
    (tmp_path / "log-\udcfe" / "1.csv").write_text(ROWS)
    here = tmp_path / "here-\udcff"
    here.mkdir()
    with chdir(here):
        apply_log(Path("../log-\udcfe"), Path("state"), 1)
    (here / "edges.txt").write_text("1 2\n")
    for words in (
        "report state --output r.html", "export state --edges e.parquet", "status state",
        "import edges.txt imported",
    ):  # fmt: skip
        done = graphtide_here(*words.split(), cwd=here)
        assert (done.returncode, done.stderr) == (0, "")
    assert r"log-\udcfe" in (here / "r.html").read_text()
    with (here / "e.parquet").open("rb") as file:
        assert pq.read_table(file).num_rows == 2
    for words in ("run log-\udcfe --state s\udcfe", "status s\udcfe"):
        done = graphtide_here(*words.split(), cwd=tmp_path)
        fails(done, 1, r"the path of the state, s\udcfe, is no UTF-8; give another")
    assert not (tmp_path / "s\udcfe").exists()
