"""service: have supervisord, launchd or systemd keep the services running."""

import os
from typing import Annotated, Literal

import typer

from claude_mem_lite import installed
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, exclusive
from claude_mem_lite.cli.output import console, print_json, print_line, working
from claude_mem_lite.errors import ClaudeMemError

service = typer.Typer(no_args_is_help=True, help="Choose what keeps the services running.")
app.add_typer(service, name="service")

Launchd = Annotated[bool, typer.Option("--launchd", help="An agent of launchd (macOS), always on.")]
Systemd = Annotated[bool, typer.Option("--systemd", help="A user unit of systemd (Linux), always on.")]
Supervisor = Annotated[
    bool, typer.Option("--supervisor", help="Our own supervisord, started by sessions; the default.")
]


@service.callback()
def _group() -> None:
    """Choose what keeps the services running: by default our own supervisord, which sessions start."""


@service.command()
def install(
    *,
    launchd: Launchd = False,
    systemd: Systemd = False,
    supervisor: Supervisor = False,
    as_json: AsJson = False,
) -> None:
    """Have the services run by launchd or systemd from now on, with every login, always.

    Without an option it is what this system has. With --supervisor it is as it
    was before: a session starts them, and they stop when nobody needs them. A key
    in the environment does not reach launchd or systemd; one in config.toml does.
    """
    from claude_mem_lite.services import agents, supervise

    kind = _chosen(launchd=launchd, systemd=systemd, supervisor=supervisor) or agents.native()
    with working("starting", quiet=as_json):
        _leave(but=kind)
        if kind == "supervisor":
            files = []
            supervise.up()
        else:
            supervise.down()
            files = agents.install(kind)
            supervise.wait_until_serving()
            installed.claim()
    _print(kind, files, "run by", as_json=as_json)


@service.command()
def uninstall(*, as_json: AsJson = False) -> None:
    """Take the agents or units away; sessions start our own supervisord again."""
    from claude_mem_lite.services import agents

    kind = agents.installed()
    if kind is None:
        raise ClaudeMemError("neither launchd nor systemd runs the services: claude-mem down stops them")
    with working("stopping", quiet=as_json):
        files = _leave(but="supervisor")
    _print(kind, files, "no longer run by", as_json=as_json)


@service.command()
def status(*, as_json: AsJson = False) -> None:
    """Say what runs the services, and whether they run; exit 1 when they do not."""
    from claude_mem_lite.services import agents, process_states

    kind = agents.installed()
    programs = process_states.programs()
    found = {
        "run_by": kind or "supervisor",
        "files": agents.paths(kind) if kind else [],
        "services": {program.name: {"state": program.state, "pid": program.pid} for program in programs},
    }
    if as_json:
        print_json(found)
    else:
        console.print(f"run by {kind or 'supervisord'}")
        for program in programs:
            console.print(
                f"{program.name}  {program.state.lower()}{f', pid {program.pid}' if program.pid else ''}"
            )
        for path in agents.paths(kind) if kind else ():
            print_line(path, "dim")
    if any(program.state != "RUNNING" for program in programs):
        raise typer.Exit(1)


def _chosen(
    *, launchd: bool, systemd: bool, supervisor: bool
) -> Literal["launchd", "systemd", "supervisor", ""]:
    exclusive(launchd=launchd, systemd=systemd, supervisor=supervisor)
    if supervisor:
        return "supervisor"
    return "launchd" if launchd else "systemd" if systemd else ""


def _leave(*, but: str) -> list[str]:
    """Take away what else runs the services, and return the files that are gone."""
    from claude_mem_lite.services import agents

    kind = agents.installed()
    return agents.uninstall(kind) if kind is not None and kind != but else []


def _print(kind: str, files: list[str], how: str, *, as_json: bool) -> None:
    from claude_mem_lite.services import agents

    if as_json:
        print_json({"run_by": agents.installed() or "supervisor", "files": files})
        return
    console.print(f"The services are {how} {'supervisord' if kind == 'supervisor' else kind}.")
    for path in files:
        print_line(f"{'wrote' if os.path.exists(path) else 'removed'} {path}", "dim")
