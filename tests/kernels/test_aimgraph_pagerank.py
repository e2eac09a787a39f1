"""PageRank on aimGraph's structure, in each of the thesis' forms, against its formula and ours."""

from typing import Any

import numpy as np
import pytest

from commands import fails, graphtide_here
from graphtide import DynamicGraph
from graphtide.flows.bench.measuring import report
from graphtide.flows.study.aimgraph import aimgraphs, pagerank
from graphtide.gpu_core.cuda.aimgraph.aimgraph import AimGraph
from graphtide.gpu_core.cuda.aimgraph.aimgraph_pagerank import FORMS, AimGraphPageRank
from graphtide.gpu_core.cuda.device.compile import variants
from graphtide.gpu_core.generators.rmat import rmat_edges

VERTICES = 90


def drawn_matrix(*, directed: bool) -> np.ndarray:
    """Hubs of many pages, rows of none, one and several, full pages and others."""
    src, dst = rmat_edges(np.arange(500, dtype=np.uint64), 6)
    matrix = np.zeros((VERTICES, VERTICES))
    matrix[src, dst] = matrix[7, 2:8] = matrix[11, 50:53] = 1
    np.fill_diagonal(matrix, 0)
    matrix[20] = matrix[:, 20] = 0
    return matrix if directed else np.maximum(matrix, matrix.T)


def ranks_of(device: Any, matrix: np.ndarray, form: str, page_bytes: int) -> AimGraphPageRank:
    src, dst = (each.astype(np.uint64) for each in np.nonzero(matrix))
    keys = device.to_device(src << np.uint64(32) | dst)
    graph = AimGraph(device, keys, vertices=VERTICES, page_bytes=page_bytes, room=0)
    return AimGraphPageRank(graph, FORMS[form])


@pytest.mark.parametrize("page_bytes", [16, 256])
@pytest.mark.parametrize("form", FORMS)
def test_steps_are_those_of_the_formula(device: Any, form: str, page_bytes: int) -> None:
    matrix = drawn_matrix(directed=True)
    found = ranks_of(device, matrix, form, page_bytes)
    degrees, expected = matrix.sum(axis=1), np.ones(VERTICES)
    assert degrees.min() == 0
    for steps in (1, 2):
        for _ in range(steps):
            shares = np.divide(expected, degrees, where=degrees > 0, out=np.zeros(VERTICES))
            expected = 0.15 + 0.85 * (matrix.T @ shares)
        found.step(steps)
        np.testing.assert_allclose(device.to_host(found.ranks), expected, rtol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_without_dangling_vertices_ranks_are_ours(device: Any, form: str) -> None:
    matrix = drawn_matrix(directed=False)
    graph = DynamicGraph(directed=False, ids="dense", engine="host")
    graph.insert_edges(*np.nonzero(matrix))
    expected = graph.pagerank(tol=1e-12)
    found = ranks_of(device, matrix, form, 16)
    found.step(60)
    ranks = device.to_host(found.ranks)[expected.vertices] / expected.vertices.size
    assert np.abs(ranks - expected.pagerank).sum() <= 2 * 0.85**60


def test_each_form_has_its_kernels() -> None:
    assert {each["LANES"] for each in variants("aimgraph_pagerank.cu")} == {
        each.lanes for each in FORMS.values()
    }


@pytest.fixture
def has_device(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CUDA engine of commands works on the device."""
    monkeypatch.setattr(aimgraphs, "resolve_engine", lambda _engine: "cuda")
    monkeypatch.setattr(pagerank, "_STEPS", 1)
    monkeypatch.setattr(report, "machine", lambda _arm: "a device")


@pytest.mark.usefixtures("has_device")
def test_the_study_prints_a_table() -> None:
    done = graphtide_here("study", "pagerank", "G3", "--smaller", 11, "--repeats", 1)
    assert (done.returncode, done.stderr) == (0, "")
    head, _, row = [line.split(" | ") for line in done.stdout.splitlines() if line[:1] == "|"]
    assert head[2:6] == ["naive", "balanced", "combined", "chain (ours)"]
    assert row[0] == "| G3"
    assert len(row) == len(head)
    done = graphtide_here(
        "study", "pagerank", "G2", "--smaller", 12, "--repeats", 1, "--form", "combined"
    )
    assert "| graph | pages a vertex | combined | chain (ours) |" in done.stdout


@pytest.mark.usefixtures("has_device")
def test_ranks_that_are_not_ours_end_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    step = AimGraphPageRank.step

    def wrong(self: AimGraphPageRank, steps: int = 1) -> None:
        step(self, steps)
        self.ranks[:] = self.ranks * 1.001

    monkeypatch.setattr(AimGraphPageRank, "step", wrong)
    fails(
        graphtide_here("study", "pagerank", "G2", "--smaller", 12, "--form", "naive"), 1,
        "G2, naive: a step changes our ranks by",
    )  # fmt: skip


@pytest.mark.usefixtures("has_device")
def test_an_unknown_form_is_refused() -> None:
    fails(
        graphtide_here("study", "pagerank", "--form", "pulled"), 2,
        "form 'pulled' is unknown; use one of naive, balanced, combined",
    )  # fmt: skip


def test_without_a_gpu_the_study_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aimgraphs, "resolve_engine", lambda _engine: "host")
    fails(graphtide_here("study", "pagerank"), 1, "study pagerank: this study needs a GPU")
