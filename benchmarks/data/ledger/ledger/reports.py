"""What is printed at the end of a month."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ledger.journal import Journal


class Report:
    """A table with a title."""

    title = "Report"

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def rows(self) -> list[tuple[str, Decimal]]:
        raise NotImplementedError

    def render(self, width: int = 80) -> str:
        lines = [f"{name:<{width - 12}}{amount:>12.2f}" for name, amount in self.rows()]
        return "\n".join([self.title, "=" * width, *lines])


class BalanceSheet(Report):
    """What is there and what is owed."""

    title = "Balance sheet"

    def rows(self) -> list[tuple[str, Decimal]]:
        totals: dict[str, Decimal] = {}
        for entry in self.journal._entries:
            for account, amount in entry.lines.items():
                totals[account] = totals.get(account, Decimal(0)) + amount
        return sorted(totals.items())


def close_month(journal: Journal, month: int) -> str:
    """Close a month and return its balance sheet."""
    text = BalanceSheet(journal).render()
    journal.close(month)
    return text


def export_html(report: Report, *, stylesheet: str | None = None) -> str:
    """Return a report as a page."""
    style = f"<link rel=stylesheet href={stylesheet}>" if stylesheet else ""
    body = "".join(f"<tr><td>{name}<td>{amount}" for name, amount in report.rows())
    return f"<html>{style}<table>{body}</table>"


def totals_by_year(entries: list[Any]) -> dict[int, Decimal]:
    totals: dict[int, Decimal] = {}
    for entry in entries:
        totals[entry.day.year] = totals.get(entry.day.year, Decimal(0)) + entry.balance()
    return totals
