"""``graphtide replay``: the first batches of a log on a new graph, in this process."""

from collections.abc import Mapping
from typing import Any

import click

from ...gpu_core.errors import SettingsError
from ...gpu_core.printable import counted
from ...gpu_core.report import totals
from ...io.log.plan import BatchPlan
from ...io.state.directory import StateDirectory
from ...io.state.state_settings import QUARANTINE
from ...pipeline.replay import Replay
from ..flag_settings import settings_from_options
from ..printing.activity import Activity
from ..printing.summary import expired_lines, fates, graph_text, rounded_lines
from ..printing.text import line
from .export import check_files, write_graph
from .output_files import check_outputs_of_log, check_outputs_of_state


def replay_log(
    log: tuple[str, ...],
    to: int,
    options: Mapping[str, Any],
    *,
    state: str | None,
    edges: str | None,
    vertices: str | None,
) -> None:
    """Apply the batches up to ``to``, print what came of them, and write the graph where asked."""
    check_files(edges, vertices)
    check_outputs_of_log(log, edges, vertices)
    if state is not None:
        check_outputs_of_state(state, edges, vertices)
    replay = _of_log(log, options) if state is None else _of_state(log, options, state)
    batches = len(replay.plan.batches)
    if not batches:
        msg = f"{' '.join(log)} has no rows, so there is no batch to apply"
        raise SettingsError(msg)
    if to >= batches:
        msg = f"batch {to} is not in {' '.join(log)}; it has batches 0 to {batches - 1}"
        raise SettingsError(msg)
    reports = []
    with Activity("starting …") as activity:
        graph = replay.begin(None, to + 1)
        for report in replay.apply(graph, replay.window(None), 0, to + 1):
            reports.append(report)
            activity.now(f"batch {report.batch_id + 1:,}/{to + 1:,}")
    rows = sum(report.rows for report in reports)
    click.echo(
        line(
            "applied",
            f"{counted(to + 1, 'batch')} of {batches:,}, {counted(rows, 'row')}",
        )
    )
    sums = totals(reports)
    click.echo(line("rows", fates(sums)))
    for text in (*expired_lines(sums), *rounded_lines(sums, graph.weights or "")):
        click.echo(text)
    size = graph_text(
        graph.num_vertices,
        graph.num_edges,
        directed=graph.directed,
        records=graph.records,
        on_repeat=graph.on_repeat,
    )
    click.echo(line("graph", size))
    click.echo(line("hash", graph.state_hash(), wrap=False))
    write_graph(graph, edges=edges, vertices=vertices)


def _of_log(log: tuple[str, ...], options: Mapping[str, Any]) -> Replay:
    """The log, cut as a first run with these options would."""
    from ...pipeline.batch_window import batch_rows
    from ...pipeline.log_of_settings import first_listing, log_of_settings

    settings = settings_from_options(options)
    reading = settings.reading()
    update_log, listing = first_listing(
        log_of_settings(log, settings.graph, settings.columns, reading), settings
    )
    plan = BatchPlan().extended(listing.files, batch_rows(settings))
    return Replay(
        update_log,
        plan,
        settings.graph,
        reading=reading,
        quarantines=settings.bad_rows == QUARANTINE,
    )


def _of_state(log: tuple[str, ...], options: Mapping[str, Any], state: str) -> Replay:
    """The log, cut and understood as the state of a run has it."""
    directory = StateDirectory(state)
    kept = directory.settings().identity
    for name in (*kept, "batch_rows"):
        given = options.get(name)
        if given is not None and given != kept.get(name):
            recorded = kept.get(name, "its plan")
            msg = f"{name}={given} contradicts state {state}, which has {recorded}; leave it out"
            raise SettingsError(msg)
    settings = settings_from_options({**options, **kept})
    return Replay.of_state(directory, settings.graph, log=log)
