"""Build the Starlette app on the unix socket: context, search and details, from the two databases.

It writes nothing but messages for the consumer. Every answer is JSON. Wrong parameters get a 422, unknown ids
a 404, a part that is down a 503, each with an `error` that says why.
"""

import asyncio
import contextlib
import dataclasses
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, ExceptionHandler, Message, Receive, Send
from starlette.types import Scope as Connection

from claude_mem_lite import __version__, config, installed
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.codemap import answers
from claude_mem_lite.context import shared
from claude_mem_lite.context.superseded import noted
from claude_mem_lite.distill.findings import findings as put_together
from claude_mem_lite.kinds import Kind
from claude_mem_lite.learnings import story
from claude_mem_lite.search import memory
from claude_mem_lite.services import memory_state
from claude_mem_lite.storage import DatabaseError, migrations, models, queries, rewrites, team
from claude_mem_lite.storage import findings as finding_rows
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage.search import Scope, by_prefix, is_narrow
from claude_mem_lite.text import estimate_tokens
from claude_mem_lite.web import blocks
from claude_mem_lite.web.blocks import searcher
from claude_mem_lite.web.parameters import (
    CallGraphParameters,
    DetailParameters,
    EmbedParameters,
    FindingsParameters,
    HistoryParameters,
    LearningsParameters,
    SearchParameters,
    SummarizeParameters,
    parse,
)

STARTED = time.monotonic()
_HEALTH = "/api/health"
# 64 texts of 50,000 characters, of four bytes each and escaped.
_LONGEST_BODY_BYTES = 32 << 20
_asked = {"at": STARTED}
_IDLE_LOOK_S = 60.0

# Columns that hold the processing state of a row, not its content.
_INTERNAL = frozenset({
    "pk", "tier", "upgrade", "upgrade_attempts", "upgrade_due", "upgrade_note", "batch", "retold",
    "retold_pk", "summarized_pk", "embedding_status",
})  # fmt: skip


class _TooLargeError(ValueError):
    """The body of a request is longer than any that our clients send."""


class _Bounded:
    """Middleware that bounds the body, notes the time of the last request and identifies the code served."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        if scope.get("path") != _HEALTH:
            _asked["at"] = time.monotonic()
        taken = 0

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > _LONGEST_BODY_BYTES:
                raise _TooLargeError
            return message

        async def signed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"].append((client.CODE_HEADER, installed.started().encode()))
            await send(message)

        await self._inner(scope, bounded, signed)


def health(_: Request) -> JSONResponse:
    """Return that this process serves, with its version, code, schema, age and data directory."""
    return JSONResponse({
        "status": "ok",
        "version": __version__,
        "code": installed.started(),
        "schema": len(migrations.MIGRATIONS),
        "pid": os.getpid(),
        "uptime_s": round(time.monotonic() - STARTED, 1),
        "idle_s": round(time.monotonic() - _asked["at"], 1),
        "home": config.home(),
    })  # fmt: skip


def queue_stats(_: Request) -> JSONResponse:
    """Return how many events are raw, done and in error."""
    return JSONResponse(queries.queue_stats())


def status(_: Request) -> JSONResponse:
    """Return the state of the memory that `claude-mem status` shows."""
    return JSONResponse(memory_state.state())


def search(request: Request) -> JSONResponse:
    """Return the search results for a query."""
    wanted = parse(SearchParameters, request)
    started = time.monotonic()
    scope = Scope(
        project_dir=wanted.project,
        since=wanted.since,
        until=wanted.until,
        file=wanted.file,
        session_id=wanted.session,
        tool=wanted.tool,
    )
    found = searcher.search(wanted.q, type=wanted.type, scope=scope, limit=wanted.limit, now=started)
    answer = found.as_json(wanted.q, took_s=time.monotonic() - started, explain=wanted.explain)
    if wanted.type != "code" and not is_narrow(scope):
        shared.add_to(answer, scope.project_dir, wanted.q, limit=wanted.limit)
    return JSONResponse(noted(answer))


def observation(request: Request) -> JSONResponse:
    """Return a whole observation with its neighbours in time, or another kind of row that has the id."""
    prefix, project_dir = request.path_params["observation_id"], parse(DetailParameters, request).project
    try:
        row = queries.observation(prefix, project_dir)
        fields = dict(row.__data__)
        fields["session_id"] = fields.pop("session")
        before, after = queries.neighbours(row)
        fields |= {"before": list(map(_in_short, before)), "after": list(map(_in_short, after))}
    except queries.UnknownIdError:
        fields = _other(prefix, project_dir)
    return JSONResponse({name: value for name, value in fields.items() if name not in _INTERNAL})


def _other(prefix: str, project_dir: str | None) -> dict[str, Any]:
    """Return the learning, function, colleague's line or session whose id begins with `prefix`."""
    kinds: tuple[Kind, ...] = ("learning", "function")
    rows = [row for kind in kinds for row in by_prefix(kind, prefix, project_dir)]
    theirs = team.opened(prefix, project_dir) if len(prefix) >= queries.MIN_ID_PREFIX and not rows else []
    if len(theirs) == 1:
        return shared.as_json(theirs[0])
    if len(prefix) >= queries.MIN_ID_PREFIX and len(rows) == 1:
        learned = learning_rows.by_ids([rows[0].id]) if rows[0].kind == "learning" else []
        evidence = story.evidence(learned[0], project_dir) if learned else {}
        return {**dataclasses.asdict(rows[0]), **evidence}
    return dict(queries.session_by_prefix(prefix, project_dir, what="row").__data__)


def _in_short(row: models.Observation) -> dict[str, Any]:
    return {"id": row.id, "title": row.title, "tool_name": row.tool_name, "created_at": row.created_at}


def callgraph(request: Request) -> JSONResponse:
    """Return a file's functions and the calls from and to it, of each project that has such a file."""
    wanted = parse(CallGraphParameters, request)
    found = answers.callgraph(wanted.project, wanted.file, limit=wanted.limit)
    if not found:
        raise queries.UnknownIdError(f"no file {wanted.file!r} in the code map; claude-mem map adds it")
    return JSONResponse({"file": wanted.file, "count": len(found), "files": found})


def function_history(request: Request) -> JSONResponse:
    """Return which sessions changed the functions of a name, with their observations."""
    wanted = parse(HistoryParameters, request)
    found = answers.history(wanted.project, wanted.name)
    if not found:
        raise queries.UnknownIdError(f"no function {wanted.name!r} in the code map")
    return JSONResponse({"name": wanted.name, "count": len(found), "functions": found})


def learnings(request: Request) -> JSONResponse:
    """Return the learnings of a project and those that hold everywhere, with the pairs that may conflict."""
    wanted = parse(LearningsParameters, request)
    rows = learning_rows.find(
        wanted.project,
        state=wanted.state,
        category=wanted.category,
        sort=wanted.sort,
        limit=wanted.limit,
    )
    found = [story.entry(row) for row in rows]
    pairs = story.questions(wanted.project)
    return JSONResponse({"count": len(found), "learnings": found, "questions": pairs})


def findings(request: Request) -> JSONResponse:
    """Return a project's recurring failures with their cures, those that most sessions met first."""
    wanted = parse(FindingsParameters, request)
    found = put_together(finding_rows.known(wanted.project))
    told = [each.as_json() for each in found if len(each.sessions) >= wanted.sessions][: wanted.limit]
    return JSONResponse({"count": len(told), "findings": told})


async def summarize(request: Request) -> JSONResponse:
    """Summarize a session: 200 with the summary, 202 when it takes longer."""
    wanted = SummarizeParameters.model_validate_json(await request.body() or b"{}")
    return await run_in_threadpool(_summary, wanted.session_id, wanted.wait_s)


def _summary(session_id: str, wait_s: float) -> JSONResponse:
    """Leave the work to the consumer, which alone calls the API, and poll until it is done."""
    queries.known_session(session_id)
    deadline = time.monotonic() + wait_s
    message = inbox.enqueue(inbox.SUMMARIZE, session_id, True, priority="high")
    is_listening = inbox.ring()
    while True:
        # In this order: between the two queries the task may end, but cannot begin to wait for Claude.
        waits = queries.is_message_left(message)
        session = queries.known_session(session_id)
        waits = waits or session.upgrade == rewrites.WAITING
        if not waits or not is_listening or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    summary = session.summary or ""
    return JSONResponse({
        "session_id": session_id,
        "status": "queued" if waits else "done",
        "summary": summary,
        "key_files": session.key_files,
        "key_decisions": session.key_decisions,
        "written_by": session.written_by,
        "tokens": estimate_tokens(summary) if summary else 0,
        **({} if is_listening else {"note": "the consumer is not running: claude-mem up"}),
    }, status_code=202 if waits else 200)  # fmt: skip


async def embed(request: Request) -> JSONResponse:
    """Return the vectors of texts for the consumer; 503 when there is no model."""
    wanted = EmbedParameters.model_validate_json(await request.body() or b"{}")
    found = await run_in_threadpool(searcher.embed, wanted.texts, now=time.monotonic())
    if found is None:
        why = searcher.holder.problem or "the embedding model is being loaded"
        return JSONResponse({"error": why}, status_code=503)
    return JSONResponse(found)


async def model(request: Request) -> JSONResponse:
    """Return the model that search uses; a POST chooses it again, after the settings have changed."""
    if request.method == "POST":
        await run_in_threadpool(searcher.choose_anew, now=time.monotonic())
    return JSONResponse(searcher.model())


def _refusal(status_code: int, said: Callable[[Request, Any], str]) -> ExceptionHandler:
    return lambda request, error: JSONResponse({"error": said(request, error)}, status_code=status_code)


def _wrong_parameters(_: Request, error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())


_database_down = _refusal(503, lambda _, error: f"database: {error}; see claude-mem status")
_HANDLERS: dict[Any, ExceptionHandler] = {
    _TooLargeError: _refusal(413, lambda *_: f"the body is longer than {_LONGEST_BODY_BYTES >> 20} MiB"),
    ValidationError: _refusal(422, _wrong_parameters),
    queries.UnknownIdError: _refusal(404, lambda _, error: str(error)),
    DatabaseError: _database_down,
    sqlite3.Error: _database_down,
    404: _refusal(404, lambda request, _: f"no such address: {request.url.path}"),
    405: _refusal(405, lambda request, _: f"{request.method} is not served at {request.url.path}"),
}


@contextlib.asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    models.open_databases(read_only=True)
    threading.Thread(target=blocks.warm_newest, name="warm", daemon=True).start()
    watch = asyncio.create_task(_unload_when_idle())
    yield
    watch.cancel()
    searcher.holder.drop()
    models.close_databases()


async def _unload_when_idle() -> None:
    while True:
        await asyncio.sleep(_IDLE_LOOK_S)
        searcher.holder.unload_if_idle(time.monotonic())
        memory.trim()


app = Starlette(
    routes=[
        Route(_HEALTH, health),
        Route("/api/queue/stats", queue_stats),
        Route("/api/status", status),
        Route("/api/context", blocks.context),
        Route("/api/recall", blocks.recall),
        Route("/api/touch", blocks.touch),
        Route("/api/failure", blocks.failure),
        Route("/api/subagent", blocks.subagent),
        Route("/api/search", search),
        Route("/api/observation/{observation_id}", observation),
        Route("/api/callgraph", callgraph),
        Route("/api/function-history", function_history),
        Route("/api/learnings", learnings),
        Route("/api/findings", findings),
        Route("/api/summarize", summarize, methods=["POST"]),
        Route("/api/embed", embed, methods=["POST"]),
        Route("/api/model", model, methods=["GET", "POST"]),
    ],
    middleware=[Middleware(_Bounded)],
    exception_handlers=_HANDLERS,
    lifespan=_lifespan,
)
