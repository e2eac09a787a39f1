"""``graphtide run``: from the flags to the settings, through the pipeline, to a short summary."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click
import yaml

from ..config.settings import RunSettings, load_settings
from ..gpu_core.errors import SettingsError
from ..io.state import StateDirectory
from ..pipeline.fork_server import start_fork_server
from .failures import Terminated
from .progress import ProgressLine
from .summary import run_lines

_GO_ON = "the same command goes on from there"


def run_log(log: str, state: str, options: Mapping[str, Any]) -> None:
    """Apply what is not applied yet, and print what happened."""
    settings = settings_from_options(options)
    if settings.scheduler is None:
        # Its imports go on beside ours.
        start_fork_server()
    with ProgressLine() as line, stopped_cleanly(state, _GO_ON):
        line.write(
            "starting …" if is_compiled() else "starting; the first run compiles its kernels …"
        )
        from ..pipeline.ingest import run

        summary = run(log, state, settings, line.show)
    for text in run_lines(summary, log, state, settings.graph):
        click.echo(text)


@contextmanager
def stopped_cleanly(state: str, advice: str) -> Iterator[None]:
    """End on Ctrl-C and on a termination signal with a sentence that says what is kept."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except KeyboardInterrupt as error:
        msg = f"stopped; {_kept(state)}; {advice}"
        raise type(error)(msg) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _kept(state: str) -> str:
    ids = StateDirectory(state).checkpoint_ids()
    if not ids:
        return "nothing is kept, because there was no checkpoint yet"
    return f"{state} keeps everything up to batch {ids[-1]}"


def is_compiled() -> bool:
    """Whether compiled kernels of this version lie on this machine's disk."""
    from ..gpu_core.host.compile import cache_folder

    folder = cache_folder()
    return folder.is_dir() and any(folder.rglob("*.nbi"))


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


def settings_from_options(options: Mapping[str, Any]) -> RunSettings:
    """The settings of a run: files of settings, and over them the flags that were given."""
    flags = {key: value for key, value in options.items() if value is not None}
    config_file = flags.pop("config_file", None)
    overrides: dict[str, Any] = {}
    for assignment in flags.pop("assignments", ()):
        _assign(overrides, assignment)
    if "analytics" in flags:
        flags["analytics"] = _analytics(flags["analytics"])
    return load_settings({**overrides, **flags}, config_file)


def _analytics(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    return [] if names in (["none"], [""]) else names


def _assign(overrides: dict[str, Any], assignment: str) -> None:
    """Read ``key=value`` or ``section.key=value``; the value is written as in YAML."""
    key, equals, text = assignment.partition("=")
    if not key or not equals:
        msg = f"--set {assignment} is no assignment; write --set key=value"
        raise SettingsError(msg)
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        msg = f"--set {key}: {text!r} is not a YAML value; put it in quotes"
        raise SettingsError(msg) from None
    section, dot, inner = key.partition(".")
    if dot:
        nested = overrides.setdefault(section, {})
        if not isinstance(nested, dict):
            msg = f"--set {section} and --set {key} contradict each other; leave one of them out"
            raise SettingsError(msg)
        nested[inner] = value
    else:
        overrides[key] = value
