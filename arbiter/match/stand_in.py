"""Who plays on for a bot that failed, so that the others finish: simple, deterministic, and seeing what a seat may
see."""

from __future__ import annotations

from arbiter.engine import PassView, PlayView
from arbiter.engine.cards import indexes_of


def stand_in_pass(view: PassView) -> tuple[int, ...]:
    """The highest cards by rank; of equal ranks the higher suit first."""
    held = sorted(indexes_of(view.hand), key=lambda index: (index % 13, index // 13), reverse=True)
    return tuple(held[: view.pass_count])


def stand_in_card(view: PlayView) -> int:
    """The lowest legal card by rank; of equal ranks the lower suit."""
    return min(indexes_of(view.legal), key=lambda index: (index % 13, index // 13))
