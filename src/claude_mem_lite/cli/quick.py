"""Answer the plainest forms of everyday commands without loading Typer.

Typer and rich take three times as long to load as the interpreter. A command with options, and a search
while the web process is down, take the normal path.
"""

import sys

from claude_mem_lite import __version__, config


def answered(arguments: list[str]) -> bool:
    """Answer `--version`, `status` and `search WORDS`, with their exit status; False for anything else."""
    if arguments == ["--version"]:
        sys.stdout.write(f"claude-mem {__version__}\n")
        return True
    if arguments == ["status"]:
        config.refuse_unsafe_home()
        _status()
        return True
    # At least one word, and no option.
    if (
        arguments[:1] == ["search"]
        and arguments[1:]
        and all(each.strip() and not each.startswith("-") for each in arguments[1:])
    ):
        config.refuse_unsafe_home()
        return _search(" ".join(arguments[1:]))
    return False


def _status() -> None:
    from claude_mem_lite.cli import standing
    from claude_mem_lite.services.state import state

    found = state()
    standing.show(found)
    if found["problems"]:
        sys.exit(1)


def _search(query: str) -> bool:
    from claude_mem_lite.cli import hits

    project = config.place()[1]
    asked = {"q": query, "limit": str(hits.LIMIT), "type": "all", "explain": "true", "project": project}
    found = hits.ask_web("/api/search", asked)
    if found is None:
        return False
    hits.show(found, project=project)
    if not found["results"]:
        sys.exit(1)
    return True
