"""What can be chosen."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the user chose."""

    currency: str = "EUR"
    fiscal_start: int = 1
    backups: int = 7

    @property
    def is_calendar_year(self) -> bool:
        return self.fiscal_start == 1


def load_settings(path: str | None = None) -> Settings:
    """Read the settings; the environment comes first."""
    path = os.environ.get("LEDGER_CONFIG") or path or "ledger.toml"
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except FileNotFoundError:
        found = {}
    return Settings(**found)
