"""What may be stored of a hook event: secrets, private passages and ignored files out, its size bounded.

What a secret looks like stands in `redaction_rules` and the modules beside it. Hooks load this and that for
every event, so nothing is imported here but inside the functions that work on an event with something to take
out.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Change = Callable[[str, str | None], str]  # of a string in the field named, None for a key itself

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
_EDITORS = ("Read", "Write", "Edit", "MultiEdit")
_TOOLS = {
    **dict.fromkeys(_EDITORS, ("file_path",)),
    "Bash": ("command", "description"),
}  # fmt: skip
_PATH_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_-./~*?+@%"
_ODD_ESCAPES = ("\\u002", "\\u003", "\\u004", "\\u005", "\\u006", "\\u007", "\\ud", "\\uD")
# What the user or Claude writes: fields, and tools that are nothing else.
_PRIVATE_FIELDS = (
    "prompt", "custom_instructions", "last_assistant_message", "compact_summary", "command_args",
    "description", "message", "plan",
)  # fmt: skip
_TALK = ("AskUserQuestion", "Agent", "Task", "SendMessage", "ExitPlanMode")


_LISTERS = ("grep", "rg ", "ag ", "git ", "diff ")  # commands that name files in their output
EDGE = 8192  # characters dropped on each side of a cut before the search: half a token may stand there
_LEAST = 4  # characters: nothing shorter is a secret
# Looks at places where a secret may stand, some 10 µs each: to tell whether there is one, to take out all.
_GLANCES, _MOST_LOOKS = 3_000, 15_000
_AT_FILE = 4  # looks that the name of a file costs
_GLANCED, _SUFFIX = 4096, 3  # characters of a text that is worth a glance, and of what follows a dot


class TooMuchError(Exception):
    """A text has too many places where a secret may stand."""


class OutOfTimeError(Exception):
    """The time for an event is over."""


class Looks:
    """How many looks at places where a secret may stand are left for an event."""

    def __init__(self, left: float = float("inf")) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        """Take some off. Raises: TooMuchError when there are none left."""
        self.left -= count
        if self.left < 0:
            raise TooMuchError


def scrub(
    event: str,
    *,
    max_chars: int = 512 * 1024,
    ignored: tuple[str, ...] = IGNORED_FILES,
    within_s: float | None = None,
) -> str:
    """Return the JSON text of one hook event as it may be stored: nothing secret, at most `max_chars` long.

    An event with nothing to take out comes back as it is, unread. In any other the secrets, the `<private>`
    passages of what the user wrote and the contents of `ignored` files give way to `[redacted: what]`; the
    longest strings are cut in the middle so that the text fits (`max_chars`: some thousands at least).

    Long strings are withheld instead when secrets might stand at too many places, or when the work takes
    longer than `within_s`. A timer's signal ends it then, so only the main thread can be given a time.

    Raises: ValueError when an event that has to be read is no JSON object, or is nested too deep.
    """
    try:
        return _in_time(within_s, lambda: _scrub(event, max_chars, ignored, Looks(_MOST_LOOKS)))
    except (TooMuchError, OutOfTimeError):
        from claude_mem_lite.redaction_bounds import without_long

        return _scrub(without_long(_loads(event)), max_chars, ignored, Looks())
    except RecursionError:
        raise ValueError("a hook event nested too deep to be read") from None


def _in_time(seconds: float | None, work: Callable[[], str]) -> str:
    """Return what `work` returns. Raises: OutOfTimeError after `seconds`, in the main thread alone."""
    if seconds is None:
        return work()
    # The C module, which is always loaded: `signal` costs a hook 10 ms.
    import _signal as signal  # type: ignore[import-not-found]

    def stop(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _scrub(event: str, max_chars: int, ignored: tuple[str, ...], looks: Looks) -> str:
    marks = None
    if len(event) <= max_chars:
        from claude_mem_lite.redaction_formats import find_marks

        marks = find_marks(event)
        if not marks and not _is_suspicious(event, ignored):
            return event
    from claude_mem_lite.redaction_bounds import fitted, narrowed
    from claude_mem_lite.redaction_files import without_ignored
    from claude_mem_lite.redaction_outputs import without_output

    tree = narrowed(change_strings(_loads(event), _without_private), max_chars)
    calls = tree.get("tool_calls")
    for call in (tree, *(calls if isinstance(calls, list) else ())):
        if isinstance(call, dict):
            if call.get("tool_name") in _TALK:
                call.update(change_strings(call, lambda text, _: _without_private(text, "message")))
            call.update(without_output(call))
            call.update(without_ignored(call, IgnoredFiles(ignored, looks)))
    marks = None if marks is None or _hides_letters(event) else marks
    return fitted(_without_secrets(tree, looks, marks), max_chars)


def _loads(event: str) -> dict[str, Any]:
    import json

    tree = json.loads(event)
    if not isinstance(tree, dict):
        raise ValueError(f"a hook event is a JSON object, this is a {type(tree).__name__}")  # noqa: TRY004
    return tree


def scrub_as_set(event: str, *, within_s: float | None = None) -> str:
    """Return an event as it may be stored by the user's settings (see `scrub`). Raises: ValueError."""
    from claude_mem_lite import config

    max_chars, ignored = config.capture_limits()
    return scrub(event, max_chars=max_chars, ignored=(*IGNORED_FILES, *ignored), within_s=within_s)


def redact(text: str) -> str:
    """Return `text` with every secret in it replaced by `[redacted: kind]`."""
    return str(_without_secrets(text.encode("utf-8", "replace").decode(), Looks()))


def _hides_letters(event: str) -> bool:
    """Tell whether a printable character is written as an escape, or half of one."""
    return "\\u" in event and any(escape in event for escape in _ODD_ESCAPES)


def _is_suspicious(event: str, ignored: tuple[str, ...]) -> bool:
    from claude_mem_lite.redaction_rules import escaped_names, values_in

    looks = Looks(_GLANCES)
    try:
        if "\\u" in event and (_hides_letters(event) or any(name in event for name in escaped_names())):
            return True
        files = IgnoredFiles(ignored, looks)
        return _prints_secret(event) or any(values_in(event, looks)) or _names_file(event, files)
    except TooMuchError:
        return True


def _prints_secret(event: str) -> bool:
    """Tell whether a call may run a command whose output is a secret."""
    if '"tool_calls"' in event:
        return True
    command = _field(event, "command")
    if not command:
        return False
    from claude_mem_lite.redaction_outputs import printer_of

    for escape, char in (("\\\\", "\0"), ('\\"', '"'), ("\\n", "\n"), ("\\t", "\t"), ("\0", "\\")):
        command = command.replace(escape, char)
    return printer_of(command) != ""


def _names_file(event: str, ignored: IgnoredFiles) -> bool:
    """Tell whether a call may show an ignored file, or a passage that the user calls private."""
    tool = _field(event, "tool_name")
    at = event.find('"tool_input"') if tool else -1
    given = event[at : event.find('"tool_response"', at)] if at >= 0 else ""
    fields = [_field(event, name) for name in _TOOLS[tool]] if tool in _TOOLS else [given]
    if "<private" in (fields[-1] if tool in _TOOLS else event).lower():
        return True
    whole = tool == "Grep" or (tool and '"tool_calls"' in event[: event.find('"tool_name"')])
    whole = whole or (tool not in _EDITORS and any(lister in fields[0] for lister in _LISTERS))
    text = event if whole else " ".join(fields)
    for escape in ("\\n", "\\r", "\\t"):
        text = text.replace(escape, "  ")
    return bool(ignored.mentioned(text))


def _field(event: str, name: str) -> str:
    """Return the first string under the key `name` in JSON text, its escapes as they are."""
    at = event.find(f'"{name}"')
    start = event.find('"', event.find(":", at)) + 1 if at >= 0 else 0
    end = event.find('"', start)
    while start and end > 0 and event[end - 1] == "\\":
        end = event.find('"', end + 1)
    return event[start:end] if start else ""


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


def change_strings(node: Any, change: Change, field: str | None = "") -> Any:
    """Return a JSON tree with each string changed, given the field that it stands in, None for a key."""
    if isinstance(node, str):
        return change(node, field)
    if isinstance(node, list):
        return [change_strings(item, change, field) for item in node]
    if isinstance(node, dict):
        return {change(key, None): change_strings(value, change, key) for key, value in node.items()}
    return node


def _without_private(text: str, field: str | None) -> str:
    if field not in _PRIVATE_FIELDS or "<private" not in text.lower():
        return text
    import re

    parts, done, depth = [], 0, 0
    for tag in re.finditer(r"<(/?)private(?:\s[^<>]*)?>", text, re.IGNORECASE):
        if not tag[1]:
            parts += [] if depth else [text[done : tag.start()], "[redacted: private]"]
            depth += 1
        elif depth:
            depth -= 1
            done = tag.end()
    return "".join(parts if depth else [*parts, text[done:]])


def _without_secrets(tree: Any, looks: Looks, marks: list[str] | None = None) -> Any:
    """Return a JSON tree without its secrets; what is one at one place is taken out at all."""
    from claude_mem_lite.redaction_bounds import dumps, unseamed
    from claude_mem_lite.redaction_formats import find_marks
    from claude_mem_lite.redaction_known import without_known
    from claude_mem_lite.redaction_tokens import clean

    marks = find_marks(dumps(tree)) if marks is None else marks
    known: dict[str, str] = {}

    def cleaned(text: str, field: str | None) -> str:
        if len(text) < _LEAST:
            return text
        text, secrets = clean(text, marks, field or "", looks)
        known.update(secrets)
        return unseamed(text)

    tree = change_strings(tree, cleaned)
    return without_known(tree, known, looks) if known else tree
