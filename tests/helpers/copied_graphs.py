"""Graphs that come of another one: all that it knows has to go with them."""

import pickle
from collections.abc import Callable
from pathlib import Path

from graphtide import DynamicGraph


def _saved(graph: DynamicGraph, folder: Path) -> DynamicGraph:
    graph.save(folder / "graph")
    return DynamicGraph.load(folder / "graph")


#: Name -> what makes the other graph; a folder that is empty is for the files.
COPIES: dict[str, Callable[[DynamicGraph, Path], DynamicGraph]] = {
    "copy": lambda graph, _: graph.copy(),
    "pickle": lambda graph, _: pickle.loads(pickle.dumps(graph)),
    "save": _saved,
}
