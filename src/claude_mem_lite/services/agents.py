"""launchd agents and systemd user units that run the same two programs as supervisord, always on.

Their files are generated, installed and removed here, and loaded by launchctl or systemctl. Each data
directory has its own pair; a hash of its path is in their names.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Literal, get_args

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services.programs import Program, programs

Supervisor = Literal["launchd", "systemd"]
KINDS: tuple[Supervisor, ...] = get_args(Supervisor)

_START: dict[Supervisor, str] = {"launchd": "kickstart", "systemd": "enable"}
_STOP: dict[Supervisor, str] = {"launchd": "bootout", "systemd": "disable"}
_RESTART_S = 2
_ANSWER_S = 30


def native() -> Supervisor:
    """Return the service manager of this system."""
    return "launchd" if sys.platform == "darwin" else "systemd"


def installed() -> Supervisor | None:
    """Return what runs the services of this data directory, None for supervisord."""
    kinds = (kind for kind in KINDS if os.path.isdir(_folder(kind)))
    return next((kind for kind in kinds if all(map(os.path.exists, paths(kind)))), None)


def paths(kind: Supervisor) -> list[str]:
    """Return the files of a kind, the consumer's first."""
    return [os.path.join(_folder(kind), file_name(kind, program)) for program in programs()]


def file_name(kind: Supervisor, program: Program) -> str:
    """Return the name of a program's file."""
    return f"{_label(program)}.plist" if kind == "launchd" else f"{_label(program)}.service"


def text(kind: Supervisor, program: Program) -> bytes:
    """Return the contents of a program's file."""
    return _plist(program) if kind == "launchd" else _unit(program).encode()


def install(kind: Supervisor) -> list[str]:
    """Write the files of a kind and start the services; return the paths.

    Raises: ClaudeMemError: launchctl or systemctl is missing, or did not accept them.
    """
    import shutil

    program_of = "launchctl" if kind == "launchd" else "systemctl"
    if shutil.which(program_of) is None:
        raise ClaudeMemError(
            f"there is no {program_of} on this machine; sessions start the services without it"
        )
    written = paths(kind)
    os.makedirs(_folder(kind), exist_ok=True)
    for path, program in zip(written, programs(), strict=True):
        config.replace_file(path, text(kind, program), mode=0o600)
    try:
        start(kind)
    except ClaudeMemError:
        _remove(kind)  # leave no partial installation
        raise
    return written


def uninstall(kind: Supervisor) -> list[str]:
    """Stop the services of a kind and remove their files; return the paths of those."""
    there = [path for path in paths(kind) if os.path.exists(path)]
    for command in _commands(kind, _STOP, there):
        with contextlib.suppress(ClaudeMemError):
            _call(command)
    _remove(kind)
    return there


def start(kind: Supervisor) -> None:
    """Start the installed services, unless they run. Raises: ClaudeMemError."""
    for command in _loading(kind, paths(kind)):
        with contextlib.suppress(ClaudeMemError):
            _call(command)
    for command in _commands(kind, _START, paths(kind)):
        _call(command)


def stop(kind: Supervisor) -> None:
    """Stop the installed services until the next start. Raises: ClaudeMemError."""
    for command in _commands(kind, _STOP, paths(kind)):
        _call(command)


def _plist(program: Program) -> bytes:
    import plistlib

    return plistlib.dumps({
        "Label": _label(program),
        "ProgramArguments": list(program.command),
        "EnvironmentVariables": dict(program.environment),
        "WorkingDirectory": config.home(),
        "StandardOutPath": program.log_path,
        "StandardErrorPath": program.log_path,
        "RunAtLoad": True,
        "KeepAlive": True,
        "ThrottleInterval": _RESTART_S,
        "ExitTimeOut": program.stop_wait_s,
        "Umask": 0o077,
        "ProcessType": "Background",
    })  # fmt: skip


def _unit(program: Program) -> str:
    environment = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in program.environment.items()
    )
    command = " ".join(_quoted(part).replace("$", "$$") for part in program.command)
    return f"""[Unit]
Description=claude-mem-lite {program.name} of {_escaped(config.home())}

[Service]
ExecStart={command}
{environment}WorkingDirectory={_escaped(config.home())}
UMask=0077
Restart=always
RestartSec={_RESTART_S}
KillSignal=SIGTERM
TimeoutStopSec={program.stop_wait_s}
StandardOutput=append:{_escaped(program.log_path)}
StandardError=inherit
NoNewPrivileges=true

[Install]
WantedBy=default.target
"""


def _loading(kind: Supervisor, files: list[str]) -> Iterator[list[str]]:
    """Yield the commands that load the files; launchd refuses those that it has loaded already."""
    if kind == "launchd":
        for path in files:
            yield ["launchctl", "bootstrap", f"gui/{os.getuid()}", path]
    else:
        yield ["systemctl", "--user", "daemon-reload"]


def _commands(kind: Supervisor, verbs: dict[Supervisor, str], files: list[str]) -> Iterator[list[str]]:
    """Yield the commands that start or stop the services of the files."""
    if kind == "launchd":
        for path in files:
            label = os.path.basename(path).removesuffix(".plist")
            yield ["launchctl", verbs[kind], f"gui/{os.getuid()}/{label}"]
    elif files:
        yield ["systemctl", "--user", verbs[kind], "--now", *map(os.path.basename, files)]


def _call(command: list[str]) -> None:
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ANSWER_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClaudeMemError(f"{' '.join(command)}: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().split("\n")[-1]
        raise ClaudeMemError(f"{' '.join(command)} failed: {said or f'exit status {done.returncode}'}")


def _remove(kind: Supervisor) -> None:
    for path in paths(kind):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _folder(kind: Supervisor) -> str:
    if kind == "launchd":
        return os.path.expanduser("~/Library/LaunchAgents")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(base, "systemd", "user")


def _label(program: Program) -> str:
    import hashlib

    place = hashlib.sha256(os.fsencode(config.home())).hexdigest()[:8]
    return f"claude-mem-{place}-{program.name}"


def _quoted(text: str) -> str:
    """Quote one word of a line in a unit file. Source: systemd.syntax(7), systemd.service(5)."""
    escaped = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
