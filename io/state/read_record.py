"""The read record of a state: checksums of the row groups that its batches were read from.

::

    STATE/read/<first>-<last>.json     of the batches of one checkpoint, written before it

A plan knows a file by its footer, and data may change under a footer that does not. So what is read
again for a batch of the state, or for the next one where that begins in the same row group, must
have the checksum that it had. Entries name file, fingerprint and row group, and not the batch: a
file that is corrected beyond the newest checkpoint is another file with another fingerprint.

Not here: how checksums are computed (``page_checks.py``).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...gpu_core.errors import StateError
from ..hashed_json import DamagedJsonError, read_json, write_json
from ..parquet.page_checks import ChunkSum
from .batch_names import range_name
from .directory import StateDirectory


@dataclass(frozen=True)
class ReadFile:
    """Rows that batches have read of one file."""

    #: Whether all pages that were read carry checksums of their own.
    has_checksums: bool = True
    #: Row group -> its checksum, see `ReadRows.sums`.
    sums: Mapping[int, int] = field(default_factory=dict)

    def joined(self, sums: Mapping[int, int], *, has_checksums: bool) -> "ReadFile":
        """Add row groups."""
        return ReadFile(self.has_checksums and has_checksums, {**self.sums, **sums})


class ReadRecord:
    """Row groups that batches were read from."""

    def __init__(self) -> None:
        #: (name, fingerprint) -> what was read of that file.
        self.files: dict[tuple[str, str], ReadFile] = {}

    def add(self, name: str, fingerprint: str, sums: Mapping[int, ChunkSum]) -> None:
        """Add what was read for one batch."""
        known = self.files.get((name, fingerprint), ReadFile())
        self.files[name, fingerprint] = known.joined(
            {group: each.crc for group, each in sums.items()},
            has_checksums=all(each.has_checksums for each in sums.values()),
        )

    def update(self, other: "ReadRecord", *, of: str) -> None:
        """Add what another record has of a file."""
        for key, each in other.files.items():
            if key[0] != of:
                continue
            known = self.files.get(key, ReadFile())
            self.files[key] = known.joined(each.sums, has_checksums=each.has_checksums)

    def drop(self, name: str) -> None:
        """Forget a file of which nothing will be read any more."""
        self.files = {key: each for key, each in self.files.items() if key[0] != name}

    @property
    def unchecked_files(self) -> list[str]:
        """Names of the files of which pages without checksums were read."""
        return sorted({name for (name, _), each in self.files.items() if not each.has_checksums})

    def known(self, name: str, fingerprint: str, groups: Sequence[int]) -> dict[int, int]:
        """Checksums of some row groups of a file, of those that were read."""
        sums = self.files.get((name, fingerprint), ReadFile()).sums
        return {group: sums[group] for group in groups if group in sums}

    def write(self, state: StateDirectory, first: int, last: int) -> None:
        """Keep the record of some batches, which holds those alone."""
        files = [
            {
                "file": name,
                "fingerprint": fingerprint,
                "page_checksums": each.has_checksums,
                "row_groups": {str(group): crc for group, crc in sorted(each.sums.items())},
            }
            for (name, fingerprint), each in sorted(self.files.items())
        ]
        path = state.path / "read" / f"{range_name(first, last)}.json"
        write_json(path, {"files": files})

    @classmethod
    def of_state(cls, state: StateDirectory, first: int = 0) -> "ReadRecord":
        """The record of a state, of the batches from ``first`` on at least."""
        record = cls()
        must_have_hash = state.must_have_hashes
        for path in sorted(state.path.glob("read/*.json")):
            match = re.fullmatch(r"\d+-(\d+)", path.stem)
            if match and int(match[1]) >= first:
                try:
                    record._take(read_json(path, must_have_hash=must_have_hash))
                except DamagedJsonError as error:
                    raise StateError(_damaged(path, str(error))) from error
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    raise StateError(_damaged(path, repr(error))) from error
        return record

    def _take(self, values: Any) -> None:
        for entry in values["files"]:
            key = (str(entry["file"]), str(entry["fingerprint"]))
            sums = {int(group): int(crc) for group, crc in entry["row_groups"].items()}
            known = self.files.get(key, ReadFile())
            self.files[key] = known.joined(sums, has_checksums=bool(entry["page_checksums"]))


def _damaged(path: Path, reason: str) -> str:
    return (
        f"{path} is damaged ({reason}); restore it, or remove it: what is read again is then not "
        f"compared with what was read before"
    )
