"""Collect what memory knows of a file that a session has opened or changed: changes, failures, callers."""

import os.path
import re
from collections.abc import Sequence
from dataclasses import replace

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.codemap.confidence import STRONG
from claude_mem_lite.context import layers
from claude_mem_lite.context.budget import Line, Said, Section, added, fill
from claude_mem_lite.context.builder import SHORT_FENCE_TOKENS
from claude_mem_lite.context.coverage import form
from claude_mem_lite.context.past import FADES, Past, asked_in
from claude_mem_lite.context.superseded import Superseded
from claude_mem_lite.context.text import vetted
from claude_mem_lite.context.together import changed_with
from claude_mem_lite.distill.attempts import is_commit
from claude_mem_lite.distill.retired import code_names
from claude_mem_lite.distill.rules.conversation import without_reason
from claude_mem_lite.distill.statements import statements
from claude_mem_lite.distill.thread import FULL_STOPS, joined
from claude_mem_lite.distill.thread import Said as Statement
from claude_mem_lite.quoting import named
from claude_mem_lite.search.words import words
from claude_mem_lite.storage import code
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import search as search_rows
from claude_mem_lite.storage.models import Observation
from claude_mem_lite.storage.search import Scope
from claude_mem_lite.text import join

BUDGET_TOKENS = 200

_LINES = 5
_CHARS = 260
_CHANGES = 20
_FUNCTIONS = 2
# Reports that name the file: how many are read, statements shown of each, and their weight; and the least
# letters of a file's name that may stand for it without the extension.
_REPORTS, _STATED, _SPEAKS_OF_IT, _LEAST_NAME = 60, 2, 2.0, 5

# Weights of lines by tool; failures and commits weigh more than other work.
_WEIGHTS = {"Stop": 1.5, "SubagentStop": 1.2, "UserPromptSubmit": 0.9, "Bash": 0.7}
_EDIT, _OTHER, _COMMIT, _FAILURE = 1.0, 0.5, 1.3, 1.3
_FAILED = re.compile(r"\bFailed with |\b[1-9]\d* (?:failed|errors?)\b")
_SPOKEN = frozenset({"Stop", "SubagentStop"})
_EDITED = re.compile(r"^(?:Edited|Rewrote|Created) [^\n]*? \([^()\n]*lines?\)\.\s*")
# Words of a summary that lists function changes, which a short title lists, too.
_BECAME = frozenset({"new", "modified", "removed"})


def about(project_dir: str, path: str, *, said: Said, without: str, now: float) -> Section:
    """Return a section on a file of a project, without what the session `without` did itself."""
    section = Section("touched", f"About {vetted(named(path))[0] or 'this file'}")
    past = Past(project_dir, now)
    rows = context_rows.about_file(project_dir, path, without=without)
    lines = [
        *changed_with(past, path),
        *_callers(past, path),
        *_learned(past, path),
        *_stated(past, path, without=without),
        *_done(past, rows),
    ]
    fill(section, lines, budget_tokens=BUDGET_TOKENS - SHORT_FENCE_TOKENS, said=said, most=_LINES)
    return section


def _callers(past: Past, path: str) -> list[Line]:
    """Return lines on the callers, in other files, of the file's functions that sessions changed last."""
    changed = [
        row
        for row in code.changes_in(past.project_dir, path, limit=_CHANGES)
        if row.change_type != "deleted" and row.observation_id
    ]
    names = list(dict.fromkeys(row.qualified_name for row in changed))[:_FUNCTIONS]
    edges = context_rows.callers(past.project_dir, path, names, least=STRONG)
    lines = []
    for name in names:
        calls = [
            f"{named(edge.caller_file)}:{edge.line} {edge.caller_function}"
            for edge in edges
            if edge.callee_function == name
        ]
        if calls:
            row = next(row for row in changed if row.qualified_name == name)
            says = f"{row.change_type.capitalize()} {name}, which is called by {join(calls, 4)}"
            line = past.line(
                row.observation_id or "", "function", row.created_at, says, weight=1.0, chars=_CHARS,
                reason="callers of a changed function",
            )  # fmt: skip
            lines.append(replace(line, says_more=True))
    return lines


def _learned(past: Past, path: str) -> list[Line]:
    """Return lines for the learnings about the file or its code."""
    name = path.rpartition("/")[2]
    rows = context_rows.learnings(past.project_dir, least=layers.LEAST_CONFIDENCE, limit=100)
    return [
        past.learned(row, weight=2.0, reason="speaks of the file")
        for row in rows
        if name in row.content or any(each["file"] == path for each in row.code)
    ]


def _stated(past: Past, path: str, *, without: str) -> list[Line]:
    """Return one line per report with its statements that mention the file or what it is named after."""
    base = os.path.basename(path)
    called = {base, *(name for name in code_names(base.partition(".")[0]) if len(name) >= _LEAST_NAME)}
    match = " OR ".join('"' + name.replace('"', "") + '"' for name in sorted(called))
    scope = Scope(project_dir=past.project_dir, tool="Stop")
    found = search_rows.by_text("observation", match, scope, limit=_REPORTS)
    rows = sorted((row for row in found if row.session_id != without), key=lambda row: row.created_at)[::-1]
    past = replace(past, gone=Superseded(past.project_dir, (row.summary for row in rows)))
    sessions = list(dict.fromkeys(row.session_id for row in rows))
    lines = []
    for row in rows:
        stated = (
            Statement(row.id, row.created_at, each.says, head=each.head)
            for each in statements(without_reason(row.summary)[0])
            if any(name in each.text for name in called)
        )
        worth = {each: past.worth(each) * form(each) for each in stated}
        best = sorted(filter(worth.get, worth), key=worth.__getitem__, reverse=True)[:_STATED]
        if best:
            says = joined((each.head, each.says) for each in best).rstrip(FULL_STOPS)
            line = past.line(
                row.id, "observation", row.created_at, says,
                weight=_SPEAKS_OF_IT * worth[best[0]] * FADES ** sessions.index(row.session_id),
                chars=_CHARS, reason="a report speaks of it",
            )  # fmt: skip
            lines.append(added(line, past.gone(says, row.created_at)))
    return lines


def _done(past: Past, rows: Sequence[Observation]) -> list[Line]:
    """Return lines for the work on the file and its failures, with the prompt behind them, newest first."""
    lines = []
    for at, row in enumerate(rows):
        if row.title.startswith("Import "):  # an import is visible in the file
            continue
        weight, why = _weigh(row)
        _, asked = without_reason(row.summary)
        said = said_by(row)
        says = f"{said.rstrip('. ')}. For: {asked}" if asked and len(said) < _CHARS // 2 else said
        lines.append(past.told_of(row, says, weight=weight * 0.9**at, chars=_CHARS, reason=why))
    return lines


def _weigh(row: Observation) -> tuple[float, str]:
    """Return the weight of an observation by its kind, with the reason."""
    if is_commit(row):
        return _COMMIT, "a commit"
    if row.tool_name == "Bash" and _FAILED.search(row.summary):
        return _FAILURE, "a failure"
    return _WEIGHTS.get(row.tool_name, _EDIT if row.tool_name in EDITORS else _OTHER), row.tool_name


def said_by(row: Observation) -> str:
    """Return an observation's text without the prompt behind it and without repetition."""
    if row.tool_name == "UserPromptSubmit":
        return f"Asked: {asked_in(row.summary)}"
    summary, _ = without_reason(row.summary)
    if row.tool_name == "SubagentStop":
        return f"A sub-agent reported: {summary}"
    if row.tool_name in _SPOKEN or summary.startswith(row.title.rstrip("…”")):
        return summary
    told = _EDITED.sub("", summary)
    if told == summary:
        return f"{row.title}: {summary}"
    if set(words(told)) <= {*words(row.title), *_BECAME}:
        return row.title
    head, _, said = row.title.partition(": ")
    is_repeated = said.strip("“”").rstrip("…") in told
    return f"{head if is_repeated else row.title}{f'. {told}' if told else ''}"
