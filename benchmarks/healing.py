"""Measure what healing adds to the recorded project's call graph, judged by the calls its tests execute.

    python benchmarks/healing.py [--python PYTHON]

The recorded sessions are replayed on real files and recorded as the consumer does. Then the project's own
tests run under a profiler with PYTHON, which needs pytest and typer. "before" is the graph from the code,
"after" the graph healed by the sessions' observations. "strong" edges have a confidence of 0.75 or more.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import executed_calls
import recorded_ledger

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import file_index, graph
from claude_mem_lite.codemap.confidence import STRONG
from claude_mem_lite.codemap.heal import heal
from claude_mem_lite.codemap.project import Project
from claude_mem_lite.distill import record
from claude_mem_lite.storage import call_edges, code, models, queries

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored edge with dotted names."""

    caller: str
    callee: str
    confidence: float
    source: str
    is_class: bool


def main() -> None:
    """Replay the sessions, measure, heal, measure again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CLAUDE_MEM_HOME"] = os.path.join(scratch, "memory")
        folder = Path(os.path.realpath(scratch), "ledger")
        folder.mkdir()
        models.open_databases()
        replay(folder)
        project = Project(str(folder))
        project.scan()
        modules = project.modules()
        rows = executed_calls.recorded(str(folder), options.python, str(folder), ["tests"])
        names = executed_calls.called_names(str(folder), modules)
        before = stored(str(folder), modules)
        done = heal(str(folder))
        after = stored(str(folder), modules)
        print(f"healing: {done['confirmed']} edges confirmed, {done['discovered']} discovered")
        for title, with_tests in (("the package", False), ("with its tests as callers", True)):
            truth = executed_calls.Truth(rows, modules, names, with_tests=with_tests)
            report(f"{title}, before", truth, before, with_tests=with_tests)
            report(f"{title}, after", truth, after, with_tests=with_tests)
        models.close_databases()


def replay(folder: Path) -> None:
    """Replay the recorded sessions, and resolve the calls of the resulting code."""
    for event in recorded_ledger.events(folder):
        recorded_ledger.apply(event, folder)
        row = queries.pending_event(inbox.append(json.dumps(event), str(folder)))
        if row is not None:
            record.record_event(row)
    file_index.rescan(str(folder), file_index.Seen())
    graph.refresh(str(folder), "")


def stored(project_dir: str, modules: dict[str, str]) -> list[Stored]:
    """Return the resolved edges stored in the memory."""
    classes = {
        (row.file_path, row.qualified_name) for row in code.functions(project_dir) if row.kind == "class"
    }

    def dotted(path: str, name: str) -> str:
        return modules[path] if name == graph.MODULE else f"{modules[path]}.{name}"

    return [
        Stored(
            dotted(row.caller_file, row.caller_function),
            dotted(row.callee_file, row.callee_function),
            row.confidence,
            row.source,
            (row.callee_file, row.callee_function) in classes,
        )
        for row in call_edges.edges(project_dir)
        if row.resolution != call_edges.UNRESOLVED
    ]


def report(title: str, truth: executed_calls.Truth, edges: Iterable[Stored], *, with_tests: bool) -> None:
    """Print recall and precision of strong edges and of all edges."""
    print(f"{title}:")
    edges = list(edges)
    strong = [edge for edge in edges if edge.confidence >= STRONG]
    for name, some in (("strong", strong), ("all", edges)):
        found = executed_calls.compare(truth, some, with_tests=with_tests)
        shares = [f"{key} {hits / total:.3f} ({hits} of {total})" for key, (hits, total) in found.items()]
        print(f"  {name:7} {'   '.join(shares)}")


if __name__ == "__main__":
    main()
