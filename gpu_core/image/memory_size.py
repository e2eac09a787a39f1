"""How much memory this process may use: the machine has it, a container or shell may limit it."""

import os
import resource
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


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


def _cgroup_limits(cgroups: Path, own_cgroups: Path) -> list[int]:
    try:
        lines = own_cgroups.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        # As in ``0::/system.slice/x.service`` and, of version 1, ``4:memory:/docker/7f3``.
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        base = cgroups / "memory" if controllers else cgroups
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        # A container sees its own group as the root, whatever its path is outside.
        group = base / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(base):
                found += _number_in(folder / name)
    return found


def _number_in(file: Path) -> list[int]:
    """The number that a file holds; none where there is no file, or it says ``max``."""
    try:
        return [int(file.read_text())]
    except (OSError, ValueError):
        return []
