"""A hand from deal to last card: properties over every rule set, and what is refused on the way."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.engine import (
    CARDS,
    Card,
    EngineError,
    Hand,
    IllegalPass,
    IllegalPlay,
    PassDirection,
    Phase,
    Rules,
    Suit,
    Trick,
    cards_of,
    compile_rules,
    mask_of,
    new_hand,
    parse_cards,
    pass_target,
    rule_set,
    score_hand,
)
from tests.engine.strategies import (
    VARIANTS,
    Variant,
    play_out,
    random_card,
    random_hand,
    random_passes,
    rules_of,
    seeds,
    variant_id,
)

every_rule_set = pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
some_hands = settings(max_examples=15)

BLACK_LADY = compile_rules(rule_set("black_lady"))


def _mask(names: str) -> int:
    return mask_of(parse_cards(names))


def _index(name: str) -> int:
    return Card.parse(name).index


def _dealt(variant: Variant, rng: random.Random) -> Hand:
    """A hand dealt and, where its rule set passes, passed."""
    rules = rules_of(variant)
    hand = random_hand(rules, rng, rng.choice(rules.source.pass_cycle))
    if hand.phase is Phase.PASSING:
        hand.exchange(random_passes(hand, rng))
    return hand


def _held(hand: Hand) -> Counter[Card]:
    return Counter(card for mask in hand.hands for card in cards_of(mask))


@every_rule_set
@some_hands
@given(seed=seeds)
def test_every_card_is_played_once_and_every_point_is_taken(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    hand = _dealt(variant, rng)
    rules = hand.rules
    kitty = Counter(cards_of(hand.kitty))
    assert _held(hand) + kitty == Counter(CARDS[index] for index in rules.deck)
    play_out(hand, rng)
    assert hand.phase is Phase.DONE
    assert (hand.turn, hand.legal, hand.hands) == (-1, 0, [0] * rules.seats)
    assert len(hand.tricks) == rules.source.hand_size
    played = Counter(CARDS[index] for trick in hand.tricks for index in trick.cards)
    assert played + kitty == Counter(CARDS[index] for index in rules.deck)
    assert all(len(trick.cards) == rules.seats for trick in hand.tricks)
    assert sum(hand.penalty_taken) == rules.penalty_total
    assert sum(hand.bonus_taken) == sum(rules.bonus[index] for index in rules.deck)
    assert sum(trick.points for trick in hand.tricks) == sum(hand.points)


@every_rule_set
@some_hands
@given(seed=seeds)
def test_something_is_legal_and_held(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    hand = _dealt(variant, rng)

    def check() -> None:
        held = set(cards_of(hand.hands[hand.turn]))
        legal = set(cards_of(hand.legal))
        assert legal
        assert legal <= held
        assert hand.legal < 1 << 52
        if hand.trick:
            led = CARDS[hand.trick[0]].suit
            following = {card for card in held if card.suit is led}
            assert legal == following or not following

    play_out(hand, rng, check)


@every_rule_set
@some_hands
@given(seed=seeds)
def test_only_legal_cards_are_taken_and_a_refusal_changes_nothing(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    hand = _dealt(variant, rng)
    for _ in range(rng.randrange(hand.rules.seats * hand.rules.hand_size)):
        hand.play(random_card(hand, rng))
    before = _state(hand)
    for card in CARDS:
        if hand.legal & card.mask:
            hand.copy().play(card.index)
            continue
        with pytest.raises(IllegalPlay) as caught:
            hand.play(card.index)
        holds = bool(hand.hands[hand.turn] & card.mask)
        held_suits = {held.suit for held in cards_of(hand.hands[hand.turn])}
        could_follow = bool(hand.trick) and CARDS[hand.trick[0]].suit in held_suits
        assert caught.value.revoke == (holds and could_follow)
    assert _state(hand) == before


def _state(hand: Hand) -> dict[str, object]:
    """All that is public of a hand, but who is taking a trick to which nobody has led."""
    names = {name for name in dir(hand) if not name.startswith("_")} - (set() if hand.led else {"best", "winning"})
    values = {name: value for name in names if not callable(value := getattr(hand, name))}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


@every_rule_set
@some_hands
@given(seed=seeds)
def test_copy_is_independent(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    hand = _dealt(variant, rng)
    for _ in range(rng.randrange(hand.rules.seats * hand.rules.hand_size)):
        hand.play(random_card(hand, rng))
    before = _state(hand)
    copy = hand.copy()
    assert _state(copy) == before
    play_out(copy, random.Random(seed))
    assert _state(hand) == before
    play_out(hand, random.Random(seed))
    assert _state(hand) == _state(copy)


@every_rule_set
@some_hands
@given(seed=seeds)
def test_the_pass_moves_cards_and_nothing_else(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    rules = rules_of(variant)
    directions = [direction for direction in rules.source.pass_cycle if direction is not PassDirection.NONE]
    if not directions:
        hand = random_hand(rules, rng)
        assert hand.phase is Phase.PLAYING
        assert hand.passed is hand.received is None
        return
    hand = random_hand(rules, rng, rng.choice(directions))
    dealt = [Counter(cards_of(mask)) for mask in hand.hands]
    passes = random_passes(hand, rng)
    hand.exchange(passes)
    assert hand.passed == tuple(tuple(sorted(cards)) for cards in passes)
    assert hand.received is not None
    for seat, cards in enumerate(passes):
        target = pass_target(rules.seats, seat, hand.direction)
        assert target != seat
        assert hand.received[target] == tuple(sorted(cards))
        came = Counter(CARDS[index] for index in hand.received[seat])
        went = Counter(CARDS[index] for index in cards)
        assert Counter(cards_of(hand.hands[seat])) == dealt[seat] - went + came


@pytest.mark.parametrize("seats", [3, 4, 5, 6, 11])
def test_directions(seats: int) -> None:
    """Left is seat + 1, right is seat - 1, across is opposite (RULES.md, the seats)."""
    for seat in range(seats):
        assert pass_target(seats, seat, PassDirection.LEFT) == (seat + 1) % seats
        assert pass_target(seats, seat, PassDirection.RIGHT) == (seat - 1) % seats
        assert pass_target(seats, seat, PassDirection.NONE) == seat
        if seats % 2 == 0:
            across = pass_target(seats, seat, PassDirection.ACROSS)
            assert pass_target(seats, across, PassDirection.ACROSS) == seat
            assert abs(across - seat) == seats // 2


PASSES = [
    ("2C 3C", "wrong_count"),
    ("2C 3C 4C 5C", "wrong_count"),
    ("2C 2C 3C", "duplicate"),
    ("2C 3C AS", "not_in_hand"),
]


@pytest.mark.parametrize(("cards", "code"), PASSES)
def test_refused_pass_moves_nothing(cards: str, code: str) -> None:
    hands = [Suit(seat).mask for seat in range(4)]
    hand = new_hand(BLACK_LADY, hands, dealer=0, direction=PassDirection.LEFT)
    good = [[13 * seat, 13 * seat + 1, 13 * seat + 2] for seat in range(4)]
    with pytest.raises(IllegalPass) as caught:
        hand.exchange([[card.index for card in parse_cards(cards)], *good[1:]])
    assert caught.value.code == code
    assert hand.hands == hands
    assert hand.phase is Phase.PASSING
    hand.exchange(good)
    assert hand.turn == 1, "2C went left"


@pytest.mark.parametrize("index", [-1, 52, 57, 104, 2**40])
def test_an_index_outside_the_pack_is_an_illegal_move(index: int) -> None:
    rules = compile_rules(rule_set("hartenjagen", ["cancellation"], {"pass_cycle": ["left"], "pass_count": 3}))
    hand = random_hand(rules, random.Random(3), PassDirection.LEFT)
    passes = random_passes(hand, random.Random(3))
    with pytest.raises(IllegalPass, match="is no card") as caught:
        hand.exchange([[index, *passes[0][1:]], *passes[1:]])
    assert caught.value.code == "not_in_hand"
    hand.exchange(passes)
    with pytest.raises(IllegalPlay, match="is no card"):
        hand.play(index)


def test_two_equal_cards_of_two_packs_can_both_be_passed() -> None:
    rules = compile_rules(rule_set("hartenjagen", ["cancellation"], {"pass_cycle": ["left"], "pass_count": 2}))
    hands = [_mask("QS QS"), _mask("2C 3C"), _mask("2D 3D"), _mask("2H QH")]
    hand = new_hand(rules, hands, dealer=3, direction=PassDirection.LEFT)
    with pytest.raises(IllegalPass) as caught:
        hand.exchange([[_index("QS")] * 2, [_index("2C")] * 2, [13, 14], [26, 36]])
    assert caught.value.code == "duplicate"
    hand.exchange([[_index("QS")] * 2, [0, 1], [13, 14], [26, 36]])
    assert [Counter(map(str, cards_of(mask))) for mask in hand.hands] == [
        {"2H": 1, "QH": 1},
        {"QS": 2},
        {"2C": 1, "3C": 1},
        {"2D": 1, "3D": 1},
    ]


ILLEGAL_PLAYS = [
    ("2C 5D", [], 0, "AS", "AS is not in the hand", False),
    ("2C 5C", [], 0, "5C", "5C led, but the first trick opens with 2C", False),
    ("KC 5D", ["2C"], 0, "5D", "5D does not follow clubs", True),
    ("QS 5D", ["2C"], 0, "QS", "QS has points", False),
    ("AH 5D", [], 1, "AH", "AH may not be led before hearts are broken", False),
    ("AH QS", [], 1, "AH", "AH may not be led before hearts are broken", False),
]


@pytest.mark.parametrize(("held", "table", "past", "card", "message", "revoke"), ILLEGAL_PLAYS)
def test_why_a_card_is_illegal(held: str, table: list[str], past: int, card: str, message: str, revoke: bool) -> None:
    finished = [Trick(leader=0, cards=(0, 1, 2, 3), winner=3, points=0)] * past
    hands = [_mask(held), _mask("3C 3D"), _mask("4C 4D"), _mask("2C 6D")]
    hand = new_hand(BLACK_LADY, hands, dealer=0, leader=3 if table else 0, tricks=finished)
    for name in table:
        hand.play(_index(name))
    with pytest.raises(IllegalPlay, match=message) as caught:
        hand.play(_index(card))
    assert caught.value.revoke is revoke


@pytest.mark.parametrize("phase", [Phase.PASSING, Phase.DONE])
def test_no_card_is_due_outside_of_play(phase: Phase) -> None:
    hand = random_hand(
        BLACK_LADY, random.Random(1), PassDirection.LEFT if phase is Phase.PASSING else PassDirection.NONE
    )
    if phase is Phase.DONE:
        hand.end_by_offence(1)
    assert hand.phase is phase
    with pytest.raises(IllegalPlay, match="no card is due"):
        hand.play(0)


def test_an_offence_ends_the_hand() -> None:
    hand = random_hand(BLACK_LADY, random.Random(1))
    hand.play(random_card(hand, random.Random(1)))
    hand.end_by_offence(1, 3)
    assert (hand.turn, hand.legal, hand.offenders) == (-1, 0, (1, 3))
    score = score_hand(BLACK_LADY, hand.penalty_taken, hand.bonus_taken, offenders=hand.offenders)
    assert (score.points, score.moon) == ((0, 26, 0, 26), None)


def test_a_deal_without_2c_is_refused_where_its_holder_leads() -> None:
    hands = [_mask("3C"), _mask("4C"), _mask("5C"), _mask("6C")]
    with pytest.raises(EngineError, match="nobody holds 2C"):
        new_hand(BLACK_LADY, hands, dealer=0)
    assert new_hand(BLACK_LADY, hands, dealer=0, leader=2).turn == 2


@every_rule_set
@some_hands
@given(seed=seeds, share=st.floats(0, 1, exclude_max=True))
def test_a_position_from_the_middle_plays_on_like_the_hand_itself(variant: Variant, seed: int, share: float) -> None:
    rng = random.Random(seed)
    hand = _dealt(variant, rng)
    for _ in range(int(share * hand.rules.hand_size) * hand.rules.seats):
        hand.play(random_card(hand, rng))
    position = new_hand(
        hand.rules,
        hand.hands,
        dealer=hand.dealer,
        kitty=hand.kitty,
        leader=hand.leader,
        tricks=hand.tricks,
        broken=hand.broken,
    )
    assert _state(position) == {**_state(hand), "direction": PassDirection.NONE, "passed": None, "received": None}
    play_out(hand, random.Random(seed))
    play_out(position, random.Random(seed))
    assert position.tricks == hand.tricks
    assert position.points == hand.points


@pytest.mark.parametrize(
    ("variant", "positive", "negative"),
    [
        (("black_lady", ()), 26, 0),
        (("hartenjagen", ("black_maria_scoring",)), 43, 0),
        (("original_1880", ()), 13, 0),
        (("black_maria_4", ()), 43, 0),
        (("black_maria_4", ("as_printed",)), 39, 0),
        (("black_maria_3", ()), 43, 0),
        (("spot", ()), 129, 0),
        (("omnibus", ()), 26, -10),
        (("cancellation", ()), 52, 0),
        (("hartenjagen", ("omnibus", "black_maria_scoring", "cancellation")), 86, -20),
    ],
    ids=str,
)
def test_points_of_the_pack(variant: Variant, positive: int, negative: int) -> None:
    """The line "positive points a hand" of RULES.md, section 2, and what the options make of it."""
    rules: Rules = rules_of(variant)
    assert rules.penalty_total == positive
    assert sum(rules.bonus[index] for index in rules.deck) == negative
