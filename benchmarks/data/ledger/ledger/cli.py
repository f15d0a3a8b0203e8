"""The command line."""

from __future__ import annotations

import argparse
import sys

from ledger.imports.csv_reader import deduplicate, read_rows
from ledger.settings import load_settings


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ledger")
    parser.add_argument("--config")
    parser.add_argument("statement")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Import a statement."""
    options = build_parser().parse_args(arguments)
    settings = load_settings(options.config)
    rows = deduplicate(list(read_rows(options.statement)))
    print(f"{len(rows)} rows in {settings.currency}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
