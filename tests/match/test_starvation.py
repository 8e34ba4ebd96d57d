"""Time that the machine took away is given back; a sitting of which too much was taken is void, and nobody's fault.

A worker that is short of CPU must not cost a bot its game: HaliteChallenge/Halite#119,
CodinGame/codingame-game-engine#78, fishtest#822.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.cage import BotLoad, Load
from arbiter.links import Ending, FaultCode, Link, LinkLost
from arbiter.match import Clock, SittingRecord, Starved
from arbiter.match.clock import RunningClock
from arbiter.match.starvation import PULSE, VOID_SHARE, lost_seconds
from tests.match import held
from tests.match.support import BentLink, Uniform, check, plan_of
from tests.match.support import sit as sit_down

IDLE = BotLoad(cpu=0.0, waited=0.0)


def load(elapsed: float, *bots: BotLoad, own: float = 0.0, queued: float = 0.0, outside: float = 0.0) -> Load:
    """What was seen in ``elapsed`` seconds in which others used ``outside`` seconds of CPU."""
    return Load(elapsed, own, queued, own + outside + sum(bot.cpu for bot in bots), 0.0, bots, 0.0)


class TestWhatIsLost:
    def test_nothing_while_all_sleep_or_compute(self) -> None:
        assert lost_seconds(load(PULSE, IDLE, BotLoad(PULSE, 0.0)), PULSE) == [0.0, 0.0]
        assert lost_seconds(load(3.0, IDLE, own=2.75), PULSE) == [0.0]

    def test_a_worker_that_was_stopped_loses_that_time_for_all(self) -> None:
        assert lost_seconds(load(8.25, IDLE, IDLE), PULSE) == pytest.approx([8.0, 8.0])

    def test_a_bot_that_waits_behind_others_loses_their_share(self) -> None:
        waiting = BotLoad(cpu=0.05, waited=0.20)
        assert lost_seconds(load(PULSE, waiting, IDLE, outside=0.45), PULSE) == pytest.approx([0.9 * 0.20, 0.0])

    def test_a_worker_that_waits_behind_others_loses_their_share_for_all(self) -> None:
        seen = load(PULSE, IDLE, IDLE, own=0.1, queued=0.1, outside=0.3)
        assert lost_seconds(seen, PULSE) == pytest.approx([0.075, 0.075])

    def test_what_a_table_does_to_itself_is_not_lost(self) -> None:
        burning, starved = BotLoad(cpu=0.45, waited=0.2), BotLoad(cpu=0.05, waited=0.2)
        assert lost_seconds(load(PULSE, burning, starved, queued=0.2), PULSE) == [0.0, 0.0]

    def test_a_bot_that_had_a_cpu_lost_nothing_however_many_of_its_threads_waited(self) -> None:
        assert lost_seconds(load(PULSE, BotLoad(cpu=0.3, waited=0.24), outside=5.0), PULSE) == [0.0]

    def test_what_a_hypervisor_took_is_lost(self) -> None:
        seen = Load(elapsed=1.0, own=0.0, queued=0.0, busy=0.5, stolen=0.5, bots=(BotLoad(0.5, 0.0),), at=0.0)
        assert lost_seconds(seen, 1.0) == pytest.approx([0.5])

    @given(
        st.builds(
            Load,
            *[st.floats(0, 100)] * 5,
            bots=st.lists(st.builds(BotLoad, st.floats(0, 400), st.floats(0, 100)), max_size=4).map(tuple),
            at=st.just(0.0),
        )
    )
    def test_never_less_than_nothing_or_more_than_all(self, seen: Load) -> None:
        assert all(0.0 <= lost <= seen.elapsed for lost in lost_seconds(seen, PULSE))


class TestTheClock:
    def clock(self, **allowed: float) -> tuple[RunningClock, Callable[[float], float]]:
        now = [100.0]

        def advance(seconds: float) -> float:
            now[0] += seconds
            return now[0]

        return RunningClock(Clock(**{"margin": 0.0, **allowed}), lambda: now[0]), advance

    def test_only_time_for_which_it_ran_is_given_back(self) -> None:
        clock, advance = self.clock(bank=10.0)
        clock.give_back(5.0, advance(5.0))
        clock.start()
        advance(1.0)
        clock.stop()
        clock.give_back(8.0, advance(7.0))
        assert (clock.gross, clock.used, clock.bank) == (1.0, 0.0, 10.0)
        clock.give_back(8.0, advance(0.0))
        assert clock.used == 0.0, "nor twice"

    def test_what_passed_since_the_look_is_given_back_at_the_next(self) -> None:
        clock, advance = self.clock(bank=10.0)
        clock.start()
        looked = advance(1.0)
        advance(6.0)
        clock.give_back(0.25, looked)
        assert clock.used == 6.75
        clock.give_back(6.0, advance(0.0))
        assert clock.used == 0.75

    def test_a_silence_is_shortened_by_what_was_lost_in_it(self) -> None:
        clock, advance = self.clock(bank=100.0, hard_stop=5.0)
        clock.start()
        advance(4.0)
        clock.heard(1)
        clock.give_back(3.0, advance(2.0))
        assert clock.silence == 0.0
        advance(5.0)
        assert clock.patience == 0.0
        assert clock.lost_share == pytest.approx(2 / 7)

    def test_the_margin_may_be_overdrawn_once_and_stays_so(self) -> None:
        clock, advance = self.clock(bank=1.0, increment=0.0, margin=0.5, hard_stop=9.0)
        clock.start()
        advance(1.25)
        assert (clock.bank, clock.overdrawn, clock.patience) == (-0.25, False, 0.25)
        clock.heard(1)
        advance(0.5)
        assert clock.overdrawn
        assert clock.why_up().startswith("used 1.750 s, which is all of its bank of 1 s + 0 s for each of 1 answers")

    def test_the_margin_counts_for_the_hard_stop_too(self) -> None:
        clock, advance = self.clock(hard_stop=2.0, margin=0.5)
        clock.start()
        advance(2.25)
        assert clock.patience == 0.25
        advance(0.25)
        assert clock.why_up() == "silent for the hard stop of 2 s, used 2.500 s in all"


class Silent(BentLink):
    """Falls silent after a few messages, or is so from the start."""

    def __init__(self, messages: int) -> None:
        super().__init__(Uniform(), self._fall_silent)
        self._left = messages

    def _fall_silent(self, message: pb.SitRequest) -> list[pb.SitRequest]:
        self._left -= 1
        return [message] if self._left >= 0 else []


class Late(BentLink):
    """Lets one message wait for ``seconds``."""

    def __init__(self, seconds: float) -> None:
        super().__init__(Uniform())
        self._seconds = seconds
        self._left = 5

    async def send(self, batch: pb.SitResponse) -> None:
        self._left -= 1
        if self._left:
            await super().send(batch)
        else:
            asyncio.get_running_loop().call_later(self._seconds, self._answer, batch)

    def _answer(self, batch: pb.SitResponse) -> None:
        for message in self._session.handle(batch):
            self._queue.put_nowait(message)


class Unstarted(BentLink):
    """Never greets."""

    async def open(self, patience: float) -> pb.Greeting:
        await asyncio.sleep(patience)
        raise LinkLost(FaultCode.TIMEOUT, "no greeting")


class Process(Silent):
    """Says that it is a process, and what a control group counts of it, if there is one."""

    def __init__(self, counted: float | None) -> None:
        super().__init__(3)
        self._counted = counted

    @property
    def pid(self) -> int:
        return 1

    @property
    def cpu_seconds(self) -> float | None:
        return self._counted


@pytest.mark.parametrize("counted", [None, 0.0])
def test_waiting_is_believed_only_where_a_control_group_counts(counted: float | None) -> None:
    """A bot that ignores SIGCHLD hides what its children used, and would pass for one that others starve."""
    at = 0.0

    def read(roots: Sequence[int | None]) -> Load:
        nonlocal at
        now = asyncio.get_running_loop().time()
        elapsed, at = now - at, now
        bots = tuple(BotLoad(0.0, 0.0 if root is None else elapsed / 2) for root in roots)
        return Load(elapsed, 0.0, 0.0, 2 * elapsed, 0.0, bots, at)

    links = [BentLink(Uniform()), Process(counted), BentLink(Uniform()), BentLink(Uniform())]
    sitting = sit_down(plan_of(clock=Clock(hard_stop=0.4, margin=0.0)), links, read_load=read)
    if counted is None:
        (fault,) = held.run(sitting).faults
        assert fault.code is FaultCode.TIMEOUT
    else:
        with pytest.raises(Starved):
            held.run(sitting)


class Machine:
    """A machine of which others take this share."""

    def __init__(self, taken: float) -> None:
        self.taken = taken
        self.at = 0.0

    def read(self, roots: Sequence[int | None]) -> Load:
        now = asyncio.get_running_loop().time()
        elapsed, self.at = now - self.at, now
        return Load(elapsed, elapsed, 0.0, elapsed * (1 - self.taken), elapsed * self.taken, (IDLE,) * len(roots), now)


def sit(link: Link, taken: float, clock: Clock) -> SittingRecord:
    links = [BentLink(Uniform()), link, BentLink(Uniform()), BentLink(Uniform())]
    record = held.run(sit_down(plan_of(clock=clock), links, read_load=Machine(taken).read))
    check(record)
    return record


TIGHT = Clock(hard_stop=0.4, margin=0.0)
TIGHT_BANK = Clock(bank=0.4, increment=0.0, margin=0.0)
TIGHT_START = Clock(start_up=0.4)


@pytest.mark.parametrize("clock", [TIGHT, TIGHT_BANK], ids=["hard stop", "bank"])
def test_a_time_fault_on_a_starved_machine_voids_the_sitting_and_names_whose_time_was_up(clock: Clock) -> None:
    with pytest.raises(
        Starved, match=r"bot1 was out of time on a starved machine: .* starvation not counted"
    ) as caught:
        sit(Silent(3), 0.5, clock)
    assert caught.value.entrant == 11


def test_a_start_on_a_starved_machine_voids_the_sitting_too() -> None:
    with pytest.raises(Starved, match=r"bot1 was out of time on a starved machine: no greeting, but .* were lost"):
        sit(Unstarted(Uniform()), 0.5, TIGHT_START)


@pytest.mark.parametrize("taken", [0.0, VOID_SHARE / 2])
def test_a_silent_bot_is_convicted_where_little_was_lost(taken: float) -> None:
    (fault,) = sit(Silent(3), taken, TIGHT).faults
    assert (fault.entrant, fault.code) == (11, FaultCode.TIMEOUT)
    assert ("not counted" in fault.detail) == bool(taken)
    (fault,) = sit(Unstarted(Uniform()), taken, TIGHT_START).faults
    assert (fault.entrant, fault.code) == (11, FaultCode.TIMEOUT)


def test_who_only_lost_time_to_the_machine_plays_on() -> None:
    assert not sit(Late(0.6), 0.7, TIGHT).faults
    (fault,) = sit(Late(0.6), 0.0, TIGHT).faults
    assert fault.code is FaultCode.TIMEOUT


@pytest.mark.parametrize("stopped_in", [1, 2])
def test_a_worker_that_is_stopped_while_it_looks_at_the_machine_costs_no_bot_its_time(stopped_in: int) -> None:
    """In the look of the pulse, and in the one by which the bot is judged, after the worker was stopped before."""
    at, looks, loop = 0.0, 0, held.HeldLoop()

    def read(roots: Sequence[int | None]) -> Load:
        nonlocal at, looks
        now, looks = loop.time(), looks + 1
        elapsed, at = now - at, now
        if looks == stopped_in:
            loop.stop_for(60.0)
        return Load(elapsed, 0.0, 0.0, 0.0, 0.0, (IDLE,) * len(roots), at)

    clock = Clock(hard_stop=1.0, margin=0.0)
    links = [BentLink(Uniform()), Late(61.3), BentLink(Uniform()), BentLink(Uniform())]
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        loop.call_later(0.1, loop.stop_for, 1.0)
        assert not runner.run(sit_down(plan_of(clock=clock), links, read_load=read)).faults
    assert looks > stopped_in


def test_all_bots_end_with_a_void_sitting() -> None:
    closed = []

    class Watched(Silent):
        async def close(self, grace: float) -> Ending:
            closed.append(self)
            return await super().close(grace)

    links = [Watched(3) for _ in range(4)]
    with pytest.raises(Starved):
        held.run(sit_down(plan_of(clock=TIGHT), links, read_load=Machine(0.5).read))
    assert set(closed) == set(links)
