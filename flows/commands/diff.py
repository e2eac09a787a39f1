"""``graphtide diff``: what differs between the graphs of a state after two batches."""

import click

from ...gpu_core.copies.difference import difference
from ...gpu_core.graph import DynamicGraph
from ...io.interchange.difference_table import write_difference
from ...io.state.directory import StateDirectory
from ...pipeline.replay import PastGraphs
from ..printing.activity import Activity
from ..printing.text import line
from .export import tell_notes
from .output_files import check_difference_file, check_outputs_of_state


def show_difference(state: str, first: int, last: int, *, output: str | None) -> None:
    """Print how many edges and vertices differ; write them where asked."""
    if output is not None:
        check_difference_file(output)
        check_outputs_of_state(state, output)
    past = PastGraphs(StateDirectory(state))
    graphs = {}
    earlier: tuple[int, DynamicGraph] | None = None
    with Activity("reading the graphs …"):
        for batch_id in sorted({first, last}):
            graph = past.after(batch_id, earlier)
            graphs[batch_id], time_unit = graph.csr_of_keys(), graph.time_unit
            earlier = batch_id, graph
    tell_notes(past)
    # The later graph knows the names of the earlier one as well.
    found = difference(graphs[first], graphs[last]).in_users_ids(graph.user_ids)
    click.echo(
        line(
            "edges",
            f"{len(found.edges_added):,} added, {len(found.edges_removed):,} removed, "
            f"{len(found.edges_changed):,} changed",
        )
    )
    click.echo(
        line(
            "vertices",
            f"{found.vertices_added.size:,} added, {found.vertices_removed.size:,} removed"
            + (f", {len(found.vertices_changed):,} changed" if graph.vertex_properties else ""),
        )
    )
    if output is not None:
        write_difference(found, output, time_unit)
        click.echo(line("output", output, wrap=False))
