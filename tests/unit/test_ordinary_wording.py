"""What stands around secrets and quotations in ordinary sentences."""

from __future__ import annotations

from hermes_memory.domain.echoes import without_recalled

LABEL = "2026-05-03 entry (memory), from user: "


def test_a_remark_behind_quotes_that_keyboards_mix_or_emphasis_is_around_is_kept() -> None:
    quoted = ['„Launch on 9 May"', '**"Launch on 9 May"**', "*“Launch on 9 May”*"]
    for quotation in quoted:
        kept = without_recalled(f"- {LABEL}{quotation} but I moved it to June")

        assert kept.strip(" *_") == "but I moved it to June"
        assert without_recalled(f"- {LABEL}{quotation}") == ""

    assert without_recalled(f'- {LABEL}„Say "hi" to Ana“ today').strip() == "today"
