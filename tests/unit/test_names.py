"""Names and their keys, against dictionaries; with hashes so narrow that most names collide."""

import pickle
import uuid

import numpy as np
import pytest

from graphtide.gpu_core.errors import BatchError, CorruptImageError
from graphtide.gpu_core.names import distinct, shard
from graphtide.gpu_core.names.distinct import NameColumn, number_names
from graphtide.gpu_core.names.hashing import NO_KEY, keys_of
from graphtide.gpu_core.names.strings import Strings
from graphtide.gpu_core.names.table import Names
from graphtide.gpu_core.names.uuids import text_of_uuids, uuids_of_text

#: Bits of a hash: all, and so few that 300 names have 16 keys, or 256.
WIDTHS = pytest.mark.parametrize("bits", [64, 8, 4])

RANDOM = np.random.default_rng(3)
#: Of all lengths around a word, some of them a beginning of others, or zeros.
POOL = [b"", b"\0", b"\0\0", b"a", *(b"n" * size + b"%d" % size for size in range(40))]
POOL += [RANDOM.bytes(int(size)) for size in RANDOM.integers(1, 30, 260)]


def column(names: list[bytes]) -> NameColumn:
    return NameColumn(Strings.of(names))


def drawn(count: int, seed: int) -> list[bytes]:
    random = np.random.default_rng(seed)
    return [POOL[at] for at in random.integers(0, len(POOL), count)]


def test_a_key_depends_on_the_bytes_alone() -> None:
    """Whatever lies around them, in every version: states keep keys."""
    names = POOL[:60]
    lone = [int(keys_of(Strings.of([name]))[0]) for name in names]
    assert keys_of(Strings.of(names)).tolist() == lone
    packed = Strings.of([b"x", *names, b"tail" * 4])
    assert keys_of(Strings(packed.starts[1:-1], packed.data)).tolist() == lone
    assert len(set(lone)) == len(names)
    known = {b"": 0, b"a": -2811825457480560767, b"user00000001": 1403782202212535525}
    assert keys_of(Strings.of(list(known))).tolist() == list(known.values())


@WIDTHS
def test_rows_in_numbers_are_the_rows_and_numbers_have_the_order_of_the_keys(bits: int) -> None:
    src, dst = drawn(3000, 1), drawn(3000, 2)
    numbered = number_names(column(src), column(dst), bits)
    names = numbered.names.strings.tolist()
    assert [names[at] for at in numbered.src] == src
    assert [names[at] for at in numbered.dst] == dst
    assert len(set(names)) == len(names) == numbered.names.keys.size, "a name is there twice"
    assert (np.diff(numbered.names.keys) > 0).all()
    own = keys_of(numbered.names.strings, bits) == numbered.names.keys
    assert np.flatnonzero(~own).tolist() == numbered.names.displaced.tolist()
    assert own.all() == (bits == 64)


def test_keys_that_differ_in_their_last_bits_alone_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a table has room for 32 bits of a key, the rest of it decides, and the order too."""
    base = {False: 0, True: -(1 << 62)}
    keys = {name: base[at % 3 == 0] + at * 7 % 400 for at, name in enumerate(POOL)}
    keys[POOL[5]] = (1 << 63) - 1
    assert len(set(keys.values())) == len(POOL)

    def written(starts, data, bits, out):
        strings = Strings(starts, data)
        out[:] = [keys[strings[at]] for at in range(out.size)]

    monkeypatch.setattr(distinct, "write_keys", written)
    # More than one bucket.
    src, dst = drawn(3000, 1), drawn(3000, 2)
    numbered = number_names(column(src), column(dst))
    names = numbered.names.strings.tolist()
    assert [names[at] for at in numbered.src] == src
    assert [names[at] for at in numbered.dst] == dst
    assert numbered.names.keys.tolist() == sorted(keys[name] for name in {*src, *dst})
    assert numbered.names.displaced.size == 0


@WIDTHS
def test_nulls_and_words_that_no_row_uses_are_no_names(bits: int) -> None:
    words = Strings.of([b"unused", b"b", b"a", b"null"])
    src = NameColumn(words, np.array([1, 2, 1, 2]))
    dst = NameColumn(words, np.array([2, 3, 1, 3]), np.array([True, False, True, False]))
    numbered = number_names(src, dst, bits)
    names = numbered.names.strings.tolist()
    assert sorted(names) == [b"a", b"b"]
    assert [names[at] for at in numbered.src] == [b"b", b"a", b"b", b"a"]
    assert [names[at] for at in numbered.dst[[0, 2]]] == [b"a", b"b"]


@WIDTHS
def test_no_two_names_ever_have_one_key_and_a_name_keeps_its_own(bits: int) -> None:
    table, model = Names(bits), {}
    for step in range(20):
        batch = number_names(column(drawn(40, step)), column(drawn(40, 100 + step)), bits).names
        moved = table.take(batch)
        for name, key in zip(batch.strings.tolist(), batch.keys.tolist(), strict=True):
            key = moved.get(key, key)
            assert model.setdefault(name, key) == key, "a name has two keys"
    assert len(set(model.values())) == len(model) == len(table), "two names have one key"
    names = list(model)
    keys = np.array([model[name] for name in names])
    assert table.keys(Strings.of(names)).tolist() == keys.tolist()
    assert table.strings(keys).tolist() == names
    strangers = Strings.of([b"stranger %d" % number for number in range(50)])
    assert (table.keys(strangers) == NO_KEY).all(), "a stranger is taken for somebody else"
    with pytest.raises(CorruptImageError, match="has no name"):
        table.strings(np.array([max(model.values()) ^ 1]))


@WIDTHS
def test_a_table_that_was_kept_goes_on_as_the_one_before(bits: int) -> None:
    table = Names(bits)
    for step in range(5):
        table.take(number_names(column(drawn(60, step)), column(drawn(60, step)), bits).names)
    mark, count = table.mark(), len(table)
    later = number_names(column(POOL), column(POOL[::-1]), bits).names
    moved = table.take(later)
    arrays = table.arrays(mark)
    assert arrays["name_keys"].size == count, "names of later batches are in the copy"
    again = Names.of(arrays, bits)
    assert again.take(later) == moved
    assert (again.keys(Strings.of(POOL)) == table.keys(Strings.of(POOL))).all()


def test_a_name_keeps_its_key_in_a_copy_without_the_one_that_it_collided_with() -> None:
    table = Names(1)
    names = [b"one", b"two", b"three", b"four", b"five"]
    table.take(number_names(column(names[:1]), column(names[:1]), 1).names)
    table.take(number_names(column(names), column(names), 1).names)
    keys = table.keys(Strings.of(names))
    for left_out in range(len(names)):
        kept = [at for at in range(len(names)) if at != left_out]
        strings = table.strings(keys[kept])
        part = Names.of(
            {"name_keys": keys[kept], "name_starts": strings.starts, "name_bytes": strings.data}, 1
        )
        batch = number_names(column(names), column(names), 1).names
        moved = part.take(batch)
        found = part.keys(Strings.of(names))
        assert found[kept].tolist() == keys[kept].tolist(), "a name was given another key"
        assert len(set(found.tolist())) == len(names)
        assert {moved.get(key, key) for key in batch.keys.tolist()} == set(found.tolist())
        # Also in a batch without the other one, whose key is free by now.
        part = Names.of(
            {"name_keys": keys[kept], "name_starts": strings.starts, "name_bytes": strings.data}, 1
        )
        given = [names[at] for at in kept]
        part.take(number_names(column(given), column(given), 1).names)
        assert part.keys(Strings.of(given)).tolist() == keys[kept].tolist()
        assert len(part) == len(kept)


def test_a_name_takes_the_memory_that_is_told() -> None:
    table = Names()
    names = [b"user%08d" % number for number in range(50_000)]
    table.take(number_names(column(names), column(names[:0])).names)
    assert 30 < table.nbytes / len(names) - 12 < 60


def test_strings_are_packed_again_wherever_they_came_from() -> None:
    strings = Strings.of(POOL)
    part = pickle.loads(pickle.dumps(strings.take(np.array([5, 3, 3, 0]))))
    assert part.tolist() == [POOL[5], POOL[3], POOL[3], POOL[0]]
    assert (part[0], len(part)) == (POOL[5], 4)


def test_uuids_are_read_in_every_form_and_shown_in_one() -> None:
    made = [uuid.UUID(bytes=RANDOM.bytes(16)) for _ in range(9)]
    texts = [str(each).encode() for each in made]
    for forms in (texts, [text.upper() for text in texts], [each.hex.encode() for each in made]):
        uuids = uuids_of_text(Strings.of(forms))
        assert uuids.tolist() == [each.bytes for each in made]
        assert text_of_uuids(uuids).tolist() == texts
    # Python's own reader takes these for other UUIDs.
    for wrong in ("+", " ", "\N{ARABIC-INDIC DIGIT ONE}"):
        text = wrong + 31 * "1"
        with pytest.raises(BatchError, match="is no UUID"):
            uuids_of_text(Strings.of([text.encode()]))
    with pytest.raises(BatchError, match="'0000' is no UUID"):
        uuids_of_text(Strings.of([texts[0], b"0000"]))
    with pytest.raises(BatchError, match="is no UUID"):
        uuids_of_text(Strings.of([texts[0], texts[1].replace(b"-", b"_")]))


def test_names_of_a_batch_outlive_the_batches_after_it() -> None:
    """Memory is used again; names are not in it."""
    first, second = drawn(500, 1), [b"other" + name for name in drawn(500, 1)]
    batch = number_names(column(first), column(first)).names
    before = pickle.dumps(batch)
    number_names(column(second), column(second))
    number_names(column(second * 9), column(first))
    assert pickle.dumps(batch) == before


@pytest.mark.parametrize("step", ["enter", "enter_again"])
def test_names_of_a_call_that_was_cut_off_are_as_if_it_had_not_been(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes when they are written, but not accounted for; or when there is more room."""

    def batch(prefix: str) -> distinct.BatchNames:
        ends = [[b"%s%d" % (each, at) for at in range(200)] for each in (prefix.encode(), b"x")]
        return number_names(*map(column, ends)).names

    names = Names()
    names.take(batch("a"))
    whole = getattr(shard, step)

    def cut_off(*given: object) -> None:
        if step == "enter":
            whole(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shard, step, cut_off)
        with pytest.raises(KeyboardInterrupt):
            names.take(batch("b"))
    for prefix in ("c", "b", "a"):
        entered = batch(prefix)
        names.take(entered)
        for again in (names, Names.of(names.arrays())):
            keys = again.keys(entered.strings)
            assert keys.tolist() == entered.keys.tolist()
            assert again.strings(keys).tolist() == entered.strings.tolist()
    assert len(names) == len(names.arrays()["name_keys"]) == 800
