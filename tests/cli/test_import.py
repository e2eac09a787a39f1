"""Logs that `graphtide import` makes of edge lists and matrices."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from commands import fails, graphtide_here, run_here


def test_an_edge_list_becomes_a_log(tmp_path: Path) -> None:
    (tmp_path / "karate.txt").write_text("# two edges\n1 2\n3 1\n")
    done = graphtide_here("import", "karate.txt", "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 edges" in done.stdout
    files = list((tmp_path / "log").iterdir())
    table = pa.concat_tables(pq.read_table(path) for path in files)
    assert table.select(["src", "dst"]).to_pylist() == [
        {"src": 1, "dst": 2},
        {"src": 3, "dst": 1},
    ]
    # A second import under the same name would repeat the first.
    fails(graphtide_here("import", "karate.txt", "log", cwd=tmp_path), 2, "karate")
    assert list((tmp_path / "log").iterdir()) == files


def test_how_a_matrix_is_read_is_told_as_that_of_an_edge_list_is(tmp_path: Path) -> None:
    kinds = {"symmetric": 4, "general": 2}
    for symmetry, edges in kinds.items():
        text = f"%%MatrixMarket matrix coordinate pattern {symmetry}\n3 3 2\n2 1\n3 1\n"
        (tmp_path / f"{symmetry}.mtx").write_text(text)
        done = graphtide_here("import", f"{symmetry}.mtx", "log", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"{symmetry}.mtx: a Matrix Market matrix, pattern, {symmetry};" in done.stdout
        assert ("in both directions; --undirected" in done.stdout) == (symmetry == "symmetric")
        assert f"\n{edges} edges, " in done.stdout


def test_an_import_tells_how_it_reads_the_file(scheduler: str, tmp_path: Path) -> None:
    (tmp_path / "messages.txt").write_text(
        "1 2 1082040961\n3 4 1082155839\n5 2 1082414391\n1 1 1\n"
    )
    done = graphtide_here("import", "messages.txt", "log", cwd=tmp_path)
    flat = " ".join(done.stdout.split())
    assert "messages.txt: fields separated by white space, no header" in flat
    assert "columns src int64, dst int64, weight double" in flat
    (tmp_path / "messages.txt").write_text("1 2 1082040961\n3 4 1082155839\n5 2 1082414391\n")
    done = graphtide_here("import", "messages.txt", "times", cwd=tmp_path)
    flat = " ".join(done.stdout.split())
    assert "columns src int64, dst int64, ts int64" in flat
    assert "rows src dst ts 1 2 1082040961 3 4 1082155839 5 2 1082414391" in flat
    assert "3 edges" in flat
    assert flat.endswith("next: graphtide run times --state STATE --records semantic")
    next_run = ["times", "--state", "state", "--records", "semantic", "--analytics", "none"]
    run = run_here(scheduler, *next_run, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "3 edges (directed, semantic)" in " ".join(run.stdout.split())
    done = graphtide_here(
        "import", "messages.txt", "weights", "--columns", "from, to ,weight", cwd=tmp_path
    )
    assert "weight double" in done.stdout
    done = graphtide_here("import", "messages.txt", "no", "--columns", "from,to,x", cwd=tmp_path)
    fails(done, 2, "'x' is unknown")
    assert not (tmp_path / "no").exists()


def test_an_import_tells_what_it_has_and_how_it_runs(tmp_path: Path) -> None:
    for name, text, words in (
        ("ops", "src dst op weight\n1 2 1 0.5\n1 2 -1 1\n", ("2 rows, ", " --records weighted\n")),
        ("large", "18446744073709551615 1\n", ("1 edge, ", " --state STATE --ids uint64\n")),
        ("plain", "1 2\n", ("1 edge, ", " --state STATE\n")),
    ):
        (tmp_path / f"{name}.txt").write_text(text)
        done = graphtide_here("import", f"{name}.txt", name, cwd=tmp_path)
        assert [each in done.stdout for each in words] == [True, True], (done.stdout, done.stderr)


def test_a_matrix_market_file_becomes_a_log(tmp_path: Path) -> None:
    (tmp_path / "m.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 2\n"
    )
    done = graphtide_here("import", "m.mtx", "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = pq.read_table(next((tmp_path / "log").iterdir()))
    assert table["src"].to_pylist() == [1, 3]
    assert table["weight"].to_pylist() == [0.5, 2.0]
    for name, entries in (("more", "1 2\n3 1\n2 3\n"), ("less", "1 2\n")):
        head = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n"
        (tmp_path / f"{name}.mtx").write_text(head + entries)
        done = graphtide_here("import", f"{name}.mtx", "log", cwd=tmp_path)
        fails(done, 1, f"{name}.mtx announces 2 entries but has {entries.count(chr(10))}")


def test_a_file_that_is_no_edge_list_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("1 2\none two\n")
    fails(graphtide_here("import", "bad.txt", "log", cwd=tmp_path), 1, "bad.txt", "line 2")
    assert not (tmp_path / "log").exists()
    fails(graphtide_here("import", "none.txt", "log", cwd=tmp_path), 1, "none.txt")
    # The first line that counts, behind others.
    (tmp_path / "late.txt").write_text("# five fields\n\n# each\n1 2 3 4 5\n")
    done = graphtide_here("import", "late.txt", "log", cwd=tmp_path)
    fails(done, 1, "late.txt, line 4 has 5 fields")
    for text in ('{"src": 1, "dst": 2}\n', '\n  {"src": 1}\n'):
        (tmp_path / "rows.txt").write_text(text)
        fails(
            graphtide_here("import", "rows.txt", "log", cwd=tmp_path), 1, "rows.txt is JSON lines"
        )
