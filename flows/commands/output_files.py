"""Files that commands write for a user: where they must not be, or cannot be.

What a state keeps is written by runs alone, and its log by nobody here: what stood in the place of
the file would be lost, and one more file in the log would be read as a part of it. A place that
cannot be written is refused here as well, before anything is computed for it.

Not here: how a file comes into its place (``io/file_systems.py``), and ``graphtide requeue``, which
does write into the log.
"""

from collections.abc import Iterable
from pathlib import Path

from ...gpu_core.errors import SettingsError
from ...io.file_systems import check_new_file_at, is_local_address
from ...io.log.paths.addresses import Address, absolute_address
from ...io.log.paths.overlap import holds, reads
from ...io.state.directory import StateDirectory


def check_outputs_of_state(state: str, *files: str | None) -> None:
    """Refuse files that lie in a state, and what `check_outputs_of_log` does of its log."""
    directory = StateDirectory(state)
    folder = directory.path.resolve()
    for file in _given(files):
        if is_local_address(file) and any(each.is_relative_to(folder) for each in _places(file)):
            msg = f"{file} is in the state {state}, where runs alone write; write it elsewhere"
            raise SettingsError(msg)
    check_outputs_of_log(directory.settings().log_address, *files)


def check_outputs_of_log(log: Address, *files: str | None) -> None:
    """Refuse files that a log has, or would read, or that cannot be written; None: no file."""
    addresses = absolute_address(log)
    for address in [addresses] if isinstance(addresses, str) else addresses:
        for file in _given(files):
            if reads(address, file):
                msg = (
                    f"{file} is in the log {address}, which reads what is there; write it elsewhere"
                )
                raise SettingsError(msg)
            if holds(address, file):
                msg = f"{file} is a file of the log {address}, by another name; write it elsewhere"
                raise SettingsError(msg)
    for file in _given(files):
        check_new_file_at(file, SettingsError)


def check_difference_file(path: str) -> None:
    """Refuse a name for a difference that does not end in ``.parquet``."""
    if Path(path).suffix.lower() != ".parquet":
        msg = f"a difference is written as Parquet, not as {path}; end its name in .parquet"
        raise SettingsError(msg)


def _given(files: Iterable[str | None]) -> list[str]:
    return [file for file in files if file is not None]


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
