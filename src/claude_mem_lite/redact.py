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
    ".env", ".env.*", "*.env", ".envrc", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist",
    "!example.env", "!sample.env", "!process.env", "!import.meta.env", "*.pem", "*.key", "*.p12", "*.pfx",
    "*.ppk", "*.jks", "*.keystore", "*.kdbx", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!*.pub",
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".s3cfg",
    ".vault-token", ".aws/credentials", ".docker/config.json", ".kube/config", "service-account*.json",
    "service_account*.json", "client_secret*.json", "*credentials.json",
)  # fmt: skip

PATH_FIELDS = ("file_path", "notebook_path", "path", "glob")
_TOOLS = {**dict.fromkeys(("Read", "Write", "Edit", "MultiEdit"), ("file_path",)), "Bash": ("command",)}
_PATH_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_-./~*?+@%"
_ODD_ESCAPES = ("\\u002", "\\u003", "\\u004", "\\u005", "\\u006", "\\u007", "\\ud", "\\uD")
_PRIVATE_FIELDS = (
    "prompt", "custom_instructions", "last_assistant_message", "compact_summary", "command_args",
)  # fmt: skip


_RUN = 20  # the shortest token, an AWS key id, has as many token characters
_LEAD = 16  # the longest beginning that ends outside the run
_TOKEN = b"0123456789_-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = bytes(97 if byte in _TOKEN else 32 for byte in range(256))
_LISTERS = ("grep", "rg ", "ag ", "git ", "diff ")  # commands that name files in their output
_THREE_PARTS, _POINT = b" aaaaaa " + 27 * b"a", ord(".")  # the end of a token of Discord
_SEAM = "\n\ue0ff"  # where the middle of a very long string was left out before the search
EDGE = 8192  # characters dropped on each side of a seam after the search: half a token may stand there
_CUT = "\n[… {:,} characters cut …]\n"
_CUT_BEFORE = r"\n\[… ([0-9,]+) characters cut …\]\n"
_SHORTEST = 256  # no string is cut shorter
_LARGE, _MOST_FIELDS = 16, 64
_MOST_WORK = 2_000_000_000  # characters looked through for known secrets: some seconds


def scrub(event: str, *, max_chars: int = 512 * 1024, ignored: tuple[str, ...] = IGNORED_FILES) -> str:
    """Return the JSON text of one hook event as it may be stored: nothing secret, at most `max_chars` long.

    An event with nothing to take out comes back as it is, unread. In any other the secrets, the `<private>`
    passages of what the user wrote and the contents of `ignored` files give way to `[redacted: what]`; then
    the longest strings are cut in the middle until the text fits (`max_chars`: some thousands at least).

    Raises: ValueError when an event that has to be read is no JSON object, or is nested too deep.
    """
    if len(event) <= max_chars and not _is_suspicious(event, ignored):
        return event
    import json

    from claude_mem_lite.redaction_files import without_ignored

    try:
        tree = json.loads(event)
        if not isinstance(tree, dict):
            raise ValueError(f"a hook event is a JSON object, this is a {type(tree).__name__}")  # noqa: TRY004
        tree = change_strings(
            change_strings(tree, _without_private), lambda text, _: _narrow(text, max_chars)
        )
        calls = tree.get("tool_calls")
        for call in (tree, *(calls if isinstance(calls, list) else ())):
            if isinstance(call, dict):
                call.update(without_ignored(call, ignored))
        if len(event) > _LARGE * max_chars < len(_dumps(tree)):  # a search in so many strings takes minutes
            tree = change_strings(_flat(tree, max_chars), lambda text, _: _narrow(text, max_chars))
        return _fit(_without_secrets(tree), max_chars)
    except RecursionError:
        raise ValueError("a hook event nested too deep to be read") from None


def scrub_as_set(event: str) -> str:
    """Return an event as it may be stored by the user's settings (see `scrub`). Raises: ValueError."""
    from claude_mem_lite import config

    max_chars, ignored = config.capture_limits()
    return scrub(event, max_chars=max_chars, ignored=(*IGNORED_FILES, *ignored))


def redact(text: str) -> str:
    """Return `text` with every secret in it replaced by `[redacted: kind]`."""
    return str(_without_secrets(_narrow(text, len(text))))


def _is_suspicious(event: str, ignored: tuple[str, ...]) -> bool:
    from claude_mem_lite.redaction_rules import find_values

    # A printable character written as \u00XX could hide a secret; \udXXX is half a character.
    if "\\u" in event and any(escape in event for escape in _ODD_ESCAPES):
        return True
    if _find_marks(event) or find_values(event):
        return True
    tool = _field(event, "tool_name")
    if tool not in _TOOLS and "<private" in event.lower():
        return True
    whole = tool == "Grep" or (tool and '"tool_calls"' in event[: event.find('"tool_name"')])
    fields = [_field(event, name) for name in _TOOLS.get(tool, PATH_FIELDS if tool else ())]
    whole = whole or (tool == "Bash" and any(lister in fields[0] for lister in _LISTERS))
    return bool(mentioned(event if whole else " ".join(fields), ignored))


def _find_marks(text: str) -> list[str]:
    """Return what tokens begin with and `text` has where a token may stand: in and before long runs.

    That is why a further kind of token costs an ordinary text next to nothing.
    """
    from claude_mem_lite.redaction_rules import MARKS_ANYWHERE, MARKS_IN_RUNS

    data = text.encode("utf-8", "replace")
    shape, run, found = data.translate(_SHAPE), b"a" * _RUN, []
    at = shape.find(run)
    while at >= 0:
        end = shape.find(b" ", at)
        end = end if end >= 0 else len(shape)
        found.append(data[max(0, at - _LEAD) : end])
        at = shape.find(run, end)
    runs = b" ".join(found).decode("latin-1")
    marks = [mark for mark in MARKS_IN_RUNS if mark in runs]
    if "~" in text or "%" in text:  # one character is found faster than two
        marks += [mark for mark in ("Q~", "sig=") if mark in text]
    marks += [mark for mark in ("AC", "key-") if _has_account(runs, mark)]
    marks += ["."] * _has_three_parts(data, shape)
    return marks + [mark for mark in MARKS_ANYWHERE if mark in text]


def _has_account(runs: str, mark: str) -> bool:
    """Tell whether 32 digits of base 16 follow a mark that is too short to tell anything alone."""
    at = runs.find(mark)
    while at >= 0 and runs[at + len(mark) : at + len(mark) + 32].strip("0123456789abcdef"):
        at = runs.find(mark, at + 1)
    return at >= 0


def _has_three_parts(text: bytes, shape: bytes) -> bool:
    """Tell whether what looks like a token of Discord stands in text."""
    at = shape.find(_THREE_PARTS)
    while at >= 0 and not (text[at] == text[at + 7] == _POINT and shape[max(0, at - 22) : at] == b"a" * 22):
        at = shape.find(_THREE_PARTS, at + 7)
    return at >= 0


def _field(event: str, name: str) -> str:
    """Return the first string under the key `name` in JSON text, its escapes as they are."""
    at = event.find(f'"{name}"')
    start = event.find('"', event.find(":", at)) + 1 if at >= 0 else 0
    end = event.find('"', start)
    while start and end > 0 and event[end - 1] == "\\":
        end = event.find('"', end + 1)
    return event[start:end] if start else ""


def mentioned(text: str, ignored: tuple[str, ...]) -> list[str]:
    """Return the names of ignored files among the words of `text`."""
    low = text.lower()
    names: dict[str, str] = {}
    for core in {max(pattern.strip("!").split("*"), key=len).lower() for pattern in ignored} - {""}:
        at = low.find(core)
        while at >= 0:
            end = at + len(core)
            before, after = low[max(0, at - EDGE) : at], low[end : end + EDGE]
            start = at - len(before) + len(before.rstrip(_PATH_CHARS))
            if after[:1] != "-" or not after[1:2].isdigit():  # FILE-12-text, as grep -A prints it
                end += len(after) - len(after.lstrip(_PATH_CHARS))
            word = text[start:end].rstrip("*?.")  # .env* stands for .env too
            if word not in names:
                names[word] = ignored_name(word, ignored)
            at = low.find(core, end)
    return sorted({name for name in names.values() if name}, key=text.index)


def ignored_name(path: str, ignored: tuple[str, ...]) -> str:
    """Return the last part of `path` when it is an ignored file, else an empty string."""
    parts = path.rstrip("/").lower().split("/")
    hit = False
    for pattern in ignored:
        wanted = pattern.lstrip("!").lower()
        if hit == pattern.startswith("!") and _fits("/".join(parts[-wanted.count("/") - 1 :]), wanted):
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
    for tag in re.finditer(r"<(/?)private\s*>", text, re.IGNORECASE):
        if not tag[1]:
            parts += [] if depth else [text[done : tag.start()], "[redacted: private]"]
            depth += 1
        elif depth:
            depth -= 1
            done = tag.end()
    return "".join(parts if depth else [*parts, text[done:]])


def _narrow(text: str, room: int) -> str:
    """Return `text`, of a very long one what may be left after the cut and some more, with a seam between."""
    text = text.encode("utf-8", "replace").decode()
    kept = room + EDGE
    if len(text) <= 2 * kept:
        return text
    return f"{text[:kept]}{_SEAM}{len(text) - 2 * room}{_SEAM}{text[-kept:]}"


def _without_secrets(tree: Any) -> Any:
    """Return a JSON tree without its secrets; what is one at one place is taken out at all."""
    from claude_mem_lite.redaction_tokens import clean

    marks = _find_marks(text := _dumps(tree))
    known: dict[str, str] = {}

    def cleaned(text: str, field: str | None) -> str:
        text, secrets = clean(text, marks, field or "")
        known.update(secrets)
        head, _, rest = text.partition(_SEAM)
        count, _, tail = rest.partition(_SEAM)
        return head[:-EDGE] + _CUT.format(int(count)) + tail[EDGE:] if count.isdecimal() else text

    tree = change_strings(tree, cleaned)
    secrets = sorted(known, key=lambda secret: (-len(secret), secret))
    secrets = secrets[: _MOST_WORK // len(text)]

    def unknown(text: str, _: str | None) -> str:
        for secret in secrets:
            text = text.replace(secret, f"[redacted: {known[secret]}]")
        return text

    return change_strings(tree, unknown) if secrets else tree


def _fit(tree: dict[str, Any], max_chars: int) -> str:
    """Return the JSON text of an event, its longest strings cut as far as `max_chars` asks."""

    def cut(limit: int) -> str:
        return _dumps(change_strings(tree, lambda text, _: _cut(text, limit)))

    text = _dumps(tree)
    if len(text) > max_chars >= len(cut(_SHORTEST)):
        limit = max_chars
        while len(text) > max_chars:
            limit = max(_SHORTEST, limit * 7 // 8)
            text = cut(limit)
    if len(text) <= max_chars:
        return text
    share = max_chars // (3 * min(len(tree), _MOST_FIELDS))
    return _dumps(change_strings(_flat(tree, share), lambda text, _: _cut(text, share)))


def _flat(tree: dict[str, Any], share: int) -> dict[str, Any]:
    """Return an event whose fields that are longer than `share` in JSON are strings of that JSON."""
    fields = [(name[:_SHORTEST], value) for name, value in list(tree.items())[:_MOST_FIELDS]]
    return {name: value if len(coded := _dumps(value)) <= share else coded for name, value in fields}


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    import re

    kept = limit * 7 // 8  # the rest is for the mark
    head, tail = kept * 2 // 3, kept // 3
    middle = text[head : len(text) - tail]
    before = (match for match in re.finditer(_CUT_BEFORE, middle))
    missing = sum(int(match[1].replace(",", "")) - len(match[0]) for match in before)
    return text[:head] + _CUT.format(len(middle) + missing) + text[len(text) - tail :]


def _dumps(tree: Any) -> str:
    import json

    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
