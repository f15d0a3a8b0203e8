"""Measure how much room the memory takes, by what it is made of."""

import os

from claude_mem_lite import config
from claude_mem_lite.storage import files


def sizes() -> dict[str, int]:
    """Return the bytes of the two databases, the vectors, the logs and the spool."""
    folders = {"vectors": config.lance_dir(), "logs": config.log_dir(), "spool": config.spool_dir()}
    return {
        **{os.path.basename(path): files.size_bytes(path) for path in files.paths()},
        **{name: _folder_bytes(folder) for name, folder in folders.items()},
    }


def _folder_bytes(folder: str) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except FileNotFoundError:  # the consumer has just taken it in, or merged it
                continue
    return total
