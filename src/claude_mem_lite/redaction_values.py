"""What a name gives away: the value that stands behind a name of a secret, and whether that is one.

A hook loads this module for a text in which such a name stands before a value.
"""

from __future__ import annotations

from claude_mem_lite.redaction_rules import (
    AFTER_NAME,
    CONTINUED,
    KEY_OWNERS,
    LONGEST,
    NAME,
    REACH,
    WORDS,
    name_start,
)
from claude_mem_lite.redaction_weights import (
    FEW,
    LOOK,
    MIXED,
    NEVER,
    RANDOM,
    SHORTEST,
    WORD,
    is_chosen,
    is_key,
    is_path,
    is_secret,
    is_word,
    weigh,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    Span = tuple[int, int, str]  # start, end, kind

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
_LINE_ENDS, _ESCAPED_ENDS = frozenset(("", *"\r\n\"'#\x1b")), ("r", "n", '"', "'", "u001b", "x1b")
_NO_TYPE = frozenset("\\\"'`;(){}:/@\n")
_ASCII = "".join(map(chr, range(33, 127)))
SHELL_WORD = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`")))  # what a word of a shell is made of
VALUE = _ASCII.translate(dict.fromkeys(map(ord, "\\\"'`,;&<>(){}[]|=")))
# A value whose name is the value beside it; what stands right behind that, and what does not between the two.
_PAIRED = ("value", "default", "<string")
_OTHERS = ("}", ";", "name", "key")
# What only turns a literal into another type.
_WRAPPERS = ("[]byte", "buffer.from", "secretstr", "fromhex", "unhexlify", "b64decode")
_FALLBACKS = ("||", "??", "?:", " or ", ": ", ",")
_MOST_NAMES = 4096  # of which the weight is remembered: a text has few, again and again
_LEAST: dict[tuple[str, str, str], int] = {}


def named_value(text: str, low: str, at: int, word: str) -> Span | None:  # noqa: C901, PLR0911, PLR0912, PLR0915
    """Return what follows the name that `word` stands in at `at`, if that is a secret."""
    word_end, kind = at + len(word), WORDS[word]
    tail = low[word_end : word_end + REACH]
    name_end = word_end + len(tail) - len(tail.lstrip(NAME))
    rest = text[name_end : name_end + REACH]
    sign_at = name_end + len(rest) - len(rest.lstrip(AFTER_NAME))
    sign = text[sign_at : sign_at + 3]
    sign = sign[: len(sign) - len(sign.lstrip("=:>"))] or sign[:1].strip(NAME + NAME.upper() + "<")
    if text[sign_at : sign_at + 2] in ("||", "??"):
        return _fallback(text, name_end, kind)
    if text[sign_at : sign_at + 2] == "<-":  # R
        sign = "<-"
    start, quote = opening(
        text, sign_at + len(sign) if sign else name_end, typed=sign == ":" and kind != "authorization"
    )
    if kind == "authorization":
        return _credential(text, start, quote, sign) if name_end == word_end else None
    end = value_end(text, start, quote, VALUE)
    value = text[start:end]
    if sign == "=" and not quote and start == name_end + 1 and text[end : end + 1] == "=":
        value, end = _with_equals(text, start, end)
    if sign == ">" and (closed := text.find("</", start, start + LONGEST)) > 0:  # an element of XML
        end = closed if " " not in text[start:closed] else end
        value = text[start:end]
    name_at = name_start(low, at)
    odd = ""
    if (
        not quote
        and kind in ("password", "secret")
        and text[start - 1] in " ="
        and text[name_at - 1 : name_at] not in ("?", "&")
    ):
        odd = _odd_value(text, start, end)
    if odd:
        value, end = odd, start + len(odd)
    if not quote and (sign in (",", "==") or (sign != ">" and not text[at].isupper() and is_word(value))):
        return _fallback(text, start, kind) if sign else None  # most of what code assigns
    if word == "key" and name_at == at and text[at - 1 : at] == " ":  # api key: X
        name_at = name_start(low, at - 1)
    upper = text[name_at:name_end].isupper()
    least = least_weight(text[name_at:at], text[at:word_end], text[word_end:name_end])
    around = text[name_at - 1 : name_at] + text[end : end + 2]
    if (
        sign == "::"
        or (sign == ">" and around != "<</")
        or (around[:1] == sign == ":" and text[sign_at + 1 : sign_at + 2] != " ")
    ):
        least = NEVER  # a path in C++, no element of XML, part of an arn:
    after = text[end : end + REACH].lstrip(" ")
    listed = sign == "=" and start == name_end + 1  # a=b;c=d, a=b&c=d or a=b c=d
    listed = listed and (
        after[:1] in (";", "&", "|", "}") or _goes_on(after) or after.partition("=")[0].isidentifier()
    )
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
        set_so = sign == "(" and low.endswith(("set", "with", "."), 0, at)
        set_so = set_so or low.endswith(("define('", 'define("', 'define(\\"'), 0, name_at)
        if sign == ":" and _is_label(text[start:end], text[name_end : name_end + 1]):
            return None
        place, least = "quoted", max(least, MIXED if set_so else RANDOM if sign in (",", "==", "(") else 0)
    elif (
        text[end : end + 1] in ("(", "[")
        or (text[end : end + 1] == "{" and low[name_end - 1] == "s")  # passwords = {"me": "X"}
        or ("." in value and is_path(value) and not is_key(value) and not _is_dotted(value))
    ):
        return _fallback(text, start, kind)  # an expression
    elif listed or odd or _ends_line(after) or (kind == "password" and is_chosen(value)):
        place = "env" if upper and sign == ":" and value.islower() else "last"
    else:
        place = "inside"
    if word == "pw" and value[:1] in ("/", "~"):
        return None  # PWD is the working directory
    if not is_secret(text[start:end], kind, place, least, quote):
        return None
    return start, end if quote else whole_end(text, start, end, SHELL_WORD if place == "env" else VALUE), kind


def _with_equals(text: str, start: int, end: int) -> tuple[str, int]:
    """Return the value of `name=Plum1998=65O` and where it ends, as far as it is one."""
    whole = value_end(text, start, "", VALUE + "=")
    value = text[start:whole]
    mixed = any(map(str.isdigit, value)) and not (value.islower() or value.isupper())
    return (value, whole) if mixed else (text[start:end], end)


def _goes_on(after: str) -> bool:
    """Tell whether a command goes on behind a value, with an option."""
    return after[:1] == "-" and after.lstrip("-")[:1].isalpha()


def _is_dotted(value: str) -> bool:
    """Tell whether a value with a point in it is `Crystal1981.f9D`, not an attribute."""
    last = value.rpartition(".")[2]
    telling = sum(map(str.isdigit, value)) >= FEW or not (last.isalpha() or last.islower())
    return telling and is_chosen(value)


def _is_label(value: str, before: str) -> bool:
    """Tell whether a value is what a field is called in some language."""
    return value.isalpha() and ((before in "\\\"'" and value.istitle()) or not value.isascii())


def _ends_line(text: str) -> bool:
    """Tell whether a line ends here, but for blanks; in JSON the end may be escaped."""
    rest = text.lstrip(" ")
    return rest[:1] in _LINE_ENDS or (rest[0] == "\\" and rest.lstrip("\\").startswith(_ESCAPED_ENDS))


def _odd_value(text: str, start: int, end: int) -> str:
    """Return the password up to the end of a line, with signs that mostly part values in it, or ""."""
    line_end = run_end(text, start, SHELL_WORD)
    if line_end <= end:
        return ""
    value = text[start:line_end].rstrip(",;)")
    code = any(sign in value for sign in ("=>", "&&", "||", "->", "::", "?.", "<<"))
    parts = value.replace(",", "&").replace(";", "&").split("&")  # a=b&c=d
    code = code or any("=" in part for part in parts[1:])
    if start + len(value) <= end or code or not _ends_line(text[line_end : line_end + REACH]):
        return ""
    shape = "".join(char if char.isalnum() else " " for char in value)
    mixed = any(map(str.isdigit, value)) and any(not part.islower() for part in shape.split())
    return value if mixed else ""


def paired_value(text: str, low: str, at: int, word: str) -> Span | None:
    """Return the value of `"name": "password", "value": "X"`, in JSON, YAML, XML or Terraform."""
    tail = low[at + len(word) : at + len(word) + REACH]
    name_end = at + len(word) + len(tail) - len(tail.lstrip(NAME))
    window = low[name_end : name_end + 3 * REACH]
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
    name_at = name_start(low, at)
    least = max(
        MIXED, least_weight(text[name_at:at], text[at : at + len(word)], text[at + len(word) : name_end])
    )
    place = "quoted" if quote or "<" in sign else "last"
    if (place == "last" and not _ends_line(text[end : end + REACH])) or word in ("bearer", "authorization"):
        return None
    return (start, end, WORDS[word]) if is_secret(text[start:end], WORDS[word], place, least, quote) else None


def _fallback(text: str, start: int, kind: str) -> Span | None:
    """Return the literal in `environment("PASSWORD") or "X"` and the like."""
    line = text[start : start + 2 * REACH].partition("\n")[0]
    call, bracket, rest = line.partition("(")
    if bracket and call.lower().endswith(_WRAPPERS) and rest.lstrip("\\")[:1] in ("'", '"'):
        begin, quote = opening(text, start + len(call) + 1, typed=False)
        end = value_end(text, begin, quote, VALUE)
        return (begin, end, kind) if is_secret(text[begin:end], kind, "quoted", MIXED, quote) else None
    if not any(quote in line for quote in "'\"`"):
        return None
    for sign in _FALLBACKS:
        before, found, rest = line.partition(sign)
        if found and "#" not in before and rest.lstrip(" \\")[:1] in ("'", '"', "`"):
            begin, quote = opening(text, start + len(before + found), typed=False)
            end = value_end(text, begin, quote, VALUE)
            least = RANDOM if found == "," else MIXED
            return (begin, end, kind) if is_secret(text[begin:end], kind, "quoted", least, quote) else None
    return None


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
    telling = len(value) >= SHORTEST["quoted"] and weigh(value) >= least and not is_word(value)
    return (start, end if quote else whole_end(text, start, end, VALUE), "authorization") if telling else None


def least_weight(owner: str, word: str, tail: str) -> int:
    """Return the least weight of a value that the name `owner + word + tail` makes a secret."""
    known = _LEAST.get((owner, word, tail))
    if known is None:
        if len(_LEAST) == _MOST_NAMES:
            _LEAST.clear()
        known = _LEAST[owner, word, tail] = _least_weight(owner, word, tail)
    return known


def _least_weight(owner: str, word: str, tail: str) -> int:
    whose, known = owner.lower().rstrip("_-. "), word.lower()
    more = next((more for more in CONTINUED.get(known, ()) if tail.lower().startswith(more)), "")
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
    if known == "key" and not whose.endswith(KEY_OWNERS):
        return RANDOM if upper and owner else NEVER
    return WORD


def opening(text: str, at: int, *, typed: bool) -> tuple[int, str]:
    """Return where the value after a sign begins, and its quote with the backslashes before it."""
    window = text[at : at + REACH].replace("\\t", "  ")
    plain = window.lstrip(" \t")
    if typed and plain[:1] in ("|", ">"):  # a block of YAML
        block = plain.lstrip("|>+-").lstrip("\r ")
        below = block.lstrip("\\").removeprefix("\n" if block[:1] == "\n" else "n")
        if block[:1] in ("\n", "\\") and below != block.lstrip("\\"):
            plain = below.rpartition("→")[2].lstrip(" +")
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
