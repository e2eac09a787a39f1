"""The columns of an update log, and which of them a graph keeps.

One row is one update. ``op`` (as in ``operations.py``; absent: all inserts), ``src``, ``dst``
(null: a vertex update), ``weight`` (absent: 1), ``type`` (absent: 0), ``ts``. A log may
call them otherwise; ``columns`` maps the name here to the name there.

Checked here is what a file's schema shows, before any row is read: that the columns are there and
of a type that has a meaning (``column_types.py``). Values (nulls, unknown ops, NaN, overflow) are
seen at conversion (``conversion.py``), where the row is known.
"""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ....gpu_core.errors import SettingsError
from ....gpu_core.id_kinds import form_of
from ....gpu_core.printable import listed
from ....gpu_core.records import record_named
from ..file_errors import UnusableFileError
from .column_types import check_type, time_unit_of

#: Columns of an update log, by the names that the rest of the package knows; properties of the
#: user's own are columns as well.
CANONICAL = ("op", "src", "dst", "weight", "type", "ts")

#: Names of a column in a header, or in what the caller says; in small letters.
NAMES: Mapping[str, Sequence[str]] = {
    "op": ("op",),
    "src": ("src", "source", "from"),
    "dst": ("dst", "target", "to", "destination"),
    "weight": ("weight",),
    "type": ("type",),
    "ts": ("ts", "time", "timestamp"),
}


@dataclass(frozen=True)
class WantedColumns:
    """Columns that a graph reads from a log, and what they are called there."""

    #: Canonical name -> name in the files, for those that differ.
    mapping: Mapping[str, str]
    #: Records of the graph.
    records: str
    #: Kind of its ids, which says of what type ``src`` and ``dst`` are.
    ids: str
    #: Its rule for repeats: with ``count`` the column ``weight`` is not looked at.
    on_repeat: str
    #: Its own properties, which are columns, too; a file need not have them.
    own: Collection[str]

    @property
    def needed(self) -> tuple[str, ...]:
        """Canonical columns that are read, but for properties of the user's own."""
        return needed_columns(self.records, self.on_repeat)

    @property
    def names(self) -> dict[str, str]:
        """Every column of a log, by its canonical name -> its name in the files."""
        return {each: self.mapping.get(each, each) for each in (*CANONICAL, *self.own)}


@dataclass(frozen=True)
class LogSchema:
    """Columns of one file of a log that one kind of records uses."""

    #: Canonical names of the columns to read, in canonical order.
    present: tuple[str, ...]
    #: Name of a `times.TimeUnit`, such as ``timestamp[us, tz=UTC]``; None where no time is read.
    time_unit: str | None
    #: NumPy types of sources and of destinations as they are converted, where none is null.
    id_types: tuple[str, str]
    #: Canonical columns that the file has and the records do not keep.
    not_kept: tuple[str, ...]
    #: Other columns of the file, by the file's names; nothing reads them.
    not_read: tuple[str, ...]


def needed_columns(records: str, on_repeat: str = "last") -> tuple[str, ...]:
    """Columns that a graph with these records, and this rule for repeats, reads from a log."""
    record = record_named(records)
    # Where inserts are counted, their weights are not read.
    properties = (("weight",) if record.has_weight and on_repeat != "count" else ()) + (
        ("type", "ts") if record.has_times else ()
    )
    return ("op", "src", "dst", *properties)


def check_mapping(columns: Mapping[str, str], own: Collection[str]) -> None:
    """Refuse a column mapping that names a column which logs do not have."""
    known = (*CANONICAL, *own)
    unknown = [name for name in columns if name not in known]
    if unknown:
        msg = f"columns: {unknown[0]!r} is no column of a log; map some of {', '.join(known)}"
        raise SettingsError(msg)
    ends = [columns.get(name, name) for name in ("src", "dst")]
    if ends[0] == ends[1]:
        msg = f"columns: src and dst are both to be read from {ends[0]!r}; map each to its own"
        raise SettingsError(msg)


def check_schema(
    schema: pa.Schema, wanted: WantedColumns, file: str, *, is_planned: bool
) -> LogSchema:
    """Check the columns of a log file against what the graph reads.

    Parameters
    ----------
    schema
        Arrow schema of the file.
    wanted
        What the graph reads.
    file
        Name of the file, for messages.
    is_planned
        Whether a state has planned the file: then it stays as it is, whatever its names are like.

    Raises
    ------
    UnusableFileError
        A column is missing, is there twice, or has a type without a meaning; or it would be read if
        its name were in small letters.
    """
    names = wanted.names
    _check_presence(schema, wanted, file)
    # A mapped name belongs to its canonical column alone: {src: a, dst: src} leaves no spare src.
    there = [canonical for canonical in names if names[canonical] in schema.names]
    needed = (*wanted.needed, *wanted.own)
    kept = (*needed_columns(wanted.records), *wanted.own)
    time_unit = None
    for canonical in there:
        if canonical in needed:
            kind = schema.field(names[canonical]).type
            check_type(canonical, names[canonical], kind, file, form_of(wanted.ids))
            # Of a column without a time it is that of other files.
            if canonical == "ts" and not pa.types.is_null(kind):
                time_unit = str(time_unit_of(kind))
    known = set(names.values())
    not_read = tuple(name for name in schema.names if name not in known)
    if not is_planned:
        lacking = [canonical for canonical in wanted.needed if canonical not in there]
        _refuse_misspelled(lacking, not_read, file)
    return LogSchema(
        present=tuple(name for name in there if name in needed),
        time_unit=time_unit,
        id_types=(_id_type(schema.field(names["src"])), _id_type(schema.field(names["dst"]))),
        not_kept=tuple(name for name in there if name not in kept),
        not_read=not_read,
    )


def not_kept_line(schemas: list[LogSchema], wanted: WantedColumns) -> str | None:
    """One line on the columns of a log that do not enter the graph; None where all do.

    And on weights that were asked for, but are in none of its files.
    """
    not_kept = [name for name in CANONICAL if any(name in schema.not_kept for schema in schemas)]
    # In the order of the files, as their columns stand there.
    not_read = list(dict.fromkeys(name for schema in schemas for name in schema.not_read))
    parts = []
    # Semantic records are for times and types, too: they may do without weights.
    needs_weights = wanted.records == "weighted" or wanted.on_repeat != "last"
    if needs_weights and "weight" in wanted.needed and schemas:
        if not any("weight" in schema.present for schema in schemas):
            parts.append(
                "there is no column weight, so each weight is 1; --set columns.weight=NAME names it"
            )
    if not_kept:
        cure = "weighted" if not_kept == ["weight"] else "semantic"
        verb, them = ("is", "it") if len(not_kept) == 1 else ("are", "them")
        parts.append(f"{', '.join(not_kept)} {verb} not kept; --records {cure} keeps {them}")
    if not_read:
        parts.append(f"not read: {listed(not_read)}; --properties keeps numbers")
    return "; ".join(parts) or None


def _check_presence(schema: pa.Schema, wanted: WantedColumns, file: str) -> None:
    """Refuse a file that lacks a column which must be there, or has one twice."""
    names, records = wanted.names, wanted.records
    there = ", ".join(schema.names) or "none"
    for canonical, name in wanted.mapping.items():
        if name not in schema.names and canonical in CANONICAL:
            msg = (
                f"{file}: there is no column {name!r}, which the setting columns gives as "
                f"{canonical}, so every file must have it; this one has {there}"
            )
            raise UnusableFileError(msg)
    required = ("src", "dst", "ts") if "ts" in needed_columns(records) else ("src", "dst")
    for canonical in required:
        if names[canonical] not in schema.names:
            why = f", which {records} records need" if canonical == "ts" else ""
            mapping = _mapping_of(schema.names, names, required)
            if canonical == "ts" and {"first", "last"} <= {*schema.names}:
                msg = (
                    f"{file}: there is no column ts{why}; it has first and last, as edges that "
                    f"were exported: --set columns.ts=last reads the last times as those of "
                    f"inserts; DynamicGraph.from_edges takes both"
                )
                raise UnusableFileError(msg)
            if canonical == "src" and len(schema.names) == 1:
                # No mapping can help: its fields are most likely separated by spaces.
                msg = (
                    f"{file}: there is no column src; the file has {there!r} alone; separate "
                    f"fields of text by commas, or make a log of it with graphtide import"
                )
                raise UnusableFileError(msg)
            msg = (
                f"{file}: there is no column {canonical}{why}; the file has {there}; if one of "
                f"them is it, say so in the setting columns: {mapping}"
            )
            raise UnusableFileError(msg)
    # Also of those that the records do not keep: other records would.
    for canonical in names:
        if schema.names.count(names[canonical]) > 1:
            msg = f"{file}: there are two columns {names[canonical]!r}; rename one of them"
            raise UnusableFileError(msg)


def _mapping_of(there: Collection[str], names: Mapping[str, str], required: Sequence[str]) -> str:
    """Flags that map the columns of a file, by the names that other programs give them."""
    flags = []
    for canonical in required:
        if names[canonical] in there:
            continue
        likely = [name for name in there if name.strip().lower() in NAMES[canonical]]
        flags.append(flag_of(canonical, likely[0] if len(likely) == 1 else "NAME"))
    return " ".join(flags)


def flag_of(canonical: str, name: str) -> str:
    """Flag that maps a column, as a shell takes it."""
    # A value is read as YAML, which drops blanks around it that are in no quotes.
    value = name if name == name.strip() else f'"{name}"'
    return f"--set {shlex.quote(f'columns.{canonical}={value}')}"


def _refuse_misspelled(lacking: Sequence[str], not_read: Sequence[str], file: str) -> None:
    """Refuse a column that is read by no name, but would be in small letters without blanks.

    A log does without these columns, so that it would be taken for another one without a word:
    where an ``Op`` is not read, deletes are inserts.
    """
    for canonical in lacking:
        for name in not_read:
            if name.strip().lower() == canonical:
                msg = (
                    f"{file}: column {name!r} is not read, and there is no column {canonical}; if "
                    f"it is that, say so: {flag_of(canonical, name)}; if not, rename it"
                )
                raise UnusableFileError(msg)


def _id_type(column: pa.Field) -> str:
    """NumPy type in which ids of a column are converted: those of 32 bits as they are."""
    return str(column.type) if column.type in (pa.int32(), pa.uint32()) else "int64"
