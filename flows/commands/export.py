"""``graphtide export``: the graph of a state, and its results, as they are or as they were.

The graph is restored from a checkpoint, by the same code that a run goes on with, and asked for its
canonical edges: users' ids, sorted, each edge of an undirected graph once with src <= dst. Between
two checkpoints the log after the earlier one is replayed (``pipeline/replay.py``).
"""

from collections.abc import Sequence
from pathlib import Path

import click

from ...gpu_core.errors import SettingsError
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.printable import amount, counted
from ...io.file_systems import size_at
from ...io.interchange.edge_lists import export_edges, export_vertices
from ...io.interchange.export import (
    EDGE_ENDINGS,
    VERTEX_ENDINGS,
    ending_of,
    export_columns,
    form_of,
)
from ...io.state.directory import StateDirectory
from ...pipeline.replay import PastGraphs
from ..printing.activity import Activity
from ..state_results import result_after
from .output_files import check_outputs_of_state


def export_graph(
    state: str,
    *,
    edges: str | None,
    vertices: str | None,
    results: Sequence[tuple[str, str]] = (),
    at: int | None = None,
) -> None:
    """Write what is asked for, as it was after batch ``at``; None: as it is.

    ``results``: name of a result, and the file that it is written to.
    """
    check_files(edges, vertices, results)
    check_outputs_of_state(state, edges, vertices, *(file for _, file in results))
    for name, file in results:
        with Activity("reading the result …"):
            batch_id, result = result_after(StateDirectory(state), name, at)
        rows = export_columns(result.columns, file)
        click.echo(f"{name} after batch {batch_id}, {counted(rows, 'row')}, {_size(file)}: {file}")
    if edges is None and vertices is None:
        return
    with Activity("reading the graph …"):
        past = PastGraphs(StateDirectory(state))
        graph = past.after_newest() if at is None else past.after(at)
    tell_notes(past)
    write_graph(graph, edges=edges, vertices=vertices)


def check_files(
    edges: str | None, vertices: str | None, results: Sequence[tuple[str, str]] = ()
) -> None:
    """Refuse one file for two: what is written last would be all; and forms that are none."""
    form = form_of(vertices or "")
    if form in {*EDGE_ENDINGS} - {*VERTEX_ENDINGS}:
        msg = (
            f"{vertices} cannot be written of vertices alone: {form} holds edges; give --edges "
            f"{vertices}, or end the name in {', '.join(VERTEX_ENDINGS)}"
        )
        raise SettingsError(msg)
    if edges is not None:
        ending_of(edges, EDGE_ENDINGS)
    for file in (vertices, *(file for _, file in results)):
        if file is not None:
            ending_of(file, VERTEX_ENDINGS)
    taken: dict[Path, tuple[str, str]] = {}
    wanted = (("edges", edges), ("vertices", vertices), *results)
    for what, file in ((what, file) for what, file in wanted if file):
        place = Path(file).resolve()
        if place in taken:
            first, name = taken[place]
            msg = f"{first} and {what} are both to be written to {name}; name two files"
            raise SettingsError(msg)
        taken[place] = what, file


def tell_notes(past: PastGraphs) -> None:
    """Report checkpoints that were broken and skipped."""
    for note in dict.fromkeys(past.notes):
        click.echo(f"note: {note}", err=True)


def write_graph(graph: DynamicGraph, *, edges: str | None, vertices: str | None) -> None:
    """Write edges, vertices or both, and print how many there are."""
    if edges is not None:
        with Activity("writing edges …"):
            export_edges(graph, edges)
        click.echo(f"{counted(graph.num_edges, 'edge')}, {_size(edges)}: {edges}")
    if vertices is not None:
        with Activity("writing vertices …"):
            export_vertices(graph, vertices)
        click.echo(f"{counted(graph.num_vertices, 'vertex')}, {_size(vertices)}: {vertices}")


def _size(file: str) -> str:
    return amount(size_at(file))
