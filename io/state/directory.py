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

Ids are padded to 12 digits. Parquet and JSON only; everything is written beside and renamed
(``durable.py``), so that a reader needs no lock. *Applied* means: up to the newest whole
checkpoint.

Every JSON file carries a hash of its content (``hashed_json.py``); a damaged one is refused. States
of version 1 were written without. The first run that goes on with one adds the hashes and makes it
version 2, where a file without a hash is a damaged one.

What defines the graph is kept from the first run on: what `GraphSettings.identity` names, column
mapping, words of operations and order of the rows, unit of time. A later run that contradicts it is
refused. The address of the log is kept, too, and may change if the planned files are the same; so
may what becomes of bad rows, as it is about batches to come.

Not here: how the lock is held (``state_lock.py``), what a plan is (``plan.py``), checkpoints
(``checkpoint.py``), results and reports (``results.py``).
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ... import __version__
from ...gpu_core.errors import StateError, UpdateLogError
from ..durable import TEMPORARY, remove_folder, remove_leftovers
from ..hashed_json import DamagedJsonError, add_hash, read_json, write_json
from ..log.log_paths import EMPTY_ADDRESS
from ..log.operations import Operations
from ..log.plan import BatchPlan, PlannedFile
from .state_lock import LOCK, is_lock_of, lock_holder, release_lock, take_lock

FORMAT = "graphtide state"
#: Raised when the directory changes so that older versions would misread it.
VERSION = 2
#: The version whose JSON files have no hash; all that it may say of itself.
_UNHASHED_VERSION = 1
_UNHASHED_KEYS = frozenset(
    ("format", "version", "graphtide", "identity", "log", "columns", "time_unit")
)

_FOLDERS = ("plan", "batches", "read", "text", "results", "checkpoints", "quarantine")

#: Key of `StateSettings.reading` that later runs may change, and its value where it is there.
BAD_ROWS, QUARANTINE = "bad_rows", "quarantine"

#: What states do not say that were made before it could be anything else.
_LATER: dict[str, Any] = {
    "weights": "float32", "on_repeat": "last", "properties": {}, "vertex_properties": {},
    "time_window": None,
}  # fmt: skip

#: Address of a log, or its addresses in order.
Address = str | tuple[str, ...]


def padded_id(batch_id: int) -> str:
    """A batch id as file names carry it, so that names sort as numbers do."""
    return f"{batch_id:012d}"


@dataclass(frozen=True)
class StateSettings:
    """Settings that define the graph of a state."""

    #: ``directed``, ``records``, ``weights``, ``ids``, ``reverse``, ``self_loops``,
    #: ``create_vertices``, ``on_repeat``, ``properties``, ``vertex_properties``, ``time_window``.
    identity: dict[str, Any]
    #: Address of the log, or its addresses in order; local paths are absolute.
    log_address: Address
    #: Canonical column -> name in the log.
    columns: dict[str, str]
    #: Unit of the times that edges carry; None where they carry none.
    time_unit: str | None
    #: ``op_insert``, ``op_delete``, ``order_by``, ``order_within``, of those that are set; and
    #: ``bad_rows``, where they are left out.
    reading: dict[str, Any] = field(default_factory=dict)
    #: graphtide that made the state.
    made_by: str = __version__


class StateDirectory:
    """A state directory, which may not be there yet.

    A run takes `lock`, then calls `create_or_open`; readers call `settings` and need no lock.
    """

    def __init__(self, path: str | Path) -> None:
        text = str(path)
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
        self.path = Path(text.removeprefix("file://"))
        #: The lock, while it is held.
        self._lock: int | None = None

    def __repr__(self) -> str:
        return f"StateDirectory({str(self.path)!r})"

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
            return StateSettings(
                identity={**_LATER, **values["identity"]},
                log_address=_address(values["log"]),
                columns=dict(values["columns"]),
                time_unit=values["time_unit"],
                reading=dict(values.get("reading", {})),
                made_by=str(values["graphtide"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(_damaged(self._settings_file, repr(error))) from error

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
            raise StateError(_damaged(file, str(error))) from error
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
            return self._read_json(file, must_have_hash=True)
        unknown = sorted(values.keys() - _UNHASHED_KEYS)
        if unknown:
            # Such as the key of a hash.
            raise StateError(_damaged(file, f"{unknown[0]!r} is no key of version {version}"))
        return values

    def _read_json(self, file: Path, *, must_have_hash: bool) -> dict[str, Any]:
        try:
            return read_json(file, must_have_hash=must_have_hash)
        except DamagedJsonError as error:
            raise StateError(_damaged(file, str(error))) from error

    def create_or_open(
        self,
        identity: Mapping[str, Any],
        log_address: Address,
        columns: Mapping[str, str],
        time_unit: str | None,
        reading: Mapping[str, Any] | None = None,
        *,
        is_moved_log: bool = False,
        may_add_words: bool = False,
    ) -> StateSettings:
        """Make the state, or check that it is of the same graph.

        ``is_moved_log`` says that the log at another address is known to be the same one. How it is
        read, ``reading``, may be another way as long as there is no checkpoint; with
        ``may_add_words`` words of ``op`` may be added at any time, as rows that had them were
        refused: so none is in the graph, nor, as the caller knows, left out of it.

        Raises
        ------
        StateError
            The state was made with other settings, or the directory holds something else.
        """
        wanted = StateSettings(
            dict(identity),
            absolute_address(log_address),
            dict(columns),
            time_unit,
            dict(reading or {}),
        )
        if not self.exists():
            self._refuse_foreign_folder()
            self._write_settings(wanted)
            return wanted
        kept = self.settings()
        # Where no file before had a time, nothing has been counted yet.
        has_unit_now = kept.time_unit is None and wanted.time_unit is not None
        before = replace(kept, time_unit=wanted.time_unit) if has_unit_now else kept
        differences = _differences(before, wanted)
        names = {name for name, _, _ in differences}
        is_moved = is_moved_log and names == {"log"}
        # That rows are refused as they are read is how another reading comes to be asked for.
        readings = kept.reading.keys() | wanted.reading.keys()
        is_read_anew = bool(names) and names <= readings and not self.checkpoint_ids()
        if may_add_words and names and names <= {"op_insert", "op_delete"}:
            words, known = (Operations.of_reading(each.reading).words for each in (wanted, kept))
            is_read_anew = is_read_anew or known.items() <= words.items()
        if differences and not is_moved and not is_read_anew:
            had = ", ".join(f"{name}: {value}" for name, value, _ in differences)
            asked = ", ".join(f"{name}: {value}" for name, _, value in differences)
            anew = "start over with another --state"
            if not self.checkpoint_ids():
                anew += f", or remove {self.path}, which has no checkpoint yet"
            msg = (
                f"state {self.path} was made with {had}, but this run asks for {asked}; run it as "
                f"it was made, or {anew}"
            )
            raise StateError(msg)
        if not self.must_have_hashes:
            self._add_hashes()
            self._write_settings(wanted)
        elif (
            is_moved
            or is_read_anew
            or has_unit_now
            or kept.reading.get(BAD_ROWS) != wanted.reading.get(BAD_ROWS)
        ):
            self._write_settings(wanted)
        return wanted if is_moved or is_read_anew or has_unit_now else kept

    def _add_hashes(self) -> None:
        """Give the JSON files of a state of version 1 their hashes, but ``graphtide.json``.

        That is written last: a run that is killed before leaves a state of version 1.
        """
        others = (self.path.glob(pattern) for pattern in ("read/*.json", "checkpoints/*/*.json"))
        for file in [*self._plan_parts(), *sorted(chain.from_iterable(others))]:
            try:
                add_hash(file)
            except DamagedJsonError:
                # Told where it is read; a damaged checkpoint is skipped there.
                continue

    def _write_settings(self, settings: StateSettings) -> None:
        values = {
            "format": FORMAT,
            "version": VERSION,
            "graphtide": __version__,
            "identity": settings.identity,
            "log": settings.log_address,
            "columns": settings.columns,
            "time_unit": settings.time_unit,
        }
        if settings.reading:
            values["reading"] = settings.reading
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

    # -- the plan

    def read_plan(self) -> BatchPlan:
        """Read the plan; an empty one where nothing is planned."""
        files: tuple[PlannedFile, ...] = ()
        parts = self._plan_parts()
        must_have_hash = bool(parts) and self.must_have_hashes
        for number, part in enumerate(parts):
            if part.stem != padded_id(number):
                msg = (
                    f"part {padded_id(number)}.json of the plan in {self.path} is missing; restore "
                    f"it, or start over with another --state"
                )
                raise StateError(msg)
            read = self._read_json(part, must_have_hash=must_have_hash)
            first, added = read.get("first_file"), read.get("files")
            if not isinstance(added, list):
                raise StateError(_damaged(part, "it lists no files"))
            if type(first) is not int or not 0 <= first <= len(files):
                raise StateError(_damaged(part, f"its first_file is {first!r}"))
            # A part replaces what earlier ones planned from its first file on.
            files = (*files[:first], *BatchPlan.from_json(added, str(part)).files)
        return BatchPlan(files)

    def write_plan(self, plan: BatchPlan, before: BatchPlan | None = None) -> None:
        """Keep the plan, as one more part: what differs from the plan that is kept.

        ``before``: that plan, where the caller has it.
        """
        kept = (self.read_plan() if before is None else before).files
        same = 0
        while same < min(len(kept), len(plan.files)) and kept[same] == plan.files[same]:
            same += 1
        if same < max(len(kept), len(plan.files)):
            number = len(self._plan_parts())
            part = {"first_file": same, "files": plan.to_json(same)}
            write_json(self.path / "plan" / f"{padded_id(number)}.json", part)

    def drop_from(self, boundary: int) -> None:
        """Remove what is left of batches from ``boundary`` on: results, reports and checkpoints.

        They are of a run that lost those batches; the log may have others in their place by now.
        """
        for batch_id in self.result_ids():
            if batch_id >= boundary:
                remove_folder(self.results(batch_id))
        for first, _, path in self.report_files():
            if first >= boundary:
                path.unlink()
        for batch_id in self.checkpoint_ids():
            if batch_id >= boundary:
                remove_folder(self.checkpoint(batch_id))

    def _plan_parts(self) -> list[Path]:
        return sorted(self.path.glob("plan/*.json"))

    # -- what is stored by batch

    @property
    def batches(self) -> Path:
        """Folder of the batch reports."""
        return self.path / "batches"

    def report_files(self) -> list[tuple[int, int, Path]]:
        """``(first batch, last batch, file)`` of the reports, ordered."""
        found = []
        for path in self.batches.glob("*.parquet"):
            match = re.fullmatch(r"(\d+)-(\d+)", path.stem)
            if match:
                found.append((int(match[1]), int(match[2]), path))
        return sorted(found)

    def results(self, batch_id: int) -> Path:
        """Folder of the results after a batch."""
        return self.path / "results" / f"batch={padded_id(batch_id)}"

    def checkpoint(self, batch_id: int) -> Path:
        """Folder of the checkpoint after a batch."""
        return self.path / "checkpoints" / f"batch={padded_id(batch_id)}"

    def checkpoint_ids(self) -> list[int]:
        """Ids of the batches after which there is a checkpoint, whole or not; ascending."""
        return batch_folders(self.path / "checkpoints")

    def result_ids(self) -> list[int]:
        """Ids of the batches after which there are results; ascending."""
        return batch_folders(self.path / "results")


def absolute_address(address: Address) -> Address:
    """Addresses that mean the same from every working directory; one alone is no tuple."""
    if isinstance(address, str):
        return _absolute(address)
    if not address:
        raise UpdateLogError(EMPTY_ADDRESS)
    each = tuple(map(_absolute, address))
    return each[0] if len(each) == 1 else each


def _absolute(address: str) -> str:
    if not address:
        # As a path it would be the working directory.
        raise UpdateLogError(EMPTY_ADDRESS)
    local = address.removeprefix("file://")
    if "://" in local or "::" in local:
        return address.rstrip("/")
    return os.path.realpath(os.path.expanduser(local))


def address_text(address: Address) -> str:
    """Addresses as the command line takes them."""
    return address if isinstance(address, str) else " ".join(address)


def _address(value: Any) -> Address:
    return tuple(map(str, value)) if isinstance(value, list) else str(value)


def _damaged(file: Path, reason: str) -> str:
    return f"{file} is damaged ({reason}); restore it, or start over with another --state"


def batch_folders(folder: Path) -> list[int]:
    """Ids of the batches that a folder has a folder of; ascending."""
    if not folder.is_dir():
        return []
    matches = (re.fullmatch(r"batch=(\d{12,})", path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in matches if match)


def _differences(kept: StateSettings, wanted: StateSettings) -> list[tuple[str, str, str]]:
    """``(setting, what the state has, what is asked for)`` of each that differs."""
    pairs = {name: (kept.identity.get(name), value) for name, value in wanted.identity.items()}
    pairs["columns"] = (kept.columns, wanted.columns)
    pairs["unit of time"] = (kept.time_unit, wanted.time_unit)
    for name in sorted({*kept.reading, *wanted.reading} - {BAD_ROWS}):
        pairs[name] = (kept.reading.get(name), wanted.reading.get(name))
    pairs["log"] = (address_text(kept.log_address), address_text(wanted.log_address))
    return [(name, _text(a), _text(b)) for name, (a, b) in pairs.items() if a != b]


def _text(value: object) -> str:
    """A value as YAML settings write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {name}" for key, name in value.items()) + "}"
    return "none" if value is None else str(value)
