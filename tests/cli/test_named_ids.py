"""Commands on a log of names: the same names in, in questions, and out."""

import csv
import json
import subprocess
import sys
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphtide
from commands import ENVIRONMENT, PROGRAM, fails, graphtide_here, run_here
from made_state import apply_log

EDGES = [("ann", "bob"), ("bob", "eve, jr."), ("eve, jr.", "ann"), ("zoë", "ann")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, scheduler: str) -> Path:
    """A state of a small log of names."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "log").mkdir()
    for name, edges in (("a", EDGES[:3]), ("b", EDGES[3:])):
        src, dst = (list(ends) for ends in zip(*edges, strict=True))
        pq.write_table(pa.table({"src": src, "dst": dst}), folder / "log" / f"{name}.parquet")
    done = run_here(
        scheduler, "log", "--state", "state", "--ids", "string", "--analytics",
        "pagerank,near=bfs,sssp,parts=weakly_connected_components", "--set", "near.sources=[zoë]",
        "--set", "pagerank.dangling={bob: 1}", "--set", "sssp.source=ann",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "4 vertices, 4 edges" in " ".join(done.stdout.split())
    assert "pagerank   ann (" in done.stdout
    return folder


def ask(folder: Path, *question: str) -> dict:
    done = graphtide_here("query", "state", *question, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_questions_and_answers_are_about_names(folder: Path) -> None:
    assert ask(folder, "neighbors ann")["neighbors"] == ["bob"]
    assert ask(folder, "predecessors ann")["predecessors"] == ["eve, jr.", "zoë"]
    assert ask(folder, 'path zoë "eve, jr."')["path"] == ["zoë", "ann", "bob", "eve, jr."]
    assert ask(folder, "path", "zoë", "eve, jr.")["path"] == ["zoë", "ann", "bob", "eve, jr."]
    assert ask(folder, "top pagerank", "1")["rows"][0]["vertex"] == "ann"
    results = ask(folder, "vertex zoë")["results"]
    assert results["near"] == {"distance": 0}
    assert results["sssp"] == {"distance": None}, "JSON has no number for inf"
    assert results["parts"]["component"] in ("ann", "bob", "eve, jr.", "zoë")
    assert ask(folder, "vertex bob")["results"]["parts"] == results["parts"]
    assert ask(folder, "vertex bob")["results"]["near"] == {"distance": 2}
    assert ask(folder, "top pagerank 1")["rows"][0]["vertex"] == "ann"
    fails(graphtide_here("query", "state", "degree nobody", cwd=folder), 1, "vertex nobody is not")
    fails(graphtide_here("query", "state", 'degree "ann', cwd=folder), 2, "put names in quotes")
    fails(graphtide_here("query", "state", "degree 'eve, jr.'", cwd=folder), 2, 'quotes: "Ann B."')


@pytest.mark.parametrize(
    "program", [PROGRAM, [str(Path(sys.executable).parent / "dask"), "graphtide"]]
)
def test_a_terminal_without_the_letters_of_a_name_gets_them_escaped(
    folder: Path, program: list[str]
) -> None:
    """Python ends a command there whose output has an arrow, when all else is done."""
    words = [*program, "query", "state", "path zoë ann"]
    latin = {**ENVIRONMENT, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(words, capture_output=True, check=False, env=latin, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("latin-1") == "path       1 hop: zoë \\u2192 ann\n"


def test_a_name_with_a_comma_may_be_an_argument_of_its_own(folder: Path) -> None:
    wanted = ask(folder, 'edge bob "eve, jr."')
    assert wanted["is_edge"]
    for words in (
        ("edge", "bob", "eve, jr."), ("edge bob", "eve, jr."), ("edge", '"bob"', '"eve, jr."'),
        ("edge", "bob,", "eve, jr."),
    ):  # fmt: skip
        assert ask(folder, *words) == wanted
    assert ask(folder, "edge", "ann,bob") == ask(folder, "edge ann, bob")
    assert ask(folder, "edge", "a,b", 'c "d" e') == {
        "query": 'edge a,b c "d" e', "batch": 1, "src": "a,b", "dst": 'c "d" e', "is_edge": False,
        "directed": True,
    }  # fmt: skip
    fails(graphtide_here("query", "state", "edge", "a,b,c", cwd=folder), 2, "names 3")


def test_an_id_may_be_written_otherwise_than_answers_have_it(
    tmp_path: Path, scheduler: str
) -> None:
    """UUIDs in capitals, without hyphens, in braces; and numbers with zeros before them."""
    uuids = [str(uuid.UUID(int=0xABCDEF << 100 | number)) for number in range(3)]
    numbers = [2**64 - 1, 7, 2**63]
    written_so = [str.upper, lambda text: text.replace("-", ""), "{{{}}}".format]
    for ids, vertices, others, source in (
        ("uuid", uuids, written_so, uuids[0].upper()),
        ("uint64", numbers, ["0{}".format], numbers[0]),
    ):
        folder = tmp_path / ids
        (folder / "log").mkdir(parents=True)
        kind = pa.uint64() if ids == "uint64" else pa.string()
        ends = {"src": pa.array(vertices[:2], kind), "dst": pa.array(vertices[1:], kind)}
        pq.write_table(pa.table(ends), folder / "log" / "a.parquet")
        first, _, last = vertices
        done = run_here(
            scheduler, "log", "--state", "state", "--ids", ids, "--analytics", "pagerank,bfs",
            "--set", f"bfs.sources=[{source}]", cwd=folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answer = ask(folder, f"vertex {first}")
        assert answer["vertex"] == first
        assert answer["results"].keys() == {"pagerank", "bfs"}
        assert answer["results"]["bfs"]["distance"] == 0
        for question in (
            "vertex {}", "neighbors {}", "predecessors {}", "degree {}", "edge {} {}", "path {} {}"
        ):  # fmt: skip
            wanted = ask(folder, question.format(first, last))
            for written in others:
                given = question.format(written(str(first)), written(str(last)))
                assert ask(folder, *given.split(" ")) == wanted
    fails(graphtide_here("query", "state", "vertex ann", cwd=tmp_path / "uuid"), 2, "'ann' is no")


def test_names_are_no_orders_to_a_terminal(
    tmp_path: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends of lines and escape sequences are written out, and columns stay below each other."""
    odd = ["\x1b[31mred\x1b[0m", "two\nlines", "日本", "with  spaces", "é"]
    (tmp_path / "log").mkdir()
    rows = pa.table({"src": odd, "dst": odd[1:] + odd[:1]})
    pq.write_table(rows, tmp_path / "log" / "a.parquet")
    run = run_here(scheduler, "log", "--state", "state", "--ids", "string", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    questions = ["top pagerank", "vertex 日本", "neighbors 日本", 'path 日本 "two\nlines"']
    for output in (
        run.stdout,
        *(graphtide_here("query", "state", each, cwd=tmp_path).stdout for each in questions),
        graphtide_here("query", "state", 'degree "\x1b[2J"', cwd=tmp_path).stderr,
    ):
        assert output.replace("\n", "").isprintable(), output
    top = graphtide_here("query", "state", "top pagerank", cwd=tmp_path).stdout.splitlines()
    assert len(top) == 1 + len(odd)
    assert r"two\nlines       0.2" in [row.strip() for row in top]
    [wide] = [row for row in top if "日本" in row]
    assert len(wide) + len("日本") == len(top[0])
    assert "with  spaces" in graphtide_here("query", "state", "neighbors 日本", cwd=tmp_path).stdout
    monkeypatch.chdir(tmp_path)
    assert str(graphtide.read_results("state", "pagerank").top(9)).splitlines() == top


def test_a_name_with_quotes_can_be_asked_for(tmp_path: Path) -> None:
    """A quote within quotes stands twice, as in exports; the shell's own word is taken as it is."""
    names = ['the "old" one', '5"', "O'Brien", '"']
    (tmp_path / "log").mkdir()
    rows = pa.table({"src": names, "dst": names[1:] + names[:1]})
    pq.write_table(rows, tmp_path / "log" / "a.parquet")
    apply_log(tmp_path / "log", tmp_path / "state", 1, ids="string")
    for name, neighbor in zip(names, names[1:] + names[:1], strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        assert ask(tmp_path, f"neighbors {quoted}")["neighbors"] == [neighbor]
        assert ask(tmp_path, "neighbors", name)["neighbors"] == [neighbor]
    assert ask(tmp_path, """path "the ""old"" one" O'Brien""")["path"] == names[:3]


def test_exports_and_results_have_the_names(folder: Path) -> None:
    for ending in ("parquet", "csv"):
        arguments = ("--edges", f"edges.{ending}", "--vertices", f"vertices.{ending}")
        done = graphtide_here("export", "state", *arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    table = pq.read_table(folder / "edges.parquet")
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == sorted(EDGES)
    with (folder / "edges.csv").open(newline="", encoding="utf-8") as file:
        assert sorted(map(tuple, csv.reader(file))) == sorted([("src", "dst"), *EDGES])
    names = pq.read_table(folder / "vertices.parquet")["vertex"].to_pylist()
    assert sorted(names) == sorted({name for edge in EDGES for name in edge})
    [results] = sorted((folder / "state" / "results").glob("batch=*"))
    assert pq.read_table(results / "pagerank.parquet")["vertex"].to_pylist() == names


def test_a_state_is_verified_and_compared_in_names(folder: Path) -> None:
    done = graphtide_here("verify", "state", cwd=folder)
    assert done.returncode == 0, done.stderr + done.stdout
    done = graphtide_here(
        "diff", "state", "--from", 0, "--to", 1, "--output", "d.parquet", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    found = [(row["src"], row["dst"]) for row in pq.read_table(folder / "d.parquet").to_pylist()]
    assert found == [("zoë", "ann"), ("zoë", None)]


def test_a_log_of_names_says_how_it_is_taken(folder: Path, scheduler: str) -> None:
    done = run_here(scheduler, "log", "--state", "other", cwd=folder)
    fails(done, 1, "column src is of type string", "--ids string takes names as they are")
    done = run_here(scheduler, "log", "--state", "state", "--ids", "uuid", cwd=folder)
    fails(done, 1, "ids")
    done = run_here(
        scheduler, "log", "--state", "gpu", "--ids", "string", "--set", "convert=gpu", cwd=folder
    )
    fails(done, 2, "convert: gpu takes int64 ids", "convert: cpu")


def test_an_edge_list_of_names_becomes_a_log_that_runs(tmp_path: Path, scheduler: str) -> None:
    (tmp_path / "friends.txt").write_text("ann bob\nbob zoë\n")
    fails(
        graphtide_here("import", "friends.txt", "log", cwd=tmp_path),
        1, "no src or no dst", "--columns src,dst",
    )  # fmt: skip
    done = graphtide_here("import", "friends.txt", "log", "--columns", "src,dst", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ids are taken as names; the first line is an edge" in done.stdout
    assert "graphtide run log --state STATE --ids string" in done.stdout
    done = run_here(
        scheduler, "log", "--state", "state", "--ids", "string", "--analytics", "none", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "3 vertices, 2 edges" in " ".join(done.stdout.split())
