"""A `Device` without CUDA: NumPy arrays, and kernels compiled by g++ and run by fibers.

What CUDA would do silently or never is an error here: a wrong number of arguments, an array of
another type than the kernel's pointer, a barrier that not all threads reach, lanes that meet at
different launches. Fresh memory holds garbage. ``emulated_cuda.h`` says what is not emulated.

Environment
-----------
GRAPHTIDE_EMULATOR_SHUFFLE
    A number: blocks and threads run in an order that it seeds. A result that changes depends on
    the order of threads.
GRAPHTIDE_EMULATOR_SANITIZE
    1: kernels are compiled with the address sanitizer; start Python with its library in
    ``LD_PRELOAD`` (``g++ -print-file-name=libasan.so``).
"""

import ctypes
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from graphtide.gpu_core.cuda.device.compile import kernel_bounds, kernel_source, variants
from graphtide.gpu_core.cuda.device.launches import (
    empty_list,
    run_launches,
    start_launches,
    start_written,
)

HEADER = Path(__file__).with_name("emulated_cuda.h")
#: What is linked to every library of kernels.
FIBERS = HEADER.with_suffix(".cpp")
CACHE = Path(tempfile.gettempdir()) / f"graphtide-emulated-{os.getuid()}"

COMPILER = shutil.which("g++")

#: One launch at a time: fibers and shared memory are static.
_LOCK = threading.RLock()

#: Functions of the driver that compiled code calls.
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_size_t] * 4)
_WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t)

#: Twin of the constant of ``emulated_cuda.h``.
DYNAMIC_SHARED_BYTES = 4096
#: Shared memory of which the launch says how much.
_DYNAMIC_SHARED = re.compile(r"extern __shared__ (\w+) (\w+)\[\];")

_TRAMPOLINE = """
EMULATED_EXPORT int emulated_launch_{name}(void** arguments, unsigned blocks, unsigned threads,
                                      uint64_t seed, char* message, size_t bytes) {{
    return emulated::launch([](void** a) {{ emulated::call(&::{name}, a); }}, arguments, blocks,
                            threads, seed, message, bytes);
}}
EMULATED_EXPORT unsigned emulated_bound_{name}() {{
    return emulated::first({bounds});
}}
EMULATED_EXPORT void emulated_signature_{name}(char* text, size_t bytes) {{
    emulated::signature(&::{name}, text, bytes);
}}
"""


class EmulatedDevice:
    """Has the face of `graphtide.gpu_core.cuda.device.device.Device`."""

    xp: ModuleType = np
    multiprocessors = 2
    #: It never breaks by itself; tests say that it did.
    broken: str | None = None
    overlaps = 0
    #: Few, so that small graphs have hubs for which there is no room.
    shared_bytes = 2048 + 8 * 64
    #: Its blocks run one after another.
    meeting_blocks = 1
    stream = 0
    memory_bytes = 1 << 34

    def __init__(self, ordinal: int = 0, *, shuffle: int | None = None) -> None:
        self.ordinal = ordinal
        #: 0: blocks and threads in order, otherwise the seed of their order.
        self.shuffle = (
            int(os.environ.get("GRAPHTIDE_EMULATOR_SHUFFLE", "0")) if shuffle is None else shuffle
        )
        #: Launches so far: (source, kernel) in order.
        self.launches: list[tuple[str, str]] = []
        #: Files that were to be compiled ahead of their launches.
        self.ahead: list[tuple[str, tuple[tuple[str, int], ...]]] = []
        #: What handles of `kernel` are of.
        self._kernels: list[tuple[str, str, tuple[tuple[str, int], ...]]] = []
        #: What went wrong in a launch that compiled code has started.
        self._error: BaseException | None = None
        # Kept as long as their addresses.
        self._functions = _LAUNCH(self._launch_listed), _WAIT(lambda stream: 0)
        launch, wait = (ctypes.cast(each, ctypes.c_void_p).value for each in self._functions)
        self._entry_points = launch, wait

    def current(self) -> AbstractContextManager[None]:
        return nullcontext()

    def empty(self, count: int, dtype: Any) -> np.ndarray:
        array = np.empty(count, dtype)
        array.view(np.uint8)[:] = 0xFF if array.dtype.kind == "f" else 0xA5  # 0xFF…: not a number
        return array

    def to_device(self, array: Any) -> np.ndarray:
        return np.array(array)

    def fill_bytes(self, address: int, size: int, value: int) -> None:
        ctypes.memset(address, value, size)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return np.array(array)

    def page_locked(self, count: int, dtype: Any) -> np.ndarray:
        return np.zeros(count, dtype)

    def to_locked_host(self, array: np.ndarray) -> np.ndarray:
        return np.array(array)

    def read_words(self, array: np.ndarray) -> np.ndarray:
        return np.array(array)

    def synchronize(self) -> None:
        pass

    @contextmanager
    def errors_named(self, doing: str, asked: int | None = None) -> Iterator[None]:
        yield

    def launch(
        self,
        source: str,
        kernel: str,
        blocks: int,
        threads: int,
        *arguments: Any,
        defines: Mapping[str, int] = {},
    ) -> None:
        self._start(source, kernel, blocks, threads, arguments, tuple(defines.items()))

    def prepared(
        self, source: str, kernel: str, *arguments: Any, defines: Mapping[str, int] = {}
    ) -> tuple[Any, ...]:
        return source, kernel, arguments, defines

    def start_prepared(
        self, launch: tuple[Any, ...], blocks: int, threads: int, shared_bytes: int = 0
    ) -> None:
        assert shared_bytes == 0
        source, kernel, arguments, defines = launch
        self.launch(source, kernel, blocks, threads, *arguments, defines=defines)

    def _start(
        self,
        source: str,
        kernel: str,
        blocks: int,
        threads: int,
        arguments: tuple[Any, ...] | bytes,
        defines: tuple[tuple[str, int], ...],
    ) -> None:
        if blocks == 0:
            return
        assert 0 < blocks < 1 << 31, f"{kernel}: {blocks} blocks"
        assert 0 < threads <= 1024, f"{kernel}: {threads} threads"
        function = _kernel(source, kernel, tuple(sorted(defines)))
        assert threads <= function.bound, f"{kernel}: {threads} threads, bound {function.bound}"
        if isinstance(arguments, bytes):
            kept, pointers = function.unpacked(arguments)
        else:
            kept = _values(kernel, function.parameters, arguments)
            pointers = (ctypes.c_void_p * max(len(kept), 1))(*(v.ctypes.data for v in kept))
        message = ctypes.create_string_buffer(4096)
        with _LOCK:
            self.launches.append((source, kernel))
            failed = function.call(
                pointers, int(blocks), int(threads), ctypes.c_uint64(self.shuffle), message, 4096
            )
        if failed:
            msg = f"kernel {kernel} of {source}: {message.value.decode()}"
            raise AssertionError(msg)

    def rehearse(self, work: Callable[[Any], None]) -> None:
        """Done at once; NumPy has nothing to compile."""
        work(self)

    def compile_ahead(self, files: Iterable[tuple[str, tuple[tuple[str, int], ...]]]) -> None:
        """Nothing: g++ takes long, and a test launches few kernels."""
        self.ahead += files

    def kernel(self, source: str, kernel: str, defines: tuple[tuple[str, int], ...] = ()) -> int:
        named = source, kernel, defines
        if named not in self._kernels:
            self._kernels.append(named)
        return self._kernels.index(named)

    def enter(self) -> tuple[int, int]:
        return self._entry_points

    def run(self, launches: np.ndarray) -> None:
        self._check(launches, run_launches(launches, *self._entry_points, 0, self.overlaps))

    def launch_list(self) -> np.ndarray:
        return empty_list()

    def start(self, launches: np.ndarray) -> None:
        launch, _ = self._entry_points
        self._check(launches, start_launches(launches, launch, 0, self.overlaps))

    def start_written(self, written: bytes) -> None:
        launches = empty_list()
        launch, _ = self._entry_points
        self._check(launches, start_written(launches, written, launch, 0, self.overlaps))

    def _check(self, launches: np.ndarray, answer: tuple[int, int]) -> None:
        code, number = answer
        if code:
            self.refuse(launches, code, number)

    def refuse(self, launches: np.ndarray, code: int, number: int) -> NoReturn:
        assert self._error is not None
        error, self._error = self._error, None
        raise error

    def _launch_listed(self, configuration: int, handle: int, parameters: int, extra: int) -> int:
        """As ``cuLaunchKernelEx``."""
        blocks, _, _, threads, _, _ = (ctypes.c_uint * 6).from_address(configuration)
        _, place, _, size_at, _ = (ctypes.c_size_t * 5).from_address(extra)
        arguments = ctypes.string_at(place, ctypes.c_size_t.from_address(size_at).value)
        source, kernel, defines = self._kernels[handle]
        try:
            self._start(source, kernel, blocks, threads, arguments, defines)
        except BaseException as error:
            self._error = error
            return 1
        return 0

    def dynamic_shared_bytes(self, source: str, kernel: str) -> int:
        return self.shared_bytes

    def launch_packed(
        self,
        source: str,
        kernel: str,
        blocks: int,
        threads: int,
        arguments: bytes,
        defines: tuple[tuple[str, int], ...] = (),
        *,
        shared_bytes: int = 0,
    ) -> None:
        assert shared_bytes <= min(self.shared_bytes, DYNAMIC_SHARED_BYTES)
        self._start(source, kernel, blocks, threads, arguments, defines)

    def launch_together(
        self, source: str, kernel: str, blocks_each: int, threads: int, argument: bytes
    ) -> None:
        # Its blocks run one after another: there is one.
        self._start(source, kernel, self.meeting_blocks, threads, argument, ())


class _Kernel:
    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.name = name
        self.call = getattr(library, f"emulated_launch_{name}")
        text = ctypes.create_string_buffer(4096)
        getattr(library, f"emulated_signature_{name}")(text, ctypes.c_size_t(4096))
        #: Types of the parameters: kind and bytes (``u4``, ``f8``, ``V88``), ``*``: a pointer.
        self.parameters = text.value.decode().split()
        #: Threads of a block at most.
        self.bound: int = getattr(library, f"emulated_bound_{name}")()

    @cached_property
    def _offsets(self) -> list[int]:
        """Where packed arguments begin, and the end, as C lays them out; nothing lies between."""
        sizes = [8 if each.startswith("*") else int(each[1:]) for each in self.parameters]
        for number, (parameter, size) in enumerate(zip(self.parameters, sizes, strict=True)):
            where = f"kernel {self.name}, argument {number} ({parameter})"
            assert size % 8 == 0, f"{where}: not of 8 bytes"
        return list(accumulate(sizes, initial=0))

    def unpacked(self, arguments: bytes) -> tuple[Any, Any]:
        """Packed arguments, to be kept, and where each of them is."""
        *offsets, end = self._offsets
        told = f"kernel {self.name}: {len(arguments)} bytes of arguments"
        assert len(arguments) >= end, f"{told}, too few"
        assert len(arguments) == end, f"{told}, takes {end}"
        kept = ctypes.create_string_buffer(arguments, max(end, 1))
        first = ctypes.addressof(kept)
        return kept, (ctypes.c_void_p * max(len(offsets), 1))(*(first + at for at in offsets))


def _values(kernel: str, parameters: list[str], arguments: tuple[Any, ...]) -> list[np.ndarray]:
    """Arguments as 0-d arrays whose bytes are what the kernel takes; checked against it."""
    assert len(arguments) == len(parameters), (
        f"kernel {kernel} takes {len(parameters)} arguments ({' '.join(parameters)}), "
        f"got {len(arguments)}"
    )
    return [
        _value(f"kernel {kernel}, argument {number} ({parameter})", parameter, argument)
        for number, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True))
    ]


def _value(where: str, parameter: str, argument: Any) -> np.ndarray:
    if parameter.startswith("*"):
        if argument is None:
            return np.array(0, np.uint64)
        assert isinstance(argument, np.ndarray), f"{where}: wants an array, got {argument!r}"
        assert argument.flags.c_contiguous, f"{where}: the array is not contiguous"
        assert _same(parameter[1:], argument.dtype), f"{where}: the array is {argument.dtype}"
        address = argument.ctypes.data if argument.size else 0
        alignment = int(parameter[2:]) if parameter[1] != "V" else 4
        assert address % max(min(alignment, 8), 1) == 0, f"{where}: the array is not aligned"
        return np.array(address, np.uint64)
    assert isinstance(argument, np.generic | np.ndarray), (
        f"{where}: wants a NumPy scalar, got {argument!r}"
    )
    assert argument.ndim == 0, f"{where}: an array of {argument.ndim} dimensions"
    assert _same(parameter, argument.dtype), f"{where}: the value is {argument.dtype}"
    return np.array(argument)


def _same(parameter: str, dtype: np.dtype) -> bool:
    """Whether the bytes mean the same: signed and unsigned integers may stand for one another."""
    if parameter == "v0":
        return True
    kinds = {"u": "uib", "i": "iub", "b": "bu", "f": "f", "V": "V"}[parameter[0]]
    if parameter[0] == "V" and dtype.kind != "V":
        return False
    return dtype.kind in kinds and dtype.itemsize == int(parameter[1:])


@cache
def _kernel(source: str, kernel: str, defines: tuple[tuple[str, int], ...]) -> _Kernel:
    if not Path(source).is_absolute():
        assert dict(defines) in variants(source), (
            f"{source} with {dict(defines)} is not among the forms that the check of the kernels "
            "compiles: add it to VARIANTS in gpu_core/cuda/device/compile.py"
        )
    text = kernel_source(source, dict(defines))
    assert kernel in (names := kernel_bounds(text)), f"{source} has no {kernel}: {[*names]}"
    return _Kernel(_library(text, source), kernel)


@cache
def _library(text: str, name: str) -> ctypes.CDLL:
    """Compile a text and load it; compiled ones are kept by the hash of all that they come from."""
    sanitize = os.environ.get("GRAPHTIDE_EMULATOR_SANITIZE", "0") != "0"
    options = ["-O1", "-std=c++17", "-shared", "-fPIC", "-w", "-fno-strict-aliasing", "-fwrapv",
               "-ffp-contract=off", "-fno-ipa-reference", "-fvisibility=hidden"]  # fmt: skip
    if sanitize:
        options += ["-fsanitize=address", "-g", "-DEMULATED_SANITIZE"]
    trampolines = "".join(
        _TRAMPOLINE.format(name=kernel, bounds=bounds or 1024)
        for kernel, bounds in kernel_bounds(text).items()
    )
    text = _DYNAMIC_SHARED.sub(r"\1* const \2 = emulated::dynamic_shared<\1>();", text)
    whole = f'{text}\n#line 1 "trampolines"\n{trampolines}'
    digest = _digest(whole, HEADER.read_text(), FIBERS.read_text(), *options)
    library = CACHE / f"{Path(name).stem}-{digest}.so"
    if not library.exists():
        with _compiling(library), tempfile.TemporaryDirectory(dir=CACHE) as folder:
            if library.exists():
                return ctypes.CDLL(str(library))
            code, made = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
            code.write_text(whole)
            header, fibers = _common_parts(tuple(options))
            _run_compiler(
                *options, "-include", header, str(code), fibers, "-o", str(made), what=name
            )
            made.replace(library)
    return ctypes.CDLL(str(library))


@cache
def _common_parts(options: tuple[str, ...]) -> tuple[str, str]:
    """The header beside its compiled form, and the fibers: half of the time of most kernels."""
    texts = {path: path.read_text() for path in (HEADER, FIBERS)}
    kept = CACHE / f"common-{_digest(*texts.values(), *options)}"
    header, fibers = str(kept / HEADER.name), str(kept / "fibers.so")
    if not kept.exists():
        with _compiling(kept), tempfile.TemporaryDirectory(dir=CACHE) as folder:
            if kept.exists():
                return header, fibers
            made = Path(folder, "made")
            made.mkdir()
            for path, text in texts.items():
                (made / path.name).write_text(text)
            for source, *how in (
                (HEADER.name, "-x", "c++-header", "-o", f"{made / HEADER.name}.gch"),
                (FIBERS.name, "-o", str(made / "fibers.so")),
            ):
                _run_compiler(*options, *how, str(made / source), what=source)
            made.rename(kept)
    return header, fibers


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]


@contextmanager
def _compiling(what: Path) -> Iterator[None]:
    """Alone among the processes of this machine: others wait, and find it."""
    CACHE.mkdir(mode=0o700, exist_ok=True)
    with open(f"{what}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run_compiler(*arguments: str, what: str) -> None:
    assert COMPILER, "the emulator needs g++"
    command = [COMPILER, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        msg = f"g++ refuses {what}:\n{done.stderr[:8000]}"
        raise AssertionError(msg)
