"""Define what every step of redaction shares: words that name secrets, limits, and the budget of looks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int, str]  # start, end, kind

# What the name of a secret has in it, and the kind of secret that it names.
WORDS = {
    "authorization": "authorization", "bearer": "authorization", "pass": "password", "pw": "password",
    "secret": "secret", "token": "token", "credential": "credential", "key": "key", "sessionid": "session",
}  # fmt: skip
# How such a word may go on and still name a secret.
CONTINUED = {
    "pass": ("words", "word", "wd", "phrase", "wort", "ord", "code", "e"),
    "pw": ("d",),
    "secret": ("key", "s"),
    "credential": ("s",),
}
KEY_OWNERS = (
    "api", "access", "secret", "private", "signing", "encryption", "auth", "account", "master", "shared",
    "storage", "session", "service", "license", "webhook", "hmac", "jwt", "cookie", "ssh", "deploy", "app",
    "server", "subscription",
)  # fmt: skip
NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-."  # what names are made of
AFTER_NAME = "\\\"'`] \t"
PAIRED = ("value", "default", "<string")  # fields of a value whose name is that of the field beside it
DIGITS = "0123456789"
REACH = 48  # the longest name on either side of its word
LONGEST = 4096  # the end of a quoted value is looked for as far as this
SAID = 160  # how far a sentence goes on after such a name
EDGE = 8192  # characters dropped on each side of a cut before the search: half a token may stand there
# What looks cost, in units of about 10 µs: at a word, at the value of a name, at a sentence.
AT_WORD, AT_VALUE, AT_SENTENCE = 1, 2, 8


class TooMuchError(Exception):
    """A text has too many places where a secret may stand."""


class Looks:
    """How many looks at places where a secret may stand are left for an event."""

    def __init__(self, left: float = float("inf")) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        """Take some off. Raises: TooMuchError when there are none left."""
        self.left -= count
        if self.left < 0:
            raise TooMuchError


def name_start(low: str, at: int) -> int:
    """Return where the name begins that goes on at `at`."""
    head = low[max(0, at - REACH) : at]
    start = at - len(head) + len(head.rstrip(NAME))
    before = low[start - 1 : start]
    if before == "\\" and low[start : start + 1] in ("n", "r", "t"):
        return start + 1
    if before in ("[", ";"):  # a colour code: ESC [ 3 2 m
        code, letter, _ = low[start:at].partition("m")
        return start + len(code) + 1 if letter and code.isdigit() else start
    return start


def name_end(low: str, at: int) -> int:
    """Return where the name ends that goes on at `at`."""
    tail = low[at : at + REACH]
    return at + len(tail) - len(tail.lstrip(NAME))


def places(text: str, sign: str) -> Iterator[int]:
    """Yield where a sign stands in a text, each place of it."""
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + 1)
