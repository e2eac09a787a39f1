"""Questions about the graph of a state, compared with the rows behind it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fails, graphtide_here
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import read_reports
from graphtide.io.state.results import ResultFacts, result_files, write_result
from graphtide.pipeline.replay import PastGraphs
from made_state import apply_log, model_after, random_rows, write_rows

ROWS, BATCH_ROWS = random_rows(1, 400), 40
LAST = len(ROWS) // BATCH_ROWS - 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weighted, directed state with PageRank after its last batch."""
    folder = tmp_path_factory.mktemp("query")
    write_rows(folder / "log", "a.parquet", ROWS)
    kind = {"batch_rows": BATCH_ROWS, "records": "weighted"}
    apply_log(folder / "log", folder / "state", 5, **kind)
    state = StateDirectory(folder / "state")
    graph = PastGraphs(state).after_newest()
    ranks = graph.pagerank()
    columns = {"vertex": ranks.vertices, "pagerank": ranks.pagerank}
    write_result(state, LAST, "pagerank", columns, ResultFacts("pagerank", {}))
    assert list(result_files(state, LAST)) == ["pagerank"]
    assert len(read_reports(state, notes=[])) == LAST + 1
    return folder


@pytest.fixture(scope="module")
def ask(folder: Path) -> Callable[..., dict[str, Any]]:
    """Ask for JSON."""

    def answer(question: str, *options: object) -> dict[str, Any]:
        done = graphtide_here("query", "state", question, "--json", *options, cwd=folder)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answer


def edges_after(batch: int) -> dict[tuple[int, int], float]:
    """Edge -> weight after a batch, from the rows."""
    edges: dict[tuple[int, int], float] = {}
    for row in ROWS[: (batch + 1) * BATCH_ROWS]:
        if row.dst is None:
            if row.op == -1:
                edges = {pair: edges[pair] for pair in edges if row.src not in pair}
        elif row.op == 1 and row.src != row.dst:
            edges[row.src, row.dst] = row.weight
        else:
            edges.pop((row.src, row.dst), None)
    return edges


@pytest.mark.parametrize("batch", [LAST, 2])
def test_neighbors_degrees_and_edges_are_those_of_the_rows(
    ask: Callable[..., dict[str, Any]], batch: int
) -> None:
    edges = edges_after(batch)
    at = ["--at", batch]
    size = ask("size", *at)
    model = model_after([ROWS], BATCH_ROWS, batch, directed=True)
    assert (size["batch"], size["num_edges"]) == (batch, len(edges))
    assert size["num_vertices"] == len(model.vertices)
    (source, target), weight = next(iter(edges.items()))
    out = {dst: weight for (src, dst), weight in sorted(edges.items()) if src == source}
    into = {src: weight for (src, dst), weight in sorted(edges.items()) if dst == source}
    answer = ask(f"neighbors {source}", *at)
    assert dict(zip(answer["neighbors"], answer["weights"], strict=True)) == out
    answer = ask(f"predecessors {source}", *at)
    assert dict(zip(answer["predecessors"], answer["weights"], strict=True)) == into
    assert ask(f"degree {source}", *at)["degree"] == len(out) + len(into)
    assert ask(f"edge {source} {target}", *at)["weight"] == weight
    assert ask(f"edge {source} {source}", *at)["is_edge"] is False


def test_a_path_runs_along_edges(ask: Callable[..., dict[str, Any]]) -> None:
    edges = edges_after(LAST)
    source, middle = next(iter(edges))
    target = next(dst for src, dst in edges if src == middle and (source, dst) not in edges)
    answer = ask(f"path {source} {target}")
    assert answer["hops"] == 2
    assert all(pair in edges for pair in zip(answer["path"], answer["path"][1:], strict=False))


def test_results_are_ranked_and_stand_with_their_vertex(
    ask: Callable[..., dict[str, Any]],
) -> None:
    rows = ask("top pagerank 4")["rows"]
    ranks = [row["pagerank"] for row in rows]
    assert len(rows) == 4
    assert ranks == sorted(ranks, reverse=True)
    assert ask(f"vertex {rows[0]['vertex']}")["results"]["pagerank"]["pagerank"] == ranks[0]
    assert len(ask("top pagerank")["rows"]) == 10


def test_a_result_that_no_run_wrote_is_computed_and_said_so(folder: Path) -> None:
    done = graphtide_here("query", "state", "top pagerank 1", "--at", LAST - 5, cwd=folder)
    assert done.returncode == 0
    assert done.stderr == ""
    note = "no run wrote it after this batch; it is computed now, by defaults"
    assert done.stdout.startswith(f"note       {note}\n")
    assert "pagerank" in done.stdout


def test_an_edge_has_its_times_as_exports_write_them(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    rows = "src,dst,type,ts\n1,2,5,2024-01-01T00:00:00+01:00\n1,2,6,2024-01-02T00:00:00+01:00\n"
    (tmp_path / "log" / "1.csv").write_text(rows)
    apply_log(tmp_path / "log", tmp_path / "state", 1, records="semantic")
    done = graphtide_here("query", "state", "edge", 1, 2, cwd=tmp_path)
    exported = graphtide_here("export", "state", "--edges", "edges.csv", cwd=tmp_path)
    assert (done.stderr, exported.stderr) == ("", "")
    [names, values] = (tmp_path / "edges.csv").read_text().split()
    kept = list(zip(names.split(",")[2:], values.split(",")[2:], strict=True))
    assert done.stdout.split() == ["edge", "1", "→", "2", "is", "there,", *(
        word for name, value in kept for word in (name, f"{value}," if name != "last" else value)
    )]  # fmt: skip
    done = graphtide_here("query", "state", "edge 1 2", "--json", cwd=tmp_path)
    answer = json.loads(done.stdout)
    assert [answer[name] for name in ("weight", "type")] == [1.0, 6]
    assert [answer[name] for name in ("first", "last")] == [value for _, value in kept[2:]]


def test_amounts_are_shown_with_all_of_their_digits(tmp_path: Path) -> None:
    """An account's balance is not 1.23457e+06; of a float32 no digits that it does not have."""
    columns = {"src": [1], "dst": [2], "weight": [0.1], "amount": [1234567.89], "rate": [0.1]}
    (tmp_path / "log").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "log" / "0.parquet")
    properties = {"amount": "float64", "rate": "float32"}
    apply_log(tmp_path / "log", tmp_path / "state", 1, records="weighted", properties=properties)
    done = graphtide_here("query", "state", "edge 1 2", cwd=tmp_path)
    assert done.stdout == (
        "edge       1 → 2 is there, weight 0.1, amount 1234567.89, rate 0.1\n"
    ), done.stderr
    done = graphtide_here("query", "state", "neighbors 1", cwd=tmp_path)
    assert done.stdout.endswith(" 2 (0.1)\n")


def test_an_edge_of_an_undirected_graph_points_nowhere(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "1.csv").write_text("src,dst\n1,2\n")
    apply_log(tmp_path / "log", tmp_path / "state", 1, directed=False)
    done = graphtide_here("query", "state", "edge 2 1", cwd=tmp_path)
    assert done.stdout == "edge       2 — 1 is there\n", done.stderr
    done = graphtide_here("query", "state", "predecessors 2", cwd=tmp_path)
    assert done.stdout == "vertex     2, 1 predecessor\n           1\n", done.stderr


def test_a_graph_without_edges_in_and_with_properties_of_vertices(tmp_path: Path) -> None:
    """What a line says of what is not there: edges in, a path, a vertex, some of many neighbors."""
    rows = [f"0,{dst}," for dst in range(1, 202)]
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "1.csv").write_text("\n".join(["src,dst,age", *rows, "3,,7", ""]))
    kind = {"reverse": False, "vertex_properties": {"age": "int16"}}
    apply_log(tmp_path / "log", tmp_path / "state", 1, **kind)
    for question, words in (
        ("vertex 3", "0 out; edges in were not kept (--no-reverse)\nproperties age 7\n"),
        ("path 3 0", "path       none leads from 3 to 0\n"),
        ("neighbors 0", " 200\n           … and 1 more; --json has them all\n"),
    ):
        done = graphtide_here("query", "state", question, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert words in done.stdout
    for question in ("vertex 999", "degree 999", "neighbors 999", "path 0 999"):
        done = graphtide_here("query", "state", question, cwd=tmp_path)
        fails(done, 1, "vertex 999 is not in the graph after batch 0")
    done = graphtide_here("query", "state", "predecessors 3", cwd=tmp_path)
    fails(done, 2, "edges in were not kept (--no-reverse)", "--reverse into another --state")


def test_people_read_lines_of_80_columns(folder: Path) -> None:
    (source, target), number = next(iter(edges_after(LAST).items()))
    weight = str(np.float32(number)).removesuffix(".0")
    for question, words in (
        ("size", "vertices, "), (f"vertex {source}", "pagerank   "), (f"degree {source}", " out, "),
        (f"neighbors {source}", f"{target} ({weight})"), ("top pagerank", "vertex   pagerank\n"),
        (f"path {source} {target}", f"1 hop: {source} → {target}"),
        (f"edge {source} {target}", f"is there, weight {weight}"),
    ):  # fmt: skip
        done = graphtide_here("query", "state", *question.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
        assert words in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("question", "status", "words"),
    [
        ("neighbours 5", 2, ["'neighbours'", "did you mean neighbors V?", "path U V"]),
        ("path 5", 2, ["'path 5' names 1", "2 vertices", "path U V"]),
        ("size 5", 2, ["no vertices"]),
        ('path 5 "Ann B.', 2, ["a quote without its other one", 'in quotes: "Ann B."']),
        ("degree five", 2, ["'five' is no vertex"]),
        ("degree 9223372036854775808", 2, ["64 bits"]),
        ("top pagerank 0", 2, ["'0' is no number of rows", "1 or more"]),
        ("top", 2, ["does not name one result"]),
        ("top bfs", 1, ["no result 'bfs' of batch 9", "run the log with analytics bfs"]),
        ("top nothing", 1, ["no result 'nothing'", "pagerank"]),
        ("top weakly_connected_components", 2, ["has component alone", "ids of vertices"]),
        ("path 5 6", 1, ["vertex 5 is not in the graph after batch 9"]),
        (" ", 2, ["no question", "top RESULT [K]"]),
    ],
)
def test_what_cannot_be_answered_is_told(
    folder: Path, question: str, status: int, words: list[str]
) -> None:
    fails(graphtide_here("query", "state", question, cwd=folder), status, *words)
