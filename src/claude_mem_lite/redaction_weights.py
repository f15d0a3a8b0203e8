"""How much a value looks like a secret, by its characters alone."""

from __future__ import annotations

WORD, MIXED, RANDOM, NEVER = 1, 2, 3, 4  # how much a value looks like a secret; 0 is not at all
# The least weight that counts for what people choose and for what is made at random, by where it stands:
# NAME=value, "value", at the end of a line, amid code. And the least length, but passwords may be short.
_ENOUGH = {"env": (WORD, MIXED), "quoted": (WORD, MIXED), "last": (MIXED, RANDOM), "inside": (RANDOM,) * 2}
SHORTEST = {"env": 4, "quoted": 8, "last": 8, "inside": 16}
LOOK = 64  # how much of a value is looked at
_REFERENCES = (
    "${", "$(", "#{", "{{", "{}", "%(", "%s", "%d", "(?", "...", "…", "://", "[redacted", "arn:",
    "[^", "]+", "]*", "[a-z", "[A-Z", "[0-9", "\\w", "\\d",
)  # fmt: skip
_STAND_INS = (
    "your",
    "example",
    "change",
    "replace",
    "insert_",
    "todo",
    "placeholder",
    "redacted",
    "xxxx",
    "dummy",
    "required",
    "string",
)
PLAIN = ("password", "passwd", "pass", "pwd", "pw", "secret", "token", "none", "null", "true")
QUOTED_LEAST = SHORTEST["quoted"]
SESSION = 20  # characters: the shortest id of a session that is taken for a key to it
_UUID_DASHES = 4
_ADDRESS, _COLOUR = 42, 9  # characters of 0x and twenty bytes, and the most of # and four bytes
# Words of a passphrase with a number, letters of any password, and characters of the shortest.
_PHRASE, _LETTERS, _SHORT_ONE = 3, 4, 6
# What ends in a number too, or begins so: ways to hash, to encode and to sign, languages and protocols.
_TECHNICAL = frozenset({
    "sha", "md", "base", "utf", "aes", "rsa", "des", "http", "https", "oauth", "oidc", "x", "pkcs", "pbkdf",
    "argon", "bcrypt", "scrypt", "ed", "hs", "rs", "es", "ps", "iso", "latin", "ascii", "crypt", "uuid", "v",
    "python", "java", "tls", "ssl", "tlsv", "rfc", "cp", "windows", "hmac", "blake", "crc", "p", "secp", "k",
    "curve", "version", "int", "uint", "float", "char", "varchar", "string", "line", "step", "level", "ntlmv",
    "ntlm", "ipv", "ip", "http/", "cve", "issue", "pr", "gh", "b",
})  # fmt: skip
FEW, _SHORT = 3, 10  # characters: fewer different ones are no value, fewer of any kind are not random
_SIGNS = frozenset("$#{%(.…:[]\\")  # one of them stands in each reference
_BRACKETS = frozenset("([{<")
# Letters and digits by their class, for counts of the changes between them; nothing else is counted.
_CLASSES = bytes.maketrans(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 10 * b"0" + 26 * b"A" + 26 * b"a"
)
_SYLLABLES = bytes.maketrans(b"aeiouyAEIOUY", 12 * b" ")
_OTHERS = bytes(byte for byte in range(128) if not chr(byte).isalnum())


def is_secret(value: str, kind: str, place: str, least: int, quote: str) -> bool:
    """Tell whether a value is a secret of `kind`, given its place and the least weight that tells."""
    chosen = kind == "password" or (kind == "secret" and place != "last")
    chosen = chosen or (kind == "secret" and not value.islower() and is_chosen(value))
    least = max(least, _ENOUGH[place][not chosen])
    weight = 0 if least == NEVER or (least > WORD and is_word(value)) else weigh(value, quoted=quote != "")
    if weight == WORD and place == "quoted" and any(word in value.lower() for word in PLAIN):
        return False  # the label of a field, in whatever language
    if not value.isascii() and not any(
        char.isdigit() or (char < "\x80" and char.isalpha()) for char in value
    ):
        return False  # the label of a field, in Japanese say
    if kind == "session" and (len(value) < SESSION or value.count("-") == _UUID_DASHES):
        return False
    shortest = SHORTEST[place] if kind != "password" else 6 if weight == WORD else 4
    return weight >= least and len(value) >= shortest


def weigh(value: str, *, quoted: bool = True) -> int:  # noqa: PLR0911  (as above)
    """Return how much a value looks like a secret: RANDOM, MIXED, WORD, or 0 for what only stands for one."""
    value = value[:LOOK]
    low = value.lower()
    if (low.startswith("0x") and len(value) == _ADDRESS) or (value[:1] == "#" and len(value) <= _COLOUR):
        return 0
    if value[4:5] == value[7:8] == "-" and _letters(value[:10]).isdigit():  # a date
        return 0
    if _stands_in(value, low, quoted=quoted):
        return 0
    if value[0] in "$&*@!#%" and (
        _letters(value[1:]).isalpha() or (value[1:].isidentifier() and not (quoted and value[0] != "$"))
    ):
        return 0
    if _is_random(value):
        return RANDOM
    plain = _letters(value.rstrip("%"))
    number = plain.isdigit() and plain != value
    if number or value[0] in "/~." or low.startswith("0x"):
        return 0
    for stand_in in _STAND_INS:  # a loop, which takes half as long as `any`
        if stand_in in low:
            return 0
    word = plain.isdigit() or (plain.isalpha() and 3 * _turns(plain) <= len(plain))
    return WORD if word else MIXED


def _stands_in(value: str, low: str, *, quoted: bool) -> bool:
    """Tell whether `value` stands for another value: a placeholder, a reference, an expression."""
    chars = set(low)
    if len(chars) < FEW or low in PLAIN:
        return True
    if value.isalnum():
        return False
    if value.startswith("***") or value.split() != [value]:
        return True
    if not _SIGNS.isdisjoint(chars) and any(mark in value for mark in _REFERENCES):
        return True
    return not _BRACKETS.isdisjoint(chars) and _is_expression(value, quoted=quoted)


def is_chosen(value: str, *, alone: bool = True) -> bool:  # noqa: PLR0911  (as above)
    """Tell whether `value` looks like a password by itself: `Harbor!Honey8481`, `barrel-rabbit-whale-27`.

    Not `alone`, with something beside it that says so, `hunter2` and `harbor.ship1` do too.
    """
    digits = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    if (
        not digits
        or letters < _LETTERS
        or len(value) < (QUOTED_LEAST if alone else _SHORT_ONE)
        or weigh(value) < MIXED
    ):
        return False
    low, (name, _, host) = value.lower(), value.rpartition("@")
    before = low[: next(at for at, char in enumerate(low) if char.isdigit())].rstrip("-_ ")
    joints = {char for char in value if not char.isalnum()}
    last = value.rpartition(".")[2] if "." in value else ""
    made = len(value) > _SHORT and _is_random(value)
    if (
        (before in _TECHNICAL and not made)
        or before in PLAIN
        or joints & set("(){}[]<>|\\\"'`,;")
        or "://" in value
        or value[0] == "/"
    ):
        return False
    if (name and ("." in host or host == "localhost")) or (last.isalpha() and last.islower()):
        return False  # an address, a file
    if _is_random(value):
        return value.count("-") != _UUID_DASHES and "/" not in value
    if joints & set("/:="):
        return False
    if joints - set("-_.@+") or not alone:
        return True
    if digits > 1 and not (value.islower() or value.isupper()):
        return True
    parts = value.replace("_", "-").split("-")
    words = [part for part in parts if part.isalpha() and len(part) >= FEW]
    return len(words) >= _PHRASE and (parts[-1].isdigit() or parts[0].isdigit()) and value.islower()


def _is_expression(value: str, *, quoted: bool) -> bool:
    """Tell whether `value` calls, indexes or stands for something: `f(x)`, `<your-key>`, in quotes `a{b}`."""
    for opener, closer in ("()", "[]", "{}", "<>"):
        if opener not in value:
            continue
        before, _, rest = value.partition(opener)
        inner, closed, _ = rest.partition(closer)
        name = _letters(inner).strip("!|")
        if (
            opener in "{<"
            and closed
            and (name.isdigit() or (name.isalpha() and 3 * _turns(name) <= len(name)))
        ):
            return True
        if is_path(before) and (not quoted or (closed and value[-1] == closer and opener in "([")):
            return True
    return False


def _turns(value: str) -> int:
    """Return how often letters change between capital and small: in base64 more often than in names."""
    classes = _ascii(value).translate(_CLASSES)
    return classes.count(b"aA") + classes.count(b"Aa")


def _ascii(value: str) -> bytes:
    """Return a value with letters and digits of ASCII in the place of others."""
    return (value if value.isascii() else "".join(map(_like, value))).encode()


def _like(char: str) -> str:
    if char < "\x80":
        return char
    return "0" if char.isdigit() else "B" if char.isupper() else "b" if char.isalnum() else " "


def is_word(value: str) -> bool:
    """Tell cheaply that `weigh` finds no more than a WORD."""
    plain = _letters(value)
    return plain.isdigit() or (plain.isalpha() and (plain[1:].islower() or plain.isupper()))


def _letters(value: str) -> str:
    for joint in "_-./:+":
        value = value.replace(joint, "")
    return value


def is_path(text: str) -> bool:
    """Tell whether `text` is nothing, a variable or an attribute: what stands before a bracket in code."""
    return not text or all(part.isidentifier() for part in text.split("."))


def is_key(value: str) -> bool:
    """Tell whether a random string stands between the points of what else were a path."""
    return any(len(part) > SESSION and _is_random(part) for part in value.split("."))


def _is_random(value: str) -> bool:
    """Tell whether letters and digits change about as in a random string, or letters make no syllables."""
    plain = _ascii(value).translate(None, _OTHERS)
    classes = plain.translate(_CLASSES)
    if len(plain) < _SHORT or b"0" not in classes:
        mixed = not (value.islower() or value.isupper())
        spoken = plain.translate(_SYLLABLES).split()
        return len(plain) >= _SHORT and mixed and max(map(len, spoken), default=0) > 2 * FEW
    changes = sum(map(classes.count, (b"a0", b"A0", b"0a", b"0A", b"aA")))
    return changes >= FEW and 5 * changes > len(plain)
