"""Cards: names, indexes, and hands as masks of one pack or two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.engine import CARDS, Card, CardSyntaxError, Rank, Suit, cards_of, format_cards, mask_of, parse_cards
from arbiter.engine.cards import indexes_of, take_card

indexes = st.integers(0, 51)
two_packs = st.lists(indexes, max_size=104).map(
    lambda cards: [c for i, c in enumerate(cards) if cards[:i].count(c) < 2]
)


def test_order() -> None:
    assert [str(card) for card in CARDS[:2]] == ["2C", "3C"]
    assert format_cards([12, 13, 25, 26, 38, 39, 49, 51]) == "AC 2D AD 2H AH 2S QS AS"
    assert [card.index for card in CARDS] == list(range(52))
    assert sorted(CARDS, reverse=True)[0] == Card.parse("AS")


@pytest.mark.parametrize("card", CARDS, ids=str)
def test_name_reads_back(card: Card) -> None:
    assert Card.parse(str(card)) is card
    assert Card.parse(str(card).lower()) is card
    assert repr(card) == f"Card({card})"
    assert card.suit.mask & card.mask
    assert card.index == 13 * card.suit + card.rank
    assert str(card) == card.rank.letter + card.suit.letter


@pytest.mark.parametrize("text", ["", "Q", "SQ", "10H", "1H", "QSS", "Q S", "♠Q", "QX"])
def test_what_names_no_card(text: str) -> None:
    with pytest.raises(CardSyntaxError, match="is no card: write a rank of 23456789TJQKA and a suit of CDHS"):
        Card.parse(text)


def test_suits_part_the_pack() -> None:
    assert sum(suit.mask for suit in Suit) == (1 << 52) - 1
    assert [len(cards_of(suit.mask)) for suit in Suit] == [13] * 4
    assert "".join(rank.letter for rank in Rank) == "23456789TJQKA"


@given(two_packs)
def test_mask_holds_what_it_was_given(cards: list[int]) -> None:
    mask = mask_of(cards)
    assert list(indexes_of(mask)) == sorted(cards)
    assert mask_of(cards_of(mask)) == mask
    assert mask_of(reversed(cards)) == mask
    assert parse_cards(format_cards(cards_of(mask))) == cards_of(mask)


@given(two_packs.filter(bool), st.data())
def test_a_card_taken_leaves_the_others(cards: list[int], data: st.DataObject) -> None:
    card = data.draw(st.sampled_from(cards))
    rest = sorted(cards)
    rest.remove(card)
    assert take_card(mask_of(cards), card) == mask_of(rest)


def test_three_equal_cards_are_too_many() -> None:
    with pytest.raises(ValueError, match="QS three times"):
        mask_of(parse_cards("QS QS QS"))
