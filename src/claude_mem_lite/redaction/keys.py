"""Find keys by the form they are written in: one-time passwords, seed phrases, wallets, WordPress, Go.

A hook loads this module, and with it `re`, only for a text that contains the sign of such a form.
"""

from __future__ import annotations

import re

from claude_mem_lite.redaction.vocabulary import AT_VALUE
from claude_mem_lite.redaction.weights import FEW, MIXED, RANDOM, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redaction.vocabulary import Looks, Span

_ANYTHING = 0  # the form alone is proof, whatever the value looks like
_QUOTED = r"(?P<q>\\*['\"`])(?P<value>(?:(?!(?P=q))[^\n]){{{},{}}})(?P=q)"
_BASE32 = r"(?P<value>[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{2,8}){3,16}={0,6})(?![A-Za-z0-9])"
_BETWEEN = r"(?:[\s,;:.()\[\]\"'0-9-]|\\[nt\"]){1,12}"
# BIP-39 words have three to eight letters. These common words of prose are not on the list.
# Source: github.com/bitcoin/bips, bip-0039/english.txt.
_PROSE = r"(?!(?:the|and|for|with|from|are|was|has|have|will|your|our|its|not|but|which|were|been|they)\b)"
_PHRASE = rf"(?P<value>(?:\b{_PROSE}[a-z]{{3,8}}\b{_BETWEEN}){{11,23}}{_PROSE}[a-z]{{3,8}})\b"
_PHRASE_NAME = (
    r"(?i:mnemonic|(?:seed|recovery|backup|wallet)[ _-]?(?:phrase|words?)|seed|recovery[ _-]phrase)"
)
_HEX_NAME = r"(?i)(?:private|priv|wallet|signer|deployer|owner|signing)[ _-]?(?:key|pk)?s?\b"
_GO_NAME = r"(?i:secret|signing|jwt|hmac|private|passw|token|encrypt|aes|session|salt)\w{0,40}"
_GO_OTHER = "".join(
    f"(?<!(?i:{end}))" for end in ("prefix", "suffix", "header", "name", "type", "path", "url", "field")
)
_LOGIN = r"(?i)\b(?:log(?:ged|ging)?[ -]?in|sign(?:ed|ing)?[ -]?in|credentials|creds)\b[^\n]{0,24}?"
_SAID = r"(?P<value>[^\s`'\",;]{3,63}[^\s`'\",;.:)])"
_USER = r"(?:with|as|using|via|is|are|:)\s+[`'\"]?[\w.@+-]{2,40}[`'\"]?\s?(?:/|:|\band\b|\|)\s?[`'\"]?"
# A person's, or an acronym: "my pin is", "PIN:". Pins of hardware have fewer digits.
_PIN = (
    r"(?:(?<![\w.$-])|(?<=\\[nrt]))"  # JSON writes a newline as two characters
    r"(?:(?i:(?:my|our|your)\spin(?:\s(?:code|number))?(?:\s(?:is|was)|\s?[:=]))"
    r"|PIN(?:\s(?:code|number))?(?:(?P<said>\s(?:is|was))|\s?[:=]))"
    r"\W{1,3}(?P<value>\d{4,8})(?![\w%])(?![.:/-]\w)(?(said)(?!\s\w))"
)

_KEY_OF_PHRASE = rf"{_PHRASE_NAME}[^\n]{{0,30}}?(?:[:=\n\"'(`]|\b(?:is|are|was)\b)\W{{0,12}}{_PHRASE}"
_WALLET_KEY = rf"{_HEX_NAME}[^\n]{{0,24}}?[:=\s\"'(]\\*[\"']?(?P<value>(?:0x)?[0-9a-f]{{64}})\b"
_DEFINED = (
    r"(?i)define\s{0,8}\(\s{0,8}\\*['\"]\w{0,40}(?:key|salt|password|secret|token)\\*['\"]\s{0,8},\s{0,40}"
)
_GO_VALUE = r"(?:\s*\[[^\]\n]{0,40}\])?\s*(?::=|=|:|,|\()\s*\[\]byte\(\s*"

# Per form: the substring to search for first (its sign), the kind, the value's minimum weight, the pattern.
_FORMS = (
    ("otpauth", "secret", _ANYTHING,
        r"(?i)otpauth(?::|%3a)[^\s\"'<>]{0,400}?secret(?:=|%3d)(?P<value>[a-z2-7]{8,256}={0,6})"),
    ("totp", "secret", _ANYTHING, r"(?i:totp)[^\n]{0,60}?[\"'\s=(]" + _BASE32),
    ("hotp", "secret", _ANYTHING, r"(?i:hotp)[^\n]{0,60}?[\"'\s=(]" + _BASE32),
    ("base32", "secret", _ANYTHING, r"(?i:base_?32)[^\n]{0,30}?[\"'(]" + _BASE32),
    ("authenticator", "secret", _ANYTHING, r"(?i:authenticator)[^\n]{0,60}?[\"'\s=(]" + _BASE32),
    ("define", "secret", _ANYTHING, _DEFINED + _QUOTED.format(4, 200)),
    ("[]byte(", "key", _ANYTHING, _GO_NAME + _GO_OTHER + _GO_VALUE + _QUOTED.format(6, 200)),
    ("[]byte(", "key", RANDOM, r"\[\]byte\(\s*" + _QUOTED.format(16, 200)),
    *((sign, "seed phrase", _ANYTHING, _KEY_OF_PHRASE) for sign in ("mnemonic", "phrase", "seed")),
    *((sign, "private key", _ANYTHING, _WALLET_KEY) for sign in ("private", "wallet", "privkey", "deployer")),
    ("accounts", "private key", _ANYTHING, r"accounts\W{1,8}(?P<value>0x[0-9a-f]{64})\b"),
    ("pin", "pin", _ANYTHING, _PIN),
    *((sign, "password", MIXED, _LOGIN + _USER + _SAID) for sign in ("login", "creds")),
)  # fmt: skip
_SALT = 60  # characters; a value this long, such as a WordPress salt, is real whatever it contains
_STANDS_IN = ("your", "example", "here", "put ", "changeme", "placeholder", "xxxx", "getenv")


def find_keys(text: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the keys in `text` whose form has its sign in `signs`. Raises: TooMuchError."""
    for sign, kind, least, form in _FORMS:
        for found in re.compile(form).finditer(text) if sign in signs else ():
            looks.spend(AT_VALUE)
            value = found["value"]
            if (kind == "pin" or _is_real(value)) and (least == _ANYTHING or weigh(value) >= least):
                yield *found.span("value"), kind


def _is_real(value: str) -> bool:
    if len(value) >= _SALT:
        return True
    stands_in = value.startswith(("${", "$(", "<", "{{")) or any(word in value.lower() for word in _STANDS_IN)
    return not stands_in and len(set(value)) > FEW
