"""Collect the programs that a project runs, and know the files of languages that rules name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from claude_mem_lite.capture.simple_commands import Script
from claude_mem_lite.search.words import STOP_WORDS

# Common programs with their sub-commands, for a project with few past commands.
USUAL = {
    "git": "add branch checkout cherry-pick clean clone commit diff fetch log merge mv pull push rebase reset"
    " restore revert rm show stash status switch tag",
    "gh": "create issue merge pr release repo", "npm": "ci install publish run test",
    "yarn": "add install run test", "pnpm": "add install run test", "bun": "add install run test",
    "npx": "", "pip": "install uninstall", "pip3": "install uninstall", "uv": "add pip run sync",
    "poetry": "add install run", "pytest": "", "cargo": "build publish run test",
    "go": "build generate get install mod run test vet", "make": "build clean deploy install lint test",
    "docker": "build compose down exec prune push rm run system up volume", "docker-compose": "down up",
    "kubectl": "apply delete describe exec get logs scale", "terraform": "apply destroy plan",
    "helm": "install upgrade", "brew": "", "apt": "", "apt-get": "", "mvn": "", "gradle": "", "rails": "",
    "eslint": "", "prettier": "", "chmod": "", "sed": "", "grep": "",
    "find": "", "awk": "", "head": "", "tail": "", "less": "", "kill": "", "pkill": "", "killall": "",
    "artisan": "", "rake": "", "prisma": "db migrate", "aws": "", "gcloud": "", "systemctl": "restart",
    "manage.py": "", "rsync": "", "chown": "", "redis-cli": "", "crontab": "", "dropdb": "", "scp": "",
    "rm": "", "mv": "", "cp": "", "cat": "", "sudo": "", "curl": "", "wget": "", "ssh": "", "psql": "",
}  # fmt: skip
LANGUAGES = {
    "python": "*.py", "typescript": "*.ts *.tsx", "ts": "*.ts *.tsx", "javascript": "*.js *.jsx",
    "js": "*.js *.jsx", "java": "*.java", "ruby": "*.rb", "rust": "*.rs", "golang": "*.go",
    "kotlin": "*.kt", "php": "*.php", "markdown": "*.md", "swift": "*.swift", "jsx": "*.jsx *.tsx *.js",
    "yaml": "*.yaml *.yml", "css": "*.css *.scss", "scss": "*.scss", "sql": "*.sql", "dart": "*.dart",
    "elixir": "*.ex *.exs", "scala": "*.scala", "html": "*.html", "vue": "*.vue",
    "notebook": "*.ipynb", "notebooks": "*.ipynb",
}  # fmt: skip
SUBS = frozenset(sub for subs in USUAL.values() for sub in subs.split())


@dataclass(frozen=True, slots=True)
class Seen:
    """The programs of a project with their sub-commands, and the project's folder."""

    programs: dict[str, set[str]]
    root: str = "/"

    @classmethod
    def of(cls, lines: Iterable[str], root: str = "/") -> Seen:
        """Return the common programs and those in the command lines."""
        programs = {name: set(subs.split()) for name, subs in USUAL.items()}
        for each in (command for line in lines for command in Script(line).commands):
            is_named = each.is_step or each.words[:1] == each.outer[:1]
            if is_named and re.fullmatch(r"[a-z][\w.-]+", each.program) and each.program not in STOP_WORDS:
                subs = [word for word in each.operands[:1] if re.fullmatch(r"[a-z][\w.:-]*", word)]
                programs.setdefault(each.program, set()).update(subs)
        return cls(programs, root)


def files_of(text: str) -> list[str]:
    """Return the globs of the languages that a text names."""
    words = dict.fromkeys(re.findall(r"[a-z]+", text.lower()))
    return [glob for word in words for glob in LANGUAGES.get(word, "").split()]
