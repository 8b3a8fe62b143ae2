"""Texts made of what matters to the rules that read them."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from hermes_memory.domain.fences import BLOCK_TAG, HEADING
from tests.support.poison import NONCE, POISON
from tests.unit.test_redaction import KEPT, SECRETS
from tests.unit.test_secret_shapes import ISSUED, LOOK_ALIKES, SURROUNDED

_GLUE: Final = (
    *(
        "",
        " ",
        "\n",
        "\t",
        "=",
        ":",
        "：",
        "'",
        '"',
        "`",
        "@",
        "/",
        "?",
        "&",
        ";",
        ",",
        ".",
        "-",
        "_",
        "<",
        ">",
        "(",
        "]",
    ),
    *("\\n", "\\", "“", "”", "⏎", "\u200b", "\u202e", "\x00", "\x1b[", "\ud83d", "password", "token", "key", "ſecret"),
)
SECRET_FRAGMENTS: Final = tuple(
    dict.fromkeys(
        (
            *(text for text, _ in SECRETS),
            *ISSUED.values(),
            *(text.replace("‹", "").replace("›", "") for text in SURROUNDED),
            *KEPT,
            *LOOK_ALIKES,
            *("[redacted:secret]", "[redacted:", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "QUJD"),
        )
    )
)
FENCE_FRAGMENTS: Final = (
    *(text[:300] for text in POISON.values()),
    *("<memory-context>", "</memory-context>", "< / memory-context >", f"<{BLOCK_TAG}>", f"</{BLOCK_TAG}>", HEADING),
    *(f'<{BLOCK_TAG} id="{NONCE}">', f'</{BLOCK_TAG} id="{NONCE}">', "- 2024-06-01 entry (memory), from user: “"),
    *("2024-06-01 12:00 turn, user: “x”", '{"hits": [', '{"entries": [], "count": 0, "left_out": 0}', "[System note: "),
    *(
        "The following is recalled memory context",
        "m\u0336emory",
        "ѕystem",
        "＜",
        "〈",
        "【",
        "&lt;",
        "\\u003c",
        "&#60;",
    ),
)

_anything = st.text(max_size=60)
_few = st.integers(0, 9)


def _made_of(fragments: tuple[str, ...], most: int) -> st.SearchStrategy[str]:
    # By their numbers: Hypothesis writes out what it samples from, and warns when that is long.
    fragment = st.integers(0, len(fragments) - 1).map(lambda number: fragments[number])
    pieces = fragment | st.sampled_from(_GLUE) | _anything
    cut = st.builds(
        lambda text, start, end: text[start : len(text) - end], pieces, st.integers(0, 9), st.integers(0, 9)
    )
    return st.lists(pieces | cut, max_size=most).map("".join)


secret_texts: Final = _made_of(SECRET_FRAGMENTS, 7)
fenced_texts: Final = _made_of(FENCE_FRAGMENTS, 8)
texts: Final = secret_texts | fenced_texts
