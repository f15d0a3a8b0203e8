"""Weigh how much a value looks like a secret by its characters, and how much weight its name requires."""

from __future__ import annotations

from claude_mem_lite.redaction.vocabulary import CONTINUED, KEY_OWNERS

WORD, MIXED, RANDOM, NEVER = 1, 2, 3, 4  # how much a value looks like a secret; 0 is not at all
# The minimum weights of a secret that people choose and of one made at random, by its place: NAME=value,
# "value", the end of a line, inside code. Below it the minimum length, though passwords may be shorter.
_ENOUGH = {"env": (WORD, MIXED), "quoted": (WORD, MIXED), "last": (MIXED, RANDOM), "inside": (RANDOM,) * 2}
SHORTEST = {"env": 4, "quoted": 8, "last": 8, "inside": 16}
LOOK = 64  # characters of a value that are weighed
_REFERENCES = (
    "${", "$(", "#{", "{{", "{}", "%(", "%s", "%d", "(?", "...", "…", "://", "[redacted", "arn:",
    "[^", "]+", "]*", "[a-z", "[A-Z", "[0-9", "\\w", "\\d",
)  # fmt: skip
_STAND_INS = (
    "your", "example", "change", "replace", "insert_", "todo", "placeholder", "redacted", "xxxx", "dummy",
    "required", "string",
)  # fmt: skip
PLAIN = ("password", "passwd", "pass", "pwd", "pw", "secret", "token", "none", "null", "true")
QUOTED_LEAST = SHORTEST["quoted"]
SESSION = 20  # characters of the shortest session id that counts as a secret
_UUID_DASHES = 4
_HEX = "0123456789abcdef"
_MOST_WORDS = 8  # of a password with blanks
_ADDRESS, _COLOUR = 42, 9  # characters of 0x and twenty bytes, and the most of # and four bytes
# The minimum words of a passphrase with a number, letters of a chosen password, characters of a password.
_PHRASE, _LETTERS, _SHORT_ONE = 3, 4, 6
# Technical terms that a number often follows: hashes, encodings, signatures, languages and protocols.
_TECHNICAL = frozenset({
    "sha", "md", "base", "utf", "aes", "rsa", "des", "http", "https", "oauth", "oidc", "x", "pkcs", "pbkdf",
    "argon", "bcrypt", "scrypt", "ed", "hs", "rs", "es", "ps", "iso", "latin", "ascii", "crypt", "uuid", "v",
    "python", "java", "tls", "ssl", "tlsv", "rfc", "cp", "windows", "hmac", "blake", "crc", "p", "secp", "k",
    "curve", "version", "int", "uint", "float", "char", "varchar", "string", "line", "step", "level", "ntlmv",
    "ntlm", "ipv", "ip", "http/", "cve", "issue", "pr", "gh", "b",
})  # fmt: skip
FEW, _SHORT = 3, 10  # fewer distinct characters are no value; fewer letters and digits not random
_SIGNS = frozenset("$#{%(.…:[]\\")  # each of _REFERENCES contains one of them
_SIGILS = frozenset("$&*@!#%0")  # one of them begins each address, colour and reference
_BRACKETS = frozenset("([{<")
# Characters that no chosen password contains; that separate names in paths; that join words.
_OF_CODE, _OF_PATHS, _OF_NAMES = frozenset("(){}[]<>|\\\"'`,;"), frozenset("/:="), frozenset("-_.@+")
# A name is harmless if one of these precedes its word: public_key, next_token.
_NOT_SECRET = (
    "existing", "public", "next", "page", "continuation", "primary", "foreign", "sort", "cache", "design",
)  # fmt: skip
_ABOUT = frozenset({  # a name that ends in one of these describes a secret and is none
    "id", "ids", "name", "names", "type", "types", "url", "uri", "path", "file", "dir", "field", "fields",
    "count", "counts", "length", "len", "size", "limit", "max", "min", "expires", "expiry", "expiration",
    "ttl", "at", "in", "arn", "ref", "version", "format", "prefix", "suffix", "header", "env", "var", "class",
    "policy", "label", "hint", "placeholder", "endpoint", "regex", "pattern", "position", "index", "usage",
    "used", "budget", "rate", "cost", "algorithm", "alg", "method", "mode", "enabled", "required", "error",
    "message", "title", "text", "description", "status", "rules", "provider", "source", "spec", "time",
    "stdin", "created", "updated", "changed", "rotated", "date", "color", "colour", "address",
    "identity",
})  # fmt: skip
_PASS_OWNERS = ("require", "store", "-key", "ssh")  # requirepass, -storepass, SSHPASS
_MOST_NAMES = 4096  # whose weight is cached: a text repeats the same few names
_LEAST: dict[tuple[str, str, str], int] = {}
# Maps letters and digits to their class, to count the changes between the classes.
_CLASSES = bytes.maketrans(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 10 * b"0" + 26 * b"A" + 26 * b"a"
)
_SYLLABLES = bytes.maketrans(b"aeiouyAEIOUY", 12 * b" ")
_OTHERS = bytes(byte for byte in range(128) if not chr(byte).isalnum())


def is_secret(value: str, kind: str, place: str, least: int, quote: str) -> bool:
    """Tell whether a value is a secret of `kind`, given its place and the minimum weight for its name."""
    if least != NEVER:
        least = max(least, _ENOUGH[place][not _counts_as_chosen(value, kind, place)])
    if least == NEVER or (least > WORD and is_word(value)):
        return False
    weight = weigh(value, quoted=quote != "")
    if quote and not weight:
        weight = _weigh_words(value, kind, place)
    if weight < least or _is_label(value, weight, place):
        return False
    if kind == "session" and (len(value) < SESSION or value.count("-") == _UUID_DASHES):
        return False
    shortest = SHORTEST[place] if kind != "password" else 6 if weight == WORD else 4
    return len(value) >= shortest


def _weigh_words(value: str, kind: str, place: str) -> int:
    """Return the weight of a quoted value of several lines or a few words, 0 if it is no secret.

    Each line but the last must be random. Words are a password after NAME= together, else if one looks so.
    """
    lines = value.split()
    if "\n" in value:
        weights = [weigh(line) for line in lines]
        is_one = len(lines) == value.strip().count("\n") + 1 and set(weights[:-1]) <= {RANDOM}
        return weights[-1] if is_one else 0
    if kind not in ("password", "secret") or not 1 < len(lines) <= _MOST_WORDS:
        return 0
    words = ["".join(lines)] if place == "env" else filter(_is_cased, lines)
    return MIXED if any(is_chosen(word, alone=place == "env") for word in words) else 0


def _counts_as_chosen(value: str, kind: str, place: str) -> bool:
    """Tell whether people choose such a value, so that it need not look random."""
    if kind == "secret" and place == "last":
        return not value.islower() and is_chosen(value)
    return kind in ("password", "secret")


def _is_label(value: str, weight: int, place: str) -> bool:
    """Tell whether a value is the label of a field, in whatever language."""
    if weight == WORD and place == "quoted" and any(word in value.lower() for word in PLAIN):
        return True
    if value.isascii():
        return False
    return not any(char.isdigit() or (char < "\x80" and char.isalpha()) for char in value)


def least_weight(owner: str, word: str, tail: str) -> int:
    """Return the minimum weight at which a value named `owner + word + tail` is a secret, else NEVER."""
    known = _LEAST.get((owner, word, tail))
    if known is None:
        if len(_LEAST) == _MOST_NAMES:
            _LEAST.clear()
        known = _LEAST[owner, word, tail] = _least_weight(owner, word, tail)
    return known


def _least_weight(owner: str, word: str, tail: str) -> int:
    whose, known = owner.lower().rstrip("_-. "), word.lower()
    more = _continuation(known, tail)
    tail = tail[len(more) :]
    upper = (owner + word + tail).isupper()
    if whose.endswith(_NOT_SECRET) or _goes_on(tail, upper=upper):
        return NEVER
    if known == "pass" and not more:
        is_name = _is_apart(owner, word) or whose.endswith(_PASS_OWNERS)  # no compass
        return NEVER if not is_name else WORD if upper else MIXED
    if known == "psk" and not _is_apart(owner, word):  # letters of base64
        return NEVER
    if known == "_pat":  # a personal access token, or a pattern
        return RANDOM
    if known == "key" and not whose.endswith(KEY_OWNERS):
        return RANDOM if upper and owner else NEVER
    return MIXED if known == "sessionid" else WORD


def _is_apart(owner: str, word: str) -> bool:
    """Tell whether `word` begins a new word after its owner: db_pass, dbPass."""
    return not owner[-1:].strip("_-.") or (word[0].isupper() and owner[-1].islower())


def _continuation(word: str, tail: str) -> str:
    """Return the continuation with which a word still names the same secret: pass-word, secret-key."""
    more = next((more for more in CONTINUED.get(word, ()) if tail.lower().startswith(more)), "")
    return "" if tail[len(more) : len(more) + 1].islower() else more


def _goes_on(tail: str, *, upper: bool) -> bool:
    """Tell whether the tail makes a name harmless: it forms another word, or describes a secret."""
    if tail[:1].isalpha() and (upper or tail[0].islower()):
        return True  # tokenizer, passing, keyboard
    parts = tail if upper else "".join(f"_{char}" if char.isupper() else char for char in tail)
    return parts.lower().replace("-", "_").replace(".", "_").rsplit("_", 1)[-1] in _ABOUT


def weigh(value: str, *, quoted: bool = True) -> int:
    """Return how much a value looks like a secret: RANDOM, MIXED, WORD, or 0 (placeholder, path, number)."""
    value = value[:LOOK]
    low = value.lower()
    if _stands_in(value, low, quoted=quoted) or _is_date(value):
        return 0
    if value[0] in _SIGILS and (_is_figure(value, low) or _is_reference(value, quoted=quoted)):
        return 0
    if _is_random(value):
        return RANDOM
    plain = _letters(value.rstrip("%"))
    number = plain.isdigit() and plain != value
    is_home = value[0] == "~" and ("/" in value or plain[1:].isalnum())  # or a version
    if number or is_home or value[0] in "/." or low.startswith("0x"):
        return 0
    for stand_in in _STAND_INS:  # a loop, which takes half as long as `any`
        if stand_in in low:
            return 0
    return WORD if _is_name(plain) else MIXED


def _is_date(value: str) -> bool:
    return value[4:5] == value[7:8] == "-" and _letters(value[:10]).isdigit()


def _is_figure(value: str, low: str) -> bool:
    """Tell whether a value is an address or a colour."""
    is_colour = value[0] == "#" and len(value) <= _COLOUR and not low[1:].strip(_HEX)
    return is_colour or (low.startswith("0x") and len(value) == _ADDRESS)


def _is_reference(value: str, *, quoted: bool) -> bool:
    """Tell whether a value names another one: `$NAME`, `&name`, `@name`."""
    if value[0] == "0":
        return False
    name = value[1:]
    if _letters(name).isalpha():
        return True
    if not name.isidentifier() or (quoted and value[0] != "$"):
        return False
    return (not quoted and value[0] == "$") or not _is_scrambled(name)


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


def is_chosen(value: str, *, alone: bool = True) -> bool:
    """Tell whether `value` looks like a password by itself: `Harbor!Honey8481`, `barrel-rabbit-whale-27`.

    If not `alone`, the text beside it calls it a password, and `hunter2` and `harbor.ship1` count too.
    """
    if not _is_mixture(value, QUOTED_LEAST if alone else _SHORT_ONE) or weigh(value) < MIXED:
        return False
    joints = {char for char in value if not char.isalnum()}
    if joints & _OF_CODE or _is_technical(value) or _is_place(value):
        return False
    if _is_random(value):
        return value.count("-") != _UUID_DASHES and "/" not in value
    if joints & _OF_PATHS:
        return False
    return not alone or bool(joints - _OF_NAMES) or _is_cased(value) or _is_phrase(value)


def _is_mixture(value: str, least: int) -> bool:
    """Tell whether a value has letters and a digit, and `least` characters."""
    return len(value) >= least and any(map(str.isdigit, value)) and sum(map(str.isalpha, value)) >= _LETTERS


def _is_cased(value: str) -> bool:
    """Tell whether capital and small letters stand beside more than one digit."""
    return not (value.islower() or value.isupper()) and sum(map(str.isdigit, value)) > 1


def _is_technical(value: str) -> bool:
    """Tell whether the text before the first digit is a technical term or a mere word for a secret."""
    low = value.lower()
    before = low[: next(at for at, char in enumerate(low) if char.isdigit())].rstrip("-_ ")
    return before in PLAIN or (before in _TECHNICAL and not (len(value) > _SHORT and _is_random(value)))


def _is_place(value: str) -> bool:
    """Tell whether a value is an address, a path or the name of a file."""
    if "://" in value or value[0] == "/":
        return True
    name, _, host = value.rpartition("@")
    ending = value.rpartition(".")[2] if "." in value else ""
    return (name != "" and ("." in host or host == "localhost")) or (ending.isalpha() and ending.islower())


def _is_phrase(value: str) -> bool:
    """Tell whether a value is at least three lower-case words with a number before or after them."""
    parts = value.replace("_", "-").split("-")
    words = [part for part in parts if part.isalpha() and len(part) >= FEW]
    return len(words) >= _PHRASE and (parts[-1].isdigit() or parts[0].isdigit()) and value.islower()


def _is_expression(value: str, *, quoted: bool) -> bool:
    """Tell whether `value` is a call, an index or a placeholder: `f(x)`, `a[0]`, `<your-key>`, `a{b}`."""
    for opener, closer in ("()", "[]", "{}", "<>"):
        if opener not in value:
            continue
        before, _, rest = value.partition(opener)
        inner, closed, after = rest.partition(closer)
        if opener in "{<" and closed and _is_name(_letters(inner).strip("!|")):
            return True
        is_whole = closed and value[-1] == closer and opener in "(["
        if is_path(before) and (is_whole if quoted else not after[:1].isalnum()):  # no code: f(x)y
            return True
    return False


def _is_scrambled(value: str) -> bool:
    """Tell whether capital and small letters alternate with digits, as in no name."""
    classes = _ascii(value).translate(None, _OTHERS).translate(_CLASSES)
    changes = sum(map(classes.count, (b"a0", b"A0", b"0a", b"0A")))
    return changes >= FEW and b"a" in classes and b"A" in classes


def _is_name(plain: str) -> bool:
    """Tell whether text of letters and digits is a number or a word, not a mixture."""
    return plain.isdigit() or (plain.isalpha() and 3 * _turns(plain) <= len(plain))


def _turns(value: str) -> int:
    """Return how often letters change between upper and lower case: in base64 more often than in names."""
    classes = _ascii(value).translate(_CLASSES)
    return classes.count(b"aA") + classes.count(b"Aa")


def _ascii(value: str) -> bytes:
    """Return a value as ASCII, with each other letter or digit replaced by one of the same class."""
    return (value if value.isascii() else "".join(map(_like, value))).encode()


def _like(char: str) -> str:
    if char < "\x80":
        return char
    return "0" if char.isdigit() else "B" if char.isupper() else "b" if char.isalnum() else " "


def is_word(value: str) -> bool:
    """Tell cheaply whether a value is a word or a number, which `weigh` rates no higher than WORD."""
    plain = _letters(value)
    return plain.isdigit() or (plain.isalpha() and (plain[1:].islower() or plain.isupper()))


def _letters(value: str) -> str:
    for joint in "_-./:+":
        value = value.replace(joint, "")
    return value


def is_path(text: str) -> bool:
    """Tell whether `text` is empty, a variable or an attribute, as before a bracket in code."""
    return not text or all(part.isidentifier() for part in text.split("."))


def is_key(value: str) -> bool:
    """Tell whether a dotted value contains a long random part, which makes it a key and no path."""
    return any(len(part) > SESSION and _is_random(part) for part in value.split("."))


def _is_random(value: str) -> bool:
    """Tell whether letters and digits alternate as in a random string, or letters form no syllables."""
    plain = _ascii(value).translate(None, _OTHERS)
    classes = plain.translate(_CLASSES)
    if len(plain) < _SHORT or b"0" not in classes:
        mixed = not (value.islower() or value.isupper())
        spoken = plain.translate(_SYLLABLES).split()
        return len(plain) >= _SHORT and mixed and max(map(len, spoken), default=0) > 2 * FEW
    changes = sum(map(classes.count, (b"a0", b"A0", b"0a", b"0A", b"aA")))
    return changes >= FEW and 5 * changes > len(plain)
