"""YAML as people write it in settings, in which a number is what it looks like.

YAML 1.1, which PyYAML reads, takes 0123 for an octal number, 83, and 1:30 for 90: of an id with
zeros before it, that would make another one without a word. Here both are text, which is an id
where ids are names, and which all else refuses.

Not here: files of Dask's own configuration, which Dask reads.
"""

import re
from typing import Any, TextIO

import yaml

_INTEGER = "tag:yaml.org,2002:int"


class _Loader(yaml.SafeLoader):
    """As YAML 1.1, but for numbers."""


_Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0] != _INTEGER]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    _INTEGER, re.compile(r"[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F][0-9a-fA-F_]*)$"), list("-+0123456789")
)


def read_yaml(source: str | TextIO) -> Any:
    """Value of a text, or of an open file.

    Raises
    ------
    yaml.YAMLError
        It is no YAML, or more than plain values.
    """
    loader = _Loader(source)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()
