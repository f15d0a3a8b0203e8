"""Test that edits of JSON text change one place and no other byte, in any layout."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support import cases
from support.json_texts import DOCUMENTS, KEYS, SCALARS, texts, tokens

from claude_mem_lite.services import json_text

CASES = cases.load("json_text")


unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # for a loaded machine

# Values to add, as dicts and lists.
ADDED = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def parse(text: str, start: int = 0) -> tuple[Any, int]:
    """Return the value at `start` and its end; objects are tuples of their members."""
    return json.JSONDecoder(object_pairs_hook=tuple).raw_decode(text, start)


def members(value: object) -> Any:
    """Return a value with each object as the tuple of its members."""
    return parse(json.dumps(value))[0]


def starts(text: str) -> list[int]:
    """Return the start of each object and array in a text, in order."""
    tokens = re.finditer(r'"(?:\\.|[^"\\])*"|[\[{]', text)
    return [token.start() for token in tokens if token[0] in "[{"]


def containers(value: Any) -> Iterator[Any]:
    """Yield the lists and dicts in a value, in text order."""
    if isinstance(value, (list, dict)):
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from containers(child)


@st.composite
def places(draw: st.DrawFn) -> tuple[str, int]:
    """Draw a document and the start of one of its objects or arrays."""
    text = draw(texts(DOCUMENTS))
    return text, draw(st.sampled_from(starts(text)))


def appended(place: tuple[str, int], key: str, value: object) -> tuple[str, Any]:
    """Return the text after appending, and the added item as `parse` returns it."""
    text, start = place
    if text[start] == "{":
        return json_text.append(text, start, value, key=key), (key, members(value))
    return json_text.append(text, start, value), members(value)


@unhurried
@given(places(), KEYS, ADDED)
def test_append_adds_one_item_at_the_end_and_changes_no_other_byte(
    place: tuple[str, int], key: str, value: object
) -> None:
    """Appending adds one item at a container's end and changes no other byte."""
    text, start = place
    before, end = parse(text, start)
    kept = json_text.items(text, start)[-1].end if before else start + 1

    after, item = appended(place, key, value)
    now, now_end = parse(after, start)

    assert now == type(before)([*before, item])
    assert after[:kept] == text[:kept]
    assert after[now_end:] == text[end:]
    if before:
        assert after.endswith(text[kept:])


@unhurried
@given(places(), KEYS, ADDED)
def test_remove_undoes_append(place: tuple[str, int], key: str, value: object) -> None:
    """Removing an appended item restores the text, except white space in an empty container."""
    text, start = place
    end = parse(text, start)[1]
    after, _ = appended(place, key, value)
    filled = bool(json_text.items(text, start))

    back = json_text.remove(after, start, json_text.items(after, start)[-1])

    assert back == (text if filled else text[: start + 1] + text[end - 1 :])


@unhurried
@given(places(), st.data())
def test_remove_takes_out_one_item_and_changes_no_other(place: tuple[str, int], data: st.DataObject) -> None:
    """Removing an item leaves the order and bytes of all others, and the text around the container."""
    text, start = place
    before, end = parse(text, start)
    items = json_text.items(text, start)
    assume(items)
    gone = data.draw(st.integers(0, len(items) - 1))

    after = json_text.remove(text, start, items[gone])
    now, now_end = parse(after, start)

    assert now == type(before)([*before[:gone], *before[gone + 1 :]])
    assert after[: start + 1] == text[: start + 1]
    assert after[now_end - 1 :] == text[end - 1 :]
    left = [text[item.start : item.end] for item in items if item is not items[gone]]
    assert [after[item.start : item.end] for item in json_text.items(after, start)] == left


@unhurried
@given(DOCUMENTS, st.sampled_from([None, 2, 4, "\t"]), st.sampled_from(["\n", "\r\n"]), ADDED, st.data())
def test_append_writes_in_the_layout_of_the_text(
    drawn: Any, indent: int | str | None, newline: str, value: object, data: st.DataObject
) -> None:
    """Appending to a text that a program dumped gives what the program would dump with the item."""
    document = json.loads("".join(tokens(drawn)))
    assume(document)

    def dump() -> str:
        return json.dumps(document, indent=indent, ensure_ascii=False).replace("\n", newline)

    text = dump()
    index = data.draw(st.integers(0, len(starts(text)) - 1))
    container = list(containers(document))[index]
    key = "a new key" if isinstance(container, dict) else None

    after = json_text.append(text, starts(text)[index], value, key=key)

    if isinstance(container, dict):
        container["a new key"] = value
    else:
        container.append(value)
    assert after == dump()


@pytest.mark.parametrize(("text", "expected"), CASES["appended"], ids=repr)
def test_append_to_an_object(text: str, expected: str) -> None:
    """A new member copies the last one's line break and indentation."""
    assert json_text.append(text, 0, [1], key="k") == expected


@pytest.mark.parametrize(
    "text",
    ["", "1", '"a"', "null", "{", "[1", '{"a" 1}', '{"a": 1 "b": 2}', "{1: 2}", "[1,]", "[,1]", "// {}\n{}"],
)
def test_items_refuse_what_is_no_container(text: str) -> None:
    """Text that is no valid object or array raises ValueError."""
    with pytest.raises(ValueError, match=r"line 1 column|begins at character 0"):
        json_text.items(text, 0)
