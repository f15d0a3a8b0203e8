"""Bind names in a TypeScript or JavaScript file: functions and parameters, imports and exports."""

from collections.abc import Iterator

from claude_mem_lite.codemap.calls.ecmascript_terms import (
    FUNCTIONS,
    string_of,
    type_parameters,
    without_brackets,
)
from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.walker import Walk, bind, field_of, listed
from claude_mem_lite.codemap.languages.tree import Node

KEYS = frozenset(
    {"property_identifier", "private_property_identifier", "identifier", "shorthand_property_identifier"}
)
_CLASSES = frozenset({"class", "interface", "object"})
_RESULTS = ("type_annotation", "type_predicate_annotation", "asserts_annotation")
_MODIFIERS = frozenset({"accessibility_modifier", "override_modifier", "decorator"})


def names_bound(walk: Walk, pattern: Node, term: Term) -> Iterator[tuple[str, Term]]:
    """Yield the names that a destructuring pattern binds, each with its term."""
    waiting: list[tuple[Node, Term]] = [(pattern, term)]
    while waiting:
        node, value = waiting.pop()
        if node.type in {"identifier", "shorthand_property_identifier_pattern"}:
            name = walk.text(node)
            yield name, value if node.type == "identifier" else ("attribute", value, name)
        elif node.type == "object_pattern":
            waiting += [(each, value) for each in node.named_children]
        elif node.type == "pair_pattern":
            key, inner = field_of(node, "key"), field_of(node, "value")
            if key is not None and inner is not None:
                waiting.append((inner, ("attribute", value, walk.text(key)) if key.type in KEYS else None))
        elif node.type == "array_pattern":
            waiting += [(each, ("element", value)) for each in node.named_children]
        elif node.type in {"assignment_pattern", "object_assignment_pattern"}:
            left = field_of(node, "left")
            if left is not None:
                waiting.append((left, value))


def bind_import(walk: Walk, node: Node, here: int) -> None:
    """Bind the names that an import statement introduces."""
    module = string_of(walk, field_of(node, "source"))
    for clause in node.named_children:
        if clause.type == "import_require_clause" and clause.named_child_count:
            module = string_of(walk, field_of(clause, "source"))
            bind_both(walk, here, walk.text(clause.named_children[0]), ("import", module, "="))
        if clause.type != "import_clause":
            continue
        for each in clause.named_children:
            if each.type == "identifier":
                bind_both(walk, here, walk.text(each), ("import", module, "default"))
            elif each.type == "namespace_import" and each.named_child_count:
                bind_both(walk, here, walk.text(each.named_children[-1]), ("import", module, "*"))
            elif each.type == "named_imports":
                for name, alias in _renamed(walk, each):
                    bind_both(walk, here, alias, ("import", module, name))


def _renamed(walk: Walk, clause: Node) -> Iterator[tuple[str, str]]:
    """Yield the names in the braces of an import or export, each with its alias, or itself without one."""
    for each in clause.named_children:
        name, alias = walk.named(each), walk.named(each, "alias")
        if name is not None:
            yield name, alias if alias is not None else name


def bind_both(walk: Walk, here: int, name: str, term: Term) -> None:
    """Bind a name to a term both as a value and as a type."""
    bind(walk.scopes[here].names, name, term)
    bind(walk.scopes[here].types, name, term)


def bind_exports(walk: Walk, node: Node, here: int) -> None:
    """Record the exports of an export statement."""
    source, scope = field_of(node, "source"), walk.scopes[here]
    module = string_of(walk, source)
    is_default = any(child.type == "default" for child in node.children)
    is_clause = False
    for child in node.named_children:
        if child.type == "namespace_export" and child.named_child_count:
            bind(walk.exports, walk.text(child.named_children[0]), ("import", module, "*"))
            is_clause = True
        elif child.type == "export_clause":
            is_clause = True
            for name, alias in _renamed(walk, child):
                bind(walk.exports, alias, ("import", module, name) if module else ("name", name))
    if module and not is_clause:
        walk.stars.append(module)
    value, declaration = field_of(node, "value"), field_of(node, "declaration")
    if value is not None and here == 0:
        bind(walk.exports, "default", walk.lower(value))
    if declaration is None:
        if any(child.type == "=" for child in node.children) and node.named_child_count:
            bind(walk.exports, "=", walk.lower(node.named_children[0]))
        return
    terms = scope.statics if here else walk.exports
    for text, index in _declared_names(walk, declaration):
        bind(terms, "default" if is_default else text, ("name", text) if text else ("scope", index))


def _declared_names(walk: Walk, node: Node) -> Iterator[tuple[str, int | None]]:
    if node.type in {"lexical_declaration", "variable_declaration"}:
        for each in node.named_children:
            name = field_of(each, "name")
            if name is not None:
                yield from ((text, None) for text, _ in names_bound(walk, name, None))
        return
    if node.type == "ambient_declaration":
        for each in node.named_children:
            yield from _declared_names(walk, each)
        return
    name, index = walk.named(node), walk.scope(node)
    if name is not None or index is not None:
        yield name or "", index


def take_function(walk: Walk, node: Node, here: int) -> None:
    """Record a function's head; bind its name in the scope around it where it is declared there."""
    index = walk.own(node)
    scope = walk.scopes[index]
    name = field_of(node, "name")
    head = walk.parsed.data[
        node.start_byte : name.start_byte if name is not None else node.start_byte + 6
    ].split()
    scope.flags += [flag for flag in ("static", "async", "get", "set") if flag.encode() in head]
    scope.flags += ["arrow"] if node.type == "arrow_function" else []
    parts = {each.type: each for each in node.named_children}  # one pass: a look-up by field takes as long
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
    """Record the type expected of a function or an object literal, or of a call's result."""
    if node is None:
        return
    inner = without_brackets(node)
    index = walk.scope(inner)
    if index is not None:
        walk.scopes[index].context = term
    elif inner.type == "call_expression" and term and term[0] == "typed":
        walk.declared[inner.id] = term[1]


def _parameter(walk: Walk, node: Node, index: int, place: int) -> int:
    """Record a parameter; return 0 for TypeScript's `this`, which is not a real one, else 1."""
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
