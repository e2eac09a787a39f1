"""Damaged pages and footers: refused where a checksum tells, and never a wrong table."""

from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import UpdateLogError
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.parquet.page_checks import ChunkSum, PageError, check_chunk, read_header

ROWS = 3_000
#: Damages of each place of each kind of file.
DAMAGES = 40


def table_of(id_type: str) -> pa.Table:
    random = np.random.default_rng(0)
    ids = {name: random.integers(0, 1 << 20, ROWS).astype(id_type) for name in ("src", "dst")}
    ops = random.choice(np.array([1, 1, -1], np.int8), ROWS)
    return pa.table({"op": ops, **ids})


def write_own(path: Path, id_type: str) -> pa.Table:
    table = table_of(id_type)
    if id_type == "int32":
        fields = [pa.field(f.name, f.type, nullable=False) for f in table.schema]
        ops = table["op"].combine_chunks()
        fields[0] = pa.field("op", pa.binary(1), nullable=False)
        ops = pa.Array.from_buffers(pa.binary(1), ROWS, [None, ops.buffers()[1]])
        table = pa.table([ops, table["src"], table["dst"]], schema=pa.schema(fields))
    write_log_file(str(path), table, row_group_rows=ROWS // 2)
    return table


def write_plain(path: Path, **more: Any) -> pa.Table:
    table = table_of("int64")
    how = {"use_dictionary": False, "compression": "none", "row_group_size": ROWS // 2}
    pq.write_table(table, path, **{"write_page_checksum": True, **how, **more})
    return table


#: Kind of file -> function that writes one, and returns its rows.
KINDS: dict[str, Any] = {
    "own views": lambda path: write_own(path, "int32"),
    "own packed": lambda path: write_own(path, "int64"),
    "plain": write_plain,
    "snappy": lambda path: write_plain(path, compression="snappy", use_dictionary=True),
    "zstd": lambda path: write_plain(path, compression="zstd", data_page_size=2_000),
    "zstd, pages of version 2": lambda path: write_plain(
        path, compression="zstd", data_page_version="2.0"
    ),
}


def page_places(path: Path) -> list[tuple[int, int, int]]:
    """``(header, payload, end)`` of each page."""
    content, places = memoryview(path.read_bytes()), []
    metadata = pq.read_metadata(path)
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            at = chunk.dictionary_page_offset or chunk.data_page_offset
            end = at + chunk.total_compressed_size
            while at < end:
                header = read_header(content, at)
                places.append((at, at + header.nbytes, at + header.nbytes + header.payload_bytes))
                at = places[-1][2]
    return places


def damaged(content: bytes, low: int, high: int, random: np.random.Generator) -> bytes:
    """Content with one bit or byte changed, or a stretch of zeros, from low to high."""
    changed = bytearray(content)
    at = int(random.integers(low, high))
    match random.integers(3):
        case 0:
            changed[at] ^= 1 << int(random.integers(8))
        case 1:
            changed[at] = (changed[at] + int(random.integers(1, 256))) % 256
        case _:
            end = min(at + int(random.integers(1, 65)), high)
            changed[at:end] = bytes(end - at)
    return bytes(changed)


def read_all(path: Path) -> pa.Table:
    log = UpdateLog(str(path))
    (file,) = listing_of(log).files
    return pa.concat_tables(
        log.read(file.name, first, min(1_000, file.rows - first), file.fingerprint)
        for first in range(0, file.rows, 1_000)
    )


def outcome(path: Path, table: pa.Table) -> str:
    """``same`` or ``wrong`` rows, or ``refused`` by a sentence that names the file."""
    try:
        read = read_all(path)
    except UpdateLogError as error:
        text = str(error)
        return "refused" if path.name in text and "\n" not in text else text
    is_same = read.column_names == table.column_names and read.cast(table.schema) == table
    return "same" if is_same else "wrong"


def outcomes(path: Path, table: pa.Table, places: list[tuple[int, int]], seed: int) -> list[str]:
    """`outcome` of each damage."""
    random = np.random.default_rng(seed)
    content, found = path.read_bytes(), []
    for _ in range(DAMAGES):
        low, high = places[int(random.integers(len(places)))]
        path.write_bytes(damaged(content, low, high, random))
        found.append(outcome(path, table))
    path.write_bytes(content)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0])
def test_damaged_payloads_are_refused(tmp_path: Path, kind: str, seed: int) -> None:
    path = tmp_path / "a.parquet"
    table = KINDS[kind](path)
    assert listing_of(UpdateLog(str(path))).files[0].has_checksums
    found = outcomes(path, table, [(low, high) for _, low, high in page_places(path)], seed)
    assert set(found) <= {"same", "refused"}
    # Zeros in place of zeros are no damage.
    assert found.count("same") <= DAMAGES // 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0])
def test_damaged_headers_give_no_wrong_rows(tmp_path: Path, kind: str, seed: int) -> None:
    path = tmp_path / "a.parquet"
    table = KINDS[kind](path)
    found = outcomes(path, table, [(low, high) for low, high, _ in page_places(path)], seed)
    assert set(found) <= {"same", "refused"}


def of_damaged_footers(folder: Path, kind: str, seed: int) -> list[str]:
    path = folder / "a.parquet"
    table = KINDS[kind](path)
    size = path.stat().st_size
    begin = size - 8 - int.from_bytes(path.read_bytes()[-8:-4], "little")
    return outcomes(path, table, [(begin, size)], seed)


@pytest.mark.parametrize("kind", ["own views", "own packed"])
@pytest.mark.parametrize("seed", [0])
def test_damaged_footers_of_our_own_are_refused(tmp_path: Path, kind: str, seed: int) -> None:
    found = of_damaged_footers(tmp_path, kind, seed)
    assert set(found) <= {"same", "refused"}
    assert found.count("same") <= DAMAGES // 4


@pytest.mark.parametrize("kind", ["plain", "snappy", "zstd"])
@pytest.mark.parametrize("seed", [0])
def test_damaged_footers_of_others_give_no_wrong_rows(tmp_path: Path, kind: str, seed: int) -> None:
    assert set(of_damaged_footers(tmp_path, kind, seed)) <= {"same", "refused"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        # The element of the schema alone: else op would be taken for absent.
        (b"\x18\x02op%", b"\x18\x02up%", "calls column 0 up and op"),
        # Compression of the first chunk, after its path; Arrow would end the process.
        (b"op\x15\x00", b"op\x15\x7f", "contradicts its schema"),
        # Type of the first chunk, of which the schema says otherwise.
        (b"\x1c\x15\x02\x19\x25", b"\x1c\x15\x0c\x19\x25", "contradicts its schema"),
        # A bound of four bytes of eight, and four more of a field that nobody knows.
        (b"\x18\x08", b"\x18\x04", "damaged"),
        (b"\x18\x06schema\x15\x06", b"\x18\x06schema\x15\x08", "fewer columns than it says"),
    ],
)
def test_a_footer_that_contradicts_itself(
    tmp_path: Path, old: bytes, new: bytes, words: str
) -> None:
    path = tmp_path / "a.parquet"
    write_plain(path)
    content = path.read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert old in content[begin:]
    path.write_bytes(content[:begin] + content[begin:].replace(old, new, 1))
    with pytest.raises(UpdateLogError, match=words):
        listing_of(UpdateLog(str(path)))


def test_a_log_tells_whether_its_pages_carry_checksums(tmp_path: Path) -> None:
    write_plain(tmp_path / "a.parquet", write_page_checksum=False)
    write_plain(tmp_path / "b.parquet")
    pq.write_table(table_of("int64").slice(0, 0), tmp_path / "c.parquet")
    log = UpdateLog(str(tmp_path))
    assert [file.has_checksums for file in listing_of(log).files] == [False, True, True]
    sums = [log.read_checked(name, 0, 10).sums for name in ("a.parquet", "b.parquet")]
    assert [each[0].has_checksums for each in sums] == [False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_a_log_elsewhere_is_read_as_a_local_one(tmp_path: Path, kind: str) -> None:
    table = KINDS[kind](tmp_path / "a.parquet")
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "a.parquet"), "/page-checks/a.parquet")
    local, far = UpdateLog(str(tmp_path)), UpdateLog("memory://page-checks")
    assert listing_of(local).files == listing_of(far).files
    for first, rows in [(0, ROWS), (10, 5), (ROWS // 2 - 1, 2)]:
        near = local.read_checked("a.parquet", first, rows)
        away = far.read_checked("a.parquet", first, rows)
        assert near.table.cast(table.schema) == table.slice(first, rows)
        assert away.table == near.table
        assert away.sums == near.sums
    memory.rm("/page-checks", recursive=True)


def test_a_file_elsewhere_is_checked_though_one_alike_was(tmp_path: Path) -> None:
    """What was checked of a local file is known by its inode; others have none."""
    path = tmp_path / "a.parquet"
    write_plain(path)
    content = bytearray(path.read_bytes())
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/page-checks/a.parquet", bytes(content))
    content[page_places(path)[0][1] + 8] ^= 1
    memory.pipe_file("/page-checks/b.parquet", bytes(content))
    log = UpdateLog("memory://page-checks")
    assert log.read("a.parquet", 0, ROWS).num_rows == ROWS
    with pytest.raises(UpdateLogError, match=r"b\.parquet: .* page 0 does not have the checksum"):
        log.read("b.parquet", 0, ROWS)
    memory.rm("/page-checks", recursive=True)


def test_the_checksum_of_a_row_group_tells_other_bytes_under_the_same_footer(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.parquet"
    write_plain(path, write_page_checksum=False)
    log = UpdateLog(str(path))
    (file,) = listing_of(log).files
    known = {
        group: each.crc
        for group, each in log.read_checked("a.parquet", 0, ROWS).sums.items()
    }  # fmt: skip
    assert sorted(known) == [0, 1]
    content = bytearray(path.read_bytes())
    content[page_places(path)[-1][1] + 8] ^= 1
    path.write_bytes(content)
    assert listing_of(log).files[0].fingerprint == file.fingerprint
    log.read_checked("a.parquet", 0, ROWS // 2, known=known)
    with pytest.raises(UpdateLogError, match=r"a\.parquet has changed .* row group 1 holds other"):
        log.read_checked("a.parquet", ROWS // 2, 10, known=known)


def test_a_file_renamed_over_the_one_that_is_open_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphtide.io.log import update_log

    path, other = tmp_path / "a.parquet", tmp_path / "b.tmp"
    table = write_own(path, "int32")
    write_log_file(str(other), table.take(pa.array(range(ROWS - 1, -1, -1))))
    log = UpdateLog(str(path))
    (file,) = listing_of(log).files
    check = update_log.check_schema

    def rename_and_check(*arguments: Any, **flags: Any) -> Any:
        # The footer was read just before, and the rows are read next.
        other.replace(path)
        return check(*arguments, **flags)

    monkeypatch.setattr(update_log, "check_schema", rename_and_check)
    read = log.read("a.parquet", 0, ROWS, file.fingerprint)
    assert not other.exists()
    assert read.cast(table.schema) == table


# -- pages by hand

#: A data page of version 1: 2 values, plain, no levels; 2 bytes; its CRC is added where wanted.
_BEGIN, _END = bytes([0x15, 0, 0x15, 4, 0x15, 4]), bytes([0x15, 4, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0])


def page(payload: bytes = b"ab", crc: int | None = None) -> bytes:
    checksum = b""
    if crc is not None:
        signed, zigzag = crc - (1 << 32) * (crc >> 31), b""
        number = (signed << 1) ^ (signed >> 63)
        while number >= 0x80:
            zigzag, number = zigzag + bytes([number & 0x7F | 0x80]), number >> 7
        checksum = b"\x15" + zigzag + bytes([number])
    return _BEGIN + checksum + (b"\x1c" if checksum else b"\x2c") + _END + payload


def test_a_header_by_hand() -> None:
    import zlib

    crc = zlib.crc32(b"ab")
    header = read_header(memoryview(page(crc=crc)))
    assert (header.kind, header.payload_bytes, header.num_values, header.encoding) == (0, 2, 2, 0)
    assert header.crc == crc
    assert read_header(memoryview(page())).crc is None
    whole = page(crc=crc) + page()
    pages = b"".join(each[:-2] + crc.to_bytes(4, "little") for each in (page(crc=crc), page()))
    assert check_chunk(memoryview(whole), 4, ["PLAIN"]) == ChunkSum(zlib.crc32(pages), False)
    assert check_chunk(memoryview(whole), 2, ["PLAIN"]).has_checksums


@pytest.mark.parametrize(
    ("data", "values", "encodings", "words"),
    [
        (page(crc=1), 2, ["PLAIN"], "page 0 does not have the checksum"),
        (page() + page(crc=1), 4, ["PLAIN"], "page 1 does not have the checksum"),
        (page(), 3, ["PLAIN"], "no page header at byte"),
        (page(), 1, ["PLAIN"], "hold 2 values or more, but the footer says 1"),
        (page()[:-1], 2, ["PLAIN"], "page 0 is longer than its column chunk"),
        (page(crc=0x9E83486D), 2, ["RLE"], "encoding 0, which the footer does not name"),
        (b"\x1c" * 5_000, 2, ["PLAIN"], "no page header at byte 0"),
        (b"\x18\xff\xff\xff\xff\x7f", 2, ["PLAIN"], "no page header"),
        (b"\x15" + b"\xff" * 5_000, 2, ["PLAIN"], "no page header"),
        (b"", 2, ["PLAIN"], "no page header"),
    ],
)
def test_pages_that_are_damaged(data: bytes, values: int, encodings: list[str], words: str) -> None:
    with pytest.raises(PageError, match=words):
        check_chunk(memoryview(data), values, encodings)
