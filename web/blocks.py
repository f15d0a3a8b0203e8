"""The blocks that hooks put into a session: at its start, for a prompt, about a file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.background import BackgroundTasks
from starlette.responses import JSONResponse, Response

from claude_mem_lite import inbox, settings
from claude_mem_lite.context import FRESH, blocks, builder
from claude_mem_lite.context.layers import in_project
from claude_mem_lite.context.shown import ShownSessions
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.web.parameters import ContextParameters, RecallParameters, TouchParameters, parse

if TYPE_CHECKING:
    from starlette.requests import Request

    from claude_mem_lite.context.builder import ContextBlock
    from claude_mem_lite.context.shown import Shown
    from claude_mem_lite.web.parameters import BlockParameters

searcher = Searcher()
shown_sessions = ShownSessions()


def context(request: Request) -> Response:
    """Return the block for a session's start."""
    wanted = parse(ContextParameters, request)
    with shown_sessions.turn(wanted.session_id) as shown:
        if wanted.is_late:
            return _nothing()
        block = builder.build(
            wanted.project_path,
            session_id=wanted.session_id,
            source=wanted.source,
            idle_s=wanted.idle_s,
            shown=shown.ids,
        )
        if wanted.hook and block.skipped and not block.text:
            error = "the memory cannot be read; see claude-mem status"
            return JSONResponse({"error": error}, status_code=503)
        return _answer(wanted, block, shown, via=wanted.source)


def recall(request: Request) -> Response:
    """Return what memory has on a prompt."""
    wanted = parse(RecallParameters, request)
    with shown_sessions.turn(wanted.session_id) as shown:
        if wanted.is_late:
            return _nothing()
        block = blocks.for_prompt(
            searcher, wanted.project_path, wanted.q, session_id=wanted.session_id, shown=shown
        )
        return _answer(wanted, block, shown, via="recall")


def touch(request: Request) -> Response:
    """Return what memory knows of a file, once for each file and session."""
    wanted = parse(TouchParameters, request)
    file = in_project(wanted.file, wanted.project_path)
    with shown_sessions.turn(wanted.session_id) as shown:
        if wanted.is_late:
            return _nothing()
        block = blocks.for_file(wanted.project_path, wanted.file, session_id=wanted.session_id, shown=shown)
        return _answer(wanted, block, shown, via="touch", files=[file] if file else [])


def _answer(
    wanted: BlockParameters, block: ContextBlock, shown: Shown, *, via: str, files: list[str] | None = None
) -> Response:
    """Return a block to who asked; what a hook gets in time counts as shown."""
    if not wanted.hook:
        return JSONResponse(block.as_json(explain=wanted.explain))
    if wanted.is_late:
        return _nothing()
    noted: dict[str, Any] = {
        "via": via,
        "ids": block.ids,
        "also": block.also,
        "named": block.named,
        "tokens": block.tokens,
        "files": files or [],
    }
    if block.text or files or via in FRESH:
        shown.add(noted)
    afterwards = BackgroundTasks()
    if block.text:
        afterwards.add_task(_note, wanted.session_id, noted, inbox.utc_now())
    if wanted.hook == "SessionStart":
        afterwards.add_task(_warm, wanted.project_path)
    if not block.text:
        return _nothing(afterwards)
    printed = {"hookSpecificOutput": {"hookEventName": wanted.hook, "additionalContext": block.text}}
    return JSONResponse(printed, background=afterwards)


def _nothing(afterwards: BackgroundTasks | None = None) -> Response:
    return Response(status_code=204, background=afterwards)


def _note(session_id: str, shown: dict[str, Any], at: str) -> None:
    """Have the consumer write down what was shown; this process writes no memory."""
    inbox.enqueue(inbox.SHOWN, session_id, shown, at, priority="high")
    inbox.ring()


def _warm(project_dir: str) -> None:
    """Get ready for the session's first prompt, which waits for no model."""
    if settings.load().recall_tokens_per_session:
        searcher.warm(project_dir, now=time.monotonic())
