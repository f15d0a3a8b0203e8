"""demo: play four recorded sessions through the real hooks and services, in a temporary folder.

With --mine: show what the next session would be told, from the user's own transcripts.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import MofNCompleteColumn, Progress

from claude_mem_lite import config
from claude_mem_lite.cli import terminal
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.output import progress_bar
from claude_mem_lite.cli.terminal import say, style
from claude_mem_lite.cli.text import printable
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install
from claude_mem_lite.text import count, estimate_tokens

if TYPE_CHECKING:
    from claude_mem_lite.importers.importing import Plan
    from claude_mem_lite.importers.sessions import Session

HISTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo_history")
PROJECT = os.path.realpath("/home/dev/ledger")
QUESTION = "Why did Café from the bank's file not match?"
DRAIN_TIMEOUT_S = 60.0
# Dollars per million input tokens: Claude Sonnet's list price.
PRICE_PER_MILLION = 3.0
# At most this many sessions and bytes of the newest ones are read, in about half a minute.
MOST_SESSIONS, MOST_BYTES = 12, 24_000_000
# The sections of the start block that --mine shows: title, heading in the block, most lines.
_SECTIONS = (
    ("Where the last session stopped", "Where the work stands", 3),
    ("Rules learned", "Learned", 2),
    ("Commands that fail here", "Fails here", 2),
    ("Earlier work", "Earlier work", 3),
)
_LINES_TOLD = 3
# A line of a block: optional age and id, then the text.
_LINE = re.compile(r" *- (?:\[[^\]]*\] )?(?:[0-9a-f]{8} )?(.*)")


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a session; `told` picks the lines to show from the block that the hook prints."""

    title: str
    happens: str
    event: dict[str, Any]
    told: Callable[[str], list[str]]


def _stopped(block: str) -> list[str]:
    wanted = ("Asked last", "Came to", "Tests")
    return [line for line in lines_of(block, "Where the work stands") if line.startswith(wanted)]


MOMENTS = (
    Moment(
        "A question that memory answers",
        f"You ask: {QUESTION}",
        {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION},
        lambda block: lines_of(block)[:1],
    ),
    Moment(
        "A failure that memory prevents",
        "Claude opens ledger/storage.py, where WAL mode once broke the book:",
        {
            "hook_event_name": "PostToolUse",
            "tool_name": "Read",
            "tool_use_id": "read",
            "tool_input": {"file_path": f"{PROJECT}/ledger/storage.py"},
            "tool_response": {"file": {"content": ""}},
        },
        lambda block: [line for line in lines_of(block) if "NFS" in line][:1],
    ),
    Moment(
        "Where the last session stopped",
        "A session starts:",
        {"hook_event_name": "SessionStart", "source": "startup"},
        _stopped,
    ),
)


@app.command()
def demo(
    *,
    mine: Annotated[
        bool, typer.Option("--mine", help="Use your newest sessions of this project, read-only.")
    ] = False,
) -> None:
    """See memory at work: replay recorded sessions in a temporary folder, without a key or network."""
    if mine:
        _show_mine()
        return
    from claude_mem_lite.services import supervise

    started = time.monotonic()
    events = list(recorded_events())
    with _temporary_home():
        with progress_bar(MofNCompleteColumn()) as progress:
            task = progress.add_task("starting the services", total=None)
            supervise.up()
            progress.update(task, description="replaying tool calls through the hooks", total=len(events))
            for event in events:
                run_hook(event, project_dir=PROJECT)
                progress.advance(task)
            _drain(progress)
        _show_memory(len(events), time.monotonic() - started)
        _show_moments()
        with progress_bar(MofNCompleteColumn()) as progress:
            progress.add_task("stopping the services", total=None)
            supervise.down()
    show_next()


def show_next() -> None:
    """Print the two commands to run next, each on one line if it fits."""
    for begins, command, does in (
        ("Next:", "claude-mem demo --mine", "the same on your own sessions, nothing kept"),
        ("", "claude-mem install-hooks", "to set it up for your sessions"),
    ):
        whole = f"{begins:<7}{command:<27}{does}"
        if len(whole) <= terminal.columns():
            say(whole)
        else:
            say(f"{begins:<7}{command}")
            for line in terminal.wrapped(does, terminal.columns() - 7):
                say(f"{'':<7}{line}")


def recorded_events() -> Iterator[dict[str, Any]]:
    """Yield the events of four sessions on a small bookkeeping project, as Claude Code sent them.

    Their credentials are kept encoded in a separate file, so that nobody takes them for a leak.
    """
    with open(os.path.join(HISTORY, "secrets.json"), encoding="utf-8") as file:
        coded = json.load(file)
    secrets = {token: base64.b64decode(value).decode()[::-1] for token, value in coded.items()}
    for name in sorted(os.listdir(HISTORY)):
        if not name.endswith(".jsonl"):
            continue
        with open(os.path.join(HISTORY, name), encoding="utf-8") as file:
            text = file.read()
        for token, value in secrets.items():
            text = text.replace(token, value)
        for line in text.splitlines():
            yield json.loads(line)


def run_hook(event: dict[str, Any], *, project_dir: str) -> str:
    """Start the hook of an event as Claude Code does and return what it prints."""
    hook = install.hook_events()[event["hook_event_name"]]["hook"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")],
        input=json.dumps(event).encode(),
        capture_output=True,
        env={**os.environ, "CLAUDE_PROJECT_DIR": project_dir},
        check=True,
        timeout=30,
    )
    return done.stdout.decode()


def _drain(progress: Progress) -> None:
    from claude_mem_lite.storage import models, queries

    models.open_databases(read_only=True)
    waiting = queries.queue_stats()["messages"]
    task = progress.add_task("processing the remaining events", total=waiting)
    deadline = time.monotonic() + DRAIN_TIMEOUT_S
    while left := queries.queue_stats()["messages"]:
        if time.monotonic() > deadline:
            took = f"{DRAIN_TIMEOUT_S:.0f} s"
            raise ClaudeMemError(f"{left} of {waiting} events are unprocessed after {took}; try again")
        progress.update(task, completed=waiting - left)
        time.sleep(0.05)
    progress.update(task, completed=waiting)


def _show_memory(events: int, took_s: float) -> None:
    from claude_mem_lite.storage import queries

    counts = queries.counts()
    told = (
        f"Four recorded sessions on a small bookkeeping program, {events} events through the real hooks, "
        f"became {counts['observations']} observations in {took_s:.0f} s. {queries.redactions()} secrets "
        "were removed before the first write. What a new session gets from them:"
    )
    for line in terminal.wrapped(told, terminal.columns()):
        say(line)


def _told(session_id: str, moment: Moment) -> tuple[str, float]:
    """Return what Claude is told at a moment, and the milliseconds that the hook took.

    Hooks do not wait while the model loads, so this one is repeated until it prints. Raises: ClaudeMemError.
    """
    deadline = time.monotonic() + DRAIN_TIMEOUT_S
    while True:
        started = time.perf_counter()
        printed = run_hook({"session_id": session_id, "cwd": PROJECT, **moment.event}, project_dir=PROJECT)
        took_ms = (time.perf_counter() - started) * 1000
        if printed:
            return json.loads(printed)["hookSpecificOutput"]["additionalContext"], took_ms
        if time.monotonic() > deadline:
            raise ClaudeMemError(f"memory showed nothing for this part: {moment.title}; try again")
        time.sleep(0.5)


def _show_moments() -> None:
    """Show three moments of a new session: what happens, what Claude is told, and what that costs."""
    tokens = 0
    for number, moment in enumerate(MOMENTS, 1):
        block, took_ms = _told(f"new-{number}", moment)
        size = estimate_tokens(block)
        tokens += size
        cost = f"{took_ms:.0f} ms, {size:,} tokens"
        show_moment(f"{number}  {moment.title}", cost, moment.happens, moment.told(block))
    dollars = tokens * PRICE_PER_MILLION / 1_000_000
    say("")
    told = (
        f"All three: {tokens:,} tokens, ${dollars:.3f} of input at ${PRICE_PER_MILLION:.0f} a million; "
        "$0 to remember. Nothing is kept."
    )
    for line in terminal.wrapped(told, terminal.columns()):
        say(line)


@contextlib.contextmanager
def _temporary_home() -> Iterator[str]:
    """Use a temporary data directory; stop its services and remove it at the end, whatever happens."""
    from claude_mem_lite.services import supervise
    from claude_mem_lite.storage import models

    before = dict(os.environ)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    home = tempfile.mkdtemp(prefix="claude-mem-demo-")
    os.environ["CLAUDE_MEM_HOME"] = home
    try:
        yield home
    finally:
        try:
            supervise.down()
        finally:
            models.close_databases()
            shutil.rmtree(home, ignore_errors=True)
            os.environ.clear()
            os.environ.update(before)


def show_moment(title: str, cost: str, happens: str, told: list[str]) -> None:
    """Print one moment: a title with the cost at the right, what happens, and what Claude is told."""
    most = terminal.columns()
    gap = most - terminal.width(title) - terminal.width(cost)
    say("")
    if cost and gap > 1:
        say(f"{style(title, 'bold')}{' ' * gap}{style(cost, 'dim')}")
    else:
        say(style(terminal.cut(title, most), "bold"))
    if happens:
        say(f"   {terminal.cut(happens, most - 3)}")
    for each in told:
        lines = list(terminal.wrapped(each, most - 5))
        if len(lines) > _LINES_TOLD:
            lines = [*lines[: _LINES_TOLD - 1], terminal.cut(f"{lines[_LINES_TOLD - 1]} …", most - 5)]
            lines[-1] = lines[-1] if lines[-1].endswith("…") else f"{lines[-1]}…"
        for line in lines:
            say(f"   {style('│', 'good')} {line}")


def lines_of(block: str, *sections: str) -> list[str]:
    """Return the lines of a block, or of some of its sections, without their ids and ages.

    A line with nested lines below it is a title, and left out.
    """
    found, is_in = [], not sections
    for line, below in pairwise([*block.splitlines(), ""]):
        if line.startswith("## "):
            is_in = not sections or line[3:].startswith(sections)
        elif line.startswith("- ") and below.startswith("  - "):
            continue
        elif is_in and (match := _LINE.match(line)):
            found.append(match[1])
    return found


def _show_mine() -> None:
    """Import this project's newest sessions into a temporary memory; print what the next one would know."""
    from claude_mem_lite.cli.own_data import prepare
    from claude_mem_lite.context import builder
    from claude_mem_lite.evals.temporary import temporary_memory
    from claude_mem_lite.importers.importing import Import
    from claude_mem_lite.learnings import session as learnings
    from claude_mem_lite.storage import projects

    prepare()
    found = _newest()
    started = time.monotonic()
    with temporary_memory(model="none"), progress_bar(quiet=False) as progress:
        task = progress.add_task("reading", total=sum(each.size_bytes for each in found.sessions))
        run = Import(found, now=time.time(), learn=learnings.learn, make_room=lambda: None)
        for session in found.sessions:
            run.take(session)
            progress.advance(task, session.size_bytes)
        run.finish()
        last = found.sessions[-1]
        project = projects.of(last.work_tree or last.project_dir)
        block = builder.build(project, session_id="demo", now=time.time(), branch=last.branch)
    _tell_mine(found, run.taken.tool_calls, block.text, block.tokens, time.monotonic() - started)


def _newest() -> Plan:
    """Return the newest sessions of the current project, or of the one used last if it has none."""
    from claude_mem_lite.importers import importing

    folder = os.path.join(install.claude_dir(), "projects")
    if not os.path.isdir(folder):
        raise ClaudeMemError(
            f"Claude Code has no sessions: {folder} is not a folder. Use Claude Code once, then try again"
        )
    found = importing.plan(folder, has_memory=False)
    if not found.sessions:
        raise ClaudeMemError(f"{folder} has no sessions yet. Use Claude Code once, then try again")
    here = config.project_dir()
    mine = [each for each in found.sessions if here in {each.project_dir, each.work_tree}]
    project = (mine or found.sessions)[-1].project_dir
    taken: list[Session] = []
    size_bytes = 0
    for each in reversed([each for each in found.sessions if each.project_dir == project]):
        size_bytes += each.size_bytes
        if taken and (len(taken) == MOST_SESSIONS or size_bytes > MOST_BYTES):
            break
        taken.append(each)
    found.sessions = taken[::-1]
    return found


def _tell_mine(found: Plan, calls: int, text: str, tokens: int, took_s: float) -> None:
    project = printable(found.sessions[-1].project_dir)
    most = terminal.columns()
    say(style(terminal.cut(f"Your next session in {project} would know:", most), "bold"))
    is_empty = True
    for title, section, lines in _SECTIONS:
        if told := [printable(line) for line in lines_of(text, section)][:lines]:
            is_empty = False
            show_moment(title, "", "", told)
    if is_empty:
        say("Nothing yet: these sessions say too little, or are still running. Try again in two minutes.")
    say("")
    read = f"{count(len(found.sessions), 'session')} with {count(calls, 'tool call')} read in {took_s:.0f} s"
    cost = f"start block: {tokens:,} tokens; $0. Nothing is kept or sent."
    for line in terminal.wrapped(f"{read}; {cost}", most):
        say(style(line, "dim"))
    say("To set it up for your sessions:  claude-mem install-hooks")
