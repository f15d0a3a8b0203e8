"""Measure time and memory of mapping sources with tree-sitter: `python benchmarks/languages.py DIR…`.

Without a DIR, a TypeScript project of 1,000 files is made up. Prints for each project the milliseconds per
1,000 lines of each language, the time of a first scan and of one without changes, and the peak memory.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from claude_mem_lite.codemap import file_index, languages, sources
from claude_mem_lite.storage import models

MODULE = """import {{ A }} from './a'

/** Shop number {n}. */
export class Shop{n} extends A<string> {{
  private readonly items = new Map<string, number>()

  constructor(private name: string) {{
    super(name)
  }}
"""
METHOD = """
  /** Sells one of {n}. */
  async sell{n}(name: string, count = 1): Promise<number> {{
    const left = (this.items.get(name) ?? 0) - count
    if (left < 0) {{
      throw new Error(`no ${{name}} left: ${{left}}`) // tell the caller
    }}
    this.items.set(name, left)
    return [left, ...this.items.values()].reduce((sum, each) => sum + each, 0)
  }}
"""


def made_up(folder: Path, *, files: int = 1_000, methods: int = 10) -> None:
    """Write a TypeScript project; each file has about 110 lines."""
    (folder / ".git").mkdir()
    for number in range(files):
        path = folder / "src" / f"part{number % 40}" / f"shop{number}.ts"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(METHOD.format(n=each) for each in range(methods))
        path.write_text(MODULE.format(n=number) + body + "}\n")


def measure(folder: str) -> None:
    """Print time and memory of mapping a folder."""
    taken: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    refused = []
    for path in sources.source_files(folder):
        language = languages.of(path)
        if language is None:
            continue
        text = sources.decode((Path(folder) / path).read_bytes())
        started = time.thread_time()
        try:
            functions[language.name] += len(languages.extract(path, text))
        except SyntaxError as error:
            refused.append(f"{path}: {error}")
        taken[language.name] += round((time.thread_time() - started) * 1e6)
        lines[language.name] += text.count("\n")
    print(folder)
    for name in lines:
        speed = taken[name] / max(1, lines[name])
        print(
            f"  {name}: {lines[name]:,} lines, {functions[name]:,} definitions, {speed:.1f} ms a 1,000 lines"
        )
    for each in refused:
        print(f"  refused: {each}")
    before = peak_mb()
    for what in ("first scan", "unchanged"):
        started, cpu = time.perf_counter(), time.process_time()
        scan = file_index.scan(folder)
        took, busy = time.perf_counter() - started, time.process_time() - cpu
        read = f"{scan.files:,} files, {len(scan.changed):,} read"
        print(f"  {what}: {read}, {took:.2f} s ({busy:.2f} s of processor)")
    print(f"  memory: {before:.0f} MB at most before the scan, {peak_mb():.0f} MB with it")


def peak_mb() -> float:
    """Return this process's peak memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)


def main() -> None:
    """Measure the folders given, or one made up."""
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["CLAUDE_MEM_HOME"] = str(Path(temporary) / "home")
        models.open_databases()
        folders = sys.argv[1:]
        if not folders:
            made = Path(temporary) / "project"
            made.mkdir()
            made_up(made)
            folders = [str(made)]
        print(f"{peak_mb():.0f} MB at the start")
        for folder in folders:
            measure(os.path.realpath(folder))


if __name__ == "__main__":
    main()
