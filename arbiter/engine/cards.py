"""Cards: value objects for people, 52-bit masks for the engine.

A card's index is ``13 * suit + rank`` with suits in the order clubs, diamonds, hearts, spades and ranks
from 0 (two) to 12 (ace), aces high. A set of distinct cards is an int whose bit *index* is set.

A hand from two packs is one int of 104 bits, two planes: bit *i* says that at least one copy of card *i* is held,
bit *52 + i* that both are. Equal cards are never told apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from arbiter.engine.errors import CardSyntaxError

PLANE: Final = 52
"""Width of one plane in bits: the number of distinct cards."""

PLANE_MASK: Final = (1 << PLANE) - 1

SUITS: Final = tuple([index // 13 for index in range(PLANE)])
"""By card index: its suit's number."""


class Suit(IntEnum):
    """The four suits, in index order."""

    CLUBS = 0
    DIAMONDS = 1
    HEARTS = 2
    SPADES = 3

    @property
    def letter(self) -> str:
        """One of ``C D H S``."""
        return "CDHS"[self]

    @property
    def mask(self) -> int:
        """The suit's thirteen cards as a mask."""
        return 0x1FFF << (13 * self)


class Rank(IntEnum):
    """The thirteen ranks, two lowest, ace highest."""

    TWO = 0
    THREE = 1
    FOUR = 2
    FIVE = 3
    SIX = 4
    SEVEN = 5
    EIGHT = 6
    NINE = 7
    TEN = 8
    JACK = 9
    QUEEN = 10
    KING = 11
    ACE = 12

    @property
    def letter(self) -> str:
        """One of ``2 3 4 5 6 7 8 9 T J Q K A``."""
        return "23456789TJQKA"[self]


@dataclass(frozen=True, slots=True, order=True)
class Card:
    """One card of the pack; use the ones in :data:`CARDS` rather than making new ones."""

    index: int

    @classmethod
    def parse(cls, text: str) -> Card:
        """The card that ``text`` names (rank, then suit: ``QS``, ``TD``, ``2C``; case does not matter).

        Raises:
            CardSyntaxError: the text names no card.
        """
        try:
            return _BY_NAME[text.upper()]
        except KeyError:
            raise CardSyntaxError(
                f"{text!r} is no card: write a rank of 23456789TJQKA and a suit of CDHS, such as QS"
            ) from None

    @property
    def suit(self) -> Suit:
        """The card's suit."""
        return Suit(self.index // 13)

    @property
    def rank(self) -> Rank:
        """The card's rank."""
        return Rank(self.index % 13)

    @property
    def mask(self) -> int:
        """The card as a mask of one bit."""
        return 1 << self.index

    def __str__(self) -> str:
        return self.rank.letter + self.suit.letter

    def __repr__(self) -> str:
        return f"Card({self!s})"


CARDS: Final[tuple[Card, ...]] = tuple(Card(index) for index in range(PLANE))
"""All 52 cards by index."""

_BY_NAME: Final = {str(card): card for card in CARDS}


_SUIT_MASK: Final = 0x1FFF

_INDEXES: Final[list[list[tuple[int, ...]]]] = []
"""By suit, then by the thirteen bits of a mask that are the suit's: their card indexes, ascending.

Filled when first needed, which takes some ms; 32,768 entries of about 3 MB in all.
"""


def indexes_of(mask: int) -> tuple[int, ...]:
    """Card indexes of a mask, ascending; a card held twice (both planes) comes twice."""
    if mask >> PLANE:
        return tuple(sorted(indexes_of(mask & PLANE_MASK) + indexes_of(mask >> PLANE)))
    clubs, diamonds, hearts, spades = _INDEXES or _fill_indexes()
    return (
        clubs[mask & _SUIT_MASK]
        + diamonds[mask >> 13 & _SUIT_MASK]
        + hearts[mask >> 26 & _SUIT_MASK]
        + spades[mask >> 39]
    )


def indexes_in_suit(mask: int, suit: int) -> tuple[int, ...]:
    """Card indexes of a mask of cards of one suit alone, ascending; quicker than :func:`indexes_of`."""
    return (_INDEXES or _fill_indexes())[suit][mask >> 13 * suit]


def indexes_by_suit(mask: int) -> list[list[int]]:
    """Card indexes of a mask of one plane, ascending, in a list for each suit."""
    known = _INDEXES or _fill_indexes()
    return [list(known[suit][mask >> 13 * suit & _SUIT_MASK]) for suit in range(4)]


def _fill_indexes() -> list[list[tuple[int, ...]]]:
    """Fill the table, in one step: another thread sees all of it or nothing."""
    every: list[list[tuple[int, ...]]] = []
    for suit in range(4):
        found: list[tuple[int, ...]] = [()]
        for index in range(13 * suit, 13 * suit + 13):
            found += [(*indexes, index) for indexes in found]
        every.append(found)
    _INDEXES[:] = every
    return _INDEXES


def cards_of(mask: int) -> list[Card]:
    """Cards of a mask, ascending by index; a card held twice comes twice."""
    return [CARDS[index] for index in indexes_of(mask)]


def mask_of(cards: Iterable[Card | int]) -> int:
    """The hand that holds these cards; a second copy goes to the upper plane.

    Raises:
        ValueError: a card comes three times.
    """
    mask = 0
    for card in cards:
        bit = 1 << (card.index if isinstance(card, Card) else card)
        if mask & bit:
            bit <<= PLANE
            if mask & bit:
                raise ValueError(f"{CARDS[bit.bit_length() - 1 - PLANE]} three times: two packs hold two of each card")
        mask |= bit
    return mask


def take_card(hand: int, index: int) -> int:
    """The hand without one copy of the card, which it holds."""
    second = 1 << (index + PLANE)
    return hand ^ second if hand & second else hand ^ (1 << index)


def parse_cards(text: str | Iterable[str]) -> list[Card]:
    """Cards from text such as ``"2C QS AH"`` or a list of names.

    Raises:
        CardSyntaxError: a word names no card.
    """
    words = text.split() if isinstance(text, str) else text
    return [Card.parse(word) for word in words]


def format_cards(cards: Iterable[Card | int]) -> str:
    """Names joined by blanks, in the order given: ``"2C QS AH"``."""
    return " ".join(str(CARDS[card] if isinstance(card, int) else card) for card in cards)
