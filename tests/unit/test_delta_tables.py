"""Delta tables as logs: versions in the order of their commits, each change of rows once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from graphtide import DynamicGraph, UpdateLogError
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.paths.log_paths import list_log
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.tables.table_files import TableFile
from table_logs import Edge, check_versions, edges_by_version

deltalake = pytest.importorskip("deltalake", reason="deltalake writes the tables")

FEED = {"delta.enableChangeDataFeed": "true"}


def edges(*pairs: Edge) -> pa.Table:
    src, dst = zip(*pairs, strict=True)
    return pa.table({"src": pa.array(src, pa.int64()), "dst": pa.array(dst, pa.int64())})


def write(path: Path, table: pa.Table, mode: str = "append", **options: Any) -> None:
    deltalake.write_deltalake(path, table, mode=mode, **options)


def opened(path: Path) -> Any:
    return deltalake.DeltaTable(path)


def whole(path: Path, begin: int = 0) -> dict[int, set[Edge]]:
    """The rows of the table as of each version, as Delta's own reader has them."""
    found = {}
    for version in range(begin, opened(path).version() + 1):
        table = deltalake.DeltaTable(path, version=version).to_pyarrow_table()
        rows = [(row["src"], row["dst"]) for row in table.to_pylist()]
        assert len(set(rows)) == len(rows), "the test needs a row an edge"
        found[version] = set(rows)
    return found


def move_in_a_ring(path: Path) -> None:
    """Each edge goes where the next one was: rows come and go under the same keys."""
    opened(path).update(updates={"dst": "CASE WHEN dst = 12 THEN 10 ELSE dst + 1 END"})


def changed_table(path: Path) -> None:
    """A table that was changed in every way."""
    write(path, edges((1, 10), (1, 11), (1, 12)), configuration=FEED)
    write(path, edges((2, 10), (2, 12)))
    move_in_a_ring(path)
    opened(path).delete("src = 2 AND dst = 11")
    write(path, edges((6, 10)))
    opened(path).optimize.compact()
    changed = pa.table({"src": [1, 3, 3], "dst": [11, 11, 12], "gone": [True, False, False]})
    merge = opened(path).merge(
        changed, predicate="t.src = s.src AND t.dst = s.dst", source_alias="s", target_alias="t"
    )
    merge = merge.when_matched_delete(predicate="s.gone")
    merge.when_not_matched_insert({"src": "s.src", "dst": "s.dst"}).execute()
    opened(path).delete()
    write(path, edges((4, 10), (4, 11)))
    write(path, edges((4, 11), (5, 10)), mode="overwrite")


def test_each_version_leaves_the_rows_that_the_table_has_then(tmp_path: Path) -> None:
    changed_table(tmp_path)
    whole_versions = whole(tmp_path)
    assert whole_versions[2] == {(1, 10), (1, 11), (1, 12), (2, 10), (2, 11)}, "a ring"
    check_versions(edges_by_version(tmp_path), whole_versions)
    names = [path.name for path in list_log([str(tmp_path)])]
    assert not any(name.startswith("_table/5/") for name in names), "OPTIMIZE changes no row"


def test_random_changes_of_a_table(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    write(tmp_path, edges((0, 0), (0, 1)), configuration=FEED)
    fresh = iter(range(100, 1000))
    for _ in range(25):
        kind, bound = draw.integers(5), draw.integers(8)
        if kind == 0:
            opened(tmp_path).delete(f"src % 8 = {bound}")
        elif kind == 1:
            opened(tmp_path).update({"dst": "dst + 1"}, predicate=f"src % 8 < {bound}")
        elif kind == 2:
            opened(tmp_path).optimize.compact()
        else:
            write(tmp_path, edges(*((next(fresh), int(at)) for at in draw.integers(0, 4, 6))))
    # Other writers put the rows before and after an update next to each other.
    for path in (tmp_path / "_change_data").glob("*.parquet"):
        rows = pq.read_table(path)
        pq.write_table(rows.take(draw.permutation(rows.num_rows)), path, row_group_size=5)
    check_versions(edges_by_version(tmp_path, batch_rows=4), whole(tmp_path))


def test_a_table_that_is_only_appended_to_is_read_in_the_order_of_its_commits(
    tmp_path: Path,
) -> None:
    # Names of its files are random: ten of them are hardly ever in order.
    for number in range(10):
        rows = pa.table({"op": ["insert", "delete"][number % 2 :][:1], "src": [1], "dst": [2]})
        write(tmp_path, rows.append_column("weight", pa.array([float(number)])))
    opened(tmp_path).optimize.compact()
    log = UpdateLog(str(tmp_path), records="weighted")
    read = [log.read(file.name, 0, 1).to_pylist()[0] for file in listing_of(log).files]
    assert [row["weight"] for row in read] == [float(number) for number in range(10)]
    assert [row["op"] for row in read] == ["insert", "delete"] * 5


def test_partitions_are_columns_and_their_values_may_be_any_text(tmp_path: Path) -> None:
    rows = edges((1, 2), (3, 4), (5, 6))
    rows = rows.append_column("op", pa.array(["insert", "delete", "a/b =%20c"]))
    write(tmp_path, rows, partition_by=["op"])
    log = UpdateLog(str(tmp_path))
    found = {
        (row["src"], row["op"])
        for file in listing_of(log).files
        for row in log.read(file.name, 0, file.rows).to_pylist()
    }
    assert found == {(1, "insert"), (3, "delete"), (5, "a/b =%20c")}


def test_changes_of_a_partitioned_table(tmp_path: Path) -> None:
    rows = edges((1, 10), (2, 10), (2, 11), (3, 11))
    write(tmp_path, rows, configuration=FEED, partition_by=["src"])
    opened(tmp_path).delete("dst = 11 AND src = 2")
    opened(tmp_path).update({"src": "9"}, predicate="src = 3")
    check_versions(edges_by_version(tmp_path), whole(tmp_path))


def test_a_table_may_be_read_from_a_later_version_on(tmp_path: Path) -> None:
    changed_table(tmp_path)
    for begin in (2, 5, 6, 9):
        found = edges_by_version(f"{tmp_path}@v{begin}")
        check_versions(found, whole(tmp_path, begin), begin)
    with pytest.raises(UpdateLogError, match=r"there is no version 10 yet, the newest one is 9"):
        list_log([f"{tmp_path}@v10"])


def test_vacuumed_files_are_refused_and_what_is_left_can_be_read(tmp_path: Path) -> None:
    changed_table(tmp_path)
    opened(tmp_path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(UpdateLogError, match=r"of version 0 is gone, by VACUUM.*@v\d+, and anot"):
        list_log([str(tmp_path)])
    last = opened(tmp_path).version()
    assert edges_by_version(f"{tmp_path}@v{last}") == {last: {(4, 11), (5, 10)}}


def cleaned_up(path: Path, version: int) -> None:
    """Make a checkpoint of now, and remove the commits before a version, as writers do in time."""
    opened(path).create_checkpoint()
    for commit in path.glob("_delta_log/*.json"):
        if int(commit.stem) < version:
            commit.unlink()


def test_commits_that_were_cleaned_up_are_taken_from_the_plan_or_missed(tmp_path: Path) -> None:
    changed_table(tmp_path)
    before = list_log([str(tmp_path)])
    last = opened(tmp_path).version()
    cleaned_up(tmp_path, last)
    with pytest.raises(UpdateLogError, match=f"versions before {last} are no longer.*@v{last}, an"):
        list_log([str(tmp_path)])
    write(tmp_path, edges((6, 10)))
    opened(tmp_path).delete("src = 6")
    planned = [path.name for path in before]
    after = list_log([str(tmp_path)], planned)
    assert after[: len(before)] == before
    added = [path.name.split("/")[1:3] for path in after[len(before) :]]
    assert added == [
        [str(last + 1), "insert.0"], [str(last + 2), "feed-delete.0"],
        [str(last + 2), "feed-insert.0"],
    ]  # fmt: skip
    assert edges_by_version(f"{tmp_path}@v{last}") == {
        last: {(4, 11), (5, 10)},
        last + 1: {(4, 11), (5, 10), (6, 10)},
        last + 2: {(4, 11), (5, 10)},
    }
    # What was planned ends before what is there begins: nobody knows what is between them.
    early = [name for name in planned if int(name.split("/")[1]) < last]
    with pytest.raises(UpdateLogError, match="are no longer"):
        list_log([str(tmp_path)], early)


def test_a_checkpoint_without_the_list_of_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, edges((1, 2)))
    write(tmp_path, edges((3, 4)))
    cleaned_up(tmp_path, 1)
    path = tmp_path / f"_delta_log/{1:020}.checkpoint.parquet"
    # Writers that know no such files have no column for them.
    classic = pq.read_table(path)
    pq.write_table(classic.drop_columns({"sidecar"} & {*classic.column_names}), path)
    assert edges_by_version(f"{tmp_path}@v1") == {1: {(1, 2), (3, 4)}}
    kept = pq.read_table(path).to_pylist()
    rows = [{**row, "sidecar": {"path": "a.parquet"}} if row["add"] else row for row in kept]
    pq.write_table(pa.Table.from_pylist([{**row, "add": None} for row in rows]), path)
    with pytest.raises(UpdateLogError, match="lists the files of the table in other files"):
        list_log([f"{tmp_path}@v1"])


def test_a_table_that_was_replaced_where_its_commits_begin(tmp_path: Path) -> None:
    write(tmp_path, edges((1, 2)))
    write(tmp_path, edges((3, 4)), mode="overwrite")
    before = list_log([str(tmp_path)])
    cleaned_up(tmp_path, 1)
    assert list_log([str(tmp_path)], [path.name for path in before]) == before


def test_rows_that_are_rewritten_without_a_feed_are_refused(tmp_path: Path) -> None:
    write(tmp_path, edges((1, 2), (3, 4)))
    write(tmp_path, edges((5, 6)))
    opened(tmp_path).delete("src = 1")
    with pytest.raises(UpdateLogError, match=r"version 2 \(DELETE\) rewrites files.*@v2, and anot"):
        list_log([str(tmp_path)])
    assert edges_by_version(f"{tmp_path}@v2") == {2: {(3, 4), (5, 6)}}


def test_whole_files_that_go_need_no_feed(tmp_path: Path) -> None:
    write(tmp_path, edges((1, 2), (3, 4)))
    write(tmp_path, edges((5, 6)))
    opened(tmp_path).delete("src = 5")
    write(tmp_path, edges((3, 4), (7, 8)), mode="overwrite")
    check_versions(edges_by_version(tmp_path), whole(tmp_path))


def test_updates_cannot_be_taken_back(tmp_path: Path) -> None:
    rows = edges((1, 2), (3, 4)).append_column("op", pa.array(["insert", "insert"]))
    write(tmp_path, rows, configuration=FEED)
    opened(tmp_path).delete("src = 1")
    with pytest.raises(UpdateLogError, match="rows of the table are updates, as they have a colu"):
        listing_of(UpdateLog(str(tmp_path)))


def edit_commit(path: Path, version: int, kind: str, values: dict[str, object]) -> None:
    """Write into an action of a commit what this writer cannot."""
    commit = path / f"_delta_log/{version:020}.json"
    lines = [json.loads(text) for text in commit.read_text().splitlines()]
    for line in lines:
        if kind in line:
            line[kind].update(values)
    commit.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (
            "protocol",
            {"minReaderVersion": 3, "readerFeatures": ["deletionVectors", "rowsOfTomorrow"]},
            "needs readers that know rowsOfTomorrow, from version 0 on",
        ),
        ("protocol", {"minReaderVersion": 4}, "needs readers that know version 4, from version 0"),
        ("metaData", {"configuration": {"delta.columnMapping.mode": "name"}}, "calls columns othe"),
        ("add", {"deletionVector": {"storageType": "u"}}, "version 0 leaves rows out of part-"),
        ("add", {"path": "s3://elsewhere/part-0.parquet"}, "has a file that lies elsewhere"),
    ],
)
def test_what_is_not_read_rightly_is_refused(
    tmp_path: Path, kind: str, values: dict[str, object], message: str
) -> None:
    write(tmp_path, edges((1, 2)))
    edit_commit(tmp_path, 0, kind, values)
    with pytest.raises(UpdateLogError, match=message):
        list_log([str(tmp_path)])


@pytest.mark.parametrize("path", ["a1/part-0.parquet", "op=insert/part-0.parquet"])
@pytest.mark.parametrize("version", [0, 1])
def test_a_file_whose_path_does_not_say_its_partition_is_refused(
    tmp_path: Path, version: int, path: str
) -> None:
    """As with prefixes by chance in an object store; its deletes would be inserts."""
    rows = edges((7, 2)).append_column("op", pa.array(["delete"]))
    for _ in range(version + 1):
        write(tmp_path, rows, partition_by=["op"])
    edit_commit(tmp_path, version, "add", {"path": path})
    with pytest.raises(UpdateLogError, match=f"version {version} has op=delete, which its path do"):
        list_log([str(tmp_path)])


def test_a_missing_or_damaged_commit_is_named(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path, edges((number, 2)))
    commit = tmp_path / f"_delta_log/{1:020}.json"
    text = commit.read_text()
    commit.write_text(text[: len(text) // 2])
    with pytest.raises(UpdateLogError, match=r"0001\.json is no commit of a Delta table"):
        list_log([str(tmp_path)])
    commit.unlink()
    with pytest.raises(UpdateLogError, match="version 1 is missing in _delta_log"):
        list_log([str(tmp_path)])


def test_files_of_a_table_are_never_read_as_those_of_a_folder(tmp_path: Path) -> None:
    table = tmp_path / "lake" / "edges"
    write(table, edges((1, 2), (3, 4)), configuration=FEED, partition_by=["src"])
    opened(table).update({"dst": "dst + 1"}, predicate="src = 1")
    for address in ("lake/edges/*/*.parquet", "lake/edges/src=1", "lake/edges/_change_data"):
        with pytest.raises(UpdateLogError, match="edges, a table of Delta"):
            list_log([str(tmp_path / address)])
    # As a shell gives those of a pattern without quotes.
    for files in (table.glob("src=*/*.parquet"), table.glob("_change_data/*/*.parquet")):
        with pytest.raises(UpdateLogError, match="edges, a table of Delta"):
            list_log(sorted(map(str, files)))
    with pytest.raises(UpdateLogError, match=r"edges is a table of Delta.* address of its own"):
        list_log([str(tmp_path / "lake")])
    (tmp_path / "other" / ".hoodie").mkdir(parents=True)
    with pytest.raises(UpdateLogError, match="other is a table of Hudi, which is not read"):
        list_log([str(tmp_path / "other")])


def test_two_tables_are_a_log(tmp_path: Path) -> None:
    write(tmp_path / "a", edges((1, 2)))
    write(tmp_path / "b", edges((3, 4)))
    found = list_log([str(tmp_path / "a"), str(tmp_path / "b")])
    assert [path.name.rpartition("//")[0] for path in found] == ["", "2"]
    log = UpdateLog((str(tmp_path / "a"), str(tmp_path / "b")))
    files = listing_of(log).files
    assert [log.read(file.name, 0, 1).to_pylist()[0]["src"] for file in files] == [1, 3]
    with pytest.raises(UpdateLogError, match="is in the log twice"):
        list_log([str(tmp_path / "a"), f"{tmp_path / 'a'}@v0"])


def test_an_update_of_a_vertex_leaves_its_edges(tmp_path: Path) -> None:
    """Its values alone change; a row that goes, or is about another vertex then, takes it along."""
    table = pa.table(
        {
            "src": pa.array([1, 2, 3, 4, 1, 2, 3, 4], pa.int64()),
            "dst": pa.array([None, None, None, None, 2, 3, 4, 1], pa.int64()),
            "score": [0.1, 0.2, 0.3, 0.4, None, None, None, None],
        }
    )
    write(tmp_path, table, configuration=FEED)
    opened(tmp_path).update(updates={"score": "0.9"}, predicate="src = 1 AND dst IS NULL")
    opened(tmp_path).update(updates={"src": "9"}, predicate="src = 3 AND dst IS NULL")
    log = UpdateLog(str(tmp_path), own={"score": "float64"})
    graph = DynamicGraph(engine="host", vertex_properties={"score": "float64"})
    found = {}
    for file in listing_of(log).files:
        graph.apply(log.read(file.name, 0, file.rows, file.fingerprint))
        version = TableFile.of_name(file.name).version
        found[version] = set(
            zip(graph.edges().src.tolist(), graph.edges().dst.tolist(), strict=True)
        )
    assert found[1] == found[0] == {(1, 2), (2, 3), (3, 4), (4, 1)}
    assert found[2] == {(1, 2), (4, 1)}
    assert graph.vertices().tolist() == [1, 2, 4, 9]
    assert graph.vertex_values()["score"].tolist() == [0.9, 0.2, 0.4, 0.3]


def with_vertex(**columns: list[Any]) -> pa.Table:
    """A row about vertex 1, a row about vertex 2, and edges around vertex 1."""
    ends = {"src": [1, 2, 1, 3], "dst": [None, None, 2, 1]}
    return pa.table({**{name: pa.array(of, pa.int64()) for name, of in ends.items()}, **columns})


def graph_of(path: Path, ids: str = "any") -> DynamicGraph:
    """Graph of a table as a run reads it."""
    log, graph = UpdateLog(str(path), ids=ids), DynamicGraph(engine="host", ids=ids)
    for file in listing_of(log).files:
        rows = log.read_checked(file.name, 0, file.rows, file.fingerprint, dictionaries=True)
        graph.apply(rows.table)
    return graph


def edge_rows(path: Path) -> set[Edge]:
    rows = opened(path).to_pyarrow_table().to_pylist()
    return {(row["src"], row["dst"]) for row in rows if row["dst"] is not None}


@pytest.mark.parametrize("kind", ["views", "dictionaries"])
def test_changes_of_a_table_of_names(kind: str, tmp_path: Path) -> None:
    """Change data of deltalake has names as views of text, that of Spark as dictionaries."""
    ends = {"src": ["a", "b", "c", "c", "a", "b"], "dst": ["b", "c", "a", "b", None, None]}
    write(tmp_path, pa.table({**ends, "label": list("uvwxyz")}), configuration=FEED)
    opened(tmp_path).update(updates={"dst": "'d'"}, predicate="src = 'a' AND dst = 'b'")
    opened(tmp_path).update(updates={"label": "'t'"}, predicate="src = 'a' AND dst IS NULL")
    opened(tmp_path).delete("src = 'c' AND dst = 'b'")
    for file in (tmp_path / "_change_data").iterdir():
        table = pq.ParquetFile(file).read()
        assert table.schema.field("src").type == pa.string_view()
        if kind == "dictionaries":
            texts = pa.schema([(name, pa.string()) for name in table.schema.names])
            pq.write_table(table.cast(texts), file)
    graph = graph_of(tmp_path, ids="string")
    found = set(zip(graph.edges().src, graph.edges().dst, strict=True))
    assert found == edge_rows(tmp_path) == {("a", "d"), ("b", "c"), ("c", "a")}


def test_a_vertex_that_is_overwritten_keeps_its_edges(tmp_path: Path) -> None:
    """The change data have its row as deleted and inserted, not as updated."""
    kinds = with_vertex(kind=["vertex", "vertex", "edge", "edge"])
    write(tmp_path, kinds, configuration=FEED)
    vertices = kinds.filter(pa.array([True, False, False, False]))
    write(tmp_path, vertices, mode="overwrite", predicate="kind = 'vertex'")
    graph = graph_of(tmp_path)
    assert set(zip(*graph.edges().columns.values(), strict=True)) == {(3, 1)}
    assert graph.vertices().tolist() == [1, 3], "vertex 2 has gone, with its edge"


def test_an_update_of_a_vertex_in_a_partition_by_source(tmp_path: Path) -> None:
    write(tmp_path, with_vertex(score=[1.0, 1, 1, 1]), configuration=FEED, partition_by=["src"])
    opened(tmp_path).update({"score": "2.0"}, predicate="dst IS NULL")
    graph = graph_of(tmp_path)
    assert set(zip(*graph.edges().columns.values(), strict=True)) == edge_rows(tmp_path)


def test_a_vertex_that_is_moved_to_another_partition_is_refused(tmp_path: Path) -> None:
    write(tmp_path, with_vertex(day=["a"] * 4), configuration=FEED, partition_by=["day"])
    opened(tmp_path).update({"day": "'b'"}, predicate="src = 1 AND dst IS NULL")
    with pytest.raises(UpdateLogError, match="row 0: vertex 1 was updated, but its row after"):
        graph_of(tmp_path)
    assert edges_by_version(f"{tmp_path}@v1")[1] >= edge_rows(tmp_path)


def test_a_vertex_whose_update_is_in_two_files_is_refused(tmp_path: Path) -> None:
    """As delta-rs before 1.3 wrote them: the vertex lost its edges."""
    write(tmp_path, with_vertex(score=[1.0, 1, 1, 1]), configuration=FEED)
    opened(tmp_path).update({"score": "2.0"}, predicate="src = 1 AND dst IS NULL")
    commit = tmp_path / "_delta_log" / "00000000000000000001.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    [feed] = [each["cdc"] for each in actions if "cdc" in each]
    rows, halves = pq.read_table(tmp_path / feed["path"]), []
    for kind in ("update_preimage", "update_postimage"):
        path = f"_change_data/{kind}.parquet"
        pq.write_table(rows.filter(pc.equal(rows["_change_type"], kind)), tmp_path / path)
        halves.append({"cdc": {**feed, "path": path}})
    actions = [each for each in actions if "cdc" not in each] + halves
    commit.write_text("".join(json.dumps(each) + "\n" for each in actions))
    with pytest.raises(UpdateLogError, match="row 0: vertex 1 was updated, but its row after"):
        graph_of(tmp_path)


def test_a_vertex_in_files_that_are_rewritten_or_restored_keeps_its_edges(tmp_path: Path) -> None:
    write(tmp_path, with_vertex(score=[1.0, 1, 1, 1]), configuration=FEED)
    write(tmp_path, edges((1, 5), (6, 1)), schema_mode="merge")
    # An update to the values that are there has no change data, but replaces the file.
    opened(tmp_path).update({"score": "1.0"}, predicate="dst IS NULL")
    opened(tmp_path).delete("src = 1 AND dst = 2")
    opened(tmp_path).restore(1)
    found = list_log([str(tmp_path)])
    assert [path.change for path in found if "/4/" in path.name] == ["delete-edges", "insert"]
    graph = graph_of(tmp_path)
    assert set(zip(*graph.edges().columns.values(), strict=True)) == edge_rows(tmp_path)
    # A plan that has called it otherwise goes on.
    names = [path.name.replace("delete-edges", "delete") for path in found]
    assert [path.name for path in list_log([str(tmp_path)], names)] == names
