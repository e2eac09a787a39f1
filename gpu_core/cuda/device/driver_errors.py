"""Errors of CUDA and CuPy as errors of this package."""

from collections.abc import Callable
from types import TracebackType
from typing import NoReturn

from ...errors import ArenaFullError, EngineError

INSTALL = "pip install -e '.[gpu]' in the checkout of graphtide, or pip install 'cupy-cuda12x[ctk]'"

#: Codes after which a CUDA context is of no more use, without their prefix, case and underscores.
_STICKY = {"ILLEGALADDRESS", "LAUNCHTIMEOUT", "LAUNCHFAILED", "LAUNCHFAILURE", "ASSERT",
           "HARDWARESTACKERROR", "ILLEGALINSTRUCTION", "MISALIGNEDADDRESS", "INVALIDADDRESSSPACE",
           "INVALIDPC", "ECCUNCORRECTABLE", "CONTEXTISDESTROYED", "UNKNOWN"}  # fmt: skip
_OUT_OF_MEMORY = {"OUTOFMEMORY", "MEMORYALLOCATION"}


class BrokenDeviceError(EngineError):
    """A CUDA context broke: no call of this process to its device will succeed again."""


class DeviceMemoryError(ArenaFullError):
    """The device has no such piece of memory left."""


def translated(
    error: Exception, doing: str, asked: int | None, memory: Callable[[], str]
) -> Exception:
    """The error that users see; ``error`` itself where it is none of CUDA or CuPy.

    Parameters
    ----------
    doing
        What was done, for the message.
    asked
        Bytes that were asked for, if any were.
    memory
        Text about the memory of the device, for the message.
    """
    name = type(error).__name__
    text = str(error).strip()
    # The runtime says "cudaErrorIllegalAddress: …", the driver "CUDA_ERROR_ILLEGAL_ADDRESS: …".
    code = text.partition(":")[0].upper().replace("_", "").removeprefix("CUDAERROR")
    of_cuda = name in ("CUDARuntimeError", "CUDADriverError")
    if isinstance(error, (ArenaFullError, EngineError)):  # it was said further in
        return error
    if isinstance(error, MemoryError) or (of_cuda and code in _OUT_OF_MEMORY):
        wanted = f" for {asked:,} bytes" if asked is not None else ""
        return DeviceMemoryError(
            f"CUDA out of memory{wanted} while {doing}: {memory()}; use a smaller arena or smaller "
            "batches, or free memory that other processes hold"
        )
    if of_cuda and code in _STICKY:
        return BrokenDeviceError(
            f"the CUDA device broke ({doing}: {text}) and its memory is lost: restart this process "
            "or Dask worker, and go on from the last checkpoint"
        )
    if of_cuda:
        return EngineError(f"CUDA failed ({doing}): {text}")
    if name in ("CompileException", "NVRTCError"):
        return EngineError(f"the CUDA compiler failed ({doing}): {text}")
    if isinstance(error, (ImportError, OSError, RuntimeError)):
        return EngineError(f"CUDA cannot be used ({doing}: {text}); install its parts by {INSTALL}")
    return error


class NamedErrors:
    """In here errors go through ``raise_named``; every batch enters several, so no generator."""

    __slots__ = ("_raise_named",)

    def __init__(self, raise_named: Callable[[Exception], NoReturn]) -> None:
        self._raise_named = raise_named

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            self._raise_named(error)
