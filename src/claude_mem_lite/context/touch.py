"""Tell what memory knows of a file that a session has just opened or changed: changes, failures, callers."""

import re
from collections.abc import Sequence
from dataclasses import replace

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.codemap.confidence import STRONG
from claude_mem_lite.context import layers
from claude_mem_lite.context.budget import Line, Said, Section, fill
from claude_mem_lite.context.builder import SHORT_FENCE_TOKENS
from claude_mem_lite.context.past import Past, asked_in
from claude_mem_lite.context.text import vetted
from claude_mem_lite.context.together import changed_with
from claude_mem_lite.distill.attempts import is_commit
from claude_mem_lite.distill.local.conversation import without_reason
from claude_mem_lite.quoting import named
from claude_mem_lite.search.words import words
from claude_mem_lite.storage import code
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage.models import Observation
from claude_mem_lite.text import join

BUDGET_TOKENS = 200

_LINES = 5
_CHARS = 260
_CHANGES = 20
_FUNCTIONS = 2

# What a line tells by what it is about: what was decided and what failed before what was done.
_WEIGHTS = {"Stop": 1.5, "SubagentStop": 1.2, "UserPromptSubmit": 0.9, "Bash": 0.7}
_EDIT, _OTHER, _COMMIT, _FAILURE, _IMPORT = 1.0, 0.5, 1.3, 1.3, 0.2
_DECISION = re.compile(
    r"\b(because|instead of|so that|decided|decision|never|always|must|no longer|from now on|reversed|why)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(r"\bFailed with |\b[1-9]\d* (?:failed|errors?)\b")
_SPOKEN = frozenset({"Stop", "SubagentStop"})
_EDITED = re.compile(r"^(?:Edited|Rewrote|Created) [^\n]*? \([^()\n]*lines?\)\.\s*")
# How a summary begins to list what became of functions, which a short title lists too.
_BECAME = frozenset({"new", "modified", "removed"})


def about(project_dir: str, path: str, *, said: Said, without: str, now: float) -> Section:
    """Return what is known of a file of a project, but for what the session `without` did itself."""
    section = Section("touched", f"About {vetted(named(path))[0] or 'this file'}")
    past = Past(project_dir, now)
    rows = context_rows.about_file(project_dir, path, without=without)
    lines = [*changed_with(past, path), *_callers(past, path), *_learned(past, path), *_done(past, rows)]
    fill(section, lines, budget_tokens=BUDGET_TOKENS - SHORT_FENCE_TOKENS, said=said, most=_LINES)
    return section


def _callers(past: Past, path: str) -> list[Line]:
    """Return who calls, from other files, the functions that sessions changed last."""
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
    """Return the learnings that speak of the file or of what is in it."""
    name = path.rpartition("/")[2]
    rows = context_rows.learnings(past.project_dir, least=layers.LEAST_CONFIDENCE, limit=100)
    return [
        past.learned(row, weight=2.0, reason="speaks of the file")
        for row in rows
        if name in row.content or any(each["file"] == path for each in row.code)
    ]


def _done(past: Past, rows: Sequence[Observation]) -> list[Line]:
    """Return what was done to the file and what failed in it, with what it was for, newest first."""
    lines = []
    for at, row in enumerate(rows):
        if row.title.startswith("Import "):  # the file says it
            continue
        weight, why = _weigh(row)
        _, asked = without_reason(row.summary)
        said = said_by(row)
        says = f"{said.rstrip('. ')}. For: {asked}" if asked and len(said) < _CHARS // 2 else said
        lines.append(past.told_of(row, says, weight=weight * 0.9**at, chars=_CHARS, reason=why))
    return lines


def _weigh(row: Observation) -> tuple[float, str]:
    """Return what an observation is worth by what it tells, with why."""
    if is_commit(row):
        return _COMMIT, "a commit"
    if row.tool_name == "Bash" and _FAILED.search(row.summary):
        return _FAILURE, "a failure"
    if row.title.startswith("Import "):
        return _IMPORT, "an import"
    weight = _WEIGHTS.get(row.tool_name, _EDIT if row.tool_name in EDITORS else _OTHER)
    if _DECISION.search(without_reason(row.summary)[0]):
        return weight * 1.4, f"{row.tool_name} with a reason"
    return weight, row.tool_name


def said_by(row: Observation) -> str:
    """Return what an observation says without what it was asked for, nothing twice."""
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
