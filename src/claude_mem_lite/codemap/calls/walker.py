"""Read the facts of a file from its syntax tree, by a language's tables.

One query finds the nodes that a language has a handler for; their order and extent determine the scope of
each. Handlers lower expressions and types to terms as they need them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.codemap.calls.facts import Call, Facts, Scope, Term, Terms
from claude_mem_lite.codemap.languages import tree
from claude_mem_lite.codemap.languages.tree import Node, Parsed
from claude_mem_lite.codemap.languages.walk import Definition

_MAX_DEPTH = 60  # of an expression or a type: a longer chain is cut
_MAX_TERMS = 8  # per name
_NO_TERMS: Terms = {}  # shared by scopes: most have some empty tables
_PLAIN = frozenset({"name", "attribute", "typed"})
_SHAPES = {
    "this": "this.m()", "self": "this.m()", "super": "super.m()", "identifier": "obj.m()",
    **dict.fromkeys(("call_expression", "method_invocation"), "f().m()"),
    **dict.fromkeys(
        ("member_expression", "selector_expression", "field_expression", "field_access"), "obj.attr.m()"
    ),
}  # fmt: skip


def _nodes(walk: Walk, types: Iterable[str]) -> list[tuple[int, int, Node]]:
    return tree.nodes(walk.parsed.grammar, walk.parsed.root, types)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A language's tables for reading facts, by the types of nodes.

    `scopes` maps nodes that open a scope to its kind, `handlers` maps nodes to functions that take a node and
    its scope, `expressions` and `types` map nodes to functions that lower them. `declarations` are handlers
    that run before all others; `nodes` finds the nodes of a file by their types.
    """

    scopes: Mapping[str, str]
    handlers: Mapping[str, Callable[[Walk, Node, int], None]]
    expressions: Mapping[str, Callable[[Walk, Node], Term]]
    types: Mapping[str, Callable[[Walk, Node], Term]]
    declarations: Mapping[str, Callable[[Walk, Node, int], None]] = field(default_factory=dict)
    nodes: Callable[[Walk, Iterable[str]], list[tuple[int, int, Node]]] = _nodes


@dataclass(slots=True)
class Draft:
    """A scope while it is read, with the fields of `Scope`."""

    kind: str
    name: str
    parent: int
    line: int
    names: dict[str, list[Term]] = field(default_factory=dict)
    types: dict[str, list[Term]] = field(default_factory=dict)
    members: dict[str, list[Term]] = field(default_factory=dict)
    statics: dict[str, list[Term]] = field(default_factory=dict)
    bases: list[Term] = field(default_factory=list)
    params: list[tuple[Term, Term]] = field(default_factory=list)
    type_params: list[tuple[str, Term]] = field(default_factory=list)
    return_type: Term = None
    returns: list[Term] = field(default_factory=list)
    context: Term = None
    flags: list[str] = field(default_factory=list)

    def done(self) -> Scope:
        """Return the finished scope."""
        return Scope(
            self.kind, self.name, self.parent, self.line,
            _done(self.names), _done(self.types), _done(self.members), _done(self.statics),
            tuple(self.bases), tuple(self.params), tuple(self.type_params), self.return_type,
            tuple(self.returns[:_MAX_TERMS]), self.context, tuple(self.flags),
        )  # fmt: skip


class Walk:
    """One reading of a file; handlers add to `scopes`, `calls`, `exports` and `stars`."""

    def __init__(self, table: Table, parsed: Parsed, definitions: Sequence[Definition]) -> None:
        """Take a parsed file and its definitions, which name its scopes."""
        self.table = table
        self.parsed = parsed
        self.text = parsed.text
        self.scopes = [Draft("module", "", -1, 1)]
        self.here = 0  # the scope of the node being read
        self.calls: list[Call] = []
        self.exports: dict[str, list[Term]] = {}
        self.stars: list[str] = []
        self.declared: dict[int, Term] = {}  # declared types of calls' results, by node
        self.seen: dict[str, list[tuple[int, int, int, int]]] = {}  # by name: start, end, scope, place
        self.places: dict[int, tuple[int, int]] = {}  # scope and place of a variable, by node
        self.embedded: dict[int, Node] = {}  # trees of parts that the grammar does not parse, by start
        self._index: dict[int, int] = {}  # scopes by node
        self._lowered: dict[int, Term] = {}
        self._depth = 0
        self._names = {
            (each.named.head.start_byte, each.named.head.end_byte): each.qualified_name
            for each in definitions
        }

    def facts(self) -> Facts:
        """Return the file's facts. Raises: SyntaxError where the file is too broken."""
        scopes, passes = self.table.scopes, (self.table.declarations, self.table.handlers)
        types = dict.fromkeys((*scopes, *passes[0], *passes[1]))
        placed = []
        opened = [(len(self.parsed.data) + 1, 0)]
        for start, end, node in self.table.nodes(self, types):
            while opened[-1][0] <= start:
                opened.pop()
            here, type_ = opened[-1][1], node.type
            placed.append((type_, node, here))
            kind = scopes.get(type_)
            if kind is not None:
                self._index[node.id] = len(self.scopes)
                opened.append((end, len(self.scopes)))
                name = self._names.get((start, end), "")
                self.scopes.append(Draft(kind, name, here, node.start_point[0] + 1))
        for handlers in filter(None, passes):
            for type_, node, here in placed:
                if (handler := handlers.get(type_)) is not None:
                    self.here = here
                    handler(self, node, here)
        return Facts(
            tuple([each.done() for each in self.scopes]),
            tuple(self.calls),
            _done(self.exports),
            tuple(self.stars),
        )

    def scope(self, node: Node) -> int | None:
        """Return the scope that a node opens; None for other nodes."""
        return self._index.get(node.id)

    def own(self, node: Node) -> int:
        """Return the scope of a node whose type opens one."""
        return self._index[node.id]

    def lower(self, node: Node | None) -> Term:
        """Return an expression as a term."""
        return self._lower(node, self.table.expressions)

    def type(self, node: Node | None) -> Term:
        """Return a type as a term."""
        return self._lower(node, self.table.types)

    def _lower(self, node: Node | None, table: Mapping[str, Callable[[Walk, Node], Term]]) -> Term:
        how = table.get(node.type) if node is not None else None
        if how is None or node is None:
            return None
        key = node.id
        if key in self._lowered:
            return self._lowered[key]
        if self._depth >= _MAX_DEPTH:
            return None
        self._depth += 1
        term = self._lowered[key] = how(self, node)
        self._depth -= 1
        return term

    def named(self, node: Node, name: str = "name") -> str | None:
        """Return the source of a node's child in a field, by default its name; None where it has none."""
        child = node.child_by_field_name(name)
        return self.text(child) if child is not None else None

    def declaring(self, name: str, *, within: str = "") -> int:
        """Return the innermost scope that has a name so far or is of the kind `within`, else the module."""
        here = self.here
        while here > 0 and name not in self.scopes[here].names and self.scopes[here].kind != within:
            here = self.scopes[here].parent
        return here

    def call(self, here: int, at: Node, callee: Term, shape: str) -> None:
        """Record a call at a node."""
        self.calls.append(Call(here, at.start_point[0] + 1, callee, shape))


def bind(terms: dict[str, list[Term]], name: str, term: Term) -> None:
    """Add a term to those that a name stands for."""
    known = terms.setdefault(name, [])
    if term not in known and len(known) < _MAX_TERMS:
        known.append(term)


def _done(terms: dict[str, list[Term]]) -> Terms:
    return {name: tuple(each) for name, each in terms.items()} if terms else _NO_TERMS


def field_of(node: Node, name: str) -> Any:
    """Return a node's child in a field; None where it has none."""
    return node.child_by_field_name(name)


def listed(node: Node | None) -> list[Node]:
    """Return the named children of a node without comments."""
    if node is None:
        return []
    return [each for each in node.named_children if not each.type.endswith("comment")]


def written_out(kind: str) -> Callable[[Walk, Node], Term]:
    """Return a lowering for nodes that open a "scope", e.g. functions, or are a type's "shape"."""

    def lowered(walk: Walk, node: Node) -> Term:
        index = walk.scope(node)
        return (kind, index) if index is not None else None

    return lowered


def first_inside(walk: Walk, node: Node) -> Term:
    """Lower the first expression inside a node, as of parentheses."""
    return walk.lower(node.named_children[0]) if node.named_child_count else None


def type_inside(walk: Walk, node: Node) -> Term:
    """Lower the first type inside a node, as of parentheses."""
    return walk.type(node.named_children[0]) if node.named_child_count else None


def typed(walk: Walk, node: Node) -> Term:
    """Return a term of the type that a node names, as in a cast."""
    return ("typed", walk.type(field_of(node, "type")))


def of_type(name: str) -> Term:
    """Return a term of the named type."""
    return ("typed", ("ref", (name,), ()))


def literal(name: str) -> Callable[[Walk, Node], Term]:
    """Return a lowering for nodes that always have the named type."""
    return lambda _walk, _node: of_type(name)


def plain_type(name: str) -> Callable[[Walk, Node], Term]:
    """Return a lowering for type nodes that always mean the named type."""
    term = ("ref", (name,), ())
    return lambda _walk, _node: term


def wrapped(kind: str, inside: Callable[[Walk, Node], Term]) -> Callable[[Walk, Node], Term]:
    """Return a lowering that wraps the term inside a node in `kind`; None where that term is unknown."""
    return lambda walk, node: (kind, inner) if (inner := inside(walk, node)) is not None else None


def part(name: str) -> Callable[[Walk, Node], Term]:
    """Return a lowering for nodes that stand for one of their fields."""
    return lambda walk, node: walk.lower(field_of(node, name))


def bind_parameters(walk: Walk, index: int, parameters: Iterable[tuple[str, Term]]) -> None:
    """Bind a function's parameters: names ("" for none) with their types."""
    scope = walk.scopes[index]
    for place, (name, declared) in enumerate(parameters):
        scope.params.append((declared, None))
        if name:
            bind(scope.names, name, ("param", index, place))


def expect(walk: Walk, node: Node | None, kind: str, term: Term) -> None:
    """Record what is expected at the place of a function, a node of the type `kind`."""
    index = walk.scope(node) if node is not None and node.type == kind else None
    if index is not None:
        walk.scopes[index].context = term


def expect_arguments(walk: Walk, call: Node, kind: str, callee: Term, types: tuple[Term, ...] = ()) -> None:
    """Record what a call expects of the functions among its arguments, nodes of the type `kind`."""
    for place, each in enumerate(listed(field_of(call, "arguments"))):
        expect(walk, each, kind, ("argument", callee, place, types, None))


def plain_arguments(arguments: Sequence[Term]) -> tuple[Term, ...]:
    """Return the arguments of a call from which type arguments may be inferred, None for others."""
    plain = tuple([each if each and each[0] in _PLAIN else None for each in arguments])
    return plain if any(plain) else ()


def method_shape(receiver: Node | None) -> str:
    """Return the form of a method call by its receiver, e.g. "obj.m()"."""
    return _SHAPES.get(receiver.type if receiver is not None else "", "….m()")


def type_params_of(walk: Walk, node: Node, *limits: str) -> list[tuple[str, Term]]:
    """Return the type parameters that a node declares, each with the first type in the fields `limits`."""
    found = []
    for each in listed(field_of(node, "type_parameters")):
        limit = walk.type(next(filter(None, map(each.child_by_field_name, limits)), None))
        found += [(walk.text(name), limit) for name in each.children_by_field_name("name")]
    return found


def with_arguments(walk: Walk, base: Node | None, arguments: Node | None) -> Term:
    """Return a named type with its type arguments."""
    term = walk.type(base)
    if not term or term[0] != "ref" or arguments is None:
        return term
    return ("ref", term[1], types_of(walk, arguments))


def types_of(walk: Walk, node: Node | None) -> tuple[Term, ...]:
    """Return the types that a node lists."""
    return tuple([walk.type(each) for each in node.named_children]) if node is not None else ()
