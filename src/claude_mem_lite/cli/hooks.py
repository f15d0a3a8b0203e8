"""install-hooks and uninstall-hooks."""

from __future__ import annotations

import dataclasses
import os
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.markup import escape

from claude_mem_lite import config, installed, keys, settings
from claude_mem_lite.capture import clients
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.output import AsJson, Quiet, console, print_json
from claude_mem_lite.services import install, other_clients, plugin


class Name(StrEnum):
    """A client, as `--for` takes it."""

    CLAUDE_CODE = clients.CLAUDE_CODE
    CODEX = clients.CODEX
    GEMINI = clients.GEMINI


For = Annotated[
    list[Name] | None,
    typer.Option("--for", metavar="CLIENT", help=f"Only {', '.join(Name)}; may be repeated."),
]


@app.command("install-hooks")
def install_hooks(
    *,
    wanted: For = None,
    all_clients: Annotated[
        bool, typer.Option("--all", help="For every client that has run here, without asking.")
    ] = False,
    client: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Claude Code's version, if `claude --version` cannot be asked."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Register the hooks in Claude Code's settings, and install the mem-search skill.

    Where other clients have run, Codex for example, you are asked about each of them. Nothing else in the
    settings changes by a byte. Doing it again replaces what an older version registered.
    """
    config.refuse_foreign_memory()
    is_silent = quiet or as_json
    told: dict[str, Any] = {}
    if not wanted or Name.CLAUDE_CODE in wanted:
        told = _for_claude_code(client, is_silent=is_silent)
    others = _others(wanted, all_clients=all_clients, is_silent=is_silent)
    done = [other_clients.install(each) for each in others]
    installed.claim()
    if as_json:
        print_json(told | ({"clients": list(map(dataclasses.asdict, done))} if done else {}))
    if is_silent:
        return
    for each in done:
        name = other_clients.CLIENTS[each.client].told
        console.print(
            f"{name}: {'installed' if each.changed else 'already installed'}: {', '.join(each.events)}"
        )
        console.print(escape(f"Settings  {each.settings}\nTo do     {each.advice}"), soft_wrap=True)
    console.print("Sessions that start from now on are remembered.")


def _for_claude_code(version: str | None, *, is_silent: bool) -> dict[str, Any]:
    """Install for Claude Code and say so, unless silent; return what there is to tell."""
    from claude_mem_lite.codemap import languages, sources

    done = install.install(client_version=version)
    installed.claim()
    chosen = settings.load()
    folder = config.place(os.getcwd())[1]
    is_repository = os.path.exists(os.path.join(folder, ".git"))
    unmapped = languages.advice(sources.unmapped(folder)) if is_repository else ""
    about_key = keys.about(chosen.credential.source if chosen.credential else "", chosen.api_key_from)
    if not is_silent:
        console.print(f"{'Installed' if done.changed else 'Already installed'}: {', '.join(done.events)}")
        console.print(escape(f"Settings  {done.settings}\nSkill     {done.skill}"), soft_wrap=True)
        console.print(escape(f"Key       {about_key}"), soft_wrap=True)
        if unmapped:
            console.print(escape(f"Code map  {unmapped}"), soft_wrap=True)
    return {**dataclasses.asdict(done), "key": about_key, "languages": unmapped}


def _others(wanted: list[Name] | None, *, all_clients: bool, is_silent: bool) -> list[other_clients.Client]:
    """Return the other clients to install for: those named, all, or those that the user says yes to."""
    if wanted:
        return [other_clients.CLIENTS[each] for each in wanted if each != Name.CLAUDE_CODE]
    chosen = []
    for each in other_clients.here():
        if all_clients or other_clients.registered(each):
            chosen.append(each)
        elif is_silent or not _is_asked():
            if not is_silent:
                console.print(f"{each.told} is here, too: claude-mem install-hooks --for {each.name}")
        elif typer.confirm(f"{each.told} is here, too. Install the hooks for it?"):
            chosen.append(each)
    return chosen


def _is_asked() -> bool:
    """Tell whether somebody can answer."""
    return sys.stdin.isatty()


@app.command("uninstall-hooks")
def uninstall_hooks(*, wanted: For = None, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Take the hooks and the skill out of every client again; what is remembered stays."""
    removed = install.uninstall() if not wanted or Name.CLAUDE_CODE in wanted else False
    others = [each for each in other_clients.CLIENTS.values() if not wanted or each.name in wanted]
    gone = [each for each in others if other_clients.uninstall(each)]
    left = plugin.enabled(install.claude_dir()) if not wanted or Name.CLAUDE_CODE in wanted else None
    if as_json:
        names = [each.name for each in gone]
        print_json({"uninstalled": removed, "plugin": left.plugin_id if left else None, "clients": names})
    elif not quiet:
        is_said = removed or gone
        console.print("Uninstalled." if is_said else "Nothing of claude-mem was in the settings.")
        for each in gone:
            console.print(escape(f"{each.told}: {each.path}"), soft_wrap=True)
        if left:
            console.print(escape(f"{left.told} stays: {left.removal}"), soft_wrap=True)
