"""Decide what becomes of a candidate: a new learning, evidence for an old one, its successor, or nothing.

Nothing here changes what the user wrote or removed. Taking in the same session again changes nothing, because
a session counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from claude_mem_lite import settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.distill.sameness import relation, terms
from claude_mem_lite.distill.suspicion import suspicions
from claude_mem_lite.distill.typed import CONTENT_CHARS
from claude_mem_lite.learnings import anchors
from claude_mem_lite.redaction.events import redact
from claude_mem_lite.search import similarity
from claude_mem_lite.storage import facts, queries
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import search as full_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from claude_mem_lite.distill.suspicion import Origin
    from claude_mem_lite.storage.models import Learning

# Limits and steps of a learning's confidence, 0 to 1.
INITIAL, CEILING, BOOST = 0.5, 0.95, 0.2
PENALTY, FLOOR = 0.3, 0.1
LEAST = 0.3  # a candidate with a lower confidence is skipped
TOLD = learning_rows.TOLD
CANDIDATE = 0.4  # confidence of a sentence said once in no binding form; a second time raises it to 0.51
MANUAL = 1.0

_STANDS_OUT = 0.15  # by which a cosine exceeds the mean of the others
_MOST_KIN, _KIN_TERMS = 50, 12  # learnings of other projects that are compared, terms to search them by
_MOST_SOURCES = 50  # sessions, and as many observations, kept for each learning

Action = Literal["inserted", "merged", "contradicted", "skipped", "quarantined", "known"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A learning that a session may have taught; `confidence` (0 to 1) is that of the extraction.

    `starts_at` is the confidence of a new learning. `contradicts` and `confirms` are ids of learnings, "" for
    none. `observations` are ids of the evidence; `about` and `files` help to find the code that it mentions.
    `origin` says whose words it is based on.
    """

    content: str
    category: str
    origin: Origin
    confidence: float = INITIAL
    starts_at: float = INITIAL
    contradicts: str = ""
    confirms: str = ""
    observations: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a candidate, the learning that it is now part of ("" for none), and why."""

    action: Action
    learning_id: str = ""
    reason: str = ""


def boosted(confidence: float) -> float:
    """Return a confidence after one more session said the same: higher by a fifth of the gap to 0.95."""
    return max(confidence, min(CEILING, confidence + BOOST * (CEILING - confidence)))


def penalized(confidence: float) -> float:
    """Return a confidence after a contradiction: lower by 0.3, at least 0.1."""
    return max(FLOOR, confidence - PENALTY)


def take(candidate: Candidate, *, session_id: str, project_dir: str, at: str = "") -> Outcome:
    """Store or skip a candidate; `at` is the time at which its session said so (UTC text)."""
    content = " ".join(redact(candidate.content).split())
    if candidate.confidence < LEAST or not content or len(content) > CONTENT_CHARS:
        reason = "too unsure" if candidate.confidence < LEAST else "empty or too long"
        return _skipped(session_id, reason)
    # Do this before the transaction, because the embedding model may have to be loaded.
    alike = similarity.cosines(
        "learning", content, [row.id for row in learning_rows.find(project_dir, state="all")]
    )
    with facts.transaction():
        return _Taking(candidate, content, session_id, project_dir, at or inbox.utc_now()).into(
            learning_rows.find(project_dir, state="all"), alike
        )


def stands_out(learning_id: str, alike: Mapping[str, float]) -> bool:
    """Tell whether a learning's cosine is at least 0.15 above the mean of the others in `alike`."""
    others = [cosine for each, cosine in alike.items() if each != learning_id]
    return not others or alike[learning_id] >= sum(others) / len(others) + _STANDS_OUT


def check_code(project_dir: str, session_id: str = "") -> int:
    """Mark learnings as stale whose code has changed, with the reason; unmark those whose code is back.

    Learnings follow a file that was moved unchanged. Returns the number of changed marks.
    """
    with facts.transaction():
        marked, now = 0, anchors.Code(project_dir)
        for row in learning_rows.with_other_code(project_dir):
            known = anchors.anchors_of(row)
            there = now.moved(known)
            if there != known:
                learning_rows.update(row, code=anchors.as_json(there))
            stale = now.why_stale(there)
            if stale != row.stale:
                change(row, "stale" if stale else "fresh", session_id, stale=stale)
                marked += 1
    return marked


def fade(project_dir: str, session_id: str, *, since: str, step: float) -> int:
    """Lower the confidence of learnings not seen since a time by `step`; return the number of them."""
    with facts.transaction():
        rows = learning_rows.unseen(project_dir, since=since, floor=FLOOR)
        for row in rows:
            change(row, "faded", session_id, confidence=max(FLOOR, round(row.confidence - step, 4)))
    return len(rows)


def change(row: Learning, event: str, session_id: str = "", *, is_new: bool = False, **fields: Any) -> None:
    """Change a learning and record that in `event_log`, with its confidence before and after."""
    before = row.confidence
    if row.guard and (fields.get("superseded_by") or fields.get("is_active") is False):
        fields["guard"] = ""  # a guard ends with its rule
    if fields:
        learning_rows.update(row, **fields)
    data = {"id": row.id, "confidence": row.confidence} | ({} if is_new else {"before": before})
    told = ("superseded_by", "stale", "quarantine")
    data |= {name: fields[name] for name in told if fields.get(name)}
    queries.log_event(f"{learning_rows.EVENTS}{event}", data, session_id=session_id or None)


@dataclass(frozen=True, slots=True)
class _Taking:
    """A candidate being taken in; `content` is its text as it will be stored."""

    candidate: Candidate
    content: str
    session_id: str
    project_dir: str
    at: str

    def into(  # noqa: PLR0911  (each is a way that a candidate can go)
        self, rows: Sequence[Learning], alike: dict[str, float]
    ) -> Outcome:
        threshold = settings.load().dedup_threshold
        relations: dict[str, str] = {
            row.id: relation(row.content, self.content, alike.get(row.id, 0.0), threshold) for row in rows
        }
        if relations.get(self.candidate.contradicts) in {"other", "near", "again", "rivals"}:
            relations[self.candidate.contradicts] = "replaces"
        current = [row for row in rows if row.is_active and not row.superseded_by]
        contradicted = [row for row in current if relations[row.id] == "replaces"]
        rivals = [row for row in current if relations[row.id] == "rivals"]
        # An older session may be processed later, if it was imported or waited for Claude.
        newer = [row.id for row in contradicted if row.created_at > self.at]
        newer += [
            row.id for row in rivals
            if row.created_at > self.at and relation(self.content, row.content) == "replaces"
        ]  # fmt: skip
        if newer:
            return _skipped(self.session_id, "something newer says otherwise", newer[0])
        same = self._same(rows, relations, alike)
        if same is not None and same.superseded_by and self.candidate.origin != "user":
            # Repeating a superseded rule is no news; only an explicit contradiction replaces its successor.
            contradicted = [row for row in contradicted if row.id == self.candidate.contradicts]
        reasons = suspicions(self.content, origin=self.candidate.origin)
        otherwise = contradicted if self.candidate.origin == "user" else [*contradicted, *rivals]
        chosen = [row for row in otherwise if row.is_manual or row.project_dir is None]
        reasons += [f"contradicts {row.id[:8]}, which the user has chosen" for row in chosen]
        if same is not None and not (same.is_active or same.quarantine or same.superseded_by):
            return _skipped(self.session_id, "the user has removed it", same.id)
        if same is not None and reasons and relations[same.id] == "same" and self._is_told(same):
            return self._join(same, [])  # sessions are shown these very words already, so any origin will do
        if same is not None and reasons and not same.quarantine:
            return _skipped(self.session_id, "; ".join(reasons), same.id)
        if same is not None and same.quarantine and not reasons and self.candidate.origin == "user":
            change(same, "released", self.session_id, is_active=True, quarantine=[])
        if same is not None:
            self._ask(rivals, same, alike)
            return self._join(same, contradicted if same.is_active else [])
        if reasons:
            return self._insert("quarantined", is_active=False, quarantine=reasons)
        # The successor of a rule is a rule itself, in whatever form it was said.
        outcome = self._insert("inserted", at_least=INITIAL if contradicted else 0.0)
        self._replace(contradicted, outcome.learning_id)
        row = learning_rows.get(outcome.learning_id)
        self._ask(rivals, row, alike)
        self._ask_nearest(current, row, relations, alike)
        return Outcome("contradicted", outcome.learning_id) if contradicted else outcome

    def _same(
        self, rows: Sequence[Learning], relations: Mapping[str, str], alike: dict[str, float]
    ) -> Learning | None:
        """Return the learning that says the same: the one that `confirms` names, else the most similar."""
        confirmed = [
            row
            for row in rows
            if self._is_about(row, self.candidate.confirms)
            and relations[row.id] not in {"replaces", "rivals"}
            and not row.quarantine
        ]
        same = confirmed or [row for row in rows if relations[row.id] == "same"]
        return max(same, key=lambda row: (row.is_active, alike.get(row.id, 0.0)), default=None)

    def _is_told(self, row: Learning) -> bool:
        """Tell whether sessions are shown a learning, and the text would not be suspicious from the user."""
        is_told = row.is_active and not row.superseded_by and row.confidence >= TOLD
        return is_told and not suspicions(self.content, origin="user")

    def _is_about(self, row: Learning, learning_id: str) -> bool:
        """Tell whether a learning has the given id and shares a term with the text."""
        return row.id == learning_id and bool(set(terms(row.content)) & set(terms(self.content)))

    def _join(self, row: Learning, contradicted: Sequence[Learning]) -> Outcome:
        """Count the session for an existing learning; replace the learnings that the text contradicts."""
        if row.is_manual:
            return Outcome("known", row.id)
        is_counted = self.session_id in row.source_sessions
        fields, before = self._evidence(row), row.confidence
        if not is_counted and row.is_active:
            fields["confidence"] = boosted(before)
        if is_counted or self.candidate.origin == "user":  # at least that of a new learning
            fields["confidence"] = max(self.candidate.starts_at, fields.get("confidence", before))
        if any(each.id == row.superseded_by for each in contradicted):
            fields |= {"superseded_by": None, "confidence": max(INITIAL, boosted(before))}
        if row.stale:
            fields["stale"] = ""
        elif is_counted and "superseded_by" not in fields and fields["confidence"] == before:
            learning_rows.update(row, **fields)
            return Outcome("known", row.id)
        change(row, "merged", self.session_id, **fields)
        if before < TOLD <= row.confidence or "superseded_by" in fields:
            change(row, "revived", self.session_id)
        self._replace(contradicted, row.id)
        return Outcome("contradicted" if contradicted else "merged", row.id)

    def _insert(self, event: Action, *, at_least: float = 0.0, **fields: Any) -> Outcome:
        code = anchors.speaks_of(
            self.project_dir, self.content, about=self.candidate.about, near=self.candidate.files
        )
        row = learning_rows.insert(
            project_dir=self.project_dir,
            category=self.candidate.category,
            content=self.content,
            confidence=max(at_least, self.candidate.starts_at),
            source_sessions=[self.session_id],
            observations=list(self.candidate.observations),
            code=anchors.as_json(code),
            created_at=self.at,
            updated_at=self.at,
            seen_at=self.at,
            **fields,
        )
        change(row, event, self.session_id, is_new=True, **fields)
        if not fields:
            _note_kin(row, self.session_id)
        return Outcome(event, row.id, "; ".join(fields.get("quarantine", ())))

    def _replace(self, contradicted: Sequence[Learning], learning_id: str) -> None:
        for row in contradicted:
            change(
                row,
                "contradicted",
                self.session_id,
                confidence=penalized(row.confidence),
                superseded_by=learning_id,
            )

    def _ask(
        self, others: Sequence[Learning], row: Learning, alike: dict[str, float], *, is_again: bool = False
    ) -> None:
        """Record questions to the user about learnings that may differ or say the same; both stay."""
        for other in others:
            if other.id != row.id:
                cosine = alike.get(other.id, 0.0)
                learning_rows.ask(row, other, cosine=cosine, is_again=is_again, session_id=self.session_id)

    def _ask_nearest(
        self, rows: Sequence[Learning], row: Learning, relations: Mapping[str, str], alike: dict[str, float]
    ) -> None:
        """Ask about the learning nearest in meaning to the user's words, if it is on the same matter."""
        near = [
            each for each in rows
            if relations[each.id] in {"near", "again"}
            and self.session_id not in each.source_sessions
            and stands_out(each.id, alike)
        ]  # fmt: skip
        if near and self.candidate.origin == "user":
            nearest = max(near, key=lambda each: alike[each.id])
            self._ask([nearest], row, alike, is_again=relations[nearest.id] == "again")

    def _evidence(self, row: Learning) -> dict[str, Any]:
        """Return the columns that count one more session for a learning, with its code as it is now."""
        code = anchors.speaks_of(
            row.project_dir, row.content, about=self.candidate.about, near=self.candidate.files
        )
        is_counted = self.session_id in row.source_sessions
        return {
            "source_sessions": _with(row.source_sessions, [self.session_id]),
            "observations": _with(row.observations, self.candidate.observations),
            "times_seen": row.times_seen + (not is_counted),
            "code": anchors.as_json(code) if code or row.stale else row.code,
            "updated_at": max(row.updated_at, self.at) if not is_counted else row.updated_at,
            "seen_at": max(row.seen_at, self.at),
        }


def _with(old: Sequence[str], new: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*old, *new]))[-_MOST_SOURCES:]


def _skipped(session_id: str, reason: str, learning_id: str = "") -> Outcome:
    data = {"reason": reason} | ({"id": learning_id} if learning_id else {})
    queries.log_event(f"{learning_rows.EVENTS}skipped", data, session_id=session_id)
    return Outcome("skipped", learning_id, reason)


def _note_kin(row: Learning, session_id: str) -> None:
    """Link a new learning with those of other projects that say the same, and these with one another."""
    if row.project_dir is None:
        return
    match = " OR ".join('"{}"'.format(term.replace('"', '""')) for term in terms(row.content)[:_KIN_TERMS])
    found = full_text.by_text("learning", match, full_text.Scope(), limit=_MOST_KIN) if match else []
    others = learning_rows.elsewhere([each.id for each in found], row.project_dir)
    others = [each for each in others if each.id != row.id and relation(each.content, row.content) == "same"]
    family = [row, *others]
    for each in family:
        kin = [other.id for other in family if other.project_dir != each.project_dir]
        learning_rows.update(each, kin=list(dict.fromkeys([*each.kin, *kin])))
    projects = {each.project_dir for each in family}
    if len(projects) >= learning_rows.PROPOSING:
        data = {"id": row.id, "projects": len(projects)}
        queries.log_event(f"{learning_rows.EVENTS}proposed", data, session_id=session_id or None)
