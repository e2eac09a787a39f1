"""Files that come to a log that is followed: when each is taken, waited for, or refused."""

import errno
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from graphtide.gpu_core.errors import UpdateLogError
from graphtide.io.file_systems import StorageError
from graphtide.io.log.log_listing import LogListing, listing_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.paths import log_paths
from graphtide.io.log.paths.log_paths import LogPath
from graphtide.io.log.update_log import UpdateLog
from graphtide.pipeline import log_watch, taken_files
from graphtide.pipeline.log_watch import Follow, LogWatch
from small_log import rows_of
from waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    write(tmp_path / "log" / "0.parquet")
    return tmp_path / "log"


def write(path: Path, rows: int = 10) -> bytes:
    write_log_file(str(path), pa.table(rows_of(1, rows)))
    return path.read_bytes()


def watch(folder: Path) -> LogWatch:
    def never(_told: object) -> None:
        raise AssertionError

    return LogWatch(UpdateLog(str(folder)), {"0.parquet"}, never, never)


def names(listing: LogListing | None) -> list[str]:
    return [] if listing is None else [file.name for file in listing.files]


def test_whole_files_are_taken_in_order_and_once(folder: Path) -> None:
    looking = watch(folder)
    assert looking.look() is None
    for name in ("10.parquet", "2.parquet", "_hidden.parquet", "3.parquet.tmp"):
        write(folder / name)
    assert names(looking.look()) == ["2.parquet", "10.parquet"]
    assert looking.look() is None
    os.rename(folder / "3.parquet.tmp", folder / "11.parquet")
    assert names(looking.look()) == ["11.parquet"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_is_being_written_is_waited_for_and_so_are_those_behind(
    folder: Path, share: float
) -> None:
    whole = write(folder / "1.parquet")
    (folder / "1.parquet").write_bytes(whole[: int(len(whole) * share)])
    write(folder / "2.parquet")
    looking = watch(folder)
    assert looking.look() is None
    assert looking.look() is None
    (folder / "1.parquet").write_bytes(whole)
    assert names(looking.look()) == ["1.parquet", "2.parquet"]


def test_a_file_that_stays_as_it_is_is_what_it_looks_like(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write(folder / "1.parquet")
    (folder / "1.parquet").write_bytes(whole[:-1])
    looking = watch(folder)
    assert looking.look() is None
    monkeypatch.setattr(log_watch, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(UpdateLogError, match=r"1\.parquet is cut short, or still being written"):
        looking.look()


@pytest.mark.parametrize("name", ["1.parquet", "1.csv"])
def test_a_link_to_nowhere_is_waited_for_and_then_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As a run refuses it that begins: the files behind it would never be taken."""
    monkeypatch.setattr(log_watch, "QUIET_SECONDS", 0.0)
    (folder / name).symlink_to("_later")
    write(folder / "2.parquet")
    looking = watch(folder)
    assert looking.look() is None
    write(folder / "_later") if name == "1.parquet" else (folder / "_later").write_text("src,dst\n")
    assert names(looking.look()) == [name, "2.parquet"]
    (folder / f"3{name}").symlink_to("_nowhere")
    assert looking.look() is None
    monkeypatch.setattr(log_watch, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(UpdateLogError, match=rf"3{name} is a symbolic link to _nowhere, which is"):
        looking.look()


def test_a_file_that_grows_is_waited_for_however_long_it_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_watch, "PATIENCE_SECONDS", 1e-9)
    whole = write(folder / "1.parquet")
    looking = watch(folder)
    for end in range(0, len(whole) - 1, len(whole) // 7):
        (folder / "1.parquet").write_bytes(whole[:end])
        # Whether it has waited long enough is by the moment of its last change.
        monkeypatch.setattr(log_watch.time, "monotonic", lambda now=float(end): now)
        assert looking.look() is None
    (folder / "1.parquet").write_bytes(whole)
    assert names(looking.look()) == ["1.parquet"]


def test_a_text_file_is_taken_when_it_has_not_grown_for_a_while(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = watch(folder)
    text = "op,src,dst\n1,1,2\n"
    for lines in range(3):
        (folder / "1.csv").write_text(text + "1,2,3\n" * lines)
        for pause in (0.0, 0.9):
            now = (lines + pause) * log_watch.QUIET_SECONDS
            monkeypatch.setattr(log_watch.time, "monotonic", lambda now=now: now)
            assert looking.look() is None
    monkeypatch.setattr(log_watch.time, "monotonic", lambda: 3 * log_watch.QUIET_SECONDS)
    listing = looking.look()
    assert names(listing) == ["1.csv"]
    assert listing is not None
    assert listing.files[0].rows == 3


def test_text_files_that_come_together_are_taken_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run would fall behind a log that gets more than one in that while."""
    now = 0.0
    monkeypatch.setattr(log_watch.time, "monotonic", lambda: now)
    looking = watch(folder)
    for number in range(1, 5):
        (folder / f"{number}.csv").write_text("op,src,dst\n1,1,2\n")
    assert looking.look() is None
    now = 0.5 * log_watch.QUIET_SECONDS
    with (folder / "4.csv").open("a") as file:
        file.write("1,2,3\n")
    assert looking.look() is None
    now = log_watch.QUIET_SECONDS
    assert names(looking.look()) == ["1.csv", "2.csv", "3.csv"]
    assert looking.look() is None
    now = 1.5 * log_watch.QUIET_SECONDS
    assert names(looking.look()) == ["4.csv"]


@pytest.mark.parametrize("is_of_this_run", [True, False])
def test_a_text_file_that_grows_after_it_was_taken_is_no_longer_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_of_this_run: bool
) -> None:
    """Else its further rows would be missed without a word."""
    monkeypatch.setattr(log_watch, "QUIET_SECONDS", 0.0)
    (folder / "1.csv").write_text("op,src,dst\n1,1,2\n")
    looking = watch(folder)
    if not is_of_this_run:
        log = UpdateLog(str(folder))
        log = replace(log, indexes=listing_of(log).indexes)
        looking = LogWatch(log, {"0.parquet", "1.csv"}, lambda _: None, lambda _: None)
    assert names(looking.look()) == (["1.csv"] if is_of_this_run else [])
    os.utime(folder / "1.csv")
    assert looking.look() is None
    with (folder / "1.csv").open("a") as file:
        file.write("1,2,3\n")
    with pytest.raises(UpdateLogError, match=r"1\.csv has 23 bytes, but had 17 when it was plann"):
        looking.look()


@pytest.mark.parametrize("grows", ["1.csv", "2.csv", "3.csv"])
def test_each_text_file_of_the_newest_look_is_watched(
    folder: Path, monkeypatch: pytest.MonkeyPatch, grows: str
) -> None:
    monkeypatch.setattr(log_watch, "QUIET_SECONDS", 0.0)
    looking = watch(folder)
    for number in (1, 2, 3):
        (folder / f"{number}.csv").write_text("op,src,dst\n1,1,2\n")
    assert names(looking.look()) == ["1.csv", "2.csv", "3.csv"]
    write(folder / "4.parquet")
    assert names(looking.look()) == ["4.parquet"]
    with (folder / grows).open("a") as file:
        file.write("1,2,3\n")
    with pytest.raises(UpdateLogError, match=rf"{grows} has 23 bytes, but had 17 when it was"):
        looking.look()


def test_a_file_that_a_look_missed_is_not_passed_over_for_those_behind_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is listed piece by piece, and a file may come to a piece that was read before."""
    for number in (1, 2, 3):
        write(folder / f"{number}.parquet")
    look, missed = log_paths.list_log, [{"2.parquet"}, set(), {"0.parquet"}]

    def list_log(*arguments: Any) -> list[LogPath]:
        gap = missed.pop(0) if missed else set()
        return [each for each in look(*arguments) if each.name not in gap]

    monkeypatch.setattr(log_paths, "list_log", list_log)
    looking = watch(folder)
    assert names(looking.look()) == ["1.parquet"]
    # Of a log of which nothing is known, the first file was missed.
    assert names(listing_of(UpdateLog(str(folder)))) == [f"{number}.parquet" for number in range(4)]
    assert names(looking.look()) == ["2.parquet", "3.parquet"]


def test_a_file_that_gets_another_name_before_it_is_opened_is_met_by_the_next_look(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As writers do whose temporary names a log does not ignore."""
    write(folder / "1.parquet.part")

    def listing(*arguments: Any) -> LogListing:
        monkeypatch.setattr(log_watch, "listing_of", listing_of)
        os.rename(folder / "1.parquet.part", folder / "1.parquet")
        return listing_of(*arguments)

    monkeypatch.setattr(log_watch, "listing_of", listing)
    looking = watch(folder)
    assert looking.look() is None
    assert names(looking.look()) == ["1.parquet"]


def test_a_store_that_is_away_is_waited_for_and_no_file_is_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes away twice: before a look, and between two files of one."""
    write(folder / "1.parquet")
    write(folder / "2.parquet")
    outages = iter([True, False, True, True])

    def listing(*arguments: Any) -> LogListing:
        if next(outages, False):
            msg = "the log cannot be read"
            raise UpdateLogError(msg) from StorageError(errno.ETIMEDOUT, "no answer")
        return listing_of(*arguments)

    monkeypatch.setattr(log_watch, "listing_of", listing)
    found: list[str] = []
    failed: list[UpdateLogError] = []
    known = {"0.parquet"}

    def watched() -> LogWatch:
        log = UpdateLog(str(folder))
        return LogWatch(log, known, lambda each: found.extend(names(each)), failed.append)

    looking = watched()
    looking.start()
    wait_until(lambda: "2.parquet" in found)
    looking.stop()
    assert found == ["1.parquet", "2.parquet"]
    assert failed == []
    outages = iter([True])
    monkeypatch.setattr(log_watch, "OUTAGE_SECONDS", 0.0)
    write(folder / "3.parquet")
    looking = watched()
    looking.start()
    wait_until(lambda: bool(failed))
    looking.stop()
    assert found == ["1.parquet", "2.parquet"]


def test_a_store_that_does_not_answer_holds_up_no_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answers = threading.Event(), threading.Event()

    def listing(*arguments: Any) -> LogListing:
        asked.set()
        assert answers.wait(60)
        return listing_of(*arguments)

    monkeypatch.setattr(log_watch, "listing_of", listing)
    monkeypatch.setattr(log_watch, "STOP_SECONDS", 0.05)
    write(folder / "1.parquet")
    looking = watch(folder)
    looking.start()
    assert asked.wait(60)
    looking.stop()
    assert looking._thread.is_alive()
    answers.set()
    looking._thread.join(60)
    assert not looking._thread.is_alive(), "and it told of nothing: that would have raised"


@pytest.mark.parametrize("name", ["1.parquet", "1.csv"])
@pytest.mark.parametrize("is_of_this_run", [True, False])
def test_a_file_that_was_taken_must_stay_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, is_of_this_run: bool
) -> None:
    """Else the rows of another one of its name would be missed, and the next run be refused."""
    monkeypatch.setattr(log_watch, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(taken_files, "FILES_A_LOOK", 2)
    rows = {".csv": b"op,src,dst\n1,1,2\n", ".parquet": write(folder / "0.parquet", 7)}
    others = {".csv": b"op,src,dst\n1,1,3\n", ".parquet": write(folder / "_", 8)}
    file = folder / name
    looking = watch(folder)
    file.write_bytes(rows[file.suffix])
    if is_of_this_run:
        assert names(looking.look()) == [name]
    else:
        listing = listing_of(UpdateLog(str(folder)))
        known = {each.name for each in listing.files}
        log = replace(UpdateLog(str(folder)), indexes=listing.indexes)
        looking = LogWatch(log, known, lambda _: None, lambda _: None, planned=listing.files)
    for number in range(2, 6):
        write(folder / f"{number}.parquet", number)

    def look(times: int = 6) -> None:
        for _ in range(times):
            looking.look()

    look()
    # The same once more, by a copy or from a backup.
    os.utime(file, ns=(1, 1))
    look()
    file.unlink()
    looking.look()
    file.write_bytes(rows[file.suffix])
    look()
    file.write_bytes(others[file.suffix])
    with pytest.raises(UpdateLogError, match=rf"{name} has changed since it was planned; put it b"):
        look()
    file.unlink()
    with pytest.raises(UpdateLogError, match=rf"{name} is planned but gone from the log, which"):
        look()


def test_a_file_that_is_just_written_again_is_not_judged_yet(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_watch, "QUIET_SECONDS", 600.0)
    looking = watch(folder)
    whole = write(folder / "1.parquet", 7)
    assert names(looking.look()) == ["1.parquet"]
    for written in (b"", whole[:20], whole):
        (folder / "1.parquet").write_bytes(written)
        for _ in range(3):
            assert looking.look() is None


def test_waiting_for_a_log_neither_spins_nor_outlasts_the_stop() -> None:
    follow = Follow()
    begin = time.monotonic()
    follow.sleep(0.05)
    assert time.monotonic() - begin >= 0.05
    threading.Timer(0.05, follow.stop).start()
    for _ in range(2):  # while it sleeps, and from then on
        follow.sleep(1e6)
    assert follow.is_stopped
