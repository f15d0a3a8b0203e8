"""Turn captured hook events into observations by rules.

No model, no network, no file: pure functions of the event.
"""

import os.path
from collections.abc import Callable, Sequence

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.distill.observation import OBSERVATION_CHARS, Capture, Observation, Skip
from claude_mem_lite.distill.rules import (
    bash,
    compaction,
    conversation,
    edits,
    fields,
    reading,
    teammates,
    unknown,
)
from claude_mem_lite.distill.rules.edits import Edit, edit_of
from claude_mem_lite.distill.rules.reading import is_lookup
from claude_mem_lite.text import clip, one_line

__all__ = ["fold", "is_lookup", "observe"]

# Only the report of a turn repeats the request; the prompt also has an observation of its own.
_ENDS_A_TURN = frozenset({"Stop", "StopFailure", "SubagentStop"})

Rule = Callable[[Capture], Observation | Skip]


def observe(capture: Capture, edit: Edit | None = None, *, prompt: str | None = None) -> Observation | Skip:
    """Describe what is worth remembering of one event, or why nothing is.

    `edit` is the result of `edit_of` for the event, if the caller has it already. `prompt` is the user's
    latest prompt before the event, redacted; the report of a turn repeats it as the request.
    Never raises, whatever the payload looks like.
    """
    if _is_note(capture):
        return Skip("a note in Claude Code's own memory")
    if edit := edit or edit_of(capture):
        return _fit(edits.observe(edit))
    if capture.event_name == "PostToolUse":
        rule = _TOOLS.get(capture.tool_name, unknown.observe)
    elif capture.event_name == "PostToolUseFailure":
        rule = _FAILED_TOOLS.get(capture.tool_name, unknown.observe_failure)
    else:
        rule = _EVENTS.get(capture.event_name, _skip("an event that says nothing about the work"))
    told = rule(capture)
    if capture.event_name in _ENDS_A_TURN and isinstance(told, Observation):
        told = conversation.with_reason(told, prompt)
    return _fit(
        told, compaction.OBSERVATION_CHARS if capture.event_name == compaction.NAME else OBSERVATION_CHARS
    )


def fold(captures: Sequence[Capture], *, prompt: str | None = None) -> Observation | Skip:
    """Return one observation for consecutive events, most of them looks: what was read and found."""
    if len(captures) == 1:
        return observe(captures[0], prompt=prompt)
    return _fit(reading.tell([_look(capture) for capture in captures]))


def _look(capture: Capture) -> reading.Look | Skip:
    if is_lookup(capture):
        return reading.look(capture)
    other = observe(capture)
    if isinstance(other, Skip):
        return other
    return reading.Look("", other.title, "", other.summary, other.files_touched)


def _is_note(capture: Capture) -> bool:
    """Tell whether an editing tool changed one of the client's own notes, PROJECTS/SLUG/memory/….

    PROJECTS is the folder above that of the session's transcript, or ~/.claude/projects.
    """
    if capture.tool_name not in EDITORS:
        return False
    path = os.path.normpath(fields.argument(capture, "file_path") or ".")
    transcript = fields.text(capture.payload, "transcript_path")
    folders = [os.path.dirname(os.path.dirname(transcript)), os.path.expanduser("~/.claude/projects")]
    for projects in folders:
        if len(projects) > 1 and path.startswith(f"{projects}/"):
            inside = path[len(projects) + 1 :].split("/")
            if len(inside) > 2 and inside[1] == "memory":  # noqa: PLR2004  (slug, memory, file)
                return True
    return False


def _fit(result: Observation | Skip, chars: int = OBSERVATION_CHARS) -> Observation | Skip:
    """Cut an observation to `chars` characters, which a rule may exceed on an odd event."""
    if isinstance(result, Skip):
        return result
    title = one_line(result.title).rstrip(". ")
    summary = clip(result.summary, chars - len(title)).strip()
    room = chars - len(title) - len(summary)
    detail = clip(result.detail, room).strip() if result.detail and room > 0 else None
    return Observation(title, summary, detail or None, result.files_touched, result.functions_changed)


def _skip(reason: str) -> Rule:
    return lambda _capture: Skip(reason)


_EVENTS: dict[str, Rule] = {
    "UserPromptSubmit": conversation.observe_prompt,
    teammates.RECEIVED: conversation.observe_teammate,
    "Stop": conversation.observe_report,
    "SubagentStop": conversation.observe_report,
    "SessionStart": _skip("the start of a session"),
    "SessionEnd": _skip("the end of a session"),
    "PreCompact": _skip("a compaction"),
    "PostCompact": conversation.observe_compaction,
    "StopFailure": conversation.observe_api_failure,
}
_TOOLS: dict[str, Rule] = {
    **dict.fromkeys(reading.LOOKS, reading.observe),
    "Agent": conversation.observe_agent,
    "AskUserQuestion": conversation.observe_answers,
    "Bash": bash.observe,
    "EnterPlanMode": _skip("a change of mode"),
    "ExitPlanMode": conversation.observe_plan,
    "NotebookEdit": edits.observe_notebook,
    "Skill": conversation.observe_skill,
    "Task": conversation.observe_agent,
    "TaskCreate": conversation.observe_task,
    **dict.fromkeys(("TaskGet", "TaskList"), _skip("a look at the task list")),
    "TaskUpdate": _skip("progress in a task list"),
    "TodoWrite": conversation.observe_todos,
    "ToolSearch": _skip("a search for tools"),
    "WebFetch": reading.observe_fetch,
    "WebSearch": reading.observe_search,
}
_FAILED_TOOLS = {name: _TOOLS[name] for name in ("Bash", "ToolSearch", *reading.LOOKS)}
