"""The source of a user's function: its tree, and how a message names a line of it."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, MethodType
from typing import Any, NoReturn

from ..errors import SettingsError

#: A function as Python has parsed it.
Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Source:
    """A function whose source can be read.

    Parameters
    ----------
    role
        What the function is to a program, such as ``edge``; for messages.
    function
        A plain function: ``def`` or ``lambda``.

    Raises
    ------
    SettingsError
        It is no such function, or its source is not there.
    """

    def __init__(self, role: str, function: Callable[..., Any]) -> None:
        self.role = role
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType):
            msg = f"{role}={function!r} is no plain Python function; write it by def or lambda"
            raise SettingsError(msg)
        if isinstance(function, MethodType):
            msg = f"{role}={function.__qualname__} is a method, which is given an object besides; "
            msg += "write it outside of the class, or as a staticmethod"
            raise SettingsError(msg)
        self._path = code.co_filename
        # A file that was edited, and loaded again, is to be read again.
        linecache.checkcache(self._path)
        self._lines = linecache.getlines(self._path)
        text = "".join(self._lines)
        found = list(_trees_of(code, text))
        if len(found) != 1 or not _is_of(code, text):
            why = "two functions begin in one line" if found else "its source cannot be read"
            if len(found) == 1:
                why = "its source has changed since it was loaded"
            msg = (
                f"{role}() of {self._path}, line {code.co_firstlineno}: {why}; programs are "
                f"translated from their source, so write each function in a line of its own, in a "
                f"file or a notebook"
            )
            raise SettingsError(msg)
        self.tree: Tree = found[0]
        if isinstance(self.tree, ast.AsyncFunctionDef):
            self.refuse(self.tree, "an async function is no part of programs")
        self._names = _names_of(function)

    @property
    def parameters(self) -> list[str]:
        """Names of its parameters.

        Raises
        ------
        SettingsError
            It takes others than plain ones.
        """
        given = self.tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
            self.refuse(self.tree, "its parameters must be plain names, without defaults or stars")
        return [each.arg for each in (*given.posonlyargs, *given.args)]

    def value_of(self, name: str) -> Any:
        """Object that a name refers to outside of the function; `KeyError` where there is none."""
        return self._names[name]

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """Raise `SettingsError` that names the line of a node."""
        number = getattr(node, "lineno", self.tree.lineno)
        line = self._lines[number - 1].strip() if number <= len(self._lines) else ""
        msg = f"{self.role}(), line {number} of {Path(self._path).name}: {why}\n    {line}"
        raise SettingsError(msg)


def _trees_of(code: CodeType, text: str) -> Iterator[Tree]:
    """Functions of a text that this code may be of."""
    try:
        whole = ast.parse(text)
    except SyntaxError:
        # What a shell or a notebook has run may hold lines that are no Python.
        return
    if code.co_name != "<lambda>":
        for node in ast.walk(whole):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name == code.co_name:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if first == code.co_firstlineno:
                    yield node
        return
    lambdas = [node for node in ast.walk(whole) if isinstance(node, ast.Lambda)]
    in_line = [node for node in lambdas if node.lineno == code.co_firstlineno]
    for node in in_line:
        body = node.body.lineno, node.body.col_offset
        if len(in_line) == 1 or _first_position(code) == body:
            yield node


def _is_of(code: CodeType, text: str) -> bool:
    """Whether a function was compiled from this text."""
    with warnings.catch_warnings():
        # Of other lines, and when it was loaded.
        warnings.simplefilter("ignore")
        # A cell of a notebook may wait at its top.
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        try:
            within = [compile(text, code.co_filename, "exec", flags, dont_inherit=True)]
        except SyntaxError:
            return False
    while within:
        each = within.pop()
        if _meaning_of(each) == _meaning_of(code):
            return True
        within += [item for item in each.co_consts if isinstance(item, CodeType)]
    return False


def _meaning_of(code: CodeType) -> tuple[Any, ...]:
    """What codes have in common that compute the same, in the same line."""
    constants = [item for item in code.co_consts if not isinstance(item, CodeType)]
    names = code.co_name, code.co_names, code.co_varnames, code.co_freevars
    return code.co_firstlineno, names, code.co_code, repr(constants)


def _first_position(code: CodeType) -> tuple[int, int]:
    """Line and column, in bytes, of the body of a lambda: the leftmost that has code."""
    positions = [
        (line, column)
        for line, _, column, _ in code.co_positions()
        if line is not None and column is not None and (line, column) > (code.co_firstlineno, 0)
    ]
    return min(positions, default=(0, 0))


def _names_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Objects that the names refer to which the function does not define itself."""
    names = dict(getattr(function, "__globals__", {}))
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            # Not assigned yet.
            names.pop(name, None)
    return names
