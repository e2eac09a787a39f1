"""Columns of a log: what they may be called, which types they may have, and what is refused."""

import shlex
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import BatchError, DynamicGraph, SettingsError, UpdateLogError
from graphtide.flows.flag_settings import settings_from_options
from graphtide.io.log.log_inspection import inspect_log
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.replay import PastGraphs
from made_state import apply_log
from parquet_logs import refused, table_of


@pytest.mark.parametrize(
    ("types", "narrow"), [(("int32", "uint32"), True), (("int32", "int64"), False)]
)
def test_a_log_knows_the_types_of_its_ids(tmp_path, types, narrow):
    for number in range(2):
        ends = {end: np.arange(3).astype("int32") for end in ("src", "dst")}
        ends["dst"] = ends["dst"].astype(types[number])
        write_log_file(str(tmp_path / f"{number}.parquet"), pa.table(ends))
    log = UpdateLog(str(tmp_path))
    assert listing_of(log).has_narrow_ids == narrow
    assert listing_of(log).id_types == {("int32", each) for each in types}
    # Others are converted as int64, whatever they are.
    narrower = {end: np.arange(3).astype("uint16") for end in ("src", "dst")}
    write_log_file(str(tmp_path / "2.parquet"), pa.table(narrower))
    assert ("int64", "int64") in listing_of(log).id_types


@pytest.mark.parametrize(
    ("names", "flags"),
    [
        (("source", "target"), ["columns.src=source", "columns.dst=target"]),
        (("SRC", " Dst "), ["columns.src=SRC", "'columns.dst=\" Dst \"'"]),
        (("from", "dst"), ["columns.src=from"]),
        (("payer", "payee"), ["columns.src=NAME", "columns.dst=NAME"]),
        (("source", "SRC"), ["columns.src=NAME", "columns.dst=NAME"]),
    ],
)
def test_columns_that_others_call_so_are_told_with_the_flags_that_map_them(tmp_path, names, flags):
    """A frame of these names is taken as it is; in a log another column may have them."""
    pq.write_table(pa.table({name: [1] for name in names}), tmp_path / "a.parquet")
    with pytest.raises(UpdateLogError) as caught:
        listing_of(UpdateLog(str(tmp_path)))
    assert str(caught.value).endswith(": " + " ".join(f"--set {flag}" for flag in flags))


@pytest.mark.parametrize(
    ("name", "records", "flag"),
    [
        ("Op", "simple", "--set columns.op=Op"),
        (" OP", "simple", "--set 'columns.op=\" OP\"'"),
        ("Weight", "weighted", "--set columns.weight=Weight"),
        ("TYPE", "semantic", "--set columns.type=TYPE"),
    ],
)
def test_a_column_that_would_be_read_in_small_letters_is_not_ignored(tmp_path, name, records, flag):
    """Deletes of an ignored Op would be inserts."""
    columns = {name: [1, -1], "src": [1, 1], "dst": [2, 2], "ts": [1, 2]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    canonical = name.strip().lower()
    refused(
        UpdateLog(str(tmp_path), records=records),
        f"column {name!r} is not read, and there is no column {canonical}",
        f"say so: {flag}; if not, rename it",
    )
    # A state that has planned it goes on.
    planned = UpdateLog(str(tmp_path), records=records, planned=frozenset({"a.parquet"}))
    assert listing_of(planned).files
    assert planned.read("a.parquet", 0, 2)["src"].to_pylist() == [1, 1]
    # But for rows that are corrected.
    with pytest.raises(UpdateLogError, match=r"b\.parquet: column .* is not read"):
        planned.check_columns(pa.table(columns).schema, "b.parquet")
    words = shlex.split(flag)[1]
    named = settings_from_options({"assignments": [words], "records": records}).columns
    assert named == {canonical: name}
    log = UpdateLog(str(tmp_path), named, records)
    listing_of(log)
    assert log.read("a.parquet", 0, 2)[canonical].to_pylist() == [1, -1]


def test_a_column_in_other_letters_may_be_one_that_is_not_read(tmp_path):
    columns = {"Weight": [1.5], "Type": ["a"], "src": [1], "dst": [2]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert "not read: Weight, Type" in listing_of(UpdateLog(str(tmp_path))).not_kept
    listing_of(UpdateLog(str(tmp_path), records="weighted", on_repeat="count"))
    listing_of(UpdateLog(str(tmp_path), records="weighted", own={"Weight": "float64"}))
    pq.write_table(pa.table({**columns, "weight": [2.5]}), tmp_path / "a.parquet")
    log = UpdateLog(str(tmp_path), records="weighted")
    listing_of(log)
    assert log.read("a.parquet", 0, 1)["weight"].to_pylist() == [2.5]


def test_a_column_of_a_file_is_taken_rather_than_one_in_its_path(tmp_path):
    (tmp_path / "op=delete" / "day=1").mkdir(parents=True)
    table = pa.table({"op": [1], "src": [1], "dst": [2], "day": [7]})
    pq.write_table(table, tmp_path / "op=delete" / "day=1" / "a.parquet")
    log = UpdateLog(str(tmp_path))
    assert log.read(listing_of(log).files[0].name, 0, 1)["op"].to_pylist() == [1]
    assert listing_of(log).hidden == {"op"}, "no graph has the day"
    (facts,) = inspect_log(log)
    assert facts.hidden_partitions == ("day", "op")


def test_weights_are_not_read_where_inserts_are_counted(tmp_path):
    write_log_file(str(tmp_path / "a.parquet"), table_of(3, weight=["1", "much", None]))
    refused(UpdateLog(str(tmp_path), records="weighted"), "weight is of type string")
    log = UpdateLog(str(tmp_path), records="weighted", on_repeat="count")
    assert log.read("a.parquet", 0, 3).column_names == ["op", "src", "dst"]
    assert listing_of(log).not_kept is None


def test_columns_of_other_names(tmp_path):
    table = pa.table({"dst": [1, 2], "to": [3, 4], "from_account": [5, 6]})
    pq.write_table(table, tmp_path / "a.parquet")
    log = UpdateLog(str(tmp_path), {"src": "from_account", "dst": "to"})
    listing_of(log)
    read = log.read("a.parquet", 0, 2)
    assert read.to_pydict() == {"src": [5, 6], "dst": [3, 4]}
    assert listing_of(log).not_kept == "not read: dst; --properties keeps numbers"
    refused(
        UpdateLog(str(tmp_path), {"src": "from", "dst": "to"}), "'from'", "dst, to, from_account"
    )
    for columns in ({"dst": "src"}, {"src": "a", "dst": "a"}):
        with pytest.raises(SettingsError, match=r"are both to be read from '(src|a)'; map each"):
            UpdateLog(str(tmp_path), columns)
    UpdateLog(str(tmp_path), {"src": "dst", "dst": "src"})
    with pytest.raises(SettingsError, match="'source' is no column of a log"):
        UpdateLog(str(tmp_path), {"source": "from_account"})


def test_destinations_without_a_type_are_null_ids(tmp_path):
    write_log_file(str(tmp_path / "a.parquet"), pa.table({"src": [1, 2], "dst": pa.nulls(2)}))
    log = UpdateLog(str(tmp_path))
    listing_of(log)
    assert log.read("a.parquet", 0, 2)["dst"].combine_chunks() == pa.array([None, None], pa.int64())


TEXT = pa.array(["a", "b"])


@pytest.mark.parametrize(
    ("columns", "records", "words"),
    [
        ({"src": [1, 2]}, "simple", ["no column dst", "the file has src", "columns.dst="]),
        ({"src": [1], "dst": [2]}, "semantic", ["no column ts", "semantic records need"]),
        ({"src": TEXT, "dst": [1, 2]}, "simple", ["src", "string", "ids='string' takes names"]),
        (
            {"src": TEXT.dictionary_encode(), "dst": [1, 2]},
            "simple",
            ["ids='string' takes names as they are"],
        ),
        ({"src": [1, 2], "dst": [0.5, 1]}, "simple", ["dst", "double", "int64"]),
        ({"src": [1, 2], "dst": [True, False]}, "simple", ["dst", "bool"]),
        ({"op": [1.0], "src": [1], "dst": [1]}, "simple", ["op", "double", "insert and delete"]),
        ({"src": [1, 2], "dst": [1, 2], "weight": TEXT}, "weighted", ["weight", "string"]),
        (
            {"src": pa.array([Decimal("1.5")]), "dst": [1]},
            "simple",
            ["src is of type decimal128(2, 1); write ids as int64, or as decimals without"],
        ),
        ({"src": [1], "dst": [1], "ts": [0.5]}, "semantic", ["ts", "double", "timestamps"]),
        ({"src": [1], "dst": [1], "ts": [1], "type": [0.5]}, "semantic", ["type", "int32"]),
    ],
)
def test_columns_without_a_meaning(tmp_path, columns, records, words):
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    refused(UpdateLog(str(tmp_path), records=records), "a.parquet", *words)


def test_types_with_a_meaning(tmp_path):
    for number, (op, ids) in enumerate(
        [
            (pa.array([1], pa.int64()), pa.array([1], pa.uint8())),
            (pa.array(["insert"]), pa.array([1], pa.uint64())),
            (pa.array(["insert"], pa.large_string()), pa.array([1], pa.int32())),
            (pa.array(["insert"]).dictionary_encode(), pa.array([1], pa.int16())),
        ]
    ):
        pq.write_table(pa.table({"op": op, "src": ids, "dst": ids}), tmp_path / f"{number}.parquet")
    assert len(listing_of(UpdateLog(str(tmp_path))).files) == 4


def times(kind):
    return pa.table({"src": [1], "dst": [2], "ts": pa.array([5], pa.int64()).cast(kind)})


def test_dates_are_the_times_at_which_they_begin(tmp_path):
    """As those of CSV are; seconds and dates go together in one log."""
    days = pa.array([-1, 0, 19_000], pa.int32()).cast(pa.date32())
    ids = [1, 2, 3]
    pq.write_table(pa.table({"src": ids, "dst": ids, "ts": days}), tmp_path / "a.parquet")
    pq.write_table(times(pa.timestamp("ms")), tmp_path / "b.parquet")
    log = UpdateLog(str(tmp_path), records="semantic")
    assert listing_of(log).time_unit == "timestamp[s]"
    read = log.read("a.parquet", 0, 3)
    assert read["ts"].cast(pa.int64()).to_pylist() == [-86_400, 0, 19_000 * 86_400]
    assert read.schema.field("ts").type == pa.timestamp("s")
    pq.write_table(times(pa.int64()), tmp_path / "b.parquet")
    refused(UpdateLog(str(tmp_path), records="semantic"), "b.parquet", "a.parquet has timestamp[s]")


def test_times_that_go_together(tmp_path):
    pq.write_table(times(pa.timestamp("us", "UTC")), tmp_path / "a.parquet")
    log = UpdateLog(str(tmp_path), records="semantic")
    assert listing_of(log).time_unit == "timestamp[us, tz=UTC]"
    for other in (pa.timestamp("us"), pa.int64()):
        pq.write_table(times(other), tmp_path / "b.parquet")
        again = UpdateLog(str(tmp_path), records="semantic")
        refused(again, "b.parquet", "a.parquet has timestamp[us, tz=UTC]", str(other))
        without_times = UpdateLog(str(tmp_path))
        assert len(listing_of(without_times).files) == 2
    # Counts of other parts of a second, and zones, are of the same moments: they are converted.
    for other in (pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Rome")):
        pq.write_table(times(other), tmp_path / "b.parquet")
        again = UpdateLog(str(tmp_path), records="semantic")
        assert len(listing_of(again).files) == 2
        assert listing_of(again).time_unit == "timestamp[us, tz=UTC]"
    (tmp_path / "b.parquet").unlink()
    known = UpdateLog(str(tmp_path), records="semantic", time_unit="int64")
    refused(known, "a.parquet", "the state was made with int64")


@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
@pytest.mark.parametrize("name", ["op", "src", "dst", "weight", "type", "ts"])
def test_two_columns_of_one_name(tmp_path, name, records):
    names = ["src", "dst", "ts", *[name] * (1 if name in ("src", "dst", "ts") else 2)]
    table = pa.Table.from_arrays([pa.array([1])] * len(names), names=names)
    pq.write_table(table, tmp_path / "a.parquet")
    refused(UpdateLog(str(tmp_path), records=records), f"two columns '{name}'")


@pytest.mark.parametrize("groups", [1, 3])
def test_times_beyond_nanoseconds_are_refused_where_a_file_has_int96(
    tmp_path: Path, groups: int
) -> None:
    """Spark writes them so by default: 3000 was read as 1830, as Arrow gives nanoseconds."""
    times = [datetime(2024, 1, 1), None, datetime(1700, 1, 1), datetime(2262, 1, 1)]

    def write(*more: datetime) -> None:
        rows = [*times, *more]
        columns = {"src": [1] * len(rows), "dst": [2] * len(rows)}
        stamps = pa.array(rows, pa.timestamp("us"))
        pq.write_table(
            pa.table({**columns, "ts": stamps}), tmp_path / "a.parquet",
            use_deprecated_int96_timestamps=True, row_group_size=-(-len(rows) // groups),
        )  # fmt: skip

    log = UpdateLog(str(tmp_path), records="semantic")
    write()
    assert log.read("a.parquet", 0, 4)["ts"].cast(pa.timestamp("us")).to_pylist() == times
    write(datetime(3000, 1, 1))
    assert log.read("a.parquet", 0, 4).num_rows == 4
    with pytest.raises(UpdateLogError, match=r"a.parquet, row 4: ts is 3000-01-01 .* of INT96"):
        log.read("a.parquet", 2, 3)
    write(datetime(1, 1, 1))
    with pytest.raises(UpdateLogError, match=r"row 4: ts is 0001-01-01"):
        log.read("a.parquet", 4, 1)


def test_decimals_are_the_numbers_that_text_of_them_is(tmp_path):
    """Databases and Spark write amounts of money so."""
    draw = np.random.default_rng(3)
    cents = [Decimal(int(each)) / 100 for each in draw.integers(-(10**12), 10**12, 500)]
    counts = pa.array([Decimal(7)] * 500, pa.decimal128(18, 0))
    amounts = pa.array(cents, pa.decimal128(38, 2))
    rows = {"src": range(500), "dst": range(1, 501), "weight": amounts, "sent": counts}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    own = {"sent": "int32"}
    log = UpdateLog(str(tmp_path), records="weighted", own=own)
    [file] = listing_of(log).files
    read = log.read(file.name, 0, 500)
    assert read["weight"].to_pylist() == [float(each) for each in cents]
    assert read["sent"].type == pa.int64()
    graph = DynamicGraph(records="weighted", weights="float64", properties=own)
    graph.insert_edges(pa.table(rows))
    assert graph.edge_weights(3, 4) == float(cents[3])
    assert graph.edge_values(3, 4) == {"sent": 7}


@pytest.mark.parametrize("as_integers", [True, False])
def test_whole_decimals_are_ids(tmp_path, as_integers):
    """Snowflake writes whole numbers so."""
    kind = pa.decimal128(18, 0)
    src, dst = ([Decimal(each) for each in ids] for ids in ((-7, 10**17, 3), (5, 5, 10**17)))
    rows = pa.table({"src": pa.array(src, kind), "dst": pa.array([*dst[:2], None], kind)})
    pq.write_table(rows, tmp_path / "a.parquet", store_decimal_as_integer=as_integers)
    log = UpdateLog(str(tmp_path))
    assert listing_of(log).id_types == {("int64", "int64")}
    read = log.read("a.parquet", 0, 3)
    assert read["src"].to_pylist() == [-7, 10**17, 3]
    assert read["dst"].to_pylist() == [5, 5, None]
    graph = DynamicGraph()
    graph.insert_edges(rows.slice(0, 2))
    assert graph.neighbors(-7).tolist() == [5]


WIDE = pa.decimal128(38, 0)


@pytest.mark.parametrize("as_integers", [True, False])
def test_whole_decimals_of_more_digits_than_int64_are_integers_too(tmp_path, as_integers):
    """Snowflake's NUMBER has 38 where nothing else is said."""
    ends = [[Decimal(each) for each in ids] for ids in ((-(2**63), 2**63 - 1), (5, 6))]
    many = [Decimal(3 * 10**18), None]
    rows = pa.table(
        {
            "src": pa.array(ends[0], WIDE),
            "dst": pa.array(ends[1], WIDE),
            "channel": pa.array([Decimal(7), Decimal(-8)], WIDE),
            "sent": pa.array(many, WIDE),
            "share": pa.array(many, WIDE),
        }
    )
    log = tmp_path / "log"
    log.mkdir()
    pq.write_table(rows, log / "a.parquet", store_decimal_as_integer=as_integers)
    own = {"channel": "int16", "share": "float64"}
    apply_log(log, tmp_path / "state", 1, properties=own)
    graph = PastGraphs(StateDirectory(tmp_path / "state")).after_newest()
    assert graph.edge_values(-(2**63), 5) == {"channel": 7, "share": 3e18}
    assert graph.edge_values(2**63 - 1, 6)["channel"] == -8
    unsigned = DynamicGraph(ids="uint64", properties={"sent": "uint64"})
    largest = pa.table({name: pa.array([Decimal(2**64 - 1)], WIDE) for name in ("src", "sent")})
    unsigned.insert_edges(largest.append_column("dst", pa.array([5])))
    assert unsigned.edge_values(2**64 - 1, 5) == {"sent": 2**64 - 1}


@pytest.mark.parametrize("kind", [WIDE, pa.decimal256(60, 0), pa.decimal128(18, 0)])
@pytest.mark.parametrize("own", [("float64", 2**53), ("float32", 2**24)])
def test_a_whole_decimal_that_a_float_would_round_makes_its_row_wrong(tmp_path, kind, own):
    """As a whole number of another type does, and its text in CSV."""
    name, least = own
    values = [least, least + 1, least + 2, -least - 1]
    if kind.precision > 18:  # beyond int64
        values[2] = 10**20 if name == "float64" else 2**70
    amounts = pa.array(list(map(Decimal, values)), kind)
    rows = pa.table({"src": [1, 2, 3, 4], "dst": [5, 6, 7, 8], "amount": amounts})
    (tmp_path / "log").mkdir()
    pq.write_table(rows, tmp_path / "log" / "a.parquet")
    settings = {"properties": {"amount": name}}
    with pytest.raises(
        UpdateLogError, match=rf"row 1: amount {least + 1} does not fit into {name}"
    ):
        apply_log(tmp_path / "log", tmp_path / "refused", 1, **settings)
    apply_log(tmp_path / "log", tmp_path / "state", 1, bad_rows="quarantine", **settings)
    graph = PastGraphs(StateDirectory(tmp_path / "state")).after_newest()
    assert graph.edges().src.tolist() == [1, 3]
    assert graph.edge_values(3, 7) == {"amount": values[2]}


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
@pytest.mark.parametrize("name", ["src", "dst", "channel"])
def test_a_wide_decimal_that_does_not_fit_makes_its_row_wrong(tmp_path, name, value):
    columns = {"src": [1, 2, 3], "dst": [4, 5, 6], "channel": [7, 8, 9]}
    columns[name][1] = value
    decimals = {
        each: pa.array(list(map(Decimal, values)), WIDE) for each, values in columns.items()
    }
    (tmp_path / "log").mkdir()
    pq.write_table(pa.table(decimals), tmp_path / "log" / "a.parquet")
    settings = {"properties": {"channel": "int64"}}
    with pytest.raises(
        UpdateLogError, match=rf"row 1: {name} is {value}, which does not fit int64"
    ):
        apply_log(tmp_path / "log", tmp_path / "refused", 1, **settings)
    apply_log(tmp_path / "log", tmp_path / "state", 1, bad_rows="quarantine", **settings)
    graph = PastGraphs(StateDirectory(tmp_path / "state")).after_newest()
    assert graph.edges().src.tolist() == [1, 3]
    deletes = pa.table({**decimals, "op": ["insert", "delete", "insert"]})
    if name == "channel":
        # Nothing is kept of a row that deletes.
        graph = DynamicGraph(properties={"channel": "int64"})
        assert graph.apply(deletes).rows == 3


@pytest.mark.parametrize("name", ["op", "type", "ts"])
def test_decimals_are_no_operations_types_or_times_of_frames(name):
    """As in a log; nor does a message tell of a type that the frame has not."""
    rows = {"op": [1], "src": [1], "dst": [2], "ts": [3], "type": [4], "weight": [1.0]}
    frame = pa.table(rows | {name: pa.array([Decimal(1)], pa.decimal128(5, 0))})
    with pytest.raises(BatchError, match=rf"{name} is of type decimal128\(5, 0\)"):
        DynamicGraph(records="semantic").apply(frame)
