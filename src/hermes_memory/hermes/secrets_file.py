"""Keeps secrets in the `.env` of a Hermes home, where the host and the settings read them."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dotenv.parser import Binding, parse_stream

from hermes_memory.adapters.modes import PRIVATE_FILE, make_private
from hermes_memory.hermes.config_schema import RefusedValue
from hermes_memory.hermes.directory_lock import alone_in
from hermes_memory.hermes.files import write_atomically

ENV_FILE: Final = ".env"
_UNSAFE: Final = re.compile(r"['\\\x00-\x1f\x7f\ud800-\udfff]|\$\{")
"""What the host and the settings read differently, or expand, and what no file holds."""
_BEFORE_NAME: Final = re.compile(r"(?:[^\S\n]*\n)*(?:[^\S\n]*export[^\S\n]+)?")
"""Empty lines, which the parser counts among the variable that follows, and what makes it one of the shell."""
_MARK: Final = "\ufeff"


def require_keepable(variable: str, value: str) -> None:
    """Make sure that whoever reads the file gets the value as it was given.

    Raises:
        RefusedValue: It holds a character that readers take differently. The message does not quote it.
    """
    if _UNSAFE.search(value):
        raise RefusedValue(
            f"{variable} cannot hold a quote, a backslash, a control character, what is no text in UTF-8, "
            f"or '${{' in {ENV_FILE}: write it as its percent code, such as %27"
        )


def keep_secrets(home: Path, secrets: Mapping[str, str | None]) -> None:
    """Write variables into the home's `.env`, readable by its owner alone; other lines stay as they are, to the byte.

    The file holds the host's own keys too: it is replaced once, by one that has reached the disk.
    Several processes may keep secrets at once: they take turns.

    Args:
        home: The Hermes home.
        secrets: Values by the name of the variable. None takes a variable out.

    Raises:
        RefusedValue: A value cannot be kept there, or the file is no UTF-8 text. Nothing was written.
        DirectoryBusy: Another process keeps the directory to itself. Nothing was written.
        OSError: The file cannot be written.
    """
    for variable, value in secrets.items():
        if value is not None:
            require_keepable(variable, value)
    # A link into somebody's versioned settings is written through, not replaced.
    path = (home / ENV_FILE).resolve()
    if not path.exists() and not any(value is not None for value in secrets.values()):
        return  # there is nothing to take out, and no home to be made for that
    make_private(path.parent)
    with alone_in(path.parent):
        _keep(path, secrets)


def _keep(path: Path, secrets: Mapping[str, str | None]) -> None:
    before = _read(path)
    after = _with(before or "", secrets)
    if after != (before or ""):
        write_atomically(path, after, mode=PRIVATE_FILE)
    elif before is not None:
        path.chmod(PRIVATE_FILE)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise RefusedValue(f"{ENV_FILE} is not UTF-8 text: mend it first") from error


def _with(text: str, secrets: Mapping[str, str | None]) -> str:
    """Return the text of the file with the variables set or taken out: in their places, new ones at the end."""
    mark, body = (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
    bindings = list(parse_stream(io.StringIO(body, newline="")))
    known = {binding.key for binding in bindings}
    kept = "".join(_changed(binding, secrets) for binding in bindings)
    new = [_line(name, value) for name, value in secrets.items() if value is not None and name not in known]
    gap = "\n" if new and kept and not kept.endswith("\n") else ""
    return f"{mark}{kept}{gap}{''.join(new)}"


def _changed(binding: Binding, secrets: Mapping[str, str | None]) -> str:
    name, original = binding.key, binding.original.string
    if name is None or name not in secrets:
        return original
    before = _BEFORE_NAME.match(original)
    opening = before[0] if before else ""
    value = secrets[name]
    return opening[: opening.rfind("\n") + 1] if value is None else f"{opening}{_line(name, value)}"


def _line(name: str, value: str) -> str:
    return f"{name}={value}\n" if value.isalnum() else f"{name}='{value}'\n"
