"""A graph has one unit of time: what goes in is brought to it exactly, and comes out with it."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphtide
from graphtide import (
    BatchError,
    DynamicGraph,
    EdgeNotFoundError,
    GraphtideError,
    SettingsError,
    UpdateBatch,
    UpdateLogError,
)
from graphtide.config.settings import load_settings
from graphtide.flows.commands.export import export_graph
from graphtide.gpu_core.times import TimeUnit, convert, time_unit_named
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.ingest import run
from graphtide.pipeline.replay import PastGraphs
from made_state import apply_log

NEW_YEAR = "2024-01-01T00:00:00"


def semantic(**settings: object) -> DynamicGraph:
    return DynamicGraph(records="semantic", engine="host", **settings)


def times(unit: str, *texts: str) -> np.ndarray:
    return np.array(texts or [NEW_YEAR], f"M8[{unit}]")


def last_times(graph: DynamicGraph) -> list[str]:
    return [str(each) for each in graph.edges().properties["last"]]


@pytest.mark.parametrize("first", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("then", ["D", "h", "s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_are_the_same_moment_in_one_graph(first: str, then: str) -> None:
    graph = semantic()
    graph.insert_edges([1], [2], ts=times(first))
    assert graph.time_unit == f"timestamp[{first}]"
    graph.insert_edges([3], [4], ts=times(then))
    for name in ("first", "last"):
        found = graph.edges().properties[name]
        assert found.dtype == f"M8[{first}]"
        assert found[0] == found[1] == np.datetime64(NEW_YEAR)


def test_the_record_of_one_edge_has_its_times_in_their_unit() -> None:
    graph = semantic(directed=False)
    graph.insert_edges([1], [2], weight=0.5, type=7, ts=times("us"))
    graph.insert_edges([2], [1], weight=1.5, type=8, ts=times("us", "2024-02-01"))
    assert graph.edge_records(2, 1) == {
        "weight": 1.5,
        "type": 8,
        "first": np.datetime64(NEW_YEAR, "us"),
        "last": np.datetime64("2024-02-01", "us"),
    }
    plain = semantic()
    plain.insert_edges([1], [2], ts=[3])
    assert plain.edge_records(1, 2) == {"weight": 1.0, "type": 0, "first": 3, "last": 3}
    with pytest.raises(EdgeNotFoundError, match=r"edge \(2, 1\) is not in the graph"):
        plain.edge_records(2, 1)


def test_a_time_that_the_unit_cannot_hold_is_refused_and_changes_nothing() -> None:
    graph = semantic()
    graph.insert_edges([1], [2], ts=times("s"))
    before = graph.state_hash()
    text = r"2024-01-01T00:00:00.500 of edge \(4, 5\) is no timestamp\[s\].*; round it"
    with pytest.raises(BatchError, match=text):
        graph.insert_edges(
            [3, 4], [4, 5], ts=times("ms", "2024-01-01T00:00:01.000", "2024-01-01T00:00:00.500")
        )
    far = semantic(time_unit="ns")
    with pytest.raises(BatchError, match=r"2500.* of edge"):
        far.insert_edges([1], [2], ts=times("s", "2500-01-01"))
    with pytest.raises(BatchError, match="no whole number of ns"):
        semantic().insert_edges([1], [2], ts=np.array([1], "M8[ps]"))
    assert graph.state_hash() == before
    assert (far.num_edges, far.time_unit) == (0, "timestamp[ns]")


def test_a_refused_first_batch_leaves_the_unit_open() -> None:
    graph = semantic(create_vertices=False)
    with pytest.raises(BatchError, match="create_vertices"):
        graph.insert_edges([1], [2], ts=times("s"))
    graph.delete_edges([1], [2])
    graph.insert_vertices([1, 2])
    assert graph.time_unit is None
    graph.insert_edges([1], [2], ts=times("ms"))
    assert graph.time_unit == "timestamp[ms]"


def test_integers_are_in_the_graphs_unit_and_stay_integers_where_they_came_first() -> None:
    graph = semantic(time_unit="us")
    graph.insert_edges([1], [2], ts=[1_704_067_200_000_000])
    assert last_times(graph) == ["2024-01-01T00:00:00.000000"]
    plain = semantic()
    plain.insert_edges([1], [2], ts=[5])
    assert plain.time_unit == "int64"
    assert plain.edges().properties["last"].dtype == np.int64
    with pytest.raises(
        BatchError, match=r"times are timestamp\[s\], but the graph's times are int"
    ):
        plain.insert_edges([1], [2], ts=times("s"))


def test_not_a_time_is_refused() -> None:
    with pytest.raises(BatchError, match="row 1 of the batch: ts is NaT"):
        semantic().insert_edges([1, 1], [2, 3], ts=times("s", NEW_YEAR, "NaT"))


def test_the_integer_that_stands_for_no_time_is_no_time() -> None:
    none = np.iinfo(np.int64).min
    graph = DynamicGraph(records="semantic", time_unit="us")
    with pytest.raises(BatchError, match="counts as no time"):
        graph.insert_edges([1], [2], ts=[none])
    plain = DynamicGraph(records="semantic")
    plain.insert_edges([1], [2], ts=[none])
    assert plain.edges().properties["last"].tolist() == [none]


def test_time_zones_are_known_ones() -> None:
    for zone in ("Europe/Rome", "UTC", "+02:00"):
        DynamicGraph(records="semantic", time_unit=f"timestamp[us, tz={zone}]")
    for zone in ("Mars", "+99:99"):
        with pytest.raises(SettingsError, match="has a time zone that is unknown"):
            DynamicGraph(records="semantic", time_unit=f"timestamp[us, tz={zone}]")


def test_one_time_for_all_rows_and_batches_made_by_hand() -> None:
    graph = semantic()
    graph.insert_edges([1, 2], [2, 3], ts=np.datetime64(NEW_YEAR, "us"))
    batch = UpdateBatch.from_rows(None, [5], [6], ts=times("s"), records="semantic")
    assert batch.time_unit == "timestamp[s]"
    graph.apply(batch)
    assert set(last_times(graph)) == {"2024-01-01T00:00:00.000000"}
    with pytest.raises(BatchError, match="leave time_unit out"):
        UpdateBatch.from_rows(None, [5], [6], ts=times("s"), time_unit="us", records="semantic")


ZONED = {
    "pandas": pd.Series(pd.to_datetime([NEW_YEAR]).tz_localize("Europe/Rome").as_unit("us")),
    "arrow": pa.array(times("us")).cast(pa.timestamp("us", "Europe/Rome")),
    "polars": pl.Series(times("us")).dt.replace_time_zone("Europe/Rome"),
}
#: Columns of every library that names a zone, made of an array of Arrow.
COLUMNS: dict[str, Callable[[pa.Array], object]] = {
    "arrow": lambda array: array,
    "chunks": lambda array: pa.chunked_array([array[:0], array]),
    "series": lambda array: array.to_pandas(),
    "index": lambda array: pd.Index(array.to_pandas()),
    "extension array": lambda array: array.to_pandas().array,
    "series of Arrow's type": lambda array: pd.Series(array, dtype=pd.ArrowDtype(array.type)),
}
#: The last moments that a unit and Python both have.
LAST = {
    "s": datetime.datetime(9999, 12, 31, 23, 59, 59),
    "ms": datetime.datetime(9999, 12, 31, 23, 59, 59, 999_000),
    "us": datetime.datetime.max,
    "ns": datetime.datetime(2262, 4, 11, 23, 47, 16),
}


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Rome", "-02:30"])
@pytest.mark.parametrize("unit", LAST)
@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_times_are_exact_and_in_their_own_unit(
    kind: str, unit: str, zone: str | None
) -> None:
    check_column(COLUMNS[kind], unit, zone)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Rome"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_so_are_those_of_polars_which_has_no_seconds(unit: str, zone: str | None) -> None:
    check_column(pl.from_arrow, unit, zone)


def check_column(made: Callable[[pa.Array], object], unit: str, zone: str | None) -> None:
    moment = np.datetime64(LAST[unit], unit)
    array = pa.array([moment.astype(np.int64)]).cast(pa.timestamp(unit, zone))
    graph = semantic()
    graph.insert_edges([1], [2], ts=made(array))
    assert graph.time_unit == str(array.type)
    assert graph.edges().properties["last"].tolist() == [moment.item()]
    assert graph.to_arrow()["last"].cast(array.type).combine_chunks().equals(array)


def test_a_zone_that_polars_has_not_is_utc_there() -> None:
    graph = semantic(time_unit="timestamp[us, tz=+05:30]")
    graph.insert_edges([1], [2], ts=pa.array([0]).cast(pa.timestamp("us", "+05:30")))
    assert graph.to_polars()["last"].dtype == pl.Datetime("us", "UTC")
    assert graph.to_polars()["last"].to_physical().to_list() == [0]


def test_times_of_which_some_have_a_zone_are_refused() -> None:
    """Arrow takes the others for UTC, which they may not be."""
    plain = datetime.datetime(2024, 1, 1, 12)
    zoned = plain.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=5)))
    for pair in ([zoned, plain], [zoned, np.datetime64(plain)], [pd.Timestamp(plain), zoned]):
        source = nx.DiGraph()
        source.add_edge(1, 2, last=pair[0])
        source.add_edge(2, 3, last=pair[1])
        with pytest.raises(BatchError, match="first has times with a time zone and times without"):
            graphtide.from_networkx(source, records="semantic")
        frame = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "ts": pd.Series(pair, dtype=object)})
        with pytest.raises(BatchError, match="frame: ts has times with a time zone and times with"):
            semantic().insert_edges(frame)
        frame["ts"] = pd.Series([zoned, None], dtype=object)
        frame["op"] = ["insert", "delete"]
        assert semantic().apply(frame).missing == 1


def test_a_zone_without_a_name_is_refused_and_one_so_far_ahead_of_utc_is_named_as_in_arrow() -> (
    None
):
    column = pd.Series(times("us")).dt.tz_localize("UTC")
    graph = semantic()
    ahead = datetime.timezone(datetime.timedelta(hours=-2, minutes=-30), "somewhere")
    graph.insert_edges([1], [2], ts=column.dt.tz_convert(ahead))
    assert graph.time_unit == "timestamp[us, tz=-02:30]"
    assert graph.to_pandas()["last"].tolist() == column.tolist()

    class Nameless(datetime.tzinfo):
        def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta | None:
            return None if moment is None else datetime.timedelta(hours=1)

        def dst(self, moment: datetime.datetime | None) -> datetime.timedelta:
            return datetime.timedelta(0)

    with pytest.raises(BatchError, match="has no name; convert the times to one"):
        semantic().insert_edges([1], [2], ts=column.dt.tz_convert(Nameless()))


def test_a_zone_is_not_dropped_by_a_unit_without_one() -> None:
    column = pd.Series(times("us")).dt.tz_localize("UTC")
    with pytest.raises(BatchError, match=r"type timestamp\[us, tz=UTC\], but time_unit is times"):
        UpdateBatch.from_rows(None, [1], [2], ts=column, time_unit="us", records="semantic")


@pytest.mark.parametrize(
    "text", ["20240101", "1704067200", "5", "now", "today", "1970-01-01T00:00+05:99", "+2024"]
)
def test_text_that_numpy_takes_for_another_year_is_no_time(text: str) -> None:
    graph = semantic()
    graph.insert_edges([1], [2], ts=times("us"))
    for call in (lambda: graph.expire(before=text), lambda: graph.edges(since=text)):
        with pytest.raises(GraphtideError, match="is no time"):
            call()
    assert graph.num_edges == 1


def test_an_integer_that_is_no_time_is_refused_wherever_it_would_be_kept() -> None:
    nothing = np.iinfo(np.int64).min
    first = UpdateBatch.from_rows(None, [1], [2], ts=[nothing], time_unit="us", records="semantic")
    for call in (
        # The first times of a graph, and the first time of an edge that the batch inserts twice.
        lambda: semantic().apply(first),
        lambda: semantic(time_unit="us").insert_edges([1, 1], [2, 2], ts=[nothing, 5]),
    ):
        with pytest.raises(BatchError, match=r"counts as no time in a graph whose times are times"):
            call()
    assert semantic().insert_edges([1], [2], ts=[nothing]).edges_added == 1


@pytest.mark.parametrize(
    "wrong",
    [
        [datetime.datetime.max],
        [datetime.datetime.max.replace(tzinfo=datetime.UTC)],
        pd.Series(times("us")).dt.tz_localize("UTC").astype(object),
        pa.array([5], pa.duration("s")),
        pl.Series([datetime.timedelta(5)]),
    ],
)
def test_what_is_no_column_of_times_is_refused(wrong: object) -> None:
    with pytest.raises(BatchError, match=r"ts is of type .*; give int64 or datetime64"):
        semantic().insert_edges([1], [2], ts=wrong)


@pytest.mark.parametrize("library", ZONED)
def test_zones_are_kept_and_do_not_mix_with_times_that_have_none(library: str) -> None:
    column = ZONED[library]
    moment = np.asarray(column, "M8[us]")
    graph = semantic()
    graph.insert_edges([1], [2], ts=column)
    assert graph.time_unit == "timestamp[us, tz=Europe/Rome]"
    graph.insert_edges([2], [3], ts=pa.array(moment).cast(pa.timestamp("us", "UTC")))
    assert set(graph.edges().properties["last"]) == set(moment)
    table = graphtide.to_arrow(graph)
    assert table.schema.field("last").type == pa.timestamp("us", "Europe/Rome")
    assert len(set(table["last"].to_pylist())) == 1
    assert str(graphtide.to_pandas(graph)["first"].dtype) == "datetime64[us, Europe/Rome]"
    with pytest.raises(BatchError, match="Europe/Rome"):
        graph.insert_edges([1], [2], ts=times("us"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_every_export_has_the_unit(unit: str, tmp_path: Path) -> None:
    graph = semantic(directed=False)
    graph.insert_edges([1], [2], ts=times(unit))
    kind = pa.timestamp(unit)
    assert graph.to_csr().properties["first"].dtype == f"M8[{unit}]"
    assert graphtide.to_arrow(graph).schema.field("last").type == kind
    assert graphtide.to_pandas(graph)["last"].dtype == f"M8[{unit}]"
    attributes = graphtide.to_networkx(graph).edges[1, 2]
    assert attributes["last"] == np.datetime64(NEW_YEAR)
    assert attributes["last"].dtype == f"M8[{unit}]"
    for ending in ("parquet", "csv", "tsv", "txt"):
        graphtide.io.interchange.export.export_edges(graph, str(tmp_path / f"edges.{ending}"))
        if ending == "parquet":
            # Parquet has no seconds.
            stored = pa.timestamp("ms") if unit == "s" else kind
            assert pq.read_table(tmp_path / "edges.parquet").schema.field("last").type == stored
        else:
            line = (tmp_path / f"edges.{ending}").read_text().splitlines()[1]
            delimiter = {"csv": ",", "tsv": "\t", "txt": " "}[ending]
            fields = line.split(delimiter)
            assert len(fields) == 6
            assert np.datetime64(fields[-1]) == np.datetime64(NEW_YEAR)


def test_a_saved_graph_keeps_the_unit(tmp_path: Path) -> None:
    graph = semantic()
    graph.insert_edges([1], [2], ts=ZONED["arrow"])
    graph.save(tmp_path / "graph")
    loaded = DynamicGraph.load(tmp_path / "graph")
    assert loaded.time_unit == graph.time_unit
    assert loaded.edges().to_arrow() == graph.edges().to_arrow()
    plain = semantic()
    plain.insert_edges([1], [2], ts=[5])
    plain.save(tmp_path / "plain")
    assert DynamicGraph.load(tmp_path / "plain").time_unit == "int64"


def test_checkpoints_keep_the_unit_and_old_ones_have_integers() -> None:
    graph = semantic()
    graph.insert_edges([1], [2], ts=ZONED["arrow"])
    arrays = graph.checkpoint_arrays()
    again = DynamicGraph.from_checkpoint_arrays(arrays, records="semantic", engine="host")
    assert again.time_unit == graph.time_unit
    assert again.state_hash() == graph.state_hash()
    with pytest.raises(SettingsError, match="the checkpoint has 'timestamp"):
        DynamicGraph.from_checkpoint_arrays(arrays, records="semantic", time_unit="s")
    del arrays["time_unit"]
    old = DynamicGraph.from_checkpoint_arrays(arrays, records="semantic", engine="host")
    assert old.time_unit == "int64"
    assert old.state_hash() == graph.state_hash(), "what times count is no part of the hash"


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(SettingsError, match="simple records keep no times"):
        DynamicGraph(time_unit="us")
    for name in ("minutes", "timestamp[D]", 7):
        with pytest.raises(SettingsError, match=r"time_unit=.* is unknown"):
            semantic(time_unit=name)


def test_bounds_are_all_integers_and_all_times() -> None:
    plain = semantic()
    plain.insert_edges([1, 2], [2, 3], ts=[-(2**63), 5])
    assert plain.edges(since=-(2**63)).src.tolist() == [1, 2]
    assert plain.edges(until=-(2**63)).src.tolist() == []
    assert plain.edges(since=2**63 - 1).src.tolist() == []
    # What is beyond int64 is beyond all times.
    for far in (2**63, 2**70, np.uint64(2**63)):
        assert plain.edges(until=far).src.tolist() == [1, 2]
        assert plain.edges(since=far).src.tolist() == []
        assert plain.edges(since=-int(far)).src.tolist() == [1, 2]
    with pytest.raises(BatchError, match="True is no time; give an integer"):
        plain.edges(until=True)
    assert plain.expire(before=-(2**63)).expired == 0
    assert plain.expire(before=-(2**70)).expired == 0
    assert plain.expire(before=-(2**63) + 1).expired == 1
    assert plain.expire(before=2**70).expired == 1
    stamped = semantic()
    stamped.insert_edges([1], [2], ts=times("us"))
    west = datetime.timezone(datetime.timedelta(hours=-3))
    assert stamped.edges(until=datetime.datetime.max.replace(tzinfo=west)).src.tolist() == [1]
    for wrong in (np.datetime64("NaT", "us"), datetime.time(3, tzinfo=west)):
        with pytest.raises(BatchError, match="is no time; give"):
            stamped.edges(until=wrong)


@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    units=st.tuples(*[st.sampled_from(["s", "ms", "us", "ns"])] * 2),
)
def test_conversion_is_exact_or_says_where_it_is_not(
    values: list[int], units: tuple[str, str]
) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    given_unit, wanted = map(TimeUnit, units)
    found, bad = convert(np.array(values, np.int64), given_unit, wanted)
    for at, value in enumerate(values):
        exact, rest = divmod(value * per_second[units[1]], per_second[units[0]])
        fits = rest == 0 and -(2**63) < exact < 2**63
        if units[0] == units[1]:
            assert found[at] == value
        elif bad is not None and bad[at]:
            assert not fits
        else:
            assert fits
            assert found[at] == exact


def test_names_of_units_are_those_of_arrow() -> None:
    for kind in (pa.timestamp("us"), pa.timestamp("ns", "America/New_York"), pa.int64()):
        assert str(time_unit_named(str(kind))) == str(kind)


# -- the pipeline


def write(log: Path, name: str, kind: pa.DataType, *texts: str) -> None:
    log.mkdir(exist_ok=True)
    count = len(texts)
    ids = pa.array(range(count), pa.int64())
    stamps = pc.cast(pa.array(list(texts)).cast(pa.timestamp("ns")), pa.timestamp(kind.unit))
    ts = stamps.cast(pa.int64()).cast(kind)
    hashed = pa.array([ord(name)] * count, pa.int64())
    pq.write_table(pa.table({"src": ids, "dst": hashed, "ts": ts}), log / f"{name}.parquet")


def run_log(log: Path, state: Path) -> None:
    settings = {"records": "semantic", "analytics": [], "engine": "host", "workers": 1}
    run(str(log), str(state), load_settings({**settings, "dashboard": False}))


def test_files_of_two_units_that_are_there_from_the_beginning(tmp_path: Path) -> None:
    log, state = tmp_path / "log", tmp_path / "state"
    write(log, "a", pa.timestamp("s"), NEW_YEAR)
    write(log, "b", pa.timestamp("us"), NEW_YEAR)
    apply_log(log, state, 1, records="semantic")
    last = PastGraphs(StateDirectory(state)).after_newest().edges().properties["last"]
    assert last.tolist() == [datetime.datetime(2024, 1, 1)] * 2


def test_a_log_of_two_units_becomes_one_and_its_exports_say_which(tmp_path: Path) -> None:
    log, state = tmp_path / "log", tmp_path / "state"
    write(log, "a", pa.timestamp("ms", "UTC"), NEW_YEAR, "2024-01-01T00:00:00.250")
    run_log(log, state)
    # A state knows the unit of its log; what checkpoints hold of it is integers alone.
    assert json.loads((state / "graphtide.json").read_text())["time_unit"] == (
        "timestamp[ms, tz=UTC]"
    )
    write(log, "b", pa.timestamp("us", "Europe/Rome"), NEW_YEAR)
    run_log(log, state)
    graph = PastGraphs(StateDirectory(state)).after_newest()
    assert graph.time_unit == "timestamp[ms, tz=UTC]"
    assert sorted(map(str, graph.edges().properties["last"])) == [
        "2024-01-01T00:00:00.000", "2024-01-01T00:00:00.000", "2024-01-01T00:00:00.250",
    ]  # fmt: skip
    export_graph(str(state), edges=str(tmp_path / "e.parquet"), vertices=None)
    exported = pq.read_table(tmp_path / "e.parquet")
    assert exported.schema.field("first").type == pa.timestamp("ms", "UTC")
    export_graph(str(state), edges=str(tmp_path / "e.csv"), vertices=None)
    assert "2024-01-01T00:00:00.250Z" in (tmp_path / "e.csv").read_text()
    write(log, "c", pa.timestamp("us", "UTC"), NEW_YEAR, "2024-01-01T00:00:00.250001")
    text = r"c.parquet, row 1: ts 2024-01-01T00:00:00.250001Z is no timestamp\[ms, tz=UTC\]"
    with pytest.raises(UpdateLogError, match=rf"{text}.*as those of the log's first file"):
        run_log(log, state)


def test_networkx_takes_a_graph_with_times() -> None:
    graph = semantic()
    graph.insert_edges([1], [2], ts=times("us"))
    copy = graphtide.to_networkx(graph)
    assert isinstance(copy, nx.DiGraph)
    assert graphtide.from_networkx(copy).num_edges == 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "timestamp[us, tz=Europe/Rome]"])
@pytest.mark.parametrize("ending", [".csv", ".graphml"])
def test_exported_text_has_the_years_of_times_that_were_read_in_a_wrong_unit(
    tmp_path: Path, unit: str, ending: str
) -> None:
    """Microseconds taken for milliseconds are of the year 55,000."""
    times = {"s": 2**55, "ms": 1_700_000_000_000_000}.get(unit, 2**62)
    graph = semantic(time_unit=unit)
    graph.insert_edges([1, 2], [2, 3], ts=[times, -times])
    graph.export_edges(tmp_path / f"e{ending}")
    text = (tmp_path / f"e{ending}").read_text()
    mark = "Z" if "tz" in unit else ""
    for each in last_times(graph):
        assert f"{each}{mark}" in text


def test_exported_text_of_many_times_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphtide.io.interchange.export._PIECE_ROWS", 3)
    graph = semantic(time_unit="us")
    graph.insert_edges(range(10), range(1, 11), ts=range(0, 10_000_000, 1_000_000))
    graph.export_edges(tmp_path / "e.csv")
    lines = (tmp_path / "e.csv").read_text().splitlines()[1:]
    assert [line.split(",")[-1] for line in lines] == last_times(graph)
