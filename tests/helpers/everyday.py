"""Which cases the everyday suite runs: those that are left out are marked ``exhaustive``.

Of the combinations of a test's parameters those stay in which each value occurs at least once, and
at least once on the host where that takes little time: its kernels are others than a device's.
Where they would take long, as ``tests/durations.txt`` says, only the first for each kind of device
stays, and none where even one takes long. A test that is marked ``everyday`` stands for others that
take long: one case of it stays. The contract of an engine stays whole: it is what all engines and
layouts share.

The choice depends on nothing but the parameters, their order, and that table, so that all processes
of a run make the same one. `.ci/run` and ``make exhaustive`` run what is left out; naming a test
(``pytest tests/unit/test_plan.py::test_…``) runs all of it.

Not here: what no machine without a GPU can run, and layouts that a test is spared: ``conftest.py``.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

import pytest

#: Mean seconds of a case, for each test and kind of device, on two idle cores.
TABLE = Path(__file__).parents[1] / "durations.txt"
#: What all cases of a test on one kind of device may take, and what a single one may.
MOST_SECONDS, MOST_SECONDS_OF_A_CASE = 0.7, 1.0
#: Shorter ones are not in the table.
LEAST_SECONDS = 0.2

#: In the brackets of a node id: on what kind of device a case runs.
_KIND = re.compile(r"\[(?:.*?-)?(host|emulated|real)\b")
#: Where nothing is left out.
_WHOLE = "tests/engine/contract/"

Seconds = Mapping[tuple[str, str], float]


def mark_exhaustive(items: list[pytest.Item], named: Iterable[str] = ()) -> None:
    """Mark the cases that the everyday suite leaves out.

    Parameters
    ----------
    items
        All cases of each test that is collected, in the order of their parameters.
    named
        Arguments of the command line: what names a test there is not marked.
    """
    seconds = read_table(TABLE.read_text())
    tests = tuple(each for each in named if "::" in each)
    wanted = {_test(item.nodeid) for item in items if item.get_closest_marker("everyday")}
    cases = [(item.nodeid, _parameters(item)) for item in items]
    kept = set(everyday_cases(cases, seconds, wanted))
    for item in items:
        if item.nodeid not in kept and not item.nodeid.startswith(tests):
            item.add_marker("exhaustive")


def everyday_cases(
    cases: Iterable[tuple[str, Mapping[str, object]]],
    seconds: Seconds,
    wanted: Collection[str] = (),
) -> Iterator[str]:
    """Node ids of the cases that stay, of node ids and parameters; a test's follow one another.

    Of a test that is wanted one stays for each kind of device, however long it takes.
    """
    for name, group in groupby(cases, key=lambda case: _test(case[0])):
        if name.startswith(_WHOLE):
            yield from (node for node, _ in group)
            continue
        of_test, by_kind = list(group), defaultdict(list)
        for node in _covering(of_test):
            by_kind[kind_of(node)].append(node)
        if on_host := [case for case in of_test if kind_of(case[0]) == "host"]:
            nodes = list(_covering(on_host))
            if seconds.get((name, "host"), 0.0) * len(nodes) <= MOST_SECONDS:
                by_kind["host"] = nodes
        for kind, nodes in by_kind.items():
            each = seconds.get((name, kind), 0.0)
            if each <= MOST_SECONDS_OF_A_CASE or name in wanted:
                yield from nodes if each * len(nodes) <= MOST_SECONDS else nodes[:1]


def kind_of(node: str) -> str:
    """``host``, ``emulated``, ``real``; empty where the case does not say."""
    found = _KIND.search(node)
    return found[1] if found else ""


def _test(node: str) -> str:
    return node.partition("[")[0]


def _parameters(item: pytest.Item) -> Mapping[str, object]:
    return getattr(getattr(item, "callspec", None), "params", {})


def _covering(cases: list[tuple[str, Mapping[str, object]]]) -> Iterator[str]:
    """Node ids in which each value of each parameter occurs: every time that with most new ones."""
    values = [
        {(name, repr(value)) for name, value in parameters.items()} for _, parameters in cases
    ]
    left = set().union(*values)
    if not left:
        yield from (node for node, _ in cases[:1])
    while left:
        best = max(range(len(cases)), key=lambda at: len(left & values[at]))
        left -= values[best]
        yield cases[best][0]


# --- the table ------------------------------------------------------------------------------------


def read_table(text: str) -> Seconds:
    """Of each line: seconds, kind of device or ``-``, name of the test."""
    lines = (line.split(maxsplit=2) for line in text.splitlines() if line[:1].isdigit())
    return {(name, kind.strip("-")): float(each) for each, kind, name in lines}


def write_table(output: str, scale: float) -> str:
    """Make the table of what ``pytest --durations=0`` printed.

    Parameters
    ----------
    output
        What it printed.
    scale
        By what seconds are multiplied: below 1 where others used the machine as well.
    """
    of_cases: dict[str, float] = defaultdict(float)
    for each, node in re.findall(r"^\s*([\d.]+)s (?:setup|call|teardown)\s+(\S.*)$", output, re.M):
        of_cases[node.strip()] += scale * float(each)
    of_tests = defaultdict(list)
    for node, each in of_cases.items():
        of_tests[_test(node), kind_of(node) or "-"].append(each)
    means = {test: sum(all_of) / len(all_of) for test, all_of in of_tests.items()}
    lines = [
        f"{mean:6.1f} {kind:8} {name}\n".lstrip()
        for (name, kind), mean in sorted(means.items())
        if mean >= LEAST_SECONDS
    ]
    return "".join(lines)


if __name__ == "__main__":  # python tests/helpers/everyday.py SCALE < printed > tests/durations.txt
    sys.stdout.write(write_table(sys.stdin.read(), float(sys.argv[1])))
