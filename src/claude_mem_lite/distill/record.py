"""Turn queued events into observations and session summaries: the one path for events of every origin.

Everything here may be repeated: an observation has the id of its event, so doing it twice stores it once.
"""

import dataclasses
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from claude_mem_lite import settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.capture.clients import client_of
from claude_mem_lite.codemap import file_index, languages
from claude_mem_lite.codemap.file_index import Seen
from claude_mem_lite.distill import echoes, rules
from claude_mem_lite.distill.observation import Capture, Observation, Skip
from claude_mem_lite.distill.retired import taken_out
from claude_mem_lite.distill.rules import compaction, fields, shell
from claude_mem_lite.distill.rules.conversation import is_acknowledgement, is_api_failure, without_reason
from claude_mem_lite.distill.rules.edits import Edit, edit_of
from claude_mem_lite.distill.rules.teammates import RECEIVED, as_spoken
from claude_mem_lite.distill.standing import standing
from claude_mem_lite.distill.summary import checked, key_files, summarize
from claude_mem_lite.distill.thread import decisions, without_replies
from claude_mem_lite.storage import projects, queries, retired, rewrites, timeline
from claude_mem_lite.storage.code import save_past_changes
from claude_mem_lite.storage.models import Observation as ObservationRow
from claude_mem_lite.storage.models import PendingEvent, Session, memory_database
from claude_mem_lite.text import estimate_tokens, relative

log = logging.getLogger(__name__)

MAX_KEY_FILES = 8

# Events in which somebody speaks. A sub-agent's last message is not the session's own.
SPOKEN = frozenset({"UserPromptSubmit", RECEIVED, "Stop", "StopFailure", "SubagentStop", compaction.NAME})
# Characters of earlier output in which an event's text is searched for repetitions.
_HEARD_CHARS = 300_000
_HEARD_BY_COMMAND = 20_000  # most commands have a description, but few repeat anything in it
_REPORTS = {"Stop": "last_assistant_message", compaction.NAME: "compact_summary"}
# Git commands that write files of the working tree.
_MOVING = frozenset({
    "am", "apply", "checkout", "cherry-pick", "clean", "merge", "mv", "pull", "rebase", "reset", "restore",
    "revert", "rm", "stash", "switch",
})  # fmt: skip


def record_event(event: PendingEvent) -> bool:
    """Turn one event into its observation, or note in its row why there is none; update the code map.

    Returns whether the project's call edges may have changed. An event that is processed again because the
    memory database was lost is not sent to Claude: the user has paid for it once and can choose to pay again.
    """
    projects.adopt(event)
    if event.status == inbox.REIMPORT:
        record_import([event])
        rewrites.leave_to_user(event.session_id)
        return False
    started, upgrade = time.monotonic(), "" if event.finished_at else None
    capture = capture_of(event)
    edit = edit_of(capture)
    # Take the write lock first: of two workers on one fold the later must see what the earlier wrote.
    with memory_database.atomic():
        queries.touch_session(event)
        if event.finished_at:
            rewrites.leave_to_user(event.session_id)
        prompt = queries.latest_prompt(event)
        if is_look(event):
            note = _look(event, prompt, upgrade=upgrade)[event.id]
        else:
            note = _observe(event, capture, edit, prompt, upgrade=upgrade)
    has_changed_code = _follow(capture, edit, _seen(event, note))
    inbox.finish(event.id, note=note)
    _log(event, note, time.monotonic() - started)
    return has_changed_code


def is_batched(event: PendingEvent) -> bool:
    """Tell whether an event may share a transaction with others: a new tool call that succeeded."""
    return event.event_name == "PostToolUse" and event.status == "raw" and not event.finished_at


def record_batch(events: Sequence[PendingEvent]) -> list[PendingEvent]:
    """Turn new tool calls into observations in one transaction; return those that may have changed calls.

    Events are marked as done after they are stored, so that a crash in between only repeats the work.
    """
    started = time.monotonic()
    for event in events:
        projects.adopt(event)
    notes: dict[str, str | None] = {}
    changed = []
    with memory_database.atomic():
        for event in events:
            queries.touch_session(event)
            capture = capture_of(event)
            edit = edit_of(capture)
            if not is_look(event):
                notes[event.id] = _observe(event, capture, edit, queries.latest_prompt(event), upgrade=None)
            elif event.id not in notes:
                notes |= _look(event, queries.latest_prompt(event), upgrade=None)
            if _follow(capture, edit, _seen(event, notes[event.id])):
                changed.append(event)
    inbox.finish_all([(notes[event.id], event.id) for event in events])
    share_s = (time.monotonic() - started) / len(events)
    with memory_database.atomic():
        for event in events:
            _log(event, notes[event.id], share_s)
    return changed


def record_import(events: Sequence[PendingEvent]) -> None:
    """Turn imported events into observations in one transaction, without asking Claude.

    All events of their session must be queued. Edits go into the function history only, since the code map
    describes the current code.
    """
    looks: dict[str, str | None] = {}
    notes: list[tuple[str | None, str]] = []
    changes: list[dict[str, Any]] = []
    prompt = queries.latest_prompt(events[0])
    with memory_database.atomic():
        for event in events:
            if event in (events[0], events[-1]) or not event.tool_name:
                queries.touch_session(event)
            if not is_look(event):
                capture = capture_of(event)
                edit = edit_of(capture)
                note = _observe(event, capture, edit, prompt, upgrade="")
                notes.append((note, event.id))
                if edit and not note:
                    changes += _past_changes(capture.project_dir, edit, _seen(event, note))
                prompt = queries.prompt_of(event) or prompt
                continue
            if event.id not in looks:
                looks |= _look(event, prompt, upgrade="")
            notes.append((looks[event.id], event.id))
        save_past_changes(changes)
    inbox.finish_all(notes, status=inbox.IMPORTED)


def summarize_session(session_id: str, *, retell: bool = False) -> str:
    """Write the session's summary from all its observations so far, and return it.

    A summary by Claude stays, followed by what came since; `retell` asks Claude to write it again.
    """
    for event_id in queries.unfinished_events(session_id):
        if event := queries.waiting_event(event_id):
            record_event(event)
    rows, session = queries.observations_of(session_id), queries.session(session_id)
    if not rows or session is None:
        return ""
    up_to = max(row.pk for row in rows)
    if session.retold_pk >= up_to:
        return session.summary or ""
    _save_told(session, rows, up_to=up_to)
    summary = queries.known_session(session_id).summary or ""
    queries.log_event("summarize.done", {"observations": len(rows)}, session_id=session_id)
    for earlier in timeline.open_sessions_before(session):  # this one may have settled their failures
        its = queries.observations_of(earlier.id)
        if its and earlier.retold_pk < max(row.pk for row in its):
            _save_told(earlier, its, up_to=earlier.summarized_pk)
    if retell:
        # Ask Claude only if tools were used or there was a conversation; else the rules' summary says it all.
        has_worked = any(row.tool_name not in SPOKEN for row in rows)
        is_worth_it = has_worked or sum(row.tool_name == "UserPromptSubmit" for row in rows) > 1
        is_wanted = is_worth_it and settings.load().wants_session(session_id)
        (rewrites.want_retelling if is_wanted else rewrites.cancel_retelling)(session_id)
    return summary


def local_summary(
    rows: Sequence[ObservationRow], later: Sequence[Sequence[ObservationRow]] = ()
) -> tuple[str, list[str]]:
    """Return a session's summary written by rules, and the files that it changed most.

    `later` holds the observations of each session after it, which may have settled what it left open.
    """
    done = [row for row in rows if row.tool_name not in SPOKEN]
    ends = [row for row in without_replies(rows) if row.tool_name in {"Stop", "StopFailure"}]
    reports = [row for row in ends if not is_api_failure(row.title)]
    has_failed = bool(ends) and ends[-1] not in reports
    summary = summarize(
        prompts=[row.summary for row in rows if row.tool_name == "UserPromptSubmit"],
        observations=done,
        last_messages=[without_reason(row.summary)[0] for row in reports],
        later=later,
        ended=ends[-1].title if has_failed else "",
    )
    return summary, key_files(done)


def _save_told(session: Session, rows: Sequence[ObservationRow], *, up_to: int) -> None:
    """Store a session's summary, its key files and decisions, and the state of its thread.

    A summary by the model stays, with marks where the record contradicts it; what came since follows.
    """
    # Leave out what the session did in other projects.
    own = [row for row in rows if row.project_dir == session.project_dir]
    later = timeline.done_after(session)
    told, since = _retold(session, own)
    summary, files = local_summary(since, later)
    if told:
        after = [*own, *(row for each in later for row in each)]
        told = checked(told, after)
        summary = f"{told}\nSince then: {summary}" if summary else told
        files = list(dict.fromkeys([*files, *session.key_files, *key_files(own)]))
    decided = {} if session.retold else {"key_decisions": decisions(own)}
    state = standing(session.project_dir, session.id, own, later).as_json()
    queries.save_summary(
        session.id, summary, key_files=files[:MAX_KEY_FILES], state=state, summarized_pk=up_to, **decided
    )


def _retold(session: Session, own: Sequence[ObservationRow]) -> tuple[str, Sequence[ObservationRow]]:
    """Return the model's summary of a session (requested, or from a compaction), and the rows since then."""
    since = [row for row in own if row.pk > session.retold_pk]
    compacted = next((row for row in reversed(since) if row.tool_name == compaction.NAME), None)
    if compacted is None:
        return session.retold or "", since
    return compacted.summary, [row for row in since if row.created_at > compacted.created_at]


def is_look(event: PendingEvent) -> bool:
    """Tell whether an event is a look, which is folded with its neighbours into one observation."""
    return event.priority == "low" and event.event_name == "PostToolUse"


def capture_of(event: PendingEvent) -> Capture:
    """Return an event in the form that the distillers take."""
    return Capture(
        event_name=event.event_name,
        tool_name=event.tool_name,
        payload=json.loads(event.raw_output.encode("utf-8", "replace")),
        project_dir=event.work_tree or event.project_dir,
    )


def _observe(
    event: PendingEvent, capture: Capture, edit: Edit | None, prompt: str | None, *, upgrade: str | None
) -> str | None:
    """Store an event's observation and the names that it took out of the code; return the reason if none."""
    if _answers_the_client(event, capture):
        return "an answer to the client's notice"
    capture = as_spoken(capture, prompt)
    outcome = rules.observe(_quoted(event, capture), edit, prompt=prompt)
    if isinstance(outcome, Skip):
        return outcome.reason
    _save(outcome, [event], upgrade, kind=capture.tool_name or capture.event_name)
    if names := taken_out(capture, edit):
        gone, brought = names
        retired.note(event, [each.as_row() for each in gone], brought)
    return None


def _answers_the_client(event: PendingEvent, capture: Capture) -> bool:
    """Tell whether a report only acknowledges a notice from the client."""
    report = capture.payload.get(_REPORTS["Stop"])
    if event.event_name != "Stop" or not isinstance(report, str):
        return False
    turn = timeline.turn_of(event)
    return turn.is_clients and not turn.has_worked and is_acknowledgement(report, turn.reports)


def _quoted(event: PendingEvent, capture: Capture) -> Capture:
    """Return a capture with quotation marks around the passages that repeat texts read before."""
    payload = capture.payload
    name = _REPORTS.get(capture.event_name, "")
    if isinstance(report := payload.get(name), str):
        payload = {**payload, name: echoes.quote_others(report, _heard(event, _HEARD_CHARS))}
    if capture.tool_name:
        chars = _HEARD_BY_COMMAND if capture.tool_name == "Bash" else _HEARD_CHARS
        payload = echoes.quote_in_call(payload, capture.tool_name, lambda: _heard(event, chars))
    return dataclasses.replace(capture, payload=payload)


def _heard(event: PendingEvent, chars: int) -> Iterator[str]:
    """Yield the output of tools and sub-agents before an event: about the last `chars` characters."""
    for payload in queries.answers_before(event, chars=chars):
        yield from echoes.from_outside(payload)


def _look(event: PendingEvent, prompt: str | None, *, upgrade: str | None) -> dict[str, str | None]:
    """Store one observation for a look and its neighbours; return the note for each event's row."""
    events = queries.fold_of(event)
    outcome = rules.fold([_quoted(each, capture_of(each)) for each in events], prompt=prompt)
    if isinstance(outcome, Skip):
        return dict.fromkeys((each.id for each in events), outcome.reason)
    _save(outcome, events, upgrade, kind=events[0].tool_name)
    first = events[0].id
    return {each.id: None if each.id == first else f"folded into {first}" for each in events}


def _seen(event: PendingEvent, note: str | None) -> Seen:
    writing = timeline.writing_of(event.session_id)
    return Seen(
        event.session_id, None if note else event.id, event.created_at, event.project_dir, writing=writing
    )


def _follow(capture: Capture, edit: Edit | None, seen: Seen) -> bool:
    """Update the code map from an event; return whether the project's call edges may have changed.

    Non-fatal: a failure is logged, and the next scan reads the file again.
    """
    try:
        if edit:
            return _follow_edit(capture.project_dir, edit, seen)
        if capture.tool_name == "Bash":
            return _follow_command(capture, seen)
    except Exception:
        log.exception("code map: event %s not followed", seen.observation_id)
    return False


def _past_changes(project_dir: str, edit: Edit, seen: Seen) -> list[dict[str, Any]]:
    """Return the function history rows of an imported edit; the code map stays as it is.

    An edit whose transcript lacks one version of the file gives no rows. Non-fatal: a failure is logged.
    """
    try:
        both = edit.before or "", edit.after or ""
        return file_index.past_changes(project_dir, edit.path, both, edit.changes, seen)
    except Exception:
        log.exception("code map: imported event %s not noted", seen.observation_id)
        return []


def _follow_edit(project_dir: str, edit: Edit, seen: Seen) -> bool:
    language = languages.of(edit.path)
    if language is None:
        return False
    if edit.after is None:  # the event does not hold the whole file
        file_index.rescan(project_dir, dataclasses.replace(seen, at=inbox.utc_now()), paths=[edit.path])
    else:
        before = "" if edit.is_new else edit.before
        file_index.follow(project_dir, edit.path, before, edit.after, seen)
    return language.has_calls


def _follow_command(capture: Capture, seen: Seen) -> bool:
    """Rescan the files that a command wrote, or the project after git moved files; after failures too."""
    command = fields.argument(capture, "command")
    now = dataclasses.replace(seen, at=inbox.utc_now())
    if any(step.program == "git" and _MOVING & set(step.operands[:1]) for step in shell.steps(command)):
        file_index.rescan(capture.project_dir, now)
        return True
    folder = fields.text(capture.payload, "cwd") or capture.project_dir
    changed = [relative(path, capture.project_dir) for path in shell.changed_files(command, folder)]
    mapped = {path: languages.of(path) for path in changed if not os.path.isabs(path)}
    known = {path: language for path, language in mapped.items() if language is not None}
    if known:
        file_index.rescan(capture.project_dir, now, paths=list(known))
    return any(language.has_calls for language in known.values())


def _log(event: PendingEvent, note: str | None, took_s: float) -> None:
    data = {"event_id": event.id, "tool_name": event.tool_name, "note": note}
    queries.log_event("compress.done", data, session_id=event.session_id, duration_ms=round(took_s * 1000))


def _save(observation: Observation, events: list[PendingEvent], upgrade: str | None, *, kind: str) -> None:
    """Store the observation of events: `kind` is the tool's name, or the event's where no tool was used.

    `upgrade` is as in `rewrites`; None lets the settings decide.
    """
    first, last = events[0], events[-1]
    text = "\n".join((observation.title, observation.summary, observation.detail or ""))
    tier = first.priority if first.tool_name else ""
    if upgrade is None:
        upgrade = rewrites.WAITING if settings.load().wants_claude(tier) else ""
    queries.save_observation({
        "id": first.id,
        "session_id": first.session_id,
        "project_dir": first.project_dir,
        "branch": last.branch,
        "client": client_of(first.raw_output),
        "tool_name": kind,
        "title": observation.title,
        "summary": observation.summary,
        "detail": observation.detail,
        "files_touched": list(observation.files_touched),
        "functions_changed": [dataclasses.asdict(change) for change in observation.functions_changed],
        "tokens_raw": sum(estimate_tokens(event.raw_output) for event in events),
        "tokens_compressed": estimate_tokens(text),
        "created_at": last.created_at,
        "tier": tier,
        "written_by": "local",
        "prompt_version": None,
        "upgrade": upgrade,
        "upgrade_attempts": 0,
        "upgrade_due": "",
        "upgrade_note": None,
        "batch": None,
    })  # fmt: skip
