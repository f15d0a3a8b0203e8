"""Reduce a captured event to the text that Claude is sent: the call and its outcome, without repetitions.

Pure, like the local rules, and as tolerant of odd payloads. `selection` cuts long texts.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence

from claude_mem_lite.distill.digest import selection
from claude_mem_lite.distill.digest.selection import Part, assemble, outline, shorten
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.distill.rules import bash, edits, evidence, failures, fields, reading, unknown
from claude_mem_lite.text import clean, count, relative

DIGEST_CHARS = 6_000

_INPUTS = 40
_INLINE_CHARS = 300
_NAME_CHARS = 120
_LINKS = 50
_PATHS = ("file_path", "notebook_path", "path")
_SPOKEN = ("prompt", "last_assistant_message")
_CONTEXT_LINES = 1
_HUNK_LINES = 20_000
_COMPARED = 40_000  # pairs of lines; with more, difflib takes longer than all the rest

# The result of a rule: the first line, and the parts below it.
Told = tuple[str, list[Part]]


def digest(capture: Capture, *, limit: int = DIGEST_CHARS) -> str:
    """Describe one event and its outcome in at most `limit` characters.

    Cuts longer texts by content, with "[… N lines left out …]" where lines are missing. Never raises,
    whatever the payload looks like.
    """
    if not capture.event_name.startswith("PostToolUse"):
        spoken = [selection.prose(fields.text(capture.payload, key)) for key in _SPOKEN]
        return assemble(_name(capture.event_name), spoken, limit)
    head, parts = _TOOLS.get(capture.tool_name, _call)(capture)
    if capture.event_name == "PostToolUseFailure" and capture.tool_name != "Bash":
        code, error = failures.exit_code(fields.text(capture.payload, "error"))
        parts = [*parts, *_failure(capture, code), _printed(error)]
    return assemble(head, parts, limit)


def _edit(capture: Capture) -> Told:
    path = fields.path(capture, "file_path")
    arguments = fields.value(capture.payload, "tool_input")
    replacements = fields.items(arguments, "edits") or [arguments]
    pairs = [(fields.text(each, "old_string"), fields.text(each, "new_string")) for each in replacements]
    everywhere = ", all occurrences" if fields.value(arguments, "replace_all") is True else ""
    changes = _response_patch(fields.value(capture.payload, "tool_response")) or _strings_patch(pairs)
    return f"{_name(capture.tool_name)} {path}{everywhere}", [_patch(path, changes)]


def _write(capture: Capture) -> Told:
    path = fields.path(capture, "file_path")
    response = fields.value(capture.payload, "tool_response")
    content = fields.argument(capture, "content") or fields.text(response, "content")
    kind, before = fields.text(response, "type"), fields.whole(response, "originalFile")
    if kind == "create" or (kind != "update" and not before):
        lines = count(len(content.splitlines()), "line")
        return f"Write {path} (new file, {lines})", [_content(path, content)]
    changes = _response_patch(response) or (_strings_patch([(before, content)]) if before else "")
    written = _patch(path, changes) if changes else _content(path, content)
    return f"Write {path} (over the old file)", [written]


def _notebook_edit(capture: Capture) -> Told:
    path = fields.path(capture, "notebook_path")
    response = fields.value(capture.payload, "tool_response")
    mode, cell = fields.argument(capture, "edit_mode"), fields.argument(capture, "cell_id")
    kind = fields.text(response, "cell_type") or fields.argument(capture, "cell_type")
    old = "" if mode == "insert" else fields.text(response, "old_source")
    new = "" if mode == "delete" else fields.argument(capture, "new_source")
    cell = cell or fields.text(response, "cell_id")
    told = " ".join(filter(None, ("NotebookEdit", path, mode, kind, "cell", cell)))
    changes = selection.patch(_strings_patch([(old, new)]), is_plain=kind == "markdown")
    return told, [changes]


def _bash(capture: Capture) -> Told:
    description = " ".join(fields.argument(capture, "description").split())
    code, printed = failures.exit_code(bash.output(capture))
    remarks = [Part(" ".join(bash.circumstances(capture)), shorten)]
    if capture.event_name == "PostToolUseFailure":
        remarks += _failure(capture, code)
    command = fields.argument(capture, "command").strip()
    parts = [selection.code(f"$ {command}" if command else ""), *remarks, _printed(printed)]
    return f"Bash: {description}" if description else "Bash", parts


def _read(capture: Capture) -> Told:
    response = fields.value(capture.payload, "tool_response")
    path = fields.path(capture, "file_path") or fields.path(capture, "notebook_path")
    file = fields.value(response, "file")
    start, shown, total = (fields.number(file, key) for key in ("startLine", "numLines", "totalLines"))
    part_of = f" (lines {start or 1} to {(start or 1) + shown - 1} of {total})" if 0 < shown < total else ""
    kind = fields.text(response, "type")
    kind = f" ({kind})" if kind in {"image", "pdf", "parts"} else ""
    cells = "\n\n".join(fields.text(cell, "source") for cell in fields.items(file, "cells"))
    content = cells or fields.text(file, "content") or ("" if kind else fields.answer(capture))
    return f"{_name(capture.tool_name)} {path}{part_of}{kind}", [_content(path, content)]


def _search(capture: Capture) -> Told:
    response = fields.value(capture.payload, "tool_response")
    names = [relative(name, capture.project_dir) for name in fields.texts(response, "filenames")]
    found = fields.answer(capture) or "\n".join(names)
    if not found and capture.event_name == "PostToolUse":
        found = "nothing found"
    return _name(capture.tool_name), [*_inputs(capture), selection.output(found)]


def _fetch(capture: Capture) -> Told:
    return "WebFetch", [*_inputs(capture), selection.prose(reading.page(capture))]


def _web_search(capture: Capture) -> Told:
    return "WebSearch", [*_inputs(capture), selection.prose(reading.findings(capture, links=_LINKS))]


def _agent(capture: Capture) -> Told:
    answer = fields.answer(capture)
    is_running = fields.value(capture.payload, "tool_response", "isAsync") is True
    report = selection.prose(answer or ("It runs in the background." if is_running else ""))
    return _name(capture.tool_name), [*_inputs(capture), report]


def _todos(capture: Capture) -> Told:
    items = fields.items(capture.payload, "tool_input", "todos")
    told = ((fields.text(item, "status") or "pending", fields.text(item, "content")) for item in items)
    lines = [f"- [{status}] {content}" for status, content in told]
    return "TodoWrite", [selection.prose("\n".join(lines))]


def _questions(capture: Capture) -> Told:
    found = fields.value(capture.payload, "tool_response", "answers")
    answers = dict(found) if isinstance(found, dict) else {}
    lines: list[str] = []
    for question in fields.items(capture.payload, "tool_input", "questions"):
        lines.append(fields.text(question, "question"))
        for option in fields.items(question, "options"):
            told = (fields.text(option, "label"), fields.text(option, "description"))
            lines.append(f"- {': '.join(filter(None, told))}")
        reply = answers.pop(fields.text(question, "question"), None)
        lines += [] if reply is None else [f"Answer: {_plain(reply)}"]
    lines += [f"{clean(str(question))} {_plain(reply)}" for question, reply in answers.items()]
    return "AskUserQuestion", [selection.prose("\n".join(lines)), selection.prose(fields.answer(capture))]


def _plan(capture: Capture) -> Told:
    response = fields.value(capture.payload, "tool_response")
    plan = fields.argument(capture, "plan") or fields.text(response, "plan")
    return "ExitPlanMode", [selection.prose(plan), selection.prose(fields.answer(capture))]


def _call(capture: Capture) -> Told:
    """Describe a tool without a rule of its own: its inputs, and its answer without repeated inputs."""
    response = fields.value(capture.payload, "tool_response")
    text = unknown.text_answer(capture)
    given = fields.value(capture.payload, "tool_input")
    known = {each for each in given.values() if isinstance(each, str)} if isinstance(given, dict) else set()
    parts = [selection.answer(text)] if text else []
    if not text and (told := selection.without(response, known)):
        parts = [selection.structure(told)]
    return _name(capture.tool_name), [*_inputs(capture), *parts]


def _inputs(capture: Capture) -> list[Part]:
    """Return the tool's inputs: short values on one line each, long texts as parts of their own."""
    given = fields.value(capture.payload, "tool_input")
    if not isinstance(given, dict):
        return [selection.structure(given)] if given else []
    short: list[str] = []
    long: list[Part] = []
    for name, value in list(given.items())[:_INPUTS]:
        if value is None or value is False or value in ("", [], {}):
            continue
        label = _name(str(name))
        is_path = name in _PATHS and isinstance(value, str)
        text = relative(value, capture.project_dir) if is_path else _plain(value)
        if len(text) <= _INLINE_CHARS and "\n" not in text:
            short.append(f"{label}: {text}")
        elif isinstance(value, str):
            long.append(selection.prose(f"{label}: {text}"))
        else:
            long += [Part(f"{label}:", shorten), selection.structure(value)]
    return [selection.prose("\n".join(short)), *long]


def _failure(capture: Capture, code: int | None) -> list[Part]:
    is_interrupted = fields.value(capture.payload, "is_interrupt") is True
    how = "" if code is None else f" with exit code {code}"
    return [Part(f"Failed{how}{', interrupted by the user' if is_interrupted else ''}", shorten)]


def _printed(text: str) -> Part:
    """Return printed output without noise and repetitions."""
    lines = selection.first_and_last(evidence.collapsed(text.split("\n")))
    told = evidence.telling_lines("\n".join(lines))
    return selection.output("\n".join(evidence.collapsed(told)))


def _content(path: str, text: str) -> Part:
    return selection.prose(text) if edits.is_plain(path) else selection.code(text)


def _patch(path: str, text: str) -> Part:
    return selection.patch(text, is_plain=edits.is_plain(path))


def _response_patch(response: object) -> str:
    """Return the client's patch with less context; each group of changes gets its own header."""
    lines: list[str] = []
    for hunk in fields.items(response, "structuredPatch"):
        told = fields.items(hunk, "lines")[: max(0, _HUNK_LINES - len(lines))]
        body = [clean(line) for line in told if isinstance(line, str) and line[:1] in {" ", "+", "-"}]
        lines += _hunks(body, fields.number(hunk, "oldStart"), fields.number(hunk, "newStart"))
    return "\n".join(lines)


def _strings_patch(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the differences between old and new strings, pair by pair; their line numbers are unknown."""
    return "\n".join(line for old, new in pairs for line in _compared(old, new))


def _hunks(body: Sequence[str], old: int, new: int) -> Iterator[str]:
    """Yield changed lines with context and headers; `old` and `new` are the line numbers of `body[0]`."""
    changed = [index for index, line in enumerate(body) if line[0] != " "]
    start = 0
    while start < len(changed):
        end = start
        while end + 1 < len(changed) and changed[end + 1] - changed[end] <= 2 * _CONTEXT_LINES + 1:
            end += 1
        first = max(0, changed[start] - _CONTEXT_LINES)
        shown = body[first : changed[end] + _CONTEXT_LINES + 1]
        old_at, new_at = (at + _count(body[:first], sign) for at, sign in ((old, "-"), (new, "+")))
        yield f"@@ -{old_at},{_count(shown, '-')} +{new_at},{_count(shown, '+')} @@"
        yield from shown
        start = end + 1


def _count(lines: Iterable[str], sign: str) -> int:
    return sum(line[0] in {" ", sign} for line in lines)


def _compared(old: str, new: str) -> list[str]:
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) <= _COMPARED:
        return list(difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm=""))[2:]
    added, removed = edits.changed_lines(old, new)
    head = f"@@ -{len(removed)} lines +{len(added)} lines @@"
    return [head, *(f"-{line}" for line in removed), *(f"+{line}" for line in added)]


def _plain(value: object) -> str:
    return clean(value).strip() if isinstance(value, str) else outline(value)


def _name(name: str) -> str:
    return shorten(" ".join(clean(name).split()), _NAME_CHARS)


_TOOLS: dict[str, Callable[[Capture], Told]] = {
    "Agent": _agent,
    "AskUserQuestion": _questions,
    "Bash": _bash,
    "Edit": _edit,
    "ExitPlanMode": _plan,
    "Glob": _search,
    "Grep": _search,
    "MultiEdit": _edit,
    "NotebookEdit": _notebook_edit,
    "NotebookRead": _read,
    "Read": _read,
    "Task": _agent,
    "TodoWrite": _todos,
    "WebFetch": _fetch,
    "WebSearch": _web_search,
    "Write": _write,
}
