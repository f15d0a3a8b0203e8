"""Build lines from what trusted colleagues have shared of a project, with the author's name and the age.

`storage.team` returns only lines of trusted machines in which nothing is suspicious. Here they are treated
like other lines: made harmless, kept within a budget, and vetted once more.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from claude_mem_lite.distill.findings import findings
from claude_mem_lite.search.words import function_words, lemma, words
from claude_mem_lite.storage import team

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.context.past import Past
    from claude_mem_lite.distill.findings import Finding
    from claude_mem_lite.storage.team import Shared

TITLE = "From colleagues, by name"
LINES = 8

_READ, _SUMMARIES = 100, 3
_CHARS = 300
# Weights of a colleague's rule, failure and session, and the factor for each step to an older one.
_RULE, _FAILURE, _SESSION, _FADES = 1.0, 0.7, 0.4, 0.95
# Least number and share of a prompt's words in a line that answers it, and the most such lines.
_LEAST_WORDS, _LEAST_SHARE, _ANSWERS = 2, 0.5, 2
_FOUND, _FOUND_MOST, _TERMS = 20, 5, 32


def shared(past: Past) -> list[Line]:
    """Return lines for colleagues' learnings and findings, newest first, then for their sessions."""
    rows = [
        row for row in team.told(past.project_dir, ("learning", "finding"), limit=_READ)
        if row.at > past.since
    ]  # fmt: skip
    sessions = team.told(past.project_dir, ("session",), limit=_SUMMARIES)
    rows += [row for row in sessions if row.at > past.since]
    return [line_of(past, row, fade=_FADES**at) for at, row in enumerate(rows)]


def as_before(past: Past, signatures: Collection[str]) -> list[Line]:
    """Return lines for what worked after colleagues' calls failed in the same way."""
    rows = team.told(past.project_dir, ("finding",), limit=_ANSWERS, signatures=signatures)
    return [line_of(past, row, fade=1.0) for row in rows]


def answering(past: Past, text: str) -> list[Line]:
    """Return at most two lines of colleagues that have most of a prompt's words."""
    asked = _terms(text)
    if len(asked) < _LEAST_WORDS or not team.is_there():
        return []
    rows = team.found(past.project_dir, _match(text), limit=_FOUND)
    scored = [(len(asked & _terms(says(row))), row) for row in rows]
    fitting = [
        (score, row) for score, row in scored
        if score >= _LEAST_WORDS and score >= _LEAST_SHARE * len(asked)
    ]  # fmt: skip
    fitting.sort(key=lambda each: -each[0])
    return [line_of(past, row, fade=1.0) for _, row in fitting[:_ANSWERS]]


def add_to(answer: dict[str, Any], project_dir: str | None, text: str, *, limit: int) -> None:
    """Append matching lines of colleagues to a search answer, as far as its limit allows."""
    room = min(_FOUND_MOST, limit - len(answer["results"]))
    if room > 0 and project_dir and team.is_there() and _terms(text):
        found = team.found(project_dir, _match(text), limit=room)
        more = {"project_dir": project_dir, "score": 0.0, "folded": [], "why": {}}
        answer["results"] += [as_json(row) | more for row in found]
        answer["count"] = len(answer["results"])


def as_json(row: Shared) -> dict[str, Any]:
    """Return a line in the form of a search result and of an id's detail."""
    return {
        "kind": row.kind, "id": row.id, "author": row.author, "title": f"From {row.author}",
        "text": says(row), "project_dir": row.project, "session_id": "", "tool_name": "",
        "files": row.line.get("files_touched") or [], "created_at": row.at,
    }  # fmt: skip


def line_of(past: Past, row: Shared, *, fade: float) -> Line:
    """Return a block's line for something that a colleague has shared."""
    worth = {"learning": _RULE * float(row.line.get("confidence", 1.0)), "finding": _FAILURE}
    return past.line(
        row.id, "learning" if row.kind == "learning" else "observation", row.at, says(row),
        weight=worth.get(row.kind, _SESSION) * fade, reason=f"shared by {row.author}", chars=_CHARS,
    )  # fmt: skip


def says(row: Shared) -> str:
    """Return the text of a line, preceded by its author's name."""
    line = row.line
    if row.kind == "learning":
        return f"From {row.author}, {line['category']}: {line['content']}"
    if row.kind == "finding":
        return f"From {row.author}: {_finding(row).says}"
    told = [line.get("title"), line.get("summary"), *line.get("key_decisions", [])]
    return f"From {row.author}: {'. '.join(filter(None, told))}"


def _finding(row: Shared) -> Finding:
    rows: Sequence[Any] = [SimpleNamespace(**row.line, event_id=row.id)]
    return findings(rows)[0]


def _terms(text: str) -> set[str]:
    return {lemma(word) for word in words(text) if word not in function_words()}


def _match(text: str) -> str:
    found = dict.fromkeys(word for word in words(text) if word not in function_words())
    return " OR ".join(f'"{word}"' for word in list(found)[:_TERMS])
