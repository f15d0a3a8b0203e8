"""Read the facts of a Java file.

A method is bound by its name and number of parameters, "put/2", because a field may have the same name and a
class may inherit an overload. A variable is visible from its declaration to the end of its block.
"""

from collections.abc import Iterator

from claude_mem_lite.codemap.calls.facts import Term
from claude_mem_lite.codemap.calls.java_terms import (
    EXPRESSIONS,
    MAX_PARAMETERS,
    TYPES,
    callee_of,
    parts_of,
)
from claude_mem_lite.codemap.calls.walker import (
    Table,
    Walk,
    bind,
    bind_parameters,
    expect,
    expect_arguments,
    field_of,
    listed,
    method_shape,
)
from claude_mem_lite.codemap.languages.tree import Node, child_of

_MAX_IMPORTS = 100  # of whole packages


def _class(walk: Walk, node: Node, here: int) -> None:
    index, text = walk.own(node), walk.named(node)
    if text is None:
        return
    scope = walk.scopes[index]
    _type_params(walk, node, index)
    for child in node.named_children:
        if child.type in {"superclass", "super_interfaces", "extends_interfaces"}:
            for part in child.named_children:
                types = part.named_children if part.type == "type_list" else [part]
                scope.bases += [("typed", walk.type(each)) for each in types]
    own: Term = ("ref", (text,), ())
    if node.type == "record_declaration":
        _components(walk, node, index)
    if node.type == "enum_declaration":
        _member(walk, index, "values/0", _returning(("ref", ("[]",), (own,))), is_static=True)
        _member(walk, index, "valueOf/1", _returning(own), is_static=True)
    bind(scope.members, "constructor", None)  # constructors are not inherited
    bind(walk.scopes[here].types, text, ("scope", index))
    if walk.scopes[here].kind == "class":
        _member(walk, here, text, ("scope", index), is_static=True)
    else:
        bind(walk.scopes[here].names, text, ("scope", index))
    if here == 0:
        bind(walk.exports, text, ("name", text))


def _components(walk: Walk, node: Node, index: int) -> None:
    """Bind the components of a record, and the accessor methods that it does not declare itself."""
    members, components = walk.scopes[index].members, [*_parameters(walk, node)]
    bind_parameters(walk, index, components)
    methods = {
        walk.named(each) for each in listed(field_of(node, "body")) if each.type == "method_declaration"
    }
    for name, declared in components:
        bind(members, name, ("typed", declared))
        if name not in methods:
            bind(members, f"{name}/0", _returning(declared))


def _returning(declared: Term) -> Term:
    return ("typed", ("function", (), declared, ()))


def _member(walk: Walk, owner: int, name: str, term: Term, *, is_static: bool) -> None:
    bind(walk.scopes[owner].members, name, term)
    if is_static:
        bind(walk.scopes[owner].statics, name, term)


def _is_static(walk: Walk, node: Node) -> bool:
    first = node.named_children[0] if node.named_child_count else None
    return first is not None and first.type == "modifiers" and "static" in walk.text(first).split()


def _anonymous(walk: Walk, node: Node, _here: int) -> None:
    """Make a class of `new C() { … }` and of an enum constant with a body."""
    if child_of(node, "class_body") is None:
        return
    scope = walk.scopes[walk.own(node)]
    scope.kind = "class"
    declared = walk.type(field_of(node, "type"))
    if declared is not None:
        scope.bases.append(("typed", declared))
    elif scope.parent >= 0:
        scope.bases.append(("scope", scope.parent))


def _constant(walk: Walk, node: Node, here: int) -> None:
    """Bind an enum constant, and make a class of its body, if any."""
    name = walk.named(node)
    if name is not None:
        _member(walk, here, name, ("typed", ("this_type",)), is_static=True)
        _anonymous(walk, node, here)


def _field(walk: Walk, node: Node, here: int) -> None:
    is_static = _is_static(walk, node) or node.type == "constant_declaration"
    declared = walk.type(field_of(node, "type"))
    for each in node.children_by_field_name("declarator"):
        name = walk.named(each)
        if name is not None:
            _member(walk, here, name, ("typed", declared), is_static=is_static)
            expect(walk, field_of(each, "value"), "lambda_expression", ("typed", declared))


def _type_params(walk: Walk, node: Node, index: int) -> None:
    for each in listed(field_of(node, "type_parameters")):
        name, bound = child_of(each, "type_identifier"), child_of(each, "type_bound")
        constraint = walk.type(bound.named_children[0]) if bound is not None else None
        if name is not None:
            walk.scopes[index].type_params.append((walk.text(name), constraint))


def _method(walk: Walk, node: Node, here: int) -> None:
    index, text = walk.own(node), walk.named(node)
    if text is None:
        return
    scope, is_static = walk.scopes[index], _is_static(walk, node)
    scope.flags += ["static"] if is_static else []
    _type_params(walk, node, index)
    scope.return_type = walk.type(field_of(node, "type"))
    bind_parameters(walk, index, _parameters(walk, node))
    is_interface = node.parent is not None and node.parent.type in {"interface_body", "annotation_type_body"}
    if node.type in {"constructor_declaration", "compact_constructor_declaration"}:
        bind(walk.scopes[here].members, "constructor", ("scope", index))
        return
    count = len(scope.params)
    is_open = any(each.type == "spread_parameter" for each in listed(field_of(node, "parameters")))
    for number in range(count - 1, MAX_PARAMETERS) if is_open else (count,):
        _member(walk, here, f"{text}/{number}", ("scope", index), is_static=is_static)
    if is_interface and field_of(node, "body") is None:
        bind(walk.scopes[here].members, "()", ("scope", index))  # a lambda implements it


def _parameters(walk: Walk, node: Node) -> Iterator[tuple[str, Term]]:
    """Yield parameters with their types, None for untyped parameters of a lambda."""
    found = field_of(node, "parameters")
    if found is not None and found.type == "identifier":
        yield walk.text(found), None
        return
    for each in listed(found):
        name = walk.named(each)
        if each.type == "identifier":
            yield walk.text(each), None
        elif each.type == "formal_parameter" and name is not None:
            yield name, _declared(walk, each)
        elif each.type == "spread_parameter":
            parts = [part for part in each.named_children if part.type != "modifiers"]
            inner = walk.named(parts[-1]) if parts else None
            if inner is not None:
                yield inner, ("ref", ("[]",), (walk.type(parts[0]),))


def _declared(walk: Walk, node: Node) -> Term:
    """Return the declared type of a variable; None for `var`."""
    declared = walk.type(field_of(node, "type"))
    return None if declared == ("ref", ("var",), ()) else declared


def _lambda(walk: Walk, node: Node, _here: int) -> None:
    index, body = walk.own(node), field_of(node, "body")
    walk.scopes[index].flags.append("arrow")
    bind_parameters(walk, index, _parameters(walk, node))
    if body is not None and body.type != "block":
        walk.here = index
        walk.scopes[index].returns.append(walk.lower(body))


def _return(walk: Walk, node: Node, here: int) -> None:
    if node.named_child_count:
        while here > 0 and walk.scopes[here].kind == "block":
            here = walk.scopes[here].parent
        if "arrow" in walk.scopes[here].flags:
            walk.scopes[here].returns.append(walk.lower(node.named_children[0]))


def _local(walk: Walk, node: Node, here: int) -> None:
    declared = _declared(walk, node)
    for each in node.children_by_field_name("declarator") or [node]:  # a resource has no declarator
        name, value = walk.named(each), field_of(each, "value")
        if name is None:
            continue
        lowered = walk.lower(value)
        if declared is not None:
            expect(walk, value, "lambda_expression", ("typed", declared))
        walk.scopes[here].names[name] = [("typed", declared) if declared is not None else lowered]


def _loop(walk: Walk, node: Node, _here: int) -> None:
    index, name = walk.own(node), walk.named(node)
    if name is not None:
        declared = _declared(walk, node)
        over: Term = ("element", walk.lower(field_of(node, "value")))
        walk.scopes[index].names[name] = [("typed", declared) if declared is not None else over]


def _caught(walk: Walk, node: Node, here: int) -> None:
    name, types = walk.named(node), child_of(node, "catch_type")
    if name is not None and types is not None and types.named_child_count:
        caught = tuple(map(walk.type, types.named_children))
        walk.scopes[here].names[name] = [("typed", ("union", caught))]


def _pattern(walk: Walk, node: Node, here: int) -> None:
    """Bind the name of an `instanceof` or case pattern, here and in the code after an `if`."""
    kind, name = field_of(node, "right"), field_of(node, "name")
    if node.type != "instanceof_expression":
        parts = node.named_children
        kind, name = (parts[-2], parts[-1]) if len(parts) > 1 else (None, None)
    if name is None or name.type != "identifier":
        return
    text = walk.text(name)
    term: Term = ("typed", walk.type(kind))
    walk.scopes[here].names[text] = [term]
    above = walk.scopes[here].parent
    if above > 0 and walk.scopes[above].kind != "class":
        walk.scopes[above].names.setdefault(text, [term])


def _package(walk: Walk, node: Node, _here: int) -> None:
    names = [each for each in node.named_children if each.type in {"identifier", "scoped_identifier"}]
    walk.scopes[0].name = ".".join(parts_of(walk, names[0])) if names else ""


def _import(walk: Walk, node: Node, _here: int) -> None:
    parts = next((parts_of(walk, each) for each in node.named_children if each.type != "asterisk"), ())
    if not parts or len(parts) > 50:
        return
    scope = walk.scopes[0]
    is_static = any(each.type == "static" for each in node.children)
    if any(each.type == "asterisk" for each in node.named_children):
        whole = scope.names.setdefault("*", [])
        whole += [("qualified", parts)] if len(whole) < _MAX_IMPORTS else []
        return
    if is_static:
        owner: Term = ("qualified", parts[:-1])
        bind(scope.statics, parts[-1], owner)
        bind(scope.names, parts[-1], ("attribute", owner, parts[-1]))
    else:
        bind(scope.names, parts[-1], ("qualified", parts))
    bind(scope.types, parts[-1], ("qualified", parts))


def _call(walk: Walk, node: Node, here: int) -> None:
    callee = callee_of(walk, node)
    if callee is None:
        return
    at, receiver = field_of(node, "name") or node, field_of(node, "object")
    walk.call(here, at, callee, method_shape(receiver) if receiver is not None else "f()")
    expect_arguments(walk, node, "lambda_expression", callee)


def _creation(walk: Walk, node: Node, here: int) -> None:
    declared = walk.type(field_of(node, "type"))
    if declared is not None:
        callee: Term = ("conversion", declared)
        walk.call(here, field_of(node, "type"), callee, "new C()")
        expect_arguments(walk, node, "lambda_expression", callee)
    _anonymous(walk, node, here)


def _constructor_call(walk: Walk, node: Node, here: int) -> None:
    constructor = field_of(node, "constructor")
    if constructor is not None:
        is_super = constructor.type == "super"
        callee: Term = ("super",) if is_super else ("attribute", ("this",), "constructor")
        walk.call(here, node, callee, "super()" if is_super else "this.m()")


_CLASS_NODES = (
    "class_declaration", "record_declaration", "interface_declaration", "annotation_type_declaration",
    "enum_declaration",
)  # fmt: skip
_METHOD_NODES = ("method_declaration", "constructor_declaration", "compact_constructor_declaration")
_BLOCKS = (
    "block", "constructor_body", "for_statement", "enhanced_for_statement", "try_with_resources_statement",
    "catch_clause", "switch_rule", "switch_block_statement_group", "if_statement", "while_statement",
    "object_creation_expression", "enum_constant",
)  # fmt: skip

TABLE = Table(
    scopes={
        **dict.fromkeys(_CLASS_NODES, "class"),
        **dict.fromkeys((*_METHOD_NODES, "lambda_expression"), "function"),
        **dict.fromkeys(_BLOCKS, "block"),
    },
    handlers={
        "package_declaration": _package,
        "import_declaration": _import,
        **dict.fromkeys(_CLASS_NODES, _class),
        **dict.fromkeys(_METHOD_NODES, _method),
        **dict.fromkeys(("field_declaration", "constant_declaration"), _field),
        "enum_constant": _constant,
        "lambda_expression": _lambda,
        "return_statement": _return,
        **dict.fromkeys(("local_variable_declaration", "resource"), _local),
        "enhanced_for_statement": _loop,
        "catch_formal_parameter": _caught,
        **dict.fromkeys(("instanceof_expression", "type_pattern", "record_pattern_component"), _pattern),
        "method_invocation": _call,
        "object_creation_expression": _creation,
        "explicit_constructor_invocation": _constructor_call,
    },
    expressions=EXPRESSIONS,
    types=TYPES,
)
