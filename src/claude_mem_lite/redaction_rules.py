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

# Kind, what its tokens begin with, and how they go on; each pattern consumes what it has looked at, which
# keeps a hostile text at one pass. Source: the services' own documentation of their formats.
TOKENS = (
    ("aws key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![a-z\d])(?:[\s,|:;\"']{1,8}[\w/+]{40}(?![\w/+=]))?"),
    ("google key", "AIza", r"[\w-]{35}(?![\w-])"),
    ("google key", "ya29. GOCSPX-", r"[\w.-]{20,}"),
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{30,}(?:\.[\w-]+)*"),
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
    (
        "service token",
        "gsk_ xai- pplx- lin_api_ NRAK- glsa_ dckr_pat_ hvs. hvb. hvr. AGE-SECRET-KEY-1",
        r"[\w-]{24,}",
    ),
    ("service token", "secret_", r"[A-Za-z0-9]{43}(?!\w)"),
    ("service token", "ntn_", r"[A-Za-z0-9]{40,}"),
    ("slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/]{20,}"),
    ("discord webhook", "/api/webhooks/", ""),
    ("telegram token", ":AA", ""),
    ("discord token", ".", ""),
    ("twilio token", "AC", ""),
    ("firebase key", ":APA91b", ""),
    ("azure signature", "sig=", r"[\w%/+]{42,200}%3[dD]"),
    ("azure secret", "Q~", r"[\w~.-]{31,34}(?!\w)"),
)
PRIVATE_KEY = "PRIVATE KEY"
# The last eight stand in no run of token characters, or not at its beginning, or are too short to be a mark.
MARKS_IN_RUNS = tuple(mark for _, marks, _ in TOKENS[:-8] for mark in marks.split())
MARKS_ANYWHERE = ("hooks.slack.com/", "/api/webhooks/", ":AA", ":APA91b", PRIVATE_KEY)

_THREE_PARTS, _POINT = b" aaaaaa " + 27 * b"a", ord(".")
_WORDS = {
    "authorization": "authorization", "bearer": "authorization", "pass": "password", "pwd": "password",
    "secret": "secret", "token": "token", "credential": "credential", "key": "key", "sessionid": "session",
    "sessid": "session",
}  # fmt: skip
_CONTINUED = {"pass": ("words", "word", "wd", "phrase"), "secret": ("key", "s"), "credential": ("s",)}
_KEY_OWNERS = (
    "api", "access", "secret", "private", "signing", "encryption", "auth", "account", "master", "shared",
    "storage", "session", "service", "license", "webhook", "hmac", "jwt", "cookie", "ssh", "deploy", "app",
    "server",
)  # fmt: skip
_NOT_SECRET = ("public", "next", "page", "continuation", "primary", "foreign", "sort", "cache", "design")
_ABOUT = frozenset({  # a name that ends so tells something about a secret, not the secret
    "id", "ids", "name", "names", "type", "types", "url", "uri", "path", "file", "dir", "field", "fields",
    "count", "counts", "length", "len", "size", "limit", "max", "min", "expires", "expiry", "expiration",
    "ttl", "at", "in", "arn", "ref", "version", "format", "prefix", "suffix", "header", "env", "var", "class",
    "policy", "label", "hint", "placeholder", "endpoint", "regex", "pattern", "position", "index", "usage",
    "used", "budget", "rate", "cost", "algorithm", "alg", "method", "mode", "enabled", "required", "error",
    "message", "title", "text", "description", "status", "rules", "provider", "source", "spec", "time", "stdin",
})  # fmt: skip
_SCHEMES = ("bearer ", "basic ", "token ", "bot ", "apikey ", "key ", "ssws ")
# The least weight that counts for what people choose and for what is made at random, by where it stands:
# NAME=value, "value", at the end of a line, amid code. And the least length, but passwords may be short.
_ENOUGH = {"env": (WORD, MIXED), "quoted": (WORD, MIXED), "last": (MIXED, RANDOM), "inside": (RANDOM,) * 2}
_SHORTEST = {"env": 4, "quoted": 8, "last": 8, "inside": 16}

_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-."
_AFTER_NAME = "\\\"'`] \t"
_GOES_ON = frozenset("0123456789_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ=:,>" + _AFTER_NAME)
_LINE_ENDS, _ESCAPED_ENDS = frozenset(("", *"\r\n\"'#")), frozenset("rn\"'")
_NO_TYPE = frozenset("\\\"'`;(){}:/@\n")
_ASCII = "".join(map(chr, range(33, 127)))
_SHELL_WORD = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`")))  # what a word of a shell is made of
_VALUE = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`,;&<>(){}[]|=")))
_AUTHORITY = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`,;<>(){}[]|/")))
_REACH = 48  # the longest name on either side of its word
_LOOK = 64  # how much of a value is looked at
_LONGEST = 4096  # the end of a quoted value is looked for as far as this

_REFERENCES = (
    "${", "$(", "#{", "{{", "{}", "%(", "%s", "%d", "(?", "...", "…", "://", "[redacted", "<", "arn:",
)  # fmt: skip
_STAND_INS = ("your", "example", "change", "placeholder", "redacted", "xxxx", "dummy", "required", "string")
_PLAIN = ("password", "passwd", "pass", "pwd", "pw", "secret", "token", "none", "null", "true")
QUOTED_LEAST = _SHORTEST["quoted"]
_SESSION = 20  # characters: the shortest id of a session that is taken for a key to it
_FEW, _SHORT = 3, 10  # characters: fewer different ones are no value, fewer of any kind are not random


def has_account(runs: str) -> bool:
    """Tell whether the id of a Twilio account stands in text, with its token perhaps."""
    at = runs.find("AC")
    while at >= 0 and runs[at + 2 : at + 34].strip("0123456789abcdef"):
        at = runs.find("AC", at + 2)
    return at >= 0


def has_three_parts(text: bytes, shape: bytes) -> bool:
    """Tell whether what looks like a token of Discord stands in text, of which `shape` is that of `find_marks`."""
    at = shape.find(_THREE_PARTS)
    while at >= 0 and not (text[at] == text[at + 7] == _POINT and shape[max(0, at - 22) : at] == b"a" * 22):
        at = shape.find(_THREE_PARTS, at + 7)
    return at >= 0


def holds_word(name: str) -> bool:
    """Tell whether a name may be that of a secret."""
    return any(word in name.lower() for word in _WORDS)


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
    for value in (*_login_passwords(text, low), *_cookies(text, low)):
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
    if word == "bearer":
        return at == 0 or low[at - 1] not in _NAME or low[at - 2 : at - 1] == "\\"
    before = low[max(0, at - _REACH) : at]  # --token X, ENV TOKEN X
    if low.startswith("password", at) and (rest[1:2] in ("'", '"') or "login " in before):  # .netrc
        return True
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
    word_end, kind = at + len(word), _WORDS[word]
    tail = low[word_end : word_end + _REACH]
    name_end = word_end + len(tail) - len(tail.lstrip(_NAME))
    rest = text[name_end : name_end + _REACH]
    sign_at = name_end + len(rest) - len(rest.lstrip(_AFTER_NAME))
    sign = text[sign_at : sign_at + 3]
    sign = sign[: len(sign) - len(sign.lstrip("=:>"))] or sign[:1].strip(_NAME + _NAME.upper())
    start, quote = _opening(
        text, sign_at + len(sign) if sign else name_end, typed=sign == ":" and kind != "authorization"
    )
    if kind == "authorization":
        return _credential(text, start, quote, sign) if name_end == word_end else None
    end = _value_end(text, start, quote, _VALUE)
    value = text[start:end]
    if not quote and (sign in (",", "==") or (sign != ">" and not text[at].isupper() and _is_word(value))):
        return None  # most of what code assigns
    name_at = _name_start(low, at)
    upper = text[name_at:name_end].isupper()
    least = _least_weight(text[name_at:at], text[at:word_end], text[word_end:name_end])
    around = text[name_at - 1 : name_at] + text[end : end + 2]
    if sign == "::" or (sign == ">" and around != "<</") or (sign == ":" and around[:1] == ":"):
        least = NEVER  # a path in C++, no element of XML, part of an arn:
    after = text[end : end + _REACH].lstrip(" ")
    listed = sign == "=" and start == name_end + 1 and after[:1] in (";", "&")  # a=b;c=d or a=b&c=d
    if upper and sign == "=" and sign_at == name_end and start == sign_at + 1 + len(quote):
        place, end = "env", _value_end(text, start, quote, _SHELL_WORD)
    elif text[name_at : name_at + 2] == "--" and not quote:
        place, end, least = "env", _value_end(text, start, quote, _SHELL_WORD), max(least, MIXED)
    elif quote or sign == ">":
        place, least = "quoted", max(least, RANDOM) if sign == "," else least
    elif text[end : end + 1] in ("(", "[") or ("." in value and _is_path(value) and not _is_key(value)):
        return None  # an expression
    elif listed or after[:1] in _LINE_ENDS or (after[:1] == "\\" and after.lstrip("\\")[:1] in _ESCAPED_ENDS):
        place = "env" if upper and sign == ":" and value.islower() else "last"
    else:
        place = "inside"
    if (word == "pwd" and value[:1] in ("/", "~")) or not _is_secret(text[start:end], kind, place, least):
        return None  # PWD is the working directory
    while end >= start + _LOOK and (more := _run_end(text, end, _VALUE)) > end:
        end = more
    return start, end, kind


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
    if known in ("pass", "pwd") and not more:  # db_pass and dbPass, but not compass
        apart = not owner[-1:].strip("_-.") or (word[0].isupper() and owner[-1].islower())
        return (WORD if upper else MIXED) if apart else NEVER
    if known.startswith("sess"):
        return RANDOM
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
    return padded if not text[padded : padded + 1].strip(" \t\r\n\\&,;)]}\"'`") else end


def _run_end(text: str, start: int, made_of: str, most: int = _LOOK) -> int:
    window = text[start : start + most]
    rest = window.lstrip(made_of)
    while rest[:1] > "\x7f":  # letters of other languages
        rest = rest[1:].lstrip(made_of)
    return start + len(window) - len(rest)


def _is_secret(value: str, kind: str, place: str, least: int) -> bool:
    chosen = kind == "password" or (kind == "secret" and place != "last")
    least = max(least, _ENOUGH[place][not chosen])
    weight = 0 if least == NEVER or (least > WORD and _is_word(value)) else weigh(value)
    if weight == WORD and place == "quoted" and any(word in value.lower() for word in _PLAIN):
        return False  # the label of a field, in whatever language
    if kind == "session" and (len(value) < _SESSION or value.count("-") == 4):  # noqa: PLR2004  (a UUID)
        return False
    shortest = _SHORTEST[place] if kind != "password" else 6 if weight == WORD else 4
    return weight >= least and len(value) >= shortest


def _credential(text: str, at: int, quote: str, sign: str) -> Span | None:
    """Return what follows `Authorization:` and its scheme, or `Bearer`."""
    scheme = next((s for s in _SCHEMES if text[at : at + len(s)].lower() == s), "")
    start = at + len(scheme)
    end = _value_end(text, start, quote, _VALUE)
    value = text[start:end]
    if scheme == "basic " and len(value) % 4 == 0:  # base64 of a short text need not look random
        least = WORD
    else:
        least = MIXED if scheme or not sign else NEVER if sign == "," else RANDOM
    telling = len(value) >= _SHORTEST["quoted"] and weigh(value) >= least and not _is_word(value)
    return (start, end, "authorization") if telling else None


def _login_passwords(text: str, low: str) -> Iterator[Span]:
    """Yield the passwords in `scheme://user:password@host`, `curl -u user:password` and `.pgpass`."""
    for sign in ("://", " -u", " --user", ":5432:"):
        at = text.find(sign) if ("@" in text if sign == "://" else sign[0] == ":" or "curl" in low) else -1
        while at >= 0:
            start = at + len(sign)
            if sign == "://":
                login, _, host = text[start : _run_end(text, start, _AUTHORITY, _LONGEST)].rpartition("@")
                if not login and not host.partition(":")[2].isdecimal():  # no port: a slash in a password
                    login, _, host = text[start : _run_end(text, start, _AUTHORITY + "/")].rpartition("@")
            else:
                start += len(text[start : start + 4]) - len(text[start : start + 4].lstrip(" =\\\"'"))
                login, host = text[start : _run_end(text, start, _SHELL_WORD)], ""
            if sign == ":5432:":  # host:port:database:user:password
                database, colon, login = login.partition(":")
                start += len(database + colon)
            user, colon, password = login.partition(":")
            start += len(user + colon)
            if colon and not password and sign != "://":
                start, quote = _opening(text, start, typed=False)
                password = text[start : _value_end(text, start, quote, _SHELL_WORD)] if quote else ""
            other = password.startswith(("$", "%s", "%(", "/", "[")) or host.startswith("sha256:")
            if len(set(password)) >= _FEW and password.lower() not in _PLAIN and not other:
                yield start, start + len(password), "password"
            at = text.find(sign, at + 1)


def _cookies(text: str, low: str) -> Iterator[Span]:
    """Yield the random values among the first of `Cookie: name=value; name=value`."""
    at = low.find("cookie")
    while at >= 0:
        start, end = at + 6, at + 6 + _LONGEST // 4
        window = text[start:end]
        start += len(window) - len(window.lstrip(_AFTER_NAME + ":="))
        while (
            text[at + 6 : start].strip(" ") and (more := text.find("=", start, min(end, start + _LOOK))) > 0
        ):
            start, stop = more + 1, _run_end(text, more + 1, _VALUE, _LONGEST)
            value = text[start:stop]
            if len(value) >= _SESSION and weigh(value) == RANDOM:
                yield start, stop, "cookie"
            if text[stop : stop + 1] != ";":
                break
            start = stop
        at = low.find("cookie", max(at + 6, start))


def weigh(value: str) -> int:
    """Return how much a value looks like a secret: RANDOM, MIXED, WORD, or 0 for what only stands for one."""
    value = value[:_LOOK]
    low = value.lower()
    stand_in = len(set(low)) < _FEW or low in _PLAIN or any(mark in low for mark in _REFERENCES)
    call = any(_is_path(value.partition(bracket)[0]) for bracket in "([{" if bracket in value)
    if stand_in or call or value.split() != [value]:
        return 0
    if value[0] in "$&*@!#%" and (_letters(value[1:]).isalpha() or value[1:].isidentifier()):
        return 0
    if _is_random(value):
        return RANDOM
    plain = _letters(value)
    number = plain.isdigit() and plain != value
    if number or value[0] in "/~." or low.startswith("0x") or any(word in low for word in _STAND_INS):
        return 0
    return WORD if plain.isalpha() or plain.isdigit() else MIXED


def _is_word(value: str) -> bool:
    """Tell cheaply that `weigh` finds no more than a WORD."""
    plain = _letters(value)
    return plain.isdigit() or (plain.isalpha() and (plain[1:].islower() or plain.isupper()))


def _letters(value: str) -> str:
    for joint in "_-./:+":
        value = value.replace(joint, "")
    return value


def _is_path(text: str) -> bool:
    """Tell whether `text` is nothing, a variable or an attribute: what stands before a bracket in code."""
    return not text or all(part.isidentifier() for part in text.split("."))


def _is_key(value: str) -> bool:
    """Tell whether a random string stands between the points of what else were a path."""
    return any(len(part) > _SESSION and _is_random(part) for part in value.split("."))


def _is_random(value: str) -> bool:
    """Tell whether letters and digits change about as in a random string, or letters make no syllables."""
    plain = [char for char in value if char.isalnum()]
    if len(plain) < _SHORT or not any(map(str.isdigit, plain)):
        spaced = "".join(" " if char in "aeiouyAEIOUY" else char for char in plain)
        mixed = not (value.islower() or value.isupper())
        return len(plain) >= _SHORT and mixed and max(map(len, spaced.split()), default=0) > 2 * _FEW
    changes = 0
    for at, char in enumerate(plain[1:]):
        changes += char.isdigit() != plain[at].isdigit() or (char.isupper() and plain[at].islower())
    return changes >= _FEW and 5 * changes > len(plain)
