"""What is compiled ahead is what is launched: seen on the emulated device."""

from itertools import product
from typing import Any

import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core import engines
from graphtide.gpu_core.cuda.device.compile import instantiations
from graphtide.gpu_core.cuda.kernels_ahead import files_of_analytic, files_of_graph
from graphtide.gpu_core.cuda.update import writers_ahead
from graphtide.gpu_core.cuda.update.launched_batch import start_batch
from graphtide.gpu_core.cuda.update.writers_ahead import PARTS
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.jit import shared_cache
from graphtide.gpu_core.kind import GraphKind
from graphtide.gpu_core.records import ON_REPEAT, RECORDS
from graphtide.pipeline.workers import warm_up
from graphtide.pipeline.workers.warm_up import warm_graph


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        {"ids": "any"},
        {"ids": "dense", "reverse": False},
        {"ids": "any", "records": "semantic"},
        {"ids": "dense", "records": "weighted", "directed": False},
    ],
)
def test_batches_launch_only_what_was_to_be_compiled_ahead(
    kind: dict[str, Any],
    raw: bool,
    emulated_device: EmulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warm_up, "_ARENA_BYTES", 1 << 17)
    named: list[tuple[str, tuple[tuple[str, int], ...]]] = []
    kernel, start = emulated_device.kernel, emulated_device._start

    def noted_kernel(source: str, name: str, defines: Any = ()) -> int:
        named.append((source, defines))
        return kernel(source, name, defines)

    def noted_start(source: str, name: str, blocks: Any, threads: Any, given: Any, defines: Any):
        if blocks:
            named.append((source, defines))
        start(source, name, blocks, threads, given, defines)

    monkeypatch.setattr(emulated_device, "kernel", noted_kernel)
    monkeypatch.setattr(emulated_device, "_start", noted_start)
    DynamicGraph(engine="cuda", **kind).compile_ahead(raw=raw)
    ahead = set(emulated_device.ahead)
    warm_graph({"engine": "cuda", **kind}, raw=raw)
    assert named
    assert {file for file in named if file not in ahead} == set()
    assert {file for file, _ in ahead if "raw" in file} == ({"raw_edges.cu"} if raw else set())
    # Not a form more than there are words of an entry.
    assert len({defines for _, defines in ahead if defines}) == (
        2 if "semantic" in str(kind) else 1
    )


@pytest.mark.parametrize("name", ["pagerank", "clustering", "katz_centrality"])
@pytest.mark.parametrize("reverse", [False, True])
def test_analytics_launch_only_what_was_to_be_compiled_ahead(
    name: str, reverse: bool, emulated_device: EmulatedDevice
) -> None:
    graph = DynamicGraph(engine="cuda", reverse=reverse, directed=name != "clustering")
    graph.insert_edges([1, 2, 3, 3], [2, 3, 1, 4])
    graph.delete_vertices([2])  # so that results are put in order
    graph.compile_ahead([name])
    emulated_device.launches.clear()
    getattr(graph, name)()
    ahead = {file for file, _ in emulated_device.ahead}
    assert {file for file, _ in emulated_device.launches} - ahead == set()
    assert f"{name}.cu" in ahead


def test_an_analytic_has_its_own_file_and_those_of_what_it_is_made_of() -> None:
    assert {"pagerank.cu", "hubs.cu", "slices.cu"} <= {
        file for file, _ in files_of_analytic("pagerank", directed=True)
    }
    for directed in (False, True):
        form = ("triangles.cu", (("DIRECTED", 1),) if directed else ())
        assert form in files_of_analytic("clustering", directed=directed)
    clustering = {file for file, _ in files_of_analytic("clustering", directed=True)}
    assert {"clustering.cu", "triangles.cu", "oriented_edges.cu"} <= clustering
    assert "pagerank.cu" not in clustering
    assert files_of_analytic("of nobody", directed=True) == []


def test_only_forms_are_compiled_that_are_checked() -> None:
    checked = {(name, tuple(defines.items())) for name, defines in instantiations()}
    for record, ids, raw in product(RECORDS.values(), ("any", "dense"), (False, True)):
        files = files_of_graph(GraphKind(record, ids=ids), raw=raw)
        assert set(files) <= checked
        assert len(files) == len(set(files))
    assert ("dictionary.cu", ()) not in files_of_graph(GraphKind(RECORDS["simple"], ids="dense"))
    for rule in ON_REPEAT:
        files = files_of_graph(GraphKind(RECORDS["weighted"], on_repeat=rule))
        assert (("repeats.cu", ()) in files) == (rule != "last")


def test_parts_that_are_compiled_ahead_are_those_that_batches_call(
    emulated_device: EmulatedDevice,
) -> None:
    """Another signature would be compiled for nothing, and the graph worker compile its own."""
    graph = DynamicGraph(engine="cuda", ids="dense", arena_bytes=1 << 20)
    graph.insert_edges([1, 2], [2, 3])
    for function, signature in (*PARTS, (start_batch, writers_ahead._WHOLE)):
        saved = {key[0] for key in function._cache._cache_file._load_index()}
        assert saved == {signature}, function.py_func.__name__


def test_a_part_is_compiled_once_in_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    for function, _ in PARTS:
        monkeypatch.setattr(function, "compile", asked.append)
    for is_saved, expected in ((True, []), (False, [signature for _, signature in PARTS])):
        monkeypatch.setattr(shared_cache, "is_saved", lambda function, answer=is_saved: answer)
        there = [engines.compile_ahead(number, on_gpu=True) for number in range(len(PARTS) + 2)]
        assert there == [True] * len(PARTS) + [False] * 2
        assert asked == expected
