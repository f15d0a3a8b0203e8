"""Recall the rows that answer a user's prompt, best first and within a budget, or nothing.

`search` finds and ranks rows, `prompts` extracts the query, `excerpt` chooses the sentences of a row.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from claude_mem_lite.context import shared
from claude_mem_lite.context.budget import LeftOut, Line, Section, added, vet
from claude_mem_lite.context.excerpt import excerpt, lemmas, reported
from claude_mem_lite.context.gate import asks, certainty, has_question_mark
from claude_mem_lite.context.past import USERS, Past, asked_in
from claude_mem_lite.context.prompts import question
from claude_mem_lite.context.superseded import Superseded
from claude_mem_lite.context.text import entry, harmless
from claude_mem_lite.distill.retired import code_names
from claude_mem_lite.distill.rules.conversation import report_of
from claude_mem_lite.distill.statements import mark, statements
from claude_mem_lite.quoting import named, quoted
from claude_mem_lite.search import ranking, times
from claude_mem_lite.search.words import function_words, words
from claude_mem_lite.storage import search as search_rows
from claude_mem_lite.storage.context import RECALL, began
from claude_mem_lite.storage.search import Scope
from claude_mem_lite.text import SIGNS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from claude_mem_lite.context.budget import Said
    from claude_mem_lite.search.candidates import Profile, Query
    from claude_mem_lite.search.hybrid import Searcher
    from claude_mem_lite.search.results import Found, Hit
    from claude_mem_lite.storage.search import Row

TITLE = "Remembered, for this prompt"
# Most hits that are considered for lines.
ROWS = 24
# Candidates per kind of search, and hits: more do not improve the few lines that are shown. All are examined,
# as earlier prompts that ask much the same could otherwise crowd out the answers.
DEPTH, HITS = 30, 60
# Best rows that decide which branch a prompt is about.
BEST = 5
# Lines are written until they fill this multiple of the budget, since some repeat others.
ENOUGH = 1.2
# How many of the best hits get long lines, the length of these, and that of the others.
WIDE_LINES, LINE_CHARS, SHORT_CHARS = 3, 350, 180
FUNCTIONS, FUNCTIONS_AT = 2, 2
# The assistant's final message of a turn, and the summary of a compacted conversation.
REPORTS = frozenset({"Stop", "PostCompact"})

# Least certainty with which something is recalled.
THRESHOLD = 0.6
# Once something was recalled in the session, a question needs this much less certainty.
_LATER_QUESTION = 0.15
# A row that scores less than this share of the best is left out, except in the first recall of a session,
# which may fill its budget.
FAR_BEHIND = {"hybrid": 0.75, "fts": 0.6}
_FILLED = 300  # tokens; a smaller block has no room for rows far behind
# A newer row precedes an older one if it has this share of its evidence, and this share of its score.
SAME_THING, NEARLY = 0.7, 0.75
# Output of commands describes a past state: after this many sessions only a search shows it.
OUTPUT_SESSIONS = 10
# Observations of messages. All others are tool calls: they may answer a question, but hardly help a task.
_WORDS = REPORTS | USERS | {"ExitPlanMode"}
_A_ROW = 0.5  # a word with fewer rows, as estimated from a sample, is in none
_BARE_CHARS = 100  # a shorter report may state nothing: "Done."
# A shorter prompt says little without its answer; a sign of scripts without spaces counts as two letters.
_FEW_CHARS, _SIGN = 60, re.compile(f"[{SIGNS}]")
# A row repeats the prompt if the prompt has this share of its words; and the characters of it compared.
ECHO, _ECHO_CHARS = 0.85, 2_000

_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
# Marks a word as a code name: get_user, Entry.post, camelCase.
_INNER = re.compile(r"_|\.|[a-z][A-Z]")
_NOTHING = Line("", "observation", "", 0, "")


def recall(  # noqa: PLR0913  (who asks, what for, and what the answer has to keep to)
    searcher: Searcher,
    project_dir: str,
    prompt: str,
    *,
    said: Said,
    budget_tokens: int,
    now: float,
    until: float | None = None,
    is_first: bool = True,
) -> Section:
    """Return what a project's memory has on a prompt; no lines if it has nothing.

    The arguments are those of `ask` and `answer`.
    """
    asked = ask(searcher, project_dir, prompt, now=now, until=until, is_first=is_first)
    return answer(asked, said=said, budget_tokens=budget_tokens)


def answer(
    asked: Asked | None, *, said: Said, budget_tokens: int, branch: str = "", known: Collection[str] = ()
) -> Section:
    """Return a section with the results for a prompt that are worth showing and fit the budget.

    `said` is what the session has in its context already; the new lines are added to it. `branch` is the
    session's branch, `known` are marks of statements shown before.
    """
    section = Section(RECALL, TITLE)
    if asked is None:
        return section
    rows = [hit.row for hit in asked.found.hits]
    texts = (f"{row.title}\n{row.summary}\n{row.detail}" for row in rows)
    gone = Superseded(asked.project_dir, texts, branch=branch)
    # Outdated lines come last, with a note on the replacement, unless the prompt asks for the outdated name.
    judged = [
        (line, objection, gone(line.says, at))
        for line, objection, at in _observed(asked, said, budget_tokens, known)
    ]
    wanted = code_names(asked.text)
    judged.sort(key=lambda each: bool(each[2]) and not any(name in each[2] for name in wanted))
    offers = [(added(line, note), objection) for line, objection, note in judged]
    offers[FUNCTIONS_AT:FUNCTIONS_AT] = [
        (_function_line(row, now=asked.now), "")
        for row in _named(asked, is_silent=all(objection for _, objection, _ in judged))
    ]
    offers += [(line, "") for line in shared.answering(Past(asked.project_dir, asked.now), asked.text)]
    left = budget_tokens - Section(RECALL, TITLE, [_NOTHING]).tokens
    for line, objection in offers:
        why = objection or said.why(line) or ("no room" if line.tokens > left else "")
        if why:
            section.left_out.append(LeftOut(line, why))
            continue
        if (told := vet(line, section)) is not None:
            section.lines.append(told)
            said.add(told)
            left -= told.tokens
    return section


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt and its search results: `weights` are the idf of its lemmas, `certain` is the gate's result.

    `echoes` are ids of rows that repeat the prompt: they match best, but do not show that memory has an
    answer. `is_first` says that nothing was recalled in the session before, `is_question` that the prompt is
    a question. `now` is in Unix seconds; output of commands before `aged_at` (UTC text) is too old.
    """

    text: str
    project_dir: str
    now: float
    query: Query
    weights: Mapping[str, float]
    found: Found
    echoes: frozenset[str]
    certain: float
    is_first: bool
    is_question: bool
    aged_at: str

    @property
    def silence(self) -> str:
        """Why nothing is recalled, "" if the prompt is certain enough."""
        least = THRESHOLD - (_LATER_QUESTION if self.is_question and not self.is_first else 0.0)
        return f"certainty {self.certain:.2f} is below {least:.2f}" if self.certain < least else ""

    @property
    def sessions(self) -> list[str]:
        """The sessions of the five best rows, one per row; none if nothing is recalled."""
        rows = [hit.row for hit in self.found.hits if hit.row.id not in self.echoes]
        return [] if self.silence else [row.session_id for row in rows[:BEST]]

    def has(self, row: Row) -> set[str]:
        """Return the lemmas of the prompt that a row has."""
        told = f"{row.title}\n{row.summary}\n{row.detail[: ranking.DETAIL_CHARACTERS]}"
        return set(lemmas(told)) & self.weights.keys()

    def weight(self, names: set[str]) -> float:
        """Return the evidence of some lemmas in nats."""
        return sum(self.weights[name] for name in sorted(names))


def ask(  # noqa: PLR0913  (as above)
    searcher: Searcher,
    project_dir: str,
    prompt: str,
    *,
    now: float,
    until: float | None = None,
    is_first: bool = True,
) -> Asked | None:
    """Search a project's memory for what a prompt asks; None if it asks nothing.

    `now` is Unix seconds. Vectors are used if they are ready by `until` (monotonic). `is_first` says that
    nothing was recalled in the session before.
    """
    text = question(prompt)
    if not text or not project_dir:
        return None
    clock = time.monotonic()
    scope = Scope(project_dir=project_dir)
    found = searcher.search(
        text, type="all", scope=scope, limit=HITS, depth=DEPTH, now=clock, at=now, until=until
    )
    profile = searcher.profile("observation", project_dir, now=clock)
    query = ranking.focused(ranking.analyze(text, now=times.local(now)), profile)
    weights = evidence(query, profile)
    typed = set(words(prompt[:_ECHO_CHARS]))
    echoes = frozenset(hit.row.id for hit in found.hits if _is_echo(hit.row, typed))
    others = replace(found, hits=[hit for hit in found.hits if hit.row.id not in echoes])
    certain = certainty(
        prompt,
        others,
        evidence=sum(weights.values()),
        unknown=unknown(weights, profile),
        row_count=profile.row_count,
        is_first=is_first,
    )
    answers = replace(found, hits=_with_reports(found.hits)[:ROWS])
    return Asked(
        text=text,
        project_dir=project_dir,
        now=now,
        query=query,
        weights=weights,
        found=answers,
        echoes=echoes,
        certain=certain,
        is_first=is_first,
        is_question=asks(text),
        aged_at=began(project_dir, sessions_ago=OUTPUT_SESSIONS),
    )


def _with_reports(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, with each earlier question replaced by the report of its turn, or left out."""
    asking = {
        hit.row.id
        for hit in hits
        if hit.row.tool_name == "UserPromptSubmit" and hit.why and has_question_mark(_told_of(hit.row))
    }
    reports = search_rows.reports_on(asking) if asking else {}
    found: dict[str, Hit] = {}
    for hit in hits:
        row = reports.get(hit.row.id, hit.row)
        if row.id not in asking:
            found.setdefault(row.id, replace(hit, row=row))
    return list(found.values())


def _told_of(row: Row) -> str:
    return f"{row.title} {row.summary}"


def _is_echo(row: Row, typed: set[str]) -> bool:
    told = set(words(_told_of(row)))
    return len(told & typed) >= ECHO * len(told)


def evidence(query: Query, profile: Profile) -> dict[str, float]:
    """Return the idf of a query's lemmas in nats."""
    names = (term.lemma for term in query.terms)
    return {name: ranking.idf(profile.row_count, profile.rows_with(name)) for name in names}


def unknown(weights: Mapping[str, float], profile: Profile) -> float:
    """Return the share of the lemmas' evidence (0 to 1) that is in lemmas that no row has."""
    missing = sum(weight for name, weight in weights.items() if profile.rows_with(name) < _A_ROW)
    return missing / max(1e-9, sum(weights.values()))


def _observed(
    asked: Asked, said: Said, budget_tokens: int, known: Collection[str]
) -> Iterator[tuple[Line, str, str]]:
    """Yield the line of each hit with the reason to leave it out, "" for none, and with its time."""
    hits = _newer_first(asked)
    answers = [(hit, has) for hit, has in hits if hit.row.id not in asked.echoes]
    best = max((hit.score for hit, _ in answers), default=0.0)
    is_filled = asked.is_first and budget_tokens >= _FILLED
    told, tokens = 0, 0
    for hit, has in hits:
        objection = _why_not(hit, asked, 0.0 if is_filled else best, known)
        if not objection and tokens > ENOUGH * budget_tokens:
            objection = "no room"
        chars = 0 if objection else LINE_CHARS if told < WIDE_LINES else SHORT_CHARS
        line = _line(hit, has, asked, chars=chars, known=known)
        yield line, objection, hit.row.created_at
        told += not objection
        tokens += 0 if objection or said.has(line.id) else line.tokens


def _newer_first(asked: Asked) -> list[tuple[Hit, set[str]]]:
    """Return the hits with their lemmas of the prompt; of two that match about equally the newer comes first.

    Prompts are not moved before older rows: a question supersedes nothing.
    """
    placed: list[tuple[Hit, set[str]]] = []
    for hit in asked.found.hits:
        has = asked.has(hit.row)
        place = len(placed)
        if hit.row.tool_name != "UserPromptSubmit":
            older = (
                at
                for at, (other, its) in enumerate(placed)
                if other.row.created_at < hit.row.created_at
                and hit.score >= NEARLY * other.score
                and asked.weight(has & its) >= SAME_THING * asked.weight(its)
            )
            place = next(older, place)
        placed.insert(place, (hit, has))
    return placed


def _why_not(hit: Hit, asked: Asked, best: float, known: Collection[str]) -> str:
    if hit.row.id in asked.echoes:
        return "the prompt says the same"
    if objection := asked.silence or _why_no_answer(hit, asked):
        return objection
    if hit.row.tool_name in REPORTS:
        report = report_of(hit.row.tool_name, hit.row.summary, hit.row.detail)
        stated = statements(report) if known or len(report) < _BARE_CHARS else ()
        if len(report) < _BARE_CHARS and not stated:
            return "states nothing"
        if stated and all(mark(each.text) in known for each in stated):
            return "shown before"
    if hit.why and hit.score < FAR_BEHIND[asked.found.search_type] * best:
        return f"scores {hit.score:.1f}, the best {best:.1f}"
    return ""


def _why_no_answer(hit: Hit, asked: Asked) -> str:
    row = hit.row
    if row.tool_name == "Bash" and row.created_at < asked.aged_at:
        return f"command output from {OUTPUT_SESSIONS} or more sessions ago"
    if hit.why and row.is_candidate:
        return "a candidate, not a rule"
    if not hit.why or asked.is_question:
        return ""
    if row.tool_name == "UserPromptSubmit":
        is_brief = len(row.summary) + len(_SIGN.findall(row.summary)) < _FEW_CHARS
        return "few words, and the prompt asks nothing" if is_brief else ""
    is_call = row.kind == "observation" and row.tool_name not in _WORDS
    return "a tool call, and the prompt asks nothing" if is_call else ""


def _line(hit: Hit, has: set[str], asked: Asked, *, chars: int, known: Collection[str]) -> Line:
    """Return the line of a hit in `chars` characters; with 0 only its title."""
    row = hit.row
    if chars and row.tool_name in REPORTS:
        report = report_of(row.tool_name, row.summary, row.detail)
        says = reported(row.title, report, asked.weights, chars=chars, known=known)
    elif chars:
        summary, detail = row.summary, row.detail
        if row.kind == "session":  # the detail of a session is its decisions, not captured output
            summary, detail = f"{summary}\n{detail}", ""
        elif row.tool_name == "UserPromptSubmit":
            summary = asked_in(summary)
        says = excerpt(row.title, summary, detail, asked.weights, chars=chars)
    else:
        says = harmless(row.title or row.summary, chars=SHORT_CHARS)
    found = [term.words[0] for term in asked.query.terms if term.lemma in has]
    cosine = hit.why.cosine if hit.why else None
    reasons = [
        f"has {', '.join(found)}" if found else "",
        f"cosine {cosine:.2f}" if cosine is not None else "",
        f"matches {', '.join(hit.why.times_found)}" if hit.why and hit.why.times_found else "",
        f"certainty {asked.certain:.2f}" if hit.why else "the prompt is its id",
    ]
    return Line(
        row.id,
        row.kind,
        entry(row.id, row.created_at, says, now=asked.now),
        hit.score,
        says,
        "; ".join(filter(None, reasons)),
        is_users=row.tool_name in USERS,
    )


def _named(asked: Asked, *, is_silent: bool) -> Sequence[Row]:
    """Return the functions that a prompt names; a plain word counts only if another line is shown."""
    names = dict.fromkeys(_NAME.findall(asked.text))
    wanted = {name for name in names if _INNER.search(name) or not is_silent}
    wanted = {name for name in wanted if name.lower() not in function_words()}
    if not wanted:
        return []
    match = " OR ".join(f'"{name}"' for name in names if name in wanted)
    rows = search_rows.by_text("function", match, Scope(project_dir=asked.project_dir), limit=20)
    return [row for row in rows if {row.title, row.title.rpartition(".")[2]} & wanted][:FUNCTIONS]


def _function_line(row: Row, *, now: float) -> Line:
    parts = [named(row.files[0]), row.summary, quoted(row.detail)]
    says = harmless(": ".join(filter(None, parts)), chars=SHORT_CHARS)
    reason = f"the prompt names {row.title}"
    return Line(row.id, "function", entry(row.id, row.created_at, says, now=now), 0.0, says, reason)
