"""logs: print the log files of all processes as one stream."""

import contextlib
import json
import os
import time
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import console, print_line
from claude_mem_lite.cli.text import printable
from claude_mem_lite.errors import ClaudeMemError

_LEVELS = {"DEBUG": "dim", "INFO": "", "WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
_LOOK_AGAIN_S = 0.5
_MOST_BYTES = 8 << 20  # of one file, from its end


@dataclass
class _Files:
    """The JSON Lines files in `logs/`; each call reads on from where the last one stopped."""

    process: str
    read_to: dict[str, int] = field(default_factory=dict)

    def new_lines(self) -> list[dict[str, Any]]:
        """Return the lines written since the last call, oldest first."""
        found: list[dict[str, Any]] = []
        with contextlib.suppress(FileNotFoundError):
            for name in sorted(os.listdir(config.log_dir())):
                process, is_log, _ = name.partition(".jsonl")
                if is_log and self.process in {"", process}:
                    found += self._new_lines_of(os.path.join(config.log_dir(), name), process)
        return sorted(found, key=lambda line: str(line["at"]))

    def _new_lines_of(self, path: str, process: str) -> list[dict[str, Any]]:
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                start = self.read_to.get(path, max(0, size - _MOST_BYTES))
                file.seek(start if start <= size else 0)  # shorter: a new day's file
                text, found = file.read(), []
                whole = text.rfind(b"\n") + 1
                self.read_to[path] = file.tell() - len(text) + whole
        except FileNotFoundError:
            return []
        for line in text[:whole].splitlines():
            with contextlib.suppress(ValueError):  # the first line may be cut off
                given = json.loads(line)
                if isinstance(given, dict) and "at" in given:
                    found.append({"process": process, **given})
        return found


@app.command()
def logs(
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing new lines until Ctrl-C.")
    ] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, metavar="N", help="The last N lines.")] = 50,
    process: Annotated[
        str, typer.Option(metavar="NAME", help="Only this process: consumer, web or hooks.")
    ] = "",
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help="Only this level and above: info, warning or error.")
    ] = "debug",
    as_json: AsJson = False,
) -> None:
    """Print the logs of the consumer, the web process and the hooks, oldest first.

    They hold ids and counts, never your text. With --json each line is an
    object, as in the files.
    """
    order = list(_LEVELS)
    if level.upper() not in order:
        raise ClaudeMemError(f"there is no log level {level}; the levels are {', '.join(order).lower()}")
    wanted, files = set(order[order.index(level.upper()) :]), _Files(process)
    found = [line for line in files.new_lines() if line.get("level", "INFO") in wanted]
    for line in found[-lines:] if lines else []:
        _print(line, as_json=as_json)
    if not found and not follow and not as_json:
        print_line(f"No matching log lines in {config.log_dir()}.")
    with contextlib.suppress(KeyboardInterrupt):
        while follow:
            time.sleep(_LOOK_AGAIN_S)
            for line in files.new_lines():
                if line.get("level", "INFO") in wanted:
                    _print(line, as_json=as_json)


def _print(line: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(line, ensure_ascii=False))
        return
    level = str(line.get("level", "INFO"))
    known = ("at", "level", "logger", "process", "message", "exception")
    more = " ".join(f"{key}={value}" for key, value in line.items() if key not in known)
    says = printable(f"{line.get('message', '')} {more}")
    last = str(line.get("exception", "")).strip().rpartition("\n")[2]
    console.print(
        Text.assemble(
            (f"{str(line['at'])[:19]} ", "dim"), (f"{level:<7} ", _LEVELS.get(level, "")),
            f"{line['process']:<8} ", says, f" ({printable(last)})" if last else "",
        ),
    )  # fmt: skip
