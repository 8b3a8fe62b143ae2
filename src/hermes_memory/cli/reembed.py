"""`reembed`: change the embedding model while agents work."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from hermes_memory.cli.common import (
    LONGEST_WAIT,
    administering_options,
    plain,
    print_json,
    seconds,
    settings_for,
    whole_number,
)
from hermes_memory.cli.embedder_lines import configuring, configuring_lines, in_home, own_embedder
from hermes_memory.cli.exits import DONE, WORK_REMAINS
from hermes_memory.cli.generation_acts import operate
from hermes_memory.cli.generation_lines import standing_line
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.settings import Settings
from hermes_memory.settings.effective import settings_at
from hermes_memory.settings.homes import require_home
from hermes_memory.settings.names import ENDPOINT_EMBEDDERS

if TYPE_CHECKING:
    from hermes_memory.application.reembed import Reembedded

_MODEL: Final = ("model", "dim", "url", "protocol", "api_key_env", "part_tokens", "fill_only", "accept_refused")
HIGHEST_GENERATION: Final = 2_147_483_647
"""What the database numbers them up to."""
_GOES_ON: Final = "hermes-memory: what is done is kept, and the same command goes on with it"


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("reembed", help="change the embedding model while agents work, or change it back")
    administering_options(parser)
    parser.add_argument("--model", metavar="NAME", help="the model; default: the configured embedder's")
    parser.add_argument("--dim", type=whole_number(1, 4000), metavar="N", help="length of its vectors, 1 to 4,000")
    parser.add_argument("--url", help="base URL of the endpoint that serves it")
    parser.add_argument("--protocol", choices=["auto", "openai", "ollama"], help="what the endpoint speaks")
    parser.add_argument("--api-key-env", metavar="NAME", help="variable that holds the endpoint's key")
    parser.add_argument(
        "--part-tokens", type=whole_number(16, 8192), metavar="N", help="longest parts that texts are embedded in"
    )
    parser.add_argument("--fill-only", action="store_true", help="make the vectors, and use them later")
    parser.add_argument("--accept-refused", action="store_true", help="use them however many rows the model refuses")
    parser.add_argument(
        "--patience",
        type=seconds(0, LONGEST_WAIT),
        default=60.0,
        metavar="SECONDS",
        help="wait for an embedder that fails; %(default)s",
    )
    acts = parser.add_mutually_exclusive_group()
    acts.add_argument("--status", action="store_true", help="show the vectors of each model, and change nothing")
    acts.add_argument("--switch-back", action="store_true", help="use the vectors again that were used before")
    acts.add_argument(
        "--drop",
        type=whole_number(1, HIGHEST_GENERATION),
        metavar="N",
        help="remove the vectors of a generation; shows it unless told to --execute",
    )
    parser.add_argument("--execute", action="store_true", help="with --drop: do it")
    parser.add_argument(
        "--verbose",
        action="store_true",
        default=argparse.SUPPRESS,
        help="where no terminal shows how far it is: print a line every ten seconds, and what the library logs",
    )
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Do what was asked. 3: the new vectors are not used, or nothing was dropped for want of --execute."""
    began, other = time.monotonic(), _is_other(given)
    if other and any(getattr(given, name) for name in _MODEL):
        raise InvalidInput("--status, --switch-back and --drop go with no option of a model")
    if given.execute and given.drop is None:
        raise InvalidInput("--execute goes with --drop N")
    configured, settings = settings_for(given), settings_named(given)
    if other:
        return anyio.run(operate, settings, given, began)
    try:
        done = anyio.run(_reembed, settings, given)
        return _tell(done, configuring(configured, settings), configured.home, given)
    except KeyboardInterrupt:
        print(_GOES_ON, file=sys.stderr)
        raise


def settings_named(given: argparse.Namespace) -> Settings:
    """Return the home's settings, with the embedder that was named in the place of the configured one."""
    configured = settings_for(given)
    if given.model is None and not _is_other(given) and "embedder" not in configured.model_fields_set:
        require_home(configured.home)  # the embedder that it names is meant, and no default in its place
    named = {
        "embed_model": given.model,
        "embed_dim": given.dim,
        "embed_url": given.url,
        "embed_api_key_env": given.api_key_env,
        "embed_part_tokens": given.part_tokens,
        "embedder": given.protocol or _protocol(given, configured),
    }
    strange = {"embed_api_key_env": None} if _is_elsewhere(given, configured) else {}
    return settings_at(
        given.hermes_home, **strange, **{name: value for name, value in named.items() if value is not None}
    )


def _is_other(given: argparse.Namespace) -> bool:
    """Tell whether no vectors are to be made."""
    return given.status or given.switch_back or given.drop is not None


def _is_elsewhere(given: argparse.Namespace, configured: Settings) -> bool:
    """Tell whether another endpoint is named without a key of its own: the configured one's is not for it to see."""
    if given.url is None or given.api_key_env is not None:
        return False
    return str(given.url).rstrip("/") != (configured.embed_url or "").rstrip("/")


def _protocol(given: argparse.Namespace, configured: Settings) -> str | None:
    """Return how to ask for a model that was named, None where it is the configured embedder that is meant."""
    if given.url is None and (own := own_embedder(given.model)):
        return own
    if given.model is None and given.url is None and given.dim is None:
        return None
    return None if configured.embedder in ENDPOINT_EMBEDDERS else "auto"


async def _reembed(settings: Settings, given: argparse.Namespace) -> Reembedded:
    from hermes_memory.bootstrap.reembedding import reembed  # noqa: PLC0415
    from hermes_memory.cli.progress import shown  # noqa: PLC0415

    with shown(given) as progress:
        return await reembed(
            settings,
            given.admin_dsn,
            switch=not given.fill_only,
            tolerate=given.accept_refused,
            patience=given.patience,
            progress=progress,
        )


def _tell(done: Reembedded, configure: str | None, home: Path, given: argparse.Namespace) -> int:
    if not done.standing.active:
        configure = None
    if given.as_json:
        print_json({**plain(done), "configure": configure})
    else:
        for line in _lines(done, configure, home):
            print(line)
    return WORK_REMAINS if done.refused else DONE


def _lines(done: Reembedded, configure: str | None, home: Path) -> Sequence[str]:
    one = done.standing
    lines = [
        f"{standing_line(one)}",
        f"{done.embedded:,} rows embedded here in {done.seconds:,.0f} s",
    ]
    if done.refused:
        return [*lines, f"not used: {done.refused}"]
    if not one.active:
        return [*lines, "not used yet: the same command without --fill-only uses it"]
    if done.switched:
        lines.append(f"in use from now on, in place of generation {done.former}")
    if done.switched or configure:
        lines += configuring_lines(configure)
    if done.switched:
        lines.append(f"to go back: {in_home('hermes-memory reembed --switch-back', home)}")
    return lines
