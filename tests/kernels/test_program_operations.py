"""What functions of programs compute: the same bits on both engines, and what Python computes."""

import hashlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.cuda.analytics.programs.program_text import function_text
from graphtide.gpu_core.cuda.device.compile import add_text
from graphtide.gpu_core.host.analytics.programs import program_operations
from graphtide.gpu_core.host.analytics.programs.program_module import function_text as python_text
from graphtide.gpu_core.jit.compile import module_of_text
from graphtide.gpu_core.programs.language import FunctionText, written
from graphtide.gpu_core.programs.operations import REAL, WHOLE

#: How many of the results of each function Python has as well; it refuses the others.
KNOWN = {"reals": 17, "wholes": 11}
COUNTS = {"reals": 23, "wholes": 17}


def reals(a, b, superstep):
    """Of two floats."""
    if superstep == 0:
        return a + b * 2
    if superstep == 1:
        return a - b / 3
    if superstep == 2:
        return a / b if b != 0 else -1.0
    if superstep == 3:
        return a // b if b != 0 else -2.0
    if superstep == 4:
        return a % b if b != 0 else -3.0
    if superstep == 5:
        return min(a, b, 1)
    if superstep == 6:
        return max(a, b, -1)
    if superstep == 7:
        return abs(a) - abs(b)
    if superstep == 8:
        return -a + +b
    if superstep == 9:
        return math.sqrt(abs(a))
    if superstep == 10:
        return math.floor(a) if abs(a) < 1e9 else 5
    if superstep == 11:
        return math.ceil(b) if abs(b) < 1e9 else 6
    if superstep == 12:
        return int(a) if abs(a) < 1e18 else 7
    if superstep == 13:
        return bool(a) + (a > b) + (not b)
    if superstep == 14:
        return (a < b) | (b == 2) and a != 3
    if superstep == 15:
        return math.copysign(a, b)
    if superstep == 16:
        best = a
        if a < b and not math.isnan(a):
            best = b * 2
        elif a == b or b > 100:
            return 1.0
        elif -1 < a <= b < 7:
            best += 0.25
        count = 3
        count -= 1
        return best / count if best > 0 else -best
    if superstep == 17:
        return a / b
    if superstep == 18:
        return a // b
    if superstep == 19:
        return a % b
    if superstep == 20:
        return int(a)
    if superstep == 21:
        return math.sqrt(a)
    if superstep == 22:
        return math.nan if a > b else -math.inf
    return 0.0


def wholes(a, b, superstep):
    """Of two ints."""
    if superstep == 0:
        return a + b
    if superstep == 1:
        return a - b
    if superstep == 2:
        return a * b + 3
    if superstep == 3:
        return a // b if b != 0 else 0
    if superstep == 4:
        return a % b if b != 0 else 0
    if superstep == 5:
        return -a
    if superstep == 6:
        return ~a & b | (a ^ 12) ^ (a > b)
    if superstep == 7:
        return min(a, b) - max(a, 3)
    if superstep == 8:
        return abs(a)
    if superstep == 9:
        return int(a / b) if b != 0 else 0
    if superstep == 10:
        return int(a * 0.1) + (a > b)
    if superstep == 11:
        return a // 0 + a % 0
    if superstep == 12:
        return int(a * 1e300) if b > 0 else int(a * -1e300)
    if superstep == 13:
        return int(math.inf - math.inf)
    if superstep == 14:
        return (a + 1 > a) + 2 * (a - 1 < a)
    if superstep == 15:
        return abs(a) * 2 // 2
    if superstep == 16:
        return a // (b * b)
    return 0


def translated(function: Callable[..., Any], kind: str) -> FunctionText:
    return written("edge", function, {"first": kind, "second": kind}, {"result": kind})


LOOP = """
from graphtide.gpu_core.jit.compile import compiled


@compiled
def fill(first, second, results):
    for number in range(results.shape[0]):
        for i in range(first.size):
            results[number, i] = compute(first[i], second[i], 0, number, 0, 0.0)
"""


def on_host(
    function: FunctionText, count: int, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    body = python_text("compute", function, 2)
    text = f"from {program_operations.__name__} import *\n{body}{LOOP}"
    name = f"test_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    found = np.empty((count, first.size), first.dtype)
    module_of_text(name, text).fill(first, second, found)
    return found


def on_device(
    device: Any, function: FunctionText, count: int, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    c_type = "f64" if first.dtype == np.float64 else "i64"
    # A device keeps what it has compiled of a name.
    source = f"function-{hashlib.sha256(function.c.encode()).hexdigest()[:16]}.cu"
    add_text(
        source,
        f"""#include "program_operations.cuh"
        {function_text("function", c_type, function, (c_type, c_type))}
        extern "C" __global__ void __launch_bounds__(32) compute(
                const {c_type}* first, const {c_type}* second, i64 size, i64 count,
                {c_type}* results) {{
            for (i64 i = thread_of_grid(); i < size; i += threads_of_grid()) {{
                for (i64 number = 0; number < count; ++number) {{
                    results[number * size + i] = function(first[i], second[i], 0, number, 0, 0.0);
                }}
            }}
        }}""",
    )
    found = device.empty(count * first.size, first.dtype)
    device.launch(
        source, "compute", 2, 32, device.to_device(first), device.to_device(second),
        np.int64(first.size), np.int64(count), found,
    )  # fmt: skip
    return device.to_host(found).reshape(count, -1)


def pairs(numbers: list[Any], dtype: type) -> tuple[np.ndarray, np.ndarray]:
    both = np.array([(a, b) for a in numbers for b in numbers], dtype)
    return both[:, 0].copy(), both[:, 1].copy()


NUMBERS = [0.0, 1.0, -1.0, 2.0, 0.1, -0.3, 7.5, -7.5, 3.0, 123456.789, -1e300, 5e-324]
ODD_NUMBERS = [*NUMBERS, -0.0, math.inf, -math.inf, math.nan, 2.0**63, -(2.0**63), 2.0**64]
WHOLE_NUMBERS = [0, 1, -1, 2, 3, -3, 7, -12, 1000003, -(10**9)]
ODD_WHOLES = [*WHOLE_NUMBERS, 2**63 - 1, -(2**63), -(2**63) + 1, 2**32]


@pytest.mark.everyday
@pytest.mark.parametrize(
    ("function", "kind", "numbers", "odd"),
    [(reals, REAL, NUMBERS, ODD_NUMBERS), (wholes, WHOLE, WHOLE_NUMBERS, ODD_WHOLES)],
    ids=["floats", "ints"],
)
def test_functions_compute_what_python_does_and_the_same_on_both_engines(
    device: Any, function: Callable[..., Any], kind: str, numbers: list[Any], odd: list[Any]
) -> None:
    dtype = np.float64 if kind == REAL else np.int64
    text, count = translated(function, kind), COUNTS[function.__name__]
    first, second = pairs(numbers, dtype)
    found = on_host(text, count, first, second)
    for number in range(KNOWN[function.__name__]):
        given = zip(first.tolist(), second.tolist(), strict=True)
        expected = [function(*pair, number) for pair in given]
        assert found[number].tolist() == [dtype(each) for each in expected], number
    first, second = pairs(odd, dtype)
    one = on_host(text, count, first, second)
    other = on_device(device, text, count, first, second)
    assert np.array_equal(np.isnan(one), np.isnan(other))
    known = ~np.isnan(one)
    assert np.array_equal(one.view(np.int64)[known], other.view(np.int64)[known])


def test_what_python_refuses_has_a_meaning(device: Any) -> None:
    first, second = pairs([*NUMBERS, math.inf], np.float64)
    found = on_device(device, translated(reals, REAL), COUNTS["reals"], first, second)
    beyond = found[KNOWN["reals"] :]
    by_pair = {pair: beyond[:, i] for i, pair in enumerate(zip(first, second, strict=True))}
    assert by_pair[1.0, 0.0][0] == math.inf
    assert np.isnan(by_pair[1.0, 0.0][1:3]).all()
    assert by_pair[math.inf, 1.0][3] == 2.0**63
    assert math.isnan(by_pair[-1.0, 1.0][4])
    first, second = pairs(ODD_WHOLES, np.int64)
    found = on_device(device, translated(wholes, WHOLE), COUNTS["wholes"], first, second)
    beyond = found[KNOWN["wholes"] :]
    assert not beyond[0].any(), "by 0 there is nothing, and nothing is left"
    assert not beyond[2].any(), "no number is 0"
    on_both = on_host(translated(wholes, WHOLE), COUNTS["wholes"], first, second)
    assert np.array_equal(on_both[KNOWN["wholes"] :], beyond)
    by_pair = {pair: beyond[:, i] for i, pair in enumerate(zip(first, second, strict=True))}
    assert by_pair[2**63 - 1, 0][3] == 2, "whole numbers wrap around"
    assert by_pair[-(2**63), 0][3] == 1
    assert by_pair[7, 2**32][5] == 0, "by a product that has become 0"


def signs(a, b, superstep):
    """Of numbers that are nan, by the processor or by the compiler, and of some that are not."""
    if superstep == 0:
        return math.copysign(1.5, a * b)
    if superstep == 1:
        return math.copysign(-1.5, a - b)
    if superstep == 2:
        return math.copysign(1.5, -(a - b))
    if superstep == 3:
        return math.copysign(1.5, 0.0 * (1e10 / 0.0))
    if superstep == 4:
        return math.copysign(1.5, math.nan) + math.copysign(0.25, -math.nan)
    if superstep == 5:
        return math.copysign(1.5, math.copysign(a, -1.0))
    return math.copysign(-1.5, a)


def test_the_sign_of_a_nan_does_not_show(device: Any) -> None:
    first = np.array([0.0, math.inf, math.nan, -math.nan, -0.0, -2.0, 2.0])
    second = np.array([math.inf, math.inf, 1.0, 1.0, 3.0, 3.0, 3.0])
    text = written("edge", signs, {"first": REAL, "second": REAL}, {"result": REAL})
    expected = [
        [1.5, 1.5, 1.5, 1.5, -1.5, -1.5, 1.5],
        [-1.5, 1.5, 1.5, 1.5, -1.5, -1.5, -1.5],
        [1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5],
        [1.5] * 7,
        [1.75] * 7,
        [-1.5, -1.5, 1.5, 1.5, -1.5, -1.5, -1.5],
        [1.5, 1.5, 1.5, 1.5, -1.5, -1.5, 1.5],
    ]
    for found in (
        on_host(text, len(expected), first, second),
        on_device(device, text, len(expected), first, second),
    ):
        assert found.tolist() == expected
