"""Resolve the calls of a project's files from their facts: the callees and the evidence for them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from claude_mem_lite.codemap.calls.evaluation import CLASSES, Evaluation, last
from claude_mem_lite.codemap.calls.facts import Facts, Term
from claude_mem_lite.codemap.calls.values import At, Values

_DIRECT = frozenset({"name", "import", "scope", "local", "path", "first", "conversion"})
Place = tuple[str, str]  # file and qualified name, "" for the module


class Found(NamedTuple):
    """A resolved call; `level` names the evidence, `is_class` says that the callee is a class."""

    caller: Place
    callee: Place
    line: int
    level: str
    shape: str
    is_class: bool


class Missed(NamedTuple):
    """A call whose callee is unknown, with the name as written."""

    caller: Place
    name: str
    line: int


def resolve(evaluation: Evaluation) -> Iterator[Found | Missed]:
    """Yield the calls of files that see each other, file by file, in source order."""
    noise = evaluation.builtins.noise
    methods = _methods(evaluation.files)
    for path, facts in evaluation.files.items():
        for call in facts.calls:
            caller = path, _caller(facts, call.scope)
            values = evaluation.start(At(path, call.scope), call.callee)
            found = list(dict.fromkeys(_targets(evaluation, values, is_super=call.callee == ("super",))))
            for callee, is_class in found:
                yield Found(caller, callee, call.line, _level(call.callee, found), call.shape, is_class)
            if values:
                continue
            name = _written(call.callee)
            named = methods.get(last(name), [])
            if "." in name and len(named) == 1 and last(name) not in noise:
                yield Found(caller, named[0], call.line, "guess", call.shape, is_class=False)
            elif name and (named or last(name) not in noise):
                yield Missed(caller, name, call.line)


def _caller(facts: Facts, index: int) -> str:
    while index > 0:
        scope = facts.scopes[index]
        if scope.name and scope.kind in {"function", "class"}:
            return scope.name
        index = scope.parent
    return ""


def _targets(evaluation: Evaluation, values: Values, *, is_super: bool) -> Iterator[tuple[Place, bool]]:
    """Yield what a call may reach, and whether that is a class; after a class comes its constructor."""
    for value in values:
        if value.kind == "function" and (name := evaluation.scope(value).name):
            yield (value.path, name), False
        elif value.kind == "class" and "converts" not in evaluation.scope(value).flags:
            if (name := evaluation.scope(value).name) and not is_super:
                yield (value.path, name), True
            for made in evaluation.member(value._replace(kind="instance"), "constructor"):
                if made.kind == "function" and (name := evaluation.scope(made).name):
                    yield (made.path, name), False


def _level(callee: Term, found: list[tuple[Place, bool]]) -> str:
    """Return "direct" for a name, "typed" for a member, "several" for more than one candidate."""
    for is_class in (True, False):
        if sum(each is is_class for _, each in found) > 1:
            return "several"
    return "direct" if callee and callee[0] in _DIRECT else "typed"


def _methods(files: Mapping[str, Facts]) -> dict[str, list[Place]]:
    """Return all methods by the last part of their names."""
    found: dict[str, dict[Place, None]] = {}
    for path, facts in files.items():
        for scope in facts.scopes:
            is_method = "method" in scope.flags or facts.scopes[scope.parent].kind in CLASSES
            if scope.kind == "function" and scope.name and is_method:
                found.setdefault(last(scope.name), {})[path, scope.name] = None
    return {name: list(each) for name, each in found.items()}


def _written(term: Term) -> str:
    """Return a callee's name as written, with the last name of its receiver; "" if it has no name."""
    if term and term[0] == "first":
        term = term[1][0]
    if not term or term[0] not in {"name", "local", "path", "attribute"}:
        return ""
    if term[0] == "path":
        return ".".join(term[1][-2:])
    if term[0] != "attribute":
        return str(term[1]).partition("/")[0]
    base = term[1]
    place = {"name": 1, "local": 1, "attribute": 2, "field": 2}.get(base[0]) if base else None
    receiver = str(base[place]) if place is not None else "this" if base == ("this",) else ""
    return f"{receiver}.{term[2]}".partition("/")[0]
