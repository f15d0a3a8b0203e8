"""Choose the rows of a project that go to the team, as lines of an export without private parts.

A learning goes without its guard and its references to rows of this memory. Unless the user shares prompts,
these are left out: a summary is written again from what was done, and lines that quote a prompt are removed.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from claude_mem_lite.distill.record import local_summary
from claude_mem_lite.distill.rules import conversation
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage import queries
from claude_mem_lite.storage.learnings import TOLD
from claude_mem_lite.sync import rows
from claude_mem_lite.sync.records import digest
from claude_mem_lite.upkeep import store

LEARNINGS, FINDINGS, SUMMARIES, OBSERVATIONS, PROMPTS = (
    "learnings", "findings", "summaries", "observations", "prompts",
)  # fmt: skip
ALL, NOTHING = "all", "nothing"
KINDS = {LEARNINGS: "learning", FINDINGS: "finding", SUMMARIES: "session", OBSERVATIONS: "observation"}
# Tools whose observations hold or repeat what the user said.
_USERS = frozenset({"UserPromptSubmit", "AskUserQuestion", "PostCompact"})


@dataclass(frozen=True, slots=True)
class Item:
    """A shared row: `digest` tells whether it has changed, `fields` returns those of its line or None."""

    kind: str
    id: str
    digest: str
    fields: Callable[[], dict[str, Any] | None]


def chosen(words: Collection[str], *, with_prompts: bool) -> list[str]:
    """Return the kinds that the user's words name. Raises: ClaudeMemError for an unknown word."""
    known = {*KINDS, ALL, NOTHING}
    if unknown := sorted(set(words) - known):
        raise ClaudeMemError(f"{unknown[0]!r} cannot be shared, only {', '.join([*KINDS, ALL, NOTHING])}")
    if NOTHING in words:
        return []
    kinds = [kind for kind in KINDS if kind in words or ALL in words]
    return kinds + [PROMPTS] * with_prompts


def items(project_dir: str, key: str, kinds: Collection[str]) -> Iterator[Item]:
    """Yield the rows of a project that are shared now; a row is read again when its line is made."""
    with_prompts, projects = PROMPTS in kinds, rows.Projects.read()
    for name, kind in KINDS.items():
        for row in store.rows(kind, project_dir) if name in kinds else ():
            if _is_shared(kind, row, with_prompts=with_prompts):
                yield Item(
                    kind, row["event_id" if kind == "finding" else "id"],
                    digest([[row[each] for each in rows.fields_of(kind)], key, with_prompts]),
                    partial(_fields, kind, row["pk"], key, projects, with_prompts=with_prompts),
                )  # fmt: skip


def _is_shared(kind: str, row: dict[str, Any], *, with_prompts: bool) -> bool:
    if kind == "learning":
        is_current = row["is_active"] and not row["superseded_by"] and not row["quarantine"]
        return bool(is_current and row["confidence"] >= TOLD and not row["stale"])
    if kind == "finding":
        return bool(row["works"] and not row["is_cured"])
    if kind == "session":
        return bool(row["summary"])
    return with_prompts or row["tool_name"] not in _USERS


def _fields(
    kind: str, pk: int, key: str, projects: rows.Projects, *, with_prompts: bool
) -> dict[str, Any] | None:
    found = rows.read(kind, pk, projects)
    if found is None:
        return None
    makers: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
        "learning": _learning, "finding": dict,
        "session": dict if with_prompts else _session,
        "observation": dict if with_prompts else _observation,
    }  # fmt: skip
    return makers[kind](found | {"kind": kind, "project_dir": key})


def _learning(found: dict[str, Any]) -> dict[str, Any]:
    """Return a learning without its evidence in this memory and without its guard."""
    empty: dict[str, Any] = {name: [] for name in ("source_sessions", "observations", "code", "kin")}
    return found | empty | {"guard": None}


def _session(found: dict[str, Any]) -> dict[str, Any] | None:
    """Return a session with a summary that uses no prompts, None if there is nothing to summarize."""
    done = [row for row in queries.observations_of(found["id"]) if row.tool_name not in _USERS]
    summary, _ = local_summary(done)
    told: dict[str, Any] = {"summary": summary, "key_decisions": [], "retold": None, "written_by": "local"}
    return found | told if summary else None


def _observation(found: dict[str, Any]) -> dict[str, Any]:
    """Return an observation without the lines that quote a prompt."""
    said = queries.observations_of(found["session_id"])
    asked = {conversation.asked(row.summary).rstrip("…") for row in said if row.tool_name in _USERS} - {""}
    asked |= {each.removeprefix("Asked: ") for each in asked}
    told = {name: _without(found[name], asked) for name in ("title", "summary", "detail")}
    return found | told | {"title": told["title"] or found["tool_name"], "summary": told["summary"] or ""}


def _without(text: str | None, quotes: Collection[str]) -> str | None:
    if text is None:
        return None
    kept = [line for line in text.split("\n") if not line.startswith("Asked: ")]
    return "\n".join(line for line in kept if not any(quote in line for quote in quotes))
