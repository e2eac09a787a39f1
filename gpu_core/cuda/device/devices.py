"""The CUDA devices of this machine: one `Device` for each ordinal."""

import ctypes
import sys
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType

from ...errors import EngineError
from .context import cupy_module
from .device import Device

#: Devices that were asked for, by ordinal. Tests put others in their place.
_devices: dict[int, Device] = {}


def open_device(ordinal: int | None = None) -> Device:
    """Return the `Device` of an ordinal, the same one for every call.

    Parameters
    ----------
    ordinal
        Its number among the devices that CUDA counts; `None`: CuPy's current device, which is 0
        where no other one was chosen.

    Raises
    ------
    EngineError
        There is no such device that can be used; the text says what was found and what to do.
    """
    if ordinal is None:
        ordinal = _current_ordinal()
    if ordinal not in _devices:
        count, why = _device_count(cupy_module())
        if count == 0:
            msg = (
                f"no GPU: {why}; use engine='host', or engine='auto' without a device, which takes "
                f"what is there"
            )
            raise EngineError(msg)
        if not 0 <= ordinal < count:
            known = "0" if count == 1 else f"0 to {count - 1}"
            msg = f"device={ordinal} is not there: CUDA counts {count}; use {known}"
            raise EngineError(msg)
        _devices[ordinal] = Device(ordinal)
    return _devices[ordinal]


def broken_device() -> str | None:
    """Why this process cannot use a device that it has opened; None where all are well."""
    return next((each.broken for each in _devices.values() if each.broken is not None), None)


def cuda_available() -> bool:
    """Whether there is CuPy and a device. Opens no context."""
    if _devices:
        return True
    # CuPy takes 0.2 s to import: on a machine without a GPU that is done for nothing.
    if "cupy" not in sys.modules and not _has_driver():
        return False
    try:
        return _device_count(cupy_module())[0] > 0
    except EngineError:
        return False


def cuda_likely() -> bool:
    """As `cuda_available`, without importing CuPy: it may still not work with this driver."""
    if _devices or "cupy" in sys.modules:
        return cuda_available()
    count = ctypes.c_int()
    with suppress(OSError, AttributeError):
        driver = _driver()
        driver.cuInit(0)
        driver.cuDeviceGetCount(ctypes.byref(count))
    return count.value > 0 and find_spec("cupy") is not None


def _driver() -> ctypes.CDLL:
    """NVIDIA's driver: the library by which CUDA, too, looks for it; OSError where it is not."""
    return ctypes.CDLL("libcuda.so.1")


def _has_driver() -> bool:
    """Whether that library is there."""
    try:
        _driver()
    except OSError:
        return False
    return True


def _current_ordinal() -> int:
    """Ordinal of the current device; 0 where CUDA does not answer."""
    if _devices and not any(hasattr(each.xp, "cuda") for each in _devices.values()):
        # No CUDA at all, as in tests.
        return min(_devices)
    try:
        return int(cupy_module().cuda.runtime.getDevice())
    except EngineError:
        raise
    except Exception:
        return 0


def _device_count(cupy: ModuleType) -> tuple[int, str]:
    """Devices that CUDA counts, and why there are none."""
    runtime = cupy.cuda.runtime
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        driver = int(runtime.driverGetVersion())
        if driver == 0:
            return 0, "no NVIDIA driver is loaded"
        built = int(runtime.runtimeGetVersion())
        text = str(error).strip()
        return 0, f"{text} (driver for CUDA {_version(driver)}, CuPy for CUDA {_version(built)})"
    return count, "" if count else "CUDA counts no device (see CUDA_VISIBLE_DEVICES)"


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
