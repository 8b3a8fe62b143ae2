"""Whose memory a conversation belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import grows_linearly, on_repeated
from tests.support.tables import for_each

from hermes_memory.domain.contacts import recognise
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.identity import (
    HOST_WORKSPACE,
    BenchMode,
    HostIdentity,
    Identity,
    IdentityPolicy,
    Reason,
    home_identity,
    is_group_chat,
    is_shared,
    may_write,
    resolve,
)
from hermes_memory.domain.model import BENCHMARKS, DEFAULT_THEME, DIRECT_MESSAGES, GROUPS, SINKS, SessionId, Theme
from hermes_memory.domain.names import fold_name
from hermes_memory.domain.patterns import fits
from hermes_memory.domain.subjects import home_id_for, subject_for
from hermes_memory.domain.themes import parse_names

SECRET = b"an installation's own secret 123"
POLICY = IdentityPolicy()


def identify(key: str | None = None, policy: IdentityPolicy = POLICY, **facts: str) -> Identity:
    return resolve(HostIdentity(gateway_session_key=key, **facts), policy, SECRET)


PERSONS = [
    "sms:+15551234567",
    "SMS:+1 (555) 123-4567",
    "imessage:+15551234567",
    "bluebubbles:+15551234567",
    "email:bob@example.org",
    "mailto:bob@example.org",
    "agent:main:sms:private:+15551234567",
    "agent:main:whatsapp:dm:4917112345678",
    "agent:coder:telegram:dm:12345",
    "agent:main:telegram:dm:12345:77",
    "agent:main:telegram:dm",
    "agent:main:unheardof:dm:someone",
    "Agent:Main:Telegram:DM:12345",
    "telegram:dm:12345",
    "+15551234567",
    "+1 555 123 4567",
    "(+49) 171 123 45 67",
    "0049 171 1234567",
    "0171 12345678",
    "555-123-4567 890",
    "15551234567",
    "telegram:123456789",
    "telegram:42",
    "whatsapp:4917112345678",
    "bob@example.org",
    "Bob.Smith+tag@Example.ORG",
    "4917112345678@s.whatsapp.net",
    "4917112345678:12@s.whatsapp.net",
    "123456789012345@lid",
    "@bob:matrix.org",
    "matrix:@bob:matrix.org",
    "agent:main:matrix:dm:@bob:matrix.org",
    "user@jabber.org/phone",
    "signal:6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "slack:U024BE7LH",
    "line:U4af4980629aaaabbbbcccc",
    "iMessage;-;+15551234567",
    "agent:main:bluebubbles:dm:iMessage;-;bob@example.org",
    "crm:+49 171 1234567:notes",
    "＋１５５５１２３４５６７",
    "٠٠٤٩١٧١١٢٣٤٥٦٧",
    "sms∶+15551234567",
    "sms\u200b:+1555\u200b1234567",
    "sm\x00s:+15551234567",
    "+1‑555‑123‑4567",
    "tel:015112345678",
    "+15551234567 ext 12",
]

CHATS = [
    "agent:main:telegram:group:-1001234567890",
    "agent:main:telegram:supergroup:-1001234567890:42:bob",
    "agent:main:discord:channel:123456789012345678",
    "agent:main:discord:thread:123456789012345678:987",
    "agent:main:slack:forum:C024BE91L",
    "agent:main:webhook:webhook:webhook:deploys:17",
    "agent:main:matrix:room:!abc:matrix.org",
    "agent:main:discord:guild:1:2",
    "agent:main:telegram:never-heard-of-this:-100123",
    "agent:main:whatsapp:group:120363000000000000@g.us:4917112345678",
    "120363000000000000@g.us",
    "!room:matrix.org",
    "#room:matrix.org",
    "telegram:-1001234567890",
    "-1001234567890",
    "irc:#channel",
    "room@conference.jabber.org",
    "iMessage;+;chat123456",
    "signal:group:AbCdEf=",
]

THEMES = [
    "team:dm:planning",
    "signal:5min-breakout",
    "desk:signal:15m",
    "signal:15",
    "line:15",
    "telegram:2fa-rollout",
    "slack:general",
    "sms:campaign-2026",
    "email:digest",
    "matrix:math",
    "work-bench",
    "bench",
    "benchmarks",
    "marketing",
    "sr-cloud",
    "agent-trading",
    "agent:main:cli",
    "release-2026-11-29",
    "2026-11-29",
    "2026-11-29 15:30:00",
    "20261129",
    "v2.0.1",
    "192.168.100.200",
    "12345",
    "c++11-2024-2025",
    "project:1234567890ab",
    "room:101",
    "channel:growth",
    "营销",
    "الدعم",
]


@for_each("key", PERSONS)
def test_the_key_of_a_person_leads_to_the_direct_messages_with_a_subject(key: str) -> None:
    identity = identify(key, agent_identity="coder")

    assert (identity.theme, identity.reason) == (DIRECT_MESSAGES, Reason.DIRECT_MESSAGE)
    assert identity.subject is not None


@for_each(
    ("key", "facts", "theme", "subject"),
    [
        ("Customer-778812", {"user_id": "customer-778812"}, DIRECT_MESSAGES, ("person", "customer-778812")),
        ("customer-778812", {"user_id_alt": "customer-778812"}, DIRECT_MESSAGES, ("person", "customer-778812")),
        ("api:customer-778812:7", {"user_id": "customer-778812"}, DIRECT_MESSAGES, ("person", "customer-778812")),
        ("desk-7788", {"user_id": "ana", "chat_id": "desk-7788"}, DIRECT_MESSAGES, ("person", "desk-7788")),
        ("desk-7788", {"chat_id": "desk-7788", "chat_type": "group"}, GROUPS, ("group", "desk-7788")),
        ("9:ab", {"user_id": "9:ab"}, "9:ab", ("person", "9:ab")),
        ("marketing", {"user_id": "marketing"}, "marketing", ("person", "marketing")),
        ("release-2026", {"user_id": "release"}, "release-2026", ("person", "release")),
        ("release-2026", {"user_id": "2026"}, "release-2026", ("person", "2026")),
        ("release-2026", {"user_id": "customer-778812"}, "release-2026", ("person", "customer-778812")),
    ],
)
def test_a_key_of_no_known_shape_is_a_contact_where_the_hosts_own_id_of_somebody_stands_in_it(
    key: str, facts: dict[str, str], theme: str, subject: tuple[str, str]
) -> None:
    host = HostIdentity(gateway_session_key=key, agent_identity="coder", platform="api_server", **facts)
    identity = resolve(host, POLICY, SECRET)
    kind, name = subject

    assert (identity.theme, identity.subject) == (theme, subject_for(SECRET, kind, "api_server", name))


@for_each("key", CHATS)
def test_the_key_of_a_group_leads_to_the_groups_with_a_subject(key: str) -> None:
    identity = identify(key, agent_identity="coder")

    assert (identity.theme, identity.reason) == (GROUPS, Reason.GROUP_CHAT)
    assert identity.subject is not None


@for_each("key", THEMES)
def test_a_name_that_only_resembles_a_contact_stays_a_theme_of_its_own(key: str) -> None:
    identity = identify(key, agent_identity="coder")

    assert (identity.theme, identity.subject, identity.reason) == (key, None, Reason.SESSION_KEY)


@for_each(
    ("one", "other"),
    [
        ("sms:+15551234567", "agent:main:sms:private:+1 (555) 123-4567"),
        ("sms:+15551234567", "SMS:0015551234567"),
        ("agent:main:whatsapp:dm:4917112345678", "4917112345678:3@s.whatsapp.net"),
        ("agent:main:whatsapp:dm:4917112345678", "whatsapp:+49 171 12345678"),
        ("email:bob@example.org", "Bob@Example.org"),
        ("email:bob@example.org", "agent:main:email:dm:bob@example.org"),
        ("telegram:12345", "agent:coder:telegram:dm:12345:77"),
        ("@bob:matrix.org", "agent:main:matrix:dm:@Bob:matrix.org:$thread"),
        ("imessage:+15551234567", "iMessage;-;+15551234567"),
        ("xmpp:bob@jabber.org", "xmpp:bob@jabber.org/phone"),
        ("+15551234567", "tel:+1.555.123.4567"),
    ],
)
def test_one_contact_has_one_subject_however_the_key_is_spelt(one: str, other: str) -> None:
    assert identify(one).subject == identify(other).subject


@for_each(
    ("one", "other"),
    [
        ("sms:+15551234567", "imessage:+15551234567"),
        ("sms:+15551234567", "sms:+15551234568"),
        ("telegram:12345", "discord:12345"),
        ("telegram:12345", "telegram:-12345"),
        ("telegram:12345", "telegram:+12345"),
        ("agent:main:telegram:dm:12345", "agent:main:telegram:group:12345"),
        ("agent:main:matrix:dm:@bob:matrix.org", "agent:main:matrix:dm:@bob:example.org"),
        ("agent:main:signal:group:group:abc", "agent:main:signal:group:group:abd"),
        ("agent:main:teams:channel:19:abc@thread.v2", "agent:main:teams:channel:19:abd@thread.v2"),
        ("agent:main:webhook:webhook:webhook:deploys:1", "agent:main:webhook:webhook:webhook:alerts:1"),
        ("agent:main:unheardof:group:a:b", "agent:main:unheardof:group:a:c"),
        ("bob@example.org", "alice@example.org"),
    ],
)
def test_different_contacts_have_different_subjects(one: str, other: str) -> None:
    assert identify(one).subject != identify(other).subject


def test_everybody_in_a_group_shares_its_memory_and_no_other_group_does() -> None:
    one, other, elsewhere = (
        identify(f"agent:main:telegram:group:{tail}") for tail in ("-1001:alice", "-1001:bob", "-1002:alice")
    )

    assert one.subject == other.subject
    assert one.subject != elsewhere.subject


@for_each(
    ("key", "user", "chat", "shared"),
    [
        ("agent:main:telegram:group:-100444555666", "777000111", "group", True),
        ("agent:main:telegram:group:-100444555666", None, None, True),
        ("agent:main:telegram:group:-100444555666:777000111", "777000111", "group", False),
        ("agent:main:telegram:group:-100444555666:777000111", "777000112", "group", True),
        ("agent:main:matrix:group:!room:example.org:@bob:example.org", "@Bob:example.org", "group", False),
        ("agent:main:whatsapp:group:123@g.us:4915150607080", "4915150607080@s.whatsapp.net", "group", False),
        ("agent:main:discord:thread:998877:1", "777000111", "thread", True),
        ("agent:main:telegram:dm:777000112", "777000111", "dm", False),
        ("agent:main:telegram:dm:777000112", None, None, False),
        ("marketing", None, "channel", True),
        (None, None, None, False),
    ],
)
def test_a_chat_of_several_people_is_told_from_one_that_is_a_persons_own(
    key: str | None, user: str | None, chat: str | None, shared: bool
) -> None:
    assert is_shared(HostIdentity(gateway_session_key=key, user_id=user, chat_type=chat)) is shared


@for_each(
    ("tail", "facts", "shared"),
    [
        (":4915150607080", {"user_id": "99887766554433@lid"}, False),
        (":4915150607080", {"user_id": "4915150607080:12@s.whatsapp.net"}, False),
        ("", {"user_id": "99887766554433@lid"}, True),
        ("", {}, True),
        (":Topic7", {"user_id": "99887766554433@lid", "thread_id": "Topic7"}, True),
        (":Topic7:4915150607080", {"user_id": "99887766554433@lid", "thread_id": "Topic7"}, False),
    ],
)
def test_a_chat_of_several_people_is_told_by_the_end_of_its_key_where_the_host_maps_a_person_to_another_id(
    tail: str, facts: dict[str, str], shared: bool
) -> None:
    told = {"platform": "whatsapp", "chat_id": "123-456@g.us", "chat_type": "group", **facts}
    host = HostIdentity.from_host({"gateway_session_key": f"agent:main:whatsapp:group:123-456@g.us{tail}", **told})

    assert is_shared(host) is shared
    assert is_group_chat(host)


def test_the_hosts_own_chat_id_tells_where_an_id_with_colons_ends() -> None:
    key = "agent:main:unheardof:group:a:b:alice"

    assert identify(key, chat_id="a:b").subject == identify("agent:main:unheardof:group:a:b").subject
    assert identify(key, user_id="alice").subject == identify("agent:main:unheardof:group:a:b").subject


def test_a_direct_message_without_an_id_belongs_to_the_user_the_host_names() -> None:
    key = "agent:main:telegram:dm"

    assert identify(key, user_id="12345").subject == identify("agent:main:telegram:dm:12345").subject
    assert identify(key, user_id="12345").subject != identify(key, user_id="67890").subject


def test_names_are_tried_in_order() -> None:
    assert identify("marketing", agent_identity="coder", agent_workspace="office") == Identity(
        theme=Theme("marketing"), subject=None, reason=Reason.SESSION_KEY
    )
    assert identify(None, agent_identity="coder", agent_workspace="office").theme == "coder"
    assert identify(None, agent_identity="Default", agent_workspace="office").theme == "office"
    assert identify(None, agent_identity="default").theme == DEFAULT_THEME
    assert identify(None, agent_identity="default", agent_workspace=HOST_WORKSPACE).theme == "hermes"
    assert identify().reason is Reason.DEFAULT


@for_each("name", ["whatsapp-dm", "WhatsApp-DM", "external-group", "_bench", "all", "ａｌｌ", "current", "session"])
def test_a_reserved_name_claimed_from_outside_gives_way_to_the_next_one(name: str) -> None:
    claimed = identify(name, agent_identity="coder")
    claimed_alone = identify(name)

    assert (claimed.theme, claimed.reason) == ("coder", Reason.RESERVED_NAME)
    assert (claimed_alone.theme, claimed_alone.subject, claimed_alone.reason) == (
        DEFAULT_THEME,
        None,
        Reason.RESERVED_NAME,
    )


@pytest.mark.parametrize("name", ["\x00", "\u200b", "x" * 129])
def test_an_unusable_name_gives_way_to_the_next_one(name: str) -> None:
    identity = identify(name, agent_identity="coder")

    assert (identity.theme, identity.reason) == ("coder", Reason.UNUSABLE_NAME)


@for_each("spelling", ["mar\u200bketing", "Ｍａｒｋｅｔｉｎｇ", "mark\x00eting", " MARKETING "])
def test_spellings_of_a_name_fold_to_one_theme(spelling: str) -> None:
    assert identify(spelling).theme == "marketing"


def test_an_ordinary_theme_talks_with_its_user() -> None:
    alice = identify("marketing", user_id="Alice", platform="slack")
    bob = identify("marketing", user_id="bob", platform="slack")

    assert alice.theme == bob.theme == "marketing"
    assert alice.subject != bob.subject
    assert alice.subject == subject_for(SECRET, "person", "slack", "alice")
    assert identify("marketing", user_id="alice", platform="discord").subject != alice.subject
    assert identify("marketing").subject is None


def test_a_user_is_the_same_subject_in_a_theme_as_in_a_direct_message() -> None:
    in_theme = identify("marketing", user_id="12345", platform="telegram")

    assert in_theme.subject == identify("agent:main:telegram:dm:12345").subject


def test_without_a_user_the_chat_is_the_counterpart() -> None:
    group = identify("marketing", chat_id="-1001", chat_type="group", platform="telegram")

    assert group.subject == identify("agent:main:telegram:group:-1001").subject


def test_benchmarks_go_to_a_sink_of_their_own_each_run_apart() -> None:
    one, other = identify("skill-bench-1"), identify("Skill-Bench-2")

    assert (one.theme, one.reason) == (BENCHMARKS, Reason.BENCHMARK)
    assert one.subject is not None
    assert one.subject != other.subject


def test_rejected_benchmarks_do_not_reach_another_agents_theme() -> None:
    identity = identify("skill-bench-1", IdentityPolicy(bench_mode=BenchMode.REJECT), agent_identity="coder")

    assert (identity.theme, identity.reason) == (DEFAULT_THEME, Reason.BENCHMARK_REJECTED)


def test_the_patterns_of_benchmarks_can_be_chosen() -> None:
    policy = IdentityPolicy(bench_patterns=("Perf-*-Run",))

    assert identify("perf-7-run", policy).theme == BENCHMARKS
    assert identify("skill-bench-1", policy).theme == "skill-bench-1"


@for_each(
    ("pattern", "name", "fitting"),
    [
        ("a*", "abc", True),
        ("*c", "abc", True),
        ("a*c", "abc", True),
        ("a*b*c", "aXbYc", True),
        ("ab*bc", "abc", False),
        ("abc", "abcd", False),
        ("*", "", True),
        ("a.c", "abc", False),
        ("a*b*c", "acb", False),
    ],
)
def test_only_the_star_is_special_in_a_pattern(pattern: str, name: str, fitting: bool) -> None:
    assert fits(pattern, name) is fitting


def test_aliases_rename_claims() -> None:
    policy = IdentityPolicy(aliases={"MKTG": "Marketing"})

    assert identify("mktg", policy).theme == "marketing"
    assert identify(None, policy, agent_identity="Mktg").theme == "marketing"


def test_an_alias_does_not_let_a_contact_out_of_its_sink() -> None:
    policy = IdentityPolicy(aliases={"sms:+15551234567": "marketing", "skill-bench-1": "marketing", "all": "marketing"})

    assert identify("sms:+15551234567", policy).theme == DIRECT_MESSAGES
    assert identify("skill-bench-1", policy).theme == BENCHMARKS
    assert identify("all", policy).theme == DEFAULT_THEME


@for_each("target", ["all", "whatsapp-dm", "sms:+15551234567", ""])
def test_an_alias_cannot_stand_for_a_reserved_name_or_a_contact(target: str) -> None:
    with pytest.raises(InvalidInput):
        IdentityPolicy(aliases={"x": target})


def test_a_theme_that_is_not_allowed_leads_to_the_default_one() -> None:
    policy = IdentityPolicy(allowed_themes=parse_names("marketing, sales"), aliases={"mktg": "marketing"})

    assert identify("Sales", policy).theme == "sales"
    assert identify("mktg", policy).theme == "marketing"
    unknown = identify("slaes", policy, agent_identity="sales")
    assert (unknown.theme, unknown.reason) == (DEFAULT_THEME, Reason.NOT_ALLOWED)
    assert identify("default", policy).reason is Reason.SESSION_KEY


def test_the_homes_files_belong_to_the_agent_whoever_it_talks_with() -> None:
    host = HostIdentity(
        gateway_session_key="agent:main:telegram:dm:12345", agent_identity="coder", user_id="12345", platform="telegram"
    )

    assert home_identity(host, POLICY, SECRET) == identify(None, agent_identity="coder")
    assert home_identity(host, POLICY, SECRET).subject is None


def test_the_hosts_facts_are_read_whatever_their_types() -> None:
    host = HostIdentity.from_host(
        {
            "user_id": 12345,
            "platform": "telegram",
            "agent_identity": ["coder"],
            "chat_id": None,
            "chat_type": True,
            "x": 1,
        }
    )

    assert (host.user_id, host.platform, host.agent_identity, host.chat_id) == ("12345", "telegram", None, None)
    assert host.chat_type is None


def test_an_identity_speaks_as_a_caller() -> None:
    caller = identify("agent:main:telegram:dm:12345").caller(SessionId("s1"))

    assert (caller.theme, caller.session) == (DIRECT_MESSAGES, "s1")


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(InvalidInput, match="too short"):
        subject_for(b"short", "person", "sms", "+1555")


def test_another_installation_has_other_subjects() -> None:
    other = resolve(HostIdentity(gateway_session_key="+15551234567"), POLICY, b"another secret of 32 bytes......")

    assert other.subject != identify("+15551234567").subject


@given(st.lists(st.text(max_size=8), max_size=4), st.lists(st.text(max_size=8), max_size=4))
def test_subjects_of_different_parts_differ_however_the_parts_join(one: list[str], other: list[str]) -> None:
    same = subject_for(SECRET, "person", *one) == subject_for(SECRET, "person", *other)

    assert same is (one == other)


def test_a_home_is_named_without_its_path() -> None:
    name = home_id_for(SECRET, "/home/alice/.hermes")

    assert len(name) == 32
    assert name != home_id_for(SECRET, "/home/bob/.hermes")
    assert "alice" not in name


UNSEEN = st.sampled_from(["\u200b", "\u200d", "\x00", "\ufeff", "\u00ad", "\u2060"])


@given(st.sampled_from(PERSONS + CHATS), st.lists(st.tuples(st.integers(0, 40), UNSEEN), min_size=1, max_size=5))
def test_no_invisible_character_lets_a_contact_out_of_its_sink(key: str, insertions: list[tuple[int, str]]) -> None:
    disguised = key
    for place, char in insertions:
        disguised = disguised[:place] + char + disguised[place:]

    assert identify(disguised) == identify(key)


@given(st.sampled_from(PERSONS + CHATS), st.booleans())
def test_neither_case_nor_width_lets_a_contact_out_of_its_sink(key: str, wide: bool) -> None:
    disguised = (
        "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in key) if wide else key.upper()
    )

    assert identify(disguised) == identify(key)


@given(st.text(max_size=40), st.text(max_size=12), st.text(max_size=12))
def test_every_identity_is_sound_whatever_the_host_says(key: str, agent: str, user: str) -> None:
    identity = identify(key, agent_identity=agent, user_id=user, platform="telegram")

    assert identity.theme == fold_name(identity.theme) != ""
    assert len(identity.theme) <= 128
    assert identity.theme not in {"all", "current", "session", "subject"}
    assert identity.theme not in SINKS or identity.subject is not None
    assert identity.theme in SINKS or recognise(identity.theme) is None
    assert identity == identify(key, agent_identity=agent, user_id=user, platform="telegram")


@given(
    st.from_regex(r"\+[1-9][0-9]{7,12}", fullmatch=True),
    st.sampled_from(["{}", "sms:{}", "agent:main:sms:dm:{}", "x {}"]),
)
def test_a_number_shows_nowhere_in_what_is_kept(number: str, form: str) -> None:
    host = HostIdentity(gateway_session_key=form.format(number), user_id=number, chat_id=number)
    identity = resolve(host, POLICY, SECRET)
    contact = recognise(form.format(number))

    for shown in (identity.theme, repr(identity), repr(host), str(host), repr(contact)):
        assert number not in shown
        assert number[1:] not in shown


@for_each("unit", ["a:", "+1", "1", "@", "a@", "agent:main:", "telegram:", ";-;", "(", "a.b@c.", "!x:"])
def test_recognition_takes_linear_time(unit: str) -> None:
    assert grows_linearly(on_repeated(recognise, unit), largest=64_000)


@for_each(
    ("context", "allowed", "writing"),
    [
        (None, {"primary"}, True),
        ("", {"primary"}, True),
        ("primary", {"primary", "cron"}, True),
        ("Cron", {"primary", "cron"}, True),
        ("subagent", {"primary", "cron"}, False),
        ("flush", {"primary", "cron"}, False),
        (None, {"cron"}, False),
    ],
)
def test_only_the_listed_contexts_write_and_a_missing_one_is_the_primary(
    context: str | None, allowed: set[str], writing: bool
) -> None:
    assert may_write(context, frozenset(allowed)) is writing
