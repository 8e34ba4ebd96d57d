"""What is due to one bot, gathered as columns over all its tables and turned into one message when it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.api.game.v1 import match_pb2
from arbiter.engine import PassDirection, PlayView, Trick
from arbiter.engine.cards import PLANE, PLANE_MASK
from arbiter.links import FaultCode
from arbiter.wire.rule_set import direction_to_number


class Outbox:
    """Columns that grow until :meth:`take` empties them. Two packs add the second plane's columns.

    Within a message the order of kinds is the order in time. Where a hand ends though its deal has not been sent yet
    (an offence can end it before every seat has played), a message is closed and the next one begun.
    """

    def __init__(self, two_packs: bool) -> None:
        self._two_packs: Final = two_packs
        self._closed: list[pb.SitResponse] = []
        self._begin()

    def _begin(self) -> None:
        self._batch = pb.SitResponse()
        self._begun: set[int] = set()
        """Tables whose hand begins in this message."""
        # Plain lists here: one extend per column when sent is cheaper than one append to a message per value.
        self._play_ids: list[int] = []
        self._play_tables: list[int] = []
        self._play_hands: list[int] = []
        self._play_legal: list[int] = []
        self._play_leaders: list[int] = []
        self._play_sizes: list[int] = []
        self._play_tricks: list[int] = []
        self._play_broken: list[bool] = []
        self._play_points: list[int] = []
        self._trick_tables: list[int] = []
        self._trick_leaders: list[int] = []
        self._trick_cards: list[int] = []
        self._trick_winners: list[int] = []
        self._trick_points: list[int] = []

    def match_start(self, start: pb.MatchStart) -> None:
        """The first word of a sitting."""
        self._batch.match_start.CopyFrom(start)

    def match_end(self) -> None:
        """The last word of a sitting."""
        self._batch.match_end.SetInParent()

    def deal(
        self,
        table: int,
        hand_number: int,
        seat: int,
        dealer: int,
        direction: PassDirection,
        hand: int,
        totals: Sequence[int],
    ) -> None:
        """A hand begins; ``hand`` is the seat's own cards as a mask."""
        self._begun.add(table)
        deals = self._batch.deals
        deals.table.append(table)
        deals.hand_number.append(hand_number)
        deals.seat.append(seat)
        deals.dealer.append(dealer)
        deals.direction.append(direction_to_number(direction))  # type: ignore[arg-type]  # the number of a member
        deals.hand.append(hand & PLANE_MASK)
        if self._two_packs:
            deals.hand_twice.append(hand >> PLANE)
        deals.totals.extend(totals)

    def ask_pass(self, request_id: int, table: int) -> None:
        """Cards to pass are due."""
        self._batch.pass_requests.request_id.append(request_id)
        self._batch.pass_requests.table.append(table)

    def received(self, table: int, cards: Sequence[int], passed: Sequence[int]) -> None:
        """Cards came in the pass, and others went."""
        self._begun.add(table)
        self._batch.cards_received.table.append(table)
        self._batch.cards_received.cards.extend(cards)
        self._batch.cards_received.passed.extend(passed)

    def ask_play(self, request_id: int, table: int, view: PlayView) -> None:
        """A card is due."""
        self._play_ids.append(request_id)
        self._play_tables.append(table)
        self._play_hands.append(view.hand)
        self._play_legal.append(view.legal)
        self._play_leaders.append(view.leader)
        trick = view.trick
        self._play_sizes.append(len(trick))
        self._play_tricks += trick
        self._play_broken.append(view.broken)
        self._play_points += view.points

    def trick(self, table: int, trick: Trick) -> None:
        """A trick was completed."""
        leader, cards, winner, points = trick
        self._trick_tables.append(table)
        self._trick_leaders.append(leader)
        self._trick_cards += cards
        self._trick_winners.append(-1 if winner is None else winner)
        self._trick_points.append(points)

    def ask_moon(self, request_id: int, table: int, subtract_by_default: bool) -> None:
        """A choice about a moon is due."""
        requests = self._batch.moon_requests
        requests.request_id.append(request_id)
        requests.table.append(table)
        requests.subtract_by_default.append(subtract_by_default)

    def hand_result(self, table: int, points: Sequence[int], totals: Sequence[int], moon: int | None) -> None:
        """A hand ended."""
        if table in self._begun:
            self._close()
        results = self._batch.hand_results
        results.table.append(table)
        results.points.extend(points)
        results.totals.extend(totals)
        results.moon.append(-1 if moon is None else moon)

    def game_result(self, table: int, winners: Sequence[int]) -> None:
        """A game ended."""
        self._batch.game_results.table.append(table)
        self._batch.game_results.winners.append(sum(1 << seat for seat in winners))

    def fault(self, code: FaultCode, table: int, detail: str) -> None:
        """The bot did something wrong."""
        faults = self._batch.faults
        faults.code.append(match_pb2.FaultCode.Value(f"FAULT_CODE_{code}"))
        faults.table.append(table)
        faults.detail.append(detail)

    def take(self, time_left: float) -> list[pb.SitResponse]:
        """Everything gathered, mostly as one message; the outbox is empty afterwards.

        Args:
            time_left: what the bot's clock holds, in seconds.
        """
        self._close()
        batches, self._closed = self._closed, []
        for batch in batches:
            batch.time_left.FromNanoseconds(max(0, round(time_left * 1e9)))
        return batches

    def _close(self) -> None:
        """Turn the columns into a message that is ready to be sent."""
        batch = self._batch
        if self._play_ids:
            plays = batch.play_requests
            plays.request_id.extend(self._play_ids)
            plays.table.extend(self._play_tables)
            if self._two_packs:
                plays.hand.extend([hand & PLANE_MASK for hand in self._play_hands])
                plays.hand_twice.extend([hand >> PLANE for hand in self._play_hands])
            else:
                plays.hand.extend(self._play_hands)
            plays.legal.extend(self._play_legal)
            plays.leader.extend(self._play_leaders)
            plays.trick_size.extend(self._play_sizes)
            plays.trick.extend(self._play_tricks)
            plays.hearts_broken.extend(self._play_broken)
            plays.points.extend(self._play_points)
        if self._trick_tables:
            tricks = batch.trick_results
            tricks.table.extend(self._trick_tables)
            tricks.leader.extend(self._trick_leaders)
            tricks.cards.extend(self._trick_cards)
            tricks.winner.extend(self._trick_winners)
            tricks.points.extend(self._trick_points)
        self._closed.append(batch)
        self._begin()
