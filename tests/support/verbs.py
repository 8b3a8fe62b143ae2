"""Every verb of the command with one use of it: what it is given, ends with, and prints as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hermes_memory.cli.exits import DONE, ERROR, WORK_REMAINS

HOMELESS: Final = frozenset({"demo", "completion"})
"""Verbs that work on no home that anybody has."""
READS_NO_SETTINGS: Final = frozenset({"install", "config schema", "import pgvector", *HOMELESS})
"""Verbs that do their work whatever the settings are."""
MAKES_HOME: Final = frozenset(
    {"setup", "add", "import jsonl", "import mem0", "import tablestore", "import holographic", "import markdown"}
)
"""Verbs by which a home comes to be."""
_MOVED: Final = (
    "changed complete equal known mended missing notes read renamed source stored unreadable vectors verified "
    "would_store"
)
DROPPED_KEYS: Final = (
    "activated_at active bytes coverage dimension dropped embeddable embedded fed generation measured model parked "
    "part_tokens waiting"
)
"""What `reembed --drop N` prints as JSON, whether it drops, shows, or finds it done. No generation of the table can be
dropped."""
_ADMIN: Final = "--admin-dsn {admin}"


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a verb.

    Attributes:
        arguments: What follows the verb, parted by blanks; `{...}` stands for what the test has.
        keys: The keys of its JSON document.
        code: Its exit code.
        numbered: Arguments in place of the others where a number is tried, should they not go with one.
        tried: The test file that tries it in place of this table, because it takes long or never ends.
    """

    arguments: str = ""
    keys: str = ""
    code: int = DONE
    tried: str = ""
    numbered: str = ""


USES: Final[Mapping[str, Use]] = {
    "install": Use("", "changed library path problems set_aside verified"),
    "setup": Use("--yes --no-verify", "exit findings healthy migration notes settings variables"),
    "migrate": Use(
        f"{_ADMIN} --runtime-role {{role}}", "applied generation partitions read_policy runtime_role warnings"
    ),
    "config show": Use("pool_size dsn", "home settings"),
    "config check": Use("", "file problems valid"),
    "config schema": Use("", "$defs $schema additionalProperties description properties title type"),
    "doctor": Use("", "exit findings healthy settings"),
    "add": Use("apples --sync --theme fruit --metadata a=b --target USER", "entry no_vector stored"),
    "stats": Use(
        "",
        "at batch buried delivered embed_breaker embedded embedder_note embedder_problem generation generations "
        "held_lines installation leader leads notebook_problem parked postponed rows secrets spool store_breaker "
        "store_problem troubles",
    ),
    "spool status": Use("", "others spool"),
    "spool list": Use("", "items more"),
    "spool retry": Use("", "dead retried unknown"),
    "spool export": Use("{folder}/spool.jsonl", "exported file"),
    "spool purge": Use("", "executed files files_removed found purged unknown"),
    "search": Use("apples --theme fruit --as-of 2026-01-01", "degraded hits trace_id"),
    "profile": Use("--theme Fruit", "entries"),
    "explain": Use(
        "apples --theme fruit",
        "at candidates ceiling documents fates floor id left_out limit mean_length problems space support timings "
        "verdicts words",
    ),
    "history": Use("--theme fruit", "changes"),
    "undo": Use("{entry} --theme fruit", "change entry executed", WORK_REMAINS),
    "export jsonl": Use(f"--output {{folder}}/all.jsonl {_ADMIN}", "counts sha256"),
    "import jsonl": Use(
        f"{{folder}}/all.jsonl {_ADMIN}", "altered known mended missing new notes read refused unvouched whole"
    ),
    "import pgvector": Use("--config {folder}/old.yaml", "dropped refused settings"),
    "import mem0": Use("{folder}/list.json", _MOVED),
    "import tablestore": Use("{folder}/list.json", _MOVED),
    "import holographic": Use("{folder}/facts.db", _MOVED),
    "import markdown": Use("{folder}/MEMORY.md", _MOVED),
    "reembed": Use(f"--status {_ADMIN}", "generations", numbered=_ADMIN),
    "backfill": Use(_ADMIN, "complete counts executed id notes remaining retry_parked verb"),
    "prune": Use(f"--older-than 30 {_ADMIN}", "before complete counts executed id notes origin remaining theme verb"),
    "cleanup": Use(_ADMIN, "complete counts executed id log_before notes operations_before remaining verb"),
    "remap": Use(
        f"fruit Vegetables {_ADMIN}",
        "complete counts executed from grants grants_on_to id notes remaining to verb",
        WORK_REMAINS,
    ),
    "grants list": Use(_ADMIN, "grants read_policy"),
    "grants add": Use(f"fruit --to sales {_ADMIN}", "expires_at granted new notes read_policy reader source subject"),
    "grants revoke": Use(f"fruit --to sales {_ADMIN}", "expires_at reader revoked source subject"),
    "themes": Use(_ADMIN, "themes"),
    "subjects list": Use(_ADMIN, "subjects"),
    "subjects merge": Use(f"telegram:1 telegram:2 {_ADMIN}", "executed persons", WORK_REMAINS),
    "subjects split": Use(f"telegram:1 {_ADMIN}", "subjects", ERROR),
    "subjects rekey": Use(f"telegram:1 --old-setting {{folder}}/setting {_ADMIN}", "executed persons", WORK_REMAINS),
    "forget": Use("apples --theme fruit", "entries executed forgotten", WORK_REMAINS),
    "erase": Use(
        f"--theme fruit {_ADMIN}",
        "complete counts erasure executed kind name notes proofs seconds started_at",
        WORK_REMAINS,
    ),
    "completion": Use("zsh", "script shell"),
    "demo": Use(tried="tests/acceptance/test_demo.py"),
    "serve-metrics": Use(tried="tests/acceptance/test_metrics.py"),
}
"""Tried in this order, so that later ones find what earlier ones have left. A new verb needs its line here."""


def leaves(
    parser: argparse.ArgumentParser, names: tuple[str, ...] = ()
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every verb that does something by itself, such as `spool list`, with its parser."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield " ".join(names), parser
    for action in below:
        for name, verb in action.choices.items():
            yield from leaves(verb, (*names, name))
