"""Summary at the end of a run: a few lines that can be read at a glance and copied from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config.settings import GraphSettings
from ...gpu_core.algorithms.analytic import Summary, parameters_text
from ...gpu_core.algorithms.registry import ANALYTICS
from ...gpu_core.printable import counted, file_shown, rate
from ...gpu_core.report import BatchSource
from ...io.checked_tables import DamagedTableError
from ...io.state.results import Failures, Result, read_result, result_facts
from .text import TIED, command, duration, line

if TYPE_CHECKING:
    from ...pipeline.run_summary import RunSummary

#: Fates of a row, in the order of their frequency in most logs, and what each means.
FATES = (
    ("inserted", "inserted"),
    ("updated", "updated"),
    ("deleted", "deleted"),
    ("overridden", "overridden (by a later row)"),
    ("missing", "missing (not there)"),
    ("dropped", "dropped (self loops)"),
    ("quarantined", "quarantined (left out)"),
)


def run_lines(summary: "RunSummary", log: str, state: str, graph: GraphSettings) -> Iterable[str]:
    """Lines on a whole run."""
    yield line("log", files_text(summary.files))
    if summary.nothing_to_do:
        yield line("applied", f"nothing to do: every batch of {log} is applied")
    elif summary.batches_applied == 0:
        yield line(
            "applied",
            "nothing new; results of the last batch were not there as asked for, and are written",
        )
    else:
        yield line(
            "applied",
            f"{counted(summary.batches_applied, 'batch')}, "
            f"{counted(summary.rows, 'row')} in {speed_text(summary)}, "
            f"{duration(summary.seconds)} until all is on disk",
        )
        yield line("rows", fates(summary.totals))
        yield from expired_lines(summary.totals)
        yield from rounded_lines(summary.totals, graph.weights)
    yield from wait_lines(summary.waits, summary.wait_seconds)
    size = graph_text(
        summary.num_vertices, summary.num_edges, directed=graph.directed, records=graph.record,
        on_repeat=graph.on_repeat,
    )  # fmt: skip
    yield line("graph", size)
    damaged: list[str] = []
    yield from result_lines(summary.results, result_summaries(summary.results, damaged))
    yield from failure_lines(summary.failures)
    for note in (*summary.notes, *damaged):
        yield line("note", note)
    if not summary.nothing_to_do:
        yield line("next", command("graphtide", "status", state), wrap=False)


def run_values(
    summary: "RunSummary", log: Sequence[str], state: str, notes: Sequence[str]
) -> dict[str, Any]:
    """Plain values on a whole run, for JSON; named as those of ``graphtide status --json``.

    ``batches_applied``, ``rows_applied`` and what became of rows are of this run alone.
    """
    damaged: list[str] = []
    summaries = result_summaries(summary.results, damaged)
    seconds = summary.ingest_seconds
    source = source_of(summary.results)
    return {
        "state": state,
        "log": log[0] if len(log) == 1 else list(log),
        "files": len(summary.files),
        "batches_applied": summary.batches_applied,
        "rows_applied": summary.rows,
        **{name: summary.totals[name] for name, _ in FATES},
        "expired": summary.totals["expired"],
        "weights_rounded": summary.totals["weights_rounded"],
        "last_batch": summary.watermark if summary.watermark >= 0 else None,
        "num_vertices": summary.num_vertices,
        "num_edges": summary.num_edges,
        "state_hash": summary.state_hash,
        "checkpoint": None if summary.checkpoint is None else str(summary.checkpoint),
        "results": {path.stem: str(path) for path in summary.results},
        "source": source._asdict() if source else None,
        "summary": summaries,
        "failed": {name: each.values() for name, each in summary.failures.items()},
        "waits": summary.waits,
        "wait_seconds": summary.wait_seconds,
        "seconds": summary.seconds,
        "ingest_seconds": seconds,
        "rows_per_second": summary.rows / seconds if seconds else None,
        "notes": [*notes, *summary.notes, *damaged],
    }


def files_text(names: Sequence[str]) -> str:
    """Number of files of a log, and its first and last in the order in which they are applied."""
    first, last = (file_shown(name).replace(" ", TIED) for name in (names[0], names[-1]))
    ends = first if len(names) == 1 else f"{first}{TIED}… {last}"
    return f"{counted(len(names), 'file')}, {ends}"


def speed_text(summary: "RunSummary") -> str:
    """Time from the first batch asked for to the last one applied, and the rate in that time."""
    rows_per_second = summary.rows / summary.ingest_seconds
    return f"{duration(summary.ingest_seconds)} ({rate(rows_per_second)} rows/s)"


def fates(totals: Mapping[str, int]) -> str:
    """Counts of rows by outcome; they add up to the rows, those of 0 are left out."""
    counts = [(totals[name], text) for name, text in FATES]
    parts = [f"{count:,} {text}".replace(" ", TIED) for count, text in counts if count]
    return ", ".join(parts) or "none"


def expired_lines(totals: Mapping[str, int]) -> Iterable[str]:
    """A line on edges that left the window, where there are any."""
    if totals["expired"]:
        yield line("expired", f"{counted(totals['expired'], 'edge')}, older than the window")


def wait_lines(waits: int, seconds: float) -> Iterable[str]:
    """A line on batches that waited for results and copies, where some did."""
    if waits:
        yield line(
            "waited",
            f"{counted(waits, 'time')} for results or copies of earlier batches, "
            f"{duration(seconds)} in all",
        )


def failure_lines(failures: Mapping[str, Failures]) -> Iterable[str]:
    """A line on each result that failed."""
    for text in failure_texts(failures):
        yield line("failed", text)


def failure_texts(failures: Mapping[str, Failures]) -> Iterable[str]:
    """Line on a result that failed: after how many batches, and why the last time."""
    for name, each in failures.items():
        batches, last = counted(each.batches, "batch"), each.newest
        yield f"{name} after {batches}, at last after batch {last.batch_id:,}: {last.reason}"


def failure_text(failures: Mapping[str, Failures]) -> str:
    """A sentence on results that failed, of which there is one at least."""
    newest = max((each.newest for each in failures.values()), key=lambda each: each.batch_id)
    others = (
        f", and {counted(len(failures) - 1, 'other')}" if failures.keys() - {newest.name} else ""
    )
    return (
        f"{newest.sentence}{others}. Batches and all other results are kept; run again to have "
        f"results of the last batch computed that failed"
    )


def rounded_lines(totals: Mapping[str, int], weights: str) -> Iterable[str]:
    """A line on weights that were rounded, where there are any."""
    rounded = totals["weights_rounded"]
    if rounded:
        rows = totals["rows"]
        cure = "; --weights float64 keeps them" if weights == "float32" else ""
        yield line(
            "weights", f"{rounded:,} of {counted(rows, 'row')} are rounded to {weights}{cure}"
        )


def graph_text(
    num_vertices: int, num_edges: int, *, directed: bool, records: str, on_repeat: str
) -> str:
    """Size and kind of the graph."""
    direction = "directed" if directed else "undirected"
    rule = "" if on_repeat == "last" else f", {on_repeat} of repeats"
    return (
        f"{counted(num_vertices, 'vertex')}, {counted(num_edges, 'edge')} "
        f"({direction}, {records}{rule})"
    )


def result_lines(paths: Sequence[Path], summaries: Mapping[str, Summary]) -> Iterable[str]:
    """Lines on the results, by what `result_summaries` returned, and on where the files are.

    ``paths``: of their files, those of the newest batch first.
    """
    after = earlier_batches(paths)
    for name, summary in summaries.items():
        yield _result_line(name, summary, after.get(name, ""))
    for number, folder in enumerate(dict.fromkeys(path.parent for path in paths)):
        yield line("results", str(folder), wrap=False)
        if number == 0 and (source := source_of(paths)) is not None:
            yield line("", f"after {source}")


def earlier_batches(paths: Sequence[Path]) -> dict[str, str]:
    """Name of each result that is of an earlier batch than the first -> which it is of, in words.

    Not all results follow the same batches.
    """
    folders = {path.stem: path.parent.name for path in paths}
    batches = {name: int(folder.partition("=")[2]) for name, folder in folders.items()}
    newest = max(batches.values(), default=0)
    return {name: f"; after batch {at:,}" for name, at in batches.items() if at != newest}


def source_of(paths: Sequence[Path]) -> BatchSource | None:
    """Rows that the batch of these results was, as far as one of them has it."""
    sources = (result_facts(path).source for path in paths)
    return next((each for each in sources if each is not None), None)


def _result_line(name: str, summary: Summary, after: str) -> str:
    """A line on a result, with the parameters that are not the defaults; ``after``: its end."""
    analytic = ANALYTICS[summary["analytic"]]
    text = analytic.text(summary)
    # Some texts say themselves what a parameter was.
    shown = {key: each for key, each in summary["parameters"].items() if key not in summary}
    if changed := analytic.changed(shown):
        text += f"; {parameters_text(changed)}"
    text += after
    if name == analytic.name:
        return line(analytic.label or name, text)
    return line(name, f"{analytic.label or analytic.name} {text}")


def file_summary(path: Path) -> tuple[Summary | None, str]:
    """The few values that sum up the file of a result, which is read whole.

    Among them are its ``analytic``, its ``parameters`` and its figures. None where it is of an
    analytic that is not known, and where it is damaged; then with a sentence about that.
    """
    kind = result_facts(path).kind
    if kind not in ANALYTICS:
        return None, ""
    try:
        return result_summary(read_result(path)), ""
    except DamagedTableError as error:
        return None, (
            f"{path} is damaged ({error}); remove it, or have a run with --analytics "
            f"{path.stem if kind == path.stem else f'{path.stem}={kind}'} recompute it"
        )


def result_summaries(
    paths: Sequence[Path],
    notes: list[str],
    look: Callable[[Path], tuple[Summary | None, str]] = file_summary,
) -> dict[str, Summary]:
    """Name of a result -> what ``look`` finds in its file, as `file_summary`.

    ``notes`` gets a sentence for each damaged file, which is left out.
    """
    summaries: dict[str, Summary] = {}
    for path in paths:
        summary, fault = look(path)
        if summary is not None:
            summaries[path.stem] = summary
        if fault:
            notes.append(fault)
    return summaries


def result_summary(found: Result) -> Summary:
    """The few values that sum up a result, of an analytic that is known."""
    parameters = found.parameters or {}
    values = ANALYTICS[found.kind].summary(found.columns, parameters)
    return {"analytic": found.kind, "parameters": parameters, **values, **found.figures}
