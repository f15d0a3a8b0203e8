"""Full text search by SQLite's FTS5, which answers whenever nothing better can."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from claude_mem_lite.storage import queries

Kind = Literal["all", "observation", "session"]

MAX_TERMS = 32
_PHRASE_OR_WORD = re.compile(r'"([^"]+)"|(\S+)')
_STOP_WORDS = frozenset(
    """a an and are as at be been by can did do does for from had has have how i in into is it its me my of on
    or our should that the their them then there these they this to us was we were what when where which who
    why will with you your""".split()  # noqa: SIM905  (a list of words reads as words)
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: `id` opens it, `score` is positive and comparable within one answer only."""

    kind: Literal["observation", "session"]
    id: str
    title: str
    text: str
    project_dir: str
    session_id: str
    files: tuple[str, ...]
    created_at: str
    score: float

    def as_json(self) -> dict[str, Any]:
        """Return the fields for an answer in JSON."""
        return {name: getattr(self, name) for name in self.__slots__} | {"files": list(self.files)}


def search(
    query: str,
    *,
    limit: int = 10,
    kind: Kind = "all",
    project_dir: str | None = None,
    since: str | None = None,
) -> list[Hit]:
    """Return the best hits for words and "quoted phrases", best first; no usable word, no hit."""
    match = match_expression(query)
    if not match:
        return []
    hits: list[Hit] = []
    if kind in {"all", "observation"}:
        observations = queries.search_observations(match, limit=limit, project_dir=project_dir, since=since)
        hits += [_observation_hit(row, score) for row, score in observations]
    if kind in {"all", "session"}:
        sessions = queries.search_sessions(match, limit=limit, project_dir=project_dir, since=since)
        hits += [_session_hit(row, score) for row, score in sessions]
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def match_expression(query: str) -> str:
    """Return the FTS5 query: each phrase, identifier or path as a phrase of its parts, joined by OR.

    Words that say nothing are left out unless the query has no others.
    """
    terms = [phrase or word for phrase, word in _PHRASE_OR_WORD.findall(query.replace("\0", " "))]
    terms = [term for term in terms if any(character.isalnum() for character in term)]
    telling = [term for term in terms if term.strip("?.,;:!").lower() not in _STOP_WORDS]
    some = list(dict.fromkeys(telling or terms))[:MAX_TERMS]
    return " OR ".join('"{}"'.format(term.replace('"', '""')) for term in some)


def _observation_hit(row: Any, score: float) -> Hit:
    return Hit(
        kind="observation",
        id=row.id,
        title=row.title,
        text=row.summary,
        project_dir=row.project_dir,
        session_id=row.session_id,
        files=tuple(row.files_touched),
        created_at=row.created_at,
        score=round(score, 4),
    )


def _session_hit(row: Any, score: float) -> Hit:
    return Hit(
        kind="session",
        id=row.id,
        title=row.summary.split("\n", 1)[0][:100],
        text="\n".join([row.summary, *row.key_decisions]),
        project_dir=row.project_dir,
        session_id=row.id,
        files=(),
        created_at=row.last_event_at,
        score=round(score, 4),
    )
