"""Describe call sites: their form, and how sure their callee is."""

from __future__ import annotations

from typing import NamedTuple

from claude_mem_lite.codemap.valueflow.expression_terms import Attribute, Call, Expr, Name, is_name, last_name
from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.values import (
    ClassObject,
    Function,
    Instance,
    Method,
    MissedCall,
    ModuleObject,
    Super,
    Values,
)


class Site(NamedTuple):
    """Where a call stands and how sure its callee is: form, level of evidence, resolution if special."""

    line: int
    shape: str
    level: str
    resolution: str = ""

    def of(self, callees: Values, *, is_weak: bool) -> Site:
        """Return the site with the level that the callees found for it deserve."""
        level = "passed" if is_weak else self.level
        certain = 1
        if len(callees) > 1:  # values, but of how many functions?
            certain = len({_callable(value) for value in callees} - {None})
        if certain > 1:  # functions in a list or dict are all called some time, methods of many classes not
            is_table = not any(isinstance(value, Method | Instance) for value in callees)
            level = "any" if not is_table and (is_weak or certain > 2) else "several"
        return self if level == self.level else Site(self.line, self.shape, level, self.resolution)

    def as_callback(self) -> Site:
        """Return the site of a call that an external function makes here."""
        return Site(self.line, "callback", "callback")


def site_of(frame: Frame, function: Expr, base: Values, line: int) -> Site:
    """Describe a call by its form; `base` is what stands before the dot."""
    shape, resolution, is_lexical = "f()", "", True
    if isinstance(function, Attribute):
        shape, resolution, is_lexical = _method_form(frame, function.base, base)
    elif function is not None and not isinstance(function, Name):
        shape, is_lexical = "chain", False
    return Site(line, shape, "direct" if is_lexical else "typed", resolution)


def _method_form(frame: Frame, receiver: Expr, base: Values) -> tuple[str, str, bool]:
    """Return form and resolution of `receiver.m()`, and whether the code itself names its callee."""
    if isinstance(receiver, Name) and receiver.name == frame.self_name:
        return "self.m()", "self_method", True
    kinds = {value.__class__ for value in base}
    is_lexical = ModuleObject in kinds or ClassObject in kinds
    if isinstance(receiver, Call):
        return ("super().m()", "self_method", True) if Super in kinds else ("chain", "", is_lexical)
    if isinstance(receiver, Attribute):
        is_self = is_name(receiver.base, frame.self_name)
        return "self.x.m()" if is_self else "chain", "", is_lexical
    return "module.f()" if ModuleObject in kinds else "obj.m()", "", is_lexical


def _callable(value: object) -> object:
    """Return the function or class that calling a value runs for certain, None where there is none."""
    if type(value) is Method:
        return None if value.is_override else value.unit
    if type(value) is Function:
        return value.unit
    return value.owner if isinstance(value, ClassObject | Instance) else None


def miss(frame: Frame, function: Expr, line: int, *, is_outside: bool = False) -> None:
    """Note a call whose callee is unknown, by its last name and its receiver's."""
    if isinstance(function, Name):
        frame.missed.append(MissedCall(line, function.name, None, is_outside))
    elif isinstance(function, Attribute):
        frame.missed.append(MissedCall(line, function.attr, last_name(function.base), is_outside))
