"""Find secrets that a sentence states: "the password for the staging db is X", "密码是 X".

A hook loads this module for a text with a secret's name and a digit on one line, a foreign name or "log in".
"""

from __future__ import annotations

from claude_mem_lite.redaction.values import VALUE, whole_end
from claude_mem_lite.redaction.vocabulary import (
    AT_SENTENCE,
    AT_WORD,
    NAME,
    REACH,
    SAID,
    WORDS,
    name_end,
    places,
)
from claude_mem_lite.redaction.weights import MIXED, NEVER, RANDOM, is_chosen, least_weight, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redaction.vocabulary import Looks, Span

# Words that precede a value: those that state it, and those that may also mean something else.
_IS = frozenset({
    "is", "was", "are", "be", "=", ":", "->", "=>", "→", "—", "–", "==", ":=", "ist", "war", "lautet", "est",
    "était", "es", "era", "è", "é", "jest", "är", "er", "это", "sont", "son", "sind",
})  # fmt: skip
_JOINTS = frozenset(
    {*_IS, "to", "as", "with", "auf", "zu", "à", "a", "en", "use", "using", "than", "в", "на", "mit"}
)
_BETWEEN = frozenset({
    "now", "still", "just", "currently", "simply", "again", "set", "changed", "reset", "always", "called",
    "jetzt", "maintenant", "ahora", "the", "value", "this", "following",
})  # fmt: skip
# Characters that join a value to the word before it without a blank; the last is a full-width colon.
_CJK = "是为為は:가는은을를\uff1a"
_OPEN, _CLOSE = "*_`\"'\\([<“„«「『\u2018", ".,;:*`\"'\\)]>”“»」』、。\u2019\uff0c"
_MOST_WORDS = 14
_WHOLE = ("mdp", "clave", "senha")  # foreign words that other words may contain
_LOWEST_RANDOM = 16  # characters of the shortest secret that is no password
_SHORTEST = 6
_KEY_ENDS = ("the ", "this ", "my ", "our ", "a ", "with ", "new ")


def said_value(text: str, low: str, at: int, word: str) -> Span | None:
    """Return the value that a sentence gives to the name that contains `word` at `at`."""
    end = _name_end(low, at + len(word))
    kind = WORDS[word]
    if kind in ("authorization", "session") or not _names(low, at, word, end):
        return None
    span = _value_after(text, end, kind)
    bare = span and word == "key" and low[max(0, at - REACH) : at].endswith(_KEY_ENDS)
    return None if span and bare and text[span[0] : span[1]].islower() else span  # such as the key of a cache


def foreign_values(text: str, low: str, words: tuple[str, ...], looks: Looks) -> Iterator[Span]:
    """Yield the values that sentences give to one of `words`: "creds", or a password in other languages."""
    for word in words:
        at = low.find(word)
        while at >= 0:
            end = _name_end(low, at + len(word))
            told = not _is_part(low, at, end, word) and any(
                digit in low[end : end + SAID] for digit in "0123456789"
            )
            looks.spend(AT_SENTENCE if told else AT_WORD)
            kind = "credential" if word == "creds" else "password"
            span = _value_after(text, end, kind, named=True) if told else None
            if span:
                yield span
            at = low.find(word, max(end, span[1] if span else 0))


def _is_part(low: str, at: int, end: int, word: str) -> bool:
    """Tell whether a short foreign word is a part of another word: enclave."""
    before = low[max(0, at - 1) : at] if low[at - 2 : at] not in ("\\n", "\\r", "\\t") else ""
    return word in _WHOLE and (before + low[at + len(word) : end]).strip(_OPEN + " \n\t") != ""


def pairs(text: str, low: str, looks: Looks) -> Iterator[Span]:
    """Yield the passwords in "use somebody / X to log in"."""
    for word in ("log in", "login"):
        for at in places(low, word):
            looks.spend(AT_WORD)
            for joint in (" / ", " with "):
                begin = text.rfind(joint, max(0, at - REACH), at) + len(joint)
                value = text[begin:at].partition(" ")[0] if begin >= len(joint) else ""
                if is_chosen(value):
                    yield begin, begin + len(value), "password"


def _name_end(low: str, end: int) -> int:
    """Return where the name that continues at `end` ends, without a trailing `.`, `-` or `_`."""
    return end + len(low[end : name_end(low, end)].rstrip(".-_"))


def _names(low: str, at: int, word: str, end: int) -> bool:
    head = low[max(0, at - REACH) : at]
    start = at - len(head) + len(head.rstrip(NAME))
    owner, tail = low[start:at], low[at + len(word) : end]
    if "." in tail:  # a file
        return False
    if word == "key" and not owner.strip("_-."):
        before = low[max(0, start - REACH) : start]
        if tail:
            return False
        if before.endswith(_KEY_ENDS):
            return True
        owner = before.rstrip(" ").rpartition(" ")[2] + "_"
    return least_weight(owner, word, tail) != NEVER or (word in ("pass", "pw") and not owner and not tail)


def _value_after(text: str, end: int, kind: str, *, named: bool = False) -> Span | None:
    """Return the value that a sentence gives to the name before `end`; `named` if that is a foreign word."""
    window = _plain(text[end : end + SAID])
    if window[:1] in ("=", ":", ",") and not named and kind != "credential" and window[1:2] != "*":
        return None  # `names` reads these
    line, _, below = window.partition("\n")
    for start, core, joint in _candidates(line, below, kind):
        if _tells(core, kind, joint):
            begin = end + start
            told = "password" if kind == "credential" and start < len(line) else kind
            return begin, whole_end(text, begin, begin + len(core), VALUE), told
    return None


def _plain(window: str) -> str:
    """Return a text of the same length, with escaped newlines and tabs as real newlines and blanks."""
    for escape in () if "\\" not in window else ("\\r\\n", "\\n", "\\r", "\\t"):
        window = window.replace(escape, ("\n" if "n" in escape else " ").rjust(len(escape)))
    return window.replace("\r", " ").replace("\t", " ")


def _candidates(line: str, below: str, kind: str) -> Iterator[tuple[int, str, str]]:
    """Yield (start, word, joint before it) of each possible value in a sentence or on the line below it."""
    joint, count = "", 0
    for start, token in _words(line):
        core, offset, joint = _core(token, joint)
        if kind == "credential" and (user := _user(core)):
            core, offset, joint = core[user:], offset + user, ":"
        if core and (joint or not count):
            yield start + offset, core, joint
        joint = joint if joint and core and core.lower() in _BETWEEN else _joint(token, core)
        count += 1
        if count > _MOST_WORDS or (token[-1:] in ".!?;" and core.strip(".")):
            return
    core = _core_below(line, below) if count else ""
    if core:
        yield len(line) + 1 + below.index(core), core, ":"


def _words(line: str) -> Iterator[tuple[int, str]]:
    """Yield where each word of a line begins, and the word."""
    at = 0
    for token in line.split(" "):
        if token:
            yield at, token
        at += len(token) + 1


def _core_below(line: str, below: str) -> str:
    """Return the only word on the line below a line that ends in a colon, "" for none."""
    if not line.rstrip().endswith((":", ":`", ":*", ":**")):
        return ""
    value = below.lstrip(" \n").partition("\n")[0].partition('"')[0].rstrip(" \\,}")
    core = value.strip("`'")
    return "" if " " in core or ":" in core else core


def _user(core: str) -> int:
    """Return where the password begins in somebody:X and somebody/X, 0 in any other word."""
    plain = core.rstrip("/")
    return max(core.find(":"), core.find("/")) + 1 if plain.count(":") + plain.count("/") == 1 else 0


def _core(token: str, joint: str) -> tuple[str, int, str]:
    """Return a word without the punctuation around it, its offset in the token, and the joint before it."""
    rest = token.lstrip(_OPEN)
    while rest[:1] in (":", "=") or rest[:1] > "\x7f":
        if rest[0] in _CJK or rest[0] == "=":
            joint = ":"
        rest = rest[1:].lstrip(_OPEN) if rest[0] in ":=" or not token.isalpha() else ""
    core = rest.partition('"')[0]  # where a string of JSON ends
    while core and (core[-1] in _CLOSE or core[-1] > "\x7f"):
        core = core[:-1]
    return core, len(token) - len(rest), joint


def _joint(token: str, core: str) -> str:
    """Return the joint that a word is or ends in, "" for none."""
    plain = token.strip("*_`\"'\\.")
    if plain.lower() in _JOINTS or plain == "/":
        return plain.lower()
    if plain[-1:] in (":", "\uff1a", "="):
        return ":"
    return ":" if not core and plain[-1:] in _CJK else ""


def _tells(core: str, kind: str, joint: str) -> bool:
    """Tell whether a word of a sentence is a secret, by its characters and the joint before it."""
    if len(core) < _SHORTEST or weigh(core) < MIXED:
        return False
    if kind in ("password", "credential"):
        # hunter2 counts only after "is" and the like
        is_said = kind == "password" and joint in _IS and core.isalnum() and core.isascii()
        return is_chosen(core) or (is_said and is_chosen(core, alone=False))
    is_random = len(core) >= _LOWEST_RANDOM and weigh(core) == RANDOM
    return is_random and not set(core) & set("(){}[]<>|\\\"'`,;:@")
