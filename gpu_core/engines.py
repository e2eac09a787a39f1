"""Choice of the engine that works on a graph.

========  =============================================
engine    works with
========  =============================================
``host``  Numba, on all cores (`host/engine.py`)
``cuda``  CUDA C++, on one NVIDIA GPU (`cuda/engine.py`)
========  =============================================

Both have all layouts.

The one module that knows both engines. Light: no kernel is imported before an engine is made, and
asking which one it will be opens no CUDA context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .choices import one_of
from .kind import ArenaSizes, GraphKind

if TYPE_CHECKING:
    from .cuda.generators.watts_alpha import Grown
    from .engine import Engine
    from .generators.alpha_model import AlphaModel

UInt32s = npt.NDArray[np.uint32]

ENGINES = ("auto", "host", "cuda")


def resolve_engine(name: str) -> str:
    """Return the engine that ``name`` means on this machine: ``host`` or ``cuda``.

    Raises
    ------
    EngineError
        The engine cannot be had here.
    SettingsError
        There is no engine of this name.
    """
    one_of("engine", name, ENGINES)
    if name == "host":
        return name
    from .cuda.device.devices import cuda_available, open_device

    if name == "auto":
        return "cuda" if cuda_available() else "host"
    if not cuda_available():
        # It says why there is none.
        open_device()
    return name


def likely_engine(name: str) -> str:
    """As `resolve_engine`, but CuPy, which takes 0.15 s, is not imported where there is a GPU.

    So if CuPy cannot use this GPU, the error comes when the graph is made.
    """
    from .cuda.device.devices import cuda_likely

    return "cuda" if name in ("auto", "cuda") and cuda_likely() else resolve_engine(name)


def grow_on_gpu(model: AlphaModel, by: str, *, memory: str, first_room: int) -> Grown:
    """Grow a graph of the alpha model in the memory of the current GPU.

    Parameters and what is returned: `cuda/generators/watts_alpha.py`.
    """
    from .cuda.device.devices import open_device
    from .cuda.generators.watts_alpha import grow

    return grow(open_device(), model, by, memory=memory, first_room=first_room)


def broken_device() -> str | None:
    """Why this process cannot use a GPU that it has used; None where it can, or has none.

    For callers that met an `EngineError` and must decide whether only another process can go on.
    """
    from .cuda.device.devices import broken_device as broken

    return broken()


def compile_ahead(number: int, *, on_gpu: bool) -> bool:
    """Compile a part of what a graph needs of Numba, for all processes, unless that was done.

    For workers that wait for others. Needs no GPU.

    Returns
    -------
    bool
        Whether there is a part of this number; they begin at 0.
    """
    if on_gpu:
        from .cuda.update.writers_ahead import PARTS
    else:
        from .host.kernels_ahead import PARTS
    from .jit.shared_cache import is_saved

    for function, signature in PARTS[number : number + 1]:
        if not is_saved(function):
            function.compile(signature)
    return number < len(PARTS)


def make_engine(name: str, kind: GraphKind, sizes: ArenaSizes, device: int | None) -> Engine:
    """Make an empty graph on the engine that ``name`` means here (`resolve_engine`).

    Parameters
    ----------
    device
        Ordinal of the GPU, for the ``cuda`` engine; `None`: CuPy's current device. With ``auto`` it
        asks for that GPU: where it cannot be had that is an error.
    """
    if name == "auto" and device is not None:
        name = "cuda"
    if resolve_engine(name) == "cuda":
        from .cuda.engine import CudaEngine

        return CudaEngine(kind, sizes, host_twin, device)
    from .host.engine import HostEngine

    return HostEngine(kind, sizes)


def host_twin(kind: GraphKind, image: UInt32s) -> Engine:
    """Make a host engine over an image (`engine.HostTwin`)."""
    from .host.engine import HostEngine
    from .host.memory.arena import Arena

    return HostEngine(kind, arena=Arena.adopt(image))
