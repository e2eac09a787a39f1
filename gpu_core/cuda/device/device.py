"""One CUDA device: `Device`, which launches kernels, and makes and copies arrays.

Engine code gets arrays and launches kernels through a `Device`; tests substitute an emulated one
with the same interface.

A process may use several devices, each known by its ordinal among those that CUDA counts (see
``CUDA_VISIBLE_DEVICES``). A `Device` has its kernels and memory. Its calls make it the current
device of their thread; code that must leave the caller's device current holds the engine's lock
(`stream.py`), or enters `Device.current`.

Not here: its threads and errors (`context.py`), its arrays (`arrays.py`), which devices there are
(`devices.py`), the text of a kernel (`compile.py`), how its arguments are packed
(`prepared_launch.py`), and what CUDA's errors mean (`driver_errors.py`).
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .arrays import Array, DeviceArrays
from .compile import OPTIONS, kernel_source
from .launches import (
    driver_addresses,
    launches_in,
    run_launches,
    start_launches,
    start_written,
)
from .modules import Defines, KernelFile, Modules
from .prepared_launch import PackedLaunch, PreparedLaunch

__all__ = ["Array", "Device"]

#: ``CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`` and ``…_MAX_DYNAMIC_SHARED_SIZE_BYTES``.
_SHARED_BYTES, _MOST_SHARED_BYTES = 1, 8

_NO_DEFINES: Mapping[str, int] = MappingProxyType({})


class Device(DeviceArrays):
    """One CUDA device, through CuPy. Made by `open_device`.

    Parameters
    ----------
    ordinal
        Its number among the devices that CUDA counts, from 0.
    """

    def __init__(self, ordinal: int = 0) -> None:
        super().__init__(ordinal)
        self._modules = Modules(self._compiled)
        #: Handles that `kernel` has returned, and what they are called in messages.
        self._handles: dict[tuple[str, str, tuple[tuple[str, int], ...]], int] = {}
        self._kernels: dict[int, str] = {}
        #: Bytes of dynamic shared memory that the driver allows a kernel, by its handle.
        self._allowed_bytes: dict[int, int] = {}
        self._lock = threading.Lock()

    @cached_property
    def entry_points(self) -> tuple[int, int]:
        """Addresses of the driver's functions that compiled code calls."""
        with self.errors_named("opening the driver"):
            return driver_addresses()

    def enter(self) -> tuple[int, int]:
        """Open the device, which is current already, in this thread; returns `entry_points`."""
        if self.broken is not None or not hasattr(self._thread, "state"):
            self._enter()
        return self.entry_points

    def launch(
        self,
        source: str,
        kernel: str,
        blocks: int,
        threads: int,
        *arguments: Any,
        defines: Mapping[str, int] = _NO_DEFINES,
    ) -> None:
        """Start a kernel on the current stream; no launch where ``blocks`` is 0.

        Parameters
        ----------
        source, kernel
            Name of a kernel file, as `compile.kernel_source` takes it, and of a kernel in it.
        blocks, threads
            Sizes of the grid and of a block, both one-dimensional.
        arguments
            Arrays of the device (a pointer; null for an empty one and for ``None``), NumPy scalars
            (exactly the C type) and 0-d structured arrays (a struct by value).
        defines
            Macros that the file is compiled with.

        Raises
        ------
        EngineError
            The file cannot be compiled, or the device broke.
        """
        if blocks > 0:
            self.start_prepared(
                self.prepared(source, kernel, *arguments, defines=defines), blocks, threads
            )

    def prepared(
        self, source: str, kernel: str, *arguments: Any, defines: Mapping[str, int] = _NO_DEFINES
    ) -> PackedLaunch:
        """A kernel with its arguments, see `launch`, for `start_prepared`.

        It is this thread's, until that prepares the kernel with others of the same types.
        """
        prepared = self._enter().prepared
        key = (source, kernel, *map(type, arguments), *defines.items())
        launch: PreparedLaunch | None = prepared.get(key)
        if launch is None:
            function = self.kernel(source, kernel, tuple(defines.items()))
            launch = prepared[key] = PreparedLaunch(function, arguments, self.xp.ndarray)
        launch.pack(arguments)
        return launch

    def start_prepared(
        self, launch: PackedLaunch, blocks: int, threads: int, shared_bytes: int = 0
    ) -> None:
        """Start a kernel that is prepared on the current stream, once more if it was before.

        No launch where ``blocks`` is 0.
        """
        if blocks == 0:
            return
        try:
            if shared_bytes > launch.shared_bytes:
                launch.shared_bytes = self._allow_shared_bytes(launch.function, shared_bytes)
            self._driver.launchKernel(
                launch.function, blocks, 1, 1, threads, 1, 1, shared_bytes,
                self.stream, 0, launch.extra,
            )  # fmt: skip
        except Exception as error:
            self._raise_named(self._kernels[launch.function], error)

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
        """Start a kernel as `launch` does, with arguments that are packed already.

        Parameters
        ----------
        arguments
            All of them in their order: addresses, 8-byte integers, and structs by value that are
            aligned to 8 bytes. The kernel takes no others, so nothing lies between them.
        defines
            As for `launch`: pairs of a macro and its value.
        shared_bytes
            Bytes of shared memory that a block has beside what the kernel declares.
        """
        if blocks > 0:
            launch = self._packed(source, kernel, arguments, defines)
            self.start_prepared(launch, blocks, threads, shared_bytes)

    def launch_together(
        self, source: str, kernel: str, blocks_each: int, threads: int, argument: bytes
    ) -> None:
        """Start a kernel whose blocks are all at work at the same time, so they may wait.

        Parameters
        ----------
        blocks_each
            Blocks a multiprocessor at most: fewer are started where no more find room.
        argument
            The kernel has one, a struct of 8-byte fields by value.

        Other parameters and what is raised are those of `launch_packed`.
        """
        launch = self._packed(source, kernel, argument)
        try:
            if not launch.blocks_each:
                launch.blocks_each = self._driver.occupancyMaxActiveBlocksPerMultiprocessor(
                    launch.function, threads, 0
                )
            blocks = min(launch.blocks_each, blocks_each) * self.multiprocessors
            self._driver.launchCooperativeKernel(
                launch.function, blocks, 1, 1, threads, 1, 1, 0,
                self.stream, launch.parameters,
            )  # fmt: skip
        except Exception as error:
            self._raise_named(self._kernels[launch.function], error)

    def _packed(
        self, source: str, kernel: str, arguments: bytes, defines: tuple[tuple[str, int], ...] = ()
    ) -> PackedLaunch:
        """Have this thread's launch of a kernel, with these arguments."""
        prepared = self._enter().prepared
        try:
            launch: PackedLaunch = prepared[source, kernel, defines]
        except KeyError:
            function = self.kernel(source, kernel, defines)
            launch = prepared[source, kernel, defines] = PackedLaunch(function, len(arguments))
        launch.arguments[:] = arguments
        return launch

    def _allow_shared_bytes(self, function: int, wanted: int) -> int:
        """Have a kernel's blocks allowed so much dynamic shared memory; returns what they may have.

        The driver keeps one number a kernel for all threads, which must never become smaller.
        """
        with self._lock:
            allowed = self._allowed_bytes.get(function, 0)
            if wanted > allowed:
                self._driver.funcSetAttribute(function, _MOST_SHARED_BYTES, wanted)
                self._allowed_bytes[function] = allowed = wanted
            return allowed

    def dynamic_shared_bytes(self, source: str, kernel: str) -> int:
        """Bytes of shared memory that a block of a kernel may have beside what it declares."""
        function = self.kernel(source, kernel)
        return self.shared_bytes - int(self._driver.funcGetAttribute(_SHARED_BYTES, function))

    def kernel(self, source: str, kernel: str, defines: tuple[tuple[str, int], ...] = ()) -> int:
        """Handle of a kernel, for any thread; its file is compiled where that is new."""
        self._enter()
        handle = self._handles.get((source, kernel, defines))
        if handle is None:
            handle = self._function(source, kernel, tuple(sorted(defines)))
            self._handles[source, kernel, defines] = handle
            self._kernels[handle] = f"kernel {kernel} of {source}"
        return handle

    def run(self, launches: npt.NDArray[np.int64]) -> None:
        """Start all launches of a list (`launches.py`) on the current stream, and wait for it."""
        self._check(launches, run_launches(launches, *self.enter(), self.stream, self.overlaps))

    def launch_list(self) -> npt.NDArray[np.int64]:
        """A list for launches that are started next; each thread has one."""
        return self._enter().launches

    def start(self, launches: npt.NDArray[np.int64]) -> None:
        """Start all launches of a list on the current stream."""
        launch, _ = self.enter()
        self._check(launches, start_launches(launches, launch, self.stream, self.overlaps))

    def start_written(self, written: bytes) -> None:
        """Start launches that `launch_list.Launches` has written, on the current stream."""
        launches = self.launch_list()
        launch, _ = self.entry_points
        self._check(launches, start_written(launches, written, launch, self.stream, self.overlaps))

    def _check(self, launches: npt.NDArray[np.int64], answer: tuple[int, int]) -> None:
        """Refuse the answer of a call that started launches of a list, if it is an error."""
        code, number = answer
        if code:
            self.refuse(launches, code, number)

    def refuse(self, launches: npt.NDArray[np.int64], code: int, number: int) -> NoReturn:
        """Raise the driver's error of a launch of a list, or of the wait after them."""
        named = [self._kernels[launch.kernel] for launch in launches_in(launches)]
        doing = [*named, "waiting for the device"][number]
        self._raise_named(doing, self._driver.CUDADriverError(code))

    def compile_ahead(self, files: Iterable[KernelFile]) -> None:
        """Begin to compile kernel files that will be launched, in threads of their own.

        Returns at once; `kernel` waits for the file that it needs, and raises what is wrong with
        it.
        """
        self._modules.compile_ahead(files)

    def rehearse(self, work: "Callable[[Device], None]") -> None:
        """Begin with work that has CuPy compile kernels of its own, in a thread and on a stream."""
        cuda: Any = getattr(self.xp, "cuda", None)

        def do() -> None:
            self._enter()
            with cuda.Stream(non_blocking=True):
                work(self)

        if cuda is not None:
            self._modules.do_ahead(do)

    def _function(self, source: str, kernel: str, defines: Defines) -> int:
        """Handle of a kernel; its file is compiled where that is new."""
        with self.errors_named(f"compiling {source}"):
            module = self._modules.module((source, defines))
            with self._lock:
                function: int = module.get_function(kernel).kernel.ptr
            return function

    def _compiled(self, file: KernelFile) -> Any:
        """Compile a kernel file; what CuPy has on disk is loaded."""
        self._enter()
        source, defines = file
        text = kernel_source(source, dict(defines))
        module = self.xp.RawModule(code=text, options=OPTIONS, backend="nvrtc")
        # Only this compiles it.
        _ = module.module
        return module
