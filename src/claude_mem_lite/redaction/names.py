"""Find the value that a name gives away: `password = X`, `"token": "X"`, `Authorization: Bearer X`.

A hook loads this module for a text in which the name of a secret precedes a value.
"""

from __future__ import annotations

from claude_mem_lite.redaction.values import (
    SHELL_WORD,
    VALUE,
    block_end,
    is_continued,
    opening,
    run_end,
    value_end,
    whole_end,
)
from claude_mem_lite.redaction.vocabulary import (
    AFTER_NAME,
    LONGEST,
    NAME,
    PAIRED,
    REACH,
    WORDS,
    name_end,
    name_start,
)
from claude_mem_lite.redaction.weights import (
    FEW,
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
    least_weight,
    weigh,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from claude_mem_lite.redaction.vocabulary import Span

_SIGNS, _NO_SIGN = "=:>", NAME + NAME.upper() + "<"
_SCHEMES = ("bearer ", "basic ", "token ", "bot ", "apikey ", "key ", "ssws ")
_LINE_ENDS, _ESCAPED_ENDS = frozenset(("", *"\r\n\"'#\x1b")), ("r", "n", '"', "'", "u001b", "x1b")
_OPERATORS = ("=>", "&&", "||", "->", "::", "?.", "<<")
_DEFINES = ("define('", 'define("', 'define(\\"')
_OTHERS = ("}", ";", "name", "key")  # none of these stands between a name and the field of its value
# Calls that only convert a literal to another type.
_WRAPPERS = ("[]byte", "buffer.from", "secretstr", "fromhex", "unhexlify", "b64decode")
_FALLBACKS = ("||", "??", "?:", " or ", ": ", ",")
_QUOTES = ("'", '"', "`")
_ECHOES = ("$(echo ", "echo ")


def named_value(text: str, low: str, at: int, word: str) -> Span | None:
    """Return the value of the name that contains `word` at `at`, if it is a secret."""
    given = _Assignment(text, low, at, word)
    if given.sign in ("||", "??"):
        return _fallback(text, given.name_end, given.kind)
    if given.kind == "authorization":
        return _credential(given) if given.name_end == at + len(word) else None
    given.read_value()
    if given.is_word():  # the usual case in code
        return _fallback(text, given.start, given.kind) if given.sign else None
    place = "env" if given.is_echoed else given.place()
    if place == "code":
        return _fallback(text, given.start, given.kind)
    return None if given.is_harmless(place) else given.secret(place)


class _Assignment:
    """A name that contains one of WORDS, the sign after it, and the value after the sign."""

    def __init__(self, text: str, low: str, at: int, word: str) -> None:
        self.text, self.low, self.at, self.word, self.kind = text, low, at, word, WORDS[word]
        self.name_end = name_end(low, at + len(word))
        self.sign_at, self.sign = _sign(text, self.name_end)
        behind = self.sign_at + len(self.sign) if self.sign else self.name_end
        typed = self.sign == ":" and self.kind != "authorization"
        self.start, self.quote = opening(text, behind, typed=typed)
        echo = next((each for each in _ECHOES if text.startswith(each, self.start)), "")
        self.is_echoed = echo[:1] == "$" or (echo != "" and self.quote == "`")  # TOKEN=$(echo X)
        if self.is_echoed:
            self.start, self.quote = opening(text, self.start + len(echo), typed=False)
        line = text[behind : self.start]
        self.is_block = "\n" in line or "\\n" in line
        self.is_tight = self.sign == "=" and self.start == self.name_end + 1  # name=value
        self.name_at, self.end, self.is_odd = at, self.start, False

    def read_value(self) -> None:
        """Find where the name begins and the value ends; set `is_odd` if `_odd_end` found that end."""
        text, start, quote = self.text, self.start, self.quote
        self.name_at = name_start(self.low, self.at)
        if self.word == "key" and self.name_at == self.at and text[self.at - 1 : self.at] == " ":
            self.name_at = name_start(self.low, self.at - 1)  # api key: X
        self.end = value_end(text, start, quote, VALUE)
        if self.is_tight and not quote and text[self.end : self.end + 1] == "=":
            self.end = _end_with_equals(text, start, self.end)
        elif self.sign == ">":  # an element of XML
            closed = text.find("</", start, start + LONGEST)
            self.end = closed if closed > 0 and " " not in text[start:closed] else self.end
        if not quote and self.kind in ("password", "secret") and text[start - 1] in " =":
            is_parameter = text[self.name_at - 1 : self.name_at] in ("?", "&")
            odd_end = 0 if is_parameter else _odd_end(text, start, self.end)
            self.end, self.is_odd = odd_end or self.end, odd_end > 0

    @property
    def value(self) -> str:
        return self.text[self.start : self.end]

    def _is_upper(self) -> bool:
        return self.text[self.name_at : self.name_end].isupper()

    def is_word(self) -> bool:
        """Tell whether the value is a bare word, or unquoted after a sign that only quoted values follow."""
        if self.quote or self.sign in (",", "=="):
            return not self.quote
        return self.sign != ">" and not self.text[self.at].isupper() and is_word(self.value)

    def place(self) -> str:
        """Return the value's place: one that `is_secret` accepts, or "variable", "option" or "code"."""
        if self.sign in ("", "="):
            if self._is_variable():
                return "variable"
            if self.text[self.name_at : self.name_at + 1] == "-" and not self.quote:
                return "option"  # --token X, --token=X
        if self.quote or self.sign == ">":
            return "quoted"
        if self._is_expression():
            return "code"
        if not (self.is_odd or self._ends()):
            return "inside"
        return "env" if self._is_upper() and self.sign == ":" and self.value.islower() else "last"

    def _is_variable(self) -> bool:
        """Tell whether this sets a shell variable: NAME=value."""
        is_next = self.sign_at == self.name_end and self.start == self.sign_at + 1 + len(self.quote)
        is_set = self.sign == "=" and is_next and self._is_upper()
        return is_set and self.text[self.start : self.start + 1] != "{"

    def _is_expression(self) -> bool:
        value, behind = self.value, self.text[self.end : self.end + 1]
        if behind in ("(", "["):
            return True
        if behind == "{" and self.low[self.name_end - 1] == "s":  # passwords = {"me": "X"}
            return True
        return "." in value and is_path(value) and not is_key(value) and not _is_dotted(value)

    def _ends(self) -> bool:
        """Tell whether a bare value ends where values do, not in the middle of code or prose."""
        after = self.text[self.end : self.end + REACH].lstrip(" ")
        # a=b;c=d, a=b&c=d, a=b c=d or a=b --option
        listed = after[:1] in (";", "&", "|", "}") or after.partition("=")[0].isidentifier()
        listed = listed or (after[:1] == "-" and after.lstrip("-")[:1].isalpha())
        if (self.is_tight and listed) or ends_line(after):
            return True
        return self.kind == "password" and is_chosen(self.value)

    def is_harmless(self, place: str) -> bool:
        """Tell whether the value is no secret whatever it looks like: a field's label, a folder."""
        value, before = self.value, self.text[self.name_end : self.name_end + 1]
        is_labelled = place == "quoted" and self.sign == ":" and value.isalpha()
        if is_labelled and (not value.isascii() or (before in "\\\"'" and value.istitle())):
            return True  # what the field is called in some language
        return self.word == "pw" and value[:1] in ("/", "~")  # PWD is the working directory

    def secret(self, place: str) -> Span | None:
        """Return the value if it weighs enough for its name and place."""
        least = self._least(place)
        if place in ("variable", "option"):
            place, self.end = "env", value_end(self.text, self.start, self.quote, SHELL_WORD)
        if not is_secret(self.value, self.kind, place, least, self.quote):
            return None
        if not self.quote:
            made_of = SHELL_WORD if place == "env" else VALUE
            self.end = whole_end(self.text, self.start, self.end, made_of)
            while (
                self.text[self.end : self.end + 1] in _QUOTES
                and self.text[self.end + 1 : self.end + 2].isalnum()
            ):
                self.end = run_end(self.text, self.end + 1, made_of)  # a quote within a bare password
            if self.is_block or is_continued(self.text, self.end):
                self.end = block_end(self.text, self.end)
        return self.start, self.end, self.kind

    def _least(self, place: str) -> int:
        """Return the minimum weight of a secret here, by the name, the sign and the text around them."""
        text, sign, word_end = self.text, self.sign, self.at + len(self.word)
        around = text[self.name_at - 1 : self.name_at] + text[self.end : self.end + 2]
        is_path_of_code = sign == "::" or (sign == ">" and around != "<</")  # not an XML element
        is_of_arn = around[:1] == sign == ":" and text[self.sign_at + 1 : self.sign_at + 2] != " "
        if is_path_of_code or is_of_arn:
            return NEVER
        owner, tail = text[self.name_at : self.at], text[word_end : self.name_end]
        least = least_weight(owner, text[self.at : word_end], tail)
        if place == "option":
            return max(least, MIXED)
        if place != "quoted":
            return least
        return max(least, MIXED if self._is_set() else RANDOM if sign in (",", "==", "(") else 0)

    def _is_set(self) -> bool:
        """Tell whether a call sets the value: `setPassword("X")`, `define("KEY", "X")`."""
        is_call = self.sign == "(" and self.low.endswith(("set", "with", "."), 0, self.at)
        return is_call or self.low.endswith(_DEFINES, 0, self.name_at)


def _sign(text: str, end: int) -> tuple[int, str]:
    """Return the position of the sign after a name, and the sign: "=", ":", "=>", "," …, "" for none."""
    rest = text[end : end + REACH]
    at = end + len(rest) - len(rest.lstrip(AFTER_NAME))
    if (two := text[at : at + 2]) in ("||", "??", "<-"):  # the last in R
        return at, two
    sign = text[at : at + 3]
    return at, sign[: len(sign) - len(sign.lstrip(_SIGNS))] or sign[:1].strip(_NO_SIGN)


def _end_with_equals(text: str, start: int, end: int) -> int:
    """Return where a value with "=" in it ends, as in `name=Plum1998=65O`; `end` if it is no such value."""
    whole = value_end(text, start, "", VALUE + "=")
    value = text[start:whole]
    mixed = any(map(str.isdigit, value)) and not (value.islower() or value.isupper())
    return whole if mixed else end


def _is_dotted(value: str) -> bool:
    """Tell whether a value with a dot is a password such as `Crystal1981.f9D`, not an attribute."""
    last = value.rpartition(".")[2]
    telling = sum(map(str.isdigit, value)) >= FEW or not (last.isalpha() or last.islower())
    return telling and is_chosen(value)


def _odd_end(text: str, start: int, end: int) -> int:
    """Return the end of a password that contains separators such as `;` and ends its line; 0 for none."""
    line_end = run_end(text, start, SHELL_WORD)
    value = text[start:line_end].rstrip(",;)")
    if start + len(value) <= end or not ends_line(text[line_end : line_end + REACH]):
        return 0
    parts = value.replace(",", "&").replace(";", "&").split("&")  # a=b&c=d
    if any("=" in part for part in parts[1:]) or any(sign in value for sign in _OPERATORS):
        return 0
    words = "".join(char if char.isalnum() else " " for char in value).split()
    mixed = any(map(str.isdigit, value)) and not all(map(str.islower, words))
    return start + len(value) if mixed else 0


def paired_value(text: str, low: str, at: int, word: str) -> Span | None:
    """Return the value of `"name": "password", "value": "X"`, in JSON, YAML, XML or Terraform."""
    word_end = at + len(word)
    name_ends = name_end(low, word_end)
    found = _paired(low[name_ends : name_ends + 3 * REACH])
    if not found or WORDS[word] == "authorization":
        return None
    behind, sign = found
    start, quote = opening(text, name_ends + behind, typed=False)
    end = value_end(text, start, quote, VALUE)
    place = "quoted" if quote or "<" in sign else "last"
    if place == "last" and not ends_line(text[end : end + REACH]):
        return None
    owner, tail = text[name_start(low, at) : at], text[word_end:name_ends]
    least = max(MIXED, least_weight(owner, text[at:word_end], tail))
    return (start, end, WORDS[word]) if is_secret(text[start:end], WORDS[word], place, least, quote) else None


def _paired(window: str) -> tuple[int, str] | None:
    """Return the offset in `window` of the value for the name before it, and the field of that value."""
    sign = next((sign for sign in PAIRED if sign in window), "")
    if not sign:
        return None
    between, _, rest = window.partition(sign)
    rest = rest.lstrip(AFTER_NAME)
    if rest[:1] not in _SIGNS or any(other in between.removeprefix("</key>") for other in _OTHERS):
        return None
    return len(window) - len(rest) + 1, sign


def _fallback(text: str, start: int, kind: str) -> Span | None:
    """Return the literal in `environment("PASSWORD") or "X"` and the like."""
    line = text[start : start + 2 * REACH].partition("\n")[0]
    call, bracket, rest = line.partition("(")
    if bracket and call.lower().endswith(_WRAPPERS) and rest.lstrip("\\")[:1] in ("'", '"'):
        return _literal(text, start + len(call) + 1, kind, MIXED)
    for sign in _FALLBACKS if any(quote in line for quote in _QUOTES) else ():
        before, found, rest = line.partition(sign)
        if found and "#" not in before and rest.lstrip(" \\")[:1] in _QUOTES:
            return _literal(text, start + len(before + found), kind, RANDOM if found == "," else MIXED)
    return None


def _literal(text: str, at: int, kind: str, least: int) -> Span | None:
    """Return the quoted literal at `at`, if it is a secret."""
    start, quote = opening(text, at, typed=False)
    end = value_end(text, start, quote, VALUE)
    return (start, end, kind) if is_secret(text[start:end], kind, "quoted", least, quote) else None


def _credential(given: _Assignment) -> Span | None:
    """Return the credential after `Authorization:` and its scheme, or after `Bearer`."""
    text, at, quote = given.text, given.start, given.quote
    scheme = next((scheme for scheme in _SCHEMES if text[at : at + len(scheme)].lower() == scheme), "")
    start = at + len(scheme)
    end = value_end(text, start, quote, VALUE)
    value = text[start:end]
    if scheme == "basic " and len(value) % 4 == 0:  # base64 of a short text need not look random
        least = WORD
    elif scheme or not given.sign:
        least = MIXED
    else:
        least = NEVER if given.sign == "," else RANDOM
    if len(value) < SHORTEST["quoted"] or weigh(value) < least or is_word(value):
        return None
    return start, end if quote else whole_end(text, start, end, VALUE), "authorization"


def ends_line(text: str) -> bool:
    """Tell whether at most blanks precede the end of the line; in JSON that end may be escaped."""
    rest = text.lstrip(" ")
    return rest[:1] in _LINE_ENDS or (rest[0] == "\\" and rest.lstrip("\\").startswith(_ESCAPED_ENDS))
