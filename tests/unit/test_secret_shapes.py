"""Which secrets are known by their shape or their surroundings, and which look-alikes are left alone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.support.growth import grows_linearly, on_repeated
from tests.support.tables import for_each

from hermes_memory.domain.redaction import may_hold_secret, redact, redact_value
from hermes_memory.domain.secret_lines import SPANNING
from hermes_memory.domain.secret_shapes import CONTEXTS
from hermes_memory.domain.secret_tokens import SHORTEST_TOKEN, TOKENS, suspected_tokens

MIX = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH" * 2
HEX = "0123456789abcdef" * 8

# Whole tokens: nothing of them may stay.
ISSUED = {
    "an access key of AWS": "AKIAIOSFODNN7EXAMPLE",
    "a session's key of AWS": "ASIAIOSFODNN7EXAMPLE",
    "GitHub, personal": f"ghp_{MIX[:36]}",
    "GitHub, of an app": f"ghs_{MIX[:36]}",
    "GitHub, fine-grained": f"github_pat_11ABCDEFG0_{MIX[:50]}",
    "GitLab": f"glpat-{MIX[:20]}",
    "GitLab, of a deployment": f"gldt-{MIX[:20]}",
    "Slack, of a bot": f"xoxb-123456789012-{MIX[:24]}",
    "Slack, that expires": f"xoxe.xoxb-1-{MIX[:40]}",
    "Slack, of a workspace": "xoxo-523423-234243-234233-e039d02840a0b9379c",
    "Slack, of an app": f"xapp-1-A0123-{MIX[:24]}",
    "Anthropic": f"sk-ant-api03-{MIX[:40]}",
    "OpenAI": f"sk-proj-{MIX[:40]}",
    "OpenAI, old": f"sk-{MIX[:48]}",
    "OpenRouter": f"sk-or-v1-{HEX[:64]}",
    "Groq": f"gsk_{MIX[:52]}",
    "Fireworks": f"fw_{MIX[20:44]}",
    "Fireworks, without a digit": "fw_aBXcdEfghIjKlmnOPqrsTuvw",
    "Replicate": f"r8_{MIX[:37]}",
    "xAI": f"xai-{MIX[:52]}",
    "NVIDIA": f"nvapi-{MIX[:52]}",
    "LangSmith": f"lsv2_pt_{HEX[:32]}_{HEX[:10]}",
    "Tavily": f"tvly-dev-{MIX[:32]}",
    "Google, API": f"AIza{MIX[:35]}",
    "Google, OAuth": f"ya29.a0Af{MIX[:40]}",
    "Google, refresh": f"1//0{MIX[:60]}",
    "Google, client": f"GOCSPX-{MIX[:28]}",
    "Stripe": f"sk_live_{MIX[:24]}",
    "Stripe, webhook": f"whsec_{MIX[:32]}",
    "npm": f"npm_{MIX[:36]}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{MIX[:40]}",
    "RubyGems": f"rubygems_{HEX[:48]}",
    "crates.io": f"cio{MIX[:32]}",
    "NuGet": f"oy2{HEX[:43]}",
    "Docker Hub": f"dckr_pat_{MIX[:27]}",
    "Hugging Face": f"hf_{MIX[:34]}",
    "SendGrid": f"SG.{MIX[:22]}.{MIX[:43]}",
    "Brevo": f"xkeysib-{HEX[:64]}-{MIX[:16]}",
    "Mailgun": f"key-{HEX[:32]}",
    "Mailchimp": f"{HEX[:32]}-us12",
    "Twilio": f"SK{HEX[:32]}",
    "Telegram": "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
    "Discord": f"M{MIX[:24]}.Gabcde.{MIX[:38]}",
    "a signed JSON web token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{MIX[:30]}",
    "an encrypted JSON web token": f"eyJhbGciOiJSU0EtT0FFUCJ9.{MIX[:40]}.{MIX[:16]}.{MIX[:40]}.{MIX[:22]}",
    "Mapbox": f"sk.eyJ1Ijoi{MIX[:40]}.{MIX[:22]}",
    "Vault": f"hvs.{MIX[:24]}",
    "DigitalOcean": f"dop_v1_{HEX[:64]}",
    "Databricks": f"dapi{HEX[:32]}",
    "Shopify": f"shpat_{HEX[:32]}",
    "Fly": f"fo1_{MIX[:40]}",
    "Fly, of an organisation": f"fm2_lJPECAAAAAAAB{MIX[:20]}/{MIX[20:60]}==,fm2_lJPE{MIX[:40]}",
    "Heroku": f"HRKU-{MIX[:40]}",
    "Alibaba Cloud": f"LTAI{MIX[:20]}",
    "Tencent Cloud": f"AKID{MIX[:32]}",
    "Dynatrace": f"dt0c01.{MIX[:24].upper()}.{MIX[:64].upper()}",
    "Netlify": f"nfp_{MIX[:40]}",
    "Neon": f"napi_{MIX[:40]}",
    "PlanetScale": f"pscale_tkn_{MIX[:40]}",
    "Supabase, of an account": f"sbp_{HEX[:40]}",
    "Supabase, of an application": f"sbp_oauth_{HEX[:40]}",
    "Supabase": f"sb_secret_{MIX[:31]}",
    "Pulumi": f"pul-{HEX[:40]}",
    "Linear": f"lin_api_{MIX[:40]}",
    "Notion": f"ntn_{MIX[:46]}",
    "Notion, old": f"secret_{MIX[:43]}",
    "Grafana": f"glsa_{MIX[:32]}_abcd1234",
    "Grafana, of the cloud": f"glc_eyJvIjoiMTIzNDU2Iiwi{MIX[:60]}==",
    "Typeform": f"tfp_{MIX[:44]}_{MIX[20:34]}",
    "Atlassian": f"ATATT3{MIX[:60]}",
    "Bitbucket": f"ATBB{MIX[:32]}",
    "Figma": f"figd_{MIX[:40]}",
    "Postman": f"PMAK-{HEX[:24]}-{HEX[:34]}",
    "Doppler": f"dp.pt.{MIX[:43]}",
    "Tailscale": f"tskey-auth-{MIX[:30]}",
    "New Relic": f"NRAK-{MIX[:27].upper()}",
    "Sentry": f"sntrys_{MIX[:60]}",
    "CircleCI": f"CCIPAT_{MIX[:40]}",
    "Buildkite": f"bkua_{HEX[:40]}",
    "SonarQube": f"sqp_{HEX[:40]}",
    "Artifactory": f"AKCp{MIX[:69]}",
    "1Password": f"ops_eyJ{MIX[:80]}",
    "HubSpot": "pat-na1-01234567-89ab-cdef-0123-456789abcdef",
    "Dropbox": f"sl.u.{MIX[:80]}",
    "Airtable": f"pat{MIX[:14]}.{HEX[:64]}",
    "Square": f"sq0atp-{MIX[:22]}",
    "PayPal": f"access_token$production${HEX[:16]}${HEX[:32]}",
    "Facebook": f"EAAC{MIX[:80]}",
    "Terraform": f"{MIX[:14]}.atlasv1.{MIX[:67]}",
    "Azure": f"abc8Q~{MIX[:34]}",
    "age": f"AGE-SECRET-KEY-1{MIX[:40].upper()}",
    "PostHog": f"phx_{MIX[:40]}",
    "ReadMe": f"rdme_{HEX[:60]}",
    "Pinecone": f"pcsk_5aBc_{MIX[:60]}",
    "Together": f"tgp_v1_{MIX[:43]}",
    "E2B": f"e2b_{HEX[:40]}",
    "ElevenLabs": f"sk_{HEX[:48]}",
    "Vercel, of a blob": f"vercel_blob_rw_{MIX[10:26]}_{MIX[:30]}",
    "Matrix": "syt_Ym9i_abcdefghijKLMNOPQRST_1aB2cD",
    "a wallet": f"xprv{MIX[:80]}{MIX[:27]}",
    "a private key in base64": "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=",
}

AROUND = [("", ""), ("use ", " please"), ("密钥是", "。"), ("(“", "”)"), ("a\n\t", "\nb"), ("/", "?")]

# What stands around a secret, with ‹ and › at its ends.
SURROUNDED = [
    "https://api.telegram.org/bot‹123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1›/getMe",
    "Cookie: ‹session=abc123def456; theme=dark›",
    "Set-Cookie: ‹sid=s%3Aabcdef123; Path=/; HttpOnly›",
    '-H "Cookie: ‹auth=deadbeef01›"',
    f"SignedHeaders=host, Signature=‹{HEX[:64]}›",
    f"https://s3.example/x?X-Amz-Signature=‹{HEX[:64]}›",
    f"https://chat.googleapis.com/v1/spaces/AA/messages?key=‹abc1{MIX[:30]}›",
    f"https://f.azurewebsites.net/api/x?code=‹{MIX[:40]}==›",
    "otpauth://totp/Me?secret=‹JBSWYDPEHPKPXP›&issuer=x",
    f"https://x.webhook.office.com/webhookb2/‹{MIX[:36]}@{MIX[:36]}/IncomingWebhook/abc›",
    "https://hooks.zapier.com/hooks/catch/‹12345/abcdef12›",
    f"https://maker.ifttt.com/trigger/x/with/key/‹{MIX[:22]}›",
    f"https://open.feishu.cn/open-apis/bot/v2/hook/‹{MIX[:36]}›",
    f"https://discord.com/api/webhooks/‹123456789012345678/{MIX[:60]}›",
    '{"auths": {"r.io": {"auth": "‹dXNlcjpwYXNzd29yZA==›"}}}',
    "//registry.npmjs.org/:_authToken=‹abcdef0123456789›",
    "_auth=‹dXNlcjpwYXNz›",
    "sshpass -p ‹hunter2› ssh host",
    "mysql -u root -p‹hunter2› shop",
    "redis-cli -h cache -a ‹hunter2›",
    "docker login -u bob -p ‹hunter2› r.io",
    "mysql -h db\t-p‹hunter2›",
    "redis-cli\t-a ‹hunter2›",
    "docker login\t-p ‹hunter2›",
    "docker\tlogin -p\t‹hunter2›",
    "sshpass\t-p\t‹hunter2› ssh host",
    "curl --user=bob:‹hunter2› https://x",
    "curl --user=bob:‹bob2› https://x",
    "curl -ubob:‹hunter2› https://x",
    "curl -sSu bob:‹hunter2› https://x",
    "curl -x proxy --proxy-user bob:‹hunter2› https://x",
    "curl --user admin:‹admin› https://x",
    "curl --user=admin:‹admin›",
    'curl --user "admin:‹admin›" https://x',
    "curl -x proxy --proxy-user bob:‹bob› https://x",
    "curl 'https://x/?a=1&b=2' -u bob:‹bob›",
    "--proxy-user bob:‹bob›",
    "my password\xa0is ‹hunter2›",
    "openssl rsa -passin pass:‹hunter2› -in key.pem",
    "machine api.example.com login bob password ‹hunter2›",
    "db.example.com:5432:app:bob:‹hunter2›",
    "*:*:*:bob:‹hunter2›",
    "CREATE ROLE x WITH PASSWORD '‹hunter›'",
    "ALTER USER bob PASSWORD '‹abc›'",
    "IDENTIFIED BY '‹abc›'",
    "my password is ‹hunter2›",
    "the wifi password at the office is ‹Blue-42-House›.",
    "mein Passwort ist ‹hunter2›, ok",
    "mot de passe est ‹hunter2›",
    "seed phrase: ‹legal winner thank year wave sausage worth useful legal winner thank yellow›",
    "jdbc:oracle:thin:scott/‹tiger›@h:1521:x",
    "jdbc:postgresql://h/db?user=u&password=‹hunter2›&ssl=true",
    "mongodb+srv://bob:‹hunter2›@cluster.example.net/db",
    "amqp://bob:‹hunter2›@rabbit:5672",
    "api key: ‹abc123def456›",
    f"private key: ‹0x{HEX[:64]}›",
    f"APP_KEY=‹base64:{MIX[:43]}=›",
    f"client-key-data: ‹{MIX[:60]}›",
    f"JSESSIONID=‹{HEX[:32]}›",
    "Proxy-Authorization: Basic ‹dXNlcjpwYXNz›",
    f"x-vault-token: ‹{MIX[:26]}›",
    "**password**: ‹hunter2›",
    "- **Password:** ‹hunter2›",
    "pw: ‹hunter2›",
    "PW=‹hunter2›",
    "wachtwoord: ‹hunter2›",
    "كلمة السر: ‹hunter2›",
    "şifre: ‹hunter2›",
    "Passwort für den Server: ‹Sommer2024!x›",
    "the password for bob@db.example.com = ‹hunter2›",
    "I set the root password to ‹hunter2› yesterday",
    # What tells of a name and its value: quotes of print, cells of a table, lines of a login, a command of a build.
    "“password”: “‹hunter2›”",
    "„Passwort“: „‹hunter 2›“",
    "‘password’: ‘‹hunter2›’",
    "«пароль»: «‹hunter2›»",
    "« mot de passe » : « ‹hunter2›»",
    "| password | ‹hunter2› |",
    "|Password|‹hunter2›|",
    "| **wifi password** | `‹hunter2›` | office |",
    "| user | bob |\n| password | ‹hunter2› |",
    f"| api key | ‹{HEX[:32]}› |",
    "<tr><td>Password</td><td>‹hunter2›</td></tr>",
    '<th>DB Password:</th>\n  <td class="x"><code>‹hunter2›</code></td>',
    "<dt>Passwort</dt><dd>‹hunter2›</dd>",
    f"<td>API token</td><td>‹{HEX[:32]}›</td>",
    "user: bob\npass: ‹hunter›",
    "- **Login:** bob\n- **Pass:** ‹sunflower›",
    "login: bob\r\npassword ‹hunter2›",
    "ENV PGPASSWORD ‹hunter2›",
    "ENV API_TOKEN ‹abcdef12›",
    f"SSWS ‹00{MIX[:40]}›",
    "密码是‹hunter2›",
    "パスワードは‹hunter2›です",
    "비밀번호는 ‹hunter2›",
    '{"name": "DB_PASSWORD", "value": "‹hunter2›"}',
    '<add key="DbPassword" value="‹hunter›" />',
    "- name: DB_PASSWORD\n  value: ‹hunter2›",
    "- name: DB_PASSWORD\n  value: ‹abc›",
    "- name: DB_PASSWORD\n  value: ‹1234›",
    "- name: DB_PASSWORD\n  value: ‹string-of-9-pearls›",
    '{"name": "API_TOKEN", "value": "‹abcdef›"}',
    "Private-Lines: 2\n‹AAAAIDxQ7u\n9f3k+/==\n›Private-MAC: 00",
]

LOOK_ALIKES = [
    # Hashes, ids and numbers.
    "commit 3f2a9c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b",
    f"sha256 {HEX[:64]}",
    f"image@sha256:{HEX[:64]}",
    "md5 d41d8cd98f00b204e9800998ecf8427e",
    'etag W/"33a64df551425fcc55e4d42a148795d9f25f89d4"',
    "550e8400-e29b-41d4-a716-446655440000",
    "uuid=550e8400-e29b-41d4-a716-446655440000",
    "ULID 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "session_id=20260503_ab12",
    "IBAN DE89370400440532013000",
    "GB29NWBK60161331926819",
    "ISBN 978-3-16-148410-0",
    "order 4111-1111",
    "+49 170 1234567",
    "12345678:30 is no time",
    # Errors, versions, addresses, colours, files.
    "ERR_CONNECTION_REFUSED",
    "ORA-00942: table or view does not exist",
    "SQLSTATE 42P01",
    "HTTP 503",
    "v1.2.3-rc.1+build.5",
    "2026-11-29T22:00:30Z",
    "fe80::1ff:fe23:4567:890a",
    "00:1A:2B:3C:4D:5E",
    "#ff8800",
    "arn:aws:s3:::bucket/key",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 bob@host",
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=",
    "LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUlJQg==",
    "file.py:1234:def:foo:bar",
    "main.c:12:5:error: x",
    # Names that hold the name of a secret, and prefixes without what follows them.
    "keyboard: QWERTY layout12345",
    "monkey=banana123456",
    "hotkey: Ctrl+Shift+P",
    "primary key: id12345678",
    "public_key=ssh-ed25519",
    "tokenizer: cl100k_base",
    "secretary: Ana Maria",
    "sk-learn-contrib-pipeline",
    "gl-matrix-4.0.1-beta-build",
    "hf_hub_download_from_repository",
    "skip_this_very_long_identifier",
    "key-value-store-implementation",
    "AC/DC played in 1999",
    "AKIA is how AWS keys begin",
    "https://example.com/AKIA-guide",
    "page=2&sort=desc&key=name",
    "license: Apache-2.0",
    "auth: oauth2",
    '"auth": "basic"',
    # Prose about secrets, and options that only look like a secret's.
    "cookie: a small biscuit",
    "the cookie is stale",
    "password policy: at least 12 characters",
    "the password is sha256-hashed",
    "the password is 12 characters long",
    "password is base64 encoded",
    "my password is in 1Password",
    "The secret: never give up",
    "access key for the door: under the mat",
    "machine learning login page password reset",
    "recovery words: ask Bob",
    "seed phrase: never share it",
    "Merge branch 'feature/token-refresh' into main",
    "docker run -p 8080:8080 image",
    "mysql -p mydb",
    "mysql -h db -P 3306",
    "git log -p --since=2024",
    "docker run -ubob:1000 image",
    "curl -u 1000:1000 image",
    "curl https://example.com/a-u/b:c",
    "mysql -h db\t-P 3306",
    "docker run --user=node:node image",
    'docker run --user="www-data:www-data" image',
    "curl -fsSLu http://host:8080/x",
    "tool -u http://host:8080/x",
    "docker run --user app:app img",
    "docker run -u app:app img",
    'docker run -u "app:app" img',
    "if password == other:",
    "secret_ballotwithaverylongname",
    "name: token\n  value: ${TOKEN}",
    "the name of the token and its value: see the wiki",
    "password to app-01 from the vault",
    "Password for the demo: ask Ana",
    "git checkout feature/task-sk-roadmap-for-the-next-quarter",
    "密码是保密的",
    # A table's headings, types and rules; counts of a test; an environment in prose.
    "| password | user |\n|---|---|\n| x | y1 |",
    "| password | varchar2 | varchar(255) |",
    "| password | string | at least 8 |",
    "| password | SHA256 | OAuth2 |",
    "|password|user|host1|",
    "| api key | customer_id_2024_primary |",
    "<td>Password</td><td>User</td><td>host1</td>",
    "user: bob\npass: 12\nfail: 3",
    "user: bob\npassword policy2 is new",
    "in the env password policy12 holds",
    "the “password” is “secret” to all",
    "the “password”: it’s gone, c’est fini",
    "my password: it’s fine",
]


NAMES = [
    "test_fw_upgrade_from_v1_to_v2_keeps_settings",
    "new_fw_update_procedure_v2_final.md",
    "test_r8_shrinking_enabled_on_release_v2",
    "gsk_vaccine_trial_phase_3_results",
    "xai-explanations_with_shap_version_2",
    "csk-cricket_team_season_2024_squad",
    "napi_create_external_arraybuffer",
    "nfp_monthly_employment_change_2024",
    "sbp_mean_over_24_months_of_use",
    "sb_secret_store_namespace_prefix",
    "pscale_oauth_client_credentials_flow",
    "pul-request-template-for-contributors",
    "glc_column_temperature_programme_3",
    "test_glc_column_temperature_programme_3",
    "glc_data/column/temperature/programme3",
    "glsa_check_for_vulnerable_packages",
    "tfp_distributions_mixture_same",
    "tfp_distributions_mixture_same_family_v2",
    "figd_panel_colour_legend_of_axes",
    "tskey-rotation-for-all-nodes",
    "fm2_synthesis_operator_4_levels",
    "fo1_filter_order_of_the_input",
    "xoxo-gossip-girl",
    "xoxo-gossip-girl-season-2",
    "xoxp-hugs-and-kisses",
    "kpimon-xapp-v2-deployment-config",
    "github_pat_token_expiration_days",
    "github_pat_v2_migration_of_all_users",
    "glpat-rotation-for-all-runners",
    "glrt-detector-performance-curves",
    "task-sk-or-cz-locale-fallback",
    "task-sk-admin-interface-cleanup",
    "nvapi-driver-settings-for-gsync",
    "test_sk_test_transformer_fits",
    "dckr_pat_rotation_every_quarter",
    "hvs.get_configuration_values()",
    "dp.audit.log_of_every_change_made",
    "SG.UserInterfaceControls.ConfigurationManager",
    "pypi-Agent-publishing-guide-for-teams",
    "pcsk_of_the_panel_that_no_user_sees",
    "tgp_v1_of_the_protocol_that_no_client_speaks",
    "vercel_blob_rw_permissions_of_the_project",
]


@for_each("name", NAMES)
def test_a_name_of_words_that_begins_like_a_token_is_kept(name: str) -> None:
    for whole in (name, f"see {name} there", f"def test_{name}", f"docs/{name}.md", f"备注 {name}"):
        assert redact(whole).text == whole


@for_each(
    "text",
    [
        "- name: access_token\n  value: string",
        "key: password, value: string",
        "key: password, value: str",
        '{"name": "token", "value": "string"}',
        "- name: token\n  value: Optional[str]",
        "- name: password\n  value: required",
        "name: db_password\n  value: var.db_password",
        "Key: DatabasePassword\nValue: !Ref Password",
        "Name: UtilityToken\nValue: 1200 USD",
        "Name: UtilityToken\nValue: 1,200,000 USD",
        '{"name": "UtilityToken", "value": 1200000}',
    ],
)
def test_a_pair_of_name_and_value_is_kept_whose_value_is_a_type_a_reference_or_an_amount(text: str) -> None:
    assert redact(text).text == text


@for_each("token", ISSUED.values(), ids=ISSUED)
def test_a_token_is_taken_out_wherever_it_stands(token: str) -> None:
    for before, after in AROUND:
        result = redact(f"{before}{token}{after}")

        assert result.text.startswith(f"{before}[redacted:")
        assert result.text.endswith(f"]{after}")
        assert result.count == 1


@for_each("around", ["_‹›_", "__‹›__", "**‹›**", "x-‹›", "sess_‹›", "backup-‹›.csv"])
@for_each("token", [ISSUED["GitHub, personal"], ISSUED["Stripe"], ISSUED["an access key of AWS"]])
def test_a_token_is_taken_out_of_emphasis_and_of_a_name(token: str, around: str) -> None:
    before, after = around.split("‹›")
    result = redact(f"see {before}{token}{after} there")

    assert result.count == 1
    assert token not in result.text


@pytest.mark.parametrize("token", [f"ghp_{MIX * 4}", f"pat-na1-01234567-89ab-cdef-0123-456789abcdef{ISSUED['npm']}"])
def test_what_follows_a_token_without_a_boundary_goes_with_it(token: str) -> None:
    once = redact(f"see {token} there")

    assert re.fullmatch(r"see \[redacted:[a-z-]+\] there", once.text)
    assert redact(once.text).text == once.text


@for_each("marked", SURROUNDED)
def test_a_secret_is_known_by_what_stands_around_it(marked: str) -> None:
    before, rest = marked.split("‹")
    secret, after = rest.split("›")
    result = redact(f"{before}{secret}{after}")

    assert result.text.startswith(f"{before}[redacted:")
    assert result.text.endswith(f"]{after}")
    assert result.count == 1


@for_each("text", LOOK_ALIKES)
def test_a_look_alike_is_kept(text: str) -> None:
    for whole in (text, f"see {text} there", f"备注 {text}"):
        assert redact(whole).text == whole


@for_each("token", [*ISSUED.values()], ids=[*ISSUED])
def test_the_first_look_at_a_text_overlooks_no_token(token: str) -> None:
    assert len(token) >= SHORTEST_TOKEN
    assert suspected_tokens(f"see {token} there")


@pytest.mark.parametrize(
    "text",
    [
        "Question 7: after the northern report, which part isn't in the warehouse - and why?",
        "The launch moved to 3 May (confirmed); budget is 40,000 EUR!",
        "Встреча в четверг: зал 4",
    ],
)
def test_what_everybody_says_is_spared_the_search(text: str) -> None:
    assert not may_hold_secret(text)


@for_each(
    ("name", "value", "kept"),
    [
        ("db_password", "correct horse", "[redacted:password]"),
        ("PASSWORD1", "x", "[redacted:password]"),
        ("api_key", "abcdef0123", "[redacted:secret]"),
        ("x-auth-token", "abcdef0123", "[redacted:secret]"),
        ("password", "<password>", "<password>"),
        ("password", " ", " "),
        ("token", "abc", "abc"),
        ("secret", "be kind to others", "be kind to others"),
        ("turn", "D1:3", "D1:3"),
        ("tokens", "abcdef0123", "abcdef0123"),
        ("note", "password=x1", "password=[redacted:password]"),
        ("password", "see AKIAIOSFODNN7EXAMPLE", "[redacted:password]"),
        ("pass", "hunter2", "[redacted:password]"),
        ("pass", "12", "12"),
        ("pass", "yes", "yes"),
        ("userPass", "x", "[redacted:password]"),
        ("compass", "hunter2", "hunter2"),
        ("Authorization", "hunter2", "[redacted:secret]"),
        ("Proxy-Authorization", "Basic aGk6aG8", "[redacted:secret]"),
        ("authorization", "required", "required"),
        ("auth", "dXNlcjpwYXNz0123", "[redacted:secret]"),
        ("x-auth", "Bearer hunters", "[redacted:secret]"),
        ("auth", "oauth2", "oauth2"),
        ("auth", "basic", "basic"),
        ("authorization", "Bearer ${token}", "Bearer ${token}"),
        ("pass", "98%", "98%"),
        ("pw", "hunter2", "[redacted:password]"),
        ("pw", "0.35", "0.35"),
        ("author", "hunter2", "hunter2"),
        ("secret", "see AKIAIOSFODNN7EXAMPLE", "see [redacted:aws-key-id]"),
    ],
)
def test_the_name_of_a_value_may_tell_that_it_is_a_secret(name: str, value: str, kept: str) -> None:
    assert redact_value(name, value).text == kept


def _work(read: Callable[[str], object], unit: str) -> Callable[[int], Callable[[], object]]:
    return on_repeated(read, unit, ending=" password is token=")


@for_each(
    "unit",
    [
        "password is ", "cookie: a=", "cookie: abc=defghi;", "mysql -", "docker login ", "machine a.b login ",
        "machine a\npassword ", "default\nlogin a ", "--user=a:",
        "pass=1/", "pass=no|",
        "seed phrase: abc ",
        "seed phrase: legal winner ", "a:5432:b:", "otpauth://", "PASSWORD '", '"auth": "', "?key=", "1//0",
        "AKIA" + "A" * 15,
        "eyJabcdefgh.", "access_token$production$", "123456789:", "M" + "a" * 22 + ".", "thin:a/", "api key ",
        "-p ", "pass:",
        "xoxb-", "ya29.", "ghp_ghp_", ".atlasv1.", "Q~", "secret=", "\u0130password=", "key=",
        "a-", "_ghp_", "name: token\n", "key=token,", "private-lines: 2\nab\n", "password for a ",
        "set the password to ",
        "密码是", "password**:**", "pw", "pw=1e", "password:*", "curl a&b -u ", "curl --user a:", "--proxy-user a:",
        "| a a password |", "|password|a1", "<td>password</td>", "user: a\n", "« »", "\\", "ghp_\u200b",
        "name: password value: ", "key=token,value=1", "xoxo-1-", "fm2_a", "glrt-", "tfp_a1", "github_pat_", "sk_test_",
    ],
)  # fmt: skip
def test_no_repetition_makes_the_search_slower_than_linear(unit: str) -> None:
    assert grows_linearly(_work(redact, unit), largest=24_000)


def test_every_kind_has_a_name_that_a_mark_can_hold() -> None:
    kinds = {shape.kind for shape in TOKENS} | {shape.kind for shape in (*CONTEXTS, *SPANNING)}

    assert [kind for kind in kinds if redact(f"[redacted:{kind}]").count] == []
