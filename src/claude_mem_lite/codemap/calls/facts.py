"""Facts of one file that calls are resolved from: its scopes, their names, and the calls in them.

They hold names, types and module names of the source, nothing else of its text, and nothing that other files
change. A term is a tuple whose first item says what it is:

    ("name", x)  ("attribute", term, x)  ("element", term)  ("this",)  ("super",)
    ("name", x, index)         a name as it is seen from another scope
    ("call", term, types)  ("new", term, types)  ("await", term)  ("one_of", terms)
    ("scope", index)           a function, class or object by its scope
    ("param", index, place)    a parameter of a scope that is a function
    ("import", module, x)      a name of another module; "*" is the module itself
    ("call", term, types, terms)   a call with its arguments, None for those of which nothing is known
    ("typed", type)            something of a declared type
    ("qualified", (x, …))      a package, or a class by the names of its package and of those around it
    ("first", terms)           the first of them that is the project's
    ("conversion", type)       a type that is called
    ("alias", type, types)     a type by another name, with its own type parameters

or of what is expected where a function or an object is written:

    ("argument", term, place, types, type)   as an argument of a call, with its type arguments and its type
    ("expected", index)  ("returned", index)   by the scope of an object, of a function's result

and a type likewise:

    ("ref", (x, …), types)     a named type with its arguments
    ("union", types)  ("this_type",)  ("type_of", term)  ("member_type", type, x)
    ("function", types, type, parameters)   parameters, what is returned, type parameters
    ("shape", index)           a type written out, by its scope

None is a term or type of which nothing is known. Type parameters are pairs of a name and a constraint.
"""

import marshal
import sys
import zlib
from typing import Any, NamedTuple

Term = tuple[Any, ...] | None
Terms = dict[str, tuple[Term, ...]]


class Scope(NamedTuple):
    """What has names of its own: a module, function, class, interface, enum, namespace, object or block.

    `name` is its qualified name, of a module its package's, "" where it has none; `parent` is the scope
    around it, -1 for the module's.
    `names` and `types` are seen inside, `members` of an instance and `statics` of itself from outside.
    `params` are pairs of a type and a default; `context` is what is expected where a function is written.
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
    # "static", "async", "property"; "method" of one declared outside of its type; of types "converts": a call
    # makes none, and "defined": with the fields of its base alone.
    flags: tuple[str, ...] = ()


class Call(NamedTuple):
    """A call: the scope that it is in, its line, what is called, and its form, e.g. "this.m()"."""

    scope: int
    line: int
    callee: Term
    shape: str


class Facts(NamedTuple):
    """Facts of one file; the first scope is the module's.

    `exports` are names that other modules may import, `stars` the modules whose exports are its own, too. The
    module's name "*" stands for modules or types whose names it sees, "package" for modules that are seen by
    their own name. Methods that are declared outside of their type are exported as "Type.method".
    """

    scopes: tuple[Scope, ...]
    calls: tuple[Call, ...]
    exports: dict[str, tuple[Term, ...]]
    stars: tuple[str, ...]


# marshal's format is its Python's. What another version wrote is read from the source again.
FORMAT = ("facts", 1, Scope._fields, Call._fields, Facts._fields, sys.version_info[:2])


def pack(facts: Facts) -> bytes:
    """Return facts as bytes."""
    plain = (tuple(map(tuple, facts.scopes)), tuple(map(tuple, facts.calls)), facts.exports, facts.stars)
    return zlib.compress(marshal.dumps((FORMAT, plain)), 3)


def unpack(data: bytes) -> Facts | None:
    """Return the facts again, or None where another version wrote them or they are damaged."""
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
