"""Enter functions and classes of the project: record the edges, bind the arguments, return the results.

They are entered by calls, and by what the language itself calls: operators, loops, `await`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from claude_mem_lite.codemap.valueflow.attributes import choices, methods_of
from claude_mem_lite.codemap.valueflow.external import BUILTIN_VALUES, UNKNOWN
from claude_mem_lite.codemap.valueflow.frame import Frame, Site
from claude_mem_lite.codemap.valueflow.value_sets import content, items, join, union
from claude_mem_lite.codemap.valueflow.values import (
    Awaitable,
    Cell,
    Class,
    ClassObject,
    Descriptor,
    DictObject,
    External,
    Function,
    Instance,
    Key,
    ListObject,
    TextStart,
    TupleObject,
    Unit,
    Value,
    Values,
)

_REFLECTED = frozenset(
    {"add", "sub", "mul", "truediv", "floordiv", "mod", "or", "and", "xor", "matmul", "pow"}
)
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_SHORTEST_START = 3  # characters of a composed name's known start


class Arguments(NamedTuple):
    """The arguments of a call: by place, each with whether it is starred, and by name (None for `**`)."""

    plain: Sequence[tuple[bool, Values]] = ()
    named: Sequence[tuple[str | None, Values]] = ()

    @classmethod
    def of(cls, *plain: Values) -> Arguments:
        """Return arguments that are passed by place."""
        return cls([(False, each) for each in plain])

    def at(self, place: int, name: str = "") -> Values:
        """Return the argument at a place or under a name."""
        if place < len(self.plain) and not self.plain[place][0]:
            return self.plain[place][1]
        return next((values for key, values in self.named if key and key == name), ())

    @property
    def values(self) -> list[Values]:
        """The arguments by place, starred or not."""
        return [values for _, values in self.plain]

    @property
    def first(self) -> Values:
        """The first argument, starred or not."""
        return self.plain[0][1] if self.plain else ()

    @property
    def second(self) -> Values:
        """The second argument, starred or not."""
        return self.plain[1][1] if len(self.plain) > 1 else ()


def enter(
    frame: Frame, unit: Unit, receiver: Instance | ClassObject | None, arguments: Arguments, site: Site
) -> Values:
    """Record an edge to a function, bind its parameters, and return its result."""
    frame.note(unit, *site)
    if receiver is None and frame.unit.is_get:
        _note_got(frame, unit)
    if receiver is None and unit.owner and unit.is_new:
        arguments = arguments._replace(plain=arguments.plain[1:])
        receiver = ClassObject(unit.owner)
    pass_on(frame, unit, arguments, is_bound=receiver is not None)
    return frame.result(unit, receiver)


def _note_got(frame: Frame, unit: Unit) -> None:
    """Record a function that a `__get__` calls and that instances of its class hold."""
    called = Function(unit)
    frame.is_repeatable = False  # the fields that it searches are not recorded
    for each in frame.unit.owner.mro if frame.unit.owner else ():
        if any(called in cell.values for cell in each.fields.values()):
            frame.write(each.got, (called,))


def pass_on(frame: Frame, unit: Unit, arguments: Arguments, *, is_bound: bool) -> None:
    """Bind arguments to parameters, except those that tests and examples pass to the code that they use."""
    passed, named = arguments
    if not (passed or named) or (frame.unit.module.is_aside and not unit.module.is_aside):
        return
    plain, rest = unit.plain, unit.rest
    place = 1 if is_bound else 0
    for is_starred, values in passed:
        if is_starred:
            for cell in [*plain[place:], rest]:
                _give(frame, cell, values)
            continue
        _give(frame, plain[place] if place < len(plain) else rest, values)
        place += 1
    for name, values in named:
        if name is not None:
            _give(frame, unit.keyword(name), values)
            continue
        dicts = [value for value in values if isinstance(value, DictObject)]
        pairs = [(key, held) for each in dicts for key, held in each.pairs if isinstance(key, str)]
        spread = union([each.others for each in dicts])
        for cell in plain[place:]:
            _give(frame, cell, spread)
        pass_on(frame, unit, Arguments(named=pairs), is_bound=False)
        _give(frame, unit.others, spread)


def _give(frame: Frame, cell: Cell | None, values: Values) -> None:
    """Add an argument's values to its parameter, if there is one."""
    if values and cell is not None:
        frame.write(cell, values)


def construct(frame: Frame, value: ClassObject, arguments: Arguments, site: Site) -> Values:
    """Resolve `Cls(…)`: the class, `__init__`, `__new__`, `__post_init__`, the metaclass's `__call__`."""
    owner = value.owner
    frame.read(owner.inherited)
    is_named = site.shape in {"f()", "module.f()"} and site.level == "typed"
    site = Site(site.line, "Cls()", "direct" if is_named else site.level, site.resolution)
    frame.note(owner.unit, *site)
    if owner.metaclass is not None:
        for method in frame.functions_of(owner.metaclass.mro, "__call__"):
            frame.note_protocol(method, site.line)
    found: Values = ()
    for method in frame.functions_of(owner.mro, "__new__"):
        frame.note(method, *site)
        pass_on(frame, method, arguments, is_bound=True)
        found = join(found, frame.result(method, value))
    for method in frame.functions_of(owner.mro, "__init__"):
        frame.note(method, *site)
        pass_on(frame, method, arguments, is_bound=True)
    if any(each.is_record for each in owner.mro):
        _fill_record(frame, owner, arguments)
        for method in frame.functions_of(owner.mro, "__post_init__"):
            frame.note_protocol(method, site.line)
    made = [each for each in found if isinstance(each, Instance)]
    if made and not any(each.owner is owner for each in made):
        return tuple(made)
    return (described(frame, Instance(owner, value.is_exact), arguments.first),)


def described(frame: Frame, value: Value, given: Values) -> Value:
    """Return an instance as a descriptor around the functions it was given, if its class is a descriptor."""
    functions = tuple([each for each in given if isinstance(each, Function)])
    if functions and isinstance(value, Instance):
        mro = value.owner.mro
        if frame.first_of(mro, "__get__") or any(each.is_property for each in mro):
            return Descriptor(value, functions)
    return value


def _fill_record(frame: Frame, owner: Class, arguments: Arguments) -> None:
    """Bind the arguments of a dataclass to its fields."""
    frame.asked.update([each.fields for each in owner.mro])
    names = list(dict.fromkeys(name for each in reversed(owner.mro) for name in each.fields))
    for name, (is_starred, values) in zip(names, arguments.plain, strict=False):
        if not is_starred:
            _give(frame, owner.fields[name], values)
    for keyword, values in arguments.named:
        if keyword in names:
            _give(frame, owner.fields[keyword], values)


def call_special(
    frame: Frame, values: Values, method: str, line: int, *arguments: Values, among: Values | None = None
) -> Values:
    """Resolve an operator or statement that calls a special method of instances of the project.

    `among` are all values of the operand, where `values` are only some of them.
    """
    found: Values = ()
    for value in values:
        if type(value) is not Instance:
            continue
        on_class = frame.first_of(value.owner.mro, method)
        if on_class:
            is_one_of_many = choices(values if among is None else among) > 1
            site = Site(line, "protocol", "any" if is_one_of_many else "protocol")
            for each in methods_of(frame, on_class, value, line):
                found = join(found, enter(frame, each.unit, value, Arguments.of(*arguments), site))
    return found


def test_truth(frame: Frame, values: Values, line: int) -> None:
    """Record the methods that testing the truth of the project's instances calls."""
    for value in values:
        if isinstance(value, Instance):
            has_bool = frame.first_of(value.owner.mro, "__bool__")
            call_special(frame, (value,), "__bool__" if has_bool else "__len__", line, among=values)


def iterate(frame: Frame, values: Values, line: int, *, is_async: bool = False) -> Values:
    """Return the values that a loop over values gives."""
    enter_loop, go_on = ("__aiter__", "__anext__") if is_async else ("__iter__", "__next__")
    found = items(values)
    for value in values:
        if isinstance(value, Instance):
            iterator = call_special(frame, (value,), enter_loop, line, among=values)
            found = join(found, items(iterator))
            following = call_special(frame, iterator, go_on, line)
            found = join(found, awaited(frame, following, line) if is_async else following)
            if not iterator and value.owner.may_have_more:
                found = join(found, UNKNOWN)
        elif isinstance(value, External):
            found = join(found, UNKNOWN)
    return found


def awaited(frame: Frame, values: Values, line: int) -> Values:
    """Return the values that `await` gives."""
    found: Values = ()
    for value in values:
        if isinstance(value, Awaitable):
            found = join(found, value.result)
        elif isinstance(value, Instance):
            given = call_special(frame, (value,), "__await__", line, among=values)
            found = join(found, content(given))
        elif isinstance(value, External):
            found = join(found, (value,))
    return found


def operate(frame: Frame, name: str, first: Values, second: Values, line: int) -> Values:
    """Return the result of an operator for two operands."""
    if not first and not second:
        return ()
    if name in {"str", "add", "mod"} and (starts := _start(second if name == "str" else first)):
        return starts
    if name in {"str", "format"}:
        if name == "format" and not call_special(frame, first, "__format__", line):
            call_special(frame, first, "__str__", line)
        return BUILTIN_VALUES["str"]
    if name == "bool":
        test_truth(frame, first, line)
        return ()
    if name == "contains":
        call_special(frame, first, "__contains__", line, second)
        return ()
    found = call_special(frame, first, f"__{name}__", line, second)
    if not found and any(isinstance(value, Instance) for value in second):
        if name in _REFLECTED:
            found = call_special(frame, second, f"__r{name}__", line, first)
        elif name in _MIRRORED and not any(isinstance(value, Instance) for value in first):
            found = call_special(frame, second, f"__{_MIRRORED[name]}__", line, first)
    if name in {"add", "or"}:
        kinds = ListObject | TupleObject if name == "add" else DictObject
        found = join(found, tuple([value for value in join(first, second) if isinstance(value, kinds)]))
    return found or tuple([value for value in first if isinstance(value, External)])


def _start(values: Values) -> Values:
    """Return the known start of a composed text, as of "visit_" + name."""
    texts = [value.value for value in values if isinstance(value, Key) and isinstance(value.value, str)]
    starts = [text.partition("%")[0].partition("{")[0] for text in texts]
    return tuple([TextStart(start) for start in starts if len(start) >= _SHORTEST_START])
