"""Look for control variates: what is known of a board before it is played and goes with a candidate's improvement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from arbiter.deals import deal, derive_deal_seed
from arbiter.engine import PassDirection, compile_rules, pass_direction
from arbiter.engine.rules import SUIT_MASKS
from benchmarks.gate_boards import CHUNK, RULES, SEED

FOLDS: Final = 10
HEARTS, SPADES = 2, 3
QUEEN: Final = 1 << 13 * SPADES + 10
HIGH_SPADES: Final = 0b11 << 13 * SPADES + 11
FEATURES: Final = (
    "length of the queen's suit beside her",
    "high spades beside the queen",
    "longest suit",
    "voids and singletons",
    "spread of high cards",
    "longest hearts",
)


def features(board: int) -> list[float]:
    """What the deal of a board (from 0 over all deal sets) shows, the same whoever sits where.

    A board's improvement is a mean over seatings in which a bot has every hand once, so that whose hand is good is
    out of it already; what is left is how the cards lie.
    """
    rules = compile_rules(RULES)
    hands = deal(rules, derive_deal_seed(SEED, board // CHUNK), board % CHUNK + 1).hands
    lengths = [[(hand & suit).bit_count() for suit in SUIT_MASKS] for hand in hands]
    holder = next(seat for seat, hand in enumerate(hands) if hand & QUEEN)
    high = [sum((hand >> 13 * suit + 9 & 0b1111).bit_count() for suit in range(4)) for hand in hands]
    return [
        float(lengths[holder][SPADES]),
        float((hands[holder] & HIGH_SPADES).bit_count()),
        float(max(max(each) for each in lengths)),
        float(sum(length <= 1 for each in lengths for length in each)),
        float(np.var(high)),
        float(max(each[HEARTS] for each in lengths)),
    ]


def gains(values: Mapping[str, Sequence[float]]) -> Table:
    """How much of the variance of improvements each covariate explains on boards that it was not fitted to."""
    table = Table(title="Variance of a board's improvement that is explained beforehand", title_justify="left")
    table.add_column("candidate")
    for heading in ("pass direction", "cards as dealt", "both"):
        table.add_column(heading, justify="right")
    boards = len(next(iter(values.values())))
    dealt = np.array([features(board) for board in range(boards)])
    directions = list(PassDirection)
    passes = np.array([directions.index(pass_direction(RULES, board % CHUNK + 1)) for board in range(boards)])
    strata = np.eye(len(directions))[passes][:, 1:]
    for name, improvements in values.items():
        observed = np.array(improvements)
        if np.ptp(observed):
            parts = (strata, dealt, np.hstack([strata, dealt]))
            table.add_row(name, *(f"{explained(part, observed):+.1%}" for part in parts))
    table.caption = f"by linear regression, {FOLDS}-fold cross-validated; cards: {', '.join(FEATURES)}"
    table.caption_justify = "left"
    return table


def explained(covariates: NDArray[np.float64], observed: NDArray[np.float64]) -> float:
    """Share of the variance explained out of sample; below 0 where the fit does more harm than good."""
    design = np.hstack([np.ones((len(observed), 1)), covariates])
    fold = np.arange(len(observed)) % FOLDS
    left = np.empty_like(observed)
    for number in range(FOLDS):
        kept, out = fold != number, fold == number
        weights, *_ = np.linalg.lstsq(design[kept], observed[kept], rcond=None)
        left[out] = observed[out] - design[out] @ weights
    return float(1 - np.mean(left**2) / np.var(observed))
