"""The key of a person or group is no theme's name, whoever names it and wherever; it goes where a subject is asked."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.verbs import leaves

from hermes_memory.application.preparing import Preparing
from hermes_memory.application.secret_guard import SecretGuard
from hermes_memory.cli.exits import USAGE
from hermes_memory.cli.main import command_parser, main
from hermes_memory.domain.archive import check_owner
from hermes_memory.domain.erasure import WholeSession, WholeTheme, theme_named, title
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.identity import HostIdentity, IdentityPolicy, resolve
from hermes_memory.domain.maintenance import theme_named as narrowed_to
from hermes_memory.domain.maintenance import theme_to_move
from hermes_memory.domain.model import Caller, SessionId, Subject, Theme
from hermes_memory.domain.platforms import EVERYDAY_WORDS, GROUP_CHATS, PLATFORMS, PRIVATE_CHATS
from hermes_memory.domain.redaction import SecretPolicy
from hermes_memory.domain.themes import canonical_theme, claim_theme, parse_names, parse_scope
from hermes_memory.testing import open_in_process

PHONE: Final = "sms:+15550100"
DESK: Final = Caller(theme=Theme("marketing"), subject=Subject(b"s" * 32))
PREPARING: Final = Preparing(SecretGuard(SecretPolicy.REDACT))

platforms = st.sampled_from(sorted(PLATFORMS))
numbers = st.integers(10_000_000, 10**14).map(str)
telephones = numbers.map("+{}".format)
addresses = st.from_regex(r"[a-z][a-z0-9.]{0,12}[a-z]@[a-z]{1,10}\.(org|com)", fullmatch=True)
keys = st.one_of(
    st.builds("agent:main:{}:{}:{}".format, platforms, st.sampled_from(sorted(PRIVATE_CHATS | GROUP_CHATS)), numbers),
    st.builds("{}:{}:{}".format, platforms, st.sampled_from(sorted(PRIVATE_CHATS | GROUP_CHATS)), numbers),
    st.builds("{}:{}".format, platforms.filter(lambda name: name not in EVERYDAY_WORDS), numbers),
    st.builds("{}:{}".format, platforms, telephones),
    st.builds("{}@{}".format, numbers, st.sampled_from(["s.whatsapp.net", "g.us", "lid"])),
    telephones,
    addresses,
)
spellings = st.builds(lambda key, spelt: spelt(key), keys, st.sampled_from([str, str.upper, " {} ".format]))

NAMING: Final[dict[str, Callable[[str], object]]] = {
    "a theme": canonical_theme,
    "a theme of one's own": claim_theme,
    "a view's caller, and that of every write": lambda key: PREPARING.caller(Caller(theme=Theme(key))),
    "a scope": lambda key: parse_scope(key, DESK),
    "a list in the settings": lambda key: parse_names(["sales", key]),
    "what an alias stands for": lambda key: IdentityPolicy(aliases={"desk": key}),
    "what work is narrowed to": narrowed_to,
    "what is moved": lambda key: theme_to_move(key, "from"),
    "a line of an import": lambda key: check_owner(key, None),
    "a line of an import's registry": lambda key: check_owner(key, None, registry=True),
}


@pytest.mark.parametrize("place", NAMING)
@given(key=spellings)
def test_no_key_is_a_theme_wherever_one_is_named_and_no_message_quotes_it(place: str, key: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        NAMING[place](key)

    assert key.strip().casefold() not in str(refused.value).casefold()
    assert "the key of a person or group" in str(refused.value)


@given(key=spellings)
def test_a_key_in_the_settings_is_refused_without_advice_that_no_setting_can_follow(key: str) -> None:
    for place in ("what an alias stands for", "a list in the settings"):
        with pytest.raises(InvalidInput) as refused:
            NAMING[place](key)

        assert "subject" not in str(refused.value)


@given(key=spellings, beside=st.sampled_from(["agent_identity", "agent_workspace", "gateway_session_key"]))
def test_no_key_that_the_host_tells_becomes_a_theme(key: str, beside: str) -> None:
    found = resolve(HostIdentity.from_host({beside: key}), IdentityPolicy(), b"an installation's secret")

    assert found.subject is not None
    assert canonical_theme(found.theme) == found.theme


@given(key=keys)
def test_what_is_stored_under_a_key_all_the_same_can_be_erased_and_is_not_named_in_the_certificate(key: str) -> None:
    named = theme_named(key)
    of_session = WholeSession(session=SessionId("s1"), theme=named.theme)

    assert isinstance(named, WholeTheme)
    assert title(named) == ("theme", "[a contact]")
    assert title(of_session)[1].endswith(" of [a contact]")


async def test_a_memory_gives_no_view_of_a_key_and_names_the_remedy() -> None:
    async with open_in_process() as memory:
        ana = memory.subject_for("sms", "+15550100")
        for subject in (None, ana):
            with pytest.raises(InvalidInput, match=r"give the key as the subject \(`subject_for"):
                memory.view(PHONE, subject=subject)
            with pytest.raises(InvalidInput, match=r"give the key as the subject \(`subject_for"):
                memory.view_of(Caller(theme=Theme(PHONE), subject=subject))
        with pytest.raises(InvalidInput, match="say current, session, subject, all"):
            await memory.view("marketing").recall("launch", scope=PHONE)
        with pytest.raises(InvalidInput, match="key of a person or group"):
            await memory.reconcile(Caller(theme=Theme(PHONE)), timeout=5)


def _typed(name: str, parser: argparse.ArgumentParser, dest: str) -> list[str]:
    """Return the command line of a verb whose argument `dest` is the key, and whose other required ones are filled."""
    line = name.split()
    filled = set()
    for action in parser._actions:
        if action.dest == dest:
            line += [*action.option_strings[-1:], PHONE]
        elif action.required and not action.option_strings:
            line.append("x")
            filled.add(action.dest)
    return [*line, *_BESIDE.get((name, dest), [])]


_BESIDE: Final = {
    ("grants add", "source"): ["--to", "sales"],
    ("grants revoke", "source"): ["--to", "sales"],
    ("prune", "theme"): ["--older-than", "30"],
}
_OTHERS: Final = {"remap": ("source", "target"), "grants add": ("source", "to"), "grants revoke": ("source", "to")}
_NAMED: Final = [
    (name, dest)
    for name, parser in leaves(command_parser())
    for dest in (*(action.dest for action in parser._actions if action.dest == "theme"), *_OTHERS.get(name, ()))
    if name != "erase"
]


@pytest.mark.parametrize(("name", "dest"), _NAMED)
def test_no_verb_takes_a_key_for_a_theme(
    name: str, dest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = dict(leaves(command_parser()))[name]
    (tmp_path / "home").mkdir()
    code = main([*_typed(name, parser, dest), "--hermes-home", str(tmp_path / "home")])
    told = capsys.readouterr().err

    assert code == USAGE
    assert "the key of a person or group" in told
    assert "--subject" in told
    assert "15550100" not in told
    assert not (tmp_path / "home" / "hermes-memory").exists()


def test_every_verb_that_names_a_theme_was_tried() -> None:
    tried = {name for name, _ in _NAMED}

    assert {"add", "search", "history", "export jsonl", "import markdown", "prune", "remap", "grants add"} <= tried
