"""What a report says of batches: how fast they were, what became of the graph and its memory."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ....gpu_core.image.need import used_bytes
from ....gpu_core.kind import GraphKind
from ....gpu_core.printable import amount, rate
from ....gpu_core.report import STAGES, BatchReport
from ...printing.summary import FATES
from ...printing.text import duration
from .page import HtmlTable, Section
from .plots import Plot, Values, svg_of

#: Stage of a batch -> what happens in it, and where.
_STAGES = {
    "read": ("reading", "rows of the log, on a CPU worker"),
    "convert": ("conversion", "rows to a batch of net changes, on a CPU worker"),
    "transfer": ("hand-over", "the batch to the process that has the graph"),
    "apply": ("applying", "the batch to the graph, one after the other"),
}


class OverBatches:
    """Counts and seconds of batches, as arrays, and the sections on them.

    Parameters
    ----------
    reports
        Of the batches, in order.
    kind
        Of the graph.
    """

    def __init__(self, reports: Sequence[BatchReport], kind: GraphKind) -> None:
        self._reports, self._kind = reports, kind
        # Those of an older graphtide do not have it. It stays once there are vertices.
        self._page_bytes = reports[-1].page_bytes if reports else 0
        self._batches = [report.batch_id for report in reports]

    def counts(self, name: str) -> Values:
        """A count of each batch."""
        return np.array([getattr(report, name) for report in self._reports], np.float64)

    def seconds(self, stage: str) -> Values:
        """Seconds of each batch in a stage."""
        return np.array([report.seconds.get(stage, 0.0) for report in self._reports], np.float64)

    def bytes_used(self) -> Values:
        """Bytes of the arena that the graph takes after each batch; empty where none is known."""
        if not self._page_bytes:
            return np.zeros(0)
        sizes = [
            used_bytes(self._kind, each.num_vertices, each.pages_used, self._page_bytes)
            for each in self._reports
        ]
        return np.array(sizes, np.float64)

    # -- sections

    def sections(self) -> Iterator[Section]:
        """Speed, counts and memory; none where there is no batch."""
        if not self._reports:
            return
        yield self._speed()
        rows = {text: self.counts(name) for name, text in FATES if self.counts(name).any()}
        yield Section(
            "The graph over batches",
            plots=[
                self._plot("Edges", "edges", {"": self.counts("num_edges")}, together="last"),
                self._plot(
                    "Vertices", "vertices", {"": self.counts("num_vertices")}, together="last"
                ),
                self._plot("What became of the rows", "rows a batch", rows, kind="stacked"),
                self._plot(
                    "Edges that a batch added and removed", "edges a batch",
                    {name: self.counts(f"edges_{name}") for name in ("added", "removed")},
                ),
            ],
        )  # fmt: skip
        if self._page_bytes:
            yield self._memory()

    def _speed(self) -> Section:
        seconds = {stage: self.seconds(stage) for stage in STAGES}
        rows, total_rows = [], self.counts("rows").sum()
        for stage, (name, about) in _STAGES.items():
            each = seconds[stage]
            if not each.any():
                continue
            slowest = int(each.argmax())
            rows.append(
                (
                    name, about, duration(each.sum()), rate(total_rows / each.sum()),
                    *(f"{1e3 * np.quantile(each, q):,.2f}" for q in (0.5, 0.95)),
                    f"{1e3 * each[slowest]:,.2f}", f"{self._batches[slowest]:,}",
                )
            )  # fmt: skip
        head = ("stage", "what", "in all", "rows/s", "median ms", "95 % ms", "slowest ms", "batch")
        apply = np.maximum(seconds["apply"], 1e-9)
        stages = {_STAGES[stage][0]: 1e3 * each for stage, each in seconds.items()}
        return Section(
            "How fast",
            [
                "Seconds that batches took in each stage. Stages of different batches go on at "
                "once, so a run took less time on the clock than their sum, which is not kept."
            ],
            plots=[
                self._plot("Time of a batch", "milliseconds a batch", stages, kind="stacked"),
                # Weighted, the rates of neighbors are their rows over their seconds.
                self._plot("Speed of applying", "rows a second",
                           {"": self.counts("rows") / apply}, weights=apply),
            ],
            tables=[HtmlTable(rows, head=head, numbers=(2, 3, 4, 5, 6, 7))],
        )  # fmt: skip

    def _memory(self) -> Section:
        used, free = self.bytes_used(), self._reports[-1].pages_free * self._page_bytes
        text = (
            f"The graph lies in one piece of memory, the arena: a record of each vertex, and "
            f"pages of {self._page_bytes} bytes. After the last batch {amount(used[-1])} are in "
            f"use and {amount(free)} are free: later batches take them before the arena grows."
        )
        an_edge = used / np.maximum(self.counts("num_edges"), 1)
        plots = [
            self._plot("Memory in use", "bytes", {"": used}, together="last"),
            self._plot("Memory for an edge", "bytes in use an edge", {"": an_edge},
                       together="last"),
        ]  # fmt: skip
        return Section("Memory over batches", [text], plots=plots)

    def _plot(self, title: str, unit: str, lines: dict[str, Values], **how: Any) -> str:
        return svg_of(Plot(title, unit, self._batches, lines, **how))
