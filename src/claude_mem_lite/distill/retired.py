"""Find the names that an edit removes from the code, and the values that it replaces in settings. Pure.

Earlier statements about them are out of date. Only the work tree shows whether a name is gone for good.
"""

import itertools
import os.path
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.distill.observation import Capture
from claude_mem_lite.distill.rules import fields, shell
from claude_mem_lite.distill.rules.edits import Edit
from claude_mem_lite.distill.rules.hunks import defined

_TOKEN = re.compile(r"(?:\b\d+_)?[A-Za-z_$][\w$]*(?:[.-][A-Za-z_$][\w$]*)*")
_PARTS = re.compile(r"[.-]")
# A token written like a code name, not like a word.
_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|\w_\w|\w[.-]\w")
_SHORTEST, _LONGEST = 5, 80
_QUOTED, _SYNTAX = re.compile(r"`([^`\n]{8,80})`"), re.compile(r"[][=(){}$\"'<>;:%]")
_VARIABLE = 2  # letters; a name this short before a dot may be a variable, called differently elsewhere
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# `name = value` with a literal value: a number, a quoted text, a word without spaces.
_SETTING = re.compile(
    r"^\s*(?:(?:const|let|var|export|val|final|static|pub|readonly)\s+)*"
    r"[\"']?(?P<name>[A-Za-z][\w.-]{2,60})[\"']?(?:\s*:[^=:]{1,40}(?= =))?\s*(?::=|[:=])\s*"
    r"(?P<value>\d[\w.]*|\"[^\"]{1,40}\"|'[^']{1,40}'|[A-Za-z][\w./:-]{1,40})\s*[,;]?\s*$"
)
_QUOTES = "\"'"
_EDITORS = frozenset({"sed", "perl"})
_IN_PLACE, _ANCHOR = re.compile(r"-\w*i"), re.compile(r"\\[b<>]")
# Literal text to search for: no plain word, and no characters with a meaning in patterns.
_LITERAL, _MARKED = re.compile(r"[\w@./:-]{4,80}"), re.compile(r"[\d@./:]")
_PATH = re.compile(r"[\w@./+-]+")
_SUBSTITUTION = re.compile(
    r"\s*s(?P<mark>[/#|,@])(?P<old>.+?)(?P=mark)(?P<new>.+?)(?P=mark)(?P<flags>\w*)\s*"
)


@dataclass(frozen=True, slots=True)
class Retired:
    """A name that an edit removed, and its replacement ("" if none is certain).

    `beside` is the setting whose value it was; `was_defined` if the edit removed the name's definition.
    """

    name: str
    replacement: str = ""
    beside: str = ""
    was_defined: bool = False

    def as_row(self) -> dict[str, Any]:
        """Return the columns for storage; a name removed in one place may still be used in others."""
        is_gone = self.was_defined or bool(self.beside)
        return {"name": self.name, "replacement": self.replacement, "beside": self.beside, "is_gone": is_gone}


def taken_out(capture: Capture, edit: Edit | None) -> tuple[list[Retired], list[tuple[str, str]]] | None:
    """Return the names that a tool call removed, and those it added as (name, setting); None for neither.

    `edit` is the edit that the call made, if any; prose is not code and gives None.
    """
    if edit:
        return None if edit.is_prose else (retired_by(edit), brought_by(edit))
    if capture.event_name != "PostToolUse" or capture.tool_name != "Bash":
        return None
    steps = shell.steps(fields.argument(capture, "command"))
    gone = [each for step in steps for each in (*_moved(step), *_substituted(step))]
    return (gone, [(each.replacement, "") for each in gone if each.replacement]) if gone else None


def _moved(step: Command) -> Iterator[Retired]:
    """Yield the names of the files that a step removes or renames; for `git mv` and `git rm` also the paths.

    A tracked script in the top folder goes by "./" and its name.
    """
    is_git = step.program == "git"
    what = step.words[1] if is_git and len(step.words) > 1 else step.program
    given = [path.removeprefix("./") for path in step.operands[is_git:]]
    paths = [path.rstrip("/") for path in given]
    files = [os.path.basename(path) for path in paths]
    if what == "mv" and len(files) > 1:
        is_into = len(files) > 2 or given[-1] != paths[-1] or ("." in files[0] and "." not in files[-1])  # noqa: PLR2004
        for path, name in zip(paths[:-1], files[:-1], strict=True):
            new = f"{paths[-1]}/{name}" if is_into else paths[-1]
            if not is_into and "." in files[-1] and name != files[-1]:
                yield Retired(name, files[-1], was_defined=True)
            elif is_git and "/" in path and _PATH.fullmatch(path + new):
                yield Retired(path, new, was_defined=True)
    elif what == "rm":
        for path, name in zip(paths, files, strict=True):
            if code_names(name)[:1] == (name,):
                yield Retired(name, was_defined=True)
            elif is_git and name.isidentifier() and _PATH.fullmatch(path):
                yield Retired(path if "/" in path else f"./{path}", was_defined=True)


def _substituted(step: Command) -> Iterator[Retired]:
    """Yield the names that a step replaces in files, as `sed -i 's/LoadAll/loadShelf/g'` does.

    In a single file this is not a rename, unless the work tree shows one.
    """
    is_in_place = _EDITORS.intersection(step.words) and any(map(_IN_PLACE.match, step.words))
    words = step.operands if is_in_place else ()
    expressions = [part for word in words if _SUBSTITUTION.match(word) for part in word.split(";")]
    files = [word for word in words if word and not _SUBSTITUTION.match(word)]
    is_everywhere = len(files) != 1 or "*" in files[0]
    for found in filter(None, map(_SUBSTITUTION.fullmatch, expressions)):
        old, new = (_ANCHOR.sub("", found[name]).replace("\\.", ".") for name in ("old", "new"))
        is_all = is_everywhere and "g" in found["flags"]
        is_name = code_names(old)[:1] == (old,) and _TOKEN.fullmatch(new) and not new.endswith(f".{old}")
        if is_name or (is_all and is_literal(old) and is_literal(new)):
            yield Retired(old, new, was_defined=is_all)


def retired_by(edit: Edit) -> list[Retired]:
    """Return the names in an edit's removed lines that no added line has, and the old values of settings."""
    before, after = _in_lines(edit.removed), _in_lines(edit.added)
    gone = [name for name in before if name not in after]
    come = [name for name in after if name not in before]
    lost = {name for line in edit.removed if (name := defined(line))}
    pairs = Counter(
        (old[0], new[0])
        for hunk in edit.hunks
        for removed, added in zip(hunk.removed, hunk.added, strict=False)
        if (old := _only(removed, gone)) and (new := _only(added, come))
    )
    by = {
        old: new
        for (old, new), times in reversed(pairs.most_common())
        if (times > 1 or set(_words(old)) & set(_words(new))) and not _is_variable(old, new)
    }
    names = [Retired(name, by.get(name, ""), was_defined=name in lost) for name in gone]
    return names + _values(edit)


def brought_by(edit: Edit) -> list[tuple[str, str]]:
    """Return the names and values that an edit adds, as (name, setting) with "" for no setting."""
    names = ((name, "") for name in _in_lines(edit.added))
    return [*names, *((value, name) for name, value in _settings(edit, edit.added).items())]


@lru_cache(maxsize=8_192)
def code_names(text: str) -> tuple[str, ...]:
    """Return the code names in a text, each once, and the parts of names with dots and hyphens."""
    found: dict[str, None] = {}
    for token in _TOKEN.findall(text):
        for name in (token, *_PARTS.split(token)):
            if _SHORTEST <= len(name) <= _LONGEST and _CODE.search(name):
                found[name] = None
    return tuple(found)


def stated_names(text: str) -> list[str]:
    """Return the code names in a text that can be searched for in a work tree."""
    return [name for name in code_names(text) if name.isascii() and not may_be_word(name)]


def stated_code(text: str) -> list[str]:
    """Return the code in backticks that is more than a name: `retry: 1`."""
    quoted = (each for each in _QUOTED.findall(text) if each.isascii())
    return [each for each in quoted if is_code(each)]


def is_code(quoted: str) -> bool:
    """Tell whether quoted text is more than a name or a call without arguments."""
    return bool(_SYNTAX.search(quoted)) and not quoted.endswith("()")


def is_literal(text: str) -> bool:
    """Tell whether a text is literal and no code name: a path, a package, a host with a port."""
    return bool(_LITERAL.fullmatch(text) and _MARKED.search(text)) and not _TOKEN.fullmatch(text)


def may_be_word(name: str) -> bool:
    """Tell whether only a hyphen makes a text look like a name: `read-only`."""
    return not _CODE.search(name.replace("-", " "))


def in_code(tokens: Collection[str], names: Iterable[str]) -> tuple[set[str], dict[str, str]]:
    """Return the names that a work tree's tokens hold, and the new forms of moved `names`: `b.name`.

    `a.name` has moved to `b.name` if `b` is all that stands before `name` in the tree. If `name` is there in
    any other way, it may be what was meant and `a.name` counts as held; a file's suffix does not count.
    """
    joined = [name for name in names if _PARTS.search(name)] if tokens else []
    lasts = {_PARTS.split(name)[-1] for name in joined}
    held, runs = set(tokens), [""]
    before: dict[str, set[str]] = defaultdict(set)
    for token in tokens:
        parts = _PARTS.split(token)
        held.update(parts)
        if len(parts) > 1 and not lasts.isdisjoint(parts):
            runs.append(token.replace("-", "."))
            for word, part in itertools.pairwise(parts):
                before[part].add(word)
    text, moved = "..".join([*runs, ""]), {}
    for name in joined:
        rest, _, last = name.rpartition(".")
        word, other = _PARTS.split(rest)[-1], min(before[last], default="")
        if name in held or f".{name.replace('-', '.')}." in text:
            held.add(name)
        elif not rest or f".{last}" in tokens:
            continue
        elif (
            len(before[last]) == 1
            and other != word
            and code_names(last)
            and min(len(word), len(other)) > _VARIABLE
        ):
            moved[name] = f"{other}.{last}"
        elif last in held or len(last) < _SHORTEST:
            held.add(name)
    return held, moved


def _in_lines(lines: Iterable[str]) -> dict[str, None]:
    return {name: None for line in lines for name in code_names(line)}


def _is_variable(old: str, new: str) -> bool:
    """Tell whether only a possible variable before the last dot differs: `e.name`, `entry.name`."""
    (owner, _, last), (other, _, same) = old.rpartition("."), new.rpartition(".")
    return last == same and min(len(owner), len(other)) <= _VARIABLE


def _only(line: str, names: Sequence[str]) -> list[str]:
    """Return in a list the one of `names` that a line has; [] if it has none or several."""
    found = [name for name in code_names(line) if name in names]
    longest = max(found, key=len, default="")
    return [longest] if longest and all(name in longest for name in found) else []


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name) if len(word) > 2]  # noqa: PLR2004 - "id" names much


def _values(edit: Edit) -> list[Retired]:
    """Return the old values of changed settings, and multi-word values that a configuration has lost."""
    old, new = _settings(edit, edit.removed), _settings(edit, edit.added)
    return [
        Retired(value, new.get(name, ""), beside=name)
        for name, value in old.items()
        if (new[name] != value if name in new else edit.is_plain and " " in value)
    ]


def _settings(edit: Edit, lines: Iterable[str]) -> dict[str, str]:
    """Return the settings in some lines; in code, a bare word as value is a variable and does not count."""
    found = (match for line in lines if (match := _SETTING.match(line)))
    return {
        match["name"]: match["value"].strip(_QUOTES)
        for match in found
        if edit.is_plain or match["value"][0] in _QUOTES or match["value"][0].isdigit()
    }
