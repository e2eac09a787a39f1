"""Definitions of clustering in directed graphs; `clustering.py` says what they mean."""

from typing import Final

from ...choices import one_of

#: The first is the default.
DIRECTED: Final = ("networkx", "ldbc")


def check_definition(directed: str) -> None:
    """Refuse a definition that there is not.

    Raises
    ------
    SettingsError
        It is none of `DIRECTED`.
    """
    one_of("directed", directed, DIRECTED)
