"""What is known of names outside the project: noise, and foreign functions that call what they are given."""

import builtins

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
# Methods of str, list, dict, set and files: a call of one says nothing of a project's method of that name.
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

# Foreign callables that call an argument: the place of the first argument that is called (or its keyword).
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
PROPERTIES = frozenset({
    "property", "functools.cached_property", "cached_property", "abc.abstractproperty",
    "django.utils.functional.cached_property",
})  # fmt: skip
# Generic containers and wrappers of annotations: which of their arguments is iterated, or is the value.
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
