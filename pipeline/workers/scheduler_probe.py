"""Check that a Dask scheduler answers at an address, before a client connects to it.

Dask tries an address that refuses connections again and again, up to its time limit, and waits
without a limit for the first bytes of whatever accepts its connection, such as a stopped scheduler
or a server of another kind, whose bytes it reads as the length of a message. So one connection is
tried here, with a time limit for each step.
"""

import asyncio

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
    scheme, location = parse_address(address)
    connector = get_backend(scheme).get_connector()
    has_tls = scheme == "tls"
    advice = "check the address, or start one"
    if has_tls:
        advice = f"check the address, and {_CERTIFICATES}"
    try:
        arguments = Security().get_connection_args("client")
    except OSError as error:
        msg = f"certificates for {address} cannot be read ({_reason(error)}); check {_CERTIFICATES}"
        raise ClusterError(msg) from None
    try:
        comm = await asyncio.wait_for(connector.connect(location, **arguments), CONNECT_SECONDS)
    except TimeoutError:
        msg = f"no Dask scheduler answers at {address} within {CONNECT_SECONDS:g} s; {advice}"
        raise ClusterError(msg) from None
    except (OSError, ValueError) as error:
        msg = f"no Dask scheduler answers at {address} ({_reason(error)}); {advice}"
        raise ClusterError(msg) from None
    try:
        await comm.write(comm.handshake_info())
        greeting = await asyncio.wait_for(comm.read(), ANSWER_SECONDS)
        is_dask = isinstance(greeting, dict) and "compression" in greeting
        kind = ""
        if is_dask:
            # Workers and nannies greet as schedulers do.
            await comm.write({"op": "identity", "reply": True})
            identity = await asyncio.wait_for(comm.read(), ANSWER_SECONDS)
            kind = identity.get("type", kind)
    except TimeoutError:
        msg = (
            f"what listens at {address} has said nothing within {ANSWER_SECONDS:g} s: a Dask "
            f"scheduler that is stopped, or something else; {advice}"
        )
        raise ClusterError(msg) from None
    except CommClosedError as error:
        if not has_tls:
            advice = "check the address, which begins with tls:// if it has TLS, or start one"
        msg = f"no Dask scheduler answers at {address} ({_reason(error)}); {advice}"
        raise ClusterError(msg) from None
    except Exception:
        # Its words, read as a message of Dask's, come to anything.
        is_dask = False
    finally:
        comm.abort()
    if not is_dask:
        msg = f"what listens at {address} is no Dask scheduler; {advice}"
        raise ClusterError(msg)
    if kind in ("Worker", "Nanny"):
        msg = (
            f"what listens at {address} is a {kind.lower()} of a Dask cluster; give the address of "
            f"its scheduler"
        )
        raise ClusterError(msg)


def _reason(error: BaseException) -> str:
    """In the words of the system, where it said what is wrong."""
    cause = error.__cause__ or error
    return getattr(cause, "strerror", None) or str(cause)
