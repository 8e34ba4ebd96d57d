"""The sample bots as objects, and views to show them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

from arbiter.engine import Hand, PassDirection, RuleSet, Trick, compile_rules, mask_of, new_hand, parse_cards, play_view
from arbiter.sdk import BaseBot, BatchBot, Bot, CardView, MatchInfo, PassView
from arbiter.sdk.columns import ColumnBot
from arbiter.sdk.table import Table

PAST: Final = Trick(leader=0, cards=(), winner=0, points=0)
"""A trick of which nothing is told but that it was the first."""


def bot_class(name: str) -> type[BaseBot]:
    """The class of the sample bot with this name."""
    module = importlib.import_module(f"sample_bots.{name}.bot")
    (found,) = (
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, BaseBot) and item not in (Bot, BatchBot, ColumnBot)
    )
    return found


def fresh(name: str, **settings: Any) -> BaseBot:
    """A new bot; Monte-Carlo ones deal few worlds unless told otherwise, so that tests are quick."""
    bot = bot_class(name)()
    if name == "montecarlo":
        settings = {"rounds": (2, 2), **settings}
    for setting, value in settings.items():
        assert hasattr(bot, setting)
        setattr(bot, setting, value)
    return bot


def match_info(rules: RuleSet) -> MatchInfo:
    """What a bot is told at the start of a match."""
    compiled = compile_rules(rules)
    return MatchInfo(
        rules=rules,
        compiled=compiled,
        card_points=tuple(p + b for p, b in zip(compiled.penalty, compiled.bonus, strict=True)),
        game_format=False,
        boards=1,
        open_tables=1,
        bot_seed=b"bot seed of tests",
        time_left=60.0,
    )


def started(name: str, rules: RuleSet, **settings: Any) -> tuple[Bot, MatchInfo]:
    """A bot that was told the rules, and what it was told."""
    bot, match = fresh(name, **settings), match_info(rules)
    assert isinstance(bot, Bot), "it takes views"
    bot.start(match)
    return bot, match


def table(match: MatchInfo, seat: int, hand: int, direction: PassDirection = PassDirection.NONE) -> Table:
    """A table before the first trick."""
    return Table(match, 1, 1, seat, 0, direction, hand, (0,) * match.players)


def pass_view(match: MatchInfo, cards: str) -> PassView:
    """A request to pass from these cards to the left."""
    return PassView(table(match, 0, mask_of(parse_cards(cards)), PassDirection.LEFT))


def view_of(match: MatchInfo, hand: Hand) -> CardView:
    """What the seat that owes a card sees of a hand that was played from its first card."""
    shown = play_view(hand)
    own = table(match, shown.seat, shown.hand, hand.direction)
    own.tricks.extend(hand.tricks)
    if hand.passed is not None and hand.received is not None:
        own.passed, own.received = hand.passed[shown.seat], hand.received[shown.seat]
    return CardView(own, shown.hand, shown.legal, shown.leader, shown.trick, shown.broken, shown.points)


def position(match: MatchInfo, cards: str, trick: str = "", tricks: Sequence[tuple[int, str, int]] = ()) -> CardView:
    """Seat 0 to play, with these cards, after ``tricks``, each its leader, its cards and its winner.

    Hearts count as broken, and the cards of ``trick`` were played by the seats before seat 0. Where no ``tricks`` are
    given, a first trick of unknown cards is past.
    """
    on_table = parse_cards(trick)
    finished = [
        Trick(leader, tuple(card.index for card in parse_cards(text)), winner, 0) for leader, text, winner in tricks
    ]
    hand = new_hand(
        match.compiled,
        [mask_of(parse_cards(cards)), *[0] * (match.players - 1)],
        dealer=0,
        leader=(-len(on_table)) % match.players,
        tricks=finished or [PAST],
        trick=[card.index for card in on_table],
        broken=True,
    )
    return view_of(match, hand)
