"""Deals that anyone can check, and who sits where: pure functions of a deal seed and board numbers.

The construction is written out in ``docs/deals.md`` with test vectors; :mod:`arbiter.deals.deal` is its reference.
"""

from arbiter.deals.deal import Deal, commitment, deal, dealer, derive_bot_seed, derive_deal_seed
from arbiter.deals.seatings import (
    ROTATIONS,
    Seatings,
    SeatingsError,
    SeatingsKind,
    arrangement,
    arrangement_count,
    cyclic_order,
    order_count,
    partners_sit_opposite,
    read_seatings,
    rotation,
    sides_per_match,
)
from arbiter.engine.build import PACKAGE, is_compiled

is_compiled(PACKAGE, "deals")  # or else it refuses

__all__ = [
    "ROTATIONS",
    "Deal",
    "Seatings",
    "SeatingsError",
    "SeatingsKind",
    "arrangement",
    "arrangement_count",
    "commitment",
    "cyclic_order",
    "deal",
    "dealer",
    "derive_bot_seed",
    "derive_deal_seed",
    "order_count",
    "partners_sit_opposite",
    "read_seatings",
    "rotation",
    "sides_per_match",
]
