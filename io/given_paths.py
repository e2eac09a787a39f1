"""Paths as callers give them, as text: a variable that is not set must not become a file `None`."""

import os

from ..gpu_core.choices import choice_shown
from ..gpu_core.errors import SettingsError


def path_text(name: str, given: object, also: str = "") -> str:
    """Return a path, or a URL, as text.

    Parameters
    ----------
    name
        Name of the argument, for the message.
    given
        A str or a path object.
    also
        What else the argument may be, for the message.

    Raises
    ------
    SettingsError
        It is something else.
    """
    if isinstance(given, str | os.PathLike):
        text = os.fspath(given)
        if isinstance(text, str):
            return text
    msg = f"{name}={choice_shown(given)} is no path; give a str or a Path{also}"
    raise SettingsError(msg)
