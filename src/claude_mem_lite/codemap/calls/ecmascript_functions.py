"""Read the functions of a TypeScript or JavaScript file: parameters, types, and expected types."""

from claude_mem_lite.codemap.calls.ecmascript_names import KEYS, names_bound
from claude_mem_lite.codemap.calls.ecmascript_terms import FUNCTIONS, type_parameters, without_brackets
from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.walker import Walk, bind, field_of, listed
from claude_mem_lite.codemap.languages.tree import Node

_CLASSES = frozenset({"class", "interface", "object"})


_RESULTS = ("type_annotation", "type_predicate_annotation", "asserts_annotation")


_MODIFIERS = frozenset({"accessibility_modifier", "override_modifier", "decorator"})


def take_function(walk: Walk, node: Node, here: int) -> None:
    """Take in a function's head; its name is bound around it where it is declared."""
    index = walk.own(node)
    scope = walk.scopes[index]
    name = field_of(node, "name")
    head = walk.parsed.data[
        node.start_byte : name.start_byte if name is not None else node.start_byte + 6
    ].split()
    scope.flags += [flag for flag in ("static", "async", "get", "set") if flag.encode() in head]
    scope.flags += ["arrow"] if node.type == "arrow_function" else []
    parts = {each.type: each for each in node.named_children}  # one look: a look for a field is as long
    scope.return_type = walk.type(next((parts[each] for each in _RESULTS if each in parts), None))
    if "type_parameters" in parts:
        scope.type_params = type_parameters(walk, node)
    if "formal_parameters" in parts:
        found = listed(parts["formal_parameters"])
    else:
        found = node.children_by_field_name("parameter")
    place = 0
    for each in found:
        place += _parameter(walk, each, index, place)
    if node.type == "arrow_function" and "statement_block" not in parts:
        body = field_of(node, "body")
        scope.returns.append(walk.lower(body))
        expect(walk, body, ("returned", index))
    if name is None:
        return
    text = walk.text(name)
    if node.type in {"function_declaration", "generator_function_declaration", "function_signature"}:
        bind(walk.scopes[here].names, text, ("scope", index))
    elif node.type in FUNCTIONS:
        bind(scope.names, text, ("scope", index))
    elif walk.scopes[here].kind in _CLASSES and name.type in KEYS:
        is_value = {"get", "set"} & set(scope.flags)
        term = ("call", ("scope", index), ()) if is_value else ("scope", index)
        if "set" not in scope.flags:
            bind_member(walk, here, text, term, is_static="static" in scope.flags)


def bind_member(walk: Walk, owner: int, name: str, term: Term, *, is_static: bool = False) -> None:
    """Bind a member of a class."""
    scope = walk.scopes[owner]
    bind(scope.statics if is_static else scope.members, name, term)


def expect(walk: Walk, node: Node | None, term: Term) -> None:
    """Note what is expected where a function or an object is written, or the result of a call."""
    if node is None:
        return
    inner = without_brackets(node)
    index = walk.scope(inner)
    if index is not None:
        walk.scopes[index].context = term
    elif inner.type == "call_expression" and term and term[0] == "typed":
        walk.declared[inner.id] = term[1]


def _parameter(walk: Walk, node: Node, index: int, place: int) -> int:
    """Take in a parameter; return 0 for TypeScript's `this`, which is none, else 1."""
    scope = walk.scopes[index]
    pattern, declared, default = node, None, None
    is_field = False
    if node.type in {"required_parameter", "optional_parameter"}:
        parts = node.named_children
        while parts and parts[0].type in _MODIFIERS:
            is_field = is_field or parts[0].type != "decorator"
            del parts[0]
        if not parts:
            return 0
        pattern, kind = parts[0], parts[1].type if len(parts) > 1 else ""
        declared = walk.type(parts[1]) if kind == "type_annotation" else None
        default = parts[-1] if len(parts) > 1 + (kind == "type_annotation") else None
        is_field = is_field or node.children[0].type == "readonly"
        if pattern.type == "this":
            bind(scope.names, "this", ("typed", declared))
            return 0
    elif node.type == "assignment_pattern":
        left, default = field_of(node, "left"), field_of(node, "right")
        pattern = left or node
    scope.params.append((declared, walk.lower(default)))
    for name, bound in names_bound(walk, pattern, ("param", index, place)):
        bind(scope.names, name, bound)
        if is_field:
            bind_member(walk, scope.parent, name, bound)
    return 1
