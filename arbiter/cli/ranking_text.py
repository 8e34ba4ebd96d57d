"""How ranks, estimates and probabilities are written. Needs the base install alone."""

from __future__ import annotations

from typing import Final

RANKED_BY: Final = {
    "round-robin": ("rank", "rank: those open at 95 %"),
    "swiss": ("score", "score: opponents outdone at the table, equals half, a bye the mean of a table; it ranks first"),
    "knockout": ("reached", "reached: the last stage; it ranks first, then the place in the group there"),
}
"""By format: heading of a column and what it says."""


def ranked_by(kind: str) -> tuple[str, str]:
    """Heading of the column that ranks in a format, and what it says."""
    return RANKED_BY.get(kind, RANKED_BY["round-robin"])


def stage(reached: int, stages: int) -> str:
    """The last stage that somebody reached, from 1."""
    return "final" if reached == stages else f"stage {reached}"


def plus_minus(value: float | None, half_width: float | None, *, sign: str = "") -> str:
    """``6.50 ± 0.12``, as far as there is one."""
    if value is None:
        return "–"
    shown = f"{value:{sign}.2f}"
    return shown if half_width is None else f"{shown} ± {half_width:.2f}"


def ranks(best: int, worst: int) -> str:
    """``2nd`` or ``2nd to 4th``."""
    return ordinal(best) if best == worst else f"{ordinal(best)} to {ordinal(worst)}"


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``11th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def probability(value: float | None) -> str:
    """``63%``; never 0 or 100, for no number of boards is certain."""
    if value is None:
        return "–"
    return "<1%" if value < 0.01 else ">99%" if value > 0.99 else f"{value:.0%}"
