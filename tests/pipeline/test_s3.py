"""Logs in a store that speaks S3, and what is written there: as on a disk, or one sentence."""

import gzip
import json
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from commands import fails, graphtide_here, run_here
from documented import ROOT, shell_lines
from graphtide import read_results
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.errors import StateError, UpdateLogError
from graphtide.gpu_core.printable import amount
from graphtide.io import file_systems
from graphtide.io.file_systems import RemoteFile, StorageError, file_system_of
from graphtide.io.log.file_errors import UnreadableRowsError
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.ingest import run
from graphtide.pipeline.log_watch import Follow
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.workers.cluster import open_cluster
from s3_server import S3, s3_server
from small_log import FILES, ROWS, expected_hash, rows_of, write_file


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with s3_server() as server:
        yield server


@pytest.fixture(scope="module")
def scheduler(s3: S3) -> Iterator[str]:
    """A cluster whose workers find the server."""
    with open_cluster(load_settings({"workers": 1, "dashboard": False})) as cluster:
        yield cluster.address


def write_all_formats(folder: Path) -> None:
    """Files of each form, whose names are in another order as text."""
    (folder / "day=2").mkdir(parents=True)
    tables = [pa.table(rows_of(seed, 200)) for seed in range(5)]
    write_log_file(str(folder / "part.2.parquet"), tables[0], row_group_rows=70)
    write_log_file(str(folder / "part.10.parquet"), tables[1])
    csv.write_csv(tables[2], folder / "part.11.csv")
    lines = "".join(json.dumps(row) + "\n" for row in tables[3].to_pylist()).encode()
    (folder / "part.12.jsonl.gz").write_bytes(gzip.compress(lines))
    with pa.CompressedOutputStream(str(folder / "day=2" / "part.csv.zst"), "zstd") as file:
        csv.write_csv(tables[4], file)


def test_a_log_is_planned_and_read_as_on_a_disk(s3: S3, tmp_path: Path) -> None:
    write_all_formats(tmp_path / "formats")
    there = UpdateLog(s3.put_folder(tmp_path / "formats"))
    here = UpdateLog(str(tmp_path / "formats"))
    found, expected = listing_of(there), listing_of(here)
    assert [file.name for file in found.files] == [
        "day=2/part.csv.zst", "part.2.parquet", "part.10.parquet", "part.11.csv", "part.12.jsonl.gz"
    ]  # fmt: skip
    assert found.files == expected.files
    for file in found.files:
        for first, rows in ((0, 200), (60, 90), (199, 1)):
            read = there.read_checked(file.name, first, rows, file.fingerprint)
            same = here.read_checked(file.name, first, rows, file.fingerprint)
            assert read.table.equals(same.table)
            assert read.sums == same.sums


def test_looks_and_rows_take_few_requests(s3: S3, tmp_path: Path) -> None:
    """Each takes tens of milliseconds over a network, and a followed log is listed all the time."""
    for number in range(10):
        write_file(tmp_path / "looks", number)
    for address in (s3.put_folder(tmp_path / "looks"), f"{s3.address}/looks/*.parquet"):
        log = UpdateLog(address)
        log.paths()
        before = len(s3.requests)
        assert len(log.paths()) == 10
        # However many files there are.
        assert len(s3.requests) - before <= 8, s3.requests[before:]
    table = pa.table({name: column.repeat(200) for name, column in rows_of(0).items()})
    write_log_file(str(tmp_path / "long.parquet"), table, row_group_rows=50_000)
    log = UpdateLog(s3.put(tmp_path / "long.parquet", "few/long.parquet").rpartition("/")[0])
    before = len(s3.requests)
    log.read("long.parquet", 60_000, 80_000)
    of_file = [each for each in s3.requests[before:] if "long.parquet" in each]
    # What and how long it is, its footer, its first bytes, its columns in two groups of rows.
    assert len(of_file) <= 4, of_file
    assert sum(each.startswith("HEAD") for each in of_file) == 1


def test_a_file_that_has_changed_is_noticed(s3: S3, tmp_path: Path) -> None:
    for number in (0, 1):
        write_file(tmp_path / "changes", number)
    log = UpdateLog(s3.put_folder(tmp_path / "changes"))
    planned = listing_of(log).files[0]
    filesystem, path = file_system_of(f"{s3.address}/changes/0000.parquet")
    with RemoteFile(filesystem, path, 100) as file:
        assert file.read(4) == b"PAR1"
        s3.put(tmp_path / "changes" / "0001.parquet", "changes/0000.parquet")
        file.seek(2_000)
        with pytest.raises(StorageError, match="it was replaced while it was read"):
            file.read(10)
    with pytest.raises(UpdateLogError, match=r"0000\.parquet has changed since it was planned"):
        log.read(planned.name, 0, 10, planned.fingerprint)


def test_damage_is_seen_and_what_the_store_refuses_is_no_damage(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "damage", 0)
    path = tmp_path / "damage" / "0000.parquet"
    log = UpdateLog(s3.put_folder(path.parent))
    whole = path.read_bytes()
    path.write_bytes(whole[:1_000] + bytes([whole[1_000] ^ 1]) + whole[1_001:])
    s3.put(path, "damage/0000.parquet")
    with pytest.raises(UnreadableRowsError, match="does not have the checksum"):
        log.read("0000.parquet", 0, ROWS)

    def refused(_self: RemoteFile, _size: int = -1) -> bytes:
        raise file_systems.failure(PermissionError("Forbidden"))

    read_footer = RemoteFile.read
    calls = iter(range(2))
    monkeypatch.setattr(
        RemoteFile, "read",
        lambda self, size=-1: read_footer(self, size) if next(calls, 2) < 2 else refused(self),
    )  # fmt: skip
    # Else the rows would be left out for good, where bad ones are.
    with pytest.raises(UpdateLogError, match=r"access is denied \(Forbidden\)") as error:
        log.read("0000.parquet", 0, ROWS)
    assert not isinstance(error.value, UnreadableRowsError)


def test_a_run_its_results_and_the_next_run(s3: S3, scheduler: str, tmp_path: Path) -> None:
    for number in range(FILES):
        write_file(tmp_path / "log", number)
    log = s3.put_folder(tmp_path / "log")
    words = [log, "--state", "state", "--batch-rows", ROWS // 2]
    done = run_here(scheduler, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = run_here(scheduler, *words, cwd=tmp_path)
    assert "nothing to do" in again.stdout, again.stdout + again.stderr
    proof = graphtide_here("verify", "state", cwd=tmp_path)
    assert proof.returncode == 0, proof.stderr
    shown = graphtide_here("inspect", log, cwd=tmp_path)
    assert "3,000" in shown.stdout, shown.stderr
    words = ["export", "state", "--edges", f"{s3.address}/out/edges.parquet",
             "--result", "pagerank", f"{s3.address}/out/ranks.csv"]  # fmt: skip
    done = graphtide_here(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{amount(len(s3.read('out/ranks.csv')))}: {s3.address}/out/ranks.csv" in done.stdout
    ranks = csv.read_csv(pa.BufferReader(s3.read("out/ranks.csv")))
    kept = read_results(tmp_path / "state", "pagerank")
    assert ranks["vertex"].to_pylist() == kept["vertex"].tolist()
    edges = pq.read_table(pa.BufferReader(s3.read("out/edges.parquet")))
    assert f"{edges.num_rows:,} edges" in done.stdout
    assert not (tmp_path / "s3:").exists(), "a folder of that name"


def test_a_log_is_followed(
    s3: S3, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    for number in range(FILES):
        write_file(tmp_path / "grows", number)
    s3.put(tmp_path / "grows" / "0000.parquet", "grows/0000.parquet")
    follow, seen = Follow(), [1]

    def look(progress: Progress) -> None:
        if progress.stage == "waiting" and progress.batches_done == 2 * seen[-1]:
            if seen[-1] == FILES:
                follow.stop()
                return
            name = f"{seen[-1]:04d}.parquet"
            s3.put(tmp_path / "grows" / name, f"grows/{name}")
            seen.append(seen[-1] + 1)

    log = f"{s3.address}/grows"
    settings = run_settings(analytics=[], batch_rows=ROWS // 2)
    summary = run(log, str(tmp_path / "state"), settings, look, follow)
    assert summary.batches_applied == 2 * FILES
    assert summary.state_hash == expected_hash()


def test_what_a_store_refuses_is_one_sentence(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "refused", 0)
    log = s3.put_folder(tmp_path / "refused")

    def refused(address: str, *words: str) -> None:
        # Each of these is another session of the library.
        file_system_of(log)[0].clear_instance_cache()
        fails(graphtide_here("inspect", address, cwd=tmp_path), 1, *words)

    refused("s3://no-such-bucket/log", "there is no log s3://no-such-bucket/log")
    refused(f"{s3.address}/nothing", "there is no log s3://bucket/nothing")
    refused(f"{s3.address}/nothing/*.parquet", "holds no Parquet, CSV or JSON file")
    with monkeypatch.context() as patch:
        patch.setitem(fsspec.config.conf, "s3", {"anon": True})
        refused(log, "access is denied (Forbidden)")
    with monkeypatch.context() as patch:
        patch.delenv("AWS_ACCESS_KEY_ID")
        patch.delenv("AWS_SECRET_ACCESS_KEY")
        refused(log, "cannot be listed: Unable to locate credentials; check the address, the")
    with socket.socket() as silent, monkeypatch.context() as patch:
        silent.bind(("127.0.0.1", 0))
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        refused(log, "cannot be listed: Could not connect to the endpoint")
        silent.listen()
        patch.setattr(file_systems, "_CONTACT_SECONDS", 0.2)
        refused(log, "cannot be listed: no answer within 0 s")
    file_system_of(log)[0].clear_instance_cache()


def test_what_cannot_be_there_is_refused_at_once(s3: S3, tmp_path: Path) -> None:
    before = s3.names()
    done = graphtide_here("run", "log", "--state", f"{s3.address}/state", cwd=tmp_path)
    fails(done, 1, "a state is kept on a local disk, not at s3://bucket/state", "no locks")
    with pytest.raises(StateError, match="no locks"):
        StateDirectory(f"{s3.address}/state")
    for words in (["generate", "rmat", f"{s3.address}/made", "--scale", 6],
                  ["import", "edges.txt", f"{s3.address}/made"]):  # fmt: skip
        fails(graphtide_here(*words, cwd=tmp_path), 2, "is no folder of this machine")
    assert s3.names() == before
    assert list(tmp_path.iterdir()) == []


def test_files_in_a_folder_without_a_name_are_refused(s3: S3, tmp_path: Path) -> None:
    """A store lists it as the folder that it is in, which a marker of that folder is, too."""
    write_file(tmp_path, 0)
    [path] = tmp_path.iterdir()
    s3.put(path, "slashes/a.parquet")
    s3.put_marker("slashes/")
    log = UpdateLog(f"{s3.address}/slashes")
    assert [file.name for file in listing_of(log).files] == ["a.parquet"]
    lost = s3.put(path, "slashes//b.parquet")
    with pytest.raises(UpdateLogError, match=f"^{lost} is in a folder without a name"):
        listing_of(log)


def test_a_file_that_is_not_finished_is_not_there(s3: S3, tmp_path: Path) -> None:
    """A reader sees all of it or nothing."""
    address = f"{s3.address}/half.parquet"

    def tables() -> Iterator[pa.Table]:
        yield pa.table(rows_of(0))
        msg = "the source ends here"
        raise UpdateLogError(msg)

    with pytest.raises(UpdateLogError, match="the source ends here"):
        write_log_file(address, tables(), row_group_rows=10)
    assert "half.parquet" not in s3.names()
    with pytest.raises(UpdateLogError, match=r"s3://no-such-bucket/a\.parquet cannot be written"):
        write_log_file("s3://no-such-bucket/a.parquet", pa.table(rows_of(0)))


def test_the_commands_of_the_page_run_as_they_are_printed(
    s3: S3, scheduler: str, tmp_path: Path
) -> None:
    """But that they do not wait for more: `test_schedule.py`."""
    (tmp_path / "log").mkdir()
    write_file(tmp_path / "log" / "a.parquet", 0)
    s3.put_folder(tmp_path / "log")
    lines = shell_lines(ROOT / "docs" / "update-logs.md")
    ran = []
    for name, *rest in lines:
        if not any("s3://" in word for word in rest):
            continue
        words = [word for word in rest if word != "--follow"]
        run_one = partial(run_here, scheduler) if name == "run" else partial(graphtide_here, name)
        done = run_one(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        ran.append(name)
    assert ran == ["run", "export"]
    assert "out/edges.parquet" in s3.names()
