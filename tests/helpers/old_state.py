"""States as older versions wrote them, and states that were damaged."""

import json
from pathlib import Path
from typing import Any

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


def flip(path: Path, place: int) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
