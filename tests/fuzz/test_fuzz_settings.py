"""Fuzz target: whatever the files of settings hold, they are read or refused, and a refusal repeats no secret."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.settings import ENV_PREFIX, NATIVE_FILE, Settings
from tests.fuzz.effort import fuzz
from tests.fuzz.texts import texts

PLANTED = "Planted0Planted0"
KEYS = sorted(Settings.model_fields)
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats()
    | texts
    | st.sampled_from(["redact", "vouched", "local", "openai", "0", "1", "0.5", f"postgresql://u:{PLANTED}@h/db"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
_documents = st.dictionaries(st.sampled_from(KEYS) | texts, _values, max_size=5) | _values


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """An empty home, in an environment that says nothing of Hermes."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("HERMES")}
    with patch.dict(os.environ, {**kept, "HOME": str(tmp_path)}, clear=True):
        yield tmp_path


def read(**values: Any) -> Settings | None:
    """Read the settings; None when they are refused as documented."""
    try:
        return Settings(**values)
    except ConfigurationError as error:
        told = f"{error}{error.__cause__ or ''}"
    assert told
    assert PLANTED not in told
    return None


def write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)


@fuzz
@given(document=_documents)
def test_any_native_file_is_read_or_refused(home: Path, document: Any) -> None:
    write(home / NATIVE_FILE, json.dumps(document))
    settings = read(home=home)

    assert settings is None or settings.home == home


@fuzz
@given(content=st.binary(max_size=200) | texts)
def test_a_native_file_of_anything_is_read_or_refused(home: Path, content: str | bytes) -> None:
    write(home / NATIVE_FILE, content)
    read(home=home)


@fuzz
@given(document=_documents, content=texts)
def test_any_configuration_of_the_host_is_read_or_refused(home: Path, document: Any, content: str) -> None:
    for text in (yaml.safe_dump({"plugins": {"hermes-memory": document}}), f"plugins: {content}", content):
        write(home / "config.yaml", text)
        read(home=home)


@fuzz
@given(lines=st.lists(st.tuples(st.sampled_from(KEYS) | texts, texts), max_size=5))
def test_any_variables_file_is_read_or_refused(home: Path, lines: list[tuple[str, str]]) -> None:
    write(home / ".env", "\n".join(f"{ENV_PREFIX}{name.upper()}={value}" for name, value in lines))
    read(home=home)


@fuzz
@given(key=st.sampled_from(KEYS), value=_values)
def test_any_argument_is_taken_or_refused(home: Path, key: str, value: Any) -> None:
    read(**{"home": home, key: value})
