"""Query the memory and print the hits: the body of `search`, without Typer and rich."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from claude_mem_lite.capture import client
from claude_mem_lite.cli import terminal
from claude_mem_lite.cli.terminal import say, style
from claude_mem_lite.cli.text import ID_CHARS, age, printable
from claude_mem_lite.text import clean

ANSWER_S = 10
LIMIT = 10
_TEXT_LINES = 2
# How well a hit fits: the word is printed to a pipe, the stars to a terminal.
_FITS = {"strong": "★★★", "fair": "★★", "weak": "★"}
# The least share of the query's words, and the least cosine of MiniLM, of a strong and of a fair hit. They
# separate questions about the recorded history from questions about anything else.
_STRONG_COVERAGE, _STRONG_COSINE = 0.6, 0.45
_FAIR_COVERAGE, _FAIR_COSINE = 0.35, 0.35
_BY = {"hybrid": "words and meaning", "fts": "words alone"}
_SHORTEST_MATCH = 3
_DOUBT = "Nothing fits well. These are the nearest; they may be unrelated."


def ask_web(path: str, asked: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what the web process answers; None when it is down."""
    try:
        return client.get(path, dict(asked), timeout_s=ANSWER_S)
    except client.UnreachableError:
        return None


def show(found: dict[str, Any], *, project: str = "", explain: bool = False) -> None:
    """Print what was found; `project` is the folder that was searched, "" for all projects."""
    hits = found["results"]
    if not hits:
        where = f" in {clean(project)}. --all-projects searches everywhere" if project else ""
        say(f"Nothing found{where}.")
    elif terminal.is_terminal():
        _show_to_a_person(found, with_project=not project, explain=explain)
    else:
        if _is_doubtful(hits):
            sys.stderr.write(f"{_DOUBT}\n")  # stdout has hits alone
        for hit in hits:
            say("\t".join(_fields(hit, with_project=not project, explain=explain)))


def fit(hit: Mapping[str, Any]) -> str:
    """Return how well a hit fits: strong, fair or weak."""
    why = hit.get("why", {})
    if "id" in why or why.get("exact") or why.get("times_found"):
        return "strong"
    coverage, cosine = why.get("coverage", 0.0), why.get("cosine") or 0.0
    if coverage >= _STRONG_COVERAGE or cosine >= _STRONG_COSINE:
        return "strong"
    return "fair" if coverage >= _FAIR_COVERAGE or cosine >= _FAIR_COSINE else "weak"


def _is_doubtful(hits: Iterable[Mapping[str, Any]]) -> bool:
    return all(fit(hit) == "weak" for hit in hits)


def _fields(hit: dict[str, Any], *, with_project: bool, explain: bool) -> Iterator[str]:
    """Yield a hit's fields for a pipe."""
    yield printable(hit["id"])[:ID_CHARS]
    yield printable(hit["kind"])
    yield printable(hit["created_at"])[:19]
    yield fit(hit)
    if with_project:
        yield printable(hit["project_dir"] or "")
    yield f"{printable(hit['title'])}{_alike(hit)}"
    yield _rest(hit)
    if "gone" in hit:
        yield f"no longer: {printable(hit['gone'])}"
    if explain:
        yield _reasons(hit["why"])


def _show_to_a_person(found: dict[str, Any], *, with_project: bool, explain: bool) -> None:
    """Print a summary line, then each hit's title, the beginning of its text, and its origin."""
    hits, now, most = found["results"], time.time(), terminal.columns()
    words = [word for word in printable(found["query"]).split() if len(word) >= _SHORTEST_MATCH]
    took = f", {found['took_ms']:.0f} ms" if "took_ms" in found else ""
    by = _BY.get(str(found["search_type"]), "")
    say(style(terminal.cut(f"{len(hits)} found by {by}{took}", most), "dim"))
    if _is_doubtful(hits):
        for line in terminal.wrapped(_DOUBT, most):
            say(style(line, "careful"))
    indent = " " * 5
    for hit in hits:
        alike = _alike(hit)
        title = terminal.cut(printable(hit["title"]), most - len(indent) - len(alike))
        told = terminal.highlight(title, words)
        say(f"\n{style(f'{_FITS[fit(hit)]:<5}', 'good')}{told if told != title else style(title, 'bold')}"
              f"{style(alike, 'dim')}")  # fmt: skip
        lines = list(terminal.wrapped(_rest(hit), most - len(indent)))
        if len(lines) > _TEXT_LINES:
            lines[_TEXT_LINES - 1] = terminal.cut(f"{lines[_TEXT_LINES - 1]} {lines[_TEXT_LINES]}", most - 6)
        for line in lines[:_TEXT_LINES]:
            say(f"{indent}{terminal.highlight(line, words)}")
        if "gone" in hit:
            said = terminal.cut(f"no longer: {printable(hit['gone'])}", most - len(indent))
            say(f"{indent}{style(said, 'careful')}")
        origin = [age(hit["created_at"], now), printable(hit["kind"]), printable(hit["id"])[:ID_CHARS]]
        if with_project and hit["project_dir"]:
            origin.append(printable(hit["project_dir"]))
        say(f"{indent}{style(terminal.cut(' · '.join(origin), most - len(indent)), 'dim')}")
        if explain:
            for line in terminal.wrapped(_reasons(hit["why"]), most - len(indent)):
                say(f"{indent}{style(line, 'dim')}")


def _alike(hit: dict[str, Any]) -> str:
    """Return a note of how many similar hits are folded into this one, "" for none."""
    return f" +{len(hit['folded'])} alike" if hit["folded"] else ""


def _rest(hit: dict[str, Any]) -> str:
    """Return a hit's text on one line, without the title that it begins with."""
    title, text = printable(hit["title"]), printable(hit["text"]).strip()
    rest = text.removeprefix(title.rstrip("…"))
    return (
        text if rest[:1].isalnum() else rest.lstrip(" .,:;")
    )  # a title is often the first sentence of its text


def _reasons(why: dict[str, Any]) -> str:
    """Return which search legs found a hit, and the non-zero parts of its score."""
    if "id" in why:
        return "found by its id"
    legs = [
        leg for leg, has in (("words", why.get("words")), ("meaning", why.get("cosine") is not None)) if has
    ]
    numbers = {name: value for name, value in why.items() if isinstance(value, int | float) and value}
    parts = [f"{name} {value:g}" for name, value in numbers.items() if name != "score"]
    named = [printable(name) for name in why.get("exact_found", ())]
    times = [f'matches "{printable(said)}"' for said in why.get("times_found", ())]
    return f"found by {' and '.join(legs) or 'time'}: {', '.join([*parts, *named, *times])}"
