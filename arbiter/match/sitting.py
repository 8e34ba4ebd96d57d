"""Plays a sitting: all boards of a deal set under one seating, many tables at once, one task per bot.

Each bot works on one batch at a time. What becomes due to it meanwhile gathers in its outbox and goes out as the next
batch once it has answered; so batches grow by themselves to what the bots can take (and :mod:`~arbiter.match.gathering`
helps small ones), and a slow bot holds up the tables at which it sits and no others.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from arbiter.api.bot.v1 import bot_pb2
from arbiter.api.game.v1 import match_pb2
from arbiter.cage import BotLoad, Load
from arbiter.engine import Rules, Trick, compile_rules
from arbiter.links import Ending, FaultCode, Link, LinkLost
from arbiter.match.answers import Answers
from arbiter.match.clock import TimeUsed
from arbiter.match.collector import seldom_collecting
from arbiter.match.faults import Fault
from arbiter.match.gathering import Gathering
from arbiter.match.messages import clock_to_message
from arbiter.match.outbox import TrickLog
from arbiter.match.plan import MatchFormat, SittingPlan
from arbiter.match.player import Player
from arbiter.match.record import HandRecord
from arbiter.match.starvation import PULSE, VOID_SHARE, Starved, lost_seconds
from arbiter.match.table import Table
from arbiter.wire import rules_to_message

END_GRACE: Final = 2.0
"""Seconds that a bot has to end by itself after the last message."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SittingRecord:
    """All that came of a sitting."""

    plan: SittingPlan
    hands: tuple[HandRecord, ...]
    """In order of board and hand."""
    faults: tuple[Fault, ...]
    """Those that belong to no single decision: a bot that crashed, fell silent or was put out."""
    endings: tuple[Ending, ...]
    """By place: how each bot ended and what it wrote."""
    times: tuple[TimeUsed, ...]
    """By place: thinking time."""
    start_seconds: float
    """Wall time until every bot had greeted, or failed to."""
    play_seconds: float
    """Wall time from then to the last card."""


async def play_sitting(
    plan: SittingPlan,
    links: Sequence[Link],
    on_hand: Callable[[], None] = lambda: None,
    now: Callable[[], float] = time.monotonic,
    read_load: Callable[[Sequence[int | None]], Load] | None = None,
    at_once: int | None = None,
) -> SittingRecord:
    """Play a sitting from the start of its bots to their end.

    Args:
        plan: what to play.
        links: by place in ``plan.bots``.
        on_hand: called after each finished hand.
        now: what the bots' clocks are read from, in seconds.
        read_load: what ran on the machine since it was last called, given the bots' processes; see
            :meth:`arbiter.cage.LoadMeter.read`. It tells the time as ``now`` does. Without it no time is given back and
            no sitting voided.
        at_once: how many bots may be at work at the same time; None for all.

    Raises:
        Starved: a bot's time was up while the machine was taken away from outside.
        InfrastructureError: the bots could not be started, for a reason that is no bot's fault.
    """
    sitting = _Sitting(plan, links, on_hand, now, read_load, at_once)
    try:
        with seldom_collecting:
            await sitting.play()
    finally:
        endings = await asyncio.gather(*(link.close(END_GRACE if sitting.over else 0.0) for link in links))
    return SittingRecord(
        plan,
        sitting.take_records(),
        tuple(sitting.faults),
        tuple(endings),
        sitting.times(),
        start_seconds=sitting.start_seconds,
        play_seconds=sitting.play_seconds,
    )


class _Sitting:
    def __init__(
        self,
        plan: SittingPlan,
        links: Sequence[Link],
        on_hand: Callable[[], None],
        now: Callable[[], float],
        read_load: Callable[[Sequence[int | None]], Load] | None,
        at_once: int | None,
    ) -> None:
        self._plan: Final = plan
        self._rules: Final[Rules] = compile_rules(plan.rules)
        self._on_hand: Final = on_hand
        self._tricks: Final = TrickLog()
        self._players: Final = [
            Player(place, bot, link, self._rules.two_packs, self._tricks, now)
            for place, (bot, link) in enumerate(zip(plan.bots, links, strict=True))
        ]
        self._now: Final = now
        self._read_load: Final = read_load
        self._at_once: Final = at_once
        self._lost: Final = [0.0] * len(plan.bots)
        self._cpu_before: Final[dict[int, float]] = {}
        self._hands: Final[list[HandRecord]] = []
        self._open: Final[set[Table]] = set()
        self._open_tables = 0
        self._next_board = 1
        self.faults: Final[list[Fault]] = []
        self.over = False
        """Every board is done."""
        self.start_seconds = 0.0
        self.play_seconds = 0.0

    async def play(self) -> None:
        """Start the bots, play every board, and say good-bye."""
        pulse = asyncio.ensure_future(self._watch_machine())
        try:
            await self._play()
        finally:
            pulse.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await pulse

    async def _play(self) -> None:
        began = time.perf_counter()
        greetings = await _all([self._greet(player) for player in self._players])
        greeted = time.perf_counter()
        declared = [greeting.max_open_tables for greeting in greetings if greeting is not None]
        self._open_tables = min([self._plan.open_tables, self._plan.boards, *declared])
        self._answers = Answers(
            self._rules.source.pass_count, self._open_tables, self._plan.fault_limit, self._nonsense
        )
        for player in self._players:
            if player.playing:
                player.outbox.match_start(self._match_start(player))
        gathering = Gathering(self._players, self._open_tables, self._at_once)
        self._open_more()
        await _all([self._drive(player, gathering) for player in self._players])
        self.start_seconds = greeted - began
        self.play_seconds = time.perf_counter() - greeted

    def times(self) -> tuple[TimeUsed, ...]:
        """What each bot used of its clock."""
        return tuple(player.clock.time_used for player in self._players)

    def take_records(self) -> tuple[HandRecord, ...]:
        """The finished hands in order of board and hand, whatever the order in which they ended.

        They are kept here no longer, so that their memory is free as soon as the caller's is, though a sitting itself
        waits for Python's collector of cycles.
        """
        records = tuple(sorted(self._hands, key=lambda record: (record.board, record.number)))
        self._hands.clear()
        return records

    async def _greet(self, player: Player) -> bot_pb2.Greeting | None:
        began, lost_before = self._now(), self._lost[player.place]
        try:
            return await player.link.open(player.bot.clock.start_up)
        except LinkLost as lost:
            if lost.code is FaultCode.TIMEOUT:
                self._look_closely()
                taken, whole = self._lost[player.place] - lost_before, self._now() - began
                if taken >= VOID_SHARE * whole > 0:
                    raise self._starved(player, f"{lost.detail}, but {taken:.3f} of {whole:.3f} s were lost") from None
            self._lose(player, lost)
        await player.link.close(0.0)
        return None

    async def _drive(self, player: Player, gathering: Gathering) -> None:
        """One bot's course: a batch out, its answers in, over and over."""
        try:
            while player.playing:
                await player.due.wait()
                player.due.clear()
                if self.over:
                    await self._say_good_bye(player)
                    return
                if player.open:
                    await gathering.wait(player)
                    async with gathering.at_work():
                        await self._send(player)
                        await self._collect(player)
                    player.clock.stop()
        except LinkLost as lost:
            self._lose(player, lost)
        finally:
            player.clock.stop()
        await player.link.close(0.0)  # at once: what it goes on computing would be taken from the others

    async def _say_good_bye(self, player: Player) -> None:
        """Everything is answered: whoever is gone by now did nothing wrong, and no clock runs."""
        player.outbox.match_end()
        with contextlib.suppress(LinkLost, TimeoutError):
            async with asyncio.timeout(END_GRACE):
                for batch in player.batches():
                    await player.link.send(batch)

    async def _send(self, player: Player) -> None:
        """Send what is due. The clock runs from here on: a bot that does not read holds the sending up."""
        player.clock.start()
        try:
            async with asyncio.timeout(max(0.0, player.clock.patience)):
                for batch in player.batches():
                    await player.link.send(batch)
        except TimeoutError:
            self._look_closely()
            raise self._time_is_up(player) from None  # what it lost can't be given back: a message was cut off

    async def _collect(self, player: Player) -> None:
        """Take a bot's answers until no request that it was sent is open."""
        while player.playing and player.open and next(iter(player.open)) <= player.sent:
            try:
                async with asyncio.timeout(max(0.0, player.clock.patience)):
                    answers = await player.link.receive()
            except TimeoutError:
                arrived = await self._arrived(player)
                if arrived is None:
                    self._check_patience(player)
                    continue
                answers = arrived
            before, faults = len(player.open) - player.asked, player.faults
            self._answers.apply(player, answers)
            answered = before - (len(player.open) - player.asked)
            if not answered and player.faults == faults:
                self._nonsense(player, "sent a message that answers nothing that it is asked")
            player.clock.heard(answered)
            if player.clock.overdrawn:
                self._check_patience(player)
            if player.faults > self._plan.fault_limit:
                self._put_out(player)
            self._open_more()

    async def _arrived(self, player: Player) -> bot_pb2.SitRequest | None:
        """A message that has come already, though the event loop was too late to see it before its time-out."""
        try:
            async with asyncio.timeout(0):
                return await player.link.receive()
        except TimeoutError:
            return None

    def _check_patience(self, player: Player) -> None:
        """Raise when a bot's time is up, and would be without what it lost."""
        self._look_closely()
        if player.clock.patience <= 0:
            raise self._time_is_up(player)

    def _time_is_up(self, player: Player) -> LinkLost | Starved:
        clock = player.clock
        owed = sum(number <= player.sent for number in player.open)
        detail = f"{clock.why_up()}; requests open: {owed}"
        if clock.lost_share >= VOID_SHARE:
            return self._starved(player, detail)
        return LinkLost(FaultCode.TIMEOUT, detail)

    def _starved(self, player: Player, detail: str) -> Starved:
        return Starved(player.bot.entrant, f"{player.bot.name} was out of time on a starved machine: {detail}")

    async def _watch_machine(self) -> None:
        while self._read_load is not None:
            await asyncio.sleep(PULSE)
            self._look_at_machine()

    def _counted(self, load: Load) -> Load:
        """The load with what control groups say of the bots' CPU time.

        What processes say of themselves can be hidden by a bot that lets its children end unseen; without a group its
        waiting is not believed.
        """
        bots: list[BotLoad] = []
        for player, bot in zip(self._players, load.bots, strict=True):
            used, before = player.link.cpu_seconds, self._cpu_before.get(player.place, 0.0)
            if used is not None:
                self._cpu_before[player.place] = used
                bots.append(replace(bot, cpu=max(bot.cpu, used - before)))
            else:
                bots.append(bot if player.link.pid is None else replace(bot, waited=0.0, hidden=True))
        return replace(load, bots=tuple(bots))

    def _look_closely(self) -> None:
        """Look at the machine, and once more when much has passed meanwhile: this process may have been stopped."""
        looked_at = self._look_at_machine()
        if self._now() - looked_at >= PULSE:
            self._look_at_machine()

    def _look_at_machine(self) -> float:
        """Give back what the bots lost since the last look; returns up to when, on the bots' clock."""
        if self._read_load is None:
            return self._now()
        load = self._counted(self._read_load([player.link.pid for player in self._players]))
        for player, seconds in zip(self._players, lost_seconds(load, PULSE), strict=True):
            self._lost[player.place] += seconds
            player.clock.give_back(seconds, load.at)
        return load.at

    def _nonsense(self, player: Player, detail: str) -> None:
        fault = Fault(player.bot.entrant, FaultCode.PROTOCOL_ERROR, detail)
        self.faults.append(fault)
        self.charge(player, fault)

    def _lose(self, player: Player, lost: LinkLost) -> None:
        """The bot is out for the rest of the sitting; the stand-in answers what it owes and plays on."""
        if not player.playing:
            return
        board = next((table.board for _, table in player.open.values()), None)
        self.faults.append(Fault(player.bot.entrant, lost.code, lost.detail, board, lost=True))
        self._put_out(player)

    def _put_out(self, player: Player) -> None:
        player.playing = False
        player.outbox.leave()
        owed = list(player.open.values())
        player.open.clear()
        for due, table in owed:
            table.stand_in(player, due)
        player.due.set()
        if self._open_tables:
            self._open_more()

    def _open_more(self) -> None:
        """Open boards up to the number of open tables; a board may be done before this returns."""
        while len(self._open) < self._open_tables and self._next_board <= self._plan.boards:
            board = self._next_board
            self._next_board += 1
            plan = self._plan
            places = plan.seatings.places(plan.rules, plan.deal_seed, board, plan.seating)
            table = Table(self._plan, self._rules, board, [self._players[place] for place in places], self)
            self._open.add(table)
            table.open()
        if not self._open and self._next_board > self._plan.boards and not self.over:
            self.over = True
            for player in self._players:
                player.due.set()

    def charge(self, player: Player, fault: Fault) -> None:
        """See :class:`~arbiter.match.table.Floor`; a bot over the limit is put out after the message that did it."""
        player.faults += 1
        player.outbox.fault(fault.code, fault.board or 0, fault.detail)

    def trick_done(self, board: int, trick: Trick) -> None:
        """See :class:`~arbiter.match.table.Floor`."""
        self._tricks.add(board, trick)

    def hand_done(self, record: HandRecord) -> None:
        """See :class:`~arbiter.match.table.Floor`."""
        self._hands.append(record)
        self._on_hand()

    def board_done(self, table: Table) -> None:
        """See :class:`~arbiter.match.table.Floor`."""
        self._open.discard(table)

    def _match_start(self, player: Player) -> bot_pb2.MatchStart:
        plan = self._plan
        rules = self._rules
        return bot_pb2.MatchStart(
            rules=rules_to_message(plan.rules),
            format=match_pb2.MATCH_FORMAT_GAME if plan.format is MatchFormat.GAME else match_pb2.MATCH_FORMAT_HANDS,
            boards=plan.boards,
            card_points=[penalty + bonus for penalty, bonus in zip(rules.penalty, rules.bonus, strict=True)],
            bot_seed=player.bot.bot_seed,
            open_tables=self._open_tables,
            clock=clock_to_message(player.bot.clock),
        )


async def _all(jobs: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """Results of jobs that run side by side; when one fails, the others are cancelled and waited for."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in jobs]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
