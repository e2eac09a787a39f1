"""Iceberg tables as logs: snapshots in their order, and a refusal of what is not told."""

import gzip
import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from graphtide import UpdateLogError
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.paths.log_paths import list_log
from graphtide.io.log.update_log import UpdateLog
from graphtide.pipeline import log_watch
from graphtide.pipeline.log_watch import LogWatch
from table_logs import Edge, check_versions, edges_by_version

# Not imported here: every process of a run collects this file, and one runs it.
pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("pyiceberg", "sqlalchemy"))),
    reason="pyiceberg reads the tables, and writes them here; its catalog needs sqlalchemy",
)


def edges(*pairs: Edge) -> pa.Table:
    src, dst = zip(*pairs, strict=True)
    return pa.table({"src": pa.array(src, pa.int64()), "dst": pa.array(dst, pa.int64())})


def made(folder: Path, rows: pa.Table, **options: Any) -> Any:
    """A table in ``folder/g/edges`` with these rows."""
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("tests", warehouse=folder.as_uri())
    catalog.create_namespace("g")
    table = catalog.create_table("g.edges", schema=rows.schema, **options)
    table.append(rows)
    return table


def place(folder: Path) -> Path:
    return folder / "g" / "edges"


def whole(table: Any, begin: int = 1) -> dict[int, set[Edge]]:
    """The rows as of each snapshot, as pyiceberg's own reader has them."""
    return {
        snapshot.sequence_number: {
            (row["src"], row["dst"])
            for row in table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().to_pylist()
        }
        for snapshot in table.metadata.snapshots
        if snapshot.sequence_number >= begin
    }


def test_each_snapshot_leaves_the_rows_that_the_table_has_then(tmp_path: Path) -> None:
    table = made(tmp_path, edges((1, 2), (3, 4)))
    for number in range(10):
        table.append(edges((10, number), (11, number)))
    table.delete("src >= 10")
    table.append(edges((1, 5), (2, 5)))
    table.overwrite(edges((1, 2), (6, 7)))
    check_versions(edges_by_version(place(tmp_path), batch_rows=1), whole(table), 1)
    moved = tmp_path / "moved"
    shutil.move(place(tmp_path), moved)
    assert edges_by_version(moved)[1] == {(1, 2), (3, 4)}, "paths are within the table"


def test_rewritten_files_are_refused_and_what_came_after_can_be_read(tmp_path: Path) -> None:
    table = made(tmp_path, edges((1, 2), (3, 4)))
    table.append(edges((5, 6)))
    table.delete("src = 1")
    with pytest.raises(
        UpdateLogError, match=r"snapshot 3 \(overwrite\) rewrites files.*begin with.*@v3, and anot"
    ):
        list_log([str(place(tmp_path))])
    table.append(edges((7, 8)))
    check_versions(edges_by_version(f"{place(tmp_path)}@v3"), whole(table, 3), 3)
    with pytest.raises(UpdateLogError, match="there is no snapshot 9; the newest one is 4"):
        list_log([f"{place(tmp_path)}@v9"])


def test_a_snapshot_that_rewrites_all_rows_is_read(tmp_path: Path) -> None:
    """Where all rows go, it does not matter which of them come back."""
    table = made(tmp_path, edges((1, 2), (3, 4)))
    table.delete("src = 1")
    assert edges_by_version(place(tmp_path)) == whole(table) == {1: {(1, 2), (3, 4)}, 2: {(3, 4)}}


def test_snapshots_of_before_an_upgrade_from_format_1_have_no_order(tmp_path: Path) -> None:
    """All have the number 0: what the second one deletes, the first one would insert after it."""
    table = made(tmp_path, edges((1, 2)), properties={"format-version": "1"})
    table.delete("src = 1")
    table.append(edges((3, 4)))
    with pytest.raises(UpdateLogError, match=r"is of Iceberg's format 1.*upgrade it to 2"):
        list_log([str(place(tmp_path))])
    with table.transaction() as change:
        change.upgrade_table_version(2)
    table.append(edges((5, 6)))
    with pytest.raises(UpdateLogError, match=r"its first 3 snapshots.*begin with.*edges@v0"):
        list_log([str(place(tmp_path))])
    found = edges_by_version(f"{place(tmp_path)}@v0")
    assert found == {0: {(3, 4)}, 1: {(3, 4), (5, 6)}}


def test_compaction_changes_no_row(tmp_path: Path) -> None:
    table = made(tmp_path, edges((1, 2), (3, 4)))
    table.append(edges((5, 6)))
    table.delete("src = 1")
    table.append(edges((7, 8)))
    # What pyiceberg does not write: a snapshot that says of itself that it is one.
    newest = max((place(tmp_path) / "metadata").glob("*.metadata.json"))
    metadata = json.loads(newest.read_text())
    metadata["snapshots"][2]["summary"]["operation"] = "replace"
    newest.write_text(json.dumps(metadata))
    assert edges_by_version(place(tmp_path)) == {
        1: {(1, 2), (3, 4)},
        2: {(1, 2), (3, 4), (5, 6)},
        4: {(1, 2), (3, 4), (5, 6), (7, 8)},
    }


def test_snapshots_that_expired_are_taken_from_the_plan_or_missed(tmp_path: Path) -> None:
    table = made(tmp_path, edges((1, 2)))
    table.append(edges((3, 4)))
    before = list_log([str(place(tmp_path))])
    table.append(edges((5, 6)))
    oldest = table.metadata.snapshots[0].snapshot_id
    table.maintenance.expire_snapshots().by_id(oldest).commit()
    with pytest.raises(UpdateLogError, match="snapshots before 2 have expired; begin with"):
        list_log([str(place(tmp_path))])
    after = list_log([str(place(tmp_path))], [path.name for path in before])
    assert after[:2] == before
    assert [path.name.split("/")[1] for path in after] == ["1", "2", "3"]
    assert edges_by_version(f"{place(tmp_path)}@v2")[3] == {(1, 2), (3, 4), (5, 6)}


def test_the_snapshot_that_a_plan_begins_with_may_expire(tmp_path: Path) -> None:
    table = made(tmp_path, edges((1, 2)))
    table.append(edges((3, 4)))
    table.append(edges((5, 6)))
    address = f"{place(tmp_path)}@v2"
    before = list_log([address])
    table.append(edges((7, 8)))
    first, second, third, _ = (each.snapshot_id for each in table.metadata.snapshots)
    table.maintenance.expire_snapshots().by_ids([first, second]).commit()
    after = list_log([address], [path.name for path in before])
    assert after[: len(before)] == before
    assert [path.name.split("/")[1] for path in after] == ["2", "2", "3", "4"]
    with pytest.raises(UpdateLogError, match="there is no snapshot 2; the newest one is 4"):
        list_log([address])
    table.maintenance.expire_snapshots().by_id(third).commit()
    # This plan does not have snapshot 3, and nothing else tells what that did.
    with pytest.raises(UpdateLogError, match="there is no snapshot 2; the newest one is 4"):
        list_log([address], [path.name for path in before[:2]])


def watch(folder: Path) -> LogWatch:
    """What follows a table that a run has planned as it is now."""
    log = UpdateLog(str(place(folder)))
    names = {path.name for path in log.paths()}
    return LogWatch(log, names, lambda listing: None, lambda error: None)


def test_snapshots_that_expire_while_a_table_is_followed_are_not_missed(tmp_path: Path) -> None:
    table = made(tmp_path, edges((1, 2)))
    table.append(edges((3, 4)))
    following = watch(tmp_path)
    table.append(edges((5, 6)))
    table.maintenance.expire_snapshots().by_id(table.metadata.snapshots[0].snapshot_id).commit()
    found = following.look()
    assert found is not None
    assert [file.name.split("/")[1] for file in found.files] == ["3"]


def test_metadata_that_are_being_written_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pyiceberg writes them in place, and looks are many a second."""
    table = made(tmp_path, edges((1, 2)))
    following = watch(tmp_path)
    table.append(edges((3, 4)))
    newest = max((place(tmp_path) / "metadata").glob("*.metadata.json"))
    text = newest.read_bytes()
    for part in (b"", text[:-20]):
        newest.write_bytes(part)
        assert following.look() is None
        with pytest.raises(UpdateLogError, match="are no metadata of a table"):
            list_log([str(place(tmp_path))])
    monkeypatch.setattr(log_watch, "PATIENCE_SECONDS", -1)
    with pytest.raises(UpdateLogError, match="are no metadata of a table"):
        following.look()
    newest.write_bytes(text)
    found = following.look()
    assert found is not None
    assert [file.name.split("/")[1] for file in found.files] == ["2"]


def test_a_table_that_is_rolled_back_while_it_is_followed_is_refused(tmp_path: Path) -> None:
    """Its next snapshot comes after those that were undone, whose rows the graph has."""
    table = made(tmp_path, edges((1, 2)))
    table.append(edges((3, 4)))
    following = watch(tmp_path)
    first = table.metadata.snapshots[0].snapshot_id
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    for _ in range(2):
        with pytest.raises(UpdateLogError, match=r"of version 2 was read.* was it rolled back"):
            following.look()
        table.append(edges((5, 6)))
    assert [path.name.split("/")[1] for path in list_log([str(place(tmp_path))])][:2] == ["1", "3"]


def test_rows_that_are_updates_are_read_in_order(tmp_path: Path) -> None:
    rows = edges((1, 2)).append_column("op", pa.array(["insert"]))
    table = made(tmp_path, rows)
    table.append(edges((1, 2)).append_column("op", pa.array(["delete"])))
    log = UpdateLog(str(place(tmp_path)))
    read = [log.read(file.name, 0, 1).to_pylist()[0]["op"] for file in listing_of(log).files]
    assert read == ["insert", "delete"]


@pytest.mark.parametrize("partitioned_paths", ["true", "false"])
def test_rows_keep_their_order_where_folders_spread_files_by_a_hash(
    tmp_path: Path, partitioned_paths: str
) -> None:
    count = 4000
    rows = edges(*((number, 0) for number in range(count)))
    rows = rows.append_column("op", pa.array(["insert", "delete"] * (count // 2)))
    layout = {
        "write.object-storage.enabled": "true",
        "write.object-storage.partitioned-paths": partitioned_paths,
        "write.target-file-size-bytes": "9000",
    }
    table = made(tmp_path, rows.slice(0, 1), properties=layout)
    table.append(rows.slice(1))
    log = UpdateLog(str(place(tmp_path)))
    files = listing_of(log).files
    assert len(files) > 8
    read = [log.read(file.name, 0, file.rows)["src"].to_pylist() for file in files]
    assert [number for numbers in read for number in numbers] == [*range(count)]


def test_deletes_by_position_are_refused(tmp_path: Path) -> None:
    from pyiceberg import manifest as manifests
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.typedef import Record

    class Deletes(manifests.ManifestWriterV2):
        def content(self) -> Any:
            return manifests.ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    table = made(tmp_path, edges((1, 2), (3, 4)))
    table.append(edges((5, 6)))
    # No writer for Python writes such: a snapshot is made to name one.
    newest = table.metadata.snapshots[-1]
    files = PyArrowFileIO()
    path = newest.manifest_list.replace("snap-", "deletes-")
    file = manifests.DataFile.from_args(
        content=manifests.DataFileContent.POSITION_DELETES,
        file_path=f"{table.location()}/data/deletes.parquet",
        file_format=manifests.FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=1,
    )
    with Deletes(
        table.spec(), table.schema(), files.new_output(path), newest.snapshot_id, "null"
    ) as writer:
        status = manifests.ManifestEntryStatus.ADDED
        entry = manifests.ManifestEntry.from_args(
            status=status, snapshot_id=newest.snapshot_id, data_file=file
        )
        writer.add_entry(entry)
    there = newest.manifests(files)
    Path(newest.manifest_list.removeprefix("file://")).unlink()
    with manifests.write_manifest_list(
        2, files.new_output(newest.manifest_list), newest.snapshot_id, newest.parent_snapshot_id,
        newest.sequence_number, "null",
    ) as listed:  # fmt: skip
        listed.add_manifests([*there, writer.to_manifest_file()])
    for address in (str(place(tmp_path)), f"{place(tmp_path)}@v2"):
        with pytest.raises(UpdateLogError, match="snapshot 2 has rows deleted by position or by v"):
            list_log([address])


def test_renamed_columns_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path, edges((1, 2)))
    with table.update_schema() as change:
        change.rename_column("dst", "target")
    with pytest.raises(UpdateLogError, match="column dst was renamed to target"):
        list_log([str(place(tmp_path))])


def test_a_column_that_was_dropped_and_added_again_is_refused(tmp_path: Path) -> None:
    """It has no values in older files, which still have those of the dropped one."""
    weighted = edges((1, 2)).append_column("weight", pa.array([3.0]))
    table = made(tmp_path, weighted)
    with table.update_schema(allow_incompatible_changes=True) as change:
        change.delete_column("weight")
    assert edges_by_version(place(tmp_path))[1] == {(1, 2)}
    with table.update_schema() as change:
        change.add_column("weight", table.schemas()[0].find_type("weight"))
    with pytest.raises(UpdateLogError, match="weight was dropped, and another one of that name"):
        list_log([str(place(tmp_path))])


def test_a_column_with_values_that_no_file_has_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path, edges((1, 2)))
    path = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(path.read_text())
    weight = {"id": 9, "name": "weight", "required": False, "type": "double"}
    metadata["schemas"][0]["fields"].append({**weight, "initial-default": 4.5})
    path.write_text(json.dumps(metadata))
    with pytest.raises(UpdateLogError, match=r"weight has the value 4\.5 in older rows"):
        list_log([str(place(tmp_path))])


def test_a_partition_that_is_called_as_a_column_of_a_log_is_refused(tmp_path: Path) -> None:
    from pyiceberg.transforms import IdentityTransform

    table = made(tmp_path, edges((1, 2)))
    with table.update_spec() as change:
        change.add_field("src", IdentityTransform(), "weight")
    table.append(edges((3, 4)))
    with pytest.raises(UpdateLogError, match=r"weight is a partition .* identity of column src"):
        list_log([str(place(tmp_path))])


def test_a_partition_that_is_called_as_a_later_column_is_refused(tmp_path: Path) -> None:
    """Its values are in the paths of files that lack the column."""
    from pyiceberg.transforms import BucketTransform

    table = made(tmp_path, edges((1, 2)))
    with table.update_spec() as change:
        change.add_field("src", BucketTransform(4), "amount")
    # Not by pyiceberg, but other writers may add one.
    path = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(path.read_text())
    amount = {"id": 9, "name": "amount", "required": False, "type": "int"}
    metadata["schemas"][0]["fields"].append(amount)
    path.write_text(json.dumps(metadata))
    with pytest.raises(UpdateLogError, match=r"amount is a partition .* bucket\[4\] of column src"):
        list_log([str(place(tmp_path))])


@pytest.mark.parametrize("name", ["v7.gz.metadata.json", "00007-a.gz.metadata.json"])
def test_metadata_may_be_packed(tmp_path: Path, name: str) -> None:
    table = made(tmp_path, edges((1, 2)))
    path = Path(table.metadata_location.removeprefix("file://"))
    packed = gzip.compress(path.read_bytes())
    path.with_name(name).write_bytes(packed)
    path.unlink()
    assert edges_by_version(place(tmp_path)) == {1: {(1, 2)}}
    path.with_name(name).write_bytes(packed[:-20])
    with pytest.raises(UpdateLogError, match="are no metadata of a table"):
        list_log([str(place(tmp_path))])


def test_the_newest_metadata_must_be_told(tmp_path: Path) -> None:
    made(tmp_path, edges((1, 2)))
    newest = max((place(tmp_path) / "metadata").glob("*.metadata.json"))
    other = newest.with_name(newest.name.replace("-", "-0", 1))
    other.write_text(newest.read_text())
    with pytest.raises(UpdateLogError, match=f"newest is unknown: there is .*{newest.name}"):
        list_log([str(place(tmp_path))])
    other.unlink()
    newest.write_text(json.dumps({"format-version": 2}))
    with pytest.raises(UpdateLogError, match="are no metadata of a table"):
        list_log([str(place(tmp_path))])


def test_files_of_a_table_are_never_read_as_those_of_a_folder(tmp_path: Path) -> None:
    made(tmp_path, edges((1, 2)))
    with pytest.raises(UpdateLogError, match="edges, a table of Iceberg"):
        list_log([str(place(tmp_path) / "data")])
    with pytest.raises(UpdateLogError, match=r"edges is a table of Iceberg.*address of its own"):
        list_log([str(tmp_path)])


def test_without_its_reader_the_message_tells_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, edges((1, 2)))
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "graphtide.io.tables.table_formats.find_spec",
        lambda name: None if name == "pyiceberg" else found(name),
    )
    with pytest.raises(UpdateLogError, match=r"pip install -e '\.\[iceberg\]' in the"):
        list_log([str(place(tmp_path))])
