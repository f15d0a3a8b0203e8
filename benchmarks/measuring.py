"""Read the options of a benchmark, give it a data directory of its own, and time what it does."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return what reads the options of a script; its help is the docstring as it stands."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


@contextlib.contextmanager
def memory(*, model: str = "", **environment: str) -> Iterator[str]:
    """Yield a new data directory, with a model if not the default one; it goes with its services."""
    from claude_mem_lite import config
    from claude_mem_lite.services import supervise
    from claude_mem_lite.storage import models

    home = tempfile.mkdtemp(prefix="cml-bench-")
    os.environ |= {"CLAUDE_MEM_HOME": home, **environment}
    config.ensure_home()
    if model:
        with open(config.config_path(), "w", encoding="utf-8") as file:
            file.write(f'[search]\nembedding_model = "{model}"\n')
    try:
        yield home
    finally:
        supervise.down()
        models.close_databases()
        shutil.rmtree(home, ignore_errors=True)


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return sorted(values)[int(len(values) * 0.95)]


def took_ms(command: list[str], environment: Mapping[str, str] = os.environ) -> float:
    """Return how long a process took, whatever it ended with."""
    started = time.perf_counter()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return (time.perf_counter() - started) * 1000
