"""Which cases the everyday suite runs: of every value one, and of what takes long few or none."""

from itertools import product
from pathlib import Path

import everyday
from everyday import everyday_cases, read_table, write_table

TESTS = Path(everyday.TABLE).parent


def cases(name: str, **values: list) -> list[tuple[str, dict]]:
    combinations = (dict(zip(values, each, strict=True)) for each in product(*values.values()))
    return [(f"{name}[{'-'.join(map(str, each.values()))}]", each) for each in combinations]


LONG = 2 * everyday.MOST_SECONDS_OF_A_CASE
ENGINES = cases("tests/a.py::test", engine=["host", "emulated", "emulated-chain"], size=[*range(9)])


def chosen(some: list[tuple[str, dict]], *names: str, **seconds: float) -> list[dict]:
    """Parameters of the cases that stay, where they take so many seconds on a kind of device."""
    table = {("tests/a.py::test", kind): each for kind, each in seconds.items()}
    kept = set(everyday_cases(some, table, names))
    return [parameters for node, parameters in some if node in kept]


def test_every_value_of_every_parameter_stays_and_combinations_go():
    some = cases("tests/a.py::test", size=[1, 2, 3], order=["up", "down"], record=[{"a": 1}, {}])
    found = chosen(some)
    assert len(found) == 3
    assert {each["size"] for each in found} == {1, 2, 3}
    assert {each["order"] for each in found} == {"up", "down"}
    assert [each for each in found if each["record"] == {}]


def test_every_value_stays_on_the_host_unless_that_takes_long():
    def sizes(found: list[dict]) -> set[int]:
        return {each["size"] for each in found if each["engine"] == "host"}

    assert sizes(chosen(ENGINES)) == {*range(9)}
    assert {each["engine"] for each in chosen(ENGINES)} == {"host", "emulated", "emulated-chain"}
    fewer = chosen(ENGINES, host=everyday.MOST_SECONDS / 8)
    assert 0 < len(sizes(fewer)) < 9
    assert {each["size"] for each in fewer} == {*range(9)}


def test_a_test_without_parameters_stays_and_tests_do_not_cover_each_other():
    some = [
        ("tests/a.py::one", {}),
        *cases("tests/a.py::two", size=[1, 2]),
        ("tests/b.py::two", {}),
    ]
    assert set(everyday_cases(some, {})) == {node for node, _ in some}


def test_of_what_takes_long_one_stays_for_each_kind_of_device():
    each = everyday.MOST_SECONDS_OF_A_CASE / 2
    found = chosen(ENGINES, host=each, emulated=each)
    assert [case["engine"] for case in found] == ["host", "emulated"]


def test_a_case_that_takes_long_is_left_out_where_it_does_and_unless_it_is_wanted():
    found = chosen(ENGINES, emulated=LONG)
    assert {each["engine"] for each in found} == {"host"}
    assert not chosen(ENGINES, host=LONG, emulated=LONG)
    wanted = chosen(ENGINES, "tests/a.py::test", host=LONG, emulated=LONG)
    assert [each["engine"] for each in wanted] == ["host", "emulated"]


def test_the_contract_stays_whole():
    name = "tests/engine/contract/test_contract.py::test"
    some = cases(name, engine=["host", "emulated"], layout=["runs", "tree"])
    assert len([*everyday_cases(some, {(name, "emulated"): LONG})]) == 4


def test_the_table_is_made_of_what_pytest_prints():
    printed = """
    1.20s setup    tests/a.py::test[emulated-chain-True]
    2.80s call     tests/a.py::test[emulated-chain-True]
    2.00s call     tests/a.py::test[1-emulated]
    0.50s call     tests/a.py::test[host-True]
    9.00s call     tests/b.py::other[no host]
    0.30s call     tests/b.py::short
    3 passed in 15.00s
    """
    assert read_table(write_table(printed, 0.5)) == {
        ("tests/a.py::test", "emulated"): 1.5,
        ("tests/a.py::test", "host"): 0.2,
        ("tests/b.py::other", ""): 4.5,
    }


def test_the_table_names_tests_that_are_there():
    """A test that was renamed would be taken for a short one."""
    texts = {}
    for name, _ in read_table(everyday.TABLE.read_text()):
        path, _, function = name.partition("::")
        text = texts.setdefault(path, (TESTS.parent / path).read_text())
        assert f"def {function.rpartition('::')[2]}(" in text, name
