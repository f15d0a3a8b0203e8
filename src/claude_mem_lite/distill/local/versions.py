"""Rebuild the two versions of an edited file from the event, and tell them apart.

No file is read; a version that the event does not hold whole is None, and nothing is concluded from it.
"""

import os.path
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from claude_mem_lite.codemap import languages
from claude_mem_lite.codemap.extract import Function
from claude_mem_lite.codemap.languages import Change, diff
from claude_mem_lite.distill.local import fields, hunks
from claude_mem_lite.distill.local.hunks import Hunk
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.quoting import named
from claude_mem_lite.repository import PROSE
from claude_mem_lite.text import one_line

_PLAIN_SUFFIXES = frozenset({
    ".md", ".rst", ".txt", ".adoc", ".toml", ".yaml", ".yml", ".json", ".jsonc", ".ini", ".cfg",
    ".conf", ".env", ".csv", ".xml", ".html", ".lock", ".properties",
})  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """An edit as far as its event tells; `added` and `removed` are lines without marks."""

    path: str
    is_new: bool
    is_rewrite: bool
    before: str | None
    after: str | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    hunks: tuple[Hunk, ...]

    @property
    def name(self) -> str:
        """The path as a sentence has it."""
        return named(self.path)

    @property
    def is_plain(self) -> bool:
        """Prose or configuration: its lines are the knowledge."""
        return is_plain(self.path)

    @property
    def is_prose(self) -> bool:
        """Text for people, which may well name what is no more."""
        return self.path.lower().endswith(PROSE)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changed definitions of a source; empty where one of its versions is not known whole."""
        return diff(self.before, self.after, path=self.path) if self.is_whole else ()

    @property
    def is_whole(self) -> bool:
        """Whether both versions are known."""
        return self.after is not None and (self.before is not None or self.is_new)


def is_plain(path: str) -> bool:
    """Tell whether a file is prose or configuration, by its name."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix in _PLAIN_SUFFIXES or not suffix


def edit_of(capture: Capture) -> Edit | None:
    """Return the edit of a file that a tool call made; None for any other event, and for a notebook's."""
    if capture.event_name != "PostToolUse":
        return None
    if capture.tool_name == "Write":
        return _written(capture)
    return _replaced(capture) if capture.tool_name in {"Edit", "MultiEdit"} else None


def _written(capture: Capture) -> Edit:
    """Return what a Write did: a new file, or all of an old one."""
    response = fields.value(capture.payload, "tool_response")
    has_before = isinstance(fields.value(response, "originalFile"), str)
    is_new = not has_before or fields.text(response, "type") == "create"
    before = None if is_new else fields.whole(response, "originalFile")
    content = fields.argument(capture, "content")
    added, removed = changed_lines(before or "", content, response)
    after = fields.whole(capture.payload, "tool_input", "content")
    parts = hunks.of_patch(response) or (Hunk(removed, added, -1),)
    return Edit(fields.path(capture, "file_path"), is_new, not is_new, before, after, added, removed, parts)


def _replaced(capture: Capture) -> Edit:
    """Return what an Edit or a MultiEdit did."""
    arguments = fields.value(capture.payload, "tool_input")
    response = fields.value(capture.payload, "tool_response")
    replacements = fields.items(arguments, "edits") or [arguments]
    is_known = isinstance(fields.value(response, "originalFile"), str)
    before = fields.whole(response, "originalFile") if is_known else None
    after = None if before is None else _patched(before, response) or _substituted(before, replacements)
    old, new = (
        "\n".join(fields.text(each, key) for each in replacements) for key in ("old_string", "new_string")
    )
    added, removed = changed_lines(old, new, response)
    parts = hunks.of_patch(response) or (Hunk(removed, added, -1),)
    return Edit(fields.path(capture, "file_path"), False, False, before, after, added, removed, parts)


def changed_lines(
    before: str, after: str, response: object = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return added and removed lines: of the client's patch, else of the middle in which the texts differ."""
    patch = fields.items(response, "structuredPatch")
    lines = [line for hunk in patch for line in fields.texts(hunk, "lines")]
    if lines:
        added, removed = ([line[1:] for line in lines if line[:1] == sign] for sign in "+-")
        return tuple(added), tuple(removed)
    old, new = before.splitlines(), after.splitlines()
    same = hunks.same_start(old, new)
    old, new = old[same:], new[same:]
    same = hunks.same_start(old[::-1], new[::-1])
    return tuple(new[: len(new) - same]), tuple(old[: len(old) - same])


def renames(edit: Edit, changed: Sequence[Change]) -> list[tuple[str, str]]:
    """Pairs of a removed and a new definition of one place that do the same."""
    gone, come = (
        {each.qualified_name for each in changed if each.change_type == kind} for kind in ("deleted", "new")
    )
    if not gone or not come:
        return []
    old, new = (
        {
            _identity(each): each.qualified_name
            for each in _functions(edit.path, source)
            if each.qualified_name in names
        }
        for source, names in ((edit.before, gone), (edit.after, come))
    )
    return [(name, new[identity]) for identity, name in old.items() if identity in new and identity[-1]]


def docstrings(edit: Edit) -> dict[str, str]:
    """Return the first docstring line of each definition of a source, as the edit left it."""
    return {
        each.qualified_name: one_line(each.docstring, 110).rstrip(".")
        for each in _functions(edit.path, edit.after)
        if each.docstring
    }


def _functions(path: str, source: str | None) -> tuple[Function, ...]:
    try:
        return languages.extract(path, source or "", limit=languages.ALL)
    except SyntaxError:
        return ()


def _identity(function: Function) -> tuple[str, str, str, bool]:
    """Return what stays when a definition is renamed in its place; False for an empty one."""
    scope = function.qualified_name.rpartition(".")[0]
    return scope, function.kind, function.body_hash, not function.is_empty


def _substituted(text: str, replacements: Sequence[object]) -> str | None:
    """Return the text after the replacements; None where one of them does not fit it."""
    for each in replacements:
        old = fields.text(each, "old_string")
        if not old or old not in text:
            return None
        times = -1 if fields.value(each, "replace_all") is True else 1
        text = text.replace(old, fields.text(each, "new_string"), times)
    return text


def _patched(text: str, response: object) -> str | None:
    """Return the text after the client's patch; None where there is none or it does not fit."""
    hunks = fields.items(response, "structuredPatch")
    lines = text.split("\n")
    shift = 0
    for hunk in hunks:
        patch = [line for line in fields.texts(hunk, "lines") if line[:1] in {" ", "+", "-"}]
        old = [line[1:] for line in patch if line[0] != "+"]
        start = max(0, fields.number(hunk, "oldStart") - 1 + shift)
        if lines[start : start + len(old)] != old:
            return None
        new = [line[1:] for line in patch if line[0] != "-"]
        lines[start : start + len(old)] = new
        shift += len(new) - len(old)
    return "\n".join(lines) if hunks else None
