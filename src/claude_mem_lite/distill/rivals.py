"""Things of which a project uses one: who chooses another member of a group has given the first up."""

from __future__ import annotations

import re

from claude_mem_lite.search.words import lemma

_NAME = re.compile(r"[._/:@#]|\d|^-")

_GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split())
    for group in (
        "argparse typer click docopt fire",
        "pytest unittest nose jest vitest mocha jasmine",
        "npm pnpm yarn bun",
        "pip poetry uv pipenv conda pdm",
        "black ruff yapf autopep8",
        "flake8 ruff pylint",
        "mypy pyright pyre",
        "eslint biome tslint oxlint",
        "prettier biome dprint",
        "tab space",
        "sqlite postgresql mysql mariadb mongodb duckdb json",
        "wal delete truncate",
        "os.path pathlib",
        "requests httpx urllib aiohttp urllib3",
        "print structlog logging loguru",
        "flask django fastapi starlette",
        "react vue svelte angular",
        "webpack vite rollup esbuild parcel",
        "redis memcached",
        "rabbitmq kafka celery huey rq",
        "rest graphql grpc",
        "rebase squash",
        "snake_case camelcase kebab-case pascalcase",
        "uuid ulid",
        "monday tuesday wednesday thursday friday saturday sunday",
        "single double",
        "british american",
        "english german french spanish",
        "moment dayjs luxon",
        "sync async",
        "float integer decimal",
        "toml yaml ini",
        "jwt cookie",
        "docker podman",
    )
)
# Names of code stand as they are written, words by their stem, as in `relations.terms`.
RIVALS = tuple(frozenset(name if _NAME.search(name) else lemma(name) for name in group) for group in _GROUPS)
