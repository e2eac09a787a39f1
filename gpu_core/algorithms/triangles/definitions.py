"""Definitions of clustering in directed graphs; `clustering.py` says what they mean."""

from typing import Final

from ...errors import SettingsError

#: The first is the default.
DIRECTED: Final = ("networkx", "ldbc")


def check_definition(directed: str) -> None:
    """Refuse a definition that there is not.

    Raises
    ------
    SettingsError
        It is none of `DIRECTED`.
    """
    if directed not in DIRECTED:
        msg = f"directed={directed!r} is unknown; use one of {', '.join(DIRECTED)}"
        raise SettingsError(msg)
