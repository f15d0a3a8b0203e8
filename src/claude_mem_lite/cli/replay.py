"""eval replay: replay the user's own transcripts and measure whether memory would have helped."""

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.cli.app import INTERRUPTED, evaluate
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import (
    console,
    errors,
    figure,
    print_json,
    print_table,
    progress_bar,
    table_of,
)
from claude_mem_lite.cli.own_data import prepare

_NAMES = {
    "memory": "memory: the prompt's block, then the start block",
    "start": "the start block alone",
    "most_edited": "the ten files edited most often so far",
    "last_edited": "the ten files edited last",
    "prompt": "the files that the prompt itself names",
}
_BASELINES = ("most_edited", "last_edited", "prompt")
# With fewer sessions, a single one can decide the result.
_FEW = 10


@evaluate.command()
def replay(
    folder: Annotated[
        str, typer.Argument(metavar="[DIR]", help="A folder of transcripts; default: this project's.")
    ] = "",
    *,
    last: Annotated[
        int | None, typer.Option(min=1, help="Measure only this many sessions, the newest.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure whether memory helps here: replay past sessions, and see if it named the files they edited.

    Sessions are replayed oldest first. Each gets what it would have been told
    at its start and with its first prompt, from earlier sessions only. The
    score is the share of its edited files that this text names, counting only
    files that earlier sessions edited or read. Lists that need no memory are
    scored for comparison.

    A temporary memory is used and removed afterwards; yours is neither read
    nor changed, and nothing is sent.
    """
    from claude_mem_lite.evals import replay as measure
    from claude_mem_lite.services import install

    prepare()
    try:
        slug = re.sub(r"[^A-Za-z0-9]", "-", config.project_dir())  # the client's name of this project
        found = measure.sessions_in(folder or os.path.join(install.claude_dir(), "projects", slug))
        with progress_bar(quiet=as_json) as progress:
            task = progress.add_task("replaying", total=sum(each.size_bytes for each in found.sessions))
            told = measure.evaluate(
                found, last=last, advance=lambda session: progress.advance(task, session.size_bytes)
            )
    except KeyboardInterrupt:
        errors.print("[yellow]stopped:[/yellow] nothing of the replay is kept")
        raise typer.Exit(INTERRUPTED) from None
    if not print_json(told, as_json=as_json):
        _show(told)


def _show(told: Mapping[str, Any]) -> None:
    table = table_of(("named at the session's start", "files edited again"))
    for name, says in _NAMES.items():
        table.add_row(Text(says), figure(told["files"][name], ".0%"))
    print_table(table, heads=True)
    console.print(
        f"{_verdict(told)} A start block has {told['start_tokens']:,.0f} tokens on average, "
        f"{told['share_of_budget']:.0%} of its budget of {told['budget_tokens']:,}."
    )


def _verdict(told: Mapping[str, Any]) -> str:
    """Return the verdict on the figures, in words."""
    shares, rows = told["files"], told["with_known_files"]
    if not rows:
        return (
            f"None of {told['measured']} sessions edited a file that an earlier one had edited or read."
            " What was done in the last two minutes does not count."
        )
    best = max(_BASELINES, key=lambda name: shares[name])
    points = round(100 * shares["memory"]) - round(100 * shares[best])
    verdict, than = (
        ("Memory helps here", f"{points} points more than")
        if points > 0
        else ("Memory does not help to find files here", f"{-points} points less than")
        if points
        else ("Memory finds files here no better than a plain list", "as much as")
    )
    return (
        f"{verdict}: it named {shares['memory']:.0%} of the files that {rows} of {told['measured']} sessions "
        f"edited again, {than} the best list without it ({_NAMES[best]})"
        f"{'; with so few sessions this may be chance' if rows < _FEW else ''}."
    )
