"""doctor: find what is wrong with the installation, and fix it."""

import logging
import sqlite3
from typing import Annotated, Any

import typer
from rich.text import Text

from claude_mem_lite import settings
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import console, print_json, print_line, working
from claude_mem_lite.errors import ClaudeMemError


@app.command()
def doctor(
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Fix what can be fixed safely.")] = False,
    api: Annotated[bool, typer.Option("--api", help="Check the Messages API, too; costs nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the installation and print a cure for each problem; exit 1 if there is one.

    Nothing changes without --fix, and data is never deleted.
    """
    logging.disable(logging.WARNING)  # findings are printed, not logged as well
    told = _examined(fix=fix, api=api, quiet=as_json)
    if not print_json(told, as_json=as_json):
        _show(told)
    if not all(each["ok"] for each in told):
        raise typer.Exit(1)


def _examined(*, fix: bool, api: bool, quiet: bool) -> list[dict[str, Any]]:
    """Return each finding as a JSON object; with `fix`, after running its fix."""
    from claude_mem_lite.services import doctor as checks
    from claude_mem_lite.storage import DatabaseError

    with working("checking", quiet=quiet):
        findings = list(checks.examine())
        if api:
            findings.append(checks.ask_api(settings.load()))
    told = []
    for finding in findings:
        outcome = ""
        if fix and finding.fix and not finding.is_fine:
            try:
                finding.fix()
                outcome = "cured"
            except (ClaudeMemError, DatabaseError, sqlite3.Error, OSError) as error:
                outcome = f"not cured: {error}"
        told.append({
            "name": finding.name,
            "ok": finding.is_fine or outcome == "cured",
            "found": finding.found,
            "cure": finding.cure,
            "can_fix": finding.fix is not None,
            "outcome": outcome,
        })  # fmt: skip
    return told


def _show(told: list[dict[str, Any]]) -> None:
    width = max(len(each["name"]) for each in told)
    for each in told:
        mark, style = ("✓", "green") if each["ok"] else ("!", "yellow")
        line = Text.assemble((mark, style), f" {each['name']:<{width}}  ", each["found"])
        if each["outcome"]:
            line.append(f"  ({each['outcome']})", style="bold")
        console.print(line)
        if not each["ok"]:
            print_line(f"  {'':<{width}}  → {each['cure']}", "yellow")
    fixable = sum(each["can_fix"] and not each["ok"] and not each["outcome"] for each in told)
    if fixable:
        console.print(f"[dim]claude-mem doctor --fix cures {fixable} of them[/dim]")
