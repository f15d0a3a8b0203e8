"""Which definitions two versions of one Python source differ in; reading them is `extract`'s business."""

from dataclasses import dataclass

from claude_mem_lite.codemap.extract import Definition, body_hash, definitions


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
            (definition.first_line, _change(definition, "deleted"))
            for name, (definition, _) in old.items()
            if name not in new
        ]
        for name, (definition, text) in new.items():
            if name not in old:
                changes.append((definition.first_line, _change(definition, "new")))
            elif _differ(old[name], (definition, text)):
                changes.append((definition.first_line, _change(definition, "modified")))
    except (SyntaxError, RecursionError, MemoryError):
        return ()
    return tuple(change for _, change in sorted(changes, key=lambda pair: pair[0]))


def _by_name(source: str) -> dict[str, tuple[Definition, list[str]]]:
    lines = source.splitlines()
    return {
        found.qualified_name: (found, lines[found.first_line - 1 : found.last_line])
        for found in definitions(source)
    }


def _differ(old: tuple[Definition, list[str]], new: tuple[Definition, list[str]]) -> bool:
    """Return the same lines need no hash: dumping a tree costs ten times what reading it costs."""
    if old[1] == new[1]:
        return False
    return body_hash(old[0].node) != body_hash(new[0].node)


def _change(definition: Definition, change_type: str) -> Change:
    return Change(definition.qualified_name, definition.kind, change_type)
