"""Answer hooks with blocks: at a session's start, for a prompt, about a file or failure, for a sub-agent."""

import contextlib
import time
from collections.abc import Iterable
from typing import Any

from starlette.background import BackgroundTask, BackgroundTasks
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from claude_mem_lite import settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.context import answers
from claude_mem_lite.context.answers import Answer
from claude_mem_lite.context.shown import Shown, ShownSessions
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.storage import DatabaseError
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage.models import memory_database, queue_database
from claude_mem_lite.web.parameters import (
    BlockParameters,
    ContextParameters,
    FailureParameters,
    RecallParameters,
    SubagentParameters,
    TouchParameters,
    parse,
)

# The longest time between a hook that finds the services down and the start of this process.
_JUST_NOW_S = 60.0
# How long a prompt waits for its vector; the full-text search runs meanwhile.
MEANING_S = 0.05

searcher = Searcher()
shown_sessions = ShownSessions()


def context(request: Request) -> Response:
    """Return the block for a session's start."""
    wanted = parse(ContextParameters, request)
    with shown_sessions.turn(wanted.session_id) as shown:
        if wanted.is_late:
            return _too_late(wanted)
        answer = answers.at_start(
            wanted.project_path,
            session_id=wanted.session_id,
            source=wanted.source,
            idle_s=wanted.idle_s,
            shown=shown,
        )
        if wanted.hook and answer.block.skipped and not answer.block.text:
            error = "the memory cannot be read; see claude-mem status"
            return JSONResponse({"error": error}, status_code=503)
        return _answer(wanted, answer, shown)


def recall(request: Request) -> Response:
    """Return what memory has on a prompt."""
    wanted = parse(RecallParameters, request)
    with shown_sessions.turn(wanted.session_id) as shown:
        answer = answers.with_prompt(
            searcher,
            wanted.project_path,
            wanted.q,
            session_id=wanted.session_id,
            shown=shown,
            until=time.monotonic() + MEANING_S if wanted.hook else None,
        )
        if not wanted.hook:
            return _answer(wanted, answer, shown)
        shown.late = answer.recalled if wanted.is_late else ()
        if not shown.late:
            return _answer(wanted, answer, shown)
        noted = {"via": context_rows.LATE, "ids": [], "tokens": 0, "waits": len(shown.late)}
        return _nothing(BackgroundTasks([BackgroundTask(_note, wanted.session_id, noted, inbox.utc_now())]))


def touch(request: Request) -> Response:
    """Return what memory has on a file, once for each file and session."""
    wanted = parse(TouchParameters, request)
    with shown_sessions.turn(wanted.session_id) as shown:
        if wanted.is_late:
            return _too_late(wanted)
        answer = answers.about_file(
            wanted.project_path, wanted.file, session_id=wanted.session_id, shown=shown
        )
        return _answer(wanted, answer, shown)


def failure(request: Request) -> Response:
    """Return what worked when a call failed the same way before, once for each cause and session."""
    wanted = parse(FailureParameters, request)
    given = {"command": wanted.command, "file_path": wanted.file}
    payload = {"tool_input": given, "error": wanted.error}
    capture = Capture("PostToolUseFailure", wanted.tool, payload, wanted.work_tree or wanted.project_path)
    with shown_sessions.turn(wanted.session_id) as shown:
        if wanted.is_late:
            return _too_late(wanted)
        answer = answers.about_failure(
            capture, wanted.project_path, session_id=wanted.session_id, shown=shown
        )
        return _answer(wanted, answer, shown)


def subagent(request: Request) -> Response:
    """Return the block for the start of a sub-agent; it does not count as shown to the session."""
    wanted = parse(SubagentParameters, request)
    if wanted.is_late:
        return _too_late(wanted)
    answer = answers.at_subagent(
        searcher,
        wanted.project_path,
        session_id=wanted.session_id,
        agent_id=wanted.agent_id,
        agent_type=wanted.agent_type,
        task=wanted.q,
    )
    return _answer(wanted, answer, Shown())


def _answer(wanted: BlockParameters, answer: Answer, shown: Shown) -> Response:
    """Return a block as JSON, or as the output of a hook; what a hook gets in time counts as shown."""
    if not wanted.hook:
        return JSONResponse(answer.block.as_json(explain=wanted.explain))
    if wanted.is_late:
        return _too_late(wanted)
    for note in answer.notes:
        shown.add(note)
    afterwards = BackgroundTasks([BackgroundTask(_sent, wanted, answer.to_keep)])
    if wanted.hook == "SessionStart":
        afterwards.add_task(_warm, wanted.project_path)
    if not answer.block.text:
        return _nothing(afterwards)
    printed = {"hookSpecificOutput": {"hookEventName": wanted.hook, "additionalContext": answer.block.text}}
    return JSONResponse(printed, background=afterwards)


async def _sent(wanted: BlockParameters, notes: Iterable[dict[str, Any]]) -> None:
    """Record what was shown, unless its hook had given up before all of it was sent."""
    if wanted.is_late:
        shown_sessions.forget(wanted.session_id)
        return
    at = inbox.utc_now()
    for note in notes:
        await run_in_threadpool(_note, wanted.session_id, note, at)


def _too_late(wanted: BlockParameters) -> Response:
    """Answer a hook that has given up; at a session's start it has printed its own fallback."""
    if wanted.hook == "SessionStart":
        shown_sessions.forget(wanted.session_id)
    return _nothing()


def _nothing(afterwards: BackgroundTasks | None = None) -> Response:
    return Response(status_code=204, background=afterwards)


def _note(session_id: str, shown: dict[str, Any], at: str) -> None:
    """Have the consumer record what was shown; this process does not write to the memory."""
    inbox.enqueue(inbox.SHOWN, session_id, shown, at, priority="high")
    inbox.ring()


def warm_newest() -> None:
    """Warm the search for the prompts of the session whose hook started these services, if one did."""
    with (
        contextlib.suppress(DatabaseError),
        memory_database.connection_context(),
        queue_database.connection_context(),
    ):
        project_dir = context_rows.newest_project(since=inbox.utc_text(time.time() - _JUST_NOW_S))
        if project_dir:
            _warm(project_dir)


def _warm(project_dir: str) -> None:
    """Warm the search for a session's first prompt, which does not wait until the model is loaded."""
    if settings.load().recall_tokens_per_session:
        searcher.warm(project_dir, now=time.monotonic())
