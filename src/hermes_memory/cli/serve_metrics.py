"""`serve-metrics`: show the numbers of a home and its database to Prometheus."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import Any, Final

import anyio

from hermes_memory.cli.common import home_option, json_option, print_json, seconds, settings_for
from hermes_memory.cli.exits import DONE
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.listening import Listening, listening
from hermes_memory.settings import Settings

DEFAULT_ADDRESS: Final = "127.0.0.1:9464"
DEFAULT_SECONDS: Final = 15.0
SHORTEST: Final = 1.0
LONGEST: Final = 3_600.0


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("serve-metrics", help="show the numbers of a home and its database to Prometheus")
    home_option(parser)
    json_option(parser)
    parser.add_argument(
        "--listen",
        type=_where,
        default=DEFAULT_ADDRESS,
        metavar="ADDRESS:PORT",
        help="where; of ports FIRST-LAST the first that is free; default: %(default)s",
    )
    parser.add_argument(
        "--beyond-loopback", action="store_true", help="allow an address that other machines reach; they read all of it"
    )
    parser.add_argument(
        "--every",
        type=seconds(SHORTEST, LONGEST),
        default=DEFAULT_SECONDS,
        metavar="SECONDS",
        help="how often the numbers are read anew; default: %(default)s",
    )
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Serve until interrupted or terminated, which is how it ends well. 1: the port is taken; 64: wrong use."""
    where: Listening = given.listen
    if not (where.local or given.beyond_loopback):
        raise InvalidInput(
            f"other machines reach {where.address}: say --beyond-loopback if they may read all of it", field="listen"
        )
    anyio.run(_serve, settings_for(given), where, given.every, given.as_json)
    return DONE


async def _serve(settings: Settings, where: Listening, every: float, as_json: bool) -> None:
    # The drivers take a while to load, and the host imports this module at every start of its command line.
    from hermes_memory.bootstrap.watching import served  # noqa: PLC0415

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with served(settings, where, every=every) as port:
            _tell(where, port, as_json=as_json)
            async for _ in signals:
                break


def _tell(where: Listening, port: int, *, as_json: bool) -> None:
    host = f"[{where.address}]" if where.address.version == 6 else str(where.address)
    url = f"http://{host}:{port}/metrics"
    if as_json:
        print_json({"url": url, "address": str(where.address), "port": port})
    else:
        print(f"metrics are served at {url}; Ctrl-C ends it")
    sys.stdout.flush()


def _where(text: str) -> Listening:
    try:
        return listening(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error
