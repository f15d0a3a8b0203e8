"""Find where Rust's local variables are bound, and the range in which each is visible."""

from collections.abc import Iterator

from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.rust_terms import names_of, parameters_of
from claude_mem_lite.codemap.calls.walker import Walk, field_of, listed
from claude_mem_lite.codemap.languages.tree import Node


def _see(walk: Walk, pattern: Node | None, owner: int, start: int, end: int) -> None:
    """Record the range of bytes in which the names of a pattern are visible."""
    for node, _ in _bound(walk, pattern, None):
        name = walk.text(node)
        terms = walk.scopes[owner].names.setdefault(name, [])
        walk.seen.setdefault(name, []).append((start, end, owner, len(terms)))
        walk.places[node.id] = owner, len(terms)
        terms.append(None)


def see_parameters(walk: Walk, node: Node, _here: int) -> None:
    """Record the variables that parameters bind, visible in the whole body."""
    index = walk.own(node)
    for each in parameters_of(node):
        _see(walk, field_of(each, "pattern") or each, index, each.end_byte, node.end_byte)


def see_lets(walk: Walk, node: Node, here: int) -> None:
    """Record the variables that the `let` statements of a block bind, each visible to the block's end."""
    for each in node.named_children:
        if each.type == "let_declaration":
            _see(walk, field_of(each, "pattern"), here, each.end_byte, node.end_byte)


def see_loop(walk: Walk, node: Node, here: int) -> None:
    """Record the variables that a `for` loop binds, visible in its body."""
    body = field_of(node, "body")
    if body is not None:
        _see(walk, field_of(node, "pattern"), here, body.start_byte, node.end_byte)


def see_condition(walk: Walk, node: Node, here: int) -> None:
    """Record the variables that `if let` and `while let` bind, visible in their body."""
    body = field_of(node, "consequence") or field_of(node, "body")
    for each in _let_conditions(field_of(node, "condition")) if body is not None else ():
        _see(walk, field_of(each, "pattern"), here, each.end_byte, body.end_byte)


def see_arm(walk: Walk, node: Node, here: int) -> None:
    """Record the variables that an arm of a `match` binds, visible in that arm."""
    pattern = field_of(node, "pattern")
    inner = next(iter(pattern.named_children), None) if pattern is not None else None
    if inner is None:
        return
    _see(walk, inner, here, inner.end_byte, node.end_byte)
    for each in _let_conditions(field_of(pattern, "condition")):
        _see(walk, field_of(each, "pattern"), here, each.end_byte, node.end_byte)


def _let_conditions(node: Node | None) -> Iterator[Node]:
    waiting = [node] if node is not None else []
    while waiting:
        each = waiting.pop(0)
        if each.type == "let_condition":
            yield each
        elif each.type in {"let_chain", "binary_expression"}:
            waiting += each.named_children


def _bound(walk: Walk, pattern: Node | None, term: Term) -> Iterator[tuple[Node, Term]]:
    """Yield the variables of a pattern, each with the term of its value."""
    waiting: list[tuple[Node, Term]] = [(pattern, term)] if pattern is not None else []
    while waiting:
        node, value = waiting.pop()
        if node.type in {"identifier", "shorthand_field_identifier"}:
            name = walk.text(node)
            if name != "_" and not name[:1].isupper():  # constants and variants begin with a capital
                yield node, value
        elif node.type == "tuple_pattern":
            parts = listed(node)
            waiting += [(each, value and ("field", value, str(at))) for at, each in enumerate(parts)]
        elif node.type == "tuple_struct_pattern":
            names = names_of(walk, field_of(node, "type"))
            parts = listed(node)[1:]
            waiting += [(each, value and ("part", value, names, str(at))) for at, each in enumerate(parts)]
        elif node.type == "struct_pattern":
            names = names_of(walk, field_of(node, "type"))
            for each in node.named_children:
                field = field_of(each, "name") if each.type == "field_pattern" else None
                if field is not None:
                    part = value and ("part", value, names, walk.text(field))
                    waiting.append((field_of(each, "pattern") or field, part))
        elif node.type == "slice_pattern":
            waiting += [(each, value and ("index", value)) for each in node.named_children]
        elif node.type in {
            "mut_pattern", "ref_pattern", "reference_pattern", "captured_pattern", "or_pattern",
        }:  # fmt: skip
            waiting += [(each, value) for each in node.named_children]


def bind_pattern(walk: Walk, pattern: Node | None, term: Term) -> None:
    """Bind the variables of a pattern to the parts of the matched value."""
    for node, value in _bound(walk, pattern, term):
        place = walk.places.get(node.id)
        if place is not None:
            walk.scopes[place[0]].names[walk.text(node)][place[1]] = value


def sort_seen(walk: Walk, _node: Node, _here: int) -> None:
    """Sort the bindings of each variable by the start of their range."""
    for spans in walk.seen.values():
        spans.sort()
