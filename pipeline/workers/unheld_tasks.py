"""Tasks that run to their end although no Future is held."""

from collections.abc import Callable

from distributed import Client, Future, fire_and_forget


def run_and_forget(client: Client, submit: Callable[[], Future]) -> None:
    """Have the task that ``submit`` gives run to its end although its Future is not held.

    The scheduler drops a task that has ended if it knows by then that no client wants the result.
    Otherwise it keeps the task for good, and runs it and its inputs again once the worker is lost.
    So the task and this note go to the scheduler in one message: what the client's event loop sends
    at one moment.
    """

    async def send() -> None:
        fire_and_forget(submit())

    client.sync(send)
