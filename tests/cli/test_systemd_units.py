"""The unit files of the documentation, by systemd's own check, with the program of these tests."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

UNITS = Path(__file__).parents[2] / "docs" / "systemd"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit_files(tmp_path: Path) -> None:
    names = ["graphtide-follow.service", "graphtide.service", "graphtide.timer"]
    assert sorted(path.name for path in UNITS.iterdir()) == names
    program = str(Path(sys.prefix) / "bin" / "graphtide")
    for name in names:
        text = (UNITS / name).read_text()
        assert text.count("/opt/graphtide/.venv/bin/graphtide") == name.endswith(".service")
        (tmp_path / name).write_text(text.replace("/opt/graphtide/.venv/bin/graphtide", program))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(tmp_path / name for name in names)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    ours = [text for text in done.stderr.splitlines() if "graphtide" in text]
    assert (done.returncode, ours) == (0, []), done.stderr
