"""A list of launches that Python writes and one compiled call starts.

For work whose launches compiled code does not write (`batch_launches.py` and `edge_buckets.py` do),
and whose end is not waited for at once: nothing starts before all of it is written, so the device
goes from one launch to the next with no Python between them, and starts may overlap
(`launches.py`). Every kernel of such a list begins with ``follow_previous_launch``.
"""

from __future__ import annotations

from .device import Array, Device
from .packed_arguments import packer
from .stream_words import renew_words, words_of_stream

_LAUNCH = packer("kernel", "blocks", "threads", "words")


class Launches:
    """A list of launches for a device's current stream."""

    def __init__(self, device: Device) -> None:
        self._device = device
        #: Words of that stream.
        self.words = words_of_stream(device)
        self._written: list[bytes] = []
        #: Arrays that launches name by their addresses, kept until these are started.
        self._held: list[Array] = []

    def hold(self, *arrays: Array) -> None:
        """Keep arrays until the launches that name them are started."""
        self._held += arrays

    def launch_packed(
        self,
        source: str,
        kernel: str,
        blocks: int,
        threads: int,
        arguments: bytes,
        defines: tuple[tuple[str, int], ...] = (),
    ) -> None:
        """Append a launch; parameters are those of `device.Device.launch_packed`."""
        handle = self._device.kernel(source, kernel, defines)
        self._written += _LAUNCH(handle, blocks, threads, len(arguments) // 8), arguments

    def start(self) -> None:
        """Start all launches; the list is empty then.

        Raises
        ------
        EngineError
            CUDA failed.
        """
        try:
            self._device.start_written(b"".join(self._written))
        except BaseException:
            renew_words(self._device)
            raise
        self._written.clear()
        self._held.clear()
