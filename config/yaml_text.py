"""YAML as people write it in settings, in which a number is what it looks like.

YAML 1.1, which PyYAML reads, takes 0123 for an octal number, 83, and 1:30 for 90: of an id with
zeros before it, that would make another one without a word. Here both are text, which is an id
where ids are names, and which all else refuses.

A key that stands twice in a mapping, which PyYAML takes the last of, is refused: of two sections
``pagerank:`` the first would be lost without a word.

Not here: files of Dask's own configuration, which Dask reads.
"""

import re
from typing import Any, TextIO

import yaml

from ..gpu_core.errors import SettingsError

#: Numbers by their tags: those of YAML 1.1, but for octal and sexagesimal ones.
_NUMBERS = {
    "tag:yaml.org,2002:int": r"[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F][0-9a-fA-F_]*)$",
    "tag:yaml.org,2002:float": (
        r"([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    ),
}


#: The key whose values are those of another mapping, which may stand there more than once.
_MERGE: Any = ("tag:yaml.org,2002:merge", "<<")


class _Loader(yaml.SafeLoader):
    """As YAML 1.1, but for numbers, and for keys that stand twice."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        # As it is written: keys of `<<`, which come in later, may stand beside others of that name.
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = {_MERGE}
        for key, _ in node.value:
            name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else id(key)
            if name in seen and name != _MERGE:
                where = f"{self.name}, line {key.start_mark.line + 1}: " if self.stream else ""
                msg = f"{where}{key.value} is there twice; write it once"
                raise SettingsError(msg)
            seen.add(name)
        return node


_Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0] not in _NUMBERS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern in _NUMBERS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list("-+0123456789."))


def read_yaml(source: str | TextIO) -> Any:
    """Value of a text, or of an open file.

    Raises
    ------
    SettingsError
        A key stands twice in a mapping.
    yaml.YAMLError
        It is no YAML, or more than plain values.
    """
    loader = _Loader(source)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()
