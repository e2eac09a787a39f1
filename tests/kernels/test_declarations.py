"""Structures and constants that Python reads from kernel files: as a C compiler lays them out."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from graphtide.gpu_core.cuda.device.declarations import constant, structure, word_of, words_of

HEADER = """
constexpr u32 WIDTH = 4;  // not 5
constexpr int FIRST = 0, SECOND = 0x10u, BOTH = 2 * SECOND * WIDTH;
struct Inner {
    u8 flag;
    double amount;
};
"""
SOURCE = """
#include "{header}"
/* struct Outer {{ u32 of_a_comment; }}; */
struct Outer {{
    const u32* values;
    u32 counts[WIDTH];  // by class
    u8 kind;
    Inner inner[2];
    i64 last;

    __device__ u32 total() const {{ return counts[0]; }}
}};
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Path of a kernel file with a header."""
    header, source = tmp_path / "header.cuh", tmp_path / "source.cu"
    header.write_text(HEADER)
    source.write_text(SOURCE.format(header=header))
    return str(source)


def test_a_constant_is_a_number_a_name_or_a_product(source: str) -> None:
    found = [constant(source, name) for name in ("WIDTH", "FIRST", "SECOND", "BOTH")]
    assert found == [4, 0, 16, 128]


def test_what_is_not_declared_is_refused(source: str) -> None:
    with pytest.raises(LookupError, match="no constant HEIGHT"):
        constant(source, "HEIGHT")
    with pytest.raises(LookupError, match="no structure Other"):
        structure(source, "Other")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler (g++)")
def test_a_structure_has_the_padding_of_c(source: str, tmp_path: Path) -> None:
    outer = structure(source, "Outer")
    assert outer.fields is not None
    names = ["values", "counts", "kind", "inner", "last"]
    assert list(outer.fields) == names
    asked = ", ".join(f"offsetof(Outer, {name})" for name in names)
    program = tmp_path / "offsets.cpp"
    program.write_text(
        "#include <cstddef>\n#include <cstdint>\n#include <cstdio>\n#include <initializer_list>\n"
        "#define __device__\n"
        "typedef uint8_t u8; typedef uint32_t u32; typedef int64_t i64;\n"
        f'#include "{source}"\n'
        f'int main() {{ for (size_t at : {{{asked}, sizeof(Outer)}}) printf("%zu ", at); }}\n'
    )
    subprocess.run(["g++", program, "-o", tmp_path / "offsets"], check=True)
    told = subprocess.run([tmp_path / "offsets"], check=True, capture_output=True, text=True)
    expected = [outer.fields[name][1] for name in names] + [outer.itemsize]
    assert [int(at) for at in told.stdout.split()] == expected
    assert (words_of(outer), word_of(outer, "last")) == (outer.itemsize // 8, expected[-2] // 8)
    assert outer["counts"] == np.dtype((np.uint32, 4))
