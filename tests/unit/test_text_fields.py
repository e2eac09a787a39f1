"""Fields of text logs: the type that a column has, and lines that do not fit it."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from graphtide import UpdateLogError
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.log.bad_rows import RowsToRead
from graphtide.io.log.conversion import table_to_batch
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.plan import PlannedBatch
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.text import text_scan, wrong_lines


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_scan, "BLOCK_BYTES", 1 << 10)


def with_field(field: str, at: int, count: int, column: str, usual: str) -> str:
    """Text of a file where one field of a column is another than all the others."""
    lines = [dict.fromkeys(("src", "dst", "weight", "type", "ts"), "1") for _ in range(count)]
    for row, line in enumerate(lines):
        line[column] = field if row == at else usual
    return "".join(",".join(line) + "\n" for line in [lines[0], *(each.values() for each in lines)])


@pytest.mark.parametrize(
    ("column", "usual", "field", "why"),
    [
        ("src", "7", "abc", "which is no integer; correct the line, or give --ids string if ids"),
        ("src", "7", "1.0", "which is no integer"),
        ("dst", "7", "nan", "which is no integer"),
        ("dst", "7", "0x10", "which is no integer"),
        ("weight", "0.5", "N/A", "which is no number"),
        ("weight", "1", "2020-01-01", "which is no number"),
        ("type", "1", "2.5", "which is no integer"),
        ("ts", "5", "n/a", "which is no integer"),
        ("ts", "5", "7.5", "which is no integer"),
        ("ts", "5", "2020-01-01", "which is no integer"),
        ("ts", "2020-01-01", "n/a", "which is no time"),
        ("ts", "2020-01-01", "5", "which is no time"),
        ("ts", "2020-01-01", "2021-01-01T00:00:00Z", "which has a zone, where times"),
        ("ts", "2020-01-01T00:00:00Z", "2021-01-01", "which has no zone, where times"),
    ],
)
@pytest.mark.parametrize(("at", "count"), [(0, 3), (500, 1200), (1100, 1200)])
def test_one_wrong_field_costs_its_line_wherever_it_stands(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    column: str,
    usual: str,
    field: str,
    why: str,
    at: int,
    count: int,
) -> None:
    """Among the first 1,000 lines it made its whole column text, and the file none of a log."""
    monkeypatch.setattr(text_scan, "BLOCK_BYTES", 1 << 16)  # those lines are in its first block
    (tmp_path / "a.csv").write_text(with_field(field, at, count, column, usual))
    log = UpdateLog(str(tmp_path), records="semantic")
    assert listing_of(log).files[0].rows == count
    with pytest.raises(
        UpdateLogError, match=rf"a\.csv, line {at + 2}: {column} is '{field}', {why}"
    ):
        log.read("a.csv", 0, count)
    found = log.read_checked("a.csv", 0, count, sifts=True)
    assert [(each.row, each.number) for each in found.wrong] == [(at, at + 2)]
    assert found.table.num_rows == count - 1


def test_a_decimal_comma_is_refused_with_what_reads_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src;dst;weight\n1;2;0,5\n2;3;1.200,75\n3;4;1,5\n")
    log = UpdateLog(str(tmp_path), records="weighted")
    for row, text in enumerate(("0,5", "1.200,75")):
        cure = "in a log; write a point, or use graphtide import"
        with pytest.raises(UpdateLogError, match=f"weight is '{text}', which is no number {cure}"):
            log.read("a.csv", row, 1)


def test_one_wrong_field_in_a_column_of_the_users_own_costs_its_line(tmp_path: Path) -> None:
    lines = ["src,dst,amount,channel", *["1,2,0.5,3"] * 8, "1,2,N/A,3", "1,2,1,3.5"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), own={"amount": "float64", "channel": "int16"})
    found = log.read_checked("a.csv", 0, listing_of(log).files[0].rows, sifts=True)
    assert [each.reason.partition(";")[0] for each in found.wrong] == [
        ": amount is 'N/A', which is no number",
        ": channel is '3.5', which is no integer",
    ]


@pytest.mark.parametrize(
    ("ids", "other", "message"),
    [
        # Half of them, and somewhat more: neither is wrong for sure.
        (["1", "x"], "0.5", "column src is of type string"),
        (["1", "x", "2", "y", "3"], "0.5", "column src is of type string"),
        (["1.0", "2", "3.0"], "0.5", "column src is of type double"),
        (["1"], "a\n1,2,b\n1,2,0.5", "column weight is of type string"),
    ],
)
def test_a_column_without_a_clear_majority_is_refused_as_a_whole(
    tmp_path: Path, ids: list[str], other: str, message: str
) -> None:
    lines = ["src,dst,weight", *[f"{each},2,{other}" for each in ids]]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(UpdateLogError, match=message):
        listing_of(UpdateLog(str(tmp_path), records="weighted"))


def test_names_that_mostly_look_like_numbers_are_text(tmp_path: Path) -> None:
    names = ["007", "7", "1.0", "1e3", "2020-01-01", *["5"] * 20, "x"]
    (tmp_path / "a.csv").write_text("\n".join(["src,dst", *[f"{name},1" for name in names]]))
    log = UpdateLog(str(tmp_path), ids="string")
    assert log.read("a.csv", 0, listing_of(log).files[0].rows)["src"].to_pylist() == names


def test_few_weights_with_a_fraction_are_no_wrong_ones(tmp_path: Path) -> None:
    weights = [*["1"] * 50, "0.5", *["1"] * 50]
    lines = ["src,dst,weight,other", *[f"1,2,{each},{each}" for each in weights]]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="weighted")
    assert log.read("a.csv", 50, 1)["weight"].to_pylist() == [0.5]
    (index,) = listing_of(log).indexes.values()
    assert dict(index.columns)["other"] == "double"


def test_one_zone_in_json_lines_costs_its_line_wherever_a_block_begins(tmp_path: Path) -> None:
    """As the first time of a block it made all those before wrong."""
    for at in range(1, 60):
        lines = ['{"src":1,"dst":2,"ts":"2020-01-01"}'] * 60
        lines[at] = '{"src":1,"dst":2,"ts":"2021-01-01T00:00:00Z"}'
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        log = UpdateLog(str(tmp_path), records="semantic")
        found = log.read_checked("a.jsonl", 0, listing_of(log).files[0].rows, sifts=True)
        assert [each.row for each in found.wrong] == [at]


def test_numbers_where_names_are_read_are_told_from_mixed_values(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"src":"a","dst":"b"}\n{"src":5,"dst":"b"}\n')
    with pytest.raises(
        UpdateLogError, match=r"src are of type string, .*line 2 on also of type int64"
    ):
        listing_of(UpdateLog(str(tmp_path), ids="string"))
    (tmp_path / "a.jsonl").write_text('{"src":5,"dst":7}\n')
    log = UpdateLog(str(tmp_path), ids="string")
    with pytest.raises(UpdateLogError, match=r"a number, not a string\); write it in quotes"):
        log.read("a.jsonl", 0, listing_of(log).files[0].rows)


def test_the_last_line_counts_among_those_that_show_what_a_column_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,dst\n1,2\nx,3\n3,4")
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match="line 3: src is 'x', which is no integer"):
        log.read("a.csv", 0, listing_of(log).files[0].rows)
    # Nor does a line that cannot be taken apart end the sample.
    rows = "".join(f"{number},{number + 1}\n" for number in range(20))
    (tmp_path / "a.csv").write_text(f'src,dst\n1,"2\n{rows}')
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match="line 2 has a quote that does not end"):
        log.read("a.csv", 0, listing_of(log).files[0].rows)


@pytest.mark.parametrize("field", ["1.5", "1e400", "99999999999999999999"])
@pytest.mark.parametrize("column", ["src", "ts"])
def test_a_number_that_is_not_whole_costs_its_line_of_json(
    tmp_path: Path, field: str, column: str
) -> None:
    lines = [f'{{"src": {number}, "dst": 2, "ts": 5}}' for number in range(5)]
    usual = 2 if column == "src" else 5
    lines[2] = lines[2].replace(f'"{column}": {usual}', f'"{column}": {field}')
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="semantic")
    listing = listing_of(log, needed=())
    (file,) = listing.files
    read = replace(log, indexes=listing.indexes, time_unit=listing.time_unit)
    found = read.read_checked(file.name, 0, file.rows, sifts=True)
    assert [(each.row, each.number) for each in found.wrong] == [(2, 3)]
    why = "which does not fit int64" if field.isdigit() else "which is no integer"
    assert f": {column} is " in found.wrong[0].reason
    assert why in found.wrong[0].reason
    assert found.table["src"].to_pylist() == [0, 1, 3, 4]


def test_a_number_of_thousands_of_digits_costs_its_line(tmp_path: Path) -> None:
    """Python refuses to make a number of it."""
    (tmp_path / "a.csv").write_text(f"src,dst\n1,2\n{'9' * 5000},3\n")
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match=r"line 3: src is '9+', which does not fit int64"):
        log.read("a.csv", 0, listing_of(log).files[0].rows)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_negative_number_is_told_that_ids_are_not(tmp_path: Path, name: str) -> None:
    """Not to be smaller, as those that are too large."""
    is_csv = name.endswith("csv")
    text = "src,dst\n-1,2\n" if is_csv else '{"src": 1, "dst": 2}\n{"src": -1, "dst": 2}\n'
    (tmp_path / name).write_text(text)
    log = UpdateLog(str(tmp_path), ids="uint64")
    with pytest.raises(UpdateLogError, match=r"line 2: src is .*-1.* fit uint64; these are 0 or"):
        log.read(name, 0, listing_of(log).files[0].rows)


def test_ids_of_json_beyond_int64_stand_beside_smaller_ones(tmp_path: Path) -> None:
    """Arrow takes the larger ones for floats, but they are read as they are."""
    ids = [1, 2**64 - 1, 5, 2**63, 0]
    lines = [f'{{"src": {each}, "dst": {each}, "weight": {each}}}' for each in ids]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="weighted", ids="uint64")
    found = log.read("a.jsonl", 0, listing_of(log).files[0].rows)
    assert found["src"].to_pylist() == found["dst"].to_pylist() == ids
    assert found["weight"].to_pylist() == list(map(float, ids))
    # Where ids are int64, they make their lines wrong, as in CSV; the others are read.
    log = UpdateLog(str(tmp_path))
    with pytest.raises(
        UpdateLogError, match=r"line 2: src is 18446744073709551615, .* ids='uint64'"
    ):
        log.read("a.jsonl", 0, listing_of(log).files[0].rows)
    sifted = log.read_checked("a.jsonl", 0, 5, sifts=True)
    assert sifted.table["src"].to_pylist() == [1, 5, 0]
    assert [each.number for each in sifted.wrong] == [2, 4]


@pytest.mark.parametrize("field", ["0x10", "0X1f", "ffff\n3,0x0"])
def test_hexadecimal_numbers_are_none_in_any_line(tmp_path: Path, field: str) -> None:
    (tmp_path / "a.csv").write_text("src,dst\n" + "1,2\n" * 1500 + f"1,{field}\n")
    log = UpdateLog(str(tmp_path))
    with pytest.raises(UpdateLogError, match=r"line 1502: dst is '.*', which is no integer"):
        log.read("a.csv", 0, listing_of(log).files[0].rows)
    assert log.read("a.csv", 0, 1500).num_rows == 1500


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        ("float32", "16777217", ["16777216", "16777217.0", "1.5", "33554432"]),
        ("float64", "9007199254740993", ["9007199254740992", "9007199254740993.0", "-0.5"]),
        ("float64", "18446744073709551617", ["18446744073709551616", "1e300"]),
    ],
)
def test_a_whole_number_that_a_float_would_round_is_refused(
    tmp_path: Path, name: str, kind: str, wrong: str, right: list[str]
) -> None:
    """As from Parquet; numbers with a fraction are rounded."""
    values = [*right, wrong]
    lines = [f'{{"src":1,"dst":2,"amount":{each}}}' for each in values]
    if name == "a.csv":
        lines = ["src,dst,amount", *[f"1,2,{each}" for each in values]]
    (tmp_path / name).write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), own={"amount": kind})
    count = len(right)
    assert log.read(name, 0, count)["amount"].to_pylist() == list(map(float, right))
    with pytest.raises(UpdateLogError, match=rf"amount is '?{wrong}'?, which does not fit into"):
        log.read(name, 0, count + 1)


@pytest.mark.parametrize(
    ("name", "block_bytes"), [("a.csv", 999), ("a.jsonl", 999), ("a.csv", 12), ("a.jsonl", 60)]
)
def test_wrong_lines_are_found_and_others_kept_however_many_are_sifted_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, block_bytes: int
) -> None:
    monkeypatch.setattr(wrong_lines, "_SIFTED_LINES", 2)
    monkeypatch.setattr(text_scan, "BLOCK_BYTES", block_bytes)
    ids = ["1", "2", "3", "x", "5", "6", "y", "8"]
    lines = ["src,dst", *[f"{each},0" for each in ids]]
    if name == "a.jsonl":
        lines = [f'{{"src":{each},"dst":0}}' for each in ids]
    (tmp_path / name).write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path))
    log = replace(log, indexes=listing_of(log, needed=()).indexes)
    line = 5 if name == "a.csv" else 4
    with pytest.raises(UpdateLogError, match=rf"line {line}\b"):
        log.read(name, 0, 8)
    found = log.read_checked(name, 0, 8, sifts=True)
    assert found.table["src"].to_pylist() == [1, 2, 3, 5, 6, 8]
    assert [(each.row, each.number) for each in found.wrong] == [(3, line), (6, line + 3)]


def test_rows_that_are_left_out_have_their_places_whatever_batch_they_are_of(
    tmp_path: Path,
) -> None:
    ops = ["+", "+", "?", "+", "+", "?", "+"]
    lines = [f"{op},{'x' if row in (1, 4) else row},0" for row, op in enumerate(ops)]
    (tmp_path / "a.csv").write_text("\n".join(["op,src,dst", *lines]))
    log = UpdateLog(str(tmp_path))
    log = replace(log, indexes=listing_of(log, needed=()).indexes)
    planned = RowsToRead(log, PlannedBatch(1, "a.csv", 3, 4), None, quarantine=True)
    found, _ = planned.read()
    batch, *_, left_out = planned.convert(found, table_to_batch, meaning=row_meaning())
    assert (batch.rows, left_out.rows) == (2, 2)
    rows = left_out.table.select(["row", "op", "src"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [(4, "+", "x"), (5, "?", "5")]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_number_that_is_longer_than_any_float_is_refused(tmp_path: Path, name: str) -> None:
    text = f"src,dst,amount\n1,2,0.5\n1,2,{'9' * 500}\n"
    if name == "a.jsonl":
        text = f'{{"src":1,"dst":2,"amount":0.5}}\n{{"src":1,"dst":2,"amount":{"9" * 500}}}\n'
    (tmp_path / name).write_text(text)
    log = UpdateLog(str(tmp_path), own={"amount": "float64"})
    found = log.read_checked(name, 0, listing_of(log).files[0].rows, sifts=True)
    assert found.table["amount"].to_pylist() == [0.5]
    assert [each.number for each in found.wrong] == [3 if name == "a.csv" else 2]


@pytest.mark.parametrize("field", ["tRuE", "yes", "2"])
def test_truths_are_written_in_few_ways(tmp_path: Path, field: str) -> None:
    usual = ["true", "False", "1", "0", "TRUE"]
    text = "".join(f"1,2,{each}\n" for each in [*usual, field])
    (tmp_path / "a.csv").write_text(f"src,dst,flag\n{text}")
    log = UpdateLog(str(tmp_path), own={"flag": "bool"})
    assert log.read("a.csv", 0, 5)["flag"].to_pylist() == [True, False, True, False, True]
    with pytest.raises(UpdateLogError, match=f"flag is '{field}', which is neither true nor false"):
        log.read("a.csv", 5, 1)


def test_truths_that_are_all_empty_are_none_beside_a_wrong_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,dst,flag\n1,2,\nx,2,\n3,4,\n5,6,\n")
    log = UpdateLog(str(tmp_path), own={"flag": "bool"})
    found = log.read_checked("a.csv", 0, 4, sifts=True)
    assert found.table["src"].to_pylist() == [1, 3, 5]
    assert found.table["flag"].to_pylist() == [None] * 3
    assert [each.number for each in found.wrong] == [3]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_wrong_line_has_the_text_of_its_fields(tmp_path: Path, name: str) -> None:
    lines = {
        "a.csv": ["src,dst,weight", ' ann ,"",0.5', *["ann,,1"] * 2, ' eve ,"",N/A', "ann,bob,1"],
        "a.jsonl": [
            '{"src":" ann ","dst":"","weight":0.5}',
            *['{"src":"ann","dst":null,"weight":1}'] * 2,
            '{"src":" eve ","dst":"","weight":"N/A","x":1}',
            '{"src":"ann","dst":null,"weight":[1, 2]}',
            '{"src":7,"dst":"bob","weight":1}',  # as text it would not be wrong
        ],
    }
    (tmp_path / name).write_text("\n".join(lines[name]))
    log = UpdateLog(str(tmp_path), records="weighted", ids="string")
    found = log.read_checked(name, 0, 4 if name == "a.csv" else 6, sifts=True)
    assert found.table["src"].to_pylist() == [" ann ", "ann", "ann"], "spaces are of a name"
    assert found.table["dst"].to_pylist() == ["", None, None], "the empty name is one"
    first, *more = found.wrong
    assert first.fields == {"src": " eve ", "dst": "", "weight": "N/A"}
    assert [each.fields for each in more] == [
        {"src": "ann", "dst": None, "weight": "[1, 2]"}, {},
    ][: 2 * (name == "a.jsonl")]  # fmt: skip


def test_values_of_several_types_matter_in_columns_that_are_needed_alone(tmp_path: Path) -> None:
    lines = ['{"src":1,"dst":2,"note":7}', '{"src":3,"dst":4,"note":"x","weight":null}']
    lines += ['{"src":5,"dst":6,"note":[1,{}],"weight":2.5}'] * 2
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert listing_of(UpdateLog(str(tmp_path))).files[0].rows == 4
    log = UpdateLog(str(tmp_path), records="weighted")
    assert listing_of(log).files[0].rows == 4
    assert log.read("a.jsonl", 0, 4)["weight"].to_pylist() == [None, None, 2.5, 2.5]
    with pytest.raises(UpdateLogError, match="note are of type int64, but from line 2 on"):
        listing_of(UpdateLog(str(tmp_path), own={"note": "float64"}))


@pytest.mark.parametrize("order", ["abc", "cab", "bca"])
def test_a_file_without_times_takes_the_unit_of_others(tmp_path: Path, order: str) -> None:
    texts = {
        "a": "src,dst,ts\n",
        "b": "src,dst,ts\n1,,\n",
        "c": "src,dst,ts\n" + "1,,\n" * 1500 + "1,2,2024-01-01\n",
    }
    for number, letter in enumerate(order):
        (tmp_path / f"{number}.csv").write_text(texts[letter])
    log = UpdateLog(str(tmp_path), records="semantic")
    assert listing_of(log).time_unit == "timestamp[us]"
    late = f"{order.index('c')}.csv"
    assert log.read(late, 1499, 2)["ts"].to_pylist() == [None, datetime(2024, 1, 1)]


def test_a_wrong_line_is_found_among_names_with_spaces(tmp_path: Path) -> None:
    lines = ["op,src,dst,ts", *[" insert,a , b, 5 "] * 1000, "insert,a,b, y "]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    log = UpdateLog(str(tmp_path), records="semantic", ids="string")
    with pytest.raises(UpdateLogError, match=r"a\.csv, line 1002: ts is 'y', which is no integer"):
        log.read("a.csv", 0, listing_of(log).files[0].rows)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("2024-02-30", "is '2024-02-30', which is no time; correct the line"),
        ("2024-02-28T10:00:00Z", "which has a zone, where times of this file have none; write"),
    ],
)
def test_a_day_that_is_not_there_is_told_from_a_zone(
    tmp_path: Path, last: str, message: str
) -> None:
    (tmp_path / "a.csv").write_text("src,dst,ts\n" + "1,2,2024-02-28\n" * 1500 + f"1,2,{last}\n")
    log = UpdateLog(str(tmp_path), records="semantic")
    with pytest.raises(UpdateLogError, match=rf"line 1502: ts .*{message}"):
        log.read("a.csv", 0, listing_of(log).files[0].rows)
