"""What both sequential tests promise: errors within their rates, one answer for good, and none without evidence."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arbiter.verdict import Answer, Betting, Gsprt, Hypotheses, SequentialTest, VerdictError, decide

HALF = Hypotheses(0.0, 0.5)
BOUND = 26.0

Make = Callable[[Hypotheses], SequentialTest]


def gsprt(hypotheses: Hypotheses = HALF) -> Gsprt:
    return Gsprt(hypotheses, spread=2.0)


def betting(hypotheses: Hypotheses = HALF) -> Betting:
    return Betting(hypotheses, BOUND, spread=2.0)


BOTH = pytest.mark.parametrize("make", [gsprt, betting])

# Means over four seatings of whole points.
observations = st.integers(-104, 104).map(lambda quarter: quarter / 4)
blocks = st.lists(st.lists(observations, min_size=1, max_size=4), max_size=12)


def normal_blocks(draw: random.Random, mean: float, count: int, size: int = 12, sd: float = 2.0) -> list[list[float]]:
    return [[max(-BOUND, min(BOUND, draw.gauss(mean, sd))) for _ in range(size)] for _ in range(count)]


@BOTH
@pytest.mark.parametrize(("mean", "expected"), [(1.5, Answer.DELTA1), (-1.0, Answer.DELTA0)])
def test_a_clear_difference_is_found_whichever_way_it_is(make: Make, mean: float, expected: Answer) -> None:
    test = decide(make(HALF), normal_blocks(random.Random(1), mean, 100))
    assert test.answer is expected
    assert test.blocks < 30


@BOTH
@pytest.mark.parametrize("value", [0.0, 5.0, -5.0])
def test_observations_that_never_differ_give_no_answer(make: Make, value: float) -> None:
    test = decide(make(HALF), [[value] * 12] * 200)
    assert test.answer is None
    assert test.blocks == 200
    assert test.for_delta1.evidence == test.for_delta0.evidence == 0


@BOTH
def test_a_test_that_was_stopped_before_a_limit_has_no_answer(make: Make) -> None:
    # https://github.com/official-stockfish/fishtest/issues/2125
    stopped = decide(make(HALF), normal_blocks(random.Random(2), 0.5, 2))
    assert stopped.answer is None
    assert not stopped.for_delta1.reached
    assert not stopped.for_delta0.reached
    assert make(HALF).answer is None


@BOTH
@given(first=blocks, second=blocks)
def test_what_comes_after_the_answer_never_turns_it(
    make: Make, first: list[list[float]], second: list[list[float]]
) -> None:
    # https://github.com/official-stockfish/fishtest/issues/2582
    test = decide(make(HALF), first)
    if test.answer is not None:
        assert decide(make(HALF), first + second) == test
        assert decide(test, second) is test


@BOTH
@given(given_blocks=blocks, shuffle=st.randoms(use_true_random=False))
def test_the_order_within_a_block_changes_no_digit(
    make: Make, given_blocks: list[list[float]], shuffle: random.Random
) -> None:
    shuffled = [shuffle.sample(block, len(block)) for block in given_blocks]
    one, other = decide(make(HALF), given_blocks), decide(make(HALF), shuffled)
    assert (one.for_delta1, one.for_delta0, one.answer) == (other.for_delta1, other.for_delta0, other.answer)


@BOTH
@given(given_blocks=blocks)
def test_both_directions_are_treated_alike(make: Make, given_blocks: list[list[float]]) -> None:
    test = decide(make(Hypotheses(-0.25, 0.5, 0.05, 0.1)), given_blocks)
    mirror = decide(make(Hypotheses(-0.5, 0.25, 0.1, 0.05)), [[-value for value in block] for block in given_blocks])
    turned = {Answer.DELTA0: Answer.DELTA1, Answer.DELTA1: Answer.DELTA0, None: None}
    assert mirror.answer is turned[test.answer]
    assert mirror.for_delta0.evidence == pytest.approx(test.for_delta1.evidence)
    assert mirror.for_delta0.limit == pytest.approx(test.for_delta1.limit)


@BOTH
@given(given_blocks=blocks)
def test_a_test_is_a_value(make: Make, given_blocks: list[list[float]]) -> None:
    before = decide(make(HALF), given_blocks)
    kept = (before.blocks, before.for_delta1, before.for_delta0)
    before.after([1.0, 2.0])
    assert (before.blocks, before.for_delta1, before.for_delta0) == kept


@BOTH
def test_errors_stay_within_their_rates(make: Make) -> None:
    draw, gates = random.Random(3), 300
    hypotheses = Hypotheses(0.0, 1.0, 0.1, 0.1)
    wrong = dict.fromkeys((0.0, 1.0), 0)
    for mean, answer in ((0.0, Answer.DELTA1), (1.0, Answer.DELTA0)):
        for _ in range(gates):
            wrong[mean] += decide(make(hypotheses), normal_blocks(draw, mean, 40, sd=3.0)).answer is answer
    assert max(wrong.values()) <= gates * (0.1 + 3 * math.sqrt(0.1 * 0.9 / gates))


def test_the_likelihood_ratio_is_that_of_its_formula() -> None:
    test = gsprt().after([1.0, 2.0]).after([0.0, 3.0])
    # Scatter 5 and four observations of variance 4 beside, over 8; mean 1.5.
    variance = (5 + 4 * 4) / 8
    assert test.llr == pytest.approx(4 * 0.5 * (1.5 - 0.25) / variance)
    assert test.for_delta1.limit == pytest.approx(math.log(0.95 / 0.05))
    assert test.for_delta0.limit == pytest.approx(math.log(0.95 / 0.05))
    assert gsprt().llr == 0.0


def test_each_answer_has_the_limit_of_its_own_error_rate() -> None:
    hypotheses = Hypotheses(0.0, 0.5, alpha=0.01, beta=0.2)
    for test, limit1, limit0 in (
        (gsprt(hypotheses), math.log(0.8 / 0.01), math.log(0.99 / 0.2)),
        (betting(hypotheses), math.log(1 / 0.01), math.log(1 / 0.2)),
    ):
        assert test.for_delta1.limit == pytest.approx(limit1)
        assert test.for_delta0.limit == pytest.approx(limit0)


def test_the_first_moments_never_settle_the_likelihood_ratio() -> None:
    one_block = gsprt().after([10.0, 11.0] * 20)
    assert one_block.for_delta1.reached
    assert one_block.answer is None
    assert one_block.after([10.0]).answer is Answer.DELTA1
    few = gsprt().after([10.0, 11.0, 10.0]).after([11.0, 10.0, 11.0, 10.0])
    assert few.for_delta1.reached
    assert few.answer is None
    assert few.after([11.0]).answer is Answer.DELTA1


def test_the_better_the_candidate_the_sooner_the_answer() -> None:
    def needed(mean: float) -> int:
        return decide(gsprt(), normal_blocks(random.Random(6), mean, 200, sd=4.0)).observations

    sizes = [needed(mean) for mean in (0.75, 1.5, 3.0, 6.0, 12.0)]
    assert sizes == sorted(sizes, reverse=True)


def expected_wealth(outcomes: Sequence[tuple[float, ...]], low: float, means: Sequence[float]) -> float:
    """Expectation, by all cases, of the wealth against delta0 = 0 after two blocks of two-valued observations.

    Observation b of a block is ``low`` or 5, with the mean ``means[b]``.
    """
    total = 0.0
    for values in outcomes:
        chance = 1.0
        for place, value in enumerate(values):
            high = (means[place % len(means)] - low) / (5.0 - low)
            chance *= high if value == 5.0 else 1 - high
        size = len(means)
        test = betting().after(values[:size]).after(values[size:])
        total += chance * math.exp(test.wealth1)
    return total


@pytest.mark.parametrize("low", [-26.0, -5.0, -0.25])
@pytest.mark.parametrize("means", [(0.0, 0.0, 0.0), (-0.1, 0.2, -0.1), (-0.2, 0.0, 0.1)])
def test_nobody_gets_rich_by_betting_against_the_truth(low: float, means: tuple[float, ...]) -> None:
    cases = list(itertools.product((low, 5.0), repeat=6))
    assert expected_wealth(cases, low, means) <= 1 + 1e-12
    assert expected_wealth(cases, low, [mean + 1.0 for mean in means]) > 1


def test_betting_is_not_taken_in_by_a_disaster_that_is_yet_to_come() -> None:
    # The mean is 0, but most gates meet none of the boards that make it so for a long time.
    draw, gates, rate = random.Random(4), 200, 0.02
    small = rate * BOUND / (1 - rate)
    wrong = 0
    for _ in range(gates):
        drawn = [
            [-BOUND if draw.random() < rate else small + draw.uniform(-0.1, 0.1) for _ in range(16)] for _ in range(20)
        ]
        wrong += decide(betting(), drawn).answer is Answer.DELTA1
    assert wrong <= gates * (0.05 + 3 * math.sqrt(0.05 * 0.95 / gates))


@given(given_blocks=blocks)
def test_the_confidence_sequence_and_the_test_agree(given_blocks: list[list[float]]) -> None:
    test = betting()
    for block in given_blocks:
        test = test.after(block)
    assume(len({value for block in given_blocks for value in block}) > 1)
    low, high = test.interval(2 * HALF.alpha)
    assert -BOUND <= low <= high <= BOUND
    assert (low > HALF.delta0 - 1e-9) >= test.for_delta1.reached
    assert (low < HALF.delta0 + 1e-9) >= (not test.for_delta1.reached)
    assert (high < HALF.delta1 + 1e-9) >= test.for_delta0.reached
    wide = test.interval(0.01)
    assert wide[0] <= low
    assert high <= wide[1]


@pytest.mark.parametrize("error", [0.05, 0.5])
def test_each_end_of_the_confidence_sequence_has_half_of_the_error(error: float) -> None:
    values, stake = [20.0, 21.0] * 6, 0.5 / (4 + 0.25)
    ends = betting().after(values).interval(error)[0], -betting().after([-value for value in values]).interval(error)[1]
    for end in ends:
        staked = min(stake, 0.9 / (end + BOUND))
        assert math.prod(1 + staked * (value - end) for value in values) == pytest.approx(2 / error)


def test_no_observation_costs_more_than_nine_tenths_of_the_wealth() -> None:
    bold = Betting(HALF, BOUND, spread=0.01)
    assert bold.after([-BOUND]).wealth1 == pytest.approx(math.log(0.1))
    assert bold.after([BOUND]).wealth0 == pytest.approx(math.log(0.1))


def test_the_confidence_sequence_closes_in_on_the_mean() -> None:
    drawn = normal_blocks(random.Random(5), 0.7, 200)
    test, widths = betting(), []
    for number, block in enumerate(drawn):
        test = test.after(block)
        if number % 25 == 0:
            low, high = test.interval()
            assert low <= 0.7 <= high
            widths.append(high - low)
    assert betting().interval() == (-BOUND, BOUND)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, 0.5), "delta0 has to be below delta1"),
        ((math.nan, 0.5), "delta0 has to be below delta1"),
        ((0.0, math.inf), "delta0 has to be below delta1"),
        ((0.0, 0.5, 0.0, 0.05), "alpha is 0; it has to be above 0 and below 0.5"),
        ((0.0, 0.5, 0.05, 0.5), "beta is 0.5; it has to be above 0 and below 0.5"),
    ],
)
def test_hypotheses_that_make_no_test_are_refused(arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(VerdictError, match=message):
        Hypotheses(*arguments)


def test_what_no_hand_can_give_is_refused() -> None:
    with pytest.raises(VerdictError, match="between -26 and 26 points per hand"):
        betting(Hypotheses(0.0, 26.0))
    with pytest.raises(VerdictError, match="at most 26 is possible"):
        betting().after([0.0, 26.5])
    for spread in (0.0, -1.0, math.nan):
        with pytest.raises(VerdictError, match="spread"):
            Gsprt(HALF, spread)
        with pytest.raises(VerdictError, match="spread"):
            Betting(HALF, BOUND, spread)
