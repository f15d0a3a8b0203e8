"""Read and write the JSON of hook events, and change each string in it."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Change = Callable[[str, str | None], str]  # of a string in the field named, None for a key itself


def loads(event: str) -> dict[str, Any]:
    """Return the tree of an event. Raises: ValueError when its text is no JSON object."""
    tree = json.loads(event)
    if not isinstance(tree, dict):
        raise ValueError(f"a hook event is a JSON object, this is a {type(tree).__name__}")  # noqa: TRY004
    return tree


def change_strings(node: Any, change: Change, field: str | None = "") -> Any:
    """Return a JSON tree with each string changed, given the field that it stands in, None for a key."""
    if isinstance(node, str):
        return change(node, field)
    if isinstance(node, list):
        return [change_strings(item, change, field) for item in node]
    if isinstance(node, dict):
        return {change(key, None): change_strings(value, change, key) for key, value in node.items()}
    return node


def dumps(tree: Any) -> str:
    """Return a tree as JSON text without blanks."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
