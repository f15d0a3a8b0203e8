"""Search a text for the names of secrets and the signs of logins, by substring searches alone.

Each place found is handed to the module that reads such places. A hook loads this module for every event, so
it imports those modules only when they are needed.
"""

from __future__ import annotations

from claude_mem_lite.redaction.vocabulary import (
    AFTER_NAME,
    AT_SENTENCE,
    AT_VALUE,
    AT_WORD,
    CONTINUED,
    DIGITS,
    KEY_OWNERS,
    NAME,
    PAIRED,
    REACH,
    SAID,
    WORDS,
    name_start,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redaction.vocabulary import Looks, Span

_GOES_ON = frozenset("0123456789_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ=:,>(<*\r\n" + AFTER_NAME)
_COMMANDS = (" -", "env ", "set ", "setx ", "set -x ", "set -gx ", "set -ux ")  # before a name that is set
_APART = (",", "{", "\n", "n", "</key>", "value", "type", "default")
_SAYS, _JOINS_KEY = frozenset(" (*`"), frozenset(" _-")
_NO_NAME_ENDS, _NO_HEAD = " \"'`\\,({[", frozenset("(={[}<>")
# Names of passwords in other languages; non-ASCII ones cost nothing in a text without such letters.
_FOREIGN = (
    "creds", "woord", "kennwort", "mdp", "clave", "senha",
    "contraseñ", "парол", "密码", "密碼", "口令", "パスワード", "hasło", "lösen", "비밀번호",
)  # fmt: skip
# Signs of passwords that no name gives away; `logins` reads them.
_LOGINS = ("cookie", ":5432:", ":*:*:", "identified by", "securestring")
# Signs of the forms that `commands` reads; _FORMS_TOO are signs of logins that are signs of forms as well.
_FORMS = (
    "login", "connect", "ssid", "httponly", "@tcp(", "rabbitmqctl", "net use", "http-basic", "new pdo",
    "mysqli", "sqlplus",
)  # fmt: skip
# Signs of the forms that `keys` reads.
_KEYS = ("base32", "authenticator", "[]byte(", "mnemonic", "phrase", "wallet", "deployer", "privkey")
# More of those, as (part, sign, strings): any of the strings means the sign; none occurs without the part.
_KEYS_WITH = (
    ("otp", "otpauth", ("otpauth",)),
    ("otp", "totp", ("totp",)),
    ("otp", "hotp", ("hotp",)),
    ("define", "define", ("define(", "define (")),
    ("login", "login", ("login with", "login as", "login:")),
    (" in ", "login", ("log in with", "log in as", "sign in with", "logged in as")),
    ("cred", "creds", ("credentials:", "creds:", "credentials are", "creds are")),
    ("seed", "seed", ("seed:", "seed=", "seed word", "seed =")),
    ("private", "private", ("private key", "private_key", "privatekey", "private-key")),
    ("pin", "pin", ("pin is ", "pin was ", "pin:", "pin = ", "pin code", "pin number")),
    ("accounts", "accounts", ("accounts: [", "accounts:[")),
)
_PARTS = {part for part, _, _ in _KEYS_WITH}
_FORMS_TOO = frozenset({
    "cookie", "chpasswd", "openssl", "gh secret", "auth(", "auth ", "kind", "pgpass", "spawn", "credentials(",
    "--from-literal",
})  # fmt: skip
_AUTHS = {"=": "auth", '"': "auth", "\\": "auth", "(": "auth(", " ": "auth "}  # by the character after it
_QUOTES = ("'", '"')
_NEWLINES, _CELL_ENDS = ("\n", "\\n", "\r", "\\r"), ("|", ",", "\t", "\\t", ";")
_KIND = 12  # characters before `secret` in which `kind: ` may stand
_LONG_OPTIONS = (
    ("-password-s", "password-stdin"), ("-from-literal", "--from-literal"), ("-with-token", "--with-token"),
)  # fmt: skip
_COMMANDS_OF = {
    "u": ("curl", "lftp", "smbclient"),
    "a": ("redis-cli", "http"),
    "b": ("curl", "gh secret"),
    "-": ("gh secret",),
    "k": ("openssl",),
    "w": ("ldap",),
}


def holds_word(name: str) -> bool:
    """Tell whether a name may be the name of a secret."""
    return any(word in name.lower() for word in WORDS)


def escaped_names() -> list[str]:
    """Return the names of passwords in other languages as JSON may write them."""
    coded = [[f"\\u{ord(char):04x}" if char > "\x7f" else char for char in word] for word in _FOREIGN]
    return ["".join(word) for word in coded if len(word[-1]) > 1 or len(word[0]) > 1]


def find_values(text: str, looks: Looks) -> list[Span]:
    """Return each value that its name or its place gives away, in order. Raises: TooMuchError."""
    found: dict[int, Span] = {}
    for value in values_in(text, looks):
        found.setdefault(value[0], value)
    return sorted(found.values())


def values_in(text: str, looks: Looks) -> Iterator[Span]:
    """Yield each value that its name or its place gives away, in no order. Raises: TooMuchError."""
    low = text.replace("\u0130", "i").lower()  # the one letter that is longer in lower case
    hints: set[str] = set()
    heads = []
    for word in WORDS:
        at = low.find(word) if word != "authorization" or "auth" in low else -1
        while at >= 0:
            end = at + len(word)
            hints.update(_hints(low, at, word, end))
            # Most are words of code or prose: the next character rules them out.
            if text[end : end + 1] in _GOES_ON or word in CONTINUED:
                value = _value_at(text, low, at, word, looks)
                if value:
                    yield value
                    end = value[1]
                elif _may_head(low, at, end, word):
                    heads.append(at)
            at = low.find(word, end)
    yield from _beside(text, low, hints, heads, looks)


def _hints(low: str, at: int, word: str, end: int) -> tuple[str, ...]:
    """Return the signs of logins that the word is a part of; for `pass`, the two characters after it."""
    if word == "pass":
        return (low[end : end + 2], "pgpass") if low[at - 2 : at] == "pg" else (low[end : end + 2],)
    if word == "credential" and "(" in low[end : end + 2]:
        return ("credentials(",)
    return ("kind",) if word == "secret" and "kind" in low[max(0, at - _KIND) : at] else ()


def _beside(text: str, low: str, hints: set[str], heads: list[int], looks: Looks) -> Iterator[Span]:
    """Yield the secrets in logins, commands, keys, tables and sentences without one of WORDS."""
    forms = {sign for sign in _FORMS if sign in low}
    signs = _login_signs(low, hints)
    if "login" in forms:
        signs.add(".login(")
    if signs:
        from claude_mem_lite.redaction.logins import find_logins

        looks.spend(AT_WORD)
        yield from find_logins(text, low, signs, looks)
    if forms or signs & _FORMS_TOO:
        from claude_mem_lite.redaction.commands import find_forms

        looks.spend(AT_WORD)
        yield from find_forms(text, low, forms | signs, looks)
    keys = _key_signs(low)
    if keys:
        from claude_mem_lite.redaction.keys import find_keys

        yield from find_keys(text, keys, looks)
    if heads:
        from claude_mem_lite.redaction.tables import find_cells

        yield from find_cells(text, low, sorted(heads), looks)
    # Sentences that contain none of WORDS.
    foreign = tuple(word for word in _FOREIGN if word in low)
    if foreign or "log in" in low or "login" in low:
        from claude_mem_lite.redaction.prose import foreign_values, pairs

        yield from foreign_values(text, low, foreign, looks)
        yield from pairs(text, low, looks)


def _key_signs(low: str) -> set[str]:
    """Return the signs of keys in a text; those in `_KEYS_WITH` are searched for by their part first."""
    parts = {part for part in _PARTS if part in low}
    found = {sign for part, sign, some in _KEYS_WITH if part in parts and any(each in low for each in some)}
    return found.union(sign for sign in _KEYS if sign in low)


def _value_at(text: str, low: str, at: int, word: str, looks: Looks) -> Span | None:
    """Return the value of the name that contains `word` at `at`, if it is a secret."""
    looks.spend(AT_WORD)
    end = at + len(word)
    rest = low[end : end + REACH].lstrip(NAME)
    if not rest:  # inside a long run of name characters
        return None
    if _may_name(low, at, word, rest):
        from claude_mem_lite.redaction.names import named_value

        looks.spend(AT_VALUE)
        value = named_value(text, low, at, word)
        if value:
            return value
    if rest.lstrip("\\\"'` :)").startswith(_APART):
        looks.spend(AT_WORD)
        value = _paired_value(text, low, at, word)
        if value:
            return value
    if not _may_say(low, at, word, rest):
        return None
    from claude_mem_lite.redaction.prose import said_value

    looks.spend(AT_SENTENCE)
    return said_value(text, low, at, word)


def _paired_value(text: str, low: str, at: int, word: str) -> Span | None:
    """Return the value beside the name that contains `word`, if a field for values is near."""
    window = low[at : at + 5 * REACH]
    if not any(sign in window for sign in PAIRED):  # spares the import for each "passed" of a test run
        return None
    from claude_mem_lite.redaction.names import paired_value

    return paired_value(text, low, at, word)


def _may_say(low: str, at: int, word: str, rest: str) -> bool:
    """Tell whether a sentence may continue after the name that contains `word`, with a digit on its line."""
    said = rest[:1] in _SAYS or rest[:2] == ":*" or (rest[:1] == ":" and word == "credential")
    if not said or (word == "key" and low[at - 1 : at] not in _JOINS_KEY):
        return False
    end = at + len(word)
    rest = low[end : end + SAID].lstrip(NAME)
    line = rest.partition("\n")[0].partition("\\n")[0]
    if line.rstrip(" \\`*").endswith(":"):
        line = rest
    return any(digit in line for digit in DIGITS)


def _may_head(low: str, at: int, end: int, word: str) -> bool:
    """Tell whether the name that contains `word` at `at` may be the header of a column or a label."""
    rest = low[end : end + REACH].lstrip(NAME)
    after = rest.replace('\\"', '"').lstrip(" \"'`*")
    if word == "key" and _is_bare(low, at):
        return _is_owned(low, at) and after.startswith(("|", ",", "\t", "</"))
    if after[:1] == ")":  # INSERT INTO t (name, password) VALUES
        return "values" in after
    if after[:1] in ("|", "\t", "<"):
        return after[0] != "<" or after.startswith(("</t", "</d"))
    head = low[max(0, at - REACH) : at].rpartition("\n")[2].rpartition("\\n")[2]
    head = head.rpartition('":')[2]  # without the name of a JSON field
    if after.startswith(_NEWLINES):
        ruled = after.lstrip("\\nr\r\n |+").startswith("---")
        return ruled or any(sign in head for sign in _CELL_ENDS)
    listed = after.startswith((",", ";", "\\t")) or rest.startswith("  ")
    return listed and not _NO_HEAD & set(head + after.partition("\n")[0].partition("\\n")[0])


def _is_bare(low: str, at: int) -> bool:
    """Tell whether a word begins its name: no character of a name precedes it."""
    return not low[at - 1 : at].strip(_NO_NAME_ENDS)


def _is_owned(low: str, at: int) -> bool:
    """Tell whether the text before `key` makes it a secret: api, signing, master."""
    return low[max(0, at - REACH) : at].rstrip(" ").endswith(KEY_OWNERS)


def _login_signs(low: str, hints: set[str]) -> set[str]:
    """Return the signs of logins in a text, including those that follow from the `hints` of its words."""
    signs = {sign for sign in _LOGINS if sign in low} | (hints & {"kind", "pgpass", "credentials("})
    if "@" in low and ("://" in low or "\\/\\" in low):
        signs.add("://")
    if "%3a%2f%2f" in low:
        signs.add("%3a%2f%2f")
    signs |= {_AUTHS[sign] for sign in {rest[:1] for rest in low.split("auth")[1:]} & _AUTHS.keys()}
    if any(hint[:1] == ":" for hint in hints):
        signs.add(" pass:")
    if "wd" in hints:
        signs.add("chpasswd")
    if "wo" in hints and "spawn" in low:
        signs.add("spawn")
    return signs | _option_signs(low)


def _option_signs(low: str) -> set[str]:
    """Return the signs of options that take a login; those of one command only if that occurs too."""
    lines = low.split(" -")
    after = lines[1:]
    options = {"u" if text.startswith(("-user", "-proxy-user")) else text[:1] for text in after}
    signs = {f" -{option}" for option in options & {"p", "n"}}
    if any(text[:1] == "s" and before.endswith("| sudo") for before, text in zip(lines, after, strict=False)):
        signs.add("| sudo -s")
    for text in after:
        signs.update(sign for option, sign in _LONG_OPTIONS if text.startswith(option))
    names = (name for option in options & _COMMANDS_OF.keys() for name in _COMMANDS_OF[option])
    return signs.union(name for name in names if name in low)


def _may_name(low: str, at: int, word: str, rest: str) -> bool:
    """Tell whether a sign with a value after it may follow a name."""
    sign = rest.lstrip(AFTER_NAME)[:1]
    if sign in ("=", ":") or rest.startswith(" ??") or (sign == "|" and rest[0] in " ]"):
        return word != "key" or not _is_bare(low, at) or _is_owned(low, at)
    if sign in (",", ">"):  # "TOKEN", "value" and <token>value<
        return (rest[0] == sign) is (sign == ">")
    if sign == "(":  # setPassword("value"), Credential("value")
        return rest[1:].lstrip("\\")[:1] in _QUOTES
    if rest[:1] != " ":
        return False
    if rest.startswith(" <-"):  # R
        return True
    return (
        _opens_credential(low, at, rest) if WORDS[word] == "authorization" else _may_set(low, at, word, rest)
    )


def _opens_credential(low: str, at: int, rest: str) -> bool:
    """Tell whether a credential may follow: `Authorization "Basic X"` of a proxy, `Bearer X`."""
    if low[at] == "a":
        return rest.lstrip(AFTER_NAME).startswith(("basic ", "bearer "))
    return (
        at == 0 or low[at - 1] not in NAME or low[at - 2 : at - 1] == "\\" or low.endswith("oauth2-", 0, at)
    )


def _may_set(low: str, at: int, word: str, rest: str) -> bool:
    """Tell whether a command or a table may give a value after a blank: --token X, ENV TOKEN X."""
    before = low[max(0, at - REACH) : at]
    if low.startswith("password", at) and (rest.lstrip(" \\")[:1] in _QUOTES or "login " in before):  # .netrc
        return True
    if rest.startswith("    ") or before.endswith(("require", "bind", "root")):  # a table; requirepass X
        return True
    if word == "token" and before.endswith(("/:_auth", "/:_")):  # npm config set //r.example/:_authToken X
        return True
    name = before[name_start(before, len(before)) :] if any(sign in before for sign in _COMMANDS) else ""
    return name.startswith("-") or before.removesuffix(name).endswith(_COMMANDS[1:])
