"""Hashes of the files of a state: damage is found, and older states without hashes are read."""

import random

import pytest

from graphtide import StateError
from graphtide.io.hashed_json import add_hash
from graphtide.io.state.plan_files import read_plan
from old_state import change_json, make_version_1
from small_state import contents, made, with_a_plan


@pytest.mark.parametrize("name", ["graphtide.json", *(f"plan/{n:012d}.json" for n in (0, 1))])
def test_a_changed_byte_of_a_state_is_refused_by_the_name_of_the_file(tmp_path, name):
    state = with_a_plan(tmp_path / "s")
    settings, plan = state.settings(), read_plan(state)
    file = state.path / name
    whole, draw = file.read_bytes(), random.Random(name)
    refused = 0
    for place in range(len(whole)):
        other = bytes([whole[place] ^ 1 << draw.randrange(7)])
        file.write_bytes(whole[:place] + other + whole[place + 1 :])
        try:
            assert (state.settings(), read_plan(state)) == (settings, plan), place
        except StateError as error:
            refused += file.name in str(error)
            continue
        # An indentation, or what JSON takes for the same.
        refused += 1
    assert refused == len(whole)


def test_a_lost_hash_does_not_make_a_file_old(tmp_path):
    state = with_a_plan(tmp_path / "s")
    for file in sorted(state.path.rglob("*.json")):
        whole = file.read_bytes()
        for lost in (b"", b'"sha25v": "'):
            start, end = whole.index(b'"sha256": "'), whole.index(b"}", -3)
            head = whole[:start].rstrip(b", \n") + (b"," if lost else b"")
            file.write_bytes(head + (lost + whole[start + 11 : end] if lost else b"") + b"}")
            with pytest.raises(StateError, match=rf"{file.name} is damaged"):
                (state.settings(), read_plan(state))
        file.write_bytes(whole)
    # Not even with the version that was without.
    file = state.path / "graphtide.json"
    text = file.read_text().replace('"version": 2', '"version": 1')
    for damaged in (text, text.replace("sha256", "sha25v")):
        file.write_text(damaged)
        with pytest.raises(StateError, match=r"graphtide\.json is damaged"):
            state.settings()


def test_a_state_without_hashes_is_taken_once_and_gets_them(tmp_path):
    state = with_a_plan(tmp_path / "s")
    hashed, plan = contents(state.path), read_plan(state)
    make_version_1(state.path)
    assert read_plan(state) == plan
    assert not state.must_have_hashes
    with pytest.raises(StateError, match=r"was made with .*, or remove .*s, which has no"):
        made(state.path, log_address="/other")
    assert not state.must_have_hashes, "a run that was refused changed the state"
    # Somebody was killed in the middle.
    first = sorted(state.path.glob("plan/*.json"))[0]
    add_hash(first)
    assert read_plan(state) == plan
    made(state.path)
    assert contents(state.path) == hashed
    make_version_1(state.path)
    made(state.path)
    change_json(first, first_file=1)
    with pytest.raises(StateError, match=rf"{first.name} is damaged"):
        read_plan(state)


@pytest.mark.parametrize(
    "changes",
    [
        {"first_file": "x"},
        {"first_file": -1},
        {"first_file": 1},
        {"first_file": None},
        {"files": {}},
        {"files": [{"file": "a", "fingerprint": "f", "rows": 10, "batch_rows": 0}]},
        {"files": [{"file": "a", "fingerprint": "f", "rows": "ten", "batch_rows": 3}]},
    ],
)
def test_a_plan_without_hashes_is_looked_at(tmp_path, changes):
    state = with_a_plan(tmp_path / "s")
    make_version_1(state.path)
    change_json(state.path / "plan" / "000000000000.json", **changes)
    with pytest.raises(StateError, match=r"000000000000\.json is damaged"):
        read_plan(state)
