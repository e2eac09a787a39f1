"""Compile every kernel in every form that the engine launches, on a machine without a GPU.

``python -m graphtide.gpu_core.cuda.check`` prints a table of registers and memory by kernel. It
fails where a kernel does not compile, where the compiler warns, where a kernel *spills*, that is,
keeps in memory what does not fit into registers, where it takes more registers than a large
block has and does not say by ``__launch_bounds__`` how large its blocks are: such a kernel may
not start at all; and where it *flushes*, that is, takes the smallest numbers of float32 for 0, as
CuPy asks the compiler to. Needs CuPy and NVRTC, no driver. Files named after it are the only ones
checked.

``instantiations`` in `compile.py` says what is compiled, `ARCHITECTURES` for which devices: the
oldest that is supported and the one that the engine was tuned on.
"""

import os
import re
import sys
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from ..errors import EngineError
from .device.compile import OPTIONS, instantiations, kernel_bounds, kernel_source
from .device.driver_errors import INSTALL

ARCHITECTURES: Final = ("sm_80", "sm_90")

#: Registers of a thread in a block of 1024, the largest: 65,536 in all.
UNBOUND_REGISTERS: Final = 64

#: Say what kernels take; say nothing of constants of a header that a kernel does not use.
_REPORTING = ("--ptxas-options=-v", "-diag-suppress=177")
#: What CuPy adds behind all options that it is given.
_BY_CUPY = ("-ftz=true",)

#: In PTX: where a kernel begins, and what marks an instruction that flushes.
_ENTRY = re.compile(r"\.entry (\w+)\(")
_FLUSHING = ".ftz"

_PROPERTIES = re.compile(
    r"Function properties for (?P<kernel>\w+)\n"
    r"\D*(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads\n"
    r"[^\n]*Used (?P<registers>\d+) registers(?P<rest>[^\n]*)"
)
_SHARED = re.compile(r"(\d+) bytes smem")


class CompiledKernel(NamedTuple):
    """The compiler's report on one kernel."""

    kernel: str
    registers: int
    #: Bytes of shared memory of a block.
    shared_bytes: int
    #: Bytes of memory that a thread has for local arrays and spilled registers.
    stack_bytes: int
    #: Bytes that instructions store or load because registers were spilled.
    spill_bytes: int
    #: What stands in its ``__launch_bounds__``.
    bounds: str | None = None
    #: Whether it takes the smallest numbers of float32 for 0.
    flushes: bool = False

    @property
    def fault(self) -> str | None:
        """Why this kernel must not stay as it is."""
        if self.spill_bytes:
            return f"{self.kernel} spills {self.spill_bytes} bytes"
        if self.bounds is None and self.registers > UNBOUND_REGISTERS:
            return f"{self.kernel} takes {self.registers} registers and has no __launch_bounds__"
        if self.flushes:
            return f"{self.kernel} takes small numbers of float32 for 0; floats.cuh does without"
        return None


def compile_kernels(source: str, name: str, architecture: str) -> list[CompiledKernel]:
    """Compile a text for an architecture (``sm_90``) and report on its kernels.

    Raises
    ------
    EngineError
        It does not compile, the compiler warns, or there is no compiler.
    """
    nvrtc = _nvrtc()
    program = nvrtc.createProgram(source, name, (), ())
    try:
        options = (f"-arch={architecture}", *OPTIONS, *_REPORTING, *_BY_CUPY)
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError as error:
            log: str = nvrtc.getProgramLog(program)
            msg = f"{name} does not compile for {architecture}:\n{_without_sizes(log)}"
            raise EngineError(msg) from error
        log = nvrtc.getProgramLog(program)
        _, *bodies = _ENTRY.split(nvrtc.getPTX(program).decode())
    finally:
        nvrtc.destroyProgram(program)
    if "warning" in log:
        msg = f"{name} compiles with warnings for {architecture}:\n{_without_sizes(log)}"
        raise EngineError(msg)

    found = {match["kernel"]: _compiled(match) for match in _PROPERTIES.finditer(log)}
    kernels = kernel_bounds(source)
    missing = kernels.keys() - found.keys()
    if missing:
        msg = f"{name}: the compiler says nothing of {', '.join(sorted(missing))}:\n{log}"
        raise EngineError(msg)
    flushing = {name: _FLUSHING in body for name, body in zip(*[iter(bodies)] * 2, strict=True)}
    return [
        found[kernel]._replace(bounds=bounds, flushes=flushing[kernel])
        for kernel, bounds in kernels.items()
    ]


def _nvrtc() -> ModuleType:
    """CuPy's module of the compiler; `EngineError` where it, or the compiler, is not there."""
    try:
        from cupy.cuda import nvrtc
    except ImportError as error:
        msg = f"CuPy cannot be imported ({error}); {INSTALL}"
        raise EngineError(msg) from error
    try:
        # The library is loaded by the first call.
        nvrtc.getVersion()
    except (RuntimeError, OSError) as error:
        found = " ".join(str(error).split())
        msg = f"NVRTC, the compiler of kernels, cannot be loaded ({found}); {INSTALL}"
        raise EngineError(msg) from error
    return nvrtc


def _without_sizes(log: str) -> str:
    return "\n".join(line for line in log.splitlines() if not line.startswith("ptxas")).strip()


def _compiled(match: re.Match[str]) -> CompiledKernel:
    shared = _SHARED.search(match["rest"])
    return CompiledKernel(
        kernel=match["kernel"],
        registers=int(match["registers"]),
        shared_bytes=int(shared[1]) if shared else 0,
        stack_bytes=int(match["stack"]),
        spill_bytes=int(match["stores"]) + int(match["loads"]),
    )


def _kernels_or_error(
    name: str, defines: dict[str, int], architecture: str
) -> list[CompiledKernel] | EngineError:
    try:
        return compile_kernels(kernel_source(name, defines), name, architecture)
    except EngineError as error:
        return error


def main(files: Collection[str] = ()) -> int:
    """Print the table, of these files or of all; 1 if anything is wrong.

    Files are named by their path or by their name alone. A header is no file that is compiled.
    """
    files = [Path(file).name for file in files]
    known = {name for name, _ in instantiations()}
    faults = [f"{file} is no file of kernels" for file in files if file not in known]
    asked = [
        (name, defines, architecture)
        for name, defines in instantiations()
        if not files or name in files
        for architecture in ARCHITECTURES
    ]
    try:
        if asked:
            _nvrtc()
    except EngineError as error:
        print(f"*** {error}", file=sys.stderr)
        return 1
    print(f"{'file':<36}{'kernel':<32}{'with':<24}{'for':<8}registers  shared  stack  spill")
    # The compiler works without the interpreter's lock.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        compiled = pool.map(lambda form: _kernels_or_error(*form), asked)
        for (name, defines, architecture), kernels in zip(asked, compiled, strict=True):
            form = " ".join(f"{macro}={value}" for macro, value in defines.items())
            if isinstance(kernels, EngineError):
                faults.append(f"{form} {kernels}".strip())
                continue
            for kernel in kernels:
                print(
                    f"{name:<36}{kernel.kernel:<32}{form:<24}{architecture:<8}"
                    f"{kernel.registers:>9}{kernel.shared_bytes:>8}{kernel.stack_bytes:>7}"
                    f"{kernel.spill_bytes:>7}"
                )
                if kernel.fault:
                    faults.append(f"{name} {form} for {architecture}: {kernel.fault}")
    for fault in faults:
        print(f"\n*** {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
