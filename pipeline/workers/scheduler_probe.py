"""Check that a Dask scheduler answers at an address, before a client connects to it.

Dask tries an address that refuses connections again and again, up to its time limit, and waits
without a limit for the first bytes of whatever accepts its connection, such as a stopped scheduler
or a server of another kind, whose bytes it reads as the length of a message. So one connection is
tried here, with a time limit for each step.
"""

import asyncio
from typing import Any

from distributed.comm import CommClosedError, parse_address
from distributed.comm.registry import get_backend
from distributed.security import Security

from ...gpu_core.errors import ClusterError
from .in_thread import in_thread

#: Seconds for a connection to come about; one that is refused, or a name that is unknown, needs
#: none of them.
CONNECT_SECONDS = 10.0

#: Seconds for the first words of a scheduler, which may be busy.
ANSWER_SECONDS = 30.0

_CERTIFICATES = (
    "the files that ca-file, client.cert and client.key below distributed.comm.tls name in Dask's "
    "configuration"
)


def check_scheduler(address: str) -> None:
    """Connect to a scheduler once, exchange greetings, and ask what it is.

    Raises
    ------
    ClusterError
        Nothing listens there, or what does is no scheduler.
    TypeError
        It asks for certificates, and Dask has none here.
    """
    if address.startswith("inproc://"):
        return
    # The caller may have a loop running, as in a notebook.
    in_thread("graphtide-probe", lambda: asyncio.run(_greet(address))).result()


async def _greet(address: str) -> None:
    scheme, _ = parse_address(address)
    advice = f"check the address, {f'and {_CERTIFICATES}' if scheme == 'tls' else 'or start one'}"
    comm = await _connect(address, advice)
    try:
        kind = await _kind_of(comm)
    except TimeoutError:
        msg = (
            f"what listens at {address} has said nothing within {ANSWER_SECONDS:g} s: a Dask "
            f"scheduler that is stopped, or something else; {advice}"
        )
        raise ClusterError(msg) from None
    except CommClosedError as error:
        if scheme != "tls":
            advice = "check the address, which begins with tls:// if it has TLS, or start one"
        msg = f"no Dask scheduler answers at {address} ({_reason(error)}); {advice}"
        raise ClusterError(msg) from None
    except Exception:
        # Its words, read as a message of Dask's, come to anything.
        kind = None
    finally:
        comm.abort()
    if kind is None:
        msg = f"what listens at {address} is no Dask scheduler; {advice}"
        raise ClusterError(msg)
    if kind in ("Worker", "Nanny"):
        msg = (
            f"what listens at {address} is a {kind.lower()} of a Dask cluster; give the address of "
            f"its scheduler"
        )
        raise ClusterError(msg)


async def _connect(address: str, advice: str) -> Any:
    """Connect as a client does, but once; ``advice`` ends the error where nothing answers."""
    scheme, location = parse_address(address)
    connector = get_backend(scheme).get_connector()
    try:
        arguments = Security().get_connection_args("client")
    except OSError as error:
        msg = f"certificates for {address} cannot be read ({_reason(error)}); check {_CERTIFICATES}"
        raise ClusterError(msg) from None
    try:
        return await asyncio.wait_for(connector.connect(location, **arguments), CONNECT_SECONDS)
    except TimeoutError:
        msg = f"no Dask scheduler answers at {address} within {CONNECT_SECONDS:g} s; {advice}"
        raise ClusterError(msg) from None
    except (OSError, ValueError) as error:
        msg = f"no Dask scheduler answers at {address} ({_reason(error)}); {advice}"
        raise ClusterError(msg) from None


async def _kind_of(comm: Any) -> str | None:
    """What Dask calls the process at the other end; None: it does not greet as Dask does."""
    await comm.write(comm.handshake_info())
    greeting = await asyncio.wait_for(comm.read(), ANSWER_SECONDS)
    if not (isinstance(greeting, dict) and "compression" in greeting):
        return None
    # Workers and nannies greet as schedulers do.
    await comm.write({"op": "identity", "reply": True})
    identity = await asyncio.wait_for(comm.read(), ANSWER_SECONDS)
    return str(identity.get("type", ""))


def _reason(error: BaseException) -> str:
    """In the words of the system, where it said what is wrong."""
    cause = error.__cause__ or error
    return getattr(cause, "strerror", None) or str(cause)
