"""What a sentence gives away: "the password for the staging db is X", "use the token X", "密码是 X".

A hook loads this module for a text in which such a name and a digit stand on one line.
"""

from __future__ import annotations

from claude_mem_lite.redaction_rules import AT_SENTENCE, AT_WORD, NAME, REACH, SAID, WORDS
from claude_mem_lite.redaction_values import VALUE, least_weight, whole_end
from claude_mem_lite.redaction_weights import MIXED, NEVER, RANDOM, is_chosen, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redact import Looks
    from claude_mem_lite.redaction_rules import Span

# Words that a value stands behind: those that say that it is one, and those that may say something else.
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
# What joins a value to what stands before it without a blank: the last is a wide colon.
_CJK = "是为為は:가는은을를\uff1a"
_OPEN, _CLOSE = "*_`\"'\\([<“„«「『\u2018", ".,;:*`\"'\\)]>”“»」』、。\u2019\uff0c"
_MOST_WORDS = 14
_LOWEST_RANDOM = 16  # characters of what is no password
_SHORTEST = 6
_KEY_ENDS = ("the ", "this ", "my ", "our ", "a ", "with ", "new ")


def said_value(text: str, low: str, at: int, word: str) -> Span | None:
    """Return the value that a sentence gives to the name that `word` stands in at `at`."""
    end = at + len(word) + len(name_tail(low, at + len(word)))
    kind = WORDS[word]
    if kind in ("authorization", "session") or not _names(low, at, word, end):
        return None
    span = _value_after(text, end, kind)
    bare = span and word == "key" and low[max(0, at - REACH) : at].endswith(_KEY_ENDS)
    return None if span and bare and text[span[0] : span[1]].islower() else span  # a key of a cache


def foreign_values(text: str, low: str, words: tuple[str, ...], looks: Looks) -> Iterator[Span]:
    """Yield the values that sentences in other languages give to a password."""
    for word in words:
        at = low.find(word)
        while at >= 0:
            end = at + len(word) + len(name_tail(low, at + len(word)))
            told = any(digit in low[end : end + SAID] for digit in "0123456789")
            looks.spend(AT_SENTENCE if told else AT_WORD)
            kind = "credential" if word == "creds" else "password"
            span = _value_after(text, end, kind, named=True) if told else None
            if span:
                yield span
            at = low.find(word, max(end, span[1] if span else 0))


def pairs(text: str, low: str, looks: Looks) -> Iterator[Span]:
    """Yield the passwords in "use somebody / X to log in"."""
    for word in ("log in", "login"):
        at = low.find(word)
        while at >= 0:
            looks.spend(AT_WORD)
            start = max(0, at - REACH)
            for joint in (" / ", " with "):
                begin = text.rfind(joint, start, at) + len(joint)
                value = text[begin:at].partition(" ")[0] if begin >= len(joint) else ""
                if is_chosen(value):
                    yield begin, begin + len(value), "password"
            at = low.find(word, at + len(word))


def name_tail(low: str, end: int) -> str:
    """Return the rest of the name that goes on at `end`."""
    rest = low[end : end + REACH]
    return rest[: len(rest) - len(rest.lstrip(NAME))].rstrip(".-_")


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


def _value_after(text: str, end: int, kind: str, *, named: bool = False) -> Span | None:  # noqa: C901
    window = text[end : end + SAID]
    for escape in () if "\\" not in window else ("\\r\\n", "\\n", "\\r", "\\t"):
        window = window.replace(escape, ("\n" if "n" in escape else " ").rjust(len(escape)))
    window = window.replace("\r", " ").replace("\t", " ")
    line, _, below = window.partition("\n")
    if window[:1] in ("=", ":", ",") and not named and kind != "credential" and window[1:2] != "*":
        return None  # the business of what looks for names
    at, joint, count = 0, "", 0
    for token in line.split(" "):
        start, at = at, at + len(token) + 1
        if not token:
            continue
        core, offset, joint = _core(token, joint)
        if kind == "credential" and core.rstrip("/").count(":") + core.rstrip("/").count("/") == 1:
            user = max(core.find(":"), core.find("/")) + 1  # somebody:X, somebody/X
            core, offset, joint = core[user:], offset + user, ":"
        if core and _tells(core, kind, joint, first=count == 0):
            begin = end + start + offset
            return (
                begin,
                whole_end(text, begin, begin + len(core), VALUE),
                "password" if kind == "credential" else kind,
            )
        if not core or core.lower() not in _BETWEEN or not joint:
            joint = _joint(token, core)
        count += 1
        if count > _MOST_WORDS or (core and token[-1:] in ".!?;" and core.strip(".")):
            return None
    if not line.rstrip().endswith((":", ":`", ":*", ":**")):
        return None
    plain = below.lstrip(" \n")
    value = plain.partition("\n")[0].partition('"')[0].rstrip(" \\,}")
    core = value.strip("`'")
    begin = end + len(line) + 1 + below.index(core) if core else 0
    alone = core and " " not in core and ":" not in core and count
    if not alone or not _tells(core, kind, ":", first=False):
        return None
    return begin, whole_end(text, begin, begin + len(core), VALUE), kind


def _core(token: str, joint: str) -> tuple[str, int, str]:
    """Return a word without what stands around it, where that begins in it, and the joint before it."""
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
    """Return the joint that a word is or ends in."""
    plain = token.strip("*_`\"'\\.")
    if plain.lower() in _JOINTS or plain == "/":
        return plain.lower()
    if plain[-1:] in (":", "\uff1a", "="):
        return ":"
    return ":" if not core and plain[-1:] in _CJK else ""


def _tells(core: str, kind: str, joint: str, *, first: bool) -> bool:
    """Tell whether a word of a sentence is a secret, by the word before it and its own looks."""
    if not (joint or first) or len(core) < _SHORTEST or weigh(core) < MIXED:
        return False
    if kind == "credential":
        return is_chosen(core)
    if kind != "password":
        return (
            len(core) >= _LOWEST_RANDOM
            and weigh(core) == RANDOM
            and not set(core) & set("(){}[]<>|\\\"'`,;:@")
        )
    if is_chosen(core):
        return True
    return joint in _IS and core.isalnum() and core.isascii() and is_chosen(core, alone=False)  # hunter2
