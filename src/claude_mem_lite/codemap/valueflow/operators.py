"""Apply operators to values: special methods of the project's classes, and what containers and texts give."""

from claude_mem_lite.codemap.valueflow.external import BUILTIN_VALUES
from claude_mem_lite.codemap.valueflow.frame import Frame
from claude_mem_lite.codemap.valueflow.invocation import call_special, test_truth
from claude_mem_lite.codemap.valueflow.value_sets import join
from claude_mem_lite.codemap.valueflow.values import (
    DictObject,
    External,
    Instance,
    Key,
    ListObject,
    TextStart,
    TupleObject,
    Values,
)

_REFLECTED = frozenset(
    {"add", "sub", "mul", "truediv", "floordiv", "mod", "or", "and", "xor", "matmul", "pow"}
)
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_SHORTEST_START = 3  # of a name put together


def operate(frame: Frame, name: str, first: Values, second: Values, line: int) -> Values:
    """Return what an operator gives for two operands."""
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
    """Return how a text starts that is put together: "visit_" + name."""
    texts = [value.value for value in values if isinstance(value, Key) and isinstance(value.value, str)]
    starts = [text.partition("%")[0].partition("{")[0] for text in texts]
    return tuple([TextStart(start) for start in starts if len(start) >= _SHORTEST_START])
