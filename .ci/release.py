#!/usr/bin/env python3
"""Release a version by one command: `.ci/release.py 0.2.0` sets it, dates the changelog, commits and tags.

Nothing is pushed. CI publishes the tag once it is: git push origin HEAD --follow-tags.
"""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
# Where the version stands, with a group before it and one after.
PLACES = {
    "src/claude_mem_lite/__init__.py": r'^(__version__ = ")[^"]+(")$',
    ".claude-plugin/plugin.json": r'^(  "version": ")[^"]+(",?)$',
}
CHANGELOG = "CHANGELOG.md"
_HEADING = re.compile(r"^## .*\(unreleased\)$", re.MULTILINE)
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def release(version: str, *, today: dt.date) -> None:
    """Set the version everywhere, date its section of the changelog, commit and tag."""
    if not _VERSION.fullmatch(version):
        refuse(f"{version} is no version: three numbers, as 0.2.0")
    if changed := git("status", "--porcelain"):
        refuse(f"there are changes that are not committed: commit or stash them first\n{changed}")
    earlier = [_numbers(tag.removeprefix("v")) for tag in git("tag", "--list", "v*").split()]
    if any(_numbers(version) <= each for each in earlier):
        refuse(f"{version} is not above the newest tag, v{'.'.join(map(str, max(earlier)))}")
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in (*PLACES, CHANGELOG)}
    if len(_HEADING.findall(texts[CHANGELOG])) != 1:
        refuse(f"{CHANGELOG} needs one heading such as: ## {version} (unreleased)")
    texts[CHANGELOG] = _HEADING.sub(f"## {version} ({today.isoformat()})", texts[CHANGELOG])
    for name, pattern in PLACES.items():
        texts[name], found = re.subn(pattern, rf"\g<1>{version}\g<2>", texts[name], flags=re.MULTILINE)
        if found != 1:
            refuse(f"{name} has its version in {found} places, not in one")
    for name, text in texts.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    git("commit", "--all", "--quiet", "--message", f"Release {version}")
    git("tag", "--annotate", f"v{version}", "--message", f"claude-mem-lite {version}")
    sys.stdout.write(f"v{version} is tagged. To publish it: git push origin HEAD --follow-tags\n")


def git(*arguments: str) -> str:
    """Return what git prints; end with its message if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    if done.returncode:
        refuse(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def refuse(why: str) -> NoReturn:
    """End without a release."""
    sys.exit(f".ci/release.py: {why}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004  (the script and the version)
        sys.exit("usage: .ci/release.py VERSION")
    release(sys.argv[1], today=dt.datetime.now(dt.UTC).date())
