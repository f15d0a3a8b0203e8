"""A project's code map: its files, each mapped again only when it has changed, and the calls among them."""

from __future__ import annotations

import gc
import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claude_mem_lite.codemap import languages, name_matching, sources
from claude_mem_lite.codemap.confidence import CONFIDENCE, UNRESOLVED_CONFIDENCE
from claude_mem_lite.codemap.extract import Function, definitions_of, describe, parse
from claude_mem_lite.codemap.valueflow.frame import LEVELS
from claude_mem_lite.codemap.valueflow.imports import module_names
from claude_mem_lite.codemap.valueflow.lowering import lower
from claude_mem_lite.codemap.valueflow.solver import solve
from claude_mem_lite.codemap.valueflow.terms import Import, import_statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from claude_mem_lite.codemap.valueflow.modules import Modules
    from claude_mem_lite.codemap.valueflow.terms import Scope
    from claude_mem_lite.codemap.valueflow.values import Evidence


@dataclass(frozen=True, slots=True)
class FileMap:
    """What one file holds; values that the caller may store: pickled, or the scopes by `packing`.

    `digest` is the SHA-256 of its bytes; `error` says why a file has no map, "" where it has one.
    """

    path: str
    digest: str
    lines: int
    functions: tuple[Function, ...]
    scopes: tuple[Scope, ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A call: dotted names of caller and callee, the caller's file and line.

    `resolution` is "direct", "self_method", "import" or "unresolved"; `level` names the evidence,
    `confidence` is how often edges of that level were right; `shape` is the call's form, e.g. "self.m()".
    """

    caller: str
    callee: str
    file: str
    line: int
    resolution: str
    level: str
    confidence: float
    shape: str
    is_class: bool = False


def scan_source(path: str, data: bytes | str) -> FileMap:
    """Map one file from its bytes or text; `path` is kept as it is."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    digest = hashlib.sha256(raw).hexdigest()
    lines = raw.count(b"\n") + (raw[-1:] not in {b"\n", b""})
    if len(raw) > sources.MAX_BYTES:
        return FileMap(path, digest, lines, (), (), f"{len(raw)} bytes; at most {sources.MAX_BYTES} are read")
    text = data if isinstance(data, str) else sources.decode(data)
    try:
        if not path.endswith(sources.PYTHON):
            return FileMap(path, digest, lines, languages.extract(path, text), ())
        tree = parse(text)
        functions = describe(definitions_of(tree))
        scopes = lower(tree)
    except (SyntaxError, RecursionError, MemoryError) as error:
        return FileMap(path, digest, lines, (), (), f"cannot be parsed: {error}")
    return FileMap(path, digest, lines, functions, scopes)


class Project:
    """The Python files below a folder, and who calls whom in them.

    `files` maps relative paths to their maps; hand back those of an earlier scan and only
    changed files are mapped again.
    """

    def __init__(self, folder: str, files: Mapping[str, FileMap] | None = None) -> None:
        """Take a folder; nothing is read before `scan`."""
        self.folder = folder
        self.files: dict[str, FileMap] = dict(files or {})
        self._edges: tuple[Edge, ...] | None = None
        self._missed: tuple[Edge, ...] = ()

    def scan(self, paths: Iterable[str] | None = None) -> tuple[str, ...]:
        """Read what changed, by content: of all files or of some; return the paths that did.

        Paths are relative to the folder. A file that is gone leaves the map; one that can't be parsed any
        more keeps its last good map, with its error.
        """
        tree = sources.Tree(self.folder)
        wanted = list(sources.source_files(self.folder, sources.PYTHON)) if paths is None else list(paths)
        changed = [path for path in self.files if path not in set(wanted)] if paths is None else []
        for path in changed:
            del self.files[path]
        with no_collection():
            sure = (path for path in wanted if path.endswith(sources.PYTHON))
            changed += [path for path in sure if self._scan_file(tree, path)]
        if changed:
            self._edges = None
        return tuple(changed)

    def _scan_file(self, tree: sources.Tree, path: str) -> bool:
        old = self.files.get(path)
        try:
            data = tree.read(path)
        except OSError:
            return self.files.pop(path, None) is not None
        if old is not None and old.digest == hashlib.sha256(data).hexdigest():
            return False
        self.update(scan_source(path, data))
        return True

    def update(self, new: FileMap) -> None:
        """Take one file's map; one with an error leaves the last good functions and scopes in place."""
        old = self.files.get(new.path)
        if new.error and old is not None:
            new = FileMap(new.path, new.digest, new.lines, old.functions, old.scopes, new.error)
        self.files[new.path] = new
        self._edges = None

    def edges(self, *, least: float = 0.0, guesses: bool = True) -> tuple[Edge, ...]:
        """Return the calls among the project's functions, one edge a pair, in the order of files and lines.

        `least` is the lowest confidence; without `guesses`, those are left out that rest on a name alone.
        """
        self._resolve()
        found = self._edges or ()
        return tuple(
            [edge for edge in found if edge.confidence >= least and (guesses or edge.level != "guess")]
        )

    def unresolved(self) -> tuple[Edge, ...]:
        """Return calls whose callee is unknown, by the name that is written; noise is left out."""
        self._resolve()
        return self._missed

    def modules(self) -> dict[str, str]:
        """Return each file's dotted module name."""
        above = sources.packages_above(self.folder)
        good = [path for path, file in self.files.items() if file.scopes]
        imported = {name for path in good for name in _imported(self.files[path].scopes)}
        return module_names(good, above, imported)

    def _resolve(self) -> None:
        if self._edges is not None:
            return
        names = self.modules()
        with no_collection():
            modules = solve({path: self.files[path].scopes for path in names}, names)
            self._edges, self._missed = _edges_of(modules)


def _edges_of(modules: Modules) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Return the resolved and the unresolved calls, one edge a pair."""
    matched, missed = name_matching.match(modules)
    found: dict[tuple[str, str], tuple[Evidence, Edge]] = {}
    classes = {owner.name for module in modules for owner in module.classes.values()}
    for module in modules:
        for unit in module.units:
            for callee, evidence in {**matched.get(unit, {}), **unit.edges}.items():
                level = LEVELS[evidence.rank]
                edge = Edge(
                    unit.caller, callee, module.path, evidence.line or unit.scope.line, evidence.resolution,
                    level, CONFIDENCE[level], evidence.shape, callee in classes,
                )  # fmt: skip
                old = found.get((edge.caller, callee))
                if old is None or (old[0].rank, old[1].line) > (evidence.rank, evidence.line):
                    found[edge.caller, callee] = (evidence, edge)
    unresolved = {
        (unit.caller, name): Edge(
            unit.caller, name, unit.module.path, line, "unresolved", "unresolved", UNRESOLVED_CONFIDENCE,
            "unresolved",
        )
        for unit, line, name in missed
    }  # fmt: skip
    return _in_order(edge for _, edge in found.values()), _in_order(unresolved.values())


def _in_order(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (edge.file, edge.line, edge.caller, edge.callee)))


def _imported(scopes: tuple[Scope, ...]) -> Iterator[str]:
    """Yield the first parts of what a file imports by absolute names."""
    for scope in scopes:
        for statement in import_statements(scope.body):
            if isinstance(statement, Import):
                yield from (name.partition(".")[0] for name, _ in statement.names)
            elif statement.level == 0:
                yield statement.module.partition(".")[0]


@contextmanager
def no_collection() -> Iterator[None]:
    """Hold the garbage collector: a growing syntax tree has it search in vain, for half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
