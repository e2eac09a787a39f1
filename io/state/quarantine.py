"""The quarantine of a state: rows and files of the log that are left out until they are corrected.

::

    STATE/quarantine/batch=<id>.parquet       rows of a batch that are not in the graph
    STATE/quarantine/done/batch=<id>.parquet  the same, once they are in the log again or given up
    STATE/quarantine/files.json               files that are no part of the log

Files of batches are written before the checkpoint that covers the batch. Those beyond the newest
checkpoint are removed when a run begins, as results are. They are there to be edited, so they carry
no digest, and nothing but `requeue` reads them: how many rows a batch lacks is in its report.

``files.json`` is written before the plan. A file in it stays left out, whatever becomes of it.

Not here: which rows are bad (``bad_rows.py``), how they come back (``pipeline/requeue.py``).
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...gpu_core.errors import StateError
from ..durable import new_file, sync
from ..error_text import one_line
from ..hashed_json import DamagedJsonError, read_json, write_json
from ..log.bad_rows import LeftOut
from ..parquet.arrow_paths import arrow_path
from .batch_names import padded_id
from .directory import StateDirectory


@dataclass(frozen=True)
class LeftOutFile:
    """A file that is no part of the log."""

    name: str
    #: Why it could not be used.
    reason: str
    #: Whether its rows are in the log by another file, or it was given up.
    done: bool = False


class Quarantine:
    """The quarantine of a state; the state is locked for writes."""

    def __init__(self, state: StateDirectory) -> None:
        self.path = state.path / "quarantine"

    def write(self, left_out: Mapping[int, LeftOut]) -> None:
        """Keep rows of batches, in the place of what was kept of them."""
        for batch_id, each in left_out.items():
            with new_file(self._file(batch_id)) as temporary:
                pq.write_table(each.table, arrow_path(temporary), write_page_checksum=True)

    def waiting(self) -> dict[int, Path]:
        """Batch -> its rows, of those that are not in the log again; ascending."""
        return _batches(self.path)

    def read(self, path: Path) -> pa.Table:
        """Read rows of a batch, as they are or as they were corrected."""
        try:
            return pq.read_table(
                arrow_path(path), partitioning=None, page_checksum_verification=True
            )
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            msg = (
                f"{path} cannot be read ({one_line(error)}); write it as Parquet, or remove it to "
                f"leave its rows out for good"
            )
            raise StateError(msg) from error

    def end(self, batch_id: int) -> None:
        """Mark the rows of a batch as done: they are in the log again, or given up."""
        waiting = self._file(batch_id)
        # Not renamed: of a name that leaves one folder for another, a power cut may keep neither.
        with new_file(self.path / "done" / waiting.name) as temporary:
            shutil.copyfile(waiting, temporary)
        waiting.unlink()
        sync(self.path)

    def drop_from(self, boundary: int) -> None:
        """Remove rows of batches from ``boundary`` on."""
        for folder in (self.path, self.path / "done"):
            dropped = [path for batch, path in _batches(folder).items() if batch >= boundary]
            for path in dropped:
                path.unlink()
            if dropped:
                # Else a power cut could bring back rows that later batches do not lack.
                sync(folder)

    def files(self) -> list[LeftOutFile]:
        """Files that are left out, in the order in which they were found."""
        path = self._files
        try:
            values: Any = read_json(path, must_have_hash=True)
            return [LeftOutFile(**each) for each in values["files"]]
        except FileNotFoundError:
            return []
        except (DamagedJsonError, KeyError, TypeError) as error:
            msg = f"{path} is damaged ({error}); restore it, or start over with another --state"
            raise StateError(msg) from error

    def write_files(self, files: list[LeftOutFile]) -> None:
        """Keep which files are left out."""
        if files != self.files():
            write_json(self._files, {"files": [asdict(each) for each in files]})

    @property
    def _files(self) -> Path:
        return self.path / "files.json"

    def _file(self, batch_id: int) -> Path:
        return self.path / f"batch={padded_id(batch_id)}.parquet"


def _batches(folder: Path) -> dict[int, Path]:
    found = {}
    for path in sorted(folder.glob("batch=*.parquet")):
        if match := re.fullmatch(r"batch=(\d+)", path.stem):
            found[int(match[1])] = path
    return found
