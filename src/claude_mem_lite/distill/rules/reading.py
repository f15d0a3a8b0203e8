"""Describe reads and searches, in the project and on the web; fold many looks into one observation."""

import os.path
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from claude_mem_lite.codemap import languages
from claude_mem_lite.distill.observation import OBSERVATION_CHARS, Capture, Observation, Skip
from claude_mem_lite.distill.rules import bash, fields
from claude_mem_lite.distill.rules.evidence import best_lines, code_worth, plain_worth
from claude_mem_lite.quoting import named, quoted
from claude_mem_lite.text import (
    TITLE_CHARS,
    clip,
    count,
    first_sentence,
    join,
    one_line,
    relative,
    sentences,
    unique,
)

_PROSE = (".md", ".rst", ".txt", ".adoc", ".toml", ".cfg", ".ini", ".yaml", ".yml")
_SUMMARY_CHARS = 700
_FILES = 30
_SUBJECT_CHARS, _SAID_CHARS = 48, 400
_NOT_FOUND = "not found:"
_VERBS_WITH_COUNTS = ("Search for", "Find")
_VERBS = ("Read", *_VERBS_WITH_COUNTS)


@dataclass(frozen=True, slots=True)
class Look:
    """One look: `verb` is "" for a command, `found` is a few words, `lines` are the evidence."""

    verb: str
    target: str
    found: str
    lines: str
    files: tuple[str, ...]


def observe(capture: Capture) -> Observation | Skip:
    """Describe one read, search or listing."""
    return tell([look(capture)])


def tell(looks: Sequence[Look | Skip]) -> Observation | Skip:
    """Describe several looks in one observation; of looks that found nothing, only their target."""
    useful = [each for each in looks if isinstance(each, Look)]
    skipped = [each.reason for each in looks if isinstance(each, Skip)]
    if not useful:
        return Skip(skipped[0] if skipped else "nothing was looked at")
    told = unique(
        f"{each.verb} {each.target}{f': {each.found}' if each.found else ''}".strip() for each in useful
    )
    missed = unique(reason for reason in skipped if reason.startswith(_NOT_FOUND))
    title = _title(useful)
    summary = one_line(". ".join((*told, *missed)), _SUMMARY_CHARS)
    detail = _detail(useful, OBSERVATION_CHARS - len(title) - len(summary))
    files = unique(file for each in useful for file in each.files)
    return Observation(title, summary, detail or None, files[:_FILES])


def look(capture: Capture) -> Look | Skip:
    """Return the look that a capture made, or why it is none."""
    if capture.tool_name != "Bash":
        rule = LOOKS.get(capture.tool_name)
        return rule(capture) if rule else Skip("not a look at anything")
    lines = bash.findings(capture)
    if not lines:
        return Skip("a look that found nothing")
    return Look("", bash.label(capture), f"`{bash.shown(capture, 160)}`", lines, ())


def is_lookup(capture: Capture) -> bool:
    """Tell whether the capture is a look that `fold` may combine with others."""
    if capture.event_name not in {"PostToolUse", "PostToolUseFailure"}:
        return False
    if capture.tool_name == "Bash":
        return capture.event_name == "PostToolUse" and bash.is_lookup(capture)
    return capture.tool_name in LOOKS


def observe_fetch(capture: Capture) -> Observation | Skip:
    """Describe a fetched page: the question about it and the answer."""
    url = named(fields.argument(capture, "url"))
    result = page(capture)
    if not url or not result:
        return Skip("a page without an answer")
    question = one_line(fields.argument(capture, "prompt"), 200).rstrip("?. ")
    code = fields.number(capture.payload, "tool_response", "code")
    status = f" (HTTP {code})" if code and code != 200 else ""  # noqa: PLR2004 - 200 is the usual status
    head = f"Fetched {one_line(url, 300)}{status}{f' to find out: {question}' if question else ''}."
    title = one_line(f"Fetch {one_line(url, _SUBJECT_CHARS)}: {quoted(first_sentence(result))}")
    return Observation(title, f"{head} {_said(result, title)}".strip(), clip(result, 1_200))


def observe_search(capture: Capture) -> Observation | Skip:
    """Describe a web search: the query, the hits and the text about them."""
    query = one_line(fields.argument(capture, "query"), 200)
    found = findings(capture, links=8)
    if not query or not found:
        return Skip("a web search that found nothing")
    title = one_line(f"Search the web for {one_line(query, _SUBJECT_CHARS)}: {quoted(first_sentence(found))}")
    summary = f"Searched the web for: {query}. {_said(found, title)}".strip()
    return Observation(title, summary, clip(found, 1_200))


def page(capture: Capture) -> str:
    """Return the text about a fetched page."""
    return (fields.text(capture.payload, "tool_response", "result") or fields.answer(capture)).strip()


def findings(capture: Capture, *, links: int) -> str:
    """Return the text about a search's hits, and the first `links` of them with their addresses."""
    results = fields.items(capture.payload, "tool_response", "results")
    hits = [hit for result in results for hit in fields.items(result, "content")]
    told = [f"{fields.text(hit, 'title')} {fields.text(hit, 'url')}".strip() for hit in hits[:links]]
    remarks = [*fields.texts(capture.payload, "tool_response", "results"), fields.answer(capture)]
    return "\n".join(filter(None, [*(remark.strip() for remark in remarks), *told]))


def _title(looks: Sequence[Look]) -> str:
    """Return a title like "Read a.py and b.py; search for x" with as many names as fit."""
    title = f"{looks[0].verb} {looks[0].target}: {looks[0].found}"
    if len(looks) == 1 and looks[0].verb in _VERBS_WITH_COUNTS and len(title) <= TITLE_CHARS:
        return title
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


def _detail(looks: Sequence[Look], room: int) -> str:
    """Return the evidence of each look in its share of the room; unused room goes to later looks."""
    parts: list[str] = []
    told = [look for look in looks if look.lines]
    for index, look in enumerate(told):
        share = room // (len(told) - index)
        head = f"{look.target}:\n" if len(looks) > 1 else ""
        part = f"{head}{clip(look.lines, share - len(head) - 1)}" if share > 60 else ""  # noqa: PLR2004 - a line
        room -= len(part) + 1
        parts.append(part)
    return "\n".join(filter(None, parts))


def _look_into_file(capture: Capture) -> Look | Skip:
    path = fields.path(capture, "file_path") or fields.path(capture, "notebook_path")
    if not path:
        return Skip("a file without a name")
    if capture.event_name == "PostToolUseFailure":
        return Skip(f"{_NOT_FOUND} {named(path)}")
    response = fields.value(capture.payload, "tool_response")
    if fields.text(response, "type") in {"image", "pdf", "parts"}:
        return Skip("a picture or a document without text")
    cells = fields.items(response, "file", "cells")
    source = "\n".join(fields.text(cell, "source") for cell in cells)
    content = source or fields.text(response, "file", "content")
    if not content.strip():
        return Skip("an empty file")
    total, shown = fields.number(response, "file", "totalLines"), fields.number(response, "file", "numLines")
    if 0 < shown < total:
        start = fields.number(response, "file", "startLine") or 1
        size = f"lines {start} to {start + shown - 1} of {total}"
    else:
        size = count(total, "line") if total else count(len(cells), "cell") if cells else ""
    return Look("Read", named(path), size, _outline(path, content), (path,))


def _outline(path: str, content: str) -> str:
    """Return a source file's definitions with their docstrings; of other files the most telling lines."""
    lines = content.split("\n")
    if path.endswith(_PROSE) or "." not in os.path.basename(path):
        return best_lines(lines, OBSERVATION_CHARS, plain_worth)
    try:
        functions = languages.extract(path, content)
    except SyntaxError:
        functions = ()
    if not functions:
        return best_lines(lines, OBSERVATION_CHARS, code_worth)
    head = [lines[0].strip("\"' ")] if lines[0].startswith(('"""', "'''")) else []
    constants = [line for line in lines if code_worth(line) == 5 and line[:1].isupper()]  # noqa: PLR2004 - the most
    told = [f"{each.signature}{f': {each.docstring}' if each.docstring else ''}" for each in functions]
    return "\n".join([*head, *constants, *told])


def _look_for_text(capture: Capture) -> Look | Skip:
    pattern = one_line(fields.argument(capture, "pattern"), 60)
    response = fields.value(capture.payload, "tool_response")
    files = [relative(name, capture.project_dir) for name in fields.texts(response, "filenames")]
    content = fields.text(response, "content") or (response if isinstance(response, str) else "")
    if not pattern or not (files or content.strip()):
        return Skip(f"{_NOT_FOUND} {pattern}")
    lines = fields.number(response, "numLines") if content else 0
    found = [count(lines, "line")] if lines else []
    found += [f"in {join(list(map(named, files)))}"] if files else []
    return Look("Search for", f"'{pattern}'", " ".join(found), content or "\n".join(files), ())


def _look_for_files(capture: Capture) -> Look | Skip:
    pattern = one_line(fields.argument(capture, "pattern"), 60)
    response = fields.value(capture.payload, "tool_response")
    files = [relative(name, capture.project_dir) for name in fields.texts(response, "filenames")]
    if not files:
        return Skip(f"{_NOT_FOUND} {pattern}")
    return Look("Find", pattern, count(len(files), "file"), "\n".join(files), ())


def _said(text: str, title: str) -> str:
    """Return the first sentences that the title does not contain, quoted."""
    told = ""
    for sentence in sentences(text):
        if sentence.rstrip(" .") in title:
            continue
        if told and len(told) + len(sentence) > _SAID_CHARS:
            break
        told = f"{told} {sentence}".strip()
    return quoted(one_line(told, _SAID_CHARS))


LOOKS: dict[str, Callable[[Capture], Look | Skip]] = {
    "Read": _look_into_file,
    "NotebookRead": _look_into_file,
    "Grep": _look_for_text,
    "Glob": _look_for_files,
    "LS": lambda _: Skip("a listing"),
}
