"""What engines offer to maintained results, against the protocols that say what that is."""

import inspect
from types import ModuleType

import pytest

from graphtide.gpu_core.algorithms.maintained.maintained_components import ComponentsTwin
from graphtide.gpu_core.algorithms.maintained.maintained_triangles import TrianglesTwin
from graphtide.gpu_core.algorithms.maintained.pagerank_residuals import ResidualsTwin
from graphtide.gpu_core.algorithms.maintained.pushing import PushTwin, RepairTwin
from graphtide.gpu_core.algorithms.maintained.warm_pagerank import WarmTwin
from graphtide.gpu_core.cuda.analytics.centrality import pagerank as cuda_pagerank
from graphtide.gpu_core.cuda.analytics.maintained import maintained_components as cuda_components
from graphtide.gpu_core.cuda.analytics.maintained import maintained_triangles as cuda_triangles
from graphtide.gpu_core.cuda.analytics.maintained import pushed_ranks, residual_repair
from graphtide.gpu_core.host.analytics.maintained import maintained_components as host_components
from graphtide.gpu_core.host.analytics.maintained import maintained_pagerank as host_pagerank
from graphtide.gpu_core.host.analytics.maintained import maintained_triangles as host_triangles

TWINS = [
    (ComponentsTwin, host_components),
    (ComponentsTwin, cuda_components),
    (TrianglesTwin, host_triangles),
    (TrianglesTwin, cuda_triangles),
    (ResidualsTwin, host_pagerank),
    (WarmTwin, cuda_pagerank),
    (PushTwin, pushed_ranks),
    (RepairTwin, residual_repair),
]


def parameters(function: object) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize(("protocol", "module"), TWINS)
def test_an_engine_offers_what_the_protocol_says(protocol: type, module: ModuleType) -> None:
    for name in protocol.__annotations__:
        assert isinstance(getattr(module, name), int | float)
    functions = [name for name in vars(protocol) if not name.startswith("_")]
    assert functions
    for name in functions:
        assert parameters(getattr(module, name)) == parameters(getattr(protocol, name)), name
