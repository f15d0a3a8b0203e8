"""What a secret looks like: tokens by their beginning, values by their name, private keys by their armour.

One text in, its secrets out; events and files are the business of `redact`. A hook loads this module for
every event, so it imports nothing itself, and `re` only when a search without it has found something.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Span = tuple[int, int, str]  # start, end, kind

WORD, MIXED, RANDOM, NEVER = 1, 2, 3, 4  # how much a value looks like a secret; 0 is not at all

_WORDS = {
    "authorization": "authorization", "bearer": "authorization", "pass": "password", "pw": "password",
    "secret": "secret", "token": "token", "credential": "credential", "key": "key", "sessionid": "session",
}  # fmt: skip
_CONTINUED = {
    "pass": ("words", "word", "wd", "phrase"),
    "pw": ("d",),
    "secret": ("key", "s"),
    "credential": ("s",),
}
_KEY_OWNERS = (
    "api", "access", "secret", "private", "signing", "encryption", "auth", "account", "master", "shared",
    "storage", "session", "service", "license", "webhook", "hmac", "jwt", "cookie", "ssh", "deploy", "app",
    "server", "subscription",
)  # fmt: skip
_NOT_SECRET = (
    "existing",
    "public",
    "next",
    "page",
    "continuation",
    "primary",
    "foreign",
    "sort",
    "cache",
    "design",
)
_ABOUT = frozenset({  # a name that ends so tells something about a secret, not the secret
    "id", "ids", "name", "names", "type", "types", "url", "uri", "path", "file", "dir", "field", "fields",
    "count", "counts", "length", "len", "size", "limit", "max", "min", "expires", "expiry", "expiration",
    "ttl", "at", "in", "arn", "ref", "version", "format", "prefix", "suffix", "header", "env", "var", "class",
    "policy", "label", "hint", "placeholder", "endpoint", "regex", "pattern", "position", "index", "usage",
    "used", "budget", "rate", "cost", "algorithm", "alg", "method", "mode", "enabled", "required", "error",
    "message", "title", "text", "description", "status", "rules", "provider", "source", "spec", "time",
    "stdin", "created", "updated", "changed", "rotated", "date", "color", "colour", "address",
})  # fmt: skip
_SCHEMES = ("bearer ", "basic ", "token ", "bot ", "apikey ", "key ", "ssws ")
# The least weight that counts for what people choose and for what is made at random, by where it stands:
# NAME=value, "value", at the end of a line, amid code. And the least length, but passwords may be short.
_ENOUGH = {"env": (WORD, MIXED), "quoted": (WORD, MIXED), "last": (MIXED, RANDOM), "inside": (RANDOM,) * 2}
_SHORTEST = {"env": 4, "quoted": 8, "last": 8, "inside": 16}

_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-."
AFTER_NAME = "\\\"'`] \t"
_GOES_ON = frozenset("0123456789_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ=:,>(<\r\n" + AFTER_NAME)
_LINE_ENDS, _ESCAPED_ENDS = frozenset(("", *"\r\n\"'#\x1b")), ("r", "n", '"', "'", "u001b", "x1b")
_NO_TYPE = frozenset("\\\"'`;(){}:/@\n")
_ASCII = "".join(map(chr, range(33, 127)))
SHELL_WORD = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`")))  # what a word of a shell is made of
VALUE = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`,;&<>(){}[]|=")))
_COMMANDS = (" -", "env ", "set ", "setx ", "set -x ", "set -gx ", "set -ux ")  # these name what they set
# A value whose name is the value beside it; what stands right behind that, and what does not between the two.
_PAIRED = ("value", "default", "<string")
_APART = (",", "{", "\n", "n", "</key>", "value", "type", "default")
_OTHERS = ("}", ";", "name", "key", "- ")
_FALLBACKS = ("||", "??", "?:", " or ", ": ", ",")
_REACH = 48  # the longest name on either side of its word
LOOK = 64  # how much of a value is looked at
LONGEST = 4096  # the end of a quoted value is looked for as far as this

_REFERENCES = (
    "${", "$(", "#{", "{{", "{}", "%(", "%s", "%d", "(?", "...", "…", "://", "[redacted", "arn:",
)  # fmt: skip
_STAND_INS = (
    "your",
    "example",
    "change",
    "replace",
    "insert_",
    "todo",
    "placeholder",
    "redacted",
    "xxxx",
    "dummy",
    "required",
    "string",
)
PLAIN = ("password", "passwd", "pass", "pwd", "pw", "secret", "token", "none", "null", "true")
QUOTED_LEAST = _SHORTEST["quoted"]
SESSION = 20  # characters: the shortest id of a session that is taken for a key to it
# What may stand beside a password that no name gives away; `redaction_logins` tells.
_LOGINS = ("cookie", ":5432:", ":*:*:", "identified by", ".login(", "securestring")
_COMMANDS_OF = {
    "u": ("curl", "lftp", "smbclient"),
    "a": ("redis-cli", "http"),
    "b": ("curl",),
    "w": ("ldap",),
}
_UUID_DASHES = 4
_ADDRESS, _COLOUR = 42, 9  # characters of 0x and twenty bytes, and the most of # and four bytes
FEW, _SHORT = 3, 10  # characters: fewer different ones are no value, fewer of any kind are not random


def holds_word(name: str) -> bool:
    """Tell whether a name may be that of a secret."""
    return any(word in name.lower() for word in _WORDS)


def find_values(text: str) -> list[Span]:
    """Return each value that its name or its place gives away, in order."""
    low = text.replace("\u0130", "i").lower()  # the one letter that is longer in lower case
    found: dict[int, Span] = {}
    passes = set()
    for word in _WORDS:
        at = low.find(word) if word != "authorization" or "auth" in low else -1
        while at >= 0:
            end = at + len(word)
            if word == "pass":
                passes.add(low[end : end + 2])
            # Most are words of code or prose: a look at what follows tells.
            if text[end : end + 1] in _GOES_ON or word in _CONTINUED:
                value = _named_value(text, low, at, word) if _may_name(low, at, word) else None
                if not value and low[end : end + _REACH].lstrip(_NAME).lstrip("\\\"'` :)").startswith(_APART):
                    value = _paired_value(text, low, at, word)
                if value:
                    found.setdefault(value[0], value)
                    end = value[1]
            at = low.find(word, end)
    signs = _login_signs(low, passes)
    if signs:
        from claude_mem_lite.redaction_logins import find_logins

        for value in find_logins(text, low, signs):
            found.setdefault(value[0], value)
    return sorted(found.values())


def _login_signs(low: str, passes: set[str]) -> set[str]:
    """Return the signs of logins in a text, those of commands only where the right option stands.

    `passes` is what follows `pass` in the text, two characters each.
    """
    signs = {sign for sign in _LOGINS if sign in low}
    if "@" in low and "://" in low:
        signs.add("://")
    signs.update("auth" for after in low.split("auth")[1:] if after[:1] in ("=", '"', "\\"))
    signs.update(" pass:" for after in passes if after[:1] == ":")
    signs.update("chpasswd" for after in passes if after == "wd")
    before, *after = low.split(" -")
    for text in after:
        if text[:1] == "s" and before.endswith("| sudo"):
            signs.add("| sudo -s")
        before = text
    options = {"u" if text.startswith("-user") else text[:1] for text in after}
    signs.update(f" -{option}" for option in options & {"p", "n"})
    signs.update("password-stdin" for text in after if text.startswith("-password-s"))
    signs.update(
        name for option in options & _COMMANDS_OF.keys() for name in _COMMANDS_OF[option] if name in low
    )
    return signs


def _may_name(low: str, at: int, word: str) -> bool:  # noqa: PLR0911  (a return a way to write it)
    end = at + len(word)
    rest = low[end : end + _REACH].lstrip(_NAME)
    sign = rest.lstrip(AFTER_NAME)[:1]
    if sign in ("=", ":") or (sign == "|" and rest[0] in " ]"):
        return word != "key" or bool(low[at - 1 : at].strip(" \"'`\\,({["))  # somebody's key
    if sign in (",", ">"):  # "TOKEN", "value" and <token>value<
        return (rest[0] == sign) is (sign == ">")
    if sign == "(":  # .setPassword("value"), .password("value")
        return low[:at].endswith(("set", "with", ".")) and rest[1:].lstrip("\\")[:1] in ("'", '"')
    if rest[:1] != " ":
        return False
    if word == "bearer":
        return at == 0 or low[at - 1] not in _NAME or low[at - 2 : at - 1] == "\\"
    before = low[max(0, at - _REACH) : at]  # --token X, ENV TOKEN X
    if low.startswith("password", at) and (rest[1:2] in ("'", '"') or "login " in before):  # .netrc
        return True
    if rest.startswith("    ") or before.endswith(("require", "bind", "root")):  # a table; requirepass X
        return True
    name = before[_name_start(before, len(before)) :] if any(sign in before for sign in _COMMANDS) else ""
    return name.startswith("-") or before.removesuffix(name).endswith(_COMMANDS[1:])


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


def _named_value(text: str, low: str, at: int, word: str) -> Span | None:  # noqa: C901  (as above)
    word_end, kind = at + len(word), _WORDS[word]
    tail = low[word_end : word_end + _REACH]
    name_end = word_end + len(tail) - len(tail.lstrip(_NAME))
    rest = text[name_end : name_end + _REACH]
    sign_at = name_end + len(rest) - len(rest.lstrip(AFTER_NAME))
    sign = text[sign_at : sign_at + 3]
    sign = sign[: len(sign) - len(sign.lstrip("=:>"))] or sign[:1].strip(_NAME + _NAME.upper() + "<")
    start, quote = opening(
        text, sign_at + len(sign) if sign else name_end, typed=sign == ":" and kind != "authorization"
    )
    if kind == "authorization":
        return _credential(text, start, quote, sign) if name_end == word_end else None
    end = value_end(text, start, quote, VALUE)
    value = text[start:end]
    line_end = run_end(text, start, SHELL_WORD)
    odd = (
        value if quote or kind != "password" or text[start - 1] != " " else text[start:line_end].rstrip(",;)")
    )
    if len(odd) > len(value) and _is_odd(odd) and _ends_line(text[line_end : line_end + _REACH]):
        value, end = odd, start + len(odd)
    if not quote and (sign in (",", "==") or (sign != ">" and not text[at].isupper() and _is_word(value))):
        return _fallback(text, start, kind) if sign else None  # most of what code assigns
    name_at = _name_start(low, at)
    upper = text[name_at:name_end].isupper()
    least = _least_weight(text[name_at:at], text[at:word_end], text[word_end:name_end])
    around = text[name_at - 1 : name_at] + text[end : end + 2]
    if (
        sign == "::"
        or (sign == ">" and around != "<</")
        or (around[:1] == sign == ":" and text[sign_at + 1 : sign_at + 2] != " ")
    ):
        least = NEVER  # a path in C++, no element of XML, part of an arn:
    after = text[end : end + _REACH].lstrip(" ")
    listed = sign == "=" and start == name_end + 1  # a=b;c=d, a=b&c=d or a=b c=d
    listed = listed and (after[:1] in (";", "&") or after.partition("=")[0].isidentifier())
    if (
        upper
        and sign == "="
        and text[start : start + 1] != "{"
        and sign_at == name_end
        and start == sign_at + 1 + len(quote)
    ):
        place, end = "env", value_end(text, start, quote, SHELL_WORD)
    elif text[name_at : name_at + 1] == "-" and sign in ("", "=") and not quote:
        place, end, least = "env", value_end(text, start, quote, SHELL_WORD), max(least, MIXED)
    elif quote or sign == ">":
        place, least = "quoted", max(least, {",": RANDOM, "==": RANDOM, "(": MIXED}.get(sign, 0))
    elif (
        text[end : end + 1] in ("(", "[")
        or (text[end : end + 1] == "{" and low[name_end - 1] == "s")  # passwords = {"me": "X"}
        or ("." in value and _is_path(value) and not _is_key(value))
    ):
        return _fallback(text, start, kind)  # an expression
    elif listed or value is odd or _ends_line(after):
        place = "env" if upper and sign == ":" and value.islower() else "last"
    else:
        place = "inside"
    if word == "pw" and value[:1] in ("/", "~"):
        return None  # PWD is the working directory
    if not _is_secret(text[start:end], kind, place, least, quote):
        return None
    return start, end if quote else whole_end(text, start, end, SHELL_WORD if place == "env" else VALUE), kind


def _ends_line(text: str) -> bool:
    """Tell whether a line ends here, but for blanks; in JSON the end may be escaped."""
    rest = text.lstrip(" ")
    return rest[:1] in _LINE_ENDS or (rest[0] == "\\" and rest.lstrip("\\").startswith(_ESCAPED_ENDS))


def _is_odd(value: str) -> bool:
    """Tell whether a value with signs in it that mostly stand between values is a password all the same."""
    shape = "".join(char if char.isalnum() else " " for char in value)
    code = any(sign in value for sign in ("=>", "&&", "||", "->", "::", "?.", "<<"))
    return not code and any(map(str.isdigit, value)) and any(not part.islower() for part in shape.split())


def _paired_value(text: str, low: str, at: int, word: str) -> Span | None:
    """Return the value of `"name": "password", "value": "X"`, in JSON, YAML, XML or Terraform."""
    tail = low[at + len(word) : at + len(word) + _REACH]
    name_end = at + len(word) + len(tail) - len(tail.lstrip(_NAME))
    window = low[name_end : name_end + 3 * _REACH]
    sign = next((sign for sign in _PAIRED if sign in window), "")
    if not sign:
        return None
    between, _, rest = window.partition(sign)
    if (
        any(other in between.removeprefix("</key>") for other in _OTHERS)
        or rest.lstrip(AFTER_NAME)[:1] not in "=:>"
    ):
        return None
    start = name_end + len(window) - len(rest.lstrip(AFTER_NAME)) + 1
    start, quote = opening(text, start, typed=False)
    end = value_end(text, start, quote, VALUE)
    name_at = _name_start(low, at)
    least = max(
        MIXED, _least_weight(text[name_at:at], text[at : at + len(word)], text[at + len(word) : name_end])
    )
    place = "quoted" if quote or "<" in sign else "last"
    if (place == "last" and not _ends_line(text[end : end + _REACH])) or word in ("bearer", "authorization"):
        return None
    return (
        (start, end, _WORDS[word]) if _is_secret(text[start:end], _WORDS[word], place, least, quote) else None
    )


def _fallback(text: str, start: int, kind: str) -> Span | None:
    """Return the literal in `environment("PASSWORD") or "X"` and the like."""
    line = text[start : start + 2 * _REACH].partition("\n")[0]
    for sign in _FALLBACKS:
        before, found, rest = line.partition(sign)
        if found and "#" not in before and rest.lstrip(" \\")[:1] in ("'", '"', "`"):
            begin, quote = opening(text, start + len(before + found), typed=False)
            end = value_end(text, begin, quote, VALUE)
            least = RANDOM if found == "," else MIXED
            return (begin, end, kind) if _is_secret(text[begin:end], kind, "quoted", least, quote) else None
    return None


def _least_weight(owner: str, word: str, tail: str) -> int:
    """Return the least weight of a value that the name `owner + word + tail` makes a secret."""
    whose, known = owner.lower().rstrip("_-."), word.lower()
    more = next((more for more in _CONTINUED.get(known, ()) if tail.lower().startswith(more)), "")
    more = more if not tail[len(more) : len(more) + 1].islower() else ""
    tail = tail[len(more) :]
    upper = (owner + word + tail).isupper()
    if whose.endswith(_NOT_SECRET) or (tail[:1].isalpha() and (upper or tail[0].islower())):
        return NEVER  # public_key, or another word: tokenizer, passing, keyboard
    parts = tail if upper else "".join(f"_{c}" if c.isupper() else c for c in tail)
    if parts.lower().replace("-", "_").replace(".", "_").rsplit("_", 1)[-1] in _ABOUT:
        return NEVER
    if known in ("pass", "pwd") and not more:  # db_pass and dbPass, but not compass
        apart = not owner[-1:].strip("_-.") or (word[0].isupper() and owner[-1].islower())
        return (WORD if upper else MIXED) if apart or whose.endswith(("require", "store", "-key")) else NEVER
    if known.startswith("sess"):
        return MIXED
    if known == "key" and not whose.endswith(_KEY_OWNERS):
        return RANDOM if upper and owner else NEVER
    return WORD


def opening(text: str, at: int, *, typed: bool) -> tuple[int, str]:
    """Return where the value after a sign begins, and its quote with the backslashes before it."""
    window = text[at : at + _REACH].replace("\\t", "  ")
    plain = window.lstrip(" \t")
    if typed and plain[:1] in ("|", ">"):  # a block of YAML
        block = plain.lstrip("|>+-").replace("\\r", "  ").replace("\\n", "\n ").lstrip(" \r")
        plain = block.lstrip("\n ") if block[:1] == "\n" else plain
    start = at + len(window) - len(plain)
    quoted = plain.lstrip("bfru")  # b"", rf""
    quote = quoted[: len(quoted) - len(quoted.lstrip("\\")) + 1]
    if quote[-1:] in ('"', "'", "`"):
        return start + len(plain) - len(quoted) + len(quote), quote
    before, equals, _ = plain.partition("=")
    spaced = before[-1:] == " " or before.isalpha()  # no padding of base64
    if typed and equals and before.strip() and spaced and _NO_TYPE.isdisjoint(before):  # name: type = "value"
        inner = opening(text, start + len(before) + 1, typed=False)
        return inner if inner[1] else (start, "")
    return start, ""


def value_end(text: str, start: int, quote: str, made_of: str) -> int:
    """Return where a value ends: at its quote, or where characters end that it is `made_of`."""
    at = text.find(quote[-1], start, start + LONGEST) if quote else -1
    while at >= 0 and text[at - len(quote) : at] == "\\" * len(quote):  # part of the value
        at = text.find(quote[-1], at + 1, start + LONGEST)
    if at >= 0:
        return start + len(text[start:at].rstrip("\\"))
    end = run_end(text, start, made_of)
    padded = end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))  # base64
    return padded if not text[padded : padded + 1].strip(" \t\r\n\\&,;)]}\"'`") else end


def run_end(text: str, start: int, made_of: str, most: int = LOOK) -> int:
    """Return where the characters of `made_of` end, looking at `most` of them."""
    window = text[start : start + most]
    rest = window.lstrip(made_of)
    while rest[:1] > "\x7f":  # letters of other languages
        rest = rest[1:].lstrip(made_of)
    return start + len(window) - len(rest)


def whole_end(text: str, start: int, end: int, made_of: str) -> int:
    """Return where a value really ends of which the first `LOOK` characters have been looked at."""
    while end >= start + LOOK and (more := run_end(text, end, made_of)) > end:
        end = more
    return end


def _is_secret(value: str, kind: str, place: str, least: int, quote: str) -> bool:
    chosen = kind == "password" or (kind == "secret" and place != "last")
    least = max(least, _ENOUGH[place][not chosen])
    weight = 0 if least == NEVER or (least > WORD and _is_word(value)) else weigh(value, quoted=quote != "")
    if weight == WORD and place == "quoted" and any(word in value.lower() for word in PLAIN):
        return False  # the label of a field, in whatever language
    if kind == "session" and (len(value) < SESSION or value.count("-") == _UUID_DASHES):
        return False
    shortest = _SHORTEST[place] if kind != "password" else 6 if weight == WORD else 4
    return weight >= least and len(value) >= shortest


def _credential(text: str, at: int, quote: str, sign: str) -> Span | None:
    """Return what follows `Authorization:` and its scheme, or `Bearer`."""
    scheme = next((s for s in _SCHEMES if text[at : at + len(s)].lower() == s), "")
    start = at + len(scheme)
    end = value_end(text, start, quote, VALUE)
    value = text[start:end]
    if scheme == "basic " and len(value) % 4 == 0:  # base64 of a short text need not look random
        least = WORD
    else:
        least = MIXED if scheme or not sign else NEVER if sign == "," else RANDOM
    telling = len(value) >= _SHORTEST["quoted"] and weigh(value) >= least and not _is_word(value)
    return (start, end if quote else whole_end(text, start, end, VALUE), "authorization") if telling else None


def weigh(value: str, *, quoted: bool = True) -> int:  # noqa: PLR0911  (as above)
    """Return how much a value looks like a secret: RANDOM, MIXED, WORD, or 0 for what only stands for one."""
    value = value[:LOOK]
    low = value.lower()
    if (low.startswith("0x") and len(value) == _ADDRESS) or (value[:1] == "#" and len(value) <= _COLOUR):
        return 0
    if value[4:5] == value[7:8] == "-" and _letters(value[:10]).isdigit():  # a date
        return 0
    stand_in = len(set(low)) < FEW or low in PLAIN or any(mark in value for mark in _REFERENCES)
    if stand_in or _is_expression(value, quoted=quoted) or value.split() != [value]:
        return 0
    if value[0] in "$&*@!#%" and (
        _letters(value[1:]).isalpha() or (value[1:].isidentifier() and not (quoted and value[0] != "$"))
    ):
        return 0
    if _is_random(value):
        return RANDOM
    plain = _letters(value.rstrip("%"))
    number = plain.isdigit() and plain != value
    if number or value[0] in "/~." or low.startswith("0x") or any(word in low for word in _STAND_INS):
        return 0
    word = plain.isdigit() or (plain.isalpha() and 3 * _turns(plain) <= len(plain))
    return WORD if word else MIXED


def _is_expression(value: str, *, quoted: bool) -> bool:
    """Tell whether `value` calls, indexes or stands for something: `f(x)`, `<your-key>`, in quotes `a{b}`."""
    for opener, closer in ("()", "[]", "{}", "<>"):
        before, found, rest = value.partition(opener)
        if not found:
            continue
        inner, closed, _ = rest.partition(closer)
        name = _letters(inner).strip("!|")
        if (
            opener in "{<"
            and closed
            and (name.isdigit() or (name.isalpha() and 3 * _turns(name) <= len(name)))
        ):
            return True
        if _is_path(before) and (not quoted or (closed and value[-1] == closer and opener in "([")):
            return True
    return False


def _turns(value: str) -> int:
    """Return how often letters change between capital and small: in base64 more often than in names."""
    return sum(value[at].isupper() != value[at + 1].isupper() for at in range(len(value) - 1))


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
    return any(len(part) > SESSION and _is_random(part) for part in value.split("."))


def _is_random(value: str) -> bool:
    """Tell whether letters and digits change about as in a random string, or letters make no syllables."""
    plain = [char for char in value if char.isalnum()]
    if len(plain) < _SHORT or not any(map(str.isdigit, plain)):
        spaced = "".join(" " if char in "aeiouyAEIOUY" else char for char in plain)
        mixed = not (value.islower() or value.isupper())
        return len(plain) >= _SHORT and mixed and max(map(len, spaced.split()), default=0) > 2 * FEW
    changes = 0
    for at, char in enumerate(plain[1:]):
        changes += char.isdigit() != plain[at].isdigit() or (char.isupper() and plain[at].islower())
    return changes >= FEW and 5 * changes > len(plain)
