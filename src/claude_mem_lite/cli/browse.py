"""browse: browse the memory in a terminal view."""

import sys

from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AllProjects, Project, exclusive, project_of
from claude_mem_lite.cli.output import console, open_memory
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.installed import with_extras


@app.command()
def browse(*, project: Project = "", all_projects: AllProjects = False) -> None:
    """Browse sessions, observations, learnings, findings and projects; search, edit and forget them.

    The bottom line lists the keys. Needs a terminal and the extra [bold]browse[/bold].
    """
    exclusive(project=project, all_projects=all_projects)
    try:
        from claude_mem_lite.cli.browser import Browser
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        said = f"browse needs Textual, which is not installed: {with_extras('browse')}"
        raise ClaudeMemError(said) from error
    open_memory(read_only=True)
    if not (sys.stdin.isatty() and console.is_terminal):
        raise ClaudeMemError("browse needs a terminal; claude-mem search and report print to a pipe")
    Browser(None if all_projects else project_of(project)).run()
