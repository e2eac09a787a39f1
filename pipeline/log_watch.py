"""Watches a log for new files, for a run that follows it.

A thread lists the log again and again, and opens what it has not seen: other files are not touched.
Listing is what every file system and object store can do; watching is not.

When a file is taken
--------------------
A file that is renamed into place is whole when it appears, and is taken at once; so is a Parquet
file, as soon as it has its footer, which is written last. What cannot be used yet is *waited for*
while it grows, and then for `PATIENCE_SECONDS`: only then is it what it looks like, and its error
that of the run. Text files have no footer: they are taken when they have not grown for
`QUIET_SECONDS`. One that grows later was taken too early, which ends the run: of the newest text
files, those that were taken together, each look asks how long they are. Files come in the order of
the log, so those after one that is waited for wait, too. Files that are there when a run begins
have been quiet if they were written that long ago (`opening.py`).

A file that was taken and goes away, or becomes another one, ends the run (``taken_files.py``).

A table that is rolled back ends the run, as the graph has rows of versions that were undone.

A store that does not answer, or refuses, is asked again for `OUTAGE_SECONDS`.

Not here: planning (``run_log.py``), and where files are found (``io/log/paths/log_paths.py``).
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from ..gpu_core.errors import UpdateLogError
from ..io.file_systems import StorageError, as_storage_errors, is_local
from ..io.log.file_errors import GoneFileError, UnusableFileError
from ..io.log.log_listing import LogFile, LogListing, listing_of
from ..io.log.paths.file_names import FileName, order_key
from ..io.log.paths.log_paths import LogPath
from ..io.log.update_log import UpdateLog
from ..io.tables.table_files import TableFile
from ..io.text.text_index import TextIndex
from .taken_files import TakenFiles

#: Seconds between two looks, at least, and as a multiple of what a look takes.
LOOK_SECONDS, _LOOKS = 0.05, 10

#: Seconds for which a file that cannot be used is waited for, after it has changed last.
PATIENCE_SECONDS = 30.0

#: Seconds after which a text file that does not grow is whole; writers flush more often.
QUIET_SECONDS = 2.0

#: Seconds for which a store is waited for that does not answer any more, or refuses.
OUTAGE_SECONDS = 300.0

#: Seconds for which a look is waited for that goes on when the watch is stopped: a store may keep
#: it waiting for minutes.
STOP_SECONDS = 5.0


class Follow:
    """A run that is given this waits for more files until it is stopped.

    Parameters
    ----------
    waits
        Whether it waits; else it can be stopped in order all the same.
    """

    def __init__(self, *, waits: bool = True) -> None:
        self.waits = waits
        #: Whether the run was asked to end.
        self.is_stopped = False
        # An Event has a lock, for which a handler of signals would wait that interrupts its holder.
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()

    def stop(self) -> None:
        """Ask the run to end soon, and in order; may be called by a signal handler."""
        self.is_stopped = True
        self._wakes.put(None)

    def sleep(self, seconds: float) -> None:
        """Wait so long, or until it is stopped."""
        if not self.is_stopped:
            with suppress(queue.Empty):
                self._wakes.get(timeout=seconds)
                self._wakes.put(None)  # for others who wait


def is_text(path: LogPath) -> bool:
    """Whether a file has no end by which it is known to be whole."""
    return path.text_format is not None


def was_written_now(path: LogPath) -> bool:
    """Whether a file is text on a disk that was written to less than `QUIET_SECONDS` ago."""
    if not is_text(path) or not is_local(path.filesystem):
        return False
    with suppress(FileNotFoundError):
        # A clock of a server that goes wrong must not keep a file from being taken.
        return abs(time.time() - os.stat(path.path).st_mtime) < QUIET_SECONDS
    return False


@dataclass(frozen=True)
class _Waited:
    """A file that is waited for, as it was at a look."""

    #: -1: it cannot be asked for its size.
    size: int
    seconds: float


class LogWatch:
    """Reports files that are new in a log, from a thread of its own.

    Parameters
    ----------
    log
        The log; its ``time_unit`` is that of the files before.
    names
        Names of the files that are known.
    found
        Called with a listing of new files alone, in order.
    failed
        Called once with why the log cannot be followed any further.
    planned
        Files of the plan, which must stay as they are.
    quarantines
        Whether wrong lines of a file are left out when its rows are read, so that they do not keep
        it from being taken.
    """

    def __init__(
        self,
        log: UpdateLog,
        names: set[str],
        found: Callable[[LogListing], None],
        failed: Callable[[UpdateLogError], None],
        *,
        planned: Iterable[LogFile] = (),
        quarantines: bool = False,
    ) -> None:
        # What a table has forgotten by now, the names tell.
        self._log = replace(log, planned=frozenset(names))
        self._names = names
        self._found = found
        self._failed = failed
        #: As `listing_of` takes it: of one file alone, it is about its lines.
        self._needed = () if quarantines else None
        self._waited: dict[str, _Waited] = {}
        self._taken = TakenFiles(planned, self._listed_now, QUIET_SECONDS)
        #: When the log was listed last.
        self._listed = time.monotonic()
        #: Text files that are watched for growth: the newest one, or those of the newest look.
        self._newest_texts: Collection[str] = sorted(log.indexes, key=order_key)[-1:]
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="graphtide-follow", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; what a look in progress finds is not reported."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _watch(self) -> None:
        pause = LOOK_SECONDS
        answered = time.monotonic()
        while not self._is_over.wait(pause):
            start = time.monotonic()
            try:
                listing = self.look()
            except UpdateLogError as error:
                if self._is_over.is_set():
                    return
                is_of_store = isinstance(error.__cause__, StorageError)
                if not is_of_store or start - answered > OUTAGE_SECONDS:
                    self._failed(error)
                    return
            else:
                answered = start
                if listing is not None and not self._is_over.is_set():
                    self._found(listing)
            pause = max(LOOK_SECONDS, _LOOKS * (time.monotonic() - start))

    def look(self) -> LogListing | None:
        """Look once; the files that are new and whole, or None.

        Raises
        ------
        UpdateLogError
            The log cannot be listed, or a file is none of a log and was waited for in vain.
        """
        self._refuse_growth()
        there = self._paths()
        if there is None:
            return None
        by_name = {path.name: path for path in there}
        self._refuse_undone(by_name.keys())
        self._taken.check(by_name)
        new = [path for path in there if path.name not in self._names]
        whole: LogListing | None = None
        indexes: dict[str, TextIndex] = {}
        for number, path in enumerate(new):
            try:
                one = self._listing_of(path)
            except UpdateLogError:
                if whole is None:
                    raise
                # The next look meets it, and the files before it are taken.
                break
            if one is None:
                # Those behind it are watched meanwhile: else each would wait after the other.
                for behind in filter(is_text, new[number + 1 :]):
                    self._seen(behind)
                break
            self._names.add(path.name)
            self._taken.add(one.files)
            whole = one if whole is None else whole.joined(one)
            if one.indexes:
                indexes |= one.indexes
                self._newest_texts = indexes.keys()
            self._log = replace(
                self._log,
                time_unit=whole.time_unit,
                planned=frozenset(self._names),
                indexes=indexes or self._log.indexes,
            )
        return whole

    def _paths(self) -> list[LogPath] | None:
        """All files of the log; None: metadata of a table are waited for, which are being written.

        Files of a store, and those that are renamed into place, are whole; others need not be.
        """
        try:
            found = self._log.paths(self._names)
        except UnusableFileError:
            if time.monotonic() - self._listed > PATIENCE_SECONDS:
                raise
            return None
        self._listed = time.monotonic()
        return found

    def _refuse_growth(self) -> None:
        """Refuse the newest text files if one is longer than it was when it was taken."""
        for name in self._newest_texts:
            self._log.check_size(name)

    def _refuse_undone(self, there: Collection[str]) -> None:
        """Refuse a table that was rolled back: new versions do not follow those that were taken."""
        for name in sorted(self._names.difference(there), key=order_key):
            file = TableFile.of_name(FileName.of(name).within)
            if file is not None:
                msg = (
                    f"{self._log.shown(name)} of version {file.version} was read, but that version "
                    f"is no longer one of the table: was it rolled back? Start over with another "
                    f"--state"
                )
                raise UpdateLogError(msg)

    def _listing_of(self, path: LogPath) -> LogListing | None:
        """A listing of one file; None where it is waited for."""
        seen = self._seen(path)
        waited = time.monotonic() - seen.seconds
        if is_text(path) and waited < QUIET_SECONDS:
            return None
        try:
            listing = self._listed_now(path)
        except (UnusableFileError, GoneFileError):
            # One that has gone was given another name by its writer, or is a link to nowhere.
            if waited < PATIENCE_SECONDS:
                return None
            raise
        if is_text(path) and any(file.size != seen.size for file in listing.files):
            return None
        del self._waited[path.name]
        return listing

    def _listed_now(self, path: LogPath) -> LogListing:
        return listing_of(self._log, self._needed, [path])

    def _seen(self, path: LogPath) -> _Waited:
        """A file as it is now, and since when."""
        try:
            with as_storage_errors(path.filesystem):
                size = int(path.filesystem.size(path.path))
        except OSError:
            # Opening it tells why.
            size = -1
        seen = self._waited.get(path.name)
        if seen is None or seen.size != size:
            self._waited[path.name] = seen = _Waited(size, time.monotonic())
        return seen
