"""Watts' alpha model in CUDA: the graph grows in device memory, without the host between edges.

Twin of `gpu_core/generators/watts_alpha.py`, which says what the model is and draws the order in
which vertices choose. Kernels: ``watts_alpha.cu``. Of all pairs each choice is one launch; up
to a thousand are started ahead, and those that find nothing to do end at once. By two hops a launch
is a round of choices.

Memory of rows is allocated

``"device"``
    by the kernels: free runs by their size, else from the bump mark, as the arena of a graph does;
``"host"``
    by the host, from the same runs: each vertex has one at first, and where a row is full the
    launch ends, the host moves the row, and goes on. That is a round trip each time a row grows.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...generators.alpha_model import AlphaModel
from ..device.declarations import constant, structure
from ..device.device import Array, Device
from ..device.launch_list import Launches
from ..device.packed_arguments import address, pack

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

_SOURCE: Final = "watts_alpha.cu"

#: Threads of a block, and blocks at most.
_THREADS: Final = constant(_SOURCE, "ALL_THREADS")
#: Vertices that a block looks at together, and blocks a multiprocessor.
_TOGETHER: Final = 64
_BLOCKS: Final = 4
#: Launches that are started before the host looks: at least, and at most.
_AHEAD: Final = (16, 1024)
#: Binary logarithms of rooms.
_ROOMS: Final = 64

#: Words of the state: ``STATE_…`` in ``watts_alpha.cuh``.
_STATE: Final = ("made", "choice", "taken", "full", "src", "dst", "ticket")
_MODEL: Final = structure(_SOURCE, "Model")


class Grown(NamedTuple):
    """A graph that has grown, in host memory."""

    #: uint32[num_edges]: ``src`` chose ``dst``, in the order in which edges were made.
    src: UInt32s
    dst: UInt32s
    #: Up to where memory of rows was allocated, in words.
    taken: int


def grow(device: Device, model: AlphaModel, by: str, *, memory: str, first_room: int) -> Grown:
    """Grow a graph.

    Parameters
    ----------
    by
        ``"two hops"`` or ``"all pairs"``.
    memory
        Where memory is allocated: ``"device"`` or ``"host"``.
    first_room
        Neighbors that a row has room for at first; a power of two from 4 on.

    Raises
    ------
    ArenaFullError
        The device has not so much memory.
    """
    with device.current():
        growing = _Growing(device, model, first_room, host_allocates=memory == "host")
        choose = growing.choose_of_all if by == "all pairs" else growing.choose_of_two_hops
        number = 0
        while not growing.is_complete:
            growing.begin_round(number)
            choose()
            number += 1
        return growing.result()


class _Growing:
    """The graph so far, on the device."""

    def __init__(
        self, device: Device, model: AlphaModel, first_room: int, *, host_allocates: bool
    ) -> None:
        count, edges, propensity = model.num_vertices, model.num_edges, model.propensity
        self._device, self._count, self._edges = device, count, edges
        self._order_of = model.order
        self._end = 0
        empty, zeros = device.empty, np.zeros
        # A row of d neighbors has left behind less room than it has, which is less than 2 d or the
        # first one.
        columns = 8 * edges + 2 * first_room * count
        self._arrays: dict[str, Array] = {
            "begin": device.to_device(zeros(count, np.int64)),
            "degree": device.to_device(zeros(count, np.uint32)),
            "room": device.to_device(zeros(count, np.uint32)),
            "columns": empty(columns, np.uint32),
            "free_runs": device.to_device(np.full(_ROOMS, -1, np.int64)),
            "src": empty(edges, np.uint32),
            "dst": empty(edges, np.uint32),
            "order": device.to_device(zeros(count, np.uint32)),
            "propensity": device.to_device(propensity),
            "sizes": device.to_device(zeros(propensity.size, np.uint64)),
            "state": device.to_device(zeros(len(_STATE), np.uint64)),
        }
        self._model = np.zeros((), _MODEL)
        self._model["count"], self._model["edges"] = count, edges
        self._model["classes"] = propensity.size
        self._model["start"] = model.choices.astype(np.int64)
        self._model["first_room"] = 0 if host_allocates else first_room
        #: The host's own runs, where it hands them out.
        self._runs = _Runs(count, first_room) if host_allocates else None
        if self._runs is not None:
            self._arrays["begin"] = device.to_device(self._runs.begin)
            self._arrays["room"] = device.to_device(self._runs.room)
        for name, array in self._arrays.items():
            self._model[name] = address(array)
        #: The state as the host has read it last.
        self._words = np.zeros(len(_STATE), np.uint64)
        self._ahead = _AHEAD[0]
        self._near: list[Array] = []
        self._counts: list[Array] = []

    @property
    def is_complete(self) -> bool:
        return self._state("made") == self._edges

    def result(self) -> Grown:
        src, dst = (self._device.to_host(self._arrays[name]) for name in ("src", "dst"))
        taken = self._state("taken") if self._runs is None else self._runs.taken
        return Grown(src, dst, taken)

    def begin_round(self, number: int) -> None:
        """Set which vertices choose in the next launches."""
        order = self._order_of(number).astype(np.uint32)
        self._arrays["order"] = self._device.to_device(order)
        self._model["order"] = address(self._arrays["order"])
        self._model["first_choice"] = number * self._count
        self._end = (number + 1) * self._count

    def choose_of_all(self) -> None:
        """Have all vertices choose, of all others; or as many as there are edges to make."""
        device, classes = self._device, int(self._model["classes"])
        blocks = min(-(-self._count // _TOGETHER), _BLOCKS * device.multiprocessors, _THREADS)
        if not self._counts:
            self._counts = [
                device.empty(self._count, np.uint32), device.empty(blocks * classes, np.uint32)
            ]  # fmt: skip
        arguments = self._model.tobytes() + pack(*map(address, self._counts))
        least, most = _AHEAD
        while not self._is_over:
            launches = Launches(device)
            for _ in range(min(self._end - self._state("choice"), self._ahead)):
                launches.launch_packed(_SOURCE, "choose_of_all", blocks, _THREADS, arguments)
            launches.start()
            # After a row that is full launches are started for nothing.
            is_cut = self._grow_full_rows()
            self._ahead = max(self._ahead // 2, least) if is_cut else min(2 * self._ahead, most)

    def choose_of_two_hops(self) -> None:
        """The same, those being looked at that have neighbors in common."""
        device = self._device
        if not self._near:
            looked = device.to_device(np.zeros(self._count, np.uint32))
            self._near = [looked, device.empty(self._count, np.uint32)]
        arguments = self._model.tobytes() + pack(*map(address, self._near))
        while not self._is_over:
            device.launch_packed(_SOURCE, "choose_of_two_hops", 1, _THREADS, arguments)
            self._grow_full_rows()

    def _grow_full_rows(self) -> bool:
        """Give more room to full rows, if launches have ended because of one."""
        words = self._words = self._device.read_words(self._arrays["state"])
        full = int(words[_STATE.index("full")])
        for bit, end in ((1, "src"), (2, "dst")):
            if full & bit and self._runs is not None:
                vertex = int(words[_STATE.index(end)])
                run, room = self._runs.grow(vertex)
                arguments = self._model.tobytes() + pack(vertex, run, room)
                self._device.launch_packed(_SOURCE, "move_full_row", 1, 32, arguments)
        return full > 0

    def _state(self, name: str) -> int:
        """A word of it."""
        return int(self._words[_STATE.index(name)])

    @property
    def _is_over(self) -> bool:
        return self.is_complete or self._state("choice") == self._end


class _Runs:
    """Allocation of row memory by the host: free runs by room, and the bump mark."""

    def __init__(self, count: int, first_room: int) -> None:
        self.begin: Int64s = np.arange(count, dtype=np.int64) * first_room
        self.room = np.full(count, first_room, np.uint32)
        self._free: dict[int, list[int]] = {}
        self.taken = count * first_room

    def grow(self, vertex: int) -> tuple[int, int]:
        """Allocate a run of twice the room for a vertex; its own is free afterwards."""
        before = int(self.room[vertex])
        room = 2 * before
        free = self._free.setdefault(room, [])
        if free:
            run = free.pop()
        else:
            run, self.taken = self.taken, self.taken + room
        self._free.setdefault(before, []).append(int(self.begin[vertex]))
        self.begin[vertex], self.room[vertex] = run, room
        return run, room
