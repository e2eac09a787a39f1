"""Opening of a run: lock the state, list the log, plan what is new.

Nothing of the state is changed before log and settings are known to fit it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Self

from ..config.settings import RunSettings
from ..gpu_core.errors import StateError, UpdateLogError
from ..io.log.file_errors import EmptyLogError
from ..io.log.log_listing import LogFile, LogListing, check_properties, listing_of
from ..io.log.order.row_order import RowOrder, row_order
from ..io.log.paths.addresses import Address, absolute_address, address_text
from ..io.log.paths.log_paths import LogPath
from ..io.log.paths.overlap import reads
from ..io.log.paths.partitions import hidden_note
from ..io.log.plan import BatchPlan
from ..io.log.update_log import UpdateLog
from ..io.state.batch_summary import drop_summary_from
from ..io.state.checkpoint import newest_checkpoint
from ..io.state.directory import StateDirectory
from ..io.state.plan_files import read_plan, write_plan
from ..io.state.quarantine import LeftOutFile, Quarantine
from ..io.state.read_record import ReadRecord
from ..io.state.result_changes import drop_changes_from
from ..io.state.state_settings import BAD_ROWS, QUARANTINE, StateSettings
from ..io.state.text_indexes import read_indexes, write_indexes
from ..io.text.text_index import TextIndex
from .analyses import analyses_of
from .log_of_settings import log_of_settings
from .log_watch import was_written_now
from .run_files import RunFiles
from .run_log import PlannedLog
from .time_window import TimeWindow
from .workers.leftovers import remove_left_behind

#: Files as a state has them that a log could read.
_WRITTEN: Final = (
    "batches/0-1.parquet",
    "quarantine/batch=0.parquet",
    "results/batch=0/pagerank.parquet",
    "checkpoints/batch=0/edges.parquet",
)


@contextmanager
def open_files(
    log: Address, state: str, settings: RunSettings, batch_rows: int, *, follows: bool = False
) -> Iterator[RunFiles]:
    """Lock the state and plan what is new in the log; a log that cannot be used changes nothing.

    ``follows``: the run waits for more files; new ones are left for later from the first one on
    that is being written.
    """
    directory = StateDirectory(state)
    analytics = analyses_of(settings)
    # Workers may have another working directory, so the log's address is absolute.
    address = absolute_address(log)
    _refuse_state_in_log(directory, address)
    with directory.lock():
        remove_left_behind(directory.path)
        kept = _Kept.of(directory)
        quarantines = _quarantines(settings, kept.settings)
        update_log, listing = _list_log(
            kept, address, settings, quarantines=quarantines, follows=follows
        )
        notes = [f"left out: {reason}" for reason in listing.left_out.values()]
        notes += [hidden_note(key) for key in sorted(listing.hidden)]
        newest = newest_checkpoint(directory, notes)
        if newest is not None:
            newest.check_plan(kept.plan)
        boundary = 0 if newest is None else newest.boundary
        reading = settings.reading() | ({BAD_ROWS: QUARANTINE} if quarantines else {})
        wanted = StateSettings(
            settings.graph.identity(), address, dict(settings.columns), listing.time_unit, reading
        )
        moved_from = kept.moved_from(address)
        if moved_from is not None and not _holds(listing.files, kept.plan):
            # Another log altogether: opening the state says so.
            directory.create_or_open(wanted)
        order = _row_order(update_log, listing, kept.plan, settings)
        is_sorted = order is not None and order.within > 0
        plan = _planned(boundary, kept.plan, listing.files, batch_rows, is_sorted=is_sorted)
        # What may be refused comes before the first change of the state.
        TimeWindow.of(settings.graph.time_window, listing.time_unit)
        read = ReadRecord.of_state(directory, boundary - 1) if kept.settings else ReadRecord()
        directory.create_or_open(
            wanted,
            is_moved_log=moved_from is not None,
            may_add_words=not Quarantine(directory).path.exists(),
        )
        _keep_plan(kept, listing, plan, boundary)
        planned = PlannedLog(
            update_log, listing, plan, order,
            quarantines=quarantines, batch_rows=batch_rows, follows=follows,
        )  # fmt: skip
        files = RunFiles(directory, planned, settings, newest, analytics, read)
        files.notes += notes
        files.notes += files.results.computed_otherwise()
        if moved_from is not None:
            files.notes.append(_address_note(moved_from, address))
        yield files


@dataclass(frozen=True)
class _Kept:
    """What a state keeps of earlier runs."""

    directory: StateDirectory
    #: None: there is no state yet.
    settings: StateSettings | None
    #: Files of the log that are left out.
    left_out: list[LeftOutFile]
    plan: BatchPlan
    #: Row indexes of text files.
    indexes: dict[str, TextIndex]

    @classmethod
    def of(cls, directory: StateDirectory) -> Self:
        """Read it."""
        settings = directory.settings() if directory.exists() else None
        left_out = Quarantine(directory).files() if settings else []
        plan = read_plan(directory) if settings else BatchPlan()
        return cls(directory, settings, left_out, plan, read_indexes(directory))

    def moved_from(self, address: Address) -> Address | None:
        """Address that the log had, if it is another one now."""
        if self.settings is None or self.settings.log_address == address:
            return None
        return self.settings.log_address


def _list_log(
    kept: _Kept, address: Address, settings: RunSettings, *, quarantines: bool, follows: bool
) -> tuple[UpdateLog, LogListing]:
    """List the files of a log; returns it with the time unit and indexes that were found."""
    planned = [file.name for file in kept.plan.files]
    log = replace(
        log_of_settings(address, settings.graph, settings.columns, settings.reading()),
        time_unit=kept.settings.time_unit if kept.settings else None,
        indexes=kept.indexes,
        left_out=frozenset(each.name for each in kept.left_out),
        planned=frozenset(planned),
    )
    paths = None
    if follows:
        newest = max(kept.directory.checkpoint_ids(), default=-1)
        paths = _paths_before_growth(log, kept.plan.up_to(newest + 1))
    listing = listing_of(log, planned if quarantines else None, paths)
    check_properties(log, listing)
    return replace(log, time_unit=listing.time_unit, indexes=listing.indexes), listing


def _keep_plan(kept: _Kept, listing: LogListing, plan: BatchPlan, boundary: int) -> None:
    """Write what is planned, and drop what a run before left of batches beyond a boundary."""
    directory, quarantine = kept.directory, Quarantine(kept.directory)
    left_out = [LeftOutFile(*each) for each in listing.left_out.items()]
    quarantine.write_files(kept.left_out + left_out)
    write_plan(directory, plan)
    write_indexes(directory, listing.indexes, kept.indexes)
    # It may have been killed just here.
    directory.drop_from(boundary)
    drop_summary_from(directory, boundary)
    drop_changes_from(directory, boundary)
    quarantine.drop_from(boundary)


def _address_note(was: Address, now: Address) -> str:
    """Sentence on a log that has the planned files, but not the addresses that it had."""
    before, after = ((each,) if isinstance(each, str) else each for each in (was, now))
    added = after[len(before) :]
    if added and after[: len(before)] == before:
        return f"the log now goes on with {address_text(added)}"
    return f"the log has moved from {address_text(was)}; its planned files are the same"


def _refuse_state_in_log(directory: StateDirectory, address: Address) -> None:
    """Refuse a state whose files the log would have: results and checkpoints are Parquet, too."""
    folder = str(directory.path.resolve())
    # A pattern may take these, but not the folder.
    written = (folder, *(f"{folder}/{each}" for each in _WRITTEN))
    for each in [address] if isinstance(address, str) else address:
        if any(reads(each, file) for file in written):
            msg = (
                f"state {directory.path} is in the log {each}, which reads all that is there; give "
                f"a folder beside it as --state"
            )
            raise StateError(msg)


def _quarantines(settings: RunSettings, kept: StateSettings | None) -> bool:
    """Whether bad rows are left out: as the settings say, or else as the state does."""
    before = kept.reading.get(BAD_ROWS) if kept else None
    return (settings.bad_rows or before) == QUARANTINE


def _holds(found: Sequence[LogFile], plan: BatchPlan) -> bool:
    """Whether the log has all files of a plan that is not empty, unchanged."""
    fingerprints = {file.name: file.fingerprint for file in found}
    return bool(plan.files) and all(
        fingerprints.get(file.name) == file.fingerprint for file in plan.files
    )


def _paths_before_growth(log: UpdateLog, applied: BatchPlan) -> list[LogPath]:
    """Files of a log but for new ones from the first one on that is being written.

    Raises
    ------
    EmptyLogError
        There is no file before it, or it is planned already, but not applied.
    """
    paths = log.paths(log.planned)
    known = log.left_out | {file.name for file in applied.files}
    growing = (
        number
        for number, path in enumerate(paths)
        if path.name not in known and was_written_now(path)
    )
    first = next(growing, None)
    if first is None:
        return paths
    kept = [*paths[:first], *(path for path in paths[first:] if path.name in log.planned)]
    if not kept or paths[first].name in log.planned:
        msg = f"{paths[first].shown} was written to just now, and may not be whole; wait for that"
        raise EmptyLogError(msg)
    return kept


def _row_order(
    log: UpdateLog, listing: LogListing, before: BatchPlan, settings: RunSettings
) -> RowOrder | None:
    """Order of the rows, where it is not that of the files; words of ``op`` are checked."""
    if settings.order_by is None:
        if len(listing.files) > len(before.files):
            log.check_operations(file.name for file in listing.files)
        return None
    prints = {file.name: file.fingerprint for file in listing.files}
    order = row_order(log, prints, settings.order_by, settings.order_within)
    order.check_added({file.name for file in before.files}, log)
    return order


def _planned(
    boundary: int,
    before: BatchPlan,
    found: Sequence[LogFile],
    batch_rows: int,
    *,
    is_sorted: bool,
) -> BatchPlan:
    """Plan what is new; files beyond ``boundary`` may have been corrected since.

    Where rows are sorted and some are applied they may not: a batch may have rows of later files.
    """
    if is_sorted and boundary:
        return before.extended(found, batch_rows)
    try:
        return before.extended(found, batch_rows)
    except UpdateLogError:
        applied = before.up_to(boundary)
        if applied == before:
            raise
        return applied.extended(found, batch_rows, [file.name for file in before.files])
