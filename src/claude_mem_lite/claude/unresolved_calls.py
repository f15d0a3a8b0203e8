"""Ask Claude which function of its name a call means, if the code map cannot resolve it.

Only if the user set `[compress] calls`. Claude's answer becomes a call edge of low confidence, marked as
such: evidence confirms it, and it is deleted with the call.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from claude_mem_lite.capture import inbox
from claude_mem_lite.claude import api, prompts, request_cycle
from claude_mem_lite.claude.api import RejectedError, Request
from claude_mem_lite.claude.prompts import WrittenCall
from claude_mem_lite.claude.request_cycle import PACE_S, Step
from claude_mem_lite.codemap import file_index, sources
from claude_mem_lite.codemap.confidence import ASKED, ASKED_CONFIDENCE
from claude_mem_lite.redaction.events import redact
from claude_mem_lite.settings import Settings
from claude_mem_lite.storage import call_edges, code, facts
from claude_mem_lite.storage.models import CallEdge, FunctionMapEntry
from claude_mem_lite.text import clip, one_line

MOST_CALLS, MOST_CANDIDATES = 20, 8
# A function is asked about once it has been unchanged for so long, and within a week of its change.
QUIET_S, LATELY_S = 600.0, 7 * 86_400.0
_FUNCTION_CHARS, _CONTENT_CHARS, _CANDIDATE_CHARS = 3_000, 16_000, 200
_ANSWER_TOKENS = 1_000
_ASKED = "asked_calls"  # in a project's state: the body hash of each function that was asked about


class _Call(NamedTuple):
    """An unresolved call, and the functions with its name."""

    edge: CallEdge
    candidates: tuple[FunctionMapEntry, ...]


def step(settings: Settings, *, now: float) -> Step:
    """Ask about some calls of functions that a session changed; a step of `claude.rewrite`."""
    if not settings.calls:
        return Step(None)
    span = inbox.utc_text(now - LATELY_S), inbox.utc_text(now - QUIET_S)
    for project_dir, functions in code.changed_functions(*span).items():
        known = code.state(project_dir).get(_ASKED, {})
        changed = [row for row in functions if known.get(_key(row)) != row.body_hash]
        if not changed:
            continue
        asked, transcript, calls = _gather(project_dir, changed)
        if calls:
            return _ask(project_dir, asked, transcript, calls, settings, now=now)
        _note(project_dir, asked)
    return Step(None)


def _gather(
    project_dir: str, changed: Sequence[FunctionMapEntry]
) -> tuple[list[FunctionMapEntry], str, dict[str, _Call]]:
    """Return the functions examined, the content of a request, and the calls by their ids in it."""
    tree, transcript = sources.Tree(project_dir), prompts.Transcript()
    looked_at: list[FunctionMapEntry] = []
    calls: dict[str, _Call] = {}
    open_calls: defaultdict[tuple[str, str], list[CallEdge]] = defaultdict(list)
    by_name: defaultdict[str, list[FunctionMapEntry]] = defaultdict(list)
    for edge in call_edges.edges(project_dir, resolution=call_edges.UNRESOLVED):
        open_calls[edge.caller_file, edge.caller_function].append(edge)
    for row in code.functions(project_dir):
        by_name[_last(row.qualified_name)].append(row)
    for function in changed:
        own = [
            _Call(edge, tuple(named))
            for edge in open_calls[function.file_path, function.qualified_name]
            if 0 < len(named := by_name[_last(edge.callee_function)]) <= MOST_CANDIDATES
        ]
        text = _source(tree, function) if own else ""
        if calls and (len(calls) + len(own) > MOST_CALLS or len(f"{transcript}{text}") > _CONTENT_CHARS):
            break
        looked_at.append(function)
        if not text:
            continue
        transcript.add("function", f"{function.file_path}: {function.qualified_name}\n{text}")
        for call in own[:MOST_CALLS]:
            number = str(len(calls) + 1)
            calls[number] = call
            transcript.add("call", f"{call.edge.callee_function}, line {call.edge.line}", id=number)
            for at, each in enumerate(call.candidates):
                told = f"{each.file_path}: {each.qualified_name}: {each.signature}"
                transcript.add("candidate", one_line(told, _CANDIDATE_CHARS), id=f"{number}.{at}")
    return looked_at, str(transcript), calls


def _ask(  # noqa: PLR0913  (what is asked, of what, and when)
    project_dir: str,
    functions: Sequence[FunctionMapEntry],
    content: str,
    calls: dict[str, _Call],
    settings: Settings,
    *,
    now: float,
) -> Step:
    request = Request(
        system=prompts.CALLS,
        content=content,
        schema=prompts.schema(prompts.WrittenCalls),
        max_tokens=_ANSWER_TOKENS,
    )
    try:
        entry_id, answer = request_cycle.ask(request, settings, now=now)
    except request_cycle.StoppedError as stopped:
        return stopped.step
    except RejectedError as error:
        _note(project_dir, functions)
        return request_cycle.turned_down(f"calls {_key(functions[0])}", str(error), now=now)
    session_id = functions[0].session_id
    with facts.transaction():
        request_cycle.enter("calls", answer, settings, now=now, session_id=session_id, entry_id=entry_id)
        _note(project_dir, functions)  # whatever the answer is worth: it was paid for
        found = prompts.parsed(prompts.WrittenCalls, answer.text)
        _store(project_dir, found.calls if found else (), calls)
    if answer.stop_reason == api.REFUSAL:
        return request_cycle.declined(now=now)
    return request_cycle.answered(Step(PACE_S, written=int(found is not None)), now=now)


def _store(project_dir: str, found: Iterable[WrittenCall], calls: dict[str, _Call]) -> None:
    """Store the calls that an answer names; ignore calls and candidates that it was not asked about."""
    known = {edge.pair for edge in call_edges.known_edges(project_dir)}
    now = inbox.utc_now()
    for written in found:
        number, _, at = (written.candidate or "").partition(".")
        call = calls.get(written.call) if number == written.call else None
        if call is None or not at.isdecimal() or int(at) >= len(call.candidates):
            continue
        edge, callee = call.edge, call.candidates[int(at)]
        pair = (edge.caller_file, edge.caller_function, callee.file_path, callee.qualified_name)
        if pair in known:
            continue
        known.add(pair)
        call_edges.add_edge({
            "project_dir": project_dir,
            **dict(zip(call_edges.PAIR, pair, strict=True)),
            "resolution": "direct" if edge.caller_file == callee.file_path else "import",
            "level": ASKED,
            "shape": edge.shape,
            "line": edge.line,
            "confidence": ASKED_CONFIDENCE,
            "source": call_edges.BY_CLAUDE,
            "session_id": edge.session_id,
            "created_at": now,
        })  # fmt: skip


def _note(project_dir: str, functions: Iterable[FunctionMapEntry]) -> None:
    """Record the body hash of functions that were asked about; drop functions no longer in the map."""
    known = code.state(project_dir).get(_ASKED, {}) | {_key(row): row.body_hash for row in functions}
    here = {_key(row) for row in code.functions(project_dir)}
    file_index.note(project_dir, **{_ASKED: {key: known[key] for key in known.keys() & here}})


def _source(tree: sources.Tree, function: FunctionMapEntry) -> str:
    """Return a function's current source, redacted; "" if its file cannot be read."""
    try:
        lines = redact(sources.decode(tree.read(function.file_path))).split("\n")
    except OSError:
        return ""
    return clip("\n".join(lines[function.line - 1 : function.end_line]), _FUNCTION_CHARS)


def _key(function: FunctionMapEntry) -> str:
    return f"{function.file_path}:{function.qualified_name}"


def _last(name: str) -> str:
    return name.rpartition(".")[2]
