"""Replays: a sitting as JSON Lines, and the check that plays it again.

The first line says what was played, one line per hand follows in order of board and hand, the last line closes the
file. The
form is specified in ``docs/replay-format.md``. Nothing in it depends on time or on the order in which tables ended,
so bots
that look at no clock leave the same bytes again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from arbiter.deals import deal, dealer, seating
from arbiter.engine import (
    EngineError,
    GameState,
    Hand,
    Moon,
    PassDirection,
    Phase,
    RuleSet,
    Trick,
    after_hand,
    cards_of,
    compile_rules,
    format_cards,
    mask_of,
    new_game,
    parse_cards,
    pass_direction,
    score_hand,
)
from arbiter.errors import ArbiterError
from arbiter.links import FaultCode
from arbiter.match.faults import Fault
from arbiter.match.plan import MatchFormat, SittingPlan
from arbiter.match.record import HandRecord

FORMAT: Final = "hearts-arbiter-replay"
VERSION: Final = 1


class ReplayError(ArbiterError):
    """A replay that can't be read or does not hold what it claims; says where."""


@dataclass(frozen=True, slots=True)
class ReplayBot:
    """Who played."""

    entrant: int
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A sitting as it is kept."""

    sitting: str
    rules: RuleSet
    format: MatchFormat
    boards: int
    seating: int
    bots: tuple[ReplayBot, ...]
    """By place."""
    hands: tuple[HandRecord, ...]
    faults: tuple[Fault, ...]
    """Those that belong to no single decision."""


def replay_of(plan: SittingPlan, hands: Sequence[HandRecord], faults: Sequence[Fault]) -> Replay:
    """The replay of a sitting that was played."""
    bots = tuple(ReplayBot(bot.entrant, bot.name, bot.digest) for bot in plan.bots)
    ordered = tuple(sorted(faults, key=lambda fault: (fault.entrant, fault.code, fault.detail)))
    return Replay(plan.sitting, plan.rules, plan.format, plan.boards, plan.seating, bots, tuple(hands), ordered)


def write_replay(replay: Replay) -> bytes:
    """The replay as JSON Lines in UTF-8."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "sitting": replay.sitting,
        "match_format": replay.format.value,
        "boards": replay.boards,
        "seating": replay.seating,
        "bots": [{"entrant": bot.entrant, "name": bot.name, "digest": bot.digest} for bot in replay.bots],
        "rules": replay.rules.to_dict(),
    }
    footer = {"end": len(replay.hands), "faults": [_fault_to_dict(fault) for fault in replay.faults]}
    lines = [header, *(hand_to_dict(hand) for hand in replay.hands), footer]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


def read_replay(data: bytes) -> Replay:
    """The replay that JSON Lines hold. It is read, not verified; see :func:`verify_replay`.

    Raises:
        ReplayError: the text is no replay, or a line of it can't be read; says which.
    """
    number = 0
    try:
        lines = data.decode().splitlines()
        header, footer = json.loads(lines[0]), json.loads(lines[-1])
        if header.get("format") != FORMAT or header.get("version") != VERSION:
            raise ReplayError(f"line 1: no replay of format {FORMAT}, version {VERSION}")
        hands: list[HandRecord] = []
        for line in lines[1:-1]:
            number = len(hands) + 2
            hands.append(_hand_from_dict(json.loads(line)))
        number = len(lines)
        if footer.get("end") != len(hands):
            raise ReplayError(f"line {number}: the file holds {len(hands)} hands and says {footer.get('end')!r}")
        return Replay(
            sitting=header["sitting"],
            rules=RuleSet.from_dict(header["rules"]),
            format=MatchFormat(header["match_format"]),
            boards=header["boards"],
            seating=header["seating"],
            bots=tuple(ReplayBot(bot["entrant"], bot["name"], bot["digest"]) for bot in header["bots"]),
            hands=tuple(hands),
            faults=tuple(_fault_from_dict(fault) for fault in footer["faults"]),
        )
    except ReplayError:
        raise
    except EngineError as error:
        raise ReplayError(f"line {number or 1}: {error}") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ReplayError(
            f"line {number or 1}: not what a replay holds there: {type(error).__name__}: {error}"
        ) from error


@dataclass(frozen=True, slots=True)
class SeatScore:
    """What one seat of one board came to."""

    board: int
    seat: int
    place: int
    """Place in the replay's list of bots."""
    hands: int
    """Hands played at the board."""
    points: int
    """Sum of the hands' points."""
    total: int
    """Total after the last hand; with one hand per board, the points with the rule set's sign."""


def verify_replay(replay: Replay, deal_seed: bytes | None = None) -> tuple[SeatScore, ...]:
    """Play a replay again, step by step, and return what every seat of every board came to.

    Args:
        replay: what to check.
        deal_seed: the deal set's seed; with it the cards dealt are checked too.

    Raises:
        ReplayError: names the board, the hand and the first step that does not follow.
    """
    return tuple(_verified(replay, deal_seed))


def _verified(replay: Replay, deal_seed: bytes | None) -> Iterator[SeatScore]:
    rules = compile_rules(replay.rules)
    by_board: dict[int, list[HandRecord]] = {}
    for record in replay.hands:
        by_board.setdefault(record.board, []).append(record)
    if sorted(by_board) != list(range(1, replay.boards + 1)):
        raise ReplayError(f"{replay.sitting}: holds boards {sorted(by_board)}, not 1 to {replay.boards}")
    for board, records in sorted(by_board.items()):
        game = new_game(rules)
        points = [0] * rules.seats
        places = seating(replay.rules, board, replay.seating)
        for record in records:
            where = f"board {board}, hand {record.number}"
            if game.over:
                raise ReplayError(f"{where}: the game was over before it")
            if record.number != game.hand_number:
                raise ReplayError(f"{where}: hand {game.hand_number} comes next")
            if record.places != places:
                raise ReplayError(f"{where}: seated as {record.places}, not as {places}")
            try:
                game = _verify_hand(replay, record, game, deal_seed, where)
            except EngineError as error:
                raise ReplayError(f"{where}: {error}") from error
            points = [sum(pair) for pair in zip(points, record.points, strict=True)]
        if replay.format is MatchFormat.HANDS and len(records) != 1:
            raise ReplayError(f"board {board}: {len(records)} hands, but a board is one hand")
        if replay.format is MatchFormat.GAME and not game.over:
            raise ReplayError(f"board {board}: the game is not over after its last hand")
        for seat, place in enumerate(places):
            yield SeatScore(board, seat, place, len(records), points[seat], game.totals[seat])


def _verify_hand(replay: Replay, record: HandRecord, game: GameState, deal_seed: bytes | None, where: str) -> GameState:
    rules = compile_rules(replay.rules)
    if deal_seed is not None:
        dealt = deal(rules, deal_seed, record.board, record.number)
        if (dealt.hands, dealt.kitty) != (record.dealt, record.kitty):
            raise ReplayError(f"{where}: the cards are not those that the deal seed gives")
    packed = sorted(card.index for mask in (*record.dealt, record.kitty) for card in cards_of(mask))
    if packed != sorted(rules.deck):
        raise ReplayError(f"{where}: the cards dealt are not one pack")
    count = record.board if replay.format is MatchFormat.HANDS else record.number
    expected = (dealer(rules, count), pass_direction(replay.rules, count))
    if (record.dealer, record.direction) != expected:
        raise ReplayError(f"{where}: dealer and pass direction are {record.dealer} {record.direction}, not {expected}")
    hand = Hand(rules, record.dealt, dealer=record.dealer, direction=record.direction, kitty=record.kitty)
    if hand.phase is Phase.PASSING:
        if record.passed is None:
            raise ReplayError(f"{where}: no passes, but the hand has a pass to the {record.direction}")
        hand.exchange(record.passed)
    for number, trick in enumerate(record.tricks, 1):
        if hand.phase is not Phase.PLAYING:
            raise ReplayError(f"{where}: trick {number} comes after the hand's end")
        if trick.leader != hand.leader:
            raise ReplayError(f"{where}, trick {number}: led by seat {trick.leader}, not {hand.leader}")
        for card in trick.cards:
            hand.play(card)
        if hand.tricks[-1] != trick or hand.trick:
            raise ReplayError(f"{where}, trick {number}: is not what its cards come to")
    for card in record.unfinished:
        hand.play(card)
    if record.offender is not None:
        hand.end_by_offence(record.offender)
    if hand.phase is not Phase.DONE:
        raise ReplayError(f"{where}: cards are left to play")
    score = score_hand(rules, hand.penalty_taken, hand.bonus_taken, offenders=hand.offenders, moon=record.chosen_moon)
    if (score.points, score.moon) != (record.points, record.moon):
        raise ReplayError(f"{where}: scored {record.points}, but its tricks come to {score.points}")
    after = after_hand(rules, game, score)
    if after.totals != record.totals:
        raise ReplayError(f"{where}: totals are {record.totals}, but come to {after.totals}")
    return after


def hand_to_dict(hand: HandRecord) -> dict[str, Any]:
    """A hand as one line of a replay holds it, plain data."""
    line: dict[str, Any] = {
        "board": hand.board,
        "hand": hand.number,
        "places": list(hand.places),
        "dealer": hand.dealer,
        "pass": hand.direction.value,
        "dealt": [format_cards(cards_of(mask)) for mask in hand.dealt],
    }
    if hand.kitty:
        line["kitty"] = format_cards(cards_of(hand.kitty))
    if hand.passed is not None:
        line["passed"] = [format_cards(cards) for cards in hand.passed]
    line["tricks"] = [[trick.leader, format_cards(trick.cards), trick.winner, trick.points] for trick in hand.tricks]
    if hand.offender is not None:
        line["unfinished"] = format_cards(hand.unfinished)
        line["offender"] = hand.offender
    if hand.chosen_moon is not None:
        line["chosen_moon"] = hand.chosen_moon.value
    if hand.moon is not None:
        line["moon"] = hand.moon
    line["points"] = list(hand.points)
    line["totals"] = list(hand.totals)
    if hand.stand_ins:
        line["stand_ins"] = list(hand.stand_ins)
    if hand.faults:
        line["faults"] = [_fault_to_dict(fault) for fault in hand.faults]
    return line


def _hand_from_dict(line: Mapping[str, Any]) -> HandRecord:
    chosen = line.get("chosen_moon")
    return HandRecord(
        board=line["board"],
        number=line["hand"],
        places=tuple(line["places"]),
        dealer=line["dealer"],
        direction=PassDirection(line["pass"]),
        dealt=tuple(mask_of(parse_cards(cards)) for cards in line["dealt"]),
        kitty=mask_of(parse_cards(line.get("kitty", ""))),
        passed=tuple(_indexes(cards) for cards in line["passed"]) if "passed" in line else None,
        tricks=tuple(
            Trick(leader, _indexes(cards), winner, points) for leader, cards, winner, points in line["tricks"]
        ),
        unfinished=_indexes(line.get("unfinished", "")),
        offender=line.get("offender"),
        chosen_moon=Moon(chosen) if chosen is not None else None,
        moon=line.get("moon"),
        points=tuple(line["points"]),
        totals=tuple(line["totals"]),
        stand_ins=tuple(line.get("stand_ins", ())),
        faults=tuple(_fault_from_dict(fault) for fault in line.get("faults", ())),
    )


def _fault_to_dict(fault: Fault) -> dict[str, Any]:
    places = {"board": fault.board, "hand": fault.hand, "seat": fault.seat, "trick": fault.trick}
    return {
        "entrant": fault.entrant,
        "code": fault.code.value,
        "detail": fault.detail,
        **{name: value for name, value in places.items() if value is not None},
    }


def _fault_from_dict(data: Mapping[str, Any]) -> Fault:
    return Fault(
        entrant=data["entrant"],
        code=FaultCode(data["code"]),
        detail=data["detail"],
        board=data.get("board"),
        hand=data.get("hand"),
        seat=data.get("seat"),
        trick=data.get("trick"),
    )


def _indexes(cards: str) -> tuple[int, ...]:
    return tuple(card.index for card in parse_cards(cards))
