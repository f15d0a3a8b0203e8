"""Find passwords and sessions in URLs, command options, cookies and login files such as `.pgpass`.

It uses substring searches alone, no `re`. A hook loads it for a text that contains the sign of a login.
"""

from __future__ import annotations

from claude_mem_lite.redaction.values import (
    SHELL_WORD,
    VALUE,
    opening,
    run_end,
    value_end,
    whole_end,
)
from claude_mem_lite.redaction.vocabulary import AFTER_NAME, AT_VALUE, AT_WORD, LONGEST, places
from claude_mem_lite.redaction.weights import FEW, LOOK, MIXED, PLAIN, RANDOM, SESSION, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redaction.vocabulary import Looks, Span

_AUTHORITY = "".join(map(chr, range(33, 127))).translate(dict.fromkeys(map(ord, "\\\"'`,;<>(){}[]|/")))
# Options before USER:PASSWORD: the login's sign, the option, what joins user and password, the command.
_USERS = (
    *(("://", ":" + 2 * (count * "\\" + "/"), ":", "") for count in (0, 1, 2, 4)),  # in JSON in JSON too
    ("%3a%2f%2f", "%3a%2f%2f", "%3a", ""),
    ("curl", " -u", ":", ""), ("curl", " --user", ":", ""), ("curl", " --proxy-user", ":", ""),
    ("lftp", " -u", ",", "lftp "),
    ("smbclient", " -u", "%", "smbclient "), ("http", " -a", ":", "http "), (":5432:", ":5432:", ":", ""),
    (":*:*:", ":*:*:", ":", ""),
)  # fmt: skip
# Options before a password: the sign, the option, commands that attach it (-pX), commands that do not.
_PASSWORDS = (
    (" -p", " -p", ("mysql", "mariadb", "7z ", "sshpass"), ("mongo", "sshpass", " login ", "zip ", "sqlcmd")),
    ("redis-cli", " -a", (), ("redis-cli",)),
    ("ldap", " -w", (), ("ldap",)),
    (" -n", " -n", (), ("ssh-keygen",)),
    (" pass:", " pass:", ("openssl",), ()),
)
_URLS = frozenset(sign for needed, sign, *_ in _USERS if needed in ("://", "%3a%2f%2f"))
_LEAST_TOKEN = 16  # characters of the shortest user name that may be a token
_SESSIONS = ("sess", "sid", "auth", "token")
_LINE = 256  # characters before an option in which its command may stand


def find_logins(text: str, low: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the passwords, tokens and cookies in `text`; `low` is its lower case, of the same length.

    `signs` are the signs of logins that occur in it. Raises: TooMuchError.
    """
    for find in (_login_passwords, _options, _literals, _auths, _piped, _cookies):
        yield from find(text, low, signs, looks)


def _login_passwords(text: str, low: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the passwords in `scheme://user:password@host`, `curl -u user:password` and `.pgpass`.

    In a URL, a token may stand for the user too: `https://TOKEN@host`.
    """
    for needed, sign, joint, command in _USERS:
        for at in places(low, sign) if needed in signs else ():
            start, login, host = _login_at(text, at + len(sign), sign)
            looks.spend(AT_WORD + len(login) // LOOK)
            before = login.lower().find(joint)
            user, password = (login, "") if before < 0 else (login[:before], login[before + len(joint) :])
            if sign in _URLS and low.endswith(("http", "https"), 0, at) and _is_token(user):
                yield start, start + len(user), "token"
            start += len(login) - len(password)
            if before >= 0 and not password and sign not in _URLS:
                start, quote = opening(text, start, typed=False)
                password = text[start : value_end(text, start, quote, SHELL_WORD)] if quote else ""
            if _is_password(password) and not host.startswith("sha256:") and command in _line_before(low, at):
                yield start, start + len(password), "password"


def _login_at(text: str, start: int, sign: str) -> tuple[int, str, str]:
    """Return where the login after a sign begins, the login (user and password), and the host after it."""
    if sign == "%3a%2f%2f":
        authority = text[start : run_end(text, start, _AUTHORITY, LONGEST)].replace("%2F", "%2f")
        login, _, host = authority.partition("%2f")[0].rpartition("%40")
        return start, login, host
    if sign in _URLS:
        login, _, host = text[start : run_end(text, start, _AUTHORITY, LONGEST)].rpartition("@")
        if not login and not host.partition(":")[2].isdecimal():  # no port: the password has a slash
            login, _, host = text[start : run_end(text, start, _AUTHORITY + "/")].rpartition("@")
        return start, login, host
    start += len(text[start : start + 4]) - len(text[start : start + 4].lstrip(" =\\\"'"))
    login = text[start : run_end(text, start, SHELL_WORD, LONGEST)]
    if sign == ":5432:":  # host:port:database:user:password
        database, colon, login = login.partition(":")
        start += len(database + colon)
    return start, login, ""


def _line_before(low: str, at: int) -> str:
    return low[max(0, at - _LINE) : at + 1].rpartition("\n")[2].rpartition("\\n")[2]


def _is_password(value: str) -> bool:
    other = value.startswith(("$", "%s", "%(", "/", "[", "<"))
    return len(set(value)) >= FEW and value.lower() not in PLAIN and not other


def _is_token(user: str) -> bool:
    return len(user) >= _LEAST_TOKEN and "/" not in user and weigh(user) == RANDOM


def _options(text: str, low: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the passwords of `mysql -pX`, `docker login -p X` and the like."""
    for sign, option, attached, apart in _PASSWORDS:
        at = low.find(option) if sign in signs and any(name in low for name in (*attached, *apart)) else -1
        while at >= 0:
            end = at + len(option)
            wanted = apart if text[end : end + 1] == " " else attached
            line = _line_before(low, at) if wanted else ""
            looks.spend(AT_VALUE)
            if any(command in line for command in wanted) and (word := _word_at(text, end)):
                yield word
                end = word[1]
            at = low.find(option, end)


def _literals(text: str, low: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the quoted passwords after keywords of SQL and PowerShell, and second in `.login(`."""
    for sign in ("identified by", "securestring", ".login("):
        at = low.find(sign) if sign in signs else -1
        while at >= 0:
            end = at + len(sign)
            if sign[-1] == "(":
                end = text.find(",", end, end + LOOK) + 1
            elif text[end : end + SESSION].lstrip(" ")[:1] == "-":  # -String "X", --value "X"
                end = text.find(" ", end + 1, end + SESSION)
            looks.spend(AT_WORD)
            quoted = end > 0 and text[end : end + SESSION].lstrip(" \\")[:1] in ("'", '"')
            word = _word_at(text, end) if quoted else None
            if word:
                yield word
            at = low.find(sign, word[1] if word else at + len(sign))


def _auths(text: str, low: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the secrets after `auth` in calls, URLs and settings of package registries."""
    at = low.find("auth") if "auth" in signs else -1
    while at >= 0:
        looks.spend(AT_WORD)
        word = _auth_value(text, low, at)
        if word:
            yield word
        at = low.find("auth", word[1] if word else at + 1)


def _auth_value(text: str, low: str, at: int) -> Span | None:
    before, after = low[at - 1 : at], low[at + 4 : at + 4 + LOOK]
    if after.startswith("=(") and "," in after:  # auth=("user", "password")
        return _word_at(text, at + 5 + after.index(","))
    if after.startswith("=") and before in ("?", "&"):  # wss://h.example/?auth=X
        end = run_end(text, at + 5, VALUE)
        is_random = weigh(text[at + 5 : end]) == RANDOM
        return (at + 5, whole_end(text, at + 5, end, VALUE), "token") if is_random else None
    if after.startswith("=") and before == "_":  # _auth=base64 of user:password
        return _word_at(text, at + 5, block=4)
    if after.lstrip("\\")[:1] == '"' and ":" in after:  # "auth": "base64 of user:password"
        return _word_at(text, at + 5 + after.index(":"), block=4)
    return None


def _piped(text: str, low: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the passwords that `echo` pipes to another command, or `<<<` hands to it."""
    for sign, needed in (
        ("| sudo -s", "| sudo -s"), ("password-stdin", "password-stdin"), ("chpasswd", "chpasswd"),
        ("passwd --stdin", "chpasswd"), ("--with-token", "--with-token"),
    ):  # fmt: skip
        at = low.find(sign) if needed in signs else -1
        while at >= 0:
            start, word = low.rfind("echo ", max(0, at - LONGEST), at), None
            looks.spend(AT_WORD)
            if start >= 0:
                user = text.find(":", start, at) if sign == "chpasswd" else -1
                word = _word_at(text, user + 1 or start + len("echo "))
            elif text[at + len(sign) : at + len(sign) + LOOK].lstrip(" ").startswith("<<<"):
                word = _word_at(text, text.index("<<<", at) + len("<<<"))
            if word:
                yield word
            at = low.find(sign, max(at + 1, word[1] if word else 0))


def _word_at(text: str, at: int, block: int = 1) -> Span | None:
    """Return the password at `at`, if any; with a `block`, only base64 whose length is a multiple of it."""
    start, quote = opening(text, at, typed=False)
    end = value_end(text, start, quote, SHELL_WORD)
    value = text[start:end]
    is_base64 = value.replace("+", "").replace("/", "").rstrip("=").isalnum()
    if len(value) % block or (block > 1 and not is_base64):
        return None
    if not _is_password(value) or weigh(value) < MIXED:
        return None
    return start, end if quote else whole_end(text, start, end, SHELL_WORD), "password"


def _cookies(text: str, low: str, signs: set[str], looks: Looks) -> Iterator[Span]:
    """Yield the random values in `Cookie: name=value; name=value` and `curl -b name=value`."""
    for sign, needed in (("cookie", "cookie"), (" -b ", "curl")):
        at = low.find(sign) if needed in signs else -1
        while at >= 0:
            looks.spend(AT_WORD)
            after = at + len(sign)
            window = text[after : after + LOOK]
            start = after + len(window) - len(window.lstrip(AFTER_NAME + ":="))
            stop, limit = start, start + LONGEST // 4
            while sign != "cookie" or text[after:start].strip(" "):
                equals = text.find("=", stop, min(limit, stop + LOOK))
                if equals < 0:
                    break
                looks.spend(AT_VALUE)
                name = low[stop:equals]
                start, stop = equals + 1, run_end(text, equals + 1, VALUE, LONGEST)
                least = MIXED if any(word in name for word in _SESSIONS) else RANDOM
                if stop - start >= SESSION and weigh(text[start:stop]) >= least:
                    yield start, stop, "cookie"
                if text[stop : stop + 1] != ";":
                    break
            at = low.find(sign, max(after, stop))
