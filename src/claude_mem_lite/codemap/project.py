"""Map a project: its files, each parsed again only after a change, and the calls between them."""

import gc
import hashlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from claude_mem_lite.codemap import calls, isolation, languages, sources
from claude_mem_lite.codemap.calls import facts as call_facts
from claude_mem_lite.codemap.calls.facts import Facts
from claude_mem_lite.codemap.confidence import CALL_CONFIDENCE
from claude_mem_lite.codemap.extract import MAX_FUNCTIONS, Function, describe, parse
from claude_mem_lite.codemap.languages import rows, walk
from claude_mem_lite.codemap.languages.tree import TreeLanguage
from claude_mem_lite.codemap.resolution import Calls, Edge, Resolution, unresolved
from claude_mem_lite.codemap.valueflow import terms
from claude_mem_lite.codemap.valueflow.imports import module_names
from claude_mem_lite.codemap.valueflow.lowering import lower
from claude_mem_lite.codemap.valueflow.terms import Import, Scope, import_statements


@dataclass(frozen=True, slots=True)
class FileMap:
    """The map of one file, which the caller may store pickled or as `packed`.

    `digest` is the SHA-256 of the file's bytes; `error` says why it has no map, "" if it has one. Calls are
    resolved from `scopes` in Python and from `facts` in other languages. `imports` are the first name parts
    of Python's absolute imports.
    """

    path: str
    digest: str
    lines: int
    functions: tuple[Function, ...]
    scopes: tuple[Scope, ...]
    error: str = ""
    facts: Facts | None = None
    imports: frozenset[str] | None = None

    def packed(self, shown: Callable[[Collection[str]], Mapping[str, str]]) -> bytes:
        """Return the input of call resolution as bytes; b"" for a language whose calls are not resolved.

        `shown` takes the texts in a Python file and returns replacements for those that may not be stored.
        """
        if self.path.endswith(sources.PYTHON):
            return terms.pack(self.scopes, shown)
        return call_facts.pack(self.facts) if self.facts is not None else b""


def scan_source(path: str, data: bytes | str) -> FileMap:
    """Map one file from its bytes or text; `path` is stored unchanged."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    digest = hashlib.sha256(raw).hexdigest()
    lines = raw.count(b"\n") + (raw[-1:] not in {b"\n", b""})
    if len(raw) > sources.MAX_BYTES:
        return FileMap(path, digest, lines, (), (), f"{len(raw)} bytes; at most {sources.MAX_BYTES} are read")
    text = data if isinstance(data, str) else sources.decode(data)
    try:
        if not path.endswith(sources.PYTHON):
            return isolation.run(_scan_tree, path, digest, lines, text)
        tree = parse(text)
        functions = describe(tree)
        scopes = lower(tree)
    except (SyntaxError, RecursionError, MemoryError) as error:
        return FileMap(path, digest, lines, (), (), f"cannot be parsed: {error}")
    return FileMap(path, digest, lines, functions, scopes, imports=_imported(scopes))


def unpacked(path: str, data: bytes) -> FileMap | None:
    """Return a file's map with only the input of call resolution; None where another version packed it."""
    if not path.endswith(sources.PYTHON):
        facts = call_facts.unpack(data) if data else None
        return FileMap(path, "", 0, (), (), "", facts) if facts is not None else None
    scopes = terms.unpack(data)
    return FileMap(path, "", 0, (), scopes, imports=_imported(scopes)) if scopes else None


def _scan_tree(path: str, digest: str, lines: int, text: str) -> FileMap:
    """Map a file in a language that tree-sitter parses. Raises: SyntaxError."""
    language = languages.of(path)
    parsed = language.readable(text) if isinstance(language, TreeLanguage) else None
    if not isinstance(language, TreeLanguage) or parsed is None:
        return FileMap(path, digest, lines, (), ())
    definitions = walk.definitions(parsed)
    functions = rows.describe(parsed, definitions, limit=MAX_FUNCTIONS)
    return FileMap(path, digest, lines, functions, (), "", calls.read(path, parsed, definitions))


class Project:
    """The files below a folder and the calls between them.

    `files` maps relative paths to file maps; pass those of an earlier scan to map only changed files again.
    """

    def __init__(self, folder: str, files: Mapping[str, FileMap] | None = None) -> None:
        """Take a folder; nothing is read before `scan`."""
        self.folder = folder
        self.files: dict[str, FileMap] = dict(files or {})

    def scan(self, paths: Iterable[str] | None = None) -> tuple[str, ...]:
        """Map the files whose content changed, of all files or of `paths`; return the paths that changed.

        Paths are relative to the folder. A deleted file leaves the map; one that can no longer be parsed
        keeps its last good map, with the error.
        """
        tree = sources.Tree(self.folder)
        wanted = list(sources.source_files(self.folder)) if paths is None else list(paths)
        changed = [path for path in self.files if path not in set(wanted)] if paths is None else []
        for path in changed:
            del self.files[path]
        with no_collection():
            sure = (path for path in wanted if tree.is_source(path))
            changed += [path for path in sure if self._scan_file(tree, path)]
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
        """Store one file's map; if it has an error, the last good functions and scopes stay."""
        old = self.files.get(new.path)
        if new.error and old is not None:
            new = replace(old, digest=new.digest, lines=new.lines, error=new.error)
        self.files[new.path] = new

    def edges(self, *, guesses: bool = True) -> tuple[Edge, ...]:
        """Return the calls between the project's functions, one edge per pair, ordered by file and line.

        Without `guesses`, calls that are matched by name alone are left out.
        """
        return tuple([edge for edge in self._calls()[0] if guesses or edge.level != "guess"])

    def unresolved(self) -> tuple[Edge, ...]:
        """Return calls whose callee is unknown, under the name as written; noise is left out."""
        return tuple(self._calls()[1])

    def modules(self) -> dict[str, str]:
        """Return the name of each file's module: dotted in Python, its path in other languages."""
        return self.python_modules() | {path: path for path, file in self.files.items() if file.facts}

    def python_modules(self) -> dict[str, str]:
        """Return the dotted name of each Python file's module."""
        above = sources.packages_above(self.folder)
        good = {path: file.imports for path, file in self.files.items() if file.imports is not None}
        return module_names(good, above, frozenset[str]().union(*good.values()))

    def _calls(self) -> Calls:
        """Return the resolved and the unresolved calls of all languages."""
        names = self.python_modules()
        with no_collection():
            resolution = Resolution({path: self.files[path].scopes for path in names}, names)
            found, missed = zip(*resolution.calls.values(), self.resolve_others(), strict=True)
        return _in_order(found), _in_order(missed)

    def resolve_others(self) -> tuple[Iterable[Edge], Iterable[Edge]]:
        """Return the resolved and the unresolved calls of all languages but Python, one edge per pair."""
        tree = sources.Tree(self.folder)

        def text_of(path: str) -> str:
            try:
                return tree.read(path).decode("utf-8-sig", "replace")
            except (OSError, ValueError):
                return ""

        found: dict[tuple[str, str], Edge] = {}
        missed: dict[tuple[str, str], Edge] = {}
        facts = {path: file.facts for path, file in self.files.items() if file.facts is not None}
        for call in calls.resolve(facts, text_of):
            edge = _edge(call)
            known = missed if isinstance(call, calls.Missed) else found
            old = known.get((edge.caller, edge.callee))
            if old is None or (-old.confidence, old.line) > (-edge.confidence, edge.line):
                known[edge.caller, edge.callee] = edge
        return found.values(), missed.values()


def _edge(call: calls.Found | calls.Missed) -> Edge:
    path, caller = call.caller[0], _dotted(call.caller)
    if isinstance(call, calls.Missed):
        return unresolved(caller, call.name, path, call.line)
    is_own = call.shape.startswith(("this.", "super"))
    resolution = "self_method" if is_own else "direct" if path == call.callee[0] else "import"
    return Edge(
        caller, _dotted(call.callee), path, call.line, resolution, call.level, CALL_CONFIDENCE[call.level],
        call.shape, call.is_class,
    )  # fmt: skip


def _dotted(place: tuple[str, str]) -> str:
    return ".".join(filter(None, place))


def _in_order(edges: Iterable[Iterable[Edge]]) -> list[Edge]:
    together = itertools.chain.from_iterable(edges)
    return sorted(together, key=lambda edge: (edge.file, edge.line, edge.caller, edge.callee))


def _imported(scopes: tuple[Scope, ...]) -> frozenset[str]:
    """Return the first name parts of a file's absolute imports."""
    found: set[str] = set()
    for scope in scopes:
        for statement in import_statements(scope.body):
            if isinstance(statement, Import):
                found.update(name.partition(".")[0] for name, _ in statement.names)
            elif statement.level == 0:
                found.add(statement.module.partition(".")[0])
    return frozenset(found)


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the garbage collector: with a growing syntax tree, it would take half of the time in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
