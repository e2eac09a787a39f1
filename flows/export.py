"""``graphtide export``: the graph of the newest checkpoint as files.

The graph is restored from the checkpoint, by the same code that a run goes on with, and asked for
its canonical edges: users' ids, sorted, each edge of an undirected graph once with src <= dst.
"""

from pathlib import Path

import click

from ..gpu_core.errors import StateError
from ..gpu_core.graph import DynamicGraph
from ..io.checkpoint import newest_checkpoint
from ..io.edge_lists import export_edges, export_vertices
from ..io.state import StateDirectory
from .text import amount, counted


def export_graph(state: str, *, edges: str | None, vertices: str | None) -> None:
    """Write edges, vertices or both."""
    graph = newest_graph(state)
    if edges is not None:
        export_edges(graph, edges)
        click.echo(f"{counted(graph.num_edges, 'edge')}, {_size(edges)}: {edges}")
    if vertices is not None:
        export_vertices(graph, vertices)
        click.echo(
            f"{counted(graph.num_vertices, 'vertex', 'vertices')}, {_size(vertices)}: {vertices}"
        )


def newest_graph(state: str) -> DynamicGraph:
    """Restore the graph of a state's newest checkpoint; tells of broken ones that it skips."""
    directory = StateDirectory(state)
    identity = directory.settings().identity
    notes: list[str] = []
    checkpoint = newest_checkpoint(directory, notes)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    if checkpoint is None:
        msg = f"state {state} has no checkpoint yet; let a run of its log come to its end"
        raise StateError(msg)
    # In host memory: it is only read, and a GPU may be in use, or smaller.
    return DynamicGraph.from_checkpoint_arrays(checkpoint.arrays(), engine="host", **identity)


def _size(file: str) -> str:
    return amount(Path(file).stat().st_size)
