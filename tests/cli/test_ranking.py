"""``graphtide top``, ``diff`` of a result, ``plot``, and exports of results: from files alone."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import graphtide
from commands import fails, graphtide_here
from graphtide.io.state.batch_summary import write_summary
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import read_reports
from graphtide.io.state.result_changes import changes_between, write_changes
from graphtide.io.state.results import ResultFacts, write_result
from made_state import apply_log, random_rows, write_rows

BATCHES = 4
#: Name of a result -> batch -> vertex -> value; of batch 2 the changes are written.
RANKS: dict[int, dict[Any, float]] = {
    1: {1: 0.5, 2: 0.3, 3: 0.2, 7: 0.0},
    2: {1: 0.5, 2: 0.25, 3: 0.25, 7: 0.0},
    3: {2: 0.1, 3: 0.6, 5: 0.3, 7: 0.0},
}


def columns_of(batch: int) -> dict[str, np.ndarray]:
    ranks = RANKS[batch]
    return {"vertex": np.array([*ranks]), "pagerank": np.array([*ranks.values()])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with ranks that can be read off, and components of a few vertices."""
    folder = tmp_path_factory.mktemp("ranking")
    write_rows(folder / "log", "a.parquet", random_rows(1, BATCHES * 30))
    apply_log(folder / "log", folder / "state", BATCHES, batch_rows=30)
    state, facts = StateDirectory(folder / "state"), ResultFacts("pagerank", {})
    for batch in (1, 3):
        write_result(state, batch, "pagerank", columns_of(batch), facts)
    write_changes(state, 2, "pagerank", changes_between(columns_of(1), columns_of(2), 0), facts, 1)
    ids = np.array([4, 5, 6])
    components = {"vertex": ids, "component": np.array([4, 4, 6])}
    write_result(state, 1, "parts", components, ResultFacts("weakly_connected_components", {}))
    hops = {
        "vertex": ids,
        "distance": np.array([0, 1, 2], np.int32),
        "parent": np.array([-1, 4, 4]),
    }
    write_result(state, 1, "tree", hops, ResultFacts("bfs", {"parents": True}))
    names = {"vertex": np.array(["b", "a"], object), "distance": np.array([0.0, np.inf])}
    write_result(state, 1, "far", names, ResultFacts("sssp", {}))
    for batch, distances in ((0, [0, 4, np.inf, 2]), (1, [0, 5, 3, np.inf]), (2, [np.inf] * 4)):
        reached = {"vertex": np.arange(4), "distance": np.array(distances)}
        write_result(state, batch, "near", reached, ResultFacts("sssp", {}))
        hops = np.where(np.isinf(distances), -1, distances).astype(np.int32)
        write_result(state, batch, "hops", {**reached, "distance": hops}, ResultFacts("bfs", {}))
    for batch, vertices, shares in (
        (1, [11, 12, 13, 14, 17, 18], [1, 2, 7, 9, 1, 2]),
        (3, [11, 12, 13, 14, 15, 16], [2, 6, 6, 1, 3, 4]),
    ):
        moved = {"vertex": np.array(vertices), "pagerank": np.array(shares) / 100}
        write_result(state, batch, "shares", moved, facts)
    corners = {
        "vertex": ids,
        "degree": np.array([2, 5, 2]),
        "triangles": np.array([1, 9, 2]),
        "clustering": np.array([0.5, 0, 1]),
    }
    write_result(state, 1, "slow", corners, ResultFacts("clustering", {}))
    write_result(state, 3, "tree", columns_of(3), ResultFacts("pagerank", {}))
    write_result(state, 2, "slow", columns_of(2), facts)
    write_result(state, 3, "slow", columns_of(3), ResultFacts("pagerank", {"alpha": 0.5}))
    names = {
        "vertex": np.array(["b", "c", "a", "d"], object),
        "distance": np.array([0.0, 4, np.inf, np.inf]),
    }
    write_result(state, 2, "far", names, ResultFacts("sssp", {}))
    found = {batch: {"pagerank_iterations": 7 + batch} for batch in (1, 3)}
    reports = read_reports(state)
    write_summary(state, reports, found, {"pagerank_iterations": "int64"})
    return folder


def test_commands_that_read_a_state_go_without_pandas(folder: Path, tmp_path: Path) -> None:
    """Arrow would import it where it is installed, which takes longer than all else."""
    state = str(folder / "state")
    words = (["top", state, "pagerank"], ["export", state, "--edges", str(tmp_path / "edges.csv")])
    lines = (
        "import importlib.util, sys",
        "from graphtide.flows.cli import cli",
        *(f"cli({each}, standalone_mode=False)" for each in words),
        "assert importlib.util.find_spec('pandas') is not None",
        "assert 'pandas' not in sys.modules",
    )
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def rows_after(text: str, title: str) -> list[list[str]]:
    """Words of the rows below a title, without the head."""
    block = text.partition(f"\n{title}\n")[2].partition("\n\n")[0]
    return [row.split() for row in block.splitlines()[1:]]


def test_top_shows_the_largest_of_any_batch(folder: Path) -> None:
    done = graphtide_here("top", "state", "pagerank", "-n", 2, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    head, columns, *rows = done.stdout.splitlines()
    assert "after batch 3, 4 vertices" in head
    assert [columns.split(), *map(str.split, rows)] == [
        ["vertex", "pagerank"], ["3", "0.6"], ["5", "0.3"],
    ]  # fmt: skip
    newest = json.loads(graphtide_here("top", "state", "pagerank", "--json", cwd=folder).stdout)
    assert (newest["batch"], newest["rows"][0]["vertex"]) == (3, 3)
    done = graphtide_here("top", "state", "pagerank", "--at", 2, "--json", cwd=folder)
    assert json.loads(done.stdout) == {
        "result": "pagerank", "batch": 2, "left_out": 0,
        "rows": [{"vertex": v, "pagerank": RANKS[2][v]} for v in (1, 2, 3, 7)],
    }  # fmt: skip


def test_a_result_is_ranked_by_values_and_not_by_vertices(folder: Path) -> None:
    for words in (["top", "state", "tree", "--at", 1], ["query", "state", "top tree", "--at", 1]):
        done = graphtide_here(*words, "--json", cwd=folder)
        assert [row["distance"] for row in json.loads(done.stdout)["rows"]] == [2, 1, 0]


def test_a_result_of_several_values_is_ranked_by_what_it_is_about(folder: Path) -> None:
    for by, expected in (([], [6, 4, 5]), (["--by", "triangles"], [5, 6, 4])):
        done = graphtide_here("top", "state", "slow", "--at", 1, "--json", *by, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert [row["vertex"] for row in json.loads(done.stdout)["rows"]] == expected


def test_diff_of_a_result_shows_who_rose_and_fell_and_came_and_went(folder: Path) -> None:
    diff = ["diff", "state", "pagerank", "--from", 2, "--to", 3]
    done = graphtide_here(*diff, "--output", "moved.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "after batch 3 beside batch 2: 1 rose, 1 fell, 1 came, 1 went" in text
    assert rows_after(done.stdout, "rose") == [["3", "0.25", "0.6", "0.35", "3", "1"]]
    assert rows_after(done.stdout, "fell") == [["2", "0.25", "0.1", "-0.15", "2", "3"]]
    assert rows_after(done.stdout, "came") == [["5", "0.3", "2"]]
    assert rows_after(done.stdout, "went")[0] == ["1", "0.5", "1"]
    table = pq.read_table(folder / "moved.parquet")
    assert table["vertex"].to_pylist() == [2, 3, 5, 7, 1]
    assert table["place_before"].to_pylist() == [2, 3, 0, 4, 1]
    assert table["place_after"].to_pylist() == [3, 1, 2, 4, 0]
    done = graphtide_here(*diff, "-n", 1, cwd=folder)
    assert [len(rows_after(done.stdout, each)) for each in ("rose", "came", "went")] == [1, 1, 1]
    # Of several the one that moved most, which comes last by its id.
    wide = ["diff", "state", "shares", "--from", 1, "--to", 3, "-n", 1]
    done = graphtide_here(*wide, cwd=folder)
    assert [rows_after(done.stdout, each)[0][0] for each in ("rose", "fell", "came", "went")] == [
        "12", "14", "16", "18",
    ]  # fmt: skip
    done = graphtide_here("diff", "state", "pagerank", "--from", 3, "--to", 2, cwd=folder)
    assert rows_after(done.stdout, "went")[0] == ["5", "0.3", "2"]


def test_a_diff_says_where_parameters_differ(folder: Path) -> None:
    done = graphtide_here("diff", "state", "slow", "--from", 2, "--to", 3, cwd=folder)
    assert done.returncode == 0, done.stderr
    note = "note computed with alpha: 0.85 after batch 2, with alpha: 0.5 after batch 3"
    assert note in " ".join(done.stdout.split())


def test_names_and_infinite_values_are_compared(folder: Path) -> None:
    done = graphtide_here("diff", "state", "far", "--from", 1, "--to", 2, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "0 rose, 0 fell, 1 came, 0 went" in " ".join(done.stdout.split())
    assert rows_after(done.stdout, "came")[0][0] == "c"


@pytest.mark.parametrize("name", ["near", "hops"])
def test_what_no_path_leads_to_is_not_at_the_top(folder: Path, name: str) -> None:
    done = graphtide_here("top", "state", name, "--at", 0, "-n", 2, cwd=folder)
    assert done.returncode == 0, done.stderr
    head, left_out, _, *rows = done.stdout.splitlines()
    assert "after batch 0, 4 vertices" in head
    assert left_out.split() == "left out 1 vertex without a value".split()
    assert [row.split() for row in rows] == [["1", "4"], ["3", "2"]]
    for words in (["top", "state", name], ["query", "state", f"top {name}"]):
        for batch, vertices in ((0, [1, 3, 0]), (2, [])):
            done = graphtide_here(*words, "--at", batch, "--json", cwd=folder)
            values = json.loads(done.stdout)
            assert [row["vertex"] for row in values["rows"]] == vertices
            assert values["left_out"] == 4 - len(vertices)


@pytest.mark.parametrize("name", ["near", "hops"])
def test_a_diff_is_of_vertices_with_two_values(folder: Path, name: str) -> None:
    """A vertex that comes to be reached has not risen from -1 hops."""
    diff = ["diff", "state", name, "--from", 0, "--to", 1]
    done = graphtide_here(*diff, "--output", "near.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert ": 1 rose, 0 fell, 0 came, 0 went" in text
    assert "left out 2 vertices without a value after one of the batches" in text
    assert rows_after(done.stdout, "rose")[0] == ["1", "4", "5", "1", "1", "1"]
    table = pq.read_table(folder / "near.parquet")
    assert table["vertex"].to_pylist() == [0, 1]
    assert table["place_before"].to_pylist() == [3, 1]
    assert table["place_after"].to_pylist() == [3, 1]
    done = graphtide_here("diff", "state", "far", "--from", 1, "--to", 2, cwd=folder)
    assert "left out 2 vertices without" in " ".join(done.stdout.split())
    done = graphtide_here("diff", "state", "far", "--from", 2, "--to", 1, cwd=folder)
    assert "0 came, 1 went left out 2 vertices without" in " ".join(done.stdout.split())


def test_a_diff_without_a_result_is_of_the_graphs(folder: Path) -> None:
    done = graphtide_here("diff", "state", "--from", 1, "--to", 2, cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("edges ")
    for option in (("-n", 3), ("--by", "pagerank")):
        done = graphtide_here("diff", "state", "--from", 1, "--to", 2, *option, cwd=folder)
        fails(done, 2, "are about a result: name one after STATE")


def test_a_result_is_exported_as_it_was(folder: Path) -> None:
    export = ["export", "state", "--result", "pagerank", "r.csv", "--result", "pagerank"]
    done = graphtide_here(*export, "r.parquet", "--at", 2, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "pagerank after batch 2, 4 rows" in done.stdout
    assert (folder / "r.csv").read_text().splitlines()[:2] == ["vertex,pagerank", "1,0.5"]
    assert pq.read_table(folder / "r.parquet")["pagerank"].to_pylist() == [*RANKS[2].values()]
    done = graphtide_here(*export, "r.parquet", "--vertices", "v.csv", cwd=folder)
    assert "after batch 3" in done.stdout
    assert (folder / "v.csv").exists()


def titles_of(drawn: str) -> list[str]:
    """Titles of the panels of a plot: the last text of each, but for a legend."""
    panels = drawn.split('<g id="axes_')[1:]
    texts = (re.findall(r"<!-- (\S+) -->", each.partition('<g id="legend_')[0]) for each in panels)
    return [each[-1] for each in texts]


def test_the_summary_is_drawn(folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="an extra of its own")
    for name, begins in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml")):
        done = graphtide_here("plot", "state", "--output", name, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert (folder / name).read_bytes().startswith(begins)
    drawn = (folder / "a.svg").read_text()
    assert titles_of(drawn) == ["size", "pagerank_iterations", "seconds"]
    for panel in drawn.split('id="matplotlib.axis_')[1::2]:
        ticks = re.findall(r"<!-- (\S+) -->", panel)
        assert ticks == ["0", "1", "2", "3", "batch"], "batches are whole, and all in each panel"
    # What is asked for alone, be it empty.
    asked = "apply_seconds, edges,analytics_seconds"
    done = graphtide_here("plot", "state", "--output", "b.svg", "--only", asked, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    only = (folder / "b.svg").read_text()
    assert titles_of(only) == ["seconds", "size"]
    legend = re.findall(r"<!-- (apply|analytics|read|vertices|edges) -->", only)
    assert legend == ["apply", "analytics"]


def test_the_summary_of_one_batch_has_no_parts_of_batches(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="an extra of its own")
    write_rows(tmp_path / "log", "a.parquet", random_rows(1, 20))
    apply_log(tmp_path / "log", tmp_path / "state", every=9)
    done = graphtide_here("plot", "state", "--output", "a.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for panel in (tmp_path / "a.svg").read_text().split('id="matplotlib.axis_')[1::2]:
        assert re.findall(r"<!-- (\S+) -->", panel) == ["0", "batch"]


def test_what_cannot_be_shown_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cases: list[tuple[list[Any], int, str]] = [
        (["top", "state", "pagerank", "--at", 0], 1, "it has one of batch 1"),
        (["top", "state", "far", "--at", 3], 1, "it has one of batch 2"),
        (["top", "state", "shares", "--at", 2], 1, "it has one of batch 1 and of batch 3"),
        (["top", "state", "bfs"], 1, "run the log with analytics bfs"),
        (["top", "state", "labels"], 1, "no result 'labels'; the state has far, h"),
        (["top", "state", "betweenness"], 1, "; did you mean betweenness_centrality?"),
        (["top", "state", "page_rank"], 1, "; did you mean pagerank?"),
        (["top", "state", "components"], 1, "mean strongly_connected_components or weakly_connec"),
        (["top", "state", "triangles"], 1, "; triangles is a column of clustering"),
        (["top", "state", "distance"], 1, "; distance is a column of bfs or sssp"),
        (["top", "state", "pagerank", "--by", "degree"], 2, "no such column; there are pagerank"),
        (["top", "state", "parts", "--by", "component"], 2, "these are ids of vertices"),
        (["top", "state", "parts"], 2, "parts has component alone: these are ids of vertices"),
        (["diff", "state", "parts", "--from", 1, "--to", 1], 2, "these are ids of vertices"),
        (["top", "nowhere", "pagerank"], 1, "there is no graphtide state"),
        (["diff", "state", "pagerank", "--from", 0, "--to", 3], 1, "it has one of batch 1"),
        (
            ["diff", "state", "tree", "--from", 1, "--to", 3],
            2,
            "tree is of bfs after batch 1, of p",
        ),
        (["export", "state", "--result", "pagerank", "r.mtx"], 2, "r.mtx is unknown; end its"),
        (["export", "state"], 2, "--result NAME FILE"),
        (["plot", "state", "--output", "a.gif"], 2, "use a name that ends with .png or .svg"),
    ]
    for words, status, text in cases:
        fails(graphtide_here(*words, cwd=folder), status, text)
    assert (
        graphtide.open(folder / "state", at=1).batch_id
        == graphtide.open(folder / "state", 1, at=1).batch_id
        == 1
    )
    with pytest.raises(graphtide.SettingsError, match="batch=1 and at=2 are two batches"):
        graphtide.open(folder / "state", 1, at=2)
    with pytest.raises(graphtide.SettingsError, match="batch=1 and at=2 are two batches"):
        graphtide.read_results(folder / "state", "pagerank", 1, at=2)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    fails(graphtide_here("plot", "state", cwd=folder), 2, "graphtide plot needs matplotlib; pip")
