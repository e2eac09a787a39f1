"""Settings of a run from the flags of a command: files of settings, and over them what is given."""

from collections.abc import Mapping
from typing import Any

import yaml

from ..config.settings import RunSettings, load_settings
from ..config.yaml_text import read_yaml
from ..gpu_core.errors import SettingsError


def settings_from_options(options: Mapping[str, Any]) -> RunSettings:
    """The settings of a run, of flags by their names; one that is None was not given."""
    flags = {key: value for key, value in options.items() if value is not None}
    config_file = flags.pop("config_file", None)
    assignments: dict[str, Any] = {}
    for assignment in flags.pop("assignments", ()):
        _assign(assignments, assignment)
    if "analytics" in flags:
        flags["analytics"] = _analytics(flags["analytics"])
    return load_settings(flags, config_file, assignments)


def _analytics(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    return [] if names in (["none"], [""]) else names


def _assign(assignments: dict[str, Any], assignment: str) -> None:
    """Read ``key=value`` or ``section.key=value``; the value is written as in YAML."""
    key, equals, text = assignment.partition("=")
    if not key or not equals:
        msg = f"--set {assignment} is no assignment; write --set key=value"
        raise SettingsError(msg)
    try:
        value = read_yaml(text)
    except yaml.YAMLError:
        msg = f"--set {key}: {text!r} is not a YAML value; put it in quotes"
        raise SettingsError(msg) from None
    section, dot, inner = key.partition(".")
    if dot:
        nested = assignments.setdefault(section, {})
        if not isinstance(nested, dict):
            msg = f"--set {section} and --set {key} contradict each other; leave one of them out"
            raise SettingsError(msg)
        nested[inner] = value
        return
    known = assignments.get(key)
    if isinstance(known, dict) and isinstance(value, dict):
        value = {**known, **value}
    assignments[key] = value
