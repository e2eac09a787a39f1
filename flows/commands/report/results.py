"""What a report says of results: their summaries, and plots of these over batches."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....gpu_core.algorithms.analytic import parameters_text
from ....gpu_core.algorithms.registry import ANALYTICS
from ....io.state.results import result_files
from ...printing.summary import earlier_batches, failure_texts, result_summaries
from ..file_checks import CHECKED_BYTES, bytes_of
from ..status import Status
from .page import HtmlTable, Section
from .plots import Plot, svg_of

#: Batches whose results are read, at most, for plots over batches.
_RESULTS = 100


def results_section(status: Status, values: dict[str, Any]) -> Section:
    """Summaries of the newest results, and plots of those of up to `_RESULTS` batches."""
    rows, tables = [], []
    failed = [f"Failed: {text}" for text in failure_texts(status.failures)]
    after = earlier_batches(status.results)
    for name, summary in values["summary"].items():
        analytic = ANALYTICS[summary["analytic"]]
        values_text = " ".join([*filter(None, [analytic.label]), analytic.text(summary)])
        if changed := analytic.changed(summary["parameters"]):
            values_text += f"; computed with {parameters_text(changed)}"
        values_text += after.get(name, "")
        rows.append((name, f"{analytic.title}: {analytic.about}", values_text))
        if top := summary.get("top"):
            ranks = [(str(vertex), f"{value:.6g}") for vertex, value in top]
            tables.append(HtmlTable(ranks, f"{name}, the first", ("vertex", "value"), (1,)))
    if not rows:
        return Section("Results", ["No analytic has a result that is whole."], failed)
    newest, source = HtmlTable(rows, "newest", ("result", "what it is", "values")), values["source"]
    texts = []
    if source is not None:
        last = source["first_row"] + source["rows"] - 1
        texts.append(f"The newest are of the graph after row {last:,} of {source['file']}.")
    return Section("Results", texts, failed, list(_result_plots(status)), [newest, *tables])


def _result_plots(status: Status) -> Iterator[str]:
    """Plots of the two values that each analytic names, over the batches that have results."""
    ids = status.result_ids
    if len(ids) > _RESULTS:
        ids = [ids[at] for at in np.linspace(0, len(ids) - 1, _RESULTS).astype(int)]
    #: Name of a result, and of a value -> batches, values.
    found: dict[tuple[str, str], tuple[list[int], list[float]]] = {}
    left = CHECKED_BYTES
    for batch_id in reversed(ids):
        paths = [*result_files(status.state, batch_id).values()]
        left -= sum(map(bytes_of, paths))
        if left < 0:
            break
        # What is damaged is reported already.
        for name, summary in result_summaries(paths, []).items():
            for value in ANALYTICS[summary["analytic"]].plotted or ():
                if summary.get(value) is not None:
                    batches, values = found.setdefault((name, value), ([], []))
                    batches.insert(0, batch_id)
                    values.insert(0, float(summary[value]))
    for (name, value), (batches, values) in found.items():
        words = value.replace("_", " ")
        plot = Plot(f"{name}: {words}", words, batches, {"": np.array(values)}, kind="free")
        yield svg_of(plot)
