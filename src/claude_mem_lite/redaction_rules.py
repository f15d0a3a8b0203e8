"""Where a secret may stand: the names of secrets and the signs of logins, looked for by substrings.

One text in, its secrets out; events and files are the business of `redact`. A hook loads this module for
every event, so it imports nothing but in the functions that have found something.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Span = tuple[int, int, str]  # start, end, kind

WORDS = {
    "authorization": "authorization", "bearer": "authorization", "pass": "password", "pw": "password",
    "secret": "secret", "token": "token", "credential": "credential", "key": "key", "sessionid": "session",
}  # fmt: skip
CONTINUED = {
    "pass": ("words", "word", "wd", "phrase"),
    "pw": ("d",),
    "secret": ("key", "s"),
    "credential": ("s",),
}
NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-."
AFTER_NAME = "\\\"'`] \t"
_GOES_ON = frozenset("0123456789_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ=:,>(<\r\n" + AFTER_NAME)
_COMMANDS = (" -", "env ", "set ", "setx ", "set -x ", "set -gx ", "set -ux ")  # these name what they set
_APART = (",", "{", "\n", "n", "</key>", "value", "type", "default")
REACH = 48  # the longest name on either side of its word
# What may stand beside a password that no name gives away; `redaction_logins` tells.
_LOGINS = ("cookie", ":5432:", ":*:*:", "identified by", ".login(", "securestring")
_COMMANDS_OF = {
    "u": ("curl", "lftp", "smbclient"),
    "a": ("redis-cli", "http"),
    "b": ("curl",),
    "w": ("ldap",),
}


def holds_word(name: str) -> bool:
    """Tell whether a name may be that of a secret."""
    return any(word in name.lower() for word in WORDS)


def find_values(text: str) -> list[Span]:
    """Return each value that its name or its place gives away, in order."""
    low = text.replace("\u0130", "i").lower()  # the one letter that is longer in lower case
    found: dict[int, Span] = {}
    passes = set()
    for word in WORDS:
        at = low.find(word) if word != "authorization" or "auth" in low else -1
        while at >= 0:
            end = at + len(word)
            if word == "pass":
                passes.add(low[end : end + 2])
            # Most are words of code or prose: a look at what follows tells.
            if text[end : end + 1] in _GOES_ON or word in CONTINUED:
                value = _value_at(text, low, at, word)
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


def _value_at(text: str, low: str, at: int, word: str) -> Span | None:
    """Return the value of the name that `word` stands in at `at`, if that is one of a secret."""
    if _may_name(low, at, word):
        from claude_mem_lite.redaction_values import named_value

        value = named_value(text, low, at, word)
        if value:
            return value
    end = at + len(word)
    if not low[end : end + REACH].lstrip(NAME).lstrip("\\\"'` :)").startswith(_APART):
        return None
    from claude_mem_lite.redaction_values import paired_value

    return paired_value(text, low, at, word)


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
    rest = low[end : end + REACH].lstrip(NAME)
    sign = rest.lstrip(AFTER_NAME)[:1]
    if sign in ("=", ":") or (sign == "|" and rest[0] in " ]"):
        return word != "key" or bool(low[at - 1 : at].strip(" \"'`\\,({["))  # somebody's key
    if sign in (",", ">"):  # "TOKEN", "value" and <token>value<
        return (rest[0] == sign) is (sign == ">")
    if sign == "(":  # setPassword("value"), Credential("value")
        return rest[1:].lstrip("\\")[:1] in ("'", '"')
    if rest[:1] != " ":
        return False
    if word == "bearer":
        return at == 0 or low[at - 1] not in NAME or low[at - 2 : at - 1] == "\\"
    before = low[max(0, at - REACH) : at]  # --token X, ENV TOKEN X
    if low.startswith("password", at) and (rest[1:2] in ("'", '"') or "login " in before):  # .netrc
        return True
    if rest.startswith("    ") or before.endswith(("require", "bind", "root")):  # a table; requirepass X
        return True
    name = before[name_start(before, len(before)) :] if any(sign in before for sign in _COMMANDS) else ""
    return name.startswith("-") or before.removesuffix(name).endswith(_COMMANDS[1:])


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
