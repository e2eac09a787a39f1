"""JSON files that carry their own hash: no damage is believed."""

import json
import random
from pathlib import Path

import pytest

from graphtide.io.hashed_json import HASH_KEY, DamagedJsonError, add_hash, read_json, write_json

VALUES = {
    "format": 2,
    "name": "Größe",
    "rows": 7_575,
    "whole": True,
    "nothing": None,
    "files": [{"file": "a.parquet", "rows": 10, "batch_rows": 3}],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_json(tmp_path / "a.json", VALUES)
    return tmp_path / "a.json"


def test_what_is_read_is_what_was_written(path: Path) -> None:
    assert read_json(path, must_have_hash=True) == VALUES
    # Indentation and the order of keys are not hashed.
    values = dict(reversed(json.loads(path.read_text()).items()))
    path.write_text(json.dumps(values))
    assert read_json(path, must_have_hash=True) == VALUES


def test_no_byte_can_change_unseen(path: Path) -> None:
    """Whatever a byte becomes, in content, in the hash, in the key of the hash."""
    whole, draw = path.read_bytes(), random.Random(5)
    for place, byte in enumerate(whole):
        others = {byte ^ 1 << draw.randrange(8), draw.randrange(256), ord("1"), ord(" ")} - {byte}
        for other in sorted(others):
            path.write_bytes(whole[:place] + bytes([other]) + whole[place + 1 :])
            try:
                assert read_json(path, must_have_hash=True) == VALUES, (place, other)
            except DamagedJsonError:
                continue


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", "\0" * 50, "[" * 100_000])
def test_what_is_no_object(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(DamagedJsonError, match="it is no JSON"):
        read_json(path, must_have_hash=False)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none.json", must_have_hash=False)
    with pytest.raises(DamagedJsonError, match="it cannot be read: Is a directory"):
        read_json(tmp_path, must_have_hash=False)


def test_a_file_without_a_hash_gets_one(path: Path) -> None:
    path.write_text(json.dumps(VALUES))
    assert read_json(path, must_have_hash=False) == VALUES
    with pytest.raises(DamagedJsonError, match="the hash of its content is missing"):
        read_json(path, must_have_hash=True)
    add_hash(path)
    assert read_json(path, must_have_hash=True) == VALUES
    before = path.read_bytes()
    add_hash(path)
    assert path.read_bytes() == before
    path.write_text(json.dumps({**VALUES, HASH_KEY: "0" * 64}))
    with pytest.raises(DamagedJsonError, match="does not have the hash"):
        add_hash(path)
