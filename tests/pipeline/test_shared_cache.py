"""Processes that start together compile each function once among them, and save it safely."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from compiled_once import compile_and_call, fail_and_call
from waiting import wait_until


def test_a_signature_is_compiled_by_one_process_and_loaded_by_the_others(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        found = [pool.submit(compile_and_call, tmp_path, ["int64"], gate) for _ in range(3)]
        wait_until(lambda: len(list(tmp_path.glob("ready-*"))) == 3)
        gate.touch()
        compiles, sums = zip(*(each.result() for each in found), strict=True)
    assert sorted(compiles) == [0, 0, 1]
    assert sums == ([20],) * 3


def test_signatures_that_are_saved_at_the_same_time_do_not_become_each_other(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    types = ["int64", "float64", "float32", "int16"]
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        found = [pool.submit(compile_and_call, tmp_path, [name], gate) for name in types]
        wait_until(lambda: len(list(tmp_path.glob("ready-*"))) == 4)
        gate.touch()
        assert [each.result() for each in found] == [(1, [20])] * 4
        later = pool.submit(compile_and_call, tmp_path, types, gate).result()
    assert later == (0, [20] * 4), "one of them was lost"
    assert len(list(tmp_path.rglob("*.nbc"))) == len(types)


def test_a_signature_that_cannot_be_compiled_holds_nobody_up(tmp_path: Path) -> None:
    """A process that were held up would be for longer than a test may take."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(fail_and_call, [tmp_path] * 2))
        (tmp_path / "gate").touch()
        good = pool.submit(compile_and_call, tmp_path, ["int64"], tmp_path / "gate").result()
    assert found == ["TypingError"] * 2
    assert good == (1, [20])
