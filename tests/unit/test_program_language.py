"""The language of programs: what is refused, with which line; what is seen of how it combines."""

import importlib
import math
import re
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide import Program, SettingsError
from graphtide.gpu_core.cuda.analytics.programs import operator_text
from graphtide.gpu_core.cuda.analytics.programs.program_text import text_of
from graphtide.gpu_core.cuda.device.compile import kernel_file
from graphtide.gpu_core.host.analytics.programs import (
    edge_kernels,
    operator_module,
    program_kernels,
    vertex_kernels,
)
from graphtide.gpu_core.host.analytics.programs.program_module import header_of
from graphtide.gpu_core.programs import traversals
from graphtide.gpu_core.programs.library import LIBRARY, distances_program
from graphtide.gpu_core.programs.operations import FLAG, REAL, WHOLE
from graphtide.gpu_core.programs.operators import edge_operator, vertex_operator

TABLE = [1, 2]
LIMIT = 0.5
FAR = 2**70
MONDAY = date(2024, 1, 1)


def edge(source_value, weight):
    """Sends."""
    return source_value + weight


def vertex(old, message):
    return min(old, message), message < old


def loops(old, message):
    for _ in range(3):
        old = old + message
    return old, True


def unset(old, message):
    if message < old:
        new = message
    return new, True


def falls_through(old, message):
    if message < old:
        return message, True


def becomes_a_float(old, message):
    new = 1
    old = old / 2
    return new, old < 1


def indexes(old, message):
    return TABLE[0], True


def unpacks(old, message):
    new, active = message, True
    return new, active


def prints(old, message):
    print(old)
    return old, True


def assigns_twice(old, message):
    new = other = message
    return new, other > 0


async def waits(old, message):
    return old, True


# Function, what it says, and the text of the line at fault.
REFUSED: list[tuple[Callable[..., Any], str, str]] = [
    (loops, "a loop is no part of programs", "for _ in range(3):"),
    (unset, "new has no value yet on some path to this line", "return new, True"),
    (falls_through, "not every path through it ends in a return of 2 values", "def falls_through"),
    (becomes_a_float, "old is an int and becomes a float; take another name", "old = old / 2"),
    (
        indexes,
        "an index (there are no arrays here) is no part of programs",
        "return TABLE[0], True",
    ),
    (unpacks, "a tuple is no part of programs", "new, active = message, True"),
    (lambda old, message: message, "it returns 1 value, not 2 values, (new, active)", "lambda"),
    (lambda old, message: (old, message), "active is a bool, not an int; compare it", "lambda"),
    (
        lambda old, message: (old**2, True),
        "a power is no part of programs; write products",
        "old**2",
    ),
    (lambda old, message: (old / 2, True), "a float where new is declared as an int", "old / 2"),
    (lambda old, message: (print(old), True), "print is unknown here", "print(old)"),
    (lambda old, message: (TABLE, True), "TABLE is no number but of type list", "TABLE"),
    (lambda old, message: (math.gamma(old), True), "is no call that programs have", "gamma"),
    (lambda old, message: (old, old and message), "join comparisons here", "old and message"),
    (lambda old, message: (old, "a" < "b"), "'a' is no number that programs", "lambda"),
    (lambda old, message, speed: (old, True), "parameter 'speed' is unknown", "speed"),
    (lambda old: (old, True), "it takes 1 value, but is given old, message", "lambda"),
    (lambda old, message=1: (old, True), "plain names, without defaults", "message=1"),
    (lambda old, message, *more: (old, True), "plain names, without defaults or stars", "*more"),
    (lambda old, message, **more: (old, True), "plain names, without defaults or stars", "**more"),
    (lambda old, *, message: (old, True), "plain names, without defaults or stars", "*, message"),
    (lambda old, message: (old, message is old), "`is` and `in` are no part", "message is old"),
    (prints, "a line of which nothing is kept is no part of programs", "print(old)"),
    (assigns_twice, "a value is assigned to one name at a time", "new = other = message"),
    (waits, "an async function is no part of programs", "async def waits"),
    (lambda old, message: (old + FAR, True), f"FAR is {2**70}, which is beyond int64", "FAR"),
    (lambda old, message: (old + 99999999999999999999, True), "is beyond int64", "lambda"),
    (lambda old, message: (min(old), True), "calls min with other arguments", "min(old)"),
    (lambda old, message: (abs(old, 1), True), "calls abs with other arguments", "abs(old, 1)"),
    (lambda old, message: (math.atan2(old), True), "calls math.atan2 with other", "atan2(old)"),
    (lambda old, message: (math.sin(old, 1), True), "calls math.sin with other", "sin(old, 1)"),
    (lambda old, message: (max(old, 1, key=abs), True), "calls max with other arguments", "key"),
    (lambda old, message: (old + MONDAY.day, True), "MONDAY.day is looked up in an", "MONDAY.day"),
]


@pytest.mark.parametrize(("function", "message", "line"), REFUSED)
def test_a_wrong_function_is_refused_with_the_line_at_fault(
    function: Callable[..., Any], message: str, line: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        Program(edge_of_ints, "min", function, value="int64")
    told, shown = str(refused.value).splitlines()
    assert message in told
    assert line in shown
    number = int(re.match(r"vertex\(\), line (\d+) of test_program_language.py: ", told)[1])
    with open(__file__, encoding="utf-8") as file:
        assert file.readlines()[number - 1].strip() == shown.strip()


def edge_of_ints(source_value, weight):
    return source_value


def test_what_is_no_function_of_a_program() -> None:
    with pytest.raises(SettingsError, match="is no plain Python function"):
        Program(abs, "min", vertex)
    with pytest.raises(SettingsError, match="its source cannot be read"):
        Program(eval("lambda source_value, weight: weight"), "min", vertex)
    with pytest.raises(SettingsError, match="combine='mean' is unknown; use min, max"):
        Program(edge, "mean", vertex)
    with pytest.raises(SettingsError, match="value='int8' is no type of programs"):
        Program(edge, "min", vertex, value="int8")
    with pytest.raises(SettingsError, match="total is passed to programs of all vertices"):
        Program(edge, "sum", vertex, total=lambda value: value)
    with pytest.raises(SettingsError, match="along='up' is unknown"):
        Program(edge, "sum", vertex, along="up")
    with pytest.raises(SettingsError, match="there is none by itself; give identity="):
        Program(edge, lambda one, other: one + other, vertex, all_vertices=True)
    with pytest.raises(SettingsError, match="there is none by itself; give identity="):
        Program(edge, "any", vertex, all_vertices=True)
    with pytest.raises(SettingsError, match="all_vertices='no' is neither True nor False"):
        Program(edge, "sum", vertex, all_vertices="no")
    with pytest.raises(SettingsError, match=r"identity=0\.5 is no int64"):
        Program(edge_of_ints, "sum", vertex, value="int64", identity=0.5)
    for identity in ([1.0], [1.0, 2.0], "1"):
        with pytest.raises(SettingsError, match=f"identity={re.escape(repr(identity))} is no"):
            Program(edge, "min", vertex, identity=identity)


class Pipes:
    """Functions in a class."""

    def edge(self, source_value, weight):
        return source_value

    def of_one(self, source_value):
        return source_value

    @staticmethod
    def alone(source_value, weight):
        return source_value


def test_a_method_is_no_function_of_a_program() -> None:
    """Its object would be taken for the first value."""
    for method in (Pipes().edge, Pipes().of_one):
        with pytest.raises(SettingsError, match=r"edge=Pipes\.\w+ is a method"):
            Program(method, "min", vertex)
    assert Program(Pipes.alone, "min", vertex).value == np.float64


def test_a_combine_that_depends_on_the_order_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"but combine\(0.0, 1.0\) is -1.0 and combine\(1.0"):
        Program(edge, lambda one, other: one - other, vertex)
    with pytest.raises(SettingsError, match=r"messages come in no order, but combine\(combine\("):
        Program(edge, lambda one, other: (one + other) / 2, vertex)


def test_a_combine_that_python_refuses_for_some_numbers_is_one() -> None:
    """As sums of probabilities by their logarithms; Python raises where a program has NaN."""

    def of_logarithms(one: float, other: float) -> float:
        return math.log(math.exp(one) + math.exp(other))

    assert not Program(edge, of_logarithms, vertex, identity=-math.inf).is_exact


def test_a_combine_is_pushed_only_where_no_order_makes_a_difference() -> None:
    least = Program(edge, lambda one, other: min(one, other), vertex, identity=math.inf)
    assert least.is_exact
    assert least.may_push
    assert not Program(edge, lambda one, other: min(one, other), vertex).may_push
    # A message that changes others is none that pushed ones may begin with.
    assert not Program(edge, lambda one, other: min(one, other), vertex, identity=3.0).may_push
    assert not Program(edge, lambda one, other: one + other, vertex, identity=0).is_exact
    assert Program(edge, "min", vertex).may_push
    assert not Program(edge, "sum", vertex).may_push
    assert Program(edge_of_ints, "sum", vertex, value="int64").may_push


def test_programs_of_the_same_functions_are_the_same() -> None:
    def made(limit: float) -> Program:
        return Program(edge, "min", lambda old, message: (old, message < limit * LIMIT))

    assert made(1.0) == made(1.0)
    assert made(1.0) != made(2.0), "a number from outside is part of a program"
    assert {made(1.0), made(1.0), made(2.0)} == {made(1.0), made(2.0)}
    assert Program(edge, "min", vertex).identity == np.inf
    of_all = [Program(edge, "sum", vertex, all_vertices=True, identity=each) for each in (0, 1)]
    assert of_all[0] != of_all[1], "a vertex that is sent nothing takes another message"
    assert len({program() for program in LIBRARY.values()}) == len(LIBRARY)


def test_functions_of_one_line_are_told_apart() -> None:
    first, second = (lambda old, message: (old, True)), (lambda old, message: (message, False))
    assert "v_old, true" in Program(edge, "min", first).vertex.c
    assert "v_message, false" in Program(edge, "min", second).vertex.c


def test_a_source_that_has_changed_is_read_again_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a module that is edited beside a notebook, and loaded again or not."""
    file = tmp_path / "edited_program.py"
    text = "def edge(source_value, weight):\n    return source_value + 1.0\n"
    text += "\n\ndef other(one):\n    return one is 'warned of'\n"
    file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with pytest.warns(SyntaxWarning):
        module = importlib.import_module("edited_program")
    before = Program(module.edge, "min", vertex)
    file.write_text(text.replace("1.0", "25.0"))
    with pytest.raises(SettingsError, match=r"line 1: its source has changed since it was loaded"):
        Program(module.edge, "min", vertex)
    with pytest.warns(SyntaxWarning):
        importlib.reload(module)
    assert "25" in Program(module.edge, "min", vertex).edge.c
    file.write_text(f"# A line more.\n{text}")
    with pytest.warns(SyntaxWarning):
        importlib.reload(module)
    assert Program(module.edge, "min", vertex) == before


def test_the_kernels_in_the_package_are_those_of_a_program() -> None:
    """Others are made of them by putting another program in its place."""
    program = distances_program()
    text = kernel_file("programs.cu").read_text(encoding="utf-8")
    assert text.endswith(f"\n\n{text_of(program)}")
    text = Path(program_kernels.__file__).read_text(encoding="utf-8")
    assert f"# -- the program --\n{header_of(program)}# -- its kernels --\n" in text


def test_the_kernels_in_the_package_are_those_of_an_operator() -> None:
    along = edge_operator(traversals.relaxed, {"distance": REAL}, {}, "distance", "min")
    kinds = {"left": WHOLE, "core": WHOLE, "is_gone": FLAG}
    over = vertex_operator(traversals.is_peeled, kinds, {"k": WHOLE}, ())
    made = ("for_edges.cu", along, edge_kernels), ("for_vertices.cu", over, vertex_kernels)
    for name, operator, module in made:
        text = kernel_file(name).read_text(encoding="utf-8")
        assert text.endswith(f"\n\n{operator_text.text_of(operator)}")
        text = Path(module.__file__).read_text(encoding="utf-8")
        header = operator_module.header_of(operator)
        assert f"# -- the program --\n{header}# -- its kernels --\n" in text
