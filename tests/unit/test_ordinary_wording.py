"""What stands around secrets and quotations in ordinary sentences."""

from __future__ import annotations

from hermes_memory.domain.echoes import without_recalled
from hermes_memory.domain.redaction import Redacted, may_hold_secret, redact

LABEL = "2026-05-03 entry (memory), from user: "
KEY = "8f14e45fceea167a5a36dedd4bea2543"


def test_a_secret_is_found_however_a_sentence_leads_to_it() -> None:
    told = [
        # What it was changed to.
        "the password was changed to ‹Kestrel77›!",
        "The password for the NAS has been changed to ‹Kestrel77›.",
        "Das Passwort wurde geändert auf ‹Falke77›!",
        "I changed the root password from old to ‹Kestrel77›",
        "the password should be ‹Kestrel77›",
        # The secret first.
        "‹Kestrel77› is the wifi password",
        "Create a user with ‹Kestrel77› as password.",
        "('‹Kestrel77›' is my password for the NAS)",
        # Other languages.
        "lösenordet är ‹Kestrel77›",
        "heslo je ‹Kestrel77›",
        "passord: ‹Kestrel77›",
        "a palavra-passe é ‹Kestrel77›",
        "mật khẩu là ‹Kestrel77›",
        "пароль это ‹Kestrel77›",
        "usuario ana contraseña ‹Kestrel77›",
        "identifiant ana mot de passe ‹Kestrel77›",
        "用户名 ana 密码 ‹Kestrel77›",
        # Whose key it is, and signs between.
        f"the api token for Acme is ‹{KEY}›",
        f"the token for the bot: ‹{KEY}›",
        f"the client secret was ‹{KEY}›",
        f"API key - ‹{KEY}›",
        f"access token → ‹{KEY}›",
        # Short for a password, where an owner tells.
        "wifi pass: ‹Kestrel77›",
        "The root pass is ‹Kestrel77›",
        # Blanks around the sign of a connection string, and in the value.
        "Data Source = db; Password = ‹Abc 123›; Encrypt = yes",
    ]
    for marked in told:
        before, secret, behind = marked.replace("›", "‹").split("‹")
        found = redact(before + secret + behind)

        assert found.count == 1, marked
        assert found.text.startswith(f"{before}[redacted:")
        assert found.text.endswith(f"]{behind}")
        assert may_hold_secret(before + secret + behind)
        assert redact(found.text) == Redacted(text=found.text)


def test_what_is_said_about_a_password_is_none() -> None:
    said = [
        "the password changed in iOS17 settings",
        "Password changed in release2024",
        "my password manager is 1Password",
        "our password manager was KeePass2",
        "The password policy is ISO27001",
        "the password is 16-characters long",
        "Das Passwort ist 12-stellig",
        "the password is set to expire in 90days",
        "password: see 1Password",
        "SHA256 is the password hash",
        "abc123 is a weak password",
        "the root pass rate is 100pct",
        "the api key for test_module_2024_final is required",
        "password = at least 8 characters; username = yours",
    ]
    for text in said:
        assert redact(text) == Redacted(text=text)


def test_a_remark_behind_quotes_that_keyboards_mix_or_emphasis_is_around_is_kept() -> None:
    quoted = ['„Launch on 9 May"', '**"Launch on 9 May"**', "*“Launch on 9 May”*"]
    for quotation in quoted:
        kept = without_recalled(f"- {LABEL}{quotation} but I moved it to June")

        assert kept.strip(" *_") == "but I moved it to June"
        assert without_recalled(f"- {LABEL}{quotation}") == ""

    assert without_recalled(f'- {LABEL}„Say "hi" to Ana“ today').strip() == "today"
