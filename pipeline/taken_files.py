"""Files that a run has taken from the log that it follows: they must stay there, as they were.

A lost graph is rebuilt from them, and so is that of the next run, which refuses the log without
them. So a run ends beside a file that was removed, or replaced by another of its name, instead of
leaving the rows of the new one unread. Files on a disk alone are looked at, a few at each look, in
turn: in a store each would be a request.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from ..io.file_systems import is_local
from ..io.log.file_errors import GoneFileError, UnusableFileError
from ..io.log.log_listing import LogFile, LogListing
from ..io.log.paths.log_paths import LogPath
from ..io.log.plan import refuse_changed, refuse_gone
from ..io.text.text_scan import stamp_of

#: Files of which a look asks whether they are as they were: 0.4 ms, measured beside other work.
FILES_A_LOOK = 100


class TakenFiles:
    """Files that are planned, as they were when that was last looked at.

    Parameters
    ----------
    files
        Those of the plan.
    listing_of
        Lists one file, or raises an `UpdateLogError`.
    quiet_seconds
        Seconds for which a file must stay changed: a writer, or who restores it, takes a while.
    """

    def __init__(
        self,
        files: Iterable[LogFile],
        listing_of: Callable[[LogPath], LogListing],
        quiet_seconds: float,
    ) -> None:
        #: Name -> fingerprint and stamp, those first that are to be looked at next. The stamp is
        #: None until then.
        self._files: dict[str, tuple[str, str | None]] = {}
        self._listing_of = listing_of
        self._quiet_seconds = quiet_seconds
        #: Name -> stamp of a file that seems changed, and since when it has it.
        self._changed: dict[str, tuple[str, float]] = {}
        self.add(files)

    def add(self, files: Iterable[LogFile]) -> None:
        """Watch more files."""
        self._files |= {file.name: (file.fingerprint, None) for file in files}

    def check(self, there: Mapping[str, LogPath]) -> None:
        """Look at the next files, and at those that seem changed.

        ``there``: the files that the log has now, by name.

        Raises
        ------
        UpdateLogError
            A file has gone, or is another one.
        """
        for name in {*islice(self._files, FILES_A_LOOK), *self._changed}:
            fingerprint, known = self._files[name] = self._files.pop(name)
            path = there.get(name)
            if path is not None and (path.change or not is_local(path.filesystem)):
                # Which files a table has, it says itself: see `LogWatch`.
                del self._files[name]
                continue
            stamp = "" if path is None else stamp_of(path)
            if known is None and stamp:
                self._files[name] = fingerprint, stamp
            elif stamp == known:
                self._changed.pop(name, None)
            elif self._has_stayed(name, stamp):
                self._refuse_other(name, path, fingerprint)
                self._files[name] = fingerprint, stamp

    def _has_stayed(self, name: str, stamp: str) -> bool:
        """Whether a file has had another stamp for long enough to be judged."""
        before, since = self._changed.get(name, ("", None))
        if since is None or before != stamp:
            self._changed[name] = stamp, time.monotonic()
            return False
        return time.monotonic() - since >= self._quiet_seconds

    def _refuse_other(self, name: str, path: LogPath | None, fingerprint: str) -> None:
        """Refuse a file that has gone or is another one; it may just have been rewritten."""
        if path is None:
            refuse_gone(name)
        try:
            found = self._listing_of(path).files
        except GoneFileError:
            refuse_gone(name)
        except UnusableFileError:
            refuse_changed(name)
        if [file.fingerprint for file in found] != [fingerprint]:
            refuse_changed(name)
        del self._changed[name]
