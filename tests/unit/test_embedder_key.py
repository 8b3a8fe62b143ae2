"""What an error says of the key that an embedding endpoint is asked with."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory.bootstrap.embedder import make_embedder
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.settings import Settings

KEY = f"hf_{'s3cr3tAB' * 5}"


@pytest.mark.parametrize(("variable", "told"), [("EMBED_KEY", "EMBED_KEY"), (KEY, "embed_api_key_env")])
async def test_a_variable_is_named_and_a_key_in_the_place_of_its_name_is_not(
    tmp_path: Path, variable: str, told: str
) -> None:
    settings = Settings(
        home=tmp_path,
        embedder="openai",
        embed_url="http://127.0.0.1:9",
        embed_model="m",
        embed_dim=3,
        embed_api_key_env=variable,
    )
    embedder = make_embedder(settings, lambda _: "not\x07printable")
    assert embedder is not None
    try:
        with pytest.raises(HermesMemoryError) as caught:
            await embedder.embed_query("anything", timeout=30.0)
    finally:
        await embedder.aclose()

    assert f"the key in {told} " in str(caught.value).replace("the environment variable ", "")
    assert KEY not in str(caught.value)
