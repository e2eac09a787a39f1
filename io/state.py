"""The state directory: all that a run keeps, and what the next run goes on from.

::

    STATE/graphtide.json                        what defines the graph; written once
    STATE/lock                                  held by the run that writes
    STATE/plan/<part>.json                      files of the log and how they are cut, in parts
    STATE/batches/<first>-<last>.parquet        reports of batches, written with each checkpoint
    STATE/results/batch=<id>/…                  PageRank and clustering after a batch
    STATE/checkpoints/batch=<id>/…              the graph after a batch
    STATE/quarantine/…                          what a person should look at

Ids are padded to 12 digits. Parquet and JSON only; everything is written beside and renamed
(``durable.py``), so that a reader needs no lock. *Applied* means: up to the newest whole
checkpoint.

What defines the graph is kept from the first run on: direction, records, ids, reverse adjacency,
self loops, creation of vertices, column mapping, unit of time, address of the log. A later run that
contradicts it is refused.

Not here: how the lock is held (``state_lock.py``), what a plan is (``plan.py``), checkpoints
(``checkpoint.py``), results and reports (``results.py``).
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..gpu_core.errors import StateError
from .durable import TEMPORARY, read_json, remove_leftovers, write_json
from .plan import BatchPlan
from .state_lock import LOCK, lock_holder, release_lock, take_lock

FORMAT = "graphtide state"
#: Raised when the directory changes so that older versions would misread it.
VERSION = 1

_FOLDERS = ("plan", "batches", "results", "checkpoints")


def padded_id(batch_id: int) -> str:
    """A batch id as file names carry it, so that names sort as numbers do."""
    return f"{batch_id:012d}"


@dataclass(frozen=True)
class StateSettings:
    """What defines the graph of a state."""

    #: ``directed``, ``records``, ``ids``, ``reverse``, ``self_loops``, ``create_vertices``.
    identity: dict[str, Any]
    #: Address of the log; local paths are absolute.
    log_address: str
    #: Canonical column -> name in the log.
    columns: dict[str, str]
    #: Unit of the times that edges carry; None where they carry none.
    time_unit: str | None
    #: graphtide that made the state.
    made_by: str = __version__


class StateDirectory:
    """A state directory, which may not be there yet.

    A run takes `lock`, then calls `create_or_open`; readers call `settings` and need no lock.
    """

    def __init__(self, path: str | Path) -> None:
        text = str(path)
        if "://" in text and not text.startswith("file://"):
            msg = f"a state is kept on a local disk, not at {text}; give a path"
            raise StateError(msg)
        self.path = Path(text.removeprefix("file://"))

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
        try:
            values = read_json(self._settings_file)
        except FileNotFoundError:
            msg = f"there is no graphtide state at {self.path}; give the --state of a run"
            raise StateError(msg) from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            msg = f"{self._settings_file} is not of graphtide; give another --state"
            raise StateError(msg)
        if values.get("version") != VERSION:
            msg = (
                f"state {self.path} is of version {values.get('version')}, made by graphtide "
                f"{values.get('graphtide')}; this is graphtide {__version__}, which knows version "
                f"{VERSION}: use the graphtide that made it, or another --state"
            )
            raise StateError(msg)
        try:
            return StateSettings(
                identity=dict(values["identity"]),
                log_address=str(values["log"]),
                columns=dict(values["columns"]),
                time_unit=values["time_unit"],
                made_by=str(values["graphtide"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            msg = (
                f"{self._settings_file} is damaged ({error!r}); restore it, or use another --state"
            )
            raise StateError(msg) from error

    def create_or_open(
        self,
        identity: Mapping[str, Any],
        log_address: str,
        columns: Mapping[str, str],
        time_unit: str | None,
        *,
        is_moved_log: bool = False,
    ) -> StateSettings:
        """Make the state, or check that it is of the same graph.

        ``is_moved_log`` says that the log at another address is known to be the same one.

        Raises
        ------
        StateError
            The state was made with other settings, or the directory holds something else.
        """
        wanted = StateSettings(
            dict(identity), absolute_address(log_address), dict(columns), time_unit
        )
        if not self.exists():
            self._refuse_foreign_folder()
            self._write_settings(wanted)
            return wanted
        kept = self.settings()
        differences = _differences(kept, wanted)
        if is_moved_log and [name for name, _, _ in differences] == ["log"]:
            self._write_settings(wanted)
            return wanted
        if differences:
            had = ", ".join(f"{name}: {value}" for name, value, _ in differences)
            asked = ", ".join(f"{name}: {value}" for name, _, value in differences)
            msg = (
                f"state {self.path} was made with {had}, but this run asks for {asked}; run it as "
                f"it was made, or start anew with another --state"
            )
            raise StateError(msg)
        return kept

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
        descriptor = take_lock(self.path)
        try:
            if self.exists():
                for folder in _FOLDERS:
                    remove_leftovers(self.path / folder)
            yield
        finally:
            if not self.exists():
                self._settings_file.with_name(self._settings_file.name + TEMPORARY).unlink(
                    missing_ok=True
                )
                (self.path / LOCK).unlink(missing_ok=True)
                if not was_there:
                    with suppress(OSError):
                        self.path.rmdir()
            release_lock(descriptor)

    def holder(self) -> str | None:
        """Who writes into the state; None where nobody does. Takes no lock."""
        return lock_holder(self.path)

    # -- the plan

    def read_plan(self) -> BatchPlan:
        """Read the plan; an empty one where nothing is planned."""
        values: list[Mapping[str, Any]] = []
        for number, part in enumerate(self._plan_parts()):
            if part.stem != padded_id(number):
                msg = (
                    f"part {padded_id(number)}.json of the plan in {self.path} is missing; restore "
                    f"it, or start anew with another --state"
                )
                raise StateError(msg)
            read = read_json(part)
            if not isinstance(read, dict) or not isinstance(read.get("files"), list):
                msg = f"{part} is damaged; restore it, or start anew with another --state"
                raise StateError(msg)
            # A part replaces what earlier ones planned from its first file on.
            values = [*values[: read.get("first_file", len(values))], *read["files"]]
        return BatchPlan.from_json(values)

    def write_plan(self, plan: BatchPlan) -> None:
        """Keep the plan, as one more part: what differs from the plan that is kept."""
        kept = self.read_plan().files
        same = 0
        while same < min(len(kept), len(plan.files)) and kept[same] == plan.files[same]:
            same += 1
        if same < max(len(kept), len(plan.files)):
            number = len(self._plan_parts())
            part = {"first_file": same, "files": plan.to_json(same)}
            write_json(self.path / "plan" / f"{padded_id(number)}.json", part)

    def drop_results(self, first_batch: int) -> None:
        """Remove results from a batch on: the batches of these numbers are planned anew."""
        for batch_id in self.result_ids():
            if batch_id >= first_batch:
                shutil.rmtree(self.results(batch_id))

    def _plan_parts(self) -> list[Path]:
        return sorted(self.path.glob("plan/*.json"))

    # -- what is stored by batch

    @property
    def batches(self) -> Path:
        """Folder of the batch reports."""
        return self.path / "batches"

    def results(self, batch_id: int) -> Path:
        """Folder of the results after a batch."""
        return self.path / "results" / f"batch={padded_id(batch_id)}"

    def checkpoint(self, batch_id: int) -> Path:
        """Folder of the checkpoint after a batch."""
        return self.path / "checkpoints" / f"batch={padded_id(batch_id)}"

    def checkpoint_ids(self) -> list[int]:
        """Ids of the batches after which there is a checkpoint, whole or not; ascending."""
        return _batch_ids(self.path / "checkpoints")

    def result_ids(self) -> list[int]:
        """Ids of the batches after which there are results; ascending."""
        return _batch_ids(self.path / "results")


def absolute_address(address: str) -> str:
    """An address that means the same from every working directory."""
    local = address.removeprefix("file://")
    if "://" in local or "::" in local:
        return address.rstrip("/")
    return os.path.realpath(os.path.expanduser(local))


def _batch_ids(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    matches = (re.fullmatch(r"batch=(\d{12,})", path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in matches if match)


def _differences(kept: StateSettings, wanted: StateSettings) -> list[tuple[str, str, str]]:
    """``(setting, what the state has, what is asked for)`` of each that differs."""
    pairs = {name: (kept.identity.get(name), value) for name, value in wanted.identity.items()}
    pairs["columns"] = (kept.columns, wanted.columns)
    pairs["unit of time"] = (kept.time_unit, wanted.time_unit)
    pairs["log"] = (kept.log_address, wanted.log_address)
    return [(name, _text(a), _text(b)) for name, (a, b) in pairs.items() if a != b]


def _text(value: object) -> str:
    """A value as YAML settings write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {name}" for key, name in value.items()) + "}"
    return "none" if value is None else str(value)
