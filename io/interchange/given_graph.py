"""The graph that a function is given: some are called with other things, or in another order."""

from ...gpu_core.errors import SettingsError
from ...gpu_core.face.graph_reader import GraphReader


def check_graph(graph: object) -> None:
    """Refuse what is neither a graph nor an epoch of one."""
    if not isinstance(graph, GraphReader):
        msg = f"graph is a {type(graph).__name__}, not a graph of graphtide"
        raise SettingsError(msg)
