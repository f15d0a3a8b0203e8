"""import transcripts: import past Claude Code sessions from their transcripts."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_mem_lite import config, locks, settings
from claude_mem_lite.capture import clients, inbox
from claude_mem_lite.cli.app import INTERRUPTED, imports
from claude_mem_lite.cli.options import AsJson, ClientName, OnlyProject, when
from claude_mem_lite.cli.output import console, errors, open_memory, print_json, print_line, progress_bar
from claude_mem_lite.cli.text import printable, size
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install, other_clients
from claude_mem_lite.text import count, join

if TYPE_CHECKING:
    from claude_mem_lite.claude.import_cost import Estimate
    from claude_mem_lite.importers.importing import Import, Plan

_LOCK = "import.lock"


@imports.command("transcripts")
def import_transcripts(
    *,
    client: Annotated[
        ClientName, typer.Option("--from", metavar="CLIENT", help=f"{', '.join(ClientName)}.")
    ] = ClientName.CLAUDE_CODE,
    project: OnlyProject = "",
    since: Annotated[str | None, when("Sessions that began since: 2026-11-01, 12h, 2d.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what there is and what Claude would cost.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import a client's past sessions from its transcripts.

    Free and local: Claude is not asked unless you run [bold]claude-mem compress[/bold].
    Importing again adds only what is new; an interrupted import continues.
    """
    _folder(client)
    if not dry_run:
        take_in(client, project=project, since=since or "", as_json=as_json)
        return
    has_memory = _has_memory()
    if has_memory:
        open_memory(read_only=True)
    else:
        config.refuse_foreign_memory()
    _reckon(client, project, since or "", has_memory=has_memory, as_json=as_json)


def take_in(
    client: ClientName = ClientName.CLAUDE_CODE,
    *,
    project: str = "",
    since: str = "",
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Import a client's transcripts and print the result, unless `quiet`. Raises: ClaudeMemError."""
    open_memory(may_be_new=True)
    with locks.hold(_LOCK) as is_mine:
        if not is_mine:
            raise ClaudeMemError("another import is running: try again when it has finished")
        _take(client, project, since, as_json=as_json, quiet=quiet)


def to_take_in() -> Plan | None:
    """Return the plan for an import of Claude Code's transcripts; None if it has no folder of them."""
    from claude_mem_lite.importers import importing
    from claude_mem_lite.storage import models

    folder = os.path.join(install.claude_dir(), "projects")
    if not os.path.isdir(folder):
        return None
    has_memory = _has_memory()
    if has_memory:
        models.open_databases(read_only=True)
    try:
        return importing.plan(folder, has_memory=has_memory)
    finally:
        models.close_databases()


def _has_memory() -> bool:
    return os.path.exists(config.memory_path()) and os.path.exists(config.queue_path())


def _folder(client: ClientName) -> str:
    """Return where a client keeps its transcripts. Raises: ClaudeMemError where there are none."""
    if client == ClientName.CLAUDE_CODE:
        folder, variable = os.path.join(install.claude_dir(), "projects"), "CLAUDE_CONFIG_DIR"
    else:
        known = other_clients.CLIENTS[client]
        folder, variable = os.path.join(known.folder, known.transcripts), known.variable
    if not os.path.isdir(folder):
        raise ClaudeMemError(
            f"there are no transcripts: {folder} is not a folder. "
            f"If {clients.NAMES[client]} uses another one, set {variable}"
        )
    return folder


def _take(client: ClientName, project: str, since: str, *, as_json: bool, quiet: bool) -> None:
    from claude_mem_lite.importers import importing
    from claude_mem_lite.learnings import session as learnings
    from claude_mem_lite.storage import pruning, queries

    most_bytes = settings.load().retention.max_queue_mb << 20

    def make_room() -> None:
        if most_bytes and os.stat(config.queue_path()).st_size > most_bytes:
            pruning.prune(before="", most_bytes=most_bytes)

    started, before = time.monotonic(), queries.counts()["observations"]
    found = importing.plan(_folder(client), client=client, project_dir=_project(project), since=since)
    run = importing.Import(found, now=time.time(), learn=learnings.learn, make_room=make_room)
    is_cut_short = False
    try:
        with progress_bar(quiet=as_json or quiet) as progress:
            task = progress.add_task("importing", total=sum(each.size_bytes for each in found.sessions))
            for session in found.sessions:
                run.take(session)
                progress.advance(task, session.size_bytes)
    except KeyboardInterrupt:
        is_cut_short = True
    run.finish()
    if run.taken.sessions:
        inbox.ask_for_vectors()
    told = {
        **_told(found, len(run.taken.sessions), run.taken.tool_calls, run.taken.events),
        "projects": len(run.taken.projects),
        "observations": queries.counts()["observations"] - before,
        "took_s": round(time.monotonic() - started, 1),
        "usd": 0.0,
        "claude_usd": 0.0 if is_cut_short else _claude_usd(run),
        "is_cut_short": is_cut_short,
    }
    if not print_json(told, as_json=as_json) and not quiet:
        _show(told, found)
    if is_cut_short:
        errors.print("[yellow]stopped:[/yellow] what was imported is kept; to continue, run the same command")
        raise typer.Exit(INTERRUPTED)


def _reckon(client: ClientName, project: str, since: str, *, has_memory: bool, as_json: bool) -> None:
    """Print what an import would bring and what Claude would cost, without writing anything."""
    from claude_mem_lite.claude import import_cost
    from claude_mem_lite.importers import importing
    from claude_mem_lite.importers import store as asked
    from claude_mem_lite.learnings import session as learnings

    of = _project if has_memory else config.project_dir
    project_dir = of(os.path.expanduser(project)) if project else None
    found = importing.plan(
        _folder(client), client=client, project_dir=project_dir, since=since, has_memory=has_memory
    )
    now = time.time()
    with progress_bar(quiet=as_json) as progress:
        task = progress.add_task("estimating", total=sum(each.size_bytes for each in found.sessions))
        run = (
            importing.Import(found, now=now, learn=learnings.learn, make_room=lambda: None)
            if has_memory
            else None
        )
        reckoned = import_cost.estimate(
            found,
            settings.load(),
            now=now,
            news=lambda each: (
                run.news(each, asked.captured(each.session.id)) if run else each.events(after={})
            ),
            progress=lambda session: progress.advance(task, session.size_bytes),
        )
    if print_json({
        **_told(found, reckoned.sessions, reckoned.tool_calls, reckoned.events), "dry_run": True,
        "projects": len({each.project_dir for each in found.sessions}), "bytes": reckoned.size_bytes,
        "takes_s": round(reckoned.took_s, 1), "usd": 0.0, "claude_usd": round(reckoned.usd, 4),
    }, as_json=as_json):  # fmt: skip
        return
    _show_reckoned(reckoned, found)


def _told(found: Plan, sessions: int, tool_calls: int, events: int) -> dict[str, Any]:
    return {
        "sessions": sessions, "tool_calls": tool_calls, "events": events, "sessions_known": found.known,
        "left_out": dict(found.left_out),
    }  # fmt: skip


def _show(told: dict[str, Any], found: Plan) -> None:
    if told["sessions"]:
        said = (
            f"{count(told['sessions'], 'session')} of {count(told['projects'], 'project')}: "
            f"{count(told['tool_calls'], 'tool call')}, {count(told['observations'], 'observation')} "
            f"in {told['took_s']:.0f} s for $0."
        )
    else:
        said = "Nothing new."
    print_line(said)
    _show_left_out(found)
    if told["claude_usd"]:
        console.print(
            f"The rules wrote them. To have Claude rewrite them for about ${told['claude_usd']:.2f}: "
            "[bold]claude-mem compress --pending[/bold]"
        )


def _show_reckoned(reckoned: Estimate, found: Plan) -> None:
    projects = sorted({each.project_dir for each in found.sessions})
    print_line(
        f"{count(reckoned.sessions, 'session')} of {count(len(projects), 'project')} to import: "
        f"{count(reckoned.tool_calls, 'tool call')}, {size(reckoned.size_bytes)}, "
        f"about {duration(reckoned.took_s)}, $0."
    )
    for path in projects:
        number = sum(each.project_dir == path for each in found.sessions)
        print_line(f"  {printable(path)}: {count(number, 'session')}")
    _show_left_out(found)
    if reckoned.usd:
        console.print(f"To have Claude rewrite them afterwards would cost about ${reckoned.usd:.2f}.")


def _show_left_out(found: Plan) -> None:
    if found.known:
        console.print(f"Imported before, nothing new since: {count(found.known, 'session')}.")
    left_out = [count(number, what) for what, number in sorted(found.left_out.items())]
    if left_out:
        print_line(f"Left out: {join(left_out, limit=len(left_out))}.")
    if found.left_out["unfinished turn"]:
        print_line("What a session did in the last two minutes can be imported once it is older.")


def duration(seconds: float) -> str:
    """Return a time in words: seconds below 100, else minutes."""
    return f"{max(1, round(seconds))} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"  # noqa: PLR2004


def _claude_usd(run: Import) -> float:
    """Return the estimated dollars of `compress --pending` for the imported sessions."""
    from claude_mem_lite.cli.run import estimate
    from claude_mem_lite.storage import rewrites

    chosen, mine = settings.load(), set(run.taken.sessions)
    if not mine:
        return 0.0
    ids = rewrites.local_observations(chosen.tiers, sessions=mine)
    sessions = [each for each in rewrites.outdated_sessions(left=True) if each in mine]
    found = estimate(ids, sessions if chosen.tells_sessions else [], chosen, is_batch=False)
    return float(found["expected_usd"])


def _project(path: str) -> str | None:
    from claude_mem_lite.forget import marking

    return marking.project_of(path, may_be_new=True) if path else None
