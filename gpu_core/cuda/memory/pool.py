"""CuPy's pool of device memory: what is free, and what of it is given back to the device.

CuPy keeps what is freed, for arrays to come. Other processes, and other libraries of this one, do
not get it before it is given back.
"""

from typing import Final

from ..device.device import Device

#: Share of the device's memory that a replaced image may leave in CuPy's pool. What the pool keeps
#: serves the batches to come; to give 700 MB back takes the driver 1.7 ms, then it is asked again.
_KEPT_SHARE: Final = 1 / 64
#: The same while there are epochs, of memory that closed ones have left to the next.
_KEPT_BESIDE_EPOCHS: Final = 1 / 16


def free_bytes(device: Device) -> int:
    """Bytes of device memory that are free, or that CuPy's pool holds and does not use."""
    cuda = getattr(device.xp, "cuda", None)
    if cuda is None:
        # No CUDA at all, as in tests.
        return 1 << 30
    free, _ = cuda.runtime.memGetInfo()
    return int(free) + int(device.xp.get_default_memory_pool().free_bytes())


def release_pool(device: Device, left_bytes: int) -> None:
    """Give unused memory of CuPy's pool back to the device, if ``left_bytes`` are many."""
    if hasattr(device.xp, "cuda") and left_bytes > device.memory_bytes * _KEPT_SHARE:
        device.xp.get_default_memory_pool().free_all_blocks()


def release_after_epoch(device: Device, *, beside_others: bool) -> None:
    """Give what CuPy's pool does not use back to the device, if that is much.

    ``beside_others``: other epochs are still there, so more of them are to be expected.
    """
    if not hasattr(device.xp, "cuda"):
        return
    pool = device.xp.get_default_memory_pool()
    share = _KEPT_BESIDE_EPOCHS if beside_others else _KEPT_SHARE
    if pool.free_bytes() > device.memory_bytes * share:
        pool.free_all_blocks()
