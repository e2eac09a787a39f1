"""Returns quarantined rows and files to the log, once they are corrected.

To correct rows, edit ``STATE/quarantine/batch=<id>.parquet`` in place: change them, or remove
what is not wanted. Each such file, each batch that could not be read, and each file that was left
out becomes one new file at the end of the log, if a run would take all of it as it is now; what
would not, stays where it is. The next run plans the new files as any others. So corrected rows come
after all that is planned, and not where they stood. In a log in the order of a column they would be
late there: its user gives them up here, and writes them to a later file of the log.

What cannot be corrected, as a file that its owner has deleted, is given up if the user says so by
its name: it stays left out, and is not reported again.

The name of a new file shows what it was made of. A call that was killed between the new file and
its mark finds it, and does not make a second one.

Not here: what is left out, and when (``io/log/bad_rows.py``, ``io/state/quarantine.py``).
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from ..gpu_core.errors import StateError, UpdateLogError
from ..io.log.bad_rows import LINE_FIELD, RowsToRead, origin_names
from ..io.log.conversion import table_to_batch
from ..io.log.log_writer import write_log_file
from ..io.log.order.joined_tables import ABSENT, absent_column
from ..io.log.paths.file_names import FileName
from ..io.log.paths.log_order import natural_key
from ..io.log.paths.log_paths import log_path
from ..io.log.plan import PlannedBatch
from ..io.log.row_origin import RowOrigin
from ..io.log.update_log import UpdateLog
from ..io.state.checkpoint import newest_checkpoint
from ..io.state.corrected_rows import with_types
from ..io.state.directory import StateDirectory
from ..io.state.quarantine import LeftOutFile, Quarantine
from .replay import Replay

_ENDINGS = re.compile(r"(\.(parquet|csv|tsv|jsonl|ndjson|json))?(\.(gz|zst|bz2))?$", re.IGNORECASE)
_MARK = "_requeued-"


@dataclass(frozen=True)
class Requeued:
    """Outcome for one thing that was left out."""

    #: In words: a batch or a file.
    what: str
    #: The new file; None: there is none, because no row is left, or it is not corrected.
    path: str | None = None
    rows: int = 0
    #: Whether it lies in the log; else the user has to put it there.
    is_in_log: bool = True
    #: Why it stays left out; nothing where it does not.
    fault: str = ""
    #: Whether it was given up.
    is_forgotten: bool = False


def requeue(state: StateDirectory, forget: Collection[str] = ()) -> list[Requeued]:
    """Take in what is corrected; yields each thing that was left out, in order.

    Parameters
    ----------
    state
        State whose run left things out.
    forget
        What is given up, whether it is corrected or not: names of files, or batches, as ``batch
        7``.

    Raises
    ------
    StateError
        There is no state, or it is damaged or in use; or something to be given up is not left out,
        and then nothing was done.
    """
    state.settings()  # there is a state: else the lock would make its folder
    with state.lock():
        return list(_Requeue(state).all(forget))


@dataclass(frozen=True)
class _Thing:
    """One thing that was left out."""

    what: str
    #: What it is called by who gives it up.
    name: str
    #: In the name of its new file: how a person, and how the next call, knows it.
    mark: str
    key: str
    rows: Callable[[], pa.Table]
    done: Callable[[], None]


class _Requeue:
    def __init__(self, state: StateDirectory) -> None:
        replay = Replay.of_state(state)
        newest = newest_checkpoint(state, [])
        self._boundary = 0 if newest is None else newest.boundary
        self._quarantine = Quarantine(state)
        order = replay.reading.get("order_by")
        #: Why no row can come back, corrected or not; nothing where rows can.
        self._late = order and (
            f"rows are applied in the order of {order}, and these would come late; write them to a "
            f"later file of the log, with later values, and give them up here"
        )
        self._plan = replay.plan
        self._prints = {file.name: file.fingerprint for file in replay.plan.files}
        self._meaning = replay.graph.row_meaning()
        #: With the files that are left out: they may be whole by now.
        self._log: UpdateLog = replace(replay.log, left_out=frozenset())

    def all(self, forget: Collection[str]) -> Iterator[Requeued]:
        """Take in what is corrected, but for what is given up."""
        things = list(self._things())
        waiting = [thing.name for thing in things]
        unknown = sorted({*forget}.difference(waiting))
        if unknown:
            others = f"these are: {', '.join(waiting)}" if waiting else "nothing is"
            msg = f"{unknown[0]} is not left out of {self._quarantine.path.parent}; {others}"
            raise StateError(msg)
        for thing in things:
            if thing.name in forget:
                thing.done()
                yield Requeued(thing.what, is_forgotten=True)
            else:
                yield self._take(thing)

    def _things(self) -> Iterator[_Thing]:
        """Files and rows left out that are neither in the log again nor given up."""
        for batch_id, path in self._quarantine.waiting().items():
            # Those beyond are of a run that was killed, and are found again by the next one.
            if batch_id < self._boundary:
                planned: PlannedBatch = self._plan.batches[batch_id]
                yield _Thing(
                    what=f"batch {batch_id}",
                    name=f"batch {batch_id}",
                    mark=f"batch-{batch_id}",
                    key=f"{planned.file} {planned.first_row} {planned.rows}",
                    rows=partial(self._rows_of_batch, path, planned),
                    done=partial(self._quarantine.end, batch_id),
                )
        for number, file in enumerate(self._quarantine.files()):
            if not file.done:
                yield _Thing(
                    what=f"file {file.name}",
                    name=file.name,
                    mark="file",
                    key=file.name,
                    rows=partial(self._rows_of_file, file),
                    done=partial(self._end_file, number),
                )

    def _take(self, thing: _Thing) -> Requeued:
        """Write the rows of one thing to the end of the log, if they are not there already."""
        ending = f"{hashlib.sha256(thing.key.encode()).hexdigest()[:8]}.parquet"
        paths = self._log.paths()
        for path in paths:
            if _MARK in path.name and path.name.endswith(f"-{ending}"):
                thing.done()
                return Requeued(thing.what, path.shown)
        try:
            table = thing.rows()
        except (UpdateLogError, StateError) as error:
            return Requeued(thing.what, fault=self._late or str(error))
        if table.num_rows == 0:
            thing.done()
            return Requeued(thing.what)
        if self._late:
            return Requeued(thing.what, fault=self._late)
        last = paths[-1]
        within = _name_after(FileName.of(last.name).within, f"{_MARK}{thing.mark}-{ending}")
        is_in_log = (
            isinstance(last.filesystem, LocalFileSystem)
            and Path(self._log.addresses[-1]).is_dir()
            # What lies in a table's folder is none of it: its writers alone append to it.
            and not last.change
        )
        folder = Path(self._log.addresses[-1] if is_in_log else self._quarantine.path / "requeued")
        target = folder / (within if is_in_log else Path(within).name)
        # Also if the user puts the file there. What is appended to a table has its columns alone.
        folders = {} if last.change else last.partitions
        write_log_file(str(target), self._as_in_the_log(table, folders))
        thing.done()
        return Requeued(thing.what, str(target), table.num_rows, is_in_log)

    def _rows_of_batch(self, path: Path, planned: PlannedBatch) -> pa.Table:
        table = self._quarantine.read(path)
        if "src" not in table.column_names:
            # None of its rows could be read; the file may have been restored.
            whole = RowsToRead(self._log, planned, self._prints[planned.file])
            table = whole.read()[0].table
        else:
            origin = {*origin_names(self._log.own).values(), LINE_FIELD}
            kept = [name for name in table.column_names if name not in origin]
            table = with_types(table.select(kept), self._log, str(path)).replace_schema_metadata()
        if table.num_rows:  # of a table without rows, tools drop the types of columns as well
            self._check(table, str(path))
        return table

    def _check(self, table: pa.Table, shown: str) -> None:
        """Refuse rows that a run would not take."""
        log = self._log
        replace(log, columns={}).check_columns(table.schema, shown)
        table_to_batch(
            table,
            meaning=self._meaning,
            origin=RowOrigin(shown),
            batch_id=-1,
            time_unit=log.time_unit,
            operations=log.operations,
        )

    def _rows_of_file(self, file: LeftOutFile) -> pa.Table:
        """All rows of a file; whether they are good is for the run that reads them."""
        path = log_path(self._log.addresses, file.name)
        with self._log.opened(path) as opened:
            self._log.check(opened, path)
            rows = opened.rows
        return self._log.read(file.name, 0, rows).replace_schema_metadata()

    def _end_file(self, number: int) -> None:
        files = self._quarantine.files()
        files[number] = replace(files[number], done=True)
        self._quarantine.write_files(files)

    def _as_in_the_log(self, table: pa.Table, folders: Collection[str]) -> pa.Table:
        """Columns by their names in the log; those that are not read need be there, too.

        And those that folders on the way to the new file have a value of: it is not that of rows
        which had none where they stood.
        """
        columns = {name: name for name in (*ABSENT, *self._log.own)} | dict(self._log.columns)
        names = [columns.get(name, name) for name in table.column_names]
        renamed = table.rename_columns(names)
        for canonical, name in columns.items():
            if name not in names and (canonical in self._log.columns or name in folders):
                column = absent_column(canonical, table, pa.int64())
                renamed = renamed.append_column(name, column)
        return renamed


def _name_after(last: str, ending: str) -> str:
    """A name that sorts after the last file of a log, and before the one that will follow it."""
    stem = _ENDINGS.sub("", last)
    base = stem.partition(_MARK)[0]
    # After export.csv may come export1.csv, export-2.csv or export (3).csv, but no export0.csv.
    unnumbered = base if re.search("[0-9]$", base) else f"{base}0"
    candidates = (unnumbered + ending, base + ending, stem + ending, f"{last}{ending}")
    for candidate in candidates:
        if natural_key(candidate) > natural_key(last):
            return candidate
    msg = f"no name of a new file would sort after {last}, the last one of the log; rename that"
    raise StateError(msg)
