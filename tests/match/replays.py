"""Sittings of several kinds as replays, and replays that were changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.engine import rule_set
from arbiter.links import FaultCode, Link, LinkLost, LocalLink
from arbiter.match import Replay, SittingRecord, read_replay, replay_of, write_replay
from arbiter.sdk import Card, CardView, PassView
from tests.match.support import BentLink, Uniform, plan_of, play

Lines = list[dict[str, Any]]


class Revoker(Uniform):
    """Does not follow suit as soon as it could choose not to."""

    def choose_card(self, view: CardView) -> Card:
        if view.trick and view.legal != view.hand:
            return next(card for card in view.hand if card not in view.legal)
        return super().choose_card(view)


class Cheat(Uniform):
    """Passes a card that it does not hold."""

    def choose_pass(self, view: PassView) -> list[Card]:
        return [next(Card(index) for index in range(52) if not view.hand_mask >> index & 1), *view.hand[:2]]


def no_card(message: pb.SitRequest) -> list[pb.SitRequest]:
    """Plays what is no card."""
    for row in range(len(message.plays.card)):
        message.plays.card[row] = 60
    return [message]


def leave(message: pb.SitRequest) -> list[pb.SitRequest | LinkLost]:
    """Is gone before it has answered anything."""
    return [LinkLost(FaultCode.CRASH, "gone")]


def _sitting(
    name: str = "black_lady",
    options: tuple[str, ...] = (),
    *,
    games: int = 0,
    odd: Link | None = None,
    open_tables: int = 256,
) -> SittingRecord:
    rules = rule_set(name, options, {"heart_value": 0} if "choice_moon" in options else {})
    plan = plan_of(rules, boards=games or 4, game=games > 0, fault_limit=1000, open_tables=open_tables)
    links: list[Link] = [LocalLink(Uniform()) for _ in range(rules.players)]
    if odd is not None:
        links[2] = odd
    return play(plan, links)


@cache
def recorded(kind: str) -> SittingRecord:
    """A sitting, by kind. In the last five the bot in place 2 does something wrong, over and over."""
    return {
        "hands": lambda: _sitting(),
        "game": lambda: _sitting(games=1),
        "games": lambda: _sitting(games=2),
        "choice": lambda: _sitting(options=("choice_moon",)),
        "kitty": lambda: _sitting("cancellation"),
        "offence": lambda: _sitting("hartenjagen", odd=LocalLink(Revoker())),
        "bad pass": lambda: _sitting(odd=LocalLink(Cheat())),
        "lost": lambda: _sitting(odd=BentLink(Uniform(), leave), open_tables=1),
        "unpunished": lambda: _sitting("hartenjagen", odd=BentLink(Uniform(), no_card)),
        "bad card": lambda: _sitting(odd=BentLink(Uniform(), no_card)),
    }[kind]()


@cache
def lines_of(kind: str) -> str:
    """A sitting's replay."""
    record = recorded(kind)
    return write_replay(replay_of(record.plan, record.hands, record.faults)).decode()


def lines_within(packed: bytes) -> list[bytes]:
    """The hands of a packed replay that stand as lines of JSON."""
    return [line for line in packed.split(b"\n") if line.startswith(b'{"board":')]


def changed(kind: str, change: Callable[[Lines], object]) -> Replay:
    """A sitting's replay after a change to its lines."""
    lines = [json.loads(line) for line in lines_of(kind).splitlines()]
    change(lines)
    return read_replay("".join(json.dumps(line) + "\n" for line in lines).encode())
