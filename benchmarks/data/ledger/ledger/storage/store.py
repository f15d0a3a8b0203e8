"""Where a journal is kept."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from typing import Any


class Store(ABC):
    """What every store can do."""

    suffix = ".json"

    @abstractmethod
    def load(self, name: str) -> dict[str, Any]: ...

    @abstractmethod
    def save(self, name: str, content: dict[str, Any]) -> None: ...

    def exists(self, name: str) -> bool:
        try:
            self.load(name)
        except KeyError:
            return False
        return True


class FileStore(Store):
    """One file a journal."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def load(self, name: str) -> dict[str, Any]:
        try:
            with open(os.path.join(self.folder, name + self.suffix)) as file:
                return json.load(file)
        except FileNotFoundError:
            raise KeyError(name) from None

    def save(self, name: str, content: dict[str, Any]) -> None:
        path = os.path.join(self.folder, name + self.suffix)
        with open(path + ".tmp", "w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".tmp", path)


class MemoryStore(Store):
    """For tests."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    def load(self, name: str) -> dict[str, Any]:
        return self.kept[name]

    def save(self, name: str, content: dict[str, Any]) -> None:
        self.kept[name] = content
