"""What was looked at and found: files, searches, listings, and many of them folded into one observation."""

import os.path
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from claude_mem_lite.codemap.extract import extract
from claude_mem_lite.distill.local import bash, conversation, fields
from claude_mem_lite.distill.local.evidence import best_lines, code_worth, plain_worth, unique
from claude_mem_lite.distill.observation import (
    OBSERVATION_CHARS,
    TITLE_CHARS,
    Capture,
    Observation,
    Skip,
    clip,
    count,
    join,
    one_line,
    relative,
)

_PROSE = (".md", ".rst", ".txt", ".adoc", ".toml", ".cfg", ".ini", ".yaml", ".yml")
_SUMMARY_CHARS = 700
_VERBS = ("Read", "Search for", "Find")


@dataclass(frozen=True, slots=True)
class _Look:
    """One look: `verb` is "" where a command looked, `found` is a few words, `lines` are the evidence."""

    verb: str
    target: str
    found: str
    lines: str
    files: tuple[str, ...]


def observe(capture: Capture, prompt: str | None) -> Observation | Skip:
    """Describe an observation of one read, search or listing."""
    return observe_all([capture], prompt)


def observe_all(captures: Sequence[Capture], prompt: str | None) -> Observation | Skip:
    """One observation of several looks; those that found nothing are only counted."""
    limit = max(250, OBSERVATION_CHARS // max(1, len(captures)))
    looks = [_look(capture, limit) for capture in captures]
    useful = [look for look in looks if isinstance(look, _Look)]
    if not useful:
        reasons = unique(look.reason for look in looks if isinstance(look, Skip))
        return Skip(reasons[0] if reasons else "nothing was looked at")
    title = _title(useful)
    missed = unique(
        look.reason for look in looks if isinstance(look, Skip) and look.reason.startswith("not found")
    )
    told = unique(
        f"{look.verb} {look.target}{f': {look.found}' if look.found else ''}".strip() for look in useful
    )
    summary = conversation.with_reason(one_line(". ".join((*told, *missed)), _SUMMARY_CHARS), prompt)
    detail = _detail(useful, OBSERVATION_CHARS - len(title) - len(summary))
    files = unique(file for look in useful for file in look.files)
    return Observation(title, summary, detail or None, files[:30], ())


def is_lookup(capture: Capture) -> bool:
    """Whether the capture is a finished look at something."""
    if capture.event_name not in {"PostToolUse", "PostToolUseFailure"}:
        return False
    if capture.tool_name == "Bash":
        return capture.event_name == "PostToolUse" and bash.is_lookup(capture)
    return capture.tool_name in _LOOKS


def _title(looks: Sequence[_Look]) -> str:
    """Return "Read a.py and b.py; search for x; what a command looked for", with as many names as fit."""
    title = ""
    for limit in (4, 3, 2, 1):
        phrases = []
        for verb in _VERBS:
            targets = unique(look.target for look in looks if look.verb == verb)
            phrases += [f"{verb} {join(targets, limit)}"] if targets else []
        phrases += unique(look.target for look in looks if not look.verb)
        title = "; ".join([*phrases[:1], *(phrase[0].lower() + phrase[1:] for phrase in phrases[1:])])
        if len(title) <= TITLE_CHARS:
            break
    return title


def _detail(looks: Sequence[_Look], room: int) -> str:
    """Each look's share of the room; what one does not need goes to those after it."""
    parts: list[str] = []
    told = [look for look in looks if look.lines]
    for index, look in enumerate(told):
        share = room // (len(told) - index)
        head = f"{look.target}:\n" if len(looks) > 1 else ""
        part = f"{head}{clip(look.lines, share - len(head) - 1)}" if share > 60 else ""  # noqa: PLR2004 - a line
        room -= len(part) + 1
        parts.append(part)
    return "\n".join(filter(None, parts))


def _look(capture: Capture, limit: int) -> _Look | Skip:
    if capture.tool_name == "Bash":
        return _look_by_command(capture, limit)
    rule = _LOOKS.get(capture.tool_name)
    if rule is None:
        return Skip("not a look at anything")
    return rule(capture, limit)


def _look_by_command(capture: Capture, limit: int) -> _Look | Skip:
    lines = bash.findings(capture, limit)
    if not lines:
        return Skip("a look that found nothing")
    return _Look("", bash.label(capture), f"`{bash.shown(capture, 160)}`", lines, ())


def _look_into_file(capture: Capture, limit: int) -> _Look | Skip:
    path = fields.path(capture, "file_path") or fields.path(capture, "notebook_path")
    if not path:
        return Skip("a file without a name")
    if capture.event_name == "PostToolUseFailure":
        return Skip(f"not found: {path}")
    response = fields.value(capture.payload, "tool_response")
    if fields.text(response, "type") in {"image", "pdf", "parts"}:
        return Skip("a picture or a document without text")
    cells = fields.items(response, "file", "cells")
    content = "\n".join(fields.text(cell, "source") for cell in cells) or fields.text(
        response, "file", "content"
    )
    if not content.strip():
        return Skip("an empty file")
    total, shown = fields.number(response, "file", "totalLines"), fields.number(response, "file", "numLines")
    start = fields.number(response, "file", "startLine") or 1
    size = (
        f"lines {start} to {start + shown - 1} of {total}"
        if 0 < shown < total
        else count(total, "line")
        if total
        else ""
    )
    return _Look(
        "Read",
        path,
        size or (count(len(cells), "cell") if cells else ""),
        _outline(path, content, limit),
        (path,),
    )


def _outline(path: str, content: str, limit: int) -> str:
    """Return a source's definitions with their docstrings; the telling lines of anything else."""
    lines = content.split("\n")
    if path.endswith(_PROSE) or "." not in os.path.basename(path):
        return best_lines(lines, limit, plain_worth)
    try:
        functions = extract(content) if path.endswith((".py", ".pyi")) else ()
    except SyntaxError:
        functions = ()
    if not functions:
        return best_lines(lines, limit, code_worth)
    head = [lines[0].strip("\"' ")] if lines[0].startswith(('"""', "'''")) else []
    constants = [line for line in lines if code_worth(line) == 5 and line[:1].isupper()]  # noqa: PLR2004 - the most
    told = [f"{each.signature}{f': {each.docstring}' if each.docstring else ''}" for each in functions]
    return clip("\n".join([*head, *constants, *told]), limit)


def _look_for_text(capture: Capture, limit: int) -> _Look | Skip:
    pattern = one_line(fields.argument(capture, "pattern"), 60)
    response = fields.value(capture.payload, "tool_response")
    files = [relative(name, capture.project_dir) for name in fields.texts(response, "filenames")]
    content = fields.text(response, "content") or (response if isinstance(response, str) else "")
    if not pattern or not (files or content.strip()):
        return Skip(f"not found: {pattern}")
    found = (
        [count(fields.number(response, "numLines"), "line")]
        if content and fields.number(response, "numLines")
        else []
    )
    found += [f"in {join(files)}"] if files else []
    return _Look("Search for", f"'{pattern}'", " ".join(found), clip(content or "\n".join(files), limit), ())


def _look_for_files(capture: Capture, limit: int) -> _Look | Skip:
    pattern = one_line(fields.argument(capture, "pattern"), 60)
    response = fields.value(capture.payload, "tool_response")
    files = [relative(name, capture.project_dir) for name in fields.texts(response, "filenames")]
    if not files:
        return Skip(f"not found: {pattern}")
    return _Look("Find", pattern, count(len(files), "file"), clip("\n".join(files), limit), ())


def _look_at_folder(capture: Capture, limit: int) -> _Look | Skip:
    del capture, limit
    return Skip("a listing")


_LOOKS: dict[str, Callable[[Capture, int], _Look | Skip]] = {
    "Read": _look_into_file,
    "NotebookRead": _look_into_file,
    "Grep": _look_for_text,
    "Glob": _look_for_files,
    "LS": _look_at_folder,
}
