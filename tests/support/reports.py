"""Shared by tests of reports: a memory of the recorded history, on a disk that changes with it."""

import datetime as dt
import sys
import time
from pathlib import Path
from typing import Any

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.codemap import file_index, graph
from claude_mem_lite.reports import gather
from claude_mem_lite.reports.model import Report
from support.commands import Done, command
from support.recorded import play

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import recorded_ledger


def play_history(folder: Path, monkeypatch: Any) -> list[str]:
    """Process the recorded sessions in a folder as the consumer does, and return their ids."""
    folder.mkdir()
    sessions: dict[str, list[dict[str, Any]]] = {}
    for event in recorded_ledger.events(folder):
        sessions.setdefault(event["session_id"], []).append(event)
    monkeypatch.setattr(demo, "PROJECT", str(folder))
    for events in sessions.values():
        for event in events:
            recorded_ledger.apply(event, folder)
        play(events)
    file_index.scan(str(folder))
    graph.refresh(str(folder), "")
    return list(sessions)


def gathered(**options: Any) -> Report:
    """Return a report at the current time."""
    return gather.gather(**({"daily_budget_usd": 1.0, "now": time.time()} | options))


def at(*moment: int) -> str:
    """Return a UTC time as the memory writes it."""
    return inbox.utc_text(dt.datetime(*moment, tzinfo=dt.UTC).timestamp())


def run(*arguments: str, columns: int = 100, cwd: Path | None = None) -> Done:
    """Print a report as a user does."""
    return command("report", *arguments, columns=columns, cwd=cwd)
