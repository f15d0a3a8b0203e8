"""What a secret looks like: tokens by their beginning, values by their name, private keys by their armour.

One text in, its secrets out; events and files are the business of `redact`. A hook loads this module for
every event, so it imports nothing itself, and `re` only when a search without it has found something.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int, str]  # start, end, kind

WORD, MIXED, RANDOM, NEVER = 1, 2, 3, 4  # how much a value looks like a secret; 0 is not at all

# Kind, what its tokens begin with, and how they go on. A beginning is looked for only in the long runs of
# token characters and just before them, so that a further one costs an ordinary text next to nothing.
# Source: the services' own documentation of their formats. Each pattern consumes what it has looked at,
# which keeps a hostile text at one pass.
_TOKENS = (
    ("aws key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![a-z\d])(?:[\s,|:;\"']{1,8}[\w/+]{40}(?![\w/+=]))?"),
    ("google key", "AIza", r"[\w-]{35}(?![\w-])"),
    ("google key", "ya29. GOCSPX-", r"[\w.-]{20,}"),
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{30,}(?:\.[\w-]+)*"),
    ("github token", "github_pat_", r"\w{22,}"),
    ("gitlab token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas-", r"[\w.-]{20,}"),
    ("slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxp- xapp-", r"[\w%-]{10,}"),
    ("stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", r"\w{16,}"),
    ("webhook secret", "whsec_", r"[\w+/]{20,}={0,2}"),
    ("api key", "sk-", r"[\w-]{20,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{36}(?!\w)"),
    ("pypi token", "pypi-AgE", r"[\w-]{30,}"),
    ("hugging face token", "hf_ api_org_", r"[A-Za-z0-9]{30,}"),
    ("sendgrid key", "SG.", r"[\w-]{20,24}\.[\w-]{39,50}"),
    ("jwt", "eyJ", r"[\w-]{8,}+(?:\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?)?"),
    ("url signature", "Amz-Signature= Goog-Signature=", r"[0-9A-Fa-f]{40,}"),
    ("service token", "dop_v1_ doo_v1_ dapi shpat_ shpss_ sbp_", r"[0-9a-f]{32,}(?!\w)"),
    ("service token", "gsk_ xai- pplx- ntn_ lin_api_ NRAK- r8_ glsa_ dckr_pat_ hvs.", r"[\w-]{24,}"),
    ("service token", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    # These stand in no such run, or not at its beginning, and are looked for in the whole text.
    ("slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/]{20,}"),
    ("azure signature", "sig=", r"[\w%/+]{42,200}%3[dD]"),
    ("azure secret", "Q~", r"[\w~.-]{31,34}(?![\w~.-])"),
)
_PRIVATE_KEY = "PRIVATE KEY"
_MARKS = tuple(mark for _, marks, _ in _TOKENS[:-3] for mark in marks.split())
_LEADS = {"azure secret": r"[\w~.-]{3}[0-9]"}  # what belongs to a token before the mark it is found by
_PROVED = {"api key": RANDOM, "service token": RANDOM, "slack token": MIXED}  # by more than a beginning

_RUN = 20  # the shortest token, an AWS key id, has as many token characters
_LEAD = 16  # the longest beginning that ends outside the run
_TOKEN = b"0123456789_-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = bytes(97 if byte in _TOKEN else 32 for byte in range(256))

_LABEL = r"(?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
# Between two lines of a key: line ends, also escaped ones, quotes, margins of diffs, listings and numbers.
_MARGIN = r"(?:\\+[nrt]|[\s\"'+,>|#*/→:.\\-]|[0-9]{1,6}(?=[\t→:|]))*+"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n\\\"]{0,200}"
_LINE = rf"(?:[A-Za-z0-9+/]{{16,}}+={{0,2}}|{_HEADER})"
_SHORT_LINE = r"[A-Za-z0-9+/]{1,15}={0,2}"
# A block of such lines is a key when it is armoured at one end at least. Without the lower end, a short
# line belongs to it when it looks like base64. Blocks are consumed, key or not: one pass over any text.
_KEY = (
    rf"(-{{4,5}} ?BEGIN {_LABEL}{_MARGIN})?{_LINE}(?:{_MARGIN}{_LINE})*+"
    rf"(?:(?:{_MARGIN}{_SHORT_LINE})?{_MARGIN}(END {_LABEL})"
    rf"|{_MARGIN}(?=[A-Za-z+/]{{0,15}}[0-9=])[A-Za-z0-9+/]{{4}}{_SHORT_LINE}(?![\w+/=.]))?"
)

_WORDS = {
    "authorization": "authorization", "bearer": "authorization", "pass": "password", "pwd": "password",
    "secret": "secret", "token": "token", "credential": "credential", "key": "key",
}  # fmt: skip
_CONTINUED = {"pass": ("words", "word", "wd", "phrase"), "secret": ("key", "s"), "credential": ("s",)}
_KEY_OWNERS = (
    "api", "access", "secret", "private", "signing", "encryption", "auth", "account", "master", "shared",
    "storage", "session", "service", "license", "webhook", "hmac", "jwt", "cookie", "ssh", "deploy", "admin",
    "consumer", "client", "vault", "fernet", "aes", "app", "rsa",
)  # fmt: skip
_NOT_SECRET = ("public", "next", "page", "continuation", "primary", "foreign", "sort", "cache", "design")
_ABOUT = frozenset({  # a name that ends so tells something about a secret, not the secret
    "id", "ids", "name", "names", "type", "types", "url", "uri", "path", "file", "dir", "field", "fields",
    "count", "counts", "length", "len", "size", "limit", "max", "min", "expires", "expiry", "expiration",
    "ttl", "at", "in", "arn", "ref", "version", "format", "prefix", "suffix", "header", "env", "var", "class",
    "policy", "label", "hint", "placeholder", "endpoint", "regex", "pattern", "position", "index", "usage",
    "used", "budget", "rate", "cost", "algorithm", "alg", "method", "mode", "enabled", "required", "error",
    "message", "title", "text", "description", "status", "rules", "validator", "provider", "source",
})  # fmt: skip
_SCHEMES = ("bearer ", "basic ", "token ", "bot ", "apikey ", "key ")
# The least weight that counts for what people choose and for what is made at random, by where it stands:
# NAME=value, "value", at the end of a line, amid code. And the least length, but passwords may be short.
_ENOUGH = {"env": (WORD, MIXED), "quoted": (WORD, MIXED), "last": (MIXED, RANDOM), "inside": (RANDOM,) * 2}
_SHORTEST = {"env": 4, "quoted": 8, "last": 8, "inside": 16}
_SHORTEST_PASSWORD = {WORD: 6, MIXED: 4, RANDOM: 4}

_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-."
_AFTER_NAME = "\\\"'`] \t"
_GOES_ON = frozenset("0123456789_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ=:,>" + _AFTER_NAME)
_LINE_ENDS = frozenset(("", *"\r\n\"'#"))
_NO_TYPE = frozenset("\\\"'`;(){}:/@\n")
_ASCII = "".join(map(chr, range(33, 127)))
_SHELL_WORD = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`")))  # what a word of a shell is made of
_VALUE = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`,;&<>(){}[]|=")))
_AUTHORITY = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`,;<>(){}[]|^/")))
_REACH = 48  # the longest name on either side of its word
_LOOK = 64  # how much of a value is looked at
_LONGEST = 4096  # the end of a quoted value is looked for as far as this

_REFERENCES = (
    "${", "$(", "#{", "{{", "{}", "%(", "%s", "%d", "(?", "...", "…", "://", "[redacted", "<", "env.",
    "environ",
)  # fmt: skip
_STAND_INS = (
    "your", "example", "changeme", "change-me", "change_me", "placeholder", "redacted", "xxxx", "dummy",
    "insert", "replace", "hidden", "undefined", "optional", "required", "string",
)  # fmt: skip
_PLAIN = frozenset({
    "password", "passwd", "pass", "pwd", "pw", "secret", "token", "none", "null", "true", "false", "str",
})  # fmt: skip
_TELLING = 8  # characters
_FEW, _SHORT = 3, 10  # characters: fewer different ones are no value, fewer of any kind are not random


def find_marks(text: str) -> list[str]:
    """Return what tokens of some kind begin with and `text` has in a place where a token may stand."""
    runs = _long_runs(text)
    marks = [mark for mark in _MARKS if mark in runs]
    if "~" in text or "%" in text:  # one character is found faster than two
        marks += [mark for mark in ("Q~", "sig=") if mark in text]
    return marks + [mark for mark in ("hooks.slack.com/", _PRIVATE_KEY) if mark in text]


def clean(text: str, marks: list[str], field: str = "") -> tuple[str, dict[str, str]]:
    """Return `text` without its secrets, and the kinds of those that are to be looked for elsewhere too.

    `marks` come from `find_marks` for this text or for a longer one that holds it; `field` is the name that
    the text has in a JSON object.
    """
    found: dict[str, str] = {}
    if _PRIVATE_KEY in marks and _PRIVATE_KEY in text:
        import re

        keys = [block for block in re.finditer(_KEY, text) if block[1] or block[2]]
        found.update((line, "private key") for block in keys for line in re.findall(_LINE, block[0]))
        text = _swap(text, [(*block.span(), "private key") for block in keys])
    for kind, listed, rest in _TOKENS:
        for mark in listed.split():
            if mark in marks and mark in text:
                spans = list(_tokens(text, kind, mark, rest))
                found.update((text[start:end], kind) for start, end, _ in spans)
                text = _swap(text, spans)
    spans = find_values(f"{field}='{text}'") if any(word in field.lower() for word in _WORDS) else []
    if spans and spans[0][:2] == (len(field) + 2, len(field) + 2 + len(text)):
        spans = [(0, len(text), spans[0][2])]
    else:
        spans = find_values(text)
    values = {text[start:end]: kind for start, end, kind in spans}
    # A value unlike other text is the same secret wherever it stands.
    found.update(item for item in values.items() if len(item[0]) >= _TELLING and weigh(item[0]) >= MIXED)
    return _swap(text, spans), found


def _swap(text: str, spans: list[Span]) -> str:
    parts, done = [], 0
    for start, end, kind in spans:
        if start >= done:
            parts += [text[done:start], f"[redacted: {kind}]"]
            done = end
    return "".join([*parts, text[done:]])


def _long_runs(text: str) -> str:
    """Return the runs of token characters that are long enough for a token, each with what leads to it."""
    data = text.encode("utf-8", "replace")
    shape = data.translate(_SHAPE)
    run = b"a" * _RUN
    found, at = [], shape.find(run)
    while at >= 0:
        end = shape.find(b" ", at)
        end = end if end >= 0 else len(shape)
        found.append(data[max(0, at - _LEAD) : end])
        at = shape.find(run, end)
    return b" ".join(found).decode("latin-1")


def _tokens(text: str, kind: str, mark: str, rest: str) -> Iterator[Span]:
    import re

    # The mark stands first, for the speed of a literal. No letter or digit precedes it, unless that ends an
    # escape (\n) or a colour code (ESC [ 3 2 m).
    start = _LEADS.get(kind, "") + re.escape(mark)
    edge = rf"(?:(?<![A-Za-z0-9]{start})|(?<=\\[nrt]{start})|(?<=[\[;0-9]m{start}))"
    for match in re.compile(start + edge + rest, re.ASCII).finditer(text):
        body = match[0].removeprefix(mark)
        proved = "." in body if kind == "jwt" else weigh(body) >= _PROVED.get(kind, 0)
        if proved and not set(body) <= set("xX*.0_-"):
            kept = len(mark) if mark.endswith(("=", "/")) else 0  # part of an address
            yield match.start() + kept, match.end(), kind


def find_values(text: str) -> list[Span]:
    """Return each value that its name or its place gives away, in order."""
    low = text.replace("\u0130", "i").lower()  # the one letter that is longer in lower case
    found: dict[int, Span] = {}
    for word in _WORDS:
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            # Most are words of code or prose: a look at what follows tells.
            if (text[end : end + 1] in _GOES_ON or word in _CONTINUED) and _may_name(low, at, word):
                value = _named_value(text, low, at, word)
                if value:
                    found.setdefault(value[0], value)
                    end = value[1]
            at = low.find(word, end)
    for value in _login_passwords(text, low):
        found.setdefault(value[0], value)
    return sorted(found.values())


def _may_name(low: str, at: int, word: str) -> bool:
    end = at + len(word)
    rest = low[end : end + _REACH].lstrip(_NAME)
    sign = rest.lstrip(_AFTER_NAME)[:1]
    if sign in ("=", ":"):
        return word != "key" or bool(low[at - 1 : at].strip(" \"'`\\,({["))  # somebody's key
    if sign in (",", ">"):  # "TOKEN", "value" and <token>value<
        return (rest[0] == sign) is (sign == ">")
    if rest[:1] != " ":
        return False
    if word == "bearer" or (low.startswith("password", at) and rest[1:2] in ("'", '"')):
        return True
    before = low[max(0, at - _REACH) : at]  # --token X, ENV TOKEN X
    name = before[_name_start(before, len(before)) :] if "--" in before or "env " in before else ""
    return name.startswith("--") or before.removesuffix(name).endswith("env ")


def _name_start(low: str, at: int) -> int:
    head = low[max(0, at - _REACH) : at]
    start = at - len(head) + len(head.rstrip(_NAME))
    before = low[start - 1 : start]
    if before == "\\" and low[start : start + 1] in ("n", "r", "t"):
        return start + 1
    if before in ("[", ";"):  # a colour code: ESC [ 3 2 m
        code, letter, _ = low[start:at].partition("m")
        return start + len(code) + 1 if letter and code.isdigit() else start
    return start


def _named_value(text: str, low: str, at: int, word: str) -> Span | None:
    tail = low[at + len(word) : at + _REACH]
    name_end = at + len(word) + len(tail) - len(tail.lstrip(_NAME))
    rest = text[name_end : name_end + _REACH]
    sign_at = name_end + len(rest) - len(rest.lstrip(_AFTER_NAME))
    sign = text[sign_at : sign_at + 3]
    sign = sign[: len(sign) - len(sign.lstrip("=:>"))] or sign[:1].strip(_NAME + _NAME.upper())
    value_at, quote = _opening(text, sign_at + len(sign) if sign else name_end, typed=sign == ":")
    if _WORDS[word] == "authorization":
        return _credential(text, value_at, quote, sign) if name_end == at + len(word) else None
    end = _value_end(text, value_at, quote, _VALUE)
    if not (quote or sign == ">" or text[at].isupper()) and _is_word(text[value_at:end]):
        return None  # most of what code assigns
    if word == "pwd" and text[value_at : value_at + 1] in ("/", "~"):
        return None  # the working directory
    start = _name_start(low, at)
    upper = text[start:name_end].isupper()
    if upper and sign == "=" and sign_at == name_end and value_at == sign_at + 1 + len(quote):
        place, end = "env", _value_end(text, value_at, quote, _SHELL_WORD)
    elif quote or sign == ">":
        place = "quoted"
    elif text[end : end + 1] in ("(", "[") or ("." in text[value_at:end] and _is_path(text[value_at:end])):
        return None  # an expression
    elif (after := text[end : end + _REACH].lstrip(" "))[:1] in _LINE_ENDS or after[:2] in ("\\n", "\\r"):
        place = "env" if upper and sign == ":" and text[value_at:end].islower() else "last"
    else:
        place = "inside"
    least = _least_weight(text[start:at], text[at : at + len(word)], text[at + len(word) : name_end])
    least = NEVER if sign == "::" or (sign == ">" and text[start - 1 : start] != "<") else least
    if not _is_secret(
        text[value_at:end], _WORDS[word], place, RANDOM if sign == "," and least < RANDOM else least
    ):
        return None
    while end >= value_at + _LOOK and (more := _run_end(text, end, _VALUE)) > end:
        end = more
    return value_at, end, _WORDS[word]


def _least_weight(owner: str, word: str, tail: str) -> int:
    """Return the least weight of a value that the name `owner + word + tail` makes a secret."""
    whose, known = owner.lower().rstrip("_-."), word.lower()
    more = next((more for more in _CONTINUED.get(known, ()) if tail.lower().startswith(more)), "")
    tail = tail[len(more) :]
    upper = (owner + word + tail).isupper()
    if whose.endswith(_NOT_SECRET) or (tail[:1].isalpha() and (upper or tail[0].islower())):
        return NEVER  # public_key, or another word: tokenizer, passing, keyboard
    parts = tail if upper else "".join(f"_{c}" if c.isupper() else c for c in tail)
    if parts.lower().replace("-", "_").replace(".", "_").rsplit("_", 1)[-1] in _ABOUT:
        return NEVER
    if known in ("pass", "pwd") and not more and owner and owner[-1] not in "_-.":
        return WORD if word[0].isupper() and owner[-1].islower() else NEVER  # dbPass, but not compass
    if known == "key" and not whose.endswith(_KEY_OWNERS):
        return RANDOM if upper and owner else NEVER
    return WORD


def _opening(text: str, at: int, *, typed: bool) -> tuple[int, str]:
    """Return where the value after a sign begins, and its quote with the backslashes before it."""
    window = text[at : at + _REACH].replace("\\t", "  ")
    plain = window.lstrip(" \t")
    start = at + len(window) - len(plain)
    quoted = plain.lstrip("bfru")  # b"", rf""
    quote = quoted[: len(quoted) - len(quoted.lstrip("\\")) + 1]
    if quote[-1:] in ('"', "'", "`"):
        return start + len(plain) - len(quoted) + len(quote), quote
    before, equals, _ = plain.partition("=")
    if typed and equals and before.strip() and _NO_TYPE.isdisjoint(before):  # name: type = "value"
        inner = _opening(text, start + len(before) + 1, typed=False)
        return inner if inner[1] else (start, "")
    return start, ""


def _value_end(text: str, start: int, quote: str, made_of: str) -> int:
    at = text.find(quote[-1], start, start + _LONGEST) if quote else -1
    while at >= 0 and text[at - len(quote) : at] == "\\" * len(quote):  # part of the value
        at = text.find(quote[-1], at + 1, start + _LONGEST)
    if at >= 0:
        return start + len(text[start:at].rstrip("\\"))
    end = _run_end(text, start, made_of)
    padded = end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))  # base64
    return padded if not text[padded : padded + 1].strip(_AFTER_NAME + "\r\n&,;)]}") else end


def _run_end(text: str, start: int, made_of: str, most: int = _LOOK) -> int:
    window = text[start : start + most]
    rest = window.lstrip(made_of)
    while rest[:1] > "\x7f":  # letters of other languages
        rest = rest[1:].lstrip(made_of)
    return start + len(window) - len(rest)


def _is_secret(value: str, kind: str, place: str, least: int) -> bool:
    least = max(least, _ENOUGH[place][kind not in ("password", "secret")])
    if least == NEVER or (least > WORD and _is_word(value)):
        return False
    weight = weigh(value)
    if weight == WORD and place == "quoted" and any(word in value.lower() for word in _PLAIN):
        return False  # the label of a field, in whatever language
    shortest = _SHORTEST_PASSWORD.get(weight, 0) if kind == "password" else _SHORTEST[place]
    return weight >= least and len(value) >= shortest


def _credential(text: str, at: int, quote: str, sign: str) -> Span | None:
    """Return what follows `Authorization:` and its scheme, or `Bearer`."""
    scheme = next((s for s in _SCHEMES if text[at : at + len(s)].lower() == s), "")
    start = at + len(scheme)
    end = _value_end(text, start, quote, _VALUE)
    value = text[start:end]
    if scheme == "basic ":  # base64 of a short text need not look random
        telling = len(value) % 4 == 0 and not value.islower() and not value.istitle() and weigh(value) >= WORD
    else:
        telling = weigh(value) >= (MIXED if scheme or not sign else NEVER if sign == "," else RANDOM)
    return (start, end, "authorization") if telling and len(value) >= _SHORTEST_PASSWORD[WORD] else None


def _login_passwords(text: str, low: str) -> Iterator[Span]:
    """Yield the passwords in `scheme://user:password@host` and `curl -u user:password`."""
    for sign in ("://", " -u", " --user"):
        at = text.find(sign) if ("@" in text if sign == "://" else "curl" in low) else -1
        while at >= 0:
            start = at + len(sign)
            if sign == "://":
                login, _, host = text[start : _run_end(text, start, _AUTHORITY, _LONGEST)].rpartition("@")
            else:
                start += len(text[start : start + 4]) - len(text[start : start + 4].lstrip(" =\\\"'"))
                login, host = text[start : _run_end(text, start, _SHELL_WORD)], ""
            user, _, password = login.partition(":")
            other = password.startswith(("$", "%s", "%(", "/")) or host.startswith("sha256:")
            if len(set(password)) >= _FEW and password.lower() not in _PLAIN and not other:
                yield start + len(user) + 1, start + len(login), "password"
            at = text.find(sign, at + 1)


def weigh(value: str) -> int:
    """Return how much a value looks like a secret: RANDOM, MIXED, WORD, or 0 for what only stands for one."""
    value = value[:_LOOK]
    low = value.lower()
    stand_in = len(set(low)) < _FEW or low in _PLAIN or any(mark in low for mark in _REFERENCES)
    call = any(_is_path(value.partition(bracket)[0]) for bracket in "([{" if bracket in value)
    if stand_in or call or value.split() != [value]:
        return 0
    plain = value.replace("_", "").replace(".", "").replace("-", "")
    if value[0] in "$&*@!#%" and (plain[1:].isalpha() or value[1:].isidentifier()):
        return 0
    if _is_random(value):
        return RANDOM
    if any(word in low for word in _STAND_INS):
        return 0
    return WORD if plain.isalpha() or plain.isdigit() else MIXED


def _is_word(value: str) -> bool:
    """Tell cheaply that `weigh` finds no more than a WORD."""
    plain = value.replace("_", "").replace(".", "").replace("-", "")
    return plain.isdigit() or (plain.isalpha() and (plain[1:].islower() or plain.isupper()))


def _is_path(text: str) -> bool:
    """Tell whether `text` is nothing, a variable or an attribute: what stands before a bracket in code."""
    return all(part.isidentifier() for part in text.split(".")) or not text


def _is_random(value: str) -> bool:
    """Tell whether digits and letters, small and capital ones, change about as in a random string."""
    digits = any(map(str.isdigit, value))
    if not digits and (value.islower() or value.isupper()):
        return False
    plain = [char for char in value if char.isalnum()]
    changes = 0
    for at, char in enumerate(plain[1:]):
        changes += char.isdigit() != plain[at].isdigit() or (char.isupper() and plain[at].islower())
    weight = 5 if digits else 4  # aVariableWithManyCapitals has no digits
    return len(plain) >= _SHORT and changes >= _FEW and weight * changes >= len(plain)
