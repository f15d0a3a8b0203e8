"""Simulate one year: measure how large the memory grows, and how long searches and session starts take.

    python benchmarks/year.py [--events N] [--sessions M] [--projects P]

Plays the recorded history repeatedly, with other projects and names, at times spread over a year, on the
consumer's path and without a model. At 1, 10, 50 and 100 % of the events it prints the sizes of the files,
the times of a search and of a session's block over the socket of a real web process, and the growth of each
against the first. Then it applies the retention settings as of the year's end.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import measuring
import web_process
from rich.progress import Progress

from claude_mem_lite import config
from claude_mem_lite.capture import client, inbox
from claude_mem_lite.cli import demo
from claude_mem_lite.distill import record
from claude_mem_lite.learnings import session as learned
from claude_mem_lite.storage import models
from claude_mem_lite.tasks import periodic

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

SHARES = (0.01, 0.1, 0.5, 1.0)
ASKED = 30
QUESTIONS = (
    "why is the book not in WAL mode", "rounding of split amounts", "parse_amount", "bank statement encoding",
    "which library does the command line use", "test_three_postings", "backup checksum", "typer exit status",
)  # fmt: skip
LIMIT_MB = 500


def recorded() -> list[list[dict[str, Any]]]:
    """Return the recorded sessions."""
    sessions: dict[str, list[dict[str, Any]]] = {}
    for event in demo.recorded_events():
        sessions.setdefault(event["session_id"], []).append(event)
    return list(sessions.values())


def year(options: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each session's id, project and events (as JSON), until there are enough."""
    plays, chance, left = recorded(), random.Random(7), options.events
    for number in range(options.sessions):
        events = plays[number % len(plays)]
        wanted = min(left, max(1, options.events // options.sessions))
        project = f"/home/dev/project-{number % options.projects}"
        name = f"year-{number}"
        told = []
        for step in range(wanted):
            event = {
                **events[min(step, len(events) - 1)],
                "session_id": name,
                "tool_use_id": f"{name}-{step}",
            }
            if step == wanted - 1:
                event = {"hook_event_name": "SessionEnd", "session_id": name, "reason": "other"}
            text = json.dumps(event).replace(demo.PROJECT, project)
            told.append(text.replace("Entry", f"Entry{chance.randint(0, 400)}"))
        left -= wanted
        yield name, project, told


def take_in(name: str, project: str, events: list[str], at: dt.datetime) -> None:
    """Store a session's events as if they had come at that time, and process them."""
    ids = [inbox.append(event, project) for event in events]
    with inbox.Transaction() as connection:
        for step, event_id in enumerate(ids):
            stamp = inbox.utc_text((at + dt.timedelta(seconds=30 * step)).timestamp())
            connection.execute("UPDATE pending_queue SET created_at = ? WHERE id = ?", (stamp, event_id))
        connection.execute("DELETE FROM task")
    record.summarize_session(name, retell=True)
    learned.learn(name)


def sizes_mb() -> dict[str, float]:
    """Return the size in MB of each entry of the data directory."""
    found: dict[str, float] = {}
    for folder, _, files in os.walk(config.home()):
        for file in files:
            path = os.path.join(folder, file)
            top = (
                os.path.relpath(path, config.home())
                .split(os.sep)[0]
                .removesuffix("-wal")
                .removesuffix("-shm")
            )
            found[top] = found.get(top, 0.0) + os.lstat(path).st_size / 1e6
    return found


def ask_ms(path: str, asked: list[dict[str, str]]) -> tuple[float, float]:
    """Return median and 95th percentile of the requests' times, after one request to warm up."""
    took = []
    for parameters in [asked[0], *asked]:
        started = time.perf_counter()
        client.get(path, parameters, timeout_s=30)
        took.append((time.perf_counter() - started) * 1000)
    return statistics.median(took[1:]), measuring.p95(took[1:])


def measure(projects: int) -> dict[str, float]:
    """Return the present sizes and times."""
    with web_process.running():
        places = [f"/home/dev/project-{number % projects}" for number in range(ASKED)]
        search = ask_ms(
            "/api/search",
            [{"q": QUESTIONS[n % len(QUESTIONS)], "project": place} for n, place in enumerate(places)],
        )
        context = ask_ms("/api/context", [{"project_path": place, "session_id": "new"} for place in places])
    sizes = sizes_mb()
    return {
        "memory MB": sizes.get("claude-mem.db", 0.0),
        "queue MB": sizes.get("queue.db", 0.0),
        "all MB": sum(sizes.values()),
        "search p50 ms": search[0],
        "search p95 ms": search[1],
        "context p50 ms": context[0],
        "context p95 ms": context[1],
    }


def show(share: float, events: int, found: dict[str, float], first: dict[str, float]) -> None:
    """Print one line of figures, each with its growth against the first."""
    told = "  ".join(
        f"{name} {value:.1f} ({value / max(first[name], 1e-9):.1f} x)" for name, value in found.items()
    )
    print(f"{share:>4.0%} {events:>8,} events  {told}", flush=True)


def main() -> None:
    """Play the year; exit with 1 if the data directory is too large after retention."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--projects", type=int, default=10)
    options = parser.parse_args()
    end = dt.datetime.now(dt.UTC)
    first, done, due = None, 0, list(SHARES)
    with measuring.memory(model="none"):
        models.open_databases()
        with Progress(transient=True, disable=not sys.stdout.isatty()) as progress:
            task = progress.add_task("a year", total=options.events)
            for number, (name, project, events) in enumerate(year(options)):
                at = end - dt.timedelta(days=365 * (1 - number / options.sessions), hours=1)
                take_in(name, project, events, at)
                done += len(events)
                progress.update(task, completed=done)
                while due and done >= due[0] * options.events:
                    found = measure(options.projects)
                    first = first or found
                    show(due.pop(0), done, found, first)
        periodic.prune.call_local(now=end)
        models.memory_database.execute_sql("VACUUM")
        with inbox.Transaction() as connection:
            count = connection.execute("SELECT count(*) FROM pending_queue").fetchone()[0]
        models.close_databases()
        subprocess.run(
            [sys.executable, "-m", "claude_mem_lite.cli", "prune"], check=True, stdout=subprocess.DEVNULL
        )
        total_mb = sum(sizes_mb().values())
        print(f"after retention: {count:,} raw events, {total_mb:.1f} MB in all (limit {LIMIT_MB})")
    sys.exit(0 if total_mb < LIMIT_MB else 1)


if __name__ == "__main__":
    main()
