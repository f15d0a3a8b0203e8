"""service: have supervisord, launchd or systemd keep the services running."""

import os

import typer

from claude_mem_lite import installed
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import console, print_json, print_line, working
from claude_mem_lite.errors import ClaudeMemError

service = typer.Typer(no_args_is_help=True, help="Keep the services running with launchd or systemd.")
app.add_typer(service, name="service")


@service.command()
def install(*, as_json: AsJson = False) -> None:
    """Let launchd (macOS) or systemd (Linux) run the services, now and from each login on.

    A key in the environment does not reach them; one in config.toml does. To
    undo this: claude-mem service uninstall.
    """
    from claude_mem_lite.services import agents, supervise

    kind = agents.native()
    with working("starting", quiet=as_json):
        supervise.down()
        files = agents.install(kind)
        supervise.wait_until_serving()
        installed.claim()
    _print(kind, files, "run by", as_json=as_json)


@service.command()
def uninstall(*, as_json: AsJson = False) -> None:
    """Remove the launchd agents or systemd units; sessions start supervisord again."""
    from claude_mem_lite.services import agents

    kind = agents.installed()
    if kind is None:
        raise ClaudeMemError("neither launchd nor systemd runs the services; to stop them: claude-mem down")
    with working("stopping", quiet=as_json):
        files = agents.uninstall(kind)
    _print(kind, files, "no longer run by", as_json=as_json)


@service.command()
def status(*, as_json: AsJson = False) -> None:
    """Show what runs the services, and whether they are running; exit 1 if one is not."""
    from claude_mem_lite.services import agents, process_states

    kind = agents.installed()
    programs = process_states.programs()
    found = {
        "run_by": kind or "supervisor",
        "files": agents.paths(kind) if kind else [],
        "services": {program.name: {"state": program.state, "pid": program.pid} for program in programs},
    }
    if not print_json(found, as_json=as_json):
        console.print(f"run by {kind or 'supervisord'}")
        for program in programs:
            console.print(
                f"{program.name}  {program.state.lower()}{f', pid {program.pid}' if program.pid else ''}"
            )
        for path in agents.paths(kind) if kind else ():
            print_line(path, "dim")
    if any(program.state != "RUNNING" for program in programs):
        raise typer.Exit(1)


def _print(kind: str, files: list[str], how: str, *, as_json: bool) -> None:
    from claude_mem_lite.services import agents

    if print_json({"run_by": agents.installed() or "supervisor", "files": files}, as_json=as_json):
        return
    console.print(f"The services are {how} {kind}.")
    for path in files:
        print_line(f"{'wrote' if os.path.exists(path) else 'removed'} {path}", "dim")
