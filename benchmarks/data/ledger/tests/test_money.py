from decimal import Decimal

import pytest

from ledger.money import allocate, parse_amount


@pytest.fixture
def amounts():
    return [Decimal("1.10"), Decimal("2.20")]


def test_parse_amount():
    assert parse_amount("1,10") == Decimal("1.10")


def test_allocate(amounts):
    assert sum(allocate(sum(amounts), [1, 1, 1])) == sum(amounts)
