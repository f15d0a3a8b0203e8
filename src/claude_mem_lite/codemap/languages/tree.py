"""Parse a source with tree-sitter, and find the nodes that matter to definitions with one query.

A `Syntax` names the node types of a grammar. Only this module imports tree-sitter, and only when a source
is parsed.
"""

from __future__ import annotations

import bisect
import functools
import importlib
import importlib.util
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tree_sitter

    Node = tree_sitter.Node
    Query = tree_sitter.Query
else:  # annotations do not load tree-sitter
    Node = Query = Any
Range = tuple[int, int]  # of bytes

_MAX_BYTES = 1_000_000  # a larger file is taken to be generated
_MAX_LINE_BYTES = 300  # a file with a longer mean line is taken to be minified
_SMALL_BYTES = 5_000
_CPU_S, _LEAST_CPU_S, _CPU_S_PER_BYTE = 2.0, 0.3, 3e-6  # a file of 1 MB takes 0.3 s
_CALLS_A_LOOK = 50  # progress calls between looks at the clock, about 10 ms of work
_WIDEST_ERROR = 10_000  # parts; a query's time grows with their square, here 0.2 s
_CHUNK_BYTES = 1 << 16
_BODIES = ("_body", "block")

# Kinds that only prefix names: of everything inside (an `impl`, a namespace), or of an object's members.
CLASS_SCOPE, NAMESPACE, OBJECT = "class scope", "namespace", "object"
SCOPES = frozenset({CLASS_SCOPE, NAMESPACE, OBJECT})


@dataclass(frozen=True, slots=True)
class Named:
    """What a node defines: `name` may begin with its receiver ("Store.Get"), `at` is the node of the name.

    `head` is the node with parameters and body. `is_member`: the name is prefixed with that of the object
    around it. `is_outermost`: it is a function outside of functions only, and an object elsewhere.
    """

    name: str
    kind: str
    at: Node
    head: Node
    is_member: bool = False
    is_outermost: bool = False


@dataclass(frozen=True, slots=True)
class Syntax:
    """The node types of a grammar, by what they mean.

    `kinds` maps the types of nodes that define something to its kind, "" where only `named` can tell.
    `wrappers` surround definitions (`export`, `const`), `literals` are hashed exactly as written.
    """

    kinds: Mapping[str, str]
    comments: tuple[str, ...]
    literals: tuple[str, ...]
    wrappers: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    is_type_first: bool = False  # `int add(int a)`


class Parsed:
    """A source's bytes and its syntax tree."""

    def __init__(self, grammar: TreeLanguage, source: str) -> None:
        """Parse a source. Raises: SyntaxError where that takes too long."""
        self.grammar = grammar
        self.data = source.encode("utf-8", "replace")
        self.root = _parse(grammar.load(), self.data)
        self._captures: dict[str, list[Node]] | None = None

    def text(self, node: Node) -> str:
        """Return a node's source."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def captures(self) -> dict[str, list[Node]]:
        """Return the nodes that matter to definitions, under "definition", "wrapper", "comment" and so on.

        Raises: SyntaxError where an error is so wide that this would take too long.
        """
        if self._captures is None:
            self._captures = _captures(self.root, _query(self.grammar))
        return self._captures

    @functools.cached_property
    def _comment_ends(self) -> list[int]:
        return [end for _, end in self.comments]

    @functools.cached_property
    def comments(self) -> list[Range]:
        """Ranges of the comments, without the end of the line that some grammars include."""
        places = ((node.start_byte, node.end_byte) for node in self.captures().get("comment", ()))
        return merged((start, start + len(self.data[start:end].rstrip())) for start, end in places)

    def code(self, start: int, end: int) -> bytes:
        """Return a part of the source with each comment replaced by a space."""
        at = bisect.bisect_right(self._comment_ends, start)
        if at == len(self.comments) or self.comments[at][0] >= end:
            return self.data[start:end]
        parts = []
        for first, last in itertools.takewhile(
            lambda each: each[0] < end, itertools.islice(self.comments, at, None)
        ):
            parts.append(self.data[start:first])
            start = max(start, last)
        return b" ".join([*parts, self.data[start:end]])

    def one_line(self, start: int, end: int) -> str:
        """Return a part of the source on one line, without comments."""
        return " ".join(self.code(start, end).decode("utf-8", "replace").split())


def by_field(parsed: Parsed, node: Node) -> Named | None:
    """Return the definition that a node's field "name" names; None where it has none."""
    at = node.child_by_field_name("name")
    if at is None or at.start_byte == at.end_byte:
        return None
    return Named(parsed.text(at), parsed.grammar.syntax.kinds[node.type], at, node)


@dataclass(frozen=True, slots=True, eq=False)
class TreeLanguage:
    """A language that tree-sitter parses: its grammar's `package` and `symbol`, and its files' suffixes.

    `named` returns what a node defines. `extra` is the extra of this package that installs the grammar, ""
    if it always is. Nothing of tree-sitter is loaded before a source is parsed.
    """

    name: str
    package: str
    syntax: Syntax
    named: Callable[[Parsed, Node], Named | None] = by_field
    symbol: str = "language"
    _: KW_ONLY
    suffixes: tuple[str, ...]
    extra: str = ""
    has_calls: bool = False  # `codemap.calls` has a table for it

    @property
    def is_installed(self) -> bool:
        """Whether tree-sitter and the grammar are installed."""
        return _is_installed(self.package)

    def load(self) -> Any:
        """Return the grammar, a `tree_sitter.Language`."""
        return _load(self.package, self.symbol)

    def parse(self, source: str) -> Parsed:
        """Return a source's syntax tree. Raises: SyntaxError where that takes too long."""
        return Parsed(self, source)

    def readable(self, source: str) -> Parsed | None:
        """Return the syntax tree of a source; None for a minified one.

        Raises: SyntaxError where it is too large or takes too long to parse.
        """
        size = len(source.encode("utf-8", "replace"))
        if size > _MAX_BYTES:
            raise SyntaxError(f"{size} bytes; at most {_MAX_BYTES} of {self.name} are read")
        if size > _SMALL_BYTES and size > _MAX_LINE_BYTES * (source.count("\n") + 1):
            return None
        return self.parse(source)


def parse_part(parsed: Parsed, node: Node) -> Node | None:
    """Parse the source of one node, in its place; None where that takes too long.

    This is for parts that a grammar does not parse, such as the arguments of a macro.
    """
    from tree_sitter import Range as Part

    part = Part(node.start_point, node.end_point, node.start_byte, node.end_byte)
    try:
        return _parse(parsed.grammar.load(), parsed.data, part)
    except SyntaxError:
        return None


def nodes(grammar: TreeLanguage, root: Node, types: Iterable[str]) -> list[tuple[int, int, Node]]:
    """Return the nodes of some types in a tree with start and end bytes, by place, outer ones first.

    Raises: SyntaxError where an error is so wide that this would take too long.
    """
    found = _captures(root, _types_query(grammar, frozenset(types))).get("node", ())
    placed = [(node.start_byte, node.end_byte, node) for node in found]
    return sorted(placed, key=lambda each: (each[0], -each[1]))


def child_of(node: Node, type_: str) -> Node | None:
    """Return a node's first named child of a type; None where it has none."""
    return next((each for each in node.named_children if each.type == type_), None)


def unwrapped(node: Node, around: Collection[str]) -> Node:
    """Return the first node inside the nodes of the types `around`, such as parentheses."""
    while node.type in around and node.named_child_count:
        node = node.named_children[0]
    return node


def body_of(head: Node) -> Node | None:
    """Return a definition's body; None where it has none."""
    body = head.child_by_field_name("body")
    if body is not None:
        return body
    return next((child for child in head.named_children if child.type.endswith(_BODIES)), None)


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Sort ranges and merge those that overlap."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


@functools.cache
def _is_installed(package: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("tree_sitter", package))


@functools.cache
def _load(package: str, symbol: str) -> Any:
    from tree_sitter import Language

    return Language(getattr(importlib.import_module(package), symbol)())


@functools.cache
def _query(grammar: TreeLanguage) -> Query:
    from tree_sitter import Query

    syntax, language = grammar.syntax, grammar.load()
    captures = {
        "definition": tuple(syntax.kinds),
        "wrapper": syntax.wrappers,
        "decorator": syntax.decorators,
        "comment": syntax.comments,
        "literal": syntax.literals,
        "error": ("ERROR",),
    }
    return Query(language, "\n".join(_one_of(language, types, name) for name, types in captures.items()))


@functools.cache
def _types_query(grammar: TreeLanguage, types: frozenset[str]) -> Query:
    from tree_sitter import Query

    language = grammar.load()
    return Query(language, _one_of(language, sorted(types), "node"))


def _one_of(language: Any, types: Iterable[str], capture: str) -> str:
    """Return a query pattern for nodes of some types, without those that the installed grammar lacks."""
    known = [f"({each})" for each in types if language.id_for_node_kind(each, True) is not None]
    return f"[{' '.join(known)}] @{capture}" if known else ""


def _captures(root: Node, query: Query) -> dict[str, list[Node]]:
    from tree_sitter import QueryCursor

    _refuse_wide_errors(root)
    return QueryCursor(query).captures(root)


def _parse(language: Any, data: bytes, part: Any = None) -> Node:
    from tree_sitter import Parser

    # Processor time, so that a busy machine may take longer: ten times what a source usually takes.
    size = len(data) if part is None else part.end_byte - part.start_byte
    limit_s = min(_CPU_S, _LEAST_CPU_S + size * _CPU_S_PER_BYTE)
    last = part.end_byte if part is not None else len(data)
    progress = itertools.count(1)
    ends: list[float] = []

    def is_late(_at: int, _has_error: bool) -> bool:  # noqa: FBT001  (the library's)
        if next(progress) % _CALLS_A_LOOK:
            return False
        now = time.thread_time()
        ends.append(now + limit_s)
        return now > ends[0]

    try:
        parser = Parser(language, included_ranges=[part] if part is not None else [])
        tree = parser.parse(lambda at, _: data[at : min(at + _CHUNK_BYTES, last)], progress_callback=is_late)
    except ValueError as error:  # raised when `is_late` stops the parser
        raise SyntaxError(f"takes more than {limit_s:.1f} s to parse") from error
    return tree.root_node


def _refuse_wide_errors(root: Node) -> None:
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR" and node.child_count > _WIDEST_ERROR:
            raise SyntaxError(f"{node.child_count} parts in one error")
        waiting += [child for child in node.children if child.has_error]
