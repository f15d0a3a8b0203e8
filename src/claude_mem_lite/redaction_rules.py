"""Where a secret may stand: the names of secrets and the signs of logins, looked for by substrings.

One text in, its secrets out; events and files are the business of `redact`. A hook loads this module for
every event, so it imports nothing but in the functions that have found something.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redact import Looks

    Span = tuple[int, int, str]  # start, end, kind

WORDS = {
    "authorization": "authorization", "bearer": "authorization", "pass": "password", "pw": "password",
    "secret": "secret", "token": "token", "credential": "credential", "key": "key", "sessionid": "session",
}  # fmt: skip
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
NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-."
AFTER_NAME = "\\\"'`] \t"
_GOES_ON = frozenset("0123456789_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ=:,>(<*\r\n" + AFTER_NAME)
_COMMANDS = (" -", "env ", "set ", "setx ", "set -x ", "set -gx ", "set -ux ")  # these name what they set
_APART = (",", "{", "\n", "n", "</key>", "value", "type", "default")
REACH = 48  # the longest name on either side of its word
LONGEST = 4096  # the end of a quoted value is looked for as far as this
SAID = 160  # how far a sentence goes on after such a name
# Names of passwords in other languages; those of letters beyond ASCII cost a text without them nothing.
_SAYS, _JOINS_KEY = frozenset(" (*`"), frozenset(" _-")
_NO_NAME_ENDS, _NO_HEAD = " \"'`\\,({[", frozenset("(={[}<>")
_FOREIGN = (
    "creds", "woord", "contraseñ", "парол", "密码", "密碼", "パスワード", "hasło", "lösen", "비밀번호",
)  # fmt: skip
# What may stand beside a password that no name gives away; `redaction_logins` tells.
_LOGINS = ("cookie", ":5432:", ":*:*:", "identified by", "securestring")
# Signs of the forms that `redaction_commands` tells; and those of logins that are signs of such forms too.
_FORMS = (
    "login", "connect", "ssid", "httponly", "@tcp(", "rabbitmqctl", "net use", "http-basic", "new pdo",
    "mysqli", "sqlplus",
)  # fmt: skip
# Signs of the forms that `redaction_keys` tells.
_KEYS = ("base32", "authenticator", "[]byte(", "mnemonic", "phrase", "wallet", "deployer", "privkey")
# Those with a part of each sign, without which none of them stands in a text.
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
    ("accounts", "accounts", ("accounts: [", "accounts:[")),
)
_PARTS = ("otp", "define", "login", " in ", "cred", "seed", "private", "accounts")
_FORMS_TOO = frozenset(
    (
        "cookie",
        "chpasswd",
        "openssl",
        "gh secret",
        "auth(",
        "auth ",
        "kind",
        "pgpass",
        "spawn",
        "credentials(",
        "--from-literal",
    )
)
# What looks cost, in units of about 10 µs: at a word, at the value of a name, at a sentence.
AT_WORD, AT_VALUE, AT_SENTENCE = 1, 2, 8
_COMMANDS_OF = {
    "u": ("curl", "lftp", "smbclient"),
    "a": ("redis-cli", "http"),
    "b": ("curl", "gh secret"),
    "-": ("gh secret",),
    "k": ("openssl",),
    "w": ("ldap",),
}


def holds_word(name: str) -> bool:
    """Tell whether a name may be that of a secret."""
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
    passes, heads = set(), []
    for word in WORDS:
        at = low.find(word) if word != "authorization" or "auth" in low else -1
        while at >= 0:
            end = at + len(word)
            if word == "pass":
                passes.add(low[end : end + 2])
                if low[at - 2 : at] == "pg":
                    passes.add("pgpass")
            elif word == "credential" and "(" in low[end : end + 2]:
                passes.add("credentials(")
            elif word == "secret" and "kind" in low[max(0, at - 12) : at]:
                passes.add("kind")
            # Most are words of code or prose: a look at what follows the name tells.
            if text[end : end + 1] in _GOES_ON or word in CONTINUED:
                value = _value_at(text, low, at, word, looks)
                if value:
                    yield value
                    end = value[1]
                elif _may_head(low, at, end, word):
                    heads.append(at)
            at = low.find(word, end)
    yield from _beside(text, low, passes, heads, looks)


def _beside(text: str, low: str, passes: set[str], heads: list[int], looks: Looks) -> Iterator[Span]:
    """Yield what opens a login, what stands under the heads of tables, and what sentences tell."""
    forms = {sign for sign in _FORMS if sign in low}
    signs = _login_signs(low, passes)
    if "login" in forms:
        signs.add(".login(")
    if signs:
        from claude_mem_lite.redaction_logins import find_logins

        looks.spend(AT_WORD)
        yield from find_logins(text, low, signs, looks)
    if forms or signs & _FORMS_TOO:
        from claude_mem_lite.redaction_commands import find_forms

        looks.spend(AT_WORD)
        yield from find_forms(text, low, forms | signs, looks)
    keys = {sign for sign in _KEYS if sign in low}
    parts = {part for part in _PARTS if part in low}
    keys |= {sign for part, sign, some in _KEYS_WITH if part in parts and any(each in low for each in some)}
    if keys:
        from claude_mem_lite.redaction_keys import find_keys

        yield from find_keys(text, keys, looks)
    if heads:
        from claude_mem_lite.redaction_tables import find_cells

        yield from find_cells(text, low, sorted(heads), looks)
    foreign = tuple(word for word in _FOREIGN if word in low)
    if foreign or "log in" in low or "login" in forms:
        from claude_mem_lite import redaction_prose

        yield from redaction_prose.foreign_values(text, low, foreign, looks)
        yield from redaction_prose.pairs(text, low, looks)


def _value_at(text: str, low: str, at: int, word: str, looks: Looks) -> Span | None:
    """Return the value of the name that `word` stands in at `at`, if that is one of a secret."""
    looks.spend(AT_WORD)
    end = at + len(word)
    rest = low[end : end + REACH].lstrip(NAME)
    if not rest:  # within a long run
        return None
    if _may_name(low, at, word, rest):
        from claude_mem_lite.redaction_values import named_value

        looks.spend(AT_VALUE)
        value = named_value(text, low, at, word)
        if value:
            return value
    if rest.lstrip("\\\"'` :)").startswith(_APART):
        from claude_mem_lite.redaction_values import paired_value

        looks.spend(AT_WORD)
        value = paired_value(text, low, at, word)
        if value:
            return value
    if not _may_say(low, at, word, rest):
        return None
    from claude_mem_lite.redaction_prose import said_value

    looks.spend(AT_SENTENCE)
    return said_value(text, low, at, word)


def _may_say(low: str, at: int, word: str, rest: str) -> bool:
    """Tell whether a sentence may go on behind the name that `word` stands in, with a digit on its line."""
    said = rest[:1] in _SAYS or rest[:2] == ":*" or (rest[:1] == ":" and word == "credential")
    if not said or (word == "key" and low[at - 1 : at] not in _JOINS_KEY):
        return False
    end = at + len(word)
    rest = low[end : end + SAID].lstrip(NAME)
    line = rest.partition("\n")[0].partition("\\n")[0]
    if line.rstrip(" \\`*").endswith(":"):
        line = rest
    return any(digit in line for digit in "0123456789")


def _may_head(low: str, at: int, end: int, word: str) -> bool:
    """Tell whether the name that `word` stands in at `at` may be the head of a column or a label."""
    rest = low[end : end + REACH].lstrip(NAME)
    after = rest.replace('\\"', '"').lstrip(" \"'`*")
    if word == "key" and not low[at - 1 : at].strip(_NO_NAME_ENDS):
        return low[max(0, at - REACH) : at].rstrip(" ").endswith(KEY_OWNERS) and after.startswith(
            ("|", ",", "\t", "</")
        )
    if after[:1] == ")":  # INSERT INTO t (name, password) VALUES
        return "values" in after
    if after[:1] in ("|", "\t", "<"):
        return after[0] != "<" or after.startswith(("</t", "</d"))
    head = low[max(0, at - REACH) : at].rpartition("\n")[2].rpartition("\\n")[2]
    head = head.rpartition('":')[2]  # the name of a field
    if after.startswith(("\n", "\\n", "\r", "\\r")):
        ruled = after.lstrip("\\nr\r\n |+").startswith("---")
        return ruled or any(sign in head for sign in ("|", ",", "\t", "\\t", ";"))
    listed = after[:1] in (",", ";") or after.startswith("\\t") or rest.startswith("  ")
    return listed and not _NO_HEAD & set(head + after.partition("\n")[0].partition("\\n")[0])


def _login_signs(low: str, passes: set[str]) -> set[str]:
    """Return the signs of logins in a text, those of commands only where the right option stands.

    `passes` is what follows `pass` in the text, two characters each.
    """
    signs = {sign for sign in _LOGINS if sign in low}
    if "@" in low and "://" in low:
        signs.add("://")
    for sign in {rest[:1] for rest in low.split("auth")[1:]}:
        if sign in ("=", '"', "\\", "(", " "):
            signs.add(f"auth{sign}" if sign in "( " else "auth")
    signs.update(" pass:" for after in passes if after[:1] == ":")
    signs.update("chpasswd" for after in passes if after == "wd")
    signs |= passes & {"kind", "pgpass", "credentials("}
    if "wo" in passes and "spawn" in low:
        signs.add("spawn")
    before, *after = low.split(" -")
    for text in after:
        if text[:1] == "s" and before.endswith("| sudo"):
            signs.add("| sudo -s")
        before = text
    options = {"u" if text.startswith("-user") else text[:1] for text in after}
    signs.update(f" -{option}" for option in options & {"p", "n"})
    for text in after:
        if text.startswith(("-password-s", "-from-literal")):
            signs.add("password-stdin" if text[1] == "p" else "--from-literal")
    signs.update(
        name for option in options & _COMMANDS_OF.keys() for name in _COMMANDS_OF[option] if name in low
    )
    return signs


def _may_name(low: str, at: int, word: str, rest: str) -> bool:  # noqa: C901, PLR0911  (a return a way to write it)
    sign = rest.lstrip(AFTER_NAME)[:1]
    if sign in ("=", ":") or (sign == "|" and rest[0] in " ]") or (sign == "?" and rest[:3] == " ??"):
        if word != "key" or low[at - 1 : at].strip(_NO_NAME_ENDS):  # somebody's key
            return True
        return low[max(0, at - REACH) : at].rstrip(" ").endswith(KEY_OWNERS)
    if sign in (",", ">"):  # "TOKEN", "value" and <token>value<
        return (rest[0] == sign) is (sign == ">")
    if sign == "(":  # setPassword("value"), Credential("value")
        return rest[1:].lstrip("\\")[:1] in ("'", '"')
    if rest[:1] != " ":
        return False
    if sign == "<" and rest.startswith(" <-"):  # R
        return True
    if word == "authorization":  # proxy_set_header Authorization "Basic X"
        return rest.lstrip(AFTER_NAME).startswith(("basic ", "bearer "))
    if word == "bearer":
        return at == 0 or low[at - 1] not in NAME or low[at - 2 : at - 1] == "\\"
    before = low[max(0, at - REACH) : at]  # --token X, ENV TOKEN X
    if low.startswith("password", at) and (
        rest.lstrip(" \\")[:1] in ("'", '"') or "login " in before
    ):  # .netrc
        return True
    if rest.startswith("    ") or before.endswith(("require", "bind", "root")):  # a table; requirepass X
        return True
    if word == "token" and before.endswith(("/:_auth", "/:_")):  # npm config set //r.example/:_authToken X
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
