"""Hypothesis strategies for JSON texts, from a renderer of our own that can write odd layouts."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

# Objects are tuples of members here, because order and duplicate keys matter.
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
KEYS = st.sampled_from(["a", "b", "hooks", "é", ""]) | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(KEYS, inner), max_size=4).map(tuple),
    max_leaves=12,
)
DOCUMENTS = VALUES.filter(lambda value: isinstance(value, (list, tuple)))
SPACES = st.lists(st.text(" \t\r\n", max_size=3), min_size=1, max_size=7)


def texts(documents: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    """Return a strategy for texts of documents in any layout."""
    return odd_texts(documents) | even_texts(documents)


def tokens(value: Any) -> Iterator[str]:
    """Yield the tokens of a value's text."""
    if not isinstance(value, (list, tuple)):
        yield json.dumps(value, ensure_ascii=False)
        return
    yield "[" if isinstance(value, list) else "{"
    for index, item in enumerate(value):
        if index:
            yield ","
        if isinstance(value, tuple):
            yield from (json.dumps(item[0]), ":")
        yield from tokens(item[1] if isinstance(value, tuple) else item)
    yield "]" if isinstance(value, list) else "}"


@st.composite
def odd_texts(draw: st.DrawFn, documents: st.SearchStrategy[Any]) -> str:
    """Draw a document with any white space between its tokens, or with none."""
    spaces = draw(st.just([""]) | SPACES)
    found = list(tokens(draw(documents)))
    return "".join(spaces[index % len(spaces)] + token for index, token in enumerate(found)) + spaces[-1]


@st.composite
def even_texts(draw: st.DrawFn, documents: st.SearchStrategy[Any]) -> str:
    """Draw a document in a layout that editors and programs write."""
    value = json.loads("".join(tokens(draw(documents))))
    text = json.dumps(
        value,
        indent=draw(st.sampled_from([None, 2, 4, "\t"])),
        separators=draw(st.sampled_from([(",", ":"), (",", ": ")])),
        ensure_ascii=draw(st.booleans()),
    )
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return draw(st.sampled_from(["", newline])) + text.replace("\n", newline) + newline
