"""Logs that `graphtide generate` makes: reproducible, whole, or not there."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fails, graphtide, graphtide_here
from emulated_device import EmulatedDevice
from graphtide import DynamicGraph, UpdateBatch
from graphtide.flows.commands import generate
from graphtide.gpu_core.generators.watts_alpha import watts_alpha_edges
from small_log import files_below


def ops_of(table: pa.Table) -> np.ndarray:
    assert table.schema.field("op").type == pa.binary(1)
    return np.frombuffer(b"".join(table["op"].to_pylist()), np.int8)


def test_generated_logs_are_reproducible_and_whole(tmp_path: Path) -> None:
    options = ["--rows", 5000, "--files", 3, "--vertex-deletes", 0.01, "--seed", 7]
    done = graphtide_here("generate", "uniform", "one", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5,000 rows in 3 files" in done.stdout
    graphtide("generate", "uniform", "two", *options, cwd=tmp_path)
    assert files_below(tmp_path / "one") == files_below(tmp_path / "two")
    table = pa.concat_tables(pq.read_table(path) for path in sorted(tmp_path.glob("one/*")))
    assert table.schema.names == ["op", "src", "dst"]
    assert table.schema.types[1:] == [pa.int32()] * 2
    assert table.num_rows == 5000
    is_vertex = table["dst"].is_null().to_numpy()
    assert 20 < is_vertex.sum() < 90
    assert (ops_of(table)[is_vertex] == -1).all()
    fails(graphtide_here("generate", "uniform", "one", cwd=tmp_path), 2, "one", "not empty")


def test_a_killed_call_leaves_nothing_that_looks_like_a_log(tmp_path: Path) -> None:
    script = (
        "import os, signal\n"
        "from graphtide.flows.commands.generate import write_log\n"
        "from graphtide.gpu_core.generators.update_streams import UpdateMix\n"
        "def edges(numbers):\n"
        "    if numbers.size and numbers.max() >= 20:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return numbers.astype('i8'), numbers.astype('i8') + 1\n"
        "write_log('log', edges, 40, mix=UpdateMix(), files=4, properties=False, seed=0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    whole = [*(tmp_path / "log").glob("updates-?????.parquet.tmp")]
    assert len(whole) == 2, "it was killed at its third file"
    fails(graphtide_here("inspect", tmp_path / "log"), 1, "log")


def test_a_call_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*arguments: object) -> int:
        path = arguments[4]
        assert isinstance(path, Path)
        path.touch()
        if len([*path.parent.iterdir()]) == 3:
            raise KeyboardInterrupt
        return 1

    monkeypatch.setattr(generate, "_write_file", write)
    with pytest.raises(KeyboardInterrupt):
        generate.generate_uniform(
            str(tmp_path / "log"), 100, 10,
            {"files": 5, "repeats": 0, "deletes": 0, "vertex_deletes": 0, "properties": False,
             "seed": 0},
        )  # fmt: skip
    assert not [*(tmp_path / "log").iterdir()]


def test_several_processes_write_the_log_that_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = dict.fromkeys(("repeats", "deletes", "vertex_deletes"), 0.1)
    for name, rows in (("one", 2_001), ("several", 2_000)):
        monkeypatch.setattr(generate, "_PARALLEL_ROWS", rows)
        generate.generate_uniform(
            str(tmp_path / name), 2_000, 64,
            {**options, "files": 3, "properties": True, "seed": 5, "quiet": True},
        )  # fmt: skip
    assert files_below(tmp_path / "one") == files_below(tmp_path / "several")


def test_a_log_of_a_model_is_its_edges(tmp_path: Path) -> None:
    sizes = {
        ("watts-alpha", "--vertices", 60, "--degree", 5): 150,
        ("watts-strogatz", "--vertices", 60, "--degree", 6): 180,
        ("barabasi-albert", "--vertices", 60, "--degree", 2): 120,
        ("erdos-renyi", "--vertices", 60, "--degree", 5): 150,
        ("geometric", "--vertices", 60, "--degree", 5, "--rows", 90): 90,
        ("grid", "--vertices", 60, "--width", 10): 104,
    }
    for (model, *words), rows in sizes.items():
        done = graphtide_here("generate", model, model, *words, "--files", 2, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        table = pa.concat_tables(pq.read_table(each) for each in (tmp_path / model).iterdir())
        assert table.num_rows == rows
    table = pq.read_table(tmp_path / "watts-alpha")
    src, dst = table["src"], table["dst"]
    edges = watts_alpha_edges(60, 5, 1.0)
    assert [src.to_pylist(), dst.to_pylist()] == [each.tolist() for each in edges]
    first = ("--vertices", 60, "--degree", 5, "--rows", 40)
    done = graphtide_here("generate", "watts-alpha", "first", *first, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        pq.read_table(tmp_path / "first")
        .select(["src", "dst"])
        .equals(table.select(["src", "dst"]).slice(0, 40))
    )


@pytest.mark.parametrize(
    ("model", "computation"),
    [("watts-alpha", "watts_alpha_edges"), ("geometric", "geometric_size")],
)
def test_a_folder_that_takes_no_log_is_refused_before_edges_are_computed(
    model: str, computation: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def computes(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(generate, computation, computes)
    (tmp_path / "full" / "log").mkdir(parents=True)
    (tmp_path / "file").touch()
    for out, words in (
        ("full", "full is not empty; name a new folder"),
        ("file", "file is a file; name a new folder"),
        ("file/log", "cannot be written (Not a directory)"),
    ):
        fails(graphtide_here("generate", model, out, cwd=tmp_path), 2, words)


def test_a_log_of_two_vertices_has_one_file(tmp_path: Path) -> None:
    done = graphtide_here("generate", "grid", "log", "--vertices", 2, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (only,) = (tmp_path / "log").iterdir()
    assert pq.read_table(only).select(["src", "dst"]).to_pylist() == [{"src": 0, "dst": 1}]


def test_a_gpu_grows_the_log_of_the_host(emulated_device: EmulatedDevice, tmp_path: Path) -> None:
    for engine in ("host", "cuda"):
        sizes = ("--vertices", 30, "--degree", 4, "--engine", engine)
        done = graphtide_here("generate", "watts-alpha", engine, *sizes, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    assert files_below(tmp_path / "host") == files_below(tmp_path / "cuda")
    assert emulated_device.launches


def test_a_log_of_a_sweep_has_the_sources_in_order(tmp_path: Path) -> None:
    size = ("--vertices", 100, "--rows", 1000, "--files", 1, "--repeats", 0, "--deletes", 0)
    done = graphtide_here("generate", "uniform", "of", "--stream", "sweep", *size, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    table = pq.read_table(next((tmp_path / "of").iterdir()))
    assert table["src"].to_pylist() == [row // 10 for row in range(1000)]


def test_a_log_of_a_window_leaves_its_edges(tmp_path: Path) -> None:
    """The graph at the end, told row by row; a run's counts of it, too."""
    stream = ("--stream", "sliding-window", "--window", 30, "--files", 2)
    done = graphtide_here(
        "generate", "erdos-renyi", "log", "--vertices", 40, *stream, "--rows", 201, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    table = pa.concat_tables(pq.read_table(each) for each in sorted(tmp_path.glob("log/*")))
    there: list[tuple[int, int]] = []
    ends = zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True)
    for op, edge in zip(ops_of(table), ends, strict=True):
        if op > 0:
            there.append(edge)
        else:
            assert edge == there.pop(0)
    graph = DynamicGraph(engine="host")
    for name in sorted(tmp_path.glob("log/*")):
        part = pq.read_table(name)
        ends_of = (part[column].to_numpy() for column in ("src", "dst"))
        graph.apply(UpdateBatch.from_rows(ops_of(part), *ends_of))
    edges = graph.edges()
    assert sorted(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)) == sorted(there)
    assert graph.num_edges == 31


def test_a_window_of_more_edges_than_rows_is_never_full(tmp_path: Path) -> None:
    size = ("--vertices", 40, "--rows", 60, "--files", 1)
    for window in (60, 2**70):
        stream = ("--stream", "sliding-window", "--window", window)
        done = graphtide_here("generate", "erdos-renyi", window, *size, *stream, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert (ops_of(pq.read_table(tmp_path / str(window))) == 1).all()
    assert files_below(tmp_path / "60") == files_below(tmp_path / str(2**70))


def test_a_window_takes_no_edge_of_a_model_twice(tmp_path: Path) -> None:
    """A grid of 9 vertices has 12 edges: after 5 inserts each second row is one more."""
    stream = ("--vertices", 9, "--stream", "sliding-window", "--window", 5, "--files", 1)
    done = graphtide_here("generate", "grid", "log", *stream, "--rows", 19, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    table = pq.read_table(tmp_path / "log")
    inserted = table.filter(ops_of(table) == 1).select(["src", "dst"])
    assert inserted.num_rows == inserted.group_by(["src", "dst"]).aggregate([]).num_rows == 12
    plain = graphtide_here("generate", "grid", "more", "--window", 5, cwd=tmp_path)
    fails(plain, 2, "--window is of --stream sliding-window, not random")
    none = graphtide_here("generate", "uniform", "more", "--vertices", 0, cwd=tmp_path)
    fails(none, 2, "--vertices 0 cannot be drawn")
    alpha = ("generate", "watts-alpha", "more", "--vertices", 10, "--degree", 2, "--rows", 11)
    fails(graphtide_here(*alpha, cwd=tmp_path), 2, "--rows 11 are more than the 10 edges")
    alone = ("generate", "watts-alpha", "more", "--vertices", 2, "--degree", 0.5)
    fails(graphtide_here(*alone, cwd=tmp_path), 2, "--degree 0.5 makes no edge of 2 vertices")
    more = graphtide_here("generate", "grid", "more", *stream, "--rows", 20, cwd=tmp_path)
    fails(more, 2, "20 rows need 13 edges, but the graph has 12")


def test_a_generated_log_can_carry_properties(tmp_path: Path) -> None:
    done = graphtide_here(
        "generate", "rmat", "log", "--scale", 6, "--properties", "--files", 1, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    table = pq.read_table(next((tmp_path / "log").iterdir()))
    assert table.num_rows == 16 * 64
    assert table.schema.names == ["op", "src", "dst", "weight", "type", "ts"]
    seconds = table["ts"].cast(pa.timestamp("s", "UTC")).to_numpy()
    assert (np.diff(seconds) == np.timedelta64(1, "s")).all(), "a row a second"
    is_insert = ops_of(table) == 1
    assert not table["weight"].is_null().to_numpy()[is_insert].any()
    assert table["weight"].is_null().to_numpy()[~is_insert].all()
