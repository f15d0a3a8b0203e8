"""Names of secrets and of files that hold them, limits, and the budget of looks, shared by all modules."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int, str]  # start, end, kind

# Words in the names of secrets, and the kind of secret that each means.
WORDS = {
    "authorization": "authorization", "bearer": "authorization", "pass": "password", "pw": "password",
    "secret": "secret", "token": "token", "credential": "credential", "key": "key", "sessionid": "session",
    "psk": "password", "_pat": "token",
}  # fmt: skip
# Continuations of such a word that still name a secret: pass-word, secret-key.
CONTINUED = {
    "pass": ("words", "word", "wd", "phrase", "wort", "ord", "code", "e"),
    "pw": ("d",),
    "secret": ("key", "s"),
    "credential": ("s",),
}
KEY_OWNERS = (
    "api", "access", "secret", "private", "signing", "encryption", "auth", "account", "master", "shared",
    "storage", "session", "service", "license", "webhook", "hmac", "jwt", "cookie", "ssh", "deploy", "app",
    "server", "subscription", "wifi", "wi-fi", "wlan", "wpa",
)  # fmt: skip
NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-."  # characters of a name
AFTER_NAME = "\\\"'`] \t"
PAIRED = ("value", "default", "<string")  # fields of a value whose name is given by the field beside it
DIGITS = "0123456789"
REACH = 48  # characters of a name that are read on either side of its word
LONGEST = 4096  # characters of a quoted value within which its end is searched for
SAID = 160  # characters of a sentence that are read after such a name
EDGE = 8192  # characters dropped on each side of a cut before the search: the cut may have split a token
# Files never stored: patterns of the ends of paths, in any case; `*`: any characters, "!…": an exception.
IGNORED_FILES = (
    ".env", ".env.*", ".env~", "*.env", ".envrc", ".dev.vars", "!.env.example", "!.env.sample",
    "!.env.template", "!.env.dist", "!example.env", "!sample.env", "!process.env", "!import.meta.env",
    "!self.env", "!this.env", "!ctx.env", "!context.env", "!request.env", "!req.env", "!platform.env",
    "!c.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "id_rsa*",
    "id_dsa*", "id_ecdsa*", "id_ed25519*", "!*.pub", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc",
    ".pypirc", ".git-credentials", ".htpasswd", ".s3cfg", ".vault-token", ".aws/credentials",
    ".cargo/credentials", ".gem/credentials", "*credentials.json", "*credentials.csv", "*credentials.toml",
    "*credentials.yml", "*credentials.yaml", "*credentials.ini", "*credentials.xml", "*credentials.txt",
    "*credentials.properties", ".docker/config.json", ".dockercfg", ".kube/config", "gh/hosts.yml",
    "*service-account*.json", "*service_account*.json", "client_secret*.json", "secrets.yml",
    "secrets.yaml", "secrets.json", "secrets.toml", "*.tfstate", "*.tfvars",
)  # fmt: skip
_PATH_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_-./~*?+@%"
_GLANCED, _SUFFIX = 4096, 3  # characters from which a text is checked by its suffixes first; and of a suffix
# The cost of a look, in units of about 10 µs: at a word, at a name's value, at a sentence, at a file's name.
AT_WORD, AT_VALUE, AT_SENTENCE, _AT_FILE = 1, 2, 8, 4


class TooMuchError(Exception):
    """A text has too many places where a secret may stand."""


class Looks:
    """An event's budget of looks at places where a secret may stand."""

    def __init__(self, left: float = float("inf")) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        """Spend `count` looks. Raises: TooMuchError when fewer are left."""
        self.left -= count
        if self.left < 0:
            raise TooMuchError


class IgnoredFiles:
    """The files in an event whose contents are never stored, by patterns of their names."""

    def __init__(self, patterns: tuple[str, ...], looks: Looks) -> None:
        self._patterns, self._looks = patterns, looks
        self._names: dict[str, str] = {}
        # The longest literal part of each pattern: a name that matches contains it.
        self.cores = {max(pattern.strip("!").split("*"), key=len).lower() for pattern in patterns} - {""}

    def name(self, path: str) -> str:
        """Return the last part of `path` when it is an ignored file, else "". Raises: TooMuchError."""
        if path not in self._names:
            self._looks.spend(_AT_FILE)
            self._names[path] = ignored_name(path, self._patterns)
        return self._names[path]

    def cores_in(self, low: str) -> list[str]:
        """Return the cores in a lower-case text; in a long one, the suffixes after its dots rule most out."""
        if len(low) < _GLANCED:
            return [core for core in self.cores if core in low]
        ends = {part[:_SUFFIX] for part in set(low.split("."))}
        suffixes = ((core, f"{core}.".split(".")[1][:_SUFFIX]) for core in self.cores)
        return [core for core, end in suffixes if (len(end) < _SUFFIX or end in ends) and core in low]

    def mentioned(self, text: str) -> list[str]:
        """Return the names of ignored files among the words of `text`. Raises: TooMuchError."""
        low, names = text.lower(), set()
        for core in self.cores_in(low):
            at, done = low.find(core), 0
            while at >= 0:
                self._looks.spend(1)
                end = at + len(core)
                before, after = low[max(done, at - EDGE) : at], low[end : end + EDGE]
                start = at - len(before) + len(before.rstrip(_PATH_CHARS))
                # FILE-12-text, as grep -A prints it; but service-account-12.json is one file.
                if after[:1] != "-" or not after[1:2].isdigit() or not self.name(low[start:end]):
                    end += len(after) - len(after.lstrip(_PATH_CHARS))
                names.add(self.name(text[start:end].rstrip("*?.")))  # .env* stands for .env too
                at, done = low.find(core, end), end
        return sorted(names - {""}, key=text.index)


def name_start(low: str, at: int) -> int:
    """Return where the name that continues at `at` begins."""
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
    """Return where the name that continues at `at` ends."""
    tail = low[at : at + REACH]
    return at + len(tail) - len(tail.lstrip(NAME))


def places(text: str, sign: str) -> Iterator[int]:
    """Yield each position of a sign in a text."""
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + 1)


def ignored_name(path: str, ignored: tuple[str, ...]) -> str:
    """Return the last part of `path` when the patterns of `ignored` match it, else an empty string."""
    parts = path.rstrip("/").lower().split("/")
    hit = False
    for pattern in ignored:
        if hit == pattern.startswith("!"):
            wanted = pattern.lstrip("!").lower()
            depth = wanted.count("/") + 1
            if _fits(parts[-1] if depth == 1 else "/".join(parts[-depth:]), wanted):
                hit = not hit
    return path.rstrip("/").rsplit("/", 1)[-1] if hit else ""


def _fits(name: str, pattern: str) -> bool:
    first, *middle = pattern.split("*")
    if not middle:
        return name == pattern
    last, at = middle.pop(), len(first)
    for piece in middle:
        if piece not in name[at:]:
            return False
        at = name.index(piece, at) + len(piece)
    return name.startswith(first) and name.endswith(last) and at + len(last) <= len(name)
