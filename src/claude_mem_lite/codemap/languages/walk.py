"""Find a source's definitions: their nesting, their decorators and their qualified names.

One walk over the nodes that the query found serves all languages; their order and extent give the nesting.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from claude_mem_lite.codemap.extract import TYPES
from claude_mem_lite.codemap.languages.tree import (
    CLASS_SCOPE,
    NAMESPACE,
    OBJECT,
    SCOPES,
    Named,
    Node,
    Parsed,
    Range,
    body_of,
)

_MAX_DEPTH = 50  # of nested definitions
_HEAD_BYTES = 1_000  # searched for `async` before a body
_ASYNC = re.compile(rb"\b(?:async|suspend)\b")
_BETWEEN = re.compile(rb"[\s\w]*")  # decorator and definition: `@Injectable() export class`
_WRAPPER, _DEFINITION, _DECORATOR = range(3)


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition in its tree; `start` (in bytes) is before its decorators, `lead` before its wrapper."""

    qualified_name: str
    kind: str
    named: Named
    start: int
    end: int
    lead: int
    decorators: tuple[str, ...]


def definitions(parsed: Parsed) -> tuple[Definition, ...]:
    """Return a source's definitions by place, each name as often as it is defined.

    Raises: SyntaxError where the source is so broken that this would take too long.
    """
    return tuple(_Walk(parsed).definitions())


@dataclass(slots=True)
class _Open:
    """A definition around the present node, with the prefixes of names in it and of its members' names."""

    end: int
    prefix: str
    member_prefix: str
    is_class: bool = False
    is_outermost: bool = False


class _Walk:
    """One walk over the nodes of a source that define, wrap or decorate something, by place."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self._opened = [_Open(len(parsed.data) + 1, "", "", is_outermost=True)]
        self._wrapper: Range = 0, 0  # the outermost one around the next node
        self._decorators: list[Range] = []  # of the next definition
        self._done = 0  # decorators before this place belong to earlier definitions

    def definitions(self) -> Iterator[Definition]:
        """Yield what the source defines."""
        captures = self.parsed.captures()
        nodes = sorted(
            (
                (node.start_byte, -node.end_byte, rank, node)
                for rank, name in enumerate(("wrapper", "definition", "decorator"))
                for node in captures.get(name, ())
            ),
            key=lambda each: each[:3],
        )
        for index, (start, minus_end, rank, node) in enumerate(nodes):
            place = start, -minus_end
            if rank == _WRAPPER:
                self._wrapper = self._wrapper if place[1] <= self._wrapper[1] else place
            elif rank == _DECORATOR:
                self._decorators += [place] if start >= self._done else []
            elif not self._decorators or place[1] > self._decorators[-1][1]:  # not in a decorator's arguments
                named = self._named(node)
                if named is not None and named.kind not in SCOPES:
                    rest = (nodes[at] for at in range(index + 1, len(nodes)))
                    own = list(_decorators_before(rest, named.at.start_byte))
                    yield self._definition(named, place, own)
                if named is None and node.type in self.parsed.grammar.syntax.wrappers:
                    continue
                self._decorators = []
                self._done = named.at.start_byte if named is not None else place[1]
                if named is not None and named.kind != "type":
                    self._open(named, place[1])

    def _named(self, node: Node) -> Named | None:
        while self._opened[-1].end <= node.start_byte:
            self._opened.pop()
        named = self.parsed.grammar.named(self.parsed, node) if len(self._opened) <= _MAX_DEPTH else None
        if named is not None and named.is_outermost and not self._opened[-1].is_outermost:
            return replace(named, kind=OBJECT)
        return named

    def _name(self, named: Named) -> str:
        above = self._opened[-1]
        return (above.member_prefix if named.is_member else above.prefix) + named.name

    def _open(self, named: Named, end: int) -> None:
        above, name = self._opened[-1], self._name(named)
        inside = f"{name}." if named.name else name
        is_class = named.kind in TYPES or named.kind == CLASS_SCOPE
        is_outermost = above.is_outermost and named.kind in {NAMESPACE, OBJECT}
        prefix = above.prefix if named.kind == OBJECT else inside
        self._opened.append(_Open(end, prefix, inside, is_class, is_outermost))

    def _definition(self, named: Named, place: Range, own: list[Range]) -> Definition:
        start, end = place
        before = self._adjacent(start)
        start = before[0][0] if before else start
        is_wrapped = self._wrapper[0] <= start and end <= self._wrapper[1]
        lead = self._wrapper[0] if is_wrapped else start
        if is_wrapped:
            self._wrapper = 0, 0
        above = self._opened[-1]
        is_method = named.kind == "function" and (above.is_class or named.is_member or "." in named.name)
        kind = "method" if is_method else named.kind
        if kind in {"function", "method"} and self._is_async(named):
            kind = f"async_{kind}"
        decorators = tuple(self.parsed.one_line(*each) for each in (*before, *own))
        return Definition(self._name(named), kind, named, start, end, lead, decorators)

    def _adjacent(self, start: int) -> list[Range]:
        """Return the decorators that only keywords and comments separate from a place."""
        found: list[Range] = []
        for each in reversed(self._decorators):
            if not _BETWEEN.fullmatch(self.parsed.code(each[1], start)):
                break
            found.insert(0, each)
            start = each[0]
        return found

    def _is_async(self, named: Named) -> bool:
        parameters, body = named.head.child_by_field_name("parameters"), body_of(named.head)
        end = body.start_byte if body is not None else named.head.end_byte
        start = min(named.head.start_byte, named.at.start_byte)
        if parameters is None:
            return _ASYNC.search(self.parsed.code(start, min(end, start + _HEAD_BYTES))) is not None
        around = (start, parameters.start_byte), (parameters.end_byte, end)
        return any(_ASYNC.search(self.parsed.code(*each)) for each in around if each[0] < each[1])


def _decorators_before(nodes: Iterator[tuple[int, int, int, Node]], place: int) -> Iterator[Range]:
    """Yield the decorators that begin before a place, which is that of a definition's name."""
    for start, minus_end, rank, _ in itertools.takewhile(lambda node: node[0] < place, nodes):
        if rank == _DECORATOR:
            yield start, -minus_end
