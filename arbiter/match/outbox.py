"""What is due to one bot, gathered as columns over all its tables and turned into one message when it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.api.game.v1 import match_pb2
from arbiter.engine import PassDirection, PlayColumns, Trick
from arbiter.engine.cards import PLANE, PLANE_MASK
from arbiter.links import FaultCode
from arbiter.wire.rule_set import direction_to_number


class TrickLog:
    """Tricks that were completed, written once for all bots: each of them sits at every table."""

    def __init__(self) -> None:
        self._readers: list[list[pb.TrickResults]] = []
        self._begin()

    def _begin(self) -> None:
        # Plain lists: one extend per column when sent is cheaper than one append to a message per value.
        self._tables: list[int] = []
        self._leaders: list[int] = []
        self._cards: list[int] = []
        self._winners: list[int] = []
        self._points: list[int] = []

    def reader(self) -> list[pb.TrickResults]:
        """A list to which everything that is written from now on comes whenever :meth:`flush` is called."""
        self._readers.append([])
        return self._readers[-1]

    def leave(self, reader: list[pb.TrickResults]) -> None:
        """Nothing more comes to this reader."""
        self._readers = [other for other in self._readers if other is not reader]

    def add(self, table: int, trick: Trick) -> None:
        """A trick was completed."""
        leader, cards, winner, points = trick
        self._tables.append(table)
        self._leaders.append(leader)
        self._cards += cards
        self._winners.append(-1 if winner is None else winner)
        self._points.append(points)

    def flush(self) -> None:
        """Hand out what was written since this was last called."""
        if self._tables:
            tricks = pb.TrickResults(
                table=self._tables,
                leader=self._leaders,
                cards=self._cards,
                winner=self._winners,
                points=self._points,
            )
            self._begin()
            for reader in self._readers:
                reader.append(tricks)


class Outbox:
    """Columns that grow until :meth:`take` empties them. Two packs add the second plane's columns.

    Within a message the order of kinds is the order in time. Where a hand ends though its deal has not been sent yet
    (an offence can end it before every seat has played), a message is closed and the next one begun.
    """

    def __init__(self, two_packs: bool, tricks: TrickLog) -> None:
        self._two_packs: Final = two_packs
        self._log: Final = tricks
        self._tricks: Final = tricks.reader()
        self._closed: list[pb.SitResponse] = []
        self._begin()

    def _begin(self) -> None:
        self._batch = pb.SitResponse()
        self._begun: set[int] = set()
        """Tables whose hand begins in this message."""
        # Rows of what comes often, which become columns when the message is closed: dearest is a call for each value.
        self._deals: list[tuple[int, int, int, int, int, int]] = []
        self._deal_totals: list[int] = []
        self._pass_ids: list[int] = []
        self._pass_tables: list[int] = []
        self._received_tables: list[int] = []
        self._received_cards: list[int] = []
        self._passed_cards: list[int] = []
        self._results: list[tuple[int, int]] = []
        self._result_points: list[int] = []
        self._result_totals: list[int] = []

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
        self._deals.append((table, hand_number, seat, dealer, direction_to_number(direction), hand))
        self._deal_totals += totals

    def ask_pass(self, request_id: int, table: int) -> None:
        """Cards to pass are due."""
        self._pass_ids.append(request_id)
        self._pass_tables.append(table)

    def received(self, table: int, cards: Sequence[int], passed: Sequence[int]) -> None:
        """Cards came in the pass, and others went."""
        self._begun.add(table)
        self._received_tables.append(table)
        self._received_cards += cards
        self._passed_cards += passed

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
        self._results.append((table, -1 if moon is None else moon))
        self._result_points += points
        self._result_totals += totals

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

    def leave(self) -> None:
        """Nothing more is sent to this bot."""
        self._log.leave(self._tricks)

    def ask_cards(self, request_ids: Sequence[int], tables: Sequence[int], seen: PlayColumns) -> None:
        """Cards are due; ``seen`` is what the bot sees at each of these tables now."""
        plays = self._batch.play_requests
        plays.request_id.extend(request_ids)
        plays.table.extend(tables)
        if self._two_packs:
            plays.hand.extend([hand & PLANE_MASK for hand in seen.hand])
            plays.hand_twice.extend([hand >> PLANE for hand in seen.hand])
        else:
            plays.hand.extend(seen.hand)
        plays.legal.extend(seen.legal)
        plays.leader.extend(seen.leader)
        plays.trick_size.extend(seen.trick_size)
        plays.trick.extend(seen.trick)
        plays.hearts_broken.extend(seen.broken)
        plays.points.extend(seen.points)

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
        """Make the message ready to be sent, and begin the next one."""
        batch = self._batch
        if self._deals:
            tables, numbers, seats, dealers, directions, hands = zip(*self._deals, strict=True)
            deals = batch.deals
            deals.table.extend(tables)
            deals.hand_number.extend(numbers)
            deals.seat.extend(seats)
            deals.dealer.extend(dealers)
            deals.direction.extend(directions)
            deals.hand.extend([hand & PLANE_MASK for hand in hands])
            if self._two_packs:
                deals.hand_twice.extend([hand >> PLANE for hand in hands])
            deals.totals.extend(self._deal_totals)
        if self._pass_ids:
            requests = batch.pass_requests
            requests.request_id.extend(self._pass_ids)
            requests.table.extend(self._pass_tables)
        if self._received_tables:
            received = batch.cards_received
            received.table.extend(self._received_tables)
            received.cards.extend(self._received_cards)
            received.passed.extend(self._passed_cards)
        if self._results:
            tables, moons = zip(*self._results, strict=True)
            results = batch.hand_results
            results.table.extend(tables)
            results.points.extend(self._result_points)
            results.totals.extend(self._result_totals)
            results.moon.extend(moons)
        self._log.flush()
        for tricks in self._tricks:
            batch.trick_results.MergeFrom(tricks)
        self._tricks.clear()
        self._closed.append(batch)
        self._begin()
