"""Read the two programs from `supervisord.conf`, so that launchd and systemd can run them, too."""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import NamedTuple

from claude_mem_lite import config

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "supervisord.conf")
NAMES = ("consumer", "web")

_PAIR = re.compile(r'(\w+)="([^"]*)"')


class Program(NamedTuple):
    """A program: its command, the variables it gets besides the session's, and how long its stop may take."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    stop_wait_s: int
    log_path: str


def programs() -> list[Program]:
    """Return both programs, for this interpreter and this data directory."""
    import configparser

    parser = configparser.RawConfigParser(inline_comment_prefixes=None)
    parser.read(CONF, encoding="utf-8")
    return [_program(name, parser[f"program:{name}"]) for name in NAMES]


def _program(name: str, section: Mapping[str, str]) -> Program:
    def filled(text: str) -> str:
        text = text.replace("%(ENV_CLAUDE_MEM_PYTHON)s", sys.executable)
        return text.replace("%(ENV_CLAUDE_MEM_HOME)s", config.home())

    given = dict(_PAIR.findall(section["environment"]))
    return Program(
        name=name,
        command=tuple(filled(part) for part in shlex.split(section["command"])),
        environment={"CLAUDE_MEM_HOME": config.home(), **given},
        stop_wait_s=int(section["stopwaitsecs"]),
        log_path=filled(section["stdout_logfile"]),
    )
