"""What may be stored of a hook event: secrets, private passages and ignored files out, its size bounded.

What a secret looks like stands in `redaction_rules` and `redaction_tokens`. Hooks load this and the first for
every event, so nothing is imported here but inside the functions that work on an event with something to take out.
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

_PATH_FIELDS = ("file_path", "notebook_path", "path", "glob")
_TOOLS = {**dict.fromkeys(("Read", "Write", "Edit", "MultiEdit"), ("file_path",)), "Bash": ("command",)}
_PATH_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_-./~*?+@%"
_ODD_ESCAPES = ("\\u002", "\\u003", "\\u004", "\\u005", "\\u006", "\\u007", "\\ud", "\\uD")
_PRIVATE_FIELDS = (
    "prompt", "custom_instructions", "last_assistant_message", "compact_summary", "command_args",
)  # fmt: skip

# Strings of a call on an ignored file that tell of the call, not of the file.
_CALL_FIELDS = frozenset({
    "file_path", "filePath", "notebook_path", "path", "glob", "pattern", "type", "mode", "output_mode",
    "cell_id", "cell_type", "language", "edit_mode", "persistedOutputPath", "backgroundTaskId",
    "returnCodeInterpretation", "command", "description", None,  # None: the keys themselves
})  # fmt: skip
_PRINTERS = frozenset({
    "cat", "tac", "head", "tail", "less", "more", "bat", "batcat", "nl", "sed", "awk", "gawk", "cut", "grep",
    "egrep", "fgrep", "zgrep", "rg", "ag", "strings", "xxd", "od", "hexdump", "base64", "base32", "diff",
    "comm", "sort", "uniq", "tr", "paste", "column", "fold", "fmt", "rev", "jq", "yq", "tee", "openssl",
})  # fmt: skip
_FILTERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag"})  # what they name after a pipe is sought
_GIT_PRINTERS = frozenset({"show", "diff", "blame", "log", "cat-file", "stash"})
_INTERPRETERS = frozenset({"python", "python3", "node", "ruby", "perl", "php", "deno", "bun"})
_INLINE = frozenset({"-c", "-e", "-p", "-r", "-pe", "-ne", "--eval", "--print", "eval"})
_ECHOES = frozenset({"echo", "printf", "printenv", "env", "declare", "typeset"})
_WHOLE = ("xargs", "-exec", "for ", "while ", "<<", "eval ")  # commands whose parts hang together
_LISTERS = ("grep", "rg ", "ag ", "git ", "diff ")  # commands that name files in their output
_SOUGHT = r"(\b(?:[efz]?grep|rg|ag)\b(?:\s+-\S+)*)\s+(?:'[^']*'|\"[^\"]*\"|\S+)"  # the pattern is no file
_NOT_PRINTED = r"export\s+\$\([^()]*\)|--(?:exclude|env-file)[\w-]*[= ]\S+"
_QUOTED = r"'[^']*'|\"(?:\\.|[^\"\\])*+\"?"
_HERE_DOCUMENT = (
    r"(?ms)(?P<line>^(?:[^\n<]|<(?!<-?[ \t]*['\"]?\w))*+<<-?[ \t]*(?P<quote>['\"]?)(?P<tag>\w+)(?P=quote)"
    r"[^\n]*+\n)(?P<text>.*?)(?P<end>^[ \t]*(?P=tag)\b|\Z)"
)
_REDIRECT = r"(?:>{1,2}\|?|\btee\s+(?:-a\s+)?)\s*['\"]?([^\s'\";|&<>()]+)"
_ASSIGNMENT = r"(?m)^((?:export )?[A-Z_][A-Z0-9_]*=)(?!\[redacted)\S.*$"
_ORIGIN = r"(?m)^(?P<file>[^\s:]{1,300}?)(?:-\d+-|:)(?!\[redacted).*$"
_DIFFED = r"(?m)^(?:\+\+\+|---) (\S+)"

_RUN = 20  # the shortest token, an AWS key id, has as many token characters
_LEAD = 16  # the longest beginning that ends outside the run
_TOKEN = b"0123456789_-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = bytes(97 if byte in _TOKEN else 32 for byte in range(256))
_SEAM = "\n\ue0ff"  # where the middle of a very long string was left out before the search
_EDGE = 8192  # characters dropped on each side of a seam after the search: half a token may stand there
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

    try:
        tree = json.loads(event)
        if not isinstance(tree, dict):
            raise ValueError(f"a hook event is a JSON object, this is a {type(tree).__name__}")  # noqa: TRY004
        tree = _map(_map(tree, _without_private), lambda text, _: _narrow(text, max_chars))
        calls = tree.get("tool_calls")
        for call in (tree, *(calls if isinstance(calls, list) else ())):
            if isinstance(call, dict):
                call.update(_without_ignored(call, ignored))
        if len(event) > _LARGE * max_chars < len(_dumps(tree)):  # a search in so many strings takes minutes
            tree = _map(_flat(tree, max_chars), lambda text, _: _narrow(text, max_chars))
        return _fit(_without_secrets(tree), max_chars)
    except RecursionError:
        raise ValueError("a hook event nested too deep to be read") from None


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
    fields = [_field(event, name) for name in _TOOLS.get(tool, _PATH_FIELDS if tool else ())]
    whole = whole or (tool == "Bash" and any(lister in fields[0] for lister in _LISTERS))
    return bool(_mentioned(event if whole else " ".join(fields), ignored))


def _find_marks(text: str) -> list[str]:
    """Return what tokens begin with and `text` has where a token may stand: in and before long runs.

    That is why a further kind of token costs an ordinary text next to nothing.
    """
    from claude_mem_lite.redaction_rules import MARKS_ANYWHERE, MARKS_IN_RUNS, has_account, has_three_parts

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
    marks += ["."] * has_three_parts(data, shape) + ["AC"] * has_account(runs)
    return marks + [mark for mark in MARKS_ANYWHERE if mark in text]


def _field(event: str, name: str) -> str:
    """Return the first string under the key `name` in JSON text, its escapes as they are."""
    at = event.find(f'"{name}"')
    start = event.find('"', event.find(":", at)) + 1 if at >= 0 else 0
    end = event.find('"', start)
    while start and end > 0 and event[end - 1] == "\\":
        end = event.find('"', end + 1)
    return event[start:end] if start else ""


def _mentioned(text: str, ignored: tuple[str, ...]) -> list[str]:
    """Return the names of ignored files among the words of `text`."""
    low = text.lower()
    names: dict[str, str] = {}
    for core in {max(pattern.strip("!").split("*"), key=len).lower() for pattern in ignored} - {""}:
        at = low.find(core)
        while at >= 0:
            end = at + len(core)
            before, after = low[max(0, at - _EDGE) : at], low[end : end + _EDGE]
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


def _map(node: Any, change: Change, field: str | None = "") -> Any:
    """Return a JSON tree with each string changed, given the field that it stands in, None for a key."""
    if isinstance(node, str):
        return change(node, field)
    if isinstance(node, list):
        return [_map(item, change, field) for item in node]
    if isinstance(node, dict):
        return {change(key, None): _map(value, change, key) for key, value in node.items()}
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


def _without_ignored(call: dict[str, Any], ignored: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a tool call that hold something of an ignored file, without it."""
    given = call.get("tool_input")
    if not isinstance(given, dict):
        return {}
    answers = {name: call[name] for name in ("tool_response", "error") if name in call}
    paths = " ".join(path for name in _PATH_FIELDS if isinstance(path := given.get(name), str))
    command = given.get("command")
    if call.get("tool_name") != "Bash" or not isinstance(command, str):
        files = _mentioned(paths, ignored)
        if files:
            return dict(_map({**answers, "tool_input": given}, _blank(files[0])))
        return dict(_map(answers, _hide_lines(ignored))) if call.get("tool_name") == "Grep" else {}
    shown = _shown(command, ignored)
    change = _blank(shown) if shown else _hide_lines(ignored, _mentioned(command, ignored))
    return {**_map(answers, change), "tool_input": {**given, "command": _hide_written(command, ignored)}}


def _contents(name: str) -> str:
    return f"[redacted: contents of {name}]"


def _blank(name: str) -> Change:
    return lambda text, field: _contents(name) if text and field not in _CALL_FIELDS else text


def _shown(command: str, ignored: tuple[str, ...]) -> str:
    """Return the name of the ignored file that a shell command prints, or an empty string."""
    import re

    files = _mentioned(command, ignored)
    if not files:
        return ""
    plain = re.sub(_SOUGHT, r"\1", re.sub(_NOT_PRINTED, " ", command))
    plain = re.sub(_QUOTED, lambda quoted: re.sub(r"[;&|\n]", " ", quoted[0]), plain)
    whole, joint = any(mark in plain for mark in _WHOLE), ""
    for part in [plain] if whole else re.split(r"(&&|\|\|?|[;\n])", plain):
        words = set(re.findall(r"[\w.-]+", part))
        printers = words & (_PRINTERS - _FILTERS if joint == "|" else _PRINTERS)
        inline = words & _INTERPRETERS and (words & _INLINE or "<<" in part)
        if printers or inline or ("git" in words and words & _GIT_PRINTERS):
            names = _mentioned(part, ignored)
            if names:
                return names[0]
        joint = part
    sourced = re.search(r"(?:^|[\s;&|(])(?:source|\.)\s", plain)
    return files[0] if sourced and _ECHOES & set(re.findall(r"[\w.-]+", plain)) else ""


def _hide_written(command: str, ignored: tuple[str, ...]) -> str:
    """Return a shell command without what it writes to ignored files by a here-document, echo or printf."""
    import re

    if not _mentioned(command, ignored):
        return command

    def hide(document: re.Match[str]) -> str:
        files = _mentioned(document["line"], ignored) if document["text"] else []
        return f"{document['line']}{_contents(files[0])}\n{document['end']}" if files else document[0]

    command = re.sub(_HERE_DOCUMENT, hide, command)
    parts, done = [], 0
    for found in re.finditer(_REDIRECT, command):
        end = found.start()
        verb = max(command.rfind(word, max(done, end - _EDGE), end) for word in ("echo ", "printf "))
        name = ignored_name(found[1], ignored) if verb >= 0 else ""
        start = command.index(" ", verb) + 1 if name else end
        if start < end:
            parts += [command[done:start], _contents(name), " "]
            done = end
    return "".join([*parts, command[done:]])


def _hide_lines(ignored: tuple[str, ...], sources: list[str] | None = None) -> Change:
    """Return what takes out of an output the lines whose origin is an ignored file.

    Those are grep's `FILE:line`, a whole diff with such a file in it and, after a command that works with the
    files `sources`, `NAME=value` at the start of a line.
    """
    import re

    def hide(line: re.Match[str]) -> str:
        name = ignored_name(line["file"], ignored)
        return f"{line['file']}:{_contents(name)}" if name else line[0]

    def change(text: str, field: str | None) -> str:
        if field is None or not text:
            return text
        if sources:
            text = re.sub(_ASSIGNMENT, lambda line: line[1] + _contents(sources[0]), text)
        files = [name for path in re.findall(_DIFFED, text) if (name := ignored_name(path, ignored))]
        return _contents(files[0]) if files else re.sub(_ORIGIN, hide, text)

    return change


def _narrow(text: str, room: int) -> str:
    """Return `text`, of a very long one what may be left after the cut and some more, with a seam between."""
    text = text.encode("utf-8", "replace").decode()
    kept = room + _EDGE
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
        return head[:-_EDGE] + _CUT.format(int(count)) + tail[_EDGE:] if count.isdecimal() else text

    tree = _map(tree, cleaned)
    secrets = sorted(known, key=lambda secret: (-len(secret), secret))
    secrets = secrets[: _MOST_WORK // len(text)]

    def unknown(text: str, _: str | None) -> str:
        for secret in secrets:
            text = text.replace(secret, f"[redacted: {known[secret]}]")
        return text

    return _map(tree, unknown) if secrets else tree


def _fit(tree: dict[str, Any], max_chars: int) -> str:
    """Return the JSON text of an event, its longest strings cut as far as `max_chars` asks."""

    def cut(limit: int) -> str:
        return _dumps(_map(tree, lambda text, _: _cut(text, limit)))

    text = _dumps(tree)
    if len(text) > max_chars >= len(cut(_SHORTEST)):
        limit = max_chars
        while len(text) > max_chars:
            limit = max(_SHORTEST, limit * 7 // 8)
            text = cut(limit)
    if len(text) <= max_chars:
        return text
    share = max_chars // (3 * min(len(tree), _MOST_FIELDS))
    return _dumps(_map(_flat(tree, share), lambda text, _: _cut(text, share)))


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
