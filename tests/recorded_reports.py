"""What the tests of reports share: a memory of the recorded history, on a disk that changes with it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from test_learned_history import play

from claude_mem_lite.cli import demo
from claude_mem_lite.codemap import graph, kept
from claude_mem_lite.reports import gather
from claude_mem_lite.reports.model import Report

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import recorded_ledger


def play_history(folder: Path, monkeypatch: Any) -> list[str]:
    """Work the recorded sessions off as the consumer does, in a folder, and return their ids."""
    folder.mkdir()
    sessions: dict[str, list[dict[str, Any]]] = {}
    for event in recorded_ledger.events(folder):
        sessions.setdefault(event["session_id"], []).append(event)
    monkeypatch.setattr(demo, "PROJECT", str(folder))
    for events in sessions.values():
        for event in events:
            recorded_ledger.apply(event, folder)
        play(events)
    kept.scan(str(folder))
    graph.refresh(str(folder), "")
    return list(sessions)


def gathered(**options: Any) -> Report:
    """Return a report as of now."""
    return gather.gather(**({"daily_budget_usd": 1.0, "now": time.time()} | options))
