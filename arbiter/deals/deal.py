"""Seeds and deals: ``deal = f(deal_seed, board, hand)`` over HMAC-SHA256, unbiased, the same in any language.

All of it is specified in ``docs/deals.md``; integers are big-endian.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from arbiter.engine import Rules, mask_of

SEED_BYTES: Final = 32
"""Length of a tournament's seed and of a deal seed in bytes."""

_LIMITS: Final = (0, *[256 - 256 % choices for choices in range(1, 257)])
"""By number of choices: bytes below this make each as likely as any other."""


@dataclass(frozen=True, slots=True)
class Deal:
    """The cards of one hand."""

    hands: tuple[int, ...]
    """By seat, as masks (two planes with two packs)."""
    kitty: int
    """Cards left over, as a mask."""


def derive_deal_seed(tournament_seed: bytes, deal_set: int) -> bytes:
    """Deal seed (32 bytes) of the tournament's deal set with this number, from 0."""
    return _hmac(tournament_seed, b"hearts-arbiter/deal-set/v1", deal_set.to_bytes(8, "big"))


def commitment(deal_seed: bytes) -> str:
    """SHA-256 of a deal seed in hexadecimal digits: published before the first card, checked when the seed is."""
    return hashlib.sha256(b"hearts-arbiter/commitment/v1" + deal_seed).hexdigest()


def derive_bot_seed(tournament_seed: bytes, deal_set: int, seating_number: int, entrant: int) -> bytes:
    """Seed (16 bytes) for one bot's own randomness in one sitting; says nothing about any deal."""
    place = b"".join([value.to_bytes(8, "big") for value in (deal_set, seating_number, entrant)])
    return _hmac(tournament_seed, b"hearts-arbiter/bot-seed/v1", place)[:16]


def dealer(rules: Rules, number: int) -> int:
    """Dealer's seat of hand ``number`` (from 1): the deal moves one seat clockwise per hand.

    Boards of a hands match count as one hand after the other; in a game its own hands count.
    """
    return (number - 1) % rules.seats


def deal(rules: Rules, deal_seed: bytes, board: int, hand_number: int = 1) -> Deal:
    """The cards of hand ``hand_number`` (from 1) of ``board`` (from 1).

    The pack in index order is shuffled by Fisher-Yates from the last place down, each place drawing by rejection from
    bytes of the board's own HMAC stream. Cards are then dealt one by one, beginning with seat 0; what does not
    divide is the kitty. Who plays, who deals and what was played before change nothing.
    """
    pack = list(rules.deck)
    place = board.to_bytes(8, "big") + hand_number.to_bytes(8, "big")
    stream = byte_stream(deal_seed, b"hearts-arbiter/deal/v1", place)
    choices = len(pack)
    for byte in stream:
        if byte < _LIMITS[choices]:
            drawn = byte % choices
            choices -= 1
            pack[choices], pack[drawn] = pack[drawn], pack[choices]
            if choices == 1:
                break
    dealt = rules.hand_size * rules.seats
    masked = mask_of if rules.two_packs else _mask_of_distinct
    hands = tuple([masked(pack[seat : dealt : rules.seats]) for seat in range(rules.seats)])
    return Deal(hands, masked(pack[dealt:]))


def _mask_of_distinct(cards: Iterable[int]) -> int:
    """The same as :func:`arbiter.engine.mask_of` in a third of its time, for cards that come once."""
    return sum([1 << card for card in cards])


def byte_stream(deal_seed: bytes, label: bytes, place: bytes) -> Iterator[int]:
    """Bytes without end: HMAC(deal_seed, label, place, block) for block 0, 1, 2, ..."""
    block = 0
    while True:
        yield from _hmac(deal_seed, label, place + block.to_bytes(8, "big"))
        block += 1


def _hmac(key: bytes, label: bytes, message: bytes) -> bytes:
    return hmac.digest(key, label + b"\x00" + message, "sha256")
