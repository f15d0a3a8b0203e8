"""The code map's two pure questions: what does a source define, and what changed between two of them."""

import warnings

import pytest

from claude_mem_lite.codemap.diff import Change, diff
from claude_mem_lite.codemap.extract import Function, extract

SOURCE = '''\
"""A module."""
import os


@decorated("x")
def top(a: int, *rest: str, key: bool = True, **more: object) -> str:
    """First line.

    More lines.
    """
    def inner():
        return 1
    return str(inner())


class Service(Base, metaclass=Meta):
    """Serves."""

    limit = 3

    @property
    def name(self) -> str:
        return "x"

    async def load(self, path):
        pass

    @classmethod
    def make(cls, *, size=1):
        return cls()


if os.name == "posix":
    async def posix_only():
        ...
'''


def test_extract_lists_every_definition() -> None:
    """Functions, methods and classes come in the order of their lines, nested and conditional ones too."""
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
    """Comments, whitespace and docstrings do not count as a change."""
    original = _hash("def f(a):\n    return a + 1\n")

    assert _hash(same) == original
    assert len(original) == 32


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
    """Body, parameters, annotations, decorators and async all count."""
    assert _hash(other) != _hash("def f(a):\n    return a + 1\n")


def test_class_hash_leaves_methods_to_themselves() -> None:
    """A class changes with its own statements, not with the body of a method."""
    original = "class f:\n    limit = 1\n    def m(self):\n        return 1\n"

    assert _hash(original.replace("return 1", "return 2")) == _hash(original)
    assert _hash(original.replace("limit = 1", "limit = 2")) != _hash(original)


@pytest.mark.parametrize("source", ["def f(:\n", "x = '\0'", "(" * 5_000 + ")" * 5_000, "-" * 100_000 + "1"])
def test_extract_raises_syntax_error_for_what_python_cannot_parse(source: str) -> None:
    """Whatever ails a source, the caller has one error to expect."""
    with pytest.raises(SyntaxError):
        extract(source)


def test_extract_reports_no_warnings_of_the_source() -> None:
    """A doubtful escape in somebody's source is neither printed nor taken for an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (function,) = extract('def f():\n    return "\\d"\n')

    assert function.qualified_name == "f"
    assert caught == []


def test_extract_of_an_empty_source_is_empty() -> None:
    """A file without definitions is no error."""
    assert extract("") == ()
    assert extract("x = 1\n") == ()


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
        # of two definitions of one name the last counts
        ("def a():\n    return 1\n", "def a():\n    return 2\n\ndef a():\n    return 1\n", ()),
    ],
)
def test_diff_names_what_changed(before: str | None, after: str | None, changes: tuple[Change, ...]) -> None:
    """New, modified and deleted definitions come in the order of their lines; unparsable sides give none."""
    assert diff(before, after) == changes


def test_function_is_a_plain_value() -> None:
    """Two extractions of one source are equal, whole."""
    (function,) = extract("def f(): ...\n")

    assert function == Function("f", "function", "f()", None, (), 1, 1, function.body_hash)
    assert extract("def f(): ...\n") == (function,)
