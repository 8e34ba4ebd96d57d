"""A spy that remembers everything it sees in a whole match never meets a board's cards twice.

What a process saw of a board from one seat would tell it the hidden cards in another. The spy knows cards again: a hand
is told by its cards, but for those that a pass can change.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import arbiter.match.sitting
from arbiter.cage import Launch, choose_cage, load_manifest
from arbiter.deals import Seatings, SeatingsKind
from arbiter.engine import RULE_SETS, PassDirection, mask_of, rule_set
from arbiter.links import BotHost, LocalLink, ProcessLink
from arbiter.match import SittingPlan, SittingRecord, play_sitting
from arbiter.sdk import HandResult
from tests.cage.support import make_bot, open_folder
from tests.match import held
from tests.match.support import UNHURRIED, Uniform, plan_of, sit
from tests.patience import PATIENCE

GAMES = {
    "passing": RULE_SETS["black_lady"],
    "no pass": rule_set("black_lady", (), {"pass_cycle": ["none"], "pass_count": 0}),
    "three seats": RULE_SETS["black_maria_3"],
}
WAYS = {
    "rotations": Seatings(),
    "all": Seatings(SeatingsKind.ALL),
    "random": Seatings(SeatingsKind.RANDOM, 5),
}


@dataclass(frozen=True)
class Memory:
    """What the spy knows of a hand that is over."""

    board: int
    own: int
    """Its cards as they were dealt, as a mask."""
    others: tuple[int, ...]
    """The others' cards as they were played."""
    changed: int
    """How many of these may have been dealt to somebody else."""

    def shows(self, hand: int) -> bool:
        """Whether a hand was part of this deal. Thirteen random cards share ten with thirteen others once in 250,000
        times."""
        least = hand.bit_count() - self.changed
        return any((hand & known).bit_count() >= least for known in (self.own, *self.others))


class Spy(Uniform):
    """Remembers every hand."""

    def __init__(self) -> None:
        self.memory: list[Memory] = []
        self.met_again = 0
        """Hands dealt to it that it had seen before, in whatever seat."""

    def hand_ended(self, result: HandResult) -> None:
        """Look the hand up in the memory, then remember it."""
        table = result.table
        played: list[list[int]] = [[] for _ in range(table.match.players)]
        for trick in table.tricks:
            for turn, card in enumerate(trick.cards):
                played[(trick.leader + turn) % len(played)].append(card)
        others = tuple(mask_of(cards) for seat, cards in enumerate(played) if seat != table.seat)
        changed = 0 if table.direction is PassDirection.NONE else table.match.rules.pass_count
        self.met_again += any(memory.shows(table.dealt_mask) for memory in self.memory)
        self.memory.append(Memory(table.board, table.dealt_mask, others, changed))


def play(plan: SittingPlan, spies: list[Spy]) -> None:
    record = held.run(sit(plan, [LocalLink(spy) for spy in spies]))
    assert not record.faults


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("game", GAMES)
def test_within_a_sitting_no_bot_meets_cards_again(game: str, way: str) -> None:
    rules, seatings = GAMES[game], WAYS[way]
    for seating in range(seatings.sittings(rules)):
        spies = [Spy() for _ in range(rules.players)]
        play(replace(plan_of(rules, boards=8), seatings=seatings, seating=seating), spies)
        for spy in spies:
            assert sorted(memory.board for memory in spy.memory) == list(range(1, 9)), "every board once"
            assert not spy.met_again


@pytest.mark.parametrize("way", WAYS)
def test_in_games_to_a_score_no_bot_meets_cards_again(way: str) -> None:
    spies = [Spy() for _ in range(4)]
    play(replace(plan_of(boards=2, game=True), seatings=WAYS[way], seating=1), spies)
    for spy in spies:
        assert len(spy.memory) > 10
        assert not spy.met_again


@pytest.mark.parametrize("game", GAMES)
def test_deal_sets_of_different_matches_share_no_cards(game: str) -> None:
    """OpenBench#168, fishtest#478."""
    rules = GAMES[game]
    spies = [Spy() for _ in range(rules.players)]
    for match in range(3):
        play(plan_of(rules, boards=8, deal_seed=bytes([match]) * 32), spies)
    assert not any(spy.met_again for spy in spies)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("game", GAMES)
def test_a_process_kept_for_two_sittings_would_know_every_card(game: str, way: str) -> None:
    """Why each sitting starts its bots anew; and that the spy does notice."""
    rules, seatings = GAMES[game], WAYS[way]
    spies = [Spy() for _ in range(rules.players)]
    for seating in range(2):
        play(replace(plan_of(rules, boards=8), seatings=seatings, seating=seating), spies)
    assert [spy.met_again for spy in spies] == [8] * rules.players


CAGED_SPY = """
    import os
    import uuid
    from pathlib import Path

    from arbiter.sdk import Bot, run

    ME = uuid.uuid4().hex
    PLACES = {os.environ["HOME"], ".", "/bot", "/tmp", "/dev/shm", "/var/tmp", "/run", "/usr/share"}


    class Spy(Bot):
        def __init__(self):
            self.hands = {}

        def start(self, match):
            self.look()

        def choose_pass(self, view):
            return view.random.sample(view.hand, view.pass_count)

        def choose_card(self, view):
            return view.random.choice(view.legal)

        def hand_ended(self, result):
            print("met", result.table.board, result.table.dealt_mask)
            kept = 0
            for place in PLACES:
                try:
                    with Path(place, "memory").open("a") as file:
                        print(ME, result.table.board, result.table.dealt_mask, file=file)
                except OSError:
                    continue
                kept += 1
            print("kept", kept)
            self.look()

        def look(self):
            for place in PLACES:
                try:
                    memory = Path(place, "memory").read_text()
                except OSError:
                    continue
                for line in memory.splitlines():
                    if not line.startswith(ME):
                        print("remembered", line)


    if __name__ == "__main__":
        run(Spy())
"""


async def sit_caged(plan: SittingPlan, bot: Path, sockets: Path) -> SittingRecord:
    """A sitting of four processes of one and the same bot."""
    host, cage = BotHost(sockets), choose_cage(False)
    links = []
    for seated in plan.bots:
        connection = host.add(seated.name)
        launch = Launch(bot, load_manifest(bot), connection.socket, {"ARBITER_TOKEN": connection.token})
        links.append(ProcessLink(cage, launch, connection))
    async with host:
        return await play_sitting(plan, links)


def test_a_process_finds_nothing_of_another_seat_or_sitting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arbiter.match.sitting, "END_GRACE", PATIENCE)  # what a spy saw last, it tells at its end
    boards = 3
    met: dict[int, dict[int, list[int]]] = {place: {} for place in range(4)}
    with open_folder() as folder:
        bot, sockets = make_bot(folder / "bot", CAGED_SPY, name="spy"), folder / "sockets"
        sockets.mkdir(mode=0o755)
        for seating in range(4):
            plan = plan_of(boards=boards, seating=seating, clock=UNHURRIED)
            record = asyncio.run(sit_caged(plan, bot, sockets))
            assert not record.faults
            for place, ending in enumerate(record.endings):
                log = ending.log.decode()
                assert "remembered" not in log
                assert min(map(int, re.findall(r"kept (\d+)", log))) > 0, "a spy that can write nowhere proves nothing"
                hands = [(int(board), int(hand)) for board, hand in re.findall(r"met (\d+) (\d+)", log)]
                assert sorted(board for board, _ in hands) == list(range(1, boards + 1)), "every board once"
                for board, hand in hands:
                    met[place].setdefault(board, []).append(hand)
    for place in range(4):
        for board in range(1, boards + 1):
            assert len(set(met[place][board])) == 4, "its four processes had the board's four hands between them"
