"""Play a recorded history into a memory, then count the questions that it answers.

    DIR/*.jsonl          the hook events of Claude Code, one per line, as they came; the files in the order of
                         their names. A line may also be {"event": …, "env": {"CLAUDE_PROJECT_DIR": …}}
    DIR/questions.json   [{"question": …, "answer_contains": [text, …], "must_not_contain": [text, …]}, …]
                         or such lists under names in an object

A question counts as answered if recall, or one of the first five hits of search, has every text of
`answer_contains`; a text of `must_not_contain` makes the answer false. Case does not matter.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.context import blocks
from claude_mem_lite.distill.record import record_event, summarize_session
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.evals.own_files import lines_of, read, strings
from claude_mem_lite.evals.temporary import searcher, temporary_memory
from claude_mem_lite.learnings import evolve, session
from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.redaction.vocabulary import IGNORED_FILES
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.services import install
from claude_mem_lite.storage import queries
from claude_mem_lite.storage.search import Scope

HITS = 5
_QUESTIONS = "questions.json"
_ENDS = frozenset({"PreCompact", "SessionEnd"})


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the texts that its answer contains, and those that no answer may contain."""

    text: str
    answer_contains: tuple[str, ...]
    must_not_contain: tuple[str, ...]


def evaluate(folder: str, advance: Callable[[str, int, int], object] = lambda *_: None) -> dict[str, Any]:
    """Play a history into a temporary memory, ask it the questions, and return the figures.

    `advance` is called with the name of the step, how much is done, and of how much (0: not known). Raises:
    ClaudeMemError when the files cannot be used.
    """
    asked = questions(os.path.join(folder, _QUESTIONS))
    played = list(events(folder))
    if not played:
        raise ClaudeMemError(f"{folder} has no hook events in any *.jsonl: see claude-mem eval recall --help")
    max_chars, ignored = config.capture_limits()
    with temporary_memory():
        for event, project_dir in played:
            text = scrub(json.dumps(event), max_chars=max_chars, ignored=(*IGNORED_FILES, *ignored))
            inbox.append(text, project_dir)
        sessions = distilled(advance)
        by, model, problem = searcher(lambda done: advance("embedding", done, 0))
        projects = sorted({project_dir for _, project_dir in played})
        rows = [_ask(by, each, projects) for each in asked]
        counts = queries.counts()
    return {
        "events": len(played),
        "sessions": sessions,
        "observations": counts["observations"],
        "model": model,
        "problem": problem,
        **_figures(rows),
        "rows": rows,
    }


def events(folder: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the events of a folder that our hooks would take, in order, each with its project."""
    known = install.hook_events()
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise ClaudeMemError(f"cannot read {os.path.abspath(folder)}: {error.strerror}") from error
    for name in names:
        for where, line in lines_of(os.path.join(folder, name)) if name.endswith(".jsonl") else ():
            event, given = (line["event"], line.get("env") or {}) if "event" in line else (line, {})
            if not isinstance(event, dict) or not isinstance(given, dict):
                raise ClaudeMemError(f"{where}: this is not a hook event")
            if _is_taken(event, known) and not event.get("stop_hook_active"):
                start = given.get("CLAUDE_PROJECT_DIR") or event.get("cwd") or os.path.abspath(folder)
                yield event, config.project_dir(str(start))


def _is_taken(event: dict[str, Any], known: dict[str, dict[str, Any]]) -> bool:
    """Tell whether a hook of ours is registered for an event, and for its tool."""
    registered = known.get(str(event.get("hook_event_name")))
    if registered is None:
        return False
    tools = registered.get("matcher", "*")
    return tools == "*" or event.get("tool_name") in tools.split("|")


def questions(path: str) -> list[Question]:
    """Return the questions of a file. Raises: ClaudeMemError when it has none, or one that cannot be used."""
    told = read(path)
    lists = [each for each in told.values() if isinstance(each, list)] if isinstance(told, dict) else [told]
    rows = [row for rows in lists if isinstance(rows, list) for row in rows if isinstance(row, dict)]
    found = []
    for row in rows:
        text = row.get("question") or row.get("q")
        if not isinstance(text, str):
            continue  # the file may hold other facts, too
        wanted, forbidden = (
            tuple(strings(f"{path}: {text!r}", row.get(name) or []))
            for name in ("answer_contains", "must_not_contain")
        )
        if not wanted and not forbidden:
            raise ClaudeMemError(f"{path}: {text!r} needs answer_contains or must_not_contain")
        found.append(Question(text, wanted, forbidden))
    if not found:
        raise ClaudeMemError(
            f'{path} has no questions: it needs a list of {{"question": …, "answer_contains": […]}}'
        )
    return found


def distilled(advance: Callable[[str, int, int], object] = lambda *_: None) -> int:
    """Process the queued events as the consumer does; return the number of their sessions."""
    ids, sessions = queries.unfinished_events(), dict[str, None]()
    for number, event_id in enumerate(ids, 1):
        event = queries.waiting_event(event_id)
        if event is None:
            continue
        if record_event(event):
            evolve.check_code(event.project_dir, event.session_id)
        sessions[event.session_id] = None
        if event.event_name in _ENDS:
            _end(event.session_id)
        advance("distilling", number, len(ids))
    for session_id in sessions:
        _end(session_id)
    return len(sessions)


def _end(session_id: str) -> None:
    summarize_session(session_id)
    session.learn(session_id)


def _ask(by: Searcher, question: Question, projects: Sequence[str]) -> dict[str, Any]:
    """Ask a question in every project of the history: recall as for a prompt, and search for five hits."""
    recalled, found = [], []
    for project_dir in projects:
        recalled.append(blocks.for_prompt(by, project_dir, question.text, session_id="evaluation").text)
        scope = Scope(project_dir=project_dir)
        hits = by.search(question.text, type="all", scope=scope, limit=HITS, now=time.monotonic()).hits
        found += [f"{hit.row.title}\n{hit.row.summary}\n{hit.row.detail}" for hit in hits]
    told = {"recall": ["\n".join(recalled)], "search": found}
    return {
        "question": question.text,
        "is_answerable": bool(question.answer_contains),
        **{
            way: any(_has_all(text, question.answer_contains) for text in texts)
            if question.answer_contains
            else None
            for way, texts in told.items()
        },
        "recalled": bool("".join(recalled)),
        "false": sorted(
            {each for texts in told.values() for text in texts for each in question.must_not_contain
             if _has_all(text, [each])}
        ),
    }  # fmt: skip


def _has_all(text: str, parts: Sequence[str]) -> bool:
    return all(part.casefold() in text.casefold() for part in parts)


def _figures(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    answerable = [row for row in rows if row["is_answerable"]]
    return {
        "questions": len(rows),
        "answerable": len(answerable),
        "answered_by_recall": sum(row["recall"] for row in answerable),
        "answered_by_search": sum(row["search"] for row in answerable),
        "unanswerable_silent": sum(not row["recalled"] for row in rows if not row["is_answerable"]),
        "false_answers": sum(bool(row["false"]) for row in rows),
    }
