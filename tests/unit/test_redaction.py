"""Secrets taken out, look-alikes left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import grows_linearly, on_repeated
from tests.support.tables import for_each

from hermes_memory.domain.redaction import Redacted, may_hold_secret, redact

B64 = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
ALNUM = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"

SECRETS = [
    ("aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "aws_access_key_id = [redacted:aws-key-id]"),
    (f"aws_secret_access_key = {B64}", "aws_secret_access_key = [redacted:secret]"),
    (f"AWS_SECRET_ACCESS_KEY={B64} make", "AWS_SECRET_ACCESS_KEY=[redacted:secret] make"),
    (f"push with ghp_{ALNUM[:36]} please", "push with [redacted:github-token] please"),
    (f"github_pat_11ABCDEFG0_{ALNUM}", "[redacted:github-token]"),
    ("glpat-abcdefghij0123456789", "[redacted:gitlab-token]"),
    (f"xoxb-123456789012-{ALNUM[:24]}", "[redacted:slack-token]"),
    (f"sk-{ALNUM}", "[redacted:api-key]"),
    ("sk-proj-abc_def-ghijklmnopqrstuv", "[redacted:api-key]"),
    ("sk-ant-api03-abcdefghijklmnopqrstuvwxyz", "[redacted:anthropic-key]"),
    ("AIzaSyA-1234567890abcdefghijklmnopqrstu", "[redacted:google-key]"),
    (f"sk_live_{ALNUM[:24]}", "[redacted:stripe-key]"),
    (f"npm_{ALNUM[:36]}", "[redacted:npm-token]"),
    ("pypi-AgEIcHlwaS5vcmcCJDU3ZTM1ODRiLTg1Y2EtNGY", "[redacted:pypi-token]"),
    (f"hf_{ALNUM[:34]}", "[redacted:huggingface-token]"),
    (f"SG.{ALNUM[:22]}.{ALNUM[:43]}", "[redacted:sendgrid-key]"),
    ("AC0123456789abcdef0123456789abcdef", "[redacted:twilio-key]"),
    ("bot 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1 ok", "bot [redacted:telegram-token] ok"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0", "[redacted:jwt]"),
    ("postgresql://u:pw@h/db", "postgresql://u:[redacted:uri-password]@h/db"),
    ("postgresql://u:p@ss@h/db", "postgresql://u:[redacted:uri-password]@h/db"),
    ("redis://:hunter2@cache:6379/0", "redis://:[redacted:uri-password]@cache:6379/0"),
    (f"https://ghp_{ALNUM[:36]}@github.com/org", "https://[redacted:github-token]@github.com/org"),
    ("the api token is abcdefgh12345678ijkl;x-y", "the api token is [redacted:secret];x-y"),
    ("host=db user=u password=s3cret dbname=x", "host=db user=u password=[redacted:password] dbname=x"),
    ("host=db password='a b c' dbname=x", "host=db password='[redacted:password]' dbname=x"),
    ("Server=x;Pwd=abc;Database=y", "Server=x;Pwd=[redacted:password];Database=y"),
    ("password = x", "password = [redacted:password]"),
    ("PGPASSWORD: x", "PGPASSWORD: [redacted:password]"),
    ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted:password] psql"),
    ("DB_PASS=foo", "DB_PASS=[redacted:password]"),
    ('"api_key": "abc123def456"', '"api_key": "[redacted:secret]"'),
    ('{"password": "correct horse"}', '{"password": "[redacted:password]"}'),
    (r"{\"password\": \"abc\"}", r"{\"password\": \"[redacted:password]\"}"),
    ('os.environ["DB_PASSWORD"] = "x1"', 'os.environ["DB_PASSWORD"] = "[redacted:password]"'),
    ("connect(password=hunter2)", "connect(password=[redacted:password])"),
    ("password: hunter2 for the router", "password: [redacted:password] for the router"),
    ("Passwort: hunter2", "Passwort: [redacted:password]"),
    ("密码：abc123", "密码：[redacted:password]"),
    ("client_secret: 0123456789abcdef", "client_secret: [redacted:secret]"),
    ("X-Api-Key: 0123456789abcdef", "X-Api-Key: [redacted:secret]"),
    ("Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted:authorization]"),
    ('-H "Authorization: Basic dXNlcjpwYXNz"', '-H "Authorization: Basic [redacted:authorization]"'),
    ("use Bearer abc123def456ghi789", "use Bearer [redacted:authorization]"),
    ("AccountName=x;AccountKey=abcd1234efgh5678+/==;Suffix=y", "AccountName=x;AccountKey=[redacted:secret];Suffix=y"),
    ("<password>hunter2</password>", "<password>[redacted:secret]</password>"),
    ("mysql --password=foo -u root", "mysql --password=[redacted:password] -u root"),
    ("curl -u bob:hunter2 https://x", "curl -u bob:[redacted:password] https://x"),
    (f"https://a.blob.example/c?sv=1&sig={ALNUM}%3D", "https://a.blob.example/c?sv=1&sig=[redacted:signature]"),
    ("secret: password: hunter2", "secret: password: [redacted:password]"),
    ("password: Passwort: hunter2", "password: Passwort: [redacted:password]"),
    ("password: secret: hunter2", "password: secret: [redacted:secret]"),
    ("password: token: abc123def", "password: token: [redacted:secret]"),
    ("credentials: {password: hunter2}", "credentials: {password: [redacted:password]}"),
    ("auth_token=login(password=hunter2)", "auth_token=login(password=[redacted:password])"),
    ("client_secret: os.getenv(api_key=abc12345)", "client_secret: os.getenv(api_key=[redacted:secret])"),
    ('token: "the password: hunter2"', 'token: "the password: [redacted:password]"'),
    ("mot de passe\xa0: hunter2", "mot de passe\xa0: [redacted:password]"),
    ("password:\xa0hunter2", "password:\xa0[redacted:password]"),
    ("password\u200b: hunter2", "password\u200b: [redacted:password]"),
    ("password\u3000= \ufeffhunter2", "password\u3000= \ufeff[redacted:password]"),
    ("password:**hunter2**", "password:**[redacted:password]"),
    ("password:**!hunter2", "password:[redacted:password]"),
    ("pass=hunter2", "pass=[redacted:password]"),
    ("login?user=bob&pass=hunter2&x=1", "login?user=bob&pass=[redacted:password]&x=1"),
    ('{"pass": "hunter2"}', '{"pass": "[redacted:password]"}'),
    ("dbPass=hunter2", "dbPass=[redacted:password]"),
    ("userPass: hunter2", "userPass: [redacted:password]"),
    ("SMTPPASS = hunter2", "SMTPPASS = [redacted:password]"),
    ("Authorization: 0123456789abcdef", "Authorization: [redacted:secret]"),
    ('{"Authorization": "Bearer abcdefghijkl"}', '{"Authorization": "Bearer [redacted:authorization]"}'),
    ("Authorization: `Bearer abcdefghijkl`", "Authorization: `Bearer [redacted:authorization]`"),
    ('{"authorization": "abcdefghijklmnopqrstuvwx"}', '{"authorization": "[redacted:secret]"}'),
    ("pass=123456", "pass=[redacted:password]"),
    ("pass=passed1", "pass=[redacted:password]"),
    ("pass=98%x", "pass=[redacted:password]"),
    ("pass=12/pass2=hunter2", "pass=12/pass2=[redacted:password]"),
    ("pass=$1abc", "pass=[redacted:password]"),
    (
        "https://hooks.slack.com/services/T00000000/B00000000/XXXX",
        "https://hooks.slack.com/services/[redacted:webhook]",
    ),
]

KEPT = [
    "My PIN for the office door is 8841",
    "the password is in the vault",
    "the token expired",
    "commit 3f2a9c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b",
    "550e8400-e29b-41d4-a716-446655440000",
    "error E40213",
    "IBAN DE89 3704 0044 0532 0130 00",
    "password=",
    "password= host=x",
    "password: <password>",
    "password=$PASSWORD",
    "password=${DB_PASSWORD}",
    "password: ***",
    "password: xxxxxxxx",
    "**password:**${DB_PASSWORD}",
    '"password": ""',
    '"password": null',
    "password: str",
    "password: Optional[str] = None",
    'password = os.environ["PW"]',
    "password = getpass()",
    "self.password = password",
    "api_key: YOUR_API_KEY",
    "token: 5",
    "max_tokens: 4096",
    "token_type=bearer",
    "tests pass: 12, fail: 0",
    "PWD=/home/x",
    "https://example.com:8080/a@b",
    "https://host:8080?x=a@b",
    "see http://localhost:5432/db",
    "postgresql://user:${PW}@host/db",
    "git@github.com:org/repo",
    "docker run -u 1000:1000 image",
    "secret: be kind",
    "Password: Ask Bob about it",
    "password reset: done",
    "Authorization: required for all",
    "Authorization: Bearer <token>",
    "bearer of bad news",
    "basic understanding of it",
    "sk-learn is great",
    "hf_hub_download(x)",
    "credentials: see the wiki",
    "the secret santa: Bob 2024",
    "primary_key=12345678",
    "compass=north12",
    "bypass: hunter2",
    "renderPass = new RenderPass(scene)",
    "pass=12 fail=0",
    "pass=yes",
    '{"pass": 12, "fail": "0"}',
    "second pass: hunter2",
    '"authorization": "required"',
    "Authorization: oauth2-proxy",
    "secret: token: none",
    "password: secret: be kind",
    "feature pass=on",
    '"Authorization": "Bearer ${token}"',
    "Authorization: `Bearer ${token}`",
    '"Authorization": "Bearer $TOKEN"',
    '"Authorization": "Bearer <token>"',
    '"Authorization": "Bearer {{token}}"',
    '"Authorization": "Bearer YOUR_API_KEY"',
    '"Authorization": "Bearer xxxxxxxx"',
    '"Authorization": "Bearer [redacted:authorization]"',
    "authorization: AuthorizationService,",
    "headers: { authorization: bearerTokenFromStore }",
    '"authorization": "https://idp/oauth/authorize"',
    "authorization: https://idp.example.com/oauth2/authorize",
    "authorization: rbac.authorization.k8s.io/v1",
    *(f"pass={tally}" for tally in ("98%", "0.98", "12/12", "12/fail=3", "12|fail=3", "-1", "12345")),
    *(f"pass={verdict}" for verdict in ("passed", "failed", "skip", "unknown", "n/a", "passed|failed|skip")),
    '"pass": "98%"',
    '"pass": "fail"',
    '"pass": "3 of 4"',
    "'pass': 'PASSED'",
    "pass=2:bitrate=1000",
    "pass1=0.35",
    "pass2=3.5s",
    "pass=$1",
    'pass="$1"',
    "-----BEGIN PUBLIC KEY-----",
    "",
    "\n\n",
]


@for_each(("text", "clean"), SECRETS)
def test_a_secret_is_taken_out_and_its_surroundings_stay(text: str, clean: str) -> None:
    result = redact(text)

    assert (result.text, result.count) == (clean, 1)
    assert result.kinds == {clean.partition("[redacted:")[2].partition("]")[0]}
    assert redact(f"before\n  {text}\nafter").text == f"before\n  {clean}\nafter"


def test_a_key_is_found_at_the_first_look_whatever_is_taken_out_behind_it() -> None:
    once = redact("the api token is abcdefgh12345678ijkl,password=foo-bar1")

    assert once.text == "the api token is [redacted:secret],password=[redacted:password]"
    assert redact(once.text).text == once.text


@for_each("text", KEPT)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert redact(text) == Redacted(text=text)


@for_each(
    "code",
    [
        'if (password == "‹swordfish›")', "password == '‹swordfish›' and x", 'token === "‹abcdefghij›"',
        "if password == `‹swordfish›`:", 'if password=="‹swordfish›":',
    ],
)  # fmt: skip
def test_a_literal_that_a_secret_is_compared_with_is_taken_out(code: str) -> None:
    before, rest = code.split("‹")
    literal, after = rest.split("›")
    result = redact(f"{before}{literal}{after}")

    assert result.count == 1
    assert result.text.startswith(f"{before}[redacted:")
    assert result.text.endswith(f"]{after}")


@for_each(
    "text",
    [
        "pw = 50", "the pulse width pw=0.35", "pw: 3px", "pw = 10us", "pw=10µs", "pw=1e-6", "pw = 2 * width",
        '{"pw": 12}', "pw=ok",
    ],
)  # fmt: skip
def test_a_width_called_pw_is_no_password(text: str) -> None:
    assert redact(text) == Redacted(text=text)


@for_each("text", ["pw: ‹hunter2›", "pw = ‹hunter2›", '"pw": "‹hunter2›"', "pw: ‹123456›", "pw=‹50a›"])
def test_what_is_no_width_behind_pw_is_a_password(text: str) -> None:
    before, rest = text.split("‹")
    secret, after = rest.split("›")

    assert redact(f"{before}{secret}{after}").text == f"{before}[redacted:password]{after}"


@for_each("mask", ["*", "**", "***", "****", "*****", "********"])
@for_each(
    "text", ["password:‹›", "password: ‹›", "(password:‹›)", "password=‹›", "It says password:‹›.", "token:‹›, sent"]
)
def test_a_mask_in_the_place_of_a_secret_is_kept(text: str, mask: str) -> None:
    masked = text.replace("‹›", mask)

    assert redact(masked) == Redacted(text=masked)


@for_each("name", ["**password:** ", "*password:* ", "**password**: ", "- **Password:** "])
def test_emphasis_around_the_name_of_a_password_is_no_mask(name: str) -> None:
    assert redact(f"{name}hunter2").text == f"{name}[redacted:password]"


def test_several_secrets_in_a_text_are_counted_with_their_kinds() -> None:
    result = redact(f"ghp_{ALNUM} and AKIAIOSFODNN7EXAMPLE\npassword=a password=b")

    assert result.count == 4
    assert result.kinds == {"github-token", "aws-key-id", "password"}


KEY = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MaXg==\n"


@for_each(
    ("text", "clean"),
    [
        (
            f"a\n-----BEGIN RSA PRIVATE KEY-----\n{KEY * 20}-----END RSA PRIVATE KEY-----\nb",
            "a\n[redacted:private-key]\nb",
        ),
        (
            f"-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{KEY}-----END PRIVATE KEY----- done",
            "[redacted:private-key] done",
        ),
        (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY * 3}Hello there, Bob", "[redacted:private-key]\nHello there, Bob"),
        (r'"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n" x', r'"[redacted:private-key]\n" x'),
        (r'"-----BEGIN PRIVATE KEY-----\nMIIEabc" x', '"[redacted:private-key]" x'),
        (
            f"> -----BEGIN PGP PRIVATE KEY BLOCK-----\n> {KEY}> -----END PGP PRIVATE KEY BLOCK-----",
            "> [redacted:private-key]",
        ),
    ],
)  # fmt: skip
def test_a_private_key_is_taken_out_whole(text: str, clean: str) -> None:
    result = redact(text)

    assert result.text == clean
    assert result.kinds == {"private-key"}


@for_each(
    "entry",
    [
        "machine api.github.com\n  login bob\n  password ‹hunter2›",
        "machine api.github.com login bob\n\tpassword ‹hunter2›\nmachine x",
        "machine db\r\n    login bob\r\n    account shop\r\n    password ‹hunter2›\r\n",
        "machine git.example\n    password ‹hunter2›\n    login bob",
        "default\n login anonymous\n password ‹hunter2›",
        "machine git.example\npassword ‹hunter2› login bob\n",
        "machine localhost\npassword ‹hunter2› # of the test server",
    ],
)
def test_an_entry_of_a_netrc_file_may_span_lines(entry: str) -> None:
    text = entry.replace("‹", "").replace("›", "")
    result = redact(text)

    assert result.text == entry.replace("‹hunter2›", "[redacted:password]")
    assert result.counts == {"password": 1}
    assert may_hold_secret(text)


@for_each(
    "text",
    [
        "the machine is new\npassword reset: done",
        "by default\nthe login page says password reset",
        "by default\nlogin page password reset",
        "by default\npassword authentication is off",
        "mode: default\npassword policy: at least 12 characters",
        "state machine diagram\npassword reset flow",
        "The machine is\npassword protected",
        "machine learning\npassword strength meter",
        "export default\npassword manager",
        "machine learning\npassword protected login pages for everybody",
        "default\npassword",
    ],
)
def test_lines_that_only_share_words_with_a_netrc_file_are_kept(text: str) -> None:
    assert redact(text) == Redacted(text=text)


@for_each("end", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_line_of_a_password_file_is_found_whatever_parts_the_lines(end: str) -> None:
    line, clean = "localhost:5432:app:app:hunter2", "localhost:5432:app:app:[redacted:password]"

    assert redact(f"db{end}{line}{end}end").text == f"db{end}{clean}{end}end"
    assert redact(f"db{end}{line}").text == f"db{end}{clean}"


FRAGMENTS = st.sampled_from(
    [
        *(text for text, _ in SECRETS), *KEPT, " ", "\n", "'", '"', "=", ":", ";", "@", "[redacted:x]", "password",
        "-----BEGIN PRIVATE KEY-----",
    ]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=8).map("".join) | st.lists(FRAGMENTS, max_size=8).map(" ".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text).text

    assert redact(once) == Redacted(text=once)


@given(st.text(max_size=200))
def test_a_text_without_secrets_is_returned_as_it_is(text: str) -> None:
    result = redact(text)

    assert result.count > 0 or result.text == text


@given(st.from_regex(r"ghp_[A-Za-z0-9]{36}", fullmatch=True), st.text(max_size=20), st.text(max_size=20))
def test_a_token_is_found_wherever_words_end(token: str, before: str, after: str) -> None:
    assert token not in redact(f"{before} {token} {after}").text


@for_each(
    "unit",
    [
        "a-", "-bench", "QUJD", "=", ":", "password", "password ", "password=", "://a:", "://:a@", "eyJ", "sk-",
        "bearer ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", 'password="', "12345678:", " ",
        "\n", "-u a:", "'\"`", "authorization: bearer ", "<password>", "_pass", "token: a ", "secret:", "secret: ",
        "pass=", "{password:", "machine ", "machine a\n", "x" * 50 + "@", "?sig=",
    ],
)  # fmt: skip
def test_the_cost_grows_with_the_length_and_not_faster(unit: str) -> None:
    assert grows_linearly(on_repeated(redact, unit, ending="token"), largest=64_000)


@given(
    st.sampled_from(SECRETS), st.lists(st.sampled_from(["", "a word", "the key is lost", "x" * 20, "密码"]), max_size=4)
)
def test_a_secret_is_found_on_whatever_line_of_a_text(secret: tuple[str, str], lines: list[str]) -> None:
    found = redact("\n".join([*lines, secret[0], *lines]))

    assert found.text == "\n".join([*lines, secret[1], *lines])
    assert found.count >= 1
