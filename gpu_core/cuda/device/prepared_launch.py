"""Arguments of a kernel as the bytes that the driver takes.

The kernels of a batch take tens of microseconds together, so a launch must not cost what a general
one costs in Python. Arguments go to the driver as one buffer with the layout of a C struct
(``CU_LAUNCH_PARAM_BUFFER_POINTER``), whose size it checks against what the kernel takes. There are
two ways to fill it:

`PreparedLaunch`   from arguments of any type; how they are packed is worked out once for a kernel
                   and the types of its arguments
`PackedLaunch`     from bytes that the caller has packed: kernels that every batch takes have
                   arguments of whole 8-byte words (`packed_arguments.py`)
"""

import ctypes
import struct
from typing import Any

import numpy as np

#: Codes of struct by kind and bytes of a NumPy type.
_CODES = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I",
          "i8": "q", "u8": "Q", "f4": "f", "f8": "d"}  # fmt: skip


class PackedLaunch:
    """Launches of one kernel with arguments of so many bytes; one thread's.

    The driver copies the arguments before a launch returns.
    """

    def __init__(self, function: int, size: int) -> None:
        #: Handle of the kernel.
        self.function = function
        #: Bytes of dynamic shared memory that the driver is known to allow.
        self.shared_bytes = 0
        #: Blocks a multiprocessor that can be at work together; 0: not known yet.
        self.blocks_each = 0
        self._buffer = ctypes.create_string_buffer(max(size, 1))
        self._size = ctypes.c_size_t(size)
        # CU_LAUNCH_PARAM_BUFFER_POINTER, the buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, its size, end.
        self._extra = (ctypes.c_void_p * 5)(
            1, ctypes.addressof(self._buffer), 2, ctypes.addressof(self._size), 0
        )
        #: Address of what the driver takes for the arguments.
        self.extra = ctypes.addressof(self._extra)
        self._parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self._buffer))
        #: The same of a kernel of one argument, where the driver takes a list of pointers alone.
        self.parameters = ctypes.addressof(self._parameters)
        #: The bytes of the arguments, to be written.
        self.arguments = memoryview(self._buffer).cast("B")[:size]


class PreparedLaunch(PackedLaunch):
    """Launches of one kernel with arguments of certain types; one thread's."""

    def __init__(self, function: int, arguments: tuple[Any, ...], array_type: type) -> None:
        self._arrays: list[int] = []
        self._nones: list[int] = []
        self._structs: list[int] = []
        codes = []
        for number, argument in enumerate(arguments):
            if isinstance(argument, array_type):
                self._arrays.append(number)
                codes.append("P")
            elif argument is None:
                self._nones.append(number)
                codes.append("P")
            elif isinstance(argument, np.ndarray) and argument.ndim == 0:
                self._structs.append(number)
                # Structs of this package consist of 8-byte fields.
                codes.append(f"0q{argument.nbytes}s")
            else:
                codes.append(_scalar_code(argument))
        layout = struct.Struct("@" + "".join(codes))
        self._pack_into = layout.pack_into
        super().__init__(function, layout.size)

    def pack(self, arguments: tuple[Any, ...]) -> None:
        """Put the arguments in their places."""
        values = list(arguments)
        for number in self._arrays:
            array = values[number]
            values[number] = array.data.ptr if array.size else 0
        for number in self._nones:
            values[number] = 0
        for number in self._structs:
            values[number] = values[number].tobytes()
        self._pack_into(self.arguments, 0, *values)


def _scalar_code(argument: Any) -> str:
    if isinstance(argument, np.generic):
        code = _CODES.get(f"{argument.dtype.kind}{argument.dtype.itemsize}")
        if code:
            return code
    msg = f"a kernel takes arrays, NumPy scalars and 0-d structs, not {type(argument).__name__}"
    raise TypeError(msg)
