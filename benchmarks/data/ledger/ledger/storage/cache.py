"""What is computed once."""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from typing import Any


def cached(ttl_s: float = 60.0) -> Any:
    """Keep what a function returned for a while."""

    def decorate(function: Any) -> Any:
        kept: dict[Any, tuple[float, Any]] = {}

        @functools.wraps(function)
        def wrapper(*arguments: Any) -> Any:
            now = time.monotonic()
            if arguments in kept and now - kept[arguments][0] < ttl_s:
                return kept[arguments][1]
            value = function(*arguments)
            kept[arguments] = (now, value)
            return value

        return wrapper

    return decorate


class LruCache:
    """As many values as it has room for."""

    capacity = 128

    def __init__(self) -> None:
        self._values: OrderedDict[str, Any] = OrderedDict()

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self._values:
            return default
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key: str, value: Any) -> None:
        self._values[key] = value
        if len(self._values) > self.capacity:
            self._values.popitem(last=False)
