"""The recorded sessions of tests/data, the facts in them, and what a memory stored of them."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.distill import record
from claude_mem_lite.importers import meanwhile
from claude_mem_lite.learnings import evolve, session
from claude_mem_lite.storage import models, queries

DATA = Path(__file__).parent.parent / "data"


def restore(text: str) -> str:
    """Put the planted secrets back into a text of the recorded history."""
    coded = json.loads((Path(demo.HISTORY) / "secrets.json").read_text())
    for token, value in coded.items():
        text = text.replace(token, base64.b64decode(value).decode()[::-1])
    return text


FACTS: dict[str, Any] = json.loads(restore((DATA / "ledger" / "facts.json").read_text()))


def events(version: str) -> Iterator[dict[str, Any]]:
    """Yield the first session as a client of that version sent it, or all four for `all`."""
    if version in {"all", "2.1.329"}:
        first = next(demo.recorded_events())["session_id"]
        yield from (
            event for event in demo.recorded_events() if version == "all" or event["session_id"] == first
        )
    else:
        yield from map(json.loads, restore((DATA / "ledger" / f"{version}.jsonl").read_text()).splitlines())


def play(events: list[dict[str, Any]]) -> str:
    """Process a session as the consumer does and return its id."""
    for event in events:
        inbox.append(json.dumps(event), demo.PROJECT)
        for event_id in queries.unfinished_events():
            row = queries.pending_event(event_id)
            if row.event_name in {"Stop", "SessionEnd"}:
                meanwhile.take_in(row)
            if record.record_event(row):
                evolve.check_code(demo.PROJECT, row.session_id)
    session_id: str = events[0]["session_id"]
    record.summarize_session(session_id, retell=True)
    session.learn(session_id)
    return session_id


def comparable(row: models.Observation) -> tuple[str, str, tuple[str, ...], str]:
    """Return an observation without what differs between runs: hashes, times, addresses."""
    text = re.sub(r"\b[0-9a-f]{7}\b|0x[0-9a-f]+|\b\d+\.\d+ ?s\b", "#", f"{row.title}\n{row.summary}")
    return (row.tool_name, text.split("\n", 1)[0], tuple(row.files_touched), text)


def leaks(folder: Path) -> list[tuple[str, str]]:
    """Return file and first characters of each planted secret or private passage found in a folder."""
    forbidden = [fact["value"] for fact in FACTS["secrets"] + FACTS["private"]]
    forbidden += [json.dumps(value)[1:-1] for value in forbidden if not value.isascii()]
    files = [path for path in folder.rglob("*") if path.is_file()]
    contents = [(path.name, path.read_bytes()) for path in files]
    return [(name, value[:6]) for name, text in contents for value in forbidden if value.encode() in text]
