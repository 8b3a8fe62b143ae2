"""Who may see and change what, against a naive restatement of the rule."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.domain.model import (
    BENCHMARKS,
    DEFAULT_THEME,
    DIRECT_MESSAGES,
    GROUPS,
    SINKS,
    AllScope,
    Caller,
    CurrentScope,
    ReadPolicy,
    Scope,
    SessionId,
    SessionScope,
    Subject,
    SubjectScope,
    Theme,
    ThemeScope,
)
from hermes_memory.domain.visibility import Access, changeable, in_scope, past_visible, readable, visible

ALICE, BOB = Subject(b"a" * 32), Subject(b"b" * 32)
MARKETING, SALES = Theme("marketing"), Theme("sales")

themes = st.sampled_from([MARKETING, SALES, DEFAULT_THEME, DIRECT_MESSAGES, GROUPS, BENCHMARKS])
subjects = st.sampled_from([None, ALICE, BOB])
sessions = st.sampled_from([None, SessionId("s1"), SessionId("s2")])
policies = st.sampled_from(ReadPolicy)
accesses = st.builds(Access, policy=policies, grants=st.frozensets(themes))
scopes: st.SearchStrategy[Scope] = st.one_of(
    st.just(CurrentScope()),
    st.builds(
        SessionScope,
        session=st.sampled_from([SessionId("s1"), SessionId("s2")]),
        hidden=st.sampled_from([None, SessionId("s1"), SessionId("s2")]),
    ),
    st.just(SubjectScope()),
    st.just(AllScope()),
    st.builds(ThemeScope, theme=themes),
)


@st.composite
def callers(draw: st.DrawFn) -> Caller:
    theme = draw(themes)
    return Caller(theme=theme, subject=draw(st.sampled_from([ALICE, BOB]) if theme in SINKS else subjects))


@st.composite
def rows(draw: st.DrawFn) -> tuple[Theme, Subject | None]:
    """A row as it may exist: in a sink it always has a subject."""
    theme = draw(themes)
    return theme, draw(st.sampled_from([ALICE, BOB]) if theme in SINKS else subjects)


@given(rows(), callers(), accesses)
def test_visible_means_mine_or_nobodys_in_a_theme_i_may_read(
    row: tuple[Theme, Subject | None], caller: Caller, access: Access
) -> None:
    theme, subject = row
    mine = subject is not None and subject == caller.subject
    granted = theme in access.grants and access.policy is not ReadPolicy.OWN
    among_agents = access.policy is ReadPolicy.OPEN and caller.subject is None
    may_read = theme == caller.theme or (theme not in SINKS and (granted or among_agents))

    assert visible(theme, subject, caller, access) is (mine or (subject is None and may_read))


@given(rows(), callers(), accesses)
def test_the_past_of_a_row_is_its_own_themes_or_its_own_persons_and_never_wider_than_the_row(
    row: tuple[Theme, Subject | None], caller: Caller, access: Access
) -> None:
    theme, subject = row
    mine = subject == caller.subject if subject is not None else theme == caller.theme

    assert past_visible(theme, subject, caller) is mine
    assert visible(theme, subject, caller, access) or not past_visible(theme, subject, caller)


@given(rows(), callers(), accesses)
def test_nobody_sees_a_row_of_another_subject_under_any_policy(
    row: tuple[Theme, Subject | None], caller: Caller, access: Access
) -> None:
    theme, subject = row

    assert subject in {None, caller.subject} or not visible(theme, subject, caller, access)


@given(rows(), callers(), accesses)
def test_a_row_in_a_sink_is_seen_only_by_its_subject(
    row: tuple[Theme, Subject | None], caller: Caller, access: Access
) -> None:
    theme, subject = row

    assert theme not in SINKS or visible(theme, subject, caller, access) is (subject == caller.subject)


@given(callers(), accesses, themes)
def test_no_grant_opens_a_sink(caller: Caller, access: Access, theme: Theme) -> None:
    assert theme not in SINKS or theme == caller.theme or not readable(theme, caller, access)


@given(callers(), accesses)
def test_everybody_reads_their_own_theme(caller: Caller, access: Access) -> None:
    assert readable(caller.theme, caller, access)


@given(rows(), callers())
def test_only_the_own_theme_can_be_changed_and_nobody_elses_subject(
    row: tuple[Theme, Subject | None], caller: Caller
) -> None:
    theme, subject = row

    assert changeable(theme, subject, caller) is (theme == caller.theme and subject in {None, caller.subject})


@given(rows(), callers(), accesses)
def test_whatever_can_be_changed_can_be_seen(row: tuple[Theme, Subject | None], caller: Caller, access: Access) -> None:
    theme, subject = row

    assert not changeable(theme, subject, caller) or visible(theme, subject, caller, access)


@given(rows(), sessions, callers(), scopes)
def test_a_scope_narrows_what_is_visible(
    row: tuple[Theme, Subject | None], session: SessionId | None, caller: Caller, scope: Scope
) -> None:
    theme, subject = row
    own = theme == caller.theme
    named = isinstance(scope, SessionScope) and session in {scope.session, scope.hidden or scope.session}
    expected = {
        CurrentScope: own,
        SessionScope: own and named,
        SubjectScope: subject is not None and subject == caller.subject,
        AllScope: own or theme not in SINKS,
        ThemeScope: isinstance(scope, ThemeScope) and theme == scope.theme,
    }

    assert in_scope(theme, subject, session, caller, scope) is expected[type(scope)]


@given(rows(), sessions, callers(), accesses)
def test_scope_all_shows_no_sink_but_the_own(
    row: tuple[Theme, Subject | None], session: SessionId | None, caller: Caller, access: Access
) -> None:
    theme, subject = row
    shown = visible(theme, subject, caller, access) and in_scope(theme, subject, session, caller, AllScope())

    assert not shown or theme == caller.theme or theme not in SINKS


@for_each(
    ("policy", "grants", "seen"),
    [
        (ReadPolicy.OPEN, frozenset(), True),
        (ReadPolicy.GRANTS, frozenset({SALES}), True),
        (ReadPolicy.GRANTS, frozenset({DEFAULT_THEME}), False),
        (ReadPolicy.OWN, frozenset({SALES}), False),
    ],
)
def test_the_policy_decides_whether_themes_read_each_other(
    policy: ReadPolicy, grants: frozenset[Theme], seen: bool
) -> None:
    assert visible(SALES, None, Caller(theme=MARKETING), Access(policy=policy, grants=grants)) is seen


@for_each("theme", [MARKETING, DIRECT_MESSAGES, GROUPS, BENCHMARKS])
def test_who_writes_to_an_open_agent_reads_no_other_agent_unless_granted(theme: Theme) -> None:
    asking = Caller(theme=theme, subject=BOB)

    assert not visible(SALES, None, asking, Access(policy=ReadPolicy.OPEN))
    assert visible(SALES, None, asking, Access(policy=ReadPolicy.OPEN, grants=frozenset({SALES})))
    assert not visible(SALES, None, asking, Access(policy=ReadPolicy.OWN, grants=frozenset({SALES})))


def test_two_contacts_in_direct_messages_do_not_see_each_other() -> None:
    bob = Caller(theme=DIRECT_MESSAGES, subject=BOB)

    assert not visible(DIRECT_MESSAGES, ALICE, bob, Access())
    assert visible(DIRECT_MESSAGES, BOB, bob, Access())


def test_the_session_of_another_theme_is_out_of_scope_even_with_its_id() -> None:
    scope = SessionScope(session=SessionId("s1"))

    assert not in_scope(DIRECT_MESSAGES, ALICE, SessionId("s1"), Caller(theme=MARKETING), scope)
    assert in_scope(MARKETING, None, SessionId("s1"), Caller(theme=MARKETING), scope)
