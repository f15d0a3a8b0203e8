"""search: search the memory."""

import os
import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from claude_mem_lite import config
from claude_mem_lite.cli import hits
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AllProjects, AsJson, Project, exclusive, when
from claude_mem_lite.cli.output import open_memory, print_json
from claude_mem_lite.kinds import Type


@app.command()
def search(  # noqa: PLR0913  (each is an option of the command)
    query: Annotated[list[str], typer.Argument(help='Words, or a "quoted phrase".')],
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="At most this many results.")
    ] = hits.LIMIT,
    type: Annotated[Type, typer.Option("--type", "-t", help="Only this kind.")] = "all",  # noqa: A002
    project: Project = "",
    all_projects: AllProjects = False,
    file: Annotated[str, typer.Option(metavar="PATH", help="Only what touched this file.")] = "",
    since: Annotated[str | None, when("Not older: 2026-11-01, 12h, 2d, 3w.")] = None,
    until: Annotated[str | None, when("Only older: 2026-11-01, 12h, 2d, 3w.")] = None,
    session: Annotated[str, typer.Option(metavar="ID", help="Only this session.")] = "",
    tool: Annotated[str, typer.Option(metavar="NAME", help="Only this tool: Edit, Bash, …")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Explain why each result was found.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search the memory of this project by words and meaning; exit 1 if nothing is found.

    Without the services it searches by words alone.
    """
    exclusive(project=project, all_projects=all_projects)
    if not " ".join(query).strip():
        raise typer.BadParameter("give a word to search for")
    if session:
        from claude_mem_lite.storage import queries

        open_memory(read_only=True)
        session = queries.session_by_prefix(session).id
    where = "" if all_projects else config.place(os.path.expanduser(project))[1]
    asked = {
        "q": " ".join(query), "limit": str(limit), "type": type, "project": where, "file": file,
        "since": since or "", "until": until or "", "session": session, "tool": tool,
        "explain": "true" if explain or not as_json else "",
    }  # fmt: skip
    found = find(asked)
    if not print_json(found, as_json=as_json):
        hits.show(found, project=where, explain=explain)
    if not found["results"]:
        raise typer.Exit(1)


def find(asked: Mapping[str, str]) -> dict[str, Any]:
    """Ask the web process, or search by full text if it is down; parameters that are "" are dropped."""
    given = {name: value for name, value in asked.items() if value}
    return hits.ask_web("/api/search", given) or _search_here(given)


def _search_here(asked: Mapping[str, str]) -> dict[str, Any]:
    """Return what the web process would answer, by full text alone."""
    from claude_mem_lite.context import shared
    from claude_mem_lite.context.superseded import noted
    from claude_mem_lite.search.hybrid import Searcher
    from claude_mem_lite.storage import projects
    from claude_mem_lite.storage.search import Scope, is_narrow

    open_memory(read_only=True)
    started = time.monotonic()
    narrowed = Scope(
        project_dir=projects.of(asked["project"]) if "project" in asked else None,
        session_id=asked.get("session", ""),
        **{name: asked.get(name, "") for name in ("since", "until", "file", "tool")},
    )
    kind: Any = asked["type"]
    found = Searcher(by_meaning=False).search(
        asked["q"], type=kind, scope=narrowed, limit=int(asked["limit"]), now=started
    )
    answer = found.as_json(asked["q"], took_s=time.monotonic() - started, explain="explain" in asked)
    if kind != "code" and not is_narrow(narrowed):
        shared.add_to(answer, narrowed.project_dir, asked["q"], limit=int(asked["limit"]))
    return noted(answer)
