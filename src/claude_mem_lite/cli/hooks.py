"""install-hooks and uninstall-hooks: set up memory for Claude Code and other clients, or undo that."""

import os
from typing import Annotated, Any

import typer
from rich.markup import escape

from claude_mem_lite import config, installed, keys, settings
from claude_mem_lite.cli import setup
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, ClientName, Quiet, Yes
from claude_mem_lite.cli.output import console, errors, print_json, working
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install, other_clients, plugin

For = Annotated[
    list[ClientName] | None,
    typer.Option("--for", metavar="CLIENT", help=f"Only {', '.join(ClientName)}; may be repeated."),
]


@app.command("install-hooks")
def install_hooks(  # noqa: PLR0913  (each is an option of the command)
    *,
    wanted: For = None,
    all_clients: Annotated[
        bool, typer.Option("--all", help="Register every client that has run here, without asking.")
    ] = False,
    client: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Claude Code's version, if `claude --version` cannot be asked."),
    ] = None,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Set up memory for Claude Code: hooks, skill, services, and an import of past sessions.

    On a terminal it lists the changes and asks first. Without a terminal it
    registers only the hooks and the skill; [bold]--yes[/bold] does everything.
    Nothing else in the client's settings changes, and
    [bold]claude-mem uninstall-hooks[/bold] restores every byte.

    It asks about each other client that has run here, such as Codex.
    """
    config.refuse_foreign_memory()
    is_silent = quiet or as_json
    is_whole = yes or (setup.is_asked() and not is_silent)
    told: dict[str, Any] = {}
    past = None
    if not wanted or ClientName.CLAUDE_CODE in wanted:
        version = client or install.installed_client()
        if is_whole:
            from claude_mem_lite.cli import transcripts

            past = transcripts.to_take_in()
        if is_whole and not is_silent:
            setup.agree(version, past, yes=yes)
        told = _for_claude_code(version, is_silent=is_silent, is_short=is_whole)
    others = _others(wanted, all_clients=all_clients, is_silent=is_silent)
    done = [other_clients.install(each) for each in others]
    installed.claim()
    if not is_silent:
        _tell_others(done)
    if is_whole:
        setup.offer_claude(yes=yes)
        services = setup.start_services(quiet=is_silent)
        if not is_silent:
            console.print(escape(services))
        setup.import_past(past, yes=yes, quiet=is_silent)
    clients = {"clients": [each._asdict() for each in done]} if done else {}
    if print_json(told | clients, as_json=as_json) or quiet:
        return
    if is_whole:
        setup.tell_what_is_next(past)
    else:
        console.print("Sessions that start from now on are remembered.")


def _tell_others(done: list[other_clients.Registration]) -> None:
    """Print what was registered with each other client."""
    for each in done:
        name = other_clients.CLIENTS[each.client].told
        console.print(
            f"{name}: {'installed' if each.changed else 'already installed'}: {', '.join(each.events)}"
        )
        console.print(escape(f"Settings  {each.settings}\nTo do     {each.advice}"))


def _for_claude_code(version: str | None, *, is_silent: bool, is_short: bool) -> dict[str, Any]:
    """Install for Claude Code and print the result, unless silent; return it for --json."""
    from claude_mem_lite.codemap import languages, sources

    done = install.install(client_version=version)
    installed.claim()
    chosen = settings.load()
    folder = config.place(os.getcwd())[1]
    is_repository = os.path.exists(os.path.join(folder, ".git"))
    unmapped = languages.advice(sources.unmapped(folder)) if is_repository else ""
    about_key = keys.about(chosen.credential.source if chosen.credential else "", chosen.api_key_from)
    if is_short and not is_silent:
        console.print(f"Hooks and skill {'are' if done.changed else 'were already'} registered.")
    elif not is_silent:
        console.print(f"{'Installed' if done.changed else 'Already installed'}: {', '.join(done.events)}")
        console.print(escape(f"Settings  {done.settings}\nSkill     {done.skill}"))
        console.print(escape(f"Key       {about_key}"))
    if unmapped and not is_silent:
        console.print(escape(f"Code map  {unmapped}"))
    return {**done._asdict(), "key": about_key, "languages": unmapped}


def _others(
    wanted: list[ClientName] | None, *, all_clients: bool, is_silent: bool
) -> list[other_clients.Client]:
    """Return the other clients to install for: those named, all, or those that the user confirms."""
    if wanted:
        return [other_clients.CLIENTS[each] for each in wanted if each != ClientName.CLAUDE_CODE]
    chosen = []
    for each in other_clients.here():
        if all_clients or other_clients.registered(each):
            chosen.append(each)
        elif is_silent or not setup.is_asked():
            if not is_silent:
                command = f"claude-mem install-hooks --for {each.name}"
                console.print(f"{each.told} has run here, too; to set it up: {command}")
        elif typer.confirm(f"{each.told} has run here, too. Install the hooks for it?"):
            chosen.append(each)
    return chosen


@app.command("uninstall-hooks")
def uninstall_hooks(*, wanted: For = None, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Remove the hooks and the skill from every client and stop the services; the memory stays."""
    removed = install.uninstall() if not wanted or ClientName.CLAUDE_CODE in wanted else False
    others = [each for each in other_clients.CLIENTS.values() if not wanted or each.name in wanted]
    gone = [each for each in others if other_clients.uninstall(each)]
    left = plugin.enabled(install.claude_dir()) if not wanted or ClientName.CLAUDE_CODE in wanted else None
    if not (wanted or left):
        _stop_services(quiet=quiet or as_json)
    names = [each.name for each in gone]
    told = {"uninstalled": removed, "plugin": left.plugin_id if left else None, "clients": names}
    if not print_json(told, as_json=as_json) and not quiet:
        is_said = removed or gone
        console.print("Uninstalled." if is_said else "Nothing to uninstall: no hooks were in the settings.")
        for each in gone:
            console.print(escape(f"{each.told}: {each.path}"))
        if left:
            console.print(escape(f"{left.told} stays: {left.removal}"))
        elif is_said:
            where = escape(setup.short(config.home()))
            console.print(f"Your memory stays in {where}. To delete it, delete that folder.")
            if os.path.isdir(config.backup_dir()):
                console.print(f"Backups of it stay in {escape(setup.short(config.backup_dir()))}.")


def _stop_services(*, quiet: bool) -> None:
    """Stop the services, which are of no use without hooks; only warn if that fails."""
    from claude_mem_lite.services import supervise

    try:
        with working("stopping the services", quiet=quiet):
            supervise.down()
    except (ClaudeMemError, OSError) as error:
        errors.print(escape(f"could not stop the services: {error}"))
