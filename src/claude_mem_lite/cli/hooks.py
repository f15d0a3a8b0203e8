"""install-hooks and uninstall-hooks."""

from __future__ import annotations

import dataclasses
import os
from typing import Annotated

import typer
from rich.markup import escape

from claude_mem_lite import config, installed, keys, settings
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.output import AsJson, Quiet, console, print_json
from claude_mem_lite.services import install, plugin


@app.command("install-hooks")
def install_hooks(
    *,
    client: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Claude Code's version, if `claude --version` cannot be asked."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Register the hooks in Claude Code's settings, and install the mem-search skill.

    Nothing else in the settings changes by a byte. Doing it again replaces what an older version registered.
    """
    from claude_mem_lite.codemap import languages, sources

    config.refuse_foreign_memory()
    done = install.install(client_version=client)
    installed.claim()
    chosen = settings.load()
    folder = config.place(os.getcwd())[1]
    is_repository = os.path.exists(os.path.join(folder, ".git"))
    unmapped = languages.advice(sources.unmapped(folder)) if is_repository else ""
    about_key = keys.about(chosen.credential.source if chosen.credential else "", chosen.api_key_from)
    if as_json:
        print_json({**dataclasses.asdict(done), "key": about_key, "languages": unmapped})
    if quiet or as_json:
        return
    console.print(f"{'Installed' if done.changed else 'Already installed'}: {', '.join(done.events)}")
    console.print(escape(f"Settings  {done.settings}\nSkill     {done.skill}"), soft_wrap=True)
    console.print(escape(f"Key       {about_key}"), soft_wrap=True)
    if unmapped:
        console.print(escape(f"Code map  {unmapped}"), soft_wrap=True)
    console.print("Sessions that start from now on are remembered.")


@app.command("uninstall-hooks")
def uninstall_hooks(*, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Take the hooks and the skill out of Claude Code again; what is remembered stays."""
    removed = install.uninstall()
    left = plugin.enabled(install.claude_dir())
    if as_json:
        print_json({"uninstalled": removed, "plugin": left.plugin_id if left else None})
    elif not quiet:
        console.print("Uninstalled." if removed else "Nothing of claude-mem was in the settings.")
        if left:
            console.print(escape(f"{left.told} stays: {left.removal}"), soft_wrap=True)
