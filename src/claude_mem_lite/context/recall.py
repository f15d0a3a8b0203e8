"""What memory has on a user's prompt, if it has anything: the rows that answer, best first, within a budget.

Finding and ranking is `search`'s business, which sentences of a row are told is `excerpt`'s.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from math import exp, log, log1p
from typing import TYPE_CHECKING

from claude_mem_lite.context.budget import LeftOut, Line, Section
from claude_mem_lite.context.excerpt import excerpt, lemmas
from claude_mem_lite.context.text import ID_CHARS, ago, harmless
from claude_mem_lite.search import ranking
from claude_mem_lite.search.words import STOP_WORDS, words
from claude_mem_lite.storage import search as storage
from claude_mem_lite.storage.search import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from claude_mem_lite.context.budget import Said
    from claude_mem_lite.search.hybrid import Searcher
    from claude_mem_lite.search.ranking import Profile, Query
    from claude_mem_lite.search.results import Found, Hit
    from claude_mem_lite.storage.search import Row

NAME, TITLE = "recall", "Remembered, for this prompt"
# What 600 tokens hold is half of it; the rest stands in for what was shown before.
ROWS = 12
LINE_CHARS = 350
MAX_FUNCTIONS = 2

# Logistic regression on `features`: the intercept and a weight for each, of searches by both legs and by words
# alone. Source: benchmarks/recall_gate.py on a code history and on conversations, neither of them ours.
GATES: Mapping[str, tuple[float, ...]] = {
    "hybrid": (-10.3, 8.0, 0.8, 1.3, 1.5, 9.5),
    "fts": (-6.0, 14.0, 2.0, 0.7, 1.5),
}
# A prompt that memory has something on with less certainty recalls nothing.
THRESHOLD = 0.5
# The best hit alone is now and then a wrong one.
GATE_HITS = 5
# A row that scores less than this share of the best says little of what the prompt asks for.
FAR_BEHIND = 0.35
# Of two rows that have this share of the same evidence, the newer is told first if it scores this share.
SAME_THING, NEARLY = 0.6, 0.75
# A row of which the prompt has this share of the words is the prompt.
_ECHO = 0.85

# A longer prompt is mostly something pasted: where a paragraph begins and how it ends says what it is.
_LONG, _HEAD, _TAIL, _MOST = 400, 300, 200, 1_000
_TAGGED = re.compile(r"<(system-reminder|task-notification|local-command-\w+)>.*?(?:</\1>|\Z)", re.DOTALL)
_COMMAND = re.compile(r"\A\s*/[\w:-]+(?=\s|\Z)")
# What is said to go on, beside the stop words: a prompt of nothing else asks for nothing.
_CHATTER = frozenset(
    """again agreed ahead all alright also awesome cool continue correct done exactly fast fine fix go good great
    hello help hey hi hm hmm just k keep kindly let lets like look looks make maybe more n next nice no nope not
    now ok okay one perfect please proceed retry right run s same see so sorry sounds start stop sure t thank
    thanks too try undo up very wait way well works wow y yeah yep yes""".split()  # noqa: SIM905  (reads as words)
)
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_INNER = re.compile(r"_|\.|[a-z][A-Z]")
_NOTHING = Line("", "observation", "", 0, "")


def recall(
    searcher: Searcher,
    project_dir: str,
    prompt: str,
    *,
    said: Said,
    budget_tokens: int,
    now: float,
    own_session: str = "",
) -> Section:
    """Return what a project's memory has on a prompt; without lines when it has nothing.

    `now` is Unix seconds. `said` is what the session was shown, and hears of what it is shown now; the rows
    of `own_session`, the one that asks, are left out, since the model has them.
    """
    section = Section(NAME, TITLE)
    text = question(prompt)
    if not text or not project_dir:
        return section
    asked = _ask(searcher, text, project_dir)
    hits = _newer_first(asked.found.hits, asked.weights)
    best = max((hit.score for hit in hits), default=0.0)
    offers = [(_line(hit, asked, now=now), _why_not(hit, asked, best, own_session)) for hit in hits]
    offers = [*((_function_line(row, now=now), "") for row in _functions(asked, project_dir)), *offers]
    left = budget_tokens - Section(NAME, TITLE, [_NOTHING]).tokens
    for line, objection in offers:
        why = objection or said.why(line) or ("no room" if line.tokens > left else "")
        if why:
            section.left_out.append(LeftOut(line, why))
            continue
        section.lines.append(line)
        said.add(line)
        left -= line.tokens
    return section


def question(prompt: str) -> str:
    """Return what of a prompt to search for, "" when it asks for nothing that memory could know."""
    text = _COMMAND.sub(" ", _TAGGED.sub(" ", prompt)).strip()
    if all(word in STOP_WORDS or word in _CHATTER or word.isdigit() for word in words(text[:_LONG])):
        return ""
    if len(text) <= _LONG:
        return text
    first, *others = re.split(r"\n\s*\n|^```.*$", text, flags=re.MULTILINE)
    return "\n".join([first[:_HEAD], *(other.strip()[-_TAIL:] for other in others)])[:_MOST]


def features(found: Found, query: Query) -> tuple[float, ...]:
    """Return what the gate judges by: the best that any of the best hits has in each respect.

    Share of the query's evidence; nats of its words in their order; whether a name stands there in full; the
    number of terms; and, of a search by both legs, the nats of the cosine.
    """
    best = [hit.why for hit in found.hits[:GATE_HITS] if hit.why]
    if not best:
        return ()
    told = (
        max(each.coverage for each in best),
        log1p(max(each.order for each in best)),
        float(any(each.exact_found for each in best)),
        log(max(1, len(query.terms))),
    )
    return (*told, max(each.meaning for each in best) / 10) if found.search_type == "hybrid" else told


def certainty(found: Found, query: Query) -> float:
    """Return how likely memory has something on a query (0 to 1), 1 if the query is the id of a row."""
    if any(hit.why is None for hit in found.hits):
        return 1.0
    judged = features(found, query)
    if not judged:
        return 0.0
    base, *weights = GATES[found.search_type]
    points = base + sum(weight * value for weight, value in zip(weights, judged, strict=True))
    return 1 / (1 + exp(-points))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A prompt and what was found: `weights` are the idf of its lemmas, `certain` is the gate's judgement."""

    text: str
    query: Query
    weights: Mapping[str, float]
    found: Found
    certain: float


def _ask(searcher: Searcher, text: str, project_dir: str) -> _Asked:
    clock = time.monotonic()
    found = searcher.search(text, type="all", scope=Scope(project_dir=project_dir), limit=ROWS, now=clock)
    query = ranking.analyze(text)
    profile = searcher.profile("observation", project_dir, now=clock)
    weights = {term.lemma: _idf(profile, term.lemma) for term in query.terms}
    return _Asked(text, query, weights, found, certainty(found, query))


def _idf(profile: Profile, name: str) -> float:
    return log(1 + profile.row_count / (profile.rows_with(name) + 0.5))


def _newer_first(hits: Sequence[Hit], weights: Mapping[str, float]) -> list[Hit]:
    """Return the hits with what is newer before what is older, of those that match nearly alike."""
    placed: list[tuple[Hit, set[str]]] = []
    for hit in hits:
        has = _matched(hit.row, weights)
        at = next(
            (at for at, (other, its) in enumerate(placed) if _is_old(other, its, hit, has, weights)), None
        )
        placed.insert(len(placed) if at is None else at, (hit, has))
    return [hit for hit, _ in placed]


def _is_old(other: Hit, its: set[str], hit: Hit, has: set[str], weights: Mapping[str, float]) -> bool:
    """Tell whether a hit is about what an older, hardly better one is about."""
    both, any_of = (sum(weights[name] for name in names) for names in (has & its, has | its))
    return (
        other.row.created_at < hit.row.created_at
        and hit.score >= NEARLY * other.score
        and both >= SAME_THING * any_of
    )


def _matched(row: Row, weights: Mapping[str, float]) -> set[str]:
    return (
        set(lemmas(f"{row.title}\n{row.summary}\n{row.detail[: ranking.DETAIL_CHARACTERS]}")) & weights.keys()
    )


def _why_not(hit: Hit, asked: _Asked, best: float, own_session: str) -> str:
    row = hit.row
    if asked.certain < THRESHOLD:
        return f"certainty {asked.certain:.2f} is below {THRESHOLD}"
    if own_session and row.session_id == own_session:
        return "this session's own"
    told = set(words(f"{row.title} {row.summary}"))
    if len(told & set(words(asked.text))) >= _ECHO * len(told):
        return "the prompt says it"
    if hit.why and hit.score < FAR_BEHIND * best:
        return f"scores {hit.score:.1f}, the best {best:.1f}"
    return ""


def _line(hit: Hit, asked: _Asked, *, now: float) -> Line:
    row = hit.row
    says = excerpt(row.title, row.summary, row.detail, asked.weights, chars=LINE_CHARS)
    reason = "its id"
    if hit.why:
        has = _matched(row, asked.weights)
        found = [term.words[0] for term in asked.query.terms if term.lemma in has]
        parts = [
            f"has {', '.join(found)}" if found else "",
            f"cosine {hit.why.cosine:.2f}" if hit.why.cosine is not None else "",
            f"certainty {asked.certain:.2f}",
        ]
        reason = "; ".join(filter(None, parts))
    kind = "observation" if row.kind == "function" else row.kind
    return Line(
        row.id, kind, f"[{ago(row.created_at, now=now)}] {row.id[:ID_CHARS]} {says}", hit.score, says, reason
    )


def _functions(asked: _Asked, project_dir: str) -> list[Row]:
    """Return the functions that a prompt names; a name that may be a plain word only beside other finds."""
    names = dict.fromkeys(_NAME.findall(asked.text))
    sure = [name for name in names if _INNER.search(name)]
    plain = [name for name in names if asked.certain >= THRESHOLD and name not in sure]
    wanted = [name for name in (*sure, *plain) if name.lower() not in STOP_WORDS]
    if not wanted:
        return []
    match = " OR ".join('"{}"'.format(name.replace('"', "")) for name in wanted)
    rows = storage.by_text("function", match, Scope(project_dir=project_dir), limit=20)
    named = [row for row in rows if {row.title, row.title.rpartition(".")[2]} & set(wanted)]
    return named[:MAX_FUNCTIONS]


def _function_line(row: Row, *, now: float) -> Line:
    says = harmless(
        f"{row.files[0]}: {row.summary}" + (f": {row.detail}" if row.detail else ""), chars=LINE_CHARS
    )
    text = f"[{ago(row.created_at, now=now)}] {row.id[:ID_CHARS]} {says}"
    return Line(row.id, "function", text, 0.0, says, f"the prompt names {row.title}", stands_for=(row.title,))
