"""Fuzz target: whatever is handed in, secrets are taken out once and for all, and nothing else changes."""

from __future__ import annotations

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.adapters.spool.codec import decode, encode
from hermes_memory.application.accept import Acceptor, CapturePolicy, Said
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Origin, Role, Target
from hermes_memory.domain.operations import Operation
from hermes_memory.domain.redaction import Redacted, SecretPolicy, may_hold_secret, redact, redact_value
from hermes_memory.domain.secret_names import ASSIGNMENT
from hermes_memory.domain.secret_shapes import CONTEXTS
from hermes_memory.domain.secret_tokens import TOKENS
from hermes_memory.testing.making import DESK, next_moment
from tests.fuzz.effort import fuzz
from tests.fuzz.texts import secret_texts, texts
from tests.unit.test_secret_shapes import ISSUED

MARK = re.compile(r"\[redacted:[a-z-]+\]")
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | secret_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(secret_texts, inner, max_size=3),
    max_leaves=8,
)


@fuzz
@given(secret_texts)
def test_the_first_look_overlooks_nothing_that_the_search_would_find(text: str) -> None:
    patterns = [ASSIGNMENT, *(shape.pattern for shape in CONTEXTS), *(shape.pattern for shape in TOKENS)]

    assert may_hold_secret(text) or not [pattern for pattern in patterns if pattern.search(text)]


@fuzz
@given(secret_texts)
def test_redacting_again_changes_nothing_and_every_secret_leaves_a_mark(text: str) -> None:
    result = redact(text)

    assert redact(result.text) == Redacted(text=result.text)
    assert bool(MARK.search(result.text)) or not result.counts  # one that lies within another goes with it
    assert result.counts or result.text == text


@fuzz
@given(secret_texts, st.sampled_from(sorted(ISSUED.values())), secret_texts)
def test_no_surroundings_hide_a_token(before: str, token: str, after: str) -> None:
    assume(token not in before + after)  # glued to something it may be the end of another
    assert token not in redact(f"{before} {token} {after}").text


@fuzz
@given(secret_texts, secret_texts)
def test_a_named_value_is_redacted_once_and_for_all(name: str, value: str) -> None:
    once = redact_value(name, value)

    assert redact_value(name, once.text) == Redacted(text=once.text)


@fuzz
@given(texts | _json, st.dictionaries(secret_texts, _json, max_size=3), secret_texts, st.sampled_from(SecretPolicy))
def test_any_write_is_accepted_or_refused_and_preparing_it_again_changes_nothing(
    content: object, metadata: dict[str, object], name: str, policy: SecretPolicy
) -> None:
    acceptor = Acceptor(InMemorySpool(), policy=CapturePolicy(secrets=policy), now=next_moment)

    def accepted() -> list[Operation | None]:
        said = Said(role=Role.USER, content=content, speaker=name, metadata=metadata)
        return [
            acceptor.turns(DESK, [said], filtered=False),
            acceptor.add(DESK, content, target=Target.MEMORY, origin=Origin.TOOL, tool=name, metadata=metadata),
        ]

    try:
        operations = [operation for operation in accepted() if operation is not None]
    except InvalidInput:
        return
    for operation in operations:
        assert decode(encode(operation)) == operation
        if policy is SecretPolicy.REDACT:
            kept = str(getattr(operation, "content", ""))
            assert redact(kept) == Redacted(text=kept)
