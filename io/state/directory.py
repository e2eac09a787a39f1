"""The state directory: all that a run keeps, and what the next run goes on from.

::

    STATE/graphtide.json                        what defines the graph; written once
    STATE/lock                                  held by the run that writes
    STATE/plan/<part>.json                      files of the log and how they are cut, in parts
    STATE/batches/<first>-<last>.parquet        reports of batches, written with each checkpoint
    STATE/read/<first>-<last>.json              checksums of what batches were read from, likewise
    STATE/text/<hash of the name>.json          indexes of text files
    STATE/results/batch=<id>/…                  results of the analytics after a batch
    STATE/checkpoints/batch=<id>/…              the graph after a batch
    STATE/leftovers.json                        what a run has on the machine, until it ends
    STATE/running.json                          progress of a run, until it ends
    STATE/quarantine/…                          rows and files that were left out (quarantine.py)

Names with the id of a batch: ``batch_names.py``. Parquet and JSON only; everything is written
beside and renamed (``durable.py``), so that a reader needs no lock. *Applied* means: up to the
newest whole checkpoint.

Every JSON file carries a hash of its content (``hashed_json.py``); a damaged one is refused. States
of version 1 were written without. The first run that goes on with one adds the hashes and makes it
version 2, where a file without a hash is a damaged one.

What defines the graph is kept from the first run on, and a later run that contradicts it is refused
(``state_settings.py``).

Not here: how the lock is held (``state_lock.py``), the plan (``plan_files.py``), checkpoints
(``checkpoint.py``), results (``results.py``) and reports (``reports.py``).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from ... import __version__
from ...gpu_core.errors import StateError
from ...gpu_core.printable import is_unicode, printable
from ..durable import TEMPORARY, remove_folder, remove_leftovers
from ..given_paths import path_text
from ..hashed_json import DamagedJsonError, add_hash, read_json, write_json
from .batch_names import batch_folder, batch_folders, range_files, remove_files_from
from .state_lock import LOCK, is_lock_of, lock_holder, release_lock, take_lock
from .state_settings import BAD_ROWS, StateSettings

FORMAT = "graphtide state"
#: Raised when the directory changes so that older versions would misread it.
VERSION = 2
#: The version whose JSON files have no hash; all that it may say of itself.
_UNHASHED_VERSION = 1
_UNHASHED_KEYS = frozenset(
    ("format", "version", "graphtide", "identity", "log", "columns", "time_unit")
)

_FOLDERS = ("plan", "batches", "read", "text", "results", "checkpoints", "quarantine")


class StateDirectory:
    """A state directory, which may not be there yet.

    A run takes `lock`, then calls `create_or_open`; readers call `settings` and need no lock.
    """

    def __init__(self, path: str | Path) -> None:
        text = path_text("state", path)
        if "://" in text and not text.startswith("file://"):
            msg = (
                f"a state is kept on a local disk, not at {text}, where there are no locks and no "
                f"folder is renamed as a whole; give a path, and copy the folder there after a run"
            )
            raise StateError(msg)
        if not text:
            # A variable of a script that is not set; as a path it would be the working directory.
            msg = "the name of the state is empty; give a folder"
            raise StateError(msg)
        if not is_unicode(text):
            msg = f"the path of the state, {printable(text)}, is no UTF-8; give another"
            raise StateError(msg)
        self.path = Path(text.removeprefix("file://"))
        #: The lock, while it is held.
        self._lock: int | None = None

    def __repr__(self) -> str:
        return f"StateDirectory({str(self.path)!r})"

    def absolute(self) -> "StateDirectory":
        """The same directory from every working directory, which a program may change."""
        return StateDirectory(self.path.absolute())

    # -- what defines the graph

    @property
    def _settings_file(self) -> Path:
        return self.path / "graphtide.json"

    def exists(self) -> bool:
        """Whether a run has made this state."""
        return self._settings_file.exists()

    def settings(self) -> StateSettings:
        """Read what defines the graph; `StateError` where there is no state that we can read."""
        values = self._read_settings()
        try:
            settings, unknown = StateSettings.of_json(values), StateSettings.unknown_names(values)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(damaged_text(self._settings_file, repr(error))) from error
        if unknown:
            msg = (
                f"state {self.path}, made by graphtide {settings.made_by}, has the setting "
                f"{unknown[0]}, which this graphtide {__version__} does not know: use the "
                f"graphtide that made it, or another --state"
            )
            raise StateError(msg)
        return settings

    @property
    def must_have_hashes(self) -> bool:
        """Whether a JSON file without a hash is a damaged one."""
        return self._read_settings()["version"] != _UNHASHED_VERSION

    def _read_settings(self) -> dict[str, Any]:
        file = self._settings_file
        try:
            values = read_json(file, must_have_hash=False)
        except FileNotFoundError:
            msg = f"there is no graphtide state at {self.path}; give the --state of a run"
            raise StateError(msg) from None
        except DamagedJsonError as error:
            raise StateError(damaged_text(file, str(error))) from error
        if values.get("format") != FORMAT:
            msg = f"{file} is not of graphtide; give another --state"
            raise StateError(msg)
        version = values.get("version")
        if version not in (_UNHASHED_VERSION, VERSION):
            msg = (
                f"state {self.path} is of version {version}, made by graphtide "
                f"{values.get('graphtide')}; this is graphtide {__version__}, which knows versions "
                f"up to {VERSION}: use the graphtide that made it, or another --state"
            )
            raise StateError(msg)
        if version == VERSION:
            return read_state_json(file, must_have_hash=True)
        unknown = sorted(values.keys() - _UNHASHED_KEYS)
        if unknown:
            # Such as the key of a hash.
            raise StateError(damaged_text(file, f"{unknown[0]!r} is no key of version {version}"))
        return values

    def create_or_open(
        self, wanted: StateSettings, *, is_moved_log: bool = False, may_add_words: bool = False
    ) -> None:
        """Make the state, or check that it is of the same graph.

        ``is_moved_log`` says that the log at another address is known to be the same one. How it is
        read may change as long as there is no checkpoint; with ``may_add_words`` words of ``op``
        may be added at any time, as rows that had them were refused: so none is in the graph, nor,
        as the caller knows, left out of it.

        Raises
        ------
        StateError
            The state was made with other settings, or the directory holds something else.
        """
        if not self.exists():
            self._refuse_foreign_folder()
            self._write_settings(wanted)
            return
        kept = self.settings()
        has_checkpoint = bool(self.checkpoint_ids())
        refused = kept.contradictions(
            wanted, has_checkpoint=has_checkpoint, is_moved_log=is_moved_log,
            may_add_words=may_add_words,
        )  # fmt: skip
        if refused:
            had = ", ".join(f"{each.name}: {each.kept}" for each in refused)
            asked = ", ".join(f"{each.name}: {each.wanted}" for each in refused)
            anew = "start over with another --state"
            if not has_checkpoint:
                anew += f", or remove {self.path}, which has no checkpoint yet"
            msg = (
                f"state {self.path} was made with {had}, but this run asks for {asked}; run it as "
                f"it was made, or {anew}"
            )
            raise StateError(msg)
        changes_bad_rows = kept.reading.get(BAD_ROWS) != wanted.reading.get(BAD_ROWS)
        if not self.must_have_hashes:
            self._add_hashes()
            self._write_settings(wanted)
        elif kept.differences(wanted) or changes_bad_rows:
            self._write_settings(wanted)

    def _add_hashes(self) -> None:
        """Give the JSON files of a state of version 1 their hashes, but ``graphtide.json``.

        That is written last: a run that is killed before leaves a state of version 1.
        """
        patterns = ("plan/*.json", "read/*.json", "checkpoints/*/*.json")
        for file in chain.from_iterable(sorted(self.path.glob(pattern)) for pattern in patterns):
            try:
                add_hash(file)
            except DamagedJsonError:
                # Reported where it is read; a damaged checkpoint is skipped there.
                continue

    def _write_settings(self, settings: StateSettings) -> None:
        values = {"format": FORMAT, "version": VERSION, **settings.to_json()}
        write_json(self._settings_file, values)

    def _refuse_foreign_folder(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            msg = f"{self.path} is a file; give a new or empty folder as --state"
            raise StateError(msg)
        # A run that was killed while it made the state leaves these behind.
        ours = (LOCK, self._settings_file.name + TEMPORARY)
        there = sorted(set(os.listdir(self.path)) - set(ours)) if self.path.exists() else []
        if there:
            msg = (
                f"{self.path} is not empty ({there[0]} is in it) and no graphtide state; give a "
                f"new or empty folder as --state"
            )
            raise StateError(msg)

    # -- one writer

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only run that writes; refused at once where there is another.

        Makes the folder. Where no state was made in it when the block ends, the folder goes again.
        What killed writers left behind is removed.
        """
        if not self.exists():
            self._refuse_foreign_folder()
        was_there = self.path.exists()
        self._lock = descriptor = take_lock(self.path)
        try:
            if self.exists():
                for folder in _FOLDERS:
                    remove_leftovers(self.path / folder)
            yield
        finally:
            self._lock = None
            if is_lock_of(descriptor, self.path) and not self.exists():
                self._settings_file.with_name(self._settings_file.name + TEMPORARY).unlink(
                    missing_ok=True
                )
                (self.path / LOCK).unlink(missing_ok=True)
                if not was_there:
                    with suppress(OSError):
                        self.path.rmdir()
            release_lock(descriptor)

    def check_lock(self) -> None:
        """Refuse to write into a folder that has come to the place of the one that was locked.

        Raises
        ------
        StateError
            The folder was moved or emptied meanwhile, or the lock is not held at all.
        """
        if self._lock is None or not is_lock_of(self._lock, self.path):
            msg = (
                f"state {self.path} was moved, emptied or replaced while a run wrote into it; "
                f"what is there now is left as it is: run again to go on with that"
            )
            raise StateError(msg)

    def holder(self) -> str | None:
        """The process that writes into the state; None where there is none. Takes no lock."""
        return lock_holder(self.path)

    # -- what is stored by batch

    def drop_from(self, boundary: int) -> None:
        """Remove what is left of batches from ``boundary`` on: results, reports and checkpoints.

        They are of a run that lost those batches; the log may have others in their place by now.
        """
        for batch_id in self.result_ids():
            if batch_id >= boundary:
                remove_folder(self.results(batch_id))
        remove_files_from(self.batches, boundary)
        for batch_id in self.checkpoint_ids():
            if batch_id >= boundary:
                remove_folder(self.checkpoint(batch_id))

    @property
    def batches(self) -> Path:
        """Folder of the batch reports."""
        return self.path / "batches"

    def report_files(self) -> list[tuple[int, int, Path]]:
        """``(first batch, last batch, file)`` of the reports, ordered."""
        return range_files(self.batches)

    def results(self, batch_id: int) -> Path:
        """Folder of the results after a batch."""
        return batch_folder(self.path / "results", batch_id)

    def checkpoint(self, batch_id: int) -> Path:
        """Folder of the checkpoint after a batch."""
        return batch_folder(self.path / "checkpoints", batch_id)

    def checkpoint_ids(self) -> list[int]:
        """Ids of the batches after which there is a checkpoint, whole or not; ascending."""
        return batch_folders(self.path / "checkpoints")

    def result_ids(self) -> list[int]:
        """Ids of the batches after which there are results; ascending."""
        return batch_folders(self.path / "results")


def read_state_json(file: Path, *, must_have_hash: bool) -> dict[str, Any]:
    """Read a JSON file of a state; `StateError` where it is damaged."""
    try:
        return read_json(file, must_have_hash=must_have_hash)
    except DamagedJsonError as error:
        raise StateError(damaged_text(file, str(error))) from error


def damaged_text(file: Path, reason: str) -> str:
    """Message about a damaged file without which there is no state."""
    return f"{file} is damaged ({reason}); restore it, or start over with another --state"
