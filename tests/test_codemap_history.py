"""The recorded history on a disk that changes with it: after each session the map is what the files hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.databases import work_off
from support.hooks import run_hook
from support.processes import wait_until
from support.recorded import DATA

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.codemap.project import Project
from claude_mem_lite.services import install
from claude_mem_lite.storage import call_edges, code, models, queries

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import recorded_ledger

FUNCTIONS: dict[str, Any] = json.loads((DATA / "ledger" / "functions.json").read_text())
WRITTEN_BY_SCRIPT = {"test_parse_amount", "test_parse_amount_refuses", "test_format_amount"}


def names(project_dir: str) -> dict[str, set[str]]:
    """Return the names of the functions in the map by file."""
    found: dict[str, set[str]] = {path: set() for path in code.source_files(project_dir)}
    for row in code.functions(project_dir):
        found[row.file_path].add(row.qualified_name)
    return found


def after_session(number: int) -> dict[str, set[str]]:
    """Return the names that are there after a session."""
    return {path: set(known) for path, known in FUNCTIONS["functions_after_session"][str(number)].items()}


def test_the_map_equals_the_files_after_each_session(
    memory: Path, tmp_path: Path, consumer: Callable[[], Any]
) -> None:
    """Through real hooks and a real consumer, with real files; calls are those of the final files."""
    folder = (tmp_path / "ledger").resolve()
    folder.mkdir()
    sessions: dict[str, list[dict[str, Any]]] = {}
    for event in recorded_ledger.events(folder):
        sessions.setdefault(event["session_id"], []).append(event)
    consumer()

    for number, events in enumerate(sessions.values(), start=1):
        for event in events:
            recorded_ledger.apply(event, folder)
            hook = install.hook_events()[event["hook_event_name"]]["hook"]
            run_hook(hook, event, project_dir=str(folder))
        wait_until(lambda: queries.queue_stats()["messages"] == 0)
        assert names(str(folder)) == after_session(number)

    final = {
        (path, each["name"], each["kind"], each["line"], each["end_line"])
        for path, known in FUNCTIONS["functions"].items()
        for each in known
    }
    assert {
        (row.file_path, row.qualified_name, row.kind, row.line, row.end_line)
        for row in code.functions(str(folder))
    } == {(path, name.replace(".<locals>", ""), *rest) for path, name, *rest in final}
    project = Project(str(folder))
    project.scan()
    stored = [
        edge
        for edge in call_edges.edges(str(folder), source="ast")
        if edge.resolution != call_edges.UNRESOLVED
    ]
    assert len(stored) == len(project.edges()) > 100
    assert {(row["file"], row["name"]) for row in FUNCTIONS["functions_gone"]} <= {
        (row.file_path, row.qualified_name)
        for row in models.FunctionChange.select().where(models.FunctionChange.change_type == "deleted")
    }


def test_the_events_alone_give_the_map(memory: Path) -> None:
    """Where the project's folder is not there, only what a script wrote is missing."""
    for event in demo.recorded_events():
        inbox.append(json.dumps(event), demo.PROJECT)
        work_off()

    wanted = after_session(4)
    wanted["tests/test_journal.py"] -= WRITTEN_BY_SCRIPT
    assert names(demo.PROJECT) == wanted
