"""Facts of one file, from which calls are resolved: its scopes, their names, and the calls in them.

They hold names, types and module names of the source, none of its other text, and nothing that depends on
other files. A term is a tuple whose first item is its kind:

    ("name", x)  ("attribute", term, x)  ("element", term)  ("this",)  ("super",)
    ("name", x, index)         a name as seen from another scope
    ("call", term, types)  ("new", term, types)  ("await", term)  ("one_of", terms)
    ("scope", index)           a function, class or object by its scope
    ("param", index, place)    a parameter of a scope that is a function
    ("import", module, x)      a name of another module; "*" is the module itself
    ("call", term, types, terms)   a call with its arguments, None for unknown ones
    ("typed", type)            something of a declared type
    ("qualified", (x, …))      a package, or a class by the names of its package and enclosing classes
    ("first", terms)           the first of them that the project defines
    ("conversion", type)       a type that is called
    ("alias", type, types)     a type by another name, with its own type parameters

Terms for what is expected at the place of a function or an object:

    ("argument", term, place, types, type)   argument of a call, with its type arguments and result type
    ("expected", index)  ("returned", index)   by an object's scope; as the result of a function's scope

Types are tuples of the same form:

    ("ref", (x, …), types)     a named type with its arguments
    ("union", types)  ("this_type",)  ("type_of", term)  ("member_type", type, x)
    ("function", types, type, parameters)   parameters, result, type parameters
    ("shape", index)           an inline type, by its scope

None is an unknown term or type. Type parameters are pairs of a name and a constraint.
"""

import marshal
import sys
import zlib
from typing import Any, NamedTuple

Term = tuple[Any, ...] | None
Terms = dict[str, tuple[Term, ...]]


class Scope(NamedTuple):
    """A scope of names: a module, function, class, interface, enum, namespace, object or block.

    `name` is its qualified name (a module's is that of its package), "" where it has none; `parent` is the
    enclosing scope, -1 for the module's.
    `names` and `types` are visible inside; `members` of an instance and `statics` of the scope from outside.
    `params` are pairs of a type and a default; `context` is what is expected at a function's place.
    """

    kind: str
    name: str
    parent: int
    line: int
    names: Terms
    types: Terms
    members: Terms
    statics: Terms
    bases: tuple[Term, ...] = ()
    params: tuple[tuple[Term, Term], ...] = ()
    type_params: tuple[tuple[str, Term], ...] = ()
    return_type: Term = None
    returns: tuple[Term, ...] = ()
    context: Term = None
    # "static", "async", "property"; "method": declared outside of its type. For types, "converts": calling
    # one is a conversion, and "defined": it has the fields of its base, but not its methods.
    flags: tuple[str, ...] = ()


class Call(NamedTuple):
    """A call: its scope, its line, its callee, and its form, e.g. "this.m()"."""

    scope: int
    line: int
    callee: Term
    shape: str


class Facts(NamedTuple):
    """Facts of one file; the first scope is the module's.

    `exports` are names that other modules may import, `stars` the modules whose exports it re-exports. The
    module's name "*" stands for modules or types whose names it sees, "package" for modules seen under their
    own names. Methods declared outside of their type are exported as "Type.method".
    """

    scopes: tuple[Scope, ...]
    calls: tuple[Call, ...]
    exports: dict[str, tuple[Term, ...]]
    stars: tuple[str, ...]


# marshal's format depends on the Python version; facts of another one are read from the source again.
FORMAT = ("facts", 1, Scope._fields, Call._fields, Facts._fields, sys.version_info[:2])


def pack(facts: Facts) -> bytes:
    """Return facts as bytes."""
    plain = (tuple(map(tuple, facts.scopes)), tuple(map(tuple, facts.calls)), facts.exports, facts.stars)
    return zlib.compress(marshal.dumps((FORMAT, plain)), 3)


def unpack(data: bytes) -> Facts | None:
    """Return packed facts; None where another version wrote them or they are damaged."""
    try:
        version, plain = marshal.loads(zlib.decompress(data))  # noqa: S302  (our own file; runs nothing)
        if version != FORMAT:
            return None
        scopes, calls, exports, stars = plain
        return Facts(
            tuple(Scope(*each) for each in scopes), tuple(Call(*each) for each in calls), exports, stars
        )
    except (zlib.error, ValueError, TypeError, EOFError):
        return None
