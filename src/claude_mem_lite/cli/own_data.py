"""eval retrieval and eval recall: the benchmarks of search and recall, on the user's own files."""

import logging
import signal
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from claude_mem_lite.cli.app import evaluate
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import console, errors, print_json, print_line, print_table, table_of, working
from claude_mem_lite.cli.text import printable

Folder = Annotated[str, typer.Argument(metavar="DIR", help="A folder with the data files.")]


@evaluate.command()
def retrieval(folder: Folder, *, as_json: AsJson = False) -> None:
    """Measure search quality on rows and questions of your own, in a temporary memory.

    DIR/corpus.jsonl has one row per line, with a project if there are several:
    {"_id": "d1", "title": "…", "text": "…"}

    DIR/queries.jsonl has one question per line, with the rows that answer it:
    {"_id": "q1", "text": "…", "relevant": ["d1"]}

    Your memory is not touched.
    """
    from claude_mem_lite.evals import retrieval as measure

    done = 0
    prepare()
    with working("reading", quiet=as_json) as say:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            say(f"embedded {done:,} texts")

        found = measure.evaluate(folder, advance)
    if print_json(found, as_json=as_json):
        return
    names = (*measure.METRICS, "p50_ms", "p95_ms")
    table = table_of((f"{found['rows']:,} rows, {found['queries']:,} questions", *names))
    for system, row in found["systems"].items():
        numbers = [f"{row[name]:.4f}" if name in measure.METRICS else f"{row[name]:.1f}" for name in names]
        table.add_row(Text(printable(system)), *numbers)
    print_table(table, heads=True)
    _say(found["problem"])


@evaluate.command()
def recall(folder: Folder, *, as_json: AsJson = False) -> None:
    """Play a recorded history into a temporary memory and ask it questions with known answers.

    DIR/*.jsonl has the hook events of Claude Code, one per line.

    DIR/questions.json has a list of questions:
    {"question": "…", "answer_contains": ["…"], "must_not_contain": ["…"]}

    A question counts as answered if the reply contains every text of the
    first list; a text of the second list makes the answer false. Your memory
    is not touched, and no key is used.
    """
    from claude_mem_lite.evals import recall as measure

    prepare()
    with working("reading", quiet=as_json) as say:
        found = measure.evaluate(
            folder, lambda what, done, of: say(f"{what} {done}{f' of {of}' if of else ''}")
        )
    if not print_json(found, as_json=as_json):
        _show_recall(found)


def prepare() -> None:
    """Silence the libraries' logs, and exit on SIGTERM and SIGHUP so that the temporary memory is removed."""
    logging.disable(logging.WARNING)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))


def _show_recall(found: Mapping[str, Any]) -> None:
    of = found["answerable"]
    silent = found["questions"] - of
    console.print(
        f"{found['events']:,} events of {found['sessions']:,} sessions became {found['observations']:,} "
        f"observations; {found['questions']:,} questions"
    )
    console.print(f"answered by recall: {found['answered_by_recall']} of {of}")
    console.print(f"answered by search in the first five results: {found['answered_by_search']} of {of}")
    if silent:
        told = f"recall silent on {found['unanswerable_silent']} of {silent}"
        console.print(f"questions without an answer: {told}")
    console.print(f"false answers: {found['false_answers']}")
    for row in found["rows"]:
        if row["false"]:
            print_line(f"  false: {printable(row['question'])}")
        missed = [way for way in ("recall", "search") if row[way] is False]
        if missed:
            told = f"  unanswered by {' and '.join(missed)}: {printable(row['question'])}"
            print_line(told)
    _say(found["problem"])


def _say(problem: str) -> None:
    if problem:
        errors.print(Text(f"full text alone: {printable(problem)}", style="yellow"))
