"""Limits of containers and units: a graph must refuse, not be killed, when it outgrows them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphtide.gpu_core.image.memory_size import memory_bytes

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


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
    for name, text in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    own_file = tmp_path / "own"
    own_file.write_text(own + "\n")
    assert memory_bytes(tmp_path / "groups", own_file) == expected


def test_a_machine_without_control_groups(tmp_path: Path) -> None:
    assert memory_bytes(tmp_path, tmp_path / "none") == MACHINE


def test_a_shell_that_limits_it_limits_the_arena() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)); "
        "from graphtide import DynamicGraph; "
        "print(DynamicGraph(engine='host').memory().limit_bytes)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str((6 << 30) * 3 // 4), done.stderr
