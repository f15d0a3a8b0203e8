"""Store what the user typed while the assistant worked, for which newer clients call no hook.

The transcript has it when the turn ends. Source: anthropics/claude-code issue 31114.
"""

import json
from collections import Counter

from claude_mem_lite.capture import inbox
from claude_mem_lite.capture.clients import CLAUDE_CODE, client_of
from claude_mem_lite.distill.record import record_event
from claude_mem_lite.importers import lines
from claude_mem_lite.importers.events import Origin, Reading, typed_meanwhile
from claude_mem_lite.redaction.events import scrub_as_set
from claude_mem_lite.storage import queries, timeline
from claude_mem_lite.storage.models import PendingEvent

# Bytes read from the end of a transcript; few turns write more.
_TURN_BYTES = 8 << 20


def take_in(ended: PendingEvent) -> None:
    """Store what the user typed during the turn that an event ends, under the ids that an import would use.

    Prompts that a hook has also received are left out. Earlier turns are left out too, because the user may
    have asked to forget something in them.
    """
    path = json.loads(ended.raw_output.encode("utf-8", "replace")).get("transcript_path")
    if not isinstance(path, str) or client_of(ended.raw_output) != CLAUDE_CODE:
        return
    began_at = timeline.turn_began_at(ended)
    try:
        typed = [
            line
            for line in lines.read(path, Counter(), now=ended.created_at, most_bytes=_TURN_BYTES)
            if line.at > began_at
            and line.said.get("sessionId") == ended.session_id
            and not line.said.get("isSidechain")
            and typed_meanwhile(line.said)
        ]
    except OSError:  # the transcript is gone, or belongs to another user
        return
    heard = queries.prompts_of(ended.session_id) if typed else set()
    for event in Reading(Origin(ended.session_id, path)).events(typed):
        told = json.dumps(event.payload, ensure_ascii=False).encode("utf-8", "replace").decode()
        text = scrub_as_set(told)
        prompt = json.loads(text).get("prompt", "").strip()
        if prompt and prompt not in heard and not prompt.startswith(queries.BY_THE_CLIENT):
            place = (ended.project_dir, ended.work_tree, event.branch or ended.branch)
            row = inbox.event_row(event.id, event.at, place, text, inbox.parse(text))
            with inbox.Transaction() as connection:
                inbox.insert_event(connection, row)
            if waiting := queries.waiting_event(event.id):
                record_event(waiting)
