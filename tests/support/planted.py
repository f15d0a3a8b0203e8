"""A memory with one word in every place that can hold it, and a search for what forgetting left behind."""

import json
import os
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.distill.record import summarize_session
from claude_mem_lite.kinds import KINDS
from claude_mem_lite.learnings import evolve
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.search.vectors import Vectors
from claude_mem_lite.storage import embeddings, facts, ledger, models, queries
from claude_mem_lite.storage.ledger import Call
from support.databases import rows, work_on
from support.hooks import tool_event

# A word found nowhere else, and its stem by FTS5's stemmer.
WORD, STEM = "Xylophagous", "xylophag"
DOOMED, KEPT = "doomed-session", "kept-session"
PROJECT, OTHER = "/home/dev/doomed", "/home/dev/kept"
THEN = "2026-01-05T10:00:00.000000Z"
KEY = "tiny_8"
SOURCE = f'''def parse():
    """Read {WORD} beetles."""
    return "{WORD}"
'''


def take_in(
    event: dict[str, Any], *, session_id: str, project_dir: str, at: str, is_done: bool = True
) -> str:
    """Append an event, process it as the consumer does, and return its id."""
    branch = f"of-{DOOMED}" if session_id == DOOMED else "main"
    event_id = inbox.append(json.dumps({**event, "session_id": session_id}), project_dir, branch=branch)
    with inbox.Transaction() as connection:
        connection.execute("UPDATE pending_queue SET created_at = ? WHERE id = ?", (at, event_id))
    if is_done:
        work_on(event_id)
    return event_id


def prompt(text: str) -> dict[str, Any]:
    """Return the event of a prompt."""
    return {"hook_event_name": "UserPromptSubmit", "prompt": text}


def written(path: str, source: str) -> dict[str, Any]:
    """Return the event of Claude writing a file."""
    given, response = {"file_path": path, "content": source}, {"type": "create", "filePath": path}
    return tool_event("Write", tool_input=given, tool_response=response)


def ran(command: str, output: str) -> dict[str, Any]:
    """Return the event of Claude running a command."""
    response = {"stdout": output, "stderr": "", "interrupted": False}
    return tool_event(tool_input={"command": command}, tool_response=response)


def embed_all() -> None:
    """Give every row a vector, as the consumer does."""
    store = Vectors(KEY, 8)
    for kind in KINDS:
        texts = list(embeddings.all_texts(kind))
        chance = np.random.default_rng(1)
        for row_id, project_dir, text in texts:
            vector = chance.normal(size=8).astype(np.float32)
            store.write(kind, [(row_id, project_dir, text, vector / np.linalg.norm(vector))])
        embeddings.mark_embedded(kind, [(row_id, text) for row_id, _, text in texts], model=KEY)


def plant(home: Path) -> None:
    """Write the word to every place that can hold it, beside rows that must stay."""
    place = {"session_id": DOOMED, "project_dir": PROJECT, "at": THEN}
    asked = take_in(prompt(f"Make the {WORD} parser faster, it is slow"), **place)
    take_in(prompt(f"From now on always call them {WORD} beetles"), **place)
    take_in(written(f"{PROJECT}/parser.py", SOURCE), **place)
    take_in(ran(f"pytest -k {WORD}", f"E   {WORD} failed\n1 failed in 0.1s"), **place)
    take_in({"hook_event_name": "Stop", "last_assistant_message": f"The {WORD} parser is fast now."}, **place)
    summarize_session(DOOMED)
    take_in(ran("make", f"{WORD} built"), **place, is_done=False)
    models.Session.update(key_decisions=[f"{WORD} first"], retold=f"All about {WORD}").execute()
    candidate = Candidate(f"Always call them {WORD} beetles", "convention", "user", observations=(asked,))
    evolve.take(candidate, session_id=DOOMED, project_dir=PROJECT, at=THEN)
    models.Learning.update(created_at=THEN).execute()
    queries.log_event("compress.failed", {"error": WORD}, session_id=DOOMED)
    ledger.record(Call("observations", "m", 0.5, 1, 1, session_id=DOOMED), now=0)
    facts.write(f"learnings {PROJECT}", {"faded_for": DOOMED})
    facts.write("gate", {"kind": "", "rejected": [asked]})
    inbox.enqueue(inbox.SHOWN, DOOMED, {"via": "recall", "ids": [asked], "text": WORD}, THEN)
    event = json.dumps({**ran("make", f"{WORD} spooled"), "session_id": DOOMED})
    (home / "spool" / f"{THEN}-0123456789abcdef").write_text(f"0123456789abcdef\0{THEN}\0{PROJECT}\0{event}")
    bad = home / "spool" / f"{THEN}-1.bad"
    bad.write_text(f"half an event of {DOOMED} in {PROJECT} about {WORD}")
    os.utime(bad, (inbox.unix_time(THEN), inbox.unix_time(THEN)))
    line = {"at": THEN, "level": "ERROR", "session_id": DOOMED, "project_dir": PROJECT, "message": WORD}
    for name in ("consumer.jsonl", "consumer.jsonl.2026-01-05"):
        with (home / "logs" / name).open("a") as log:
            later = f'{{"at": "2026-11-21T00:00:00.000Z", "message": "started {PROJECT}2"}}'
            log.write(f"{json.dumps(line)}\n{later}\n")

    place = {"session_id": KEPT, "project_dir": OTHER, "at": "2026-11-21T10:00:00.000000Z"}
    take_in(prompt("From now on use pathlib for all paths"), **place)
    take_in(written(f"{OTHER}/storage.py", "def save():\n    return 1\n"), **place)
    summarize_session(KEPT)
    embed_all()
    # Some builds of SQLite overwrite deleted rows by default; here the word must stay in free pages.
    models.memory_database.execute_sql("PRAGMA secure_delete = OFF")
    facts.write("large", {"text": f"{WORD} " * 20_000})
    models.State.delete().where(models.State.name == "large").execute()


def left(home: Path, *needles: str) -> set[tuple[str, str]]:
    """Return (file or source path, needle) for each place in the data directory that holds a needle."""
    found = set()
    for path in home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes().lower()
            found |= {(path.name, needle) for needle in needles if needle.lower().encode() in content}
    with closing(sqlite3.connect(config.memory_path())) as connection:
        for packed, name in connection.execute("SELECT packed, file_path FROM source_files"):
            if STEM in zlib.decompress(packed).decode("latin-1").lower():
                found.add((name, STEM))
    return found


def doomed_ids() -> list[str]:
    """Return the ids of the doomed session's events, learnings and functions."""
    ids = [event_id for (event_id,) in rows(f"SELECT id FROM pending_queue WHERE session_id = '{DOOMED}'")]
    learned = [row.id for row in models.Learning.select().where(models.Learning.project_dir == PROJECT)]
    functions = [row.id for row in models.FunctionMapEntry.select().where(
        models.FunctionMapEntry.session_id == DOOMED
    )]  # fmt: skip
    assert len(ids) == 6
    assert len(learned) == len(functions) == 1
    return [*ids, *learned, *functions]
