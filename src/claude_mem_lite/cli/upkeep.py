"""prune, forget and reindex: delete old rows, delete on request, rebuild indexes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from claude_mem_lite import config, settings
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.guards import sync
from claude_mem_lite.cli.options import AsJson, Yes, when
from claude_mem_lite.cli.output import (
    confirmed,
    console,
    open_memory,
    print_json,
    print_line,
    print_warning,
    print_warnings,
    working,
)
from claude_mem_lite.cli.text import size
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.text import count, join

if TYPE_CHECKING:
    from claude_mem_lite.forget.purge import Forgotten
    from claude_mem_lite.upkeep.reindex import Found

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print what would be deleted.")]

_ALL_WELL = "Nothing was wrong; full text and indexes were rebuilt all the same."
_SHORTEST_TEXT = 3
_FORGOTTEN = {
    "sessions": "session",
    "observations": "observation",
    "learnings": "learning",
    "raw_events": "raw event",
    "functions": "function",
    "function_changes": "function change",
    "calls": "call",
    "log_entries": "logged event",
    "messages": "message",
    "log_lines": "log line",
    "spool_files": "spooled event",
    "shared_lines": "line of colleagues",
}
_PRUNED = {
    "events": "raw event",
    "event_log": "logged event",
    "log_files": "log file",
    "spool_files": "broken spool file",
}


@app.command()
def prune(
    *,
    older_than: Annotated[
        str | None, when("Delete what is older: 12h, 2d, 3w, 2026-11-01.", metavar="AGE")
    ] = None,
    keep_raw: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Keep the newest N raw events, however old.")
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete old processed data: raw events, event log entries, log files, broken spool files.

    The consumer does so every hour, as the table "retention" of config.toml
    says. The memory, records of cost, and waiting events stay.
    """
    from claude_mem_lite.forget import store
    from claude_mem_lite.storage import files
    from claude_mem_lite.upkeep import retention

    open_memory()
    within = retention.limits(settings.load().retention, now=dt.datetime.now(dt.UTC))
    if older_than is not None:
        within = dataclasses.replace(within, events_before=older_than, logs_before=older_than)
    if keep_raw is not None:
        within = dataclasses.replace(within, keep_raw=keep_raw)
    before, problems = files.sizes(), list[str]()
    if dry_run:
        pruned = retention.prunable(within)
    else:
        with working("pruning", quiet=as_json):
            pruned = retention.prune(within)
            problems = store.purge() if store.is_unpurged() else list(map(files.vacuum, files.paths()))
    problems = [f"{problem}; the rest is done: run claude-mem prune again" for problem in problems if problem]
    after = files.sizes()
    counts = dataclasses.asdict(pruned)
    if not print_json({
        "dry_run": dry_run, "pruned": counts, "bytes_before": before, "bytes_after": after,
        "problems": problems,
    }, as_json=as_json):  # fmt: skip
        said = join([count(number, _PRUNED[name]) for name, number in counts.items() if number], limit=9)
        went = "would be deleted" if dry_run else "deleted"
        print_line(f"{said} {went}." if said else "Nothing to prune.")
        _print_sizes(before, after)
        print_warnings(problems)
    if problems:
        raise typer.Exit(1)


@app.command()
def forget(  # noqa: PLR0913  (each is an option of the command)
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID", help="Ids of observations, sessions or learnings, or their first letters."
        ),
    ] = None,
    *,
    session: Annotated[
        str, typer.Option(metavar="ID", help="Delete a session and everything made from it.")
    ] = "",
    project: Annotated[str, typer.Option(metavar="PATH", help="Delete everything about a project.")] = "",
    file: Annotated[str, typer.Option(metavar="PATH", help="Delete everything about a file.")] = "",
    since: Annotated[str | None, when("Everything since then: 2026-11-01, 12h, 2d.")] = None,
    until: Annotated[str | None, when("Everything before then; with --since, between the two.")] = None,
    match: Annotated[
        str, typer.Option(metavar="TEXT", help="Delete everything that contains this text, ignoring case.")
    ] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete for good: no byte is left in the databases, the vectors, the logs and the spool.

    What was derived only from deleted rows goes, too; a session that keeps
    other observations gets a new summary. Running services are stopped
    meanwhile. Your own files stay, and what they say is read again.
    """
    from claude_mem_lite.forget import marking
    from claude_mem_lite.forget import purge as forgetting
    from claude_mem_lite.forget.wanted import Wanted
    from claude_mem_lite.services import supervise
    from claude_mem_lite.storage import projects
    from claude_mem_lite.upkeep import backup

    ways = {"ID": ids, "--session": session, "--project": project, "--file": file,
            "--since or --until": since or until, "--match": match}  # fmt: skip
    given = [name for name, value in ways.items() if value]
    if len(given) != 1:
        said = f"{' and '.join(given)} exclude each other" if given else f"give one of {', '.join(ways)}"
        raise typer.BadParameter(said)
    if match and len(match.strip()) < _SHORTEST_TEXT:
        raise typer.BadParameter(f"--match needs {_SHORTEST_TEXT} characters or more")
    open_memory()
    problems = [] if dry_run else _finished(quiet=as_json)
    project_dir = marking.project_of(project) if project else ""
    wanted = Wanted(
        ids=marking.whole_ids(ids or ()),
        session_id=marking.whole_session(session) if session else "",
        project_dir=project_dir,
        folders=tuple(projects.folders(project_dir)) if project else (),
        files=_paths(file) if file else (),
        since=since or "",
        until=until or "",
        text=match,
    )
    found = forgetting.forgettable(wanted)
    of_project = f" of the project {wanted.project_dir}" if project else ""
    if not dry_run and any(dataclasses.astuple(found)):
        confirmed(f"To be forgotten for good: {told(found)}{of_project}.", yes=yes)
        with working("forgetting", quiet=as_json):
            found, problems = forgetting.forget(wanted, paused=supervise.paused())
        sync()
    copies = backup.older_copies()
    if not print_json({
        "dry_run": dry_run, "project": wanted.project_dir, "forgotten": dataclasses.asdict(found),
        "problems": problems, "older_copies": copies,
    }, as_json=as_json):  # fmt: skip
        went = "Would be forgotten" if dry_run else "Forgotten"
        said = (
            f"{went}: {told(found)}{of_project}."
            if any(dataclasses.astuple(found))
            else "Nothing matches; nothing was deleted."
        )
        print_line(said)
        left = [f"{copy} has the memory from before a restore; it was not changed" for copy in copies]
        print_warnings([*problems, *left])
    if problems:
        raise typer.Exit(1)


@app.command()
def reindex(*, as_json: AsJson = False) -> None:
    """Rebuild search indexes from the stored memory, and report what was wrong.

    This covers the full text and the indexes of both databases. The consumer
    recomputes wrong vectors; [bold]claude-mem reembed[/bold] does so at once.
    """
    from claude_mem_lite.upkeep import reindex as indexing

    open_memory()
    with working("checking the indexes", quiet=as_json):
        found = indexing.reindex()
    if not print_json(dataclasses.asdict(found), as_json=as_json):
        for line in _wrong(found):
            print_line(line)
        if not found.left:
            console.print(_ALL_WELL if found.is_clean else "Full text and indexes were rebuilt.")
    for name, lines in found.left.items():
        said = f"{name} is damaged ({lines[0]}): to restore a backup: claude-mem restore FILE"
        print_warning(said)
    if found.left:
        raise typer.Exit(1)


def _wrong(found: Found) -> list[str]:
    """Return one line for each problem that could be repaired."""
    if found.left:
        return []
    lines = [f"The full text of {table} did not match its rows." for table in found.full_text]
    lines += [f"{name}: {line}" for name, said in found.indexes.items() for line in said]
    if found.unreadable:
        lines.append(f"All vectors will be computed again: {found.unreadable}.")
    if found.missing:
        lines.append(f"{count(found.missing, 'vector')} will be computed again: missing, or of another text.")
    if found.stray:
        lines.append(f"{count(found.stray, 'vector')} of deleted rows removed.")
    return lines


def _finished(*, quiet: bool) -> list[str]:
    """Finish a purge that was cut short; return the problems. Raises: ClaudeMemError if it fails again."""
    from claude_mem_lite.forget import store
    from claude_mem_lite.services import supervise

    if not store.is_unpurged():
        return []
    with working("finishing an interrupted deletion", quiet=quiet), supervise.paused() as problems:
        left = store.purge()
    if left:
        still = "an earlier deletion is unfinished, and its bytes may still be there; fix this and try again"
        raise ClaudeMemError(f"{still}: {', '.join(left)}")
    return problems


def told(found: Forgotten) -> str:
    """Return in words what is forgotten, and last how many sessions get a new summary."""
    said = [count(getattr(found, name), noun) for name, noun in _FORGOTTEN.items() if getattr(found, name)]
    if found.retold:
        said.append(f"the summary of {count(found.retold, 'session')} (rewritten)")
    return join(said, limit=len(said))


def _paths(path: str) -> tuple[str, ...]:
    """Return a file's absolute paths, seen from this folder or else from the top of its project.

    A file in a work tree or a clone is the project's: each of the project's folders may have it.
    """
    from claude_mem_lite.forget import marking

    given = os.path.expanduser(path)
    found: tuple[str, ...] = ()
    for folder in (os.getcwd(), config.place()[1]):
        absolute = os.path.normpath(os.path.join(folder, given))
        found = tuple(dict.fromkeys((absolute, os.path.realpath(absolute), *_elsewhere(absolute))))
        if os.path.exists(absolute) or marking.knows_file(found):
            break
    return found


def _elsewhere(path: str) -> list[str]:
    """Return the path of a project's file in each of the project's folders."""
    from claude_mem_lite.storage import projects

    tree = config.place(os.path.dirname(path))[1]
    inside = os.path.relpath(os.path.realpath(path), tree)
    return [os.path.join(folder, inside) for folder in projects.folders(projects.of(tree))]


def _print_sizes(before: dict[str, int], after: dict[str, int]) -> None:
    """Print the size of each part, and its size before if that has changed."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    for name, now in after.items():
        then = f"before {size(before[name])}" if before[name] != now else ""
        table.add_row(name, size(now), then)
    table.add_row("in all", size(sum(after.values())), "")
    console.print(table, soft_wrap=False)
