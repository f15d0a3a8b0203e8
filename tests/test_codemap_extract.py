"""Test two pure functions of the code map: definitions in a source, and changes between two sources."""

import sys
import warnings

import pytest
from support import cases

from claude_mem_lite.codemap.extract import extract
from claude_mem_lite.codemap.languages import Change, diff

CASES = cases.load("codemap/extract")

SOURCE = CASES["source"]


def test_extract_lists_every_definition() -> None:
    """Functions, methods and classes come in line order, nested and conditional ones included."""
    found = [
        (f.qualified_name, f.kind, f.signature, f.docstring, f.decorators, f.line, f.end_line)
        for f in extract(SOURCE)
    ]

    assert found == [
        (
            "top",
            "function",
            "top(a: int, *rest: str, key: bool=True, **more: object) -> str",
            "First line.",
            ("@decorated('x')",),
            6,
            13,
        ),
        ("top.inner", "function", "inner()", None, (), 11, 12),
        ("Service", "class", "Service(Base, metaclass=Meta)", "Serves.", (), 16, 30),
        ("Service.name", "method", "name() -> str", None, ("@property",), 22, 23),
        ("Service.load", "async_method", "load(path)", None, (), 25, 26),
        ("Service.make", "method", "make(*, size=1)", None, ("@classmethod",), 29, 30),
        ("posix_only", "async_function", "posix_only()", None, (), 34, 35),
    ]


def _hash(source: str, name: str = "f") -> str:
    return next(function.body_hash for function in extract(source) if function.qualified_name == name)


@pytest.mark.parametrize(
    "same",
    [
        "def f(a):\n    # a comment\n    return a + 1\n",
        'def f(a):\n    """A docstring."""\n    return a + 1\n',
        "def f( a ):\n\n    return (a+1)\n",
    ],
)
def test_body_hash_stays_when_nothing_is_done_differently(same: str) -> None:
    """Comments, whitespace and docstrings do not change a body's hash."""
    original = _hash("def f(a):\n    return a + 1\n")

    assert (_hash(same), len(original)) == (original, 32)


@pytest.mark.parametrize(
    "other",
    [
        "def f(a):\n    return a + 2\n",
        "def f(a, b):\n    return a + 1\n",
        "def f(a) -> int:\n    return a + 1\n",
        "@cached\ndef f(a):\n    return a + 1\n",
        "async def f(a):\n    return a + 1\n",
    ],
)
def test_body_hash_changes_with_what_is_done(other: str) -> None:
    """Body, parameters, annotations, decorators and async change the hash."""
    assert _hash(other) != _hash("def f(a):\n    return a + 1\n")


def test_class_hash_leaves_methods_to_themselves() -> None:
    """A class's hash covers its own statements and not its methods' bodies."""
    original = "class f:\n    limit = 1\n    def m(self):\n        return 1\n"

    assert _hash(original.replace("return 1", "return 2")) == _hash(original)
    assert _hash(original.replace("limit = 1", "limit = 2")) != _hash(original)


def test_extract_reports_no_warnings_of_the_source() -> None:
    """An invalid escape in a source is neither printed as a warning nor an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (function,) = extract('def f():\n    return "\\d"\n')

    assert (function.qualified_name, caught) == ("f", [])


BEFORE = "def kept():\n    return 1\n\n\ndef edited():\n    return 1\n\n\ndef gone():\n    pass\n"
AFTER = (
    "def first():\n    pass\n\n\ndef kept():\n    # the same\n    return 1\n\n\ndef edited():\n    return 2\n"
)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (
            BEFORE,
            AFTER,
            (
                Change("first", "function", "new"),
                Change("gone", "function", "deleted"),
                Change("edited", "function", "modified"),
            ),
        ),
        (
            None,
            "class A:\n    def b(self): ...\n",
            (Change("A", "class", "new"), Change("A.b", "method", "new")),
        ),
        ("async def a(): ...\n", None, (Change("a", "async_function", "deleted"),)),
        (BEFORE, BEFORE, ()),
        ("def a(): ...\n", "def a(:\n", ()),
        ("def a(:\n", "def a(): ...\n", ()),
        # a property is one function: its getter changed, its setter did not
        (
            "class A:\n    @property\n    def p(self): return 1\n    @p.setter\n    def p(self, v): pass\n",
            "class A:\n    @property\n    def p(self): return 2\n    @p.setter\n    def p(self, v): pass\n",
            (Change("A.p", "method", "modified"),),
        ),
        # of two definitions of one name the last counts
        ("def a():\n    return 1\n", "def a():\n    return 2\n\ndef a():\n    return 1\n", ()),
    ],
)
def test_diff_names_what_changed(before: str | None, after: str | None, changes: tuple[Change, ...]) -> None:
    """New, modified and deleted definitions come in line order; an unparsable side gives none."""
    assert diff(before, after) == changes


PROPERTY = CASES["property"]


def test_accessors_of_a_property_are_one_function() -> None:
    """A property is one function: described by its getter, spanning its setter, changed by either."""
    (_, found) = extract(PROPERTY)

    assert (found.signature, found.docstring, found.line, found.end_line) == ("p() -> int", "Gets.", 3, 9)
    assert found.decorators == ("@property", "@p.setter")
    assert _hash(PROPERTY.replace("return 1", "return 2"), "A.p") != found.body_hash
    assert _hash(PROPERTY.replace("= value", "= 0"), "A.p") != found.body_hash


def test_last_definition_counts() -> None:
    """Of overloads and of repeated definitions only the last counts."""
    source = "@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): return a\n"

    assert [(f.qualified_name, f.signature, f.line) for f in extract(source)] == [("f", "f(a)", 5)]


@pytest.mark.parametrize(
    ("head", "signature"),
    [
        ("def f(a, /, b, *, c): ...", "f(a, /, b, *, c)"),
        ("def f(a: int = 1, *b: str, c: 'X' = None, **d): ...", "f(a: int=1, *b: str, c: 'X'=None, **d)"),
        ("def f(a=-1, b=(1, 2), c=x.y[z]) -> dict[str, list[int]]: ...", None),
        ("async def f() -> None: ...", "f() -> None"),
        ("class f(A[int], metaclass=M): ...", "f(A[int], metaclass=M)"),
    ],
)
def test_signature_is_what_stands_between_the_brackets(head: str, signature: str | None) -> None:
    """A signature keeps types, defaults, `*`, `/` and `**`, as `ast.unparse` writes them."""
    (function,) = extract(head)

    assert function.signature == (signature or "f(a=-1, b=(1, 2), c=x.y[z]) -> dict[str, list[int]]")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
def test_signature_has_type_parameters() -> None:
    """The signature of a generic function or class has its type parameters."""
    generic = extract("def f[T](a: T) -> T: ...\nclass C[K]: ...\n")
    assert [f.signature for f in generic] == ["f[T](a: T) -> T", "C[K]"]
