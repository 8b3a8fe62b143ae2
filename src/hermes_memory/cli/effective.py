"""How the settings that hold are shown: by `config show`, and by the doctor."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hermes_memory.settings.effective import EffectiveSetting


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
    values = [json.dumps(each.value, ensure_ascii=False) for each in settings]
    width = min(max(map(len, values), default=0), 40)
    for each, value in zip(settings, values, strict=True):
        yield f"{each.key:<{key}} = {value:<{width}}  {each.place}"


def compact_lines(settings: Sequence[EffectiveSetting]) -> Iterator[str]:
    """Yield a line for each setting that is set somewhere, and one for all others."""
    named = [each for each in settings if each.origins]
    for line in setting_lines(named):
        yield f"set     {line}"
    others = len(settings) - len(named)
    yield f"default {others} settings are at their defaults; `hermes-memory config show` lists all"
