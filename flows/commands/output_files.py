"""Files that commands write for a user: where they must not be.

What a state keeps is written by runs alone, and its log by nobody here: what stood in the place of
the file would be lost, and one more file in the log would be read as a part of it.

Not here: how a file comes into its place (``io/file_systems.py``), and ``graphtide requeue``, which
does write into the log.
"""

from pathlib import Path

from ...gpu_core.errors import SettingsError
from ...io.file_systems import is_local_address
from ...io.log.paths.addresses import Address, absolute_address
from ...io.log.paths.overlap import holds, reads
from ...io.state.directory import StateDirectory


def refuse_outputs_in_state(state: str, *files: str | None) -> None:
    """Refuse files that lie in a state, or that its log has, or would read; None: no file."""
    directory = StateDirectory(state)
    folder = directory.path.resolve()
    for file in filter(None, files):
        if is_local_address(file) and any(each.is_relative_to(folder) for each in _places(file)):
            msg = f"{file} is in the state {state}, where runs alone write; write it elsewhere"
            raise SettingsError(msg)
    refuse_outputs_in_log(directory.settings().log_address, *files)


def refuse_outputs_in_log(log: Address, *files: str | None) -> None:
    """Refuse files that a log has, or would read; None: no file."""
    addresses = absolute_address(log)
    for address in [addresses] if isinstance(addresses, str) else addresses:
        for file in filter(None, files):
            if reads(address, file):
                msg = (
                    f"{file} is in the log {address}, which reads what is there; write it elsewhere"
                )
                raise SettingsError(msg)
            if holds(address, file):
                msg = f"{file} is a file of the log {address}, by another name; write it elsewhere"
                raise SettingsError(msg)


def local_folder(name: str) -> Path:
    """The path of a folder; refuses one in a store, which would be made here by its name."""
    if not is_local_address(name):
        msg = f"{name} is no folder of this machine; name one, then copy its files there"
        raise SettingsError(msg)
    return Path(name.removeprefix("file://"))


def _places(file: str) -> tuple[Path, Path]:
    """Locations of a file on this machine: its own, and what it leads to if it is a link."""
    path = Path(file.removeprefix("file://"))
    return path.parent.resolve() / path.name, path.resolve()
