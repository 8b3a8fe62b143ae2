"""What becomes of the secrets in what is handed in: taken out, refused or let through, and counted."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Json, Metadata
from hermes_memory.domain.redaction import Redacted, SecretPolicy, may_hold_secret, redact, redact_value
from hermes_memory.ports.secrets import SecretTally

logger = logging.getLogger(__name__)


class HoldsSecret(InvalidInput):
    """A text holds a secret, and this installation keeps no such text. Take the secret out."""


class SecretGuard:
    """Carries out the installation's policy on secrets. Any thread may call."""

    def __init__(self, policy: SecretPolicy = SecretPolicy.REDACT, tally: SecretTally | None = None) -> None:
        """Guard by `policy`; count in `tally`."""
        self._policy = policy
        self._tally = tally

    def kept(self, text: str) -> str:
        """Return a text as it may be kept.

        Raises:
            HoldsSecret: It holds a secret and the policy is to refuse such texts.
        """
        if self._policy is SecretPolicy.ALLOW or not may_hold_secret(text):
            return text
        return self._passed(redact(text))

    def sought(self, text: str) -> str:
        """Return a text that selects what was kept before, in the form in which it was."""
        return text if self._policy is SecretPolicy.ALLOW else redact(text).text

    def metadata(self, metadata: Mapping[str, Json]) -> Metadata:
        """Return metadata as they may be kept: their names and values, and values whose name says that it is a secret.

        Raises:
            HoldsSecret: As for `kept`.
        """
        if self._policy is SecretPolicy.ALLOW:
            return metadata
        return self._object(metadata)

    def _object(self, metadata: Mapping[str, Json]) -> dict[str, Json]:
        kept: dict[str, Json] = {}
        for name, value in metadata.items():
            kept[_unlike(self.kept(name), kept)] = self._value(name, value)
        return kept

    def _value(self, name: str, value: Json) -> Json:
        match value:
            case str():
                return self._passed(redact_value(name, value))
            case int() if not isinstance(value, bool):
                redacted = redact_value(name, str(value))
                return self._passed(redacted) if redacted.counts else value
            case list():
                return [self._value(name, item) for item in value]
            case dict():
                return self._object(value)
            case _:
                return value

    def _passed(self, redacted: Redacted) -> str:
        if redacted.counts:
            refused = self._policy is SecretPolicy.REFUSE
            if self._tally is not None:
                self._tally.note(redacted.counts, refused=refused)
            if refused:
                raise HoldsSecret(
                    f"this holds a secret ({', '.join(sorted(redacted.counts))}), and such texts are refused here: "
                    "take the secret out"
                )
        return redacted.text


def _unlike(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that is not taken: two names may become one when their secrets are taken out."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free
