"""Find secrets by the form of the command, call, cookie or manifest that hands them over.

Each form is a pattern whose group `value` is the secret. A hook loads this module, and with it `re`, only for
a text that contains the sign of such a form.
"""

from __future__ import annotations

import binascii
import re

from claude_mem_lite.redaction.vocabulary import AT_VALUE, places
from claude_mem_lite.redaction.weights import MIXED, RANDOM, SESSION, is_chosen, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redaction.vocabulary import Looks, Span

_EDGE = r"(?:\b|(?<=\\[nrt]))"  # the start of a word, also after an escape
_QUOTED = r"(?P<q>\\*['\"])(?P<value>(?:(?!(?P=q))[^\n]){4,200})(?P=q)"
# A word of a command, in quotes or bare.
_WORD = r"(?P<q>\\*['\"])?(?P<value>(?(q)(?:(?!(?P=q))[^\n]){4,200}|[^\s'\"\\;|&<>$(){}]{4,200}))"
_SECOND = r"\(\s*+[^,()\n]{1,200}+,\s*+" + _QUOTED
_THIRD = r"\(\s*+(?:[^,()\n]{1,200}+,\s*+){2}" + _QUOTED
_B64 = r"[A-Za-z0-9+/]{8,}={0,2}"
_ANY, _CHOSEN, _RANDOM = range(3)  # what a value must be: more than a word, like a chosen password, random

_HTPASSWD = _EDGE + r"htpasswd\s+-[a-z]*b[a-z]*\s+"
_OPTIONS = r"(?:-\S{1,64}\s{1,8}){0,8}"
_ORACLE = r"[\w$#]{1,30}/(?P<value>[^@\s\"'/]{4,64})@"
_NETSCAPE = r"(?i)(?:\s|\\t)(?:TRUE|FALSE)(?:\s|\\t)+[0-9]+(?:\s|\\t)+[^\s\\]{1,64}(?:\s|\\t)+"
_SET_SESSION = r"(?i)cookies?\.set\((?=[^,\n]{0,64}(?:sess|sid|auth|token))[^,\n]{1,64},\s*"
_NAMED = r"(?i)\"name\\*\"\s*:\s*\\*\"[^\"\n]{1,64}\""  # "name": "sid"

# Per form: the substring to search for first (its sign), the kind, what the value must be, the pattern.
_FORMS = (
    ("rabbitmqctl", "password", _ANY, _EDGE + r"(?:change_password|add_user)\s+\S{1,64}\s+" + _WORD),
    ("chpasswd", "password", _ANY, _HTPASSWD + _OPTIONS + r"\S{1,200}\s+\S{1,64}\s+" + _WORD),
    ("chpasswd", "password", _ANY, _EDGE + r"htpasswd\s+-(?=[a-z]*n)[a-z]*b[a-z]*\s+\S{1,64}\s+" + _WORD),
    ("openssl", "password", _ANY, _EDGE + r"openssl\s[^\n|;]{0,200}?\s-k\s+" + _WORD),
    ("gh secret", "secret", _ANY, _EDGE + r"gh\s+secret\s+set\s[^\n|;]{0,120}?\s(?:--body|-b)[\s=]+" + _WORD),
    ("net use", "password", _ANY, _EDGE + r"net\s+user\s+[\w.$-]{1,64}\s+" + _WORD + r"(?=[^\n]{0,40}/add)"),
    ("net use", "password", _CHOSEN, _EDGE + r"net\s+user\s+[\w.$-]{1,64}\s+" + _WORD),
    ("net use", "password", _CHOSEN, _EDGE + r"net\s+use\s[^\n]{0,200}?/user:\S{1,64}\s+" + _WORD),
    ("net use", "password", _CHOSEN, _EDGE + r"net\s+use\s+\S{1,3}\s+\S{1,200}\s+" + _WORD),
    ("http-basic", "password", _ANY, _EDGE + r"http-basic\.[\w-]{1,64}\s+\S{1,64}\s+" + _WORD),
    ("login=", "token", _RANDOM, r"[\w.]login=" + _WORD),
    (" login ", "token", _RANDOM, _EDGE + r"\w++ ++login ++" + _WORD + r"(?![:\w])"),
    (" login ", "token", _ANY, _EDGE + r"vault\s+login\s+" + _OPTIONS + r"(?![\w-]{1,64}=)" + _WORD),
    ("auth ", "token", _ANY, _EDGE + r"(?:snyk|ngrok|fly|flyctl|vercel)\s+auth(?:\s+[a-z-]+)?\s+" + _WORD),
    ("spawn", "password", _ANY, _EDGE + r"send\s+(?:--\s+)?\\*\"(?P<value>[^\"\s]{4,64}?)(?:\\+[rn])+\\*\""),
    ("sqlplus", "password", _ANY, _EDGE + r"sqlplus\s+" + _OPTIONS + r"['\"\\]*" + _ORACLE),
    ("connect", "password", _CHOSEN, r"(?i)(?:connect\w{0,40}\(\s*|jdbc:oracle:\w+:)\\*['\"]?" + _ORACLE),
    ("connect", "password", _CHOSEN, r"(?i)connect(?:ion)?" + _THIRD),
    ("new pdo", "password", _CHOSEN, r"(?i)new pdo" + _THIRD),
    ("mysqli", "password", _CHOSEN, r"(?i)new mysqli" + _THIRD),
    ("login", "password", _CHOSEN, r"(?i)login" + _SECOND),
    ("credentials(", "password", _CHOSEN, r"(?i)credentials?" + _SECOND),
    ("auth(", "password", _CHOSEN, r"(?i)auth" + _SECOND),
    ("--from-literal", "secret", _CHOSEN, r"--from-literal[= ][\w.-]{1,64}=" + _WORD),
    ("@tcp(", "password", _ANY, r"['\"`=\s][\w.$-]{1,64}:(?P<value>[^\s'\"`]{4,128})@tcp\("),
    ("pgpass", "password", _ANY, r"(?<![\w.*-])[\w.*-]{1,200}:[0-9*]{1,5}:(?:[^\s:]{1,64}:){2}" + _WORD),
    ("ssid", "password", _ANY, r"(?i)\bpsk[\s\"'\\]*[=:]\s*" + _QUOTED),
    ("cookie", "cookie", _RANDOM, _NETSCAPE + r"(?P<value>[^\s\\\"]{20,4096})"),
    ("cookie", "cookie", _ANY, _SET_SESSION + _QUOTED),
    ("cookie", "cookie", _RANDOM, r"(?i)cookies?\.set\([^,\n]{1,64},\s*" + _QUOTED),
    ("httponly", "cookie", _RANDOM, _NAMED + r"\s*,\s*\\*\"value\\*\"\s*:\s*" + _QUOTED),
    ("httponly", "cookie", _RANDOM, r"(?i)\"value\\*\"\s*:\s*" + _QUOTED + r"\s*,\s*\\*\"name\\*\"\s*:"),
)  # fmt: skip
# Signs that are common in code: only the text around each occurrence is searched.
_MORE_SIGNS = ("login=", " login ")  # searched for if "login" is found
_COMMON = {sign: sign for sign in ("login", "connect", "auth(", "auth ", *_MORE_SIGNS)}
_COMMON["credentials("] = "credential"
_BEFORE, _AFTER = 64, 768
# Fields of a Kubernetes manifest that are not part of a secret's data.
_NO_DATA = frozenset((
    "name", "namespace", "type", "kind", "apiVersion", "uid", "resourceVersion", "creationTimestamp", "key",
))  # fmt: skip
_DATA = r"(?P<key>[\w./-]{1,253})\\*[\"']?:\s*\\*[\"']?(?P<value>" + _B64 + r")(?=\\*[\"']|\s|\\n|,|\}|$)"
_PLAIN = r"(?P<key>[\w.-]{1,253})\\*[\"']?:[ ]*\\*[\"']?(?P<value>[^\s\"'\\]{6,200})"
_LIST = r"chpasswd:(?:\s|\\n|[+\d→:|-]|list|expire|false|true){1,200}?list:\s*\|?"
_LISTED = r"(?:\s|\\n|[+→-])*\b[\w.-]{1,64}:(?P<value>[^\s\"'\\:]{4,128})"
_KIND = 12  # characters before `Secret` in which `kind:` may stand
_MANIFEST = 65_536  # characters of a manifest that are searched on each side of `kind: Secret`


def find_forms(text: str, low: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the secrets in `text` whose form has its sign in `signs`. Raises: TooMuchError."""
    if "login" in signs:
        signs = signs.union(sign for sign in _MORE_SIGNS if sign in low)
    for sign, kind, least, form in _FORMS:
        for found in _matches(form, sign, text, low) if sign in signs else ():
            value = found["value"]
            looks.spend(AT_VALUE)
            if _enough(value, least) and (kind != "cookie" or len(value) >= SESSION):
                yield *found.span("value"), kind
    if "chpasswd" in signs and "chpasswd:" in low:
        yield from _listed(text, looks)
    if "kind" in signs:
        yield from _manifests(text, low, looks)


def _matches(form: str, sign: str, text: str, low: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a form; for a common sign, only those near an occurrence of it."""
    pattern = re.compile(form)
    for start, end in _around(low, _COMMON[sign]) if sign in _COMMON else [(0, len(text))]:
        yield from pattern.finditer(text, start, end)


def _around(low: str, sign: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) around each occurrence of a sign; occurrences close to each other share one part."""
    at = low.find(sign)
    while at >= 0:
        start, end = max(0, at - _BEFORE), at + _AFTER
        while 0 <= (at := low.find(sign, at + len(sign))) < end:
            end = at + _AFTER
        yield start, end


def _listed(text: str, looks: Looks) -> Iterator[Span]:
    """Yield the passwords in the `list` of cloud-init's `chpasswd`."""
    for head in re.finditer(_LIST, text):
        at = head.end()
        while listed := re.compile(_LISTED).match(text, at):
            at = listed.end()
            looks.spend(AT_VALUE)
            if _enough(listed["value"], _ANY):
                yield *listed.span("value"), "password"


def _enough(value: str, least: int) -> bool:
    weight = 0 if value.startswith(("$", "<", "%s", "{", "/", "-", "http", "@")) else weigh(value)
    if least == _RANDOM:
        return weight == RANDOM and len(value) >= SESSION
    return weight == RANDOM or (weight >= MIXED and (least == _ANY or is_chosen(value)))


def _manifests(text: str, low: str, looks: Looks) -> Iterator[Span]:
    """Yield the values in `data` and `stringData` of a Kubernetes secret, whatever their names."""
    done = 0
    for at in places(low, "secret"):
        if at >= done and "kind" in low[max(0, at - _KIND) : at]:
            start = max(done, text.rfind("---", max(0, at - _MANIFEST), at), at - _MANIFEST)
            end = text.find("---", at, at + _MANIFEST)
            done = end if end >= 0 else at + _MANIFEST
            for name, form in (("stringdata", _PLAIN), ("data", _DATA)):
                begin = low.find(name, start, done)
                for found in re.compile(form).finditer(text, begin, done) if begin >= 0 else ():
                    value = found["value"]
                    looks.spend(AT_VALUE)
                    told = _enough(value, _CHOSEN) if form is _PLAIN else _is_coded(value)
                    if told and found["key"] not in _NO_DATA:
                        yield *found.span("value"), "secret"


def _is_coded(value: str) -> bool:
    """Tell whether a value is the base64 of printable text or of random bytes."""
    if len(value) % 4:
        return False
    try:
        plain = binascii.a2b_base64(value).decode()
    except ValueError:
        return weigh(value) == RANDOM
    return "".join(plain.split()).isprintable()
