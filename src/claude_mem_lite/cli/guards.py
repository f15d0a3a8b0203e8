"""learnings guard and guards: rules that are checked on tool calls, switched on by the user alone."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from claude_mem_lite.cli.app import AsJson, console, errors, open_memory, print_json
from claude_mem_lite.cli.text import age, printable
from claude_mem_lite.distill.observation import count, one_line
from claude_mem_lite.errors import ClaudeMemError

if TYPE_CHECKING:
    from claude_mem_lite.guards import Guard
    from claude_mem_lite.storage.models import Learning

_THEN = {
    "remind": "Claude reads the rule with the call's result (--ask: you are asked before it runs)",
    "ask": "Claude Code asks you before it runs",
}
ID_CHARS = 8
_SHOWN, _CALL_CHARS = 10, 100

Id = Annotated[str, typer.Argument(metavar="ID", help="The id, or its first 6 characters or more.")]
Project = Annotated[
    str, typer.Option(metavar="PATH", help="The project of this folder, instead of the current one's.")
]
Words = Annotated[list[str] | None, typer.Option("--without", metavar="WORD", help="… with this in it.")]


def sync() -> None:
    """Have the hook registered as long as a guard is on; say so on stderr where it cannot be."""
    from claude_mem_lite.services import install

    try:
        why = install.sync_guard()
    except ClaudeMemError as error:
        why = str(error)
    if why:
        errors.print(Text(f"No guard works yet: {why}", style="yellow"), soft_wrap=True)


def guard(  # noqa: PLR0913  (each is an option of the command)
    learning_id: Id,
    *,
    command: Annotated[
        list[str] | None, typer.Option("--command", metavar="TEXT", help="Look for this command, `git push`.")
    ] = None,
    without: Words = None,
    needs: Annotated[
        list[str] | None, typer.Option("--with", metavar="WORD", help="… that lacks this; `-n|--name`: both.")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option("--file", metavar="GLOB", help="Look for changes of these files.")
    ] = None,
    message: Annotated[
        str, typer.Option(metavar="REGEX", help="Look for commits whose first line does not match.")
    ] = "",
    ask: Annotated[
        bool | None, typer.Option("--ask/--remind", help="Have you asked before, or Claude reminded.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Switch the guard off.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show which past calls it would have noticed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Have a rule checked before each command and edit; it reminds or asks, and never denies.

    What to look for is taken from the rule's words, unless options say it. The rule is your own from then on.
    """
    from claude_mem_lite.guards import ASK, REMIND
    from claude_mem_lite.learnings import guarded
    from claude_mem_lite.storage import learnings as storage
    from claude_mem_lite.storage import projects

    described = (command, without, needs, file, message)
    if off and (dry_run or ask is not None or any(described)):
        raise typer.BadParameter("--off takes no other option")
    if os.environ.get("CLAUDECODE") and not dry_run:
        raise ClaudeMemError("a guard is yours to switch: run this in a terminal, outside of Claude Code")
    open_memory(read_only=dry_run)
    row = storage.get(learning_id)
    if off:
        _switch(row, None)
        told = f"{row.id[:ID_CHARS]} has no guard any more"
        print_json(_as_json(row, None)) if as_json else console.print(told)
        return
    project_dir = row.project_dir or projects.of()
    wanted = (
        guarded.given(
            mode=REMIND, commands=command or (), without=without or (), needs=needs or (), files=file or (),
            message=message,
        )
        if any(described)
        else guarded.guard_of(row) or guarded.understood(row, project_dir)
    )  # fmt: skip
    if ask is not None:
        wanted.mode = ASK if ask else REMIND
    found, calls = guarded.noticed(wanted, project_dir)
    if not dry_run:
        _switch(row, wanted)
    past = [
        {"at": call.at, "session_id": call.session_id, "tool": call.tool, "call": call.command or call.file,
         "because": because}
        for call, because in found
    ]  # fmt: skip
    if as_json:
        print_json({**_as_json(row, wanted), "is_on": not dry_run, "past_calls": calls, "noticed": past})
        return
    state = "would look for" if dry_run else "looks for"
    console.print(Text.assemble((row.id[:ID_CHARS], "yellow"), f"  {printable(row.content)}"), soft_wrap=True)
    console.print(Text(f"{state}: {printable(wanted.says)}"), soft_wrap=True)
    console.print(Text(f"then: {_THEN[wanted.mode]}"), soft_wrap=True)
    console.print(Text(f"would have noticed {len(past)} of {count(calls, 'past call')}"))
    for each in past[:_SHOWN]:
        line = f"  {age(each['at'], time.time())}  {printable(one_line(each['because'], _CALL_CHARS))}"
        console.print(Text(line, style="dim"), soft_wrap=True)
    if not dry_run:
        end = f"claude-mem learnings guard {row.id[:ID_CHARS]} --off"
        console.print(f"[dim]for sessions that start from now on; to end it: {end}[/dim]", soft_wrap=True)


def guards(
    *,
    project: Project = "",
    all_projects: Annotated[bool, typer.Option("--all-projects", "-a", help="Of all projects.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the rules with a guard, and those that could have one, with what it would look for."""
    from claude_mem_lite.learnings import guarded
    from claude_mem_lite.storage import projects

    if project and all_projects:
        raise typer.BadParameter("--project and --all-projects exclude each other")
    open_memory(read_only=True)
    project_dir = None if all_projects else projects.of(os.path.expanduser(project))
    on = [(row, guarded.guard_of(row)) for row in guarded.on(project_dir)]
    possible = [] if project_dir is None else guarded.possible(project_dir)
    if as_json:
        print_json(
            [{**_as_json(row, each), "is_on": True} for row, each in on]
            + [{**_as_json(row, each), "is_on": False} for row, each in possible]
        )
        return
    for row, each in on:
        _print(row, each, each.mode if each else "")
    for row, each in possible:
        _print(row, each, "off")
    if possible:
        console.print(
            "[dim]off: claude-mem learnings guard ID switches a guard on, --dry-run shows it first[/dim]"
        )
    if not on and not possible:
        console.print(Text("No rule here has a guard, or words that a call could show."))


def _print(row: Learning, guard: Guard | None, state: str) -> None:
    told = Text.assemble(
        (row.id[:ID_CHARS], "yellow"), "  ", (f"{state:<6}", "green" if state != "off" else "dim")
    )
    told.append(f"  {printable(row.content)}")
    if guard:
        told.append(f"  ({printable(guard.says)})", style="dim")
    console.print(told, soft_wrap=True)


def _switch(row: Learning, guard: Guard | None) -> None:
    from claude_mem_lite.learnings import curate

    curate.guard(row, guard)
    sync()


def _as_json(row: Learning, guard: Guard | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "project_dir": row.project_dir,
        "content": row.content,
        "guard": guard.as_json() if guard else None,
        "says": guard.says if guard else "",
    }
