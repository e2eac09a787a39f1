"""Questions of `graphtide query`, and their syntax.

A question is a word, then vertices, and for ``top`` the name of a result::

    neighbors 5      path 5 9      top pagerank 20
"""

import difflib
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...gpu_core.errors import SettingsError
from ...gpu_core.id_kinds import form_of

#: Word -> its form, and what it answers.
QUESTIONS = {
    "size": ("size", "vertices and edges of the graph"),
    "vertex": ("vertex V", "its degree, and its row of each result"),
    "neighbors": ("neighbors V", "out-neighbors (undirected: neighbors), with weights"),
    "predecessors": ("predecessors V", "in-neighbors, likewise"),
    "degree": ("degree V", "edges in and out"),
    "edge": ("edge U V", "whether it is there, and what is kept of it"),
    "path": ("path U V", "a path with the fewest hops"),
    "top": ("top RESULT [K]", "the K vertices with the largest values  [10]"),
}

#: The next word of a question: in quotes, or without.
_WORD = re.compile(r'[\s,]*(?:"((?:[^"]|"")*)"(?=[\s,]|$)|([^\s,"][^\s,]*))')

#: Rows of ``top`` where no number is given.
_TOP = 10


@dataclass(frozen=True)
class Question:
    """A question that was understood."""

    #: A key of `QUESTIONS`.
    word: str
    #: Ids of the vertices that it is about.
    vertices: tuple[str | int, ...] = ()
    #: Of ``top``: name of the result, and rows.
    result: str = ""
    count: int = _TOP

    def __str__(self) -> str:
        if self.word == "top":
            return f"top {self.result} {self.count}"
        return " ".join([self.word, *map(str, self.vertices)])

    def of_ids(self, ids: str) -> "Question":
        """The question with vertices as a graph with ids of this kind shows them.

        So they can be looked for among the ids of a result, however they were written.
        """
        form = form_of(ids)
        if form == "string":
            return self
        read = _uuid if form == "uuid" else partial(_number, form)
        return replace(self, vertices=tuple(read(str(each)) for each in self.vertices))


def read_question(*asked: str) -> Question:
    """Understand a question; `SettingsError` says what can be asked.

    It is one text, with names that have spaces or commas in double quotes, or several words. After
    the first of these, each is a name, whatever it has, if there are as many as the question needs:
    the shell took its quotes away. Else ``5,9`` is two.
    """
    text = " ".join([*asked[:1], *map(_as_word, asked[1:])])
    words = _words(text)
    if not words:
        msg = f"there is no question; ask {_forms()}"
        raise SettingsError(msg)
    word, values = words[0].lower(), words[1:]
    if word not in QUESTIONS:
        close = difflib.get_close_matches(word, QUESTIONS, n=1)
        hint = f"did you mean {QUESTIONS[close[0]][0]}? there are" if close else "ask"
        msg = f"{words[0]!r} cannot be asked; {hint} {_forms()}"
        raise SettingsError(msg)
    form = QUESTIONS[word][0]
    if word == "top":
        if len(values) not in (1, 2):
            msg = f"{text!r} does not name one result and perhaps a number; ask {form}"
            raise SettingsError(msg)
        return Question(word, result=values[0], count=_count(values[1:], form))
    wanted = len(form.split()) - 1
    names = [*_words(asked[0]), *_names(asked[1:])][1:]
    if len(names) == wanted:
        values = names
    if len(values) != wanted:
        vertices = (
            "no vertices" if wanted == 0 else f"{wanted} vert{'ex' if wanted == 1 else 'ices'}"
        )
        quotes = """; names with spaces are in double quotes: "Ann B.\"""" if "'" in text else ""
        msg = f"{text!r} names {len(values)}, but {word} is about {vertices}; ask {form}{quotes}"
        raise SettingsError(msg)
    return Question(word, tuple(values))


def _as_word(given: str) -> str:
    """An argument of the shell, in quotes where it would not be read as one."""
    if _is_quoted(given) or not {" ", '"'} & {*given}:
        return given
    return '"' + given.replace('"', '""') + '"'


def _names(given: Sequence[str]) -> Iterator[str]:
    """Arguments of the shell as a name each; a comma between two of them is none of a name."""
    for number, each in enumerate(given, 1):
        if _is_quoted(each):
            yield from _words(each)
        else:
            yield each.removesuffix(",") if number < len(given) else each


def _is_quoted(given: str) -> bool:
    return len(given) > 1 and given[0] == given[-1] == '"'


def _words(text: str) -> list[str]:
    """Words, apart by spaces and commas but within quotes: a name may hold either.

    A quote within quotes stands twice, as exports write it: ``"5"" disk"``.
    """
    words = []
    at = 0
    while match := _WORD.match(text, at):
        quoted, plain = match.groups()
        words.append(plain if quoted is None else quoted.replace('""', '"'))
        at = match.end()
    if text[at:].strip(", \t\n"):
        msg = f'{text} has a quote without its other one; put names in quotes: "Ann B."'
        raise SettingsError(msg)
    return words


def _forms() -> str:
    return ", ".join(form for form, _ in QUESTIONS.values())


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        msg = f"{text!r} is no vertex; ids are UUIDs"
        raise SettingsError(msg) from None


def _number(ids: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        msg = f"{text!r} is no vertex; ids are whole numbers"
        raise SettingsError(msg) from None
    low, high = (0, 2**64) if ids == "uint64" else (-(2**63), 2**63)
    if not low <= number < high:
        msg = f"{number} is no vertex; ids are whole numbers of 64 bits"
        raise SettingsError(msg)
    return number


def _count(values: list[str], form: str) -> int:
    if not values:
        return _TOP
    if not values[0].isdecimal() or int(values[0]) == 0:
        msg = f"{values[0]!r} is no number of rows; ask {form} with a K of 1 or more"
        raise SettingsError(msg)
    return int(values[0])
