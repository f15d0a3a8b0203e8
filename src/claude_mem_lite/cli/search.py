"""search: what is remembered of some words."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from rich.markup import escape

from claude_mem_lite import client, config
from claude_mem_lite.cli.app import AsJson, app, console, print_json
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.search import fulltext
from claude_mem_lite.storage import models


@app.command()
def search(
    query: Annotated[list[str], typer.Argument(help='Words, or a "quoted phrase".')],
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="At most this many results.")
    ] = 10,
    project: Annotated[str | None, typer.Option(help="Only this project's folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find observations and session summaries; works without the services too."""
    words = " ".join(query)
    found = _ask_web(words, limit, project) or _search_here(words, limit, project)
    if as_json:
        print_json(found)
        return
    for hit in found["results"]:
        console.print(f"[bold]{escape(hit['title'])}[/bold]", soft_wrap=True)
        where = (
            f"{hit['kind']} {hit['id'][:8]}  {hit['created_at'][:16].replace('T', ' ')}  {hit['project_dir']}"
        )
        console.print(f"[dim]{escape(where)}[/dim]", soft_wrap=True)
        console.print(f"{escape(hit['text'][:300])}\n", soft_wrap=True)
    if not found["results"]:
        console.print("Nothing found.")


def _ask_web(words: str, limit: int, project: str | None) -> dict[str, Any] | None:
    parameters = {"q": words, "limit": str(limit)} | (
        {"project": config.project_dir(project)} if project else {}
    )
    try:
        return client.get("/api/search", parameters, timeout_s=10)
    except client.UnreachableError:
        return None


def _search_here(words: str, limit: int, project: str | None) -> dict[str, Any]:
    if not os.path.exists(config.memory_path()):
        raise ClaudeMemError(f"nothing is remembered yet: there is no {config.memory_path()}")
    models.open_databases(read_only=True)
    hits = fulltext.search(words, limit=limit, project_dir=config.project_dir(project) if project else None)
    return {
        "query": words,
        "search_type": "fts",
        "count": len(hits),
        "results": [hit.as_json() for hit in hits],
    }
