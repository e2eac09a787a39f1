"""Names of files and folders of a state that are of one batch, or of consecutive ones.

Ids are padded to 12 digits, so that names sort as numbers do.
"""

import re
from pathlib import Path


def padded_id(batch_id: int) -> str:
    """A batch id as file names carry it."""
    return f"{batch_id:012d}"


def range_name(first: int, last: int) -> str:
    """Name of a file of consecutive batches, but for its ending."""
    return f"{padded_id(first)}-{padded_id(last)}"


def range_files(folder: Path) -> list[tuple[int, int, Path]]:
    """``(first batch, last batch, file)`` of the tables in a folder that batches name, ordered."""
    found = []
    for path in folder.glob("*.parquet"):
        match = re.fullmatch(r"(\d+)-(\d+)", path.stem)
        if match:
            found.append((int(match[1]), int(match[2]), path))
    return sorted(found)


def remove_files_from(folder: Path, boundary: int, kept: Path | None = None) -> None:
    """Remove such files that begin at ``boundary`` or later, but one."""
    for first, _, path in range_files(folder):
        if first >= boundary and path != kept:
            path.unlink(missing_ok=True)


def batch_folder(folder: Path, batch_id: int) -> Path:
    """Folder of a batch in a folder."""
    return folder / f"batch={padded_id(batch_id)}"


def batch_folders(folder: Path) -> list[int]:
    """Ids of the batches that a folder has a folder of; ascending."""
    if not folder.is_dir():
        return []
    matches = (re.fullmatch(r"batch=(\d{12,})", path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in matches if match)
