"""How the settings that hold are shown: by `config show`, and by the doctor."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hermes_memory.domain.characters import escaped_invisible
from hermes_memory.settings.effective import EffectiveSetting

LINE_CHARS: Final = 110


def setting_payload(setting: EffectiveSetting) -> dict[str, Any]:
    """Return a setting as JSON shows it: what it is, and where it comes from."""
    first = setting.origins[0] if setting.origins else None
    return {
        "key": setting.key,
        "value": setting.value,
        "source": first.source if first else "default",
        "name": first.name if first else None,
        "file": first.path if first else None,
        "line": first.line() if first else None,
        "place": setting.place,
    }


def setting_lines(settings: Sequence[EffectiveSetting]) -> Iterator[str]:
    """Yield a line for each setting."""
    key = max((len(each.key) for each in settings), default=0)
    values = [escaped_invisible(json.dumps(each.value, ensure_ascii=False)) for each in settings]
    width = min(max(map(len, values), default=0), 40)
    for each, value in zip(settings, values, strict=True):
        yield f"{each.key:<{key}} = {value:<{width}}  {each.place}"


def compact_lines(settings: Sequence[EffectiveSetting]) -> Iterator[str]:
    """Yield a line for each setting that is set somewhere, then the others as they are by default, several a line."""
    for line in setting_lines([each for each in settings if each.origins]):
        yield f"set     {line}"
    others = (f"{each.key}={_unspaced(each.value)}" for each in settings if not each.origins)
    yield from textwrap.wrap(
        "  ".join(others),
        width=LINE_CHARS,
        initial_indent="default ",
        subsequent_indent="default ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _unspaced(value: Any) -> str:
    """Return a value as JSON that no line is broken in."""
    return escaped_invisible(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
