"""Measure redaction: the planted secrets that it removes, the look-alikes that it leaves alone, and its time.

    python benchmarks/redaction.py [--only secrets|times] [--seed N] [--forms first|held-out|all] [--each 20]

Secrets: made-up secrets of each kind in `planted_secrets` and look-alikes of each kind in `look_alikes`, each
in its own event: file edits, command lines, outputs, JSON inside JSON, prompts. Events take the same path as
in a hook, `scrub` and `inbox.append`, in a temporary data directory. Then every byte of that directory is
searched for pieces of ten characters of each secret. A look-alike must come out unchanged.

Times: the processor time of whole hook processes with 500 kB and 1 MB of each shape of `pathological_texts`,
compared with the bare interpreter. A shape over a limit is measured up to twice more; the best result counts.

Exits with 1 if less than 99 % of the secrets are caught, more than 1 % of the look-alikes are altered, or a
shape takes more than 25 times as long as the bare interpreter or 2.2 times as long as half of its text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import look_alikes
import pathological_texts
import planted_secrets
import surroundings

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.redaction.vocabulary import IGNORED_FILES
from claude_mem_lite.services import install

if TYPE_CHECKING:
    from typing import Any

LEAST_CAUGHT, MOST_ALTERED = 0.99, 0.01
MOST_TIMES_BARE, MOST_GROWTH = 25.0, 2.2
SIZES = (500_000, 1_000_000)
_WORST = 10
_TRIES = 3
_HALVES = {"first": False, "held-out": True, "all": None}


@dataclass(frozen=True, slots=True)
class Case:
    """An event with one text in it; redaction must remove all `pieces` of a secret, a look-alike has none."""

    kind: str
    text: str
    pieces: tuple[str, ...]
    event: dict[str, Any]


def main() -> None:
    """Plant, scrub and store secrets and count the leaks; then measure times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("secrets", "times"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forms", choices=_HALVES, default="all")
    parser.add_argument("--each", type=int, default=20, help="cases of each kind")
    parser.add_argument("--show", action="store_true", help="list every case that went wrong")
    parser.add_argument("--shape", action="append", help="time this shape of text only")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CLAUDE_MEM_HOME"] = os.path.join(scratch, "memory")
        if options.only != "times":
            good = count(options)
        if options.only != "secrets":
            good = time_shapes(options.shape or list(pathological_texts.SHAPES)) and good
    sys.exit(not good)


def count(options: argparse.Namespace) -> bool:
    """Print how many secrets were caught and look-alikes altered; return whether both meet their limits."""
    planted, harmless = cases(options.seed, options.each, held_out=_HALVES[options.forms])
    leaked = leaks(planted)
    altered = alterations(harmless)
    caught = 1 - len(leaked) / len(planted)
    print(f"seed {options.seed}, {options.forms} forms")
    print(f"caught          {len(planted) - len(leaked)} of {len(planted)} ({caught:.1%})")
    print(f"falsely caught  {len(altered)} of {len(harmless)} ({len(altered) / len(harmless):.1%})")
    report("missed", planted, leaked, show=options.show)
    report("falsely caught", harmless, altered, show=options.show)
    return caught >= LEAST_CAUGHT and len(altered) <= MOST_ALTERED * len(harmless)


def time_shapes(names: list[str]) -> bool:
    """Print a hook's time for each shape of text, the slowest first; return whether all are within limits."""
    rows = []
    for name in names:
        ratios, growth = _shape_times(name)
        for _ in range(_TRIES - 1):
            if ratios[-1] > MOST_TIMES_BARE or growth > MOST_GROWTH:
                again, grown = _shape_times(name)
                ratios = [min(pair) for pair in zip(ratios, again, strict=True)]
                growth = min(growth, grown)
        rows.append((ratios[-1], growth, name, ratios))
    print(f"\n{len(rows)} shapes of text, times the bare interpreter, and 1 MB against 500 kB:")
    print("".join(f"{size // 1000:>7} kB" for size in SIZES) + f"{'growth':>8}")
    for _, growth, name, ratios in sorted(rows, reverse=True):
        print("".join(f"{ratio:10.1f}" for ratio in ratios) + f"{growth:8.2f}  {name}")
    worst, most = max(row[0] for row in rows), max(row[1] for row in rows)
    print(f"the worst: {worst:.1f} x the bare interpreter, growth {most:.2f}")
    return worst <= MOST_TIMES_BARE and most <= MOST_GROWTH


def _shape_times(name: str) -> tuple[list[float], float]:
    """Return the ratios of a shape's times to the bare interpreter's by size, and that of 1 MB to 500 kB."""
    hook = [sys.executable, "-I", "-S", os.path.join(install.HOOKS, "post_tool_use.py")]
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    texts = [pathological_texts.text(name, size, random.Random(size)) for size in SIZES]
    bares, times = [], []
    for text in texts:
        bares += [_processor_s(bare, b"") for _ in range(_TRIES)]
        times.append(_processor_s(hook, json.dumps(surroundings.bash("make", text)).encode()))
    return [time / statistics.median(bares) for time in times], times[-1] / times[-2]


def _processor_s(command: list[str], stdin: bytes) -> float:
    """Return the processor time of a process from start to end."""
    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        process = subprocess.Popen(command, stdin=file, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def cases(seed: int, each: int, *, held_out: bool | None = None) -> tuple[list[Case], list[Case]]:
    """Return `each` secrets and look-alikes of every kind; `held_out` selects forms and events, None all."""
    rng = random.Random(seed)
    first, second = surroundings.FIRST, surroundings.HELD_OUT
    around = (*first, *second) if held_out is None else second if held_out else first
    planted, harmless = [], []
    for kind in planted_secrets.KINDS:
        for _ in range(each):
            secret = planted_secrets.plant(kind, rng, held_out=held_out)
            planted.append(Case(kind, secret.text, secret.pieces, rng.choice(around)(secret.text, rng)))
    for kind in look_alikes.KINDS:
        for _ in range(each):
            text = look_alikes.look_alike(kind, rng, held_out=held_out)
            harmless.append(Case(kind, text, (), rng.choice(around)(text, rng)))
    return planted, harmless


def leaks(planted: list[Case]) -> list[Case]:
    """Return the secrets of which a piece is found in the data directory; exit if an event is missing."""
    for case in planted:
        inbox.append(scrubbed(case), "/home/me/shop")
    home = Path(config.home())
    with sqlite3.connect(home / "queue.db") as database:
        # Searched besides the files' bytes, because page boundaries split long rows.
        rows = [row for (row,) in database.execute("SELECT raw_output FROM pending_queue")]
    database.close()
    files = [path for path in home.rglob("*") if path.is_file()]
    count = len(rows) + sum(path.parent.name == "spool" for path in files)  # spooled when the disk is slow
    if count != len(planted):
        sys.exit(f"{count} of {len(planted)} events were stored")
    stored = "\n".join(rows).encode() + b"".join(path.read_bytes() for path in files)
    return [case for case in planted if any(piece.encode() in stored for piece in case.pieces)]


def alterations(harmless: list[Case]) -> list[Case]:
    """Return the look-alikes whose event redaction changed."""
    return [case for case in harmless if json.loads(scrubbed(case)) != case.event]


def scrubbed(case: Case) -> str:
    """Return the event as a hook stores it; like the client's JSON, it is not escaped to ASCII."""
    max_chars, ignored = config.capture_limits()
    text = json.dumps(case.event, ensure_ascii=False, separators=(",", ":"))
    return scrub(text, max_chars=max_chars, ignored=(*IGNORED_FILES, *ignored))


def report(title: str, everything: list[Case], wrong: list[Case], *, show: bool) -> None:
    """Print the share of each kind that went wrong, and the ten worst kinds with an example of each."""
    total, bad = Counter(case.kind for case in everything), Counter(case.kind for case in wrong)
    print(f"\n{title} by kind:")
    rows = [f"{kind} {bad[kind]}/{total[kind]}" for kind in total]
    for at in range(0, len(rows), 5):
        print("  " + "   ".join(f"{row:26}" for row in rows[at : at + 5]).rstrip())
    print(f"the worst of them ({title}):" if wrong else f"nothing {title}")
    for kind, count in bad.most_common(None if show else _WORST):
        for case in [case for case in wrong if case.kind == kind][: None if show else 1]:
            print(f"  {count:3}  {kind:22} {case.text[:100]!r}")


if __name__ == "__main__":
    main()
