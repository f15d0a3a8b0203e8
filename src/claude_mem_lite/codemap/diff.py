"""Which definitions two versions of one Python source differ in; reading them is `extract`'s business."""

from dataclasses import dataclass

from claude_mem_lite.codemap.extract import Definition, body_hash, definitions

Part = tuple[Definition, list[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """One function, method or class that is "new", "modified" or "deleted"."""

    qualified_name: str
    kind: str
    change_type: str


def diff(before: str | None, after: str | None) -> tuple[Change, ...]:
    """Return what was added, changed and removed, by line (a removed one by its old line).

    None is a file that does not exist. Empty where either side cannot be parsed. Of two definitions of one
    name the last counts, as in Python.
    """
    try:
        old, new = _by_name(before or ""), _by_name(after or "")
        changes = [
            (parts[0][0].first_line, _change(parts[-1][0], "deleted"))
            for name, parts in old.items()
            if name not in new
        ]
        for name, parts in new.items():
            if name not in old:
                changes.append((parts[0][0].first_line, _change(parts[-1][0], "new")))
            elif _differ(old[name], parts):
                changes.append((parts[0][0].first_line, _change(parts[-1][0], "modified")))
    except (SyntaxError, RecursionError, MemoryError):
        return ()
    return tuple(change for _, change in sorted(changes, key=lambda pair: pair[0]))


def _by_name(source: str) -> dict[str, list[Part]]:
    """Return the definition that counts, by name; of a property its accessors, too."""
    lines = source.splitlines()
    parts: dict[str, list[Part]] = {}
    for found in definitions(source):
        earlier = parts.pop(found.qualified_name, []) if found.is_accessor else []
        parts.pop(found.qualified_name, None)
        parts[found.qualified_name] = [*earlier, (found, lines[found.first_line - 1 : found.last_line])]
    return parts


def _differ(old: list[Part], new: list[Part]) -> bool:
    """Tell whether one does something else; the same lines need no hash."""
    if [text for _, text in old] == [text for _, text in new]:
        return False
    return [body_hash(each.node) for each, _ in old] != [body_hash(each.node) for each, _ in new]


def _change(definition: Definition, change_type: str) -> Change:
    return Change(definition.qualified_name, definition.kind, change_type)
