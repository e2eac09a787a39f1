"""Walks, samples and columns as tensors of PyTorch: without a copy, for as long as these live."""

import gc

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.cuda.device import devices

torch = pytest.importorskip("torch", reason="PyTorch is not installed, and no test dependency")


@pytest.fixture
def graph(engine: str) -> DynamicGraph:
    """Each of 500 vertices points to the next one and to the one 7 behind it."""
    graph = DynamicGraph(records="weighted", engine=engine)
    ids = np.arange(500)
    for distance in (1, 7):
        graph.insert_edges(ids, (ids + distance) % 500, weight=ids + 1.0)
    return graph


@pytest.fixture
def is_on_gpu(engine: str, is_emulated: bool) -> bool:
    """Whether the engine's memory is that of a GPU."""
    return engine == "cuda" and not is_emulated


def test_a_tensor_is_the_walks_where_the_engine_made_them(
    graph: DynamicGraph, is_on_gpu: bool
) -> None:
    walks = graph.random_walks(np.arange(500), 20, weight="weight", seed=3)
    tensor = torch.from_dlpack(walks)
    assert (tensor.dtype, tuple(tensor.shape)) == (torch.int64, (500, 21))
    assert tensor.is_cuda == is_on_gpu
    assert tensor.data_ptr() == torch.from_dlpack(walks).data_ptr()
    assert tensor.tolist() == walks.walks.tolist()
    if not is_on_gpu:
        assert tensor.data_ptr() == walks.walks.ctypes.data
        assert torch.from_dlpack(walks, copy=True).data_ptr() != tensor.data_ptr()


def test_a_tensor_outlives_its_walks_and_what_the_graph_was(graph: DynamicGraph) -> None:
    walks = graph.random_walks(np.arange(500), 20, seed=3)
    expected = walks.walks.tolist()
    tensor = torch.from_dlpack(walks)
    del walks
    gc.collect()
    graph.delete_vertices(np.arange(250))
    graph.insert_edges(np.arange(1_000, 1_500), np.arange(1_001, 1_501), weight=np.ones(500))
    # What the engine and PyTorch take now may be memory that was given back.
    others = [graph.random_walks(np.arange(250, 500), 41, seed=seed) for seed in range(8)]
    fresh = torch.zeros_like(tensor)
    assert tensor.tolist() == expected
    assert not fresh.any()
    assert all(each.walks.shape == (250, 42) for each in others)


def test_a_tensor_of_an_epoch_outlives_it(graph: DynamicGraph, is_on_gpu: bool) -> None:
    with graph.pin() as epoch:
        walks = epoch.random_walks([1, 4], 5, seed=1)
        tensor = torch.from_dlpack(walks)
        vertices = torch.from_dlpack(epoch.vertices())
    graph.delete_vertices(np.arange(500))
    assert tensor.is_cuda == is_on_gpu
    assert tensor.tolist() == walks.walks.tolist()
    assert vertices.tolist() == list(range(500))


@pytest.mark.gpu
@pytest.mark.skipif(not devices.cuda_available(), reason="streams are those of a GPU")
def test_a_stream_of_pytorch_waits_for_the_walks() -> None:
    ids = np.arange(200_000)
    graphs = {name: DynamicGraph(engine=name, ids="dense") for name in ("host", "cuda")}
    for each in graphs.values():
        each.insert_edges(ids, (ids * 7919 + 1) % ids.size)
    expected = torch.from_dlpack(graphs["host"].random_walks(ids, 80, seed=5)).sum()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        found = torch.from_dlpack(graphs["cuda"].random_walks(ids, 80, seed=5)).sum()
    side.synchronize()
    assert int(found) == int(expected)


def test_a_sample_is_what_loaders_of_batches_take(graph: DynamicGraph, is_on_gpu: bool) -> None:
    sample = graph.sample_neighbors([20, 30], [2, 2], seed=1, disjoint=True)
    arrays = sample.where_made()
    tensors = [torch.from_dlpack(each) for each in arrays]
    assert all(tensor.is_cuda == is_on_gpu for tensor in tensors)
    if not is_on_gpu:
        shared = [tensor.data_ptr() for tensor in tensors]
        assert shared == [array.ctypes.data for array in arrays]
    vertices, edges, trees = tensors
    features = torch.arange(500.0, device=vertices.device)
    expected = sample.vertices.tolist(), sample.edge_index.tolist()
    assert sample.batch is not None
    assert trees.tolist() == sample.batch.tolist()
    del sample, arrays, tensors
    gc.collect()
    graph.delete_vertices(np.arange(500))
    assert (vertices.tolist(), edges.tolist()) == expected
    # Features by id, messages by position: as a layer of a network adds them up.
    zeros = torch.zeros(len(vertices), device=vertices.device)
    messages = zeros.index_add(0, edges[1], features[vertices[edges[0]]])
    assert messages[0] == 19 + 13


@pytest.mark.usefixtures("engine")
def test_what_is_done_to_a_tensor_is_not_done_to_the_graph() -> None:
    graph = DynamicGraph()
    graph.insert_edges([1, 2, 3], [2, 3, 1])
    for column in (graph.vertices(), graph.degrees(), graph.pagerank().pagerank):
        tensor = torch.from_dlpack(column)
        assert tensor.data_ptr() == column.ctypes.data
        tensor[:] = 99
    assert graph.vertices().tolist() == [1, 2, 3]
    assert graph.degrees().tolist() == [1, 1, 1]
    assert graph.pagerank().pagerank.sum() == pytest.approx(1)
