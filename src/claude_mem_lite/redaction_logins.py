"""Passwords and sessions by their place: in addresses, command lines, cookies and files of logins.

What a name gives away stands in `redaction_rules`. A hook loads this module for a text with a sign of a
login.
"""

from __future__ import annotations

from claude_mem_lite.redaction_rules import (
    AFTER_NAME,
    FEW,
    LONGEST,
    LOOK,
    MIXED,
    PLAIN,
    RANDOM,
    SESSION,
    SHELL_WORD,
    VALUE,
    opening,
    run_end,
    value_end,
    weigh,
    whole_end,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redaction_rules import Span

_AUTHORITY = "".join(map(chr, range(33, 127))).translate(dict.fromkeys(map(ord, "\\\"'`,;<>(){}[]|/")))
# Commands with a password in an option of one letter, attached to it or apart.
_ATTACHED = ("mysql", "mariadb")
_APART = {" -p": ("mongo", "sshpass", " login "), " -a": ("redis-cli",)}
_SESSIONS = ("sess", "sid", "auth", "token")
_LINE = 256  # characters of a command before an option


def find_logins(text: str, low: str, signs: list[str]) -> Iterator[Span]:
    """Yield what opens a login in `text`, of which `low` is the lower case of the same length.

    `signs` are those of logins that stand in it.
    """
    yield from _login_passwords(text, signs)
    yield from _options(text, low, signs)
    yield from _cookies(text, low, signs)


def _login_passwords(text: str, signs: list[str]) -> Iterator[Span]:
    """Yield the passwords in `scheme://user:password@host`, `curl -u user:password` and `.pgpass`."""
    for sign, needed in (
        ("://", "://"), (" -u", "curl"), (" --user", "curl"), (":5432:", ":5432:"), (":*:*:", ":*:*:"),
    ):  # fmt: skip
        at = text.find(sign) if needed in signs else -1
        while at >= 0:
            start, host = at + len(sign), ""
            if sign == "://":
                login, _, host = text[start : run_end(text, start, _AUTHORITY, LONGEST)].rpartition("@")
                if not login and not host.partition(":")[2].isdecimal():  # no port: a slash in a password
                    login, _, host = text[start : run_end(text, start, _AUTHORITY + "/")].rpartition("@")
            else:
                start += len(text[start : start + 4]) - len(text[start : start + 4].lstrip(" =\\\"'"))
                login = text[start : run_end(text, start, SHELL_WORD, LONGEST)]
            if sign == ":5432:":  # host:port:database:user:password
                database, colon, login = login.partition(":")
                start += len(database + colon)
            user, colon, password = login.partition(":")
            start += len(user + colon)
            if colon and not password and sign != "://":
                start, quote = opening(text, start, typed=False)
                password = text[start : value_end(text, start, quote, SHELL_WORD)] if quote else ""
            if _is_password(password) and not host.startswith("sha256:"):
                yield start, start + len(password), "password"
            at = text.find(sign, at + 1)


def _is_password(value: str) -> bool:
    other = value.startswith(("$", "%s", "%(", "/", "["))
    return len(set(value)) >= FEW and value.lower() not in PLAIN and not other


def _options(text: str, low: str, signs: list[str]) -> Iterator[Span]:
    """Yield the passwords of `mysql -pX`, `docker login -p X`, `echo X | sudo -S` and the like."""
    for option, commands in (
        (" -p", (*_ATTACHED, *_APART[" -p"])),
        (" -a", _APART[" -a"]),
        (" pass:", ("openssl",)),
    ):
        sign = "redis-cli" if option == " -a" else option  # the rarer of the two
        at = low.find(option) if sign in signs and any(name in low for name in commands) else -1
        while at >= 0:
            end = at + len(option)
            line = low[max(0, at - _LINE) : at + 1].rpartition("\n")[2].rpartition("\\n")[2]
            attached = text[end : end + 1] != " "
            wanted = _ATTACHED if attached and option == " -p" else _APART.get(option, commands)
            if any(command in line for command in wanted):
                yield from _word_at(text, end)
            at = low.find(option, end)
    at = low.find("auth") if "auth" in signs else -1
    while at >= 0:
        after = low[at + 4 : at + 4 + LOOK]
        if after.startswith("=(") and "," in after:  # auth=("user", "password")
            yield from _word_at(text, at + 5 + after.index(","))
        elif after.lstrip("\\")[:1] == '"' and ":" in after:  # "auth": "base64 of user:password"
            yield from _word_at(text, at + 5 + after.index(":"), block=4)
        at = low.find("auth", at + 1)
    at = low.find("| sudo -s") if "| sudo -s" in signs else -1
    while at >= 0:
        start = low.rfind("echo ", max(0, at - LOOK), at)
        if start >= 0:
            yield from _word_at(text, start + len("echo "))
        at = low.find("| sudo -s", at + 1)


def _word_at(text: str, at: int, block: int = 1) -> Iterator[Span]:
    """Yield the password at a place, if one is there, its length a multiple of `block`."""
    start, quote = opening(text, at, typed=False)
    end = value_end(text, start, quote, SHELL_WORD)
    if (end - start) % block == 0 and _is_password(text[start:end]) and weigh(text[start:end]) >= MIXED:
        yield start, end if quote else whole_end(text, start, end, SHELL_WORD), "password"


def _cookies(text: str, low: str, signs: list[str]) -> Iterator[Span]:
    """Yield the random values in `Cookie: name=value; name=value` and `curl -b name=value`."""
    for sign, needed in (("cookie", "cookie"), (" -b ", "curl")):
        at = low.find(sign) if needed in signs else -1
        while at >= 0:
            after = start = at + len(sign)
            start += len(text[start : start + LOOK]) - len(
                text[start : start + LOOK].lstrip(AFTER_NAME + ":=")
            )
            stop, limit = start, start + LONGEST // 4
            while sign != "cookie" or text[after:start].strip(" "):
                equals = text.find("=", stop, min(limit, stop + LOOK))
                if equals < 0:
                    break
                name = low[stop:equals]
                start, stop = equals + 1, run_end(text, equals + 1, VALUE, LONGEST)
                least = MIXED if any(word in name for word in _SESSIONS) else RANDOM
                if stop - start >= SESSION and weigh(text[start:stop]) >= least:
                    yield start, stop, "cookie"
                if text[stop : stop + 1] != ";":
                    break
            at = low.find(sign, max(after, stop))
