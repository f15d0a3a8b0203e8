"""Tell which files are never kept, by their names, and find those names in texts."""

from __future__ import annotations

from claude_mem_lite.redaction.vocabulary import EDGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from claude_mem_lite.redaction.vocabulary import Looks

# Patterns for the end of a path, in any case, `*` for any characters; "!pattern" takes a name out again.
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

PATH_FIELDS = ("file_path", "filePath", "notebook_path", "path", "paths", "filename", "uri", "glob")
_PATH_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_-./~*?+@%"
_AT_FILE = 4  # looks that the name of a file costs
_GLANCED, _SUFFIX = 4096, 3  # characters of a text that is worth a glance, and of what follows a dot


class IgnoredFiles:
    """The files of an event whose contents are never kept, by the patterns of their names."""

    def __init__(self, patterns: tuple[str, ...], looks: Looks) -> None:
        self._patterns, self._looks = patterns, looks
        self._names: dict[str, str] = {}
        # What each name has that a pattern fits.
        self.cores = {max(pattern.strip("!").split("*"), key=len).lower() for pattern in patterns} - {""}

    def name(self, path: str) -> str:
        """Return the last part of `path` when it is such a file, else "". Raises: TooMuchError."""
        if path not in self._names:
            self._looks.spend(_AT_FILE)
            self._names[path] = ignored_name(path, self._patterns)
        return self._names[path]

    def cores_in(self, low: str) -> list[str]:
        """Return the cores that stand in a text of small letters; what follows its dots rules most out."""
        if len(low) < _GLANCED:
            return [core for core in self.cores if core in low]
        ends = {part[:_SUFFIX] for part in set(low.split("."))}
        suffixes = ((core, f"{core}.".split(".")[1][:_SUFFIX]) for core in self.cores)
        return [core for core, end in suffixes if (len(end) < _SUFFIX or end in ends) and core in low]

    def mentioned(self, text: str) -> list[str]:
        """Return the names of such files among the words of `text`. Raises: TooMuchError."""
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


def ignored_name(path: str, ignored: tuple[str, ...]) -> str:
    """Return the last part of `path` when a pattern of `ignored` fits it, else an empty string."""
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
