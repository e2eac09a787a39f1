"""The site: its quickstart and library guide run as they stand; its pages, links and extras."""

import doctest
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from commands import graphtide_here, run_here
from documented import ROOT, blocks

DOCS = ROOT / "docs"


def test_the_five_minutes_to_a_result_come_to_one(
    tmp_path: Path,
    scheduler: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = DOCS / "quickstart.md"
    install, *steps = re.findall(
        r"^```(sh|text)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert "graphtide demo" in install[1]
    printed, compared = "", 0
    for kind, text in steps:
        if kind == "text":
            # How much memory there is differs between machines.
            there = re.sub(r"of \S+ GB usable", "of 16.5 GB usable", printed)
            assert there.endswith(text), there
            compared += 1
            continue
        for command in text.splitlines():
            # What installs is no part of this.
            command = command.removeprefix("pip install -e '.[plots]' && ")
            words = shlex.split(command)
            if words[0] != "graphtide":
                subprocess.run(command, shell=True, check=True, cwd=tmp_path)
                continue
            done = (
                run_here(scheduler, *words[2:], cwd=tmp_path)
                if words[1] == "run"
                else graphtide_here(*words[1:], cwd=tmp_path)
            )
            assert done.returncode == 0, f"{command}: {done.stderr}"
            printed += done.stdout
    assert compared == 3
    assert (tmp_path / "edges.csv").read_text().count("\n") == 6
    monkeypatch.chdir(tmp_path)
    [example] = blocks(page, "python")
    exec(example, {})
    expected = re.findall(r"^# (.*\n)", example, re.MULTILINE)
    assert capsys.readouterr().out == "".join(expected)
    assert "applied 2 of 2 batches" in (tmp_path / "graphtide-report.html").read_text()


def test_the_session_of_the_library_guide_is_as_printed() -> None:
    session = "\n".join(blocks(DOCS / "library.md", "python"))
    example = doctest.DocTestParser().get_doctest(session, {}, "library.md", None, 0)
    assert len(example.examples) > 15
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append)
    assert not said, "".join(said)


def test_each_page_of_the_site_is_in_its_contents_and_has_all_that_it_links() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert re.search(rf"- {re.escape(page.name)}$", contents, re.MULTILINE), page.name
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (DOCS / link).exists(), f"{page.name} links to {link}"


def test_the_extras_that_the_documentation_installs_are_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [ROOT / "README.md", ROOT / "mkdocs.yml", *DOCS.glob("*.md")]
    named = {
        extra
        for page in pages
        for extra in re.findall(r"pip install -e '\.\[(\w+)\]'", page.read_text(encoding="utf-8"))
    }
    assert {"docs", "dashboard", "gpu", "plots"} <= named <= {*project["optional-dependencies"]}
