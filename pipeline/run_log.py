"""The log of one run: its files, its plan, and how the rows of each batch are read.

Not here: how a log is listed and read (``io/log/``), and what is kept of applied batches
(``run_files.py``).
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ..gpu_core.errors import UpdateLogError
from ..gpu_core.printable import file_shown
from ..io.log.bad_rows import RowsToRead
from ..io.log.log_listing import LogListing
from ..io.log.order.ordered_batch import OrderedBatch
from ..io.log.order.row_order import RowOrder
from ..io.log.paths.file_names import order_key
from ..io.log.paths.log_order import twice_note, unordered_note
from ..io.log.plan import BatchPlan, PlannedBatch
from ..io.log.update_log import UpdateLog
from ..io.parquet.row_groups import groups_of_run
from ..io.state.directory import StateDirectory
from ..io.state.plan_files import write_plan
from ..io.state.read_record import ReadRecord
from ..io.state.text_indexes import write_indexes
from .graph_worker.batches import AppliedBatch


@dataclass(frozen=True)
class PlannedLog:
    """A log as a run finds it, cut into batches."""

    log: UpdateLog
    #: Its files as they are now.
    listing: LogListing
    #: All batches of the log, from its beginning.
    plan: BatchPlan
    #: Order of the rows, where it is not that of the files.
    order: RowOrder | None = None
    #: Whether bad rows are left out; else they end the run.
    quarantines: bool = False
    #: Rows of a batch at most, of files that are not planned yet.
    batch_rows: int = 0
    #: Whether there will be more batches than are planned now.
    follows: bool = False


class RunLog:
    """Log and plan of one run; the plan grows while a log is followed.

    Parameters
    ----------
    state
        The state directory, which keeps the plan.
    planned
        What is to be applied, and its batches.
    read
        What the batches up to the newest checkpoint were read from.
    """

    def __init__(self, state: StateDirectory, planned: PlannedLog, read: ReadRecord) -> None:
        self.update_log = planned.log
        #: Its files as they are now.
        self.listing = planned.listing
        #: All batches of the log, from its beginning.
        self.plan = planned.plan
        self._state = state
        self._order = planned.order
        #: Whether bad rows are left out; else they end the run.
        self.quarantines = planned.quarantines
        #: Whether there will be more batches than are planned now.
        self.follows = planned.follows
        self._batch_rows = planned.batch_rows
        self._fingerprints = {file.name: file.fingerprint for file in self.plan.files}
        self._rows = [0, *accumulate(batch.rows for batch in self.plan.batches)]
        #: Of the batches to come, as far as they were applied before, and of the one before them.
        self._read = read
        #: File that rows were last read of, for a checkpoint of this run.
        self._last_read: str | None = None
        self._group_starts = _group_starts(self.listing)
        #: Place in the log's order of the last file that is planned.
        self._last_key = max((order_key(file.name) for file in self.plan.files), default=())

    def notes(self) -> list[str]:
        """Sentences for the user on columns that are not kept, and the order of the files."""
        not_kept = [] if self.listing.not_kept is None else [self.listing.not_kept]
        twice = twice_note(file.name for file in self.listing.files)
        is_checked = self._order is not None
        return [
            *not_kept,
            *([] if twice is None else [twice]),
            *_order_note(self.plan, self.listing, is_checked=is_checked),
        ]

    @property
    def batches(self) -> int:
        """Batches planned."""
        return len(self.plan.batches)

    def names(self) -> set[str]:
        """Names of the files of the log, as far as they are known."""
        left_out = self.update_log.left_out | self.listing.left_out.keys()
        return {file.name for file in self.listing.files} | left_out

    def extend(self, listing: LogListing) -> int:
        """Plan files that are new in the log, and keep the plan; gives the batches planned now.

        Raises
        ------
        UpdateLogError
            One comes before a file that is planned, or there is no order between them.
        """
        before = self.plan
        joined = self.listing.joined(listing)
        files = joined.files
        if self.update_log.time_unit is None and joined.time_unit is not None:
            # The graph was made without a unit of time.
            msg = (
                f"{self.update_log.shown(listing.files[0].name)} is the first file of the log that "
                f"has times, {joined.time_unit}; run the same command again, which goes on with it"
            )
            raise UpdateLogError(msg)
        if self._order is None and any("=" in file.name for file in listing.files):
            self.update_log.check_operations(file.name for file in files)
        keys = [order_key(file.name) for file in listing.files]
        if min(keys) < self._last_key:
            # Refused with the reason.
            files = tuple(sorted(files, key=lambda file: order_key(file.name)))
        self.plan = before.extended(files, self._batch_rows)
        self._last_key = max(keys)
        self._state.check_lock()
        write_plan(self._state, self.plan, before)
        write_indexes(self._state, joined.indexes, self.listing.indexes)
        self.listing = joined
        self.update_log = replace(self.update_log, indexes=joined.indexes)
        added = self.plan.files[len(before.files) :]
        self._fingerprints.update({file.name: file.fingerprint for file in added})
        for batch_id in range(len(before.batches), len(self.plan.batches)):
            self._rows.append(self._rows[-1] + self.plan.batches[batch_id].rows)
        self._group_starts.update(_group_starts(listing))
        return self.batches

    def rows_before(self, boundary: int) -> int:
        """Rows of the batches before a boundary."""
        return self._rows[boundary]

    def batch_of_row(self, row: int) -> int | None:
        """Batch that has a row, counted from the log's beginning; None beyond its end."""
        batch_id = bisect_right(self._rows, row) - 1
        return batch_id if batch_id < self.batches else None

    def largest_batch(self, boundary: int) -> int:
        """Rows of the largest batch from a boundary on; 0 where there is none and none will be."""
        least = self._batch_rows if self.follows else 0
        return max(least, *(batch.rows for batch in self.plan.batches[boundary:]), 0)

    def planned(self, batch_id: int) -> tuple[PlannedBatch, str]:
        """A batch, and the fingerprint that its file had when it was planned."""
        batch = self.plan.batches[batch_id]
        return batch, self._fingerprints[batch.file]

    def shown(self, batch_id: int) -> str:
        """File of a batch, as the user would open it."""
        return self.update_log.shown(self.plan.batches[batch_id].file)

    def _ordered(self, batch_id: int) -> OrderedBatch | None:
        """Source of a batch, where rows are in the order of a column."""
        batch = self.plan.batches[batch_id]
        if self._order is None:
            return None
        return self._order.batch(batch.file, batch.first_row, batch.rows)

    def _runs(self, batch_id: int) -> list[tuple[str, int, int]]:
        """Rows of a batch: ``(file, first row, rows)``, a run of each file."""
        ordered, batch = self._ordered(batch_id), self.plan.batches[batch_id]
        return [(batch.file, batch.first_row, batch.rows)] if ordered is None else ordered.runs()

    def read_from(self, batch_id: int) -> list[str]:
        """Names of the files that have rows of a batch."""
        return [name for name, _, _ in self._runs(batch_id)]

    def _known(self, batch_id: int) -> dict[int, int]:
        """Row group -> checksum that it must have, of those that a batch is read from."""
        batch, fingerprint = self.planned(batch_id)
        groups = groups_of_run(self._group_starts[batch.file], batch.first_row, batch.rows)
        return self._read.known(batch.file, fingerprint, groups)

    def rows_of(self, batch_id: int) -> RowsToRead:
        """Plan for reading the rows of a batch."""
        return RowsToRead(
            self.update_log.for_rows(self._runs(batch_id)),
            *self.planned(batch_id),
            known=self._known(batch_id),
            ordered=self._ordered(batch_id),
            quarantine=self.quarantines,
        )

    def write_read_record(self, batches: Sequence[AppliedBatch]) -> None:
        """Write what batches were read from, and keep what rows to come must match."""
        read = ReadRecord()
        for batch in batches:
            planned, fingerprint = self.planned(batch.report.batch_id)
            read.add(planned.file, fingerprint, batch.sums)
        if batches:
            first, last = batches[0].report.batch_id, batches[-1].report.batch_id
            read.write(self._state, first, last)
            # Rows to come may be of the last file that rows were read of, and not of those before.
            file = self.planned(last)[0].file
            self._read.update(read, of=file)
            if self._last_read not in (None, file):
                self._read.drop(self._last_read)
            self._last_read = file


def _group_starts(listing: LogListing) -> dict[str, list[int]]:
    return {file.name: [0, *accumulate(file.row_group_rows)] for file in listing.files}


def _order_note(plan: BatchPlan, listing: LogListing, *, is_checked: bool) -> list[str]:
    """Tell where the order of the files is another than was meant, or may be."""
    names = [file.name for file in listing.files]
    # Where all rows insert, and no value stays of the last one, any order is as good.
    counts = listing.found - {"src", "dst"} and not is_checked
    unknown = unordered_note(names) if counts else None
    pair = plan.out_of_order(names)
    if pair is None:
        return [] if unknown is None else [unknown]
    later, earlier = map(file_shown, pair)
    return [
        f"this state has {earlier} after {later}, as it was planned when names sorted otherwise; "
        f"for the order that they have now start over with another --state"
    ]
