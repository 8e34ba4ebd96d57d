"""Bots as real processes in a real cage: each kind of misbehaviour gets its code, harms nobody and leaves nothing."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from arbiter.api.bot.v1 import bot_pb2
from arbiter.cage import CageError, Launch, Load, LoadMeter, Manifest, choose_cage
from arbiter.links import BotHost, FaultCode, Link, LocalLink, ProcessLink, process
from arbiter.match import Clock, SittingRecord, play_sitting, sitting
from arbiter.match.starvation import lost_seconds
from tests.cage.support import open_folder, until
from tests.match.support import Uniform, check, plan_of
from tests.patience import PATIENCE

BOTS = Path(__file__).parents[1] / "bots"
PLENTY = Clock(start_up=PATIENCE, bank=PATIENCE, hard_stop=PATIENCE)
"""For whatever ends by itself: however slow the machine, no clock comes into it."""
BAD = 2


@dataclass(frozen=True)
class Room:
    """Where a test's bots live."""

    bots: Path
    sockets: Path
    mark: str
    """In the environment of every process of the test's bots."""

    def launch(self, way: str, socket: Path, token: str) -> Launch:
        return Launch(
            folder=self.bots,
            manifest=Manifest("adversary", "python", ("python", "adversary.py", way)),
            socket=socket,
            environment={"ARBITER_TOKEN": token, "MARK": self.mark},
        )

    def processes(self) -> list[int]:
        """Every process that a bot of this test has left."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    environment = Path("/proc", name, "environ").read_bytes()
                except OSError:  # gone meanwhile, or somebody else's
                    continue
                if self.mark.encode() in environment:
                    found.append(int(name))
        return found


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    monkeypatch.setattr(sitting, "END_GRACE", PATIENCE)  # each bot ends by itself as soon as it can
    with open_folder() as folder:
        bots, sockets = folder / "bots", folder / "sockets"
        bots.mkdir(mode=0o755)
        sockets.mkdir(mode=0o755)
        shutil.copyfile(BOTS / "adversary.py", bots / "adversary.py")
        (bots / "adversary.py").chmod(0o644)
        made = Room(bots, sockets, uuid.uuid4().hex)
        yield made
        assert not made.processes(), "no process outlives its sitting"
        assert not list(sockets.iterdir()), "no socket outlives its sitting"
        assert [path.name for path in bots.iterdir()] == ["adversary.py"]


async def sit(room: Room, ways: dict[int, str], clock: Clock, boards: int, watched: bool) -> SittingRecord:
    """A sitting in which these places are processes that misbehave so; the others are honest bots in this process.

    Where it is ``watched``, so are its processes, as if nothing else ran on the machine: what the tests' own neighbours
    take must not decide.
    """
    cage = choose_cage(False)
    host = BotHost(room.sockets)
    links: list[Link] = []
    for place in range(4):
        if place in ways:
            connection = host.add(f"seat{place}")
            links.append(ProcessLink(cage, room.launch(ways[place], connection.socket, connection.token), connection))
        else:
            links.append(LocalLink(Uniform()))
    async with host:
        read_load = alone(LoadMeter(), links) if watched else None
        return await play_sitting(plan_of(boards=boards, clock=clock), links, read_load=read_load)


def alone(meter: LoadMeter, links: Sequence[Link]) -> Callable[[Sequence[int | None]], Load]:
    """What the machine would be seen to do if nothing else ran on it: what control groups say that a bot used was used,
    whether its processes show it or not."""
    before = [0.0] * len(links)

    def read(roots: Sequence[int | None]) -> Load:
        load = meter.read(roots)
        busy = load.own
        for place, (link, bot) in enumerate(zip(links, load.bots, strict=True)):
            used = link.cpu_seconds or before[place]
            busy += max(bot.cpu, used - before[place])
            before[place] = used
        return replace(load, busy=busy, stolen=0.0)

    return read


async def with_one_bot(room: Room, way: str, use: Callable[[ProcessLink], Awaitable[None]]) -> None:
    """Start one bot, take its greeting and use its link; the service ends afterwards."""
    host = BotHost(room.sockets)
    connection = host.add("seat0")
    link = ProcessLink(choose_cage(False), room.launch(way, connection.socket, connection.token), connection)
    async with host:
        await link.open(PATIENCE)
        await use(link)


def play(
    room: Room, ways: dict[int, str], clock: Clock = PLENTY, boards: int = 2, *, watched: bool = False
) -> SittingRecord:
    record = asyncio.run(sit(room, ways, clock, boards, watched))
    check(record)
    assert {hand.board for hand in record.hands} == set(range(1, boards + 1))
    return record


def code_of(record: SittingRecord) -> FaultCode:
    """The code of the misbehaving bot, after it was seen that nobody else has come to harm."""
    faults = [*record.faults, *(fault for hand in record.hands for fault in hand.faults)]
    assert {fault.entrant for fault in faults} == {10 + BAD}
    for hand in record.hands:
        assert {hand.places[seat] for seat in hand.stand_ins} <= {BAD}
    (code,) = {fault.code for fault in faults}
    return code


def test_four_honest_processes_play_as_they_do_in_this_process(room: Room) -> None:
    record = play(room, dict.fromkeys(range(4), "honest"), boards=6)
    assert not record.faults
    assert [ending.ending for ending in record.endings] == ["exit status 0"] * 4
    assert [ending.log for ending in record.endings] == [b""] * 4


@pytest.mark.parametrize(
    ("way", "code", "detail", "ending"),
    [
        (
            "crash_at_start",
            FaultCode.CRASH,
            "ended before its greeting: exit status 1",
            "exit status 1",
        ),
        ("exit_silently", FaultCode.CRASH, "ended before its greeting: exit status 0", "exit status 0"),
        ("wrong_token", FaultCode.CRASH, "ended before its greeting: exit status 4", "exit status 4"),
        (
            "crash_at_seven",
            FaultCode.CRASH,
            "exit status 1",
            "exit status 1",
        ),
        ("leave_at_seven", FaultCode.CRASH, "exit status 0", "exit status 0"),
        ("killed_at_seven", FaultCode.CRASH, "killed by SIGKILL", "killed by SIGKILL"),
        ("close_and_stay", FaultCode.DISCONNECT, "closed its stream while its process went on", "killed by SIGKILL"),
        ("garbage", FaultCode.PROTOCOL_ERROR, "sent bytes that are no SitRequest", "killed by SIGKILL"),
        ("garbage_greeting", FaultCode.PROTOCOL_ERROR, "sent bytes that are no SitRequest", "killed by SIGKILL"),
        ("no_greeting", FaultCode.PROTOCOL_ERROR, "the first message holds no greeting", "killed by SIGKILL"),
        ("no_tables", FaultCode.PROTOCOL_ERROR, "max_open_tables = 0", "killed by SIGKILL"),
        ("huge_message", FaultCode.DISCONNECT, "a message of more than 1024 KiB", "killed by SIGKILL"),
        ("tiny_messages", FaultCode.PROTOCOL_ERROR, "answers nothing", "killed by SIGKILL"),
        ("stale_answers", FaultCode.PROTOCOL_ERROR, "100000 answers in a message", "killed by SIGKILL"),
    ],
)
def test_what_a_bot_does_has_its_code(
    room: Room, monkeypatch: pytest.MonkeyPatch, way: str, code: FaultCode, detail: str, ending: str
) -> None:
    """fastchess#631, OpenBench#55; a crash is noticed long before any clock: fastchess#1029, cutechess#27."""
    if code is FaultCode.CRASH:
        monkeypatch.setattr(process, "EXIT_PATIENCE", PATIENCE)  # a slow machine must not make anything else of it
    record = play(room, {BAD: way})
    assert code_of(record) is code
    assert detail in record.faults[0].detail
    assert record.endings[BAD].ending == ending
    assert all(hand.stand_ins for hand in record.hands)


@pytest.mark.parametrize(
    ("way", "code"),
    [
        ("burn_at_seven", FaultCode.TIMEOUT),
        ("burn_unseen_at_seven", FaultCode.TIMEOUT),
        ("killed_at_seven", FaultCode.CRASH),
        ("tiny_messages", FaultCode.PROTOCOL_ERROR),
    ],
)
def test_what_a_bot_does_to_its_own_table_voids_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch, way: str, code: FaultCode
) -> None:
    """A bot must not get out of a lost sitting by starving it."""
    # For what this process is not seen to do it slept: nobody stops it, even where the whole machine stands still.
    monkeypatch.setattr(sitting, "lost_seconds", lambda load, _: lost_seconds(load, load.elapsed))
    clock = replace(PLENTY, hard_stop=2.0) if code is FaultCode.TIMEOUT else PLENTY
    record = play(room, {BAD: way}, clock, watched=True)
    assert code_of(record) is code


@pytest.mark.parametrize(
    ("way", "clock", "detail"),
    [
        ("never_connect", Clock(start_up=0.5), "no greeting within the start-up allowance of 0.5 s"),
        ("silent_at_seven", replace(PLENTY, hard_stop=0.5), "silent for the hard stop of 0.5 s"),
        ("ignore_signals", replace(PLENTY, hard_stop=0.5), "silent for the hard stop of 0.5 s"),
        ("never_read", replace(PLENTY, hard_stop=0.5), "silent for the hard stop of 0.5 s"),
    ],
)
def test_a_bot_that_keeps_still_is_cut_off(room: Room, way: str, clock: Clock, detail: str) -> None:
    """kaggle-environments#315."""
    record = play(room, {BAD: way}, clock)
    assert code_of(record) is FaultCode.TIMEOUT
    assert detail in record.faults[0].detail
    assert record.endings[BAD].ending == "killed by SIGKILL"


def test_sending_to_a_bot_that_does_not_read_can_be_given_up(room: Room) -> None:
    async def send_without_end(link: ProcessLink) -> None:
        batch = bot_pb2.SitResponse(faults=bot_pb2.Faults(detail=["x" * 100_000]))

        async def send_on() -> None:
            while True:
                await link.send(batch)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(send_on(), 0.5)
        ending = await link.close(0.0)
        assert ending.ending == "killed by SIGKILL"
        assert await link.close(0.0) == ending

    asyncio.run(with_one_bot(room, "never_read", send_without_end))


def test_a_bot_whose_arbiter_goes_away_says_so(room: Room) -> None:
    async def leave(link: ProcessLink) -> None:
        links.append(link)

    async def let_it_end() -> None:
        await with_one_bot(room, "honest", leave)
        ending = await links[0].close(PATIENCE)
        assert ending.ending == "exit status 4"
        last = ending.log.decode().splitlines()[-1]
        assert re.fullmatch(r"the arbiter at unix:/\S+ ended the stream: [A-Z]+: .*", last)

    links: list[ProcessLink] = []
    asyncio.run(let_it_end())


def test_a_bot_that_keeps_to_itself_may_have_had_children(room: Room) -> None:
    record = play(room, {BAD: "leave_children"})
    assert not record.faults
    assert record.endings[BAD].ending == "exit status 0"


def test_a_token_opens_one_stream(room: Room) -> None:
    record = play(room, {BAD: "connect_twice"})
    assert not record.faults
    assert record.endings[BAD].log == b"second stream: ALREADY_EXISTS\n"


def test_two_that_misbehave_are_told_apart(room: Room) -> None:
    record = play(room, {0: "crash_at_seven", 3: "garbage"})
    codes = {fault.entrant: fault.code for fault in record.faults}
    assert codes == {10: FaultCode.CRASH, 13: FaultCode.PROTOCOL_ERROR}


def test_a_sitting_that_is_cancelled_leaves_no_bot(room: Room) -> None:
    async def cancel_when_connected() -> None:
        host = BotHost(room.sockets)
        connection = host.add("seat0")
        launch = room.launch("silent_at_seven", connection.socket, connection.token)
        links: list[Link] = [ProcessLink(choose_cage(False), launch, connection)]
        links += [LocalLink(Uniform()) for _ in range(3)]
        async with host:
            playing = asyncio.ensure_future(play_sitting(plan_of(boards=2, clock=PLENTY), links))
            await until(lambda: connection.stream is not None)
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await playing

    asyncio.run(cancel_when_connected())


def test_a_cage_that_cannot_be_built_is_no_bots_fault(room: Room) -> None:
    async def without_folder() -> None:
        host = BotHost(room.sockets)
        connection = host.add("seat0")
        launch = replace(room.launch("honest", connection.socket, connection.token), folder=room.bots / "missing")
        links: list[Link] = [ProcessLink(choose_cage(False), launch, connection)]
        links += [LocalLink(Uniform()) for _ in range(3)]
        async with host:
            await play_sitting(plan_of(boards=1, clock=PLENTY), links)

    with pytest.raises(CageError):
        asyncio.run(without_folder())
