"""Remove `<private>` passages from an event, and the contents of ignored files from its tool calls.

`IgnoredFiles` decides which files are ignored. Only an event that needs redaction loads this module.
"""

from __future__ import annotations

import re

from claude_mem_lite.redaction.strings import change_strings
from claude_mem_lite.redaction.vocabulary import EDGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from claude_mem_lite.redaction.strings import Change
    from claude_mem_lite.redaction.vocabulary import IgnoredFiles

_PATH_FIELDS = (
    "file_path", "filePath", "filepath", "relative_path", "notebook_path", "path", "paths", "filename", "uri",
    "glob",
)  # fmt: skip
_MORE_PATHS = ("file", "target")  # fields that hold a path, or the contents of a file
# Fields of a call on an ignored file that describe the call, not the contents of the file.
_CALL_FIELDS = frozenset({
    *_PATH_FIELDS, "filePath", "notebook_path", "path", "glob", "pattern", "type", "mode", "output_mode",
    "cell_id", "cell_type", "language", "edit_mode", "persistedOutputPath", "backgroundTaskId",
    "returnCodeInterpretation", "command", "description", None,  # None: the keys themselves
})  # fmt: skip
_PRINTERS = frozenset({
    "cat", "tac", "head", "tail", "less", "more", "bat", "batcat", "nl", "sed", "awk", "gawk", "cut", "grep",
    "egrep", "fgrep", "zgrep", "rg", "ag", "strings", "xxd", "od", "hexdump", "base64", "base32", "diff",
    "comm", "sort", "uniq", "tr", "paste", "column", "fold", "fmt", "rev", "jq", "yq", "tee", "openssl", "pr",
    "expand", "dd", "view", "ed", "vim", "ex", "sdiff", "vimdiff", "xargs", "mapfile", "readarray", "type",
    "gc", "Get-Content", "/dev/stdout", "kubectl", "security",
})  # fmt: skip
_FILTERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag"})  # after a pipe: patterns, no files
_GIT_PRINTERS = frozenset({"show", "diff", "blame", "log", "cat-file", "stash"})
_INTERPRETERS = ("python", "node", "ruby", "perl", "php", "deno", "bun", "pwsh")
_INLINE = frozenset({"-c", "-e", "-p", "-r", "-pe", "-ne", "--eval", "--print", "eval"})
_ECHOES = frozenset({"echo", "printf", "printenv", "env", "declare", "typeset"})
_WHOLE = ("xargs", "-exec", "for ", "while ", "<<", "eval ")  # commands that are not split into parts
# Arguments that are no files: the pattern of grep and `git log -S`, the program of jq or sed.
_ARGUMENT = r"(?:'[^']*'|\"[^\"]*\"|\S+)"
_SOUGHT = (
    r"(\b(?:[efz]?grep|rg|ag|jq|yq)\b"
    rf"(?>(?:\s+(?:-\w*[ABCmg]|--(?:include|exclude|glob|type|arg))\s+{_ARGUMENT}|\s+-\S+){{0,64}})"
    rf"|\bgit\b[^;&|\n]{{0,200}}?\s-[SG])\s*{_ARGUMENT}"
    r"|(\b(?:sed|g?awk)\b(?>(?:\s+-\w+)*))\s+(?:'[^']*'|\"[^\"]*\")"
)
_INPUT = r"(?<!<)<\s*['\"]?([^\s'\";|&<>()]+)"
_NOT_PRINTED = r"export\s+\$\([^()]*\)|(?<![\w-])--(?:exclude|env-file)[\w-]*[= ]\S+"
_JOINTS, _JOINT = (";", "&&", "|", "\n"), r"&&|[;|\n]"  # between two commands
_SEPARATORS = str.maketrans(";&|\n", "    ")
_QUOTED = r"'[^']*'|\"(?>[^\"\\]*(?:\\.[^\"\\]*)*)\"?"
_HERE_DOCUMENT = (
    r"(?ms)(?P<line>^(?>(?:[^\n<]+|<(?!<-?[ \t]*[\\'\"]?\w))*)<<-?[ \t]*[\\'\"]?(?P<tag>\w[\w.+-]*+)"
    r"[^\n]*+\n)(?P<text>.*?)(?P<end>^[ \t]*(?P=tag)(?![\w.+-])|\Z)"
)
_REDIRECT = r"(?:>{1,2}\|?|\btee\s+(?:-a\s+)?)\s*['\"]?([^\s'\";|&<>()]+)"
_VERBS = ("echo ", "printf ")
# What `> FILE echo TEXT` writes.
_AFTER_REDIRECT = r"['\"]?\s+(?:echo|printf)\s+(?P<text>(?>(?:'[^']*'|\"[^\"]*\"|[^;&|\n'\"])*))"
_ASSIGNMENT = r"(?m)^((?:export )?[A-Z_][A-Z0-9_]*=)(?!\[redacted)\S.*$"
_ORIGIN = r"(?m)^(?P<file>[^\s:]{1,300}?)(?:-\d+-|:)(?!\[redacted).*$"
_MARGIN = r"^(?:\x1b\[[0-9;]*m|[+-])+"
_DIFFED = r"(?m)^(?>(?:\x1b\[[0-9;]*m)*)(?:\+\+\+|---) ([^\s\x1b]+)"
# Fields that the user or Claude writes, and tools all of whose fields they write.
_WRITTEN = (
    "prompt", "custom_instructions", "last_assistant_message", "compact_summary", "command_args",
    "description", "message", "plan",
)  # fmt: skip
_TALK = (
    "AskUserQuestion", "Agent", "Task", "SendMessage", "ExitPlanMode", "TodoWrite", "TaskCreate",
    "TaskUpdate",
)  # fmt: skip


def without_private(tree: dict[str, Any]) -> dict[str, Any]:
    """Return an event without the private passages in fields that the user or Claude writes."""
    return dict(
        change_strings(tree, lambda text, field: _without_passages(text) if field in _WRITTEN else text)
    )


def without_private_talk(call: dict[str, Any]) -> dict[str, Any]:
    """Return a tool call without private passages in any of its fields, if its tool is one of `_TALK`."""
    if call.get("tool_name") not in _TALK:
        return call
    return dict(change_strings(call, lambda text, _: _without_passages(text)))


def without_ignored(call: dict[str, Any], ignored: IgnoredFiles) -> dict[str, Any]:
    """Return the fields of a tool call that may show an ignored file, with its contents replaced.

    Raises: TooMuchError.
    """
    given = call.get("tool_input")
    if not isinstance(given, dict):
        return {}
    answers = {name: call[name] for name in ("tool_response", "error") if name in call}
    paths = _paths(given)
    command = given.get("command")
    if not isinstance(command, str):
        files = ignored.mentioned(paths)
        if files:
            return dict(change_strings({**answers, "tool_input": given}, _blank(files[0])))
        return dict(change_strings(answers, _hide_lines(ignored))) if call.get("tool_name") == "Grep" else {}
    shown = _shown(command, ignored)
    change = _blank(shown) if shown else _hide_lines(ignored, ignored.mentioned(command))
    return {
        **change_strings(answers, change),
        "tool_input": {**given, "command": _hide_written(command, ignored)},
    }


def _paths(given: dict[str, Any]) -> str:
    """Return the paths in the input of a call, at whatever depth, joined by blanks."""
    found: list[str] = []

    def note(text: str, field: str | None) -> str:
        if field in _PATH_FIELDS or field in _MORE_PATHS:
            found.append(text)
        return text

    change_strings(given, note)
    return " ".join(found)


def _contents(name: str) -> str:
    return f"[redacted: contents of {name}]"


def _blank(name: str) -> Change:
    return lambda text, field: _contents(name) if text and field not in _CALL_FIELDS else text


def _shown(command: str, ignored: IgnoredFiles) -> str:
    """Return the name of the ignored file that a shell command prints, or an empty string."""
    files = ignored.mentioned(command)
    if not files:
        return ""
    plain = re.sub(_SOUGHT, r"\1\2", re.sub(_NOT_PRINTED, " ", command))
    read = ignored.mentioned(" ".join(re.findall(_INPUT, plain)))
    if read:
        return read[0]
    plain = re.sub(_QUOTED, lambda quoted: quoted[0].translate(_SEPARATORS), plain)
    whole = any(mark in plain for mark in _WHOLE)
    for part, joint in [(plain, "")] if whole else _parts_with(ignored, plain):
        names = ignored.mentioned(part) if _prints(part, joint) else []
        if names:
            return names[0]
    return files[0] if _prints_variables(command, plain) else ""


def _parts_with(ignored: IgnoredFiles, plain: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a script that may name an ignored file, and the operator before it."""
    low = plain.replace("\u0130", "i").lower()
    found = re.compile("|".join(map(re.escape, ignored.cores_in(low))) or r"\b\B")
    end = 0
    while core := found.search(low, end):
        joints = [(plain.rfind(joint, end, core.start()), joint) for joint in _JOINTS]
        at, joint = max(joints)
        start = max(end, at + len(joint))
        after = re.compile(_JOINT).search(plain, core.end())
        end = after.start() if after else len(plain)
        yield plain[start:end], "" if at < 0 or plain.startswith("||", at - 1) else joint


def _prints(part: str, joint: str) -> bool:
    """Tell whether a command prints the files that it names; `joint` is the operator before it."""
    words = set(re.findall(r"[\w./-]+", part))
    words |= {word.rpartition("/")[2] for word in words}
    if "-noout" in words:
        words.discard("openssl")
    printers = words & _PRINTERS - (_FILTERS if joint == "|" else set())
    if printers or ("git" in words and words & _GIT_PRINTERS):
        return True
    is_program = bool(words & _INLINE) or "<<" in part
    return is_program and any(word.startswith(_INTERPRETERS) for word in words)


def _prints_variables(command: str, plain: str) -> bool:
    """Tell whether a command loads variables from a file and prints variables."""
    words = {word for word in _ECHOES if word in plain}
    words = words and words & set(re.findall(r"[\w.-]+", plain))
    if words and re.search(r"(?:^|[\s;&|(])(?:source|\.)\s", plain):
        return True
    return bool(words & {"env", "printenv"}) and re.search(r"(?<![\w-])--env-file\b", command) is not None


def _hide_written(command: str, ignored: IgnoredFiles) -> str:
    """Return a shell command without what it writes to ignored files by a here-document, echo or printf."""
    if not ignored.mentioned(command):
        return command

    def hide(document: re.Match[str]) -> str:
        files = ignored.mentioned(document["line"]) if document["text"] else []
        return f"{document['line']}{_contents(files[0])}\n{document['end']}" if files else document[0]

    command = re.sub(_HERE_DOCUMENT, hide, command)
    parts, done = [], 0
    for found in re.finditer(_REDIRECT, command):
        name = ignored.name(found[1])
        start, end = _written(command, max(done, found.start() - EDGE), found) if name else (0, 0)
        if start < end:
            parts += [command[done:start], _contents(name), " " * (end == found.start())]
            done = end
    return "".join([*parts, command[done:]])


def _written(command: str, first: int, redirect: re.Match[str]) -> tuple[int, int]:
    """Return where the text stands that an echo or printf after `first` writes to a file."""
    end = redirect.start()
    is_group = command[first:end].rstrip().endswith(("}", ")"))  # { echo a; echo b; } > FILE
    found = [
        command.find(word, first, end) if is_group else command.rfind(word, first, end) for word in _VERBS
    ]
    verbs = [at for at in found if at >= 0]
    if verbs:
        return command.index(" ", min(verbs) if is_group else max(verbs)) + 1, end
    after = re.compile(_AFTER_REDIRECT).match(command, redirect.end())
    return (after.start("text"), after.start("text") + len(after["text"].rstrip())) if after else (end, end)


def _hide_lines(ignored: IgnoredFiles, sources: list[str] | None = None) -> Change:
    """Return a change of strings that hides the lines of an output that come from an ignored file.

    Those are grep's `FILE:line`, a whole diff that includes such a file and, after a command on the files
    `sources`, `NAME=value` at the start of a line.
    """

    def change(text: str, field: str | None) -> str:
        if field is None or not text:
            return text
        if sources:
            text = re.sub(_ASSIGNMENT, lambda line: line[1] + _contents(sources[0]), text)
        low = text.lower()
        near = ignored.cores_in(low)  # mostly empty
        if not near:
            return text

        def hide(line: re.Match[str]) -> str:
            file = line["file"]
            hit = any(core in file.lower() for core in near)
            name = ignored.name(re.sub(_MARGIN, "", file)) if hit else ""
            return f"{file}:{_contents(name)}" if name else line[0]

        files = [name for path in re.findall(_DIFFED, text) if (name := ignored.name(path))]
        return _contents(files[0]) if files else re.sub(_ORIGIN, hide, text)

    return change


def _without_passages(text: str) -> str:
    if "<private" not in text.lower():
        return text
    parts, done, depth = [], 0, 0
    for tag in re.finditer(r"<(/?)private(?:\s[^<>]*)?>", text, re.IGNORECASE):
        if not tag[1]:
            parts += [] if depth else [text[done : tag.start()], "[redacted: private]"]
            depth += 1
        elif depth:
            depth -= 1
            done = tag.end()
    return "".join(parts if depth else [*parts, text[done:]])
