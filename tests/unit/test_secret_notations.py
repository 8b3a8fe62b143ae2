"""Secrets in the notations of people, programs and shells, each kind beside the look-alikes that stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import grows_linearly, on_repeated
from tests.support.tables import for_each
from tests.unit.test_redaction import SECRETS
from tests.unit.test_secret_edges import ADDRESSES, CONNECTIONS, LINES_BELOW, NOTATIONS, PHRASES, parted
from tests.unit.test_secret_shapes import SURROUNDED

from hermes_memory.domain.assigned_secrets import folded
from hermes_memory.domain.redaction import Redacted, may_hold_secret, redact
from hermes_memory.domain.secret_lines import SPANNING, ContextShape
from hermes_memory.domain.secret_shapes import CONTEXTS, hints_at_a_secret, holds_any
from hermes_memory.domain.secret_tokens import suspected_tokens

SAID = [
    'password is "‹correct horse battery staple›"',
    "my password is '‹sunflower›'",
    "my password is\xa0‹hunter2›",
    "my password is:\xa0‹hunter2›",
    "Our password will be ‹Sunflower77›",
    "the pw is ‹Sunflower77›",
    "Here's the password → ‹Sunflower77›",
    "password -> ‹Sunflower77›",
    "Password – ‹Sunflower77›",
    "Password (admin): ‹Sunflower77›",
    "password changed to ‹Sunflower77›",
    "use the password ‹Sunflower77› to log in",
    "log in with password ‹Sunflower77›",
    'with the password "‹Sunflower77›"',
    "login: bob, pass: ‹Sunflower77›",
    "user bob pass ‹Sunflower77›",
    "Username bob Password ‹Sunflower77›",
    "username bob password 0 ‹Sunflower77›",
    "creds: bob / ‹Sunflower77›",
    "creds: bob:‹Sunflower77›",
    "Zugangsdaten: bob / ‹Sonnenblume7›",
    "Das Passwort heißt ‹Sonnenblume7›",
    "mein neues Passwort ist jetzt ‹Sonnenblume7›",
    "Passwort geändert auf ‹Sonnenblume7›",
    "mi clave es ‹Girasol77›",
    "clave: ‹Girasol77›",
    "contrasena: ‹Girasol77›",
    "MDP : ‹Tournesol77›",
    "mon mdp est ‹Tournesol77›",
    "Passcode: ‹Blue7Tree›",
    "my api key is ‹abcd1234efgh5678ijkl›",
    "the token is ‹abcd1234efgh5678ijkl›",
    'API key is "‹abcd1234efgh5678ijkl›"',
    "client secret is ‹Zx9kQ2mN8vB4tR7yLp›",
    "2FA seed: ‹JBSWY3DPEHPK3PXP›",
    "authenticator key: ‹JBSW Y3DP EHPK 3PXP›",
    "recovery code: ‹a1b2c-d3e4f›",
    "Recovery codes: ‹a1b2c-d3e4f g5h6i-j7k8l›",
    "recovery key: ‹Zx9k-Q2mN-8vB4-tR7y-Zx9k-Q2mN›",
    "recovery phrase: ‹1. fig 2. dog 3. cat 4. ice 5. jam 6. oil 7. fig 8. ice 9. jam\n10. kite 11. dog 12. oil›",
]

SAID_LOOK_ALIKES = [
    "Password: 12+ characters",
    "Password: unchanged",
    "Password: n/a",
    "Password: TBD",
    "Password: (none)",
    "Password: -",
    "Password: ?",
    "Password: same",
    "Password: forgotten!",
    "Password: Required",
    "Passwort: mindestens 12 Zeichen",
    "mot de passe : oublié",
    "contraseña: mínimo 8 caracteres",
    "password = the same as before",
    "Access denied for user 'root'@'localhost' (using password: YES)",
    "password – OAuth2 login is planned",
    "1Password - version8",
    "use the password manager of Ana",
    "we use password auth2 here",
    'the error says the password is "too short"',
    "the password is 'required'",
    "the pw is long",
    "pwd is /home/bob2",
    "palabra clave: covid19",
    "MDP: a tuple of states",
    "the API key is v2-only",
    "the token is refreshed every 30min",
    "the host key is SHA256:abcdefabcdef0123456789",
    "the secret is sha256-of-the-file-2024",
    "setup key: ABCDEFGH",
    "backup key: prod-2024-weekly",
    "recovery code: see wiki-2024",
    "creds: ask bob / ana",
    "user story 12 pass rate 98percent",
]

WRITTEN = [
    'password=b"‹sunflower›"',
    'password = r"‹sunflower›"',
    'password = f"‹sunflower›"',
    'password = @"‹sunflower›";',
    'password = """‹sunflower›"""',
    "password = '''‹sunflower›'''",
    "CREATE LOGIN bob WITH PASSWORD = N'‹sunflower›';",
    'password: str = "‹sunflower›"',
    "password: string = '‹sunflower›';",
    'password: str | None = "‹sunflower›"',
    'api_key: Final[str] = "‹Zx9kQ2mN8vB4tR7y›"',
    'let password: &str = "‹sunflower›";',
    'const PASSWORD: &\'static str = "‹sunflower›";',
    'var dbPassword string = "‹sunflower›"',
    'const apiToken string = "‹Zx9kQ2mN8vB4tR7y›"',
    "password: ‹hunter2› = x",
    "pw = ‹Blue.House›",
    'setPassword("‹sunflower›")',
    'auth=("bob", "‹sun flower›")',
    'os.getenv("DB_PASSWORD", "‹sunflower›")',
    'os.environ.setdefault("DB_PASSWORD", "‹sunflower›")',
    "process.env.DB_PASSWORD || '‹sunflower›'",
    "define('DB_PASSWORD', '‹sunflower›');",
    'props.setProperty("password", "‹sunflower›");',
    "SECRET_KEY_BASE=‹8f7a6b5c4d3e2f1a8f7a6b5c4d3e2f1a›",
    "JWT_SECRET=‹mysupersecretjwt›",
    "DB_PASSWORD=‹same›",
    "psk=‹sunflower77›",
    "Ocp-Apim-Subscription-Key: ‹8f7a6b5c4d3e2f1a8f7a6b5c4d3e2f1a›",
    '{"kty":"RSA","n":"abc","d":"‹Zx9kQ2mN8vB4tR7yZx9kQ2mN8vB4tR7y›"}',
    ".dockerconfigjson: ‹eyJhdXRocyI6eyJyLmlvIjp7ImF1dGgiOiJkWE5sY2c9PSJ9fX0=›",
]

WRITTEN_LOOK_ALIKES = [
    'password = b""',
    'password = """"""',
    'password: str = ""',
    'password: str = field(default="x")',
    'def connect(password: str, name: str = "x")',
    'getpass("Password: ")',
    'password = input("Password: ")',
    'print("password:", x)',
    "password = user.password",
    "password = form.password.data",
    "password: hashed_password,",
    "connect(password=newPassword)",
    "where password = ?",
    "where password = :password",
    "$password = $_POST['password'];",
    "password: !vault |",
    'password: "%env(DB_PASSWORD)%"',
    "'password' => 'required|min:8',",
    '"password": "string"',
    "cancellationToken: CancellationToken.None",
    "apiKey: import.meta.env.VITE_KEY",
    "{ token: 'comment.line', foreground: '608b4e' }",
    'token: "IDENTIFIER",',
    'credentials: "include"',
    'storage_key = "theme-preference"',
    'app_key: "com.example.app"',
    'root_key="HKEY_LOCAL_MACHINE"',
    'password("Password:")',
    'const [password, setPassword] = useState("")',
    'os.getenv("DB_PASSWORD", "")',
    'auth = ("user", password)',
]

COMMANDS = [
    "create user app password '‹sunflower›';",
    "alter user app password '‹sunflower›';",
    "CREATE USER 'bob'@'%' IDENTIFIED WITH mysql_native_password BY '‹sunflower›';",
    "SET PASSWORD FOR 'bob'@'%' = PASSWORD('‹sunflower›');",
    "SET PASSWORD FOR 'bob'@'%' = '‹sunflower›';",
    "CREATE USER MAPPING FOR x SERVER y OPTIONS (user 'bob', password '‹sunflower›');",
    'setx DB_PASSWORD "‹Sunflower77›"',
    "set -x DB_PASSWORD ‹Sunflower77›",
    "setenv DB_PASSWORD ‹Sunflower77›",
    "aws configure set aws_secret_access_key ‹Zx9kQ2mN8vB4tR7yZx9kQ2mN8vB4tR7yZx9kQ2mN›",
    "npm config set //registry.npmjs.org/:_authToken ‹abcdef0123456789abcdef›",
    "requirepass ‹sunflower77›",
    'echo "‹sunflower›" | docker login -u bob --password-stdin',
    "echo '‹Sunflower77›' | sudo -S apt update",
    'echo "bob:‹sunflower77›" | chpasswd',
    "mongo -u bob -p ‹sunflower77› --authenticationDatabase admin",
    "ldapsearch -D cn=admin -w ‹sunflower77› -b dc=x",
    'curl -u "bob:‹sun flower›" https://x',
    "gpg --batch --passphrase ‹sunflower77› -c f",
    "rclone --sftp-pass ‹Zx9kQ2mN8vB4tR7y›",
    "zip -P ‹sunflower77› out.zip f",
]

COMMAND_LOOK_ALIKES = [
    "echo done | grep x",
    "use --token to log in",
    "--max-token 4096",
    "git config set core.editor vim-nox",
    "set -x PATH /usr/local/bin",
    "zip -r out.zip dir",
    "ldapsearch -x -b dc=x",
    "the password 'policy' page",
]

ALL_MARKED = [*SAID, *WRITTEN, *COMMANDS]
LOOK_ALIKES = [*SAID_LOOK_ALIKES, *WRITTEN_LOOK_ALIKES, *COMMAND_LOOK_ALIKES]


def plain(marked: str) -> str:
    return marked.replace("‹", "").replace("›", "")


@for_each("marked", ALL_MARKED)
def test_a_secret_is_taken_out_of_the_notation_it_is_written_in(marked: str) -> None:
    before, secret, after = parted(marked)
    text = f"{before}{secret}{after}"
    result = redact(f"before\n{text}\nafter")

    assert result.text.startswith(f"before\n{before}[redacted:")
    assert result.text.endswith(f"]{after}\nafter")
    assert result.count == 1
    assert redact(result.text) == Redacted(text=result.text)
    assert may_hold_secret(text)


@for_each("text", LOOK_ALIKES)
def test_what_is_written_alike_stays(text: str) -> None:
    for whole in (text, f"before\n{text}\nafter"):
        assert redact(whole) == Redacted(text=whole)


def test_the_secret_beside_the_id_of_an_access_key_goes_with_it() -> None:
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

    assert redact(f"AKIAIOSFODNN7EXAMPLE\n{secret}\n").text == "[redacted:aws-key-id]\n[redacted:secret]\n"


def test_a_private_key_of_ssh2_is_taken_out_whole() -> None:
    key = (
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\nP2/56wAAAgI\n---- END SSH2 ENCRYPTED PRIVATE KEY ----"
    )

    assert redact(f"a\n{key}\nb").text == "a\n[redacted:private-key]\nb"


def test_a_word_behind_a_spoken_secret_counts_also_when_it_is_a_token() -> None:
    once = redact(f"clave: Girasol77 ghp_{'a1B2' * 9} ok")

    assert redact(once.text) == Redacted(text=once.text)


def test_of_a_name_and_a_password_in_a_row_the_password_goes() -> None:
    assert "Sunflower77" not in redact("Username & password: bob / Sunflower77").text


EXAMPLES = [
    *map(plain, [*ALL_MARKED, *ADDRESSES, *CONNECTIONS, *LINES_BELOW, *PHRASES, *SURROUNDED]),
    *(plain(marked) for marked, _ in NOTATIONS),
    *(text for text, _ in SECRETS),
    f"clave: Girasol77 ghp_{'a1B2' * 9} ok",
    "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "machine api.example.com login bob password hunter2",
]


@for_each("shape", [*CONTEXTS, *SPANNING], ids=lambda shape: f"{shape.kind} {' '.join(shape.literals)}")
def test_the_first_look_overlooks_nothing_that_a_shape_would_find(shape: ContextShape) -> None:
    found = [text for text in EXAMPLES if shape.pattern.search(text)]

    assert found
    for text in found:
        assert holds_any(folded(text), shape.literals)
        assert hints_at_a_secret(folded(text)) or suspected_tokens(text)


@given(st.lists(st.sampled_from([*EXAMPLES, *LOOK_ALIKES, "\n", " "]), max_size=8))
def test_redacting_such_a_text_again_changes_nothing(pieces: list[str]) -> None:
    once = redact("".join(pieces)).text

    assert redact(once) == Redacted(text=once)


@for_each(
    "unit",
    [
        "password: str ", "password: str = ", "password string = ", "password = b", 'password="""', "password (a",
        "pw is ", "password -> a1", 'password is "ab ', "user a pass ", "creds: a", "use the password ",
        "my token is ", "otp key: ABCD ", "recovery code: a1b2-", "recovery code: a1b2-c3d4 ",
        "recovery phrase: 1. abc ", "echo a | sudo ", "echo a |", "zip -r ", "create user a password ",
        "set password for ", "password('", "password || ", "getenv('password', ", "auth = ('a', ", "set -x a_",
        "setx a.", "config set a", "proxy a:", "postgres://a:b@c/", "trojan://a", "AKIA" + "A" * 16 + " ",
        '"kty" "d": "', "dockerconfigjson: ", "a a a password is:\n", "password: |\n", "---- BEGIN", "----",
        'password is "' + "a" * 400 + " ",
    ],
)  # fmt: skip
def test_no_repetition_makes_the_search_slower_than_linear(unit: str) -> None:
    assert grows_linearly(on_repeated(redact, unit, ending=" password is token="), largest=24_000)
