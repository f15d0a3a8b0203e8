"""Where a session stands: its goal, what it decided, what is unfinished, what fails, what comes next.

For a session whose conversation was compacted, and for the one that follows a cleared one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from claude_mem_lite.context.layers import asked_in, changed, said_by
from claude_mem_lite.distill.attempts import is_commit, open_failures
from claude_mem_lite.distill.local import fields
from claude_mem_lite.distill.observation import join, sentences
from claude_mem_lite.distill.quoting import named
from claude_mem_lite.distill.summary import has_bad_tests, test_verdict
from claude_mem_lite.storage import context as storage
from claude_mem_lite.triage import EDITORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claude_mem_lite.context.budget import Line
    from claude_mem_lite.context.layers import Scope
    from claude_mem_lite.storage.models import Observation

_GOAL_CHARS = 400
_READ = 300
_MOST = 3  # of decisions, files and failures each
_DECIDED = re.compile(
    r"\b(because|instead of|so that|decided|decision|never|no longer|reversed|rather than|must not)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(next(?! to\b)|remain(?:s|ing)?|todo|still|not yet|left (?:open|to)|unfinished|wait(?:s|ing)"
    r"|pending)\b",
    re.IGNORECASE,
)


def working_state(scope: Scope, session_id: str) -> list[Line]:
    """Return the lines that tell where a session stands, what matters most first."""
    rows = storage.observations(scope.project_dir, [session_id], limit=_READ)
    lines = [
        *_goal(scope, session_id),
        *_plan(scope, session_id, rows),
        *_failing(scope, rows),
        *_in_flight(scope, session_id, rows),
        *_decided(scope, rows),
    ]
    # All of it before anything else, as far as it fits, in this order.
    return [replace(line, value=line.tokens * 2.0**-at) for at, line in enumerate(lines)]


def _goal(scope: Scope, session_id: str) -> list[Line]:
    first, last = (
        storage.said(scope.project_dir, session_id, "UserPromptSubmit", newest=newest)
        for newest in (False, True)
    )
    if first is None or last is None:
        return []

    def line(row: Observation, label: str, reason: str) -> Line:
        return scope.told_of(row, f"{label}: {asked_in(row.summary)}", reason=reason, chars=_GOAL_CHARS)

    if first.id == last.id:
        return [line(first, "Goal", "the only prompt")]
    # What was asked first may be done long since.
    return [line(last, "Asked last", "the last prompt"), line(first, "Asked first", "the first prompt")]


def _plan(scope: Scope, session_id: str, rows: Sequence[Observation]) -> list[Line]:
    """Return the next steps: what is open in the plan, else what the assistant said is still to do."""
    steps = _open_steps(storage.plan_events(scope.project_dir, session_id))
    said = next((row for row in rows if row.tool_name == "Stop"), None)
    if steps and rows:
        return [scope.told_of(rows[0], f"Next: {join(steps, 4, '; ')}", reason="the plan")]
    if said is None:
        return []
    left = [sentence for sentence in sentences(said_by(said)) if _OPEN.search(sentence)]
    return (
        [scope.told_of(said, f"Said to be open: {_listed(left)}", reason="the last message")] if left else []
    )


def _open_steps(events: Iterable[dict[str, Any]]) -> list[str]:
    """Return the steps of a to-do list or of tasks that are not done, those in progress first."""
    steps: dict[str, tuple[str, str]] = {}  # id to subject and status
    for event in events:
        given, task = fields.value(event, "tool_input"), fields.value(event, "tool_response", "task")
        if event.get("tool_name") == "TodoWrite":
            steps = {
                str(at): (fields.text(todo, "content"), fields.text(todo, "status"))
                for at, todo in enumerate(fields.items(given, "todos"))
            }
        elif event.get("tool_name") == "TaskCreate":
            steps[str(fields.value(task, "id"))] = (fields.text(task, "subject"), "pending")
        elif (task_id := str(fields.value(given, "taskId"))) in steps:
            subject, status = steps[task_id]
            steps[task_id] = (
                fields.text(given, "subject") or subject,
                fields.text(given, "status") or status,
            )
    open_steps = [
        (subject, status) for subject, status in steps.values() if status in {"pending", "in_progress"}
    ]
    return [
        subject for subject, _ in sorted(open_steps, key=lambda step: step[1] != "in_progress") if subject
    ]


def _failing(scope: Scope, rows: Sequence[Observation]) -> list[Line]:
    """Return the commands that have not succeeded since, and the tests if their last run failed."""
    lines = [
        scope.told_of(row, f"Failing: {error}", reason="not succeeded since")
        for row, error in open_failures(rows[::-1])
    ]
    tests = next((row for row in rows if test_verdict(row)), None)
    if tests is not None and has_bad_tests(test_verdict(tests)):
        told = said_by(tests)
        lines.append(
            scope.told_of(
                tests, f"Failing: {told[told.rfind(test_verdict(tests)) :]}", reason="the last test run"
            )
        )
    return lines[-_MOST:]


def _in_flight(scope: Scope, session_id: str, rows: Sequence[Observation]) -> list[Line]:
    """Return the files that were changed since the session's last commit, with their functions."""
    committed = next((row.created_at for row in rows if is_commit(row)), "")
    edits = [row for row in rows if row.created_at > committed and row.tool_name in EDITORS]
    changes = storage.changes(scope.project_dir, [session_id], since=committed, limit=_READ)
    lines = []
    for path in dict.fromkeys(path for row in edits for path in row.files_touched):
        ids = [row.id for row in edits if path in row.files_touched]
        told = changed([row for row in changes if row.file_path == path])
        newest = next(row for row in edits if row.id == ids[0])
        says = f"Changed, not committed: {named(path)}{f': {told}' if told else ''}"
        lines.append(scope.told_of(newest, says, reason="since the last commit", stands_for=ids))
    return lines[: 2 * _MOST]


def _decided(scope: Scope, rows: Sequence[Observation]) -> list[Line]:
    lines = []
    for row in rows:
        if row.tool_name == "Stop":
            told = [sentence for sentence in sentences(said_by(row)) if _DECIDED.search(sentence)]
            if told:
                lines.append(scope.told_of(row, f"Decided: {_listed(told)}", reason="said with a reason"))
    return lines[:_MOST]


def _listed(told: Sequence[str]) -> str:
    """Return the first two sentences; an item of a list has no full stop to part it from the next."""
    return " ".join(each if each[-1] in ".!?" else f"{each};" for each in told[:2]).rstrip(";")
