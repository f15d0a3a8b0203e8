"""import claude-mem: import the memory of the original claude-mem."""

import os
from collections import Counter
from typing import Annotated

import typer
from rich.text import Text

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.app import imports
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import errors, open_memory, print_json, print_line, print_warning, working
from claude_mem_lite.cli.text import added_told, printable
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install
from claude_mem_lite.text import count, join

_MOST_NAMED = 12


@imports.command("claude-mem")
def import_claude_mem(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The database, such as ~/.claude-mem/claude-mem.db.")
    ],
    *,
    folder: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="The folder of the project with this name; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import the original claude-mem's memory: sessions, observations, summaries, prompts.

    Its database is only read. It knows projects by name only: their folders
    are looked up in your sessions and Claude Code's transcripts; name others
    with --folder. Sessions that are here already stay as they are.
    """
    from claude_mem_lite.distill.record import summarize_session
    from claude_mem_lite.importers import original
    from claude_mem_lite.storage import rewrites
    from claude_mem_lite.upkeep import exchange

    path = os.path.abspath(os.path.expanduser(file))
    open_memory(may_be_new=True)
    with working("importing", quiet=as_json) as spinner:
        folders = _Folders(_given(folder or []))
        with original.opened(path, folder_of=folders.of) as source:
            taken = exchange.take_in(
                source.lines(),
                suspicions=lambda _: [],  # it has no learnings
                progress=lambda number: spinner(f"importing, {number} rows"),
            )
    for session_id in folders.asked:
        summarize_session(session_id)  # for those that came without one
        rewrites.leave_to_user(session_id)
    if taken.added:
        inbox.ask_for_vectors()
    wrong = Counter(reason for _, reason in taken.wrong)
    if not print_json({
        "added": dict(taken.added), "there": dict(taken.there), "left_out": dict(source.left_out),
        "unknown_projects": dict(source.unknown), "wrong": dict(wrong),
    }, as_json=as_json):  # fmt: skip
        print_line(added_told(taken.added, taken.there))
        if source.left_out:
            left_out = [count(number, what) for what, number in sorted(source.left_out.items())]
            print_line(f"Left out: {join(left_out, limit=len(left_out))}.")
        if source.unknown:
            sessions = count(sum(source.unknown.values()), "session")
            names = join([printable(name) or "?" for name in sorted(source.unknown)], limit=_MOST_NAMED)
            said = f"{sessions} left out, because the folders of their projects are unknown: {names}. "
            errors.print(Text.assemble(("! ", "yellow"), said, "Give the folders: --folder NAME=PATH"))
        for reason, number in wrong.items():
            print_warning(f"{count(number, 'row')}: {reason}")
    if wrong:
        raise typer.Exit(1)


class _Folders:
    """Lookup of a project's folder by a session's id and by the project's name."""

    def __init__(self, given: dict[str, str]) -> None:
        from claude_mem_lite.forget import marking
        from claude_mem_lite.importers import sessions

        root = os.path.join(install.claude_dir(), "projects")
        self._given, self._look = given, sessions.looked_at
        self._transcripts = (
            {each.id: each for each in sessions.find(root, Counter())} if os.path.isdir(root) else {}
        )
        self._known = set(marking.known_projects()) | {
            seen.project_dir for each in self._transcripts.values() if (seen := sessions.looked_at(each))
        }
        self.asked: list[str] = []

    def of(self, session_id: str, name: str) -> str:
        """Return the folder of a session's project, "" if it is not known."""
        from claude_mem_lite.storage import queries

        self.asked.append(session_id)
        if name in self._given:
            return self._given[name]
        if known := queries.session(session_id):
            return str(known.project_dir)
        if session_id in self._transcripts and (seen := self._look(self._transcripts[session_id])):
            return seen.project_dir
        named = [path for path in self._known if name and path.endswith(f"/{name}")]
        return named[0] if len(named) == 1 else ""


def _given(folders: list[str]) -> dict[str, str]:
    from claude_mem_lite.forget import marking

    found = {}
    for each in folders:
        name, mark, path = each.partition("=")
        if not (name and mark and path):
            raise ClaudeMemError(f"--folder {each}: give NAME=PATH, such as --folder shop=~/dev/shop")
        found[name] = marking.project_of(path, may_be_new=True)
    return found
