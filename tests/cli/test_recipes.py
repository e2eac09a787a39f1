"""The recipes of the documentation: their files are read by their commands, as they are printed."""

import doctest
import gzip
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from commands import graphtide_here, run_here
from documented import ROOT

PAGE = ROOT / "docs" / "recipes.md"

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)
#: Sizes of files are those of the libraries that write them.
_SIZE = re.compile(r"\b[\d.]+ k?B\b")


def write_sample(path: Path, text: str) -> None:
    """A file as its source writes it: Excel with a mark and CRLF, others packed by their names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if text.startswith("sep="):
        text = "\ufeff" + text.replace("\n", "\r\n")
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def printed(command: str, folder: Path, scheduler: str) -> str:
    """What a command of the page, given in ``/data``, prints, or the reason for which it ends."""
    words = shlex.split(command)
    if words[0] != "graphtide":
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    elif words[1] == "run":
        done = run_here(scheduler, *words[2:], cwd=folder)
    else:
        done = graphtide_here(*words[1:], cwd=folder)
    assert (done.returncode == 0) == (not done.stderr), f"{command}:\n{done.stderr}"
    return done.stdout + done.stderr.replace(str(folder), "/data")


def as_compared(text: str) -> str:
    """Without sizes, and a sentence of an error in one line, as a page has it in several."""
    text = _SIZE.sub("SIZE", text)
    return " ".join(text.split()) if text.startswith("graphtide ") else text


def test_each_recipe_does_what_the_page_shows(
    tmp_path: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for kind, title, code in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "console":
            for session in _PROMPT.split(code.replace("\\\n", ""))[1:]:
                command, _, expected = session.partition("\n")
                found = printed(command, tmp_path, scheduler)
                assert as_compared(found) == as_compared(expected), command
                ran += 1
        elif kind == "python" and code.startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(code, {}, PAGE.name, None, 0)
            said: list[str] = []
            doctest.DocTestRunner().run(example, out=said.append)
            assert not said, "".join(said)
        elif kind == "python":
            exec(code, {})
        elif title:
            write_sample(tmp_path / title, code)
    assert ran > 25
