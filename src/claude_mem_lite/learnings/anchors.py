"""Find the code that a learning mentions, and check whether it has changed since.

An anchor is a file, or a function in one with the hash of its body, as in the code map at the time. Comments,
docstrings and whitespace do not change a hash. Anchors follow a file that is moved without other changes.
"""

import functools
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from claude_mem_lite.codemap.extract import TYPES
from claude_mem_lite.storage import code
from claude_mem_lite.storage.code import Definition

_Row = TypeVar("_Row")

MOST = 12
_OF_ONE_NAME = 4  # functions; a name that more of them have means none of them in particular
_READ = 1_000
_MOST_ABOVE = 20  # classes that are searched for an inherited method

_PATH = re.compile(r"[\w.-]*(?:/[\w.-]+)*\w\.\w{1,8}\b(?!\()")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_QUOTED = re.compile(r"`([^`\s]{1,200})`")
# A name in backticks that is no option, path or command: `split`, `@cached(60)`, `Journal.post(entry)`.
_MARKED = re.compile(rf"`[@:]*({_NAME.pattern})(?![\w/-])[^`\s]*`")
_CALLED = re.compile(r"([^\W\d][\w.]*)\(")
# A name that the words around it mark as code: "the split function", "split takes a Decimal".
_KIND = r"(?:function|method|helper|fixture|decorator)"
_SAID = re.compile(
    rf"\b{_KIND} ([a-z]\w*)|\b([a-z]\w*)(?= {_KIND}\b)"
    r"|(?:\A|[.;:] )([^\W\d]\w*) (?:must|should|may|can|cannot|is|has|does|never|takes|expects|needs|defaults"
    r"|returns|raises|gives|keeps|holds|reads|writes|calls)\b"
)
# An unmarked word written like a code name: get_user, Entry.post, camelCase, JsonStore.
_INNER = re.compile(r"\w_+\w|\w\.\w|[a-z][A-Z]")
_OPENING = re.compile(r"(?:\A|[.!?;:] )([A-Z]\w*)")  # a capital at the beginning of a sentence means no class


@dataclass(frozen=True, slots=True)
class Anchor:
    """A file, or a function in it (`name`, `body_hash`); the path is relative to the project."""

    file: str
    name: str = ""
    body_hash: str = ""


def anchors_of(row: Any) -> list[Anchor]:
    """Return the anchors in a learning's row."""
    return [Anchor(**each) for each in row.code]


def as_json(anchors: Iterable[Anchor]) -> list[dict[str, str]]:
    """Return anchors in the form stored in a learning's row."""
    return [asdict(each) for each in anchors]


def speaks_of(
    project_dir: str | None, text: str, *, about: Iterable[str] = (), near: Iterable[str] = ()
) -> list[Anchor]:
    """Return the files and functions of a project that a text names, in their current state, at most 12.

    `about` adds names. Of several functions of one name, those in the files `near`, or in a file or a class
    that is named too, are preferred. Functions that the code map does not know are left out.
    """
    if not project_dir:
        return []
    now = Code(project_dir)
    said = " ".join(f"`{each}`" for each in itertools.islice(about, _READ))
    text = f"{text[:_READ]} {said[:_READ]}"
    paths = {path: now.files(path) for path in dict.fromkeys([*_PATH.findall(text), *_QUOTED.findall(text)])}
    files = list(dict.fromkeys(file for found in paths.values() for file in found))
    rest = _PATH.sub(lambda path: " " if "/" in path[0] or paths[path[0]] else path[0], text)
    words = {part for name in _NAME.findall(rest) for part in name.split(".")}
    found: dict[Anchor, None] = {}
    for name, is_code in _names(rest).items():
        rows = now.named(name)
        if not is_code:
            rows = [row for row in rows if row.name == name and (row.kind in TYPES or row.file in files)]
        for preferred in (words, {*files, *near}):
            rows = [row for row in rows if {row.file, _owner(row.name)} & preferred] or rows
        rows = [row for row in rows if row.name == name] or rows
        if len(rows) <= _OF_ONE_NAME:
            found |= {Anchor(row.file, row.name, row.body_hash): None for row in rows}
    functions_in = {each.file for each in found}
    found |= {Anchor(file): None for file in files if file not in functions_in}
    return list(found)[:MOST]


class Code:
    """A project's code by the current code map; everything is read at most once."""

    def __init__(self, project_dir: str) -> None:
        """Remember the project; reads nothing yet."""
        self.project_dir = project_dir
        self._hashes = functools.cache(functools.partial(code.hashes, project_dir))
        self._left_with = functools.cache(functools.partial(code.deleted_with, project_dir))

    def named(self, name: str) -> list[Definition]:
        """Return the functions and classes that a name may mean.

        "journal.post" may be a method of a class Journal. An attribute means its class; an inherited method
        means the class and the method.
        """
        owner, _, last = name.removeprefix("self.").removeprefix("cls.").rpartition(".")
        wanted = f"{owner}.{last}" if owner else last
        rows = [
            row
            for row in self._by_last[_folded(last)]
            if code.answers(self.project_dir, row.file, row.name, wanted)
        ]
        if rows or not owner:
            return rows
        classes = [row for row in self._by_last[_folded(_last(owner))] if row.kind in TYPES]
        return [found for row in classes for found in self._member(row, last)]

    def files(self, path: str) -> list[str]:
        """Return in a list the file that a path, the end of a path, or a module name means; [] if ambiguous.

        A file that the map does not know is looked up on disk, and so is a folder written with a slash.
        """
        may_be_folder = "/" in path
        path = os.path.normpath(path).removeprefix(f"{self.project_dir}/").lstrip("/")
        module = path.replace(".", "/")
        as_module = (f"{module}.py", f"{module}/__init__.py") if "/" in module else ()
        for wanted in (path, *as_module):
            known = self._by_base[os.path.basename(wanted)]
            found = [each for each in known if f"/{each}".endswith(f"/{wanted}")]
            if len(found) == 1 or wanted in found:
                return [wanted if wanted in found else found[0]]
        full = os.path.join(self.project_dir, path)
        is_there = os.path.isfile(full) or (may_be_folder and os.path.isdir(full))
        is_inside = path not in {"", "."} and not path.startswith("..")
        return [path] if is_there and is_inside else []

    def moved(self, anchors: Iterable[Anchor]) -> list[Anchor]:
        """Return the anchors with current paths: those of a file that was moved unchanged follow it."""
        now = []
        for anchor in anchors:
            file = self._moved_to(anchor) if self._is_gone(anchor.file) else ""
            now.append(Anchor(file or anchor.file, anchor.name, anchor.body_hash))
        return now

    def why_stale(self, anchors: Iterable[Anchor]) -> str:
        """Return one line on how the anchored code has changed; "" if it has not."""
        return "; ".join(dict.fromkeys(filter(None, map(self._change, anchors))))

    def _change(self, anchor: Anchor) -> str:
        if not anchor.name:
            return f"{anchor.file} is gone" if self._is_gone(anchor.file) else ""
        there = self._hashes(anchor.file)
        if anchor.name in there:
            return "" if there[anchor.name] == anchor.body_hash else f"{anchor.name} has changed"
        for name, body_hash in there.items():
            if body_hash == anchor.body_hash:
                return f"{anchor.name} is now called {name}"
        elsewhere = code.files_with(self.project_dir, anchor.name)
        return f"{anchor.name} is now in {elsewhere[0]}" if len(elsewhere) == 1 else f"{anchor.name} is gone"

    def _moved_to(self, anchor: Anchor) -> str:
        """Return the file to which all contents of an anchor's file have moved; "" for none."""
        names = self._left_with(anchor.file) | {anchor.name} - {""}
        for file in code.files_with(self.project_dir, min(names)) if names else ():
            there = self._hashes(file)
            if names <= there.keys() and (not anchor.name or there[anchor.name] == anchor.body_hash):
                return file
        return ""

    def _is_gone(self, path: str) -> bool:
        """Tell whether a file is gone; never true if the project's folder is not on this machine."""
        if path in self._paths:
            return False
        return os.path.isdir(self.project_dir) and not os.path.exists(os.path.join(self.project_dir, path))

    def _member(self, row: Definition, name: str) -> list[Definition]:
        """Return a class's own method; else the class itself and the inherited methods of that name."""
        found: list[Definition] = []
        above: list[Definition] = []
        waiting = [row]
        while waiting and len(above) < _MOST_ABOVE:
            each = waiting.pop(0)
            own = self._hashes(each.file).get(f"{each.name}.{name}")
            if own is not None:
                found.append(each._replace(name=f"{each.name}.{name}", body_hash=own))
            elif each not in above:
                above.append(each)
                waiting += self._bases(each)
        return [*above[:1], *found]

    def _bases(self, row: Definition) -> list[Definition]:
        _, *names = map(_last, _NAME.findall(row.signature))
        return [
            base
            for name in names
            for base in self._by_last[_folded(name)]
            if base.kind in TYPES and _last(base.name) == name
        ]

    @functools.cached_property
    def _paths(self) -> set[str]:
        return set(code.mapped_files(self.project_dir))

    @functools.cached_property
    def _by_last(self) -> defaultdict[str, list[Definition]]:
        return _grouped((_folded(_last(row.name)), row) for row in code.definitions(self.project_dir))

    @functools.cached_property
    def _by_base(self) -> defaultdict[str, list[str]]:
        return _grouped((os.path.basename(path), path) for path in sorted(self._paths))


def _names(text: str) -> dict[str, bool]:
    """Return the words of a text that may be code names, and whether each is almost certainly one."""
    said = [name for found in _SAID.findall(text) for name in found if name]
    names = dict.fromkeys([*_MARKED.findall(text), *_CALLED.findall(text), *said], True)
    opening = set(_OPENING.findall(text))
    for name in _NAME.findall(text):
        is_code = _INNER.search(name) is not None
        if is_code or name not in opening:
            names.setdefault(name, is_code)
    return names


def _grouped(pairs: Iterable[tuple[str, _Row]]) -> defaultdict[str, list[_Row]]:
    found: defaultdict[str, list[_Row]] = defaultdict(list)
    for key, row in pairs:
        found[key].append(row)
    return found


def _owner(name: str) -> str:
    return _last(name.rpartition(".")[0])


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _folded(name: str) -> str:
    """Return the form that `journal`, `Journal` and `JOURNAL` share."""
    return name.replace("_", "").lower()
