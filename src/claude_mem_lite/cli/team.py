"""team: share chosen parts of a project with colleagues, and choose whom to trust."""

import dataclasses
import getpass
import time
from typing import Annotated

import typer
from rich.text import Text

from claude_mem_lite import keys
from claude_mem_lite.cli import hubs
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, Project, Yes, project_of
from claude_mem_lite.cli.output import confirmed, console, open_memory, print_json, print_line, print_warnings
from claude_mem_lite.cli.text import age, printable
from claude_mem_lite.text import count, one_line

team = typer.Typer(help="Share what you choose of a project with your team.", no_args_is_help=True)
app.add_typer(team, name="team")

_SHOWN, _CHARS = 50, 200

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A member's name or a machine's fingerprint, from team list.")
]


@team.command("join")
def join(
    hub: Annotated[
        str, typer.Argument(metavar="HUB", help="folder:PATH, git:URL, git:PATH#BRANCH or postgres:URL#ROLE.")
    ],
    *,
    code: Annotated[
        str, typer.Option(metavar="CODE", help="The team's code; the first member has none.")
    ] = "",
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Your name in the team; default: your login.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Join a team's hub. Nothing is shared until you say so: [bold]claude-mem team share[/bold]."""
    keys.refuse_session("whom you share with")
    from claude_mem_lite.sync.team import run

    open_memory(may_be_new=True)
    chosen = run.join(hub, name=name or getpass.getuser(), code=code)
    if print_json(dataclasses.asdict(chosen), as_json=as_json):
        return
    print_line(f"Joined {chosen.hub} as {chosen.name}, fingerprint {chosen.machine}.")
    console.print("Nothing is shared yet. To share a project, run in its folder: claude-mem team share")
    if not code:
        print_line(f"Your colleagues: claude-mem team join HUB --code {chosen.code}")


@team.command("share")
def share(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WHAT…]", help="learnings, findings, summaries, observations; all; nothing."),
    ] = None,
    *,
    prompts: Annotated[bool, typer.Option("--prompts", help="Include what you typed.")] = False,
    project: Project = "",
    as_json: AsJson = False,
) -> None:
    """Choose what the team gets of this project (learnings by default), and get what they share of it."""
    keys.refuse_session("what you share")
    from claude_mem_lite.sync.team import outgoing, run

    open_memory(may_be_new=True)
    project_dir = project_of(project)
    kinds = outgoing.chosen(what or [outgoing.LEARNINGS], with_prompts=prompts)
    run.share(project_dir, kinds)
    if print_json({"project": project_dir, "shared": kinds}, as_json=as_json):
        return
    said = ", ".join(kinds) or "nothing"
    print_line(f"{printable(project_dir)} shares {said} from the next sync on.")
    console.print("To see every line that would be sent: claude-mem sync --dry-run")


@team.command("list")
def list_team(*, as_json: AsJson = False) -> None:
    """List the members of the team, whom you trust, and what you share of each project."""
    from claude_mem_lite.storage import team as team_rows
    from claude_mem_lite.sync import setup
    from claude_mem_lite.sync.team import run

    chosen = setup.load(setup.TEAM)
    if chosen is not None:
        open_memory(may_be_new=True)
    authors, shared = team_rows.authors(), run.shared()
    if print_json({
        "hub": chosen.hub if chosen else "", "name": chosen.name if chosen else "",
        "authors": [dataclasses.asdict(each) for each in authors], "shared": shared,
        "last": setup.last(setup.TEAM),
    }, as_json=as_json):  # fmt: skip
        return
    if chosen is None:
        console.print("This machine is not in a team. To join one: claude-mem team join HUB")
        return
    last = setup.last(setup.TEAM)
    print_line(f"{chosen.hub}, as {chosen.name} ({chosen.machine}); synced {hubs.synced(last)}")
    for folder, kinds in shared.items():
        print_line(f"{printable(folder)} shares {', '.join(kinds) or 'nothing'}")
    for each in authors:
        state = f"trusted as {each.known_as}" if each.known_as else "not trusted: their lines wait"
        said = f"{each.machine}  {state}; {count(each.lines, 'line')}"
        said += f", {each.waiting} held back as suspicious" if each.waiting else ""
        console.print(Text.assemble((printable(each.name), "bold"), "  ", printable(said)))
    print_warnings(hubs.problems_of(last))


@team.command("show")
def show(
    name: Name,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most this many.")] = _SHOWN,
    as_json: AsJson = False,
) -> None:
    """Print what a colleague shares, trusted or not, and why a line is held back."""
    from claude_mem_lite.storage import team as team_rows
    from claude_mem_lite.sync.team import run

    open_memory(may_be_new=True)
    found = team_rows.lines_of([each.machine for each in run.machines_of(name)], limit=limit)
    if print_json([dataclasses.asdict(each) for each in found], as_json=as_json):
        return
    for each in found:
        line = each.line
        told = line.get("content") or line.get("command") or line.get("title") or line.get("summary") or ""
        said = Text.assemble((each.id[:8], "yellow"), f"  {age(each.at, time.time())}  {each.kind}: ")
        said.append(printable(one_line(told, _CHARS)))
        if each.waits:
            said.append(f"  (waits: {printable(each.waits)})", style="bold yellow")
        console.print(said)
    if not found:
        console.print(f"{printable(name)} shares nothing about the projects on this machine.")


@team.command("trust")
def trust(name: Name, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Let your sessions be told what a colleague shares, with their name; compare the fingerprint first.

    This covers the machines they have now; a new one waits until you trust it.
    """
    keys.refuse_session("whom you trust")
    from claude_mem_lite.sync.team import run

    open_memory(may_be_new=True)
    machines = [each for each in run.machines_of(name) if not each.known_as]
    if machines:
        prints = ", ".join(each.machine for each in machines)
        confirmed(
            f"Is {printable(name)}'s fingerprint {prints}? claude-mem team list shows it to them.", yes=yes
        )
    found = run.trust(name)
    if not print_json([dataclasses.asdict(each) for each in found], as_json=as_json):
        told = sum(each.lines - each.waiting for each in found)
        print_line(f"{printable(name)} is trusted: {count(told, 'line')} may be shown to sessions.")


@team.command("distrust")
def distrust(name: Name, *, as_json: AsJson = False) -> None:
    """Stop telling your sessions what a colleague shares; it waits again."""
    keys.refuse_session("whom you trust")
    from claude_mem_lite.sync.team import run

    open_memory(may_be_new=True)
    found = run.distrust(name)
    if not print_json([dataclasses.asdict(each) for each in found], as_json=as_json):
        print_line(f"{printable(name)} is not trusted; sessions are shown none of their lines.")


@team.command("leave")
def leave(
    *,
    erase: Annotated[
        bool, typer.Option("--erase", help="Withdraw what you shared, from every member.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Leave the team: what colleagues shared is deleted here; what you shared stays without --erase."""
    keys.refuse_session("whom you share with")
    from claude_mem_lite.sync.team import run

    confirmed("This deletes here what colleagues have shared, and whom you trust.", yes=yes)
    open_memory(may_be_new=True)
    run.leave(erase=erase)
    if not print_json({"left": True, "erased": erase}, as_json=as_json):
        console.print("You have left the team; your own memory stays as it is.")
