"""Secrets where a shape ends or a name is written oddly, each beside the look-alikes that stay."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.growth import grows_linearly, on_repeated
from tests.support.tables import for_each

from hermes_memory.domain.redaction import Redacted, may_hold_secret, redact, redact_value
from hermes_memory.domain.secret_spelling import bared

HEX40 = "3f2a9c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b"
MIXED = "aB3dE5fG7hJ9kL1mN3pQ5rS7"

ADDRESSES = [
    "postgres://app:‹S3cret#1›@db/x",
    "postgres://app:‹p/ss1›@db/x",
    "postgres://app:‹wh?t1›@db/x",
    "postgres://app:‹p/s@s#1›@db.example:5432/x?application_name=a@b",
    "amqp://bob:‹a/b#c?d›@rabbit:5672",
    "mongodb+srv://bob:‹x#y/z›@cluster.example.net,other.example.net/db",
    "redis://:‹a#b›@[::1]:6379/0",
    "redis://default:‹/abc=›@cache:6379",
    "redis://:‹/abc›@cache:6379",
    "postgresql://app:‹#1›@db/x",
    "postgres://app:‹%23xyz›@db",
    'dsn = "postgres://app:‹S3cret#1›@db"',
    "(postgres://app:‹S3cret#1›@db)",
    "postgres://app:‹pw›@db/x#a@b",
    "postgres://app:‹$ecret#1›@db",
    "postgres://app:‹*tar#1›@db",
    "postgres://app:‹12/ab34›@db",
    "postgres://app:‹12;ab34›@db/x",
    "postgres://app:‹p@ss/w0rd›@db",
    "trojan://‹hunter2›@host.example:443",
    "http_proxy=bob:‹hunter2›@host.example:8080",
    f"https://‹{HEX40}›@github.com/o/r",
    f"git clone https://‹{HEX40}›:x-oauth-basic@github.com/o/r",
    f"https://‹{MIXED}›@git.example/o/r.git",
    f"https://‹{MIXED}›:@git.example/o/r.git",
    f"https://‹{'a2b3c4d5' * 6}abcd›@dev.azure.example/o/_git/r",
]

ADDRESS_LOOK_ALIKES = [
    "https://medium.com/@user/x#y",
    "https://medium.com/@user:x#y@z",
    "https://example.com:8080/a@b",
    "https://example.com:8080#a@b",
    "https://example.com:8080?mail=a@b.example",
    "http://localhost:3000/@vite/client",
    "http://localhost:$PORT/@vite/client",
    "http://localhost:{port}/@vite/client",
    "http://host:port/@user",
    "http://[::1]:80/@x",
    "https://host/a?next=b:c@d",
    "https://unpkg.com/react@18.2.0/umd/react.js#x:y@z",
    "mongodb://h1:27017,h2:27017/db?appName=a@b",
    "mailto:bob@example.org",
    "mailto:bob@example.org?subject=a:b@c",
    "see https://example.org: write to bob@example.org",
    "jdbc:sqlserver://host:1433;databaseName=x;user=a@b",
    "nfs://host:/export@snapshot",
    "postgres://app:%PASSWORD%@db",
    "mongodb://db:27017/?appName=a@b",
    "mongodb://h:?retry=1&owner=dba@corp.example",
    "mysql://root:/var/run/mysqld.sock,owner=dba@corp.example",
    "postgres://:/var/run/dba@corp.example",
    "file://C:/Users/bob@work/x",
    f"https://github.com/o/r/commit/{HEX40}",
    f"https://github.com/o/r/blob/{HEX40}/a@b.txt",
    f"git+https://github.com/o/r@{HEX40}",
    f"https://{HEX40}.example.org/@x",
    "docker://registry.example:5000/nginx@sha256:" + HEX40,
    "docker://nginx:1.2@sha256:" + HEX40,
    "http://example.com:80/a@b",
    "ssh://git@github.com/o/r",
    "https://firstname-lastname-1987-of-example@bitbucket.org/o/r",
    "https://FirstnameLastnameOfExample2024@bitbucket.org/o/r",
    "https://3f2a9c4d5e6f7a8b9c0d1e2f3a4b5c6d@o12.ingest.sentry.io/7",
]

LINES_BELOW = [
    "Password:\n‹hunter2›",
    "Password:\r\n‹hunter2›\r\nbye",
    "The wifi password:\n\n  ‹hunter2›",
    "**Password:**\n‹hunter2›",
    "- Passwort:\n  `‹hunter2›`",
    "Passwort：\n‹hunter2›",
    "密码：\n‹hunter2›",
    "Password:\n```\n‹hunter2›\n```",
    "Username:\nbob\nPassword:\n‹hunter2›\nHost:\nx",
    "Kennwort:\n‹S0mmer!›",
    "API key:\n‹abcdef0123456789›",
    "- Api key:\n  ‹Abcdef-0123456789›",
    "Client secret:\n‹abcdef0123456789›\n",
    "password:\n‹sw0rd›\npassword: <password>",
    "Password:\n‹hunter2›\nserver1",
    "The wifi password:\n‹hunter2›\n\nThanks",
    "My password:\n‹hunter2›\nThat is all",
    "My password:\n‹hunter2›\nHost:",
    "Password:  \n‹hunter2›",
    "Password:\t\n‹hunter2›",
    "Password:\xa0\n‹hunter2›",
    "API key:  \n‹abcdef0123456789›",
    "Here is your password:\n\n‹hunter2›",
    "Your password is:\n‹hunter2›",
    "Passwort für den Router:\n‹hunter2›",
    "password: |\n  ‹Sunflower77›",
    "api_key: >-\n  ‹abcdef0123456789›",
    "seed phrase:\n‹legal winner thank year wave sausage worth useful legal winner thank yellow›",
    "backup codes:\n‹1234-5678\n8765-4321›\nbye",
]

LINES_BELOW_LOOK_ALIKES = [
    "Password:\nsee the vault",
    "Password:\nAsk",
    "Password:\n\nIntroduction",
    "Password:\n## Chapter2",
    "Password:\n---",
    "Password:\n- ask Ana",
    "Password:\n1Password",
    "Password:\n1Password.",
    "Password:\nOAuth2",
    "Password:\nhttps://vault.example/x1",
    "Password:\nUsername:",
    "Password:\nport:5432",
    "PASSWORD:\nDB_HOST1: x",
    "password:\n  type: string",
    "password:\n  type1: string",
    "if password:\n    login2(password)",
    "if not password:\n    return1",
    "Password:\n2026-05-03",
    "Password:\n8841",
    "Password:\n<password1>",
    "Password:\n$PASSWORD1",
    "Password:\nStep2 is to log in",
    "Password policy:\nhunter2",
    "The password is\nhunter2",
    "Passwords:\nbob12",
    "Token:\nsee below1",
    "Tokens:\nabcdef0123456789",
    "Secret:\nabc123",
    "secret:\n- name-of-secret-2024-x",
    "token:\nbearerTokenFromTheStore",
    "A new token:\n1234567890123456",
    "Deploy key:\nssh-ed25519-of-the-desk-2024",
    "Merge key:\nfeature-2024-rollout-of-x",
    "Primary API key:\ncustomer_id_2024_primary",
    "Users without a password:\nuser1\nuser2",
    "Hosts that still have the old password:\ndb01\ndb02",
    "Ticket for the forgotten password:\nOPS-1234",
    "Commit that rotated the api key:\n3f2a9c81d7b64e0aa1b2",
    "Without password:\nuser1",
    "Shared password:\nuser1\nuser2",
    "How to reset the password:\nStep1",
    "Here are the hosts with this password:\nweb01",
    "password: |\n  see the vault",
    "Backup key:\nprod-2024-weekly",
    "Rotated api key:\n3f2a9c81d7b64e0aa1b2",
]

PHRASES = [
    "passphrase: ‹correct horse battery›",
    "passphrase = ‹correct horse battery staple›",
    "Passphrase: ‹Correct Horse Battery Staple›.",
    "the passphrase: ‹correct horse battery›, tell Ana",
    "passphrase: «‹correct horse battery›»",
    "**Passphrase:** ‹richtig pferd batterie klammer›",
    "passphrase: ‹correct horse battery›; host: db",
]

PHRASE_LOOK_ALIKES = [
    "the passphrase is stored in 1Password",
    "passphrase: see the vault",
    "passphrase: ask Bob about it",
    "passphrase: five random words",
    "passphrase: at least four words",
    "passphrase: not needed any more",
    "passphrase: rotated last week",
    "passphrase: stored in 1Password",
    "Passphrase: Ana knows it",
    "passphrase: steht im Tresor",
    "passphrase: to be decided",
    "passphrase: required field",
    "the passphrase is long and hard to type",
    "token: see below",
    "token: see below for details",
    "Password: see the vault",
]

CONNECTIONS = [
    "Server=db;User Id=sa;Password=‹Abc 123›;Encrypt=yes",
    "Server=db;Pwd=‹Abc 123 x›;Database=y",
    "Password=‹Abc 123›;Server=db",
    '"Server=db;Password=‹correct horse›"',
    "Server=db; Password=‹Abc 123›;",
]

CONNECTION_LOOK_ALIKES = [
    "var a=1;password=new Foo;b=2",
    "a=1;password=await ask();b=2",
    "let a = 1; password = await ask(); b = 2",
    "password = at least 8 characters; username = your email",
    "Password = min 8 chars; Username = your email",
    "const password = user.password || process.env.PASS2; const user = 1",
    "Server=db;Password=;Database=y",
    "Server=db;Password=<your password>;Database=y",
    "Server=db;Password={your password};Database=y",
]

ODD_NAMES = [
    ("ＰＧＰＡＳＳＷＯＲＤ=‹hunter2›", "PGPASSWORD"),
    ("ｐａｓｓｗｏｒｄ：‹hunter2›", "password"),
    ("备注ｐａｓｓｗｏｒｄ：‹hunter2›", "备注password"),
    ("pass\u200bword=‹hunter2›", "password"),
    ("p\u200ba\u200bs\u200bs\u200bw\u200bo\u200br\u200bd=‹hunter2›", "password"),
    ("pass\u2060word: ‹hunter2›", "password"),
    ("pass\xadword: ‹hunter2›", "password"),
    ("p\u0430ssword=‹hunter2›", "password"),
    ("р\u0430ѕѕԝогԁ".replace("г", "r") + "=‹hunter2›", "password"),
    ("my p\u0430ssword is ‹hunter2›", "my password"),
    ("\u0430pi_key: ‹abc123def456›", "api_key"),
    ("clіent_s\u0435cret=‹abc123def456›", "client_secret"),
    ("Be\u0430rer ‹abcdefghij123456789›", "Bearer"),
    ("𝗽𝗮𝘀𝘀𝘄𝗼𝗿𝗱: ‹hunter2›", "password"),
    ("ⓟⓐⓢⓢⓦⓞⓡⓓ: ‹hunter2›", "password"),
]

ODD_LOOK_ALIKES = [
    "全角のノート：会議は五月三日、予算は４０，０００円",
    "ＴＯＫＥＮは会議室にあります",
    "ｐａｓｓｗｏｒｄは金庫の中にあります",
    "Ｐａｓｓｗｏｒｄ：see the vault",
    "Встреча: зал 4, см. пасс",
    "рассвет: 5:40",
    "ｋｅｙｂｏａｒｄ：QWERTY",
    "family 👨\u200d👩\u200d👧: four = 4",
    "می\u200cخواهم: ۵",
]

NOTATIONS = [
    ("***password:*** ‹x›", 1),
    ("***password***: ‹x›", 1),
    ("- ***Password:*** ‹hunter2›", 1),
    ("***the wifi password:*** ‹hunter2›", 1),
    ('password != "‹x›"', 1),
    ('if password !== "‹swordfish›":', 1),
    ("password != '‹swordfish›' and y", 1),
    ("password:***‹Sunflower77***›", 1),
    ("token:***‹Zx9kQ2mN8vB4tR7y***›", 1),
    ("_Password:_ ‹x›", 1),
    ("<b>Password:</b> ‹x›", 1),
    ("password＝‹hunter2›", 1),
    ("密码＝‹hunter2›", 1),
    ("curl \\\n  -u bob:‹hunter2› https://x", 1),
    ("curl https://x \\\n  -u admin:‹admin›", 1),
    ("curl \\\r\n  -ubob:‹hunter2›", 1),
    ("curl -s \\\n  -H 'a: b' \\\n  --user admin:‹admin› \\\n  https://x", 1),
    ("docker login \\\n  -u bob \\\n  -p ‹hunter2› r.io", 1),
    ("mysql \\\n  -u root \\\n  -p‹hunter2› shop", 1),
]

NOTATION_LOOK_ALIKES = [
    "***password:*** see the vault",
    "password:*** is what it shows",
    "password: ***",
    "password:***",
    "password != other",
    "if password != confirmation:",
    "if password != password2:",
    "if password == password2:",
    "password != null",
    'password != ""',
    "pw = canvas.width",
    "pw = self.canvas.width * 2",
    "const pw = page.getSize",
    "pw: canvas.width, ph: canvas.height",
    "_Password:_ see the vault",
    "print('password:', x)",
    "curl https://x\n  docker run -u app:app img",
    "curl https://x \\\n  -o a:b",
    "mysql shop\n  -ptotal",
]


def parted(marked: str) -> tuple[str, str, str]:
    before, rest = marked.split("‹")
    secret, after = rest.split("›")
    return before, secret, after


@for_each(
    "marked",
    [*ADDRESSES, *LINES_BELOW, *PHRASES, *CONNECTIONS, *(marked for marked, _ in NOTATIONS)],
)
def test_a_secret_is_taken_out_to_its_end_and_no_further(marked: str) -> None:
    before, secret, after = parted(marked)
    text = f"{before}{secret}{after}"
    result = redact(text)

    assert result.text.startswith(f"{before}[redacted:")
    assert result.text.endswith(f"]{after}")
    assert result.count == 1
    assert redact(result.text) == Redacted(text=result.text)
    assert may_hold_secret(text)


@for_each(
    "text",
    [
        *ADDRESS_LOOK_ALIKES, *LINES_BELOW_LOOK_ALIKES, *PHRASE_LOOK_ALIKES, *CONNECTION_LOOK_ALIKES,
        *NOTATION_LOOK_ALIKES, *ODD_LOOK_ALIKES,
    ],
)  # fmt: skip
def test_what_only_looks_like_one_stays(text: str) -> None:
    for whole in (text, f"before\n{text}\nafter"):
        assert redact(whole) == Redacted(text=whole)


@for_each(("marked", "name"), ODD_NAMES)
def test_a_name_written_in_letters_that_look_alike_is_still_the_name_of_a_secret(marked: str, name: str) -> None:
    before, secret, after = parted(marked)
    text = f"{before}{secret}{after}"
    result = redact(f"Ünlü 备注\n{text}")

    assert result.text.startswith(f"Ünlü 备注\n{name}")
    assert "[redacted:" in result.text
    assert secret not in result.text
    assert result.count == 1
    assert redact(result.text) == Redacted(text=result.text)
    assert may_hold_secret(text)


HIDDEN = [
    "\u200b", "\xad", "\u2060", "\ufeff", "\u202e", "\x1b", "\ufe0f", "\U000e0041", "<wbr>", "<WBR>",
    "\u200b<wbr>\u200d",
]  # fmt: skip
CUT = [
    "‹AKIAIOSFO|DNN7EXAMPLE›", f"‹ghp_abcdefghij|{MIXED}›", f"‹ghp_{MIXED}|{MIXED}›",
    "‹eyJhbGciOi|JIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J›",
    "postgres:|//bob:‹hunter2›@db/x", "Bearer ‹abc123def|456ghi789›", "api_|key: ‹abc123def456›",
    "‹-----BEGIN RSA PRIVATE| KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----›",
    "‹-----BEGIN RSA PRIVATE KEY-----\nMIIE\nMI|IE\nMIIE\n-----END RSA PRIVATE KEY-----›",
]  # fmt: skip
ESCAPED = [
    r"‹ghp\_abcdefghij" + f"{MIXED}›",
    r"‹sk\-ant\-api03\-" + f"{MIXED}›",
    rf"‹SG\.{MIXED}\.{MIXED}›",
    r"https:\/\/bob:‹hunter2›@db\/x",
    r"https\:\/\/bob\:‹hunter2›@db/x",
    r"api\_key: ‹abc123def456›",
]


@for_each("marked", [*(cut.replace("|", hidden) for cut in CUT for hidden in HIDDEN), *ESCAPED])
def test_a_secret_is_taken_out_whatever_unseen_is_in_it(marked: str) -> None:
    before, secret, after = parted(marked)
    other = "the 👩\u200d💻 keeps C:\\_new<wbr>folder\n"
    result = redact(f"{other}see {before}{secret}{after} there\n{other}")

    assert result.text == f"{other}see {bared(before)}[redacted:{min(result.kinds)}]{bared(after)} there\n{other}"
    assert result.count == 1
    assert redact(result.text) == Redacted(text=result.text)
    assert may_hold_secret(f"{before}{secret}{after}")


@for_each(
    "text",
    [
        r"C:\_new\.venv", "a<wbr>b <w<wbr>br>", "ghp_\u200b is how they begin", "👩\u200d💻 ❤\ufe0f می\u200cخواهم",
        r"\\_\-\.",
        r"re.compile(r'\/\/[^:]+:\w+@')", "pass\xadword policy", "\u200b\u200b", r"sk\-learn\_contrib",
    ],
)  # fmt: skip
def test_what_is_unseen_stays_where_it_hides_no_secret(text: str) -> None:
    assert redact(text) == Redacted(text=text)
    assert bared(bared(text)) == bared(text)

    marked = redact(f"{text}\npassword: hunter2")
    assert marked.text == f"{text}\npassword: [redacted:password]"


def test_a_blank_that_nobody_sees_parts_a_name_from_a_secret_all_the_same() -> None:
    assert redact("the password is\u200bhunter2").text == "the password is\u200b[redacted:password]"
    assert redact_value(r"api\_key", "abcdef0123").count == 1


PIECES = [
    *HIDDEN, *ESCAPED, *CUT, "\\", "<", "w", "br>",
    *(text for text, _ in ODD_NAMES), *ODD_LOOK_ALIKES, *LINES_BELOW, *LINES_BELOW_LOOK_ALIKES, *CONNECTIONS,
    *ADDRESSES, "\n", " ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=8))
@example(["Password:\n<password1>", "Password=‹Abc 123›;Server=db"])
def test_redacting_such_a_text_again_changes_nothing(pieces: list[str]) -> None:
    once = redact("".join(pieces).replace("‹", "").replace("›", "")).text

    assert redact(once) == Redacted(text=once)


@for_each(
    "text",
    [
        "secret: password=short", "token: pw=>x", 'token="pw=x"', 'secret: "***pwd:***x"', "cookie: a=pwd=x",
        "authorization: bearer pwd=x", "key=my_secret value=pwd=x", "authorization: 'pwd=x'",
        "password=authorization: https://idp.example/authorizeServer=x;Pwd=abc;Database=y",
        "authorization: 'basic pwd=x'", "api key: ‘passwort:‚x",
    ],
)  # fmt: skip
def test_a_short_value_grows_into_no_secret_by_the_mark_within_it(text: str) -> None:
    once = redact(text)

    assert redact(once.text) == Redacted(text=once.text)


@for_each("name", ["token", "auth", "client_secret", "password", "cookie", "authorization"])
@for_each("value", ["pwd=x", "password:x", "a pwd=x", "basic pwd=x"])
def test_nor_does_one_that_stands_under_a_name(name: str, value: str) -> None:
    once = redact_value(name, value)

    assert redact_value(name, once.text) == Redacted(text=once.text)


@pytest.mark.parametrize(
    "text", [f"token=ab-{'ghp_' + 'a1B2' * 9}-cd", f"postgres://app:ab-{'ghp_' + 'a1B2' * 9}-cd@db/x"]
)
def test_what_stands_beside_a_token_within_a_value_goes_with_it(text: str) -> None:
    assert "cd" not in redact(text).text


@for_each(
    "unit",
    [
        "://a:b#", "://a:#@", "://a:/@b@", f"://{MIXED}", "://aB1c1", "password:\n", "password:\n\n", "the password:\n",
        "a a a a a password:\n", "token:\n```\n", "passphrase: ab ", "passphrase: correct horse ", ";password=a ",
        "password=a ", "password = a;", "ｐａｓｓ", "redis://a:/@b", "redis://a:/b@",
        "p\u0430ss", "pass\u200b", "\u200b", "***password:*** ", "***",
        "password!=", "curl \\\n", "curl \\\n -u ", "docker login \\\n", "mysql \\\n -p ", "pw = a.", "pw=a.width.",
    ],
)  # fmt: skip
def test_no_repetition_makes_them_slower_than_linear(unit: str) -> None:
    assert grows_linearly(on_repeated(redact, unit, ending=" password is token="), largest=24_000)
