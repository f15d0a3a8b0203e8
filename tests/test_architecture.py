"""docs/architecture.md tells the truth: its folders are there, and an event takes the way that it says."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from starlette.requests import Request
from support.hooks import edit
from test_layers import HEIGHT, PACKAGE

from claude_mem_lite.capture import inbox
from claude_mem_lite.context.shown import ShownSessions
from claude_mem_lite.hooks import event, post_tool_use
from claude_mem_lite.tasks import broker, consumer
from claude_mem_lite.web import blocks

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


@contextlib.contextmanager
def calls() -> Iterator[list[str]]:
    """Note which functions of the package this thread calls, as `module.function`, by their first call."""
    first: dict[str, None] = {}
    found: list[str] = []

    def note(frame: FrameType, happened: str, _: object) -> None:
        module = frame.f_globals.get("__name__") or ""
        if happened == "call" and module.startswith("claude_mem_lite."):
            first[f"{module.removeprefix('claude_mem_lite.')}.{frame.f_code.co_qualname}"] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        found += first


def work(*, later_s: float = 0) -> None:
    """Run what is due in so many seconds, as a consumer's worker does."""
    at = dt.datetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(seconds=later_s)  # naive, as Huey's
    due = "UPDATE task SET due = max(0, due - ?)"  # 0 is now
    consumer.huey.storage.sql(due, (later_s,), commit=True)
    while task := consumer.huey.dequeue():
        consumer.huey.execute(task, at)


def test_an_event_goes_the_way_of_the_page(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a hook's stdin to the next session's context, each named function is called, in that order."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
    monkeypatch.setattr(broker, "POLL_S", 0)
    monkeypatch.setattr(consumer.huey, "storage", broker.ClaimStorage(inbox.QUEUE_NAME))
    monkeypatch.setattr(blocks, "shown_sessions", ShownSessions())
    (tmp_path / "book.py").write_text("def f():\n    return 2\n")
    edited = json.dumps(edit(str(tmp_path / "book.py"))).encode()
    ended = json.dumps({"session_id": "s1", "hook_event_name": "SessionEnd"}).encode()
    asked = f"project_path={tmp_path}&session_id=s2&hook=SessionStart&deadline={time.monotonic() + 60}"
    named = re.findall(r"^\d+\. `([\w.]+)`", PAGE, re.MULTILINE)

    with calls() as called:
        event.respond(edited, post_tool_use.ask)
        work()
        work(later_s=60)
        event.respond(ended)
        work()
        answer = blocks.context(Request({"type": "http", "query_string": asked.encode(), "headers": []}))
    consumer.huey.storage.close()

    assert [name for name in called if name in named] == named
    assert len(named) > 30
    told = json.loads(answer.body)["hookSpecificOutput"]["additionalContext"]
    assert "Changed, not committed: book.py (changed f)" in told


def test_the_page_has_every_folder_in_the_order_of_the_layers() -> None:
    """Its table goes down from the processes to the ground, as imports do."""
    rows = re.findall(r"^\| (`.+?`) \|", PAGE, re.MULTILINE)

    named = [re.findall(r"`(?:src/claude_mem_lite/)?(\w+)/?(?:\.py)?`", row) for row in rows]

    assert {name for row in named for name in row} == set(HEIGHT)
    heights = [HEIGHT[name] for row in named for name in row]
    assert heights == sorted(heights, reverse=True)


def test_each_path_of_the_page_is_there() -> None:
    """A path in backticks is one of the repository or of the package."""
    paths = re.findall(r"`([\w./-]+(?:/|\.(?:py|md|toml|json|conf)))`", PAGE)

    assert {path for path in paths if not (ROOT / path).exists() and not (PACKAGE / path).exists()} == set()
    assert len(paths) > 20
