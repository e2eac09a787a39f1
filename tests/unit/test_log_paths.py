"""Which files a log has, and in which order: folders in folders, patterns, several addresses."""

import os
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import StateError, UpdateLogError
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.operations import Operations
from graphtide.io.log.paths.addresses import absolute_address
from graphtide.io.log.paths.log_paths import list_log
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state.directory import StateDirectory
from graphtide.io.tables.table_files import TableFile


def write(path: Path, **columns: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"src": [1], "dst": [2], **columns}), path)


def names(*addresses: object) -> list[str]:
    return [each.name for each in list_log([str(address) for address in addresses])]


def test_folders_within_a_log_come_in_the_natural_order_of_paths(tmp_path: Path) -> None:
    for name in ("day=10/part-0", "day=9/part-10", "day=9/part-2", "top"):
        write(tmp_path / f"{name}.parquet")
    write(tmp_path / "_spark_metadata" / "x.parquet")
    write(tmp_path / "day=9" / "_tmp" / "x.parquet")
    found = ["day=9/part-2.parquet", "day=9/part-10.parquet", "day=10/part-0.parquet"]
    assert names(tmp_path) == [*found, "top.parquet"]
    assert names(tmp_path / "day=*") == found, "what a pattern names may be folders"
    with pytest.raises(UpdateLogError, match=r"parquet holds no Parquet, CSV or JSON file"):
        names(tmp_path / "*" / "*" / "*.parquet")  # one is there, in a folder that is ignored
    assert names(tmp_path / "**" / "part-?.parquet") == [found[0], found[2]]


def test_several_addresses_are_read_in_the_order_given(tmp_path: Path) -> None:
    for name in ("b/0", "a/1", "a/0", "c/10", "c/9"):
        write(tmp_path / f"{name}.parquet")
    addresses = [str(tmp_path / "b"), str(tmp_path / "a/1.parquet"), str(tmp_path / "c/*.parquet")]
    found = list_log(addresses)
    assert [each.name for each in found] == [
        "0.parquet", "2//1.parquet", "3//9.parquet", "3//10.parquet",
    ]  # fmt: skip
    assert [each.shown for each in found] == [
        str(tmp_path / name)
        for name in ("b/0.parquet", "a/1.parquet", "c/9.parquet", "c/10.parquet")
    ]
    log = UpdateLog(tuple(addresses))
    assert [log.read(file.name, 0, 1).num_rows for file in listing_of(log).files] == [1] * 4


def test_an_address_that_is_added_changes_no_name(tmp_path: Path) -> None:
    write(tmp_path / "a" / "0.parquet")
    write(tmp_path / "b" / "0.parquet")
    assert names(tmp_path / "a", tmp_path / "b")[:1] == names(tmp_path / "a")


def test_a_file_that_is_in_the_log_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a" / "0.parquet")
    with pytest.raises(UpdateLogError, match=r"a/0\.parquet is in the log twice"):
        list_log([str(tmp_path / "a"), str(tmp_path / "a" / "*.parquet")])


def test_a_file_with_links_to_it_is_in_the_log_once(tmp_path: Path) -> None:
    write(tmp_path / "log" / "day" / "1.parquet")
    write(tmp_path / "log" / "day" / "2.parquet")
    write(tmp_path / "outside.parquet")
    log, other = tmp_path / "log", tmp_path / "other"
    os.symlink("day/2.parquet", log / "a-latest.parquet")
    os.symlink("day", log / "b-all")
    os.symlink(tmp_path / "outside.parquet", log / "c.parquet")
    os.symlink(tmp_path / "outside.parquet", log / "d.parquet")
    os.symlink(log, other)
    for top in (log, other):
        found = list_log([str(top)])
        assert [each.name for each in found] == ["c.parquet", "day/1.parquet", "day/2.parquet"]
        assert found[0].links == ("d.parquet",)
        assert found[2].links == ("a-latest.parquet", "b-all/2.parquet")
    # A plan keeps the names that it has, and what it took for two files.
    planned = ["a-latest.parquet", "day/2.parquet", "d.parquet"]
    found = list_log([str(log)], planned)
    assert {each.name for each in found} == {*planned, "day/1.parquet"}
    assert names(tmp_path / "log" / "day", other / "b-all") == ["1.parquet", "2.parquet"]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "day"])
def test_a_link_to_nothing_is_told_as_that(tmp_path: Path, name: str) -> None:
    os.symlink("nowhere", tmp_path / name)
    with pytest.raises(UpdateLogError, match=f"{name} is a symbolic link to nowhere, which is not"):
        listing_of(UpdateLog(str(tmp_path)))


def test_a_link_with_another_value_in_its_path_is_another_file(tmp_path: Path) -> None:
    write(tmp_path / "op=insert" / "0.parquet")
    (tmp_path / "op=delete").mkdir()
    os.symlink("../op=insert/0.parquet", tmp_path / "op=delete" / "0.parquet")
    assert names(tmp_path) == ["op=delete/0.parquet", "op=insert/0.parquet"]


def test_a_pattern_that_matches_nothing_is_refused_and_a_name_that_looks_like_one_is_not(
    tmp_path: Path,
) -> None:
    with pytest.raises(UpdateLogError, match="holds no Parquet, CSV or JSON file"):
        list_log([str(tmp_path / "*.parquet")])
    write(tmp_path / "day[1]" / "0.parquet")
    assert names(tmp_path / "day[1]") == ["0.parquet"]


def test_the_name_of_a_file_is_no_column(tmp_path: Path) -> None:
    write(tmp_path / "weight=2" / "op=delete.parquet")
    log = UpdateLog(str(tmp_path), records="weighted")
    (file,) = listing_of(log).files
    assert log.read(file.name, 0, 1).to_pydict() == {"src": [1], "dst": [2], "weight": [2.0]}


def test_a_folder_may_be_called_as_a_version_of_a_table(tmp_path: Path) -> None:
    write(tmp_path / "log@v2" / "a.parquet")
    assert names(tmp_path / "log@v2") == ["a.parquet"]
    with pytest.raises(UpdateLogError, match="log@v2 is no table, and has no version 1; leave @v"):
        names(tmp_path / "log@v2@v1")


def test_an_empty_name_is_not_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a variable of a shell that is not set."""
    write(tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    for listed in (lambda: names(""), lambda: absolute_address(("a.parquet", ""))):
        with pytest.raises(UpdateLogError, match="an address of the log is empty"):
            listed()
    with pytest.raises(StateError, match="the name of the state is empty"):
        StateDirectory("")


def test_a_folder_that_cannot_be_read_is_not_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    os.symlink(tmp_path / "loop", tmp_path / "loop")
    with pytest.raises(UpdateLogError):
        listing_of(UpdateLog(str(tmp_path)))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.csv.gz"])
def test_a_pipe_is_refused_rather_than_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(UpdateLogError, match=rf"{name} cannot be read: it is a pipe"):
        listing_of(UpdateLog(str(tmp_path)))


@pytest.mark.parametrize(
    ("key", "value", "column", "wanted"),
    [
        ("ts", "1767225600", "ts", [1767225600]),
        ("ts", "2026-01-01", "ts", ["2026-01-01 00:00:00"]),
        ("ts", "2026-01-01 10%3A30%3A00", "ts", ["2026-01-01 10:30:00"]),
        ("weight", "2.5", "weight", [2.5]),
        ("type", "7", "type", [7]),
        ("op", "delete", "op", ["delete"]),
    ],
)
def test_a_column_in_the_path_is_a_column_of_the_log(
    tmp_path: Path, key: str, value: str, column: str, wanted: list[object]
) -> None:
    more = {} if key == "ts" else {"ts": [1]}
    write(tmp_path / f"{key}={value}" / "0.parquet", **more)
    log = UpdateLog(str(tmp_path), records="semantic")
    (file,) = listing_of(log).files
    read = log.read(file.name, 0, 1)[column].to_pylist()
    assert [str(each) for each in read] == [str(each) for each in wanted]


def test_ids_in_the_path_and_values_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "src=17" / "0.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"dst": [2, 3]}), path)
    log = UpdateLog(str(tmp_path))
    assert log.read("src=17/0.parquet", 1, 1).to_pydict() == {"src": [17], "dst": [3]}
    path.parent.rename(tmp_path / "src=x")
    with pytest.raises(UpdateLogError, match=r"src=x has no src: 'x' is not a value of type int64"):
        listing_of(log)


def test_a_column_in_the_path_is_one_however_the_files_are_addressed(tmp_path: Path) -> None:
    """A folder ``op=delete`` that was an address itself had rows that insert."""
    top = tmp_path / "type=5" / "log"
    for op in ("insert", "delete"):
        write(top / "day=1" / f"op={op}" / "0.parquet")
    folders = [str(top / "day=1" / f"op={op}") for op in ("insert", "delete")]
    for end in ("", "/", "/*", "/0.parquet"):
        log = UpdateLog(tuple(folder + end for folder in folders))
        files = listing_of(log).files
        assert [log.read(each.name, 0, 1)["op"].to_pylist() for each in files] == [
            ["insert"], ["delete"],
        ]  # fmt: skip
        # The folders right around an address, and not those further up.
        assert [each.partitions for each in log.paths()] == [
            {"day": "1", "op": op} for op in ("insert", "delete")
        ]


@pytest.mark.parametrize("words", [("insert", "delete"), ("1", "-1"), ("Hired", "FIRED")])
def test_operations_in_paths_are_no_order(tmp_path: Path, words: tuple[str, str]) -> None:
    """All deletes would come before all inserts, as that is how their words are sorted."""
    for day in (1, 2):
        write(tmp_path / f"day={day}" / f"op={words[day - 1]}" / "0.parquet")
    own = Operations(("hired",), ("fired",))
    log = UpdateLog(str(tmp_path), operations=own)
    log.check_operations(names(tmp_path))  # here the days tell
    write(tmp_path / "day=2" / f"op={words[0]}" / "0.parquet")
    told = rf"deletes in day=2/op={words[1]} and inserts in day=2/op={words[0]}, and nothing"
    with pytest.raises(UpdateLogError, match=told):
        log.check_operations(names(tmp_path))
    folders = [str(tmp_path / "day=2" / f"op={word}") for word in words]
    several = UpdateLog(tuple(folders), operations=own)
    several.check_operations(each.name for each in listing_of(several).files)


def test_operations_in_folders_of_a_table_are_no_order_within_a_version() -> None:
    log = UpdateLog("table")
    files = [
        TableFile(version, "insert", number, f"op={op}/a.parquet").name
        for version, number, op in [(1, 0, "delete"), (2, 0, "insert"), (2, 1, "delete")]
    ]
    log.check_operations(files[:2])
    with pytest.raises(
        UpdateLogError, match=r"table, version 2, has deletes .* not partitioned by"
    ):
        log.check_operations(files)


def test_a_column_of_the_file_goes_before_that_of_its_path(tmp_path: Path) -> None:
    write(tmp_path / "src=17" / "0.parquet")
    assert UpdateLog(str(tmp_path)).read("src=17/0.parquet", 0, 1)["src"].to_pylist() == [1]


def test_a_name_that_is_no_text_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    os.rename(tmp_path / "a.parquet", os.fsencode(tmp_path) + b"/f\xfcr.parquet")
    with pytest.raises(UpdateLogError, match=r"no UTF-8: f\\udcfcr\.parquet; rename it"):
        names(tmp_path)


def test_a_link_to_a_folder_is_followed_and_one_to_a_folder_around_it_refused(
    tmp_path: Path,
) -> None:
    write(tmp_path / "elsewhere" / "a.parquet")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "link").symlink_to(tmp_path / "elsewhere")
    assert names(tmp_path / "log") == ["link/a.parquet"]
    for folder in ("log", "elsewhere"):
        link = tmp_path / folder / "up"
        link.symlink_to(tmp_path / "log")
        with pytest.raises(UpdateLogError, match=r"up leads back to .*/log, so"):
            names(tmp_path / "log")
        link.unlink()


def test_rows_of_folders_are_there_where_no_column_of_the_file_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "src=1" / "dst=2").mkdir(parents=True)
    pq.write_table(pa.table({"x": [[1], [2], [3]]}), tmp_path / "src=1" / "dst=2" / "a.parquet")
    log = UpdateLog(str(tmp_path))
    (file,) = listing_of(log).files
    assert log.read(file.name, 1, 2).to_pydict() == {"src": [1, 1], "dst": [2, 2]}


@pytest.mark.parametrize(
    ("ids", "kind", "values"),
    [("string", pa.string(), ["007", "ann"]), ("uint64", pa.uint64(), ["7", str(2**64 - 1)])],
)
def test_a_folder_is_an_id_of_the_kind_that_the_graph_has(
    tmp_path: Path, ids: str, kind: pa.DataType, values: list[str]
) -> None:
    for value in values:
        (tmp_path / f"src={value}").mkdir()
        table = pa.table({"dst": pa.array(["5"]).cast(kind)})
        pq.write_table(table, tmp_path / f"src={value}" / "a.parquet")
    log = UpdateLog(str(tmp_path), ids=ids)
    found = [log.read(file.name, 0, 1)["src"] for file in listing_of(log).files]
    assert [each.type for each in found] == [kind] * 2
    assert [str(each[0]) for each in found] == ["007" if ids == "string" else "7", values[1]]


@pytest.mark.parametrize(
    ("own", "value", "found"),
    [
        ("int16", "7", 7),
        ("float32", "0.5", 0.5),
        ("float64", "__HIVE_DEFAULT_PARTITION__", None),
        ("bool", "true", True),
        ("int16", "0.5", "has no kept: '0.5' is not a value of type int16"),
        ("float32", str(2**24 + 1), "has no kept: '16777217' is not a value of type double"),
    ],
)
def test_a_folder_is_a_property_of_the_users_own(
    tmp_path: Path, own: str, value: str, found: object
) -> None:
    """A whole number that would be rounded is refused, as in text."""
    write(tmp_path / f"named={value}" / "a.parquet")
    log = UpdateLog(str(tmp_path), {"kept": "named"}, own={"kept": own})
    if isinstance(found, str):
        with pytest.raises(UpdateLogError, match=found):
            listing_of(log)
        return
    (file,) = listing_of(log).files
    assert log.read(file.name, 0, 1)["kept"].to_pylist() == [found]


def test_a_folder_may_be_called_as_the_file_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "edges.parquet"
    write(folder / "edges.parquet")
    write(folder / "more.parquet")
    for address in (folder, folder / "edges.parquet"):
        log = UpdateLog(str(address))
        found = [file.name for file in listing_of(log).files]
        assert found == ["edges.parquet", "more.parquet"][: 2 if address == folder else 1]
        assert [log.read(name, 0, 1)["src"].to_pylist() for name in found] == [[1]] * len(found)


def test_partitions_in_the_listing_of_a_server_of_http(tmp_path: Path) -> None:
    """It gives ``op=delete`` as ``op%3Ddelete``; deletes would become inserts."""
    for op, rows in (("insert", [1, 2]), ("delete", [2])):
        (tmp_path / f"op={op}").mkdir()
        pq.write_table(pa.table({"src": rows, "dst": rows}), tmp_path / f"op={op}" / "a.parquet")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            paths = list_log([f"http://127.0.0.1:{server.server_port}/op*/*.parquet"])
        finally:
            server.shutdown()
            thread.join()
    assert [path.partitions for path in paths] == [{"op": "delete"}, {"op": "insert"}]


def test_a_table_in_a_store_is_named_by_its_address() -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/shop/table/_delta_log/0.json", b"{}")
    try:
        for log in ("memory://shop", "memory://shop/*"):
            with pytest.raises(
                UpdateLogError, match=r"memory:///shop/table(,| is) a table of Delta"
            ):
                list_log([log])
    finally:
        store.rm("/shop", recursive=True)
