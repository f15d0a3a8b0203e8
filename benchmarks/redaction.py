"""How many planted secrets redaction takes out of hook events, and how many look-alikes it spares.

    python benchmarks/redaction.py [--seed N] [--forms first|held-out|all] [--each 20]

1,200 secrets of sixty kinds and 1,200 texts that only resemble some, each in an event of its own: edits of
files, command lines, outputs, JSON within JSON, prompts. Every event goes the way of a hook, `redact.scrub`
and `inbox.append` in a temporary data directory; then every byte of that directory is searched for pieces of
ten characters of each secret. A look-alike must come out as it went in. Ends with 1 when less than 99 % are
caught or more than 1 % of the look-alikes altered.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import look_alikes
import planted_secrets
import surroundings

from claude_mem_lite import config, inbox, redact

if TYPE_CHECKING:
    from typing import Any

LEAST_CAUGHT, MOST_ALTERED = 0.99, 0.01
_WORST = 10
_HALVES = {"first": False, "held-out": True, "all": None}


@dataclass(frozen=True, slots=True)
class Case:
    """An event with one text in it; `pieces` of a secret must go, a look-alike has none."""

    kind: str
    text: str
    pieces: tuple[str, ...]
    event: dict[str, Any]


def main() -> None:
    """Plant, scrub, store, search, count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forms", choices=_HALVES, default="all")
    parser.add_argument("--each", type=int, default=20, help="cases of each kind")
    parser.add_argument("--show", action="store_true", help="list every case that went wrong")
    options = parser.parse_args()
    planted, harmless = cases(options.seed, options.each, held_out=_HALVES[options.forms])
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CLAUDE_MEM_HOME"] = os.path.join(scratch, "memory")
        leaked = leaks(planted)
        altered = alterations(harmless)
    caught = 1 - len(leaked) / len(planted)
    print(f"seed {options.seed}, {options.forms} forms")
    print(f"caught          {len(planted) - len(leaked)} of {len(planted)} ({caught:.1%})")
    print(f"falsely caught  {len(altered)} of {len(harmless)} ({len(altered) / len(harmless):.1%})")
    report("missed", planted, leaked, show=options.show)
    report("falsely caught", harmless, altered, show=options.show)
    sys.exit(caught < LEAST_CAUGHT or len(altered) > MOST_ALTERED * len(harmless))


def cases(seed: int, each: int, *, held_out: bool | None = None) -> tuple[list[Case], list[Case]]:
    """Return `each` secrets and look-alikes of every kind, in events of the first, held out or all forms."""
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
    """Return the secrets of which a piece is found in the data directory, and lose no event."""
    for case in planted:
        inbox.append(scrubbed(case), "/home/me/shop")
    home = Path(config.home())
    with sqlite3.connect(home / "queue.db") as database:
        # Beside the files' bytes: a long row is parted by the borders of its pages.
        rows = [row for (row,) in database.execute("SELECT raw_output FROM pending_queue")]
    database.close()
    files = [path for path in home.rglob("*") if path.is_file()]
    count = len(rows) + sum(path.parent.name == "spool" for path in files)  # when the disk was slow
    if count != len(planted):
        sys.exit(f"{count} of {len(planted)} events were stored")
    stored = "\n".join(rows).encode() + b"".join(path.read_bytes() for path in files)
    return [case for case in planted if any(piece.encode() in stored for piece in case.pieces)]


def alterations(harmless: list[Case]) -> list[Case]:
    """Return the look-alikes whose event did not come out as it went in."""
    return [case for case in harmless if json.loads(scrubbed(case)) != case.event]


def scrubbed(case: Case) -> str:
    """Return the event as a hook stores it; the client escapes no letters."""
    max_chars, ignored = config.capture_limits()
    text = json.dumps(case.event, ensure_ascii=False, separators=(",", ":"))
    return redact.scrub(text, max_chars=max_chars, ignored=(*redact.IGNORED_FILES, *ignored))


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
