"""Compare the definitions in two versions of a source; reading them is the languages' business."""

from dataclasses import dataclass

from claude_mem_lite.codemap import languages

_ALL = 1_000_000  # definitions


@dataclass(frozen=True, slots=True)
class Change:
    """One function, method or type that is "new", "modified" or "deleted"."""

    qualified_name: str
    kind: str
    change_type: str


def diff(before: str | None, after: str | None, *, path: str = "source.py") -> tuple[Change, ...]:
    """Return what was added, changed and removed, by line (a removed one by its old line).

    None is a file that does not exist. `path` tells the language. Empty where either side cannot be parsed.
    """
    try:
        old, new = (
            {each.qualified_name: each for each in languages.extract(path, source or "", limit=_ALL)}
            for source in (before, after)
        )
    except SyntaxError:
        return ()
    # What one side may define where it is not understood neither came nor went.
    unsure = languages.unsure(path, after or "", old.keys() - new.keys())
    unsure |= languages.unsure(path, before or "", new.keys() - old.keys())
    old_alone, new_alone = (
        {name for name in one.keys() - other.keys() if name.rpartition(".")[2] not in unsure}
        for one, other in ((old, new), (new, old))
    )
    changes = [
        (each.line, Change(name, each.kind, "deleted")) for name, each in old.items() if name in old_alone
    ]
    for name, each in new.items():
        if name in new_alone:
            changes.append((each.line, Change(name, each.kind, "new")))
        elif name in old and old[name].body_hash != each.body_hash:
            changes.append((each.line, Change(name, each.kind, "modified")))
    return tuple(change for _, change in sorted(changes, key=lambda pair: pair[0]))
