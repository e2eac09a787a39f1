"""Text of the page ``/graphtide``: sentences and tables as HTML."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from ...gpu_core.printable import amount, counted
from .limits import reported_limits
from .run_history import RunHistory

#: Part that limits a run -> what it is, and what helps.
_LIMITS: Mapping[str | None, str] = {
    "CPU workers": "{stage} on {workers} CPU workers; more of them (workers) would help",
    "graph": "the graph: its worker has no time left besides applying batches",
    "client": "the client, which gives out the work; larger batches (batch_rows) would help",
    "analytics": "analytics: batches wait for them; they could be rarer (analytics_every), or of "
    "more batches at once (epochs)",
    "cores": "the cores of this machine, which are all at work; more of them would help",
    "disk": "the disk: batches wait for checkpoints, which could be rarer (checkpoint_every)",
}

#: Stage of a run -> the beginning of the first line.
_DOING: Mapping[str, str] = {
    "start": "Starting: workers, kernels, connections",
    "recover": "Recovering: the graph is made again from the newest checkpoint",
}

#: Regions of the arena in which nothing is in use.
_IDLE = {"unused", "free pages", "scratch"}

#: The region of adjacencies; pages that one takes at least -> what all such are called.
_SIZED = "adjacencies"
_SIZES: Mapping[int, str] = {
    1: "adjacencies of 1 page",
    2: "of 2 to 8 pages",
    16: "of 16 to 64 pages",
    128: "of 128 to 512 pages",
    1024: "of 1,024 pages or more",
}

#: Vertices of a ranking that are shown.
_TOP = 10


def no_run() -> str:
    """The first line where no run has published anything."""
    return "<h2>No run yet</h2><p>The next one on this scheduler will be shown here.</p>"


def run_name(history: RunHistory) -> str:
    """Name of a run among others."""
    return f"{history.newest['state']}, begun {_clock(history.newest['started'])}"


def headline(history: RunHistory) -> str:
    """Headline: what limits the run now, or why nothing does."""
    values = history.newest
    silent = history.silent_seconds
    if values["stage"] == "failed":
        return f'<h2 class="wrong">Failed</h2><p>{escape(str(values.get("error")))}</p>'
    if values["stage"] == "end":
        return f"<h2>Ended at {_clock(values['time'])}</h2><p>{_amount_done(values)}</p>"
    if silent is not None:
        return (
            f'<h2 class="wrong">No word for {silent:.0f} s</h2>'
            f"<p>The client is busy with something else, hangs, or was killed.</p>"
        )
    if values["stage"] in _DOING:
        return f"<h2>{_DOING[values['stage']]}</h2>"
    if values["stage"] == "waiting":
        return f"<h2>Waiting for files</h2><p>{_amount_done(values)}</p>"
    busy = history.busy()
    if not busy:
        picture = values["picture"]
        begun = "Just recovered" if picture and picture["recoveries"] else "Just begun"
        return f"<h2>{begun}</h2><p>What limits the run is known after the first batches.</p>"
    shares = ", ".join(f"{part} {min(share, 1):.0%}" for part, share in busy.items())
    part, stage = history.limit()
    if part is None:
        return f"<h2>No part of the run is at its limit</h2><p>busy: {shares}</p>"
    workers = values["picture"]["cpu_workers"]
    limit = _LIMITS[part].format(stage=stage, workers=workers)
    return f"<h2>Limited by {limit}</h2><p>busy: {shares}</p>"


def facts(history: RunHistory) -> str:
    """Progress of the run."""
    values, picture = history.newest, history.newest["picture"] or {}
    left = values["seconds_left"]
    rows = [
        ("log", escape(", ".join(values["log"]))),
        ("state", escape(values["state"])),
        ("applied", _amount_done(values)),
        ("rate", _rate(history)),
        ("graph", _size(values)),
    ]
    if left and not history.is_over:
        rows.append(("time left", f"{left:,.0f} s"))
    if picture:
        backlog = values["batches_total"] - values["batches_done"]
        under_way = picture["loading"] + picture["waiting"]
        rows.append(
            ("window", f"{under_way} of {picture['window']} batches under way, backlog {backlog:,}")
        )
        rows.append(("epochs", _epochs(picture)))
    return _table(rows)


def troubles(history: RunHistory) -> str:
    """Troubles of the run, the newest first."""
    picture = history.newest["picture"]
    if not picture or not picture["troubles"]:
        return ""
    # One goes on as long as the graph is being made.
    recoveries = picture["recoveries"] - (history.newest["stage"] == "recover")
    lines = [
        f'<p class="wrong">{_clock(when)} {escape(text)}</p>'
        for when, text in reversed(picture["troubles"])
    ]
    lives = (
        f"<p>The graph was brought back {counted(recoveries, 'time')}.</p>" if recoveries else ""
    )
    return "".join(lines) + lives


def results(history: RunHistory) -> str:
    """The newest results, each in a sentence, and rankings vertex by vertex."""
    found = (history.newest["picture"] or {}).get("findings")
    if not found:
        return "<h3>results</h3><p>none yet</p>"
    batch = max(each["batch"] for each in found.values())
    # One that is rarer than others, or that failed since, is of an earlier batch.
    after = {
        name: "" if each["batch"] == batch else f", after batch {each['batch']:,}"
        for name, each in found.items()
    }
    lines = [f"<h3>results after batch {batch:,}</h3>"]
    lines += [
        f"<p>{escape(each['text'])}{after[name]}</p>"
        for name, each in found.items() if not each.get("top")
    ]  # fmt: skip
    for name, each in found.items():
        if each.get("top"):
            ranks = [(escape(str(vertex)), f"{rank:.6f}") for vertex, rank in each["top"][:_TOP]]
            lines.append(f"<h3>highest {escape(name)}{after[name]}</h3>{_table(ranks)}")
    return "".join(lines)


def regions(history: RunHistory) -> list[tuple[str, int, str]]:
    """Name, bytes and share of each part of the arena's memory, from the bottom of a drawing up."""
    picture = history.newest["picture"]
    if not picture or not picture["regions"]:
        return []
    parts = {name: size for name, size in picture["regions"].items() if size}
    if picture["adjacency_bytes"]:
        parts = _with_sizes(parts, picture["adjacency_bytes"])
    if picture["pinned_bytes"]:
        parts["pinned epochs (beside)"] = picture["pinned_bytes"]
    arena = sum(picture["regions"].values())
    return [
        (name, size, f"{amount(size)}, {size / arena:.1%} of the arena")
        for name, size in reversed(parts.items())
    ]


def _with_sizes(parts: dict[str, int], by_pages: Sequence[tuple[int, int]]) -> dict[str, int]:
    """The parts with adjacencies by size, up to the largest, in place of those of all sizes."""
    largest = max(pages for pages, _ in by_pages)
    sizes = {name: 0 for least, name in _SIZES.items() if least <= largest}
    for pages, size in by_pages:
        sizes[_SIZES[max(least for least in _SIZES if least <= pages)]] += size
    found: dict[str, int] = {}
    for name, size in parts.items():
        found |= sizes if name == _SIZED else {name: size}
    return found


def memory(history: RunHistory) -> str:
    """Use of the arena, bytes an edge, and when a limit will be reached."""
    values, picture = history.newest, history.newest["picture"]
    if not picture or not picture["regions"]:
        return "<h3>memory</h3><p>not known yet</p>"
    used = sum(size for name, size in picture["regions"].items() if name not in _IDLE)
    edges, arena = picture["arena_edges"], amount(sum(picture["regions"].values()))
    rows = [
        ("in use", amount(used)),
        ("bytes an edge", f"{used / edges:,.1f}" if edges else ""),
        ("size of the arena", f"{arena}, and can grow to {amount(picture['limit_bytes'])}"),
    ]
    for limit in reported_limits(values):
        if limit.full_at_batch is not None:
            full = f"full at batch {limit.full_at_batch:,}"
        elif limit.is_likely_short:
            full = f"likely too small for the whole log, which takes {amount(limit.likely_bytes)}"
        else:
            full = "not full before the end of the log"
        share = limit.used_bytes / max(limit.most_bytes, 1)
        rows.append(
            (f"{limit.resource} limit", f"{share:.0%} of {amount(limit.most_bytes)}; {full}")
        )
    return f"<h3>memory</h3>{_table(rows)}"


def _rate(history: RunHistory) -> str:
    in_all = f"{history.newest['rows_per_second']:,.0f} rows/s in all"
    if history.is_over or history.newest["stage"] == "waiting":
        return in_all
    return f"{history.rows_per_second():,.0f} rows/s now, {in_all}"


def _size(values: Mapping[str, Any]) -> str:
    return f"{counted(values['num_vertices'], 'vertex')}, {counted(values['num_edges'], 'edge')}"


def _amount_done(values: Mapping[str, Any]) -> str:
    return (
        f"{values['batches_done']:,} of {values['batches_total']:,} batches; "
        f"{values['rows_done']:,} of {values['rows_total']:,} rows in this run"
    )


def _epochs(picture: Mapping[str, Any]) -> str:
    """Graphs that are kept for results and copies, and how often batches waited for them."""
    kept = f"{picture['epochs']} of {picture['most_epochs']} kept for results and checkpoints"
    if not picture["waits"]:
        return kept
    times = counted(picture["waits"], "time")
    return f"{kept}; batches waited {times}, {picture['wait_seconds']:.1f} s"


def _table(rows: list[tuple[str, str]]) -> str:
    return "<table>" + "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in rows) + "</table>"


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds):%H:%M:%S}"
