"""Functions that tests have workers call.

In a module of their own: workers find it by name; a test's module is known to pytest alone.
"""

import os
import threading
import time
from pathlib import Path

from distributed import Worker

from graphtide.pipeline.actor import GraphActor


def die(*_arguments: object) -> None:
    """End the process with no word."""
    os._exit(1)


def a_second(*_arguments: object, **_named: object) -> None:
    """Take a second."""
    time.sleep(1)


def wait_for_ever(*_arguments: object, **_named: object) -> None:
    """Go on until the process is ended."""
    threading.Event().wait()


def tell_and_wait(folder: Path) -> None:
    """Leave the number of this process, and go on until it is ended."""
    (folder / str(os.getpid())).touch()
    threading.Event().wait()


def workers_connected_to(dask_worker: Worker) -> set[str]:
    """Addresses that this worker has a connection to, to ask for data."""
    return {address for address, idle in dask_worker.rpc.available.items() if idle}


def hold_actors() -> None:
    """Refer to each graph actor of this worker from now on, as a cycle that nobody collects may."""
    make = GraphActor.__init__
    held = []

    def hold(actor: GraphActor, *arguments: object, **named: object) -> None:
        held.append(actor)
        make(actor, *arguments, **named)

    GraphActor.__init__ = hold


def poison(flag: Path) -> None:
    """Lose the GPU to this process: write where nothing is."""
    import cupy
    import numpy as np

    flag.touch()
    code = 'extern "C" __global__ void f(int* p) { *p = 1; }'
    cupy.RawKernel(code, "f")((1,), (1,), (np.uintp(8),))
    cupy.cuda.Device().synchronize()
