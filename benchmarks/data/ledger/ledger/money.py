"""Amounts of money."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Money:
    """An amount in one currency."""

    amount: Decimal
    currency: str = "EUR"

    def __add__(self, other: Money) -> Money:
        if other.currency != self.currency:
            raise ValueError(f"{other.currency} is not {self.currency}")
        return Money(self.amount + other.amount, self.currency)

    @property
    def is_negative(self) -> bool:
        return self.amount < 0

    @classmethod
    def zero(cls, currency: str = "EUR") -> Money:
        return cls(Decimal(0), currency)


def parse_amount(text: str) -> Decimal:
    """Return an amount from what a person typed."""
    cleaned = text.strip().replace(" ", "").replace(",", ".")
    if not cleaned:
        raise ValueError("an amount is missing")
    return Decimal(cleaned)


def round_half_even(value: Decimal, unit: Decimal = CENT) -> Decimal:
    """Round as banks do."""
    return value.quantize(unit, rounding=ROUND_HALF_EVEN)


def allocate(total: Decimal, weights: list[int]) -> list[Decimal]:
    """Split a total by weights; nothing is lost."""
    whole = sum(weights)
    shares = [round_half_even(total * weight / whole) for weight in weights]
    shares[0] += total - sum(shares)
    return shares
