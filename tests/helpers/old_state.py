"""States as older versions wrote them, and states that were damaged."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from graphtide.io.hashed_json import HASH_KEY


def make_version_1(state: Path) -> None:
    """Take all that states of version 1 did not have out of a state."""
    for path in state.rglob("*.json"):
        values = json.loads(path.read_text())
        del values[HASH_KEY]
        values.pop("plan", None)
        if path.name == "graphtide.json":
            values["version"] = 1
        path.write_text(json.dumps(values, indent=1) + "\n")


def change_json(path: Path, **changes: Any) -> None:
    """Change values of a JSON file, as damage may: its hash stays."""
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, **changes}, indent=1) + "\n")


def change_rows(path: Path) -> None:
    """Flip the first bit of a Parquet file that changes a row, and nothing else."""
    rows, whole = pq.read_table(path), path.read_bytes()
    for place in range(4, len(whole)):
        flip(path, place)
        try:
            found = pq.read_table(path)
            if found.schema == rows.schema and found.shape == rows.shape and found != rows:
                return
        except (pa.ArrowException, OSError):
            pass
        path.write_bytes(whole)
    msg = f"no bit of {path} is of a row alone"
    raise AssertionError(msg)


def flip(path: Path, place: int) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
