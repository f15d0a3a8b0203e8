"""Bank statements as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from ledger.money import parse_amount


class RowError(ValueError):
    """A row cannot be read."""


def sniff_dialect(sample: str) -> str:
    """Return the delimiter of a file."""
    return ";" if sample.count(";") >= sample.count(",") else ","


def read_rows(path: str, *, encoding: str = "latin-1") -> Iterator[dict[str, Any]]:
    """Yield the rows of a statement."""

    def cleaned(row: dict[str, str]) -> dict[str, Any]:
        row = {key.strip().lower(): value.strip() for key, value in row.items()}
        return {**row, "amount": parse_amount(row["amount"])}

    with open(path, encoding=encoding) as file:
        delimiter = sniff_dialect(file.read(1024))
        file.seek(0)
        for number, row in enumerate(csv.DictReader(file, delimiter=delimiter), 1):
            try:
                yield cleaned(row)
            except (KeyError, ValueError) as error:
                raise RowError(f"row {number}: {error}") from error


def deduplicate(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop rows that were imported before."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for row in rows:
        key = (row["date"], row["reference"])
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return kept
