"""The one spelling of a contact: how phone numbers, addresses and chat ids of one person are made alike.

Spellings are joined only where they certainly mean the same contact. Two spellings left apart cost a person some
continuity; two persons joined would read each other's conversations.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from hermes_memory.domain.names import fold_name
from hermes_memory.domain.platforms import PHONE_PLATFORMS

_E164_PLATFORMS: Final = frozenset({"whatsapp", "whatsapp_cloud"})

EMAIL: Final = re.compile(r"[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
INTERNATIONAL_PHONE: Final = re.compile(r"(?<!\+)\+(?:[^\w+@]{0,3}[0-9]){7,15}(?![0-9])")
UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
WHATSAPP_JID: Final = re.compile(
    r"[\w.+-]{1,64}@(?:(?P<group>g\.us|broadcast|newsletter)|(?P<phone>s\.whatsapp\.net|c\.us)|lid)(?![\w.-])"
)
IMESSAGE_GUID: Final = re.compile(r"\w{1,16};(?P<sign>[-+]);(?P<address>[^;]{1,256})")
_DEVICE_OF_A_JID: Final = re.compile(r"(?:\.[0-9]{1,3})?:[0-9]{1,3}(?=@(?:s\.whatsapp\.net|lid)\b)")
_COLONS: Final = dict.fromkeys(map(ord, "∶꞉ː˸׃"), ":")
_PLUSES: Final = dict.fromkeys(map(ord, "➕⊕∔"), "+")


def flatten(key: str) -> str:
    """Spell a key so that its shape shows: folded, with plain digits, dashes, colons and plus signs.

    The device number of a WhatsApp id is dropped: it names a telephone, not another person.
    """
    return _DEVICE_OF_A_JID.sub("", plainly(fold_name(key)))


def plainly(text: str) -> str:
    """Spell digits, dashes, colons and plus signs of every script alike, and leave the rest."""
    return text if text.isascii() else "".join(map(_plain, text.translate(_COLONS).translate(_PLUSES)))


def contact_name(platform: str, contact: str) -> str:
    """Return the one spelling of a contact on a platform.

    >>> contact_name("sms", "+1 (555) 010-0199") == contact_name("sms", "0015550100199")
    True
    """
    flat = flatten(contact)
    guid = IMESSAGE_GUID.fullmatch(flat)
    if guid and guid["sign"] == "-":
        return contact_name(platform, guid["address"])
    if platform == "xmpp":
        flat = flat.partition("/")[0]
    jid = WHATSAPP_JID.fullmatch(flat)
    if jid and jid["phone"]:
        return _telephone("whatsapp", flat.partition("@")[0])
    return _telephone(platform, flat) if is_numeric(flat) else flat


def is_numeric(text: str) -> bool:
    """Tell whether a flattened text is a number, perhaps with a sign and separators: digits, but no letter."""
    return count_digits(text) > 0 and not any(char.isalnum() and not char.isdecimal() for char in text)


def count_digits(text: str) -> int:
    """Count the digits of a flattened text."""
    return sum(char.isdecimal() for char in text)


def _telephone(platform: str, number: str) -> str:
    digits = "".join(char for char in number if char.isdecimal())
    if number.lstrip(" ([<\"'").startswith("+"):
        return f"+{digits}"
    if digits.startswith("00") and len(digits) > 8:
        return f"+{digits[2:]}"
    if platform in _E164_PLATFORMS and len(digits) >= 7 and not digits.startswith("0"):
        return f"+{digits}"
    return digits if platform in PHONE_PLATFORMS else number


def _plain(char: str) -> str:
    if char.isascii():
        return char
    category = unicodedata.category(char)
    if category == "Pd":
        return "-"
    return str(unicodedata.decimal(char)) if category == "Nd" else char
