"""Launches in a list that is run by one compiled call, from the first one to the wait for the last.

Python takes several microseconds to start a kernel, and many more where its own code and data are
out of the processor's caches, as they are for a batch that comes behind other work. So what a batch
is to launch is written down by compiled code (`batch_launches.py`), and compiled code calls the
driver: nothing of Python runs between the first launch and the end of the last one.

Lines
-----
A list is int64 words: the number of launches, and then a line of `LINE_WORDS` for each::

    kernel | blocks | threads | bytes of the arguments | the driver's ``extra`` (5) | arguments

``kernel`` is what `device.Device.kernel` returned. ``extra`` points at the arguments and at their
size, in the same line (``CU_LAUNCH_PARAM_BUFFER_POINTER``), so a list stays where it was made.
"""

import ctypes
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..host.compile import compiled, inlined

Int64s = npt.NDArray[np.int64]

LINE_WORDS: Final = 64
#: Launches of a list at most.
MOST_LAUNCHES: Final = 20

_BLOCKS: Final = 1
_THREADS: Final = 2
_SIZE: Final = 3
_EXTRA: Final = 4
_ARGUMENTS: Final = 9

#: Of ``extra``: what follows is the address of the arguments, and of their size.
_BUFFER_POINTER: Final = 1
_BUFFER_SIZE: Final = 2


def empty_list() -> Int64s:
    """Make a list of no launches, with room for `MOST_LAUNCHES`."""
    lines = np.empty(1 + MOST_LAUNCHES * LINE_WORDS, np.int64)
    lines[0] = 0
    return lines


class Launch(NamedTuple):
    """One launch, as an emulated device and tests read it."""

    kernel: int
    blocks: int
    threads: int
    arguments: bytes


def launches_in(lines: Int64s) -> Iterator[Launch]:
    """Read a list."""
    for line in lines[1:].reshape(-1, LINE_WORDS)[: int(lines[0])]:
        kernel, blocks, threads, size = line[:_EXTRA].tolist()
        yield Launch(kernel, blocks, threads, line[_ARGUMENTS:].tobytes()[:size])


@compiled
def copy_words(target, source):
    """Copy all of ``source`` to the beginning of ``target``; both int64[].

    Compiled, because that is called already and so in the caches, unlike what NumPy would do.
    """
    for number in range(source.size):
        target[number] = source[number]


@inlined
def begin_launch(lines, kernel, blocks, threads):
    """Open a line; returns the place in ``lines`` where its arguments go."""
    line = 1 + lines[0] * LINE_WORDS
    lines[line] = kernel
    lines[line + _BLOCKS] = blocks
    lines[line + _THREADS] = threads
    return line + _ARGUMENTS


@inlined
def end_launch(lines, place):
    """Close the line, whose arguments end at ``place``."""
    line = 1 + lines[0] * LINE_WORDS
    address = lines.ctypes.data + 8 * line
    extra = line + _EXTRA
    lines[line + _SIZE] = 8 * (place - line - _ARGUMENTS)
    lines[extra] = _BUFFER_POINTER
    lines[extra + 1] = address + 8 * _ARGUMENTS
    lines[extra + 2] = _BUFFER_SIZE
    lines[extra + 3] = address + 8 * _SIZE
    lines[extra + 4] = 0
    lines[0] += 1


@intrinsic
def _start_kernel(
    typing_context: Any,
    launch: Any,
    kernel: Any,
    blocks: Any,
    threads: Any,
    stream: Any,
    extra: Any,
) -> Any:
    """``cuLaunchKernel``, which lies at ``launch``, with a grid and blocks of one dimension."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(number, [pointer, *[number] * 7, *[pointer] * 3])
        at, kernel, blocks, threads, stream, extra = arguments
        function = builder.inttoptr(at, function_type.as_pointer())
        kernel, stream, extra = (
            builder.inttoptr(each, pointer) for each in (kernel, stream, extra)
        )
        blocks, threads = builder.trunc(blocks, number), builder.trunc(threads, number)
        one, nothing = number(1), pointer(None)
        # The grid, a block, bytes of shared memory, the stream, and two ways to give arguments.
        sizes = [blocks, one, one, threads, one, one, number(0)]
        code = builder.call(function, [kernel, *sizes, stream, nothing, extra])
        return builder.zext(code, ir.IntType(64))

    return types.int64(*[types.int64] * 6), generate


@intrinsic
def _synchronize(typing_context: Any, synchronize: Any, stream: Any) -> Any:
    """``cuStreamSynchronize``, which lies at ``synchronize``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(number, [pointer])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        code = builder.call(function, [builder.inttoptr(arguments[1], pointer)])
        return builder.zext(code, ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


def driver_addresses() -> tuple[int, int]:
    """Addresses of ``cuLaunchKernel`` and ``cuStreamSynchronize`` of the driver of this machine."""
    driver = ctypes.CDLL("libcuda.so.1")
    functions = driver.cuLaunchKernel, driver.cuStreamSynchronize
    launch, synchronize = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in functions)
    return launch, synchronize


@compiled
def run_launches(lines, launch, synchronize, stream):
    """Start all launches of a list in their order, and wait for the stream.

    Parameters
    ----------
    launch, synchronize
        Addresses of ``cuLaunchKernel`` and ``cuStreamSynchronize``.
    stream
        Handle of the stream, which belongs to this thread's current context.

    Returns
    -------
    code, number : int
        The driver's answer, 0 where all went well, and the number of the launch that it is about;
        the number of launches for the wait.
    """
    for number in range(lines[0]):
        line = 1 + number * LINE_WORDS
        if lines[line + _BLOCKS] == 0:
            continue
        extra = lines.ctypes.data + 8 * (line + _EXTRA)
        code = _start_kernel(
            launch, lines[line], lines[line + _BLOCKS], lines[line + _THREADS], stream, extra
        )
        if code != 0:
            return code, number
    return _synchronize(synchronize, stream), lines[0]
