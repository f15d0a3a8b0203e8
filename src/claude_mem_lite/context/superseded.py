"""Note on a line what no longer holds: names that are gone from the code, and values that have changed."""

import re
from collections.abc import Iterable
from typing import Any

from claude_mem_lite.context.text import harmless
from claude_mem_lite.distill.retired import code_names, is_literal, may_be_word, stated_code
from claude_mem_lite.quoting import named, quote_long_names
from claude_mem_lite.storage import retired as retired_names
from claude_mem_lite.storage.retired import Gone

_LITERALS = 100  # newest paths and addresses that are searched for in a text
_TOLD, _NOTE_CHARS = 2, 480  # most names in a note, and its most characters with two branches
_WORD = re.compile(r"\w[\w.-]*\w|\w")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z\d]*(?:-[a-z\d]+)+)")


class Superseded:
    """What is gone from a project's code: everything known to be, or only what some texts name."""

    def __init__(self, project_dir: str, texts: Iterable[str] | None = None, *, branch: str = "") -> None:
        names = (
            None
            if texts is None
            else {name for text in texts for name in (*code_names(text), *stated_code(text), *_options(text))}
        )
        rows = retired_names.gone_from(project_dir, names, branch=branch)
        self._names: dict[str, Gone] = {}
        self._values: dict[str, list[Gone]] = {}
        for row in rows:
            if row.beside:
                self._values.setdefault(row.beside, []).append(row)
            else:
                self._names.setdefault(row.name, row)
        self._literals = [name for name in self._names if is_literal(name)][:_LITERALS]

    def __call__(self, text: str, at: str) -> str:
        """Return a note for a text of time `at`, like " (`old` → `new`)"; "" if the text still holds.

        Names are noted whatever `at`: items of a report on a removal lack what its heading says.
        """
        if not (self._names or self._values):
            return ""
        named = [name for name in code_names(text) if not may_be_word(name) or f"`{name}`" in text]
        named += [*stated_code(text), *_options(text)]
        named += [name for name in self._literals if name in text and _stands_alone(name, text)]
        found = [self._names[name] for name in named if name in self._names]
        words = set(_WORD.findall(text)) if self._values else set()
        for name in self._values.keys() & words:
            found += [
                row
                for row in self._values[name]
                if (row.name in words or (" " in row.name and row.name in text)) and row.retired_at > at
            ]
        # A name inside a longer one that is noted needs no note of its own.
        names = {row.name for row in found}
        parts = {name for name in names for whole in names if name != whole and name in whole}
        told = [
            _told(row)
            for row in found
            if row.name not in parts and (not row.replacement or row.replacement not in text.split("`"))
        ]
        note = harmless("; ".join([*dict.fromkeys(told)][:_TOLD]), chars=_NOTE_CHARS)
        return f" ({note})" if note else ""


def _stands_alone(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def _options(text: str) -> list[str]:
    """Return the names that options in a text may have in code: dry-run, dry_run, dryRun for `--dry-run`."""
    options = _OPTION.findall(text)
    names = [option.replace("-", "_") for option in options]
    return options + names + [re.sub("_(.)", lambda match: match[1].upper(), name) for name in names]


def noted(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a search answer, adding a note as `gone` to each result that no longer holds."""
    for project_dir in {result["project_dir"] for result in answer["results"]}:
        own = [result for result in answer["results"] if result["project_dir"] == project_dir]
        gone = Superseded(project_dir, (f"{result['title']}\n{result['text']}" for result in own))
        for result in own:
            if note := gone(f"{result['title']}\n{result['text']}", result["created_at"]):
                result["gone"] = note.strip(" ()")
    return answer


def _told(row: Gone) -> str:
    name = f"{row.beside}: {row.name}" if row.beside else row.name
    told = f"`{name}` → `{row.replacement}`" if row.replacement else f"`{name}` is gone"
    return f"{told} on {quote_long_names(named(row.branch))}" if row.branch else told
