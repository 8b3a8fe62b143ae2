"""Fuzz target: whatever a host says, an identity is sound, and two contacts never become one."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.identity import HostIdentity, Identity, IdentityPolicy, home_identity, resolve
from hermes_memory.domain.model import SINKS
from hermes_memory.domain.sessions import session_name
from hermes_memory.domain.themes import claim_theme
from tests.fuzz.effort import fuzz
from tests.fuzz.texts import texts

SECRET = b"an installation's own secret 123"
POLICY = IdentityPolicy()
_NAMES = tuple(HostIdentity.__slots__)

_said = st.none() | st.booleans() | st.integers() | st.binary(max_size=8) | texts | st.lists(texts, max_size=2)
_platforms = st.sampled_from(["telegram", "discord", "signal", "slack", "whatsapp", "matrix", "irc", "someplace"])
_ids = st.integers(10_000, 10**15).map(str) | st.from_regex(r"[1-9][0-9]{4,14}", fullmatch=True)
_persons = st.sampled_from(
    [
        "agent:main:{platform}:dm:{id}",
        "agent:main:{platform}:private:{id}",
        "agent:main:{platform}:dm:{id}:thread7",
        "Agent:Coder:{platform}:DM:{id}",
    ]
)
_groups = st.sampled_from(["agent:main:{platform}:group:{id}", "agent:main:{platform}:channel:{id}:99"])


def identify(**facts: object) -> Identity:
    return resolve(HostIdentity.from_host(facts), POLICY, SECRET)


@fuzz
@given(st.dictionaries(st.sampled_from(_NAMES), _said))
def test_an_identity_is_sound_whatever_the_host_says(facts: dict[str, object]) -> None:
    host = HostIdentity.from_host(facts)
    identity, files = resolve(host, POLICY, SECRET), home_identity(host, POLICY, SECRET)

    assert identity == resolve(host, POLICY, SECRET)
    for found in (identity, files):
        assert 1 <= len(found.theme) <= 128
        assert found.theme not in SINKS or found.subject is not None
        assert found.subject is None or len(found.subject) == 32
        assert found.caller(session_name("s")).theme == found.theme


@fuzz
@given(_platforms, _ids, _persons, _platforms, _ids, _persons)
def test_two_contacts_are_never_one_and_one_is_never_two(
    platform: str, contact: str, form: str, other_platform: str, other: str, other_form: str
) -> None:
    one = identify(gateway_session_key=form.format(platform=platform, id=contact))
    two = identify(gateway_session_key=other_form.format(platform=other_platform, id=other))

    assert one.subject is not None
    assert (one.subject == two.subject) is ((platform, contact) == (other_platform, other))


@fuzz
@given(_platforms, _ids, _persons, _groups)
def test_a_group_is_never_a_person(platform: str, contact: str, person: str, group: str) -> None:
    one = identify(gateway_session_key=person.format(platform=platform, id=contact))
    other = identify(gateway_session_key=group.format(platform=platform, id=contact))

    assert one.subject != other.subject
    assert one.theme != other.theme


@fuzz
@given(_platforms, _ids, _ids)
def test_two_users_of_an_agent_are_never_one(platform: str, user: str, other: str) -> None:
    assume(user != other)
    one, two = (identify(agent_identity="desk", platform=platform, user_id=given) for given in (user, other))

    assert one.theme == two.theme == "desk"
    assert one.subject != two.subject


@fuzz
@given(texts)
def test_a_theme_is_claimed_or_refused(name: str) -> None:
    try:
        theme = claim_theme(name)
    except InvalidInput:
        return
    assert claim_theme(theme) == theme
    assert theme not in SINKS


@fuzz
@given(texts, texts)
def test_two_sessions_are_one_only_when_they_are_spelt_alike(one: str, other: str) -> None:
    names = session_name(one), session_name(other)

    assert all(name is None or 1 <= len(name) <= 256 for name in names)
    assert names[0] == session_name(names[0])
    if names[0] == names[1]:
        assert "".join(one.split()) == "".join(other.split()) or not one.isprintable() or not other.isprintable()
