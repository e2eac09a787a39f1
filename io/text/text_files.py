"""One text file of a log: CSV with a header, or JSON lines; plain or packed.

A row is a line. Text has no footer, so the file is read once when it is planned (``text_scan.py``),
and its *index* is kept by the state: how its lines are to be read, and for each *block* of whole
lines where it begins, how many rows it has, and the checksum of its bytes. Blocks are for text what
row groups are for Parquet: a batch is read from the blocks that hold its rows, and these must have
the checksums that they had. The fingerprint of a file is its size and the SHA-256 of its blocks.

Packed files can only be read from the beginning. Each process keeps the newest ones open where the
last batch ended, so that it unpacks a file once, not once a batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import pyarrow as pa

from ...gpu_core.errors import UpdateLogError
from ...gpu_core.id_kinds import are_names
from ..error_text import RESTORE, one_line
from ..file_systems import open_file
from ..log.columns.column_types import id_type_of_text, property_type_of_text
from ..log.file_errors import UnreadableRowsError
from ..log.file_rows import ReadRows
from ..log.paths.log_paths import LogPath
from ..parquet.page_checks import ChunkSum
from .csv_columns import without_header
from .json_lines import parse_json, sift_json
from .line_form import Form
from .text_index import BLOCK_BYTES, TextBlock, TextIndex
from .text_lines import parse_lines, sift_lines
from .text_names import codec_of
from .text_scan import scan_text
from .wrong_lines import WrongLine

#: Types that a column of text can have, by their names.
_TYPES = {
    str(kind): kind
    for kind in (
        pa.null(),
        pa.bool_(),
        pa.int64(),
        pa.uint64(),
        pa.float64(),
        pa.string(),
        *(pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")),
    )
}
#: Packed files that this process has open: file -> where in the text, and what it is read from.
_open_streams: dict[tuple[str, str], tuple[int, Any]] = {}
_MOST_STREAMS = 4


class TextLogFile:
    """An open text file of a log: what `log_files.LogFileReader` asks for.

    Parameters
    ----------
    source
        The file, open.
    path
        Where it is.
    form
        ``csv`` or ``json``.
    roles
        Name in the file -> canonical column, for those that are columns of a log.
    index
        Its index, or a part of it; None: it is made.
    ids
        Kind of the graph's ids.
    own
        Type of each property of the user's own.
    sifts
        Whether lines that are no rows are left out; else they are refused.
    """

    #: Text carries none; blocks are compared with what was read when the file was planned.
    has_checksums = False

    def __init__(
        self,
        source: Any,
        path: LogPath,
        form: str,
        roles: Mapping[str, str],
        index: TextIndex | None,
        ids: str,
        own: Mapping[str, str],
        *,
        sifts: bool,
    ) -> None:
        self.form = form
        self._sifts = sifts
        self._floats = {
            name: own[canonical]
            for name, canonical in roles.items()
            if own.get(canonical, "").startswith("float")
        }
        ends = ("src", "dst") if are_names(ids) else ()
        self._has_operations = roles.get("op", "op") == "op"
        self._ends = frozenset(name for name in roles if roles[name] in ends)
        self._ids = frozenset(name for name in roles if roles[name] in ("src", "dst"))
        self._source, self._path = source, path
        self.index: TextIndex = scan_text(source, path, form, roles) if index is None else index
        self.size, self.rows = self.index.size, self.index.rows
        self.fingerprint = self.index.fingerprint
        self.schema = pa.schema(
            [
                (name, _type_as(roles.get(name), _TYPES[kind], form, ids, own))
                for name, kind in self.index.columns
            ]
        )

    @property
    def group_rows(self) -> tuple[int, ...]:
        """Rows of each block."""
        return tuple(block.rows for block in self.index.blocks)

    def bounds(
        self, names: Sequence[str], first_row: int, rows: int
    ) -> list[tuple[int, int] | None]:
        """Nothing: text does not say it."""
        return [None] * len(names)

    def read(self, names: list[str], first_row: int, rows: int) -> ReadRows:
        """Read columns of a run of rows."""
        tables = [pa.schema([(name, self.schema.field(name).type) for name in names]).empty_table()]
        sums: dict[int, ChunkSum] = {}
        wrong: list[WrongLine] = []
        blocks = self.index.part(first_row, rows).blocks if rows else ()
        for block, content in self._contents(blocks):
            crc = crc32(content)
            sums[block.number] = ChunkSum(crc, False)
            if crc != block.crc:
                msg = f"{self._path.shown} has changed since it was planned; {RESTORE}"
                raise UpdateLogError(msg)
            start = max(0, first_row - block.first_row)
            end = min(block.rows, first_row + rows - block.first_row)
            table, found = self._parsed(content, block, names, slice(start, end))
            if found and not self._sifts:
                raise UnreadableRowsError(found[0].message(self._path.shown))
            if table.num_rows + len(found) != end - start:
                msg = (
                    f"{self._path.shown}, from line {block.first_line} on: {end - start} rows were "
                    f"planned, but {table.num_rows} are read; please report this"
                )
                raise UpdateLogError(msg)
            tables.append(table)
            wrong += [replace(each, row=each.row + block.first_row) for each in found]
        return ReadRows(pa.concat_tables(tables), sums, wrong=tuple(wrong))

    def _parsed(
        self, content: bytes, block: TextBlock, names: list[str], span: slice
    ) -> tuple[pa.Table, list[WrongLine]]:
        """Some rows of a block, and those among them that are none."""
        kinds = {name: self.schema.field(name).type for name in names}
        # Columns without a value are not looked at.
        types = {name: kind for name, kind in kinds.items() if not pa.types.is_null(kind)}
        wrong: list[WrongLine] = []
        if not types:
            count = span.stop - span.start
            return pa.table({name: pa.nulls(count) for name in names}), wrong
        shown, line = self._path.shown, block.first_line
        try:
            if self.form == "json":
                table = parse_json(content, line, types, shown, self._floats)
            else:
                form = self._form(types)
                content = without_header(content) if line == 1 else content
                table = parse_lines(content, line, form)
            table = table.slice(span.start, span.stop - span.start)
        except UpdateLogError:
            # Rows of other batches are not to blame for.
            if self.form == "json":
                table, wrong = sift_json(content, line, types, self._floats, span)
            else:
                table, wrong = sift_lines(content, line, form, span)
        for name in kinds.keys() - types.keys():
            table = table.append_column(name, pa.nulls(table.num_rows))
        return table.select(names), wrong

    def _form(self, types: Mapping[str, pa.DataType]) -> Form:
        every = [name for name, _ in self.index.columns]
        ends = self._ends & types.keys()
        return Form(
            self._path.shown,
            tuple(name if name in types else None for name in every),
            self.index.delimiter,
            types,
            has_nulls=True,
            as_written=frozenset() if self.index.is_padded else ends,
            texts=ends,
            ids=self._ids,
            has_operations=self._has_operations,
            floats={name: kind for name, kind in self._floats.items() if name in types},
        )

    def _contents(self, blocks: Sequence[TextBlock]) -> Iterator[tuple[TextBlock, bytes]]:
        """Bytes of some blocks that follow each other."""
        if not blocks:
            return
        key = (self._path.shown, self.fingerprint)
        position, stream = _open_streams.pop(key, (0, None))
        if stream is None or position > blocks[0].offset:
            codec = codec_of(self._path.path)
            stream = self._source if codec is None else _reopened(self._path, codec)
            position = 0
        try:
            if stream is self._source:
                stream.seek(blocks[0].offset)
            else:
                for skipped in range(position, blocks[0].offset, BLOCK_BYTES):
                    stream.read(min(BLOCK_BYTES, blocks[0].offset - skipped))
            for block in blocks:
                yield block, stream.read(block.nbytes)
        except (OSError, ValueError) as error:
            if isinstance(error, UpdateLogError):
                raise
            msg = f"{self._path.shown} cannot be read: {one_line(error)}"
            raise UpdateLogError(msg) from error
        if stream is not self._source:
            while len(_open_streams) >= _MOST_STREAMS:
                _open_streams.pop(next(iter(_open_streams)), None)
            _open_streams[key] = blocks[-1].offset + blocks[-1].nbytes, stream


def _reopened(path: LogPath, codec: str) -> Any:
    """A packed file from its beginning, which stays open when the caller's file is closed."""
    return pa.CompressedInputStream(
        pa.PythonFile(open_file(path.filesystem, path.path, BLOCK_BYTES), mode="r"), codec
    )


def _type_as(
    canonical: str | None, kind: pa.DataType, form: str, ids: str, own: Mapping[str, str]
) -> pa.DataType:
    """Type in which a column is read, from what its values look like."""
    is_null = pa.types.is_null(kind)
    if canonical is not None and canonical in own:
        # A column of numbers may begin with whole ones.
        wanted = property_type_of_text(own[canonical])
        is_number = is_null or kind in (pa.bool_(), pa.int64(), pa.float64())
        return wanted if is_number or pa.types.is_boolean(wanted) else kind
    if canonical in ("src", "dst") and (are_names(ids) or ids == "uint64"):
        return id_type_of_text(ids)
    if canonical == "op" and (form == "csv" or is_null):
        return pa.string()
    if canonical == "weight" and (is_null or kind == pa.int64()):
        return pa.float64()
    if canonical == "ts" and is_null:
        return kind
    if canonical is not None and (is_null or kind == pa.uint64()):
        return pa.int64()  # a number beyond it makes its line wrong
    return pa.string() if is_null else kind
