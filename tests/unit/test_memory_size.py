"""Limits of containers and units: a graph must refuse, not be killed, when it outgrows them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphtide.gpu_core.image.memory_size import free_memory_bytes, memory_bytes

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def control_groups(folder: Path, own: str, files: dict[str, str]) -> tuple[Path, Path]:
    """Folder of control groups with these files, and the file that says which is our own."""
    for name, text in files.items():
        file = folder / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "own").write_text(own + "\n")
    return folder / "groups", folder / "own"


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/", {"memory.max": "123456"}, 123456),
        ("0::/", {"memory.max": "max\n"}, MACHINE),
        ("0::/", {}, MACHINE),
        # A unit within a slice: each may have a limit.
        ("0::/a/b", {"a/b/memory.max": "7000", "a/memory.max": "5000"}, 5000),
        # A container that sees its own group as the root.
        ("0::/docker/7f", {"memory.max": "4000"}, 4000),
        ("4:memory:/d\n3:cpu,cpuacct:/d", {"memory/d/memory.limit_in_bytes": "300"}, 300),
        ("3:cpu:/d", {"memory/d/memory.limit_in_bytes": "300"}, MACHINE),
        # No limit, as version 1 writes it.
        ("4:memory:/", {"memory/memory.limit_in_bytes": str(2**63 - 4096)}, MACHINE),
    ],
)
def test_the_least_limit_counts(
    tmp_path: Path, own: str, files: dict[str, str], expected: int
) -> None:
    assert memory_bytes(*control_groups(tmp_path, own, files)) == expected


def test_a_machine_without_control_groups(tmp_path: Path) -> None:
    assert memory_bytes(tmp_path, tmp_path / "none") == MACHINE


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/", {}, 3000 << 10),
        # Pages of files that nobody has used of late would be given up.
        ("0::/", {"memory.max": "900000", "memory.current": "700000",
                  "memory.stat": "anon 5\ninactive_file 100000\n"}, 300_000),
        ("0::/", {"memory.max": "900000", "memory.current": "950000"}, 0),
        ("0::/", {"memory.max": "max", "memory.current": "950000"}, 3000 << 10),
        ("4:memory:/d", {"memory/d/memory.limit_in_bytes": "900000",
                         "memory/d/memory.usage_in_bytes": "500000",
                         "memory/d/memory.stat": "total_inactive_file 7\n"}, 400_007),
    ],
)  # fmt: skip
def test_the_least_that_is_left_counts(
    tmp_path: Path, own: str, files: dict[str, str], expected: int
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable: 3000 kB\n")
    groups = control_groups(tmp_path, own, files)
    assert free_memory_bytes(*groups, tmp_path / "meminfo") == expected


def test_a_shell_that_limits_it_limits_the_arena() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)); "
        "from graphtide import DynamicGraph; "
        "print(DynamicGraph(engine='host').memory().limit_bytes)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str((6 << 30) * 3 // 4), done.stderr
