"""Which keys name a person or a group, told by their shape.

A host names a conversation by a key such as `agent:main:telegram:dm:12345`, `sms:+15550100` or `bob@example.org`.
Such a key must never become a theme, which others may read. Recognition errs towards "a person", but only for shapes
that name somebody: `team:dm:planning` and `signal:15m` are the names of ordinary themes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from hermes_memory.domain.contact_spelling import (
    EMAIL,
    IMESSAGE_GUID,
    INTERNATIONAL_PHONE,
    UUID,
    WHATSAPP_JID,
    contact_name,
    count_digits,
    flatten,
    is_numeric,
)
from hermes_memory.domain.platforms import (
    EVERYDAY_WORDS,
    GROUP_CHATS,
    PLATFORMS,
    PRIVATE_CHATS,
    name_in_key,
    platform_name,
)

_ID_PREFIXES: Final = frozenset({"direct", "group", "msgraph", "webhook"})
_IDS_WITH_COLONS: Final = frozenset({"matrix", "teams"})
_MATRIX_ID: Final = re.compile(r"(?P<sigil>[@!#])[^\s:@]{1,255}:[\w.-]{1,255}")
_HANDLE: Final = re.compile(r"@[\w.-]{2,64}")
_LONG_HEX: Final = re.compile(r"[a-z]?[0-9a-f]{16,64}")
_SLACK_ID: Final = re.compile(r"[cdguw](?=[a-z]{0,11}[0-9][0-9a-z]{0,11}[a-z])[0-9a-z]{8,11}")
_DATE: Final = re.compile(r"(?:19|20)[0-9]{2}[-./ ](?:0[1-9]|1[0-2])[-./ ](?:0[1-9]|[12][0-9]|3[01])(?![0-9])")
_DOTTED: Final = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}")
_ROOM_HOSTS: Final = ("@conference.", "@muc.", "@rooms.", "@groupchat.", "@chat.")

MIN_BARE_DIGITS: Final = 10
MAX_BARE_DIGITS: Final = 24
"""How many digits a number without a plus sign or a platform has when it is taken for a telephone or a chat's id."""


class ContactKind(StrEnum):
    """Whom a contact key names."""

    PERSON = "person"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """Whom a key names. The key itself is personal data: it is kept out of `repr`."""

    kind: ContactKind
    platform: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHints:
    """What the host says beside the key, used to tell where a chat's id ends. Empty when it says nothing."""

    platform: str = ""
    chat_id: str = field(default="", repr=False)
    participant: str = field(default="", repr=False)


NO_HINTS: Final = ChatHints()


def recognise(key: str, hints: ChatHints = NO_HINTS) -> Contact | None:
    """Tell whom a key names, or None when it names nobody and may be a theme.

    Linear in the length of the key.
    """
    flat = flatten(key)
    parts = flat.split(":")
    return (
        _session_key(parts, hints) or _chat_pair(parts, hints) or _address(flat, hints) or _on_a_platform(parts, hints)
    )


def _session_key(parts: Sequence[str], hints: ChatHints) -> Contact | None:
    """Read `agent:<namespace>:<platform>:<chat type>[:id…]`. Any chat type counts on a known platform."""
    if len(parts) < 4 or parts[0].strip() != "agent":
        return None
    platform, chat_type = name_in_key(parts[2]), parts[3].strip()
    kind = _kind_of_chat(chat_type)
    if kind is None and platform in PLATFORMS:
        kind = ContactKind.GROUP
    return _chat(kind, platform, parts[4:], hints) if kind else None


def _chat_pair(parts: Sequence[str], hints: ChatHints) -> Contact | None:
    """Read `<platform>:<chat type>:<id…>`, further inside the key only when the id looks like one."""
    for index, platform in _platforms(parts[:-2]):
        kind = _kind_of_chat(parts[index + 1].strip())
        first = parts[index + 2]
        if kind and (index == 0 or count_digits(first) >= 5 or "@" in first):
            return _chat(kind, platform, parts[index + 2 :], hints)
    return None


def _address(flat: str, hints: ChatHints) -> Contact | None:
    """Find an address that needs no platform beside it: a WhatsApp id, an e-mail address, a telephone number."""
    finders = (_whatsapp_id, _imessage_chat, _email_address, _matrix_id, _telephone_number)
    return next((contact for find in finders if (contact := find(flat, hints))), None)


def _whatsapp_id(flat: str, _hints: ChatHints) -> Contact | None:
    if jid := WHATSAPP_JID.search(flat):
        return _contact(ContactKind.GROUP if jid["group"] else ContactKind.PERSON, "whatsapp", jid[0])
    return None


def _imessage_chat(flat: str, hints: ChatHints) -> Contact | None:
    if guid := IMESSAGE_GUID.search(flat):
        kind = ContactKind.PERSON if guid["sign"] == "-" else ContactKind.GROUP
        return _contact(kind, _platform_of(flat, hints, "imessage"), guid["address"])
    return None


def _email_address(flat: str, hints: ChatHints) -> Contact | None:
    if email := EMAIL.search(flat):
        kind = ContactKind.GROUP if any(host in email[0] for host in _ROOM_HOSTS) else ContactKind.PERSON
        return _contact(kind, _platform_of(flat, hints, "email"), email[0])
    return None


def _matrix_id(flat: str, _hints: ChatHints) -> Contact | None:
    if found := _MATRIX_ID.fullmatch(flat.removeprefix("matrix:")):
        return _contact(ContactKind.PERSON if found["sigil"] == "@" else ContactKind.GROUP, "matrix", found[0])
    return None


def _telephone_number(flat: str, hints: ChatHints) -> Contact | None:
    if phone := INTERNATIONAL_PHONE.search(flat):
        return _contact(ContactKind.PERSON, _platform_of(flat, hints, "phone"), phone[0])
    if _HANDLE.fullmatch(flat) or _looks_dialled(flat):
        return _contact(_kind_of_number(flat), _platform_of(flat, hints, "phone"), flat)
    return None


def _on_a_platform(parts: Sequence[str], hints: ChatHints) -> Contact | None:
    """Read `<platform>:<id>` where the id looks like one on that platform."""
    for index, platform in _platforms(parts[:-1]):
        token = parts[index + 1].strip()
        least = 1 if index == 0 and platform not in EVERYDAY_WORDS else 7
        if is_numeric(token) and count_digits(token) >= least and not _DATE.match(token):
            return _contact(_kind_of_number(token), platform, token)
        if token.startswith("#") and index == 0:
            return _chat(ContactKind.GROUP, platform, parts[index + 1 :], hints)
        if _is_opaque_name(platform, token):
            kind = ContactKind.GROUP if token[0] in "cgr" and not UUID.fullmatch(token) else ContactKind.PERSON
            return _contact(kind, platform, token)
    return None


def _platforms(parts: Sequence[str]) -> Iterator[tuple[int, str]]:
    for index, part in enumerate(parts):
        platform = name_in_key(part)
        if platform in PLATFORMS:
            yield index, platform


def is_opaque_id(token: str) -> bool:
    """Tell whether a flattened text is an id that a platform made up: many hexadecimal digits, and nothing else."""
    return any(shape.fullmatch(token) for shape in (UUID, _LONG_HEX))


def _is_opaque_name(platform: str, token: str) -> bool:
    shapes = (_HANDLE, _SLACK_ID) if platform == "slack" else (_HANDLE,)
    return is_opaque_id(token) or any(shape.fullmatch(token) for shape in shapes)


def _kind_of_chat(chat_type: str) -> ContactKind | None:
    if chat_type in PRIVATE_CHATS:
        return ContactKind.PERSON
    return ContactKind.GROUP if chat_type in GROUP_CHATS else None


def _kind_of_number(number: str) -> ContactKind:
    """A negative number is a Telegram group's."""
    return ContactKind.GROUP if number.startswith("-") else ContactKind.PERSON


def _looks_dialled(flat: str) -> bool:
    """Tell a bare number that may be dialled from a date, a version, an address of the network or a short number."""
    if not is_numeric(flat):
        return False
    digits = count_digits(flat)
    if flat.lstrip(" (").startswith("00"):
        return digits > 8
    dotted_quad = flat.count(".") == 3 and _DOTTED.fullmatch(flat) is not None
    return MIN_BARE_DIGITS <= digits <= MAX_BARE_DIGITS and not dotted_quad and not _DATE.match(flat)


def _platform_of(flat: str, hints: ChatHints, otherwise: str) -> str:
    """Name the platform of an address: the one before it in the key, else the host's, else the address's own."""
    for _, platform in _platforms(flat.split(":")[:-1]):
        return platform
    hinted = platform_name(hints.platform)
    return hinted if hinted in PLATFORMS else otherwise


def _chat(kind: ContactKind, platform: str, tail: Sequence[str], hints: ChatHints) -> Contact:
    parts = [part.strip() for part in tail]
    key = _chat_id(platform, parts, hints) if any(parts) else hints.participant or hints.chat_id
    return _contact(kind, platform, key)


def _chat_id(platform: str, tail: Sequence[str], hints: ChatHints) -> str:
    """Find the chat's id in what follows the chat type: threads and participants come after it."""
    whole, hinted = ":".join(tail), flatten(hints.chat_id)
    if tail[0] in _ID_PREFIXES:
        return ":".join(tail[:2])
    if hinted and (whole == hinted or whole.startswith(f"{hinted}:")):
        return hinted
    if not any(map(str.isalnum, tail[0])):
        # Signs alone tell nobody from others.
        return whole
    if platform in _IDS_WITH_COLONS or platform not in PLATFORMS:
        return _id_with_colons(tail) or whole.removesuffix(f":{flatten(hints.participant)}")
    return tail[0]


def _id_with_colons(tail: Sequence[str]) -> str:
    """Find an id that may hold a colon itself, or "" when nothing tells where it ends."""
    if tail[0][:1] in {"@", "!", "#"} or (len(tail[0]) <= 2 and len(tail) > 1):
        return ":".join(tail[:2])
    complete = count_digits(tail[0]) >= 5 or "@" in tail[0]
    return tail[0] if complete else ""


def _contact(kind: ContactKind, platform: str, key: str) -> Contact:
    return Contact(kind=kind, platform=platform, key=contact_name(platform, key))
