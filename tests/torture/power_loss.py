"""A power cut, by the letter of POSIX: what was not brought to the disk may be gone, or not.

A `Journal` knows of each folder which entries were there when it was last brought to the disk, and
of each file how it was then. Nothing that is removed or replaced is lost: a hard link keeps a file,
an open descriptor the number of a folder. When the power fails, each change of a folder since then
takes place or does not, by a draw; what hangs together does so together, as a new name and the old
one. Of a file that was not brought to the disk, a draw leaves the beginning, nothing, or zeros.

Real file systems do better; which, and how, is not theirs to promise.

Not here: what of a program is an operation (``faults.py``).
"""

import os
import random
import shutil
from pathlib import Path

#: Name in a folder -> inode of what has that name.
Entries = dict[str, int]


class Journal:
    """What of a folder, and of all below it, is on the disk.

    Parameters
    ----------
    root
        The folder, which may be missing; all that is in it is on the disk.
    kept
        A folder of the same file system, for links to what is removed.
    """

    def __init__(self, root: Path, kept: Path) -> None:
        self._root, self._kept = root, kept
        kept.mkdir(exist_ok=True)
        #: Folder, by its inode -> its entries on the disk.
        self._folders: dict[int, Entries] = {}
        #: File, by its inode -> size and time of change, as it is on the disk.
        self._files: dict[int, tuple[int, int]] = {}
        self._is_there = root.exists()
        for path in (root, *root.rglob("*")) if self._is_there else ():
            self.synced(path)

    def synced(self, path: Path) -> None:
        """Take down that a file, or the entries of a folder, were brought to the disk."""
        if path == self._root.parent:
            self._is_there = self._root.exists()
            return
        facts = path.stat()
        if path.is_dir():
            self._folders[facts.st_ino] = _entries(path)
        else:
            self._files[facts.st_ino] = (facts.st_size, facts.st_mtime_ns)

    def removed(self, path: Path) -> None:
        """Keep what is about to be removed or replaced."""
        if path.is_dir():
            # Its number is not given again while it is open.
            os.open(path, os.O_RDONLY)
        elif path.exists():
            link = self._kept / str(path.stat().st_ino)
            if not link.exists():
                os.link(path, link)

    def lose_power(self, draw: random.Random, after: Path) -> None:
        """Make the folder as it is after a power cut, in another place; it may be missing."""
        shutil.rmtree(after, ignore_errors=True)
        if not self._root.exists() or (not self._is_there and draw.random() < 0.5):
            return
        places = {path.stat().st_ino: path for path in (self._root, *self._root.rglob("*"))}
        places |= {int(path.name): path for path in self._kept.iterdir()}
        #: How many changes are undone: all of them, or each by the toss of a coin.
        share = draw.choice([1.0, 0.5, 0.2])
        self._restore(self._root.stat().st_ino, after, places, draw, share)

    def _restore(
        self, folder: int, after: Path, places: dict[int, Path], draw: random.Random, share: float
    ) -> None:
        after.mkdir()
        old = self._folders.get(folder, {})
        now = _entries(places[folder]) if folder in places else {}
        for name, inode in sorted(_survivors(old, now, draw, share).items()):
            place = places.get(inode)
            if inode in self._folders or (place is not None and place.is_dir()):
                self._restore(inode, after / name, places, draw, share)
            elif place is not None:
                self._copy(place, after / name, draw)

    def _copy(self, place: Path, to: Path, draw: random.Random) -> None:
        facts = place.stat()
        content = place.read_bytes()
        if self._files.get(facts.st_ino) != (facts.st_size, facts.st_mtime_ns):
            content = torn(content, draw)
        to.write_bytes(content)


def torn(content: bytes, draw: random.Random) -> bytes:
    """What may be left of a file that was not brought to the disk."""
    length = draw.choice([0, draw.randrange(len(content) + 1), len(content)])
    zeros = draw.choice([0, len(content) - length])
    return content[:length] + bytes(zeros)


def _survivors(old: Entries, now: Entries, draw: random.Random, share: float) -> Entries:
    """Entries of a folder of which each change since ``old`` is undone or not."""
    found = {name: inode for name, inode in now.items() if old.get(name) == inode}
    changed = {name for name in old.keys() | now.keys() if old.get(name) != now.get(name)}
    while changed:
        group = {min(changed)}
        # What was renamed has two names, and a name that it took may have had another.
        grown = True
        while grown:
            inodes = {each.get(name) for each in (old, now) for name in group} - {None}
            more = {name for name in changed if {old.get(name), now.get(name)} & inodes}
            grown = not more <= group
            group |= more
        changed -= group
        source = old if draw.random() < share else now
        found |= {name: source[name] for name in group if name in source}
    return found


def _entries(folder: Path) -> Entries:
    # What is written by the clock is not followed (`faults.py`): its number may be reused.
    found = (path for path in folder.iterdir() if "running.json" not in path.name)
    return {path.name: path.lstat().st_ino for path in found}
