"""demo --mine: show what the next session would be told, from the user's own transcripts."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from claude_mem_lite import config
from claude_mem_lite.cli import moments, terminal
from claude_mem_lite.cli.output import progress_bar
from claude_mem_lite.cli.own_data import prepare
from claude_mem_lite.cli.terminal import say, style
from claude_mem_lite.cli.text import printable
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install
from claude_mem_lite.text import count

if TYPE_CHECKING:
    from claude_mem_lite.importers.importing import Plan
    from claude_mem_lite.importers.sessions import Session

# So much of the newest sessions is read: half a minute.
MOST_SESSIONS, MOST_BYTES = 12, 24_000_000
# What of the block is shown, and at most so many lines of each section.
_SECTIONS = (
    ("Where the last session stopped", "Where the work stands", 3),
    ("What you said holds", "Learned", 2),
    ("What runs and fails here", "Fails here", 2),
    ("What was found out before", "Earlier work", 3),
)


def show() -> None:
    """Import the newest sessions of this project into a temporary memory, and print what comes of it."""
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
    _tell(found, run.taken.tool_calls, block.text, block.tokens, time.monotonic() - started)


def _newest() -> Plan:
    """Return the newest sessions of the current project; of the one worked on last where it has none."""
    from claude_mem_lite.importers import importing

    folder = os.path.join(install.claude_dir(), "projects")
    if not os.path.isdir(folder):
        raise ClaudeMemError(
            f"Claude Code has written no sessions yet: {folder} is no folder. Use it once, then try again"
        )
    found = importing.plan(folder, has_memory=False)
    if not found.sessions:
        raise ClaudeMemError(f"{folder} has no sessions of Claude Code yet. Use it once, then try again")
    here = config.project_dir()
    known = {each.project_dir for each in found.sessions}
    project = here if here in known else found.sessions[-1].project_dir
    taken: list[Session] = []
    size_bytes = 0
    for each in reversed([each for each in found.sessions if each.project_dir == project]):
        size_bytes += each.size_bytes
        if taken and (len(taken) == MOST_SESSIONS or size_bytes > MOST_BYTES):
            break
        taken.append(each)
    found.sessions = taken[::-1]
    return found


def _tell(found: Plan, calls: int, text: str, tokens: int, took_s: float) -> None:
    project = printable(found.sessions[-1].project_dir)
    most = terminal.columns()
    say(style(terminal.cut(f"Your next session in {project} would know:", most), "bold"))
    is_empty = True
    for title, section, lines in _SECTIONS:
        if told := [printable(line) for line in moments.lines_of(text, section)][:lines]:
            is_empty = False
            moments.show_moment(title, "", "", told)
    if is_empty:
        say("Nothing yet: these sessions say too little, or still run. Try again in two minutes.")
    say("")
    read = f"{count(len(found.sessions), 'session')} with {count(calls, 'tool call')} read in {took_s:.0f} s"
    for line in terminal.wrapped(f"{read}; a start of {tokens:,} tokens; $0. Nothing is kept or sent.", most):
        say(style(line, "dim"))
    say("To have it from now on:  claude-mem install-hooks")
