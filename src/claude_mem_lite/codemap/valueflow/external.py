"""List what is known of names outside the project: what their calls do, and which names are noise."""

import builtins
import functools

from claude_mem_lite.codemap.valueflow.values import External, Values

BUILTINS = frozenset({
    "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool", "breakpoint", "bytearray", "bytes",
    "callable", "chr", "classmethod", "compile", "complex", "delattr", "dict", "dir", "divmod",
    "enumerate", "eval", "exec", "filter", "float", "format", "frozenset", "getattr", "globals",
    "hasattr", "hash", "help", "hex", "id", "input", "int", "isinstance", "issubclass", "iter", "len",
    "list", "locals", "map", "max", "memoryview", "min", "next", "object", "oct", "open", "ord", "pow",
    "print", "property", "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted",
    "staticmethod", "str", "sum", "super", "tuple", "type", "vars", "zip",
})  # fmt: skip
EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
NOISE_OBJECTS = frozenset({
    "logger", "log", "logging", "os", "sys", "re", "json", "math", "pathlib", "Path", "time",
    "datetime", "itertools", "functools", "collections", "typing", "shutil", "subprocess",
})  # fmt: skip
# Methods of str, list, dict, set and files: a call of one is no evidence for a project's method.
NOISE_METHODS = frozenset({
    "add", "append", "capitalize", "clear", "close", "copy", "count", "decode", "discard", "encode",
    "endswith", "extend", "find", "flush", "format", "get", "index", "insert", "isdigit", "items",
    "join", "keys", "lower", "lstrip", "match", "partition", "pop", "popitem", "read", "readline",
    "readlines", "remove", "replace", "reverse", "rfind", "rpartition", "rsplit", "rstrip", "search",
    "seek", "setdefault", "sort", "split", "splitlines", "startswith", "strip", "sub", "title", "tell",
    "union", "update", "upper", "values", "write", "group", "groups", "put", "start", "stop", "send",
    "set", "acquire", "release", "wait", "run", "next", "connect", "execute", "commit", "rollback",
    "cursor", "fetchone", "fetchall", "result", "cancel", "done",
})  # fmt: skip

# External functions that call an argument: its place (9 for none) and its keyword.
CALLS_AT_ONCE: dict[str, tuple[int, str]] = {
    "map": (0, ""), "filter": (0, ""), "sorted": (9, "key"), "min": (9, "key"), "max": (9, "key"),
    "functools.reduce": (0, ""), "itertools.groupby": (1, "key"), "itertools.takewhile": (0, ""),
    "itertools.dropwhile": (0, ""), "itertools.starmap": (0, ""), "itertools.filterfalse": (0, ""),
    "re.sub": (1, "repl"), "re.subn": (1, "repl"), "list.sort": (9, "key"), "iter": (9, ""),
    "contextvars.copy_context.run": (0, ""),
}  # fmt: skip
CALLS_LATER: dict[str, tuple[int, str]] = {
    "threading.Thread": (1, "target"), "threading.Timer": (1, "function"),
    "multiprocessing.Process": (1, "target"), "atexit.register": (0, "func"),
    "signal.signal": (1, "handler"), "weakref.finalize": (1, ""), "asyncio.to_thread": (0, "func"),
    "asyncio.get_event_loop.run_in_executor": (1, "func"),
    "asyncio.get_running_loop.run_in_executor": (1, "func"), "anyio.to_thread.run_sync": (0, "func"),
    "asyncio.get_running_loop.call_soon": (0, "callback"),
    "asyncio.get_event_loop.call_soon": (0, "callback"),
    "concurrent.futures.ThreadPoolExecutor.submit": (0, "fn"),
    "concurrent.futures.ThreadPoolExecutor.map": (0, ""),
    "concurrent.futures.ProcessPoolExecutor.submit": (0, "fn"),
    "anyio.create_task_group.start_soon": (0, "func"), "multiprocessing.Pool.map": (0, "func"),
    "multiprocessing.Pool.apply": (0, "func"), "multiprocessing.Pool.apply_async": (0, "func"),
    "anyio.run": (0, "func"), "greenlet.greenlet": (0, "run"), "gevent.spawn": (0, ""),
    "contextlib.ExitStack.callback": (0, "callback"), "sched.scheduler.enter": (2, "action"),
    "threading.Thread.run": (9, ""),
}  # fmt: skip

CONTEXT_MANAGERS = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})
# Generic types in annotations, by the part that an argument plays: an item, a value, the type itself.
ITERABLES = frozenset({
    "list", "List", "set", "Set", "frozenset", "FrozenSet", "Sequence", "Iterable", "Iterator",
    "Collection", "deque", "Deque", "MutableSequence", "AbstractSet", "MutableSet", "KeysView",
    "ValuesView", "Generator", "AsyncIterator", "AsyncIterable", "AsyncGenerator", "Reversible",
    "Container",
})  # fmt: skip
MAPPINGS = frozenset({
    "dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict",
    "WeakValueDictionary", "ChainMap",
})  # fmt: skip
TRANSPARENT = frozenset(
    {"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly"}
)
AWAITABLES = frozenset({"Awaitable", "Coroutine", "Future", "Task"})
RECORDS = frozenset({
    "dataclasses.dataclass", "attr.s", "attr.define", "attr.frozen", "attrs.define", "attrs.frozen",
})  # fmt: skip
# External functions and classes with known results, by the handler that `calls` has for them.
BEHAVIOURS = {
    **dict.fromkeys(
        ("list", "tuple", "set", "frozenset", "sorted", "filter", "collections.deque", "itertools.chain",
         "itertools.cycle", "itertools.islice", "itertools.takewhile", "itertools.dropwhile"),
        "iterate",
    ),
    **dict.fromkeys(
        ("len", "str", "repr", "bool", "hash", "int", "float", "abs", "bytes", "format", "round", "dir",
         "next", "iter", "reversed"),
        "call_special",
    ),
    **dict.fromkeys(
        ("copy.copy", "copy.deepcopy", "dataclasses.replace", "weakref.proxy", "functools.lru_cache",
         "functools.cache", "functools.singledispatch", "types.MethodType", "types.coroutine",
         "contextlib.closing", "contextlib.asynccontextmanager", "contextlib.contextmanager",
         "staticmethod", "classmethod"),
        "give_argument",
    ),
    "map": "map", "min": "choose", "max": "choose", "any": "consume", "all": "consume", "sum": "consume",
    "functools.partial": "partial", "functools.partialmethod": "partial", "getattr": "getattr",
    "setattr": "nothing", "type": "type", "property": "property",
    "functools.cached_property": "property", "abc.abstractproperty": "property",
    "enumerate": "enumerate", "zip": "zip",
    "itertools.product": "zip", "dict": "dict", "collections.OrderedDict": "dict",
    "collections.defaultdict": "defaultdict", "asyncio.run": "run", "asyncio.wait_for": "wait",
    "asyncio.shield": "wait", "asyncio.create_task": "wait", "asyncio.ensure_future": "wait",
    "asyncio.gather": "gather", "typing.cast": "cast", "cast": "cast", "dataclasses.field": "field",
    "field": "field",
}  # fmt: skip
CALLED_BACK = (CALLS_AT_ONCE.keys() | CALLS_LATER.keys()) - {"map"}
HANDLED = BEHAVIOURS.keys() | CALLED_BACK

UNKNOWN: Values = (External("?"),)  # nothing is known of it, not even whether it exists
BUILTIN_VALUES: dict[str, Values] = {name: (External(name),) for name in BUILTINS}
_THING: Values = (External("?."),)  # something external that no table names
_ENDINGS = (  # of classes that matter to their subclasses or to what they decorate
    "Enum", "Flag", "NamedTuple", ".Protocol", ".ABC", ".Generic", ".Exception", ".Any", ".object",
    "property",
)  # fmt: skip
_NAMED = HANDLED | CONTEXT_MANAGERS | RECORDS
_BEGINNINGS = {name[:place] for name in _NAMED for place, char in enumerate(name) if char == "."}


@functools.cache
def result_of(name: str) -> Values:
    """Return an external function's result; it keeps the name where a table has names that begin so."""
    return (External(name),) if name in _BEGINNINGS or name in RECORDS or name.endswith(_ENDINGS) else _THING


@functools.cache
def attribute_of(name: str, attr: str) -> Values:
    """Return an attribute of an external value; names in no table share one value, to keep sets small."""
    full = f"{name}.{attr}"
    is_named = full in _BEGINNINGS or full in _NAMED or full.endswith(_ENDINGS)
    return (External(full),) if is_named else _THING
