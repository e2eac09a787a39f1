"""Functions that tests have workers call.

In a module of their own: workers find it by name; a test's module is known to pytest alone.
"""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from distributed import Worker

from graphtide.gpu_core.epoch import Epoch
from graphtide.gpu_core.face.graph_reader import GraphReader
from graphtide.pipeline import tasks
from graphtide.pipeline.batch_form import BatchForm
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_holder import ActorHolder
from graphtide.pipeline.graph_worker.ring import ConvertedBatch
from waiting import wait_until


def die(*_arguments: object) -> None:
    """End the process with no word."""
    os._exit(1)


def stop(*_arguments: object) -> None:
    """Stop the process, which somebody else has to end."""
    os.kill(os.getpid(), signal.SIGSTOP)


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


def cut_when_read(path: Path) -> None:
    """Have a file of the log cut behind its first bytes when this worker has read it."""
    convert = tasks.convert_to_form

    def cut(table: Any, form: BatchForm, times: Any, **arguments: Any) -> ConvertedBatch:
        if Path(arguments["origin"].file).name == path.name:
            os.truncate(path, 4)
        return convert(table, form, times, **arguments)

    tasks.convert_to_form = cut


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


class ActorThatTakesSeconds(ActorHolder):
    """A graph that takes two seconds to be made, as where kernels have to be compiled."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        time.sleep(2)
        super().__init__(*arguments, **named)


def poison(flag: Path) -> None:
    """Lose the GPU to this process: write where nothing is."""
    import cupy
    import numpy as np

    flag.touch()
    code = 'extern "C" __global__ void f(int* p) { *p = 1; }'
    cupy.RawKernel(code, "f")((1,), (1,), (np.uintp(8),))
    cupy.cuda.Device().synchronize()


def hold_the_interpreter(seconds: float) -> None:
    """Compute in Python alone, and never wait."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def compile_for(seconds: float) -> None:
    """Have Numba compile one function after the other."""
    import numba

    end = time.monotonic() + seconds
    while time.monotonic() < end:

        @numba.njit
        def sums(values: Any) -> Any:
            total = 0.0
            for value in values:
                total += value * len(values)
            return total

        sums.compile((numba.float64[:],))


def hold_analytics(gate: Path) -> None:
    """Have analytics of epochs on this worker wait until there is a file; others warm it up."""
    compute = GraphReader.compute

    def held(reader: GraphReader, name: str, **parameters: Any) -> Any:
        if isinstance(reader, Epoch):
            wait_until(gate.exists)
        return compute(reader, name, **parameters)

    held.at_once = compute
    GraphReader.compute = held


def let_analytics_go() -> None:
    """Have them go on again as they do."""
    GraphReader.compute = GraphReader.compute.at_once
