"""The language of programs: a strict part of Python, translated to CUDA C++ and back to Python.

A function of it is arithmetic, comparisons, conditions, ``if``, local variables and `return`, over
numbers: no loops, so that it ends; no calls but those of `operations.py`. It is checked and typed
here once, and written in both languages from the same tree, so that both engines compute the same:
C++ is compiled into the kernels of a GPU, Python by Numba into those of the host. What is not of
the language is refused with the line at fault.

Names from outside, of the module or of an enclosing function, are numbers, which are taken as they
are when the program is made, or functions of `operations.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from .operations import (
    C_TYPES,
    CALLABLE,
    COMPARISONS,
    FLAG,
    KIND_NAMES,
    REAL,
    WHOLE,
    Term,
    arithmetic,
    as_kind,
    called,
    common,
    constant,
    is_callable,
)
from .source import Source

#: What a function of a program may name as parameters beside its own, and their kinds.
CONTEXT: Final = {"degree": WHOLE, "superstep": WHOLE, "num_vertices": WHOLE, "total": REAL}


class FunctionText(NamedTuple):
    """A function in both languages."""

    #: Statements of its body; parameters are called ``v_`` and their name.
    c: str
    python: str
    #: Names of its parameters, as they are in the texts.
    parameters: tuple[str, ...]
    #: Names, its own first and those of `CONTEXT`, that it looks at.
    used: frozenset[str]


def written(
    role: str,
    function: Callable[..., Any],
    own: Mapping[str, str],
    results: Mapping[str, str],
    context: Mapping[str, str] = CONTEXT,
    fixed: Collection[str] = (),
) -> FunctionText:
    """Translate a function.

    Parameters
    ----------
    role
        What the function is to a program, for messages.
    function
        The function.
    own
        What its first parameters are, in their order, and of which kind.
    results
        What it returns, one value or a tuple of several, and of which kind.
    context
        What it may have as further parameters, by their names, and of which kind.
    fixed
        Names among these that it may not assign to: of state, which it reads.

    Raises
    ------
    SettingsError
        The function is not of the language, or takes or returns other things.
    """
    source = Source(role, function)
    parameters = source.parameters
    if len(parameters) < len(own):
        source.refuse(
            source.tree, f"it takes {_values(len(parameters))}, but is given {', '.join(own)}"
        )
    for name in parameters[len(own) :]:
        if name not in context:
            named, given = ", ".join(context) or "nothing", ", ".join(own)
            may = f"is given {given}, and may name {named} besides" if own else f"may name {named}"
            source.refuse(source.tree, f"parameter {name!r} is unknown: {role}() {may}")
    asked = parameters[len(own) :]
    kinds = dict(zip(parameters, [*own.values(), *(context[name] for name in asked)], strict=True))
    meanings = dict(zip(parameters, [*own, *asked], strict=True))
    return _Translation(source, kinds, results, fixed).run(meanings)


class _Translation:
    """Translates one function.

    A local variable has the kind of what was assigned to it last, as in Python: as there are no
    loops, that is known where it is read. For each of its kinds the texts have a variable of their
    own. Where two branches leave it with different kinds, it has the common one afterwards.
    """

    def __init__(
        self,
        source: Source,
        kinds: Mapping[str, str],
        results: Mapping[str, str],
        fixed: Collection[str],
    ) -> None:
        self._source = source
        self._parameters = tuple(kinds)
        #: Kinds of all names that have a value where the translation is.
        self._kinds = dict(kinds)
        #: Local variables of the texts, and their kinds.
        self._local: dict[str, str] = {}
        self._results = dict(results)
        self._fixed = fixed
        self._used: set[str] = set()
        #: Names that are assigned to, on any path.
        self._assigned = {
            node.id
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self._c: list[str] = []
        self._python: list[str] = []

    def run(self, meanings: Mapping[str, str]) -> FunctionText:
        """Translate it. ``meanings``: what a program calls each parameter."""
        tree = self._source.tree
        if isinstance(tree, ast.Lambda):
            self._return(tree.body, 1)
            ends = True
        else:
            ends = self._block(tree.body, self._kinds, 1)
        if not ends:
            what = _values(len(self._results))
            self._source.refuse(tree, f"not every path through it ends in a return of {what}")
        declared = [f"    {C_TYPES[kind]} {name} = 0;" for name, kind in self._local.items()]
        return FunctionText(
            "\n".join([*declared, *self._c]),
            "\n".join(self._python),
            tuple(f"v_{name}" for name in self._parameters),
            frozenset(meanings[name] for name in self._used if name in meanings),
        )

    # -- statements --------------------------------------------------------------------------

    def _write(self, depth: int, c: str, python: str = "") -> None:
        self._c.append("    " * depth + c)
        if python:
            self._python.append("    " * depth + python)

    def _block(self, body: Sequence[ast.stmt], kinds: dict[str, str], depth: int) -> bool:
        """Write statements; returns whether all paths through them return.

        ``kinds``: of the names that have a value here; afterwards, of those that have one then.
        """
        before = len(self._python)
        for statement in body:
            if self._statement(statement, kinds, depth):
                return True
        if len(self._python) == before:
            self._python.append("    " * depth + "pass")
        return False

    def _statement(self, node: ast.stmt, kinds: dict[str, str], depth: int) -> bool:
        self._kinds = kinds
        if isinstance(node, ast.Return):
            self._return(node.value, depth, node)
            return True
        if isinstance(node, ast.If):
            return self._if(node, kinds, depth)
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Pass) or (is_text and isinstance(node.value.value, str)):  # type: ignore[attr-defined]
            return False
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], self._term(node.value)
            if len(node.targets) > 1:
                self._source.refuse(node, _ONE_NAME)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, self._term(node.value)
        elif isinstance(node, ast.AugAssign):
            target = node.target
            value = self._operated(node, node.op, self._term(target), self._term(node.value))
        else:
            self._source.refuse(
                node, f"{_described(node)} is no part of programs; they have assignments, if "
                "and return",
            )  # fmt: skip
        if not isinstance(target, ast.Name):
            self._source.refuse(node, _ONE_NAME)
        name = target.id
        if name in self._fixed and name in self._parameters:
            self._source.refuse(
                node, f"{name} is state, which is read here; return what is to be written"
            )
        if name in self._parameters:
            had = kinds[name]
            if common(value.kind, had) != had:
                given = KIND_NAMES[value.kind]
                self._source.refuse(
                    node, f"{name} is {KIND_NAMES[had]} and becomes {given}; take another name"
                )
            value = as_kind(value, had)
        kinds[name] = value.kind
        written_to = self._variable(name, value.kind)
        self._write(depth, f"{written_to} = {value.c};", f"{written_to} = {value.python}")
        return False

    def _variable(self, name: str, kind: str) -> str:
        """Name in the texts of a variable while it is of this kind."""
        if name in self._parameters:
            return f"v_{name}"
        text = f"v{kind}_{name}"
        self._local[text] = kind
        return text

    def _if(self, node: ast.If, kinds: dict[str, str], depth: int) -> bool:
        test = as_kind(self._term(node.test), FLAG)
        self._write(depth, f"if {_bare(test.c)} {{", f"if {test.python}:")
        first, second = dict(kinds), dict(kinds)
        first_ends = self._block(node.body, first, depth + 1)
        at = len(self._c), len(self._python)
        self._write(depth, "} else {", "else:")
        second_ends = self._block(node.orelse, second, depth + 1)
        kinds.clear()
        if first_ends or second_ends:
            # A path that returns need not assign what is read after it.
            kinds.update(second if first_ends else first)
        else:
            both = [name for name in first if name in second]
            kinds.update({name: common(first[name], second[name]) for name in both})
            self._convert(second, kinds, depth + 1)
            after = self._c[at[0] :], self._python[at[1] :]
            del self._c[at[0] :], self._python[at[1] :]
            self._convert(first, kinds, depth + 1)
            self._c += after[0]
            self._python += after[1]
        self._write(depth, "}")
        return first_ends and second_ends

    def _convert(self, before: Mapping[str, str], after: Mapping[str, str], depth: int) -> None:
        """Write what gives local variables the kinds that they have after a branch."""
        for name, kind in after.items():
            if before[name] != kind:
                text, to = self._variable(name, before[name]), self._variable(name, kind)
                value = as_kind(Term(before[name], text, text), kind)
                self._write(depth, f"{to} = {value.c};", f"{to} = {value.python}")

    def _return(
        self, value: ast.expr | None, depth: int, statement: ast.stmt | None = None
    ) -> None:
        node = value or statement or self._source.tree
        if isinstance(value, ast.IfExp) and len(self._results) > 1:
            test = as_kind(self._term(value.test), FLAG)
            self._write(depth, f"if {_bare(test.c)} {{", f"if {test.python}:")
            self._return(value.body, depth + 1)
            self._write(depth, "} else {", "else:")
            self._return(value.orelse, depth + 1)
            self._write(depth, "}")
            return
        count = len(self._results)
        given = value.elts if isinstance(value, ast.Tuple) else [] if value is None else [value]
        if len(given) != count:
            expected = _values(count)
            if count > 1:
                expected += f", ({', '.join(self._results)})"
            self._source.refuse(node, f"it returns {_values(len(given))}, not {expected}")
        terms = [self._term(each) for each in given]
        kinds = self._results.values()
        for term, (name, kind), each in zip(terms, self._results.items(), given, strict=True):
            if common(term.kind, kind) != kind:
                self._source.refuse(each, _misfit(name, term.kind, kind))
        cast = [as_kind(term, kind) for term, kind in zip(terms, kinds, strict=True)]
        if count == 1:
            self._write(depth, f"return {cast[0].c};", f"return {cast[0].python}")
        else:
            c, python = (", ".join(term[i] for term in cast) for i in (1, 2))
            self._write(depth, f"return {{{c}}};", f"return {python}")

    # -- expressions -------------------------------------------------------------------------

    def _term(self, node: ast.expr) -> Term:
        handler = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if handler is None:
            self._source.refuse(node, f"{_described(node)} is no part of programs")
        term: Term = handler(node)
        return term

    def _of_constant(self, node: ast.Constant) -> Term:
        found = constant(node.value)
        if found is None:
            why = (
                "beyond int64"
                if type(node.value) is int
                else "no number that programs compute with"
            )
            self._source.refuse(node, f"{node.value!r} is {why}")
        return found

    def _of_name(self, node: ast.Name) -> Term:
        name = node.id
        if name in self._kinds:
            self._used.add(name)
            text = self._variable(name, self._kinds[name])
            return Term(self._kinds[name], text, text)
        if name in self._assigned:
            self._source.refuse(node, f"{name} has no value yet on some path to this line")
        return self._of_outside(node)

    def _of_attribute(self, node: ast.Attribute) -> Term:
        return self._of_outside(node)

    def _of_outside(self, node: ast.expr) -> Term:
        value = self._object(node)
        found = constant(value)
        if found is None:
            why = f"no number but of type {type(value).__name__}; programs know numbers"
            if isinstance(value, int | np.integer):
                why = f"{value}, which is beyond int64"
            self._source.refuse(node, f"{ast.unparse(node)} is {why}")
        return found

    def _object(self, node: ast.expr) -> Any:
        """Object that a name from outside of the function refers to."""
        if isinstance(node, ast.Attribute):
            module = self._object(node.value)
            if not isinstance(module, ModuleType):
                self._source.refuse(
                    node, f"{ast.unparse(node)} is looked up in an object, which is no part of "
                    "programs; give the number a name outside of the function",
                )  # fmt: skip
            if hasattr(module, node.attr):
                return getattr(module, node.attr)
        elif isinstance(node, ast.Name):
            if node.id in self._kinds or node.id in self._assigned:
                self._source.refuse(node, f"{node.id} is a number, and no module or function")
            try:
                return self._source.value_of(node.id)
            except KeyError:
                builtin = {each.__name__: each for each in (abs, min, max, int, float, bool)}
                if node.id in builtin:
                    return builtin[node.id]
        self._source.refuse(node, f"{ast.unparse(node)} is unknown here")

    def _of_binop(self, node: ast.BinOp) -> Term:
        return self._operated(node, node.op, self._term(node.left), self._term(node.right))

    def _operated(self, node: ast.AST, operator: ast.operator, left: Term, right: Term) -> Term:
        found = arithmetic(operator, left, right)
        if found is None:
            what, cure = f"of {KIND_NAMES[left.kind]} and {KIND_NAMES[right.kind]}", ""
            if isinstance(operator, ast.Pow):
                what, cure = "", "; write products (x * x), or math.exp(y * math.log(x))"
            why = f"{_described(operator)} {what}".rstrip()
            self._source.refuse(node, f"{why} is no part of programs{cure}")
        return found

    def _of_unaryop(self, node: ast.UnaryOp) -> Term:
        term = self._term(node.operand)
        if isinstance(node.op, ast.Not):
            term = as_kind(term, FLAG)
            return Term(FLAG, f"(!{term.c})", f"(not {term.python})")
        term = as_kind(term, common(term.kind, WHOLE))
        if isinstance(node.op, ast.USub):
            if term.kind == WHOLE:
                return Term(WHOLE, f"sub_whole(0, {term.c})", f"sub_whole(0, {term.python})")
            return Term(REAL, f"(-{term.c})", f"(-{term.python})")
        if isinstance(node.op, ast.Invert) and term.kind == WHOLE:
            return Term(WHOLE, f"(~{term.c})", f"(~{term.python})")
        if isinstance(node.op, ast.UAdd):
            return term
        self._source.refuse(node, "~ of a float is no part of programs")

    def _of_boolop(self, node: ast.BoolOp) -> Term:
        terms = [self._term(each) for each in node.values]
        for term, each in zip(terms, node.values, strict=True):
            if term.kind != FLAG:
                self._source.refuse(each, "`and` and `or` join comparisons here; compare with 0")
        is_and = isinstance(node.op, ast.And)
        c = (" && " if is_and else " || ").join(term.c for term in terms)
        python = (" and " if is_and else " or ").join(term.python for term in terms)
        return Term(FLAG, f"({c})", f"({python})")

    def _of_compare(self, node: ast.Compare) -> Term:
        terms = [self._term(each) for each in (node.left, *node.comparators)]
        c, python = [], []
        for operator, left, right in zip(node.ops, terms, terms[1:], strict=False):
            sign = COMPARISONS.get(type(operator))
            if sign is None:
                self._source.refuse(node, "`is` and `in` are no part of programs")
            kind = common(left.kind, right.kind)
            one, other = as_kind(left, kind), as_kind(right, kind)
            c.append(f"({one.c} {sign} {other.c})")
            python.append(f"({one.python} {sign} {other.python})")
        if len(c) == 1:
            return Term(FLAG, c[0], python[0])
        return Term(FLAG, f"({' && '.join(c)})", f"({' and '.join(python)})")

    def _of_ifexp(self, node: ast.IfExp) -> Term:
        test = as_kind(self._term(node.test), FLAG)
        one, other = self._term(node.body), self._term(node.orelse)
        kind = common(one.kind, other.kind)
        one, other = as_kind(one, kind), as_kind(other, kind)
        return Term(
            kind,
            f"({test.c} ? {one.c} : {other.c})",
            f"({one.python} if {test.python} else {other.python})",
        )

    def _of_call(self, node: ast.Call) -> Term:
        function = self._object(node.func)
        terms = [self._term(each) for each in node.args]
        found = None
        if not node.keywords and isinstance(function, Hashable):
            found = called(function, terms)
        if found is None:
            call, name = ast.unparse(node), ast.unparse(node.func)
            why = f"{call} is no call that programs have; they call {CALLABLE}"
            if is_callable(function):
                why = f"{call} calls {name} with other arguments than programs do"
            self._source.refuse(node, why)
        return found


def _bare(condition: str) -> str:
    """A condition of C in one pair of parentheses."""
    return condition if condition.startswith("(") else f"({condition})"


def _misfit(name: str, found: str, declared: str) -> str:
    names = KIND_NAMES
    if declared == FLAG:
        return f"{name} is {names[FLAG]}, not {names[found]}; compare it"
    return (
        f"it returns {names[found]} where {name} is declared as {names[declared]}; use int(), or "
        f"declare float64"
    )


_NAMES: Final[dict[type[ast.AST], str]] = {
    ast.For: "a loop", ast.While: "a loop", ast.Tuple: "a tuple", ast.List: "a list",
    ast.Subscript: "an index (there are no arrays here)", ast.FunctionDef: "a function within",
    ast.Import: "an import", ast.ImportFrom: "an import", ast.Raise: "raising",
    ast.Assert: "an assertion", ast.With: "with", ast.Try: "try",
    ast.Dict: "a dictionary", ast.JoinedStr: "text", ast.Lambda: "a lambda",
    ast.ListComp: "a loop", ast.GeneratorExp: "a loop", ast.LShift: "a shift",
    ast.RShift: "a shift", ast.MatMult: "a product of matrices", ast.Pow: "a power",
    ast.Global: "a global name", ast.Nonlocal: "a name of another function", ast.Match: "match",
    ast.Delete: "del", ast.NamedExpr: "an assignment within an expression", ast.Set: "a set",
    ast.DictComp: "a loop", ast.SetComp: "a loop", ast.Yield: "yield", ast.YieldFrom: "yield",
    ast.AnnAssign: "a declaration without a value", ast.ClassDef: "a class within",
    ast.Starred: "a star", ast.Expr: "a line of which nothing is kept",
}  # fmt: skip

_ONE_NAME: Final = "a value is assigned to one name at a time"


def _described(node: ast.AST) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom):
        node = node.value
    return _NAMES.get(type(node), f"{type(node).__name__}")


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count or 'no'} values"
