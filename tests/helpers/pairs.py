"""Combinations of settings in which every two values meet.

All combinations of five records, two storages, three directions and two layouts are sixty, and each
compiles kernels of its own. Faults come from one value or from two that meet, so a covering array
finds them with a quarter of that.

Source: Kuhn, Wallace, Gallo (2004), Software fault interactions and implications for software
testing.
"""

from collections.abc import Collection, Iterator
from itertools import combinations, product
from typing import Any

import pytest


def in_pairs(**values: Collection[Any]) -> pytest.MarkDecorator:
    """Mark that gives a test these parameters, so that every two values meet at least once.

    Parameters
    ----------
    **values
        Name of a parameter -> its values.
    """
    choices = {name: list(each) for name, each in values.items()}
    cases = [
        tuple(map(list.__getitem__, choices.values(), places))
        for places in covering_array([len(each) for each in choices.values()])
    ]
    return pytest.mark.parametrize(tuple(choices), cases)


def covering_array(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """Places of values: each time those in which most pairs meet that have not met yet."""
    every = list(product(*map(range, sizes)))
    left = {pair for places in every for pair in _pairs(places)}
    while left:
        best = max(every, key=lambda places: len(left & _pairs(places)))
        left -= _pairs(best)
        yield best


def _pairs(places: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
    """Every two of a combination: which parameters, and which of their values."""
    return set(combinations(enumerate(places), 2))
