"""Shared parts of the benchmarks: an option parser, a temporary data directory, and timing."""

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
    """Return a parser of a script's options, with the docstring printed unchanged as its help."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


@contextlib.contextmanager
def memory(*, model: str = "", **environment: str) -> Iterator[str]:
    """Yield a new data directory, with `model` if given; at the end stop its services and delete it."""
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
    """Return the milliseconds that a process took, whatever its exit status."""
    started = time.perf_counter()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return (time.perf_counter() - started) * 1000
