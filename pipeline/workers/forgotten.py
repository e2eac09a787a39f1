"""Tasks that are asked for and never heard of again."""

from collections.abc import Callable

from distributed import Client, Future, fire_and_forget


def run_and_forget(client: Client, submit: Callable[[], Future]) -> None:
    """Have the task that ``submit`` gives run to its end, though nobody holds it.

    The scheduler drops it when it has ended, if it knows by then that no client wants the result.
    Else it would keep the task for good, and run it again, and what it was given, once its worker
    is lost.
    So both are said in one message: what the thread of the client sends at one moment.
    """

    async def send() -> None:
        fire_and_forget(submit())

    client.sync(send)
