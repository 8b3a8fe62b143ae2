"""Turns whatever a host hands over into text and metadata that can be stored. Nothing here refuses an input."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from hermes_memory.domain.echoes import without_recalled
from hermes_memory.domain.model import Json
from hermes_memory.domain.scrubbing import cut, scrub, text_of

CUT_MARKER: Final = "\n[… the rest was cut]"
"""Stands at the end of a text that was longer than allowed."""

MAX_PARTS: Final = 4096
_MAX_DEPTH: Final = 8
_TEXT_KEYS: Final = ("text", "content", "input_text", "output_text", "summary_text")
_IMAGES: Final = frozenset({"image", "image_url", "input_image"})
_ATTACHMENTS: Final = {
    "audio": "audio",
    "input_audio": "audio",
    "document": "file",
    "file": "file",
    "input_file": "file",
    "video": "video",
    "video_url": "video",
}
_UNSPOKEN: Final = frozenset({"reasoning", "redacted_thinking", "thinking", "tool_call", "tool_result", "tool_use"})
_STRIPPED_IMAGE: Final = "[Attached image"
_END: Final = object()

MAX_METADATA_NODES: Final = 512
MAX_METADATA_TEXT: Final = 8192
_MAX_METADATA_DEPTH: Final = 6
_MAX_KEY_CHARS: Final = 256
_MAX_INTEGER_BITS: Final = 1024
_METADATA_CUT: Final = "…"


def clean_text(value: object, *, max_chars: int) -> str:
    """Bring a message's content to text that can be stored.

    A list of content parts is written as the host writes it for its memory providers: texts line by line, with the
    number of images in front, so that the same message is the same text by whichever hook it comes. Other attachments
    are named only where there is no text. What was recalled is removed, control characters and lone surrogates mended.

    Args:
        value: Text, bytes, a list of content parts, a part, or anything else.
        max_chars: Upper bound of the result's length, its marker of the cut included.

    Returns:
        The text without surrounding white space, "" for nothing. Cleaning it again changes nothing.

    >>> clean_text([{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {}}], max_chars=100)
    '[1 image] Look'
    """
    text = without_recalled(scrub(value if isinstance(value, str) else _flatten(value))).strip()
    return text if len(text) <= max_chars else cut(text, max_chars, CUT_MARKER).strip()


def clean_metadata(value: object) -> dict[str, Json]:
    r"""Bring metadata to an object that JSON and the database can hold.

    Keys become text, times ISO 8601, NaN and infinities null, other objects their text. Strings are scrubbed and cut at
    8,192 characters; depth (6) and the number of values (512) are bounded, what lies beyond is left out.

    Returns:
        A new dictionary. Something else than a mapping is kept under "value", None gives an empty dictionary.

    >>> clean_metadata({"at": float("nan"), 7: "a\x00b"})
    {'at': None, '7': 'ab'}
    """
    if value is None:
        return {}
    budget = iter(range(MAX_METADATA_NODES))
    return _json_object(value if isinstance(value, Mapping) else {"value": value}, 1, budget)


def _json_object(mapping: Mapping[object, object], depth: int, budget: Iterator[int]) -> dict[str, Json]:
    return {
        cut(scrub(text_of(key)), _MAX_KEY_CHARS, _METADATA_CUT): _json(item, depth, budget)
        for (key, item), _ in zip(mapping.items(), budget, strict=False)
    }


def _json(value: object, depth: int, budget: Iterator[int]) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= _MAX_INTEGER_BITS:
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return _json_container(value, depth + 1, budget)
    return cut(scrub(text_of(value)), MAX_METADATA_TEXT, _METADATA_CUT)


def _json_container(value: Mapping[object, object] | Collection[object], depth: int, budget: Iterator[int]) -> Json:
    if depth > _MAX_METADATA_DEPTH:
        return f"[{type(value).__name__}]"
    if isinstance(value, Mapping):
        return _json_object(value, depth, budget)
    return [_json(item, depth, budget) for item, _ in zip(value, budget, strict=False)]


def _flatten(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping | list | tuple):
        return _write_parts(_parts(value)) or _write_object(value)
    return text_of(value)


def _write_object(value: object) -> str:
    """Write a mapping that is no content part, so that nothing said is lost."""
    if not isinstance(value, Mapping) or "type" in value or any(key in value for key in _TEXT_KEYS):
        return ""
    return json.dumps(clean_metadata(value), ensure_ascii=False) if value else ""


def _write_parts(parts: Iterable[object]) -> str:
    texts: list[str] = []
    images = 0
    others: dict[str, None] = {}
    for part in parts:
        kind = _kind(part)
        if kind in _IMAGES or _is_stripped_image(part):
            images += 1
        elif kind in _ATTACHMENTS:
            others[f"[{_ATTACHMENTS[kind]}]"] = None
        elif kind not in _UNSPOKEN:
            texts.append(_text_of_part(part))
    text = "\n".join(text for text in texts if text).strip()
    if images:
        return f"[{images} image{'s' if images > 1 else ''}] {text}".rstrip()
    return text or " ".join(others)


def _parts(value: object) -> Iterator[object]:
    """Yield the parts of nested lists in order, a bounded number of them, however the lists refer to each other."""
    stack: list[Iterator[object]] = [iter((value,))]
    for _ in range(MAX_PARTS):
        part = next(stack[-1], _END)
        if isinstance(part, list | tuple):
            if len(stack) < _MAX_DEPTH:
                stack.append(iter(part))
        elif part is not _END:
            yield part
        elif len(stack) > 1:
            stack.pop()
        else:
            return


def _kind(part: object) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    return kind.strip().lower() if isinstance(kind, str) else ""


def _is_stripped_image(part: object) -> bool:
    """The host puts this text in the place of an image that it no longer carries along."""
    return isinstance(part, Mapping) and _text_of_part(part).startswith(_STRIPPED_IMAGE)


def _text_of_part(part: object) -> str:
    if part is None:
        return ""
    if not isinstance(part, Mapping):
        return text_of(part)
    texts = (part.get(key) for key in _TEXT_KEYS)
    return next((text for text in texts if isinstance(text, str) and text), "")
