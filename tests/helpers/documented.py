"""Code of the pages of the documentation."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]


def blocks(page: Path, kind: str) -> list[str]:
    """Code of a page that is marked as of this kind."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def shell_lines(page: Path) -> list[list[str]]:
    """Commands of graphtide in the shell code of a page, as words, without comments."""
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("graphtide ")]
