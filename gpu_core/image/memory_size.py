"""How much memory there is: the machine has it, a container or shell may limit it."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")
_MEMORY = Path("/proc/meminfo")

#: Files of a control group, of version 1 and 2: limit, what is in use, and the key in
#: ``memory.stat`` of what could be given up.
_NAMES_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_NAMES_2 = ("memory.max", "memory.current", "inactive_file")


def memory_bytes(cgroups: Path = _CGROUPS, own_cgroups: Path = _OWN_CGROUPS) -> int:
    """Bytes of memory that this process may use at most.

    The least of the machine's memory, the limits of the control groups that the process is in
    (containers, systemd units; version 2 and 1) and ``ulimit -v``.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += _cgroup_limits(cgroups, own_cgroups)
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        limits.append(address_space)
    return min(limits)


def default_limit_bytes() -> int:
    """Bytes that an arena in host memory may grow to by default."""
    return memory_bytes() * 3 // 4


def free_memory_bytes(
    cgroups: Path = _CGROUPS, own_cgroups: Path = _OWN_CGROUPS, memory: Path = _MEMORY
) -> int:
    """Bytes of memory that could be taken now before the system kills processes.

    What the machine has left, or a control group that this process is in, with what it would give
    up: pages of files that were not used of late. Reads a few files of ``/proc`` and ``/sys``,
    which takes a tenth of a millisecond.
    """
    left = [memory_bytes(cgroups, own_cgroups)]
    for line in memory.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            left.append(int(line.split()[1]) << 10)
    for folder, is_first in _groups(cgroups, own_cgroups):
        limit, used = _NAMES_1[:2] if is_first else _NAMES_2[:2]
        for most, now in zip(_number_in(folder / limit), _number_in(folder / used), strict=False):
            idle = _idle_bytes(folder, _NAMES_1[2] if is_first else _NAMES_2[2])
            left.append(max(most - max(now - idle, 0), 0))
    return min(left)


def _idle_bytes(folder: Path, key: str) -> int:
    try:
        lines = (folder / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key} ")), 0)


def _cgroup_limits(cgroups: Path, own_cgroups: Path) -> list[int]:
    names = {True: _NAMES_1[0], False: _NAMES_2[0]}
    groups = _groups(cgroups, own_cgroups)
    return [n for folder, is_first in groups for n in _number_in(folder / names[is_first])]


def _groups(cgroups: Path, own_cgroups: Path) -> Iterator[tuple[Path, bool]]:
    """Folders of the control groups that limit this process, and whether they are of version 1."""
    try:
        lines = own_cgroups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        # As in ``0::/system.slice/x.service`` and, of version 1, ``4:memory:/docker/7f3``.
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        base = cgroups / "memory" if controllers else cgroups
        # A container sees its own group as the root, whatever its path is outside.
        group = base / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(base):
                yield folder, bool(controllers)


def _number_in(file: Path) -> list[int]:
    """The number that a file holds; none where there is no file, or it says ``max``."""
    try:
        return [int(file.read_text())]
    except (OSError, ValueError):
        return []
