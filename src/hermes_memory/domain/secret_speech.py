"""Secrets that are known by what people say of them, within a line.

Every quantifier is bounded and every shape starts at a boundary or at a literal, so that no text makes matching slower
than linear.
"""

from __future__ import annotations

import re
from typing import Final

from hermes_memory.domain.secret_lines import OWNER, SPOKEN_KEY, SPOKEN_OF, SPOKEN_VALUE, context
from hermes_memory.domain.secret_names import ACCESS, KEYS
from hermes_memory.domain.stop_words import STOP_WORDS

_SAID_OF_PHRASES: Final = """
agreed ask changed character characters chars contains decided default dialog digits disabled empty enabled encrypts
entropy error expired expires failed fails field file files five forgotten four hidden incorrect input invalid kept
keychain last least length letters long login longer lost manager match matches max maximum min minimum missing
month months never next none office option optional phrase policy private prompt protected protects random read
refused rejected required reset rotate rotated rotates rotation same saved secret see set shared short shown six
stored strong text three today tomorrow two unknown unlocks unset updated use used user users uses vault weak week
weeks wiki word words works written wrong year years yesterday
siehe steht liegt zeichen wort worte wörter lang kurz fehlt falsch leer geheim
"""
_PHRASE_STOPS: Final = "|".join(sorted({*STOP_WORDS, *_SAID_OF_PHRASES.split()}))
_PHRASE_WORD: Final = rf"(?!(?i:{_PHRASE_STOPS})\b)"
_PHRASE: Final = "|".join(
    rf"(?:{_PHRASE_WORD}{word}[ \t]{{1,2}}){{2,11}}{_PHRASE_WORD}{word}"
    for word in ("[a-zß-öø-ÿ]{2,16}", "[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{1,16}")
)
"""Words in a row that make no sentence: all of them are small, or all of them begin with a capital."""
_QUOTED_WORD: Final = rf"{_PHRASE_WORD}[^\s\"'“”`.]{{2,32}}"
_QUOTED: Final = rf"{_QUOTED_WORD}(?:[ \t]{{1,2}}{_QUOTED_WORD}){{0,11}}"
"""Words in quotes, none of which tells what a password is like."""
_IS: Final = (
    r"(?:is(?:[ \t]now)?|was|ist(?:[ \t]jetzt)?|war|lautet|heißt|es|est|è|é|jest|är|er|je|là|это|هي|היא"
    r"|(?:will|should|must)[ \t]be|(?:re)?set[ \t]to|changed[ \t](?:from[ \t][^\s]{1,64}[ \t])?to"
    r"|geändert[ \t](?:auf|zu)|cambiad[ao][ \t]a)"
)
_NAMED: Final = (
    r"passcode|code[ \t]d['’]accès|(?<!\w)(?:wi-?fi|wlan|vpn|root|admin|router)[ \t-]pass"
    r"|(?<![^\W_])(?:mdp|contrasena|(?<!palabra\x20)(?<!palabras\x20)(?<!]\x20)clave)"
)
"""How a password is called as well, where its value has to look like one."""
_NO_WORD_MORE: Final = r"(?![ \t]{1,4}(?:[^\W_]|\[redacted:))"
_ENDS: Final = rf"(?![^\s\"'“”.,;:!?)\]]){_NO_WORD_MORE}"

KEY_SAID: Final = tuple(
    (f" {sign}", tuple(f"{name} {sign}" for name in ("key", "token", "secret")))
    for sign in ("is", "was", "for", "-", "–", "→")
)
"""What stands behind the name of a key in a sentence, with what both look like."""

SPEECH: Final = (
    context(
        "password",
        "passphrase",
        r"(?i:passphrase)\\?[\"'`]?\*{0,3}[ \t]{0,4}[:：=]\*{0,3}[ \t]{0,4}[\"'“„«`]?"
        rf"(?P<secret>{_PHRASE})(?![^\s.,;:!?)\]}}\"'”“»`<|]){_NO_WORD_MORE}",
        re.NOFLAG,
    ),
    context(
        "password",
        (*SPOKEN_OF.split(), " pass", *("clave", "contrasena", "mdp", "pw", "accès")),
        rf"(?<!1)(?:(?:{ACCESS})(?:e?[nt])?|(?P<named>{_NAMED})|(?<![^\W_])pw(?=\x20is))"
        r"(?![ \t]{1,4}(?:manager|polic(?:y|ies)|vault|safe|generator|length|rules?|apps?|rate)(?!\w))"
        rf"(?:[ \t]{{1,4}}{OWNER}[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"'“]?(?P<owned>{SPOKEN_VALUE})"
        rf"|(?:[ \t]{{1,4}}[\w@.'’-]{{1,40}}){{0,5}}?[ \t]{{1,4}}{_IS}(?:[ \t]|:){{1,4}}"
        rf"(?:[\"“'`](?P<quoted>{_QUOTED})[\"”'`]|[\"'“]?(?P<said>{SPOKEN_VALUE}))"
        r"|(?:[ \t]{1,4}(?:[-=]>|[→–—-])|[ \t]{0,2}\([^()\n]{1,40}\)[ \t]{0,4}[:=]|(?(named)[ \t]{0,4}:|(?!)))"
        rf"[ \t]{{1,4}}[\"'“]?(?P<parted>{SPOKEN_VALUE}){_ENDS})",
    ),
    context(
        "password",
        SPOKEN_OF,
        rf"(?<!\w)(?:set|changed?|reset)[ \t]{{1,4}}(?:[\w@.'’-]{{1,40}}[ \t]{{1,4}}){{0,4}}(?:{ACCESS})[ \t]{{1,4}}"
        rf"(?:from[ \t]{{1,4}}[^\s]{{1,64}}[ \t]{{1,4}})?to[ \t]{{1,4}}[\"'“]?(?P<set>{SPOKEN_VALUE})"
        rf"|(?<!\w)(?:use|using|with|mit)[ \t]{{1,4}}(?:(?:the|dem)[ \t]{{1,4}})?(?:{ACCESS})[ \t]{{1,4}}"
        rf"[\"'“]?(?P<used>{SPOKEN_VALUE})"
        rf"|(?<!\S)[\"'“`(]{{0,2}}(?P<first>{SPOKEN_VALUE})[\"'”`]?[ \t](?:is|was|as|ist|war|als|es|est)[ \t]"
        r"(?:(?:the|my|our|his|her|their|your|its|das|mein|unser|la|mi|el|le|mon)[ \t](?:[\w’'-]{1,24}[ \t]){0,2})?"
        rf"(?:{ACCESS})(?:{_ENDS}|(?=[ \t](?:for|of|to|für|para|pour|per|and|und)[ \t]))",
    ),
    # Who it is and what proves it, in a row.
    context(
        "password",
        f"{SPOKEN_OF} pass",
        r"(?<!\w)(?:user(?:name)?|login|benutzer(?:name)?|usu[aá]rio|identifiant|utente|gebruiker|логин|用户名)"
        r"[ \t]{0,2}[:=]?[ \t]{1,4}[\w.@-]{1,64}[ \t,;/|]{1,4}"
        rf"(?:pass|{ACCESS})(?:[ \t]{{0,2}}[:=])?[ \t]{{1,4}}(?:[0-7][ \t])?(?P<secret>{SPOKEN_VALUE})",
    ),
    context(
        "password",
        "creds credentials zugangsdaten pass",
        r"(?<!\w)(?:creds|credentials|zugangsdaten"
        rf"|(?:user(?:name)?|login|benutzer(?:name)?)[ \t]{{0,2}}(?:[&/+]|and|und)[ \t]{{0,2}}(?:pass|{ACCESS}))"
        rf"[ \t]{{0,2}}:[ \t]{{0,4}}[\w.@-]{{1,64}}(?:[ \t]{{1,2}}[/|][ \t]{{1,2}}|:)(?P<secret>{SPOKEN_VALUE})",
    ),
    context(
        "secret",
        tuple(literal for _, literals in KEY_SAID for literal in literals),
        rf"(?:{KEYS})(?:(?<=key)|(?<=token)|(?<=secret))\x20"
        rf"(?:{OWNER}(?:[ \t]{{1,4}}(?:is|ist|was)(?:[ \t]|:){{1,4}}|[ \t]{{0,4}}[:=][ \t]{{0,4}})"
        rf"|(?:is|ist|was)(?:[ \t]now)?(?:[ \t]|:){{1,4}}|(?:[-=]>|[→–-])[ \t]{{1,4}})"
        rf"[\"'“`]?(?P<secret>{SPOKEN_KEY})",
    ),
    context(
        "secret",
        "2fa totp otp mfa setup authenticator",
        r"(?i:2fa|totp|otp|mfa|setup|authenticator)[ \t_-](?i:seed|key|code|secret)[ \t]{0,4}:[ \t]{0,4}"
        r"(?P<secret>[A-Z2-7]{16,64}|[A-Z2-7]{4}(?:[ \t-][A-Z2-7]{4}){3,15})(?![\w-])",
        re.NOFLAG,
    ),
    context(
        "password",
        "密码 密碼 パスワード 비밀번호",
        r"(?:(?:密码|密碼)[ \t]{0,2}(?:是|为|為|改成|改为|改為)|パスワード[ \t]{0,2}は|비밀번호(?:는|가|은))"
        r"[ \t]{0,2}(?P<secret>(?=[!-~]{0,64}[0-9])(?=[!-~]{0,64}[A-Za-z])[!-~]{5,128})",
    ),
)
"""What tells of a secret in a sentence."""
