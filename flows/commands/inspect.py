"""``graphtide inspect``: the files of a log in the order in which a run reads them."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from ...config.settings import RunSettings
from ...gpu_core.engines import resolve_engine
from ...gpu_core.image.memory_size import default_limit_bytes
from ...gpu_core.printable import amount, counted, listed, printable
from ...io.log.log_inspection import FileFacts, inspect_log
from ...io.log.order.row_order import row_order
from ...io.log.paths.log_order import twice_note, unordered_note
from ...io.log.paths.partitions import hidden_note
from ...pipeline.log_of_settings import first_listing, log_of_settings
from ...pipeline.monitoring.needs import Need, sizes_to_come
from ..flag_settings import settings_from_options
from ..printing.text import TIED, line

#: Operations that have a column of the table; all others are in the lines above it.
_OPERATIONS = ("insert", "delete")


#: Formats as people call them.
_FORMS = {"parquet": "Parquet", "csv": "CSV", "json": "JSON lines"}


def show_log(log: tuple[str, ...], options: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what the files of a log hold; then refuse the log if a run would."""
    settings = settings_from_options(options)
    update_log = log_of_settings(log, settings.graph, settings.columns, settings.reading())
    files = list(inspect_log(update_log))
    needs = _needs(files, settings)
    if as_json:
        shown = log[0] if len(log) == 1 else list(log)
        values = {
            "log": shown,
            "order_by": settings.order_by,
            "needs": needs,
            "files": list(map(asdict, files)),
        }
        click.echo(json.dumps(values, indent=1))
    else:
        for text in _lines(log, files, settings, needs):
            click.echo(text)
    listed, listing = first_listing(update_log, settings)
    if settings.order_by is not None:
        prints = {file.name: file.fingerprint for file in listing.files}
        row_order(listed, prints, settings.order_by, settings.order_within)


def _needs(files: Sequence[FileFacts], settings: RunSettings) -> dict[str, int | None]:
    """Bytes that a new graph of the log comes to: likely, and at most; what it can have here.

    ``arena_limit``: None where it is on a GPU, whose memory is not inspected here.
    """
    # An operation that is none of the two, as in a log that a run refuses, is taken for an insert.
    rows = sum(file.rows - file.operations.get("delete", 0) for file in files)
    likely, most = sizes_to_come(0, rows, 0, 0)
    need, graph = Need(settings.graph), settings.graph
    arena_likely, arena_most = need.arena(likely, most)
    limit = graph.max_arena_bytes or graph.arena_bytes
    if limit is None and graph.engine != "cuda" and resolve_engine(graph.engine) == "host":
        limit = default_limit_bytes()
    return {
        "arena_likely": arena_likely,
        "arena_at_most": arena_most,
        "arena_limit": None if limit is None else need.usable(limit),
        "properties_likely": need.properties(*likely),
        "properties_at_most": need.properties(*most),
        "checkpoint_likely": need.checkpoint(*likely),
        "checkpoint_at_most": need.checkpoint(*most),
    }


def _needs_text(needs: Mapping[str, int | None]) -> str:
    texts = {name: amount(size or 0).replace(" ", TIED) for name, size in needs.items()}
    of = "" if needs["arena_limit"] is None else f", of {texts['arena_limit']} usable"
    own = ""
    if needs["properties_at_most"]:
        own = (
            f"properties {texts['properties_likely']}, at most {texts['properties_at_most']} of "
            f"host memory; "
        )
    return (
        f"arena {texts['arena_likely']}, at most {texts['arena_at_most']}{of}; {own}a checkpoint "
        f"{texts['checkpoint_likely']}, at most {texts['checkpoint_at_most']}: "
        f"if each insert is a new edge"
    )


def _lines(
    log: tuple[str, ...],
    files: Sequence[FileFacts],
    settings: RunSettings,
    needs: Mapping[str, int | None],
) -> Iterator[str]:
    yield line("log", " ".join(log), wrap=False)
    yield from _file_lines(files)
    unknown = unordered_note(file.name for file in files)
    if settings.order_by is not None:
        within = settings.order_within
        yield line("order", f"by {settings.order_by}" + (f", within {within}" if within else ""))
    elif unknown is not None:
        yield line("note", unknown)
    twice = twice_note(file.name for file in files)
    if twice is not None:
        yield line("note", twice)
    yield from _column_lines(files)
    yield from _partition_lines(files)
    yield from _wrong_number_lines(files)
    operations: Counter[str] = Counter()
    for file in files:
        operations.update(file.operations)
    yield _rows_line(files, operations)
    yield from _unknown_operations_lines(operations)
    yield line("needs", _needs_text(needs))
    yield _checksums_line(files)
    yield ""
    yield from _table(files)


def _file_lines(files: Sequence[FileFacts]) -> Iterator[str]:
    """What the files are: their formats, versions of a table, links to them."""
    forms = Counter(_FORMS[file.form] for file in files)
    of_form = ", ".join(f"{count:,}{TIED}{form}" for form, count in forms.items())
    yield line("files", f"{len(files):,}, in the order in which they are read: {of_form}")
    versions = [file.version for file in files if file.version is not None]
    if versions:
        ends = f"{min(versions):,}{TIED}…{TIED}{max(versions):,} of a table"
        yield line(
            "versions", f"{ends}; those that change rows, deletes of each before its inserts"
        )
    for file in files:
        if file.links:
            verb = "leads" if len(file.links) == 1 else "lead"
            names = ", ".join(map(_tied, file.links))
            yield line("links", f"{names} {verb} to {_tied(file.name)}, which is read once")


def _wrong_number_lines(files: Sequence[FileFacts]) -> Iterator[str]:
    """A note on the first column of floats that has something else."""
    wrong = [file.wrong_number for file in files if file.wrong_number is not None]
    if wrong:
        more = f" (and so in {counted(len(wrong) - 1, 'other file')})" if wrong[1:] else ""
        # A line with too many fields is wrong whatever is read of it.
        columns = {name for file in files for name, _ in file.columns}
        is_of_column = any(f": {name} is " in wrong[0] for name in columns)
        scope = "; this concerns only runs that read the column" if is_of_column else ""
        yield line("note", f"{wrong[0]}{more}{scope}")


def _unknown_operations_lines(operations: Mapping[str, int]) -> Iterator[str]:
    """A note on rows with an operation that a run does not know."""
    unknown = [name for name in operations if name not in _OPERATIONS]
    if unknown:
        rows = sum(operations[name] for name in unknown)
        them = "it" if rows == 1 else "them"
        yield line(
            "note",
            f"op is neither insert nor delete in {counted(rows, 'row')} ({listed(unknown, 3)}): a "
            f"run ends there, or with --bad-rows quarantine leaves {them} out; words of the log's "
            f"own are named by --set 'op_insert=[…]' and --set 'op_delete=[…]'",
        )


def _rows_line(files: Sequence[FileFacts], operations: Mapping[str, int]) -> str:
    """The rows of all files by their operations."""
    counts = ", ".join(f"{rows:,}{TIED}{_tied(name)}" for name, rows in operations.items())
    total = f"{sum(file.rows for file in files):,}"
    return line("rows", f"{total}: {counts}" if counts else total)


def _checksums_line(files: Sequence[FileFacts]) -> str:
    """Whether damage to the files can be seen."""
    bare = [file.name for file in files if not file.has_checksums]
    if not bare:
        return line("pages", "with checksums")
    if all(file.form != "parquet" for file in files):
        return line("checksums", "none: text has none, so damage to it cannot always be seen")
    if len(bare) == len(files):
        return line("pages", "without checksums: damage to them cannot always be seen")
    return line("pages", f"without checksums in {counted(len(bare), 'file')}: {bare[0]}, …")


def _column_lines(files: Sequence[FileFacts]) -> Iterator[str]:
    """The columns of all files; where they differ, by the files that have them."""
    names_of: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for file in files:
        names_of.setdefault(file.columns, []).append(file.name)
    for columns, names in names_of.items():
        text = ", ".join(f"{_tied(name)}{TIED}{_tied(kind)}" for name, kind in columns)
        if len(names_of) > 1:
            others = f" and {counted(len(names) - 1, 'other')}" if len(names) > 1 else ""
            text += f" (in {_tied(names[0])}{others})"
        yield line("columns", text)


def _partition_lines(files: Sequence[FileFacts]) -> Iterator[str]:
    """Each column that stands in paths, with its first and last value."""
    values: dict[str, list[str]] = {}
    for file in files:
        for key, value in file.partitions.items():
            values.setdefault(_tied(key), []).append("null" if value is None else _tied(value))
    for key, there in values.items():
        ends = there[0] if there[0] == there[-1] else f"{there[0]}{TIED}… {there[-1]}"
        count = counted(len(set(there)), "value")
        yield line("partition", f"{key}: {count}, {ends}")
    for key in sorted({key for file in files for key in file.hidden_partitions}):
        yield line("note", hidden_note(_tied(key)))


def _table(files: Sequence[FileFacts]) -> Iterator[str]:
    """A line a file, numbers to the right; times only where there are any."""
    head = ["rows", *(f"{name}s" for name in _OPERATIONS), "size"]
    has_times = any(file.first_time for file in files)
    if has_times:
        head += ["first ts", "last ts"]
    body = []
    of_seconds = all(
        _is_whole(time) for file in files for time in (file.first_time, file.last_time)
    )
    for file in files:
        counts = [file.rows, *(file.operations.get(name, 0) for name in _OPERATIONS)]
        cells = [*(f"{count:,}" for count in counts), amount(file.size)]
        if has_times:
            ends = (file.first_time or "", file.last_time or "")
            cells += [re.sub(_FRACTION, "", end) if of_seconds else end for end in ends]
        body.append(cells)
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    for cells, name in zip([head, *body], ["file", *(file.name for file in files)], strict=True):
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"{numbers}  {printable(name)}"


_FRACTION = re.compile(r"\.0+(?=(Z|[+-]\d{4})?$)")


def _is_whole(time: str | None) -> bool:
    """Whether a time is of a whole second, or a number."""
    return time is None or "." not in time or _FRACTION.search(time) is not None


def _tied(name: str) -> str:
    """A name in a line: it is not broken at its spaces."""
    return printable(name).replace(" ", TIED)
