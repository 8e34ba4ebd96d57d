"""For bots that decide with NumPy over all tables at once: columns in, a column of cards out, no object a decision.

::

    from arbiter.sdk import run
    from arbiter.sdk.columns import CardBatch, Cards, ColumnBot, PassBatch, lowest_cards

    class Lowest(ColumnBot):
        def choose_passes(self, batch: PassBatch) -> Cards:
            ...

        def choose_cards(self, batch: CardBatch) -> Cards:
            return lowest_cards(batch.legal)

    if __name__ == "__main__":
        run(Lowest())

Every array has a row for each decision, in one order. Cards are indexes (13 * suit + rank) and hands are masks, as in
the protocol. A column is worked out when it is first looked at, which has to be while the bot's method runs. NumPy is
needed beside what :mod:`arbiter.sdk` needs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.engine.cards import CARDS, PLANE
from arbiter.sdk.answering import Answering
from arbiter.sdk.bot import BaseBot
from arbiter.sdk.views import MatchInfo

Masks: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Cards: TypeAlias = npt.NDArray[np.integer[Any]]
"""Card indexes, of any type of whole numbers."""

_NO_CARD: Final = -1


class _Tables:
    """What a bot knows of all tables, a row for each board: row b is board b, and there is no board 0."""

    def __init__(self, match: MatchInfo) -> None:
        rows = match.boards + 1
        self.match: Final = match
        self.seat, self.dealer, self.hand_number, self.trick_count = (np.zeros(rows, dtype=np.int64) for _ in range(4))
        self.direction: Final = np.zeros(rows, dtype=np.int64)
        self.dealt, self.dealt_twice = (np.zeros(rows, dtype=np.uint64) for _ in range(2))
        self.totals: Final = np.zeros((rows, match.players), dtype=np.int64)
        self.played: Final = np.zeros((rows, PLANE), dtype=np.int8)
        self.received, self.passed = (np.full((rows, match.rules.pass_count), _NO_CARD) for _ in range(2))


class _Batch:
    """What all kinds of batch share."""

    def __init__(self, tables: _Tables, board: Iterable[int]) -> None:
        self._tables: Final = tables
        self.match: Final = tables.match
        """What the arbiter said once: rules, points of cards, boards, the clock."""
        self.board: Final = _numbers(board)
        """Number of the board, which is the table's: (rows,)."""

    def __len__(self) -> int:
        return len(self.board)

    @cached_property
    def seat(self) -> Numbers:
        """The bot's own seat; seat + 1 sits to its left and plays after it: (rows,)."""
        return self._tables.seat[self.board]

    @cached_property
    def dealer(self) -> Numbers:
        """The dealer's seat: (rows,)."""
        return self._tables.dealer[self.board]

    @cached_property
    def hand_number(self) -> Numbers:
        """Number of the hand at its table, from 1: (rows,)."""
        return self._tables.hand_number[self.board]

    @cached_property
    def direction(self) -> Numbers:
        """Where passed cards go, as ``PassDirection`` numbers of the contract's ``rule_set.proto``: (rows,)."""
        return self._tables.direction[self.board]

    @cached_property
    def totals(self) -> Numbers:
        """By seat: totals before the hand: (rows, seats)."""
        return self._tables.totals[self.board]

    def draws(self) -> npt.NDArray[np.float64]:
        """For each decision a number of its own, at least 0 and less than 1, as likely here as there: (rows,).

        It depends on the bot seed, the board and the decision alone: a bot that draws from here and looks at no clock
        plays the same cards again under the same bot seed, however its decisions were batched.
        """
        state = _mixed(np.uint64(int.from_bytes(self.match.bot_seed[:8], "big")) ^ self.board.astype(np.uint64))
        state = _mixed(state ^ self.hand_number.astype(np.uint64))
        state = _mixed(state ^ (np.uint64(int.from_bytes(self.match.bot_seed[8:16], "big")) + self._decision()))
        return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def _decision(self) -> Masks:
        """Number of the decision within its hand: 0 for the pass, then one a trick."""
        return np.zeros(len(self), dtype=np.uint64)


class PassBatch(_Batch):
    """Cards to pass are due at each of these tables."""

    @property
    def pass_count(self) -> int:
        """How many cards to pass."""
        return self.match.rules.pass_count

    @cached_property
    def hand(self) -> Masks:
        """The cards dealt: (rows,). With two packs, those that are held at least once."""
        return self._tables.dealt[self.board]

    @cached_property
    def hand_twice(self) -> Masks:
        """The cards held twice, with two packs: (rows,)."""
        return self._tables.dealt_twice[self.board]


class CardBatch(_Batch):
    """A card is due at each of these tables."""

    def __init__(self, tables: _Tables, requests: pb.PlayRequests) -> None:
        super().__init__(tables, requests.table)
        self._requests: Final = requests

    @cached_property
    def hand(self) -> Masks:
        """The cards held: (rows,). With two packs, those that are held at least once."""
        return _masks(self._requests.hand)

    @cached_property
    def hand_twice(self) -> Masks:
        """The cards held twice, with two packs: (rows,)."""
        return _masks(self._requests.hand_twice) if self._requests.hand_twice else np.zeros_like(self.hand)

    @cached_property
    def legal(self) -> Masks:
        """What may be played: (rows,)."""
        return _masks(self._requests.legal)

    @cached_property
    def leader(self) -> Numbers:
        """Seat that led the trick; the bot's own where it leads: (rows,)."""
        return _numbers(self._requests.leader)

    @cached_property
    def trick_size(self) -> Numbers:
        """How many cards lie on the table: (rows,)."""
        return _numbers(self._requests.trick_size)

    @cached_property
    def trick(self) -> Numbers:
        """The cards on the table, the leader's first, then -1: (rows, seats - 1)."""
        places = np.arange(self.match.players - 1) < self.trick_size[:, None]
        trick = np.full(places.shape, _NO_CARD)
        trick[places] = _numbers(self._requests.trick)
        return trick

    @cached_property
    def hearts_broken(self) -> Flags:
        """Whether hearts are broken: (rows,)."""
        return np.array(self._requests.hearts_broken, dtype=np.bool_)

    @cached_property
    def points(self) -> Numbers:
        """By seat: points taken so far in the hand: (rows, seats)."""
        return _numbers(self._requests.points).reshape(len(self), self.match.players)

    @cached_property
    def trick_count(self) -> Numbers:
        """How many tricks of the hand are finished: (rows,)."""
        return self._tables.trick_count[self.board]

    @cached_property
    def played(self) -> npt.NDArray[np.int8]:
        """How often each card was played in the finished tricks of the hand: (rows, 52)."""
        return self._tables.played[self.board]

    @cached_property
    def received(self) -> Numbers:
        """The cards that came in the pass, or -1 where nothing was passed: (rows, pass_count)."""
        return self._tables.received[self.board]

    @cached_property
    def passed(self) -> Numbers:
        """The cards that went in the pass, or -1: (rows, pass_count)."""
        return self._tables.passed[self.board]

    def _decision(self) -> Masks:
        return (self.trick_count + 1).astype(np.uint64)


class MoonBatch(_Batch):
    """The bot shot the moon at each of these tables, and may choose what it costs."""

    def __init__(self, tables: _Tables, requests: pb.MoonRequests) -> None:
        super().__init__(tables, requests.table)
        self.subtract_by_default: Final[Flags] = np.array(requests.subtract_by_default, dtype=np.bool_)
        """What stands when the bot gives no answer: True for subtracting: (rows,)."""


class ResultBatch(_Batch):
    """A hand ended at each of these tables."""

    def __init__(self, tables: _Tables, results: pb.HandResults) -> None:
        super().__init__(tables, results.table)
        self._results: Final = results

    @cached_property
    def points(self) -> Numbers:
        """By seat: points of the hand, moon and all: (rows, seats)."""
        return _numbers(self._results.points).reshape(len(self), self.match.players)

    @cached_property
    def totals_after(self) -> Numbers:
        """By seat: totals after the hand: (rows, seats)."""
        return _numbers(self._results.totals).reshape(len(self), self.match.players)

    @cached_property
    def moon(self) -> Numbers:
        """Seat that shot the moon, or -1: (rows,)."""
        return _numbers(self._results.moon)


class ColumnBot(BaseBot):
    """A bot over columns: :meth:`choose_passes` and :meth:`choose_cards` are all it needs.

    An answer that is no array of the right shape raises ``ValueError`` or ``TypeError``; a card that is not legal goes
    to the arbiter, as that of any bot.
    """

    @abstractmethod
    def choose_passes(self, batch: PassBatch) -> Cards:
        """The cards to pass: (rows, pass_count)."""

    @abstractmethod
    def choose_cards(self, batch: CardBatch) -> Cards:
        """The cards to play: (rows,)."""

    def choose_moons(self, batch: MoonBatch) -> Flags:
        """True to subtract the points from one's own total, False to charge the others: (rows,)."""
        return batch.subtract_by_default

    def hands_ended(self, batch: ResultBatch) -> None:
        """Called after hands have ended."""

    def answering(self, match: MatchInfo) -> Answering:
        """See :meth:`arbiter.sdk.BaseBot.answering`."""
        return _AnsweringByColumns(self, match)


class _AnsweringByColumns(Answering):
    def __init__(self, bot: ColumnBot, match: MatchInfo) -> None:
        self._bot: Final = bot
        self._tables: Final = _Tables(match)

    def trick_results(self, results: pb.TrickResults) -> None:
        """See :meth:`Answering.trick_results`."""
        board = _numbers(results.table)
        cards = _numbers(results.cards).reshape(len(board), -1)
        # A hand may have two tricks in one batch, and a trick two of a card.
        np.add.at(self._tables.trick_count, board, 1)
        np.add.at(self._tables.played, (board[:, None], cards), 1)

    def moons(self, requests: pb.MoonRequests) -> pb.SitRequest:
        """See :meth:`Answering.moons`."""
        batch = MoonBatch(self._tables, requests)
        subtract = np.asarray(self._bot.choose_moons(batch))
        if subtract.shape != (len(batch),) or subtract.dtype != np.bool_:
            raise ValueError(
                f"choose_moons gave {subtract.dtype} of shape {subtract.shape}; bool of {(len(batch),)} is due"
            )
        return pb.SitRequest(moons=pb.MoonAnswers(request_id=requests.request_id, subtract=subtract.tolist()))

    def hand_results(self, results: pb.HandResults) -> None:
        """See :meth:`Answering.hand_results`."""
        self._bot.hands_ended(ResultBatch(self._tables, results))

    def deals(self, deals: pb.Deals) -> None:
        """See :meth:`Answering.deals`."""
        tables, board = self._tables, _numbers(deals.table)
        tables.seat[board], tables.dealer[board] = _numbers(deals.seat), _numbers(deals.dealer)
        tables.hand_number[board], tables.direction[board] = _numbers(deals.hand_number), _numbers(deals.direction)
        tables.dealt[board] = _masks(deals.hand)
        tables.dealt_twice[board] = _masks(deals.hand_twice) if deals.hand_twice else 0
        tables.totals[board] = _numbers(deals.totals).reshape(len(board), -1)
        tables.trick_count[board] = tables.played[board] = 0
        tables.received[board] = tables.passed[board] = _NO_CARD

    def passes(self, requests: pb.PassRequests) -> Iterator[pb.SitRequest]:
        """See :meth:`Answering.passes`."""
        batch = PassBatch(self._tables, requests.table)
        cards = _indexes(self._bot.choose_passes(batch), (len(batch), batch.pass_count), "choose_passes")
        yield pb.SitRequest(passes=pb.PassAnswers(request_id=requests.request_id, cards=cards))

    def received(self, received: pb.CardsReceived) -> None:
        """See :meth:`Answering.received`."""
        tables, board = self._tables, _numbers(received.table)
        tables.received[board] = _numbers(received.cards).reshape(len(board), -1)
        tables.passed[board] = _numbers(received.passed).reshape(len(board), -1)

    def plays(self, requests: pb.PlayRequests) -> Iterator[pb.SitRequest]:
        """See :meth:`Answering.plays`."""
        batch = CardBatch(self._tables, requests)
        cards = _indexes(self._bot.choose_cards(batch), (len(batch),), "choose_cards")
        yield pb.SitRequest(plays=pb.PlayAnswers(request_id=requests.request_id, card=cards))


def lowest_cards(masks: Masks) -> Numbers:
    """Of each mask, none of them empty, the card with the lowest index: (rows,)."""
    return np.frexp((masks & -masks).astype(np.float64))[1].astype(np.int64) - 1


def highest_cards(masks: Masks) -> Numbers:
    """Of each mask, none of them empty, the card with the highest index: (rows,)."""
    return np.frexp(masks.astype(np.float64))[1].astype(np.int64) - 1  # exact: a float holds 53 bits, a mask 52


def bits(cards: Cards) -> Masks:
    """The mask of each single card."""
    return np.uint64(1) << cards.astype(np.uint64)


def _indexes(given: object, shape: tuple[int, ...], method: str) -> list[int]:
    """A bot's card indexes, laid flat."""
    cards = np.asarray(given)
    if cards.shape != shape:
        raise ValueError(
            f"{method} gave an array of shape {cards.shape}; one of {shape} is due, a row for each decision"
        )
    if cards.dtype.kind not in "iu":
        raise TypeError(f"{method} gave an array of {cards.dtype}; card indexes are whole numbers")
    if cards.min() < 0 or cards.max() >= len(CARDS):
        raise ValueError(f"{method} gave cards from {cards.min()} to {cards.max()}; card indexes run from 0 to 51")
    flat: list[int] = cards.ravel().tolist()
    return flat


def _mixed(state: Masks) -> Masks:
    """SplitMix64's output (Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _numbers(column: Iterable[int]) -> Numbers:
    # Protobuf's columns are sequences, and newer ones hand out their memory.
    return np.array(column, dtype=np.int64)


def _masks(column: Iterable[int]) -> Masks:
    return np.array(column, dtype=np.uint64)


__all__ = [
    "CardBatch",
    "Cards",
    "ColumnBot",
    "Flags",
    "Masks",
    "MoonBatch",
    "Numbers",
    "PassBatch",
    "ResultBatch",
    "bits",
    "highest_cards",
    "lowest_cards",
]
