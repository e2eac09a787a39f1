"""Data files of a versioned table (Delta, Iceberg) as files of a log.

Such a table is a folder of data files and a log of *versions*: each adds files, and removes some.
Which files it has is recorded in that log alone; in the folder there are also files that were
removed, and files that others were merged into. So a table is read version by version, and a file
of it is known in the log by the version and by what that does with its rows::

    _table/<version>/<change>.<number>/<path within the table>

In natural order the versions follow each other, and within one version all deletes come before all
inserts: an update that moves an edge to where another one was must not delete what came there. No
other file of a log has such a name, as folders that begin with ``_`` are ignored.

Not here: which versions a table has (``delta_table.py``, ``iceberg_table.py``).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...gpu_core.errors import UpdateLogError
from ..log.columns.column_types import without_views
from ..log.file_rows import ReadRows
from ..log.paths.log_order import natural_key
from ..parquet.parquet_files import ParquetLogFile

#: What a version does with the rows of a file, in the order of names: all of them go, ...
DELETE = "delete"
#: ... those about edges go: files that come instead may have the others, and edges of their
#: vertices are in files that stay, ...
DELETE_EDGES = "delete-edges"
#: ... those that change data say are gone, or were updated, ...
FEED_DELETE = "feed-delete"
#: ... those that it says are new, or are what was updated, ...
FEED_INSERT = "feed-insert"
#: ... all are new: taken as those of any file.
INSERT = "insert"
#: The version is the first one that is read, and the file is of an earlier one.
SNAPSHOT = "snapshot"

#: Column of change data, and its values.
_CHANGE_TYPE = "_change_type"
_BEFORE, _AFTER = "update_preimage", "update_postimage"
_KINDS = {FEED_DELETE: ("delete", _BEFORE), FEED_INSERT: ("insert", _AFTER)}
_NAME = re.compile(r"_table/(\d+)/([a-z-]+)\.(\d+)/(.+)", re.DOTALL)


@dataclass(frozen=True)
class TableFile:
    """A data file of one version of a table."""

    version: int
    #: One of the above.
    change: str
    #: Among the files of its version that have the same change.
    number: int
    #: Within the table.
    path: str

    @property
    def name(self) -> str:
        """Within its address of the log."""
        return f"_table/{self.version}/{self.change}.{self.number}/{self.path}"

    @classmethod
    def of_name(cls, name: str) -> "TableFile | None":
        """The file of this name; None: it is of no table."""
        match = _NAME.fullmatch(name)
        return cls(int(match[1]), match[2], int(match[3]), match[4]) if match else None


def planned_before(first: int, planned: Collection[TableFile]) -> list[TableFile]:
    """Files that a plan has of versions before the first one that a table still lists, in order.

    None, unless it also has some of that version or later ones: else there could be versions in
    between, of which neither knows.
    """
    if all(file.version < first for file in planned):
        return []
    old = (file for file in planned if file.version < first)
    return sorted(old, key=lambda file: natural_key(file.name))


class ChangedRows:
    """Rows of a data file, as what a version does with them: `log_files.LogFileReader`.

    Rows that go have a column of ops, with -1. Of change data there are the rows of one direction
    alone, counted from 0; a row about a vertex that another row of them brings back, as after an
    update of its values, does not go, as the vertex' edges would go along.

    Parameters
    ----------
    file
        The data file.
    change
        ``delete``, ``delete-edges``, ``feed-delete``, ``feed-insert`` or ``snapshot``.
    names
        What the columns ``op``, ``src`` and ``dst`` are called in the log.
    shown
        Name of the file, for messages.
    values
        Columns in the path of the file, each of one value.

    Raises
    ------
    UpdateLogError
        The rows have ops of their own.
    """

    form = "parquet"
    index = None

    def __init__(
        self,
        file: ParquetLogFile,
        change: str,
        names: Mapping[str, str],
        shown: str,
        values: Mapping[str, pa.Scalar],
    ) -> None:
        op = names["op"]
        if op in file.schema.names:
            what = "begins with" if change == SNAPSHOT else "deletes or changes"
            msg = (
                f"{shown}: the rows of the table are updates, as they have a column {op}, but a "
                f"version of it {what} rows that are there already; a log can only grow: read it "
                f"from its first version, or start a table that is only appended to"
            )
            raise UpdateLogError(msg)
        self._file, self._op, self._shown, self._values = file, op, shown, values
        self._sign = -1 if change in (DELETE, DELETE_EDGES, FEED_DELETE) else 1
        self.size = file.size
        #: Positions in the file; None: all rows.
        self._positions: npt.NDArray[np.int64] | None = None
        #: Column that says which these are.
        self._chosen_by = _CHANGE_TYPE
        self.rows = file.rows
        fields = [field for field in file.schema if field.name != _CHANGE_TYPE]
        self.schema = pa.schema([*fields, (op, pa.int8())] if self._sign < 0 else fields)
        if change in _KINDS:
            self._positions = self._find(_KINDS[change], (names["src"], names["dst"]))
        elif change == DELETE_EDGES and names["dst"] in file.schema.names:
            self._chosen_by = names["dst"]
            self._positions = np.flatnonzero(self._column(names["dst"]).is_valid().to_numpy())
        elif (
            change == DELETE_EDGES and names["dst"] in values and not values[names["dst"]].is_valid
        ):
            self._positions = np.empty(0, np.int64)
        if self._positions is not None:
            self.rows = self._positions.size

    @property
    def fingerprint(self) -> str:
        """As of the file: change data are never changed themselves."""
        return self._file.fingerprint

    @property
    def group_rows(self) -> tuple[int, ...]:
        """Rows of each row group."""
        if self._positions is None:
            return self._file.group_rows
        ends = np.searchsorted(self._positions, list(accumulate(self._file.group_rows)))
        return tuple(map(int, np.diff(ends, prepend=0)))

    @property
    def has_checksums(self) -> bool:
        """As of the file."""
        return self._file.has_checksums

    def read(self, names: list[str], first_row: int, rows: int) -> ReadRows:
        """Read columns of a run of rows."""
        own = [name for name in names if name != self._op]
        if self._positions is None:
            found = self._file.read(own, first_row, rows)
        else:
            found = self._read_positions(own, first_row, rows)
        columns: Mapping[str, pa.ChunkedArray] = {
            name: pa.repeat(pa.scalar(self._sign, pa.int8()), rows)
            if name == self._op
            else found.table[name]
            for name in names
        }
        return replace(found, table=pa.table(columns))

    def bounds(
        self, names: Sequence[str], first_row: int, rows: int
    ) -> list[tuple[int, int] | None]:
        """As of the rows of the file that these lie between."""
        return self._file.bounds(names, *self._span(first_row, rows))

    def _read_positions(self, names: list[str], first_row: int, rows: int) -> ReadRows:
        assert self._positions is not None
        begin, span = self._span(first_row, rows)
        positions = self._positions[first_row : first_row + rows]
        # The column that decides which rows these are with them: its bytes count.
        found = self._file.read(list(dict.fromkeys([*names, self._chosen_by])), begin, span)
        table = without_views(found.table).take(pa.array(positions - begin))

        def row_name(offset: int) -> str:
            return f"{self._shown}, row {positions[offset]}"

        return ReadRows(table, found.sums, row_name)

    def _span(self, first_row: int, rows: int) -> tuple[int, int]:
        """First row in the file, and rows from there, that these rows lie in."""
        if self._positions is None:
            return first_row, rows
        if rows == 0:
            return 0, 0
        first, last = (int(self._positions[at]) for at in (first_row, first_row + rows - 1))
        return first, last + 1 - first

    def _find(self, kinds: Sequence[str], ends: tuple[str, str]) -> npt.NDArray[np.int64]:
        """Positions of the rows of these kinds; ``ends``: the columns of end points."""
        if _CHANGE_TYPE not in self._file.schema.names:
            msg = f"{self._shown}: change data need a column {_CHANGE_TYPE}; copy the file again"
            raise UpdateLogError(msg)
        column = self._file.read([_CHANGE_TYPE], 0, self._file.rows).table[_CHANGE_TYPE]
        known = pa.array([kind for each in _KINDS.values() for kind in each], pa.string())
        texts = column.cast(pa.string())
        if not pc.all(pc.is_in(texts, known), skip_nulls=False).as_py():
            other = texts.filter(pc.invert(pc.is_in(texts, known)))[0].as_py()
            msg = (
                f"{self._shown}: {_CHANGE_TYPE} is {other!r}, and none of "
                f"{', '.join(known.to_pylist())}; such a table is not read rightly"
            )
            raise UpdateLogError(msg)
        found = pc.is_in(texts, pa.array(kinds, pa.string())).to_numpy()
        ends_there = {*ends} <= {*self._file.schema.names, *self._values}
        if _BEFORE in kinds and ends_there and found.any():
            found &= ~self._stay(found, texts, ends)
        return np.flatnonzero(found)

    def _stay(
        self, go: npt.NDArray[np.bool_], kinds: pa.ChunkedArray, ends: tuple[str, str]
    ) -> npt.NDArray[np.bool_]:
        """Rows that go, about a vertex that a row which comes is about, too."""
        sources, targets = map(self._column, ends)
        is_vertex = pc.is_null(targets)
        come = sources.filter(pc.and_(pa.array(~go), is_vertex))
        is_there = pc.is_in(sources, value_set=come.combine_chunks())
        goes: npt.NDArray[np.bool_] = go & is_vertex.to_numpy()
        stays = goes & is_there.to_numpy()
        # The rows before and after an update are in one file, unless partitions divide them, or the
        # writer does: delta-rs before 1.3.
        before, after = (pc.sum(pc.equal(kinds, each)).as_py() for each in (_BEFORE, _AFTER))
        alone = goes & ~stays & pc.equal(kinds, _BEFORE).to_numpy()
        if (self._values or before != after) and alone.any():
            row = int(np.flatnonzero(alone)[0])
            where = "partition's file" if self._values else "file"
            cure = ", and keep rows about vertices in one partition" if self._values else ""
            msg = (
                f"{self._shown}, row {row}: vertex {sources[row].as_py()} was updated, but its row "
                f"after that is not in this {where}, so whether its edges stay is not known; begin "
                f"with the rows of this version, as TABLE@v<version>, and another --state{cure}"
            )
            raise UpdateLogError(msg)
        return stays

    def _column(self, name: str) -> pa.ChunkedArray:
        """A column of the file, or of its path; of plain values."""
        rows = self._file.rows
        if name in self._file.schema.names:
            column = without_views(self._file.read([name], 0, rows).table)[name]
            kind = column.type
            return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
        return pa.chunked_array([pa.repeat(self._values[name], rows)])
