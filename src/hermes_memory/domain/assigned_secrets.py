"""Secrets that a name is given as its value: whether they are secrets, and what they look like when they are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from hermes_memory.domain import secret_names as names
from hermes_memory.domain.stop_words import STOP_WORDS

_SIGNS: Final = ("=", ":", "：", "＝")
_PATHS: Final = ("/", "~/", "C:\\", "./")
_SHORTEST_KEY: Final = 8
_SURELY_A_KEY: Final = 20
_SHORTEST_QUOTED_KEY: Final = 6
_SHORTEST_OF_LETTERS: Final = 12
_LONGEST_NUMBER: Final = 15
_COUNT: Final = r"[-+]?[0-9]{1,5}(?:\.[0-9]{1,6})?(?:e[-+]?[0-9]{1,3})?(?:%|[mnuµμ]?s|px)?"
_VERDICT: Final = (
    "yes|no|ok|on|off|all|any|none|some|pass|passed|passes|fail|failed|fails|failure|success|error|errors|warn|warning"
    "|skip|skipped|xfail|xpass|pending|partial|unknown|done|true|false|n/a|na"
)
_TALLY: Final = re.compile(
    rf"(?:{_COUNT}(?:(?:[/|]| of | out of ){_COUNT}){{0,5}}|(?:{_VERDICT})(?:[/|](?:{_VERDICT})){{0,7}})"
    r"(?:[.:]|[/|:][a-z_]\w{0,32}=.*)?",
    re.IGNORECASE | re.DOTALL,
)
"""How many passed, or whether, maybe with the next count behind it as in `12/fail=3`; or how wide a pulse is."""
_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_.]+")
_NEW_NAME: Final = re.compile(
    r"\w{0,64}(?:_(?:password|passwd|pwd)|(?<=[a-z])(?:Password|Passwd|Pwd))|password|passwd|pwd"
)
_WORD: Final = r"(?:[A-Z]?[a-z]{1,32}|[A-Z]{1,32})"
_NAME_OF_WORDS: Final = re.compile(rf"[A-Z]?[a-z]{{1,9}}|[A-Z]{{1,12}}|{_WORD}(?:[._:/-]{_WORD}){{1,16}}")
"""What has neither a digit nor a capital within a word: `comment.line`, `same-origin`, `IDENTIFIER`."""
_WIDTH: Final = re.compile(r"(?:[a-z_]\w{0,64}\.){1,8}(?:[a-z_]{0,32}(?:width|size)|w|x|px)", re.IGNORECASE)
_OTHER_QUOTES: Final = "“„«‘‚"


def assigns_a_secret(text: str) -> bool:
    """Tell, of a text that is folded, whether a secret's name stands before a sign that gives it a value."""
    for sign in _SIGNS:
        if sign in text:
            at = text.find(sign)
            while at >= 0:
                if _ends_as_a_secret_does(text[max(at - names.LONGEST_ENDING, 0) : at]):
                    return True
                at = text.find(sign, at + 1)
    return False


def _ends_as_a_secret_does(text: str) -> bool:
    # Go and its like declare a literal as `dbPassword string = "x"`.
    return text.rstrip(names.NAME_TAIL).removesuffix("string").rstrip(names.NAME_TAIL).endswith(names.NAME_ENDINGS)


def folded(line: str) -> str:
    """Fold the case at least as far as a search that ignores it does, for which ı and İ are an i and ſ is an s."""
    return line.lower() if line.isascii() else line.casefold().replace("ı", "i").replace("\u0307", "")


def named_secret(name: str, value: str) -> str | None:
    """Return the kind of secret that a value is by its name, None when the name tells of none."""
    match = names.NAME.search(name) if _ends_as_a_secret_does(folded(name)) else None
    if match is None or names.PLACEHOLDER.fullmatch(value) or not value.strip():
        return None
    return _kind_of(match) if _is_named_secret(value, match) else None


def without_assigned(line: str, mark: Callable[[str], str]) -> Iterator[str]:
    """Yield the parts of a line with a mark, made for its kind, in the place of each secret.

    What is no secret may hold one, as in `secret: password: x`: it is read again.
    """
    done = position = 0
    inherited = -1
    while match := names.ASSIGNMENT.search(line, position):
        group = match.lastgroup or ""
        start = match.start(group)
        value = match[group] if group != "bare" else _unbracketed(match[group])
        passes_on = match.start() == inherited and not (group == "bare" and _is_prose(value, match))
        if _stands_for_nothing(value, match) or not (passes_on or _is_secret(value, group, match)):
            position, inherited = start, start if match["password"] and _names_another(value) else -1
            continue
        yield line[done:start]
        yield mark(_kind_of(match))
        done, position = start + len(value), match.end()
    yield line[done:]


def _kind_of(match: re.Match[str]) -> str:
    return "password" if match["password"] else "secret"


def _unbracketed(value: str) -> str:
    """Leave the brackets that close something outside the value, as in `connect(password=x)`."""
    return value.rstrip(")]}") or value


def _stands_for_nothing(value: str, match: re.Match[str]) -> bool:
    name = match["password"] or match["key"]
    return (
        names.PLACEHOLDER.fullmatch(match[match.lastgroup or 0]) is not None
        or names.PLACEHOLDER.fullmatch(value.lstrip(_OTHER_QUOTES)) is not None
        or (match["sign"] != "=" and _is_told(value, match))
        or value.lower() == name.lower()
        or _names_another(value)
        or (match.lastgroup == "bare" and _is_code(value, match))
        or (name.lower() == "pwd" and value.startswith(_PATHS))
    )


def _is_code(value: str, match: re.Match[str]) -> bool:
    """Tell whether a value without quotes fetches a secret, or is another name of one."""
    if names.CODE.fullmatch(match["bare"]) or _is_reference(value):
        return True
    if value in names.OPERATORS and match.string[match.end() : match.end() + 2].strip().isalpha():
        return True
    if not ("==" in match["sign"] or "!=" in match["sign"]):
        return False
    other = value.rstrip(":")
    return _IDENTIFIER.fullmatch(other) is not None or _ends_as_a_secret_does(folded(other))


def _is_told(value: str, match: re.Match[str]) -> bool:
    """Tell whether a value says something of the secret, which a connection string or a shell has no place for."""
    if names.TOLD.fullmatch(value):
        return True
    return match.lastgroup == "bare" and len(value) > 1 and value in STOP_WORDS


def _is_reference(value: str) -> bool:
    """Tell whether a value is what a program calls a secret: `user.password`, `newPassword`, `:password`."""
    name = value.lstrip("$@:&")
    if _IDENTIFIER.fullmatch(name) is None:
        return False
    if "." in name:
        return any(map(_ends_as_a_secret_does, folded(name).split(".")))
    return (name != value or "_" in name or name[0].islower()) and _NEW_NAME.fullmatch(name) is not None


def _names_another(value: str) -> bool:
    """Tell whether a value is itself the name of a secret with its sign, as in `password: token: x`."""
    name = value[:-1]
    return value.endswith((":", "：")) and name.isalpha() and _ends_as_a_secret_does(folded(name))


def _is_secret(value: str, group: str, match: re.Match[str]) -> bool:
    quoted = group != "bare"
    if match["lone"] and (not _is_passed(value) or (not quoted and _is_width(value))):
        return False
    if match["password"]:
        return quoted or not _is_prose(value, match)
    if quoted or _is_authorization(match):
        return _is_named_key(value, match)
    if names.MARKED_WITHIN.search(value) or (value.isdigit() and len(value) <= _LONGEST_NUMBER):
        return False
    if len(value) >= _SURELY_A_KEY or (len(value) >= _SHORTEST_KEY and any(map(str.isdigit, value))):
        return True
    # A variable of the environment is given its value as it is.
    return match["sign"] == "=" and match["key"].isupper() and value.isalpha() and len(value) >= _SHORTEST_OF_LETTERS


def _is_named_secret(value: str, match: re.Match[str]) -> bool:
    if match["lone"]:
        return _is_passed(value)
    if match["password"]:
        return True
    return _proves_who(value) if match["auth"] else _is_named_key(value, match)


def _is_authorization(match: re.Match[str]) -> bool:
    return str(match["key"]).lower() == "authorization"


def _is_named_key(value: str, match: re.Match[str]) -> bool:
    if not _is_authorization(match):
        return _is_quoted_key(value)
    return not (match.lastgroup == "bare" and _IDENTIFIER.fullmatch(value)) and _proves_who(value)


def _is_passed(value: str) -> bool:
    """Tell whether `pass=` or `pw=` gives a password, and not how many passed, or whether, or a width."""
    return _TALLY.fullmatch(value) is None


def _is_width(value: str) -> bool:
    """Tell whether `pw` is a name in a program, which is given the width of something."""
    return _WIDTH.fullmatch(value) is not None


def _proves_who(value: str) -> bool:
    """Tell whether the value of an authorization is the proof itself, and not the name of a way to give it."""
    if names.MARKED_WITHIN.search(value):
        return False
    if scheme := names.SCHEME.match(value):
        return names.PLACEHOLDER.fullmatch(value, scheme.end()) is None
    if any(map(str.isspace, value)) or names.METHOD.fullmatch(value) or _ADDRESS.match(value):
        return False
    return len(value) >= _SURELY_A_KEY or (len(value) >= _SHORTEST_QUOTED_KEY and any(map(str.isdigit, value)))


def _is_quoted_key(value: str) -> bool:
    if names.MARKED_WITHIN.search(value):
        return False
    if any(map(str.isspace, value)) or _NAME_OF_WORDS.fullmatch(value):
        return False
    return len(value) >= _SHORTEST_QUOTED_KEY


def _is_prose(value: str, match: re.Match[str]) -> bool:
    """Tell whether a sentence goes on after "password:", so that its first word is no password."""
    if "=" in match["sign"] or "＝" in match["sign"]:
        return False
    following = match.string[match.end() : match.end() + 8].lstrip(",; ")
    return following[:1].isalpha() and len(_classes(value)) < 2


def _classes(value: str) -> set[str]:
    """Name the classes of characters in a value; a capital at its start or an apostrophe is spelling, not a class."""
    return {
        "digit" if char.isdigit() else "letter" if char.isalpha() and not char.isupper() else "other"
        for char in value[1:].replace("’", "")
    }
