"""What the page of a report is made of: sections of texts, plots and tables.

``report.html`` is the template that shows them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ....gpu_core.printable import counted

#: Rows of a table, at most; the rest is counted.
MOST_ROWS = 30


@dataclass(frozen=True)
class HtmlTable:
    """A table of the page."""

    rows: Sequence[Sequence[str]]
    title: str = ""
    head: Sequence[str] = ()
    #: Columns that are numbers, from 0.
    numbers: tuple[int, ...] = ()
    #: On rows that are left out.
    more: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the page with a title."""

    title: str
    texts: Sequence[str] = ()
    warnings: Sequence[str] = ()
    #: SVG elements.
    plots: Sequence[str] = ()
    tables: Sequence[HtmlTable] = field(default_factory=list)


def more_text(count: int, noun: str) -> str:
    """How many rows are left out of a table that would have ``count``; empty: none."""
    return f"… and {counted(count - MOST_ROWS, noun)} more" if count > MOST_ROWS else ""


def moment_text(seconds: float | None = None) -> str:
    """A time of the file system, or now, as people here write it."""
    moment = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}"


def written_text(path: Path) -> str:
    """When a file was written."""
    try:
        return moment_text(path.stat().st_mtime)
    except FileNotFoundError:
        return "gone: a run has removed it"
