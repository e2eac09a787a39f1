"""Row indexes of a log's text files, kept in the state so that each file is scanned once.

::

    STATE/text/<SHA-256 of the file's name>.json

An index that is missing, damaged, or of a file that has changed since is made again from the file;
whether that is what was planned is checked by its fingerprint, as of every file.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress

from ..hashed_json import DamagedJsonError, read_json, write_json
from ..text.text_index import TextIndex
from .directory import StateDirectory


def read_indexes(state: StateDirectory) -> dict[str, TextIndex]:
    """File -> index, of all that are kept and whole."""
    found = {}
    for path in sorted(state.path.glob("text/*.json")):
        with suppress(DamagedJsonError, OSError, KeyError, TypeError, ValueError):
            values = read_json(path, must_have_hash=True)
            found[str(values["file"])] = TextIndex.from_json(values["index"])
    return found


def write_indexes(
    state: StateDirectory, indexes: Mapping[str, TextIndex], kept: Mapping[str, TextIndex]
) -> None:
    """Keep what is not ``kept`` yet.

    Not brought to the disk: for a log of 10,000 files that would take a minute.
    """
    for name, index in indexes.items():
        if kept.get(name) != index:
            digest = hashlib.sha256(name.encode()).hexdigest()
            path = state.path / "text" / f"{digest}.json"
            write_json(path, {"file": name, "index": index.to_json()}, is_synced=False)
