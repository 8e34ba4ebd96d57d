"""Deals that anyone can check, and who sits where: pure functions of a deal seed and board numbers.

The construction is written out in ``docs/deals.md`` with test vectors; :mod:`arbiter.deals.deal` is its reference.
"""

from arbiter.deals.deal import Deal, commitment, deal, dealer, derive_bot_seed, derive_deal_seed
from arbiter.deals.seatings import (
    cyclic_order,
    order_count,
    partners_sit_opposite,
    seating,
    seatings_per_match,
    sides_per_match,
)

__all__ = [
    "Deal",
    "commitment",
    "cyclic_order",
    "deal",
    "dealer",
    "derive_bot_seed",
    "derive_deal_seed",
    "order_count",
    "partners_sit_opposite",
    "seating",
    "seatings_per_match",
    "sides_per_match",
]
