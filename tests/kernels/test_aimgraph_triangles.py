"""Triangles on aimGraph's structure, in each of the thesis' forms, against those of a matrix."""

from typing import Any

import numpy as np
import pytest

from commands import fails, graphtide_here
from graphtide.flows.bench.measuring import report
from graphtide.flows.study.aimgraph import aimgraphs
from graphtide.gpu_core.cuda.aimgraph.aimgraph import AimGraph
from graphtide.gpu_core.cuda.aimgraph.aimgraph_triangles import FORMS, AimGraphTriangles
from graphtide.gpu_core.cuda.device.compile import variants

VERTICES = 70


def drawn_matrix() -> np.ndarray:
    """Hubs of many pages, cliques, rows of none and one."""
    random = np.random.default_rng(3)
    matrix = random.random((VERTICES, VERTICES)) < 0.12
    matrix[5] = random.random(VERTICES) < 0.8
    matrix[:, 20] = matrix[20] = False
    matrix |= matrix.T
    np.fill_diagonal(matrix, 0)
    return matrix


def keys_of(matrix: np.ndarray) -> np.ndarray:
    src, dst = (each.astype(np.uint64) for each in np.nonzero(matrix))
    return src << np.uint64(32) | dst


@pytest.mark.parametrize("page_bytes", [16, 256])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_each_triangle_is_counted_once(
    device: Any, form: str, is_sorted: bool, page_bytes: int
) -> None:
    matrix = drawn_matrix()
    keys = device.to_device(keys_of(matrix))
    graph = AimGraph(device, keys, vertices=VERTICES, page_bytes=page_bytes, room=0)
    found = AimGraphTriangles(graph, FORMS[form], is_sorted=is_sorted)
    wanted = np.trace(np.linalg.matrix_power(matrix.astype(np.int64), 3)) // 6
    for _ in range(2):
        found.count()
        assert found.total == wanted > 100


def test_each_form_has_its_kernels() -> None:
    assert {each["LANES"] for each in variants("aimgraph_triangles.cu")} == {
        each.lanes for each in FORMS.values()
    }


@pytest.fixture
def has_device(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CUDA engine of commands works on the device."""
    monkeypatch.setattr(aimgraphs, "resolve_engine", lambda _engine: "cuda")
    monkeypatch.setattr(report, "machine", lambda _arm: "a device")


@pytest.mark.usefixtures("has_device")
def test_the_study_prints_a_table() -> None:
    done = graphtide_here("study", "triangles", "G1", "--smaller", 12, "--repeats", 1)
    assert (done.returncode, done.stderr) == (0, "")
    head, _, *rows = [line.split(" | ") for line in done.stdout.splitlines() if line[:1] == "|"]
    assert head[2:8] == ["triangles", *FORMS, "chain (ours)"]
    assert [row[:2] for row in rows] == [["| G1", "in any order"], ["| G1", "sorted"]]
    assert rows[0][2] == rows[1][2] != "0"


@pytest.mark.usefixtures("has_device")
def test_triangles_that_are_not_ours_end_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AimGraphTriangles, "total", 7)
    words = "study", "triangles", "G2", "--smaller", 12, "--repeats", 1, "--form", "naive"
    fails(graphtide_here(*words), 1, "G2, naive: counts 7 triangles where we count 0")
    fails(
        graphtide_here(*words[:3], "--form", "fast"), 2, "form 'fast' is unknown; use one of naive"
    )


def test_without_a_gpu_the_study_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aimgraphs, "resolve_engine", lambda _engine: "host")
    fails(graphtide_here("study", "triangles"), 1, "study triangles: this study needs a GPU")
