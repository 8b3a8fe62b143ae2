"""Serves the verbs of the `hermes-memory` command as `hermes hermes-memory VERB`.

The host executes this file alone, at every start of its command line, so the library is imported only when called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def register_cli(subparser: argparse.ArgumentParser) -> None:
    """Add the verbs to the parser the host made for this plugin."""
    try:
        from hermes_memory.cli.main import add_verbs  # noqa: PLC0415
    except ImportError as error:
        # The host drops the commands of every plugin when one of them raises here.
        subparser.set_defaults(func=_explain, broken_because=f"{type(error).__name__}: {error}")
        return
    add_verbs(subparser)
    subparser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> None:
    from hermes_memory.cli.main import run  # noqa: PLC0415

    # The host drops what a command returns; only SystemExit carries the exit code out.
    raise SystemExit(run(args))


def _explain(args: argparse.Namespace) -> None:
    raise SystemExit(f"hermes-memory cannot be imported by this Python: {args.broken_because}")
