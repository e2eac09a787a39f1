"""The commands and examples of README and docs are what they are printed as."""

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import dask
import pandas as pd
import pytest

import graphtide
from commands import graphtide_here, run_here, write_log
from documented import ROOT, blocks, shell_lines
from graphtide.flows.cli import cli

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

#: Pages whose commands are run, on a log and its state; those of quickstart.md in `test_site.py`.
RUN = ("analytics", "layouts", "gpus", "recovery", "update-logs")

#: Numbers that stand for themselves in a text.
NUMBERS = {"BATCH": "1", "N": "1"}


def commands_of_pages() -> Iterator[tuple[str, list[str]]]:
    """Every command that a page has in its shell code, or within its text."""
    for page in PAGES:
        for words in shell_lines(page):
            yield page.name, words
        for code in re.findall(r"`graphtide ([^`\n]+)`", page.read_text(encoding="utf-8")):
            yield page.name, shlex.split(code)


def test_every_command_and_flag_is_there() -> None:
    """Click takes all of them; a text may leave out what a command needs."""
    seen = set()
    for page, words in commands_of_pages():
        group: click.Command = cli
        rest = [NUMBERS.get(word, word) for word in words if word not in ("…", "--help")]
        while isinstance(group, click.Group) and rest and not rest[0].startswith("-"):
            name = rest.pop(0)
            command = group.get_command(click.Context(group), name)
            assert command is not None, f"{page}: graphtide {shlex.join(words)}"
            group = command
        seen.add(group.name)
        try:
            group.make_context(group.name, rest)
        except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
            continue
        except click.UsageError as error:
            pytest.fail(f"{page}: graphtide {shlex.join(words)}: {error.format_message()}")
    assert seen >= set(cli.commands) - {"bench", "demo", "generate", "study"}


def test_no_shell_expands_a_word_of_a_command() -> None:
    """Else zsh refuses `--set bfs.sources=[17]` ("no matches found"), and bash may find a file."""
    quoted = r"'[^']*'|\"[^\"]*\"|\\."
    for page in PAGES:
        shell = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
        lines = [line.partition(" #")[0] for line in shell if "graphtide" in line]
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        within = re.findall(r"`([^`]+)`", text)
        lines += [code for code in within if code.startswith(("graphtide ", "--"))]
        for line in lines:
            expanded = re.findall(r"\S*[][{}*?]\S*", re.sub(quoted, "", line))
            assert not expanded, f"{page.name}: {line}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of payments in twelve files, and a text with edges."""
    folder = tmp_path_factory.mktemp("documented")
    rows = {"src": [1, 2, 17, 4], "dst": [2, 3, 1, 17], "weight": [1.0, 0.5, 2.0, 3.0]}
    files = {f"part.{number}.parquet": rows for number in range(12)}
    write_log(folder / "LOG", {**files, "part.11.parquet": {"src": [5], "dst": [9]}})
    write_log(folder / "payments", {"a.parquet": rows})
    (folder / "edges.txt").write_text("1 2\n2 3\n")
    return folder


def test_commands_run_as_they_are_printed(folder: Path, scheduler: str) -> None:
    """Those on a log and its state, in the order of the pages; others make logs of their own."""
    ran = []
    for page in ("README", *(f"docs/{name}" for name in RUN)):
        for words in shell_lines(ROOT / f"{page}.md"):
            name, *rest = [NUMBERS.get(word, word) for word in words]
            if name in ("bench", "study") or any("s3://" in word for word in rest):
                continue
            if name in ("import", "generate"):
                # The log of the text is there already; a graph of 2^20 vertices takes minutes.
                rest = ["6" if word == "20" else word.replace("LOG", name) for word in rest]
            if "localhost:8786" in rest:
                rest[rest.index("localhost:8786")] = scheduler
            if name == "run" and "--scheduler" not in rest:
                done = run_here(scheduler, *rest, cwd=folder)
            else:
                done = graphtide_here(name, *rest, cwd=folder)
            assert done.returncode == 0, f"graphtide {shlex.join(words)}:\n{done.stderr}"
            ran.append(name)
    assert {*ran} == {*cli.commands} - {"bench", "study", "demo", "settings"}


def test_the_sessions_of_the_readme_are_what_python_prints() -> None:
    sessions = [code for code in blocks(ROOT / "README.md", "python") if code.startswith(">>>")]
    assert sessions
    names: dict[str, Any] = {}
    for session in sessions:
        example = doctest.DocTestParser().get_doctest(session, names, "README.md", None, 0)
        assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
        names = example.globs


def test_the_first_examples_of_the_readme_run(
    tmp_path: Path,
    scheduler: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each alone, as a reader copies it; the comments that follow it are its output."""
    monkeypatch.chdir(tmp_path)
    examples = [code for code in blocks(ROOT / "README.md", "python") if not code.startswith(">>>")]
    assert len(examples) == 2
    with dask.config.set({"graphtide.scheduler": scheduler}):
        for code in examples:
            exec(code, {})
            printed = "".join(f"# {line}\n" for line in capsys.readouterr().out.splitlines())
            assert printed
            assert code.endswith(printed), printed


def test_the_examples_of_other_pages_run() -> None:
    """Those of docs/programs.md are run where programs are tested."""
    edges = [1, 2, 3, 3], [2, 3, 1, 4]
    names: dict[str, Any] = {
        "graphtide": graphtide,
        "graph": graphtide.DynamicGraph.from_edges(*edges),
        "frame": pd.DataFrame({"src": [4], "dst": [1]}),
        "src": edges[0],
        "dst": edges[1],
    }
    ran = 0
    for page in ("analytics", "maintained", "samples", "layouts"):
        for code in blocks(ROOT / "docs" / f"{page}.md", "python"):
            # The form of an analytic, with gaps.
            if "=…" not in code:
                exec(code, names)
                ran += 1
    assert ran >= 6
