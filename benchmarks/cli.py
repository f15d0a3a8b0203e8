"""Time how long commands take to start: whole processes, compared with bare Python and a bare Typer app.

    python benchmarks/cli.py [--runs N]

Each command, and `--help` of every command, runs on an empty and on a small memory with the services down.
The runs of all cases are interleaved, so that other load on the machine affects all of them alike. Prints
medians, their ratios to `python -c pass` and to the help of a small Typer app, and the commands over the
limit. The first run of each case compiles and is not counted.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import measuring

from claude_mem_lite.cli.app import COMMANDS

LIMIT_MS = 150
BARE_APP = """
import typer
from typing import Annotated
app = typer.Typer(pretty_exceptions_enable=False)
@app.command()
def one(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False): pass
@app.command()
def other(): pass
app()
"""
BASELINES = {"python -c pass": ["pass"], "a bare Typer app": [BARE_APP, "one", "--help"]}
# Commands that may exceed the limit, and why; the limit applies to all others.
NEEDS_MORE = {"status": "asks supervisord and checks the databases", "search": "asks the memory"}
CASES = {
    "claude-mem": [], "--version": ["--version"], "--help": ["--help"], "near miss": ["serch"],
    "config show": ["config", "show"], "config path": ["config", "path"], "logs": ["logs"],
    "status": ["status"], "search": ["search", "pond"], "learnings list": ["learnings", "list"],
    "cost": ["cost"],
}  # fmt: skip

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def fill(home: Path) -> None:
    """Process one event, so that there is a memory."""
    program = (
        "import json\nfrom claude_mem_lite.capture import inbox\nfrom claude_mem_lite.distill import record\n"
        "from claude_mem_lite.storage import models, queries\nmodels.open_databases()\n"
        "event = json.dumps({'session_id': 's', 'hook_event_name': 'PostToolUse', 'tool_name': 'Bash',"
        " 'tool_input': {'command': 'make pond'}, 'tool_response': {'stdout': 'built'}})\n"
        "record.record_event(queries.pending_event(inbox.append(event, '/p')))"
    )
    subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "CLAUDE_MEM_HOME": str(home)}, check=True
    )


def main() -> None:
    """Measure and print; exit with 1 if a command that is not exempt is over the limit."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cases = {**CASES, **{f"{name} --help": [name, "--help"] for some in COMMANDS.values() for name in some}}
    with tempfile.TemporaryDirectory(prefix="cml-cli-") as folder:
        homes = {"empty": Path(folder, "empty"), "small": Path(folder, "small")}
        fill(homes["small"])
        took: dict[str, list[float]] = {}
        for _ in range(options.runs + 1):
            for name, arguments in BASELINES.items():
                took.setdefault(name, []).append(
                    measuring.took_ms([sys.executable, "-c", *arguments], ENVIRONMENT)
                )
            for name, arguments in cases.items():
                for size, home in homes.items():
                    environment = {**ENVIRONMENT, "CLAUDE_MEM_HOME": str(home)}
                    command = [sys.executable, "-m", "claude_mem_lite.cli", *arguments]
                    took.setdefault(f"{name} ({size})", []).append(measuring.took_ms(command, environment))
    medians = {name: statistics.median(values[1:]) for name, values in took.items()}
    bare, app = (medians[name] for name in BASELINES)
    if options.json:
        print(json.dumps(medians, indent=2))
    over = []
    for name, median in medians.items():
        more = NEEDS_MORE.get(name.rpartition(" (")[0], "")
        if median > LIMIT_MS and not more:
            over.append(name)
        if not options.json:
            print(f"{name:32} {median:7.1f} ms {median / bare:6.1f} x {median / app:6.2f} x  {more}")
    print(f"limit {LIMIT_MS} ms: {', '.join(over) or 'none is over it'}", file=sys.stderr)
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
