"""``graphtide study small-world``: the phase change of Watts' alpha model (papers/003, 2).

Clustering is high as long as neighbors know each other; distances are short where there are caves,
rise while these join, and fall to those of a random graph once alpha is large.
"""

from __future__ import annotations

import click
import numpy as np

from ...gpu_core.errors import SettingsError
from ...gpu_core.generators.watts_alpha import watts_alpha_edges
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.printable import counted
from ..bench.measuring.report import PrintedTable
from .plots import check_plot, draw

ALPHAS = (*range(13), 14, 16, 20)


def study_small_world(vertices: int, degree: float, *, graphs: int, plot: str | None) -> None:
    """Grow graphs for every alpha, and print a table of their means.

    Raises
    ------
    SettingsError
        A number is out of range, or the plot cannot be drawn.
    """
    if graphs < 1:
        msg = f"--graphs {graphs}: one is needed for each alpha"
        raise SettingsError(msg)
    check_plot(plot)
    click.echo(
        f"graphtide study small-world --vertices {vertices} --degree {degree:g} --graphs {graphs}."
        f"\nMeans of {counted(graphs, 'graph')}, by seeds from 0 on. Distances are in hops, of "
        f"pairs that have a way."
    )
    table = PrintedTable(["alpha"], ["clustering", "distance", "in the largest component"])
    means = []
    for alpha in ALPHAS:
        found = [measured(vertices, degree, alpha, seed) for seed in range(graphs)]
        clustering, distance, share = np.mean(found, axis=0)
        means.append((clustering, distance))
        table.row(str(alpha), f"{clustering:.3f}", f"{distance:.2f}", f"{100 * share:.0f} %")
    if plot is not None:
        lines = zip(*means, strict=True)
        panels = {
            name: {f"n = {vertices}, k = {degree:g}": (ALPHAS, list(line))}
            for name, line in zip(("average clustering", "mean distance, hops"), lines, strict=True)
        }
        draw(plot, panels, "alpha", "", logarithmic=False)


def measured(vertices: int, degree: float, alpha: float, seed: int) -> tuple[float, float, float]:
    """Average clustering, mean distance, and the share of vertices in the largest component."""
    graph = DynamicGraph(directed=False, ids="dense", engine="host")
    graph.insert_vertices(np.arange(vertices))
    graph.insert_edges(*watts_alpha_edges(vertices, degree, alpha, seed=seed))
    total = pairs = 0
    for vertex in range(vertices):
        hops = graph.bfs(vertex).distance
        total += int(hops[hops > 0].sum())
        pairs += int(np.count_nonzero(hops > 0))
    sizes = np.bincount(graph.weakly_connected_components().component)
    return graph.average_clustering(), total / max(pairs, 1), float(sizes.max()) / vertices
