"""The keys by which an operator names a person or a group: one of them, or nobody."""

from __future__ import annotations

import pytest
from tests.support.tables import for_each

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.identity import HostIdentity, IdentityPolicy, resolve
from hermes_memory.domain.subject_keys import subject_of_key

SECRET = b"s" * 32


@for_each(
    "key",
    [
        *("agent:main:telegram:dm:*", "agent:main:telegram:group:%", "telegram:[0-9]+", "sms:+1555%", "*@example.org"),
        *("agent:main:telegram:dm:12345:*", "telegram:(1|2)", "telegram:^1", "sms:+1555\\d", "telegram:.+", "sms:1.+"),
        *("telegram:１２*", "agent:main:telegram:dm:1234？", "%@example.org", "signal:{group}"),
        *(
            "irc:*",
            "irc:bob?",
            "irc:bob%",
            "agent:main:irc:dm:*",
            "xmpp:%@x.org",
            "xmpp:bob@x.org/%",
            "bob%@example.org",
        ),
        *("%bob@example.org", "telegram:12|34", "agent:main:telegram:dm:[work]", "slack:irc|bob"),
    ],
)
def test_a_key_with_the_characters_of_a_pattern_names_nobody_and_is_told_why(key: str) -> None:
    with pytest.raises(InvalidInput, match="no character of a pattern") as refused:
        subject_of_key(SECRET, key)

    assert key not in str(refused.value)


@for_each(
    "key",
    [
        *("agent:main:telegram:dm:", "agent:main:telegram:dm", "agent:main:telegram:group::", "telegram:dm:", "sms:+"),
        *("agent:main:sms:dm: \u200b", "agent:main:telegram:dm:-", "telegram:@", "xmpp:/phone"),
    ],
)
def test_a_key_without_an_id_does_not_name_all_who_have_none(key: str) -> None:
    with pytest.raises(InvalidInput, match="with the id in it"):
        subject_of_key(SECRET, key)


@for_each("key", ["", " ", ":", "telegram:", "nobody", ":12345"])
def test_what_names_nobody_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="this key names nobody"):
        subject_of_key(SECRET, key)


@for_each(
    "key",
    [
        *("agent:main:telegram:dm:12345", "agent:main:telegram:supergroup:-100123", "sms:+1 (555) 010-0199"),
        *("bob+tea@example.org", "agent:main:matrix:dm:@ana:example.org", "agent:main:signal:group:abc+/123=="),
        *("agent:main:dingtalk:dm:$:LWCP_v1:$abc12", "agent:main:bluebubbles:dm:iMessage;-;+15550100199"),
        *(
            "agent:main:irc:dm:ana[work]",
            "agent:main:irc:dm:bob|away",
            "agent:main:irc:dm:{ana}^\\",
            "bob%corp@example.org",
        ),
        *("agent:main:xmpp:dm:bob@x.org/[ph]",),
    ],
)
def test_an_ordinary_key_names_whom_its_conversation_is_kept_under(key: str) -> None:
    identity = resolve(HostIdentity(gateway_session_key=key), IdentityPolicy(), SECRET)

    assert subject_of_key(SECRET, key) == identity.subject
    assert identity.subject is not None


@for_each("nickname", ["bob|away", "[ana]", "ana^", "{ana}", "ana\\work", "ana`"])
def test_a_nickname_names_whom_its_conversation_is_kept_under_whatever_its_letters(nickname: str) -> None:
    host = HostIdentity(platform="irc", user_id=nickname, chat_type="dm")

    assert subject_of_key(SECRET, f"irc:{nickname}") == resolve(host, IdentityPolicy(), SECRET).subject


def test_a_device_of_an_address_is_the_same_person_whatever_its_letters() -> None:
    assert subject_of_key(SECRET, "xmpp:bob@x.org/[ph]") == subject_of_key(SECRET, "xmpp:bob@x.org")


def test_contacts_whose_ids_begin_with_signs_are_told_apart() -> None:
    keys = ("agent:main:dingtalk:dm:$:LWCP_v1:$abc12", "agent:main:dingtalk:dm:$:LWCP_v1:$abc13", "telegram:dm::12345")

    assert len({subject_of_key(SECRET, key) for key in keys}) == 3
