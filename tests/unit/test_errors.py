"""Errors cross process borders as they are."""

import pickle

import pytest
from distributed.core import clean_exception, error_message

from graphtide.gpu_core import errors

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.GraphtideError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_back_from_a_worker_as_it_was_raised(kind: type[BaseException]) -> None:
    msg = "what was found"
    try:
        raise kind(msg)
    except errors.GraphtideError as error:
        sent = error_message(error)
    _, back, _ = clean_exception(sent["exception"].data)
    for each in (back, pickle.loads(pickle.dumps(kind(msg)))):
        assert type(each) is kind
        assert str(each) == msg
