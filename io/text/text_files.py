"""One text file of a log: CSV with a header, or JSON lines; plain or packed.

A row is a line. Text has no footer, so the file is read once when it is planned, and its *index* is
kept by the state: how its lines are to be read, and for each *block* of whole lines where it
begins, how many rows it has, and the checksum of its bytes. Blocks are for text what row groups are
for Parquet: a batch is read from the blocks that hold its rows, and these must have the checksums
that they had. The fingerprint of a file is its size and the SHA-256 of its blocks.

Packed files can only be read from the beginning. Each process keeps the newest ones open where the
last batch ended, so that it unpacks a file once, not once a batch.

JSON lines are parsed for their index, as any line may have a column that the others do not have.
"""

import hashlib
import json
import os
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any
from zlib import crc32

import pyarrow as pa

from ...gpu_core.errors import UpdateLogError
from ...gpu_core.id_kinds import form_of
from ..error_text import RESTORE, one_line
from ..file_systems import as_storage_errors, is_local, open_file
from ..log.file_errors import UnreadableRowsError, UnusableFileError
from ..log.file_rows import ReadRows
from ..log.log_paths import LogPath
from ..parquet.footers import PARQUET_BEGINS
from ..parquet.page_checks import ChunkSum
from .csv_lines import csv_layout, without_header
from .json_lines import JsonColumns, parse_json, sift_json
from .line_blocks import line_blocks
from .line_spaces import rows_of_lines
from .text_form import SAMPLE_LINES, type_of_fields
from .text_lines import Form, parse_lines, sift_lines
from .wrong_lines import WrongLine

#: Ends of the names of text files, less that of the packer -> format.
_FORMATS = {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
#: Ends of names of packed files -> Arrow's name of the codec.
_PACKERS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
#: Arrow's name of a codec -> what all files begin with that are packed so.
_PACKED_BEGINS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "bz2": b"BZh"}
_TEXT_FILE = re.compile(r"(\.\w+?)(\.gz|\.zst|\.bz2)?$", re.IGNORECASE)

#: Bytes of a block, but for the end of its last line; read ahead in a file that is not local.
BLOCK_BYTES = 1 << 22

#: Types that a column of text can have, by their names.
_TYPES = {
    str(kind): kind
    for kind in (
        pa.null(),
        pa.bool_(),
        pa.int64(),
        pa.float64(),
        pa.string(),
        *(pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")),
    )
}
#: Packed files that this process has open: file -> where in the text, and what it is read from.
_open_streams: dict[tuple[str, str], tuple[int, Any]] = {}
_MOST_STREAMS = 4
#: Canonical columns in which a number with a fraction has no meaning.
_WHOLE_COLUMNS = ("src", "dst", "type", "ts")
#: Kind of ids -> type in which they are read, whatever they look like.
_IDS_IN_TEXT = {"string": pa.string(), "uuid": pa.string(), "uint64": pa.uint64()}


@dataclass(frozen=True)
class TextBlock:
    """A run of whole lines."""

    number: int
    first_row: int
    rows: int
    #: Number of its first line in the file, from 1.
    first_line: int
    #: Where it begins in the text, and its bytes.
    offset: int
    nbytes: int
    crc: int


@dataclass(frozen=True)
class TextIndex:
    """Contents of a text file, by position."""

    #: Bytes of the file as it is stored.
    size: int
    #: Fingerprint by its file system: finds a change without reading the file.
    stamp: str
    fingerprint: str
    rows: int
    #: ``(name, type)`` of each column; types are what values look like.
    columns: tuple[tuple[str, str], ...]
    #: What is between two fields of CSV.
    delimiter: str
    #: All, or those that are needed for a batch.
    blocks: tuple[TextBlock, ...]
    #: Whether white space around fields of CSV does not belong to them, if they are names.
    is_padded: bool = True
    #: Column of JSON lines -> what is wrong with the first line where it is of another type; under
    #: no name that of the first line that is no object.
    faults: tuple[tuple[str, str], ...] = ()

    def check(self, names: Collection[str]) -> None:
        """Refuse lines that are no objects, or have values of other types in some columns.

        Raises
        ------
        UnusableFileError
            There are such.
        """
        for name, fault in self.faults:
            if not name or name in names:
                raise UnusableFileError(fault)

    def part(self, first_row: int, rows: int) -> "TextIndex":
        """The index with the blocks that hold these rows alone."""
        firsts = [block.first_row for block in self.blocks]
        start = max(bisect_right(firsts, first_row) - 1, 0)
        end = bisect_right(firsts, first_row + max(rows, 1) - 1)
        return replace(self, blocks=self.blocks[start:end])

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TextIndex":
        """Rebuild an index from what `to_json` gave; errors as of a dictionary that is another."""
        return cls(
            **{
                **values,
                "columns": tuple((str(name), str(kind)) for name, kind in values["columns"]),
                "blocks": tuple(TextBlock(**block) for block in values["blocks"]),
                "faults": tuple((str(name), str(why)) for name, why in values.get("faults", ())),
            }
        )


def text_format(path: str) -> str | None:
    """``csv`` or ``json`` by the name of a file; None: it is no text."""
    match = _TEXT_FILE.search(path)
    return _FORMATS.get(match[1].lower()) if match else None


def stamp_of(path: LogPath) -> str:
    """Fingerprint that finds a change without reading the file; empty where there is none."""
    try:
        if is_local(path.filesystem):
            found = os.stat(path.path)
            return f"{found.st_size}-{found.st_mtime_ns}"
        with as_storage_errors(path.filesystem):
            return str(path.filesystem.ukey(path.path))
    except OSError:
        return ""


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
        ids: str = "any",
        own: Mapping[str, str] = MappingProxyType({}),
        *,
        sifts: bool = False,
    ) -> None:
        self.form = form
        self._sifts = sifts
        self._floats = {
            name: own[canonical]
            for name, canonical in roles.items()
            if own.get(canonical, "").startswith("float")
        }
        ends = ("src", "dst") if form_of(ids) in ("string", "uuid") else ()
        self._has_operations = roles.get("op", "op") == "op"
        self._ends = frozenset(name for name in roles if roles[name] in ends)
        self._ids = frozenset(name for name in roles if roles[name] in ("src", "dst"))
        self._source, self._path = source, path
        self.index: TextIndex = _scan(source, path, form, roles) if index is None else index
        self.size, self.rows = self.index.size, self.index.rows
        self.fingerprint = self.index.fingerprint
        self.schema = pa.schema(
            [
                (name, _type_as(roles.get(name), _TYPES[kind], form, form_of(ids), own))
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
            codec = _codec(self._path.path)
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


def _codec(path: str) -> str | None:
    return next((codec for end, codec in _PACKERS.items() if path.lower().endswith(end)), None)


def _reopened(path: LogPath, codec: str) -> Any:
    """A packed file from its beginning, which stays open when the caller's file is closed."""
    return pa.CompressedInputStream(
        pa.PythonFile(open_file(path.filesystem, path.path, BLOCK_BYTES), mode="r"), codec
    )


def _scan(source: Any, path: LogPath, form: str, roles: Mapping[str, str]) -> TextIndex:
    """Make the index of a file."""
    stamp = stamp_of(path)
    blocks: list[TextBlock] = []
    names: list[tuple[str, str]] = []
    whole = {name for name, canonical in roles.items() if canonical in _WHOLE_COLUMNS}
    columns = JsonColumns(whole)
    faults: list[tuple[str, str]] = []
    delimiter, is_padded = "", True
    offset = row = 0
    try:
        size = source.seek(0, 2)
        source.seek(0)
        codec = _codec(path.path)
        stream: Any = source
        _refuse_misnamed(source, path.shown, codec)
        if codec is not None:
            stream = pa.CompressedInputStream(pa.PythonFile(source, mode="r"), codec)
        for line, content in line_blocks(stream, BLOCK_BYTES):
            if form == "json":
                rows = columns.add(content, line)
            else:
                if line == 1 and content.startswith(PARQUET_BEGINS):
                    msg = f"{path.shown} is a Parquet file; give it a name that ends in .parquet"
                    raise UpdateLogError(msg)
                if not names:
                    delimiter, is_padded, names = csv_layout(content, path.shown, whole)
                data = without_header(content) if line == 1 else content
                rows = rows_of_lines(data)
                names = [
                    (name, _later_type(data, names, index, delimiter))
                    if kind == "null" and roles.get(name) == "ts"
                    else (name, kind)
                    for index, (name, kind) in enumerate(names)
                ]
            blocks.append(
                TextBlock(len(blocks), row, rows, line, offset, len(content), crc32(content))
            )
            offset += len(content)
            row += rows
    except UpdateLogError as error:
        raise UnusableFileError(str(error)) from error
    except (OSError, EOFError, ValueError, pa.ArrowException) as error:
        msg = f"{path.shown} cannot be read: {one_line(error)}"
        is_of_system = isinstance(error, OSError) and error.errno is not None
        raise (UpdateLogError if is_of_system else UnusableFileError)(msg) from error
    if form == "json":
        names = columns.found()
        # With the name of the file, as they are shown.
        faults = [
            (name, f"{path.shown}{': ' if name else ', '}{why}")
            for name, why in columns.faults.items()
        ]
    if not names and faults:
        raise UnusableFileError(faults[0][1])
    if not names:
        msg = f"{path.shown} is empty; remove it, or write it again"
        raise UnusableFileError(msg)
    print_ = hashlib.sha256(json.dumps([asdict(block) for block in blocks]).encode()).hexdigest()
    return TextIndex(
        size, stamp, f"{size}-{print_}", row, tuple(names), delimiter, tuple(blocks), is_padded,
        tuple(faults),
    )  # fmt: skip


def _refuse_misnamed(source: Any, shown: str, codec: str | None) -> None:
    """Refuse a file whose name says that it is packed, and it is not; or the other way round."""
    begins = bytes(source.read(8))
    source.seek(0)
    if codec is not None and begins and not begins.startswith(_PACKED_BEGINS[codec]):
        msg = (
            f"{shown} is not packed with {codec}, as its name says; give it the name of what it is"
        )
        raise UpdateLogError(msg)
    for end, packer in _PACKERS.items():
        # Text of any encoding may begin with the letters of bz2.
        if codec is None and packer != "bz2" and begins.startswith(_PACKED_BEGINS[packer]):
            msg = f"{shown} is packed with {packer}; give it a name that ends in {end}"
            raise UpdateLogError(msg)


def _later_type(
    content: bytes, names: Sequence[tuple[str, str]], index: int, delimiter: str
) -> str:
    """Type of a column of times of which no line before has a value."""
    columns = [name if at == index else None for at, (name, _) in enumerate(names)]
    name = names[index][0]
    form = Form("", tuple(columns), delimiter, {name: pa.string()}, has_nulls=True)
    try:
        table = parse_lines(content, 1, form)
    except UpdateLogError:
        table, _ = sift_lines(content, 1, form)
    given = table[name].drop_null().slice(0, SAMPLE_LINES).to_pylist()
    return str(type_of_fields([text.strip() for text in given], is_whole=True))


def _type_as(
    canonical: str | None, kind: pa.DataType, form: str, ids: str, own: Mapping[str, str]
) -> pa.DataType:
    """Type in which a column is read, from what its values look like."""
    is_null = pa.types.is_null(kind)
    if canonical is not None and canonical in own:
        # A column of numbers may begin with whole ones. Floats are rounded where they are kept.
        is_float = own[canonical].startswith("float")
        wanted = pa.float64() if is_float else pa.from_numpy_dtype(own[canonical])
        is_number = is_null or kind in (pa.bool_(), pa.int64(), pa.float64())
        return wanted if is_number or pa.types.is_boolean(wanted) else kind
    if canonical in ("src", "dst") and ids in _IDS_IN_TEXT:
        return _IDS_IN_TEXT[ids]
    if canonical == "op" and (form == "csv" or is_null):
        return pa.string()
    if canonical == "weight" and (is_null or kind == pa.int64()):
        return pa.float64()
    if canonical == "ts" and is_null:
        return kind
    if canonical is not None and is_null:
        return pa.int64()
    return pa.string() if is_null else kind
