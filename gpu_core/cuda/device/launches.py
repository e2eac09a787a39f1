"""Binary list of launches: writers and the compiled call that starts them and waits for the last.

Python takes several microseconds to start a kernel, and many more where its own code and data are
out of the processor's caches, as they are for a batch that comes after other work. So what a batch
is to launch is written down by compiled code (`batch_launches.py`), and compiled code calls the
driver: nothing of Python runs between the first launch and the end of the last one.

Words of a list
---------------
A list is int64 words: the number of launches, and then `LAUNCH_WORDS` for each::

    kernel | bytes of the arguments | ``extra`` (5) | configuration (7) | attribute (9) | arguments

``kernel`` is what `device.Device.kernel` returned; the rest is as ``cuLaunchKernelEx`` takes it.
``extra`` points at the arguments and at their size (``CU_LAUNCH_PARAM_BUFFER_POINTER``), and the
configuration (``CUlaunchConfig``) at the attribute, all in the words of the same launch, so a list
must not be moved.

Launches that overlap
---------------------
The attribute is that of *programmatic dependent launch*: a kernel may be started while the one
before is still at work, so that it is resident on the multiprocessors when that ends. Every
kernel of a list therefore begins with a wait (``follow_previous_launch`` of ``image.cuh``), and
touches nothing that another one writes before it. The first launch of a list waits for all work
before; so does one that `begin_after_all` is called for.

Some kernels run *beside* the launch before: that one waits, and only then lets the next one begin
(``follow_and_lead``), so that all work before the two has ended. What follows them waits for both,
since the second of them does not end before the first.
"""

import ctypes
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...jit.compile import compiled, inlined

Int64s = npt.NDArray[np.int64]

LAUNCH_WORDS: Final = 80
#: Launches of a list at most, and words of a list.
MOST_LAUNCHES: Final = 64
LIST_WORDS: Final = 1 + MOST_LAUNCHES * LAUNCH_WORDS

_SIZE: Final = 1
_EXTRA: Final = 2
_CONFIGURATION: Final = 7
_ATTRIBUTE: Final = 14
_ARGUMENTS: Final = 23

#: Of ``extra``: what follows is the address of the arguments, and of their size.
_BUFFER_POINTER: Final = 1
_BUFFER_SIZE: Final = 2

#: Words of the configuration: two sizes of the grid or of a block in each of the first three, no
#: shared memory, the stream, the attributes and how many.
_GRID_X: Final = _CONFIGURATION
_BLOCK_X: Final = _CONFIGURATION + 1
_BLOCK_YZ: Final = _CONFIGURATION + 2
_SHARED_BYTES: Final = _CONFIGURATION + 3
_STREAM: Final = _CONFIGURATION + 4
_ATTRIBUTES: Final = _CONFIGURATION + 5
_ATTRIBUTE_COUNT: Final = _CONFIGURATION + 6
#: A size of 1 in the upper half of a word.
_UPPER_ONE: Final = 1 << 32
#: ``CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION``
_OVERLAPPING: Final = 6


def empty_list() -> Int64s:
    """Make a list of no launches, with room for `MOST_LAUNCHES`."""
    launches = np.empty(LIST_WORDS, np.int64)
    launches[0] = 0
    return launches


class Launch(NamedTuple):
    """One launch, as an emulated device and tests read it."""

    kernel: int
    blocks: int
    threads: int
    arguments: bytes
    #: Whether it may be started while the one before is at work, on a device that can.
    overlaps: bool


def launches_in(launches: Int64s) -> Iterator[Launch]:
    """Read a list."""
    for words in launches[1:].reshape(-1, LAUNCH_WORDS)[: int(launches[0])]:
        kernel, size = words[:_EXTRA].tolist()
        blocks, threads = int(words[_GRID_X]) % _UPPER_ONE, int(words[_BLOCK_X]) // _UPPER_ONE
        overlaps = bool(words[_ATTRIBUTE_COUNT])
        yield Launch(kernel, blocks, threads, words[_ARGUMENTS:].tobytes()[:size], overlaps)


@compiled
def copy_words(target, source):
    """Copy all of ``source`` to the beginning of ``target``; both int64[].

    Compiled, because that is called already and so in the caches, unlike what NumPy would do.
    """
    for number in range(source.size):
        target[number] = source[number]


@inlined
def clear_words(words):
    """Set all of int64[] to 0.

    An assignment to a slice would bring in messages about shapes, which take seconds to compile.
    """
    for number in range(words.size):
        words[number] = 0


@inlined
def begin_launch(launches, kernel, blocks, threads):
    """Open a launch; returns the position in ``launches`` where its arguments go."""
    first = 1 + launches[0] * LAUNCH_WORDS
    launches[first] = kernel
    launches[first + _GRID_X] = blocks + _UPPER_ONE
    launches[first + _BLOCK_X] = 1 + threads * _UPPER_ONE
    launches[first + _BLOCK_YZ] = 1 + _UPPER_ONE
    launches[first + _SHARED_BYTES] = 0
    launches[first + _ATTRIBUTE_COUNT] = 1
    return first + _ARGUMENTS


@inlined
def begin_after_all(launches, number):
    """Have a launch, by its number, begin once all before it have ended.

    What comes after it may then read what was written before it, even before it waits.
    """
    launches[1 + number * LAUNCH_WORDS + _ATTRIBUTE_COUNT] = 0


@inlined
def end_launch(launches, position):
    """Close the launch, whose arguments end at ``position``."""
    first = 1 + launches[0] * LAUNCH_WORDS
    address = launches.ctypes.data + 8 * first
    extra = first + _EXTRA
    launches[first + _SIZE] = 8 * (position - first - _ARGUMENTS)
    launches[extra] = _BUFFER_POINTER
    launches[extra + 1] = address + 8 * _ARGUMENTS
    launches[extra + 2] = _BUFFER_SIZE
    launches[extra + 3] = address + 8 * _SIZE
    launches[extra + 4] = 0
    launches[first + _ATTRIBUTES] = address + 8 * _ATTRIBUTE
    launches[first + _ATTRIBUTE] = _OVERLAPPING
    launches[first + _ATTRIBUTE + 1] = 1
    launches[0] += 1


@inlined
def put_words(launches, position, words):
    """Write a tuple of integers at ``position``; returns the position after them."""
    for number in range(len(words)):
        launches[position + number] = words[number]
    return position + len(words)


@inlined
def put_array(launches, position, words):
    """Write int64[] at ``position``; returns the position after them."""
    for number in range(words.size):
        launches[position + number] = words[number]
    return position + words.size


@intrinsic
def _start_kernel(
    typing_context: Any, launch: Any, configuration: Any, kernel: Any, extra: Any
) -> Any:
    """``cuLaunchKernelEx``, which lies at ``launch``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(number, [pointer] * 4)
        at, *others = arguments
        function = builder.inttoptr(at, function_type.as_pointer())
        configuration, kernel, extra = (builder.inttoptr(each, pointer) for each in others)
        # There are two ways to give arguments: this one leaves out the list of pointers.
        code = builder.call(function, [configuration, kernel, pointer(None), extra])
        return builder.zext(code, ir.IntType(64))

    return types.int64(*[types.int64] * 4), generate


@intrinsic
def synchronize_stream(typing_context: Any, synchronize: Any, stream: Any) -> Any:
    """``cuStreamSynchronize``, which lies at ``synchronize``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(number, [pointer])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        code = builder.call(function, [builder.inttoptr(arguments[1], pointer)])
        return builder.zext(code, ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


def driver_addresses() -> tuple[int, int]:
    """Addresses of ``cuLaunchKernelEx`` and ``cuStreamSynchronize`` of this machine's driver."""
    driver = ctypes.CDLL("libcuda.so.1")
    functions = driver.cuLaunchKernelEx, driver.cuStreamSynchronize
    launch, synchronize = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in functions)
    return launch, synchronize


@compiled
def start_launches(launches, launch, stream, overlaps):
    """Start all launches of a list in their order.

    Parameters
    ----------
    launch
        Address of ``cuLaunchKernelEx``.
    stream
        Handle of the stream, which belongs to this thread's current context.
    overlaps
        1 where launches may overlap, 0 where the device has no such thing.

    Returns
    -------
    code, number : int
        The driver's answer, 0 where all went well, and the number of the launch that it is about.
    """
    attributes = 0
    for number in range(launches[0]):
        first = 1 + number * LAUNCH_WORDS
        if launches[first + _GRID_X] % _UPPER_ONE == 0:
            continue
        launches[first + _STREAM] = stream
        launches[first + _ATTRIBUTE_COUNT] &= attributes
        address = launches.ctypes.data + 8 * first
        code = _start_kernel(
            launch, address + 8 * _CONFIGURATION, launches[first], address + 8 * _EXTRA
        )
        if code != 0:
            return code, number
        attributes = overlaps
    return 0, launches[0]


@compiled
def start_written(launches, written, launch, stream, overlaps):
    """Start launches that are written one after the other, in their order.

    Parameters
    ----------
    launches
        A list; it keeps the launches of the last start.
    written
        Bytes, whole words: of each launch the kernel, blocks, threads, words of the arguments, and
        the arguments.
    launch, stream, overlaps
        As of `start_launches`.

    Returns
    -------
    code, number : int
        As of `start_launches`.
    """
    words = np.frombuffer(written, np.int64)
    launches[0] = at = 0
    while at < words.size:
        if launches[0] == MOST_LAUNCHES:
            code, number = start_launches(launches, launch, stream, overlaps)
            if code != 0:
                return code, number
            launches[0] = 0
        position = begin_launch(launches, words[at], words[at + 1], words[at + 2])
        end = at + 4 + words[at + 3]
        for word in range(at + 4, end):
            launches[position] = words[word]
            position += 1
        end_launch(launches, position)
        at = end
    return start_launches(launches, launch, stream, overlaps)


@compiled
def run_launches(launches, launch, synchronize, stream, overlaps):
    """Start all launches of a list as `start_launches`, and wait for the stream.

    ``synchronize`` is the address of ``cuStreamSynchronize``; the number of launches stands for the
    wait in what is returned.
    """
    code, number = start_launches(launches, launch, stream, overlaps)
    if code != 0:
        return code, number
    return synchronize_stream(synchronize, stream), number
