"""The texts that the CUDA compiler gets, and the check that no kernel spills; needs no GPU."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from graphtide.gpu_core.cuda import check
from graphtide.gpu_core.cuda.device import compile as kernel_compile
from graphtide.gpu_core.cuda.device.compile import kernel_bounds, kernel_files, kernel_source
from graphtide.gpu_core.errors import EngineError

CUDA = Path(check.__file__).parent
BLOCKS = str(Path(__file__).parents[1] / "helpers" / "kernel_blocks.cu")

SPILLS = """
extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float* in, float* out) {
    float kept[64];
    for (int i = 0; i < 64; ++i) kept[i] = in[i * 1024 + threadIdx.x];
    __syncthreads();
    for (int round = 0; round < 4; ++round)
        for (int i = 0; i < 64; ++i) kept[i] += kept[(i + 1) % 64] * kept[(i + 7) % 64];
    for (int i = 0; i < 64; ++i) out[i * 1024 + threadIdx.x] = kept[i];
}
"""


def test_a_text_is_whole_and_has_each_header_once(tmp_path: Path) -> None:
    header, kernel = tmp_path / "mine.cuh", tmp_path / "kernel.cu"
    header.write_text('#include "image.cuh"\nint of_header;\n')
    kernel.write_text(
        f'// first\n#include "{header}"\n  # include "block.cuh" // why\n'
        '#include "image.cuh"\nlast\n'
    )
    text = kernel_source(str(kernel), {"B": 2, "A": 1})
    assert text.startswith("#define A 1\n#define B 2\n")
    assert "include" not in text.replace(" includes", "")
    for once in ("struct Shape {", "struct Adjacency {", "of_header", "bool is_last_block"):
        assert text.count(once) == 1
    # Messages of the compiler name the line of the file that was written.
    before_last = text[: text.index("\nlast\n")].splitlines()
    assert before_last[-1] == f'#line 5 "{kernel}"'

    header.write_text("int other;\n")
    assert "int other;" in kernel_source(str(kernel), {}), "an edit in a header is another text"


def test_texts_are_ascii_whatever_their_comments_and_names_are(tmp_path: Path) -> None:
    """What CuPy writes in the encoding of the locale, and what NVRTC takes in names."""
    for name in kernel_files():
        assert kernel_source(name).isascii(), name
    kernel = tmp_path / "kernel.cu"
    kernel.write_text("int v_größe, v_\U0001d6fc;  // …\n", encoding="utf-8")
    assert "int v_gr\\u00f6\\u00dfe, v_\\U0001d6fc;  // \\u2026\n" in kernel_source(str(kernel))


def test_kernels_are_found_by_their_declaration() -> None:
    text = """
    extern "C" __global__ void first(int a) {}
    // extern "C" __global__ void no(int a) {}
    extern "C" __global__ __launch_bounds__(256) void second(int a) {}
    extern "C" __global__
    void __launch_bounds__(256, 2) third (int a) {}  /* extern "C" __global__ void no() */
    """
    assert kernel_bounds(text) == {"first": None, "second": "256", "third": "256, 2"}


def test_every_kernel_file_is_checked() -> None:
    files = {path.name for path in CUDA.rglob("*.cu")}
    assert {name for name, _ in kernel_compile.instantiations()} == files
    assert kernel_compile.VARIANTS.keys() <= files, "VARIANTS names a file that is not there"


def without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy.cuda", None)


def without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found() -> None:
        msg = 'Failure finding "libnvrtc.so.12":\n no such file'
        raise RuntimeError(msg)

    monkeypatch.setattr(pytest.importorskip("cupy").cuda.nvrtc, "getVersion", not_found)


@pytest.mark.parametrize("missing", [without_cupy, without_nvrtc])
def test_without_a_compiler_it_says_once_what_to_install(
    missing: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing(monkeypatch)
    assert check.main() == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert re.fullmatch(r"\*\*\* \w+.* cannot be .*; pip install -e '\.\[gpu\]' .*\n", told.err)


def test_a_file_that_is_not_there_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["pages.cuh"]) == 1
    assert "pages.cuh is no file of kernels" in capsys.readouterr().err


@pytest.mark.parametrize("architecture", check.ARCHITECTURES)
def test_the_compiler_says_what_kernels_take(architecture: str) -> None:
    pytest.importorskip("cupy")
    for defines in ({}, {"BLOCK_SIZE": 1024, "WIDE": 1, "ENTRY_WORDS": 7}):
        text = kernel_source(BLOCKS, defines)
        kernels = check.compile_kernels(text, "kernel_blocks.cu", architecture)
        assert [kernel.kernel for kernel in kernels] == list(kernel_bounds(text))
        assert all(8 < kernel.registers < 64 or kernel.kernel != "scan" for kernel in kernels)
        assert all(kernel.spill_bytes == 0 for kernel in kernels)
    (spilling,) = check.compile_kernels(SPILLS, "spills.cu", architecture)
    assert spilling.spill_bytes > 0


def test_a_kernel_that_takes_small_floats_for_0_is_at_fault() -> None:
    """As CuPy compiles it."""
    pytest.importorskip("cupy")
    body = "{ a[0] += a[1]; }"
    text = f'extern "C" __global__ void narrow(float* a) {body}\n'
    text += f'extern "C" __global__ void wide(double* a) {body}'
    narrow, wide = check.compile_kernels(text, "floats.cu", "sm_90")
    assert narrow.flushes
    assert narrow.fault is not None
    assert "narrow takes small numbers of float32 for 0" in narrow.fault
    assert not wide.flushes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('extern "C" __global__ void bad() { nothing(); }', "does not compile.*nothing"),
        ('extern "C" __global__ void idle() { int unread; unread = 3; }', "warnings.*unread"),
    ],
)
def test_faults_of_a_kernel_are_told(text: str, words: str) -> None:
    pytest.importorskip("cupy")
    with pytest.raises(EngineError, match=f"(?s){words}"):
        check.compile_kernels(text, "bad.cu", "sm_90")


def test_the_check_fails_where_a_kernel_spills(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cupy")
    (tmp_path / "spills.cu").write_text(SPILLS)
    unbound = SPILLS.replace("__launch_bounds__(1024, 2) spills", "unbound")
    (tmp_path / "unbound.cu").write_text(unbound)
    (tmp_path / "fine.cu").write_text(
        'extern "C" __global__ void fine(int* a) { *a = ENTRY_WORDS; }'
    )
    monkeypatch.setattr(
        kernel_compile, "kernel_files", lambda: {path.name: path for path in tmp_path.iterdir()}
    )
    monkeypatch.setattr(kernel_compile, "VARIANTS", {})
    assert check.main() == 1
    told = capsys.readouterr()
    for architecture in check.ARCHITECTURES:
        assert f"for {architecture}: spills spills" in told.err
        assert f"for {architecture}: unbound takes" in told.err
        for words in (1, 2, 3, 7, 8):
            assert any(
                line.split()[:4] == ["fine.cu", "fine", f"ENTRY_WORDS={words}", architecture]
                for line in told.out.splitlines()
            )
    assert "fine.cu" not in told.err
    (tmp_path / "spills.cu").unlink()
    (tmp_path / "unbound.cu").unlink()
    assert check.main() == 0
