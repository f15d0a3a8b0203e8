"""context and why: print a session's start block, and where a line of it came from."""

import os
import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.capture import clients
from claude_mem_lite.cli import hits
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, Project, exclusive, project_of
from claude_mem_lite.cli.output import console, errors, open_memory, print_json, print_line, story_table
from claude_mem_lite.cli.stand_in import by_words
from claude_mem_lite.cli.text import ID_CHARS, age, printable
from claude_mem_lite.context import Source
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.text import one_line

_LEFT_OUT = 20


@app.command()
def context(  # noqa: PLR0913  (each is an option of the command)
    *,
    project: Project = "",
    source: Annotated[Source, typer.Option(help="How the session starts.")] = "startup",
    session: Annotated[
        str, typer.Option(metavar="ID", help="Print what this session would be told now.")
    ] = "",
    prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Print what this prompt would recall.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="PATH", help="Print what a touch of this file would recall.")
    ] = None,
    subagent: Annotated[
        str | None, typer.Option(metavar="TASK", help="Print what a sub-agent with this task would be told.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain why each line is included or left out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print what memory would give a session now: at its start, with a prompt or file, or to a sub-agent.

    This is exactly the text that Claude would get; it does not count as shown.
    Without the services, prompts are matched by words alone.
    """
    exclusive(prompt=prompt is not None, file=file is not None, subagent=subagent is not None)
    open_memory(read_only=True)
    from claude_mem_lite.storage import projects

    asked = {"project_path": project_of(project), "explain": "true"}
    if session:
        from claude_mem_lite.storage import queries

        asked["session_id"] = queries.session_by_prefix(session).id
    if prompt is not None:
        path, asked["q"] = "/api/recall", prompt
    elif file is not None:
        file = os.path.join(os.getcwd(), os.path.expanduser(file))
        path, asked["file"] = "/api/touch", projects.in_project(file)
    elif subagent is not None:
        path, asked["q"] = "/api/subagent", subagent
    else:
        path, asked["source"] = "/api/context", source
    block = hits.ask_web(path, asked)
    block = block or by_words(path, asked, asked["project_path"]).block.as_json(explain=True)
    if block["skipped"] and not block["context"]:
        from claude_mem_lite.storage import damage

        said = f"cannot read {config.memory_path()}; to find the cause: claude-mem doctor"
        raise ClaudeMemError(next(damage.told(), said))
    if print_json(
        block if explain else {name: block[name] for name in block if name not in {"lines", "left_out"}},
        as_json=as_json,
    ):
        return
    if block["context"]:
        typer.echo(block["context"])
    else:
        errors.print(Text(f"Nothing would be shown: {_why_nothing(path, asked)}."))
    if explain:
        _explain(block)


def _why_nothing(path: str, asked: Mapping[str, str]) -> str:
    from claude_mem_lite.context.past import in_project

    project = printable(asked["project_path"])
    if path == "/api/subagent":
        return f"memory has no rules for {project} and nothing about this task"
    if "q" in asked:
        return f"memory has nothing about this prompt in {project}"
    if "file" in asked and not in_project(asked["file"], asked["project_path"]):
        return f"{printable(asked['file'])} is not in {project}"
    if "file" in asked:
        return f"memory has nothing to show for {printable(asked['file'])}"
    if asked["source"] in {"resume", "fork"}:
        return f"memory has nothing new about {project} for this session"
    return f"memory has nothing about {project}"


def _explain(block: Mapping[str, Any]) -> None:
    """Print a table of the lines with tokens and reason, then one of the lines that were left out."""
    skipped = f"; could not be read: {', '.join(block['skipped'])}" if block["skipped"] else ""
    print_line(f"\n{block['tokens']} tokens in {block['build_ms']:.0f} ms{skipped}", "bold")
    for title, lines in (("Included", block["lines"]), ("Left out", block["left_out"][:_LEFT_OUT])):
        if not lines:
            continue
        columns = ("layer", "id", "tokens", "why", "line")
        table = Table(*columns, title=title, title_justify="left", box=None, pad_edge=False)
        for line in lines:
            why = line.get("why") or line["reason"]
            cells = (line["layer"], line["id"][:ID_CHARS], str(line["tokens"]), why, line["says"])
            table.add_row(*(Text(one_line(printable(cell), 60)) for cell in cells))
        console.print(table, soft_wrap=False)
    more = len(block["left_out"]) - _LEFT_OUT
    if more > 0:
        print_line(f"and {more} more left out; --json lists all", "dim")


@app.command()
def why(
    row_id: Annotated[str, typer.Argument(metavar="ID", help="An id from a block or a search.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show where a line came from (session, tool call, prompt) and which sessions were shown it."""
    from claude_mem_lite.context.origin import origin

    open_memory(read_only=True)
    found = origin(row_id)
    if print_json(found, as_json=as_json):
        return
    console.print(story_table(origin_lines(found, time.time())), soft_wrap=False)


def origin_lines(found: dict[str, Any], now: float) -> list[tuple[str, str]]:
    """Return the origin of a row as (name, printable value); a name's further values have "" as name."""
    call = found["call"] or {}
    rows = {
        found["kind"]: f"{found['id']}  {printable(found['title'])}",
        "says": printable(found["text"]),
        "when": f"{age(found['created_at'], now)}, {found['created_at']}",
        "project": printable(found["project_dir"]),
        "files": ", ".join(map(printable, found["files"])),
        "session": f"{found['session_id']}  {one_line(printable(found['session_summary'] or ''), 100)}",
        "client": clients.NAMES.get(found["client"], printable(found["client"] or "")),
        "tool": found["tool_name"],
        "called with": one_line(
            ", ".join(f"{name}={printable(str(value))}" for name, value in call.items()), 300
        ),
        "prompt": one_line(printable(found["prompt"] or ""), 300),
    }
    lines = [(name, value) for name, value in rows.items() if value.strip()]
    for at, shown in enumerate(found["shown"]):
        used = f", {shown['used']}" if shown["used"] else ""
        told = f"{shown['session_id']}  {age(shown['at'], now)}, via {shown['via']}{used}"
        lines.append(("shown to" if at == 0 else "", told))
    if not found["shown"]:
        lines.append(("shown to", "no session"))
    return lines
