"""Functions that kernels lend arrays to: what they may not do, and who may call them."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaError

from graphtide.gpu_core.host.kernels_ahead import PARTS
from graphtide.gpu_core.host.update.commit import rewrite_rows
from graphtide.gpu_core.jit import compile as kernels
from graphtide.gpu_core.jit.compile import borrowing, compiled, inlined


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)


def called(function: Callable[..., Any]) -> Any:
    """A kernel that returns what the function does."""

    @compiled
    def kernel(array):
        return function(array)

    return kernel


def test_an_array_cannot_be_returned() -> None:
    """Nobody would count who holds it, and it would be freed while it is in use."""

    @borrowing
    def same(array):
        return array

    @borrowing
    def size_and_half(array):
        return array.size, array[: array.size // 2]

    for function in (same, size_and_half):
        kernel = called(function)
        for _ in range(2):
            with pytest.raises(TypeError, match=rf"{function.__name__} returns .*array\("):
                kernel(np.arange(8))


def test_an_array_cannot_be_made() -> None:
    @borrowing
    def doubled_sum(array):
        return (array + array).sum()

    with pytest.raises(NumbaError, match="NRT required"):
        called(doubled_sum)(np.arange(8))


@pytest.mark.parametrize("decorate", [compiled, inlined])
def test_what_it_calls_may_make_arrays(decorate: Any) -> None:
    """Though it is first compiled for a function that may not."""

    @decorate
    def sum_of_copy(array):
        return array.copy().sum()

    @borrowing
    def step(array):
        return sum_of_copy(array)

    assert called(step)(np.arange(8)) == 28
    assert sum_of_copy(np.arange(8)) == 28


def test_python_may_call_it() -> None:
    @borrowing
    def first_of(array):
        return array[0]

    kernel = called(first_of)
    for _ in range(2):
        assert first_of(np.array([7, 8])) == 7
        assert kernel(np.array([9, 8])) == 9
    assert first_of(np.array([0.5])) == 0.5


def test_python_may_call_what_another_process_has_compiled(tmp_path: Path) -> None:
    text = tmp_path / "steps.py"
    text.write_text(
        "import numpy as np\n"
        "from graphtide.gpu_core.jit.compile import borrowing, compiled\n"
        "@borrowing\n"
        "def first_of(array):\n"
        "    return array[0]\n"
        "@compiled\n"
        "def kernel(array):\n"
        "    return first_of(array)\n"
        "array = np.array([7, 8])\n"
        "print(kernel(array), first_of(array), sum(kernel.stats.cache_hits.values()))\n"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    for expected in ("7 7 0", "7 7 1"):
        ran = subprocess.run(
            [sys.executable, text], capture_output=True, text=True, env=environment, check=True
        )
        assert ran.stdout.strip() == expected


def test_no_row_counts_who_holds_an_array() -> None:
    """Counts in the loop over rows took up to half of its time, and threads fight over them."""
    signature = dict(PARTS)[rewrite_rows]
    again = numba.njit(nogil=True, error_model="numpy")(rewrite_rows.py_func)
    again.compile(signature)
    text = again.inspect_llvm(again.signatures[0])
    body = text[text.index("\ndefine ") :].partition("\n}")[0]
    blocks = re.split(r"^(?=\S+:)", body, flags=re.MULTILINE)[1:]
    counting = [block for block in blocks if re.search(r"call .*NRT_(inc|dec)ref", block)]
    assert len(counting) == 2
    assert counting[0] is blocks[0]
    assert "ptr %retptr" in counting[1]
