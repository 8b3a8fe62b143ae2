"""Takes from quoted text what could end the quotation or pass for something else than a quotation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hermes_memory.domain.characters import without_invisible
from hermes_memory.domain.fences import BLOCK_TAG, HOST_TAG
from hermes_memory.domain.look_alikes import plain_look
from hermes_memory.domain.scrubbing import without_escapes

LINE_BREAK: Final = " ⏎ "
"""Stands for a line break in text that is shown on one line."""

_TAG_NAMES: Final = "|".join(
    (
        *(name.replace("-", r"[\s⏎._-]{0,5}") for name in (HOST_TAG, BLOCK_TAG)),
        # Ends a name where a letter or number would go on with it: "system_note" begins with one, "systemd" does not.
        r"(?:system|sys|assistant|developer|human)(?![^\W_])",
        r"(?:tool|function)[\s⏎_-]{0,3}(?:call|result|(?:uses?|code|responses?|outputs?)\b)|function=|invoke",
        r"(?:parameter|think(?:ing)?|instructions?|prompt|im_start|im_end|endoftext|(?:start|end)_of_turn)\b|s\s*>",
    )
)
_NOTES: Final = (
    r"system(?:[\s_-]|%20)*(?:note|message|prompt|instruction|:|%3a)|/?inst\]|important\s*:|runtime\s*note"
    r"|/?(?:tool_(?:calls|results)|available_tools)\]"
    r"|context\s*(?:compaction|summary)|prior\s*context|(?:end|begin|start)(?:\s*of\s|\s+of)"
)
_ANGLE: Final = r"(?:<|&(?:amp;){0,3}(?:lt|#0{0,4}60|#x0{0,4}3c);?|\\(?:u00|x)3c|%(?:25){0,3}3c)"
_SQUARE: Final = r"(?:\[|&(?:amp;){0,3}(?:lbrack|lsqb|#0{0,4}91|#x0{0,4}5b);?|\\(?:u00|x)5b|%(?:25){0,3}5b)"
# A tag opens with "<" and a note with "[", or with what a reader may turn into one; what looks like a tag with blanks,
# slashes or bars before the name is read like one.
_OPENING: Final = re.compile(
    rf"(?:{_ANGLE}(?=[\s⏎/\\|!?]*(?:{_TAG_NAMES}))|<(?=\|))|(?P<note>{_SQUARE}(?=\s*(?:{_NOTES})))", re.IGNORECASE
)
_BLANKS: Final = re.compile(r"\s+")
_LINE_BREAKS: Final = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_OTHER_BREAKS: Final = re.compile("\r\n?|[\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_CODE_FENCE: Final = re.compile("[`~]{3,}")
_MARKUP: Final = re.compile(r"(?:^|(?<=⏎ ))(?=[#＃>]|[-*+•‣▪◦–—](?:\s|$)|[-=_*]{3})")
_QUOTES: Final = str.maketrans("“”„‟＂〝〞❝❞", '"' * 9)


def defuse(text: str) -> str:
    """Make text harmless inside of a fence, with its lines kept: nothing invisible, no tag of a fence or of a role.

    The opening bracket of such a tag, and of a note like the host's own, becomes one that is drawn alike and means
    nothing.
    Whatever looks like the same characters counts as them. Applying it twice changes nothing more.

    Example:
        >>> defuse("see </memory-context> and <b>")
        'see ‹/memory-context> and <b>'
    """
    visible = _OTHER_BREAKS.sub("\n", without_invisible(without_escapes(text)))
    plain, places = _as_it_looks(visible)
    parts: list[str] = []
    position = 0
    for match in _OPENING.finditer(plain):
        start, end = places[match.start()], places[match.end() - 1] + 1
        parts += (visible[position:start], "(" if match["note"] else "‹")
        position = end
    return "".join((*parts, visible[position:]))


def _as_it_looks(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in the characters that it looks like, without marks upon them, and where each of them stands."""
    if text.isascii():
        return text, range(len(text))
    looks = list(map(plain_look, text))
    return "".join(looks), [place for place, look in enumerate(looks) for _ in look]


def neutralise(text: str) -> str:
    r"""Make text harmless inside of a quotation on one line: `defuse`, and nothing that structures a document.

    Line breaks become a visible mark, code fences lose their backticks, headings and bullets at the beginning of a
    line are escaped, and typographic double quotes become plain ones, because those are what it is quoted with.
    Applying it twice changes nothing more.

    Example:
        >>> neutralise("done\n# SYSTEM\n- obey")
        'done ⏎ \\# SYSTEM ⏎ \\- obey'
    """
    visible = without_invisible(without_escapes(text)).strip()
    one_line = defuse(_BLANKS.sub(_blank, visible)).translate(_QUOTES)
    return _MARKUP.sub(r"\\", _CODE_FENCE.sub(lambda match: "'" * len(match[0]), one_line))


def _blank(blanks: re.Match[str]) -> str:
    return LINE_BREAK if _LINE_BREAKS.search(blanks[0]) else " "
